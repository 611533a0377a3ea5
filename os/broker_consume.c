/*
 * Queues: each has a channel, on which it is declared, bound and consumed.
 *
 *     closed ─► open, declared, bound ─► [consuming]
 *        ▲                   │
 *        └─ pause ◄─ error ──┘   (of the channel; the consumer was cancelled)
 *
 * A delivery is three kinds of frames: deliver, head, and bodies until the size
 * that the head has said.  Its consumer tag tells whether it belongs to the
 * consumer that is wanted now: the tag is another one after each cancel.
 */
#include "os/broker_own.h"

#include "os/clock.h"

/* ---- Setting up ---------------------------------------------------------- */

static struct broker_link *
link_of(const struct broker_consumer *c)
{
	return &c->broker->links[BROKER_CONSUMES];
}

static const struct broker_queue *
queue_of(const struct broker_consumer *c)
{
	return &c->broker->options.queues[c->index];
}

static enum err
open_channel(struct broker_consumer *c, struct why *w)
{
	struct broker_link *l = link_of(c);

	(void)amqp_channel_open(l->conn, c->channel);
	enum err e = broker_link_reply(l, c->channel, w);
	if (e == OK)
		c->session = ++c->broker->sessions;
	c->since = clock_mono();
	return e;
}

static enum err
declare(struct broker_consumer *c, struct why *w)
{
	struct broker_link *l = link_of(c);
	const struct broker_queue *q = queue_of(c);

	(void)amqp_queue_declare(l->conn, c->channel, broker_bytes(q->name),
	    0, 1, 0, 0, amqp_empty_table);
	enum err e = broker_link_reply(l, c->channel, w);
	for (size_t i = 0; i < q->keys_n && e == OK; i++) {
		(void)amqp_queue_bind(l->conn, c->channel,
		    broker_bytes(q->name),
		    broker_bytes(str_of(c->broker->options.exchange)),
		    broker_bytes(q->keys[i]), amqp_empty_table);
		e = broker_link_reply(l, c->channel, w);
	}
	if (e != OK)
		return e;
	/* Per consumer: quorum queues refuse a limit for the channel. */
	(void)amqp_basic_qos(l->conn, c->channel, 0,
	    (uint16_t)c->broker->limits.prefetch_max, 0);
	return broker_link_reply(l, c->channel, w);
}

static enum err
consume(struct broker_consumer *c, struct why *w)
{
	struct broker_link *l = link_of(c);

	snprintf(c->tag, sizeof(c->tag), "argiope-%llu",
	    (unsigned long long)++c->broker->sessions);
	(void)amqp_basic_consume(l->conn, c->channel,
	    broker_bytes(queue_of(c)->name), amqp_cstring_bytes(c->tag), 0, 0,
	    0, amqp_empty_table);
	enum err e = broker_link_reply(l, c->channel, w);
	c->consuming = e == OK;
	return e;
}

static enum err
cancel(struct broker_consumer *c, struct why *w)
{
	struct broker_link *l = link_of(c);

	c->consuming = false;
	(void)amqp_basic_cancel(l->conn, c->channel,
	    amqp_cstring_bytes(c->tag));
	return broker_link_reply(l, c->channel, w);
}

/* The channel is gone: what it has delivered comes again. */
static void
forget_channel(struct broker_consumer *c)
{
	broker_delivery_free(&c->arriving);
	c->consuming = false;
	c->session = 0;
	loop_timer_stop(c->broker->loop, &c->timer);
}

/* It is tried again after a pause, unless the connection is lost anyway. */
static void
fail_queue(struct broker_consumer *c, const struct why *reason)
{
	struct broker *b = c->broker;
	struct broker_event event = { .kind = BROKER_QUEUE_FAILED,
		.queue = c->index, .why = *reason };

	if (c->session != 0 && mono_ns_between(c->since, clock_mono()) /
	    NS_PER_MS > b->limits.retry_ms_max)
		c->retry_ms = 0;
	forget_channel(c);
	if (!broker_link_is_up(link_of(c)))
		return;
	event.retry_ms = broker_pause_ms(b, &c->retry_ms);
	loop_timer_set(b->loop, &c->timer, mono_add_ms(clock_mono(),
	    event.retry_ms));
	broker_tell(b, &event);
}

static void
set_up_queue(struct broker_consumer *c)
{
	struct broker_event event = { .kind = BROKER_QUEUE_READY,
		.queue = c->index };
	struct why w = WHY_INIT, refused = WHY_INIT;

	enum err e = open_channel(c, &w);
	if (e == OK)
		e = declare(c, &w);
	if (e == OK)
		e = broker_question_type(link_of(c), queue_of(c)->name,
		    &event.is_quorum, &refused);
	if (e == OK)
		broker_tell(c->broker, &event);
	if (e == OK && c->wanted)
		e = consume(c, &w);
	if (e != OK)
		fail_queue(c, &w);
}

static void
timer_fired(struct timer *t)
{
	struct broker_consumer *c = CONTAINER(t, struct broker_consumer,
	    timer);

	if (broker_link_is_up(link_of(c)))
		set_up_queue(c);
}

void
broker_consumer_want(struct broker *b, size_t queue, bool wanted)
{
	struct broker_consumer *c = &b->consumers[queue];
	struct why w = WHY_INIT;

	c->wanted = wanted;
	if (c->session == 0 || c->consuming == wanted ||
	    !broker_link_is_up(link_of(c)))
		return;
	if ((wanted ? consume(c, &w) : cancel(c, &w)) != OK)
		fail_queue(c, &w);
}

/* ---- Deliveries ---------------------------------------------------------- */

/* Send the answer; an error is that of the connection. */
static enum err
send_answer(struct broker_consumer *c, const struct broker_delivery *d,
    struct why *w)
{
	struct broker_link *l = link_of(c);
	int status = d->answer == BROKER_ACK ?
	    amqp_basic_ack(l->conn, c->channel, d->tag, 0) :
	    amqp_basic_reject(l->conn, c->channel, d->tag,
	    d->answer == BROKER_REQUEUE);

	/* All works: a later error is a new one. */
	c->retry_ms = 0;
	broker_link_proved(l);
	return broker_link_sent(l, status, w);
}

void
broker_consumer_answer(struct broker_delivery *d)
{
	struct broker_consumer *c = &d->broker->consumers[d->queue];

	if (d->session == c->session && broker_link_is_up(link_of(c)))
		(void)!send_answer(c, d, NULL);
	broker_delivery_free(&d);
}

static void
begin_delivery(struct broker_consumer *c, const amqp_basic_deliver_t *m)
{
	struct broker_delivery *d = mem_new(sizeof(*d));

	d->broker = c->broker;
	d->queue = c->index;
	d->tag = m->delivery_tag;
	d->session = c->session;
	d->redelivered = m->redelivered;
	arena_room(&d->arena, 512);
	d->exchange = arena_copy(&d->arena, broker_str(m->exchange));
	d->routing_key = arena_copy(&d->arena, broker_str(m->routing_key));
	c->arriving = d;
	c->has_head = false;
	c->unwanted = !c->consuming || !str_eq(str_of(c->tag),
	    broker_str(m->consumer_tag));
}

static enum err
end_delivery(struct broker_consumer *c, struct why *w)
{
	struct broker_delivery *d = c->arriving;

	c->arriving = NULL;
	if (!c->unwanted) {
		broker_hand_over(c->broker, d);
		return OK;
	}
	d->answer = BROKER_REQUEUE;
	enum err e = send_answer(c, d, w);
	broker_delivery_free(&d);
	return e;
}

static struct str
property(struct broker_delivery *d, const amqp_basic_properties_t *p,
    amqp_flags_t flag, amqp_bytes_t value)
{
	return (p->_flags & flag) == 0 ? STR_NONE : arena_copy(&d->arena,
	    broker_str(value));
}

static bool
is_text(const amqp_table_entry_t *e)
{
	return e->value.kind == AMQP_FIELD_KIND_UTF8 ||
	    e->value.kind == AMQP_FIELD_KIND_BYTES;
}

static void
keep_headers(struct broker_delivery *d, const amqp_basic_properties_t *p)
{
	size_t n = 0, all = (p->_flags & AMQP_BASIC_HEADERS_FLAG) == 0 ? 0 :
	    (size_t)p->headers.num_entries;
	struct broker_header kept[BROKER_DELIVERY_HEADERS_MAX];

	for (size_t i = 0; i < all && n < ARRAY_LEN(kept); i++) {
		const amqp_table_entry_t *e = &p->headers.entries[i];
		if (is_text(e))
			kept[n++] = (struct broker_header){
			    arena_copy(&d->arena, broker_str(e->key)),
			    arena_copy(&d->arena, broker_str(
			    e->value.value.bytes)) };
	}
	if (n == 0)
		return;
	struct broker_header *headers = ARENA_ARRAY(&d->arena,
	    struct broker_header, n);
	memcpy(headers, kept, n * sizeof(*headers));
	d->headers = headers;
	d->headers_n = n;
}

/* It says how long the body is; one beyond the limit is not kept. */
static enum err
take_head(struct broker_consumer *c, const amqp_frame_t *f, struct why *w)
{
	struct broker_delivery *d = c->arriving;
	const amqp_basic_properties_t *p = f->payload.properties.decoded;

	c->has_head = true;
	d->body_bytes = f->payload.properties.body_size;
	d->too_large = d->body_bytes >
	    (uint64_t)c->broker->limits.body_bytes_max;
	d->content_type = property(d, p, AMQP_BASIC_CONTENT_TYPE_FLAG,
	    p->content_type);
	d->content_encoding = property(d, p, AMQP_BASIC_CONTENT_ENCODING_FLAG,
	    p->content_encoding);
	d->message_id = property(d, p, AMQP_BASIC_MESSAGE_ID_FLAG,
	    p->message_id);
	keep_headers(d, p);
	c->left = d->body_bytes;
	return c->left == 0 ? end_delivery(c, w) : OK;
}

static enum err
take_body(struct broker_consumer *c, amqp_bytes_t bytes, struct why *w)
{
	struct broker_delivery *d = c->arriving;

	if (bytes.len > c->left)
		return why(w, ERR_UNREACHED, "a body is longer than the "
		    "broker has said");
	c->left -= bytes.len;
	if (!d->too_large && !c->unwanted)
		buf_put_str(&d->body, broker_str(bytes));
	return c->left == 0 ? end_delivery(c, w) : OK;
}

/* ---- Frames -------------------------------------------------------------- */

/* The broker has cancelled the consumer: somebody has deleted the queue. */
static enum err
cancelled(struct broker_consumer *c, const amqp_basic_cancel_t *m,
    struct why *w)
{
	struct broker_link *l = link_of(c);
	amqp_basic_cancel_ok_t ok = { .consumer_tag = m->consumer_tag };
	struct why reason = WHY_INIT;

	if (!c->consuming || !str_eq(str_of(c->tag),
	    broker_str(m->consumer_tag)))
		return OK;
	if (!m->nowait) {
		enum err e = broker_link_sent(l, amqp_send_method(l->conn,
		    c->channel, AMQP_BASIC_CANCEL_OK_METHOD, &ok), w);
		if (e != OK)
			return e;
	}
	(void)amqp_channel_close(l->conn, c->channel, AMQP_REPLY_SUCCESS);
	(void)!why(&reason, ERR_ABSENT, "the queue was deleted");
	fail_queue(c, &reason);
	return OK;
}

static enum err
take_method(struct broker_consumer *c, const amqp_method_t *m, struct why *w)
{
	struct why reason = WHY_INIT;

	switch (m->id) {
	case AMQP_BASIC_DELIVER_METHOD:
		broker_delivery_free(&c->arriving);
		begin_delivery(c, m->decoded);
		return OK;
	case AMQP_BASIC_CANCEL_METHOD:
		return cancelled(c, m->decoded, w);
	case AMQP_CHANNEL_CLOSE_METHOD:
		(void)!broker_link_channel_closed(link_of(c), c->channel,
		    m->decoded, &reason);
		fail_queue(c, &reason);
		return OK;
	default:
		return OK;
	}
}

static enum err
take_frame(struct broker_link *l, const amqp_frame_t *f, struct why *w)
{
	struct broker *b = l->broker;
	size_t index = (size_t)f->channel - BROKER_CHANNEL_MAIN - 1;

	if (f->channel <= BROKER_CHANNEL_MAIN ||
	    index >= b->options.queues_n)
		return OK;
	struct broker_consumer *c = &b->consumers[index];
	if (c->session == 0)
		return OK;
	if (f->frame_type == AMQP_FRAME_METHOD)
		return take_method(c, &f->payload.method, w);
	if (c->arriving == NULL || c->has_head !=
	    (f->frame_type == AMQP_FRAME_BODY))
		return why(w, ERR_UNREACHED, "the broker sends a part of a "
		    "message that it has not begun");
	return c->has_head ? take_body(c, f->payload.body_fragment, w) :
	    take_head(c, f, w);
}

/* ---- The whole side ------------------------------------------------------ */

static enum err
set_up(struct broker_link *l, struct why *w)
{
	struct broker *b = l->broker;
	enum err e = OK;

	b->question_channel = true;
	for (size_t i = 0; i < b->options.queues_n && e == OK; i++) {
		set_up_queue(&b->consumers[i]);
		e = l->failed.err == OK ? broker_link_go_on(l, w) :
		    why(w, l->failed.err, "%s", l->failed.text);
	}
	return e;
}

static enum err
flush(struct broker_link *l, struct why *w)
{
	/* Answers and commands are sent at once. */
	(void)l, (void)w;
	return OK;
}

static void
disconnected(struct broker_link *l)
{
	struct broker *b = l->broker;

	b->question_channel = false;
	for (size_t i = 0; i < b->options.queues_n; i++) {
		forget_channel(&b->consumers[i]);
		b->consumers[i].retry_ms = 0;
	}
}

const struct broker_role broker_consumes = { "consuming", set_up, take_frame,
	flush, disconnected };

void
broker_consumers_new(struct broker *b)
{
	b->consumers = mem_array(b->options.queues_n, sizeof(*b->consumers));
	for (size_t i = 0; i < b->options.queues_n; i++) {
		struct broker_consumer *c = &b->consumers[i];
		c->broker = b;
		c->index = i;
		c->channel = (amqp_channel_t)(BROKER_CHANNEL_MAIN + 1 + i);
		c->timer.fire = timer_fired;
	}
}

void
broker_consumers_free(struct broker *b)
{
	mem_free(&b->consumers);
}

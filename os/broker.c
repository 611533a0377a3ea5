/*
 * The home loop's side of the broker, and its thread.
 *
 *     home loop                        broker's thread
 *     call ────────── mail ──────────► queue, message, question
 *     callback ◄───── mail ─────────── event, delivery, result
 *
 * The objects themselves travel.  Only events and wishes (consume, cancel) are
 * allocated for the journey, and the receiver frees them.  A delivery that
 * arrives after a cancel is sent back.
 */
#include "os/broker_own.h"

#include "os/clock.h"

/*
 * The library decodes the headers of a message by recursion, without a limit
 * before its version 0.14: tables in tables of 6 bytes, each some 150 bytes of
 * the stack, and as many as a frame has room for (BROKER_FRAME_BYTES_MAX).
 */
#define STACK_BYTES (64u << 20)

/* ---- From the thread to the home loop ------------------------------------ */

struct event_mail {
	struct mail mail;
	struct broker *broker;
	struct broker_event event;
};

static void
deliver_event(struct mail *mail)
{
	struct event_mail *m = CONTAINER(mail, struct event_mail, mail);

	m->broker->options.on_event(&m->event, m->broker->options.arg);
	mem_free(&m);
}

void
broker_tell(struct broker *b, const struct broker_event *e)
{
	struct event_mail *m = mem_new(sizeof(*m));

	m->broker = b;
	m->event = *e;
	loop_send(b->options.home, &m->mail, deliver_event);
}

static void
deliver_delivery(struct mail *mail)
{
	struct broker_delivery *d = CONTAINER(mail, struct broker_delivery,
	    mail);
	const struct broker *b = d->broker;

	if (atomic_load(&b->closing) || !b->wanted[d->queue])
		broker_reject(&d, true);
	else
		b->options.on_delivery(d, b->options.arg);
}

void
broker_hand_over(struct broker *b, struct broker_delivery *d)
{
	loop_send(b->options.home, &d->mail, deliver_delivery);
}

static void
deliver_result(struct mail *mail)
{
	struct broker_message *m = CONTAINER(mail, struct broker_message,
	    mail);

	m->done(m);
}

void
broker_result(struct broker_message *m, enum broker_result result,
    const struct why *reason)
{
	m->result = result;
	m->why = *reason;
	loop_send(m->broker->options.home, &m->mail, deliver_result);
}

static void
deliver_answer(struct mail *mail)
{
	struct broker_question *q = CONTAINER(mail, struct broker_question,
	    mail);

	q->done(q);
}

void
broker_answered(struct broker_question *q, enum err e)
{
	q->err = e;
	loop_send(q->broker->options.home, &q->mail, deliver_answer);
}

/* ---- From the home loop to the thread ------------------------------------ */

struct wish_mail {
	struct mail mail;
	struct broker *broker;
	size_t queue;
	bool wanted;
};

static void
deliver_wish(struct mail *mail)
{
	struct wish_mail *m = CONTAINER(mail, struct wish_mail, mail);

	broker_consumer_want(m->broker, m->queue, m->wanted);
	mem_free(&m);
}

static void
change_wish(struct broker *b, size_t queue, bool wanted)
{
	CHECK(queue < b->options.queues_n);
	if (b->wanted[queue] == wanted)
		return;
	b->wanted[queue] = wanted;
	struct wish_mail *m = mem_new(sizeof(*m));
	*m = (struct wish_mail){ .broker = b, .queue = queue,
		.wanted = wanted };
	loop_send(b->loop, &m->mail, deliver_wish);
}

void
broker_consume(struct broker *b, size_t queue)
{
	change_wish(b, queue, true);
}

void
broker_cancel(struct broker *b, size_t queue)
{
	change_wish(b, queue, false);
}

static void
answer_arrived(struct mail *mail)
{
	broker_consumer_answer(CONTAINER(mail, struct broker_delivery, mail));
}

static void
send_answer(struct broker_delivery **dp, int answer)
{
	struct broker_delivery *d = *dp;

	d->answer = answer;
	*dp = NULL;
	loop_send(d->broker->loop, &d->mail, answer_arrived);
}

void
broker_ack(struct broker_delivery **d)
{
	send_answer(d, BROKER_ACK);
}

void
broker_reject(struct broker_delivery **d, bool requeue)
{
	send_answer(d, requeue ? BROKER_REQUEUE : BROKER_DROP);
}

void
broker_delivery_free(struct broker_delivery **dp)
{
	struct broker_delivery *d = *dp;

	if (d == NULL)
		return;
	buf_free(&d->body);
	/* The texts are in it, and nothing else of the delivery. */
	arena_free(&d->arena);
	mem_free(dp);
}

struct str
broker_header_of(const struct broker_delivery *d, const char *name)
{
	for (size_t i = 0; i < d->headers_n; i++)
		if (str_eq(d->headers[i].name, str_of(name)))
			return d->headers[i].value;
	return STR_NONE;
}

static void
message_arrived(struct mail *mail)
{
	struct broker_message *m = CONTAINER(mail, struct broker_message,
	    mail);

	broker_publisher_put(m->broker, m);
}

static enum err
check_headers(const struct broker_message *m, struct why *w)
{
	size_t sum = 0;

	for (size_t i = 0; i < m->headers_n; i++) {
		if (m->headers[i].name.n > 128)
			return why_field(w, ERR_INPUT, "headers", "a name "
			    "has more than 128 bytes");
		sum += m->headers[i].name.n + m->headers[i].value.n;
	}
	return sum <= BROKER_HEADER_BYTES_MAX ? OK : why_field(w, ERR_INPUT,
	    "headers", "they have more than %u bytes",
	    BROKER_HEADER_BYTES_MAX);
}

enum err
broker_publish(struct broker *b, struct broker_message *m, struct why *w)
{
	if (m->routing_key.n > BROKER_NAME_BYTES_MAX)
		return why_field(w, ERR_INPUT, "routing_key", "it has more "
		    "than %u bytes", BROKER_NAME_BYTES_MAX);
	if (m->message_id.n == 0 || m->message_id.n > BROKER_NAME_BYTES_MAX)
		return why_field(w, ERR_INPUT, "message_id", "it has %zu "
		    "bytes, not 1 to %u", m->message_id.n,
		    BROKER_NAME_BYTES_MAX);
	if (m->body.n > (size_t)b->limits.body_bytes_max)
		return why_field(w, ERR_INPUT, "body", "it has %zu bytes, "
		    "more than %lld", m->body.n,
		    (long long)b->limits.body_bytes_max);
	enum err e = check_headers(m, w);
	if (e == OK && atomic_load(&b->closing))
		e = why(w, ERR_CLOSED, "the broker is being closed");
	if (e != OK)
		return e;
	m->broker = b;
	m->why = WHY_INIT;
	loop_send(b->loop, &m->mail, message_arrived);
	return OK;
}

static void
question_arrived(struct mail *mail)
{
	struct broker_question *q = CONTAINER(mail, struct broker_question,
	    mail);

	broker_question_put(q->broker, q);
}

static void
put_question(struct broker *b, struct broker_question *q, bool deletes)
{
	q->broker = b;
	q->deletes = deletes;
	loop_send(b->loop, &q->mail, question_arrived);
}

void
broker_depth(struct broker *b, struct broker_question *q)
{
	put_question(b, q, false);
}

void
broker_delete_queue(struct broker *b, struct broker_question *q)
{
	put_question(b, q, true);
}

/* ---- The end ------------------------------------------------------------- */

static void
free_broker(struct broker *b)
{
	loop_free(&b->loop);
	broker_consumers_free(b);
	mem_free(&b->wanted);
	arena_free(&b->arena);
	mem_free(&b);
}

/* The last mail from the thread. */
static void
thread_ended(struct mail *mail)
{
	struct broker *b = CONTAINER(mail, struct broker, close_mail);
	void (*on_closed)(void *) = b->options.on_closed;
	void *arg = b->options.arg;

	loop_join(b->loop);
	/* Answers to deliveries may have come too late for the thread. */
	while (loop_step(b->loop))
		;
	free_broker(b);
	on_closed(arg);
}

static void
end_thread(struct broker *b, bool in_order)
{
	b->ended = true;
	loop_timer_stop(b->loop, &b->close_timer);
	/* A broker that reads nothing answers nothing. */
	broker_link_stop(&b->links[BROKER_PUBLISHES], in_order &&
	    !b->blocked);
	broker_link_stop(&b->links[BROKER_CONSUMES], true);
	broker_publisher_end(b);
	loop_send(b->options.home, &b->close_mail, thread_ended);
	loop_stop(b->loop);
}

static void
close_time_over(struct timer *t)
{
	end_thread(CONTAINER(t, struct broker, close_timer), false);
}

static void
close_arrived(struct mail *mail)
{
	struct broker *b = CONTAINER(mail, struct broker, close_mail);

	b->ending = true;
	for (size_t i = 0; i < b->options.queues_n; i++)
		broker_consumer_want(b, i, false);
	loop_timer_set(b->loop, &b->close_timer, mono_add_ms(clock_mono(),
	    b->close_wait_ms));
}

void
broker_close(struct broker *b, int64_t wait_ms)
{
	CHECK(!atomic_load(&b->closing));
	b->close_wait_ms = wait_ms;
	atomic_store(&b->closing, true);
	loop_send(b->loop, &b->close_mail, close_arrived);
}

static void
end_of_turn(struct turn_hook *h)
{
	struct broker *b = CONTAINER(h, struct broker, hook);

	if (b->ended)
		return;
	broker_link_turn(&b->links[BROKER_CONSUMES]);
	broker_link_turn(&b->links[BROKER_PUBLISHES]);
	if (b->ending && !broker_publisher_busy(b))
		end_thread(b, true);
}

/* ---- The beginning ------------------------------------------------------- */

static const char *
copy_text(struct arena *a, const char *text)
{
	return text == NULL || text[0] == '\0' ? NULL :
	    arena_copy(a, str_of(text)).p;
}

static void
copy_queues(struct broker *b, const struct broker_options *o)
{
	struct broker_queue *queues = ARENA_ARRAY(&b->arena,
	    struct broker_queue, o->queues_n);

	for (size_t i = 0; i < o->queues_n; i++)
		queues[i] = (struct broker_queue){
		    arena_copy(&b->arena, o->queues[i].name),
		    arena_copy_list(&b->arena, o->queues[i].keys,
		    o->queues[i].keys_n), o->queues[i].keys_n };
	b->options.queues = queues;
}

static enum err
check_name(struct str name, const char *field, struct why *w)
{
	return name.n > 0 && name.n <= BROKER_NAME_BYTES_MAX ? OK :
	    why_field(w, ERR_CONFIG, field, "it has %zu bytes, not 1 to %u",
	    name.n, BROKER_NAME_BYTES_MAX);
}

static enum err
check_options(const struct broker_options *o, struct broker_url *url,
    struct why *w)
{
	enum err e = broker_url_parse(str_of(o->url), url, w);

	if (e == OK)
		e = check_name(str_of(o->exchange), "exchange", w);
	if (e == OK && o->queues_n > BROKER_QUEUES_MAX)
		e = why_field(w, ERR_CONFIG, "queues", "there are more than "
		    "%u", BROKER_QUEUES_MAX);
	for (size_t i = 0; i < o->queues_n && e == OK; i++) {
		e = check_name(o->queues[i].name, "queues", w);
		for (size_t k = 0; k < o->queues[i].keys_n && e == OK; k++)
			e = check_name(o->queues[i].keys[k], "keys", w);
	}
	return e;
}

enum err
broker_check(const struct broker_options *o, struct why *w)
{
	struct broker_url url;

	return check_options(o, &url, w);
}

enum err
broker_open(const struct broker_options *o, struct broker **out,
    struct why *w)
{
	const struct broker_limits standard = BROKER_LIMITS_DEFAULT;
	struct broker_url url;

	*out = NULL;
	enum err e = check_options(o, &url, w);
	if (e != OK)
		return e;
	struct broker *b = mem_new(sizeof(*b));
	b->options = *o;
	b->limits = o->limits == NULL ? standard : *o->limits;
	b->url = url;
	b->options.url = NULL;
	b->options.password_file = copy_text(&b->arena, o->password_file);
	b->options.tls_ca = copy_text(&b->arena, o->tls_ca);
	b->options.exchange = copy_text(&b->arena, o->exchange);
	b->options.name = copy_text(&b->arena, o->name == NULL ? "argiope" :
	    o->name);
	copy_queues(b, o);
	b->wanted = mem_array(o->queues_n, sizeof(*b->wanted));
	list_init(&b->waiting);
	list_init(&b->unconfirmed);
	b->loop = loop_new("broker");
	loop_set_stack(b->loop, STACK_BYTES);
	b->hook.run = end_of_turn;
	loop_hook(b->loop, &b->hook);
	b->close_timer.fire = close_time_over;
	broker_consumers_new(b);
	broker_link_start(&b->links[BROKER_CONSUMES], b, BROKER_CONSUMES,
	    &broker_consumes);
	broker_link_start(&b->links[BROKER_PUBLISHES], b, BROKER_PUBLISHES,
	    &broker_publishes);
	loop_start(b->loop);
	*out = b;
	return OK;
}

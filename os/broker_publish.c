/*
 * Messages: sent in order, confirmed in any.
 *
 *     waiting ─► [sending] ─► unconfirmed ─► ack:  CONFIRMED, or RETURNED
 *        ▲           │             │         nack: NACKED
 *        └───────────┘             └───────► LOST with the connection
 *
 * A message is sent frame by frame, each when the socket has room for it, so
 * that the thread never waits for a broker that does not read.  One that was
 * cut off by the end of the connection cannot have arrived: it waits again.
 * The library does not know confirms; their frames are read here.  The broker
 * returns a message that has no queue before it acknowledges it.
 */
#include "os/broker_own.h"

#include "os/clock.h"

/* ---- Sending ------------------------------------------------------------- */

static struct broker_link *
link_of(struct broker *b)
{
	return &b->links[BROKER_PUBLISHES];
}

static struct broker_message *
first_of(struct list *l)
{
	return list_empty(l) ? NULL : LIST_ITEM(l->next,
	    struct broker_message, node);
}

static enum err
send_method(struct broker *b, const struct broker_message *m, struct why *w)
{
	struct broker_link *l = link_of(b);
	amqp_basic_publish_t publish = {
		.exchange = m->to_queue ? amqp_empty_bytes :
		    amqp_cstring_bytes(b->options.exchange),
		.routing_key = broker_bytes(m->routing_key), .mandatory = 1 };

	return broker_link_sent(l, amqp_send_method(l->conn,
	    BROKER_CHANNEL_MAIN, AMQP_BASIC_PUBLISH_METHOD, &publish), w);
}

static enum err
send_head(struct broker *b, const struct broker_message *m, struct why *w)
{
	struct broker_link *l = link_of(b);
	amqp_table_entry_t *headers = mem_array(m->headers_n,
	    sizeof(*headers));
	amqp_basic_properties_t p = {
		._flags = AMQP_BASIC_CONTENT_TYPE_FLAG |
		    AMQP_BASIC_CONTENT_ENCODING_FLAG |
		    AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG |
		    AMQP_BASIC_PRIORITY_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
		    AMQP_BASIC_TIMESTAMP_FLAG,
		.content_type = amqp_cstring_bytes("application/json"),
		.content_encoding = amqp_cstring_bytes("utf-8"),
		.headers = { (int)m->headers_n, headers },
		.delivery_mode = AMQP_DELIVERY_PERSISTENT, .priority = 0,
		.message_id = broker_bytes(m->message_id),
		.timestamp = (uint64_t)wall_s(m->timestamp) };
	amqp_frame_t f = { .frame_type = AMQP_FRAME_HEADER,
		.channel = BROKER_CHANNEL_MAIN, .payload.properties = {
		.class_id = AMQP_BASIC_CLASS, .body_size = m->body.n,
		.decoded = &p } };

	for (size_t i = 0; i < m->headers_n; i++)
		headers[i] = (amqp_table_entry_t){
		    .key = broker_bytes(m->headers[i].name), .value = {
		    .kind = AMQP_FIELD_KIND_UTF8,
		    .value.bytes = broker_bytes(m->headers[i].value) } };
	enum err e = broker_link_sent(l, amqp_send_frame(l->conn, &f), w);
	mem_free(&headers);
	return e;
}

static enum err
begin_message(struct broker *b, struct why *w)
{
	struct broker_message *m = first_of(&b->waiting);

	list_take(&m->node);
	list_put(&b->unconfirmed, &m->node);
	b->unconfirmed_n++;
	m->tag = ++b->tag;
	m->returned = false;
	b->sending = m;
	b->sent_bytes = 0;
	enum err e = send_method(b, m, w);
	return e == OK ? send_head(b, m, w) : e;
}

static enum err
send_piece(struct broker *b, struct why *w)
{
	struct broker_link *l = link_of(b);
	/* Eight bytes of a frame are its own. */
	size_t most = MIN(BROKER_FRAME_BYTES, (size_t)amqp_get_frame_max(
	    l->conn)) - 8;
	struct str piece = str_cut(b->sending->body, b->sent_bytes,
	    b->sent_bytes + most);
	amqp_frame_t f = { .frame_type = AMQP_FRAME_BODY,
		.channel = BROKER_CHANNEL_MAIN,
		.payload.body_fragment = broker_bytes(piece) };

	b->sent_bytes += piece.n;
	return broker_link_sent(l, amqp_send_frame(l->conn, &f), w);
}

static bool
has_more(const struct broker *b)
{
	return b->sending != NULL || (!list_empty(&b->waiting) &&
	    (int64_t)b->unconfirmed_n < b->limits.unconfirmed_max);
}

static enum err
flush(struct broker_link *l, struct why *w)
{
	struct broker *b = l->broker;
	bool has_room = true;
	enum err e = OK;

	while (e == OK && !b->blocked && has_more(b) &&
	    (has_room = broker_link_has_room(l))) {
		e = b->sending == NULL ? begin_message(b, w) :
		    send_piece(b, w);
		if (b->sent_bytes == b->sending->body.n)
			b->sending = NULL;
	}
	broker_link_want_room(l, !has_room);
	return e;
}

/* ---- Results ------------------------------------------------------------- */

static void
end_message(struct broker *b, struct broker_message *m,
    enum broker_result result, const struct why *reason)
{
	list_take(&m->node);
	b->unconfirmed_n--;
	broker_result(m, result, reason);
}

static void
confirm(struct broker *b, struct broker_message *m, bool stored)
{
	struct why reason = WHY_INIT;

	if (!stored)
		(void)!why(&reason, ERR_UNREACHED, "the broker could not "
		    "store the message");
	end_message(b, m, !stored ? BROKER_NACKED : m->returned ?
	    BROKER_RETURNED : BROKER_CONFIRMED, m->returned && stored ?
	    &m->why : &reason);
	broker_link_proved(link_of(b));
}

/* `multiple`: all up to this tag, too; tag 0 is then the newest. */
static enum err
take_confirm(struct broker *b, uint64_t tag, bool multiple, bool stored,
    struct why *w)
{
	struct list *next;

	for (struct list *n = b->unconfirmed.next; n != &b->unconfirmed;
	    n = next) {
		struct broker_message *m = LIST_ITEM(n,
		    struct broker_message, node);
		next = n->next;
		if (tag != 0 && m->tag > tag)
			break;
		if (!multiple && m->tag != tag)
			continue;
		if (m == b->sending)
			return why(w, ERR_UNREACHED, "the broker confirms a "
			    "message that it has not got");
		confirm(b, m, stored);
	}
	return OK;
}

/* ---- Returned messages --------------------------------------------------- */

static void
begin_return(struct broker *b, const amqp_basic_return_t *m)
{
	struct str text = broker_str(m->reply_text);

	b->returning = true;
	b->returned = WHY_INIT;
	(void)!why(&b->returned, ERR_ABSENT, "no queue takes the message: "
	    "%.*s (%u)", STR_FMT(text), m->reply_code);
}

/* Only the id tells which message it is. */
static void
take_return(struct broker *b, const amqp_basic_properties_t *p)
{
	struct str id = (p->_flags & AMQP_BASIC_MESSAGE_ID_FLAG) == 0 ?
	    STR_NONE : broker_str(p->message_id);

	b->returning = false;
	LIST_EACH(m, &b->unconfirmed, struct broker_message, node) {
		if (m->returned || !str_eq(m->message_id, id))
			continue;
		m->returned = true;
		m->why = b->returned;
		return;
	}
}

/* ---- Frames -------------------------------------------------------------- */

static void
block(struct broker *b, bool blocked, struct str reason)
{
	struct broker_event event = { .kind = blocked ? BROKER_BLOCKED :
		BROKER_UNBLOCKED, .side = BROKER_PUBLISHES, .why = WHY_INIT };

	if (b->blocked == blocked)
		return;
	b->blocked = blocked;
	if (blocked)
		(void)!why(&event.why, ERR_FULL, "the broker takes no "
		    "messages: %.*s", STR_FMT(reason));
	broker_tell(b, &event);
}

static enum err
take_method(struct broker *b, const amqp_method_t *m, struct why *w)
{
	const amqp_basic_ack_t *ack;
	const amqp_basic_nack_t *nack;

	switch (m->id) {
	case AMQP_BASIC_ACK_METHOD:
		ack = m->decoded;
		return take_confirm(b, ack->delivery_tag, ack->multiple, true,
		    w);
	case AMQP_BASIC_NACK_METHOD:
		nack = m->decoded;
		return take_confirm(b, nack->delivery_tag, nack->multiple,
		    false, w);
	case AMQP_BASIC_RETURN_METHOD:
		begin_return(b, m->decoded);
		return OK;
	case AMQP_CONNECTION_BLOCKED_METHOD:
		block(b, true, broker_str(
		    ((amqp_connection_blocked_t *)m->decoded)->reason));
		return OK;
	case AMQP_CONNECTION_UNBLOCKED_METHOD:
		block(b, false, STR_NONE);
		return OK;
	case AMQP_CHANNEL_CLOSE_METHOD:
		/* The exchange was deleted, a right withdrawn ... */
		return broker_link_channel_closed(link_of(b),
		    BROKER_CHANNEL_MAIN, m->decoded, w);
	default:
		return OK;
	}
}

static enum err
take_frame(struct broker_link *l, const amqp_frame_t *f, struct why *w)
{
	struct broker *b = l->broker;

	if (f->frame_type == AMQP_FRAME_METHOD)
		return take_method(b, &f->payload.method, w);
	/* Bodies that come back are of no interest. */
	if (f->frame_type == AMQP_FRAME_HEADER && b->returning)
		take_return(b, f->payload.properties.decoded);
	return OK;
}

/* ---- The whole side ------------------------------------------------------ */

static enum err
set_up(struct broker_link *l, struct why *w)
{
	(void)amqp_confirm_select(l->conn, BROKER_CHANNEL_MAIN);
	return broker_link_reply(l, BROKER_CHANNEL_MAIN, w);
}

static void
disconnected(struct broker_link *l)
{
	struct broker *b = l->broker;
	struct broker_message *m;
	struct why lost = WHY_INIT;

	(void)!why(&lost, ERR_UNREACHED, "the connection went before the "
	    "broker had confirmed the message");
	if (b->sending != NULL) {
		list_take(&b->sending->node);
		list_put(b->waiting.next, &b->sending->node);
		b->unconfirmed_n--;
		b->sending = NULL;
	}
	while ((m = first_of(&b->unconfirmed)) != NULL)
		end_message(b, m, BROKER_LOST, &lost);
	b->tag = 0;
	b->returning = false;
	block(b, false, STR_NONE);
}

const struct broker_role broker_publishes = { "publishing", set_up,
	take_frame, flush, disconnected };

void
broker_publisher_put(struct broker *b, struct broker_message *m)
{
	list_put(&b->waiting, &m->node);
}

bool
broker_publisher_busy(const struct broker *b)
{
	return b->links[BROKER_PUBLISHES].is_set_up &&
	    (!list_empty(&b->waiting) || !list_empty(&b->unconfirmed));
}

void
broker_publisher_end(struct broker *b)
{
	struct why unsent = WHY_INIT;
	struct broker_message *m;

	(void)!why(&unsent, ERR_CLOSED, "the broker was closed before the "
	    "message was sent");
	while ((m = first_of(&b->waiting)) != NULL) {
		list_take(&m->node);
		broker_result(m, BROKER_UNSENT, &unsent);
	}
}

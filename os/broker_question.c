/*
 * Questions about queues, and their deletion: on the main channel of the
 * connection that consumes.  A refusal closes that channel; the next question
 * opens it again.
 */
#include "os/broker_own.h"

/* The reply to the last command; after an error the channel is closed. */
static enum err
take_reply(struct broker_link *l, struct why *w)
{
	enum err e = broker_link_reply(l, BROKER_CHANNEL_MAIN, w);

	l->broker->question_channel = e == OK;
	return e;
}

static enum err
open_channel(struct broker_link *l, struct why *w)
{
	if (l->broker->question_channel)
		return OK;
	(void)amqp_channel_open(l->conn, BROKER_CHANNEL_MAIN);
	return take_reply(l, w);
}

/* Passive: it makes no queue. */
static enum err
count_messages(struct broker_link *l, struct broker_question *q)
{
	const amqp_queue_declare_ok_t *m = amqp_queue_declare(l->conn,
	    BROKER_CHANNEL_MAIN, broker_bytes(q->queue), 1, 0, 0, 0,
	    amqp_empty_table);

	enum err e = take_reply(l, &q->why);
	if (e != OK)
		return e;
	q->messages = m->message_count;
	q->consumers = m->consumer_count;
	return OK;
}

/*
 * We count the consumers ourselves: for a quorum queue that the broker is to
 * delete only if it has none, it ends the connection.
 */
static enum err
delete_queue(struct broker_link *l, struct broker_question *q)
{
	enum err e = count_messages(l, q);

	if (e != OK)
		return e;
	if (q->consumers > 0)
		return why(&q->why, ERR_BUSY, "the queue has %u consumers",
		    q->consumers);
	(void)amqp_queue_delete(l->conn, BROKER_CHANNEL_MAIN,
	    broker_bytes(q->queue), 0, 0);
	return take_reply(l, &q->why);
}

/*
 * Nothing says what type a queue has, but a declaration with another type is
 * refused.  One with the same type changes nothing.
 */
enum err
broker_question_type(struct broker_link *l, struct str queue, bool *is_quorum,
    struct why *w)
{
	amqp_table_entry_t type = { amqp_cstring_bytes("x-queue-type"), {
		.kind = AMQP_FIELD_KIND_UTF8,
		.value.bytes = amqp_cstring_bytes("classic") } };
	amqp_table_t arguments = { 1, &type };

	*is_quorum = false;
	enum err e = open_channel(l, w);
	if (e != OK)
		return e;
	(void)amqp_queue_declare(l->conn, BROKER_CHANNEL_MAIN,
	    broker_bytes(queue), 0, 1, 0, 0, arguments);
	e = take_reply(l, w);
	*is_quorum = e == ERR_STATE;
	return broker_link_is_up(l) ? OK : e;
}

void
broker_question_put(struct broker *b, struct broker_question *q)
{
	struct broker_link *l = &b->links[BROKER_CONSUMES];

	q->why = WHY_INIT;
	q->messages = q->consumers = 0;
	if (!broker_link_is_up(l)) {
		broker_answered(q, why(&q->why, ERR_UNREACHED, "there is no "
		    "connection to the broker"));
		return;
	}
	enum err e = open_channel(l, &q->why);
	if (e == OK)
		e = q->deletes ? delete_queue(l, q) : count_messages(l, q);
	broker_answered(q, e);
}

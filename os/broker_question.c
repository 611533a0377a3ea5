/*
 * Questions about queues, and their deletion: on the main channel of the
 * connection that consumes.  A refusal closes that channel; the next question
 * opens it again.
 */
#include "os/broker_own.h"

static enum err
open_channel(struct broker_link *l, struct why *w)
{
	if (l->broker->question_channel)
		return OK;
	(void)amqp_channel_open(l->conn, BROKER_CHANNEL_MAIN);
	enum err e = broker_link_reply(l, BROKER_CHANNEL_MAIN, w);
	l->broker->question_channel = e == OK;
	return e;
}

/* Passive: it makes no queue. */
static enum err
count_messages(struct broker_link *l, struct broker_question *q)
{
	const amqp_queue_declare_ok_t *m = amqp_queue_declare(l->conn,
	    BROKER_CHANNEL_MAIN, broker_bytes(q->queue), 1, 0, 0, 0,
	    amqp_empty_table);

	enum err e = broker_link_reply(l, BROKER_CHANNEL_MAIN, &q->why);
	if (e != OK)
		return e;
	q->messages = m->message_count;
	q->consumers = m->consumer_count;
	return OK;
}

static enum err
delete_queue(struct broker_link *l, struct broker_question *q)
{
	const amqp_queue_delete_ok_t *m = amqp_queue_delete(l->conn,
	    BROKER_CHANNEL_MAIN, broker_bytes(q->queue), 1, 0);

	enum err e = broker_link_reply(l, BROKER_CHANNEL_MAIN, &q->why);
	if (e == OK)
		q->messages = m->message_count;
	return e;
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
	if (e == OK) {
		e = q->deletes ? delete_queue(l, q) : count_messages(l, q);
		/* After any error the channel is closed. */
		b->question_channel = e == OK;
	}
	broker_answered(q, e);
}

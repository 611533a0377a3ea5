/*
 * broker -- a client of RabbitMQ (AMQP 0-9-1): declares and consumes queues,
 * publishes messages and reports the fate of each.
 *
 *     connecting ──► connected ──► lost ──► waiting 1, 2, 4 ... 60 s +-20 %
 *         ▲                                                    │
 *         └────────────────────────────────────────────────────┘
 *
 * One thread has two connections: one consumes, the other publishes.  A broker
 * that is short of memory or disk stops reading from connections that publish,
 * acknowledgements included; with two of them consuming goes on.  Each is made
 * anew by itself, for ever.
 *
 * On each connection the exchange is declared (topic, durable); on the one that
 * consumes each queue gets a channel of its own, is declared (durable, without
 * arguments), bound, and consumed if that is wanted.  An error of one queue
 * leaves the others running; that queue is tried again after the same pauses.
 *
 * Nothing is stored here: the sender repeats a message that is not confirmed,
 * and RabbitMQ repeats a delivery that is not acknowledged.
 *
 * Thread: every call is made on the home loop, and every callback runs there.
 * Limits: BROKER_LIMITS.
 * Source: contracts/harvest.md sections 1, 2, 7 (Delivery) and 8.
 */
#ifndef OS_BROKER_H
#define OS_BROKER_H

#include "base/arena.h"
#include "base/err.h"
#include "os/loop.h"

/*  name             default    what it bounds */
#define BROKER_LIMITS(X)                                                     \
	X(connect_ms,      10000,     "to connect, TLS included; the login"   \
	    " may take as long again")                                       \
	X(answer_ms,       10000,     "the answer to a command")              \
	X(heartbeat_s,     60,        "between heartbeats; where nothing"     \
	    " comes for twice that time the connection is lost")             \
	X(retry_ms_min,    1000,      "before the first new attempt")         \
	X(retry_ms_max,    60000,     "before any other")                     \
	X(body_bytes_max,  16 << 20,  "the body of a message")                \
	X(unconfirmed_max, 256,       "messages sent and not confirmed yet;"  \
	    " others wait for their turn")                                   \
	X(prefetch_max,    1,         "deliveries of a queue that are neither" \
	    " acknowledged nor rejected")

struct broker_limits {
#define BROKER_LIMIT_FIELD(name, value, help) int64_t name;
	BROKER_LIMITS(BROKER_LIMIT_FIELD)
#undef BROKER_LIMIT_FIELD
};
#define BROKER_LIMIT_VALUE(name, value, help) value,
#define BROKER_LIMITS_DEFAULT \
	((struct broker_limits){ BROKER_LIMITS(BROKER_LIMIT_VALUE) })

/* Names, keys and ids are AMQP's short strings. */
#define BROKER_NAME_BYTES_MAX 255u
#define BROKER_QUEUES_MAX 1000u
/* The names and values of a message's headers together. */
#define BROKER_HEADER_BYTES_MAX 2048u

/* Of a delivery's headers those that are texts are kept, the first of them. */
#define BROKER_DELIVERY_HEADERS_MAX 32u

struct broker;
struct broker_delivery;

struct broker_header {
	struct str name, value;
};

/* ---- What is reported ---------------------------------------------------- */

enum broker_side { BROKER_CONSUMES, BROKER_PUBLISHES };

enum broker_event_kind {
	BROKER_CONNECTED,    /* one side; its exchange is declared */
	BROKER_DISCONNECTED, /* one side, or an attempt of it has failed */
	BROKER_QUEUE_READY,  /* declared and bound */
	BROKER_QUEUE_FAILED, /* one queue alone; it will be tried again */
	BROKER_BLOCKED,      /* the broker takes no messages; they wait here */
	BROKER_UNBLOCKED,    /* it does, or the connection is lost */
};

struct broker_event {
	enum broker_event_kind kind;
	enum broker_side side;
	size_t queue;        /* of the QUEUE kinds: an index of the options */
	/*
	 * DISCONNECTED and QUEUE_FAILED: DENIED when the broker refuses the
	 * login or the right, STATE when an object of this name has other
	 * properties, ABSENT when a queue was deleted, CLOSED when we asked for
	 * it, UNREACHED and others.  BLOCKED: the broker's reason.  Never a
	 * secret.
	 */
	struct why why;
	int64_t retry_ms;    /* DISCONNECTED, QUEUE_FAILED: the pause */
	/* QUEUE_READY: not a classic queue; SFM's services refuse those. */
	bool is_quorum;
};

/* ---- Open and close ------------------------------------------------------ */

struct broker_queue {
	struct str name;
	const struct str *keys;   /* bound to the exchange by these */
	size_t keys_n;
};

struct broker_options {
	struct loop *home;
	/*
	 * amqp://[USER@]HOST[:PORT][/VHOST], or amqps:// with the same: TLS 1.2
	 * or later, whose certificate must be valid for HOST, a name.  USER and
	 * VHOST may be percent-encoded; they are `guest` and `/` by default.
	 */
	const char *url;
	/*
	 * Its first line is the password; read at each login, so that it may
	 * change.  Nobody but its owner may use the file.  NULL or "": the
	 * password is `guest`.
	 */
	const char *password_file;
	const char *tls_ca;       /* PEM; NULL or "": the system's */
	const char *exchange;
	const char *name;         /* in the broker's list; NULL: argiope */
	const struct broker_queue *queues;
	size_t queues_n;
	const struct broker_limits *limits;   /* NULL: the defaults */
	void *arg;
	void (*on_event)(const struct broker_event *, void *arg);
	/* The delivery is the callee's. */
	void (*on_delivery)(struct broker_delivery *, void *arg);
	/* The last call; the broker is freed already. */
	void (*on_closed)(void *arg);
};

/*
 * Judge the options without connecting, for a program's start.  Errors: those
 * of broker_open().
 */
MUST_USE enum err broker_check(const struct broker_options *, struct why *);
/*
 * Start connecting.  The options are copied.  Errors: CONFIG when the URL is
 * none, or has a password in it, or a name is too long; the field is named, and
 * the URL is not quoted.  All else comes as events.
 */
MUST_USE enum err broker_open(const struct broker_options *, struct broker **,
    struct why *);
/*
 * Stop consuming, wait at most `wait_ms` for messages that wait or are not
 * confirmed, and disconnect.  on_closed() comes when all messages have their
 * results; until then deliveries may still be acknowledged, and after it they
 * are freed by broker_delivery_free().  Where the broker does not answer it
 * comes later, after connect_ms or answer_ms and what looking up a name takes.
 */
void broker_close(struct broker *, int64_t wait_ms);

/* ---- Consuming ----------------------------------------------------------- */

struct broker_delivery {
	size_t queue;                 /* an index of the options */
	struct str exchange, routing_key;
	/* Properties of the message; empty where it has none. */
	struct str content_type, content_encoding, message_id;
	const struct broker_header *headers;
	size_t headers_n;
	bool redelivered;
	/* The body has more than body_bytes_max, and is not here. */
	bool too_large;
	uint64_t body_bytes;          /* of the whole body */
	struct buf body;              /* may be taken: leave BUF_INIT */
	/* The rest is the broker's. */
	struct mail mail;
	struct broker *broker;
	struct arena arena;           /* of the texts */
	uint64_t tag, session;
	enum { BROKER_ACK, BROKER_REQUEUE, BROKER_DROP } answer;
};

/*
 * Have deliveries of a queue, or no more of them; nothing, where that is so
 * already.  At first none are.  After broker_cancel() no delivery comes: one
 * that was under way is rejected so that the broker keeps it.
 */
void broker_consume(struct broker *, size_t queue);
void broker_cancel(struct broker *, size_t queue);
/*
 * The message is done with, or goes back to the queue with `requeue`, or is
 * dropped.  The delivery is freed.  When its channel is gone by then the broker
 * delivers the message again.
 */
void broker_ack(struct broker_delivery **);
void broker_reject(struct broker_delivery **, bool requeue);
/*
 * Tell the broker nothing, so that it keeps the message until the connection
 * ends and then has it again in its place; also for deliveries that were kept
 * until after on_closed().
 */
void broker_delivery_free(struct broker_delivery **);
/* A header's value; empty where there is none of that name. */
struct str broker_header_of(const struct broker_delivery *, const char *name);

/* ---- Publishing ---------------------------------------------------------- */

enum broker_result {
	BROKER_CONFIRMED,    /* in all its queues, durably */
	BROKER_RETURNED,     /* no queue is bound by this key */
	BROKER_NACKED,       /* the broker could not store it */
	BROKER_LOST,         /* the connection went before the confirm */
	BROKER_UNSENT,       /* the end came first: the broker has not got it */
};

/*
 * Lies in an object of the sender's, which keeps all of it until done().
 * Published with the properties of section 2 of the contract: a persistent JSON
 * text in UTF-8.
 */
struct broker_message {
	struct str routing_key;
	bool to_queue;                /* the key is a queue's name */
	struct str message_id;        /* not that of another under way */
	struct wall timestamp;        /* sent in whole seconds */
	const struct broker_header *headers;
	size_t headers_n;
	struct str body;
	void (*done)(struct broker_message *);
	/* Its fate, in done(). */
	enum broker_result result;
	struct why why;               /* unless it is CONFIRMED */
	/* The rest is the broker's. */
	struct mail mail;
	struct broker *broker;
	struct list node;
	uint64_t tag;
	bool returned;
};

/*
 * Publish a message.  Messages leave in the order of these calls; those that
 * cannot leave now wait, so that their number is the sender's to bound.
 * Errors: INPUT, naming the field, when a text or the body is too long, or
 * there is no id; CLOSED after broker_close().  Then done() is not called.
 */
MUST_USE enum err broker_publish(struct broker *, struct broker_message *,
    struct why *);

/* ---- Questions ----------------------------------------------------------- */

/* Lies in an object of the caller's, which keeps it until done(). */
struct broker_question {
	struct str queue;
	void (*done)(struct broker_question *);
	/*
	 * The answer.  ABSENT: no such queue.  BUSY: it has consumers, and is
	 * not deleted.  UNREACHED: we are not connected.
	 */
	enum err err;
	struct why why;
	uint32_t messages, consumers;
	/* The rest is the broker's. */
	struct mail mail;
	struct broker *broker;
	bool deletes;
};

/* How many messages wait in a queue, and how many consumers it has. */
void broker_depth(struct broker *, struct broker_question *);
/* Delete a queue with its messages, if nobody consumes it. */
void broker_delete_queue(struct broker *, struct broker_question *);

#endif

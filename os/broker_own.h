/*
 * broker_own -- what the files of the broker share.  Private to them.
 *
 * broker.c is the home loop's side: calls become mail to the broker's thread,
 * mail from there becomes callbacks.  All else runs on that thread:
 * broker_link.c (a connection), broker_consume.c (queues and deliveries),
 * broker_publish.c (messages and confirms), broker_question.c.
 */
#ifndef OS_BROKER_OWN_H
#define OS_BROKER_OWN_H

#include <stdatomic.h>

/* Since 0.12 the library's headers have a folder of their own. */
#if __has_include(<rabbitmq-c/amqp.h>)
#include <rabbitmq-c/amqp.h>
#else
#include <amqp.h>
#endif

#include "os/broker.h"

/* ---- broker_url.c -------------------------------------------------------- */

struct broker_url {
	bool tls;
	uint16_t port;
	char user[BROKER_NAME_BYTES_MAX + 1];
	char host[BROKER_NAME_BYTES_MAX + 1];    /* IPv6 without brackets */
	char vhost[BROKER_NAME_BYTES_MAX + 1];
};

/* Errors: CONFIG, without a word of the URL, which may contain a secret. */
MUST_USE enum err broker_url_parse(struct str, struct broker_url *,
    struct why *);

/* ---- broker_link.c: a connection ----------------------------------------- */

struct broker_link;

/* The callbacks of one side, consuming or publishing.  An error ends the
 * connection. */
struct broker_role {
	const char *name;
	/* We are logged in, the main channel is open, the exchange declared. */
	enum err (*set_up)(struct broker_link *, struct why *);
	enum err (*take_frame)(struct broker_link *, const amqp_frame_t *,
	    struct why *);
	/* The end of a turn: send what can be sent. */
	enum err (*flush)(struct broker_link *, struct why *);
	void (*disconnected)(struct broker_link *);
};

struct broker_link {
	struct broker *broker;
	const struct broker_role *role;
	enum broker_side side;
	amqp_connection_state_t conn;   /* NULL: there is none */
	/* Why the connection is unusable; the turn's end gives it up. */
	struct why failed;
	bool is_set_up;
	struct watch watch;
	bool wants_room;                /* in its socket */
	struct timer timer;             /* the next attempt, or each second */
	int64_t retry_ms;
	struct mono since;              /* it is connected */
	struct str secret;              /* during the login */
};

/* The channel on which a side does all that is not about one queue. */
#define BROKER_CHANNEL_MAIN 1u
/* More than the broker's 128 KiB, where an administrator has raised that. */
#define BROKER_FRAME_BYTES_MAX (1 << 20)

void broker_link_start(struct broker_link *, struct broker *,
    enum broker_side, const struct broker_role *);
/* Disconnect; in order, if `in_order` and that is possible. */
void broker_link_stop(struct broker_link *, bool in_order);
/* Read what has come, send what can be sent; at the end of each turn. */
void broker_link_turn(struct broker_link *);
bool broker_link_is_up(const struct broker_link *);
/* CLOSED once the end was asked for: what takes long is given up. */
MUST_USE enum err broker_link_go_on(const struct broker_link *, struct why *);
/*
 * The reply to the command that was sent last on `channel`.  An error is that
 * of the channel, which is closed then and may be opened anew, or of the whole
 * connection, which broker_link_is_up() tells.
 */
MUST_USE enum err broker_link_reply(struct broker_link *, amqp_channel_t,
    struct why *);
/* The same for what has no reply: `status` is the library's. */
MUST_USE enum err broker_link_sent(struct broker_link *, int status,
    struct why *);
/* Confirm the broker's channel.close; returns the reason. */
MUST_USE enum err broker_link_channel_closed(struct broker_link *,
    amqp_channel_t, const amqp_channel_close_t *, struct why *);
/* Whether a frame of BROKER_FRAME_BYTES can be written without waiting. */
bool broker_link_has_room(const struct broker_link *);
#define BROKER_FRAME_BYTES (16u << 10)
/* Have a turn as soon as it has, or not. */
void broker_link_want_room(struct broker_link *, bool wants);
/* The connection has done some work: the next pause is the shortest. */
void broker_link_proved(struct broker_link *);
/* The pause after this one, doubled from `*retry_ms`, with its 20 %. */
int64_t broker_pause_ms(const struct broker *, int64_t *retry_ms);

static inline amqp_bytes_t
broker_bytes(struct str s)
{
	return (amqp_bytes_t){ .len = s.n, .bytes = (void *)(uintptr_t)s.p };
}

static inline struct str
broker_str(amqp_bytes_t b)
{
	return (struct str){ b.bytes, b.len };
}

/* ---- broker_consume.c ---------------------------------------------------- */

struct broker_consumer {
	struct broker *broker;
	size_t index;
	amqp_channel_t channel;
	uint64_t session;            /* of the channel; 0: it is closed */
	bool wanted;                 /* as the home loop has said last */
	bool consuming;
	char tag[32];                /* the consumer's */
	struct timer timer;          /* when it is tried again */
	int64_t retry_ms;
	struct mono since;           /* the channel is open */
	/* The delivery whose frames are arriving; the bytes that it lacks. */
	struct broker_delivery *arriving;
	uint64_t left;
	bool has_head, unwanted;
};

extern const struct broker_role broker_consumes;
void broker_consumers_new(struct broker *);
void broker_consumers_free(struct broker *);
void broker_consumer_want(struct broker *, size_t queue, bool wanted);
/* Send the answer to a delivery, if its channel is still there; free it. */
void broker_consumer_answer(struct broker_delivery *);

/* ---- broker_publish.c ---------------------------------------------------- */

extern const struct broker_role broker_publishes;
void broker_publisher_put(struct broker *, struct broker_message *);
/* Whether a message waits for its turn or its confirm, and can get it. */
bool broker_publisher_busy(const struct broker *);
/* Messages still waiting get the result UNSENT. */
void broker_publisher_end(struct broker *);

/* ---- broker_question.c --------------------------------------------------- */

/* Get the answer, and send it to the home loop. */
void broker_question_put(struct broker *, struct broker_question *);
/* Whether a queue that was declared is no classic one.  Errors: the link's. */
MUST_USE enum err broker_question_type(struct broker_link *, struct str queue,
    bool *is_quorum, struct why *);

/* ---- The whole ----------------------------------------------------------- */

struct broker {
	/* Set by broker_open() and read by both. */
	struct broker_options options;
	struct broker_limits limits;
	struct broker_url url;
	struct arena arena;             /* of the options' texts */
	struct loop *loop;
	atomic_bool closing;            /* set by the home loop */
	/* The home loop's. */
	bool *wanted;                   /* which queues are to be consumed */
	struct mail close_mail;
	int64_t close_wait_ms;
	/* The thread's. */
	struct broker_link links[2];    /* by enum broker_side */
	struct turn_hook hook;
	struct timer close_timer;
	bool ending, ended;
	uint64_t sessions;              /* channels opened so far */
	struct broker_consumer *consumers;
	struct list waiting;            /* messages not sent */
	struct list unconfirmed;        /* sent, the last one perhaps in part */
	size_t unconfirmed_n;
	struct broker_message *sending; /* the one that is sent in part */
	size_t sent_bytes;              /* of its body */
	uint64_t tag;                   /* of the newest message */
	bool blocked;
	bool returning;                 /* a returned message is arriving */
	struct why returned;            /* the broker's reason */
	bool question_channel;          /* is open */
};

/* Thread: the broker's.  Report to the home loop. */
void broker_tell(struct broker *, const struct broker_event *);
void broker_hand_over(struct broker *, struct broker_delivery *);
void broker_result(struct broker_message *, enum broker_result,
    const struct why *);
void broker_answered(struct broker_question *, enum err);

#endif

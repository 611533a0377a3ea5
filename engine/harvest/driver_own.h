/*
 * driver_own -- a driver's memory, for its files alone.
 */
#ifndef ENGINE_HARVEST_DRIVER_OWN_H
#define ENGINE_HARVEST_DRIVER_OWN_H

#include "engine/catalog/catalog.h"
#include "engine/fetcher/call.h"
#include "engine/harvest/driver.h"
#include "os/secret_memory.h"
#include "wire/oauth1.h"

enum slot_state {
	SLOT_FREE,
	SLOT_READY,          /* to be sent, or replayed */
	SLOT_WAITS,          /* for its turn, or before another try */
	SLOT_OUT,
	SLOT_AHEAD           /* in flight before the connector requests it */
};

/* A call that the connector wants made. */
struct slot {
	enum slot_state state;
	struct driver *driver;
	struct connector_call call;
	struct arena arena;          /* of the following */
	struct str url;              /* as the archive knows it */
	bool hides_url;              /* what is out was given another one,
	                              * without secrets; sign() puts it right */
	struct transport_header *headers;
	size_t headers_n;
	struct mono not_before;      /* of the next try */
	unsigned failures, refusals; /* in a row: 5xx and lost, 429 */
	bool renewed;                /* its token was refused and let go */
	bool asks_token;             /* what is out is the token's request */
	bool is_whole;               /* what is out has its answer */
	bool is_learned;             /* the budget knows it */
	struct timer timer;
	struct call sent;
	bool stopped;                /* call_stop() was called */
	/* Of a stream: when its head came; what is not whole yet. */
	struct wall began;
	struct spool *spool;
	struct buf part, event;      /* of a line; lines of an event */
	bool event_has_field;
	struct frames *frames;       /* of a WebSocket; or NULL */
	size_t stream_bytes;         /* decoded, so far */
	/* Of a stream: the one that was opened to follow it; driver_renew.c. */
	struct slot *successor;
	bool renewed_once;           /* it had one */
	/* Of one that is AHEAD. */
	struct timer late;           /* until it is open, or given up */
	bool open;                   /* the one before it may end */
	struct buf early;            /* what has come of it */
	struct wall early_when;
	bool ended;                  /* it is archived */
	bool dropped;                /* nobody wants it */
	/* For driver_sign(), on the host's loop: `consumer` is the secret of
	 * the other kinds, too. */
	struct oauth1_keys keys;
};

/* An answer that the connector has before it is durable; driver_early.c. */
struct driver_early {
	struct slot *slot;           /* NULL: there is none */
	struct arena arena;          /* of the findings */
	struct driver_finding *first, **last;
	struct buf saved;            /* the connector before it */
	struct connector_run *former;        /* of an answer that was lost */
	struct wall when;
	enum slot_state then;        /* what the slot is, when it is durable */
	unsigned again_s;
};

/* Values of a credential that another one has replaced. */
struct driver_former {
	struct secret_memory memory;
	struct str *values;          /* in `memory`, as their texts */
	size_t n;
};

struct driver {
	struct driver_options options;
	const struct connector *connector;
	struct connector_run *run;
	struct redactor *redactor;
	struct secret_memory redacted;       /* the redactor's values */
	struct driver_former former[DRIVER_FORMER_MAX];      /* newest first */
	struct arena arena;
	struct str *hosts;           /* where secrets may go; "*.": below */
	size_t hosts_n;
	struct buf fingerprint;      /* of the credential */
	/* A field's name whose value is secret, in URLs or heads; or NULL. */
	const char *secret_name;
	struct buf token;            /* of the application; empty: none yet */
	bool token_is_asked;
	uint32_t crawl;
	struct slot slots[DRIVER_CALLS_MAX];
	uint64_t captures;           /* whose answers are in */
	bool started, held;
	bool rolls;                  /* held when all successors are open */
	bool rolling;                /* held, and successors stay open */
	enum driver_end end;
	unsigned failures;           /* of tries_max */
	bool secret_told;
	struct mail quiet_mail;
	bool quiet_is_out;

	/* Streams of an earlier process. */
	bool recovering;
	size_t spool_at;
	/* Answers from the archive; those that no call wanted, in order. */
	uint64_t replay_last;
	struct left_answer {
		uint64_t number;
		uint64_t url;        /* a hash; 0: tried behind all others */
	} *left;
	size_t left_n, left_cap, left_at, left_end, left_taken;
	bool left_due;               /* other calls are wanted than before */
	bool replaying, reading;
	struct capture_query capture;

	/* What the connector says of the answer in hand. */
	bool again;
	unsigned again_s;
	uint64_t counted;            /* items */
	struct wall answered;        /* when it came */
	struct driver_early early;

	struct driver_look look;
};

/* driver_answer.c: an answer, from the network or from the archive. */
struct driver_answer {
	int status;
	const struct http_head *head;
	struct str body;             /* decoded */
	struct str refused;          /* of a call as a crawl without one */
	bool damaged;                /* its coding is */
	bool too_long;               /* for fetch.body_bytes_max */
	struct wall when;
	struct wall began;           /* of a stream */
	bool cut;                    /* of a stream: by us */
};
enum driver_verdict {
	VERDICT_TAKEN,       /* the connector has it; the slot may be free */
	VERDICT_LATER,       /* status 429 */
	VERDICT_LOST,        /* as a transfer that was lost */
	VERDICT_RENEW,       /* the application's token is not taken */
	VERDICT_USELESS      /* of a status that nobody expects, too long */
};
enum driver_verdict driver_take(struct slot *, const struct driver_answer *);
/* The connector has it; the slot is free, or READY to be sent again. */
void driver_give(struct slot *, const struct connector_answer *);
struct connector_findings driver_findings(struct driver *);
void driver_look_for_secrets(struct driver *, struct str);
/* The run ends without success. */
void driver_fail(struct driver *, enum driver_fault, const char *code,
    struct str text);

/* driver_early.c: the slot's answer is whole. */
void driver_call_answered(struct call *);
/* Give the connector the answer that is whole, if it may have it. */
void driver_look_early(struct driver *);
/* The slot's call has ended.  False: the connector has not had its answer. */
bool driver_end_early(struct slot *);
struct connector_findings driver_early_findings(struct driver *);
void driver_free_early(struct driver *);

/* driver_stream.c. */
bool driver_is_stream(const struct connector_call *);
/* The call that is about to go out is followed. */
void driver_follow(struct slot *);
/* Decoded bytes of a stream. */
void driver_feed(struct slot *, struct str, struct wall when);
void driver_end_stream(struct slot *, const struct driver_answer *);
bool driver_take_stream(struct slot *);
void driver_stop_streams(struct driver *);

/* driver_renew.c: streams that overlap. */
/* One is open for each stream that is to end and allows it; false: for none. */
bool driver_open_successors(struct driver *);
/* A stream has so many bytes that it will end soon. */
void driver_look_at_length(struct slot *);
/* Of a slot that is AHEAD: it has begun, given bytes, ended. */
void driver_successor_began(struct slot *);
void driver_successor_bytes(struct slot *, struct str, struct wall when);
void driver_successor_done(struct slot *);
/* The connector asks for the stream of `s`, which is not used then.  False:
 * none of them is open. */
bool driver_take_successor(struct slot *s);
/* One that is open must be taken over, though no other call is made. */
bool driver_must_take_successor(const struct driver *);
void driver_drop_successors(struct driver *);
/* Hold the driver if it rolls and all successors are open. */
void driver_look_at_roll(struct driver *);
bool driver_is_successor_out(const struct slot *);

/* driver_frames.c: messages of a WebSocket. */
void driver_follow_frames(struct slot *);
/* The call has ended.  True: what there is of it becomes records first. */
bool driver_take_frames(struct slot *);
void driver_free_frames(struct slot *);
/* A capture of the archive that is one of a WebSocket; `s`: whom its URL is
 * wanted by, or NULL.  False: it is none of them. */
bool driver_replay_frames(struct slot *s, const struct capture_query *);
/* It begins another one under the URL of the one that is open. */
bool driver_replay_begins_anew(const struct slot *,
    const struct capture_query *);
/* No further capture belongs to one that is open.  True: there was one, and
 * the connector has its end. */
bool driver_replay_frames_end(struct driver *);

/* driver_sign.c. */
MUST_USE enum err driver_read_hosts(struct driver *, struct why *);
void driver_find_secrets(struct slot *);
/* The call's URL without secrets.  Memory: the call's, or `a`. */
struct str driver_shown_url(const struct connector_call *, struct arena *a);
bool driver_sign(struct call *, struct exchange *, struct arena *);
/* With all that is secret now; no call is out. */
void driver_make_redactor(struct driver *);
/* The secrets of the options are about to be replaced. */
void driver_keep_former(struct driver *);
/* Copy the former secrets that the options name. */
void driver_take_former(struct driver *);
void driver_free_former(struct driver *);
/* The call's URL for the index: without what the redactor finds in it.  Memory:
 * the slot's. */
struct str driver_clean_url(struct slot *);

/* driver_send.c: send it, or have it wait for its turn. */
void driver_send(struct slot *);
/* It is sent in any case. */
void driver_send_now(struct slot *);
/* The token's request has ended so.  True: the calls can go on; else `a` is
 * the answer of the slot's own call. */
bool driver_take_token(struct slot *, struct driver_answer *a);

/* driver_recover.c: archive what is left of streams, then driver_pump(). */
void driver_recover(struct driver *);

/* driver_replay.c: read the answers behind `captures`, then driver_pump(). */
void driver_replay(struct driver *);

/* driver.c. */
/* It is a harvest, whose answers can be read again from its captures. */
static inline bool
driver_harvests(const struct driver *d)
{
	return d->options.answered == NULL;
}
/* Its answers become captures. */
static inline bool
driver_archives(const struct driver *d)
{
	return driver_harvests(d) || d->options.archives;
}
void driver_pump(struct driver *);
bool driver_is_out(const struct driver *);
void driver_wait_until(struct slot *, struct mono at, const char *what);
void driver_wait_ms(struct slot *, int64_t ms, const char *what);
struct slot *driver_free_slot(struct driver *);
/* No call is to be made any more, and streams end. */
void driver_stop_calls(struct driver *);
/* The slot's call has ended. */
void driver_call_done(struct call *);
/* Process the result of the slot's finished call. */
void driver_end_call(struct slot *);
/* The budget learns of its answer, once. */
void driver_learn(struct slot *);
/* The slot's call is to end. */
void driver_stop_call(struct slot *);
/* Ask the connector for calls. */
void driver_fill(struct driver *);

#endif

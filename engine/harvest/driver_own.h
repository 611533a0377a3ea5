/*
 * driver_own -- a driver's memory, for its files alone.
 */
#ifndef ENGINE_HARVEST_DRIVER_OWN_H
#define ENGINE_HARVEST_DRIVER_OWN_H

#include "engine/catalog/catalog.h"
#include "engine/fetcher/call.h"
#include "engine/harvest/driver.h"

enum slot_state {
	SLOT_FREE,
	SLOT_READY,          /* to be sent, or replayed */
	SLOT_WAITS,          /* for its turn, or before another try */
	SLOT_OUT
};

/* A call that the connector wants made. */
struct slot {
	enum slot_state state;
	struct driver *driver;
	struct connector_call call;
	struct mono not_before;      /* of the next try */
	unsigned failures, refusals; /* in a row: 5xx and lost, 429 */
	struct timer timer;
	struct call sent;
	bool budgeted;               /* one of the budget is taken */
	/* For driver_sign(), on the host's loop. */
	struct str secret;
	struct transport_header headers[2];
};

struct driver {
	struct driver_options options;
	const struct connector *connector;
	struct connector_run *run;
	struct redactor *redactor;
	struct arena arena;
	struct str *hosts;           /* where secrets may go; "*.": below */
	size_t hosts_n;
	struct buf fingerprint;      /* of the credential */
	uint32_t crawl;
	struct slot slots[DRIVER_CALLS_MAX];
	uint64_t captures;           /* whose answers are in */
	bool started, held, told_quiet;
	enum driver_end end;
	unsigned failures;           /* of tries_max */
	bool secret_told;
	struct mail quiet_mail;
	bool quiet_is_out;

	/* Answers from the archive. */
	uint64_t replay_last;
	bool replaying, reading;
	struct capture_query capture;

	/* What the connector says of the answer in hand. */
	bool again;
	unsigned again_s;
	struct wall answered;        /* when it came */

	struct driver_look look;
};

/* driver_answer.c: an answer, from the network or from the archive. */
struct driver_answer {
	int status;
	const struct http_head *head;
	struct str body;             /* decoded */
	bool damaged;                /* its coding is */
	bool too_long;               /* for fetch.body_bytes_max */
	struct wall when;
};
enum driver_verdict {
	VERDICT_TAKEN,       /* the connector has it; the slot may be free */
	VERDICT_LATER,       /* status 429 */
	VERDICT_LOST,        /* as a transfer that was lost */
	VERDICT_USELESS      /* of a status that nobody expects, too long */
};
enum driver_verdict driver_take(struct slot *, const struct driver_answer *);
/* The run ends without success. */
void driver_fail(struct driver *, const char *code, struct str text);

/* driver_sign.c. */
MUST_USE enum err driver_read_hosts(struct driver *, struct why *);
void driver_find_secret(struct slot *);
bool driver_sign(struct call *, struct exchange *, struct arena *);

/* driver_replay.c: read the answers behind `captures`, then driver_pump(). */
void driver_replay(struct driver *);

/* driver.c. */
void driver_pump(struct driver *);
/* Ask the connector for calls. */
void driver_fill(struct driver *);

#endif

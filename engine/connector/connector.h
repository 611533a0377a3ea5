/*
 * connector -- what the driver of harvests and a platform's connector say to
 * each other.
 *
 *     order ─► open ─► next ─► call ──► the driver makes and archives it
 *                       ▲                         │
 *                       └────── answer ◄──────────┘
 *                                 └──► findings
 *
 * A connector knows one platform: what to ask, in which order, and what an
 * answer says.  It has no socket, clock, thread, file or secret; what it
 * remembers is small and can be saved between any two answers.  The same order
 * and the same answers give the same calls and findings, whatever time passes
 * in between, and whether or not it was saved and loaded again.
 *
 * The driver paces, makes and retries calls: an answer of status 429 or 5xx, a
 * transfer that was lost, a redirect, and a 2xx body that is not JSON where
 * JSON is expected never reach a connector.  A stream's events come one by one,
 * and its answer when it has ended, however it did.
 *
 * Thread: one at a time for each run; the tables are read-only.
 * Source: contracts/connector.md §1, §2.
 */
#ifndef ENGINE_CONNECTOR_CONNECTOR_H
#define ENGINE_CONNECTOR_CONNECTOR_H

#include "base/err.h"
#include "base/json.h"
#include "base/time.h"
#include "wire/http.h"

/* What save() writes at most, bytes. */
#define CONNECTOR_SAVED_BYTES_MAX ((size_t)64 << 10)

enum connector_kind {
	CONNECTOR_BATCH,             /* ends by itself */
	CONNECTOR_STREAM             /* goes on until it is stopped */
};

/* ---- What a connector takes: rows for checks, forms and help ----------- */

enum connector_type {
	CONNECTOR_BOOL,              /* true, false, or one of them as a text */
	CONNECTOR_INT,               /* a whole number, or its digits */
	CONNECTOR_TEXT,              /* a text that is not empty */
	CONNECTOR_CHOICE,            /* one of `words` */
	CONNECTOR_TEXTS              /* a list of such texts */
};

/* An option, or a field of a token that is an object.  A table ends with a row
 * without a name. */
struct connector_param {
	const char *name;
	enum connector_type type;
	bool needed;
	int64_t least, most;         /* of an INT */
	const char *words;           /* of a CHOICE, "this that" */
	const char *help;            /* one line, without a full stop; the
	                              * default of a BOOL is false */
};

/* How many seeds a type takes, and what they are. */
struct connector_seeds {
	size_t least, most;
	const char *token, *uid;     /* what it is, for people; NULL: none is
	                              * taken */
	/* Those of a token that is an object; NULL: a token is a text. */
	const struct connector_param *fields;
};

/* A key of the credential.  A table ends with a row without a name. */
struct connector_key {
	const char *name;
	bool needed;
	bool secret;                 /* the driver's alone */
	const char *help;
};

/* ---- An order ---------------------------------------------------------- */

struct connector_seed {
	struct str id;               /* as the requester named it; or empty */
	struct str uid, token;       /* empty: not given; a number's digits */
	yyjson_val *fields;          /* a token that is an object, or NULL */
};

/* A key of the credential that was given. */
struct connector_credential {
	struct str name;
	struct str value;            /* STR_NONE when it is secret */
};

/* What an earlier run has left under that key; a number's digits. */
struct connector_state {
	struct str key, value;
};

/*
 * Made by connector_order_read() (order.h); whoever keeps it, its arena and the
 * JSON that it was made of, keeps all of them until the run is closed.
 */
struct connector_order {
	const struct connector *connector;
	const struct connector_seed *seeds;
	size_t seeds_n;
	yyjson_val *options;         /* an object, or NULL */
	const struct connector_credential *credentials;
	size_t credentials_n;
	const struct connector_state *state;     /* sorted by key */
	size_t state_n;
};

/* ---- A call and its answer --------------------------------------------- */

enum connector_auth {
	CONNECTOR_ANONYMOUS,
	CONNECTOR_BEARER             /* Authorization: Bearer, by `secret` */
};

enum connector_expect {
	CONNECTOR_JSON,
	CONNECTOR_EVENTS             /* server-sent events without an end */
};

/* A GET request. */
struct connector_call {
	struct str url;              /* the run's, until its answer */
	unsigned mark;               /* the connector's own, of several calls */
	enum connector_auth auth;
	const char *secret;          /* the credential's key that it takes */
	const char *budget;          /* calls of the same name share a rate */
	/* Statuses that are answers besides 2xx, up to a 0.  Any other is a
	 * failure of the call. */
	const int *statuses;
	enum connector_expect expect;
	unsigned silence_s;          /* of a stream: so long without a byte
	                              * ends it */
	struct wall not_before;      /* us 0: at once */
};

struct connector_answer {
	int status;
	const struct http_head *head;
	/* The body, read with YYJSON_READ_BIGNUM_AS_RAW.  NULL: of a stream,
	 * or it is none and the status is no 2xx. */
	yyjson_val *json;
	struct wall when;            /* it came, or the stream ended */
};

/* ---- What an answer says ----------------------------------------------- */

enum connector_level { CONNECTOR_INFO, CONNECTOR_WARNING };

/*
 * The driver's functions.  Texts are borrowed for the time of the call.  A
 * `seed` is an element of the order's seeds, or NULL.  What is found in one
 * answer is committed with its record.
 */
struct connector_findings {
	void *arg;
	/* So many items of that label are in the answer. */
	void (*count)(void *arg, const char *label, uint64_t n);
	/* The seed's uid, and its name where that is another; or STR_NONE. */
	void (*seed)(void *arg, const struct connector_seed *, struct str uid,
	    struct str token);
	/* `code` is one of contracts/harvest.md §7, or of DESIGN.md. */
	void (*note)(void *arg, enum connector_level, const char *code,
	    struct str text, const struct connector_seed *);
	/* A URL to be crawled, http or https. */
	void (*url)(void *arg, struct str url);
	/* For the next run; it takes effect once its WARC is safe. */
	void (*state)(void *arg, struct str key, struct str value);
	/* The platform has taken back the item with that id. */
	void (*deleted)(void *arg, struct str id);
	/* The answer is of no use: the same call is to be made again, after so
	 * many seconds, and is out until then. */
	void (*again)(void *arg, unsigned seconds);
	/* The seed is given up; a note says why. */
	void (*skip_seed)(void *arg, const struct connector_seed *);
	/* The run has ended, next() says CONNECTOR_END: without success, or
	 * with it.  At most one of both comes, and nothing behind it. */
	void (*fail)(void *arg, const char *code, struct str text);
	void (*done)(void *arg);
};

/* ---- The table --------------------------------------------------------- */

enum connector_next {
	CONNECTOR_CALL,              /* `call` is filled in */
	CONNECTOR_WAIT,              /* nothing until an answer or an event */
	CONNECTOR_END
};

/* What each connector's own state begins with. */
struct connector_run {
	const struct connector_order *order;
};

struct connector {
	const char *type;            /* "mastodon_account" */
	const char *platform;        /* "mastodon" */
	const char *label;           /* of its items: "mastodon posts" */
	const char *title, *help;    /* for people; `help` is a sentence */
	enum connector_kind kind;
	bool state_is_number;        /* its values are, in state.json */
	const struct connector_param *params;
	struct connector_seeds seeds;
	const struct connector_key *credential;
	/* Where secrets may go, up to NULL; "{KEY}" stands for the host of the
	 * URL that the credential has under that key, "*." in front for the
	 * hosts below it. */
	const char *const *hosts;

	/*
	 * Begin.  Errors: INPUT, with the field of the order that is wrong
	 * (its code is bad_request); then *out is NULL.
	 */
	MUST_USE enum err (*open)(const struct connector_order *,
	    struct connector_run **out, struct why *);
	/* Asked until it says WAIT or END, after each answer and event. */
	enum connector_next (*next)(struct connector_run *,
	    struct connector_call *);
	void (*answer)(struct connector_run *, const struct connector_call *,
	    const struct connector_answer *, const struct connector_findings *);
	/* An event of a stream: its lines as they came, without the empty one
	 * behind it (event.h); not of those that are comments alone.  NULL: the
	 * connector has no streams. */
	void (*line)(struct connector_run *, const struct connector_call *,
	    struct str, const struct connector_findings *);
	/* All that next() depends on, but the order.  A call that is out is
	 * given anew after load(). */
	void (*save)(const struct connector_run *, struct buf *);
	/*
	 * Go on from there, right after open() with the same order.  Errors:
	 * CORRUPT; the run is of no use then, but for close().
	 */
	MUST_USE enum err (*load)(struct connector_run *, struct str,
	    struct why *);
	void (*close)(struct connector_run **);
};

#endif

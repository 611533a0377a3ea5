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
 * The driver paces, makes and retries calls.  What never reaches a connector:
 * an answer of status 429 or 5xx that the call does not name, a transfer that
 * was lost, a redirect, and a 2xx body that is not JSON where JSON is expected;
 * all but the last of a call `as_crawl` do.  A stream's events come one by one,
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

/* The WARC-Target-URI of a declared platform's description; its content type is
 * application/json. */
#define CONNECTOR_DESCRIPTION_URI "urn:argiope:json_api"

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
	CONNECTOR_TEXTS,             /* a list of such texts */
	CONNECTOR_OBJECT             /* an object that the connector reads */
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
	                              * default of a BOOL is false, unless it
	                              * says otherwise */
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
	struct str collection_set;   /* its id; or empty */
	const struct connector_credential *credentials;
	size_t credentials_n;
	const struct connector_state *state;     /* sorted by key */
	size_t state_n;
};

/* ---- A call and its answer --------------------------------------------- */

enum connector_auth {
	CONNECTOR_ANONYMOUS,
	CONNECTOR_BEARER,            /* Authorization: Bearer, by `secret` */
	/* A parameter of the URL, `secret_name`, that the driver adds as the
	 * request leaves; the archived URL has it redacted. */
	CONNECTOR_QUERY,
	/* OAuth 1.0a in the header (RFC 5849 §3.5.1), signed with the
	 * consumer's key `secret` and its secret `consumer_secret` alone. */
	CONNECTOR_OAUTH1_CONSUMER,
	/* The same with a user's token, `token` and `token_secret`, too. */
	CONNECTOR_OAUTH1,
	CONNECTOR_HEADER,            /* a field of the head, `secret_name` */
	/* Authorization: Basic (RFC 7617), with the user's name `secret` and
	 * the password `consumer_secret`. */
	CONNECTOR_BASIC,
	/* Authorization: Bearer, with a token of the application that the
	 * driver fetches from `token_url` (RFC 6749 §4.4.2): a form with
	 * grant_type=client_credentials, and `secret` and `consumer_secret` as
	 * Basic.  That request is neither archived nor shown to a connector;
	 * when no token is given, its status, without JSON, is the call's. */
	CONNECTOR_APP_BEARER
};

enum connector_method {
	CONNECTOR_GET,
	CONNECTOR_POST_FORM,         /* application/x-www-form-urlencoded */
	CONNECTOR_POST_JSON          /* application/json */
};

enum connector_expect {
	CONNECTOR_JSON,
	CONNECTOR_BYTES,             /* a body of any kind */
	CONNECTOR_EVENTS,            /* server-sent events without an end */
	CONNECTOR_LINES,             /* lines without an end */
	CONNECTOR_FRAMES             /* a WebSocket's messages without an end */
};

/* A field of a request's head. */
struct connector_field {
	const char *name;
	struct str value;
};

/*
 * How many units of a budget there are in each period, where the platform tells
 * it by no header.  The driver counts them for all harvests with the same
 * credential, and keeps them over a restart.  A table ends with a row of 0
 * units.
 */
struct connector_rate {
	uint64_t units;
	unsigned seconds;            /* 0: a day in Los Angeles (pacific.h) */
	bool of_address;             /* whatever the credential: all that this
	                              * machine asks */
};

struct connector_call {
	enum connector_method method;
	struct str url;              /* the run's, until its answer */
	struct str body;             /* of a POST; the run's, too */
	unsigned mark;               /* the connector's own, of several calls */
	enum connector_auth auth;
	const char *secret;          /* the credential's key that it takes */
	const char *secret_name;     /* of QUERY, HEADER */
	const char *consumer_secret; /* of OAUTH1_..., APP_BEARER, BASIC */
	const char *token, *token_secret;        /* of OAUTH1 */
	const char *token_url;       /* of APP_BEARER */
	const char *budget;          /* calls of the same name share a rate */
	unsigned cost;               /* its units of the budget; 0: one */
	const struct connector_rate *rates;      /* of the budget; NULL: headers
	                              * tell them */
	/* Statuses that are answers besides 2xx, up to a 0.  Any other is a
	 * failure of the call. */
	const int *statuses;
	enum connector_expect expect;
	/* Of the head, besides the driver's own; the run's, as `url`. */
	const struct connector_field *fields;
	size_t fields_n;
	/*
	 * Fetched as a crawl fetches a page: robots.txt, the delays of its host
	 * and a crawl's retries, in place of a budget.  Whatever comes of it is
	 * an answer: any status, a redirect too, which is not followed, and
	 * that there is none (`refused`).
	 */
	bool as_crawl;
	/* Of FRAMES, whose URL begins with https, as it is archived: the
	 * subprotocol that is asked for, or NULL; a text message that is sent
	 * first, or none.  Pings are the driver's to answer. */
	const char *protocol;
	struct str hello;
	bool as_metadata;            /* archived as a metadata record, since
	                              * readers of responses cannot read it */
	unsigned silence_s;          /* of a stream: so long without a byte
	                              * ends it */
	bool overlaps;               /* of EVENTS: the platform allows another
	                              * such stream before this one has ended */
	struct wall not_before;      /* us 0: at once */
};

struct connector_answer {
	/* 0: of a stream, or of a call as a crawl, there was none.  101: of
	 * FRAMES, the WebSocket was open. */
	int status;
	const struct http_head *head;        /* NULL: the status is 0 */
	struct str body;             /* of BYTES, decoded */
	/* Of a call as a crawl without an answer, why: half a sentence, such as
	 * "robots.txt forbids it"; else none. */
	struct str refused;
	/* The body, read with YYJSON_READ_BIGNUM_AS_RAW.  NULL: of a stream
	 * that had begun, or it is none and the status is no 2xx. */
	yyjson_val *json;
	struct wall when;            /* it came, or the stream ended */
	struct wall began;           /* of a stream: its head came; us 0: it
	                              * has not */
	bool cut;                    /* of a stream: the platform has not ended
	                              * it, we have */
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
	bool as_crawl;               /* so are its calls, all of them */
	/* It makes no calls: a crawl of the engine fetches its seeds, and the
	 * functions below are NULL. */
	bool is_crawl;
	bool state_is_number;        /* its values are, in state.json */
	const struct connector_param *params;
	struct connector_seeds seeds;
	const struct connector_key *credential;
	const char *key_instead;     /* one of them, with which none of the
	                              * others is needed; or NULL */
	/* Where secrets may go, up to NULL; "{KEY}" stands for the host of the
	 * URL that the credential has under that key, "{/api/url}" for that of
	 * the one at that place (RFC 6901) of the options, if there is one;
	 * "*." in front for the hosts below it. */
	const char *const *hosts;
	/* An option that each WARC file of the run begins with, as a metadata
	 * record of CONNECTOR_DESCRIPTION_URI, or NULL: what exports must know
	 * about the answers.  It has no secret. */
	const char *description;

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
	 * behind it (event.h); not of those that are comments alone.  Or a
	 * line, without its end; not of those that are empty.  Or a text
	 * message of a WebSocket.  NULL: the
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

/*
 * caller -- HTTP calls to back ends and to OAuth providers, on a thread and
 * loop of their own.
 *
 *     home                                   the caller's thread
 *     caller_start() ─► [waits] ──mail──► gzip ─► address ─► exchange
 *          done() ◄───────────────mail────────────────────────┘
 *
 * One call is one request: redirects are not followed and nothing is repeated,
 * but that a call with a key goes out again when a kept connection turns out to
 * be closed.  Certificates and names are verified against the back end's own
 * certificates or the system's, with TLS 1.2 or newer.  Each address is checked
 * before anything is sent to it (backend_allows_address(),
 * caller_provider_allows()).
 *
 * Requests have the back end's header fields, which are in no message, and ask
 * for answers without content coding.  A call to a provider has those of its
 * own instead; its reply, too, is a secret and is zeroed behind done().
 *
 * Thread: home's, for every function.
 * Limits: those of caller_options; CALLER_HEAD_BYTES_MAX.
 * Source: contracts/external.md §4, §10.
 */
#ifndef DOORS_EXTERNAL_CALLER_H
#define DOORS_EXTERNAL_CALLER_H

#include "engine/backends/backends.h"
#include "os/transport.h"

#define CALLER_BACKEND_CALLS_MAX 64u
#define CALLER_PROVIDER_CALLS_MAX 8u
#define CALLER_WAITING_MAX 10000u
#define CALLER_CONNECT_MS_MAX 10000
#define CALLER_HEAD_BYTES_MAX ((size_t)64 << 10)   /* of an answer */
#define CALLER_DETAIL_BYTES 160u
#define CALLER_FIELDS_MAX 8u         /* of a call to a provider */

struct caller_options {
	struct loop *home;
	int64_t call_ms;             /* for one call, from when it goes out */
	size_t backend_calls_max;    /* at once to one back end; 0: 64 */
	size_t provider_calls_max;   /* at once to one provider's host; 0: 8 */
	size_t calls_waiting_max;    /* of all back ends; 0: 10,000 */
	const char *provider_ca;     /* certificates for providers, a file in
	                              * PEM; NULL: the system's */
	const char *fixed_names;     /* as in os/resolve.h, for tests; NULL */
};

struct caller;

/* A call to an OAuth provider. */
struct caller_provider {
	const struct transport_header *fields;
	size_t fields_n;             /* at most CALLER_FIELDS_MAX */
	/* The connector's declaration spells the host out; else a user of a
	 * back end has filled it in. */
	bool is_declared;
};

/* A call.  The user fills the first part, and keeps it and all that it points
 * to until done(). */
struct caller_call {
	struct backends *set;        /* held until done() */
	const struct backend *backend;          /* one of `set` */
	/* Instead of both, for a call to a provider: */
	const struct caller_provider *provider;
	struct str method;
	struct str url;              /* admitted, normalised */
	struct str content_type;     /* empty: none */
	struct str key;              /* Idempotency-Key; empty: none */
	bool gzip;                   /* compress the body */
	struct str body;
	size_t reply_max;            /* bytes of the answer's body */
	void (*done)(struct caller_call *);
	void *arg;

	/* The outcome.  The strings live until done() returns. */
	enum transport_end end;
	unsigned status;             /* 0 unless `end` is DONE */
	struct str retry_after;      /* the field's value, or empty */
	struct str reply;            /* the answer's body, decoded */
	bool reply_cut;              /* longer than reply_max, or damaged */
	char detail[CALLER_DETAIL_BYTES];       /* why not DONE; for people */

	void *own;                   /* the caller's, from start to done() */
};

/*
 * Start the thread.  Errors: INPUT when call_ms is not positive.
 */
MUST_USE enum err caller_new(const struct caller_options *, struct caller **,
    struct why *);

/*
 * Whether a call to a provider may use a connection to this address of its
 * host: over TLS a public one, and if the host is declared a private one or
 * loopback; without TLS, loopback of a declared host alone.
 */
bool caller_provider_allows(const struct caller_provider *, bool is_tls,
    const struct ip *);

/*
 * Make the call, or let it wait until its back end has fewer than
 * backend_calls_max under way; calls of one back end leave in the order in
 * which they came.  The same holds for a provider's host and port and
 * provider_calls_max.  done() is called once, later, never before this returns;
 * the call may be freed or started again there.  With calls_waiting_max calls
 * waiting already it ends with CONNECT, after caller_stop() with STOPPED.
 */
void caller_start(struct caller *, struct caller_call *);
/*
 * The call is not wanted any more: done() comes soon, with STOPPED, whether it
 * had reached the back end or not.  Ignored when done() has been called.
 */
void caller_cancel(struct caller *, struct caller_call *);

/* A back end's calls and their results.  Cancelled ones are not counted. */
struct caller_look {
	size_t under_way, waiting;
	uint64_t calls;              /* that have ended */
	uint64_t failures;           /* without an answer of 2xx */
	struct wall failed_at;       /* the last of them; 0: none */
	char failure[CALLER_DETAIL_BYTES];      /* "HTTP 503", "dns: ..." */
};
/*
 * Back ends are known by name, so that counts go on when the file is read
 * again.  False, and all zero, when no call to it has been started.
 */
bool caller_look_at(const struct caller *, struct str backend_name,
    struct caller_look *out);
/* Calls under way and waiting, of all back ends. */
size_t caller_calls(const struct caller *);

/*
 * End all calls, each with STOPPED, then call stopped() once, later.  Called
 * at most once.
 */
void caller_stop(struct caller *, void (*stopped)(void *arg), void *arg);
/* After stopped(), or before the first call; NULL is allowed. */
void caller_free(struct caller **);

#endif

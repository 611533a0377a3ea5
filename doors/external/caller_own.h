/*
 * caller_own -- a call between home (caller.c) and the thread that makes it
 * (caller_exchange.c).
 */
#ifndef DOORS_EXTERNAL_CALLER_OWN_H
#define DOORS_EXTERNAL_CALLER_OWN_H

#include "doors/external/caller.h"
#include "os/resolve.h"
#include "wire/http.h"

/* Host, User-Agent, Accept-Encoding, Content-Type, Content-Encoding and
 * Idempotency-Key. */
#define CALLER_OWN_HEADERS 6u

struct caller_target;

/* Connections whose certificates are verified against the same file. */
struct caller_connections {
	struct list node;
	struct transport *transport;
	char *ca;                    /* NULL: the system's */
	uint64_t ca_hash;
	size_t calls;                /* that use them now */
};

/* The state of the thread that makes the calls. */
struct caller_thread {
	struct loop *loop, *home;
	int64_t call_ms;
	size_t connections_max;
	char *provider_ca;           /* NULL: the system's */
	struct resolver *resolver;
	struct list connections;     /* of caller_connections.node */
	struct libdeflate_compressor *compressor;   /* NULL: not yet used */
};

enum caller_state { CALLER_RESOLVES, CALLER_SENT, CALLER_OVER };

/*
 * A call from caller_start() on.  It is home's or the thread's, and goes from
 * one to the other by `mail`.  `cancel` may be on its way at the same time;
 * home frees the job once both are back.
 */
struct caller_job {
	/* Home's, always. */
	struct list node;            /* of all jobs */
	struct list place;           /* in its target's queue */
	struct caller *caller;
	struct caller_target *target;
	struct backends *set;
	bool is_secret;              /* its reply: it is a provider's */
	bool is_waiting, is_sent, is_cancelled, is_cancel_under_way;

	struct caller_thread *thread;
	struct caller_call *call;    /* NULL after done() */
	struct mail mail, cancel;
	void (*returned)(struct mail *);     /* of `mail`, at home */
	void (*cancel_returned)(struct mail *);

	/* The thread's while it makes the call; home's afterwards. */
	enum caller_state state;
	struct url url;
	struct caller_connections *connections;
	struct mono deadline;
	struct resolve_query query;
	struct exchange exchange;
	struct transport_header headers[MAX(BACKEND_HEADERS_MAX,
	    CALLER_FIELDS_MAX) + CALLER_OWN_HEADERS];
	struct ip refused;           /* the address that is not allowed */
	bool is_head_bad;
	struct buf packed;           /* the body, compressed */
	struct http_decoder *decoder;

	enum transport_end end;
	unsigned status;
	struct str retry_after;
	struct buf reply;
	bool reply_cut;
	char detail[CALLER_DETAIL_BYTES];
	struct arena arena;
};

/* Make the resolver; the loop does not run yet. */
void caller_thread_open(struct caller_thread *, const char *fixed_names);
/* Close all connections; the loop has stopped, and no job is on the thread. */
void caller_thread_close(struct caller_thread *);
/*
 * Make the call of a job: `mail` comes back to home.  Thread: home's, as below.
 */
void caller_job_send(struct caller_job *);
/* End a call that was sent; `cancel` comes back to home, after `mail`. */
void caller_job_cancel(struct caller_job *);

#endif

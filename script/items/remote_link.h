/*
 * remote_link -- a remote worker's requests to its daemon.
 *
 *     send ─► [resolve] ─► exchange ─► 200 and refusals: done()
 *               ▲                └► no answer, 429, 5xx ─┐
 *               └──────────── back-off ◄─────────────────┘
 *
 * A daemon that is away, or cannot work at present, is asked again and again
 * until it answers, or until remote_link_end().  So an answer that was lost
 * makes a request come twice, which the worker protocol allows; `once` is for
 * those that must not.
 *
 * Short requests do not wait behind long ones: they have connections of their
 * own.
 *
 * Thread: home's.  Private to script/items.
 * Limits: REMOTE_..., below.
 */
#ifndef SCRIPT_ITEMS_REMOTE_LINK_H
#define SCRIPT_ITEMS_REMOTE_LINK_H

#include "base/arena.h"
#include "os/resolve.h"
#include "script/items/remote_worker.h"

#define REMOTE_BACKOFF_MS 200        /* doubled with each failure */
#define REMOTE_BACKOFF_MS_MAX 10000
#define REMOTE_CONNECT_MS 10000
#define REMOTE_SHORT_MAX 16          /* connections for short requests */
#define REMOTE_LONG_MAX 256          /* for fetches and logins */
#define REMOTE_ANSWER_BYTES_MAX ((uint64_t)1 << 30)

struct remote_link;

struct remote_request {
	/* In; kept by the owner until done(). */
	const char *method;
	struct str path;             /* with its query */
	const char *type;            /* of the body; NULL: there is none */
	struct str body;
	int64_t total_ms;            /* for an answer */
	bool is_long;                /* a fetch, a login */
	bool once;                   /* not sent again once it may have been
	                              * received */
	void (*done)(struct remote_request *);
	void *arg;
	/* Out; the owner's to free. */
	int status;                  /* 0: it has got no answer */
	struct buf answer;           /* decoded */
	/* The link's. */
	struct remote_link *link;
	struct list node;
	struct exchange exchange;
	struct transport_header headers[3];
	struct resolve_query query;
	struct timer timer;
	struct buf head, body_received;
	unsigned failures;
	enum { REMOTE_IDLE, REMOTE_RESOLVING, REMOTE_SENT, REMOTE_WAITS } state;
	bool stopped;
	struct arena arena;
};

struct remote_link *remote_link_new(struct loop *,
    const struct remote_place *);
/* No request is under way. */
void remote_link_free(struct remote_link **);
/* done() follows, never before this returns. */
void remote_link_send(struct remote_link *, struct remote_request *);
/* done() will not come. */
void remote_link_stop(struct remote_request *);
/* Of a request that is done or was stopped. */
void remote_request_free(struct remote_request *);
/* Nothing is asked again from now on; requests under way end with status 0. */
void remote_link_end(struct remote_link *);

#endif

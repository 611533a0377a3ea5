/*
 * web -- the HTTP port: doors register routes in one table, requests come to
 * their handlers, answers leave.  libwebsockets underneath, on a poll loop in
 * one thread of its own; mail is the way in and out.
 *
 *     accept -> head -> checks -> route -> [body] -> handle(request)
 *                  \        \        \                 |        \
 *                   closed   4xx      404, 405    web_answer()   kept
 *                                                   at once,  or later, by
 *                                                      a mail to this thread
 *
 * A handler runs on the web thread and must not block.  It answers at once, or
 * returns without an answer: then it has kept the request and owes it exactly
 * one web_answer(), given on the web thread, that is from mail it was sent by
 * web_post().  A client that left meanwhile changes nothing for the handler;
 * its answer is dropped.
 *
 * What is refused before any handler runs, each with a JSON error:
 *   - a Host that is no loopback name while the port listens on loopback (a web
 *     page of a stranger reaches us under the stranger's name: DNS rebinding);
 *   - a method other than GET and HEAD with an Origin that is not loopback, for
 *     the same page could otherwise send orders without reading answers;
 *   - bodies without Content-Length (411), above body_bytes_max (413), chunked
 *     (411: libwebsockets does not take them apart), lengths that are no
 *     number.
 * A head above head_bytes_max, or with more than about 90 fields and
 * parameters, is closed without an answer: libwebsockets' parser does that.
 * It also decodes paths (`%41` is `A`, `//` is `/`, `/../` is resolved): routes
 * see that form.  `&` and `;` in a path must come as %26 and %3B.  A request
 * with a body that was pipelined behind another is not served: web_parts.h.
 *
 * What comes later fits behind the same table: a WebSocket door is one more
 * member of struct web_route (a table of its callbacks) on a path of its own,
 * static files are a prefix route, TLS and tokens are options of web_open().
 *
 * Thread: web_post() and the counts any; the functions of a request the web
 * thread's only; open, stop and close the owner's.
 */
#ifndef OS_WEB_H
#define OS_WEB_H

#include "base/arena.h"
#include "base/err.h"
#include "os/loop.h"

struct web;
struct web_request;

enum web_match {
	WEB_EXACT,
	WEB_PREFIX,    /* the longest prefix wins; an exact path wins over it */
};

/*
 * One row.  Method GET takes HEAD too.  The table is the caller's and outlives
 * the port; two rows with the same method, path and match are a mistake of
 * ours (CHECK).
 */
struct web_route {
	const char *method;          /* "GET", "POST", ... */
	const char *path;            /* begins with '/' */
	enum web_match match;
	void (*handle)(struct web_request *);
	void *arg;                   /* web_arg() gives it back */
	const char *help;            /* one line for people */
};

/* The limits, and what 0 stands for. */
#define WEB_CONNECTIONS_MAX 1024u
#define WEB_HEAD_BYTES_MAX 8192u       /* at most 60,000 */
#define WEB_BODY_BYTES_MAX (1u << 20)
#define WEB_IDLE_S_MAX 60u             /* between requests; writing stalled */
#define WEB_HEAD_S_MAX 20u             /* a whole head */
#define WEB_BODY_S_MAX 60u             /* a whole body */
#define WEB_DRAIN_S_MAX 5u             /* for requests at web_close() */

struct web_options {
	const char *address;         /* NULL: 127.0.0.1; a literal address */
	uint16_t port;               /* 0: any */
	bool insecure;               /* listen beyond loopback all the same */
	unsigned connections_max;    /* one more is answered 503 */
	unsigned head_bytes_max;
	size_t body_bytes_max;
	unsigned idle_s_max, head_s_max, body_s_max, drain_s_max;
};

/*
 * Listen, and serve on a thread of its own.  `options` may be NULL.
 * Errors: CONFIG when the address is none, or is not loopback without
 * `insecure`; BUSY when another process listens there; DENIED, IO.
 */
MUST_USE enum err web_open(const struct web_options *,
    const struct web_route *, size_t n, struct web **, struct why *);
uint16_t web_port(const struct web *);

/*
 * End in two steps.  web_stop(): accept nothing more, let idle connections go;
 * when it returns no handler is called any more (a request that is half here
 * gets 503), but mail is delivered on and kept requests are answered.  Then
 * stop whoever answers them.  web_close(): wait at most drain_s_max for what
 * is under way, deliver the last mail, free all.  From then on nobody may
 * post, nor answer a kept request.  Neither is called on the web thread.
 */
void web_stop(struct web *);
void web_close(struct web **);

/* Deliver `m` on the web thread.  Bounded by the sender, as in os/loop.h. */
void web_post(struct web *, struct mail *);

/* -- A request.  Strings live until its answer. -- */

struct web *web_of(const struct web_request *);
void *web_arg(const struct web_request *);
struct str web_method(const struct web_request *);   /* HEAD stays HEAD */
struct str web_path(const struct web_request *);     /* decoded */
struct str web_rest(const struct web_request *);     /* behind the prefix */
struct str web_body(const struct web_request *);
struct arena *web_arena(struct web_request *);       /* freed by the answer */
/* The first parameter of that name, decoded; false when there is none. */
bool web_param(struct web_request *, const char *name, struct str *value);
/* A header field by its lower-case name; repeats are joined by ", " or ",". */
bool web_field(struct web_request *, const char *name, struct str *value);
/* The client has left: an answer would go nowhere. */
bool web_gone(const struct web_request *);

/*
 * Add a field to the answer; both texts are copied, and free of CR and LF
 * (CHECK).  Of Cache-Control ("no-store") and Content-Security-Policy
 * ("default-src 'none'; frame-ancestors 'none'") it replaces the default.
 */
void web_add_field(struct web_request *, const char *name, const char *value);
/*
 * Answer, and be done with the request.  `body` is copied; for HEAD only its
 * length is sent.  `content_type` may be NULL when the body is empty.
 */
void web_answer(struct web_request *, int status, const char *content_type,
    struct str body);
/* {"error":text,"code":code} */
void web_fail(struct web_request *, int status, const char *code,
    const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The same from an error: its HTTP status, its name in small letters. */
void web_fail_why(struct web_request *, enum err, const struct why *);

/* -- Metrics: plain counters, read at any time. -- */

struct web_counts {
	uint64_t connections;        /* open now */
	uint64_t requests_kept;      /* kept by their handlers now */
	uint64_t accepted, refused;  /* refused: connections_max */
	uint64_t requests;           /* heads that were read */
	uint64_t timeouts;           /* bodies that did not come in time */
	uint64_t bytes_in, bytes_out;  /* bodies in; heads and bodies out */
};
void web_counts(const struct web *, struct web_counts *);
/*
 * Each (route, status) with n > 0.  `route` is NULL for what met no route;
 * a status that is not in the table of web_parts.h comes as 0.
 */
void web_route_counts(const struct web *,
    void (*each)(void *arg, const struct web_route *route, int status,
    uint64_t n), void *arg);

#endif

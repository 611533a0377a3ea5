/*
 * transport_pool -- what the transport's own files share: exchanges under way
 * (calls), connections (links), and those of one host (an origin).
 *
 *     start -> call: queued -> [proxy resolved] -> connecting -> answer -> body
 *                      |                              |
 *                      +-> link that is kept          +-> link: TCP, proxy,
 *                                                         TLS, HTTP
 *
 * Calls are launched at the end of a turn, so that no callback runs within
 * start(), and a call that has just ended leaves its link to the next.  Links
 * are watched while they are idle, too: one that becomes readable is closed.
 *
 * A callback may stop any call, its own as well, and so close links.  Calls and
 * links that are over keep their memory until the end of the turn: a function
 * that has called one looks at `x` and at the link's state afterwards.
 * Thread: the loop's.
 */
#ifndef OS_TRANSPORT_POOL_H
#define OS_TRANSPORT_POOL_H

#include "base/heap.h"
#include "base/map.h"
#include "os/resolve.h"
#include "os/transport_reader.h"
#include "os/transport_tls.h"
#include "os/transport_tunnel.h"

#define TRANSPORT_IN_BYTES ((size_t)64 << 10)
#define TRANSPORT_TRIES_MAX 5u         /* connections for one call */

struct transport_pool {
	struct transport base;
	struct loop *loop;
	size_t connections_max, host_connections_max;
	int64_t idle_ns_max;               /* 0: no limit */
	char *ca_file;
	struct transport_tls *tls;
	struct resolver *resolver;         /* proxies' names; made if needed */
	struct map origins;                /* by key */
	size_t links_n;                    /* that are not dead */
	struct list idle;                  /* links, idle for longest first */
	struct heap due_first, due_last;   /* the same, by `due` */
	struct list active;               /* every call whose `x` is not NULL */
	struct list todo;                  /* calls to be launched */
	struct list waiting;               /* calls without room for a link */
	struct list again;                /* links to be served without event */
	struct list dead_calls, dead_links;
	struct list spare;                 /* calls */
	size_t spare_n;
	bool released;                     /* room, since `waiting` was tried */
	struct turn_hook hook;
	struct timer kick;                 /* a turn, where none is under way */
	struct timer tick;                 /* each second: speed, idle links */
	struct buf key;                    /* of an origin that is sought */
	char *in;                          /* TRANSPORT_IN_BYTES, for all */
};

/* The links that may serve the same calls; freed with its last user. */
struct transport_origin {
	struct buf key_bytes;
	struct str key;
	struct list links;                /* the one to be taken first, first */
	size_t links_n, calls_n;
};

enum transport_phase {
	TRANSPORT_QUEUED,
	TRANSPORT_RESOLVING,               /* the proxy's name */
	TRANSPORT_CONNECTING,              /* TCP, the proxy, TLS */
	TRANSPORT_ANSWER,                 /* the request goes, the head comes */
	TRANSPORT_BODY,                    /* head() was called */
};

struct transport_link;
struct transport_stream;
struct transport_call {
	struct list node;                  /* in active, dead_calls or spare */
	struct list turn;                  /* in todo or waiting, or in none */
	struct transport_pool *pool;
	struct exchange *x;                /* NULL: over */
	struct transport_origin *origin;
	struct transport_link *link;       /* that serves it; NULL: none yet */
	struct transport_stream *stream;   /* on an HTTP/2 link */
	enum transport_phase phase;
	bool has_end;                      /* `end` and `reason`, to be told */
	bool fresh;                        /* on no link that was kept */
	bool http1_only;                   /* the server asked for it */
	bool proxy_known;                  /* proxy_ip */
	bool tcp_connected;
	bool answered;                     /* a byte of the answer came */
	bool stops_sending;               /* the rest of the body is unwanted */
	bool paused;
	enum transport_end end;
	unsigned tries;
	size_t address_at;
	struct ip asked;                   /* what connected() was asked last */
	struct ip proxy_ip;
	struct transport_proxy proxy;
	struct resolve_query query;
	struct mono started, tcp, connected, first_byte;
	struct mono begun;                 /* connecting is limited from here */
	struct mono connect_deadline, total_deadline;
	struct timer deadline;
	int64_t moved, moved_before;       /* bytes, for the speed */
	int64_t slow_s;
	struct buf sent;                   /* the head as it is archived */
	struct buf login;                 /* the head for a proxy with a user */
	size_t sent_n;                    /* of head and body, that have left */
	struct transport_reader reader;    /* of HTTP/1.1 */
	char reason[TRANSPORT_TLS_DETAIL_MAX];
};

enum transport_link_state {
	TRANSPORT_LINK_CONNECTING,
	TRANSPORT_LINK_TUNNEL,             /* asking the proxy */
	TRANSPORT_LINK_TLS,
	TRANSPORT_LINK_HTTP1,
	TRANSPORT_LINK_HTTP2,
	TRANSPORT_LINK_DEAD,
};

struct transport_http2;
struct transport_link {
	struct watch watch;
	struct list node;                  /* in its origin, or in dead_links */
	struct list idle;                  /* in the pool's, or in none */
	struct list again;                 /* likewise */
	struct transport_pool *pool;
	struct transport_origin *origin;
	struct transport_call *call;       /* HTTP/1.1, or that connects it */
	enum transport_link_state state;
	unsigned watched, read_wants, write_wants;
	bool blocked;                     /* the socket took less than we had */
	bool failed;                       /* TLS may not be shut down */
	struct ip ip;
	SSL *ssl;
	struct transport_tunnel tunnel;
	struct transport_http2 *http2;
	struct buf out;                    /* all but an HTTP/1.1 request */
	size_t out_at;
	struct mono idle_since;
	struct mono due;                   /* a request may come from here on */
	struct mono usable_until;          /* by the server's word */
	struct heap_node due_first, due_last;
};

/* ---- transport_pool.c --------------------------------------------------- */

/* Launch the call at the end of this turn; see to it that there is one. */
void transport_pool_queue(struct transport_call *);
void transport_pool_wake(struct transport_pool *);
/* Serve the link at the end of this turn, as if it had become readable. */
void transport_pool_serve_again(struct transport_link *);
/*
 * The link serves nobody now; the next request is expected after `pause_ms`.
 * And: it serves again, or goes.
 */
void transport_pool_put_idle(struct transport_link *, int64_t pause_ms);
void transport_pool_take_idle(struct transport_link *);
/* The call's origin, by its key; left when the call ends. */
void transport_origin_enter(struct transport_call *);
void transport_origin_leave(struct transport_pool *,
    struct transport_origin **);
void transport_origin_lose_link(struct transport_pool *,
    struct transport_origin **);

/* ---- transport_call.c --------------------------------------------------- */

void transport_call_start(struct transport *, struct exchange *);
void transport_call_stop(struct transport *, struct exchange *);
bool transport_call_send(struct transport *, struct exchange *, struct str);
void transport_call_pause(struct transport *, struct exchange *, bool);
void transport_call_free(struct transport_call **);
/* Tell the caller that it is over, and give up what it has. */
void transport_call_finish(struct transport_call *, enum transport_end,
    const char *detail);
/* Ask connected(); true to go on.  The call may be over afterwards. */
bool transport_call_ask(struct transport_call *, const struct ip *);
/* Connect to the next address that may be tried, or end. */
void transport_call_connect(struct transport_call *);
/* No TCP connection was made: `error` as errno. */
void transport_call_unconnected(struct transport_call *, int error);
/* Its link is ready for the request.  `kept`: it has served others. */
void transport_call_connected(struct transport_call *,
    struct transport_link *, bool kept);
/* A byte of the answer has come. */
void transport_call_answered(struct transport_call *);
/* Pass on head or body; false: the call is over. */
bool transport_call_head(struct transport_call *, struct str bytes,
    int status, int version);
bool transport_call_body(struct transport_call *, struct str bytes);
/* The link is gone; `in_order`: the peer has closed it.  It may be tried on
 * another one. */
void transport_call_cut(struct transport_call *, bool in_order);
/* Try again on a connection of its own; true unless it was tried too often. */
bool transport_call_retry(struct transport_call *);
/* Too slow in this second, and for so long that it ends. */
bool transport_call_is_slow(struct transport_call *);
/* The head to be sent; may hold the proxy's login. */
struct str transport_call_request(const struct transport_call *);

/* ---- transport_link.c --------------------------------------------------- */

/* Connect to `ip` for the call; errno, or 0. */
int transport_link_open(struct transport_call *, const struct ip *,
    uint16_t port);
/* A link of the call's origin that can serve it now, or NULL; those that have
 * become too old are closed. */
struct transport_link *transport_link_find(const struct transport_call *);
/* Serve a call by a link that was kept. */
void transport_link_use(struct transport_link *, struct transport_call *);
/* The call is over.  `keep`: the link may serve another one. */
void transport_link_release(struct transport_link *, struct transport_call *,
    bool keep);
void transport_link_close(struct transport_link *);
void transport_link_free(struct transport_link **);   /* it is closed */
/* Watch for what it waits for. */
void transport_link_watch(struct transport_link *);
/* Write of `out` as much as the socket takes; false: it is cut. */
bool transport_link_flush(struct transport_link *);
/* Read and write without an event. */
void transport_link_serve(struct transport_link *);

/* ---- transport_http2.c -------------------------------------------------- */

struct transport_http2 *transport_http2_new(struct transport_link *);
void transport_http2_free(struct transport_http2 **);
/* Whether another call has room on it. */
bool transport_http2_has_room(const struct transport_http2 *);
bool transport_http2_is_idle(const struct transport_http2 *);
/* Send the call's request; false: it takes none any more. */
bool transport_http2_request(struct transport_http2 *,
    struct transport_call *);
/* Take what came; false: the link is of no more use. */
bool transport_http2_take(struct transport_http2 *, struct str bytes);
/* Append to the link's `out` what is to be sent. */
void transport_http2_fill(struct transport_http2 *);
/* The call is over; its stream is reset, unless it is closed. */
void transport_http2_leave(struct transport_call *);
void transport_http2_pause(struct transport_call *, bool paused);
/* The link is gone: so are its calls. */
void transport_http2_cut(struct transport_http2 *, bool in_order);

#endif

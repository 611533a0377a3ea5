/*
 * net -- TCP on a loop: listeners, connections, TLS.  Bytes in, bytes out; what
 * they mean is the business of a session of wire/.
 *
 *     connect ─► [TLS handshake] ─► open ─► closing ─► on_closed
 *     accept ──► [TLS handshake] ─┘   on_bytes, on_turn
 *
 * Output is pulled: on_turn is called at the end of a turn in which net_wake()
 * was called, and when a full socket has room again; it appends to net_out()
 * as much as net_room() says, and what is there is written in one go.
 *
 * Thread: the loop's.  The process ignores SIGPIPE: system_ignore_sigpipe().
 * Limits: NET_LIMITS.  At connections_max nothing more is accepted: who comes
 * waits in the kernel's backlog.
 * Source: RFC 9113 §3.2 (ALPN), §9.2 (TLS 1.2 or later).
 */
#ifndef OS_NET_H
#define OS_NET_H

#include "base/err.h"
#include "os/loop.h"

/*  name              default     what it bounds */
#define NET_LIMITS(X)                                                        \
	X(connections_max,  4096,     "accepted and not closed")              \
	X(out_bytes_max,    256 << 10, "waiting in net_out(), to be kept by" \
	    " who writes there")                                             \
	X(kernel_bytes_max, 128 << 10, "accepted by the kernel and not sent" \
	    " yet; what waits longer is ours to reorder, and to count")      \
	X(stall_ms,         60000,    "a peer that reads nothing while we"   \
	    " have something for it")                                        \
	X(handshake_ms,     10000,    "a TLS handshake")                     \
	X(linger_ms,        2000,     "after our end, until the peer's")

struct net_limits {
#define NET_LIMIT_FIELD(name, value, help) int64_t name;
	NET_LIMITS(NET_LIMIT_FIELD)
#undef NET_LIMIT_FIELD
};
#define NET_LIMIT_VALUE(name, value, help) value,
#define NET_LIMITS_DEFAULT \
	((struct net_limits){ NET_LIMITS(NET_LIMIT_VALUE) })

struct net;
struct net_conn;
struct net_listener;
struct net_tls;

/* ---- TLS ---------------------------------------------------------------- */

/*
 * A server's certificate chain and key, PEM files, read again by
 * net_tls_reload(): connections that are made afterwards get the new ones; when
 * that fails the old ones stay.  ALPN `h2` is required, unless
 * net_tls_speak_http1(): then `http/1.1` is spoken too, also with those who
 * name no protocol.
 * Errors: CONFIG, naming the file.
 */
MUST_USE enum err net_tls_server(const char *chain_file, const char *key_file,
    struct net_tls **, struct why *);
void net_tls_speak_http1(struct net_tls *);
MUST_USE enum err net_tls_reload(struct net_tls *, struct why *);
/* Whether the files are others than those that were read, or tried, last. */
bool net_tls_changed(const struct net_tls *);
/* A client's; `ca_file` NULL: the system's.  Names are verified. */
MUST_USE enum err net_tls_client(const char *ca_file, struct net_tls **,
    struct why *);
void net_tls_free(struct net_tls **);     /* connections may still live */

/* ---- The loop's part ---------------------------------------------------- */

struct net *net_new(struct loop *, const struct net_limits *);
/*
 * Closes what is open; on_closed is called for all.  After the loop's last
 * turn.
 */
void net_free(struct net **);
size_t net_connections(const struct net *);
uint64_t net_bytes_sent(const struct net *);

/* ---- Connections -------------------------------------------------------- */

struct net_events {
	/* Connected, TLS included; a client's only. */
	void (*on_open)(struct net_conn *);
	void (*on_bytes)(struct net_conn *, struct str);
	void (*on_turn)(struct net_conn *);
	/*
	 * The peer sends nothing more, and may still read.  True: it is kept
	 * for what is to be sent to it, and net_close() comes in the end.
	 * False, or NULL: it is closed.
	 */
	bool (*on_end)(struct net_conn *);
	/*
	 * Called once, whatever ended it, net_close() too; the connection is
	 * gone then.  OK: the peer or we closed it in peace.
	 */
	void (*on_closed)(struct net_conn *, const struct why *);
};

/*
 * Listen at `address`, a literal IPv4 or IPv6 address.  Port 0 takes any:
 * net_port().  `accepted` calls net_take() or net_close() on what it gets.
 * `tls` may be NULL.
 * Errors: CONFIG when the address is none; BUSY; IO.
 */
MUST_USE enum err net_listen(struct net *, const char *address, uint16_t port,
    struct net_tls *tls, void (*accepted)(struct net_conn *, void *arg),
    void *arg, struct net_listener **, struct why *);
uint16_t net_port(const struct net_listener *);
void net_unlisten(struct net_listener **);   /* its connections stay */

void net_take(struct net_conn *, const struct net_events *, void *arg);
/*
 * Connect to a literal address within timeout_ms.  `name` is verified, where
 * tls is not NULL.  Failures come as on_closed, and as an error only when the
 * address is none: CONFIG.
 */
struct net_target {
	const char *address, *name;
	uint16_t port;
	struct net_tls *tls;
	int64_t timeout_ms;
};
MUST_USE enum err net_connect(struct net *, const struct net_target *,
    const struct net_events *, void *arg, struct net_conn **, struct why *);

void *net_arg(const struct net_conn *);
struct loop *net_loop(const struct net_conn *);
/* "127.0.0.1:49152" or "[::1]:49152" of the peer. */
const char *net_peer(const struct net_conn *);
/* Whether TLS negotiated HTTP/2; only once it is open. */
bool net_speaks_h2(const struct net_conn *);
/* Have on_turn called at the end of this turn. */
void net_wake(struct net_conn *);
/*
 * Where bytes to be sent are appended: in on_turn, or on the loop at any time
 * with net_wake() behind it.
 */
struct buf *net_out(struct net_conn *);
size_t net_room(const struct net_conn *);
size_t net_waiting(const struct net_conn *);   /* bytes not taken yet */
/* The socket is full: on_turn is called when it has taken what waits. */
bool net_blocked(const struct net_conn *);
/* Read nothing until it is told otherwise. */
void net_hold(struct net_conn *, bool hold);
/*
 * This connection's own stall_ms, from now on.  `stalled` is called when the
 * peer has taken nothing for so long; it gets that time again unless
 * net_close() or net_abort() is called.  NULL: the connection ends.
 */
void net_set_stall(struct net_conn *, int64_t ms,
    void (*stalled)(struct net_conn *));
/* For how long the peer has taken nothing of what waits; 0: nothing waits. */
int64_t net_stalled_ms(const struct net_conn *);
/*
 * For how long the peer's machine has acknowledged nothing though bytes are
 * under way to it; 0: none are.  One that reads nothing does acknowledge: this
 * is for those that went without a word.
 */
int64_t net_silent_ms(const struct net_conn *);
/* Send what is there, then our end; on_closed comes later, no on_bytes. */
void net_close(struct net_conn *);
/* The same at once, with what is there lost. */
void net_abort(struct net_conn *, enum err, const char *text);

#endif

/*
 * transport -- one HTTP exchange: a request out, an answer in, as bytes.
 *
 * A table, so that the simulator can put an invented web behind it.  The real
 * one speaks HTTP/1.1 and HTTP/2 over TCP, TLS and proxies on the loop's
 * descriptors (transport_pool.h).  Redirects, cookies, robots and retries are
 * not its business: one call is one request to one host.
 *
 *     start -> connected(address)? -> head(bytes) -> body(bytes)* -> done
 *
 * Thread: the loop's only.  Source: RFC 9110, RFC 9112.
 */
#ifndef OS_TRANSPORT_H
#define OS_TRANSPORT_H

#include "base/ip.h"
#include "os/loop.h"

/* How an exchange ended; the vocabulary of realtime.md section 4. */
#define TRANSPORT_ENDS(X)                                                   \
	X(DONE,     "done",     "the answer is complete")                     \
	X(DNS,      "dns",      "the host name could not be resolved")        \
	X(CONNECT,  "connect",  "no connection could be made")                \
	X(TLS,      "tls",      "the TLS handshake or certificate failed")    \
	X(TIMEOUT,  "timeout",  "the answer took too long")                   \
	X(RESET,    "reset",    "the connection was cut")                     \
	X(PROTOCOL, "protocol", "the answer is not HTTP")                     \
	X(BLOCKED,  "blocked",  "a private or local address")                 \
	X(STOPPED,  "stopped",  "the caller wanted no more")                  \
	X(PROXY,    "proxy",    "the proxy refused or failed")
enum transport_end {
#define TRANSPORT_ENUM(name, word, text) TRANSPORT_##name,
	TRANSPORT_ENDS(TRANSPORT_ENUM)
#undef TRANSPORT_ENUM
	TRANSPORT_END_COUNT
};
const char *transport_end_word(enum transport_end);
const char *transport_end_text(enum transport_end);

struct transport_header {
	struct str name, value;
};

/*
 * Phase times in microseconds from start(); -1: not reached.  `dns` is the
 * caller's, 0 here; on a kept connection connect and tls are when it was taken.
 */
struct transport_times {
	int64_t dns, connect, tls, first_byte, total;
};

struct exchange;
struct exchange_events {
	/*
	 * About to connect to `ip` (the proxy's, with a proxy), or about to use
	 * a connection to it that was kept; nothing is sent yet.  False ends
	 * the exchange with BLOCKED.  Once for each address that is tried, and
	 * again when a kept connection turns out dead.
	 */
	bool (*connected)(struct exchange *, const struct ip *ip);
	/*
	 * The head of the final answer as received, status line to blank line;
	 * heads of 1xx answers are left out.  HTTP/2 heads come as HTTP/1.1
	 * text.  False ends with STOPPED.
	 */
	bool (*head)(struct exchange *, struct str bytes, int status);
	/*
	 * Body bytes as received: transfer and content coding untouched (with
	 * HTTP/2: DATA payload).  False ends with STOPPED.
	 */
	bool (*body)(struct exchange *, struct str bytes);
	/* The last call; the exchange is the caller's again. */
	void (*done)(struct exchange *, enum transport_end, struct str detail);
};

/*
 * The caller fills the first part; all strings live until done().  The second
 * part is the transport's to fill.
 */
struct exchange {
	const struct exchange_events *events;
	struct str method;                 /* "GET" */
	struct str url;                    /* serialised, no fragment */
	struct str host;                   /* as in the URL, with brackets */
	uint16_t port;
	bool tls, verify;                  /* verify: certificate and name */
	const struct transport_header *headers;   /* in the order to be sent, */
	size_t headers_n;                  /* Host included, exactly these */
	struct str body;
	const struct ip *addresses;        /* to be tried in this order; */
	size_t addresses_n;                /* 0 only with a proxy */
	struct str proxy;                  /* "http://h:p", "socks5h://h:p", */
	                                   /* or empty; may hold credentials */
	int64_t connect_ms, total_ms;      /* 0: no limit */
	int64_t speed_bytes_min, speed_s;  /* below that for so long: TIMEOUT */
	size_t head_bytes_max;             /* more: PROTOCOL */
	bool http2;                        /* may be negotiated over TLS */
	/*
	 * The host is asked again this long after the end of this exchange, if
	 * at all; 0: perhaps at once.  When not all connections can be kept,
	 * those go first that are needed last.
	 */
	int64_t pause_ms;
	/* The request may not be sent again, on another connection, when a kept
	 * one ends without an answer: that ends with RESET. */
	bool once;
	/* URL or headers hold a secret: copies of them are overwritten at the
	 * end. */
	bool secret;
	/*
	 * A WebSocket is asked for (RFC 6455): the headers have all of that.  A
	 * status of 101 is the final answer's then; body() has what the server
	 * sends, whatever it is, transport_send() sends, and a connection that
	 * ends in order is DONE.  Any other answer is one as usual.
	 */
	bool upgrade;

	struct ip connected_ip;
	int http_version;                  /* 10, 11, 20 */
	bool reused;                       /* on a kept connection */
	bool resumed;                      /* its new one by a TLS session */
	struct transport_times times;
	/*
	 * The head as sent, valid until done() returns.  Host stands first;
	 * Content-Length was added when there is a body, or an empty one of
	 * POST, PUT or PATCH, and none was listed.  A proxy's credentials are
	 * left out; HTTP/2 is written as HTTP/1.1.
	 */
	struct str request_sent;
	/*
	 * What arrived of the final answer's head when head() was not called,
	 * valid until done() returns: from the status line as far as it was
	 * read.  HTTP/1.1 only.
	 */
	struct str head_received;
	bool too_large;                    /* the head, or the trailers */
	void *own;                         /* the transport's */
};

struct transport;
struct transport_table {
	void (*start)(struct transport *, struct exchange *);
	/* End it now; done(STOPPED) is called before this returns. */
	void (*stop)(struct transport *, struct exchange *);
	void (*free)(struct transport **);
	/* Of an upgrade, behind head(); NULL: upgrades are not known. */
	bool (*send)(struct transport *, struct exchange *, struct str);
	void (*pause)(struct transport *, struct exchange *, bool);
};
struct transport {
	const struct transport_table *table;
};

struct transport_options {
	size_t connections_max;            /* kept and in use, all hosts */
	size_t host_connections_max;
	const char *ca_file;               /* PEM; NULL: SSL_CERT_FILE's, */
	                                   /* else the system's */
	int64_t idle_s_max;                /* kept connections close after it */
	bool tls_1_2;                      /* or newer; else as OpenSSL is */
	                                   /* set up */
};
/* The real one. */
struct transport *transport_new(struct loop *,
    const struct transport_options *);

static inline void
transport_start(struct transport *t, struct exchange *x)
{
	t->table->start(t, x);
}

static inline void
transport_stop(struct transport *t, struct exchange *x)
{
	t->table->stop(t, x);
}

/*
 * Send bytes once a 101 has come; done() may follow, not from within.  False:
 * the peer does not read, and more than TRANSPORT_SEND_BYTES_MAX would wait.
 */
#define TRANSPORT_SEND_BYTES_MAX ((size_t)4 << 20)
static inline MUST_USE bool
transport_send(struct transport *t, struct exchange *x, struct str bytes)
{
	return t->table->send(t, x, bytes);
}

/*
 * Once head() was called: receive no more for now, or again.  What is on its
 * way in body() comes.
 */
static inline void
transport_pause(struct transport *t, struct exchange *x, bool paused)
{
	t->table->pause(t, x, paused);
}

/* Requests under way end with STOPPED.  Not from within a callback. */
void transport_free(struct transport **);

#endif

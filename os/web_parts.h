/*
 * web_parts -- what the files of the web port share.  Nobody else includes it.
 *
 *     web.c         open, close, thread, mail, accepting, the callback
 *     web_check.c   what is refused, and which route is meant: no sockets
 *     web_request.c the life of a request, from libwebsockets' callbacks
 *     web_answer.c  how an answer is made, and the counts
 *
 * The states of a connection:
 *
 *     IDLE -> [BODY ->] ASKED -> ANSWER -> IDLE
 *       \________\________\_________\____-> LINGER -> closed
 *
 * In ASKED the door has it, and libwebsockets reads nothing from it: in that
 * state it would read in a circle (4.1) or hang up (4.3) when a client sends
 * its next request early.  In LINGER the answer is out and what still comes is
 * thrown away for a moment: closing at once would reset the connection, and
 * the client might never read why it was refused.
 */
#ifndef OS_WEB_PARTS_H
#define OS_WEB_PARTS_H

/* It brings OpenSSL's headers, and they a type of the name of our error. */
#define ERR_STATE openssl_ERR_STATE
#include <libwebsockets.h>
#undef ERR_STATE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "os/web.h"

/* Statuses that have a counter of their own; all else shares the first. */
#define WEB_STATUSES(X) \
	X(0) X(101) X(200) X(201) X(202) X(204) X(206) X(301) X(302) X(303)   \
	X(304) X(400) X(401) X(403) X(404) X(405) X(408) X(409) X(411)        \
	X(412) X(413) X(415) X(416) X(422) X(426) X(429) X(500) X(501) X(502) \
	X(503) X(504) X(505) X(507)
enum {
#define WEB_STATUS_ENUM(code) WEB_STATUS_##code,
	WEB_STATUSES(WEB_STATUS_ENUM)
#undef WEB_STATUS_ENUM
	WEB_STATUS_COUNT
};

#define WEB_CHUNK_BYTES 65536u     /* of an answer, given to one lws_write() */
#define WEB_LINGER_US 2000000      /* see above */

enum conn_state {
	CONN_IDLE, CONN_BODY, CONN_ASKED, CONN_ANSWER, CONN_LINGER
};

struct conn {
	struct list node;            /* of web.conns */
	struct web *web;
	struct lws *wsi;             /* NULL: never came to life */
	struct web_request *request; /* NULL in IDLE and LINGER */
	enum conn_state state;
	bool close;                  /* no further request on it */
	bool adopting;               /* inside lws_adopt_...() */
	bool early;                  /* bytes came before our answer had left */
	uint64_t bytes_read;         /* by libwebsockets, at the last request */
};

struct web_request {
	struct list node;            /* of web.requests */
	struct web *web;
	struct conn *conn;           /* NULL: the client has left */
	const struct web_route *route;
	size_t row;                  /* of the counters; routes_n: none */
	struct arena arena;
	struct str method, path, rest;
	struct buf body;
	uint64_t body_bytes;         /* announced */
	struct web_field *fields;    /* of the answer, newest first */
	struct buf out;              /* LWS_PRE bytes, head, body */
	size_t sent;                 /* of out, LWS_PRE included */
	bool in_handler, answered, linger;
};

struct web_field {
	struct web_field *next;
	const char *name, *value;    /* the name in small letters, with ':' */
};

struct web {
	struct web_options options;  /* settled: no zeros */
	bool loopback;
	uint16_t port;
	const struct web_route *routes;
	size_t routes_n;
	struct lws_context *context;
	struct lws_vhost *vhost;
	struct lws *listener;        /* NULL once stopped */
	struct list conns, requests;
	char *scratch;               /* head_bytes_max + 1: one field's value */
	char date[40];               /* of date_s */
	int64_t date_s;
	uint64_t turns;              /* things done: see web.c, thread_main() */
	pthread_t thread;
	lws_sorted_usec_list_t deadline;
	bool draining, expired;
	sem_t drains;                /* posted when draining begins */
	_Atomic(struct mail *) box;  /* newest first */
	atomic_bool stopping, closing;
	/* counters[(routes_n + 1) * WEB_STATUS_COUNT] */
	_Atomic uint64_t *counters;
	_Atomic uint64_t connections, kept, accepted, refused, asked, timeouts;
	_Atomic uint64_t bytes_in, bytes_out;
};

/* Plain counters: nobody orders anything by them. */
static inline void
web_add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* -- web_check.c -- */

/* A literal address; false when it is none. */
struct sockaddr_storage;
bool web_address(const char *, uint16_t port, struct sockaddr_storage *,
    size_t *bytes, bool *loopback);
/* localhost, *.localhost, 127.0.0.0/8, [::1], each with or without a port. */
bool web_host_is_loopback(struct str host);
/* scheme://host[:port] with such a host. */
bool web_origin_is_loopback(struct str origin);
/* Digits only, blanks around them allowed; false on all else. */
bool web_length(struct str, uint64_t *);
void web_routes_check(const struct web_route *, size_t n);
/*
 * The row that is meant; routes_n when there is none.  Then `*path_known` says
 * whether another method would have met one.
 */
size_t web_route_find(const struct web_route *, size_t n, struct str method,
    struct str path, bool *path_known);
/* "GET, HEAD, POST": the methods that a path takes. */
struct str web_route_allow(const struct web_route *, size_t n, struct str path,
    struct arena *);
void web_error_json(struct buf *, struct str error, const char *code);
size_t web_status_slot(int status);
int web_status_of_slot(size_t slot);

/* -- web_request.c: the handlers of libwebsockets' callbacks.  Each returns
 * what the callback returns; -1 closes the connection. -- */

int web_on_head(struct conn *, struct lws *, struct str path);
int web_on_body(struct conn *, struct str bytes);
int web_on_body_end(struct conn *);
int web_on_writable(struct conn *);
int web_on_timer(struct conn *);
int web_on_upgrade(struct conn *, struct lws *, char *to);
/* Hand on what the socket may take; the rest when it is writable again. */
int web_write_more(struct conn *);
void web_request_drop(struct web_request **);   /* its client has left */
void web_request_free(struct web_request **);
/* Close without a reset, at the next turn. */
void web_conn_kill(struct conn *);

#endif

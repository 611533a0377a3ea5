/*
 * web_own -- what the files of the port share.  Nobody else includes it.
 *
 *     web.c          open, drain, close, accepting, counts
 *     web_conn.c     a connection that speaks HTTP/1.1: bytes to requests,
 *                    answers to bytes, its timer
 *     web_request.c  the life of a request, whatever brought it
 *     web_admit.c    which requests are let in: route, token, host, origin
 *     web_check.c    names, routes and refusals, without a connection
 *     web_answer.c   how an answer is made
 *     web_text.c     texts that do not change
 *     web_file.c     files of the disk
 *     web_session.c  sessions
 *     web_http2.c    a connection that speaks HTTP/2
 *     web_socket.c   WebSockets
 *
 * A connection of HTTP/1.1:
 *
 *     HEAD -> [BODY ->] ASKED -> ANSWER -> HEAD
 *       \________\________\________\____-> over: what is there is sent
 *       \-> SOCKET                    or, where TLS agreed on it, HTTP2
 *
 * In ASKED the handler has it.  What the client sends early is kept, at most
 * head_bytes_max of it; then nothing is read.
 */
#ifndef SERVER_WEB_OWN_H
#define SERVER_WEB_OWN_H

#include "os/net.h"
#include "os/pool.h"
#include "server/web.h"
#include "wire/digest.h"
#include "wire/http.h"
#include "wire/web/head.h"
#include "wire/web/http2.h"
#include "wire/web/ws.h"

/* Statuses that have a counter of their own; all else shares the first. */
#define WEB_STATUSES(X) \
	X(0, "") X(101, "Switching Protocols") X(200, "OK")                   \
	X(201, "Created") X(202, "Accepted") X(204, "No Content")             \
	X(206, "Partial Content") X(208, "Already Reported")                  \
	X(301, "Moved Permanently")                                           \
	X(302, "Found") X(303, "See Other") X(304, "Not Modified")            \
	X(307, "Temporary Redirect")                                          \
	X(400, "Bad Request") X(401, "Unauthorized") X(403, "Forbidden")      \
	X(404, "Not Found") X(405, "Method Not Allowed")                      \
	X(406, "Not Acceptable") X(408, "Request Timeout")                    \
	X(409, "Conflict")                                                    \
	X(412, "Precondition Failed") X(413, "Content Too Large")             \
	X(414, "URI Too Long") X(415, "Unsupported Media Type")               \
	X(416, "Range Not Satisfiable") X(417, "Expectation Failed")          \
	X(422, "Unprocessable Content") X(426, "Upgrade Required")            \
	X(429, "Too Many Requests")                                           \
	X(431, "Request Header Fields Too Large")                             \
	X(500, "Internal Server Error") X(501, "Not Implemented")             \
	X(502, "Bad Gateway") X(503, "Service Unavailable")                   \
	X(504, "Gateway Timeout") X(505, "HTTP Version Not Supported")        \
	X(507, "Insufficient Storage")
enum {
#define WEB_STATUS_ENUM(code, text) WEB_STATUS_##code,
	WEB_STATUSES(WEB_STATUS_ENUM)
#undef WEB_STATUS_ENUM
	WEB_STATUS_COUNT
};

struct web {
	struct loop *loop;
	struct net *net;
	struct net_listener *listener;   /* NULL once draining */
	struct net_tls *tls;
	struct web_limits limits;
	struct arena arena;              /* what lives as long as the port */
	const struct web_socket_path *sockets_at;  /* the caller's */
	size_t sockets_at_n;
	struct str origins;
	bool loopback, wants_tokens;     /* of every door */
	uint16_t port;
	const struct web_route **routes; /* the caller's, and those of ours */
	size_t routes_n;
	struct token_set *tokens;        /* NULL until web_tokens() */
	struct list conns, sockets, kept, files;
	struct pool *pool;               /* for files; NULL until the first */
	struct list sessions;
	size_t sessions_n;
	struct timer drain_timer, reload_timer;
	bool starting, draining, drained;
	struct mono drain_end;
	void (*on_drained)(void *arg);
	void *drained_arg;
	char date[40];                   /* of date_s */
	int64_t date_s;
	uint64_t coming;                 /* of coming_bytes_max */
	uint64_t *counters;              /* (routes_n + 1) * STATUS_COUNT */
	struct web_counts n;
};

enum conn_state {
	CONN_HEAD, CONN_BODY, CONN_ASKED, CONN_ANSWER, CONN_SOCKET,
	CONN_HTTP2, CONN_OVER
};

struct web_conn {
	struct list node;            /* of web.conns */
	struct web *web;
	struct net_conn *net;
	enum conn_state state;
	struct timer timer;
	struct mono until, timer_at; /* due; what the timer is set to */
	struct buf in;               /* came, and not yet used from in_at on */
	size_t in_at;
	struct head_scan scan;
	struct http_chunks chunks;
	struct web_request *request; /* NULL in HEAD, SOCKET and OVER */
	struct web_socket *socket;
	struct http2 *http2;
	struct mono used;            /* HTTP/2: by a request, last */
	bool in_head;                /* some of a head has come */
	bool close;                  /* no further request on it */
	bool ended;                  /* the client sends nothing more */
	bool begun;                  /* it is known what TLS agreed on */
	bool reads;                  /* HTTP/2: an upload wants more, or may */
};

struct web_field {
	struct web_field *next;
	const char *name, *value;    /* the name in small letters */
};

/*
 * What brought a request and takes its answer.  `answered`: head and body are
 * there, send them, then call web_request_over().  `more`: pull again.  `read`:
 * an upload goes on: its body_ms begins again, and it reads what waits.
 */
struct web_carrier {
	void (*answered)(struct web_request *);
	void (*more)(struct web_request *);
	void (*read)(struct web_request *);
};

struct web_request {
	struct list node;            /* of web.kept, or of none */
	struct web *web;
	struct web_conn *conn;       /* NULL: the client has left */
	const struct web_carrier *carrier;
	struct http2_stream *stream; /* of HTTP/2, until it is over */
	struct mono moved;           /* the same: when bytes went last */
	size_t unused;               /* the same: bytes that wait, or did */
	bool coming;                 /* the body is not whole */
	bool dry;                    /* the same: pull() had nothing, last */
	const struct web_route *route;
	size_t row;                  /* of the counters; routes_n: none */
	struct arena arena;
	struct head head;
	struct str rest;
	struct buf body;             /* of an upload: what waits of it */
	uint64_t counted;            /* of web.coming */
	struct web_upload *upload;   /* reads the body; NULL: not, or no more */
	uint64_t read_n;             /* bytes that it has read */
	bool held;                   /* it wants no more of it for now */
	bool passed;                 /* a token let it in: */
	bool known;                  /* none was asked for, but it came */
	bool by_cookie;              /* that of a session */
	bool from_listed;            /* Origin is one of the route's origins */
	struct token_pass pass;

	int status;                  /* of the answer; 0: none yet */
	struct web_field *fields;    /* newest first */
	struct str answer;           /* the body, from answer_at on */
	size_t answer_at;
	struct buf copy;             /* of it, once who answered is gone */
	bool lasting;                /* it need not be copied */
	struct web_pull *pull;       /* the body comes from it, or NULL */
	uint64_t pull_length, pulled;
	bool busy;                   /* checks or the handler are at work */
	bool over;                   /* to be freed when they return */
	bool kept, bodiless;
};

struct web_socket {
	struct list node;            /* of web.sockets */
	struct web_conn *conn;       /* never NULL */
	struct ws *ws;
	const struct web_socket_path *at;
	void *arg;
	bool passed;                 /* or known */
	struct token_pass pass;
	uint64_t counted;            /* of web.coming */
	int code;                    /* of our close; 0: none was sent */
	bool told;                   /* closed() was called */
	bool begun;                  /* a message in pieces */
	bool held;
	struct buf waiting;          /* messages that came while it was held */
	size_t waiting_at;
	struct buf rest;             /* bytes for the turns that follow */
	size_t rest_at;
	struct timer next_turn;
	struct rate idle_frames;
	uint64_t idle_counted;
};

/* -- web_check.c -- */

bool web_address_is_loopback(const char *);
/* localhost, *.localhost, 127.0.0.0/8, [::1], each with or without a port. */
bool web_host_is_loopback(struct str host);
/* scheme://host[:port] with such a host; with the very host that is given. */
bool web_origin_is_loopback(struct str origin);
bool web_origin_is_of(struct str origin, struct str host);
/* One of the words between the commas. */
bool web_origin_is_listed(struct str origin, struct str origins);
void web_routes_check(const struct web_route *const *, size_t n);
/* Paths are given as they came, not decoded.  What is behind the part of the
 * path that the row names. */
struct str web_route_rest(const struct web_route *, struct str path);
/*
 * The row that is meant; routes_n when there is none.  Then `*path_known` says
 * whether another method would have met one.
 */
size_t web_route_find(const struct web_route *const *, size_t n,
    struct str method, struct str path, bool *path_known);
/* "GET, HEAD, POST": the methods that a path takes. */
struct str web_route_allow(const struct web_route *const *, size_t n,
    struct str path, struct arena *);
void web_sockets_check(const struct web_socket_path *, size_t n);
/* The row of that path, else the row of any path; NULL when there is none. */
const struct web_socket_path *web_socket_find(const struct web_socket_path *,
    size_t n, struct str path);
void web_error_json(struct buf *, struct str error, const char *code);
size_t web_status_slot(int status);
int web_status_of_slot(size_t slot);
const char *web_status_text(int status);

/* -- web_conn.c -- */

void web_conn_accept(struct net_conn *, void *web);
/* The port drains: idle ones go. */
void web_conn_drain(struct web_conn *);
/* Have the timer fire then; MONO_NEVER: not at all. */
void web_conn_due(struct web_conn *, struct mono);
/* Send what is there, read nothing more, close. */
void web_conn_end(struct web_conn *);

/* -- web_request.c -- */

struct web_request *web_request_new(struct web *, struct web_conn *,
    const struct web_carrier *);
/* web_admit(), after which the request may be gone. */
bool web_request_admit(struct web_request *);
/* Answer with a refusal of the port's; an upload is cut. */
void web_request_refuse(struct web_request *, const struct head_refusal *);
/* More of the body; false: it is too much, and answered. */
bool web_request_put_body(struct web_request *, struct str);
/* The body is whole, or is read as it comes: call the handler. */
void web_request_call(struct web_request *);
/* More of the body was put, or all of it: an upload reads it; otherwise the
 * handler is called once it is whole. */
void web_request_go_on(struct web_request *);
/* Its answer has left, or there is nobody for it. */
void web_request_over(struct web_request *);
/* Its client has left. */
void web_request_drop(struct web_request *);
/* Have `*counted` say `now`; false: that is too much of them all. */
bool web_count_coming(struct web *, uint64_t *counted, uint64_t now);

/* -- web_admit.c -- */

/* Checks that need the head.  False: it is answered, or is a WebSocket now. */
bool web_admit(struct web_request *);
/* The first of them. */
bool web_check_drain(struct web_request *);
/* The limit of its route, or of the port. */
size_t web_body_bytes_max(const struct web_request *);
/* Whether what it came with may do that; true where nothing is asked for. */
bool web_allows(const struct web *, bool passed, const struct token_pass *,
    enum token_door, enum token_access);
bool web_wants_token(const struct web *, enum token_door);
/* The text of the token that came; STR_NONE: none. */
struct str web_token_of(struct web_request *);

/* -- web_answer.c -- */

/* As web_add_field(), unless the handler has said otherwise. */
void web_add_default(struct web_request *, const char *name,
    const char *value);
/*
 * Append at most `room` bytes of the body.  MORE: there is more, now or later;
 * CUT: it ended before its length, and so must the connection or the stream.
 */
enum web_taken { WEB_MORE, WEB_END, WEB_CUT };
enum web_taken web_take_body(struct web_request *, struct buf *out,
    size_t room);
/* The rest of the body is copied, if it is the caller's. */
void web_keep_body(struct web_request *);

/* -- web_session.c -- */

#define WEB_SESSION_ROUTES 3
#define WEB_SECRET_HEX 64u
struct web_session {
	struct list node;            /* of web.sessions, last used last */
	struct digest id;            /* of the cookie's text */
	char csrf[WEB_SECRET_HEX + 1];
	struct token_pass pass;
	struct mono used;
};
extern const struct web_route web_session_routes[WEB_SESSION_ROUTES];
void web_sessions_free(struct web *);
/* The session whose cookie came, or NULL. */
struct web_session *web_session_of(struct web_request *);
/* Whether X-CSRF-Token came with it. */
bool web_session_knows(const struct web_session *, struct web_request *);

/* -- web_file.c -- */

/*
 * RFC 9110 §14.2: one range of bytes.  0: none, or one of a form that is
 * ignored; 206; 416.
 */
int web_range(struct str value, uint64_t size, uint64_t *from, uint64_t *to);
void web_files_free(struct web *);

/* -- web_http2.c -- */

/* TLS agreed on it; then what web_conn.c hands on of such a connection. */
void web_http2_begin(struct web_conn *);
void web_http2_bytes(struct web_conn *, struct str);
void web_http2_turn(struct web_conn *);
void web_http2_tick(struct web_conn *);

/* -- web_socket.c -- */

/* The handshake; false: refused, and answered. */
bool web_socket_accept(struct web_request *, const struct web_socket_path *);
void web_socket_bytes(struct web_socket *, struct str);
void web_socket_turn(struct web_socket *);
void web_socket_tick(struct web_socket *);
/* The connection is gone. */
void web_socket_lost(struct web_socket *);

#endif

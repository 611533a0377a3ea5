/*
 * web -- the HTTP port: routes in one table, requests come to their handlers,
 * answers leave; WebSockets; files.  It lives on a loop, home's in the daemon,
 * over os/net: nothing here has a thread, and nothing may block.
 *
 *     accept -> [TLS] -> head -> checks -> route -> [body] -> handle(request)
 *                           \        \        \                 |        \
 *                            400...   4xx      404, 405    web_answer()   kept
 *
 * A handler answers at once, or returns without an answer: then it has kept the
 * request and owes it exactly one answer, later, on the same loop.  A client
 * that left meanwhile changes nothing for the handler; its answer is dropped.
 * The body is whole when the handler is called, unless the route reads it as it
 * arrives: struct web_upload.
 *
 * The port answers /session itself: GET tells whether a token is wanted and
 * what the one that came may; POST {"token":T} makes a session and DELETE ends
 * it.
 *
 * What is refused before any handler runs, each with a JSON error
 * {"error":text,"code":code}:
 *   - no token, or a wrong one, where the route's door wants one: 401 (403 when
 *     its scope does not allow it).  "Authorization: Bearer T", "?token=T", or
 *     the cookie of a session that POST /session made of a token; with a cookie
 *     a method other than GET and HEAD needs the session's X-CSRF-Token too.
 *   - without a token, a Host that is no loopback name and none of the route's
 *     hosts while the port listens on loopback (DNS rebinding), and an Origin
 *     that is not loopback, for a WebSocket and for methods other than GET and
 *     HEAD, unless `origins` lists it (its word `null` admits pages opened from
 *     files) or the route's own origins do; a route that is WEB_TO_OWN_PAGES
 *     admits no Origin but the port's own;
 *   - what exceeds a limit: 413, 414, 431, 408.
 *
 * Protocols: HTTP/1.1 (RFC 9112) and, where TLS negotiates it, HTTP/2 (RFC
 * 9113); WebSocket (RFC 6455) over HTTP/1.1 without extensions nor
 * subprotocols.
 *
 * Thread: the loop's.
 * Limits: WEB_LIMITS.
 * Story:  doors/DESIGN.md
 */
#ifndef SERVER_WEB_H
#define SERVER_WEB_H

#include "base/err.h"
#include "os/loop.h"
#include "server/token_set.h"

struct web;
struct web_request;
struct web_socket;

/* Clients that need no token for a route. */
enum web_open {
	WEB_TO_NOBODY,
	WEB_TO_OWN_PAGES,      /* the same; and no page of another origin may
	                        * send a change, whatever `origins` and loopback
	                        * would admit */
	WEB_TO_ALL,            /* pages, and what says that we live */
};

enum web_match {
	WEB_EXACT,
	WEB_PREFIX,    /* the longest prefix wins; an exact path wins over it */
};

/*
 * One row.  Method GET takes HEAD too.  The table is the caller's and outlives
 * the port; two rows with the same method, path and match are a mistake of
 * ours (CHECK).
 *
 * A path is compared segment by segment, and each segment is decoded for it
 * alone: an encoded "/" (%2F) is part of its segment and parts nothing.  A
 * WEB_PREFIX ends with "/".
 */
struct web_route {
	const char *method;          /* "GET", "POST", ... */
	const char *path;            /* begins with '/'; "*" is any segment
	                              * that is not empty */
	enum web_match match;
	void (*handle)(struct web_request *);
	void *arg;                   /* web_arg() gives it back */
	const char *help;            /* one line for people */
	enum web_open open;
	enum token_door door;        /* whose token it asks for, and for what */
	enum token_access access;
	/*
	 * Its segments are names that others have chosen: the words of its path
	 * are compared as they came, so that "/ids/%61dd" is not "/ids/add",
	 * and a decoded segment may be ".." or have one between slashes.  No
	 * handler of such a row makes a file's path of it.
	 */
	bool ids;
	bool early;                  /* answered before web_ready(), too */
	int64_t body_bytes_max;      /* 0: that of the port's limits */
	bool upload;                 /* handle() is called before the body has
	                              * come, and reads it: web_read_body() */
	/*
	 * Origins whose pages may call the route with a token or without one,
	 * and read its answers (CORS), listed as in web_options.  Cookies do
	 * not count for them.  Called with each request, and with a preflight,
	 * which has the path and the query, but no token; the port answers it.
	 * NULL: none, and OPTIONS is refused with 405.
	 */
	struct str (*origins)(struct web_request *);
	/*
	 * Hosts that a request may name besides those of loopback while the
	 * port listens on loopback, listed as origins are: "a.org,a.org:443".
	 * NULL: none.
	 */
	struct str (*hosts)(struct web_request *);
	/* Answer with a refusal in another form than the port's JSON, by
	 * web_answer(); NULL: in that form. */
	void (*refuse)(struct web_request *, int status, const char *code,
	    struct str text);
};

/* `open` is called when the handshake is done and returns what
 * web_socket_arg() gives back. */
struct web_socket_events {
	void *(*open)(struct web_socket *);
	/* A whole message, text or binary, of at most message_bytes_max. */
	void (*message)(struct web_socket *, struct str);
	/*
	 * At the end of a turn in which web_socket_wake() was called, and when
	 * there is room again.  NULL: the door does not care.
	 */
	void (*room)(struct web_socket *);
	/* Called once; the socket is gone then.  `code` as in RFC 6455 §7.4;
	 * 1006: the connection was lost.  NULL: the same. */
	void (*closed)(struct web_socket *, int code);
};

/*
 * Whose WebSockets those of a path are.  The table is the caller's and outlives
 * the port; a path that stands in it twice is a mistake of ours (CHECK).
 */
struct web_socket_path {
	const char *path;            /* "*": any that no other row has */
	const struct web_socket_events *events;
	enum token_door door;        /* read lets in; see web_socket_may() */
	void *arg;                   /* web_socket_owner() gives it back */
};

/* In the rows of a door's table (server/door.h): the door's own scope. */
#define TOKEN_DOOR_OWN ((enum token_door)TOKEN_DOORS_MAX)

/*  name                   default      what it bounds */
#define WEB_LIMITS(X)                                                        \
	X(connections_max,     10240,       "one more is not accepted")       \
	X(sockets_max,         10000,       "WebSockets; one more: 503")      \
	X(head_bytes_max,      16384,       "a request's head; above: 431")   \
	X(fields_max,          100,         "of a head; above: 431")          \
	X(body_bytes_max,      1 << 20,     "of a request; above: 413")       \
	X(message_bytes_max,   1 << 20,     "of a WebSocket; above: 1009")    \
	X(turn_frames_max,     512,         "of a WebSocket in one turn of"   \
	    " the loop; more wait for the next")                               \
	X(idle_frames_burst,   2000,        "pings, pongs, empty fragments of" \
	    " a WebSocket at once; above: 1008")                               \
	X(idle_frames_per_s,   100,         "the same, lasting")              \
	X(coming_bytes_max,    64 << 20,    "bodies, and messages that are"   \
	    " not whole, of all connections; above: 503, 1013")                \
	X(out_bytes_max,       128 << 10,   "waiting in a connection")        \
	X(idle_ms,             60000,       "between requests")               \
	X(head_ms,             20000,       "until a head is whole")          \
	X(body_ms,             60000,       "until a body is whole; of an"    \
	    " upload: until 64 KiB more have come")                            \
	X(stall_ms,            60000,       "an answer of which nothing is"   \
	    " taken")                                                          \
	X(socket_stall_ms,     600000,      "a WebSocket of which nothing is" \
	    " taken: closed with 1013")                                        \
	X(ping_ms,             30000,       "between our pings")              \
	X(silent_ms,           120000,      "a WebSocket whose peer"          \
	    " acknowledges nothing; looked at with each ping")                 \
	X(sessions_max,        1000,        "one more ends the oldest")       \
	X(session_ms,          43200000,    "since it was used last")         \
	X(drain_ms,            5000,        "for what is under way at the end")
struct web_limits {
#define WEB_LIMIT_FIELD(name, value, help) int64_t name;
	WEB_LIMITS(WEB_LIMIT_FIELD)
#undef WEB_LIMIT_FIELD
};
#define WEB_LIMIT_VALUE(name, value, help) value,
#define WEB_LIMITS_DEFAULT \
	((struct web_limits){ WEB_LIMITS(WEB_LIMIT_VALUE) })

struct web_options {
	struct loop *loop;
	const char *address;         /* NULL: 127.0.0.1; a literal address */
	uint16_t port;               /* 0: any */
	bool insecure;               /* beyond loopback without TLS and token */
	const char *tls_chain, *tls_key;   /* PEM files; NULL: no TLS */
	bool token;                  /* every door wants one, from the start */
	bool starting;               /* until web_ready() */
	struct str origins;          /* "https://a.org,null": also let in */
	const struct web_socket_path *sockets;    /* NULL: none */
	size_t sockets_n;
	const struct web_limits *limits;          /* NULL: the defaults */
};

/*
 * Listen, and serve.  Until web_tokens() nothing asks for a token.
 * Errors: CONFIG when the address is none, or is beyond loopback without
 * `insecure`, TLS, or a token door; BUSY when another process listens there;
 * DENIED, IO.
 */
MUST_USE enum err web_open(const struct web_options *,
    const struct web_route *, size_t n, struct web **, struct why *);
uint16_t web_port(const struct web *);
/*
 * What is behind the handlers has started.  Until then, where `starting` was
 * set, WebSockets and routes that are not `early` are answered with 503,
 * "starting" and a Retry-After, behind the check of the token.
 */
void web_ready(struct web *);
/* Who may enter; the set is the caller's and outlives the port.  `always`:
 * every door wants a token, whether one names it or not. */
void web_tokens(struct web *, struct token_set *, bool always);
/*
 * Read the certificate again; a failure keeps the old one.  Done by itself when
 * the files have changed, within 10 s.
 */
MUST_USE enum err web_reload(struct web *, struct why *);

/*
 * End in two steps.  web_drain(): accept nothing more; WebSockets get 1001;
 * handlers are called no more; kept requests may be answered, and uploads that
 * have begun may be read, for drain_ms; then uploads are cut, and `drained`.
 * web_close(): the rest goes at once.
 */
void web_drain(struct web *, void (*drained)(void *arg), void *arg);
void web_close(struct web **);

/* -- A request.  Strings live until its answer. -- */

void *web_arg(const struct web_request *);
struct str web_rest(const struct web_request *);     /* behind the prefix */
/* The i-th segment of the path, from 0, decoded; false when there is none. */
bool web_segment(struct web_request *, size_t i, struct str *decoded);
struct str web_body(const struct web_request *);
struct arena *web_arena(struct web_request *);       /* freed by the answer */
/* The first parameter of that name, decoded; false when there is none. */
bool web_param(struct web_request *, const char *name, struct str *value);
/*
 * The next parameter of that name, for one that may be repeated: start with
 * `*at` = 0; false when there is no further one.
 */
bool web_param_next(struct web_request *, const char *name, size_t *at,
    struct str *value);
/* A header field by its lower-case name; repeats are joined by ", ". */
bool web_field(struct web_request *, const char *name, struct str *value);
/* The first cookie of that name; false when there is none. */
bool web_cookie(const struct web_request *, const char *name,
    struct str *value);
/* HEAD, which a route for GET takes, too. */
bool web_is_head(const struct web_request *);
/* Its client has gone, or sends nothing more: the answer of a request that was
 * kept will probably reach nobody. */
bool web_has_left(const struct web_request *);
/* Whose token or session let the request in; NULL: none was asked for. */
const struct token_pass *web_pass(const struct web_request *);
/* The token or session that came may do that too.  True where none is asked
 * for.  For handlers of more than one right. */
bool web_may(const struct web_request *, enum token_door, enum token_access);
/* It came with the key of serve.json: from a user who can read the data. */
bool web_is_operator(const struct web_request *);

/* "127.0.0.1:49152" or "[::1]:49152" of the client; "" when it has gone. */
const char *web_peer(const struct web_request *);
/* Whether it came by TLS; to that port. */
bool web_is_tls(const struct web_request *);
bool web_is_of(const struct web_request *, const struct web *);

/*
 * Add a field to the answer; both texts are copied, and free of CR and LF
 * (CHECK).  Of Cache-Control ("no-store"), Content-Security-Policy
 * ("default-src 'none'; frame-ancestors 'none'"), X-Content-Type-Options and
 * Referrer-Policy it replaces the default.
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
/*
 * The same from an error: its HTTP status, its name in small letters.  The text
 * of an internal one (err_is_internal) goes to the log, not to the client.
 */
void web_fail_why(struct web_request *, enum err, const struct why *);

/*
 * Close the connection without an answer, and be done with the request.  For
 * servers that simulate faults; on a port without TLS, of a route that is not
 * `upload`, before any answer (CHECK).
 */
void web_abort(struct web_request *);

/*
 * Answer with a text that never changes in this process: a strong ETag, 304 to
 * If-None-Match, gzip where Accept-Encoding allows it and it pays.  Make it
 * once by web_text_new(); it borrows `bytes`.
 */
struct web_text;
struct web_text *web_text_new(const char *content_type, struct str bytes);
void web_text_free(struct web_text **);
void web_answer_text(struct web_request *, const struct web_text *);

/*
 * Answer with a body that is pulled as the client takes it.  pull() appends at
 * most `room` bytes; it returns false when nothing more will come, and may
 * append nothing: then web_pull_wake() says that there is more.  end() is
 * called once, whatever happened.  `length` UINT64_MAX: not known (chunked).
 */
struct web_pull {
	bool (*pull)(struct web_pull *, struct buf *out, size_t room);
	void (*end)(struct web_pull *);
	struct web_request *request;     /* web's */
	bool broken;     /* pull() returns false before all of it: the client
	                  * is shown that the answer was cut */
};
void web_answer_pull(struct web_request *, int status,
    const char *content_type, uint64_t length, struct web_pull *);
void web_pull_wake(struct web_pull *);

/*
 * A request's body, read as it arrives, by a route that is `upload`.  The port
 * calls piece() with more of it, or with the rest of it and `last`, with which
 * the piece may be empty.  What piece() returns says whether the next may come;
 * after false, it comes when web_read_more() was called.  Meanwhile nothing is
 * read from that client, beyond what is under way, and body_ms does not run;
 * that an HTTP/1.1 client has left is noticed afterwards.
 *
 * A handler that has enough may answer before `last`; the rest is thrown away.
 * cut() says that there will be no `last`: the client has left, was too slow,
 * or has sent what the port refuses and answers itself (400, 408, 413, 503).
 * The request is gone then and no answer is owed.  After an answer of the
 * handler's own, or after `last`, neither is called.
 */
struct web_upload {
	bool (*piece)(struct web_upload *, struct str bytes, bool last);
	void (*cut)(struct web_upload *);
	struct web_request *request;     /* web's */
};
/* Read the body into `u`, which lives until it is cut or the request is
 * answered.  Called once, by handle(), unless that answers at once. */
void web_read_body(struct web_request *, struct web_upload *u);
/* Not while piece() is running. */
void web_read_more(struct web_upload *);

/*
 * Answer with a file of the disk: Range (one range), Content-Disposition with
 * `name`, read off the loop.  404 when it is not there.
 */
void web_answer_file(struct web_request *, const char *path,
    const char *content_type, struct str name);

/* -- A WebSocket -- */

void *web_socket_arg(const struct web_socket *);
void *web_socket_owner(const struct web_socket *);
/* Whether its token still allows that (asks the set; true without tokens). */
bool web_socket_may(const struct web_socket *, enum token_access);
/* The same for another door's scope. */
bool web_socket_may_at(const struct web_socket *, enum token_door,
    enum token_access);
/* Have room() called at the end of this turn. */
void web_socket_wake(struct web_socket *);
/*
 * Bytes that may be appended now.  One message may exceed it: what is held then
 * is bounded by what the caller puts.
 */
size_t web_socket_room(const struct web_socket *);
/* Bytes that wait to be taken by the other side. */
size_t web_socket_held(const struct web_socket *);
/* The kernel takes no more; room() is called when all that waits is sent. */
bool web_socket_blocked(const struct web_socket *);
/* A text message made of `n` parts, which are copied. */
void web_socket_put(struct web_socket *, const struct str *parts, size_t n);
/* A message in pieces: begin, any number of pieces, end.  Nothing else may be
 * put between them (pings and closes find their way). */
void web_socket_begin(struct web_socket *, struct str piece);
void web_socket_piece(struct web_socket *, struct str piece);
void web_socket_end(struct web_socket *, struct str piece);
/* Deliver no message until it is told otherwise (answers to pings go on). */
void web_socket_hold(struct web_socket *, bool hold);
/* Send a close frame; `closed` comes later, nothing else. */
void web_socket_close(struct web_socket *, int code, const char *text);

/* -- Metrics: plain counters, read at any time. -- */

struct web_counts {
	uint64_t connections, sockets;   /* open now */
	uint64_t requests_kept;
	uint64_t accepted, requests, timeouts;
	uint64_t bytes_in, bytes_out;
	uint64_t sockets_stalled;        /* nothing taken for a second, now */
};
void web_counts(const struct web *, struct web_counts *);
/* Each (route, status) with n > 0; NULL: what met no route. */
void web_route_counts(const struct web *,
    void (*each)(void *arg, const struct web_route *route, int status,
    uint64_t n), void *arg);

#endif

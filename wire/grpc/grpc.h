/*
 * grpc -- calls over HTTP/2, as server and as client.  Bytes in, bytes out: the
 * socket is the owner's, and so are the clock and the timer.
 *
 *     owner                                session
 *     bytes came          grpc_recv()  ->  handlers are called
 *     room in the socket  grpc_fill()  ->  bytes to send
 *     a timer             grpc_due(), grpc_tick()
 *                         wake()       <-  there is something to fill
 *
 * A service is a table of methods.  Per call, server:
 *
 *     on_open -> on_message ... -> on_half_close -> on_end
 *
 * and client: grpc_call_new() -> on_message ... -> on_end.  on_end is called
 * exactly once for each call, whatever ends it; the call is gone then.  Others
 * may be NULL.  Handlers may call everything here but grpc_recv(), grpc_fill(),
 * grpc_tick() and grpc_session_free().
 *
 * Flow control: the peer gets window back only for messages that on_message was
 * given, so that a paused call pushes back to its sender.  grpc_send() says
 * FULL when enough waits to leave; on_writable tells when to go on.
 *
 * Thread: a session and its calls belong to one; a grpc_server is read-only
 * once sessions exist, and may be shared.
 * Limits: GRPC_LIMITS.  Source: RFC 9113; gRPC's doc/PROTOCOL-HTTP2.md.
 * Story: wire/grpc/DESIGN.md.
 */
#ifndef WIRE_GRPC_GRPC_H
#define WIRE_GRPC_GRPC_H

#include "base/err.h"
#include "base/time.h"
#include "wire/grpc/metadata.h"
#include "wire/grpc/status.h"

/*  name                  default        what it bounds */
#define GRPC_LIMITS(X)                                                       \
	X(streams_max,          1000,    "calls at once on a connection")     \
	X(message_bytes_max,    4 << 20, "a message, packed or not")          \
	X(metadata_bytes_max,   16 << 10, "fields of a call, +32 for each")   \
	X(stream_window_bytes,  1 << 20, "received and not used, per call")   \
	X(window_bytes,         4 << 20, "under way, per connection")         \
	X(held_bytes_max,       16 << 20, "kept for paused calls, before the" \
	    " connection's window closes")                                   \
	X(partial_bytes_max,    32 << 20, "messages that are not complete")   \
	X(send_bytes_max,       256 << 10, "waiting to leave, per call")      \
	X(send_all_bytes_max,   8 << 20, "the same, per connection")          \
	X(frames_out_max,       4000,    "frames that the peer does not read") \
	X(resets_burst,         2000,    "streams reset, at once")            \
	X(resets_per_s,         100,     "the same, lasting")                 \
	X(resets_free_ms,       1000,    "a call's age from which its client" \
	    " may reset it freely")                                          \
	X(pings_burst,          500,     "PING frames at once, beyond one for" \
	    " each DATA or HEADERS frame sent to the peer")                  \
	X(pings_per_s,          50,      "the same, lasting")                 \
	X(settings_burst,       100,     "SETTINGS frames, at once")          \
	X(settings_per_s,       10,      "the same, lasting")                 \
	X(idle_frames_burst,    2000,    "frames that carry nothing, at once") \
	X(idle_frames_per_s,    100,     "the same, lasting")                 \
	X(handshake_ms,         10000,   "until the peer's SETTINGS")         \
	X(keepalive_ms,         60000,   "silence before a PING; 0: none")    \
	X(keepalive_wait_ms,    20000,   "silence after it")                  \
	X(drain_ms,             1000,    "between the two GOAWAYs") \
	X(linger_ms,            5000,    "for a refused call to be read")

struct grpc_limits {
#define GRPC_LIMIT_FIELD(name, value, help) int64_t name;
	GRPC_LIMITS(GRPC_LIMIT_FIELD)
#undef GRPC_LIMIT_FIELD
};
#define GRPC_LIMIT_VALUE(name, value, help) value,
#define GRPC_LIMITS_DEFAULT \
	((struct grpc_limits){ GRPC_LIMITS(GRPC_LIMIT_VALUE) })

struct grpc_session;
struct grpc_call;

/* ---- Handlers ----------------------------------------------------------- */

struct grpc_events {
	/* The fields are there; a server's only. */
	void (*on_open)(struct grpc_call *);
	/* `message` stands until this returns. */
	void (*on_message)(struct grpc_call *, struct str message);
	/* A server's: the client sends no more; all messages were given. */
	void (*on_half_close)(struct grpc_call *);
	/* After FULL: there is room again. */
	void (*on_writable)(struct grpc_call *);
	/*
	 * A server: OK when the answer has left; else why it did not:
	 * CANCELLED, DEADLINE_EXCEEDED, UNAVAILABLE (the connection is gone),
	 * or the answer's own code.  A client: the server's answer, or why
	 * there is none.  `text` is grpc-message, decoded.
	 */
	void (*on_end)(struct grpc_call *, enum grpc_code, struct str text);
};

enum grpc_kind { GRPC_UNARY, GRPC_SERVER_STREAM, GRPC_CLIENT_STREAM,
	GRPC_BIDI };

/* UNARY and SERVER_STREAM get exactly one message, when it is complete. */
struct grpc_method {
	const char *path;           /* "/package.Service/Method" */
	enum grpc_kind kind;
	struct grpc_events on;
	void *arg;
	bool ungated;               /* the gate does not see it */
};

/* ---- Server ------------------------------------------------------------- */

struct grpc_server;
struct grpc_server *grpc_server_new(const struct grpc_limits *);
void grpc_server_free(struct grpc_server **);   /* after its sessions */
/* The methods stay the caller's and must outlive the server. */
void grpc_server_add(struct grpc_server *, const struct grpc_method *,
    size_t n);
/*
 * Called before on_open of each call; when it finishes the call, that is all
 * that happens: who may, and whether now.
 */
void grpc_server_gate(struct grpc_server *, void (*gate)(struct grpc_call *,
    void *arg), void *arg);
/*
 * For the gate: let the call wait.  Nothing of it is read, and no handler of
 * its method hears of it; on_end of `on` is called when it ends meanwhile (its
 * deadline, or the client left), else nothing of it behind grpc_admit().  `on`
 * outlives the wait; the call's data are the gate's until then.
 */
void grpc_hold(struct grpc_call *, const struct grpc_events *on);
/* A call of grpc_hold(): the gate sees it again, soon. */
void grpc_admit(struct grpc_call *);

/* ---- Sessions ----------------------------------------------------------- */

/* `wake` may be called from any function here but recv, fill and tick. */
struct grpc_owner {
	void (*wake)(void *arg);
	void *arg;
};

struct grpc_session *grpc_session_server(const struct grpc_server *,
    struct grpc_owner, struct mono now);
/* `authority` is host:port; `scheme` "http" or "https".  Both are copied. */
struct grpc_session *grpc_session_client(const struct grpc_limits *,
    const char *scheme, const char *authority, struct grpc_owner,
    struct mono now);
/* All calls end: a server's and a client's with UNAVAILABLE. */
void grpc_session_free(struct grpc_session **);
void *grpc_session_arg(const struct grpc_session *);   /* the owner's */

/*
 * Bytes from the peer.  Not OK: no more bytes are of use; fill and send what
 * is there (a GOAWAY), then close.
 */
MUST_USE enum err grpc_recv(struct grpc_session *, struct str,
    struct mono now, struct why *);
/*
 * Append what may leave to `out`, about `bytes_max` at most (0: nothing, but
 * calls that wait are served).  True: there is more.
 */
bool grpc_fill(struct grpc_session *, struct buf *out, size_t bytes_max,
    struct mono now);
/* Nothing more will come or go: close when all that was filled is sent. */
bool grpc_is_done(const struct grpc_session *);
/* When grpc_tick() wants to be called; MONO_NEVER: not at all. */
struct mono grpc_due(const struct grpc_session *);
/* Not OK: the peer is silent; close. */
MUST_USE enum err grpc_tick(struct grpc_session *, struct mono now,
    struct why *);
/*
 * Take no new calls: GOAWAY, a moment later the second one with the last
 * stream (RFC 9113 §6.8).  grpc_is_done() when the calls have ended.
 */
void grpc_drain(struct grpc_session *, struct mono now);
size_t grpc_calls(const struct grpc_session *);      /* under way */

/* ---- A call, at either end ---------------------------------------------- */

/* The method's or the client's `arg`; a place for the handler's own. */
void *grpc_arg(const struct grpc_call *);
void grpc_set_data(struct grpc_call *, void *);
void *grpc_data(const struct grpc_call *);
struct grpc_session *grpc_call_session(const struct grpc_call *);
struct str grpc_path(const struct grpc_call *);      /* with the slashes */
/*
 * A field of the request (server) or of the answer's head or trailers
 * (client), decoded where its name ends in "-bin".  STR_NONE: there is none.
 */
struct str grpc_metadata(const struct grpc_call *, struct str name);
/* When the caller stops waiting; MONO_NEVER. */
struct mono grpc_deadline(const struct grpc_call *);

/*
 * Fields of the answer: before its first message, and at any time before its
 * end.  Copied.  Names or values that cannot be sent are our own mistake when
 * they are fixed, so they are refused: false.
 */
bool grpc_put_header(struct grpc_call *, struct str name, struct str value);
bool grpc_put_trailer(struct grpc_call *, struct str name, struct str value);

enum grpc_room { GRPC_ROOM, GRPC_FULL, GRPC_GONE };
/*
 * Send a message.  FULL: it was taken, and no other should be sent before
 * on_writable.  GONE: the call has been finished or is lost; nothing was taken.
 */
enum grpc_room grpc_send(struct grpc_call *, struct str message);
/*
 * The same without a copy: `*room` are n bytes that the caller fills at once.
 */
enum grpc_room grpc_send_room(struct grpc_call *, size_t n, void **room);
/* Whole messages that grpc_fill() has handed out. */
uint64_t grpc_messages_left(const struct grpc_call *);

/*
 * Give no messages until grpc_resume(); what was called for already comes.
 * Messages then come from within recv, fill or tick, never from resume.
 */
void grpc_pause(struct grpc_call *);
void grpc_resume(struct grpc_call *);

/* A server's last word; what was sent before leaves first. */
void grpc_finish(struct grpc_call *, enum grpc_code, const char *text);
/* The same as one message and OK. */
void grpc_reply(struct grpc_call *, struct str message);

/* ---- A client's calls --------------------------------------------------- */

struct grpc_request {
	const char *path;
	int64_t timeout_ns;               /* 0: none */
	const struct grpc_field *fields;  /* copied */
	size_t fields_n;
	const struct grpc_events *on;     /* outlives the call */
	void *arg;
};
/*
 * NULL: the connection takes no more calls (draining, lost, full); on_end is
 * not called then.
 */
struct grpc_call *grpc_call_new(struct grpc_session *,
    const struct grpc_request *, struct mono now, struct why *);
void grpc_half_close(struct grpc_call *);  /* no more messages follow */
/* on_end is called with CANCELLED, now. */
void grpc_cancel(struct grpc_call *);

#endif

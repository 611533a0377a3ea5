/*
 * http2 -- the server's side of HTTP/2 for requests and answers: bytes in,
 * bytes out, over nghttp2.  The socket is the owner's, and so is the clock.
 *
 *     owner                               session
 *     bytes came         http2_recv() ->  head, body ..., end; closed
 *     room to write      http2_fill() ->  take; bytes to send
 *                        wake()       <-  there is something to fill
 *
 * Thread: one.  Source: RFC 9113, RFC 7541.
 * Limits: HTTP2_LIMITS; past a rate the session ends with ENHANCE_YOUR_CALM.
 */
#ifndef WIRE_WEB_HTTP2_H
#define WIRE_WEB_HTTP2_H

#include "base/time.h"
#include "wire/web/head.h"

/*  name                default     what it bounds */
#define HTTP2_LIMITS(X)                                                      \
	X(streams_max,        100,      "requests at once on a connection")   \
	X(head_bytes_max,     16384,    "of a request's fields, +32 for each") \
	X(fields_max,         100,      "of a request")                       \
	X(window_bytes,       256 << 10, "of a body, under way")              \
	X(resets_burst,       200,      "streams that the client resets, or" \
	    " makes us reset, at once")                                       \
	X(resets_per_s,       20,       "the same, lasting")                  \
	X(idle_frames_burst,  500,      "frames that carry nothing, at once") \
	X(idle_frames_per_s,  50,       "the same, lasting")
struct http2_limits {
#define HTTP2_LIMIT_FIELD(name, value, help) int64_t name;
	HTTP2_LIMITS(HTTP2_LIMIT_FIELD)
#undef HTTP2_LIMIT_FIELD
};
#define HTTP2_LIMIT_VALUE(name, value, help) value,
#define HTTP2_LIMITS_DEFAULT \
	((struct http2_limits){ HTTP2_LIMITS(HTTP2_LIMIT_VALUE) })

struct http2;
struct http2_stream;

/* What take() has found: HTTP2_NOTHING until http2_more(). */
enum http2_taken { HTTP2_SOME, HTTP2_NOTHING, HTTP2_LAST, HTTP2_CUT };

/* `arg` is the session's; all but take are called from http2_recv() alone. */
struct http2_events {
	/*
	 * A request.  What the head borrows lies in the arena, which the owner
	 * takes: he copies the struct and empties it.  A refusal with a status
	 * is to be answered at once.  `ended`: it has no body.
	 */
	void (*head)(void *arg, struct http2_stream *, struct head *,
	    struct arena *, const struct head_refusal *, bool ended);
	/* False: the client may send no more in place of these bytes until
	 * http2_used(). */
	bool (*body)(void *arg, struct http2_stream *, struct str);
	void (*end)(void *arg, struct http2_stream *);
	/*
	 * Once for each stream that head() was called for, whatever ended it:
	 * from http2_recv(), http2_fill() and http2_free().
	 */
	void (*closed)(void *arg, struct http2_stream *);
	/* Append at most `room` bytes of the answer's body; of http2_fill(). */
	enum http2_taken (*take)(void *arg, struct http2_stream *,
	    struct buf *, size_t room);
	void (*wake)(void *arg);
};

struct http2 *http2_new(const struct http2_limits *,
    const struct http2_events *, void *arg, struct mono now);
void http2_free(struct http2 **);
/* False: no more bytes are of use; fill and send what is there, then close. */
bool http2_recv(struct http2 *, struct str, struct mono now);
/* Append what may leave, about `room` bytes. */
void http2_fill(struct http2 *, struct buf *out, size_t room);
/* Nothing more will come or go. */
bool http2_is_done(const struct http2 *);
size_t http2_streams(const struct http2 *);      /* that are open */
/* Call each() for every stream head() reported; it may answer or cancel it. */
void http2_each(struct http2 *, void (*each)(void *arg,
    struct http2_stream *), void *arg);
/* A head that began so long ago and is not whole ends all.  True: it does. */
bool http2_end_slow_head(struct http2 *, struct mono now, int64_t ms);
/* Take no new requests; http2_is_done() once those under way are over. */
void http2_drain(struct http2 *);

void http2_set_data(struct http2_stream *, void *);
void *http2_data(const struct http2_stream *);
/*
 * Answer: once for each stream.  Names are in small letters.  Texts are copied.
 * Without a body take() is not called.
 */
void http2_answer(struct http2_stream *, int status,
    const struct head_field *, size_t n, bool body);
/* `n` bytes that body() kept back, by returning false, have been read: open the
 * flow-control window by them (RFC 9113 §6.9). */
void http2_used(struct http2_stream *, size_t n);
/* There is more to take. */
void http2_more(struct http2_stream *);
/* The answer was not in time: the stream ends. */
void http2_cancel(struct http2_stream *);

#endif

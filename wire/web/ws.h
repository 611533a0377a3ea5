/*
 * ws -- one side of a WebSocket, after its handshake: bytes in, whole messages
 * and answers out.  wslay underneath takes frames apart and knows the rules;
 * frames of our own leave as they are put.
 *
 * Pings are answered, a close is answered, what breaks the protocol is closed
 * with 1002, 1007 or 1009; all of it is appended to `out` as it happens.  A
 * client masks every frame that it sends and accepts no masked one, a server
 * the other way round (RFC 6455 section 5.1).
 *
 * Thread: one.  Source: RFC 6455, without extensions.
 */
#ifndef WIRE_WEB_WS_H
#define WIRE_WEB_WS_H

#include "base/bytes.h"

struct ws;

/* Sec-WebSocket-Accept of a key, with a NUL.  False: it is no key. */
#define WS_ACCEPT_BYTES 29u
bool ws_accept(struct str key, char out[static WS_ACCEPT_BYTES]);
/* A client's Sec-WebSocket-Key: 16 random bytes in base64, with a NUL. */
#define WS_KEY_BYTES 25u
void ws_key(char out[static WS_KEY_BYTES]);

/*
 * A server's side, or a client's.  `message` is called from ws_recv(); the
 * text lasts until it returns.
 */
struct ws *ws_new(bool client, size_t message_bytes_max,
    void (*message)(void *arg, struct str), void *arg);
void ws_free(struct ws **);

/*
 * Bytes from the peer, to the end of `frames_max` frames; returns how many
 * bytes that were.  The others are to be given again.  Answers are appended to
 * `out`.  Once ws_is_over() nothing more is read.
 *
 * A frame whose head announces more than message_bytes_max for its message is
 * refused with 1009 before any of its payload has come.
 */
size_t ws_recv(struct ws *, struct str bytes, size_t frames_max,
    struct buf *out);
/*
 * Frames so far that carry nothing: pings, pongs, and empty fragments that do
 * not end a message.
 */
uint64_t ws_idle_frames(const struct ws *);
/* A close has come, or was sent because of a fault. */
bool ws_is_over(const struct ws *);
/* How it ended: the peer's code, 1005 when it named none, or our own. */
int ws_code(const struct ws *);
/* We have closed it: nothing more is read, nor answered. */
void ws_stop(struct ws *);
/* Bytes of the message that is not whole yet. */
size_t ws_partial(const struct ws *);

/*
 * The head of a server's data frame: a text message's first or a later one, its
 * last or not.
 */
void ws_put_head(struct buf *out, bool first, bool last, uint64_t bytes);
/* A ping of at most 125 bytes; a client's frames are masked. */
void ws_put_ping(struct buf *out, bool client, struct str payload);
/* A close; its text is cut to 123 bytes, at a character's border. */
void ws_put_close(struct buf *out, bool client, int code, struct str text);
/* A client's text message, in one masked frame. */
void ws_client_put_text(struct buf *out, struct str text);

#endif

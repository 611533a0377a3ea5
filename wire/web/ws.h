/*
 * ws -- the server's side of a WebSocket, after its handshake: bytes in, whole
 * messages and answers out.  wslay underneath takes frames apart and knows the
 * rules; frames of our own leave as they are put.
 *
 * Pings are answered, a close is answered, what breaks the protocol is closed
 * with 1002, 1007 or 1009; all of it is appended to `out` as it happens.
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

/* `message` is called from ws_recv(); the text lasts until it returns. */
struct ws *ws_new(size_t message_bytes_max,
    void (*message)(void *arg, struct str), void *arg);
void ws_free(struct ws **);

/*
 * Bytes from the client, to the end of `frames_max` frames; returns how many
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
/* How it ended: the client's code, 1005 when it named none, or our own. */
int ws_code(const struct ws *);
/* We have closed it: nothing more is read, nor answered. */
void ws_stop(struct ws *);
/* Bytes of the message that is not whole yet. */
size_t ws_partial(const struct ws *);

/* A data frame's head: a text message's first or a later, its last or not. */
void ws_put_head(struct buf *out, bool first, bool last, uint64_t bytes);
/* At most 125 bytes. */
void ws_put_ping(struct buf *out, struct str payload);
/* The text is cut to 123 bytes, at a character's border. */
void ws_put_close(struct buf *out, int code, struct str text);

#endif

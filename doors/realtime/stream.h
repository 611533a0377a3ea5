/*
 * stream -- a big item on its way: its body is read and put in pieces, as one
 * message of the client's.  Until the first piece is there nothing is put.
 *
 * A client has one at a time.
 *
 * Thread: home's.
 */
#ifndef DOORS_REALTIME_STREAM_H
#define DOORS_REALTIME_STREAM_H

#include "doors/realtime/own.h"

struct stream;

/*
 * Begin to read the body; `head` is the event up to the last brace of the item,
 * copied.  done() is called when all was put, or `failed`: nothing was.
 */
void stream_open(struct client *, uint32_t crawl, uint64_t number,
    struct str head, void (*done)(void *arg, bool failed), void *arg);
/* Nobody wants to hear of it any more; what was begun is put to its end. */
void stream_forget(struct client *);
/* Nothing else may be put: the message is being written.  NULL: false. */
bool stream_begun(const struct stream *);
/* There is room.  NULL: nothing. */
void stream_go_on(struct stream *);
/* The client has left. */
void stream_drop(struct stream **);

#endif

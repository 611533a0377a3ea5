/*
 * item_stream -- sends a big item: its body is read and put in pieces, as one
 * message to the client.  Nothing is put before the first piece has been read.
 *
 * A client has one stream at a time.
 *
 * Thread: home's.
 */
#ifndef DOORS_REALTIME_ITEM_STREAM_H
#define DOORS_REALTIME_ITEM_STREAM_H

#include "doors/realtime/own.h"

struct item_stream;

/*
 * Begin to read the body.  `head` is the event up to the last brace of the
 * item; it is copied.  done() is called once everything was put; `failed`:
 * nothing was.
 */
void item_stream_open(struct client *, uint32_t crawl, uint64_t number,
    struct str head, void (*done)(void *arg, bool failed), void *arg);
/* done() is not called any more; a message that was begun is finished. */
void item_stream_forget(struct client *);
/* A message is being written: nothing else may be put.  NULL: false. */
bool item_stream_begun(const struct item_stream *);
/* The socket has room again.  NULL: does nothing. */
void item_stream_go_on(struct item_stream *);
/* The client has disconnected. */
void item_stream_drop(struct item_stream **);

#endif

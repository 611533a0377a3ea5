/*
 * body_stream -- who of the readers of big bodies may have a decoder open.
 * The calls for readers are in stream.h.
 *
 * Thread: the main loop's.
 * Limits: STREAM_STREAMS_MAX.
 */
#ifndef ENGINE_STREAM_BODY_STREAM_H
#define ENGINE_STREAM_BODY_STREAM_H

#include "engine/catalog/read_task.h"

struct body_streams {
	struct loop *home;
	struct read_tasks *tasks;
	unsigned turns;              /* streams that may read */
	struct list open, waiting;   /* those, and the others */
	struct timer timer;          /* runs while one waits */
};
void body_streams_open(struct body_streams *, struct loop *home,
    struct read_tasks *);
/* No stream is left. */
void body_streams_close(struct body_streams *);

#endif

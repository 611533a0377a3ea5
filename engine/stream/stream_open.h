/*
 * stream_open -- the stream's life, for the engine.
 *
 * Thread: the main loop's; stream_new() and stream_open() before it runs.
 */
#ifndef ENGINE_STREAM_STREAM_OPEN_H
#define ENGINE_STREAM_STREAM_OPEN_H

#include "engine/stream/stream.h"

struct handoff_pool;
struct ledger;
struct list;
struct read_tasks;

#define STREAM_MARK_BYTES 8u

struct stream_options {
	struct loop *home;
	struct read_tasks *tasks;
	struct crawl_registry *registry;
	struct handoff_pool *handoffs;       /* the fetchers read it; or NULL */
	size_t cache_bytes;          /* 0: 32 MiB */
};
/* `mark`: STREAM_MARK_BYTES characters. */
struct stream *stream_new(const struct stream_options *, const char *mark);
/*
 * The stream of a data directory.  The directory's mark is read from the
 * ledger's index, or made and put there.  Errors: CORRUPT; what the index
 * gives.
 */
MUST_USE enum err stream_open(const struct stream_options *, struct ledger *,
    struct stream **, struct why *);
/* No request begins from now on; the tasks that run are the owner's of
 * `tasks` to wait for. */
void stream_close(struct stream *);
/* No task runs, and no reader has a batch. */
void stream_free(struct stream **);
/*
 * Captures that became durable, in the order of their numbers within a crawl,
 * before the registry shows them.  The stream takes those that somebody reads
 * from the list.
 */
void stream_handoff(struct stream *, struct list *);

#endif

/*
 * batch -- makes a run of captures into texts: from the archive, and from
 * captures that the fetchers handed over.
 *
 * Thread: batch_task_run() the pool's, or the main loop's when every capture
 *         was handed over; the rest the main loop's.
 * Limits: STREAM_BATCH_BYTES, BATCH_ITEMS_MAX.
 */
#ifndef ENGINE_STREAM_BATCH_H
#define ENGINE_STREAM_BATCH_H

#include "engine/catalog/read_task.h"
#include "engine/stream/handoff_cache.h"
#include "engine/stream/stream.h"

#define BATCH_ITEMS_MAX 1024u

struct crawl_cache;

/* Consecutive items of one crawl in one form; immutable but for its users. */
struct batch {
	struct stream_batch shown;
	struct crawl_cache *cache;   /* NULL: it was taken out */
	unsigned form;
	uint64_t first, last;
	size_t bytes;
	struct list node;            /* in stream.idle */
	bool more;                   /* it ended for its size */
	char *texts;                 /* of all items, one after the other */
	struct stream_item items[];
};
void batch_free(struct batch **);

struct batch_task {
	struct read_task task;
	struct stream *stream;
	struct crawl_cache *cache;   /* NULL: the crawl was deleted */
	struct list node;            /* in the cache's `tasks` */
	uint32_t crawl;
	unsigned form;
	uint64_t from, to;
	struct handoff_loan handoffs;        /* those of them that there are */
	stream_render_fn *render;
	const char *mark;
	/* Out. */
	size_t n, handed_over;       /* items; those made from handoffs */
	bool more;                   /* it ended for its size */
	struct batch *batch;         /* NULL: there was nothing */
	struct why why;
};
void batch_task_run(struct read_task *);

#endif

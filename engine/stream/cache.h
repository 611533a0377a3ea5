/*
 * cache -- batches of texts by crawl, form and number, and the readers that
 * wait for one.
 *
 *     request ─► a batch in the cache?        ─► at once
 *             ─► all handed over just now?    ─► made at once, into the cache
 *             ─► else a batch_task on the pool ─► into the cache ─► ready()
 *
 * Thread: the main loop's.
 * Limits: stream_options.cache_bytes; without free memory for a batch its task
 *         waits (`starved`).
 */
#ifndef ENGINE_STREAM_CACHE_H
#define ENGINE_STREAM_CACHE_H

#include "base/map.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/stream/batch.h"
#include "engine/stream/body_stream.h"
#include "engine/stream/handoff_cache.h"
#include "engine/stream/stream_open.h"

/* A time at which the registry showed this number of items. */
struct cache_mark {
	uint64_t items;
	struct wall at;
};
#define CACHE_MARKS 64u
#define CACHE_ROWS (STREAM_RENDERERS_MAX * STREAM_FORMS)

/* The batches of one renderer and form, by their first number; they do not
 * overlap. */
struct cache_row {
	struct batch **at;
	size_t n, cap;
	uint64_t typical;            /* items in a batch that ended for size */
};
struct crawl_cache {
	uint32_t crawl;
	uint64_t items;              /* as the registry showed last */
	struct cache_row rows[CACHE_ROWS];
	struct list requests, tasks;
	struct crawl_handoffs handoffs;
	struct cache_mark marks[CACHE_MARKS];
	uint64_t marks_n;            /* ever made */
	uint64_t before;             /* items up to here have no date */
};

struct stream {
	struct stream_options options;
	char mark[STREAM_MARK_BYTES + 1];
	stream_render_fn *renderers[STREAM_RENDERERS_MAX];
	unsigned renderers_n;
	struct list starved;         /* batches that wait for memory */
	struct map caches;           /* crawl -> struct crawl_cache */
	struct list idle;            /* batches without reader, oldest first */
	size_t bytes;                /* of all batches */
	size_t held;                 /* of those that readers use */
	size_t reserved;             /* for tasks */
	struct list ready;           /* requests to be answered */
	struct registry_watch watch;
	uint64_t version;            /* of the registry, handled so far */
	struct handoff_cache handoffs;
	struct body_streams bodies;
	bool closing;
};

#endif

/*
 * stream_testing -- a stream over the rig of catalog_testing.h, and readers of
 * it.
 */
#ifndef ENGINE_STREAM_STREAM_TESTING_H
#define ENGINE_STREAM_STREAM_TESTING_H

#include "engine/catalog/catalog_testing.h"
#include "engine/fetcher/handoff.h"
#include "engine/stream/stream_open.h"

#define RIG_MARK "markmark"

/* rig_init() of a rig with a stream; one at a time.  `cache_bytes` may be 0. */
void stream_rig_init(struct rig *, stream_render_fn *, size_t cache_bytes);
/* What the fetchers of its stream look at. */
extern struct handoff_pool rig_handoffs;

/* A want whose answer is waited for; the batch is the caller's. */
struct rig_want {
	struct stream_request want;
	unsigned told;
};
void rig_want(struct rig *, struct rig_want *, uint32_t crawl, uint64_t from,
    unsigned form);
/* The text of one item, of the crawl of the rig.  Memory: the arena. */
struct str rig_text(struct rig *, uint64_t number, unsigned form);
void rig_expect(struct rig *, uint64_t number, unsigned form,
    const char *text);

#endif

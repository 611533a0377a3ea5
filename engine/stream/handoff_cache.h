/*
 * handoff_cache -- captures of running crawls, kept as the fetchers handed
 * them over, for clients that have read everything before them.
 *
 * The fetchers hand captures over for as long as somebody reads them: a reader
 * that has all there is follows the crawl, and one that falls behind by
 * HANDOFF_UNREAD_MAX captures reads the archive.
 *
 * Owns:   the captures that it was given.
 * Thread: the main loop's.
 * Limits: HANDOFF_CACHE_BYTES; the oldest go.
 */
#ifndef ENGINE_STREAM_HANDOFF_CACHE_H
#define ENGINE_STREAM_HANDOFF_CACHE_H

#include "engine/catalog/read_task.h"
#include "engine/fetcher/handoff.h"

#define HANDOFF_CACHE_BYTES ((size_t)4 << 20)
#define HANDOFF_UNREAD_MAX 1024u

struct handoff_cache {
	struct loop *home;
	struct handoff_pool *pool;   /* the fetchers read it; or NULL */
	struct list by_age;          /* those of all crawls */
	size_t bytes;
	struct trim trim;
};
/* The handoffs of one crawl. */
struct crawl_handoffs {
	uint32_t crawl;
	struct list by_number;
	enum handoff_want follows;   /* what the fetchers are asked for */
	unsigned unread;             /* that came since somebody read one */
};
/* Captures that a task reads on the pool; they stay until it is done. */
struct handoff_loan {
	struct handoff **at;         /* by number */
	size_t n;
};

void handoff_cache_open(struct handoff_cache *, struct loop *home,
    struct handoff_pool *, struct read_tasks *);
void crawl_handoffs_init(struct crawl_handoffs *, uint32_t crawl);
/* A reader has all there is: the next captures are wanted at once. */
void handoff_cache_follow(struct handoff_cache *, struct crawl_handoffs *,
    bool bodies);
/* A capture of a crawl that is followed. */
void handoff_cache_put(struct handoff_cache *, struct crawl_handoffs *,
    struct handoff *);
/* What is beyond the limit goes. */
void handoff_cache_shrink(struct handoff_cache *);
/* The number of the oldest capture; UINT64_MAX: there is none. */
uint64_t handoff_cache_first(const struct crawl_handoffs *);
/* Lend those between two numbers, at most `max`: the newest. */
void handoff_cache_lend(struct crawl_handoffs *, uint64_t from, uint64_t to,
    bool bodies, size_t max, struct handoff_loan *);
void handoff_cache_give_back(struct handoff_loan *);
/* Stop following, and drop what there is of the crawl. */
void handoff_cache_forget(struct handoff_cache *, struct crawl_handoffs *);

#endif

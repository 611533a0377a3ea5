/*
 * checkpoint -- what the owner of a crawl's calls must know to go on: opaque
 * bytes, written in the commit group of the answer that they follow from.
 *
 * They go with the crawl when it is deleted.
 * Source: contracts/connector.md §2.
 */
#ifndef ENGINE_FRONTIER_CHECKPOINT_H
#define ENGINE_FRONTIER_CHECKPOINT_H

#include "base/arena.h"
#include "engine/frontier/submission.h"

/* A put for struct submission.  `owner` tells the checkpoints of one crawl
 * apart; it may be empty.  Memory: `a`.  Thread: any. */
void checkpoint_put(uint32_t crawl, struct str owner, struct str bytes,
    struct arena *a, struct extra_put *);
/* The last that became durable.  ABSENT: there is none.  Memory: `a`.  Thread:
 * as index_get(). */
MUST_USE enum err checkpoint_get(struct index *, uint32_t crawl,
    struct str owner, struct arena *a, struct str *bytes, struct why *);

#endif

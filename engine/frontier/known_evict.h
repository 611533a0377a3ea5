/*
 * known_evict -- keeps the known table within frontier.known_mem.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_KNOWN_EVICT_H
#define ENGINE_FRONTIER_KNOWN_EVICT_H

#include "engine/frontier/core.h"

/* Which reads and submissions wait for the gate. */
struct known_evict {
	struct frontier *frontier;
	size_t bytes_max;            /* of the table; 0: no limit */
	struct list held;            /* submissions that have not asked yet, */
	struct list asked;           /* and those that have, in their order */
	struct list waits;           /* eviction_wait: reads to begin */
	unsigned reads;              /* of the index, that are out */
	size_t links;                /* asked for, of those in `asked` */
	bool closed;                 /* no read begins */
	bool waiting;                /* until what was forgotten is durable */
	bool partial;                /* the table does not have all URLs */
	struct promise promise;
};

void known_evict_open(struct frontier *);
/* What an earlier process forgot: its crawls are loaded anew. */
MUST_USE enum err known_evict_clear(struct frontier *, struct why *);
/* Mail of a submission: admit it, at once or when the index has told what the
 * table forgot. */
void known_evict_submit(struct mail *);
/* False: not now; open() is called when it may. */
bool known_evict_may_read(struct frontier *, struct eviction_wait *);
void known_evict_read_back(struct frontier *);
/* Some URLs are in the index only: what the table lacks may be known. */
bool known_evict_is_partial(const struct frontier *);
void known_evict_count(struct frontier *);     /* metrics of the table */

/*
 * URLs of a crawl that goes on, some `urls` of them: into the table, or, those
 * that it may forget, into `known`.
 */
struct known_evict_load;
struct known_evict_load *known_evict_load_begin(
    struct frontier *, uint64_t urls);
MUST_USE enum err known_evict_load_put(struct known_evict_load *, uint64_t hash,
    uint32_t date, uint8_t mark, struct why *);
/* Returns `e`, or why the rest could not be written. */
MUST_USE enum err known_evict_load_end(struct known_evict_load **, enum err e,
    struct why *);

#endif

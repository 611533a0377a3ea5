/*
 * queue_record -- a queue's record in the index, as it is now for a crawl whose
 * queues are not in memory.
 *
 * Texts are the arena's, or valid while the visitor is called.
 * Thread: a ledger_query's, or before the loops start.
 * Errors: ABSENT, CORRUPT, IO.
 */
#ifndef ENGINE_FRONTIER_QUEUE_RECORD_H
#define ENGINE_FRONTIER_QUEUE_RECORD_H

#include "base/arena.h"
#include "os/index.h"

struct queue_record {
	uint32_t crawl, id, ordered;
	uint64_t waiting, done;
	struct str key;
};
/* False: the record is damaged. */
bool queue_record_parse(struct str value, struct queue_record *);
MUST_USE enum err queue_record_get(struct index *, uint32_t crawl,
    struct str key, struct arena *, struct queue_record *);
MUST_USE enum err queue_record_each(struct index *, uint32_t crawl,
    void (*visit)(void *arg, const struct queue_record *), void *arg);

#endif

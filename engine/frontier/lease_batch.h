/*
 * lease_batch -- leases of the lease service, and their ends.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_BATCH_H
#define ENGINE_FRONTIER_LEASE_BATCH_H

#include "engine/frontier/lease_core.h"

struct lease_out {
	struct list node;
	struct lease_batch *batch;
	uint64_t hash;
	uint32_t date, created;
};

/* Leases of one queue that end together. */
struct lease_batch {
	struct heap_node node;               /* in leases.ends, by ns */
	struct lease_batch *next, **link;  /* of its queue */
	struct list leases;
	struct lease_queue *queue;
	int64_t start_us;                    /* steady */
	uint32_t lease_s;
	uint32_t n;
};

/* The queue's leases that begin and end together, found or new. */
struct lease_batch *lease_batch_get(struct lease_queue *, int64_t start_us,
    uint32_t lease_s);
void lease_batch_add(struct lease_batch *, uint64_t hash, uint32_t date,
    uint32_t created);
struct lease_out *lease_out_find(const struct lease_service *, uint64_t hash);
/* Out of memory; the known table and the log are the caller's. */
void lease_out_drop(struct frontier *, struct lease_out *);
void lease_out_drop_all(struct lease_queue *);
/* A verb ended it: the log hears of it. */
void lease_out_end(struct frontier *, struct lease_out *);
void lease_batch_note(struct lease_batch *);
void lease_out_expire(struct frontier *);
/* Its end by the monotonic clock. */
void lease_batch_set_end(struct lease_batch *);

#endif

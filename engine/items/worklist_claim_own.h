/*
 * worklist_claim_own -- a claim under way.
 *
 * Private to worklist_claim.c and worklist_next.c.
 */
#ifndef ENGINE_ITEMS_WORKLIST_CLAIM_OWN_H
#define ENGINE_ITEMS_WORKLIST_CLAIM_OWN_H

#include "base/map.h"
#include "engine/items/worklist_own.h"

struct claim_bucket {
	struct bucket_row *row;
	const struct task_rate *rate;
	int64_t left, taken;
};

struct candidate {
	int64_t due_ms, item;
};

struct claim_lane {
	uint32_t id;
	struct claim_bucket **buckets;
	size_t buckets_n;
	struct candidate *found;     /* read ahead */
	size_t at, n, chunk;
	struct candidate last;       /* the next chunk comes after it */
	bool end;
	bool is_head;                /* all so far were passed over ... */
	int64_t head_ms;             /* ... and are until then */
};

struct claim_task {
	uint32_t id;
	const struct task *task;
	int64_t room;                /* by `parallel` */
	struct claim_lane *lanes;
	size_t lanes_n;
	int64_t turn;                /* grows by the weight, falls by a turn */
};

struct claim {
	struct item_tx *tx;
	struct item_store *store;
	const struct worklist_claim *spec;
	int64_t now_ms;
	struct claim_task *tasks;    /* that may have something */
	size_t tasks_n, tasks_cap;
	struct map buckets;          /* struct claim_bucket by row */
	struct str worker;
	struct worklist_lease *leases;
	size_t leases_n, scanned, passed;
	size_t bytes, bytes_max;     /* of what was leased */
	uint64_t random[32];
	size_t random_n;
};

/* A claim that has no tasks yet.  The caller frees its map of buckets. */
struct claim claim_begin(struct item_tx *, const struct worklist_claim *);
/* Add the tasks that it asks for and that may run now. */
MUST_USE enum err claim_add_tasks(struct claim *, struct why *);
/* Add the lanes in which the task has planned pairs, from the index. */
MUST_USE enum err claim_add_lanes(struct claim *, struct claim_task *,
    struct why *);
/* Add the lanes of one item's pairs that are due (`task run --item`). */
MUST_USE enum err claim_add_item(struct claim *, struct why *);

#endif

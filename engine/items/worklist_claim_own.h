/*
 * worklist_claim_own -- a claim under way.
 *
 * Private to worklist_claim.c and worklist_next.c.
 */
#ifndef ENGINE_ITEMS_WORKLIST_CLAIM_OWN_H
#define ENGINE_ITEMS_WORKLIST_CLAIM_OWN_H

#include "base/map.h"
#include "engine/items/claim_cursor.h"
#include "engine/items/worklist_own.h"

struct claim_bucket {
	struct bucket_row *row;
	const struct task_rate *rate;
	int64_t left, taken;
};

struct claim_lane {
	uint32_t id;
	struct claim_bucket **buckets;
	size_t buckets_n;
	struct claim_cursor *cursor; /* NULL: SQLite, or one item */
	struct claim_key *found;     /* read ahead */
	struct claim_key *after;     /* the key before each; with `cursor` */
	size_t at, n, chunk;
	struct claim_key last;       /* the next chunk comes after it */
	bool end;
	bool jumps;                  /* the rest is after the second range */
	struct claim_key head;       /* up to it all were passed over */
	bool is_head;                /* all so far were passed over ... */
	int64_t head_ms;             /* ... and are until then */
};

struct claim_task {
	uint32_t id;
	const struct task *task;
	int64_t room;                /* by `parallel` */
	struct claim_lanes *known;   /* NULL: SQLite, or unknown */
	bool is_scanned;             /* fully, by this claim or the last one */
	bool may_miss;               /* it was not, though a scan is allowed */
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
	struct claim_cursors *cursors;       /* NULL: SQLite */
	int64_t scan_ms;             /* the time between two full scans */
	bool read_begin;             /* a lane was read from its beginning */
	bool missed;                 /* a full scan may find more pairs */
	struct map buckets;          /* struct claim_bucket by row */
	struct str worker;
	struct worklist_lease *leases;
	size_t leases_n, scanned, passed;    /* scanned: keys read */
	size_t bytes, bytes_max;     /* of what was leased */
	uint64_t random[32];
	size_t random_n;
};

/* The last claim with it ended before it had read all, and got nothing. */
bool worklist_passed_is_cut(const struct worklist_passed *);
/* A claim that has no tasks yet.  The caller frees its map of buckets. */
struct claim claim_begin(struct item_tx *, const struct worklist_claim *);
/* Add the tasks that it asks for and that may run now. */
MUST_USE enum err claim_add_tasks(struct claim *, struct why *);
/* Add the lanes in which the task has planned pairs: from the index, or those
 * that `known` lists. */
MUST_USE enum err claim_add_lanes(struct claim *, struct claim_task *,
    struct why *);
MUST_USE enum err claim_add_known_lanes(struct claim *, struct claim_task *,
    struct why *);
/* Add the lanes of one item's pairs that are due (`task run --item`). */
MUST_USE enum err claim_add_item(struct claim *, struct why *);

#endif

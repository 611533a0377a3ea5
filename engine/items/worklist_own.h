/*
 * worklist_own -- what the files of the worklist share.
 *
 * Private to worklist*.c, lease.c and bucket.c.
 */
#ifndef ENGINE_ITEMS_WORKLIST_OWN_H
#define ENGINE_ITEMS_WORKLIST_OWN_H

#include "engine/items/item_store.h"
#include "engine/items/worklist.h"

/* The configuration's task with this number; NULL when it has none. */
const struct task *worklist_task(struct item_tx *, uint32_t task);
/* The number of a configuration's task; 0 when it was never loaded. */
MUST_USE enum err worklist_task_id(struct item_tx *, const struct task *,
    uint32_t *, struct why *);
/* Whether all that `task` depends on is there for the item. */
MUST_USE enum err worklist_depends_met(struct item_tx *, const struct task *,
    int64_t item, bool *met, struct why *);
/* Milliseconds of a date, rounded up; NONE is PAIR_DUE_NONE. */
int64_t worklist_due_ms(struct wall);
/* The lease has ended: its columns are empty.  The row is touched. */
void worklist_end_lease(struct item_tx *, struct pair_row *);
/*
 * What is stored is stale, and due after the task's minInterval; a pair that
 * waits for another try goes on waiting.  pair_settle() is the caller's.
 */
void worklist_run_again(struct item_tx *, const struct task *,
    struct result_row *, struct pair_row *);

/* -- Leases (lease.c) -- */

#define WORKLIST_LEASE_US (60 * US_PER_S)        /* without a task's own */
MUST_USE enum err worklist_lease_check(int64_t lease_us, struct why *);
/*
 * The pair that a lease's text names, or NULL; it may be leased by another, or
 * not at all.  `moved`: look among the leased pairs, too, when it is gone.
 */
MUST_USE enum err worklist_lease_pair(struct item_tx *, struct str text,
    bool moved, struct pair_row **, uint64_t *lease, struct why *);
/* A run's seed follows from its lease, so that it need not be stored. */
uint64_t worklist_lease_seed(uint64_t lease);

/* -- Runs -- */

/* A pair with its rows, of a lease that is being ended. */
struct worklist_run {
	uint32_t task_id;
	const struct task *task;     /* NULL: the configuration has none */
	struct item_row *item;
	struct pair_row *pair;
	struct result_row *result;
	uint64_t lease, generation;
	struct str lease_text, task_name, version;
	bool again;
	bool lost;                   /* the lease has expired */
	unsigned attempt;            /* of this run, from 1 */
};
/* All of a leased pair.  Memory: the transaction's. */
MUST_USE enum err worklist_run_of(struct item_tx *, struct pair_row *,
    struct worklist_run *, struct why *);
struct item_actor worklist_run_actor(const struct worklist_run *);
/* The run is over: the pair is leased no more, and remembers a lease that was
 * completed. */
void worklist_run_end(struct item_tx *, struct worklist_run *);

/* Why a run failed. */
#define RUN_MESSAGE_BYTES_MAX 500u
#define RUN_ERROR_BYTES_MAX (64u << 10)
#define RETRY_AFTER_US_MAX (30 * 24 * 3600 * US_PER_S)
struct run_error {
	bool transient, crashed;
	struct str message;
	struct str json;             /* of the failure, an object */
	struct wall not_before;      /* Retry-After; NONE */
};
/* "crashed" is the class or the code of its object. */
bool run_error_is_crash(struct yyjson_val *error);
#define RUN_ERROR_INIT ((struct run_error){ .not_before = ITEM_TIME_NONE })
/*
 * The run has failed: result, failure, next try or parking, tripping, events.
 * `stored`: its result was stored (allowFailure), as a failed one.
 */
MUST_USE enum err worklist_fail(struct item_tx *, struct worklist_run *,
    const struct run_error *, bool stored, struct why *);
/* Parked pairs of the task with open failures, up to `max` of them. */
MUST_USE enum err worklist_outstanding(struct item_tx *, uint32_t task,
    unsigned max, unsigned *n, struct why *);

/* -- Run records (worklist_record.c) -- */

#define RUN_LOG_LINES_MAX 1000u
#define RUN_LOG_LINE_BYTES_MAX (8u << 10)
#define RUN_ERROR_LOG_LINES 20u  /* kept with a failure */
struct run_record {
	const struct worklist_run *run;
	const struct run_usage *usage;
	struct yyjson_val *mutations, *log;      /* NULL: none */
	const enum item_effect *effects;         /* of the mutations; NULL */
	struct str error;                        /* JSON; empty: none */
	struct wall completed_at;                /* us 0: now */
	bool success, is_replay;
};
/* Store it as the task's `runs` asks, and count what was used. */
void worklist_put_run(struct item_tx *, const struct run_record *);
/* The last lines of a log, as elements of a JSON array. */
void worklist_log_tail(struct buf *, struct yyjson_val *log, size_t lines);
/* Append a value's JSON. */
void worklist_put_value(struct buf *, struct yyjson_val *);
/* A date as the contract writes it: "2026-11-20T07:00:00.000Z"; null. */
void worklist_put_date(struct buf *, const char *name, struct wall);
/* "seed":"…", sixteen digits of hex. */
void worklist_put_seed(struct buf *, uint64_t seed);

#endif

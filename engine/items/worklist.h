/*
 * worklist -- which pair of task and item runs next: claims, leases, results,
 * retries, failures (contracts/items.md §3, §4, §8).
 *
 * The state of a pair follows from its result, its failures, its lease and the
 * configuration: pair_settle() is the one place that decides it.
 *
 * Thread: the writer's.
 * Errors: INPUT, naming the field; ABSENT; STATE.
 */
#ifndef ENGINE_ITEMS_WORKLIST_H
#define ENGINE_ITEMS_WORKLIST_H

#include "engine/items/item_event.h"
#include "engine/items/task_config.h"

/* -- Pairs -- */

/*
 * An item's tags have changed, or it is new: rows of the worklist come and go,
 * lanes change, blocked dependents are looked at again.  item_ops.c calls it
 * once for each changed item.
 */
MUST_USE enum err worklist_follow_tags(struct item_tx *, struct item_row *,
    struct why *);
/*
 * The same for one task, as generation.c rewrites it: `task` NULL when the
 * configuration no longer has it.  Of the item, key and tags count.  A pair
 * that is no longer mapped goes, also when it is leased.
 */
MUST_USE enum err worklist_follow_task(struct item_tx *,
    const struct item_row *, uint32_t task_id, const struct task *,
    struct why *);
/* The name of the lane of a task's pairs with these tags. */
void task_lane_name(const struct task *, const struct item_tag *tags,
    size_t n, struct buf *);
/* A parked pair, or one that waits for another try, starts over; it is touched
 * by the caller before, and settled after. */
void pair_unfail(struct pair_row *);
/*
 * The pair's result, or what it depends on, has changed: derive state and due
 * time again, unless it is leased.  Its dependents follow.
 */
MUST_USE enum err pair_settle(struct item_tx *, struct pair_row *,
    struct why *);
/* The item is gone: its pairs and results go, leases are lost.  Its failures
 * and runs are item_ops.c's. */
MUST_USE enum err worklist_drop_item(struct item_tx *, struct item_row *,
    struct why *);
/*
 * `from` is merged into `into`, whose tags and results are united and whose
 * pairs follow them: leases of `from`'s pairs move to the pairs of `into` that
 * are not leased.  worklist_drop_item(from) is called after it.
 */
MUST_USE enum err worklist_merge_pairs(struct item_tx *,
    struct item_row *from, struct item_row *into, struct why *);
/*
 * Expire a pair: its result is stale, and it is due; a leased one runs again
 * once its run has ended; a parked one is un-failed.  A script's (the actor has
 * a run) is not due before completed_at + minInterval.  `first`: before all
 * others.  The row of a pair that is not mapped has exists false.
 */
MUST_USE enum err worklist_expire_pair(struct item_tx *,
    const struct item_actor *, struct item_row *, struct pair_row *,
    bool first, struct why *);

/*
 * The state that a pair should have, computed from its result, its lease and
 * its task.  It is never `blocked`: a claim finds out whether a dependency is
 * missing.  The row's own state and due time are kept where they cannot be
 * computed: parked, waiting for a retry, requested to run first, or delayed by
 * minInterval.
 */
struct pair_plan {
	enum pair_state state;
	int64_t due_ms;
	unsigned attempt;
};
struct pair_plan pair_derive(const struct task *, const struct result_row *,
    const struct pair_row *, struct wall now);
/* When a result with this completed_at and ttl_override expires. */
struct wall result_expires(const struct task *, const struct result_row *);
/* Successful, unexpired, not invalidated, and of the task's version: what
 * dependsOn asks for.  A NULL task: false. */
bool result_is_fresh(const struct task *, const struct result_row *,
    struct wall now);

/* -- Leases.  The text is "L" and 32 characters of base32: task, item, and 64
 *    random bits. -- */

#define LEASE_TEXT_BYTES 33u
#define LEASE_US_MAX (24 * 3600 * US_PER_S)      /* beyond: INPUT */
void worklist_lease_text(uint32_t task, int64_t item, uint64_t lease,
    char out[static LEASE_TEXT_BYTES + 1]);
bool worklist_lease_read(struct str, uint32_t *task, int64_t *item,
    uint64_t *lease);

/*
 * What claims with the same skip() have passed over at the head of each lane,
 * so that the next ones need not read it all again.  A pair that comes to that
 * head meanwhile is seen after WORKLIST_PASSED_MS_MAX at the latest.
 */
#define WORKLIST_PASSED_MS_MAX 1000
struct worklist_passed;
struct worklist_passed *worklist_passed_new(void);
void worklist_passed_free(struct worklist_passed **);

/* What becomes of a pair that is due (slow hosts). */
enum worklist_choice {
	WORKLIST_TAKE,
	WORKLIST_TAKE_AT_TURN,       /* it has waited for its host's turn */
	WORKLIST_PASS_OVER           /* from now on, until that turn */
};

#define WORKLIST_CLAIM_MAX 1000u
struct worklist_claim {
	struct str worker;
	const struct str *tasks;     /* names or patterns */
	size_t tasks_n;
	unsigned max;                /* at most WORKLIST_CLAIM_MAX */
	const struct str *prefetch;  /* tasks, beside the task's own */
	size_t prefetch_n;
	int64_t lease_us;            /* 0: the task's */
	bool own;                    /* the daemon's own workers */
	/* For how many ms a pair is to be passed over, because its host's turn
	 * is far (slow hosts); 0: it is not.  NULL: none is. */
	int64_t (*skip)(void *arg, uint32_t task, int64_t item);
	/* Asked of those that `skip` lets through, before they are leased.
	 * NULL: all are taken. */
	enum worklist_choice (*choose)(void *arg, uint32_t task,
	    const struct item_row *);
	void *arg;
	struct worklist_passed *passed;      /* goes with `skip` */
	struct str only_item;        /* `task run --item`; empty: any */
};
struct worklist_lease {
	uint32_t task;
	struct item_row *item;
	struct pair_row *pair;
	struct str text;             /* of the lease */
	uint64_t seed;
	bool has_turn;               /* WORKLIST_TAKE_AT_TURN */
};
/*
 * Take tokens and leases for up to `max` pairs that are due.  Leases expired
 * so far are ended before (transient failures).  A claim ends early with the
 * pair whose data and prefetched metadata reach claim_bytes_max.  Nothing is
 * leased while another daemon has loaded a later configuration.  Memory: the
 * transaction's.
 */
MUST_USE enum err worklist_claim(struct item_tx *,
    const struct worklist_claim *, struct worklist_lease **, size_t *n,
    struct why *);
/* Until when nothing that this claim asks for becomes due or gets tokens, as
 * far as is known; for claims that wait.  NONE when nothing is planned. */
MUST_USE enum err worklist_next_at(struct item_tx *,
    const struct worklist_claim *, struct wall *, struct why *);
/*
 * Whether all is done that this claim asks for: no pair is due, the daemon's
 * own workers have no lease, and no pair is to be rewritten.  A pair that waits
 * for tokens or for its host is due; one that is to run later is not.
 */
MUST_USE enum err worklist_is_idle(struct item_tx *,
    const struct worklist_claim *, bool *idle, struct why *);
/* The bytes of an item's data and of the metadata that a lease comes with. */
MUST_USE enum err worklist_lease_bytes(struct item_tx *,
    const struct worklist_lease *, const struct str *prefetch,
    size_t prefetch_n, size_t *bytes, struct why *);
/* The JSON of a lease in the answer of /worker/claim; with `prefetch`. */
MUST_USE enum err worklist_lease_json(struct item_tx *,
    const struct worklist_lease *, const struct str *prefetch,
    size_t prefetch_n, struct buf *, struct why *);

/* NONE: lost. */
MUST_USE enum err worklist_heartbeat(struct item_tx *, struct str lease,
    int64_t lease_us, struct wall *until, struct why *);
/* `refund`: tokens go back to their buckets (a slow host). */
MUST_USE enum err worklist_release(struct item_tx *, struct str lease,
    bool refund, bool *was, struct why *);
/* A daemon starts: its own workers' leases go, without an attempt. */
MUST_USE enum err worklist_release_own(struct item_tx *, struct why *);
/* End the leases that have expired, at most `max`. */
MUST_USE enum err worklist_expire_leases(struct item_tx *, size_t max,
    size_t *n, struct why *);

/* What a run stores about its own pair, gathered while its mutations are
 * applied (item_actor.own). */
struct run_result {
	bool has_metadata, has_ttl, expired;
	struct str metadata;
	uint64_t metadata_rev;
	int64_t ttl_us;              /* or RESULT_TTL_NEVER */
	struct wall completed_at;    /* of a replay; us 0: now */
};
/*
 * Store a result that was completed: columns of `row`, which is touched.
 * `version`: of the task as it ran.  pair_settle() is the caller's.
 */
void result_store(struct item_tx *, const struct task *,
    struct result_row *row, const struct run_result *, struct str version,
    bool successful);

enum completion_status {
	COMPLETION_APPLIED, COMPLETION_CONFLICT, COMPLETION_LEASE_LOST,
	COMPLETION_FAILED
};
const char *completion_status_text(enum completion_status);
struct completion {
	enum completion_status status;
	const enum item_effect *effects;
	size_t effects_n;
	struct item_conflict conflict;
	size_t failed_op;            /* FAILED: of the mutations */
	struct str reason;
	/* The run's, in the transaction's arena; empty when the lease is lost,
	 * or was completed before. */
	struct str item, task;
};
/* Numbers of a run, from our own workers; zero from remote ones. */
struct run_usage {
	struct wall started_at;
	int64_t wall_us, cpu_us, memory_bytes, fetches, bytes;
	struct str fetches_json;     /* [{"url":...}], empty: none */
	struct str replay_json;      /* an object; empty: none */
};
/*
 * One element of "completions" (contracts/items.md §8).  The outcome matrix of
 * §4, retries, parking, tripping, run record and events are all here.  A
 * completion that fails by its mutations is recorded as a failed run.
 */
MUST_USE enum err worklist_complete(struct item_tx *,
    struct yyjson_val *completion, const struct run_usage *,
    struct completion *, struct why *);
void worklist_complete_want(struct item_tx *, struct yyjson_val *completion);
/*
 * A recorded run was run again, and what it did now takes the place of what it
 * did then, as of then: the result is completed at `completed_at`.  Status:
 * LEASE_LOST when the pair is gone or leased, or its result is not that run's
 * any more: one of a successful run was completed then, and there is none since
 * a failed one.
 */
struct worklist_replay {
	struct str task, item;
	bool was_success;
	struct wall completed_at;    /* of the record */
	struct yyjson_val *mutations, *log;      /* arrays; NULL: none */
};
MUST_USE enum err worklist_replay(struct item_tx *,
    const struct worklist_replay *, const struct run_usage *,
    struct completion *, struct why *);
/* The JSON of one element of "results". */
MUST_USE enum err completion_json(struct item_tx *, struct str lease,
    const struct completion *, struct buf *, struct why *);

/* -- Tasks -- */

/* Patterns; the names of those that matched.  ABSENT when none does. */
MUST_USE enum err worklist_pause(struct item_tx *, const struct item_actor *,
    struct str pattern, bool paused, const struct str **, size_t *n,
    struct why *);
/*
 * Mark results as stale: of all items, or those with the tag or the prefix (p
 * NULL: any).  Looks at no more than `max` pairs; `*more` when there are
 * others.  `*at` starts zeroed and says where the next call goes on; `*n` is
 * increased by the pairs that were expired.  ABSENT when no task matches.
 */
struct worklist_place {
	size_t task;                 /* of the configuration's */
	int64_t item;                /* looked at last */
};
MUST_USE enum err worklist_expire(struct item_tx *, const struct item_actor *,
    struct str pattern, struct str tag, struct str prefix,
    struct worklist_place *at, size_t max, bool *more, size_t *n,
    struct why *);
/* Handle failures: one, or a task's (of a message, if not empty). */
MUST_USE enum err worklist_handle(struct item_tx *, const struct item_actor *,
    uint64_t failure, struct str by, struct str note, bool retry,
    size_t *handled, size_t *requeued, struct why *);
MUST_USE enum err worklist_handle_task(struct item_tx *,
    const struct item_actor *, struct str pattern, struct str message,
    struct str by, struct str note, bool retry, size_t *handled,
    size_t *requeued, struct why *);

#endif

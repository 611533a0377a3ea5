/*
 * bucket -- token buckets of the rates that count runs (contracts/items.md §6).
 *
 * A bucket is a row of `buckets`: the date at which all of its burst is left
 * again.  So a restart does not burst, and a full bucket needs no row.
 *
 *     "global"         limits.global           all tasks but global:false
 *     "group PATTERN"  limits.groups           matching ones but groups:false
 *     "task NAME"      tasks.NAME.limits.rate
 *     "tag NAME KEY"   tasks.NAME.limits.tags  pairs of lanes with that key
 *
 * A run takes a token of each bucket that applies, or none at all.
 *
 * Thread: the writer's.  Private to engine/items.
 */
#ifndef ENGINE_ITEMS_BUCKET_H
#define ENGINE_ITEMS_BUCKET_H

#include "engine/items/item_tx.h"
#include "engine/items/task_config.h"

/* Whole tokens that are left, at most the burst. */
int64_t bucket_left(const struct bucket_row *, const struct task_rate *,
    struct wall now);
/* Take n tokens; -n gives n back. */
void bucket_take(struct bucket_row *, const struct task_rate *, int64_t n,
    struct wall now);
/* When a token is left: `now`, or later. */
struct wall bucket_next(const struct bucket_row *, const struct task_rate *,
    struct wall now);

/*
 * It is emptier than empty: it was emptied under another rate, or before the
 * clock went back.  Taking 0 tokens makes it empty from now on; bucket_list()
 * does so.
 */
bool bucket_is_late(const struct bucket_row *, const struct task_rate *,
    struct wall now);

struct bucket {
	struct bucket_row *row;      /* touched by bucket_take()'s caller */
	const struct task_rate *rate;
};
/* The buckets of a task's pairs in this lane.  Memory: the transaction's. */
MUST_USE enum err bucket_list(struct item_tx *, const struct task *,
    uint32_t lane, struct bucket **, size_t *n, struct why *);

#endif

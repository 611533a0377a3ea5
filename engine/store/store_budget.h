/*
 * store_budget -- what harvests have used of budgets that platforms tell by no
 * header, so that it counts after a restart, too.
 *
 * Thread: as the store's.  Errors: store.h's.
 * Source: contracts/platforms.md §1.
 */
#ifndef ENGINE_STORE_STORE_BUDGET_H
#define ENGINE_STORE_STORE_BUDGET_H

#include "engine/store/store.h"

struct store_budget {
	struct str name;
	uint64_t used;               /* units, in the period that ends then */
	struct wall ends;
};

/* Put these of this daemon's in place of what they were; periods that were over
 * at `now` go.  One commit. */
MUST_USE enum err store_budgets_put(struct store *,
    const struct store_budget *, size_t n, struct wall now, struct why *);
/* Those of this daemon.  Memory: `a`. */
MUST_USE enum err store_budgets_list(struct store *, struct arena *a,
    struct store_budget **, size_t *n, struct why *);

#endif

/*
 * trial -- what the mutations of a run would change, for a run that is only
 * tried (contracts/scripting.md §7, simulate).
 *
 * Thread: the writer's.
 */
#ifndef ENGINE_ITEMS_TRIAL_H
#define ENGINE_ITEMS_TRIAL_H

#include "engine/items/worklist.h"

/*
 * The JSON that a run of this pair would be given: a lease as of
 * /worker/claim, without a lease.  Errors: ABSENT, naming `task` or `id`.
 */
MUST_USE enum err trial_input(struct item_tx *, struct str task,
    struct str id, uint64_t seed, struct buf *, struct why *);
/*
 * Apply the mutations of a run of that pair, and append for each
 * {"op":"updateData","id":"x","effect":"updated","diff":[...]}.  The caller
 * goes back to its mark.  `*fault` is the number of the mutation that fails,
 * with an error of item_ops.h.
 */
MUST_USE enum err trial_apply(struct item_tx *, struct str task,
    struct str id, struct yyjson_val *mutations, struct buf *out,
    size_t *fault, struct why *);

#endif

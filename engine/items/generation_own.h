/*
 * generation_own -- what the files of a generation share.
 *
 * Private to generation*.c and items_check.c.
 */
#ifndef ENGINE_ITEMS_GENERATION_OWN_H
#define ENGINE_ITEMS_GENERATION_OWN_H

#include "engine/items/generation.h"
#include "engine/items/item_store.h"
#include "os/database.h"

/* Apply what was not applied yet (generation_migrate.c). */
MUST_USE enum err generation_migrate(struct item_tx *,
    const struct task_config *, struct why *);

struct item_rewrite;             /* item_store_own.h */

/*
 * Rows of `rewrites`, sorted by task.  The store keeps them until they change
 * or a transaction is rolled back.
 */
MUST_USE enum err generation_rewrites(struct item_store *,
    const struct item_rewrite **, size_t *n, struct why *);
void generation_rewrites_changed(struct item_store *);
/* NULL: the task is not rewritten. */
const struct item_rewrite *generation_rewrite_of(const struct item_rewrite *,
    size_t n, uint32_t task);
/* items_check() at a given time, for tests in a time of their own. */
MUST_USE enum err items_check_at(struct item_store *, struct wall now,
    void (*differs)(void *arg, struct str text), void *arg,
    uint64_t *checked, struct why *);
/* config.rewritten, when nothing is left. */
void generation_tell_rewritten(struct item_tx *, uint64_t generation);

#endif

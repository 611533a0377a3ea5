/*
 * generation -- loading a configuration, rewriting the pairs that it changes,
 * and checking all of it (contracts/items.md §3, §6).
 *
 * Thread: the writer's.
 */
#ifndef ENGINE_ITEMS_GENERATION_H
#define ENGINE_ITEMS_GENERATION_H

#include "engine/items/worklist.h"

/*
 * Make a new generation in this transaction: migrations that were not applied,
 * names, seeds, and rows of `rewrites` for what is to be rewritten.  A bundle
 * whose hash is that of the current generation changes nothing.  The store uses
 * `config` once the transaction is committed; it is taken.
 */
MUST_USE enum err generation_load(struct item_tx *, struct task_config *config,
    struct str files_json, uint64_t *generation, struct why *);
/* At a start: the last generation, if any. */
MUST_USE enum err generation_open(struct item_store *, struct why *);
/* Rewrite up to `max` items of a task; `*more` when something is left. */
MUST_USE enum err generation_rewrite(struct item_tx *, size_t max, bool *more,
    struct why *);
/* Whether this pair is what the configuration in force asks for, when its task
 * is still being rewritten; else it is rewritten here.  Claims call it. */
MUST_USE enum err generation_check_pair(struct item_tx *, struct pair_row *,
    bool *fine, struct why *);

/*
 * `argiope items check`: derive every pair again and compare; every alias,
 * count, blob and index.  `differs` is called with a sentence for each.
 */
MUST_USE enum err items_check(struct item_store *,
    void (*differs)(void *arg, struct str text), void *arg,
    uint64_t *checked, struct why *);

#endif

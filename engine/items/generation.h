/*
 * generation -- loading a configuration, rewriting the pairs that it changes,
 * and checking all of it (contracts/items.md §3, §6).
 *
 *     generation_load()      one transaction: names, migrations, seeds, and a
 *                            row of `rewrites` for each task whose pairs change
 *     generation_rewrite()   a chunk of items of one of these tasks; the row
 *                            says how far it came, so a restart goes on there
 *     (the last chunk)       the row goes; with the last row config.rewritten
 *
 * Thread: the writer's; generation_open(), generation_progress() and
 * items_check() also with a reader's store.
 */
#ifndef ENGINE_ITEMS_GENERATION_H
#define ENGINE_ITEMS_GENERATION_H

#include "engine/items/worklist.h"

/*
 * Make a new generation in this transaction.  A bundle whose hash is that of
 * the current generation changes nothing.  `config` is taken, also on an error.
 * It is in force at once, for the seeds; when the transaction ends with an
 * error, the one before is again.
 *
 * It is alone in its transaction: after an error the transaction can only be
 * ended.  Errors: INPUT, naming the migration that cannot be applied; FULL.
 */
MUST_USE enum err generation_load(struct item_tx *, struct task_config *config,
    struct str files_json, uint64_t *generation, struct why *);
/*
 * Use the last generation that was loaded, if any: at a start, and whenever
 * another daemon or, for a reader, the writer may have loaded one.
 */
MUST_USE enum err generation_open(struct item_store *, struct why *);
/*
 * At the beginning of a transaction that may change pairs, but for a load: no
 * other daemon loads a configuration until it ends, and the last that was
 * loaded is in force.  Pairs of a transaction that follows an earlier one would
 * be settled wrongly, and the rewriting may have passed them.  When another
 * daemon has loaded it the store is outdated: it claims nothing until it is
 * loaded here.  Only PostgreSQL is asked.
 */
MUST_USE enum err generation_follow(struct item_tx *, struct why *);
/*
 * Rewrite up to `max` items of a task; `*more` when something is left.  Another
 * daemon may work on another task.  Nothing is done, and nothing left, while
 * another configuration is in force here than the last that was loaded.
 */
MUST_USE enum err generation_rewrite(struct item_tx *, size_t max, bool *more,
    struct why *);
/*
 * Whether a pair that is due may be claimed as far as the configuration in
 * force goes.  While its task is rewritten and the pair was not reached, it is
 * rewritten here; not fine when it is no longer due then, or in another lane.
 */
MUST_USE enum err generation_check_pair(struct item_tx *, struct pair_row *,
    bool *fine, struct why *);

struct generation_progress {
	size_t tasks;                /* that are still rewritten; 0: none */
	int64_t done, total;         /* items; the total is an estimate */
};
/* Of one task, or of all: 0. */
MUST_USE enum err generation_progress(struct item_store *, uint32_t task,
    struct generation_progress *, struct why *);

/* Between two calls of generation_prune(); all 0 at first. */
#define GENERATION_SWEEP_MAX 256u
struct generation_sweep {
	int64_t old[GENERATION_SWEEP_MAX];   /* not named by a record so far */
	size_t n;
	int64_t at;                  /* the last record that was read */
	int64_t rests_until_us;
};
/*
 * Read up to `max` run records more; after the last one drop the generations
 * that nothing needs: neither the last one, nor in force within a day, nor
 * named by a record or a lease.  Then it rests for an hour.
 */
MUST_USE enum err generation_prune(struct item_tx *, struct generation_sweep *,
    size_t max, struct why *);

/*
 * `argiope items check`: derive every pair again and compare; every alias,
 * count, blob and index.  `differs` is called with a sentence for each of the
 * first ITEMS_CHECK_TOLD_MAX differences, and with one that counts the others.
 * `*checked` counts items.  Others may write meanwhile.
 */
#define ITEMS_CHECK_TOLD_MAX 1000u
MUST_USE enum err items_check(struct item_store *,
    void (*differs)(void *arg, struct str text), void *arg,
    uint64_t *checked, struct why *);

#endif

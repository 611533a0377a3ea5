/*
 * Periodic work of the writer, in steps that take a few milliseconds each, one
 * between two turns.  A step that found more than it may do at once is due
 * again at once.
 *
 *     leases     end those that have expired
 *     rewriting  bring pairs in step with a new generation
 *     pruning    drop old events, handled failures, failed runs, unused blobs
 *     sources    drop generations that no run record names
 *     generation say when another daemon has loaded a later one
 *     writing    try whether writes succeed again, after one that has failed
 *
 * Each step also looks for events that other daemons committed.
 */
#include "engine/items/items_own.h"

#include "os/clock.h"
#include "os/database_failure.h"
#include "os/log.h"

#define LEASES_STEP 1000u
#define REWRITE_STEP 500u
#define PRUNE_STEP 1000u
#define SOURCES_STEP 1000u

/* -- The steps -- */

static enum err
end_leases(struct items *i, struct item_tx *tx, bool *more, struct why *w)
{
	size_t n = 0;

	enum err e = worklist_expire_leases(tx, LEASES_STEP, &n, w);
	*more = n == LEASES_STEP;
	if (n > 0)
		i->wake = true;
	return e;
}

static enum err
rewrite_pairs(struct items *i, struct item_tx *tx, bool *more, struct why *w)
{
	enum err e = generation_rewrite(tx, REWRITE_STEP, more, w);

	if (*more)
		i->wake = true;
	return e;
}

/* A daemon whose configuration is not the last that was loaded claims nothing
 * (worklist_claim()), and says so. */
static enum err
compare_generation(struct items *i, struct item_tx *tx, bool *more,
    struct why *w)
{
	bool current = !item_store_is_outdated(i->store);

	(void)tx, (void)more, (void)w;
	if (!current && !i->upkeep.outdated)
		log_warn("items.outdated", "generation=%llu why=\"another "
		    "daemon has loaded a later configuration: nothing is "
		    "claimed until it is reloaded here\"",
		    (unsigned long long)i->upkeep.generation);
	else if (current && i->upkeep.outdated)
		log_info("items.current", "generation=%llu",
		    (unsigned long long)i->upkeep.generation);
	i->upkeep.outdated = !current;
	return OK;
}

static enum err
prune(struct items *i, struct item_tx *tx, bool *more, struct why *w)
{
	struct item_pruned p;

	(void)i;
	enum err e = item_tx_prune(tx, PRUNE_STEP, &p, w);
	if (e != OK)
		return e;
	*more = p.more;
	metric_add_by(&item_pruned_metric, PRUNED_EVENTS, p.events);
	metric_add_by(&item_pruned_metric, PRUNED_FAILURES, p.failures);
	metric_add_by(&item_pruned_metric, PRUNED_RUNS, p.runs);
	metric_add_by(&item_pruned_metric, PRUNED_BLOBS, p.blobs);
	return OK;
}

static enum err
prune_sources(struct items *i, struct item_tx *tx, bool *more, struct why *w)
{
	(void)more;
	return generation_prune(tx, &i->upkeep.sweep, SOURCES_STEP, w);
}

static enum err
try_to_write(struct items *i, struct item_tx *tx, bool *more, struct why *w)
{
	struct database *d = item_store_database(i->store);

	(void)tx, (void)more;
	return database_is_failing(d) ? database_touch(d, w) : OK;
}

/* -- When -- */

static const struct {
	const char *name;
	enum err (*run)(struct items *, struct item_tx *, bool *more,
	    struct why *);
	int64_t every_ms;
} steps[] = {
	{ "leases", end_leases, 1000 },
	{ "rewriting", rewrite_pairs, 60000 },
	{ "pruning", prune, 10000 },
	{ "generation", compare_generation, 5000 },
	{ "sources", prune_sources, 5000 },
	{ "writing", try_to_write, 1000 },
};
#define REWRITING 1

/* The step that is due first. */
static size_t
first_step(const struct upkeep *u)
{
	size_t first = 0;

	for (size_t k = 1; k < ARRAY_LEN(steps); k++)
		if (mono_before(u->due[k], u->due[first]))
			first = k;
	return first;
}

static void
set_timer(struct items *i)
{
	struct upkeep *u = &i->upkeep;

	if (!i->quiet)
		loop_timer_set(i->writer, &u->timer, u->due[first_step(u)]);
}

static void
wake_up(struct timer *t)
{
	/* The turn's end runs the step. */
	(void)t;
}

static enum err
run_step(struct items *i, size_t k, bool *more, struct why *w)
{
	struct item_tx *tx = NULL;

	enum err e = item_tx_begin(i->store, clock_wall(), &tx, w);
	if (e != OK)
		return e;
	e = generation_follow(tx, w);
	if (e == OK)
		e = steps[k].run(i, tx, more, w);
	return item_tx_end(&tx, e, w);
}

void
upkeep_run(struct items *i)
{
	struct upkeep *u = &i->upkeep;
	struct why w = WHY_INIT;
	size_t k = first_step(u);
	bool more = false;

	if (u->timer.fire == NULL)
		return;              /* a guest */
	if (mono_before(clock_mono(), u->due[k]))
		return;
	enum err e = run_step(i, k, &more, &w);
	if (e != OK && e != u->failed)
		log_warn("items.upkeep", "step=%s error=%s why=%s",
		    steps[k].name, err_name(e), log_why(&w));
	u->failed = e;
	u->due[k] = mono_add_ms(clock_mono(), e == OK && more ? 0 :
	    steps[k].every_ms);
	if (e == OK)
		writer_news(i);
	set_timer(i);
}

void
upkeep_look(struct items *i)
{
	struct upkeep *u = &i->upkeep;
	uint64_t generation = item_store_config(i->store)->generation;

	if (generation == u->generation || u->timer.fire == NULL)
		return;
	u->generation = generation;
	u->due[REWRITING] = clock_mono();
	set_timer(i);
}

void
upkeep_start(struct items *i)
{
	struct upkeep *u = &i->upkeep;
	struct mono now = clock_mono();

	_Static_assert(ARRAY_LEN(steps) <= UPKEEP_STEPS_MAX,
	    "a step has no place");
	u->timer.fire = wake_up;
	u->generation = item_store_config(i->store)->generation;
	for (size_t k = 0; k < ARRAY_LEN(steps); k++)
		u->due[k] = mono_add_ms(now, steps[k].every_ms);
	u->due[REWRITING] = now;     /* what an earlier process left */
	set_timer(i);
}

void
upkeep_stop(struct items *i)
{
	loop_timer_stop(i->writer, &i->upkeep.timer);
}

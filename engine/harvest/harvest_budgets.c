/*
 * Counted budgets are kept in the store: at once, and while one commit is under
 * way the next ones wait together.
 */
#include "base/json_writer.h"
#include "engine/harvest/harvest_own.h"
#include "os/clock.h"
#include "os/log.h"

static void write_changes(struct harvests *);

static void
written(struct store_job *j)
{
	struct budget_keeping *k = CONTAINER(j, struct budget_keeping, store);
	struct harvests *all = CONTAINER(k, struct harvests, keeping);

	k->under_way = false;
	arena_reset(&k->arena);
	/* The platform still says when it is enough. */
	if (k->why.err != OK)
		log_error("harvest.budget", "why=%s", log_why(&k->why));
	if (k->wanted)
		write_changes(all);
}

static void
write_rows(struct store_job *j, struct store *st)
{
	struct budget_keeping *k = CONTAINER(j, struct budget_keeping, store);

	k->why = WHY_INIT;
	/* The answer is in `why`. */
	(void)!store_budgets_put(st, k->list, k->n, clock_wall(), &k->why);
}

static void
write_changes(struct harvests *all)
{
	struct budget_keeping *k = &all->keeping;

	k->under_way = true;
	k->wanted = false;
	k->n = budgets_changes(all->budgets, &k->arena, &k->list);
	k->store.run = write_rows;
	k->store.done = written;
	store_async_put(engine_store_async(all->options.engine), &k->store);
}

static void
counted(void *arg)
{
	struct harvests *all = arg;

	all->keeping.wanted = all->keeping.under_way;
	if (!all->keeping.under_way)
		write_changes(all);
}

enum err
harvests_open_budgets(struct harvests *all, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_budget *list;
	size_t n;

	all->budgets = budgets_new(counted, all);
	enum err e = store_budgets_list(store_async_store(engine_store_async(
	    all->options.engine)), &a, &list, &n, w);
	if (e == OK)
		budgets_put(all->budgets, list, n);
	return e;
}

void
harvest_put_budgets(struct harvests *all, struct str id, struct buf *b)
{
	const struct harvest *h = harvest_find(all, id);
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct budget_view *list;

	if (h == NULL || h->driver == NULL)
		return;
	size_t n = driver_look_at_budgets(h->driver, &a, &list);
	for (size_t i = 0; i < n; i++) {
		json_object(b, NULL);
		json_str(b, "family", list[i].family);
		if (list[i].units > 0)
			json_u64(b, "units", list[i].units);
		json_u64(b, "left", list[i].left);
		json_time(b, "until", list[i].until);
		buf_put_char(b, '}');
	}
}

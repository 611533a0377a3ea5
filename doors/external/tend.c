/*
 * Periodic work for all tasks: renew this daemon's lease, take up tasks of an
 * earlier process and of daemons that are gone, leave those that others have
 * closed or taken over, delete old ones and the crawls that no task needs any
 * more, and look at those that run.
 */
#include "base/map.h"
#include "doors/external/crawls.h"
#include "doors/external/meter.h"
#include "doors/external/task_run.h"
#include "engine/harvest/document_crawl.h"
#include "os/clock.h"
#include "os/log.h"

#define TEND_MS 1000
/* In a file: for tasks that `argiope external redeliver` has opened again. */
#define LOOK_MS 5000
/* A daemon that has not renewed for so long is gone. */
#define LEASE_MS 15000
#define FORGET_MS 60000
/* Between two looks at a task whose connector runs.  Those that are due within
 * a turn are looked at together: a timer for each would wake the loop for
 * nothing else. */
#define RUN_LOOK_MS 5000
#define LOOK_TURN_MS 100
#define TURN_LOOKS_MAX 1000u

struct tend {
	struct store_job job;
	struct external_door *door;
	struct arena arena;
	struct why why;
	enum err result;
	bool looks, forgets;
	bool compares;               /* this round lists open tasks */
	uint64_t *known;             /* ids of those that run here */
	size_t known_n;
	struct map known_ids;        /* the same; values say nothing */
	struct store_task *open;     /* this daemon's; whole if it is new */
	size_t open_n, forgotten;
	/* Declarations of the new ones; empty: the store has none. */
	struct tend_declaration {
		struct str hash, text;
	} *declarations;
	size_t declarations_n, declarations_cap;
	uint64_t *taken;             /* over from daemons that are gone */
	size_t taken_n;
	bool has_grants;             /* some of those that run here */
	uint64_t *ungranted;         /* tasks whose grant is gone */
	size_t ungranted_n;
	struct crawls crawls;        /* of web_crawl, when it forgets */
};

/* ---- On the store's thread ---------------------------------------------- */

static bool
is_known(const struct tend *x, uint64_t id)
{
	return map_get_id(&x->known_ids, id) != NULL;
}

static const struct tend_declaration *
find_declaration(const struct tend *x, struct str hash)
{
	for (size_t i = 0; i < x->declarations_n; i++)
		if (str_eq(x->declarations[i].hash, hash))
			return &x->declarations[i];
	return NULL;
}

/* Each hash once. */
static enum err
read_declaration(struct tend *x, struct store *st, struct str hash,
    struct why *w)
{
	struct tend_declaration d = { hash, STR_NONE };
	struct why first = WHY_INIT;

	if (hash.n == 0 || find_declaration(x, hash) != NULL)
		return OK;
	enum err e = store_declaration_get(st, hash, &x->arena, &d.text,
	    &first);
	if (e != OK && e != ERR_ABSENT)
		return why(w, e, "%s", first.text);
	x->declarations = arena_grow(&x->arena, x->declarations,
	    x->declarations_n, &x->declarations_cap, 8, sizeof(d));
	x->declarations[x->declarations_n++] = d;
	return OK;
}

static enum err
read_new(struct tend *x, struct store *st, struct store_task *t,
    struct why *w)
{
	enum err e = store_task_get(st, t->id, &x->arena, t, w);

	return e == OK ? read_declaration(x, st, t->hash, w) : e;
}

static enum err
list_open(struct tend *x, struct store *st, struct why *w)
{
	struct store_task_filter f = { .mine = true, .open = true };
	struct store_task *page;
	size_t n, cap = 0;
	enum err e;

	do {
		e = store_task_list(st, &f, &x->arena, &page, &n, w);
		for (size_t i = 0; e == OK && i < n; i++) {
			f.after = page[i].id;
			if (!is_known(x, page[i].id))
				e = read_new(x, st, &page[i], w);
			x->open = arena_grow(&x->arena, x->open, x->open_n,
			    &cap, 64, sizeof(*x->open));
			x->open[x->open_n++] = page[i];
		}
	} while (e == OK && n == STORE_TASKS_PAGE_MAX);
	return e;
}

static enum err
renew_lease(struct tend *x, struct store *st, struct wall now, struct why *w)
{
	struct wall until = { now.us + LEASE_MS * INT64_C(1000) };
	bool kept;

	enum err e = store_lease_renew(st, now, until, &kept, w);
	return e == OK ? store_task_take_over(st, now, &x->arena, &x->taken,
	    &x->taken_n, w) : e;
}

static void
tend_tasks(struct store_job *j, struct store *st)
{
	struct tend *x = CONTAINER(j, struct tend, job);
	struct wall now = clock_wall();
	struct wall before = { now.us - x->door->set.keep_ms * 1000 };

	x->result = renew_lease(x, st, now, &x->why);
	if (x->result == OK && x->compares)
		x->result = list_open(x, st, &x->why);
	if (x->result == OK && x->has_grants)
		x->result = store_task_list_ungranted(st, &x->arena,
		    &x->ungranted, &x->ungranted_n, &x->why);
	if (x->result == OK && x->forgets)
		x->result = store_task_forget(st, before, &x->forgotten,
		    &x->why);
	/* A user who signs in again within keep_s has the same handle. */
	if (x->result == OK && x->forgets)
		x->result = store_grant_forget(st, before, &x->forgotten,
		    &x->why);
	if (x->result == OK && x->forgets)
		x->result = crawls_find_unused(&x->crawls, st, &x->arena,
		    &x->why);
}

/* ---- At home ------------------------------------------------------------ */

/* The connector that a task began with; NULL: it is not configured any more,
 * or not in the store. */
static struct held_connector *
find_connector(const struct tend *x, const struct store_task *row)
{
	struct external_door *d = x->door;
	const struct tend_declaration *text = find_declaration(x, row->hash);
	struct held_connector *c = versions_find(&d->versions,
	    connectors_find(d->connectors, row->connector), row->hash);
	struct why w = WHY_INIT;

	if (c != NULL || text == NULL || text->text.n == 0)
		return c;
	if (versions_add(&d->versions, row->hash, text->text, &c, &w) == OK)
		return c;
	log_error("external.version", "backend=%.*s task=%.*s why=%s",
	    STR_FMT(row->backend), STR_FMT(row->fid), log_why(&w));
	return NULL;
}

/* A task that was another daemon's until now and still runs here was lost
 * unnoticed, and has moved on since: the next round takes it up anew. */
static void
leave_outdated(struct tend *x)
{
	for (size_t i = 0; i < x->taken_n; i++) {
		struct task_run *t = task_run_of_id(x->door, x->taken[i]);
		if (t != NULL)
			task_run_leave(t);
	}
}

static void
compare(struct tend *x)
{
	FREED(map_free) struct map open = MAP_INIT;
	struct external_door *d = x->door;

	for (size_t i = 0; i < x->open_n; i++)
		map_put_id(&open, x->open[i].id, &x->open[i]);
	for (size_t i = 0; i < x->known_n; i++) {
		struct task_run *t = task_run_of_id(d, x->known[i]);
		if (t != NULL && map_get_id(&open, x->known[i]) == NULL)
			task_run_leave(t);
	}
	for (size_t i = 0; i < x->open_n; i++)
		if (!is_known(x, x->open[i].id) &&
		    task_run_of_id(d, x->open[i].id) == NULL)
			task_run_take_up(d, &x->open[i], find_connector(x,
			    &x->open[i]));
}

/* ---- Archives of tasks -------------------------------------------------- */

static bool
is_name_used(void *arg, struct str name)
{
	return map_get(arg, name) != NULL;
}

/* Complete the crawls that an earlier process left running, except those that
 * an open task still uses.  Call it after the tasks were taken up. */
static void
complete_archives(struct external_door *d)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(map_free) struct map used = MAP_INIT;

	LIST_EACH(t, &d->tasks, struct task_run, node)
		if (t->state != STORE_TASK_DRAINING)
			map_put(&used, task_run_archive_name(t, &a), t);
	document_crawls_complete_left(d->engine, is_name_used, &used);
}

static void
tended(struct store_job *j)
{
	struct tend *x = CONTAINER(j, struct tend, job);
	struct external_door *d = x->door;

	if (x->result != OK)
		log_warn("external.tend", "why=%s", log_why(&x->why));
	if (!d->stopping)
		leave_outdated(x);
	if (!d->stopping && x->result == OK && x->compares)
		compare(x);
	for (size_t i = 0; !d->stopping && i < x->ungranted_n; i++) {
		struct task_run *t = task_run_of_id(d, x->ungranted[i]);
		if (t != NULL)
			task_grant_lose(t);
	}
	if (!d->stopping && x->result == OK && x->forgets) {
		crawls_delete_unused(&x->crawls, d);
		complete_archives(d);
	}
	arena_free(&x->arena);
	map_free(&x->known_ids);
	mem_free(&x->known);
	mem_free(&x);
	external_meter_open(d->tasks_n, d->spool_bytes);
	if (!d->stopping)
		loop_timer_set(d->host->home, &d->tend_timer, mono_add_ms(
		    clock_mono(), TEND_MS));
	drain_gate_leave(&d->asked);
}

static void
note_known(struct tend *x)
{
	const struct external_door *d = x->door;

	x->known = mem_array(MAX(d->tasks_n, (size_t)1), sizeof(*x->known));
	LIST_EACH(t, &d->tasks, struct task_run, node) {
		x->known[x->known_n++] = t->id;
		map_put_id(&x->known_ids, t->id, t);
	}
}

static void
tend_again(struct timer *timer)
{
	struct external_door *d = CONTAINER(timer, struct external_door,
	    tend_timer);
	struct tend *x = mem_new(sizeof(*x));
	struct wall now = clock_wall();

	x->door = d;
	x->why = WHY_INIT;
	x->looks = now.us - d->looked.us > LOOK_MS * INT64_C(1000);
	if (x->looks)
		d->looked = now;
	x->forgets = now.us - d->forgotten.us > FORGET_MS * INT64_C(1000);
	if (x->forgets) {
		d->forgotten = now;
		crawls_list_ended(&x->crawls, d, now);
	}
	x->compares = x->looks || store_is_shared(store_async_store(
	    d->store));
	if (x->compares)
		note_known(x);
	LIST_EACH(t, &d->tasks, struct task_run, node)
		x->has_grants |= t->grant.id.n > 0;
	x->job.run = tend_tasks;
	x->job.done = tended;
	drain_gate_enter(&d->asked);
	store_async_put(d->store, &x->job);
}

/* ---- Tasks whose connector runs ------------------------------------------ */

static void
plan_turn(struct external_door *d, struct mono at)
{
	if (list_empty(&d->looks))
		return;
	struct mono due = LIST_ITEM(d->looks.next, struct task_run,
	    looks)->look_at;
	loop_timer_set(d->host->home, &d->look_timer, mono_before(at, due) ?
	    due : at);
}

static void
look_in_turn(struct timer *timer)
{
	struct external_door *d = CONTAINER(timer, struct external_door,
	    look_timer);
	struct mono now = clock_mono();

	for (unsigned i = 0; i < TURN_LOOKS_MAX && !list_empty(&d->looks);
	    i++) {
		struct task_run *t = LIST_ITEM(d->looks.next, struct task_run,
		    looks);
		if (mono_before(now, t->look_at))
			break;
		list_take(&t->looks);
		t->look_at = mono_add_ms(now, RUN_LOOK_MS);
		list_put(&d->looks, &t->looks);
		/* It may leave. */
		task_run_look(t);
	}
	plan_turn(d, mono_add_ms(now, LOOK_TURN_MS));
}

void
tend_look_at(struct external_door *d, struct task_run *t)
{
	bool is_first = list_empty(&d->looks);

	t->look_at = mono_add_ms(clock_mono(), RUN_LOOK_MS);
	list_put(&d->looks, &t->looks);
	if (is_first)
		plan_turn(d, t->look_at);
}

/* ---- Begin and end ------------------------------------------------------- */

void
tend_begin(struct external_door *d)
{
	d->look_timer.fire = look_in_turn;
	d->tend_timer.fire = tend_again;
	tend_again(&d->tend_timer);
}

void
tend_stop(struct external_door *d)
{
	loop_timer_stop(d->host->home, &d->tend_timer);
	loop_timer_stop(d->host->home, &d->look_timer);
}

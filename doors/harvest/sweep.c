#include "doors/harvest/sweep.h"

#include "doors/harvest/claim.h"
#include "doors/harvest/export_follower.h"
#include "os/clock.h"
#include "os/log.h"

/* Between two looks; between two lots of one look. */
#define SWEEP_MS 3600000
#define NEXT_MS 100
#define DAY_US (INT64_C(86400) * US_PER_S)

static void
plan(struct sweep *s, int64_t ms)
{
	if (!s->door->stopping)
		loop_timer_set(s->door->host->home, &s->timer, mono_add_ms(
		    clock_mono(), ms));
}

static void
dropped(struct mail *m)
{
	struct sweep *s = CONTAINER(CONTAINER(m, struct job, mail),
	    struct sweep, job);
	bool more = s->n == STORE_ENDED_MAX ||
	    s->exports_n == STORE_EXPORTS_ENDED_MAX;

	if (s->why.err != OK)
		log_warn("harvest.claim", "why=%s", log_why(&s->why));
	if (s->n > 0)
		s->after = s->list[s->n - 1].ended;
	if (s->exports_n > 0)
		s->exports_after = s->exports[s->exports_n - 1].ended;
	arena_reset(&s->arena);
	plan(s, more ? NEXT_MS : SWEEP_MS);
	drain_gate_leave(&s->door->work);
}

static enum err
drop_of_harvest(struct sweep *s, const struct store_harvest *x)
{
	const struct root *r = roots_find_local(&s->door->roots, x->path);
	const struct shared_root root = { r == NULL ? NULL : r->local.p,
		s->door->umask };
	struct shared_dir dir;

	enum err e = shared_dir_open(&root, x->path.p, SHARED_DIR_LOOK, &dir,
	    &s->why);
	if (e == OK)
		e = claim_drop(&dir, x->id, s->door->instance, &s->why);
	shared_dir_close(&dir);
	return e;
}

static enum err
drop_of_export(struct sweep *s, const struct store_export *x)
{
	struct shared_dir dir;

	/* It was refused, and has no path. */
	if (x->path.n == 0)
		return OK;
	enum err e = export_follower_open_above(s->door, x->path,
	    SHARED_DIR_LOOK, &dir, &s->why);
	if (e == OK)
		e = claim_drop(&dir, x->id, s->door->instance, &s->why);
	shared_dir_close(&dir);
	return e;
}

/* One whose volume is away stays until the next process. */
static void
drop(struct job *j)
{
	struct sweep *s = CONTAINER(j, struct sweep, job);

	s->why = WHY_INIT;
	for (size_t i = 0; i < s->n; i++)
		(void)!drop_of_harvest(s, &s->list[i]);
	for (size_t i = 0; i < s->exports_n; i++)
		(void)!drop_of_export(s, &s->exports[i]);
}

static void
found(struct store_job *j)
{
	struct sweep *s = CONTAINER(j, struct sweep, store);

	if (s->why.err != OK)
		s->n = s->exports_n = 0;
	s->job = (struct job){ .mail.deliver = dropped,
	    .home = s->door->host->home, .run = drop };
	pool_submit(s->pool, &s->job);
}

static void
find(struct store_job *j, struct store *st)
{
	struct sweep *s = CONTAINER(j, struct sweep, store);
	struct wall until = { clock_wall().us - CLAIM_DAYS * DAY_US };

	s->why = WHY_INIT;
	if (store_order_ended(st, s->after, until, &s->arena, &s->list, &s->n,
	    &s->why) == OK)
		(void)!store_export_ended(st, s->exports_after, until,
		    &s->arena, &s->exports, &s->exports_n, &s->why);
}

static void
find_old_claims(struct timer *t)
{
	struct sweep *s = CONTAINER(t, struct sweep, timer);

	drain_gate_enter(&s->door->work);
	s->store = (struct store_job){ .run = find, .done = found };
	store_async_put(s->door->store, &s->store);
}

void
sweep_begin(struct harvest_door *d)
{
	d->sweep = (struct sweep){ .door = d, .pool = pool_new(1),
	    .timer.fire = find_old_claims };
	find_old_claims(&d->sweep.timer);
}

void
sweep_end(struct harvest_door *d)
{
	loop_timer_stop(d->host->home, &d->sweep.timer);
}

void
sweep_free(struct harvest_door *d)
{
	if (d->sweep.pool != NULL)
		pool_free(&d->sweep.pool);
	arena_free(&d->sweep.arena);
}

#include "engine/schedule/scheduler.h"

#include "base/hash.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/control/control.h"
#include "engine/control/engine_own.h"
#include "engine/control/store_async.h"
#include "os/clock.h"
#include "os/log.h"

#define LOOK_MS 1000
#define AGAIN_MS 60000

/* One run of a schedule. */
struct due {
	struct launch launch;
	struct timetable *timetable;
	const struct schedule *schedule;
	struct launch_seed *seeds;
	bool ran, failed;
	bool gone;                   /* it was deleted meanwhile */
};

/* A look into the store, and what came of it; then what is to be put. */
struct look {
	struct shelf_job job;
	struct timetable *timetable;
	bool forced;                 /* what the version says does not count */
	struct wall now;             /* of the look */
	struct arena arena;
	struct schedule *schedules;
	size_t n;
	struct due *due;
	size_t launching;
	struct why why;
};

/* Why a schedule could not be started, as the log has it. */
struct failure {
	uint64_t said;               /* hash of the text */
};

struct timetable {
	struct engine *engine;
	struct timer timer;
	struct board_watch watch;
	uint64_t version;            /* of the board, that was looked at */
	bool looking, look_again, forced, running;
	struct map failures;         /* id -> struct failure */
	struct mono quiet_until;     /* about the store */
	/* The shelf's thread. */
	uint64_t store_version;
	struct wall next_at;
	bool read_once;
};

/* Each second may fail alike. */
static void
store_failed(struct timetable *t, const struct why *w)
{
	struct mono now = clock_mono();
	struct log_text quoted;

	if (mono_before(now, t->quiet_until))
		return;
	t->quiet_until = mono_add_ms(now, AGAIN_MS);
	log_error("schedule.store", "why=%s", log_quote(&quoted,
	    str_of(w->text)));
}

/* --- crawls that ended ---------------------------------------------------- */

struct ending {
	struct shelf_job job;
	uint64_t schedule, crawl;
	struct wall ended;
};

static void
put_ended(struct shelf_job *job, struct store *st)
{
	struct ending *x = CONTAINER(job, struct ending, job);
	struct why w = WHY_INIT;
	struct log_text quoted;

	enum err e = store_schedule_ended(st, x->schedule, x->crawl, x->ended,
	    &w);
	/* It may be deleted while its crawl runs. */
	if (e != OK && e != ERR_ABSENT)
		log_error("schedule.store", "schedule=%llu why=%s",
		    (unsigned long long)x->schedule, log_quote(&quoted,
		    str_of(w.text)));
}

static void
ended_put(struct shelf_job *job)
{
	struct ending *x = CONTAINER(job, struct ending, job);
	struct engine *e = job->engine;

	mem_free(&x);
	timetable_look(e);
}

static bool
has_ended(const struct board_row *r)
{
	enum crawl_state s = r->view.state;

	return r->deleted || s == CRAWL_COMPLETE || s == CRAWL_CANCELLED ||
	    s == CRAWL_FAILED;
}

static void
tell_end(struct timetable *t, uint64_t schedule, uint64_t crawl)
{
	const struct board_row *r = crawl >= UINT32_MAX ? NULL :
	    board_row(t->engine->board, (uint32_t)crawl);

	/* One that is not there any more ends nothing later. */
	if (r != NULL && !has_ended(r))
		return;
	struct ending *x = mem_new(sizeof(*x));
	x->schedule = schedule;
	x->crawl = crawl;
	x->ended = r == NULL || r->view.ended.us == 0 ? clock_wall() :
	    r->view.ended;
	x->job.run = put_ended;
	x->job.done = ended_put;
	shelf_put(t->engine, &x->job);
}

static void
board_changed(struct board_watch *w)
{
	struct timetable *t = CONTAINER(w, struct timetable, watch);
	struct board *b = t->engine->board;

	for (struct board_row *r = board_before(b, NULL); r != NULL &&
	    r->changed > t->version; r = board_before(b, r))
		if (r->schedule != 0 && r->part[BOARD_STATE] > t->version &&
		    has_ended(r))
			tell_end(t, r->schedule, r->id);
	t->version = board_version(b);
}

/* --- what is due, on the shelf's thread ----------------------------------- */

static enum err
read_due(struct look *k, struct store *st, struct why *w)
{
	struct timetable *t = k->timetable;
	struct wall now = k->now = clock_wall();
	uint64_t version;

	enum err e = store_version(st, &version, w);
	/* It tells of what others have put; what we put forces a look. */
	if (e == OK && !k->forced && t->read_once && version ==
	    t->store_version && now.us < t->next_at.us)
		return OK;
	if (e == OK)
		e = store_schedule_due(st, now, &k->arena, &k->schedules,
		    &k->n, w);
	if (e == OK)
		e = store_schedule_next(st, &t->next_at, w);
	t->store_version = version;
	t->read_once = e == OK;
	return e;
}

static void
run_look(struct shelf_job *job, struct store *st)
{
	struct look *k = CONTAINER(job, struct look, job);

	k->why.err = read_due(k, st, &k->why);
}

static enum err
put_one(struct look *k, size_t i, struct store *st, struct why *w)
{
	uint64_t id = k->schedules[i].id;
	struct due *d = &k->due[i];
	/* A clock that was set back meanwhile must not make it due again. */
	struct wall now = { MAX(clock_wall().us, k->now.us) };
	enum err e = OK;

	if (d->ran)
		e = store_schedule_ran(st, id, d->launch.crawl, now, w);
	else if (d->failed)
		e = store_schedule_late(st, id, (struct wall){ now.us +
		    AGAIN_MS * INT64_C(1000) }, w);
	d->gone = e == ERR_ABSENT;
	return d->gone ? OK : e;
}

static void
put_ran(struct shelf_job *job, struct store *st)
{
	struct look *k = CONTAINER(job, struct look, job);
	enum err e = store_begin(st, &k->why);
	bool begun = e == OK;

	for (size_t i = 0; i < k->n && e == OK; i++) {
		struct why w = WHY_INIT;
		e = put_one(k, i, st, &w);
		if (e != OK)
			k->why = w;
	}
	if (begun)
		e = store_end(st, e, &k->why);
	k->why.err = e;
	k->timetable->read_once = false;
}

/* --- at home -------------------------------------------------------------- */

static void look(struct timetable *);
static void forget_failure(struct timetable *, uint64_t id);

static void
look_over(struct look *k)
{
	struct timetable *t = k->timetable;

	arena_free(&k->arena);
	mem_free(&k->due);
	mem_free(&k);
	t->looking = false;
	if (t->look_again)
		look(t);
}

static void
ran_put(struct shelf_job *job)
{
	struct look *k = CONTAINER(job, struct look, job);
	struct timetable *t = k->timetable;

	/* A crawl that ended before the store knew of it. */
	for (size_t i = 0; i < k->n; i++)
		if (k->due[i].gone)
			forget_failure(t, k->schedules[i].id);
		else if (k->due[i].ran)
			tell_end(t, k->schedules[i].id,
			    k->due[i].launch.crawl);
	if (k->why.err != OK)
		store_failed(t, &k->why);
	else
		/* More may be due than are told at once. */
		t->look_again |= k->n == STORE_DUE_MAX;
	look_over(k);
}

static void
all_launched(struct look *k)
{
	k->job.run = put_ran;
	k->job.done = ran_put;
	shelf_put(k->timetable->engine, &k->job);
}

static void
failed(struct look *k, size_t i, const struct why *w)
{
	struct timetable *t = k->timetable;
	const struct schedule *s = &k->schedules[i];
	struct failure *f = map_get_id(&t->failures, s->id);
	uint64_t text = hash_bytes(str_of(w->text), 0);
	struct log_text name, quoted;

	k->due[i].failed = true;
	if (f == NULL) {
		f = mem_new(sizeof(*f));
		map_put_id(&t->failures, s->id, f);
	} else if (f->said == text) {
		return;
	}
	f->said = text;
	log_warn("schedule.refused", "schedule=%llu name=%s why=%s "
	    "again=\"each minute\"", (unsigned long long)s->id,
	    log_quote(&name, s->name), log_quote(&quoted, str_of(w->text)));
}

static void
forget_failure(struct timetable *t, uint64_t id)
{
	struct failure *f = map_take_id(&t->failures, id);

	mem_free(&f);
}

static void
launched(struct launch *l)
{
	struct due *d = CONTAINER(l, struct due, launch);
	struct timetable *t = d->timetable;
	struct look *k = l->arg;

	d->ran = l->why.err == OK;
	if (d->ran)
		forget_failure(t, l->schedule);
	else if (l->why.err != ERR_CLOSED)
		failed(k, (size_t)(d - k->due), &l->why);
	if (d->ran)
		log_info("schedule.started", "schedule=%llu crawl=%u",
		    (unsigned long long)l->schedule, l->crawl);
	if (--k->launching == 0)
		all_launched(k);
}

static void
launch(struct look *k, size_t i)
{
	const struct schedule *s = &k->schedules[i];
	struct due *d = &k->due[i];
	struct launch *l = &d->launch;
	struct why w = WHY_INIT;

	if (engine_read_seeds(s->seeds, &k->arena, &d->seeds, &l->seeds_n,
	    &w) != OK) {
		failed(k, i, &w);
		return;
	}
	d->timetable = k->timetable;
	l->name = schedule_name(s, clock_wall(), &k->arena);
	l->tags = s->tags;
	l->tags_n = s->tags_n;
	l->seeds = d->seeds;
	l->policy_name = s->policy;
	l->policy_json = s->policy_json;
	l->key = arena_printf(&k->arena, "%llu/%llu",
	    (unsigned long long)s->id, (unsigned long long)s->runs + 1);
	l->schedule = s->id;
	l->done = launched;
	l->arg = k;
	k->launching++;
	engine_launch(k->timetable->engine, l);
}

static void
looked(struct shelf_job *job)
{
	struct look *k = CONTAINER(job, struct look, job);
	struct timetable *t = k->timetable;

	if (k->why.err != OK)
		store_failed(t, &k->why);
	if (k->why.err != OK || k->n == 0 || !t->running) {
		look_over(k);
		return;
	}
	k->due = mem_array(k->n, sizeof(*k->due));
	/* Until all have been said. */
	k->launching = 1;
	for (size_t i = 0; i < k->n; i++)
		launch(k, i);
	if (--k->launching == 0)
		all_launched(k);
}

static void
look(struct timetable *t)
{
	t->look_again = t->looking;
	if (t->looking || !t->running)
		return;
	t->looking = true;
	struct look *k = mem_new(sizeof(*k));
	k->timetable = t;
	k->forced = t->forced;
	t->forced = false;
	k->job.run = run_look;
	k->job.done = looked;
	shelf_put(t->engine, &k->job);
}

void
timetable_look(struct engine *e)
{
	struct timetable *t = e->timetable;

	if (t == NULL)
		return;
	t->forced = true;
	look(t);
}

static void
tick(struct timer *timer)
{
	struct timetable *t = CONTAINER(timer, struct timetable, timer);

	look(t);
	loop_timer_set(t->engine->options.home, timer,
	    mono_add_ms(clock_mono(), LOOK_MS));
}

/* --- life ----------------------------------------------------------------- */

/* What ended, or went, while the store was not told. */
static void
tell_ends(struct timetable *t)
{
	struct store *st = shelf_store(t->engine->shelf);
	struct arena a = ARENA_INIT;
	struct schedule *list;
	struct why w = WHY_INIT;
	struct log_text quoted;
	size_t n = 0;

	if (store_schedule_list(st, &a, &list, &n, &w) != OK)
		log_error("schedule.store", "why=%s", log_quote(&quoted,
		    str_of(w.text)));
	for (size_t i = 0; i < n; i++)
		if (list[i].last_crawl != SCHEDULE_NO_CRAWL)
			tell_end(t, list[i].id, list[i].last_crawl);
	arena_free(&a);
}

struct timetable *
timetable_new(struct engine *e)
{
	struct timetable *t = mem_new(sizeof(*t));

	t->engine = e;
	t->timer.fire = tick;
	t->watch.changed = board_changed;
	t->version = board_version(e->board);
	list_init(&t->watch.node);
	return t;
}

void
timetable_start(struct timetable *t)
{
	t->running = true;
	tell_ends(t);
	board_watch(t->engine->board, &t->watch);
	tick(&t->timer);
}

void
timetable_stop(struct timetable *t)
{
	t->running = false;
	board_unwatch(&t->watch);
	loop_timer_stop(t->engine->options.home, &t->timer);
}

void
timetable_free(struct timetable **tp)
{
	struct timetable *t = *tp;
	size_t at = 0;
	void *v;

	if (t == NULL)
		return;
	timetable_stop(t);
	while (map_next(&t->failures, &at, &v))
		free(v);
	map_free(&t->failures);
	mem_free(tp);
}

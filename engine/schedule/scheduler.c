#include "engine/schedule/scheduler.h"

#include "base/hash.h"
#include "engine/catalog/crawl_registry.h"
#include "engine/control/control.h"
#include "engine/store/store_async.h"
#include "os/clock.h"
#include "os/log.h"
#include "os/request.h"

#define LOOK_MS 1000
#define AGAIN_MS 60000

/* One run of a schedule. */
struct due {
	struct launch launch;
	struct scheduled_harvest harvest;    /* in place of it */
	struct look *look;
	struct scheduler *scheduler;
	const struct schedule *schedule;
	struct launch_seed *seeds;
	bool ran, failed, skipped;
	bool gone;                   /* it was deleted meanwhile */
};

/* Starts the crawls that are due, and stores which of them began. */
#define LOOK_STEPS(X)                                                        \
	X(READ, AT_STORE, read_due, "which schedules are due")               \
	X(LAUNCH, AT_MAIN, launch_due, "begin a crawl for each of them")     \
	X(PUT, AT_STORE, put_runs, "store what began, and what failed")      \
	X(NOTE, AT_MAIN, note_runs, "crawls that have ended already")
enum { LOOK_STEPS(REQUEST_ENUM) };

struct look {
	struct request request;
	struct scheduler *scheduler;
	struct wall now;             /* of the look */
	struct arena arena;
	struct schedule *schedules;
	size_t n;
	struct due *due;
	size_t launching;
};

struct scheduler {
	struct scheduler_options options;
	struct timer timer;
	struct registry_watch watch;
	uint64_t version;            /* of the registry, that was looked at */
	bool looking, look_again, running;
	void (*begin_harvest)(void *arg, struct scheduled_harvest *);
	void *begin_arg;
	/* id -> uint64_t: hash of why it was refused, as the log has it. */
	struct map failures;
	struct list endings;         /* that could not be stored */
	struct mono quiet_until;     /* about the store */
	/* The store's thread. */
	struct store_watch store_watch;
	struct wall next_at;
	bool is_current;             /* next_at is what the store says */
};

static void look(struct scheduler *);

/* Each second may fail alike. */
static void
store_failed(struct scheduler *t, const struct why *w)
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
	struct store_job job;
	struct list node;            /* of scheduler.endings */
	struct scheduler *scheduler;
	uint64_t schedule, crawl;
	struct wall ended;
	struct why why;
};

static void
put_ended(struct store_job *job, struct store *st)
{
	struct ending *x = CONTAINER(job, struct ending, job);
	struct why w = WHY_INIT;

	enum err e = store_schedule_ended(st, x->schedule, x->crawl, x->ended,
	    &w);
	/* It may be deleted while its crawl runs. */
	x->why = e == ERR_ABSENT ? WHY_INIT : w;
}

static void
ended_put(struct store_job *job)
{
	struct ending *x = CONTAINER(job, struct ending, job);
	struct scheduler *t = x->scheduler;

	if (x->why.err == OK) {
		mem_free(&x);
	} else {
		/* Or the schedule would wait until the next start. */
		store_failed(t, &x->why);
		list_put(&t->endings, &x->node);
	}
	look(t);
}

static void
put_endings_again(struct scheduler *t)
{
	struct list again;

	list_init(&again);
	list_move_all(&again, &t->endings);
	while (!list_empty(&again))
		store_async_put(t->options.store, &LIST_POP(&again,
		    struct ending, node)->job);
}

static void
tell_end(struct scheduler *t, uint64_t schedule, uint64_t crawl)
{
	const struct crawl_row *r = crawl >= UINT32_MAX ? NULL :
	    crawl_row(t->options.registry, (uint32_t)crawl);

	/* One that is not there any more ends nothing later. */
	if (!crawl_row_is_over(r))
		return;
	struct ending *x = mem_new(sizeof(*x));
	x->scheduler = t;
	x->schedule = schedule;
	x->crawl = crawl;
	x->ended = r == NULL || r->view.ended.us == 0 ? clock_wall() :
	    r->view.ended;
	x->job.run = put_ended;
	x->job.done = ended_put;
	store_async_put(t->options.store, &x->job);
}

static void
crawl_registry_changed(struct registry_watch *w)
{
	struct scheduler *t = CONTAINER(w, struct scheduler, watch);
	struct crawl_registry *b = t->options.registry;

	for (struct crawl_row *r = crawl_registry_before(b, NULL); r != NULL &&
	    r->changed > t->version; r = crawl_registry_before(b, r))
		if (r->schedule != 0 && r->part[REGISTRY_STATE] > t->version &&
		    crawl_row_is_over(r))
			tell_end(t, r->schedule, r->id);
	t->version = crawl_registry_version(b);
}

/* --- what is due, on the store's thread ---------------------------------- */

static void
store_changed(struct store_watch *w, struct store *st, bool changed)
{
	struct scheduler *t = CONTAINER(w, struct scheduler, store_watch);

	(void)st;
	if (changed)
		t->is_current = false;
}

static struct look *
look_of(struct request *r)
{
	return CONTAINER(r, struct look, request);
}

static int
read_due(struct request *r)
{
	struct look *k = look_of(r);
	struct scheduler *t = k->scheduler;
	struct store *st = store_async_store(t->options.store);
	struct wall now = k->now = clock_wall();

	if (t->is_current && now.us < t->next_at.us)
		return REQUEST_DONE;
	enum err e = store_schedule_due(st, now, &k->arena, &k->schedules,
	    &k->n, &r->why);
	if (e == OK)
		e = store_schedule_next(st, &t->next_at, &r->why);
	t->is_current = e == OK;
	return e == OK && k->n > 0 ? LAUNCH : REQUEST_DONE;
}

static enum err
put_one(struct look *k, size_t i, struct store *st, struct why *w)
{
	uint64_t id = k->schedules[i].id;
	struct due *d = &k->due[i];
	/* A clock that was set back meanwhile must not make it due again. */
	struct wall now = { MAX(clock_wall().us, k->now.us) };
	struct why inner = WHY_INIT;
	enum err e = OK;

	if (d->skipped)
		e = store_schedule_skipped(st, id, now, &inner);
	else if (d->ran && k->schedules[i].harvest_type.n > 0)
		e = store_schedule_harvested(st, id, k->schedules[i].runs + 1,
		    now, &inner);
	else if (d->ran)
		e = store_schedule_ran(st, id, d->launch.crawl, now, &inner);
	else if (d->failed)
		e = store_schedule_late(st, id, (struct wall){ now.us +
		    AGAIN_MS * INT64_C(1000) }, &inner);
	d->gone = e == ERR_ABSENT;
	return e == OK || d->gone ? OK : why(w, e, "%s", inner.text);
}

static int
put_runs(struct request *r)
{
	struct look *k = look_of(r);
	struct store *st = store_async_store(k->scheduler->options.store);
	enum err e = store_begin(st, &r->why);

	if (e != OK)
		return REQUEST_DONE;
	for (size_t i = 0; i < k->n && e == OK; i++)
		e = put_one(k, i, st, &r->why);
	(void)!store_end(st, e, &r->why);
	return NOTE;
}

/* --- on the main loop ----------------------------------------------------- */

static void
failed(struct look *k, size_t i, const struct why *w)
{
	struct scheduler *t = k->scheduler;
	const struct schedule *s = &k->schedules[i];
	uint64_t *logged = map_get_id(&t->failures, s->id);
	uint64_t text = hash_bytes(str_of(w->text), 0);
	struct log_text name, quoted;

	k->due[i].failed = true;
	if (logged == NULL) {
		logged = mem_new(sizeof(*logged));
		map_put_id(&t->failures, s->id, logged);
	} else if (*logged == text) {
		return;
	}
	*logged = text;
	log_warn("schedule.refused", "schedule=%llu name=%s why=%s "
	    "again=\"each minute\"", (unsigned long long)s->id,
	    log_quote(&name, s->name), log_quote(&quoted, str_of(w->text)));
}

static void
forget_failure(struct scheduler *t, uint64_t id)
{
	uint64_t *logged = map_take_id(&t->failures, id);

	mem_free(&logged);
}

static void
launched(struct launch *l)
{
	struct due *d = CONTAINER(l, struct due, launch);
	struct scheduler *t = d->scheduler;
	struct look *k = l->arg;

	d->ran = l->why.err == OK;
	if (d->ran)
		forget_failure(t, l->spec.schedule);
	else if (l->why.err != ERR_CLOSED)
		failed(k, (size_t)(d - k->due), &l->why);
	if (d->ran)
		log_info("schedule.started", "schedule=%llu crawl=%u",
		    (unsigned long long)l->spec.schedule, l->crawl);
	if (--k->launching == 0)
		request_resume(&k->request, PUT);
}

static void
harvest_begun(struct scheduled_harvest *h)
{
	struct due *d = CONTAINER(h, struct due, harvest);
	struct look *k = d->look;
	uint64_t id = h->schedule->id;

	d->skipped = h->why.err == OK && h->skipped;
	/* A crash came between its beginning and the store's row. */
	d->ran = !d->skipped && (h->why.err == OK ||
	    h->why.err == ERR_EXISTS);
	if (d->ran || d->skipped)
		forget_failure(k->scheduler, id);
	else if (h->why.err != ERR_CLOSED)
		failed(k, (size_t)(d - k->due), &h->why);
	if (d->skipped)
		log_warn("schedule.skipped", "schedule=%llu harvest=%s "
		    "why=\"it is not over\"", (unsigned long long)id,
		    log_quoted(h->last));
	else if (d->ran)
		log_info("schedule.started", "schedule=%llu harvest=%s",
		    (unsigned long long)id, log_quoted(h->id));
	if (--k->launching == 0)
		request_resume(&k->request, PUT);
}

static struct str
harvest_id(const struct schedule *s, uint64_t run, struct arena *a)
{
	return run == 0 ? STR_NONE : arena_printf(a, "schedule-%llu-%llu",
	    (unsigned long long)s->id, (unsigned long long)run);
}

static void
begin_harvest(struct look *k, size_t i)
{
	const struct schedule *s = &k->schedules[i];
	struct scheduler *t = k->scheduler;
	struct due *d = &k->due[i];
	struct why w = WHY_INIT;

	if (t->begin_harvest == NULL) {
		(void)!why(&w, ERR_STATE, "this process does no harvests");
		failed(k, i, &w);
		return;
	}
	d->look = k;
	d->harvest = (struct scheduled_harvest){ .schedule = s,
	    .id = harvest_id(s, s->runs + 1, &k->arena),
	    .last = harvest_id(s, s->runs, &k->arena), .why = WHY_INIT,
	    .done = harvest_begun };
	k->launching++;
	t->begin_harvest(t->begin_arg, &d->harvest);
}

static void
launch(struct look *k, size_t i)
{
	const struct schedule *s = &k->schedules[i];
	struct due *d = &k->due[i];
	struct launch *l = &d->launch;
	struct why w = WHY_INIT;

	if (s->harvest_type.n > 0) {
		begin_harvest(k, i);
		return;
	}
	if (seed_list_read(s->seeds, &k->arena, &d->seeds, &l->seeds_n,
	    &w) != OK) {
		failed(k, i, &w);
		return;
	}
	d->scheduler = k->scheduler;
	l->spec = (struct crawl_spec){
		.name = schedule_name(s, clock_wall(), &k->arena),
		.tags = s->tags, .tags_n = s->tags_n,
		.policy_name = s->policy, .policy = s->policy_json,
		.key = s->key,
		.schedule = s->id,
	};
	l->seeds = d->seeds;
	l->done = launched;
	l->arg = k;
	k->launching++;
	crawl_launch(k->scheduler->options.engine, l);
}

static int
launch_due(struct request *r)
{
	struct look *k = look_of(r);

	if (!k->scheduler->running)
		return REQUEST_DONE;
	k->due = mem_array(k->n, sizeof(*k->due));
	/* Counted as one more until all have been launched. */
	k->launching = 1;
	for (size_t i = 0; i < k->n; i++)
		launch(k, i);
	return --k->launching == 0 ? PUT : REQUEST_WAIT;
}

static int
note_runs(struct request *r)
{
	struct look *k = look_of(r);
	struct scheduler *t = k->scheduler;

	/* A crawl may have ended before the store knew of it. */
	for (size_t i = 0; i < k->n; i++)
		if (k->due[i].gone)
			forget_failure(t, k->schedules[i].id);
		else if (k->due[i].ran && k->schedules[i].harvest_type.n == 0)
			tell_end(t, k->schedules[i].id,
			    k->due[i].launch.crawl);
	/* More may be due than the store reports at once. */
	if (r->why.err == OK)
		t->look_again |= k->n == STORE_DUE_MAX;
	return REQUEST_DONE;
}

static void
end_look(struct request *r)
{
	struct look *k = look_of(r);
	struct scheduler *t = k->scheduler;

	if (r->why.err != OK)
		store_failed(t, &r->why);
	arena_free(&k->arena);
	mem_free(&k->due);
	mem_free(&k);
	t->looking = false;
	if (t->look_again)
		look(t);
}

static const struct request_step look_steps[] = { LOOK_STEPS(REQUEST_ROW) };

static void
look(struct scheduler *t)
{
	t->look_again = t->looking;
	if (t->looking || !t->running)
		return;
	t->looking = true;
	struct look *k = mem_new(sizeof(*k));
	k->scheduler = t;
	k->request.done = end_look;
	request_start(&k->request, t->options.places, look_steps, READ);
}

void
scheduler_check(struct scheduler *t)
{
	if (t != NULL)
		look(t);
}

static void
tick(struct timer *timer)
{
	struct scheduler *t = CONTAINER(timer, struct scheduler, timer);

	put_endings_again(t);
	look(t);
	loop_timer_set(t->options.home, timer,
	    mono_add_ms(clock_mono(), LOOK_MS));
}

/* --- life ----------------------------------------------------------------- */

/* Note crawls that ended or were deleted while no scheduler ran. */
static void
tell_ends(struct scheduler *t)
{
	struct store *st = store_async_store(t->options.store);
	FREED(arena_free) struct arena a = ARENA_INIT;
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
}

struct scheduler *
scheduler_new(const struct scheduler_options *o)
{
	struct scheduler *t = mem_new(sizeof(*t));

	t->options = *o;
	t->timer.fire = tick;
	t->watch.changed = crawl_registry_changed;
	t->store_watch.look = store_changed;
	t->version = crawl_registry_version(o->registry);
	list_init(&t->watch.node);
	list_init(&t->endings);
	return t;
}

void
scheduler_use_harvests(struct scheduler *t, void (*begin)(void *arg,
    struct scheduled_harvest *), void *arg)
{
	t->begin_harvest = begin;
	t->begin_arg = arg;
}

void
scheduler_start(struct scheduler *t)
{
	t->running = true;
	store_async_watch(t->options.store, &t->store_watch);
	tell_ends(t);
	crawl_registry_watch(t->options.registry, &t->watch);
	tick(&t->timer);
}

void
scheduler_stop(struct scheduler *t)
{
	t->running = false;
	crawl_registry_unwatch(&t->watch);
	loop_timer_stop(t->options.home, &t->timer);
}

void
scheduler_free(struct scheduler **tp)
{
	struct scheduler *t = *tp;

	if (t == NULL)
		return;
	scheduler_stop(t);
	MAP_EACH(v, &t->failures, void)
		free(v);
	map_free(&t->failures);
	while (!list_empty(&t->endings))
		free(LIST_POP(&t->endings, struct ending, node));
	mem_free(tp);
}

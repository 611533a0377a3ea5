#include "engine/exporting/exporting_own.h"

#include "os/clock.h"
#include "os/log.h"
#include "os/tree.h"

#define DAY_US (INT64_C(86400) * US_PER_S)
#define SWEEP_MS (3600 * INT64_C(1000))
#define RETRY_MS 1000
#define RETRY_MS_MAX 60000

static void begin_works(struct exporting *);
static void begin_work(struct work *);

/* ---- Jobs of the store ---------------------------------------------- */

static void
enter(struct exporting *e)
{
	e->busy++;
}

void
work_job_done(struct exporting *e)
{
	void (*stopped)(void *arg) = e->stopped;

	CHECK(e->busy > 0);
	if (--e->busy > 0 || stopped == NULL)
		return;
	e->stopped = NULL;
	stopped(e->stopped_arg);
}

void
work_do_job(struct exporting *e, struct store_job *j,
    void (*run)(struct store_job *, struct store *),
    void (*done)(struct store_job *))
{
	enter(e);
	*j = (struct store_job){ .run = run, .done = done };
	store_async_put(e->options.store, j);
}

static void
tell_changed(struct exporting *e, struct str id)
{
	LIST_EACH(l, &e->listeners, struct exporting_listener, node)
		l->changed(l, id);
}

/* ---- What is old ---------------------------------------------------- */

static bool
is_old(const struct exporting *e, const struct store_export *x)
{
	int64_t days = conf_int(e->options.conf, CONF_HARVEST_EXPORT_DAYS);

	/* One that came by a broker is known by its id for longer; its files
	 * are its requester's. */
	return store_harvest_is_over(x->state) && x->routing_key.n == 0 &&
	    clock_wall().us - x->ended.us > days * DAY_US;
}

static void
run_sweep(struct store_job *j, struct store *st)
{
	struct exporting *e = CONTAINER(j, struct exporting, sweep_job);
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct store_export *list;
	struct why w = WHY_INIT;
	size_t n = 0;

	enum err err = store_export_list(st, &a, &list, &n, &w);
	for (size_t i = 0; i < n && err == OK; i++) {
		if (!is_old(e, &list[i]))
			continue;
		if (list[i].path.n == 0)
			err = tree_remove(work_dir(e, &list[i], &a), &w);
		if (err == OK)
			err = store_export_drop(st, list[i].id, &w);
	}
	if (err != OK)
		log_error("exporting.sweep", "why=%s", log_why(&w));
}

static void
swept(struct store_job *j)
{
	struct exporting *e = CONTAINER(j, struct exporting, sweep_job);

	e->sweeping = false;
	if (!e->stopping)
		loop_timer_set(e->options.home, &e->sweep_timer,
		    mono_add_ms(clock_mono(), SWEEP_MS));
	work_job_done(e);
}

static void
sweep(struct timer *t)
{
	struct exporting *e = CONTAINER(t, struct exporting, sweep_timer);

	if (e->stopping || e->sweeping)
		return;
	e->sweeping = true;
	work_do_job(e, &e->sweep_job, run_sweep, swept);
}

/* ---- The end of an export ------------------------------------------- */

static void
free_work(struct work *x)
{
	loop_timer_stop(x->exporting->options.home, &x->timer);
	list_take(&x->node);
	buf_free(&x->result);
	arena_free(&x->arena);
	arena_free(&x->texts);
	mem_free(&x);
}

/* Its memory goes; the next one may begin. */
static void
end_work(struct work *x)
{
	struct exporting *e = x->exporting;

	e->running--;
	free_work(x);
	begin_works(e);
	work_job_done(e);
}

static void
run_end(struct store_job *j, struct store *st)
{
	struct work *x = CONTAINER(j, struct work, job);

	x->why = WHY_INIT;
	if (x->of_another) {
		(void)!store_export_drop(st, x->id, &x->why);
		return;
	}
	/* One that was cancelled as this process began. */
	if (!x->outcome.success && x->row.path.n == 0)
		(void)!tree_remove(arena_printf(&x->arena, "%s/" EXPORTING_DIR
		    "/.%.*s.export", x->exporting->options.data_dir,
		    STR_FMT(x->id)).p, NULL);
	(void)!store_export_set_state(st, x->id, x->outcome.success ?
	    STORE_HARVEST_SUCCEEDED : STORE_HARVEST_FAILED,
	    buf_str(&x->result), clock_wall(), &x->why);
}

static void ended(struct store_job *);

static void
put_end(struct work *x)
{
	work_do_job(x->exporting, &x->job, run_end, ended);
}

/* Call fire() after a while: the store could not do it. */
static void
pause_work(struct work *x, void (*fire)(struct timer *))
{
	log_error("exporting.store", "export=%s why=%s", log_quoted(x->id),
	    log_why(&x->why));
	x->pause_ms = MIN(MAX(x->pause_ms * 2, RETRY_MS), RETRY_MS_MAX);
	x->pausing = true;
	x->timer.fire = fire;
	loop_timer_set(x->exporting->options.home, &x->timer, mono_add_ms(
	    clock_mono(), x->pause_ms));
}

static void
try_end_again(struct timer *t)
{
	struct work *x = CONTAINER(t, struct work, timer);

	x->pausing = false;
	put_end(x);
}

static void
ended(struct store_job *j)
{
	struct work *x = CONTAINER(j, struct work, job);
	struct exporting *e = x->exporting;

	bool is_kept = x->why.err == OK || x->why.err == ERR_ABSENT;
	if (is_kept && !x->of_another)
		log_info("exporting.ended", "export=%s success=%d rows=%llu",
		    log_quoted(x->id), x->outcome.success,
		    (unsigned long long)x->outcome.counts.rows);
	if (is_kept)
		tell_changed(e, x->id);
	if (is_kept || e->stopping)
		end_work(x);
	else
		pause_work(x, try_end_again);
	work_job_done(e);
}

/* Its outcome is known.  Without one it is begun again by the next process. */
static void
settle(struct work *x)
{
	if (x->interrupted && !x->cancelled) {
		end_work(x);
		return;
	}
	if (x->interrupted) {
		x->outcome = (struct outcome){ .success = false };
		outcome_add(&x->outcome, &x->arena, OUTCOME_ERROR,
		    "export_cancelled", STR("it was cancelled"));
	}
	x->state = WORK_ENDS;
	outcome_put(&x->outcome, &x->result);
	put_end(x);
}

/* ---- The beginning -------------------------------------------------- */

static void
on_pool(struct job *j)
{
	work_run(CONTAINER(j, struct work, run));
}

static void
has_run(struct mail *m)
{
	struct job *j = CONTAINER(m, struct job, mail);

	settle(CONTAINER(j, struct work, run));
}

static enum err
find_own(struct work *x, struct store *st, struct why *w)
{
	const struct exporting_order *o = &x->order;
	struct str *seeds = ARENA_ARRAY(&x->arena, struct str, o->seeds_n);
	struct store_warc_query q = { .collection = o->collection,
		.seeds = seeds, .seeds_n = o->seeds_n,
		.harvests = o->harvests, .harvests_n = o->harvests_n,
		.harvest = { o->harvest_from.known, o->harvest_to.known,
		o->harvest_from.at, o->harvest_to.at } };

	for (size_t i = 0; i < o->seeds_n; i++)
		seeds[i] = o->seeds[i].id;
	x->asks_sfm = o->harvests_n == 0 && conf_str(
	    x->exporting->options.conf, CONF_HARVEST_SFM_API).n > 0;
	return x->asks_sfm ? OK : store_warcs_find(st, &q, &x->arena,
	    &x->warcs, &x->warcs_n, w);
}

/* Its broker may have given the message to another daemon as well. */
static bool
needs_claim(const struct work *x)
{
	return !x->claimed && x->row.routing_key.n > 0 &&
	    x->exporting->places.claim != NULL;
}

static enum err
read_work(struct work *x, struct store *st, struct why *w)
{
	const char *code;
	enum err e = store_export_get(st, x->id, &x->arena, &x->row, w);

	if (e == OK)
		e = exporting_order_read(x->row.message, &x->arena, &x->order,
		    &code, w);
	if (e == OK)
		e = find_own(x, st, w);
	if (e == OK && !x->row.cancelled && !needs_claim(x))
		e = store_export_set_state(st, x->id, STORE_HARVEST_RUNNING,
		    STR(""), clock_wall(), w);
	return e;
}

static void
run_begin(struct store_job *j, struct store *st)
{
	struct work *x = CONTAINER(j, struct work, job);

	x->why = WHY_INIT;
	(void)!read_work(x, st, &x->why);
}

static void
try_begin_again(struct timer *t)
{
	struct work *x = CONTAINER(t, struct work, timer);

	x->pausing = false;
	begin_work(x);
}

static void
put_on_pool(struct work *x, void (*run)(struct job *),
    void (*done)(struct mail *))
{
	struct exporting *e = x->exporting;

	x->run = (struct job){ .run = run, .home = e->options.home,
	    .mail.deliver = done };
	if (e->pool == NULL)
		e->pool = pool_new(EXPORTING_RUNNING_MAX);
	pool_submit(e->pool, &x->run);
}

static void
run_now(struct work *x)
{
	x->pause_ms = 0;
	x->state = WORK_RUNS;
	put_on_pool(x, on_pool, has_run);
	tell_changed(x->exporting, x->id);
}

static void
claim_on_pool(struct job *j)
{
	struct work *x = CONTAINER(j, struct work, run);
	const struct exporting_places *p = &x->exporting->places;

	x->why = WHY_INIT;
	(void)!p->claim(p->arg, x->id, x->row.path, &x->why);
}

/* A directory that cannot be written to has no claim: making the export says
 * what is wrong with it. */
static void
has_claimed(struct mail *m)
{
	struct work *x = CONTAINER(CONTAINER(m, struct job, mail), struct work,
	    run);

	x->of_another = x->why.err == ERR_EXISTS;
	if (x->of_another) {
		log_info("exporting.claimed", "export=%s why=%s",
		    log_quoted(x->id), log_why(&x->why));
		x->state = WORK_ENDS;
		put_end(x);
		return;
	}
	if (x->why.err != OK)
		log_warn("exporting.claim", "export=%s why=%s",
		    log_quoted(x->id), log_why(&x->why));
	x->claimed = true;
	begin_work(x);
}

static void
begun(struct store_job *j)
{
	struct work *x = CONTAINER(j, struct work, job);
	struct exporting *e = x->exporting;

	bool is_over = store_harvest_is_over(x->row.state);
	x->cancelled = (x->cancelled || x->row.cancelled) && !is_over;
	if (x->why.err == ERR_ABSENT) {
		end_work(x);
	} else if (e->stopping || x->cancelled || is_over) {
		x->interrupted = true;
		settle(x);
	} else if (x->why.err == ERR_INPUT) {
		x->outcome = (struct outcome){ .success = false };
		outcome_add(&x->outcome, &x->arena, OUTCOME_ERROR,
		    "bad_request", str_of(x->why.text));
		settle(x);
	} else if (x->why.err != OK) {
		pause_work(x, try_begin_again);
	} else if (needs_claim(x)) {
		put_on_pool(x, claim_on_pool, has_claimed);
	} else {
		run_now(x);
	}
	work_job_done(e);
}

static void
begin_work(struct work *x)
{
	arena_reset(&x->arena);
	x->row = (struct store_export){ .state = STORE_HARVEST_ACCEPTED };
	x->state = WORK_BEGINS;
	work_do_job(x->exporting, &x->job, run_begin, begun);
}

static void
begin_works(struct exporting *e)
{
	LIST_EACH(x, &e->works, struct work, node) {
		if (e->stopping || e->running == EXPORTING_RUNNING_MAX)
			return;
		if (x->state != WORK_WAITS)
			continue;
		e->running++;
		enter(e);
		begin_work(x);
	}
}

static struct work *
find_work(struct exporting *e, struct str id)
{
	LIST_EACH(x, &e->works, struct work, node)
		if (str_eq(x->id, id))
			return x;
	return NULL;
}

void
exporting_start(struct exporting *e, struct str id)
{
	if (e->stopping || find_work(e, id) != NULL)
		return;
	struct work *x = mem_new(sizeof(*x));
	x->exporting = e;
	arena_room(&x->texts, id.n + 1);
	x->id = arena_copy(&x->texts, id);
	list_put(&e->works, &x->node);
	begin_works(e);
}

void
work_cancel(struct exporting *e, struct str id)
{
	struct work *x = find_work(e, id);

	if (x == NULL)
		return;
	x->cancelled = true;
	atomic_store(&x->watch.stop, true);
}

/* ---- Life ----------------------------------------------------------- */

static void
run_open(struct store_job *j, struct store *st)
{
	struct exporting *e = CONTAINER(j, struct exporting, open_job);
	struct why w = WHY_INIT;

	if (store_export_open(st, &e->arena, &e->left, &e->left_n, &w) != OK)
		log_error("exporting.store", "why=%s", log_why(&w));
}

static void
opened(struct store_job *j)
{
	struct exporting *e = CONTAINER(j, struct exporting, open_job);

	for (size_t i = 0; i < e->left_n; i++)
		exporting_start(e, e->left[i]);
	arena_free(&e->arena);
	sweep(&e->sweep_timer);
	work_job_done(e);
}

struct exporting *
exporting_open(const struct exporting_options *o)
{
	struct exporting *e = mem_new(sizeof(*e));

	e->options = *o;
	list_init(&e->listeners);
	list_init(&e->works);
	e->sweep_timer.fire = sweep;
	work_do_job(e, &e->open_job, run_open, opened);
	return e;
}

void
exporting_stop(struct exporting *e, void (*stopped)(void *arg), void *arg)
{
	e->stopping = true;
	loop_timer_stop(e->options.home, &e->sweep_timer);
	enter(e);
	e->stopped = stopped;
	e->stopped_arg = arg;
	struct list *node = e->works.next;
	while (node != &e->works) {
		struct work *x = LIST_ITEM(node, struct work, node);
		node = node->next;
		atomic_store(&x->watch.stop, true);
		/* One that waits for the store to take what it has. */
		if (x->pausing)
			end_work(x);
	}
	work_job_done(e);
}

void
exporting_free(struct exporting **ep)
{
	struct exporting *e = *ep;

	if (e == NULL)
		return;
	*ep = NULL;
	LIST_EACH(x, &e->works, struct work, node)
		atomic_store(&x->watch.stop, true);
	pool_free(&e->pool);
	while (!list_empty(&e->works))
		free_work(LIST_ITEM(e->works.next, struct work, node));
	arena_free(&e->arena);
	mem_free(&e);
}

void
exporting_set_places(struct exporting *e, const struct exporting_places *p)
{
	e->places = *p;
}

void
exporting_listen(struct exporting *e, struct exporting_listener *l)
{
	list_put(&e->listeners, &l->node);
}

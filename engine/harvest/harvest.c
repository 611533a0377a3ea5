#include "engine/harvest/harvest_own.h"

#include "engine/catalog/crawl_registry.h"
#include "engine/harvest/budget.h"
#include "engine/harvest/credential.h"
#include "os/clock.h"
#include "os/log.h"

/* ---- What the files of this folder share ---------------------------- */

const struct crawl_row *
harvest_crawl(const struct harvest *h)
{
	return h->crawl == UINT32_MAX ? NULL : crawl_row(engine_registry(
	    h->all->options.engine), h->crawl);
}

void
harvest_store(struct harvest *h, struct store_job *j,
    void (*run)(struct store_job *, struct store *),
    void (*done)(struct store_job *))
{
	j->run = run;
	j->done = done;
	store_async_put(engine_store_async(h->all->options.engine), j);
}

void
harvest_work(struct harvest *h, struct job *j, void (*run)(struct job *),
    void (*done)(struct mail *))
{
	*j = (struct job){ .mail.deliver = done,
	    .home = h->all->options.home, .run = run };
	pool_submit(h->all->pool, j);
}

struct harvest *
harvest_find(struct harvests *all, struct str id)
{
	LIST_EACH(h, &all->all, struct harvest, node)
		if (str_eq(h->id, id))
			return h;
	return NULL;
}

/* ---- The end -------------------------------------------------------- */

static void
fill_view(const struct harvest *h, struct harvest_view *v)
{
	const struct crawl_row *row = harvest_crawl(h);

	*v = (struct harvest_view){ .id = h->id, .type = h->type,
	    .path = h->path, .state = h->shown, .items = h->totals.items,
	    .answers = row == NULL ? 0 : row->view.counts.items,
	    .label = h->text.connector->label,
	    .trouble = h->delivery.failing ? h->delivery.why.text : "" };
	/* As they come; the totals count them when files are settled. */
	if (h->web != NULL && row != NULL && h->end == STORE_HARVEST_GOES_ON)
		v->items = row->view.counts.items -
		    row->view.counts.duplicates;
	for (size_t i = 0; i < h->warcs_n; i++) {
		v->warcs += h->warcs[i].placed;
		v->warc_bytes += h->warcs[i].placed ? h->warcs[i].bytes : 0;
		v->warcs_waiting += !h->warcs[i].placed;
	}
	if (h->driver == NULL)
		return;
	struct driver_look look = driver_look(h->driver);
	v->replayed = look.replayed;
	v->faults = look.faults;
	v->waits_for = look.waits_for;
	v->waits_ms = MAX(0, mono_ns_between(clock_mono(),
	    look.waits_until) / NS_PER_MS);
}

void
harvest_tell_changed(const struct harvest *h)
{
	const struct harvests_options *o = &h->all->options;

	if (o->changed != NULL)
		o->changed(o->arg, h->id);
}

void
harvest_tell_ended(struct harvest *h)
{
	struct loop *home = h->all->options.home;
	struct harvest_view v;

	loop_timer_stop(home, &h->roll_timer);
	loop_timer_stop(home, &h->stop_timer);
	loop_timer_stop(home, &h->delivery.timer);
	loop_timer_stop(home, &h->look_timer);
	if (h->driver != NULL)
		driver_rest(h->driver);
	if (h->web != NULL)
		harvest_web_rest(h->web);
	fill_view(h, &v);
	h->all->options.ended(h->all->options.arg, &v);
}

void
harvest_is_over(struct harvest *h)
{
	h->over = true;
	harvest_tell_ended(h);
	h->told = true;
	harvest_look_at_aim(h);
}

static void set_last_state(struct harvest *);

static void
set_again(struct timer *t)
{
	set_last_state(CONTAINER(t, struct harvest, roll_timer));
}

static void
last_state_set(struct store_job *j)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);

	if (h->why.err == OK) {
		harvest_is_over(h);
		return;
	}
	log_error("harvest.store", "harvest=%s why=%s", log_quoted(h->id),
	    log_why(&h->why));
	h->roll_timer.fire = set_again;
	loop_timer_set(h->all->options.home, &h->roll_timer, mono_add_ms(
	    clock_mono(), HARVEST_RETRY_MS));
}

static void
write_last_state(struct store_job *j, struct store *st)
{
	struct harvest *h = CONTAINER(j, struct harvest, store);

	h->why = WHY_INIT;
	(void)!store_harvest_set_state(st, h->id, h->shown, clock_wall(),
	    &h->why);
}

static void
set_last_state(struct harvest *h)
{
	harvest_store(h, &h->store, write_last_state, last_state_set);
}

enum store_harvest_state
harvest_last_state(const struct harvest *h)
{
	return h->end == STORE_HARVEST_SUCCESS ? STORE_HARVEST_SUCCEEDED :
	    STORE_HARVEST_FAILED;
}

void
harvest_delivered(struct harvest *h)
{
	if (h->over || h->settling.under_way)
		return;
	if (h->end != STORE_HARVEST_GOES_ON && h->delivery.merged)
		h->shown = harvest_last_state(h);
	else if (h->aim == AIM_PAUSE)
		h->shown = STORE_HARVEST_PAUSED;
	else
		return;
	h->over = true;
	set_last_state(h);
}

/* A stream stays open while files settle, but not for longer. */
static bool
ends_stream_ahead(struct harvest *h)
{
	if (h->end != STORE_HARVEST_GOES_ON || h->web != NULL ||
	    !driver_is_ahead(h->driver) ||
	    (h->aim == AIM_RUN && !harvest_must_wait(h)))
		return false;
	driver_hold(h->driver);
	return true;
}

void
harvest_settled(struct harvest *h)
{
	if (ends_stream_ahead(h))
		return;
	if (h->web == NULL || !harvest_web_is_ending(h->web))
		loop_timer_stop(h->all->options.home, &h->stop_timer);
	loop_timer_stop(h->all->options.home, &h->roll_timer);
	/* Asked to stop meanwhile: what was noted says that it goes on. */
	if (h->end == STORE_HARVEST_GOES_ON && h->aim == AIM_STOP &&
	    h->web == NULL) {
		harvest_settle(h);
		return;
	}
	if (h->end == STORE_HARVEST_GOES_ON && h->aim == AIM_RUN) {
		if (harvest_must_wait(h)) {
			if (!h->held_back)
				harvest_hold_back(h);
		} else {
			harvest_set_roll_timer(h);
			if (h->web == NULL)
				driver_go_on(h->driver);
		}
	}
	if (h->aim == AIM_PAUSE)
		harvest_deliver_now(h);
	else
		harvest_deliver(h);
	if (h->web != NULL)
		harvest_web_look(h->web);
}

/* ---- While it runs -------------------------------------------------- */

static void
driver_moved(void *arg)
{
	struct harvest *h = arg;

	if (harvest_must_wait(h))
		driver_hold(h->driver);
	else if (harvest_should_roll(h))
		driver_roll(h->driver);
}

static void
driver_quiet(void *arg)
{
	struct harvest *h = arg;
	const struct crawl_row *row = harvest_crawl(h);

	if (h->end != STORE_HARVEST_GOES_ON)
		return;
	/* Its crawl was cancelled: there is nothing to go on with. */
	h->stops_by_crawl = row == NULL || crawl_row_is_over(row);
	harvest_settle(h);
}

enum err
harvest_open_driver(struct harvest *h, struct driver **out, struct why *w)
{
	const struct harvests_options *ho = &h->all->options;
	struct driver_options o = { .engine = ho->engine, .home = ho->home,
	    .budgets = h->all->budgets, .order = &h->text.order,
	    .secrets = h->text.secrets, .secrets_n = h->text.secrets_n,
	    .redact = conf_bool(ho->conf, CONF_WARC_REDACT),
	    .totals = &h->totals, .tries_max = ho->tries_max > 0 ?
	    ho->tries_max : HARVEST_TRIES_MAX,
	    .saved = buf_str(&h->saved), .captures = h->captures,
	    .spool_dir = h->dir, .spool_pool = h->all->spool_pool,
	    .spools = h->spools, .spools_n = h->spools_n,
	    .moved = driver_moved, .quiet = driver_quiet, .arg = h };

	return driver_open(&o, out, w);
}

void
harvest_run(struct harvest *h)
{
	const struct crawl_row *row = harvest_crawl(h);

	CHECK(row != NULL);
	h->totals.found = h->all->options.keeps_urls ? &h->found : NULL;
	h->started = true;
	h->bytes_before = row->view.counts.warc_bytes;
	harvest_set_roll_timer(h);
	if (h->web != NULL) {
		harvest_web_start(h->web);
		harvest_deliver(h);
		return;
	}
	if (h->aim != AIM_RUN)
		driver_hold(h->driver);
	driver_start(h->driver, h->crawl, row->view.item_last);
	harvest_deliver(h);
}

void
harvest_forget(struct harvests *all, struct str id)
{
	struct harvest *h = harvest_find(all, id);

	CHECK(h != NULL && h->over);
	harvest_drop(h);
}

/* ---- Looking -------------------------------------------------------- */

bool
harvest_look(struct harvests *all, struct str id, struct harvest_view *v)
{
	const struct harvest *h = harvest_find(all, id);

	if (h != NULL)
		fill_view(h, v);
	return h != NULL;
}

void
harvest_put_totals(struct harvests *all, struct str id, struct buf *b)
{
	const struct harvest *h = harvest_find(all, id);

	if (h != NULL)
		totals_put(&h->totals, b);
}

bool
harvest_next_view(struct harvests *all, size_t *at, struct harvest_view *v)
{
	size_t i = 0;

	LIST_EACH(h, &all->all, struct harvest, node) {
		if (i++ < *at)
			continue;
		++*at;
		fill_view(h, v);
		return true;
	}
	return false;
}

bool
harvest_next_note(struct harvests *all, struct str id, size_t *at,
    struct harvest_note *out)
{
	static const char *const levels[] = { "info", "warning", "error" };
	const struct harvest *h = harvest_find(all, id);

	if (h == NULL || *at >= h->totals.notes_n)
		return false;
	const struct totals_note *n = &h->totals.notes[(*at)++];
	*out = (struct harvest_note){ levels[n->level], n->code, n->text,
		n->seed };
	return true;
}

/* ---- All of them ---------------------------------------------------- */

enum err
harvests_read_key(struct harvests *all, struct why *w)
{
	enum err e = all->has_key ? OK : credential_key(all->options.conf,
	    all->options.data_dir, &all->key, w);

	all->has_key = e == OK;
	return e;
}

void
harvests_limit(struct harvests *all, unsigned tries_max,
    uint64_t staged_bytes_max, bool keeps_urls)
{
	all->options.tries_max = tries_max;
	all->options.staged_bytes_max = staged_bytes_max;
	all->options.keeps_urls = keeps_urls;
}

enum err
harvests_open(const struct harvests_options *o, struct harvests **out,
    struct why *w)
{
	struct harvests *all = mem_new(sizeof(*all));

	all->options = *o;
	list_init(&all->all);
	list_init(&all->path_queues);
	list_init(&all->path_jobs);
	all->pool = pool_new(o->no_threads ? 0 : 1);
	all->spool_pool = pool_new(o->no_threads ? 0 : 1);
	enum err e = harvests_open_budgets(all, w);
	if (e != OK)
		harvests_free(&all);
	*out = all;
	return e;
}

static void
free_harvest(struct harvest **hp)
{
	struct harvest *h = *hp;

	list_take(&h->node);
	path_job_leave(&h->look);
	path_job_leave(&h->delivery.job);
	driver_close(&h->driver);
	harvest_web_free(&h->web);
	order_text_free(&h->text);
	totals_free(&h->totals);
	buf_free(&h->saved);
	buf_free(&h->sealed);
	buf_free(&h->noted);
	buf_free(&h->settling.saved);
	buf_free(&h->settling.totals);
	buf_free(&h->settling.urls);
	arena_free(&h->settling.arena);
	arena_free(&h->delivery.arena);
	arena_free(&h->arena);
	mem_free(hp);
}

struct harvest *
harvest_new(struct harvests *all)
{
	struct harvest *h = mem_new(sizeof(*h));

	h->all = all;
	h->crawl = UINT32_MAX;
	/* The state of none is merged. */
	h->delivery.merged = true;
	list_put(&all->all, &h->node);
	return h;
}

void
harvest_drop(struct harvest *h)
{
	free_harvest(&h);
}

void
harvests_free(struct harvests **ap)
{
	struct harvests *all = *ap;

	if (all == NULL)
		return;
	pool_free(&all->pool);
	pool_free(&all->spool_pool);
	/* The process ends; a thread that hangs has its harvests in use. */
	if (!harvests_end_paths(all)) {
		*ap = NULL;
		return;
	}
	while (!list_empty(&all->all)) {
		struct harvest *h = LIST_ITEM(all->all.next, struct harvest,
		    node);
		free_harvest(&h);
	}
	harvests_free_path_jobs(all);
	budgets_free(&all->budgets);
	arena_free(&all->keeping.arena);
	explicit_bzero(&all->key, sizeof(all->key));
	mem_free(ap);
}

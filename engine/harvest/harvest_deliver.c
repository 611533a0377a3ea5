/*
 * Files that the store knows to be ready go to their places, one after the
 * other; then the state takes effect.  It never runs ahead of a file.
 *
 *     file ─► its hour directory ─► noted ─► the next file ... ─► state.json
 *
 * What fails is tried again, after 1, 2, 4 ... 60 s; the harvest goes on
 * meanwhile, and files may settle.  What takes very long is as what fails, but
 * is not begun again.
 */
#include "engine/harvest/harvest_own.h"
#include "engine/harvest/place.h"
#include "engine/harvest/state_file.h"
#include "os/clock.h"
#include "os/log.h"

static void
go_on_with(struct harvest *h)
{
	h->delivery.under_way = false;
	harvest_deliver(h);
}

static void
try_again(struct timer *t)
{
	struct delivery *d = CONTAINER(t, struct delivery, timer);

	d->waits = false;
	harvest_deliver(CONTAINER(d, struct harvest, delivery));
}

static void
start_pause(struct harvest *h)
{
	struct delivery *d = &h->delivery;

	d->pause_ms = MIN(MAX(d->pause_ms * 2, HARVEST_RETRY_MS),
	    HARVEST_RETRY_MS_MAX);
	d->under_way = false;
	d->waits = true;
	d->timer.fire = try_again;
	loop_timer_set(h->all->options.home, &d->timer, mono_add_ms(
	    clock_mono(), d->pause_ms));
}

/* False: what was tried has failed, and is tried again later. */
static bool
succeeded(struct harvest *h, const struct why *w)
{
	struct delivery *d = &h->delivery;

	d->why = *w;
	d->failing = w->err != OK;
	if (!d->failing) {
		d->pause_ms = 0;
		return true;
	}
	log_error("harvest.place", "harvest=%s why=%s", log_quoted(h->id),
	    log_why(&d->why));
	start_pause(h);
	/* Another process goes on with it. */
	if (h->aim == AIM_PAUSE)
		harvest_delivered(h);
	return false;
}

bool
harvest_delivery_hangs(const struct harvest *h)
{
	return h->delivery.failing;
}

/* ---- Jobs in the directory ------------------------------------------ */

static void
take_long(struct path_job *p)
{
	struct harvest *h = p->h;
	struct delivery *d = &h->delivery;

	d->why = WHY_INIT;
	(void)!why(&d->why, ERR_TIMEOUT, "the directory %.*s has not answered "
	    "for %d s", STR_FMT(h->path), HARVEST_PATH_MS / 1000);
	d->failing = true;
	log_error("harvest.place", "harvest=%s why=%s", log_quoted(h->id),
	    log_why(&d->why));
	if (h->aim == AIM_PAUSE)
		harvest_delivered(h);
}

static struct path_job *
new_job(struct harvest *h)
{
	h->delivery.under_way = true;
	h->delivery.job = path_job_new(h);
	return h->delivery.job;
}

static void
drop_job(struct harvest *h)
{
	path_job_free(&h->delivery.job);
}

/* ---- Files ---------------------------------------------------------- */

static void
placing_noted(struct store_job *j)
{
	struct delivery *d = CONTAINER(j, struct delivery, store);
	struct harvest *h = CONTAINER(d, struct harvest, delivery);
	const struct why w = d->why;

	if (w.err == OK)
		for (size_t i = 0; i < h->warcs_n; i++)
			if (str_eq(h->warcs[i].name, d->job->file.name))
				h->warcs[i].placed = true;
	drop_job(h);
	if (!succeeded(h, &w))
		return;
	go_on_with(h);
	harvests_look_for_room(h->all);
}

static void
note_placing(struct store_job *j, struct store *st)
{
	struct delivery *d = CONTAINER(j, struct delivery, store);

	d->why = WHY_INIT;
	(void)!store_harvest_placed(st, d->job->id, d->job->file.name,
	    &d->why);
}

static void
file_placed(struct path_job *p)
{
	struct harvest *h = p->h;
	const struct why w = p->why;

	if (succeeded(h, &w))
		harvest_store(h, &h->delivery.store, note_placing,
		    placing_noted);
	else
		drop_job(h);
}

static void
run_place(struct path_job *p)
{
	struct shared_dir to;

	if (path_job_open(p, SHARED_DIR_MAKE, &to, &p->why) == OK)
		(void)!place_file(p->dir, &to, p->path.p, &p->file, &p->why);
	shared_dir_close(&to);
}

static void
place_one(struct harvest *h, const struct store_harvest_warc *f)
{
	struct path_job *p = new_job(h);

	p->file = *f;
	p->file.name = arena_copy(&p->arena, f->name);
	p->file.sha1 = arena_copy(&p->arena, f->sha1);
	p->file.warc_id = arena_copy(&p->arena, f->warc_id);
	path_job_start(p, run_place, file_placed, take_long);
}

/* ---- State ---------------------------------------------------------- */

static struct connector_state *
copy_state(struct arena *a, const struct connector_state *from, size_t n)
{
	struct connector_state *to = ARENA_ARRAY(a, struct connector_state,
	    n);

	for (size_t i = 0; i < n; i++)
		to[i] = (struct connector_state){ arena_copy(a, from[i].key),
			arena_copy(a, from[i].value) };
	return to;
}

void
harvest_take_state(struct harvest *h)
{
	struct delivery *d = &h->delivery;
	const struct totals_pairs *all = &h->totals.state;

	arena_reset(&d->arena);
	d->ready = ARENA_ARRAY(&d->arena, struct connector_state, all->n);
	d->ready_n = all->n;
	for (size_t i = 0; i < all->n; i++)
		d->ready[i] = (struct connector_state){
			arena_copy(&d->arena, all->list[i].key),
			arena_copy(&d->arena, all->list[i].value) };
	d->ready_number++;
	d->merged = false;
}

static void
merging_noted(struct store_job *j)
{
	struct delivery *d = CONTAINER(j, struct delivery, store);
	struct harvest *h = CONTAINER(d, struct harvest, delivery);
	struct harvests *all = h->all;
	const struct why w = d->why;

	if (!succeeded(h, &w))
		return;
	d->merged = d->merging_number == d->ready_number;
	if (d->merged)
		harvest_tell_changed(h);
	if (!d->ends) {
		go_on_with(h);
	} else {
		d->under_way = false;
		h->shown = harvest_last_state(h);
		harvest_is_over(h);
	}
	harvests_look_for_room(all);
}

/* A run that is over has nothing else to wait for: its last state is of the
 * same commit. */
static void
note_merging(struct store_job *j, struct store *st)
{
	struct delivery *d = CONTAINER(j, struct delivery, store);
	struct harvest *h = CONTAINER(d, struct harvest, delivery);

	d->why = WHY_INIT;
	if (store_begin(st, &d->why) != OK)
		return;
	enum err e = store_harvest_merged(st, h->id, &d->why);
	if (e == OK && d->ends)
		e = store_harvest_set_state(st, h->id, harvest_last_state(h),
		    clock_wall(), &d->why);
	(void)!store_end(st, e, &d->why);
}

/* Where more has settled, or is about to, the store must not know the newer
 * state to be merged. */
static void
state_merged(struct path_job *p)
{
	struct harvest *h = p->h;
	struct delivery *d = &h->delivery;
	const struct why w = p->why;

	drop_job(h);
	if (!succeeded(h, &w))
		return;
	if (h->settling.under_way || d->merging_number != d->ready_number) {
		go_on_with(h);
		return;
	}
	d->ends = h->end != STORE_HARVEST_GOES_ON;
	harvest_store(h, &d->store, note_merging, merging_noted);
}

static void
run_merge(struct path_job *p)
{
	struct shared_dir to = SHARED_DIR_INIT;

	if (p->state_n > 0 &&
	    path_job_open(p, SHARED_DIR_MAKE, &to, &p->why) == OK)
		(void)!state_file_merge(&to, p->state, p->state_n,
		    p->state_is_number, &p->why);
	shared_dir_close(&to);
}

static void
merge_state(struct harvest *h)
{
	struct delivery *d = &h->delivery;
	struct path_job *p = new_job(h);

	p->state = copy_state(&p->arena, d->ready, d->ready_n);
	p->state_n = d->ready_n;
	p->state_is_number = h->text.connector->state_is_number;
	d->merging_number = d->ready_number;
	path_job_start(p, run_merge, state_merged, take_long);
}

/* ---- What is next --------------------------------------------------- */

void
harvest_deliver_now(struct harvest *h)
{
	struct delivery *d = &h->delivery;

	d->waits = false;
	loop_timer_stop(h->all->options.home, &d->timer);
	/* It does not come back: another process goes on with it. */
	if (d->under_way && d->failing && h->aim == AIM_PAUSE)
		harvest_delivered(h);
	else
		harvest_deliver(h);
}

void
harvest_deliver(struct harvest *h)
{
	struct delivery *d = &h->delivery;
	size_t at = 0;

	if (d->under_way || d->waits || h->settling.under_way || h->over)
		return;
	while (at < h->warcs_n && h->warcs[at].placed)
		at++;
	if (at < h->warcs_n)
		place_one(h, &h->warcs[at]);
	else if (!d->merged)
		merge_state(h);
	else
		harvest_delivered(h);
}

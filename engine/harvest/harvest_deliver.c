/*
 * Files that the store knows to be ready go to their places, one after the
 * other; then the state takes effect.  It never runs ahead of a file.
 *
 *     file ─► its hour directory ─► noted ─► the next file ... ─► state.json
 *
 * What fails is tried again, after 1, 2, 4 ... 60 s; the harvest goes on
 * meanwhile.
 */
#include "engine/harvest/harvest_own.h"
#include "engine/harvest/place.h"
#include "engine/harvest/state_file.h"
#include "os/clock.h"
#include "os/log.h"

static void
go_on_with(struct delivery *d)
{
	struct harvest *h = CONTAINER(d, struct harvest, delivery);

	d->under_way = false;
	if (h->settling.wanted)
		harvest_settle(h);
	else
		harvest_deliver(h);
}

static void
try_again(struct timer *t)
{
	struct delivery *d = CONTAINER(t, struct delivery, timer);

	d->waits = false;
	harvest_deliver(CONTAINER(d, struct harvest, delivery));
}

/* False: what was tried has failed, and is tried again later. */
static bool
succeeded(struct delivery *d)
{
	struct harvest *h = CONTAINER(d, struct harvest, delivery);

	d->failing = d->why.err != OK;
	if (!d->failing) {
		d->pause_ms = 0;
		return true;
	}
	d->pause_ms = MIN(MAX(d->pause_ms * 2, HARVEST_RETRY_MS),
	    HARVEST_RETRY_MS_MAX);
	log_error("harvest.place", "harvest=%s why=%s", log_quoted(h->id),
	    log_why(&d->why));
	d->under_way = false;
	d->waits = true;
	d->timer.fire = try_again;
	loop_timer_set(h->all->options.home, &d->timer, mono_add_ms(
	    clock_mono(), d->pause_ms));
	if (h->settling.wanted)
		harvest_settle(h);
	/* Another process goes on with it. */
	else if (h->aim == AIM_PAUSE)
		harvest_delivered(h);
	return false;
}

/* ---- Files ---------------------------------------------------------- */

static void
placing_noted(struct store_job *j)
{
	struct delivery *d = CONTAINER(j, struct delivery, store);
	struct harvest *h = CONTAINER(d, struct harvest, delivery);

	if (!succeeded(d))
		return;
	for (size_t i = 0; i < h->warcs_n; i++)
		if (str_eq(h->warcs[i].name, d->file.name))
			h->warcs[i].placed = true;
	go_on_with(d);
}

static void
note_placing(struct store_job *j, struct store *st)
{
	struct delivery *d = CONTAINER(j, struct delivery, store);
	struct harvest *h = CONTAINER(d, struct harvest, delivery);

	d->why = WHY_INIT;
	(void)!store_harvest_placed(st, h->id, d->file.name, &d->why);
}

static void
file_placed(struct mail *m)
{
	struct delivery *d = CONTAINER(CONTAINER(m, struct job, mail),
	    struct delivery, job);

	if (succeeded(d))
		harvest_store(CONTAINER(d, struct harvest, delivery),
		    &d->store, note_placing, placing_noted);
}

static void
run_place(struct job *j)
{
	struct delivery *d = CONTAINER(j, struct delivery, job);
	struct harvest *h = CONTAINER(d, struct harvest, delivery);

	struct shared_dir to;

	d->why = WHY_INIT;
	if (harvest_open_path(h, SHARED_DIR_MAKE, &to, &d->why) == OK)
		(void)!place_file(h->dir, &to, h->path.p, &d->file, &d->why);
	shared_dir_close(&to);
}

/* ---- State ---------------------------------------------------------- */

void
harvest_take_state(struct harvest *h)
{
	struct delivery *d = &h->delivery;
	const struct totals_pairs *all = &h->totals.state;

	CHECK(!d->under_way);
	arena_reset(&d->arena);
	d->ready = ARENA_ARRAY(&d->arena, struct connector_state, all->n);
	d->ready_n = all->n;
	for (size_t i = 0; i < all->n; i++)
		d->ready[i] = (struct connector_state){
			arena_copy(&d->arena, all->list[i].key),
			arena_copy(&d->arena, all->list[i].value) };
	d->merged = false;
}

static void
merging_noted(struct store_job *j)
{
	struct delivery *d = CONTAINER(j, struct delivery, store);

	if (!succeeded(d))
		return;
	d->merged = true;
	harvest_tell_changed(CONTAINER(d, struct harvest, delivery));
	go_on_with(d);
}

static void
note_merging(struct store_job *j, struct store *st)
{
	struct delivery *d = CONTAINER(j, struct delivery, store);
	struct harvest *h = CONTAINER(d, struct harvest, delivery);

	d->why = WHY_INIT;
	(void)!store_harvest_merged(st, h->id, &d->why);
}

static void
state_merged(struct mail *m)
{
	struct delivery *d = CONTAINER(CONTAINER(m, struct job, mail),
	    struct delivery, job);

	if (succeeded(d))
		harvest_store(CONTAINER(d, struct harvest, delivery),
		    &d->store, note_merging, merging_noted);
}

static void
run_merge(struct job *j)
{
	struct delivery *d = CONTAINER(j, struct delivery, job);
	struct harvest *h = CONTAINER(d, struct harvest, delivery);

	struct shared_dir to = SHARED_DIR_INIT;

	d->why = WHY_INIT;
	if (d->ready_n > 0 &&
	    harvest_open_path(h, SHARED_DIR_MAKE, &to, &d->why) == OK)
		(void)!state_file_merge(&to, d->ready, d->ready_n,
		    h->text.connector->state_is_number, &d->why);
	shared_dir_close(&to);
}

/* ---- What is next --------------------------------------------------- */

void
harvest_deliver_now(struct harvest *h)
{
	struct delivery *d = &h->delivery;

	d->waits = false;
	loop_timer_stop(h->all->options.home, &d->timer);
	harvest_deliver(h);
}

void
harvest_deliver(struct harvest *h)
{
	struct delivery *d = &h->delivery;

	size_t at = 0;

	if (d->under_way || d->waits || h->settling.under_way)
		return;
	while (at < h->warcs_n && h->warcs[at].placed)
		at++;
	if (at < h->warcs_n) {
		d->under_way = true;
		d->file = h->warcs[at];
		harvest_work(h, &d->job, run_place, file_placed);
	} else if (!d->merged) {
		d->under_way = true;
		harvest_work(h, &d->job, run_merge, state_merged);
	} else {
		harvest_delivered(h);
	}
}

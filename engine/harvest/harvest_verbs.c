/*
 * What a harvest is asked to come to, while it is under way and when it has
 * paused:
 *
 *     runs ─► pause, stop ─► calls end ─► settled, delivered ─► ended()
 *     paused ─► resume ─► resumed() ─► runs
 *         └───► stop ───► resumed() ─► settled, delivered ─► ended()
 */
#include "engine/harvest/harvest_own.h"
#include "engine/store/store_outbox.h"
#include "os/clock.h"
#include "os/log.h"

/* ---- One that has paused --------------------------------------------- */

static bool
is_paused(const struct harvest *h)
{
	return h->over && h->shown == STORE_HARVEST_PAUSED;
}

void
harvest_look_at_aim(struct harvest *h)
{
	const struct harvests_options *o = &h->all->options;

	if (!is_paused(h) || h->aim == AIM_PAUSE)
		return;
	h->over = h->told = h->delivery.waits = false;
	if (o->resumed != NULL)
		o->resumed(o->arg, h->id);
	if (h->end != STORE_HARVEST_GOES_ON || !h->started) {
		harvest_take_up(h);
	} else if (h->aim == AIM_STOP && h->web != NULL) {
		harvest_web_go_on(h->web);
	} else if (h->aim == AIM_STOP) {
		harvest_settle(h);
	} else {
		harvest_note_resumed(h);
		harvest_note_running(h);
	}
}

/* ---- One that is under way -------------------------------------------- */

static void
cut_calls(struct timer *t)
{
	struct harvest *h = CONTAINER(t, struct harvest, stop_timer);

	if (h->web != NULL)
		harvest_web_cut(h->web);
	else
		driver_cut(h->driver);
}

static void
aim_at(struct harvest *h, enum harvest_aim aim)
{
	if (h->aim == aim || (h->over && !is_paused(h)))
		return;
	h->aim = aim;
	if (h->over) {
		if (h->told)
			harvest_look_at_aim(h);
		return;
	}
	if (h->end != STORE_HARVEST_GOES_ON) {
		if (aim == AIM_PAUSE && !h->settling.under_way)
			harvest_deliver_now(h);
		return;
	}
	/* It begins, and will look. */
	if (!h->started) {
		harvest_stop_waiting(h);
		return;
	}
	if (aim != AIM_RUN) {
		h->stop_timer.fire = cut_calls;
		loop_timer_set(h->all->options.home, &h->stop_timer,
		    mono_add_ms(clock_mono(), HARVEST_STOP_MS));
	}
	/* It settles in any case, and looks then. */
	if (h->web != NULL)
		harvest_web_look(h->web);
	else if (!h->settling.under_way)
		driver_hold(h->driver);
}

void
harvest_pause(struct harvests *all, struct str id)
{
	struct harvest *h = harvest_find(all, id);

	if (h != NULL && h->aim != AIM_STOP)
		aim_at(h, AIM_PAUSE);
}

void
harvests_pause_all(struct harvests *all)
{
	LIST_EACH(h, &all->all, struct harvest, node)
		if (h->aim != AIM_STOP)
			aim_at(h, AIM_PAUSE);
}

void
harvest_resume(struct harvests *all, struct str id)
{
	struct harvest *h = harvest_find(all, id);

	if (h == NULL)
		return;
	if (h->continued && !h->taken_up)
		harvest_take_up(h);
	else if (h->aim == AIM_PAUSE)
		aim_at(h, AIM_RUN);
}

/* ---- Stops ------------------------------------------------------------ */

static void
write_stop(struct store_job *j, struct store *st)
{
	struct harvest *h = CONTAINER(j, struct harvest, stop_store);

	h->stop_why = WHY_INIT;
	(void)!store_stop_harvest(st, h->id, clock_wall(), &h->stop_is_told,
	    &h->stop_why);
}

static void
stop_written(struct store_job *j)
{
	struct harvest *h = CONTAINER(j, struct harvest, stop_store);

	if (h->stop_why.err != OK) {
		log_error("harvest.store", "harvest=%s why=%s",
		    log_quoted(h->id), log_why(&h->stop_why));
	} else if (h->stop_is_told && !h->over) {
		h->shown = STORE_HARVEST_STOPPING;
		harvest_tell_changed(h);
	}
}

void
harvest_stop(struct harvests *all, struct str id)
{
	struct harvest *h = harvest_find(all, id);

	if (h == NULL || h->aim == AIM_STOP || (h->over && !is_paused(h)))
		return;
	/* Before what follows from it: jobs of the store keep their order. */
	h->stop_store = (struct store_job){ .run = write_stop,
	    .done = stop_written };
	store_async_put(engine_store_async(all->options.engine),
	    &h->stop_store);
	aim_at(h, AIM_STOP);
}

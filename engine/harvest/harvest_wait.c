/*
 * Too much waits for directories that are away or full: harvests whose own
 * files wait make no further call, and say so, until there is room again.
 *
 *     runs ─► settled, staged_bytes_max waits ─► paused, root_unavailable
 *       ▲                                               │
 *       └──────────── a file went to its place ◄────────┘
 */
#include "engine/harvest/harvest_own.h"
#include "os/clock.h"
#include "os/log.h"

static uint64_t
waiting_bytes(const struct harvest *h)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < h->warcs_n; i++)
		bytes += h->warcs[i].placed ? 0 : h->warcs[i].bytes;
	return bytes;
}

bool
harvest_must_wait(const struct harvest *h)
{
	uint64_t most = h->all->options.staged_bytes_max, sum = 0;

	if (most == 0 || !harvest_delivery_hangs(h))
		return false;
	LIST_EACH(x, &h->all->all, struct harvest, node)
		if (harvest_delivery_hangs(x))
			sum += waiting_bytes(x);
	return sum + harvest_open_bytes(h) >= most;
}

/* ---- The state ------------------------------------------------------ */

static void
wait_noted(struct store_job *j)
{
	harvest_tell_changed(CONTAINER(j, struct harvest, wait_store));
}

/* Whether it was written does not matter: it is, with what comes next. */
static void
note_wait(struct store_job *j, struct store *st)
{
	struct harvest *h = CONTAINER(j, struct harvest, wait_store);

	(void)!store_harvest_set_state(st, h->id, STORE_HARVEST_PAUSED,
	    clock_wall(), NULL);
}

void
harvest_hold_back(struct harvest *h)
{
	log_warn("harvest.waits", "harvest=%s why=%s", log_quoted(h->id),
	    log_why(&h->delivery.why));
	h->held_back = true;
	h->shown = STORE_HARVEST_PAUSED;
	if (!h->held_before)
		totals_note(&h->totals, TOTALS_WARNING,
		    STR("root_unavailable"), STR("files wait for their "
		    "directory, which cannot be written to, and there is no "
		    "room for more"), STR_NONE);
	h->held_before = true;
	harvest_store(h, &h->wait_store, note_wait, wait_noted);
}

void
harvests_look_for_room(struct harvests *all)
{
	LIST_EACH(h, &all->all, struct harvest, node) {
		if (!h->held_back || h->aim != AIM_RUN || harvest_must_wait(h))
			continue;
		h->held_back = false;
		harvest_note_running(h);
	}
}

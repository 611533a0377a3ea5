#include "engine/fetcher/outbox.h"

#include "engine/fetcher/host.h"
#include "engine/fetcher/page.h"

/* A quarter of the uncommitted limits is divided among the loops; the rest goes
 * to whichever loop needs it. */
#define OWN_PART 4
/* Finished pages are handed over so many at a time, or after so long. */
#define OUTBOX_PAGES 16
#define OUTBOX_MS 1

static void
outbox_due(struct timer *t)
{
	outbox_empty(CONTAINER(t, struct outbox, timer)->fetcher);
}

void
outbox_open(struct fetcher *f)
{
	f->outbox = mem_new(sizeof(*f->outbox));
	f->outbox->fetcher = f;
	f->outbox->timer.fire = outbox_due;
	list_init(&f->outbox->pages);
}

void
outbox_close(struct fetcher *f)
{
	loop_timer_stop(f->loop, &f->outbox->timer);
	mem_free(&f->outbox);
}

void
outbox_empty(struct fetcher *f)
{
	struct outbox *o = f->outbox;

	while (!list_empty(&o->pages)) {
		struct page *p = LIST_POP(&o->pages, struct page, node);
		frontier_submit(f->options.frontier, &p->submission);
	}
	o->n = 0;
	o->lent = false;
	loop_timer_stop(f->loop, &o->timer);
}

void
outbox_put(struct fetcher *f, struct page *p)
{
	struct outbox *o = f->outbox;

	if (o->n++ == 0)
		loop_timer_set(f->loop, &o->timer,
		    mono_add_ms(loop_now(f->loop), OUTBOX_MS));
	o->lent |= p->lender != NULL;
	list_put(&o->pages, &p->node);
}

void
outbox_turn_end(struct fetcher *f)
{
	const struct outbox *o = f->outbox;

	/* While pages are being fetched, nothing waits for the timer. */
	if (o->n >= OUTBOX_PAGES || (f->hosts->in_flight == 0 && !o->lent))
		outbox_empty(f);
}

void
outbox_count(struct fetcher *f, size_t bytes)
{
	f->outbox->uncommitted++;
	f->outbox->uncommitted_bytes += bytes;
	atomic_fetch_add_explicit(&f->options.uncommitted->pages, 1,
	    memory_order_relaxed);
	atomic_fetch_add_explicit(&f->options.uncommitted->bytes, bytes,
	    memory_order_relaxed);
}

void
outbox_uncount(struct fetcher *f, size_t bytes)
{
	f->outbox->uncommitted--;
	f->outbox->uncommitted_bytes -= bytes;
	atomic_fetch_sub_explicit(&f->options.uncommitted->pages, 1,
	    memory_order_relaxed);
	atomic_fetch_sub_explicit(&f->options.uncommitted->bytes, bytes,
	    memory_order_relaxed);
	fetcher_pump_soon(f);
}

bool
outbox_reader_is_behind(const struct fetcher *f)
{
	return f->options.events_waiting != NULL &&
	    atomic_load_explicit(f->options.events_waiting,
	    memory_order_relaxed) >= f->options.events_waiting_max;
}

/*
 * One busy host may fill nearly all of the limit, and each loop has a small
 * part of it that no other takes.  A loop that is full has something of its own
 * under way, whose end tells it that it may go on.
 */
static bool
is_reached(const struct fetcher *f, size_t own, const atomic_size_t *all,
    size_t max)
{
	size_t loops = f->options.all_n;
	size_t part = MAX(1, max / OWN_PART / loops);
	size_t others = MIN(max, part * (loops - 1));

	return own >= part && atomic_load_explicit(all,
	    memory_order_relaxed) >= max - others;
}

bool
outbox_is_full(const struct fetcher *f)
{
	const struct outbox *o = f->outbox;
	const struct uncommitted *all = f->options.uncommitted;
	const struct fetch_settings *s = f->settings;

	return is_reached(f, o->uncommitted, &all->pages,
	    s->uncommitted_max) || is_reached(f, o->uncommitted_bytes,
	    &all->bytes, s->uncommitted_bytes_max) ||
	    outbox_reader_is_behind(f);
}

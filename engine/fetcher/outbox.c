#include "engine/fetcher/outbox.h"

#include "engine/fetcher/host.h"
#include "engine/fetcher/page.h"

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
}

void
outbox_uncount(struct fetcher *f, size_t bytes)
{
	f->outbox->uncommitted--;
	f->outbox->uncommitted_bytes -= bytes;
	fetcher_pump_soon(f);
}

bool
outbox_reader_is_behind(const struct fetcher *f)
{
	return f->options.events_waiting != NULL &&
	    atomic_load_explicit(f->options.events_waiting,
	    memory_order_relaxed) >= f->options.events_waiting_max;
}

bool
outbox_is_full(const struct fetcher *f)
{
	return f->outbox->uncommitted >= f->settings->uncommitted_max ||
	    f->outbox->uncommitted_bytes >=
	    f->settings->uncommitted_bytes_max || outbox_reader_is_behind(f);
}

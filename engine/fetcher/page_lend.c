/*
 * A host's loop fetches; what is left of a page's work needs nothing of the
 * host: decoding, links, digests, compression and records.  A busy loop lends
 * pages to idle ones for that:
 *
 *     host's loop   fetch ─► judge ─┐                                ┌► report
 *     idle loop                     └► parse ─► ... ─► commit ─► ledger
 *
 * A loop is busy or idle by the share of the time that its own requests and
 * pages took lately (loop_load.h); time spent on pages of others does not
 * count, so a loop that helps stays idle.  It takes PAGE_LENT_MAX pages at
 * most; beyond that the lender builds its pages itself.
 *
 * Several pages of a host may be built at once and reach the ledger in any
 * order, on which it does not depend: each is a submission of its own.
 */
#include "base/metric.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/outbox.h"
#include "engine/fetcher/page.h"
#include "os/clock.h"

#define LEND_METRICS(X)                                                      \
	X(LENT, COUNTER, "argiope_pages_lent_total",                         \
	    "Pages that a busy loop left to an idle one when they were "     \
	    "fetched.")
enum { LEND_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { LEND_METRICS(METRIC_ROW) };

void
page_lend_open(struct fetcher *f)
{
	metric_register(metrics, ARRAY_LEN(metrics));
	f->pages->load.since = loop_now(f->loop);
}

void
page_lend_turn_end(struct fetcher *f)
{
	loop_load_turn(&f->pages->load, loop_now(f->loop), clock_mono());
}

static bool
is_busy(const struct fetcher *f)
{
	/* With fewer requests under way it has the time for its pages. */
	return f->hosts->in_flight >= 2 &&
	    loop_load_permille(&f->pages->load) >= f->settings->lend_busy_min;
}

/* False: the loop has as many pages of others as it may. */
static bool
take_place(struct fetcher *to)
{
	atomic_uint *taken = &to->pages->borrowed;
	unsigned n = atomic_load_explicit(taken, memory_order_relaxed);

	do {
		if (n >= PAGE_LENT_MAX)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(taken, &n, n + 1,
	    memory_order_relaxed, memory_order_relaxed));
	return true;
}

/*
 * A place at an idle loop, or NULL.  The loops after this one come first, and
 * the next one only when those before it have enough: fewer are woken, and each
 * busy loop begins with another one.
 */
static struct fetcher *
find_place(struct fetcher *f)
{
	struct fetcher *const *all = f->options.all;
	size_t n = f->options.all_n, own = 0;
	unsigned load = loop_load_permille(&f->pages->load);
	struct mono now = loop_now(f->loop);

	while (all[own] != f)
		own++;
	for (size_t i = 1; i < n; i++) {
		struct fetcher *other = all[(own + i) % n];
		if (loop_load_is_idle(&other->pages->load, load, now) &&
		    take_place(other))
			return other;
	}
	return NULL;
}

/* Robots.txt is its host's, and pieces of a stream came to its loop. */
static bool
may_leave(const struct page *p)
{
	return p->kind != PAGE_OF_ROBOTS && p->lender == NULL && !p->streamed;
}

bool
page_lend(struct page *p)
{
	struct fetcher *f = p->fetcher, *to;

	if (!may_leave(p) || !is_busy(f) || (to = find_place(f)) == NULL)
		return false;
	metric_add(&metrics[METRIC_LENT], 1);
	p->lender = f;
	p->bytes_counted = page_hop(p)->body.n;
	outbox_count(f, p->bytes_counted);
	return page_travel(p, to);
}

void
page_unlend(struct page *p)
{
	atomic_fetch_sub_explicit(&p->fetcher->pages->borrowed, 1,
	    memory_order_relaxed);
	page_leave(p);
	p->fetcher = p->lender;
}

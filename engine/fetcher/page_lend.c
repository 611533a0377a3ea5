/*
 * One busy host keeps one loop busy.  A loop that has no requests of its own
 * takes over the last steps of another's pages: digest, compression and records
 * need nothing of the host.
 */
#include "engine/fetcher/host.h"
#include "engine/fetcher/outbox.h"
#include "engine/fetcher/page.h"

/* Pages at a loop that helps; beyond it the host's own loop goes on. */
#define LENT_MAX 8

/* Another loop that has the time to build this loop's pages, or NULL. */
static struct fetcher *
find_idle(struct fetcher *f)
{
	/* With less under way its own loop has the time. */
	if (f->hosts->in_flight < 2)
		return NULL;
	for (size_t i = 0; i < f->options.all_n; i++) {
		struct fetcher *other = f->options.all[i];
		if (other != f && atomic_load_explicit(&other->pages->busy,
		    memory_order_relaxed) == 0 && atomic_load_explicit(
		    &other->pages->borrowed, memory_order_relaxed) < LENT_MAX)
			return other;
	}
	return NULL;
}

bool
page_lend(struct page *p)
{
	struct fetcher *f = p->fetcher, *to;

	if (p->kind != PAGE_URL || p->lender != NULL ||
	    (to = find_idle(f)) == NULL)
		return false;
	p->lender = f;
	p->bytes_counted = page_hop(p)->body.n;
	outbox_count(f, p->bytes_counted);
	atomic_fetch_add_explicit(&to->pages->borrowed, 1,
	    memory_order_relaxed);
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

/*
 * What a loop does when a crawl's rules were changed, or URLs are to be tried
 * again.
 */
#include "engine/fetcher/state.h"
#include "os/clock.h"

void
fetcher_return_excluded(struct fetcher *f, uint32_t crawl)
{
	size_t at = 0;
	void *v;

	while (map_next(&f->hosts, &at, &v)) {
		struct host *h = v;
		for (struct list *n = h->windows.next; n != &h->windows;
		    n = n->next) {
			struct window *w = LIST_ITEM(n, struct window, node);
			if (w->crawl->shared->id == crawl)
				window_return_excluded(w);
		}
		host_settle(h);
	}
	fetcher_empty_outbox(f);
}

static bool
serves(const struct host *h, uint32_t crawl)
{
	for (struct list *n = h->windows.next; n != &h->windows; n = n->next)
		if (LIST_ITEM(n, struct window, node)->crawl->shared->id ==
		    crawl)
			return true;
	return false;
}

static void
forget_trouble(const struct host *h, bool robots)
{
	for (struct list *n = h->origins.next; n != &h->origins; n = n->next) {
		struct origin *o = LIST_ITEM(n, struct origin, node);
		o->down_until = (struct mono){ 0 };
		if (robots || o->unreachable)
			o->ttl_s = 0;
	}
}

void
fetcher_forget_trouble(struct fetcher *f, uint32_t crawl, bool robots)
{
	size_t at = 0;
	void *v;

	if (robots)
		f->robots_since = clock_wall();
	while (map_next(&f->hosts, &at, &v))
		if (serves(v, crawl))
			forget_trouble(v, robots);
}

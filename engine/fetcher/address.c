/*
 * Addresses: how many connections go to one, whatever the names of its hosts.
 */
#include "engine/fetcher/state.h"

static struct address *
address_get(struct fetcher *f, const struct ip *ip)
{
	struct str key = { (const char *)ip->b, sizeof(ip->b) };
	struct address *a = map_get(&f->addresses, key);

	if (a != NULL)
		return a;
	a = mem_new(sizeof(*a));
	a->ip = *ip;
	list_init(&a->waiting);
	key.p = (const char *)a->ip.b;
	map_put(&f->addresses, key, a);
	return a;
}

bool
page_take_address(struct page *p)
{
	struct fetcher *f = p->fetcher;

	if (p->addresses_n == 0)
		return true;
	struct address *a = address_get(f, &p->addresses[0]);
	if (a->in_flight >= f->settings->address_connections_max) {
		list_put(&a->waiting, &p->node);
		return false;
	}
	a->in_flight++;
	p->address = a;
	return true;
}

static void
release_address(struct page *p)
{
	struct address *a = p->address;
	struct fetcher *f = p->fetcher;

	if (a == NULL)
		return;
	p->address = NULL;
	a->in_flight--;
	if (!list_empty(&a->waiting)) {
		struct page *next = LIST_ITEM(a->waiting.next, struct page,
		    node);
		list_take(&next->node);
		page_go(next, PAGE_FETCH);
	} else if (a->in_flight == 0) {
		map_take(&f->addresses, (struct str){
		    (const char *)a->ip.b, sizeof(a->ip.b) });
		free(a);
	}
}

/* The request is over: the host's clock starts, others may go. */
void
page_release_slot(struct page *p)
{
	release_address(p);
	if (p->counted) {
		atomic_fetch_sub_explicit(&p->crawl->shared->downloads, 1,
		    memory_order_relaxed);
		p->counted = false;
	}
	if (!p->holds_slot)
		return;
	p->holds_slot = false;
	host_end(p->host, host_delay_ms(p->host, p->crawl, NULL));
}

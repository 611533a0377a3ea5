#include "engine/fetcher/address_slots.h"

#include "base/metric.h"
#include "engine/fetcher/address_clock.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/host.h"
#include "os/clock.h"

#define ADDRESS_METRICS(X)                                                   \
	X(ADDRESS_WAITS, COUNTER, "argiope_address_waits_total",             \
	    "Requests that waited for fetch.address_delay_ms.")
enum { ADDRESS_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { ADDRESS_METRICS(METRIC_ROW) };

/* An address and how many connections are open to it. */
struct address {
	struct ip ip;
	unsigned in_flight;
	struct list waiting;             /* pages */
};

void
address_slots_open(void)
{
	metric_register(metrics, ARRAY_LEN(metrics));
}

void
address_slots_close(struct fetcher *f)
{
	MAP_EACH(v, &f->addresses, void)
		mem_free(&v);
	map_free(&f->addresses);
}

/*
 * Back to its host, which sleeps until then: it holds neither a connection nor
 * one of the crawl's downloads meanwhile.
 */
static void
wait_until(struct page *p, struct mono at)
{
	metric_add(&metrics[METRIC_ADDRESS_WAITS], 1);
	fetch_crawl_give_download(p->crawl);
	p->holds_slot = false;
	p->step = PAGE_TURN;
	/* Before those that came after it. */
	host_wait_until(p->host, p, at);
}

/*
 * False: the address was asked a moment ago, and the page waits.  Hosts without
 * a delay are not held back; others never by more than their own delay, so that
 * one host alone at its address keeps its pace.
 */
static bool
is_due(struct page *p)
{
	struct fetcher *f = p->fetcher;
	int64_t spacing = f->settings->address_delay_ms;
	struct mono now = clock_mono();

	if (spacing > 0 && f->options.address_clock != NULL)
		spacing = MIN(spacing, host_delay_ms(p->host, p->crawl));
	else
		spacing = 0;
	if (spacing == 0 || !p->holds_slot)
		return true;
	if (p->address_due.ns == 0) {
		struct mono at;
		if (!address_clock_reserve(f->options.address_clock,
		    &p->addresses[0], now, spacing, &at)) {
			wait_until(p, at);
			return false;
		}
		p->address_due = at;
	}
	if (!mono_before(now, p->address_due))
		return true;
	wait_until(p, p->address_due);
	return false;
}

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
address_slots_take(struct page *p)
{
	struct fetcher *f = p->fetcher;

	if (p->addresses_n == 0)
		return true;
	if (!is_due(p))
		return false;
	struct address *a = address_get(f, &p->addresses[0]);
	if (a->in_flight >= f->settings->address_connections_max) {
		list_put(&a->waiting, &p->node);
		return false;
	}
	a->in_flight++;
	p->address = a;
	p->address_due = (struct mono){ 0 };
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
		struct page *next = LIST_POP(&a->waiting, struct page, node);
		page_wake(next, PAGE_FETCH);
	} else if (a->in_flight == 0) {
		map_take(&f->addresses, (struct str){
		    (const char *)a->ip.b, sizeof(a->ip.b) });
		free(a);
	}
}

void
page_release_slot(struct page *p)
{
	release_address(p);
	if (!p->holds_slot)
		return;
	p->holds_slot = false;
	fetch_crawl_give_download(p->crawl);
	host_end(p->host, host_delay_ms(p->host, p->crawl));
}

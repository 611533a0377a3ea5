#include "engine/fetcher/loop_query.h"

#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/origin.h"
#include "engine/fetcher/outbox.h"
#include "engine/fetcher/page.h"
#include "engine/fetcher/window.h"
#include "os/clock.h"

/* --- the whole loop ----------------------------------------------------- */

static void
note_next(const struct host *h, struct mono *at, char *name, size_t size)
{
	if (!mono_before(h->next_at, *at))
		return;
	*at = h->next_at;
	snprintf(name, size, "%.*s", STR_FMT(h->name));
}

static struct host *
sleeper(const struct host_table *t, size_t i)
{
	return CONTAINER(t->sleeping.nodes[i], struct host, sleep_node);
}

void
fetcher_look(struct fetcher *f, struct fetcher_view *out)
{
	const struct host_table *t = f->hosts;
	struct mono now = loop_now(f->loop);

	memset(out, 0, sizeof(*out));
	out->in_flight = f->hosts->in_flight;
	out->uncommitted = (unsigned)f->outbox->uncommitted;
	out->requests = f->pages->requests;
	out->bytes_in = f->pages->bytes_in;
	out->held_back = outbox_is_full(f);
	out->next_at = MONO_NEVER;
	for (struct list *n = t->ready.next; n != &t->ready; n = n->next)
		out->hosts_ready++;
	for (size_t i = 0; i < t->sleeping.n; i++) {
		struct host *h = sleeper(t, i);
		if (!mono_before(now, h->next_at))
			continue;
		out->hosts_delayed += h->backoff_ms == 0;
		out->hosts_backoff += h->backoff_ms != 0;
		if (!mono_before(h->next_at, out->next_at))
			continue;
		note_next(h, &out->next_at, out->next_host,
		    sizeof(out->next_host));
		out->next_backoff = h->backoff_ms != 0;
	}
}

/* --- one crawl ---------------------------------------------------------- */

struct looking {
	struct fetcher *f;
	struct fetch_crawl *crawl;
	struct fetcher_crawl *out;
	struct mono now, next_at;
	const struct host **hosts;       /* with work of the crawl */
	size_t hosts_n, hosts_cap;
};

static double
seconds(struct mono now, struct mono at)
{
	return mono_before(now, at) ?
	    (double)mono_ns_between(now, at) / NS_PER_S : 0;
}

static bool
asks_robots(const struct host *h)
{
	for (struct list *n = h->origins.next; n != &h->origins; n = n->next)
		if (!list_empty(&LIST_ITEM(n, struct origin, node)->waiting))
			return true;
	return false;
}

static enum host_wait
wait_of(const struct host *h, struct mono now)
{
	if (mono_before(now, h->next_at))
		return h->backoff_ms != 0 ? HOST_WAITS_BACKOFF :
		    HOST_WAITS_DELAY;
	return asks_robots(h) ? HOST_WAITS_ROBOTS : HOST_WAITS_NOT;
}

/* Leases of the crawl, or a serve out for some. */
static bool
has_work(const struct host *h, const struct fetch_crawl *c)
{
	for (struct list *n = h->waiting.next; n != &h->waiting; n = n->next)
		if (LIST_ITEM(n, struct page, node)->crawl == c)
			return true;
	LIST_EACH(w, &h->windows, const struct window, node) {
		if (w->crawl == c && (w->left > 0 || w->serve != NULL))
			return true;
	}
	return false;
}

static void
add_host(struct looking *k, struct host *h, bool works)
{
	struct fetcher_crawl *out = k->out;
	bool later = mono_before(k->now, h->next_at);

	if (h->looked == k->f->hosts->looks ||
	    (!works && !has_work(h, k->crawl)))
		return;
	h->looked = k->f->hosts->looks;
	out->ready += !later;
	out->delayed += later && h->backoff_ms == 0;
	out->backoff += later && h->backoff_ms != 0;
	/* Its slots are taken, and none of this crawl's. */
	out->for_others += !later && h->place == HOST_IDLE &&
	    h->in_flight > 0;
	if (later && mono_before(h->next_at, k->next_at)) {
		note_next(h, &k->next_at, out->next_host,
		    sizeof(out->next_host));
		out->next_wait = wait_of(h, k->now);
	}
	k->hosts = mem_room(k->hosts, k->hosts_n, &k->hosts_cap, 64,
	    sizeof(struct host *));
	k->hosts[k->hosts_n++] = h;
}

/* Then its hosts stand nowhere, whatever they have. */
static bool
rests(const struct looking *k)
{
	return k->crawl->order != FETCH_RUN ||
	    k->out->downloads >= k->out->downloads_max;
}

/* Hosts at work: in the rotation, asleep, or with every slot taken. */
static void
find_hosts(struct looking *k)
{
	struct host_table *t = k->f->hosts;
	struct list *pages = &k->f->pages->all;
	t->looks++;
	MAP_EACH(h, &t->by_name, struct host) {
		if (rests(k))
			add_host(k, h, false);
	}
	for (struct list *n = t->ready.next; n != &t->ready; n = n->next)
		add_host(k, LIST_ITEM(n, struct host, ready_node), false);
	for (size_t i = 0; i < t->sleeping.n; i++)
		add_host(k, sleeper(t, i), false);
	LIST_EACH(p, pages, struct page, all_node) {
		if (p->holds_slot)
			add_host(k, p->host, false);
	}
}

/* --- URLs that are leased ----------------------------------------------- */

static bool
add_url(struct looking *k, const struct host *h, const struct lease *l)
{
	struct fetcher_crawl *out = k->out;

	if (out->urls_n == out->urls_max)
		return false;
	out->urls[out->urls_n++] = (struct fetcher_url){
		.url = arena_copy(&out->arena, l->url),
		.host = arena_copy(&out->arena, h->name),
		.hash = l->hash, .cost = l->cost, .depth = l->depth,
		.next_s = seconds(k->now, h->next_at),
		.delay_s = (double)host_delay_ms(h, NULL) / 1000,
	};
	return true;
}

static void
add_window(struct looking *k, const struct host *h, const struct window *w)
{
	for (struct list *n = w->batches.next; n != &w->batches; n = n->next) {
		const struct serve *s = LIST_ITEM(n, struct serve, node);
		for (size_t i = s->taken; i < s->n; i++)
			if (!add_url(k, h, &s->leases[i]))
				return;
	}
}

/* Those that left their window and wait: for their turn, or robots.txt. */
static void
add_pages(struct looking *k)
{
	struct fetcher *f = k->f;
	struct list *pages = &f->pages->all;

	LIST_EACH(p, pages, struct page, all_node) {
		const struct host *h = map_get(&f->hosts->by_name,
		    page_hop(p)->url.host);
		if (p->crawl != k->crawl || p->kind != PAGE_URL)
			continue;
		bool waits = !p->holds_slot && p->step <= PAGE_TURN;
		if (!waits && k->out->busy_n < k->crawl->pages)
			k->out->busy[k->out->busy_n++] =
			    p->submission.lease.hash;
		else if (waits && h != NULL)
			add_url(k, h, &p->submission.lease);
	}
}

static int
sooner_first(const void *a, const void *b)
{
	const struct host *const *x = a, *const *y = b;

	return ((*x)->next_at.ns > (*y)->next_at.ns) -
	    ((*x)->next_at.ns < (*y)->next_at.ns);
}

static void
find_urls(struct looking *k)
{
	struct fetcher_crawl *out = k->out;

	out->urls = ARENA_ARRAY(&out->arena, struct fetcher_url,
	    out->urls_max + 1);
	out->busy = ARENA_ARRAY(&out->arena, uint64_t, k->crawl->pages + 1);
	add_pages(k);
	if (k->hosts_n > 1)
		qsort(k->hosts, k->hosts_n, sizeof(struct host *),
		    sooner_first);
	for (size_t i = 0; i < k->hosts_n; i++) {
		const struct host *h = k->hosts[i];
		LIST_EACH(w, &h->windows, struct window, node) {
			if (w->crawl == k->crawl)
				add_window(k, h, w);
		}
	}
}

/* --- the rest ----------------------------------------------------------- */

static void
count_pages(struct looking *k)
{
	struct list *pages = &k->f->pages->all;
	struct fetcher_crawl *out = k->out;

	LIST_EACH(p, pages, const struct page, all_node) {
		if (p->crawl != k->crawl)
			continue;
		out->in_flight += p->holds_slot;
		out->finishing += !p->holds_slot && p->step >= PAGE_JUDGE;
		if (p->step != PAGE_ROBOTS)
			continue;
		out->robots++;
		snprintf(out->robots_host, sizeof(out->robots_host), "%.*s",
		    STR_FMT(page_hop(p)->url.host));
	}
}

/* More of its URLs are on their way: it stands nowhere until they come. */
static void
find_asked_hosts(struct looking *k)
{
	for (size_t i = 0; i < k->out->hosts_n; i++) {
		const struct fetcher_host *x = &k->out->hosts[i];
		struct host *h = map_get(&k->f->hosts->by_name, x->host);
		if (h != NULL)
			add_host(k, h, x->waits);
	}
}

static void
fill_host(struct looking *k, struct fetcher_host *x)
{
	struct host *h = map_get(&k->f->hosts->by_name, x->host);

	if (fetcher_of(k->f, x->host) != k->f)
		return;
	x->known = h != NULL;
	x->delay_s = k->crawl == NULL ? 0 :
	    crawl_delay_s(k->crawl->shared, x->host);
	x->allowed = k->crawl != NULL &&
	    crawl_host_allowed(k->crawl->shared, x->host);
	if (h == NULL)
		return;
	x->wait = wait_of(h, k->now);
	x->next_s = seconds(k->now, h->next_at);
	x->in_flight = h->in_flight;
	x->delay_s = (double)host_delay_ms(h, k->crawl) / 1000;
}

void
fetcher_look_crawl(struct fetcher *f, struct fetcher_crawl *out)
{
	struct looking k = { .f = f, .out = out, .now = clock_mono(),
		.next_at = MONO_NEVER,
		.crawl = fetch_crawl_find(f, out->crawl) };

	out->next_s = -1;
	out->held_back = outbox_is_full(f);
	out->full = f->hosts->in_flight >= f->settings->connections_max;
	for (size_t i = 0; i < out->hosts_n; i++)
		fill_host(&k, &out->hosts[i]);
	if (k.crawl == NULL)
		return;
	const struct crawl_shared *s = k.crawl->shared;
	int downloads = atomic_load_explicit(&s->downloads,
	    memory_order_relaxed);
	out->known = true;
	out->downloads = (unsigned)MAX(0, downloads);
	out->downloads_max = (unsigned)policy_of(crawl_policy(s))->downloads;
	find_hosts(&k);
	find_asked_hosts(&k);
	count_pages(&k);
	find_urls(&k);
	if (k.next_at.ns != MONO_NEVER.ns)
		out->next_s = seconds(k.now, k.next_at);
	free(k.hosts);
}

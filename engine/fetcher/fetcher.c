#include "engine/fetcher/fetcher.h"

#include "engine/fetcher/state.h"
#include "os/clock.h"

/* Requests begun in one turn: the loop must look at its sockets in between. */
#define STARTS_PER_TURN 256
#define RECENT_SLOTS (1u << 16)
/* Finished pages are handed over so many at a time, or after so long. */
#define OUTBOX_PAGES 16
#define OUTBOX_MS 1
/* Pages at a loop that helps; beyond it the host's own loop goes on. */
#define BORROWED_MAX 8
/* A crawl at its limit of downloads is looked at again after so long. */
#define STALLED_MS 10

struct fetcher *
fetcher_of(struct fetcher *f, struct str host)
{
	return f->options.all[host_shard_port(f->options.host_shard, host)];
}

struct local_crawl *
local_crawl_get(struct fetcher *f, uint32_t id)
{
	struct local_crawl *c = map_get_id(&f->crawls, id);

	CHECK(c != NULL);
	return c;
}

/* Whoever reads the events (a stalled pipe) does not follow. */
static bool
reader_is_behind(const struct fetcher *f)
{
	return f->options.events_waiting != NULL &&
	    atomic_load_explicit(f->options.events_waiting,
	    memory_order_relaxed) >= f->options.events_waiting_max;
}

bool
fetcher_held_back(const struct fetcher *f)
{
	return f->uncommitted >= f->settings->uncommitted_max ||
	    f->uncommitted_bytes >= f->settings->uncommitted_bytes_max ||
	    reader_is_behind(f);
}

struct fetcher *
fetcher_idle_one(struct fetcher *f)
{
	/* With less under way its own loop has the time. */
	if (f->in_flight < 2)
		return NULL;
	for (size_t i = 0; i < f->options.all_n; i++) {
		struct fetcher *other = f->options.all[i];
		if (other != f && atomic_load_explicit(&other->busy,
		    memory_order_relaxed) == 0 && atomic_load_explicit(
		    &other->borrowed, memory_order_relaxed) < BORROWED_MAX)
			return other;
	}
	return NULL;
}

/* --- the pump ----------------------------------------------------------- */

void
fetcher_pump_soon(struct fetcher *f)
{
	f->pump_soon = true;
}

static void
wake_sleepers(struct fetcher *f)
{
	struct heap_node *n;
	struct mono now = loop_now(f->loop);

	while ((n = heap_first(&f->sleeping)) != NULL && n->key <= now.ns) {
		struct host *h = CONTAINER(n, struct host, sleep_node);
		heap_take(&f->sleeping, n);
		h->place = HOST_IDLE;
		host_settle(h);
	}
}

static void
pump(struct fetcher *f)
{
	f->pump_soon = false;
	wake_sleepers(f);
	for (int i = 0; i < STARTS_PER_TURN && !list_empty(&f->ready) &&
	    f->in_flight < f->settings->connections_max &&
	    !fetcher_held_back(f); i++) {
		struct host *h = LIST_ITEM(f->ready.next, struct host,
		    ready_node);
		/* To the tail, or to where it belongs after this request. */
		list_take(&h->ready_node);
		list_put(&f->ready, &h->ready_node);
		host_start_one(h);
		host_settle(h);
	}
	/* Nothing tells when the reader is there again. */
	if (reader_is_behind(f))
		fetcher_look_again(f);
	struct heap_node *n = heap_first(&f->sleeping);
	if (n != NULL)
		loop_timer_set(f->loop, &f->wake, (struct mono){ n->key });
}

void
fetcher_empty_outbox(struct fetcher *f)
{
	while (!list_empty(&f->outbox)) {
		struct page *p = LIST_ITEM(f->outbox.next, struct page, node);
		list_take(&p->node);
		frontier_submit(f->options.frontier, &p->submission);
	}
	f->outbox_n = 0;
	f->outbox_lent = false;
	loop_timer_stop(f->loop, &f->outbox_timer);
}

static void
outbox_due(struct timer *t)
{
	fetcher_empty_outbox(CONTAINER(t, struct fetcher, outbox_timer));
}

void
fetcher_hand_over(struct fetcher *f, struct page *p)
{
	if (f->outbox_n++ == 0)
		loop_timer_set(f->loop, &f->outbox_timer,
		    mono_add_ms(loop_now(f->loop), OUTBOX_MS));
	f->outbox_lent |= p->lender != NULL;
	list_put(&f->outbox, &p->node);
}

static void
turn_end(struct turn_hook *h)
{
	struct fetcher *f = CONTAINER(h, struct fetcher, turn);

	/* Steps that end at once make room for more within the same turn. */
	for (int i = 0; i < 4 && f->pump_soon; i++)
		pump(f);
	/* Waking the frontier's thread for each page costs more than the page's
	 * own admission; nobody waits that millisecond while others fetch. */
	if (f->outbox_n >= OUTBOX_PAGES ||
	    (f->in_flight == 0 && !f->outbox_lent))
		fetcher_empty_outbox(f);
	atomic_store_explicit(&f->busy, f->in_flight, memory_order_relaxed);
}

static void
wake_fired(struct timer *t)
{
	pump(CONTAINER(t, struct fetcher, wake));
}

/* A crawl that was at its limit has no event of its own when others end. */
static void
look_again(struct timer *t)
{
	struct fetcher *f = CONTAINER(t, struct fetcher, stalled);
	size_t at = 0;
	void *v;

	f->stalled_set = false;
	fetcher_pump_soon(f);
	while (map_next(&f->hosts, &at, &v)) {
		struct host *h = v;
		if (h->place == HOST_IDLE && !list_empty(&h->windows))
			host_settle(h);
	}
}

void
fetcher_look_again(struct fetcher *f)
{
	if (f->stalled_set)
		return;
	f->stalled_set = true;
	loop_timer_set(f->loop, &f->stalled, mono_add_ms(loop_now(f->loop),
	    f->stalled_ms));
}

/* --- notes and orders --------------------------------------------------- */

static void
work(struct queue_note *n)
{
	const struct frontier_port *port = n->port;
	struct fetcher *f = port->arg;
	struct local_crawl *c = map_get_id(&f->crawls, n->crawl);

	if (c == NULL || c->order == FETCH_END)
		return;
	struct host *h = host_get(f, n->key);
	struct window *w = window_get(h, c, n->queue);
	w->more = w->note_seen = true;
	host_settle(h);
}

void
fetcher_port(struct fetcher *f, struct frontier_port *p)
{
	p->loop = f->loop;
	p->work = work;
	p->arg = f;
}

struct order_mail {
	struct mail mail;
	struct fetcher *fetcher;
	struct crawl_shared *crawl;
	enum fetch_order order;
};

static struct local_crawl *
make_crawl(struct fetcher *f, struct crawl_shared *shared)
{
	struct local_crawl *c = mem_new(sizeof(*c));
	const struct policy *p = policy_of(crawl_policy(shared));

	c->fetcher = f;
	c->shared = shared;
	if (p->cookies) {
		c->cookies = cookie_jar_new();
		/* The command that took the file has checked its lines. */
		if (cookie_load(c->cookies, shared->cookies, clock_wall(),
		    NULL) != OK)
			CHECK(!"cookies were checked");
	}
	if (p->traps.stale_max != TRAP_NONE)
		c->traps = trap_memory_new(TRAP_PREFIXES_MAX);
	map_put_id(&f->crawls, shared->id, c);
	return c;
}

static void
drop_windows(struct fetcher *f, struct local_crawl *c)
{
	size_t at = 0;
	void *v;

	while (map_next(&f->hosts, &at, &v)) {
		struct host *h = v;
		struct list *next;
		for (struct list *n = h->windows.next; n != &h->windows;
		    n = next) {
			struct window *w = LIST_ITEM(n, struct window, node);
			next = n->next;
			if (w->crawl == c)
				window_drop(&w);
		}
		host_settle(h);
	}
}

/* Pages on the wire are stopped; those that wait find out in their step. */
static void
stop_pages(struct fetcher *f, struct local_crawl *c)
{
	struct list *next;

	for (struct list *n = f->pages.next; n != &f->pages; n = next) {
		struct page *p = LIST_ITEM(n, struct page, all_node);
		next = n->next;
		if (p->crawl != c)
			continue;
		if (p->step == PAGE_FETCH && p->address != NULL &&
		    p->exchange.own != NULL) {
			transport_stop(f->options.transport, &p->exchange);
			/* Stopping may have ended more than this one. */
			next = f->pages.next;
		}
	}
}

static void
deliver_order(struct mail *m)
{
	struct order_mail *o = CONTAINER(m, struct order_mail, mail);
	struct fetcher *f = o->fetcher;
	struct local_crawl *c = map_get_id(&f->crawls, o->crawl->id);

	if (c == NULL)
		c = make_crawl(f, o->crawl);
	c->order = o->order;
	if (o->order == FETCH_END) {
		drop_windows(f, c);
		stop_pages(f, c);
	} else {
		size_t at = 0;
		void *v;
		while (map_next(&f->hosts, &at, &v))
			host_settle(v);
	}
	fetcher_pump_soon(f);
	mem_free(&o);
}

void
fetcher_order(struct fetcher *f, const struct crawl_shared *crawl,
    enum fetch_order order)
{
	struct order_mail *o = mem_new(sizeof(*o));

	o->mail.deliver = deliver_order;
	o->fetcher = f;
	o->crawl = (struct crawl_shared *)(uintptr_t)crawl;
	o->order = order;
	loop_post(f->loop, &o->mail);
}

static void
free_crawl(struct local_crawl *c)
{
	cookie_jar_free(&c->cookies);
	trap_memory_free(&c->traps);
	free(c);
}

void
fetcher_forget(struct fetcher *f, uint32_t crawl)
{
	struct local_crawl *c = map_take_id(&f->crawls, crawl);

	CHECK(c == NULL || (c->order == FETCH_END && c->pages == 0));
	if (c != NULL)
		free_crawl(c);
}

/* --- life --------------------------------------------------------------- */

struct fetcher *
fetcher_new(const struct fetcher_options *o)
{
	struct fetcher *f = mem_new(sizeof(*f));
	struct warc_options wo = { .level = o->settings->compression_level,
	    .digest = o->settings->digest, .random = clock_random };

	f->options = *o;
	f->settings = o->settings;
	f->loop = o->loop;
	hosts_open(f);
	lines_open();
	list_init(&f->ready);
	list_init(&f->pages);
	list_init(&f->lone_lines);
	list_init(&f->outbox);
	f->outbox_timer.fire = outbox_due;
	f->turn.run = turn_end;
	f->wake.fire = wake_fired;
	f->stalled.fire = look_again;
	f->stalled_ms = STALLED_MS;
	f->parser = parser_new();
	f->writer = warc_writer_new(&wo);
	f->recent = mem_array(RECENT_SLOTS, sizeof(*f->recent));
	loop_hook(f->loop, &f->turn);
	return f;
}

void
fetcher_set(struct fetcher *f, const struct fetch_settings *settings)
{
	f->settings = settings;
}

void
fetcher_free(struct fetcher **fp)
{
	struct fetcher *f = *fp;
	size_t at = 0;
	void *v;

	if (f == NULL)
		return;
	loop_timer_stop(f->loop, &f->wake);
	loop_timer_stop(f->loop, &f->stalled);
	loop_timer_stop(f->loop, &f->idle_timer);
	loop_timer_stop(f->loop, &f->outbox_timer);
	list_take(&f->turn.node);
	f->closing = true;
	transport_free(&f->options.transport);
	resolver_free(&f->options.resolver);
	/* Killed or failed: what was under way is only memory. */
	while (!list_empty(&f->pages)) {
		struct page *p = LIST_ITEM(f->pages.next, struct page,
		    all_node);
		p->holds_slot = false;
		p->address = NULL;
		page_free(&p);
	}
	lone_lines_free(f);
	for (at = 0; map_next(&f->hosts, &at, &v);) {
		struct host *h = v;
		host_free(&h);
	}
	map_free(&f->hosts);
	for (at = 0; map_next(&f->crawls, &at, &v);)
		free_crawl(v);
	map_free(&f->crawls);
	for (at = 0; map_next(&f->addresses, &at, &v);)
		free(v);
	map_free(&f->addresses);
	heap_free(&f->sleeping);
	parser_free(&f->parser);
	warc_writer_free(&f->writer);
	mem_free(&f->recent);
	mem_free(fp);
}

/*
 * Hosts: whose turn it is.
 *
 *     IDLE      nothing to do, or every slot is taken
 *     READY     may start a request now; the ready list is a rotation
 *     SLEEPING  its delay or back-off has not passed
 *
 * One that no crawl wants any more is forgotten when it has been idle for
 * fetch.host_idle_ms, counted from the end of its delay, its back-off and
 * whatever else stands nowhere but here.
 */
#include <math.h>

#include "base/hash.h"
#include "base/metric.h"
#include "engine/fetcher/state.h"
#include "engine/policy/address.h"
#include "os/clock.h"

/* How long a host that failed through all tries is not asked again. */
#define HOST_DOWN_MS 60000
/* Broken pages stand together: so many in a row are no dead host yet. */
#define HOST_SILENT_MAX 16
/* With a delay a short window does: the rest stays in the index. */
#define WINDOW_DELAYED 4

#define HOST_METRICS(X)                                                      \
	X(HOSTS_KNOWN, GAUGE, "argiope_hosts_known",                         \
	    "Hosts that the loops remember; idle ones go after "             \
	    "fetch.host_idle_ms.")
enum { HOST_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { HOST_METRICS(METRIC_ROW) };

/* --- hosts that nobody wants -------------------------------------------- */

static bool
wanted(const struct host *h)
{
	return h->in_flight > 0 || !list_empty(&h->waiting) ||
	    !list_empty(&h->windows);
}

static void
set_idle_timer(struct fetcher *f)
{
	const struct host *first = LIST_ITEM(f->idle.next, struct host,
	    idle_node);

	if (!list_empty(&f->idle))
		loop_timer_set(f->loop, &f->idle_timer, mono_add_ms(
		    first->idle_since, f->settings->host_idle_ms));
}

static void
put_idle(struct host *h)
{
	struct fetcher *f = h->fetcher;
	bool first = list_empty(&f->idle);

	h->idle_since = loop_now(f->loop);
	list_put(&f->idle, &h->idle_node);
	if (first && !f->closing)
		set_idle_timer(f);
}

static void
consider_idle(struct host *h)
{
	if (wanted(h))
		list_take(&h->idle_node);
	else if (list_empty(&h->idle_node))
		put_idle(h);
}

/* Pages wait for its robots.txt, or that could not be read a moment ago. */
static bool
origin_holds(const struct origin *o, struct mono now, int64_t idle_ms)
{
	return o->state == ORIGIN_LOADING || o->state == ORIGIN_FETCHING ||
	    !list_empty(&o->waiting) || ((o->unreachable || o->stale) &&
	    mono_before(now, mono_add_ms(o->fetched_at, o->ttl_s * 1000 +
	    idle_ms)));
}

static bool
may_go(const struct host *h, struct mono now)
{
	int64_t ms = h->fetcher->settings->host_idle_ms;

	if (wanted(h) || mono_before(now, mono_add_ms(h->next_at, ms)) ||
	    mono_before(now, mono_add_ms(h->down_until, ms)))
		return false;
	for (struct list *n = h->origins.next; n != &h->origins; n = n->next)
		if (origin_holds(LIST_ITEM(n, struct origin, node), now, ms))
			return false;
	return true;
}

static void leave(struct host *);

/* Who may not go yet is looked at again when it has been idle once more. */
static void
idle_due(struct timer *t)
{
	struct fetcher *f = CONTAINER(t, struct fetcher, idle_timer);
	struct mono now = loop_now(f->loop);

	while (!list_empty(&f->idle)) {
		struct host *h = LIST_ITEM(f->idle.next, struct host,
		    idle_node);
		if (mono_before(now, mono_add_ms(h->idle_since,
		    f->settings->host_idle_ms)))
			break;
		list_take(&h->idle_node);
		if (may_go(h, now)) {
			leave(h);
			map_take(&f->hosts, h->name);
			host_free(&h);
		} else if (!wanted(h)) {
			put_idle(h);
		}
	}
	set_idle_timer(f);
}

void
hosts_open(struct fetcher *f)
{
	metric_register(metrics, ARRAY_LEN(metrics));
	addresses_open();
	list_init(&f->idle);
	f->idle_timer.fire = idle_due;
}

/* --- hosts -------------------------------------------------------------- */

struct host *
host_get(struct fetcher *f, struct str name)
{
	struct host *h = map_get(&f->hosts, name);

	if (h != NULL)
		return h;
	h = mem_new(sizeof(*h));
	h->fetcher = f;
	char *copy = mem_array(name.n + 1, 1);
	memcpy(copy, name.p, name.n);
	h->name = (struct str){ copy, name.n };
	list_init(&h->ready_node);
	list_init(&h->waiting);
	list_init(&h->windows);
	list_init(&h->origins);
	list_init(&h->idle_node);
	map_put(&f->hosts, h->name, h);
	metric_add(&metrics[METRIC_HOSTS_KNOWN], 1);
	put_idle(h);
	return h;
}

void
host_free(struct host **hp)
{
	struct host *h = *hp;
	char *name = (char *)(uintptr_t)h->name.p;

	while (!list_empty(&h->windows)) {
		struct window *w = LIST_ITEM(h->windows.next, struct window,
		    node);
		window_drop(&w);
	}
	while (!list_empty(&h->origins)) {
		struct origin *o = LIST_ITEM(h->origins.next, struct origin,
		    node);
		origin_free(&o);
	}
	list_take(&h->idle_node);
	metric_add(&metrics[METRIC_HOSTS_KNOWN], -1);
	mem_free(&name);
	mem_free(hp);
}

/* --- windows ------------------------------------------------------------ */

static void
serve_free(struct serve *s)
{
	arena_free(&s->arena);
	buf_free(&s->from);
	free(s);
}

static void
give_back(struct local_crawl *c, const struct lease *l)
{
	struct page *p = page_new(c->fetcher, c, PAGE_URL);

	p->submission.lease = *l;
	p->submission.lease.url = arena_copy(&p->submission.arena, l->url);
	p->submission.lease.via = STR_NONE;
	page_give_back(p);
}

static void
drop_batches(struct window *w)
{
	bool closing = w->crawl->fetcher->closing;

	while (!list_empty(&w->batches)) {
		struct serve *s = LIST_ITEM(w->batches.next, struct serve,
		    node);
		list_take(&s->node);
		for (; s->taken < s->n && !closing; s->taken++)
			give_back(w->crawl, &s->leases[s->taken]);
		serve_free(s);
	}
	w->left = 0;
}

static void
window_free(struct window *w)
{
	struct crawl_shared *crawl = w->crawl->shared;

	list_take(&w->node);
	drop_batches(w);
	free(w);
	/* The crawl may be gone then. */
	atomic_fetch_sub(&crawl->users, 1);
}

void
window_drop(struct window **wp)
{
	struct window *w = *wp;

	*wp = NULL;
	list_take(&w->node);
	drop_batches(w);
	w->dropped = true;
	if (w->serve == NULL)
		window_free(w);
}

static void
served(struct serve *s)
{
	struct window *w = s->owner;

	w->serve = NULL;
	if (s->n == 0) {
		serve_free(s);
	} else {
		list_put(&w->batches, &s->node);
		w->left += s->n;
		CHECK(w->left <= w->crawl->fetcher->settings->window);
		/* A full answer: there may be more without a new note. */
		w->more |= s->n == s->want;
	}
	if (w->dropped)
		window_free(w);
	else
		host_settle(w->host);
}

void
window_return_excluded(struct window *w)
{
	const struct crawl_rules *rules = crawl_rules(w->crawl->shared);
	struct list *next;

	for (struct list *n = w->batches.next; n != &w->batches; n = next) {
		struct serve *s = LIST_ITEM(n, struct serve, node);
		size_t kept = s->taken;
		next = n->next;
		for (size_t i = s->taken; i < s->n; i++) {
			if (crawl_excludes(rules, s->leases[i].url))
				give_back(w->crawl, &s->leases[i]);
			else
				s->leases[kept++] = s->leases[i];
		}
		w->left -= s->n - kept;
		s->n = kept;
		if (s->taken < s->n)
			continue;
		list_take(&s->node);
		serve_free(s);
	}
}

struct window *
window_get(struct host *h, struct local_crawl *c, uint32_t queue)
{
	for (struct list *n = h->windows.next; n != &h->windows; n = n->next) {
		struct window *w = LIST_ITEM(n, struct window, node);
		if (w->crawl == c && w->queue == queue)
			return w;
	}
	double delay_s = crawl_delay_s(c->shared, h->name);
	/* An earlier process may have asked the host a moment ago. */
	if (c->shared->continued && list_empty(&h->windows))
		h->next_at = mono_add_ms(loop_now(h->fetcher->loop),
		    (int64_t)ceil(delay_s * 1000));
	struct window *w = mem_new(sizeof(*w));
	atomic_fetch_add(&c->shared->users, 1);
	w->crawl = c;
	w->host = h;
	w->delay_s = delay_s;
	w->queue = queue;
	list_init(&w->batches);
	list_put(&h->windows, &w->node);
	return w;
}

/*
 * A page of this crawl comes to the host without a queue of its own here, by a
 * redirect or for robots.txt: the crawl's delay holds for it all the same.
 */
void
host_join(struct host *h, struct local_crawl *c)
{
	for (struct list *n = h->windows.next; n != &h->windows; n = n->next)
		if (LIST_ITEM(n, struct window, node)->crawl == c)
			return;
	window_get(h, c, 0);
}

void
window_refill(struct window *w)
{
	struct fetcher *f = w->host->fetcher;
	size_t size = host_delay_ms(w->host, w->crawl, NULL) > 0 ?
	    MIN(WINDOW_DELAYED, f->settings->window) : f->settings->window;

	if (w->serve != NULL || !w->more || w->left > size / 2 ||
	    w->crawl->order != FETCH_RUN)
		return;
	struct serve *s = mem_new(sizeof(*s));
	s->home = f->loop;
	s->served = served;
	s->owner = w;
	s->crawl = w->crawl->shared->id;
	s->queue = w->queue;
	s->want = size - w->left;
	s->note_seen = w->note_seen;
	w->more = w->note_seen = false;
	w->serve = s;
	frontier_serve(f->options.frontier, s);
}

static struct page *
window_take(struct window *w)
{
	struct serve *s = LIST_ITEM(w->batches.next, struct serve, node);
	struct page *p = page_new(w->host->fetcher, w->crawl, PAGE_URL);

	p->submission.lease = s->leases[s->taken++];
	p->submission.lease.url = arena_copy(&p->submission.arena,
	    p->submission.lease.url);
	p->submission.lease.via = arena_copy(&p->submission.arena,
	    p->submission.lease.via);
	w->left--;
	if (s->taken == s->n) {
		list_take(&s->node);
		serve_free(s);
	}
	return p;
}

/* --- turns -------------------------------------------------------------- */

double
crawl_delay_s(const struct crawl_shared *c, struct str host)
{
	const double *own = c->delays.n == 0 ? NULL :
	    map_get(&c->delays, host);

	return own == NULL ? c->delay_s : *own;
}

int64_t
host_delay_ms(struct host *h, struct local_crawl *c, struct origin *o)
{
	double s = c == NULL ? 0 : crawl_delay_s(c->shared, h->name);
	int64_t ms = 0;

	/* Crawls share hosts: the largest wish of those that run wins. */
	for (struct list *n = h->windows.next; n != &h->windows; n = n->next) {
		struct window *w = LIST_ITEM(n, struct window, node);
		if (w->crawl->order == FETCH_RUN)
			s = MAX(s, w->delay_s);
	}
	for (struct list *n = h->origins.next; n != &h->origins; n = n->next) {
		o = LIST_ITEM(n, struct origin, node);
		if (o->robots != NULL)
			ms = MAX(ms, robots_delay_ms(o->robots));
	}
	/* Rounded up: a delay of 0.57 s is not over after 569 ms. */
	return MAX(ms, (int64_t)ceil(s * 1000));
}

static unsigned
slots(struct host *h)
{
	return host_delay_ms(h, NULL, NULL) > 0 || h->backoff_ms > 0 ? 1 :
	    h->fetcher->settings->host_connections_max;
}

static bool
crawl_may(const struct local_crawl *c)
{
	return c->order == FETCH_RUN && (int64_t)atomic_load_explicit(
	    &c->shared->downloads, memory_order_relaxed) <
	    policy_of(crawl_policy(c->shared))->downloads;
}

static struct window *
window_ready(struct host *h)
{
	for (struct list *n = h->windows.next; n != &h->windows; n = n->next) {
		struct window *w = LIST_ITEM(n, struct window, node);
		window_refill(w);
		if (w->left == 0)
			continue;
		if (crawl_may(w->crawl))
			return w;
		if (w->crawl->order == FETCH_RUN)
			fetcher_look_again(h->fetcher);
	}
	return NULL;
}

static void
leave(struct host *h)
{
	list_take(&h->ready_node);
	heap_take(&h->fetcher->sleeping, &h->sleep_node);
	h->place = HOST_IDLE;
}

void
host_settle(struct host *h)
{
	struct fetcher *f = h->fetcher;

	struct window *w = window_ready(h);
	consider_idle(h);
	if ((list_empty(&h->waiting) && w == NULL) ||
	    h->in_flight >= slots(h)) {
		leave(h);
		return;
	}
	if (mono_before(loop_now(f->loop), h->next_at)) {
		list_take(&h->ready_node);
		heap_put(&f->sleeping, &h->sleep_node, h->next_at.ns, 0);
		h->place = HOST_SLEEPING;
	} else if (h->place != HOST_READY) {
		leave(h);
		list_put(&f->ready, &h->ready_node);
		h->place = HOST_READY;
	}
	fetcher_pump_soon(f);
}

void
host_begin(struct host *h)
{
	h->in_flight++;
	h->fetcher->in_flight++;
}

void
host_end(struct host *h, int64_t delay_ms)
{
	/* Now, not when the turn began: the answer may have come since. */
	struct mono at = mono_add_ms(clock_mono(), delay_ms);

	CHECK(h->in_flight > 0);
	h->in_flight--;
	h->fetcher->in_flight--;
	if (delay_ms > 0 && mono_before(h->next_at, at))
		h->next_at = at;
	host_settle(h);
}

void
host_trouble(struct host *h, int64_t retry_after_ms)
{
	const struct fetch_settings *s = h->fetcher->settings;

	h->backoff_ms = h->backoff_ms == 0 ? s->backoff_ms :
	    MIN(h->backoff_ms * 2, s->backoff_ms_max);
	int64_t wait = MIN(MAX(h->backoff_ms, retry_after_ms),
	    s->backoff_ms_max);
	h->next_at = mono_add_ms(clock_mono(), wait);
}

void
host_fine(struct host *h)
{
	h->backoff_ms = 0;
	h->answered = true;
	h->silent = 0;
}

bool
host_is_dead(struct host *h, bool unreached)
{
	h->silent++;
	return unreached || !h->answered || h->silent >= HOST_SILENT_MAX;
}

void
host_down(struct host *h, struct origin *o, enum exception reason,
    struct str detail)
{
	snprintf(o->detail, sizeof(o->detail), "%.*s", STR_FMT(detail));
	o->down_reason = reason;
	o->down_until = h->down_until =
	    mono_add_ms(loop_now(h->fetcher->loop), HOST_DOWN_MS);
	h->backoff_ms = 0;
	h->next_at = loop_now(h->fetcher->loop);
}

bool
host_start_one(struct host *h)
{
	if (!list_empty(&h->waiting)) {
		struct page *p = LIST_ITEM(h->waiting.next, struct page, node);
		list_take(&p->node);
		if (p->crawl->order == FETCH_END || page_excluded(p)) {
			page_give_back(p);
			return true;
		}
		host_begin(h);
		p->host = h;
		p->holds_slot = true;
		page_go(p, PAGE_RESOLVE);
		return true;
	}
	struct window *w = window_ready(h);
	if (w == NULL)
		return false;
	/* Windows take turns: one crawl must not starve another's queue. */
	list_take(&w->node);
	list_put(&h->windows, &w->node);
	page_go(window_take(w), PAGE_ROBOTS);
	return true;
}

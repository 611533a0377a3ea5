/*
 * Hosts: whose turn it is.
 *
 *     IDLE      nothing to do, or every slot is taken
 *     READY     may start a request now; the ready list is a rotation
 *     SLEEPING  its delay or back-off has not passed
 *
 * A host that no crawl wants any more is forgotten when it has been idle for
 * fetch.host_idle_ms, counted from the end of its delay, its back-off and
 * whatever else is known only here.
 */
#include "engine/fetcher/host.h"

#include <math.h>

#include "base/metric.h"
#include "engine/fetcher/call_page.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/origin.h"
#include "engine/fetcher/window.h"
#include "os/clock.h"

/* How long a host that failed through all tries is not asked again. */
#define HOST_DOWN_MS 60000
/* Broken pages stand together: so many in a row are no dead host yet. */
#define HOST_SILENT_MAX 16

#define HOST_METRICS(X)                                                      \
	X(HOSTS_KNOWN, GAUGE, "argiope_hosts_known",                         \
	    "Hosts that the loops remember; idle ones go after "             \
	    "fetch.host_idle_ms.")
enum { HOST_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { HOST_METRICS(METRIC_ROW) };

/* --- hosts that no crawl wants ------------------------------------------ */

static bool
wanted(const struct host *h)
{
	return h->in_flight > 0 || !list_empty(&h->waiting) ||
	    !list_empty(&h->calls) || !list_empty(&h->windows);
}

static void
set_idle_timer(struct fetcher *f)
{
	struct host_table *t = f->hosts;
	const struct host *first = LIST_ITEM(t->idle.next, struct host,
	    idle_node);

	if (!list_empty(&t->idle))
		loop_timer_set(f->loop, &t->idle_timer, mono_add_ms(
		    first->idle_since, f->settings->host_idle_ms));
}

static void
put_idle(struct host *h)
{
	struct fetcher *f = h->fetcher;
	bool first = list_empty(&f->hosts->idle);

	h->idle_since = loop_now(f->loop);
	list_put(&f->hosts->idle, &h->idle_node);
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

static bool
may_go(const struct host *h, struct mono now)
{
	int64_t ms = h->fetcher->settings->host_idle_ms;

	return !wanted(h) && !mono_before(now, mono_add_ms(h->next_at, ms)) &&
	    !mono_before(now, mono_add_ms(h->down_until, ms)) &&
	    !origins_hold_host(h, now, ms);
}

/* Neither in the rotation nor asleep. */
static void
leave(struct host *h)
{
	list_take(&h->ready_node);
	heap_take(&h->fetcher->hosts->sleeping, &h->sleep_node);
	h->place = HOST_IDLE;
}

static void
free_host(struct host *h)
{
	while (!list_empty(&h->windows))
		window_drop(LIST_ITEM(h->windows.next, struct window, node));
	origins_free(h);
	list_take(&h->idle_node);
	metric_add(&metrics[METRIC_HOSTS_KNOWN], -1);
	mem_free(&h);
}

/* A host that may not go yet is looked at when it has been idle once more. */
static void
idle_due(struct timer *timer)
{
	struct host_table *t = CONTAINER(timer, struct host_table, idle_timer);
	struct fetcher *f = t->fetcher;
	struct mono now = loop_now(f->loop);

	while (!list_empty(&t->idle)) {
		struct host *h = LIST_ITEM(t->idle.next, struct host,
		    idle_node);
		if (mono_before(now, mono_add_ms(h->idle_since,
		    f->settings->host_idle_ms)))
			break;
		list_take(&h->idle_node);
		if (may_go(h, now)) {
			leave(h);
			map_take(&t->by_name, h->name);
			free_host(h);
		} else if (!wanted(h)) {
			put_idle(h);
		}
	}
	set_idle_timer(f);
}

/* --- all hosts ---------------------------------------------------------- */

void
hosts_open(struct fetcher *f)
{
	struct host_table *t = f->hosts = mem_new(sizeof(*t));

	metric_register(metrics, ARRAY_LEN(metrics));
	t->fetcher = f;
	t->idle_timer.fire = idle_due;
	list_init(&t->ready);
	list_init(&t->idle);
}

void
hosts_close(struct fetcher *f)
{
	struct host_table *t = f->hosts;

	loop_timer_stop(f->loop, &t->idle_timer);
	MAP_EACH(v, &t->by_name, void)
		free_host(v);
	map_free(&t->by_name);
	heap_free(&t->sleeping);
	mem_free(&f->hosts);
}

struct host *
host_get(struct fetcher *f, struct str name)
{
	struct host *h = map_get(&f->hosts->by_name, name);

	if (h != NULL)
		return h;
	h = mem_new(sizeof(*h) + name.n);
	h->fetcher = f;
	memcpy(h->name_text, name.p, name.n);
	h->name = (struct str){ h->name_text, name.n };
	list_init(&h->ready_node);
	list_init(&h->waiting);
	list_init(&h->calls);
	list_init(&h->windows);
	list_init(&h->origins);
	list_init(&h->idle_node);
	map_put(&f->hosts->by_name, h->name, h);
	metric_add(&metrics[METRIC_HOSTS_KNOWN], 1);
	put_idle(h);
	return h;
}

void
hosts_wake(struct fetcher *f)
{
	struct heap *sleeping = &f->hosts->sleeping;
	struct mono now = loop_now(f->loop);
	struct heap_node *n;

	while ((n = heap_first(sleeping)) != NULL && n->key <= now.ns) {
		struct host *h = CONTAINER(n, struct host, sleep_node);
		heap_take(sleeping, n);
		h->place = HOST_IDLE;
		host_settle(h);
	}
}

void
hosts_settle(struct fetcher *f, bool only_idle)
{
	MAP_EACH(h, &f->hosts->by_name, struct host) {
		if (!only_idle || (h->place == HOST_IDLE && wanted(h)))
			host_settle(h);
	}
}

void
fetcher_forget_trouble(struct fetcher *f, uint32_t crawl, bool robots)
{
	const struct fetch_crawl *c = fetch_crawl_find(f, crawl);

	if (robots)
		f->hosts->robots_since = clock_wall();
	MAP_EACH(v, &f->hosts->by_name, void)
		if (window_find(v, c) != NULL)
			origins_retry(v, robots);
}

/* --- turns -------------------------------------------------------------- */

int64_t
host_delay_ms(const struct host *h, const struct fetch_crawl *c)
{
	double s = c == NULL ? 0 : crawl_delay_s(c->shared, h->name);

	/* Crawls share hosts: the largest wish of those that run wins. */
	LIST_EACH(w, &h->windows, struct window, node) {
		if (w->crawl->order == FETCH_RUN)
			s = MAX(s, w->delay_s);
	}
	/* Rounded up: a delay of 0.57 s is not over after 569 ms. */
	return MAX(origins_delay_ms(h), (int64_t)ceil(s * 1000));
}

int64_t
host_turn_ms(struct host *h, const struct fetch_crawl *c)
{
	struct mono now = loop_now(h->fetcher->loop);
	bool alternates = window_ready(h) != NULL;
	int64_t ahead = (h->in_flight > 0) + (alternates && h->call_was_last);

	LIST_EACH(p, &h->waiting, const struct page, node)
		ahead += p->crawl->order == FETCH_RUN;
	LIST_EACH(p, &h->calls, const struct page, node)
		ahead += alternates ? 2 : 1;
	return ahead * host_delay_ms(h, c) + (mono_before(now, h->next_at) ?
	    mono_ns_between(now, h->next_at) / 1000000 + 1 : 0);
}

static unsigned
slots(const struct host *h)
{
	return host_delay_ms(h, NULL) > 0 || h->backoff_ms > 0 ? 1 :
	    h->fetcher->settings->host_connections_max;
}

/* True: its turn ends without a request. */
static bool
is_over(const struct page *p)
{
	return p->crawl->order == FETCH_END || page_excluded(p) ||
	    call_page_stopped(p);
}

/* The host's first call that may start now, or NULL. */
static struct page *
call_ready(const struct host *h)
{
	LIST_EACH(p, &h->calls, struct page, node) {
		if (is_over(p) || fetch_crawl_may_start(p->crawl))
			return p;
		if (p->crawl->order == FETCH_RUN)
			fetcher_look_again(h->fetcher);
	}
	return NULL;
}

/*
 * The first of the waiting pages that may start now, or NULL.  They have been
 * begun, and end also when their crawl is paused.
 */
static struct page *
waiting_ready(const struct host *h)
{
	LIST_EACH(p, &h->waiting, struct page, node) {
		if (fetch_crawl_has_download(p->crawl) || is_over(p))
			return p;
		fetcher_look_again(h->fetcher);
	}
	return NULL;
}

void
host_settle(struct host *h)
{
	struct fetcher *f = h->fetcher;
	struct window *w = window_ready(h);

	consider_idle(h);
	if ((waiting_ready(h) == NULL && w == NULL && call_ready(h) == NULL) ||
	    h->in_flight >= slots(h)) {
		leave(h);
		return;
	}
	if (mono_before(loop_now(f->loop), h->next_at)) {
		list_take(&h->ready_node);
		heap_put(&f->hosts->sleeping, &h->sleep_node, h->next_at.ns,
		    0);
		h->place = HOST_SLEEPING;
	} else if (h->place != HOST_READY) {
		leave(h);
		list_put(&f->hosts->ready, &h->ready_node);
		h->place = HOST_READY;
	}
	fetcher_pump_soon(f);
}

void
host_wait(struct host *h, struct page *p)
{
	list_put(p->kind == PAGE_OF_CALL ? &h->calls : &h->waiting, &p->node);
	host_settle(h);
}

void
host_wait_until(struct host *h, struct page *p, struct mono at)
{
	list_put(h->waiting.next, &p->node);
	call_page_waits(p, true);
	if (mono_before(h->next_at, at))
		h->next_at = at;
	host_end(h, 0);
}

/*
 * A page that waited takes a slot of the host and one of its crawl's downloads;
 * it waits on when another loop took the last of them just now.
 */
static void
start_waiting(struct host *h, struct page *p)
{
	bool over = is_over(p);
	bool late = !over && p->call != NULL &&
	    !call_page_in_time(p, loop_now(h->fetcher->loop));

	if (!over && !late && !fetch_crawl_take_download(p->crawl))
		return;
	list_take(&p->node);
	if (over) {
		page_resume(p, PAGE_RETURN);
		return;
	}
	if (late) {
		page_resume(p, page_finish(p, OUTCOME_EXCEPTION,
		    EXCEPTION_TIMEOUT, STR("its turn came too late")));
		return;
	}
	h->in_flight++;
	h->fetcher->hosts->in_flight++;
	p->host = h;
	p->holds_slot = true;
	call_page_waits(p, false);
	page_resume(p, PAGE_RESOLVE);
}

static void
start_one(struct host *h)
{
	struct page *waiting = waiting_ready(h), *call;
	struct window *w;

	if (waiting != NULL) {
		start_waiting(h, waiting);
		return;
	}
	call = call_ready(h);
	w = window_ready(h);
	/* A crawl and a script that want the same host alternate. */
	h->call_was_last = call != NULL && (w == NULL || !h->call_was_last);
	if (h->call_was_last)
		start_waiting(h, call);
	else if (w != NULL)
		page_resume(window_take(w), PAGE_ROBOTS);
}

void
hosts_start_one(struct fetcher *f)
{
	struct list *ready = &f->hosts->ready;
	struct host *h = LIST_ITEM(ready->next, struct host, ready_node);

	/* To the tail, or to where it belongs after this request. */
	list_take(&h->ready_node);
	list_put(ready, &h->ready_node);
	start_one(h);
	host_settle(h);
}

void
host_end(struct host *h, int64_t delay_ms)
{
	/* Now, not when the turn began: the answer may have come since. */
	struct mono at = mono_add_ms(clock_mono(), delay_ms);

	CHECK(h->in_flight > 0);
	h->in_flight--;
	h->fetcher->hosts->in_flight--;
	if (delay_ms > 0 && mono_before(h->next_at, at))
		h->next_at = at;
	host_settle(h);
}

void
host_delay_stated(struct host *h, const struct fetch_crawl *c)
{
	struct mono at = mono_add_ms(clock_mono(), host_delay_ms(h, c));

	if (mono_before(h->next_at, at))
		h->next_at = at;
	host_settle(h);
}

/* --- what answers say of the host --------------------------------------- */

void
host_rest(struct host *h, double delay_s)
{
	h->next_at = mono_add_ms(loop_now(h->fetcher->loop),
	    (int64_t)ceil(delay_s * 1000));
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
	struct mono now = loop_now(h->fetcher->loop);

	h->down_until = mono_add_ms(now, HOST_DOWN_MS);
	h->backoff_ms = 0;
	h->next_at = now;
	origin_down(o, reason, detail, h->down_until);
}

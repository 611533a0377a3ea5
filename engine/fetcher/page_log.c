#include "engine/fetcher/page_log.h"

#include "base/metric.h"
#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/origin.h"
#include "engine/fetcher/outbox.h"
#include "os/clock.h"

#define LINE_METRICS(X)                                                      \
	X(SITEMAPS_TOO_DEEP, COUNTER, "argiope_sitemaps_too_deep_total",     \
	    "Sitemap indexes whose sitemaps sitemap.depth_max leaves out.")
enum { LINE_METRICS(METRIC_ENUM) };
static struct metric metrics[] = { LINE_METRICS(METRIC_ROW) };

void
page_log_open(struct fetcher *f)
{
	list_init(&f->lone_lines);
	metric_register(metrics, ARRAY_LEN(metrics));
}

/* The page's line; it is about its URL, at the host of its current hop. */
static struct crawl_line *
add_line(struct page *p, enum crawl_log_kind kind)
{
	struct submission *s = &p->submission;
	struct crawl_line *l = ARENA_NEW(&s->arena, struct crawl_line);

	l->kind = kind;
	l->url = s->lease.url;
	l->host = page_hop(p)->url.host;
	s->lines = l;
	s->lines_n = 1;
	return l;
}

void
page_log_outcome(struct page *p, struct str text)
{
	struct submission *s = &p->submission;
	bool failed = s->outcome == OUTCOME_EXCEPTION;

	/* The frontier has said that sitemap.bytes_max is reached. */
	if (!failed && s->reason == SKIP_LIMIT &&
	    (s->lease.flags & FOUND_SITEMAP))
		return;
	struct crawl_line *l = add_line(p, failed ? CRAWL_LOG_EXCEPTION :
	    CRAWL_LOG_SKIPPED);
	l->reason = str_of(failed ? exception_name(s->reason) :
	    skip_name(s->reason));
	l->text = text.n != 0 ? text : l->reason;
}

void
page_log_sitemap_depth(struct page *p)
{
	metric_add(&metrics[METRIC_SITEMAPS_TOO_DEEP], 1);
	if (atomic_exchange(&p->crawl->shared->sitemap_depth_logged, true))
		return;
	struct crawl_line *l = add_line(p, CRAWL_LOG_LIMIT);
	l->reason = STR("sitemap.depth_max");
	l->text = arena_printf(&p->submission.arena, "sitemaps of more than %u "
	    "levels are not read (sitemap.depth_max)",
	    p->fetcher->settings->sitemap_depth_max);
}

/* --- robots.txt --------------------------------------------------------- */

static struct str
robots_text(struct page *p, const struct origin *o, int status)
{
	struct arena *a = &p->submission.arena;
	struct robots_facts facts;
	int64_t delay_ms;

	if (status == 0)
		return arena_printf(a, "robots.txt cannot be reached: %.*s",
		    STR_FMT(p->end_text.n != 0 ? p->end_text :
		    str_of(exception_name(page_exception(p)))));
	if (robots_from_status(status) == ROBOTS_ALLOW_ALL)
		return arena_printf(a, "robots.txt: status %d, all may be "
		    "fetched", status);
	if (robots_from_status(status) == ROBOTS_FORBID_ALL)
		return arena_printf(a, "robots.txt: status %d, %s; asked "
		    "again in %lld s", status, o->stale ? "its last copy "
		    "serves" : "nothing may be fetched",
		    (long long)o->ttl_s);
	facts = robots_facts(o->robots);
	delay_ms = robots_delay_ms(o->robots);
	if (delay_ms < 0)
		return arena_printf(a, "robots.txt: %zu rules for us",
		    facts.rules_n);
	return arena_printf(a, "robots.txt: %zu rules for us, Crawl-delay "
	    "%.3g s", facts.rules_n, (double)delay_ms / 1000);
}

void
page_log_robots(struct page *p, const struct origin *o, int status)
{
	struct arena *a = &p->submission.arena;
	struct crawl_line *l = add_line(p, CRAWL_LOG_ROBOTS);

	l->text = robots_text(p, o, status);
	l->host = arena_copy(a, o->host->name);
	l->url = p->hops[0]->url.href;
	l->reason = status == 0 ? str_of(exception_name(page_exception(p))) :
	    arena_printf(a, "%d", status);
}

/* --- back-off ------------------------------------------------------------ */

/* A submission without a page: its crawl's page is tried again. */
struct lone_line {
	struct submission submission;
	struct list node;                /* in fetcher.lone_lines */
	struct fetcher *fetcher;
	struct crawl_line line;
};

static void
lone_free(struct lone_line *x)
{
	list_take(&x->node);
	arena_free(&x->submission.arena);
	mem_free(&x);
}

void
page_log_close(struct fetcher *f)
{
	/* Killed or failed: they were on their way. */
	while (!list_empty(&f->lone_lines))
		lone_free(LIST_ITEM(f->lone_lines.next, struct lone_line,
		    node));
}

static void
lone_durable(struct submission *s, enum err e)
{
	struct lone_line *x = CONTAINER(s, struct lone_line, submission);

	(void)e;
	outbox_uncount(x->fetcher, 0);
	lone_free(x);
}

void
page_log_backoff(struct page *p, const struct host *h)
{
	struct lone_line *x = mem_new(sizeof(*x));
	struct submission *s = &x->submission;
	struct arena *a = &s->arena;
	bool answered = p->end == TRANSPORT_DONE || p->end == TRANSPORT_STOPPED;
	char wait[32];

	duration_to_text(MAX(0, mono_ns_between(clock_mono(), h->next_at)),
	    wait);
	x->fetcher = p->fetcher;
	x->line.kind = CRAWL_LOG_BACKOFF;
	x->line.host = arena_copy(a, h->name);
	x->line.url = arena_copy(a, page_hop(p)->url.href);
	x->line.reason = answered ? arena_printf(a, "%d",
	    page_hop(p)->status) : str_of(exception_name(page_exception(p)));
	x->line.text = arena_printf(a, "no request for %s: %s%.*s", wait,
	    answered ? "status " : "", STR_FMT(x->line.reason));
	s->crawl = p->submission.crawl;
	s->lines = &x->line;
	s->lines_n = 1;
	s->home = p->fetcher->loop;
	s->durable = lone_durable;
	/* The closing of the engine waits for it. */
	outbox_count(p->fetcher, 0);
	list_put(&p->fetcher->lone_lines, &x->node);
	frontier_submit(p->fetcher->options.frontier, s);
}

/*
 * Origins: robots.txt, fetched once and remembered over restarts.
 *
 *     NEW ─► LOADING (what an earlier run stored) ─► KNOWN
 *                        └► FETCHING ─► KNOWN (until its time is over)
 */
#include "engine/fetcher/origin.h"

#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/page.h"
#include "engine/fetcher/page_log.h"
#include "engine/fetcher/window.h"
#include "os/clock.h"

/* The stored form: fetched8 status2 body.  Status 0: no answer. */
struct origin_query {
	struct ledger_query query;
	struct fetcher *fetcher;
	struct str host, text, token;
	struct arena arena;
	/* What is stored. */
	enum err err;
	struct wall fetched;
	int status;
	struct str body;
};

static void
robots_key(struct str text, struct buf *out)
{
	buf_put_text(out, "robots ");
	buf_put_str(out, text);
}

static struct origin *
find_origin(struct host *h, struct str text, struct str token)
{
	LIST_EACH(o, &h->origins, struct origin, node) {
		if (str_eq(o->text, text) && str_eq_nocase(o->token, token))
			return o;
	}
	return NULL;
}

struct origin *
origin_get(struct host *h, struct page *p)
{
	struct str text = url_origin(&page_hop(p)->url, &p->submission.arena);
	struct str token = page_token(p);
	struct origin *o = find_origin(h, text, token);

	if (o != NULL)
		return o;
	o = mem_new(sizeof(*o) + text.n + token.n);
	o->host = h;
	memcpy(o->texts, text.p, text.n);
	memcpy(o->texts + text.n, token.p, token.n);
	o->text = (struct str){ o->texts, text.n };
	o->token = (struct str){ o->texts + text.n, token.n };
	list_init(&o->waiting);
	list_put(&h->origins, &o->node);
	return o;
}

void
origins_free(struct host *h)
{
	while (!list_empty(&h->origins)) {
		struct origin *o = LIST_POP(&h->origins, struct origin, node);
		robots_free(&o->robots);
		mem_free(&o);
	}
}

/* Pages wait for its robots.txt, or that could not be read a moment ago. */
static bool
holds_host(const struct origin *o, struct mono now, int64_t idle_ms)
{
	return o->state == ORIGIN_LOADING || o->state == ORIGIN_FETCHING ||
	    !list_empty(&o->waiting) || ((o->unreachable || o->stale) &&
	    mono_before(now, mono_add_ms(o->fetched_at, o->ttl_s * 1000 +
	    idle_ms)));
}

bool
origins_hold_host(const struct host *h, struct mono now, int64_t idle_ms)
{
	for (struct list *n = h->origins.next; n != &h->origins; n = n->next)
		if (holds_host(LIST_ITEM(n, struct origin, node), now,
		    idle_ms))
			return true;
	return false;
}

int64_t
origins_delay_ms(const struct host *h)
{
	int64_t ms = 0;

	LIST_EACH(o, &h->origins, const struct origin, node) {
		if (o->robots != NULL)
			ms = MAX(ms, robots_delay_ms(o->robots));
	}
	return ms;
}

void
origins_retry(struct host *h, bool robots)
{
	LIST_EACH(o, &h->origins, struct origin, node) {
		origin_up(o);
		if (robots || o->unreachable)
			o->ttl_s = 0;
	}
}

void
origin_down(struct origin *o, enum exception reason, struct str detail,
    struct mono until)
{
	snprintf(o->detail, sizeof(o->detail), "%.*s", STR_FMT(detail));
	o->down_reason = reason;
	o->down_until = until;
}

void
origin_up(struct origin *o)
{
	o->down_until = (struct mono){ 0 };
}

bool
origin_tells_sitemaps(struct origin *o, uint32_t crawl)
{
	bool told = o->sitemaps_told == crawl + 1;

	o->sitemaps_told = crawl + 1;
	return !told;
}

/* Pages of `blocked` are skipped with the text, the others go on. */
static void
release(struct origin *o, const struct fetch_crawl *blocked, struct str text)
{
	struct list waiting;

	list_init(&waiting);
	list_move_all(&waiting, &o->waiting);
	while (!list_empty(&waiting)) {
		struct page *p = LIST_POP(&waiting, struct page, node);
		page_resume(p, p->crawl != blocked ? PAGE_ROBOTS :
		    page_finish(p, OUTCOME_SKIPPED, SKIP_BLOCKED, text));
	}
}

static void
settle(struct origin *o, int status, struct str body, int64_t age_s)
{
	const struct fetch_settings *s = o->host->fetcher->settings;

	o->status = status;
	robots_free(&o->robots);
	o->copied = robots_from_status(status) != ROBOTS_FORBID_ALL;
	switch (robots_from_status(status)) {
	case ROBOTS_PARSE:
		o->robots = robots_parse(body, o->token);
		break;
	case ROBOTS_ALLOW_ALL:
		o->robots = robots_all(true);
		break;
	case ROBOTS_FORBID_ALL:
		o->robots = robots_all(false);
		break;
	}
	o->ttl_s = MAX(1, (robots_from_status(status) == ROBOTS_FORBID_ALL ?
	    s->robots_retry_s : s->robots_ttl_s) - age_s);
	o->fetched_at = loop_now(o->host->fetcher->loop);
	o->state = ORIGIN_KNOWN;
}

/* Ask the site: a page of its own kind, on the host's next turn. */
static void
fetch(struct origin *o)
{
	struct page *for_whom = LIST_ITEM(o->waiting.next, struct page, node);
	struct fetcher *f = o->host->fetcher;
	struct page *p = page_new(f, for_whom->crawl, PAGE_OF_ROBOTS);
	struct arena *a = &p->submission.arena;
	struct hop *hop = page_hop(p);

	o->state = ORIGIN_FETCHING;
	p->origin = o;
	/* The call may end before. */
	p->for_call = for_whom->for_call;
	p->private_hosts = arena_copy_list(a, for_whom->private_hosts,
	    for_whom->private_n);
	p->private_n = for_whom->private_n;
	struct str text = arena_printf(a, "%.*s/robots.txt",
	    STR_FMT(o->text));
	CHECK(url_parse(text, NULL, a, &hop->url, NULL) == OK);
	p->step = PAGE_TURN;
	window_join(o->host, p->crawl);
	host_wait(o->host, p);
}

enum err
fetcher_stored_robots(struct index *x, struct str origin, struct arena *a,
    struct wall *fetched, int *status, struct str *body)
{
	FREED(buf_free) struct buf key = BUF_INIT;
	struct str value;

	robots_key(origin, &key);
	enum err e = index_get(x, INDEX_CONTROL, buf_str(&key), a, &value,
	    NULL);
	if (e != OK)
		return e;
	struct reader in = reader_of(value);
	fetched->us = (int64_t)read_be64(&in);
	*status = read_be16(&in);
	*body = (struct str){ in.p, in.n };
	return in.bad ? ERR_CORRUPT : OK;
}

static void
look_up(struct ledger_query *q, struct index *x)
{
	struct origin_query *oq = CONTAINER(q, struct origin_query, query);

	oq->err = fetcher_stored_robots(x, oq->text, &oq->arena, &oq->fetched,
	    &oq->status, &oq->body);
}

static void
looked_up(struct ledger_query *q)
{
	struct origin_query *oq = CONTAINER(q, struct origin_query, query);
	struct host *h = host_get(oq->fetcher, oq->host);
	struct origin *o = find_origin(h, oq->text, oq->token);

	CHECK(o != NULL && o->state == ORIGIN_LOADING);
	int64_t age_s = wall_s(clock_wall()) - wall_s(oq->fetched);
	if (oq->err == OK && age_s >= 0 &&
	    oq->fetched.us >= h->fetcher->hosts->robots_since.us &&
	    age_s < h->fetcher->settings->robots_ttl_s) {
		settle(o, oq->status, oq->body, age_s);
		release(o, NULL, STR_NONE);
	} else if (list_empty(&o->waiting)) {
		o->state = ORIGIN_NEW;
	} else {
		fetch(o);
	}
	arena_free(&oq->arena);
	mem_free(&oq);
}

static void
load(struct origin *o)
{
	struct fetcher *f = o->host->fetcher;
	struct origin_query *q = mem_new(sizeof(*q));

	o->state = ORIGIN_LOADING;
	q->fetcher = f;
	q->host = arena_copy(&q->arena, o->host->name);
	q->text = arena_copy(&q->arena, o->text);
	q->token = arena_copy(&q->arena, o->token);
	ledger_read(frontier_ledger(f->options.frontier), &q->query, f->loop,
	    look_up, looked_up);
}

bool
origin_ready(struct origin *o, struct page *p)
{
	struct mono now = loop_now(o->host->fetcher->loop);

	if (o->state == ORIGIN_KNOWN &&
	    mono_ns_between(o->fetched_at, now) < o->ttl_s * NS_PER_S)
		return true;
	list_put(&o->waiting, &p->node);
	if (o->state == ORIGIN_NEW) {
		load(o);
	} else if (o->state == ORIGIN_KNOWN) {
		fetch(o);
	}
	return false;
}

void
origin_abandoned(struct origin *o)
{
	o->state = ORIGIN_NEW;
	release(o, NULL, STR_NONE);
}

void
origin_blocked(struct origin *o, const struct fetch_crawl *c, struct str text)
{
	o->state = ORIGIN_NEW;
	release(o, c, text);
}

void
fetcher_robots_put(struct str origin, struct wall fetched, int status,
    struct str body, struct arena *a, struct extra_put *put)
{
	FREED(buf_free) struct buf key = BUF_INIT, value = BUF_INIT;

	robots_key(origin, &key);
	buf_put_be64(&value, (uint64_t)fetched.us);
	buf_put_be16(&value, (uint16_t)status);
	buf_put_str(&value, str_cut(body, 0, ROBOTS_BYTES_MAX));
	put->family = INDEX_CONTROL;
	put->key = arena_copy(a, buf_str(&key));
	put->value = arena_copy(a, buf_str(&value));
}

static void
remember(struct page *p, struct origin *o, int status, struct str body)
{
	struct arena *a = &p->submission.arena;

	p->submission.puts = ARENA_NEW(a, struct extra_put);
	p->submission.puts_n = 1;
	fetcher_robots_put(o->text, clock_wall(), status, body, a,
	    p->submission.puts);
}

void
origin_fetched(struct origin *o, struct page *p)
{
	int status = p->end == TRANSPORT_DONE || p->end == TRANSPORT_STOPPED ?
	    page_hop(p)->status : 0;

	o->unreachable = status == 0;
	o->reason = page_exception(p);
	if (status == 0)
		snprintf(o->detail, sizeof(o->detail), "%.*s",
		    STR_FMT(p->end_text));
	/* A copy that was read within a day serves while the site fails. */
	bool stale_serves = robots_from_status(status) == ROBOTS_FORBID_ALL &&
	    o->copied;
	o->stale = stale_serves;
	if (stale_serves) {
		o->unreachable = false;
		o->fetched_at = loop_now(o->host->fetcher->loop);
		o->ttl_s = o->host->fetcher->settings->robots_retry_s;
		o->state = ORIGIN_KNOWN;
	} else {
		if (status != 0)
			remember(p, o, status, p->content);
		settle(o, status, p->content, 0);
		/* Without an answer the host's other pages fail at once. */
		if (status != 0)
			host_delay_stated(o->host, p->crawl);
	}
	page_log_robots(p, o, status);
	release(o, NULL, STR_NONE);
}

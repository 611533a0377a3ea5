/*
 * Origins: robots.txt, fetched once and remembered over restarts.
 *
 *     NEW ─► LOADING (what an earlier run stored) ─► KNOWN
 *                        └► FETCHING ─► KNOWN (until its time is over)
 */
#include "engine/fetcher/state.h"
#include "os/clock.h"

/* The stored form: fetched8 status2 body.  Status 0: no answer. */
struct origin_query {
	struct ledger_query query;
	struct fetcher *fetcher;
	struct str host, text, token;
	struct arena arena;
	struct str value;
};

static void
robots_key(struct str text, struct buf *out)
{
	buf_put_text(out, "robots ");
	buf_put_str(out, text);
}

struct str
page_token(const struct page *p)
{
	struct str own = p->crawl->shared->product_token;

	return own.n != 0 ? own : p->fetcher->settings->product_token;
}

static struct origin *
find_origin(struct host *h, struct str text, struct str token)
{
	for (struct list *n = h->origins.next; n != &h->origins; n = n->next) {
		struct origin *o = LIST_ITEM(n, struct origin, node);
		if (str_eq(o->text, text) && str_eq_nocase(o->token, token))
			return o;
	}
	return NULL;
}

static struct str
own_copy(struct str s)
{
	char *copy = mem_array(s.n + 1, 1);

	memcpy(copy, s.p, s.n);
	return (struct str){ copy, s.n };
}

struct origin *
origin_get(struct host *h, struct page *p)
{
	struct str text = url_origin(&page_hop(p)->url, &p->submission.arena);
	struct origin *o = find_origin(h, text, page_token(p));

	if (o != NULL)
		return o;
	o = mem_new(sizeof(*o));
	o->host = h;
	o->text = own_copy(text);
	o->token = own_copy(page_token(p));
	list_init(&o->waiting);
	list_put(&h->origins, &o->node);
	return o;
}

void
origin_free(struct origin **op)
{
	struct origin *o = *op;
	char *text = (char *)(uintptr_t)o->text.p;
	char *token = (char *)(uintptr_t)o->token.p;

	list_take(&o->node);
	robots_free(&o->robots);
	mem_free(&text);
	mem_free(&token);
	mem_free(op);
}

/* Pages of `blocked` are skipped with the text, the others go on. */
static void
release(struct origin *o, const struct local_crawl *blocked, struct str text)
{
	struct list waiting;

	list_init(&waiting);
	while (!list_empty(&o->waiting)) {
		struct list *n = o->waiting.next;
		list_take(n);
		list_put(&waiting, n);
	}
	while (!list_empty(&waiting)) {
		struct page *p = LIST_ITEM(waiting.next, struct page, node);
		list_take(&p->node);
		if (p->crawl == blocked)
			page_finish(p, OUTCOME_SKIPPED, SKIP_BLOCKED, text);
		else
			page_go(p, PAGE_ROBOTS);
	}
}

void
origin_release(struct origin *o)
{
	release(o, NULL, STR_NONE);
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
	struct str text = arena_printf(a, "%.*s/robots.txt",
	    STR_FMT(o->text));
	CHECK(url_parse(text, NULL, a, &hop->url, NULL) == OK);
	page_go(p, PAGE_TURN);
}

enum err
fetcher_stored_robots(struct index *x, struct str origin, struct arena *a,
    struct wall *fetched, int *status, struct str *body)
{
	struct buf key = BUF_INIT;
	struct str value;

	robots_key(origin, &key);
	enum err e = index_get(x, INDEX_CONTROL, buf_str(&key), a, &value,
	    NULL);
	buf_free(&key);
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
	struct buf key = BUF_INIT;

	robots_key(oq->text, &key);
	if (index_get(x, INDEX_CONTROL, buf_str(&key), &oq->arena, &oq->value,
	    NULL) != OK)
		oq->value = STR_NONE;
	buf_free(&key);
}

static void
looked_up(struct ledger_query *q)
{
	struct origin_query *oq = CONTAINER(q, struct origin_query, query);
	struct host *h = host_get(oq->fetcher, oq->host);
	struct reader in = reader_of(oq->value);
	struct origin *o = find_origin(h, oq->text, oq->token);

	CHECK(o != NULL && o->state == ORIGIN_LOADING);
	struct wall fetched = { (int64_t)read_be64(&in) };
	int status = read_be16(&in);
	int64_t age_s = wall_s(clock_wall()) - wall_s(fetched);
	if (!in.bad && age_s >= 0 &&
	    fetched.us >= h->fetcher->robots_since.us &&
	    age_s < h->fetcher->settings->robots_ttl_s) {
		settle(o, status, (struct str){ in.p, in.n }, age_s);
		origin_release(o);
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
	q->query.home = f->loop;
	q->query.run = look_up;
	q->query.done = looked_up;
	ledger_read(frontier_ledger(f->options.frontier), &q->query);
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
	origin_release(o);
}

void
origin_blocked(struct origin *o, const struct local_crawl *c, struct str text)
{
	o->state = ORIGIN_NEW;
	release(o, c, text);
}

void
fetcher_robots_put(struct str origin, struct wall fetched, int status,
    struct str body, struct arena *a, struct extra_put *put)
{
	struct buf key = BUF_INIT, value = BUF_INIT;

	robots_key(origin, &key);
	buf_put_be64(&value, (uint64_t)fetched.us);
	buf_put_be16(&value, (uint16_t)status);
	buf_put_str(&value, str_cut(body, 0, ROBOTS_BYTES_MAX));
	put->family = INDEX_CONTROL;
	put->key = arena_copy(a, buf_str(&key));
	put->value = arena_copy(a, buf_str(&value));
	buf_free(&key);
	buf_free(&value);
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
		robots_line(p, o, status);
		return;
	}
	if (status != 0)
		remember(p, o, status, p->content);
	settle(o, status, p->content, 0);
	robots_line(p, o, status);
}

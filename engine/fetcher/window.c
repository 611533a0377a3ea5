#include "engine/fetcher/window.h"

#include "engine/fetcher/fetch_crawl.h"
#include "engine/fetcher/host.h"
#include "engine/fetcher/outbox.h"
#include "engine/fetcher/page.h"

/* With a delay a short window does: the rest stays in the index. */
#define WINDOW_DELAYED 4

/* --- leases ------------------------------------------------------------- */

static void
serve_free(struct serve *s)
{
	list_take(&s->node);
	arena_free(&s->arena);
	buf_free(&s->from);
	mem_free(&s);
}

/* A page with the lease, whose texts it copies. */
static struct page *
make_page(struct window *w, const struct lease *l)
{
	struct page *p = page_new(w->host->fetcher, w->crawl, PAGE_URL);
	struct submission *s = &p->submission;

	s->lease = *l;
	s->lease.url = arena_copy(&s->arena, l->url);
	s->lease.via = arena_copy(&s->arena, l->via);
	return p;
}

static void
drop_batches(struct window *w)
{
	bool closing = w->crawl->fetcher->closing;

	while (!list_empty(&w->batches)) {
		struct serve *s = LIST_ITEM(w->batches.next, struct serve,
		    node);
		for (; s->taken < s->n && !closing; s->taken++)
			page_resume(make_page(w, &s->leases[s->taken]),
			    PAGE_RETURN);
		serve_free(s);
	}
	w->left = 0;
}

static void
window_free(struct window *w)
{
	struct crawl_shared *crawl = w->crawl->shared;

	drop_batches(w);
	mem_free(&w);
	crawl_leave(crawl);
}

void
window_drop(struct window *w)
{
	list_take(&w->node);
	drop_batches(w);
	w->dropped = true;
	if (w->serve == NULL)
		window_free(w);
}

/* Leases that the crawl's rules exclude by now. */
static void
return_excluded(struct window *w)
{
	const struct crawl_rules *rules = crawl_rules(w->crawl->shared);
	struct list *next;

	for (struct list *n = w->batches.next; n != &w->batches; n = next) {
		struct serve *s = LIST_ITEM(n, struct serve, node);
		size_t kept = s->taken;
		next = n->next;
		for (size_t i = s->taken; i < s->n; i++) {
			if (crawl_excludes(rules, s->leases[i].url))
				page_resume(make_page(w, &s->leases[i]),
				    PAGE_RETURN);
			else
				s->leases[kept++] = s->leases[i];
		}
		w->left -= s->n - kept;
		s->n = kept;
		if (s->taken == s->n)
			serve_free(s);
	}
}

/* Call fn() for each window of the crawl; settle every host. */
static void
each_window(struct fetcher *f, const struct fetch_crawl *c,
    void (*fn)(struct window *))
{
	MAP_EACH(h, &f->hosts->by_name, struct host) {
		struct list *next;
		for (struct list *n = h->windows.next; n != &h->windows;
		    n = next) {
			struct window *w = LIST_ITEM(n, struct window, node);
			next = n->next;
			if (w->crawl == c)
				fn(w);
		}
		host_settle(h);
	}
}

void
windows_drop(struct fetcher *f, const struct fetch_crawl *c)
{
	each_window(f, c, window_drop);
}

void
fetcher_return_excluded(struct fetcher *f, uint32_t crawl)
{
	each_window(f, fetch_crawl_find(f, crawl), return_excluded);
	outbox_empty(f);
}

/* --- windows ------------------------------------------------------------ */

struct window *
window_find(const struct host *h, const struct fetch_crawl *c)
{
	LIST_EACH(w, &h->windows, struct window, node) {
		if (w->crawl == c)
			return w;
	}
	return NULL;
}

static struct window *
window_get(struct host *h, struct fetch_crawl *c, uint32_t queue)
{
	LIST_EACH(w, &h->windows, struct window, node) {
		if (w->crawl == c && w->queue == queue)
			return w;
	}
	struct window *w = mem_new(sizeof(*w));
	w->crawl = c;
	w->host = h;
	w->delay_s = crawl_delay_s(c->shared, h->name);
	w->queue = queue;
	/* An earlier process may have asked the host a moment ago. */
	if (c->shared->continued && list_empty(&h->windows))
		host_rest(h, w->delay_s);
	atomic_fetch_add(&c->shared->users, 1);
	list_init(&w->batches);
	list_put(&h->windows, &w->node);
	return w;
}

void
window_join(struct host *h, struct fetch_crawl *c)
{
	if (window_find(h, c) == NULL)
		window_get(h, c, 0);
}

void
window_note(struct host *h, struct fetch_crawl *c, uint32_t queue)
{
	struct window *w = window_get(h, c, queue);

	w->more = w->note_seen = true;
	host_settle(h);
}

static void
served(struct serve *s)
{
	struct window *w = s->owner;

	w->serve = NULL;
	list_init(&s->node);
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

static void
refill(struct window *w)
{
	struct fetcher *f = w->host->fetcher;
	size_t size = host_delay_ms(w->host, w->crawl) > 0 ?
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

struct window *
window_ready(struct host *h)
{
	LIST_EACH(w, &h->windows, struct window, node) {
		refill(w);
		if (w->left == 0)
			continue;
		if (fetch_crawl_may_start(w->crawl))
			return w;
		if (w->crawl->order == FETCH_RUN)
			fetcher_look_again(h->fetcher);
	}
	return NULL;
}

struct page *
window_take(struct window *w)
{
	struct serve *s = LIST_ITEM(w->batches.next, struct serve, node);
	struct page *p = make_page(w, &s->leases[s->taken++]);

	w->left--;
	if (s->taken == s->n)
		serve_free(s);
	/* Windows take turns: one crawl must not starve another's queue. */
	list_take(&w->node);
	list_put(&w->host->windows, &w->node);
	return p;
}

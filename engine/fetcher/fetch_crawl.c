#include "engine/fetcher/fetch_crawl.h"

#include "engine/fetcher/host.h"
#include "engine/fetcher/page.h"
#include "engine/fetcher/window.h"
#include "os/clock.h"

struct fetch_crawl *
fetch_crawl_find(struct fetcher *f, uint32_t id)
{
	return map_get_id(&f->crawls, id);
}

double
crawl_delay_s(const struct crawl_shared *c, struct str host)
{
	const double *own = c->delays.n == 0 ? NULL :
	    map_get(&c->delays, host);

	return own == NULL ? c->delay_s : *own;
}

/* --- downloads ---------------------------------------------------------- */

static int64_t
downloads_max(const struct fetch_crawl *c)
{
	return policy_of(crawl_policy(c->shared))->downloads;
}

bool
fetch_crawl_has_download(const struct fetch_crawl *c)
{
	return atomic_load_explicit(&c->shared->downloads,
	    memory_order_relaxed) < downloads_max(c);
}

bool
fetch_crawl_may_start(const struct fetch_crawl *c)
{
	return c->order == FETCH_RUN && fetch_crawl_has_download(c);
}

bool
fetch_crawl_take_download(struct fetch_crawl *c)
{
	atomic_int *taken = &c->shared->downloads;
	int64_t max = downloads_max(c);
	int n = atomic_load_explicit(taken, memory_order_relaxed);

	do {
		if (n >= max)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(taken, &n, n + 1,
	    memory_order_relaxed, memory_order_relaxed));
	return true;
}

void
fetch_crawl_give_download(struct fetch_crawl *c)
{
	atomic_fetch_sub_explicit(&c->shared->downloads, 1,
	    memory_order_relaxed);
}

/* --- life --------------------------------------------------------------- */

void
crawl_leave(struct crawl_shared *c)
{
	if (atomic_fetch_sub(&c->users, 1) == 1)
		loop_post(c->home, &c->unused);
}

static struct fetch_crawl *
make_crawl(struct fetcher *f, struct crawl_shared *shared)
{
	struct fetch_crawl *c = mem_new(sizeof(*c));
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
free_crawl(struct fetch_crawl *c)
{
	cookie_jar_free(&c->cookies);
	trap_memory_free(&c->traps);
	mem_free(&c);
}

void
fetch_crawls_close(struct fetcher *f)
{
	MAP_EACH(v, &f->crawls, void)
		free_crawl(v);
	map_free(&f->crawls);
}

void
fetcher_forget(struct fetcher *f, uint32_t crawl)
{
	struct fetch_crawl *c = map_take_id(&f->crawls, crawl);

	CHECK(c == NULL || (c->order == FETCH_END && c->pages == 0));
	if (c != NULL)
		free_crawl(c);
}

/* --- orders ------------------------------------------------------------- */

struct order_mail {
	struct mail mail;
	struct fetcher *fetcher;
	struct crawl_shared *crawl;
	enum fetch_order order;
};

static void
deliver_order(struct mail *m)
{
	struct order_mail *o = CONTAINER(m, struct order_mail, mail);
	struct fetcher *f = o->fetcher;
	struct fetch_crawl *c = fetch_crawl_find(f, o->crawl->id);

	if (c == NULL)
		c = make_crawl(f, o->crawl);
	c->order = o->order;
	if (o->order == FETCH_END) {
		windows_drop(f, c);
		pages_stop(f, c);
	} else {
		hosts_settle(f, false);
	}
	fetcher_pump_soon(f);
	mem_free(&o);
}

void
fetcher_order(struct fetcher *f, const struct crawl_shared *crawl,
    enum fetch_order order)
{
	struct order_mail *o = mem_new(sizeof(*o));

	o->fetcher = f;
	o->crawl = (struct crawl_shared *)(uintptr_t)crawl;
	o->order = order;
	loop_send(f->loop, &o->mail, deliver_order);
}

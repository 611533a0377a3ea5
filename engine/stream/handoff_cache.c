#include "engine/stream/handoff_cache.h"

#include "base/metric.h"

#define TRIM_MS 10000

static struct metric metrics[] = { METRIC(GAUGE, "argiope_feed_fresh_bytes",
    "Of captures that are kept for who reads a crawl as it runs.") };

static void
drop(struct handoff_cache *h, struct handoff *x)
{
	h->bytes -= x->bytes;
	list_take(&x->age);
	list_take(&x->node);
	if (x->users == 0)
		handoff_free(&x);
	else
		x->dropped = true;
}

static void
unfollow(struct handoff_cache *h, struct crawl_handoffs *c)
{
	if (c->follows == HANDOFF_NONE)
		return;
	c->follows = HANDOFF_NONE;
	handoff_unfollow(h->pool, c->crawl);
}

void
handoff_cache_forget(struct handoff_cache *h, struct crawl_handoffs *c)
{
	unfollow(h, c);
	while (!list_empty(&c->by_number))
		drop(h, LIST_ITEM(c->by_number.next, struct handoff, node));
}

void
handoff_cache_put(struct handoff_cache *h, struct crawl_handoffs *c,
    struct handoff *x)
{
	list_take(&x->node);
	list_put(&c->by_number, &x->node);
	list_put(&h->by_age, &x->age);
	h->bytes += x->bytes;
	x->came = loop_now(h->home);
	if (++c->unread > HANDOFF_UNREAD_MAX)
		handoff_cache_forget(h, c);
}

void
handoff_cache_shrink(struct handoff_cache *h)
{
	while (h->bytes > HANDOFF_CACHE_BYTES)
		drop(h, LIST_ITEM(h->by_age.next, struct handoff, age));
	metric_set(&metrics[0], (int64_t)h->bytes);
}

static bool
trim_handoffs(struct trim *t, struct mono now)
{
	struct handoff_cache *h = CONTAINER(t, struct handoff_cache, trim);
	struct mono before = mono_add_ms(now, -TRIM_MS);

	while (!list_empty(&h->by_age)) {
		struct handoff *x =
		    LIST_ITEM(h->by_age.next, struct handoff, age);
		if (!mono_before(x->came, before))
			break;
		drop(h, x);
	}
	if (list_empty(&h->by_age) && h->pool != NULL)
		handoff_rest(h->pool);
	metric_set(&metrics[0], (int64_t)h->bytes);
	return !list_empty(&h->by_age);
}

void
handoff_cache_open(struct handoff_cache *h, struct loop *home,
    struct handoff_pool *pool, struct read_tasks *tasks)
{
	h->home = home;
	h->pool = pool;
	list_init(&h->by_age);
	h->trim.run = trim_handoffs;
	read_tasks_trim(tasks, &h->trim);
	metric_register(metrics, ARRAY_LEN(metrics));
}

void
crawl_handoffs_init(struct crawl_handoffs *c, uint32_t crawl)
{
	*c = (struct crawl_handoffs){ .crawl = crawl };
	list_init(&c->by_number);
}

void
handoff_cache_follow(struct handoff_cache *h, struct crawl_handoffs *c,
    bool bodies)
{
	enum handoff_want want = bodies ? HANDOFF_BODIES : HANDOFF_HEADS;

	c->unread = 0;
	if (h->pool == NULL || want <= c->follows)
		return;
	c->follows = want;
	handoff_follow(h->pool, c->crawl, want);
}

uint64_t
handoff_cache_first(const struct crawl_handoffs *c)
{
	return list_empty(&c->by_number) ? UINT64_MAX :
	    LIST_ITEM(c->by_number.next, struct handoff, node)->number;
}

void
handoff_cache_lend(struct crawl_handoffs *c, uint64_t from, uint64_t to,
    bool bodies, size_t max, struct handoff_loan *l)
{
	struct list *n = c->by_number.prev;
	size_t most = 0;

	/* From the end: the newest are read most. */
	for (; n != &c->by_number; n = n->prev, most++)
		if (LIST_ITEM(n, struct handoff, node)->number < from)
			break;
	most = MIN(most, max);
	if (most == 0)
		return;
	c->unread = 0;
	l->at = mem_array(most, sizeof(struct handoff *));
	for (n = n->next; n != &c->by_number && l->n < most; n = n->next) {
		struct handoff *x = LIST_ITEM(n, struct handoff, node);
		if (x->number > to)
			break;
		/* A big body is streamed, whoever has it. */
		if (!x->has_body && bodies && !x->big)
			continue;
		x->users++;
		l->at[l->n++] = x;
	}
}

void
handoff_cache_give_back(struct handoff_loan *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct handoff *x = l->at[i];
		if (--x->users == 0 && x->dropped)
			handoff_free(&x);
	}
	mem_free(&l->at);
	l->n = 0;
}

/*
 * Fresh captures of crawls that somebody reads as they run.
 *
 * The fetchers make them as long as they are read: a reader who has all there
 * is follows, and one who falls behind by FEED_UNREAD_MAX reads the archive.
 */
#include "engine/stream/cache.h"

static void
drop(struct feed *f, struct fresh *x)
{
	f->fresh_bytes -= x->bytes;
	list_take(&x->age);
	list_take(&x->node);
	if (x->users == 0)
		fresh_free(&x);
	else
		x->dropped = true;
}

static void
unfollow(struct feed *f, struct crawl_cache *s)
{
	if (s->follows == FRESH_NONE)
		return;
	s->follows = FRESH_NONE;
	fresh_unfollow(f->options.fresh, s->crawl);
}

void
feed_fresh_forget(struct feed *f, struct crawl_cache *s)
{
	unfollow(f, s);
	while (!list_empty(&s->fresh))
		drop(f, LIST_ITEM(s->fresh.next, struct fresh, node));
}

void
feed_fresh(struct feed *f, struct list *l)
{
	struct list *n, *next;

	for (n = l->next; n != l; n = next) {
		struct fresh *x = LIST_ITEM(n, struct fresh, node);
		struct crawl_cache *s = map_get_id(&f->racks, x->crawl);
		next = n->next;
		if (s == NULL || s->follows == FRESH_NONE)
			continue;
		list_take(&x->node);
		list_put(&s->fresh, &x->node);
		list_put(&f->fresh, &x->age);
		f->fresh_bytes += x->bytes;
		x->came = loop_now(f->options.home);
		if (++s->unread > FEED_UNREAD_MAX)
			feed_fresh_forget(f, s);
	}
	while (f->fresh_bytes > FEED_FRESH_BYTES)
		drop(f, LIST_ITEM(f->fresh.next, struct fresh, age));
	feed_fresh_weigh(f);
}

bool
feed_fresh_rest(struct feed *f, struct mono before)
{
	while (!list_empty(&f->fresh)) {
		struct fresh *x = LIST_ITEM(f->fresh.next, struct fresh, age);
		if (!mono_before(x->came, before))
			break;
		drop(f, x);
	}
	if (list_empty(&f->fresh) && f->options.fresh != NULL)
		fresh_rest(f->options.fresh);
	feed_fresh_weigh(f);
	return !list_empty(&f->fresh);
}

void
feed_follow(struct feed *f, struct crawl_cache *s, unsigned form)
{
	enum fresh_want want = form & FEED_BODY ? FRESH_BODIES : FRESH_HEADS;

	s->unread = 0;
	if (f->options.fresh == NULL || want <= s->follows)
		return;
	s->follows = want;
	fresh_follow(f->options.fresh, s->crawl, want);
}

uint64_t
feed_fresh_from(const struct crawl_cache *s)
{
	return list_empty(&s->fresh) ? UINT64_MAX :
	    LIST_ITEM(s->fresh.next, struct fresh, node)->number;
}

static bool
serves(const struct fresh *x, const struct batch_task *t)
{
	/* The body of a big one is streamed, whoever has it. */
	return x->has_body || !(t->form & FEED_BODY) || x->big;
}

void
feed_fresh_lend(struct crawl_cache *s, struct batch_task *t)
{
	struct list *n = s->fresh.prev;
	size_t most = 0;

	/* The newest are read most. */
	for (; n != &s->fresh; n = n->prev, most++)
		if (LIST_ITEM(n, struct fresh, node)->number < t->from)
			break;
	most = MIN(most, FEED_BATCH_ITEMS);
	if (most == 0)
		return;
	s->unread = 0;
	t->fresh = mem_array(most, sizeof(struct fresh *));
	for (n = n->next; n != &s->fresh && t->fresh_n < most; n = n->next) {
		struct fresh *x = LIST_ITEM(n, struct fresh, node);
		if (x->number > t->to)
			break;
		if (!serves(x, t))
			continue;
		x->users++;
		t->fresh[t->fresh_n++] = x;
	}
}

void
feed_fresh_back(struct batch_task *t)
{
	for (size_t i = 0; i < t->fresh_n; i++) {
		struct fresh *x = t->fresh[i];
		if (--x->users == 0 && x->dropped)
			fresh_free(&x);
	}
	mem_free(&t->fresh);
	t->fresh_n = 0;
}

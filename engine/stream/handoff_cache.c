/*
 * Fresh captures of crawls that somebody reads as they run.
 *
 * The fetchers make them as long as they are read: a reader who has all there
 * is follows, and one who falls behind by STREAM_UNREAD_MAX reads the archive.
 */
#include "engine/stream/cache.h"

static void
drop(struct stream *f, struct handoff *x)
{
	f->fresh_bytes -= x->bytes;
	list_take(&x->age);
	list_take(&x->node);
	if (x->users == 0)
		handoff_free(&x);
	else
		x->dropped = true;
}

static void
unfollow(struct stream *f, struct crawl_cache *s)
{
	if (s->follows == HANDOFF_NONE)
		return;
	s->follows = HANDOFF_NONE;
	handoff_unfollow(f->options.fresh, s->crawl);
}

void
handoff_cache_forget(struct stream *f, struct crawl_cache *s)
{
	unfollow(f, s);
	while (!list_empty(&s->fresh))
		drop(f, LIST_ITEM(s->fresh.next, struct handoff, node));
}

void
stream_handoff(struct stream *f, struct list *l)
{
	struct list *n, *next;

	for (n = l->next; n != l; n = next) {
		struct handoff *x = LIST_ITEM(n, struct handoff, node);
		struct crawl_cache *s = map_get_id(&f->caches, x->crawl);
		next = n->next;
		if (s == NULL || s->follows == HANDOFF_NONE)
			continue;
		list_take(&x->node);
		list_put(&s->fresh, &x->node);
		list_put(&f->fresh, &x->age);
		f->fresh_bytes += x->bytes;
		x->came = loop_now(f->options.home);
		if (++s->unread > STREAM_UNREAD_MAX)
			handoff_cache_forget(f, s);
	}
	while (f->fresh_bytes > STREAM_FRESH_BYTES)
		drop(f, LIST_ITEM(f->fresh.next, struct handoff, age));
	handoff_cache_weigh(f);
}

bool
handoff_cache_rest(struct stream *f, struct mono before)
{
	while (!list_empty(&f->fresh)) {
		struct handoff *x =
		    LIST_ITEM(f->fresh.next, struct handoff, age);
		if (!mono_before(x->came, before))
			break;
		drop(f, x);
	}
	if (list_empty(&f->fresh) && f->options.fresh != NULL)
		handoff_rest(f->options.fresh);
	handoff_cache_weigh(f);
	return !list_empty(&f->fresh);
}

void
stream_follow(struct stream *f, struct crawl_cache *s, unsigned form)
{
	enum handoff_want want =
	    form & STREAM_BODY ? HANDOFF_BODIES : HANDOFF_HEADS;

	s->unread = 0;
	if (f->options.fresh == NULL || want <= s->follows)
		return;
	s->follows = want;
	handoff_follow(f->options.fresh, s->crawl, want);
}

uint64_t
handoff_cache_from(const struct crawl_cache *s)
{
	return list_empty(&s->fresh) ? UINT64_MAX :
	    LIST_ITEM(s->fresh.next, struct handoff, node)->number;
}

static bool
serves(const struct handoff *x, const struct batch_task *t)
{
	/* The body of a big one is streamed, whoever has it. */
	return x->has_body || !(t->form & STREAM_BODY) || x->big;
}

void
handoff_cache_lend(struct crawl_cache *s, struct batch_task *t)
{
	struct list *n = s->fresh.prev;
	size_t most = 0;

	/* The newest are read most. */
	for (; n != &s->fresh; n = n->prev, most++)
		if (LIST_ITEM(n, struct handoff, node)->number < t->from)
			break;
	most = MIN(most, STREAM_BATCH_ITEMS);
	if (most == 0)
		return;
	s->unread = 0;
	t->fresh = mem_array(most, sizeof(struct handoff *));
	for (n = n->next; n != &s->fresh && t->fresh_n < most; n = n->next) {
		struct handoff *x = LIST_ITEM(n, struct handoff, node);
		if (x->number > t->to)
			break;
		if (!serves(x, t))
			continue;
		x->users++;
		t->fresh[t->fresh_n++] = x;
	}
}

void
handoff_cache_back(struct batch_task *t)
{
	for (size_t i = 0; i < t->fresh_n; i++) {
		struct handoff *x = t->fresh[i];
		if (--x->users == 0 && x->dropped)
			handoff_free(&x);
	}
	mem_free(&t->fresh);
	t->fresh_n = 0;
}

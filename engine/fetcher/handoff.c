#include "engine/fetcher/handoff.h"

static _Atomic uint64_t *
place_of(struct handoff_pool *pot, uint32_t crawl)
{
	return &pot->followed[crawl % HANDOFF_CRAWLS];
}

void
handoff_follow(struct handoff_pool *pot, uint32_t crawl, enum handoff_want want)
{
	atomic_store_explicit(place_of(pot, crawl),
	    (uint64_t)crawl << 32 | want, memory_order_relaxed);
}

void
handoff_unfollow(struct handoff_pool *pot, uint32_t crawl)
{
	if (handoff_wanted(pot, crawl) != HANDOFF_NONE)
		atomic_store_explicit(place_of(pot, crawl), 0,
		    memory_order_relaxed);
}

enum handoff_want
handoff_wanted(const struct handoff_pool *pot, uint32_t crawl)
{
	uint64_t v = atomic_load_explicit(
	    &pot->followed[crawl % HANDOFF_CRAWLS], memory_order_relaxed);

	return v >> 32 == crawl ? (enum handoff_want)(uint32_t)v : HANDOFF_NONE;
}

/* --- spares ------------------------------------------------------------- */

static struct handoff *
take_spare(struct handoff_pool *pot)
{
	struct handoff *x = NULL;

	for (size_t i = 0; i < HANDOFF_SPARES && x == NULL; i++)
		if (atomic_load_explicit(&pot->spares[i],
		    memory_order_relaxed) != NULL)
			x = atomic_exchange_explicit(&pot->spares[i], NULL,
			    memory_order_acquire);
	return x;
}

static bool
keep_spare(struct handoff_pool *pot, struct handoff *x)
{
	if (x->text.cap + x->bodys.cap > HANDOFF_SPARE_BYTES)
		return false;
	for (size_t i = 0; i < HANDOFF_SPARES; i++) {
		struct handoff *none = NULL;
		if (atomic_load_explicit(&pot->spares[i],
		    memory_order_relaxed) == NULL &&
		    atomic_compare_exchange_strong_explicit(&pot->spares[i],
		    &none, x, memory_order_release, memory_order_relaxed))
			return true;
	}
	return false;
}

static void
free_memory(struct handoff *x)
{
	buf_free(&x->text);
	buf_free(&x->bodys);
	mem_free(&x);
}

void
handoff_rest(struct handoff_pool *pot)
{
	struct handoff *x;

	while ((x = take_spare(pot)) != NULL)
		free_memory(x);
}

/* --- captures ----------------------------------------------------------- */

struct handoff *
handoff_new(struct handoff_pool *pot, uint32_t crawl, enum handoff_want want,
    struct str rest, struct str head, struct buf *body, struct str content)
{
	bool big = content.n > HANDOFF_BODY_BYTES;
	bool has_body = want == HANDOFF_BODIES && !big;
	size_t bytes = sizeof(struct handoff) + rest.n + head.n +
	    (has_body ? body->cap : 0);

	if (atomic_fetch_add_explicit(&pot->bytes, bytes,
	    memory_order_relaxed) + bytes > HANDOFF_BYTES_MAX) {
		atomic_fetch_sub_explicit(&pot->bytes, bytes,
		    memory_order_relaxed);
		return NULL;
	}
	struct handoff *x = take_spare(pot);
	if (x == NULL)
		x = mem_new(sizeof(*x));
	struct buf text = x->text, spare = x->bodys;
	buf_clear(&text);
	buf_clear(&spare);
	buf_put_str(&text, rest);
	buf_put_str(&text, head);
	*x = (struct handoff){ .pot = pot, .bytes = bytes, .crawl = crawl,
	    .text = text, .rest = { text.p, rest.n },
	    .head = { text.p + rest.n, head.n }, .big = big,
	    .has_body = has_body, .bodys = spare };
	list_init(&x->node);
	list_init(&x->age);
	if (has_body) {
		x->body = content;
		x->bodys = *body;
		*body = spare;
	}
	return x;
}

void
handoff_free(struct handoff **xp)
{
	struct handoff *x = *xp;

	if (x == NULL)
		return;
	list_take(&x->node);
	list_take(&x->age);
	atomic_fetch_sub_explicit(&x->pot->bytes, x->bytes,
	    memory_order_relaxed);
	*xp = NULL;
	if (!keep_spare(x->pot, x))
		free_memory(x);
}

void
handoff_free_list(struct list *l)
{
	while (!list_empty(l)) {
		struct handoff *x = LIST_ITEM(l->next, struct handoff, node);
		handoff_free(&x);
	}
}

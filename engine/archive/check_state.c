#include "engine/archive/check_state.h"

void
id_set_free(struct id_set *s)
{
	mem_free(&s->slots);
	s->n = s->cap = 0;
}

/* Forget all hashes; keep the memory. */
static void
id_set_clear(struct id_set *s)
{
	if (s->cap > 0)
		memset(s->slots, 0, s->cap * sizeof(*s->slots));
	s->n = 0;
}

/* The slot that holds `hash`, or where it belongs. */
static size_t
slot_of(const struct id_set *s, uint64_t hash)
{
	size_t at = (size_t)hash & (s->cap - 1);

	while (s->slots[at] != 0 && s->slots[at] != hash)
		at = (at + 1) & (s->cap - 1);
	return at;
}

static void
grow(struct id_set *s)
{
	struct id_set old = *s;

	s->cap = old.cap == 0 ? 1024 : 2 * old.cap;
	s->slots = mem_array(s->cap, sizeof(*s->slots));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i] != 0)
			s->slots[slot_of(s, old.slots[i])] = old.slots[i];
	mem_free(&old.slots);
}

bool
id_set_put(struct id_set *s, uint64_t hash)
{
	hash = hash == 0 ? 1 : hash;
	if (s->n == s->max) {
		s->forgotten = true;
		id_set_clear(s);
	}
	if (2 * s->n >= s->cap)
		grow(s);
	size_t at = slot_of(s, hash);
	if (s->slots[at] != 0)
		return true;
	s->slots[at] = hash;
	s->n++;
	return false;
}

bool
id_set_has(const struct id_set *s, uint64_t hash)
{
	hash = hash == 0 ? 1 : hash;
	return s->cap > 0 && s->slots[slot_of(s, hash)] != 0;
}

struct crawl_numbers *
crawl_numbers_get(struct map *crawls, uint32_t crawl)
{
	struct crawl_numbers *c = map_get_id(crawls, crawl);

	if (c != NULL || crawls->n == ARCHIVE_CRAWLS_MAX)
		return c;
	c = mem_new(sizeof(*c));
	map_put_id(crawls, crawl, c);
	return c;
}

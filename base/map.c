#include "base/map.h"

#include "base/hash.h"

#define CAP_MIN ((size_t)16)

/* A key that is a number has no bytes: its hash is a permutation of it. */
static bool
same(const struct map_slot *s, uint64_t hash, struct str key)
{
	return s->hash == hash && s->key.n == key.n &&
	    (key.p == NULL) == (s->key.p == NULL) && str_eq(s->key, key);
}

static size_t
find(const struct map *m, uint64_t hash, struct str key)
{
	size_t i = hash & (m->cap - 1);

	while (m->slots[i].value != NULL && !same(&m->slots[i], hash, key))
		i = (i + 1) & (m->cap - 1);
	return i;
}

static void
resize(struct map *m, size_t cap)
{
	struct map old = *m;

	m->cap = cap;
	m->slots = mem_array(m->cap, sizeof(*m->slots));
	for (size_t i = 0; i < old.cap; i++) {
		const struct map_slot *s = &old.slots[i];
		if (s->value != NULL)
			m->slots[find(m, s->hash, s->key)] = *s;
	}
	m->n = old.n;
	mem_free(&old.slots);
}

void
map_reserve(struct map *m, size_t n)
{
	size_t cap = MAX(m->cap, CAP_MIN);

	CHECK(n > 0 && n <= SIZE_MAX / 16);
	while ((n - 1) * 8 >= cap * 7)
		cap *= 2;
	if (cap != m->cap)
		resize(m, cap);
}

static void *
get(const struct map *m, uint64_t hash, struct str key)
{
	return m->cap == 0 ? NULL : m->slots[find(m, hash, key)].value;
}

static void *
put(struct map *m, uint64_t hash, struct str key, void *value)
{
	CHECK(value != NULL);
	if (m->cap == 0 || m->n * 8 >= m->cap * 7)
		map_reserve(m, m->n + 1);
	struct map_slot *s = &m->slots[find(m, hash, key)];
	void *old = s->value;
	m->n += old == NULL;
	*s = (struct map_slot){ hash, key, value };
	return old;
}

static void *
take(struct map *m, uint64_t hash, struct str key)
{
	if (m->cap == 0)
		return NULL;
	size_t mask = m->cap - 1, hole = find(m, hash, key);
	void *old = m->slots[hole].value;
	if (old == NULL)
		return NULL;
	/* Move each later entry that belongs there into the hole. */
	for (size_t i = (hole + 1) & mask; m->slots[i].value != NULL;
	    i = (i + 1) & mask) {
		size_t home = m->slots[i].hash & mask;
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].value = NULL;
	m->n--;
	return old;
}

void
map_free(struct map *m)
{
	mem_free(&m->slots);
	m->n = m->cap = 0;
}

void *
map_get(const struct map *m, struct str key)
{
	return get(m, hash_bytes(key, 0), key.p == NULL ? STR("") : key);
}

void *
map_put(struct map *m, struct str key, void *value)
{
	return put(m, hash_bytes(key, 0), key.p == NULL ? STR("") : key, value);
}

void *
map_take(struct map *m, struct str key)
{
	return take(m, hash_bytes(key, 0), key.p == NULL ? STR("") : key);
}

void *
map_get_id(const struct map *m, uint64_t id)
{
	return get(m, hash_u64(id), STR_NONE);
}

void *
map_put_id(struct map *m, uint64_t id, void *value)
{
	return put(m, hash_u64(id), STR_NONE, value);
}

void *
map_take_id(struct map *m, uint64_t id)
{
	return take(m, hash_u64(id), STR_NONE);
}

void *
map_next(const struct map *m, size_t *at)
{
	while (*at < m->cap && m->slots[*at].value == NULL)
		++*at;
	return *at < m->cap ? m->slots[(*at)++].value : NULL;
}

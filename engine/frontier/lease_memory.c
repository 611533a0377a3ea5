/*
 * How outsiders' queues stand in memory: slots in chunks that never move, names
 * in one arena per crawl, sets and heaps that hold slots by number.
 */
#include "base/hash.h"
#include "engine/frontier/lease_crawl.h"

/* Names of queues that are gone are swept out at half of so much and more. */
#define NAMES_SWEPT_BYTES ((size_t)64 << 10)
#define PLACES_FIRST 8u
#define TURNS_FIRST 16u

/* --- sets ----------------------------------------------------------------- */

static size_t
home_of(const struct lease_set *s, uint32_t tag)
{
	return s->ids ? tag % s->cap : (size_t)((uint64_t)tag * s->cap >> 32);
}

static size_t
behind(const struct lease_set *s, size_t i)
{
	return i + 1 == s->cap ? 0 : i + 1;
}

/* How far it is from one place up to another, round the end. */
static size_t
distance(const struct lease_set *s, size_t from, size_t to)
{
	return to >= from ? to - from : to + s->cap - from;
}

static void
set_place(struct lease_set *s, struct lease_place p)
{
	size_t i = home_of(s, p.tag);

	while (s->places[i].slot != 0)
		i = behind(s, i);
	s->places[i] = p;
}

static void
set_grow(struct lease_set *s)
{
	struct lease_set old = *s;

	s->cap = old.cap == 0 ? PLACES_FIRST : old.cap + old.cap / 2;
	s->places = mem_array(s->cap, sizeof(*s->places));
	for (size_t i = 0; i < old.cap; i++)
		if (old.places[i].slot != 0)
			set_place(s, old.places[i]);
	mem_free(&old.places);
}

static void
set_put(struct lease_set *s, uint32_t tag, uint32_t slot)
{
	if (s->n * 8 >= s->cap * 7)
		set_grow(s);
	set_place(s, (struct lease_place){ tag, slot });
	s->n++;
}

/* The next place with this tag from `i` on; its slot is 0 when none is left. */
static size_t
set_seek(const struct lease_set *s, size_t i, uint32_t tag)
{
	while (s->places[i].slot != 0 && s->places[i].tag != tag)
		i = behind(s, i);
	return i;
}

static void
set_take(struct lease_set *s, uint32_t tag, uint32_t slot)
{
	size_t hole = set_seek(s, home_of(s, tag), tag);

	while (s->places[hole].slot != slot) {
		CHECK(s->places[hole].slot != 0);
		hole = set_seek(s, behind(s, hole), tag);
	}
	/* Move each later entry that belongs there into the hole. */
	for (size_t i = behind(s, hole); s->places[i].slot != 0;
	    i = behind(s, i)) {
		size_t home = home_of(s, s->places[i].tag);
		if (distance(s, home, i) >= distance(s, hole, i)) {
			s->places[hole] = s->places[i];
			hole = i;
		}
	}
	s->places[hole].slot = 0;
	s->n--;
}

bool
lease_set_next(const struct lease_set *s, size_t *at, uint32_t *slot)
{
	for (; *at < s->cap; (*at)++)
		if (s->places[*at].slot != 0) {
			*slot = s->places[(*at)++].slot;
			return true;
		}
	return false;
}

void
lease_set_free(struct lease_set *s)
{
	mem_free(&s->places);
	s->n = s->cap = 0;
}

/* --- names ---------------------------------------------------------------- */

/* A varint length stands before the bytes. */
static const char *
name_put(struct arena *a, struct str key)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	char *name;

	if (key.n < 0x80) {
		name = arena_bytes(a, key.n + 1);
		name[0] = (char)key.n;
		if (key.n > 0)
			memcpy(name + 1, key.p, key.n);
		return name;
	}
	buf_put_field(&b, key);
	name = arena_bytes(a, b.n);
	memcpy(name, b.p, b.n);
	return name;
}

static struct str
name_of(const char *name)
{
	struct reader in = reader_of((struct str){ name, 10 });

	if ((unsigned char)name[0] < 0x80)
		return (struct str){ name + 1, (unsigned char)name[0] };
	uint64_t n = read_varint(&in);
	return (struct str){ in.p, (size_t)n };
}

struct str
lease_queue_key(const struct lease_queue *q)
{
	return name_of(q->name);
}

/* Rebuild the names of the remaining queues when most were removed. */
static void
names_sweep(struct lease_crawl *c)
{
	struct arena names = ARENA_INIT;
	uint32_t slot;

	if (c->names_gone < NAMES_SWEPT_BYTES ||
	    c->names_gone < c->names.total / 2)
		return;
	for (size_t at = 0; lease_set_next(&c->keys, &at, &slot);) {
		struct lease_queue *q = lease_at(c->frontier->leases, slot);
		q->name = name_put(&names, lease_queue_key(q));
	}
	arena_free(&c->names);
	c->names = names;
	c->names_gone = 0;
}

static uint32_t
key_tag(const struct lease_crawl *c, struct str key)
{
	return (uint32_t)(hash_bytes(key, c->id) >> 32);
}

struct lease_queue *
lease_find_queue(const struct lease_crawl *c, struct str key)
{
	if (c == NULL || c->keys.cap == 0)
		return NULL;
	const struct lease_service *o = c->frontier->leases;
	const struct lease_set *s = &c->keys;
	uint32_t tag = key_tag(c, key);
	size_t i = set_seek(s, home_of(s, tag), tag);

	for (; s->places[i].slot != 0; i = set_seek(s, behind(s, i), tag)) {
		struct lease_queue *q = lease_at(o, s->places[i].slot);
		if (str_eq(lease_queue_key(q), key))
			return q;
	}
	return NULL;
}

struct lease_queue *
lease_queue_of(struct frontier *f, uint32_t crawl, uint32_t id)
{
	const struct lease_crawl *c = lease_crawl_of(f, crawl);

	if (c == NULL || c->ids.cap == 0)
		return NULL;
	size_t i = set_seek(&c->ids, home_of(&c->ids, id), id);
	uint32_t slot = c->ids.places[i].slot;
	return slot == 0 ? NULL : lease_at(f->leases, slot);
}

/* --- slots ---------------------------------------------------------------- */

static uint32_t
slot_take(struct lease_service *o)
{
	uint32_t slot = o->slot_free;

	if (slot != 0) {
		o->slot_free = lease_at(o, slot)->id;
		return slot;
	}
	/* The first one is nobody's. */
	slot = o->slots_n = MAX(o->slots_n, 1u);
	CHECK(slot < UINT32_MAX);
	size_t chunk = slot / LEASE_CHUNK;
	if (slot == 1 || slot % LEASE_CHUNK == 0) {
		o->chunks = mem_resize(o->chunks, chunk + 1,
		    sizeof(struct lease_queue *));
		o->chunks[chunk] = mem_array(LEASE_CHUNK,
		    sizeof(struct lease_queue));
	}
	o->slots_n++;
	return slot;
}

struct lease_queue *
lease_take_slot(struct lease_crawl *c, uint32_t id, struct str key)
{
	struct lease_service *o = c->frontier->leases;
	uint32_t slot = slot_take(o);
	struct lease_queue *q = lease_at(o, slot);

	*q = (struct lease_queue){ .crawl = c, .slot = slot, .id = id };
	q->name = name_put(&c->names, key);
	set_put(&c->keys, key_tag(c, key), slot);
	c->ids.ids = true;
	set_put(&c->ids, id, slot);
	return q;
}

void
lease_give_slot(struct lease_queue *q)
{
	struct lease_crawl *c = q->crawl;
	struct lease_service *o = c->frontier->leases;
	struct str key = lease_queue_key(q);

	if (q->rare) {
		struct lease_rare *r = map_take_id(&o->rares, q->slot);
		mem_free(&r);
	}
	mem_free(&q->cursor);
	/* The freeing of a deleted crawl iterates over its sets. */
	if (!c->dead) {
		set_take(&c->keys, key_tag(c, key), q->slot);
		set_take(&c->ids, q->id, q->slot);
		c->names_gone += key.n + 1;
	}
	*q = (struct lease_queue){ .slot = q->slot, .id = o->slot_free };
	o->slot_free = q->slot;
	if (!c->dead)
		names_sweep(c);
}

void
lease_free_slots(struct lease_service *o)
{
	size_t chunks = (o->slots_n + LEASE_CHUNK - 1) / LEASE_CHUNK;

	for (size_t i = 0; i < chunks; i++)
		mem_free(&o->chunks[i]);
	mem_free(&o->chunks);
	map_free(&o->rares);
}

/* --- what few queues have ------------------------------------------------- */

const struct lease_rare *
lease_rare(const struct lease_queue *q)
{
	static const struct lease_rare none;

	return q->rare ? map_get_id(&q->crawl->frontier->leases->rares,
	    q->slot) : &none;
}

struct lease_rare *
lease_make_rare(struct lease_queue *q)
{
	struct lease_service *o = q->crawl->frontier->leases;

	if (!q->rare) {
		struct lease_rare *r = mem_new(sizeof(*r));
		map_put_id(&o->rares, q->slot, r);
		q->rare = true;
	}
	return map_get_id(&o->rares, q->slot);
}

/* --- slots that are marked ------------------------------------------------ */

void
lease_slots_put(struct lease_slots *s, uint32_t slot)
{
	s->slots = mem_room(s->slots, s->n, &s->cap, 64, sizeof(*s->slots));
	s->slots[s->n++] = slot;
}

void
lease_slots_free(struct lease_slots *s)
{
	mem_free(&s->slots);
	s->n = s->cap = 0;
}

/* --- heaps ---------------------------------------------------------------- */

static void
set_turn(struct lease_service *o, struct lease_turns *h, size_t i,
    struct lease_turn t)
{
	h->turns[i] = t;
	lease_at(o, t.slot)->at = (uint32_t)i + 1;
}

static void
turn_up(struct lease_service *o, struct lease_turns *h, size_t i,
    struct lease_turn t)
{
	for (; i > 0 && t.key < h->turns[(i - 1) / 4].key; i = (i - 1) / 4)
		set_turn(o, h, i, h->turns[(i - 1) / 4]);
	set_turn(o, h, i, t);
}

static void
turn_down(struct lease_service *o, struct lease_turns *h, size_t i,
    struct lease_turn t)
{
	for (;;) {
		size_t first = 4 * i + 1, least = first;
		if (first >= h->n)
			break;
		for (size_t k = first + 1; k < MIN(first + 4, h->n); k++)
			if (h->turns[k].key < h->turns[least].key)
				least = k;
		if (h->turns[least].key >= t.key)
			break;
		set_turn(o, h, i, h->turns[least]);
		i = least;
	}
	set_turn(o, h, i, t);
}

static void
turns_resize(struct lease_turns *h, size_t cap)
{
	h->turns = mem_resize(h->turns, cap, sizeof(*h->turns));
	h->cap = cap;
}

void
lease_turns_put(struct lease_service *o, struct lease_turns *h,
    struct lease_queue *q, int64_t key)
{
	CHECK(q->at == 0);
	if (h->n == h->cap)
		turns_resize(h, MAX(TURNS_FIRST, h->cap + h->cap / 4));
	h->n++;
	turn_up(o, h, h->n - 1, (struct lease_turn){ key, q->slot });
}

void
lease_turns_take(struct lease_service *o, struct lease_turns *h,
    struct lease_queue *q)
{
	size_t i = q->at - 1;

	CHECK(q->at != 0 && i < h->n && h->turns[i].slot == q->slot);
	q->at = 0;
	struct lease_turn last = h->turns[--h->n];
	if (i < h->n) {
		if (i > 0 && last.key < h->turns[(i - 1) / 4].key)
			turn_up(o, h, i, last);
		else
			turn_down(o, h, i, last);
	}
	if (h->n == 0)
		lease_turns_free(h);
	else if (h->cap > TURNS_FIRST && h->n < h->cap / 4)
		turns_resize(h, h->cap / 2);
}

void
lease_turns_free(struct lease_turns *h)
{
	mem_free(&h->turns);
	h->n = h->cap = 0;
}

#include "engine/frontier/near_dup.h"

#define QUARTERS 4
#define BUCKETS (1u << 12)
#define BUCKET_FIRST 4

/*
 * A ring: the oldest stands at `first`.  `cap` is a power of two.  `evicted`
 * counts those that left for want of room and are not yet too old: they are the
 * oldest of all that came here.
 */
struct bucket {
	uint64_t *hashes;
	uint32_t evicted;
	uint8_t first, n, cap;
};

struct near_dup {
	uint64_t *all;              /* a ring, to know whose time is over */
	size_t n, cap, max;
	uint64_t added;
	struct bucket *buckets;     /* QUARTERS x BUCKETS */
};

struct near_dup *
near_dup_new(size_t near_max)
{
	struct near_dup *x = mem_new(sizeof(*x));

	CHECK(near_max > 0 && near_max < UINT32_MAX);
	x->max = near_max;
	x->buckets = mem_array((size_t)QUARTERS * BUCKETS, sizeof(*x->buckets));
	return x;
}

void
near_dup_free(struct near_dup **xp)
{
	if (*xp == NULL)
		return;
	for (size_t i = 0; i < (size_t)QUARTERS * BUCKETS; i++)
		mem_free(&(*xp)->buckets[i].hashes);
	mem_free(&(*xp)->all);
	mem_free(&(*xp)->buckets);
	mem_free(xp);
}

static struct bucket *
bucket_of(struct near_dup *x, unsigned quarter, uint64_t hash)
{
	return &x->buckets[quarter * BUCKETS +
	    (hash >> (16 * quarter) & (BUCKETS - 1))];
}

/* No call, and no instruction that old processors lack. */
static bool
is_near(uint64_t a, uint64_t b)
{
	uint64_t differ = a ^ b;

	for (int i = 0; i < NEAR_DUP_DISTANCE; i++)
		differ &= differ - 1;   /* the lowest bit goes; 0 stays 0 */
	return differ == 0;
}

static bool
bucket_find(const struct bucket *b, uint64_t hash)
{
	for (size_t i = 0; i < b->n; i++)
		if (is_near(b->hashes[(b->first + i) & (b->cap - 1)], hash))
			return true;
	return false;
}

static void
bucket_drop_oldest(struct bucket *b)
{
	b->first = (uint8_t)((b->first + 1) & (b->cap - 1));
	b->n--;
}

static void
bucket_grow(struct bucket *b)
{
	size_t cap = b->cap == 0 ? BUCKET_FIRST : (size_t)b->cap * 2;
	uint64_t *hashes = mem_array(cap, sizeof(*hashes));

	for (size_t i = 0; i < b->n; i++)
		hashes[i] = b->hashes[(b->first + i) & (b->cap - 1)];
	mem_free(&b->hashes);
	b->hashes = hashes;
	b->first = 0;
	b->cap = (uint8_t)cap;
}

static void
bucket_put(struct bucket *b, uint64_t hash)
{
	if (b->n == NEAR_DUP_BUCKET_MAX) {
		bucket_drop_oldest(b);
		b->evicted++;
	}
	if (b->n == b->cap)
		bucket_grow(b);
	b->hashes[(b->first + b->n) & (b->cap - 1)] = hash;
	b->n++;
}

/* The oldest of all: in each of its buckets it is the oldest, too. */
static void
forget(struct near_dup *x, uint64_t hash)
{
	for (unsigned q = 0; q < QUARTERS; q++) {
		struct bucket *b = bucket_of(x, q, hash);
		if (b->evicted > 0)
			b->evicted--;
		else
			bucket_drop_oldest(b);
	}
}

static void
remember(struct near_dup *x, uint64_t hash)
{
	if (x->n == x->cap && x->cap < x->max) {
		x->cap = x->cap == 0 ? 256 : MIN(x->cap * 2, x->max);
		x->all = mem_resize(x->all, x->cap, sizeof(*x->all));
	}
	size_t at = (size_t)(x->added++ % x->max);
	if (x->n == x->max)
		forget(x, x->all[at]);
	else
		x->n++;
	x->all[at] = hash;
	for (unsigned q = 0; q < QUARTERS; q++)
		bucket_put(bucket_of(x, q, hash), hash);
}

bool
near_dup_add(struct near_dup *x, uint64_t hash)
{
	bool found = false;

	if (hash == 0)
		return false;
	for (unsigned q = 0; q < QUARTERS && !found; q++)
		found = bucket_find(bucket_of(x, q, hash), hash);
	remember(x, hash);
	return found;
}

void
near_dup_restore(struct near_dup *x, uint64_t hash)
{
	if (hash != 0)
		remember(x, hash);
}

#include "engine/frontier/near.h"

#define QUARTERS 4
#define BUCKETS (1u << 16)
#define NO_ENTRY UINT32_MAX

struct near_entry {
	uint64_t hash;
	uint32_t next[QUARTERS];    /* an older entry of the same quarter */
};

struct near {
	struct near_entry *entries;
	size_t n, cap, max;
	uint64_t added;
	uint32_t *heads;            /* QUARTERS x BUCKETS */
};

struct near *
near_new(size_t near_max)
{
	struct near *x = mem_new(sizeof(*x));

	CHECK(near_max > 0 && near_max < NO_ENTRY);
	x->max = near_max;
	x->heads = mem_array((size_t)QUARTERS * BUCKETS, sizeof(*x->heads));
	memset(x->heads, 0xff, (size_t)QUARTERS * BUCKETS * sizeof(*x->heads));
	return x;
}

void
near_free(struct near **xp)
{
	if (*xp == NULL)
		return;
	mem_free(&(*xp)->entries);
	mem_free(&(*xp)->heads);
	mem_free(xp);
}

static uint32_t *
head_of(struct near *x, unsigned quarter, uint64_t hash)
{
	return &x->heads[quarter * BUCKETS + (hash >> (16 * quarter) & 0xffff)];
}

/* How many hashes were added after the one in slot `at`. */
static size_t
age_of(const struct near *x, size_t newest, uint32_t at)
{
	return newest >= at ? newest - at : newest + x->max - at;
}

static bool
find(struct near *x, uint64_t hash)
{
	size_t newest = (size_t)((x->added + x->max - 1) % x->max);

	for (unsigned q = 0; q < QUARTERS; q++) {
		uint32_t at = *head_of(x, q, hash);
		uint64_t quarter = hash >> (16 * q) & 0xffff;
		size_t age = 0;
		for (int steps = 0; at != NO_ENTRY && steps < NEAR_CHAIN_MAX;
		    steps++) {
			const struct near_entry *e = &x->entries[at];
			/*
			 * A chain leads to ever older entries.  A slot that was
			 * used again left this chain, or stands in it once more
			 * further up: then going on would go in a circle.
			 */
			size_t now = age_of(x, newest, at);
			if ((e->hash >> (16 * q) & 0xffff) != quarter ||
			    (steps > 0 && now <= age))
				break;
			if (__builtin_popcountll(e->hash ^ hash) <=
			    NEAR_DISTANCE)
				return true;
			age = now;
			at = e->next[q];
		}
	}
	return false;
}

bool
near_add(struct near *x, uint64_t hash)
{
	if (hash == 0)
		return false;
	bool found = find(x, hash);
	if (x->n == x->cap && x->cap < x->max) {
		x->cap = x->cap == 0 ? 256 : MIN(x->cap * 2, x->max);
		x->entries = mem_resize(x->entries, x->cap,
		    sizeof(*x->entries));
	}
	uint32_t at = (uint32_t)(x->added++ % x->max);
	if (at == x->n)
		x->n++;
	x->entries[at].hash = hash;
	for (unsigned q = 0; q < QUARTERS; q++) {
		uint32_t *head = head_of(x, q, hash);
		x->entries[at].next[q] = *head;
		*head = at;
	}
	return found;
}

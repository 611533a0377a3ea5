#include "engine/connector/bluesky/bluesky_known.h"

static uint16_t *
list_of(struct bluesky_known *k, uint64_t hash)
{
	return &k->newest[hash % BLUESKY_KNOWN_LISTS];
}

static bool
is_known(struct bluesky_known *k, uint64_t hash)
{
	for (size_t i = *list_of(k, hash); i > 0; i = k->older[i - 1])
		if (k->hashes[i - 1] == hash)
			return true;
	return false;
}

/* The oldest of all is the last of its list. */
static void
forget_event(struct bluesky_known *k, size_t at)
{
	uint16_t *link = list_of(k, k->hashes[at]);

	while (*link != at + 1)
		link = &k->older[*link - 1];
	*link = 0;
}

/* The newest first in its list. */
static void
link_slot(struct bluesky_known *k, size_t at)
{
	uint16_t *list = list_of(k, k->hashes[at]);

	k->older[at] = *list;
	*list = (uint16_t)(at + 1);
}

static void
link_all(struct bluesky_known *k)
{
	for (size_t i = 0; i < k->n; i++)
		link_slot(k, k->n < BLUESKY_KNOWN_MAX ? i :
		    (k->at + i) % BLUESKY_KNOWN_MAX);
}

static void
add(struct bluesky_known *k, uint64_t hash)
{
	if (k->n == BLUESKY_KNOWN_MAX)
		forget_event(k, k->at);
	else
		k->n++;
	k->hashes[k->at] = hash;
	link_slot(k, k->at);
	k->at = (k->at + 1) % BLUESKY_KNOWN_MAX;
}

bool
bluesky_known_take(struct bluesky_known *k, uint64_t hash)
{
	if (is_known(k, hash))
		return true;
	add(k, hash);
	return false;
}

/* Slot after slot, and before them which comes next and how many there are. */
void
bluesky_known_save(const struct bluesky_known *k, struct buf *out)
{
	buf_put_varint(out, k->at);
	buf_put_varint(out, k->n);
	for (size_t i = 0; i < k->n; i++)
		buf_put_be64(out, k->hashes[i]);
}

bool
bluesky_known_load(struct bluesky_known *k, struct reader *r)
{
	uint64_t at = read_varint(r), n = read_varint(r);

	memset(k, 0, sizeof(*k));
	if (r->bad || at >= BLUESKY_KNOWN_MAX || n > BLUESKY_KNOWN_MAX ||
	    r->n != n * 8 || (n < BLUESKY_KNOWN_MAX && at != n))
		return false;
	for (size_t i = 0; i < n; i++)
		k->hashes[i] = read_be64(r);
	k->n = (size_t)n;
	k->at = (size_t)at;
	link_all(k);
	return true;
}

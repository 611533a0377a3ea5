#include "engine/ledger/url_table.h"

#include "base/hash.h"
#include "os/clock.h"
#include "os/pages.h"

#define SLOT_WORDS 3
#define SLOT_BYTES (SLOT_WORDS * sizeof(uint32_t))
#define PART_BITS 12
#define REST_MASK (UINT64_MAX >> PART_BITS)

/* The second word: 20 bits of the hash, then what the table notes. */
#define HIGH_MASK UINT32_C(0x000fffff)
#define STATE_SHIFT 20
#define STATE_MASK UINT32_C(0x0ff00000)
#define ASKED UINT32_C(0x10000000)

/*
 * Parts begin with 16 to 23 homes and grow by half, give or take an eighth: if
 * all did alike, all would be at their emptiest at once.
 */
#define HOMES_FIRST 16u
#define HOMES_PHASES 8u
#define GROW_LEAST 6u                /* sixteenths */
#define GROW_SPREAD 5u
#define PAD_MAX 32u
#define SHRINK_HOMES_MIN 32u
#define EVICT_LOOKS 16
/*
 * From half a page on slots are whole pages: 4,096 arrays that grow in turn
 * would leave a heap with a sixth of it in holes.
 */
#define PAGES_FROM_BYTES (PAGE_BYTES / 2)

#define PART_ENTRIES_MAX (UINT32_C(1) << 26)

/*
 * An entry's home is where its hash would stand if all homes were spread
 * evenly over the hashes; it stands there or behind it, in the order of the
 * hashes, without a free slot in between.  Behind the last home is a pad; its
 * last slot stays free, so that every search ends.
 */
struct part {
	uint32_t *slots;
	uint32_t homes;      /* slots are homes + pad_of(homes) */
	uint32_t n;          /* at most 7/8 of homes */
};

struct url_table {
	struct part parts[KNOWN_PARTS];
	uint64_t count, bytes, growths;
	int64_t growth_ns_max;
	uint64_t hand;       /* of the clock: the hash to look at next */
};

static uint32_t
pad_of(uint32_t homes)
{
	return homes == 0 ? 0 : MIN(PAD_MAX, 4 + homes / 8);
}

static size_t
slots_of(const struct part *p)
{
	return (size_t)p->homes + pad_of(p->homes);
}

static size_t
bytes_of(const struct part *p)
{
	return slots_of(p) * SLOT_BYTES;
}

/* Homes that fill the last page. */
static uint32_t
round_homes(uint32_t homes)
{
	struct part p = { .homes = homes };

	if (bytes_of(&p) < PAGES_FROM_BYTES)
		return homes;
	size_t bytes = (bytes_of(&p) + PAGE_BYTES - 1) / PAGE_BYTES *
	    PAGE_BYTES;
	return (uint32_t)(bytes / SLOT_BYTES) - PAD_MAX;
}

static bool
is_paged(const struct part *p)
{
	return bytes_of(p) >= PAGES_FROM_BYTES;
}

static struct part
part_new(uint32_t homes)
{
	struct part p = { .homes = round_homes(homes) };

	if (homes != 0)
		p.slots = is_paged(&p) ? pages_new(bytes_of(&p)) :
		    mem_new(bytes_of(&p));
	return p;
}

static void
part_free(struct part *p)
{
	if (p->slots != NULL && is_paged(p))
		pages_free(p->slots, bytes_of(p));
	else
		free(p->slots);
	*p = (struct part){ 0 };
}

static uint32_t *
slot_at(const struct part *p, size_t i)
{
	return p->slots + i * SLOT_WORDS;
}

static bool
used(const uint32_t *slot)
{
	return (slot[1] & STATE_MASK) != 0;
}

static uint64_t
rest_of(const uint32_t *slot)
{
	return (uint64_t)(slot[1] & HIGH_MASK) << 32 | slot[0];
}

static size_t
home_of(uint64_t rest, uint32_t homes)
{
	return (size_t)((rest >> 20) * homes >> 32);
}

static uint64_t
fold(uint64_t hash)
{
	return hash == UINT64_MAX ? UINT64_MAX - 1 : hash;
}

static struct part *
part_of(const struct url_table *k, uint64_t hash)
{
	return (struct part *)&k->parts[hash >> (64 - PART_BITS)];
}

static void
fill(uint32_t *slot, uint64_t rest, uint32_t date, uint8_t state)
{
	slot[0] = (uint32_t)rest;
	slot[1] = (uint32_t)(rest >> 32) | (uint32_t)state << STATE_SHIFT;
	slot[2] = date;
}

static void
entry_of(const uint32_t *slot, size_t part, struct url_entry *out)
{
	out->hash = (uint64_t)part << (64 - PART_BITS) | rest_of(slot);
	out->date = slot[2];
	out->state = (uint8_t)((slot[1] & STATE_MASK) >> STATE_SHIFT);
}

struct url_table *
url_table_new(void)
{
	return mem_new(sizeof(struct url_table));
}

void
url_table_free(struct url_table **kp)
{
	if (*kp == NULL)
		return;
	for (size_t i = 0; i < KNOWN_PARTS; i++)
		part_free(&(*kp)->parts[i]);
	mem_free(kp);
}

/* The first slot from the home on that is free or not below `rest`. */
static size_t
find(const struct part *p, uint64_t rest)
{
	size_t i = home_of(rest, p->homes);

	while (used(slot_at(p, i)) && rest_of(slot_at(p, i)) < rest)
		i++;
	return i;
}

static uint32_t *
lookup(const struct url_table *k, uint64_t hash)
{
	const struct part *p = part_of(k, hash);
	uint64_t rest = hash & REST_MASK;

	if (p->homes == 0)
		return NULL;
	uint32_t *slot = slot_at(p, find(p, rest));
	return used(slot) && rest_of(slot) == rest ? slot : NULL;
}

/* Read a slot, and note for the clock that somebody asked. */
static void
read_slot(uint32_t *slot, uint32_t *date, uint8_t *state)
{
	if ((slot[1] & ASKED) == 0)
		slot[1] |= ASKED;
	*date = slot[2];
	*state = (uint8_t)((slot[1] & STATE_MASK) >> STATE_SHIFT);
}

bool
url_table_get(const struct url_table *k, uint64_t hash, uint32_t *date,
    uint8_t *state)
{
	uint32_t *slot = lookup(k, fold(hash));

	*date = 0;
	*state = KNOWN_NONE;
	if (slot == NULL)
		return false;
	read_slot(slot, date, state);
	return true;
}

/* Copy all slots of `from` in their order; false when the pad is too small. */
static bool
spread_entries(const struct part *from, struct part *to)
{
	size_t next = 0, end = slots_of(to) - 1;

	for (size_t i = 0; i < slots_of(from); i++) {
		const uint32_t *slot = slot_at(from, i);
		if (!used(slot))
			continue;
		size_t at = MAX(next, home_of(rest_of(slot), to->homes));
		if (at >= end)
			return false;
		memcpy(slot_at(to, at), slot, SLOT_BYTES);
		next = at + 1;
	}
	to->n = from->n;
	return true;
}

static void
resize(struct url_table *k, struct part *p, uint32_t homes)
{
	struct mono began = clock_mono();
	struct part bigger;

	for (;;) {
		bigger = part_new(homes);
		if (spread_entries(p, &bigger))
			break;
		/* A crowd at the very end: rare, and a little room helps. */
		part_free(&bigger);
		homes += homes / 8 + 1;
	}
	k->bytes += bytes_of(&bigger) - bytes_of(p);
	part_free(p);
	*p = bigger;
	k->growths++;
	k->growth_ns_max = MAX(k->growth_ns_max,
	    mono_ns_between(began, clock_mono()));
}

static void
grow(struct url_table *k, struct part *p)
{
	uint32_t i = (uint32_t)(p - k->parts);
	uint32_t spread_by = (uint32_t)(hash_u64(i + p->homes) % GROW_SPREAD);

	/* Hashes that are not mixed would never find room. */
	CHECK(p->homes < 1024 || p->n > p->homes / 64);
	resize(k, p, p->homes == 0 ? HOMES_FIRST + i % HOMES_PHASES :
	    p->homes + p->homes * (GROW_LEAST + spread_by) / 16);
}

/* Give back what a part has not needed for long, and all when it is empty. */
static void
shrink(struct url_table *k, struct part *p)
{
	if (p->n == 0) {
		k->bytes -= bytes_of(p);
		part_free(p);
		return;
	}
	if (p->homes < SHRINK_HOMES_MIN || p->n > p->homes / 4)
		return;
	uint32_t homes = round_homes(2 * p->n + HOMES_FIRST);
	if (homes <= p->homes / 2)
		resize(k, p, homes);
}

/* Put a new entry where find() said; false when the part must grow first. */
static bool
put_at(struct part *p, size_t at, uint64_t rest, uint32_t date, uint8_t state)
{
	size_t end = at;

	if ((uint64_t)(p->n + 1) * 8 > (uint64_t)p->homes * 7)
		return false;
	while (used(slot_at(p, end)))
		end++;
	if (end + 1 >= slots_of(p))
		return false;
	memmove(slot_at(p, at + 1), slot_at(p, at), (end - at) * SLOT_BYTES);
	fill(slot_at(p, at), rest, date, state);
	p->n++;
	return true;
}

/* The slot of the hash; NULL when it was absent, and was put. */
static uint32_t *
find_or_put(struct url_table *k, uint64_t hash, uint32_t date, uint8_t state)
{
	struct part *p = part_of(k, hash);
	uint64_t rest = hash & REST_MASK;

	CHECK(state != KNOWN_NONE);
	if (p->homes == 0)
		grow(k, p);
	for (;;) {
		size_t at = find(p, rest);
		uint32_t *slot = slot_at(p, at);
		if (used(slot) && rest_of(slot) == rest)
			return slot;
		if (put_at(p, at, rest, date, state))
			break;
		grow(k, p);
	}
	k->count++;
	return NULL;
}

bool
url_table_put_new(
    struct url_table *k, uint64_t hash, uint32_t *date, uint8_t *state)
{
	uint32_t *slot = find_or_put(k, fold(hash), *date, *state);

	if (slot != NULL)
		read_slot(slot, date, state);
	return slot == NULL;
}

void
url_table_set(struct url_table *k, uint64_t hash, uint32_t date, uint8_t state)
{
	hash = fold(hash);
	uint32_t *slot = find_or_put(k, hash, date, state);

	if (slot != NULL)
		fill(slot, hash & REST_MASK, date, state);
}

bool
url_table_remove(struct url_table *k, uint64_t hash)
{
	hash = fold(hash);
	struct part *p = part_of(k, hash);
	uint32_t *slot = lookup(k, hash);

	if (slot == NULL)
		return false;
	/* Move back all that stand behind their homes. */
	size_t at = (size_t)(slot - p->slots) / SLOT_WORDS, end = at + 1;
	while (used(slot_at(p, end)) &&
	    home_of(rest_of(slot_at(p, end)), p->homes) < end)
		end++;
	memmove(slot, slot_at(p, at + 1), (end - at - 1) * SLOT_BYTES);
	memset(slot_at(p, end - 1), 0, SLOT_BYTES);
	p->n--;
	k->count--;
	shrink(k, p);
	return true;
}

void
url_table_prefetch(const struct url_table *k, uint64_t hash)
{
	const struct part *p = part_of(k, hash);

	if (p->homes == 0)
		return;
	const char *slot = (const char *)slot_at(p,
	    home_of(hash & REST_MASK, p->homes));
	__builtin_prefetch(slot);
	__builtin_prefetch(slot + 64);
}

/* The first used slot from `i` on; NULL behind the last. */
static uint32_t *
next_used(const struct part *p, size_t i)
{
	for (; i < slots_of(p); i++)
		if (used(slot_at(p, i)))
			return slot_at(p, i);
	return NULL;
}

static uint32_t *
next_slot(const struct url_table *k, uint64_t from, size_t *part)
{
	uint64_t rest = from & REST_MASK;

	for (*part = from >> (64 - PART_BITS); *part < KNOWN_PARTS;
	    (*part)++, rest = 0) {
		const struct part *p = &k->parts[*part];
		uint32_t *slot = p->homes == 0 ? NULL :
		    next_used(p, find(p, rest));
		if (slot != NULL)
			return slot;
	}
	return NULL;
}

bool
url_table_next(const struct url_table *k, uint64_t *from, struct url_entry *out)
{
	size_t part;
	const uint32_t *slot = next_slot(k, *from, &part);

	if (slot == NULL)
		return false;
	entry_of(slot, part, out);
	*from = out->hash + 1;
	return true;
}

size_t
url_table_evict(struct url_table *k, size_t n, uint16_t states,
    void (*gone)(void *, const struct url_entry *), void *arg)
{
	size_t done = 0, part;
	struct url_entry entry;

	for (size_t looks = n * EVICT_LOOKS; looks > 0 && done < n &&
	    k->count > 0; looks--) {
		uint32_t *slot = next_slot(k, k->hand, &part);
		if (slot == NULL) {
			k->hand = 0;
			continue;
		}
		entry_of(slot, part, &entry);
		k->hand = entry.hash + 1;
		if (entry.state > 15 || (states >> entry.state & 1) == 0)
			continue;
		if (slot[1] & ASKED) {
			slot[1] &= ~ASKED;
			continue;
		}
		url_table_remove(k, entry.hash);
		done++;
		if (gone != NULL)
			gone(arg, &entry);
	}
	return done;
}

/* Room for `n` at a load between 7/12 and 7/8, so that parts stay unalike. */
static uint32_t
homes_for(uint32_t n, uint32_t part)
{
	uint64_t least = (uint64_t)n * 8 / 7 + HOMES_FIRST;
	return (uint32_t)(least +
	    least * (part % HOMES_PHASES) / (2 * HOMES_PHASES));
}

/*
 * Parts of whole pages share one mapping, for which the system may take huge
 * pages: fewer faults, and shorter searches.  Each is freed by itself.
 */
void
url_table_expect(struct url_table *k, uint64_t entries, unsigned threads)
{
	uint64_t each = entries / KNOWN_PARTS;
	size_t bytes = 0;

	if (each == 0 || each >= PART_ENTRIES_MAX || k->count > 0)
		return;
	struct part *parts = mem_array(KNOWN_PARTS, sizeof(*parts));
	for (uint32_t i = 0; i < KNOWN_PARTS; i++) {
		parts[i] = (struct part){ .homes =
		    round_homes(homes_for((uint32_t)each, i)) };
		bytes += is_paged(&parts[i]) ? bytes_of(&parts[i]) : 0;
	}
	unsigned char *pages = bytes == 0 ? NULL : pages_new_large(bytes);
	if (pages != NULL)
		pages_fill(pages, bytes, threads);
	for (uint32_t i = 0; i < KNOWN_PARTS; i++) {
		struct part *p = &parts[i];
		p->slots = is_paged(p) ? (void *)pages : mem_new(bytes_of(p));
		pages += is_paged(p) ? bytes_of(p) : 0;
		k->bytes += bytes_of(p) - bytes_of(&k->parts[i]);
		part_free(&k->parts[i]);
		k->parts[i] = *p;
	}
	mem_free(&parts);
}

void
url_table_stats(const struct url_table *k, struct url_table_stats *out)
{
	*out = (struct url_table_stats){ k->count, k->bytes, k->growths,
	    k->growth_ns_max };
}

static void
check_part(const struct part *p)
{
	size_t n = 0, free_at = 0;
	uint64_t before = 0;

	CHECK((p->slots == NULL) == (p->homes == 0));
	CHECK((uint64_t)p->n * 8 <= (uint64_t)p->homes * 7);
	for (size_t i = 0; i < slots_of(p); i++) {
		const uint32_t *slot = slot_at(p, i);
		if (!used(slot)) {
			CHECK(slot[0] == 0 && slot[1] == 0 && slot[2] == 0);
			free_at = i + 1;
			continue;
		}
		size_t home = home_of(rest_of(slot), p->homes);
		CHECK(home < p->homes && home <= i && free_at <= home);
		CHECK(n == 0 || before < rest_of(slot));
		before = rest_of(slot);
		n++;
	}
	CHECK(n == p->n);
	CHECK(p->homes == 0 || !used(slot_at(p, slots_of(p) - 1)));
}

void
url_table_check(const struct url_table *k)
{
	uint64_t count = 0, bytes = 0;

	for (size_t i = 0; i < KNOWN_PARTS; i++) {
		check_part(&k->parts[i]);
		count += k->parts[i].n;
		bytes += bytes_of(&k->parts[i]);
	}
	CHECK(count == k->count && bytes == k->bytes);
}

/*
 * url_table -- which URLs are known, by a 64-bit hash of queue and URL, and
 * when each is due.
 *
 * 4,096 sub-tables by the upper 12 bits of the hash; each is an array of slots
 * of 12 bytes in the order of the hash, every entry at its home or in the
 * unbroken run behind it.  So a test that fails ends as early as one that
 * succeeds, growth is one pass in order, and a walk goes up by hash.
 *
 *     slot: | hash 0..31 | hash 32..51, asked 1, 3 spare, state 8 | date 32 |
 *
 * The caller's hash must be seeded and well mixed: two URLs with one hash are
 * one (odds n / 2^64).  The hash 2^64-1 counts as 2^64-2.
 *
 * Thread: one at a time; the ledger's.
 */
#ifndef ENGINE_LEDGER_URL_TABLE_H
#define ENGINE_LEDGER_URL_TABLE_H

#include "base/err.h"
#include "base/time.h"

#define KNOWN_PARTS 4096

/* 0 is "not there"; an entry's state is 1 to 255, the names here to 15. */
enum url_table_state {
	KNOWN_NONE, KNOWN_WAITING, KNOWN_LEASED, KNOWN_DONE, KNOWN_SKIPPED,
	KNOWN_STATE_MAX = 255
};

struct url_entry {
	uint64_t hash;
	uint32_t date;               /* seconds since 1970 */
	uint8_t state;
};

struct url_table;
/* An empty table: 100 KB. */
struct url_table *url_table_new(void);
void url_table_free(struct url_table **);

/* False, with *date 0 and *state KNOWN_NONE, when it is not there. */
bool url_table_get(const struct url_table *, uint64_t hash, uint32_t *date,
    uint8_t *state);
/*
 * Put what is not there yet: true.  When it is there nothing is changed: false,
 * and `*date` and `*state` become what stands there.
 */
bool url_table_put_new(struct url_table *, uint64_t hash, uint32_t *date,
    uint8_t *state);
/* Put or replace.  `state` is not KNOWN_NONE. */
void url_table_set(
    struct url_table *, uint64_t hash, uint32_t date, uint8_t state);
bool url_table_remove(
    struct url_table *, uint64_t hash); /* false: was not there */
/* An empty table is about to get so many: make room once, not by growing. */
void url_table_expect(struct url_table *, uint64_t entries);
/*
 * Ask memory for what the next call with this hash will touch.  Do it for 32
 * hashes, then call for each.
 */
void url_table_prefetch(const struct url_table *, uint64_t hash);

/*
 * Walk up by hash: start with `*from` = 0; the first entry at or above `*from`,
 * which then moves behind it.  False at the end.  The table may be changed
 * between two steps.
 */
bool url_table_next(
    const struct url_table *, uint64_t *from, struct url_entry *);

/*
 * Make room by the clock: remove up to n entries whose state's bit is set in
 * `states` (0 to 15) and that no url_table_get() or url_table_put_new() has met
 * since the hand came by the last time.  It looks at 16 n entries at most, so
 * it may remove less than n.  gone(), which may be NULL, hears of each.
 * Returns how many went.
 */
size_t url_table_evict(struct url_table *, size_t n, uint16_t states,
    void (*gone)(void *arg, const struct url_entry *), void *arg);

struct url_table_stats {
	uint64_t count;
	uint64_t bytes;              /* of all slots, used or free */
	uint64_t growths;
	int64_t growth_ns_max;       /* the longest pause */
};
void url_table_stats(const struct url_table *, struct url_table_stats *);
void url_table_check(const struct url_table *);   /* every invariant; aborts */

#endif

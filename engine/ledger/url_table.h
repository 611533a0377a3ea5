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
enum known_state {
	KNOWN_NONE, KNOWN_WAITING, KNOWN_LEASED, KNOWN_DONE, KNOWN_SKIPPED,
	KNOWN_STATE_MAX = 255
};

struct known_entry {
	uint64_t hash;
	uint32_t date;               /* seconds since 1970 */
	uint8_t state;
};

struct known;
/* An empty table: 100 KB. */
struct known *known_new(void);
void known_free(struct known **);

/* False, with *date 0 and *state KNOWN_NONE, when it is not there. */
bool known_get(const struct known *, uint64_t hash, uint32_t *date,
    uint8_t *state);
/*
 * Put what is not there yet: true.  When it is there nothing is changed: false,
 * and `*date` and `*state` become what stands there.
 */
bool known_put_new(struct known *, uint64_t hash, uint32_t *date,
    uint8_t *state);
/* Put or replace.  `state` is not KNOWN_NONE. */
void known_set(struct known *, uint64_t hash, uint32_t date, uint8_t state);
bool known_remove(struct known *, uint64_t hash);  /* false: was not there */
/* An empty table is about to get so many: make room once, not by growing. */
void known_expect(struct known *, uint64_t entries);
/*
 * Ask memory for what the next call with this hash will touch.  Do it for 32
 * hashes, then call for each.
 */
void known_prefetch(const struct known *, uint64_t hash);

/*
 * Walk up by hash: start with `*from` = 0; the first entry at or above `*from`,
 * which then moves behind it.  False at the end.  The table may be changed
 * between two steps.
 */
bool known_next(const struct known *, uint64_t *from, struct known_entry *);

/*
 * Make room by the clock: remove up to n entries whose state's bit is set in
 * `states` (0 to 15) and that no known_get() or known_put_new() has met since
 * the hand came by the last time.  It looks at 16 n entries at most, so it may
 * remove less than n.  gone(), which may be NULL, hears of each.  Returns how
 * many went.
 */
size_t known_evict(struct known *, size_t n, uint16_t states,
    void (*gone)(void *arg, const struct known_entry *), void *arg);

struct known_stats {
	uint64_t count;
	uint64_t bytes;              /* of all slots, used or free */
	uint64_t growths;
	int64_t growth_ns_max;       /* the longest pause */
};
void known_stats(const struct known *, struct known_stats *);
void known_check(const struct known *);   /* every invariant; aborts */

#endif

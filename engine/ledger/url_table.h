/*
 * url_table -- which URLs are known, by a 64-bit hash of queue and URL, and
 * when each is due.
 *
 * 4,096 sub-tables by the upper 12 bits of the hash.  Each is an array of slots
 * of 12 bytes in the order of the hash; an entry is in the slot that its hash
 * gives, or in the unbroken run of entries after it.  So a lookup that fails
 * ends as early as one that succeeds, growth is one ordered pass, and iteration
 * is in the order of the hash.
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

/* 0 means "absent"; an entry's state is 1 to 255.  Only states up to 15 have
 * names and can be evicted. */
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

/* False, with *date 0 and *state KNOWN_NONE, when it is absent. */
bool url_table_get(const struct url_table *, uint64_t hash, uint32_t *date,
    uint8_t *state);
/*
 * Add an entry and return true.  When the hash is present already, change
 * nothing, set `*date` and `*state` to its values, and return false.
 */
bool url_table_put_new(struct url_table *, uint64_t hash, uint32_t *date,
    uint8_t *state);
/* Put or replace.  `state` is not KNOWN_NONE. */
void url_table_set(
    struct url_table *, uint64_t hash, uint32_t date, uint8_t state);
bool url_table_remove(
    struct url_table *, uint64_t hash); /* false: it was absent */
/*
 * Reserve room in an empty table, so that it need not grow step by step.  The
 * memory is provided at once, on `threads` threads (pages_fill()); 0: as it is
 * used.
 */
void url_table_expect(struct url_table *, uint64_t entries, unsigned threads);
/*
 * Prefetch the memory that the next call with this hash will read.  Call it for
 * about URL_TABLE_PREFETCH hashes at a time, then make as many calls.
 */
#define URL_TABLE_PREFETCH 32
void url_table_prefetch(const struct url_table *, uint64_t hash);

/*
 * Iterate in the order of the hash: get the first entry at or above `*from`,
 * and set `*from` to the hash after it; start with 0.  False at the end.  The
 * table may change between two calls.
 */
bool url_table_next(
    const struct url_table *, uint64_t *from, struct url_entry *);

/*
 * Evict by the CLOCK algorithm: remove up to n entries whose state's bit is set
 * in `states` (0 to 15) and that no url_table_get() or url_table_put_new() has
 * found since the clock's hand last passed.  It examines 16 n entries at most,
 * so it may remove fewer than n.  It calls gone(), unless that is NULL, for
 * each.  Returns how many it removed.
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

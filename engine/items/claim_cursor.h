/*
 * claim_cursor -- which parts of the index of pairs a claim skips, on
 * PostgreSQL.
 *
 * While any transaction of the cluster holds an old snapshot, the index
 * (task, lane, due, item) keeps an entry for every pair that was claimed or
 * moved since, and each scan from its beginning walks all of them again.  So
 * the writer remembers, for each lane, two ranges in which no pair is due:
 *
 *     ████████████ low ░░░░░░░░░ from ████████████ to ░░░░░░░░ now
 *     skipped          read           skipped         read
 *
 * A claim extends the ranges over the pairs that it leases or blocks, and over
 * what it has found empty, but not over a pair that it leaves.  This is what
 * the second range is for: the pair of a slow host stays at the head of the
 * lane, or a pair becomes due before all others, and what lies behind it is
 * still known.  Each row that the writer writes cuts the ranges.
 *
 * The ranges hide pairs that other daemons write, and pairs that other daemons
 * have locked while a claim reads.  A full scan finds them: it forgets the
 * ranges of a task and lists the task's lanes anew.  It is due CLAIM_SCAN_MS
 * after the last one, but not before CLAIM_SCAN_SHARE times the duration of
 * the last one, so that full scans take at most 5 % of the time.
 *
 * Expired leases are looked up in the index (lease_until, task, item), which
 * has one range of this kind: no lease ends up to `lease_low`.
 *
 * The ranges describe the database as the writer's open transaction sees it.
 * They are forgotten when a transaction or a savepoint in which a claim has
 * extended them is rolled back.
 *
 * Thread: the writer's.  Private to engine/items.
 */
#ifndef ENGINE_ITEMS_CLAIM_CURSOR_H
#define ENGINE_ITEMS_CLAIM_CURSOR_H

#include "base/map.h"
#include "base/time.h"
#include "engine/items/item_tx.h"

#define CLAIM_SCAN_MS 250        /* from one full scan to the next */
#define CLAIM_SCAN_SHORT_MS 20   /* for a claim that has not got enough */
#define CLAIM_SCAN_SHARE 20

/* A position in a lane: pairs are claimed in this order. */
struct claim_key {
	int64_t due_ms, item;
};
#define CLAIM_KEY_FIRST ((struct claim_key){ INT64_MIN, INT64_MIN })
/* Whether the first key comes before the second one. */
bool claim_key_before(struct claim_key, struct claim_key);

/*
 * The ranges of a lane: nothing is due up to and including `low`, nor after
 * `from` up to and including `to`.  low < from < to; without a second range
 * `from` and `to` are equal.
 */
struct claim_cursor {
	uint32_t lane;
	bool planned;                /* a pair of it may have a due time */
	struct claim_key low;
	struct claim_key from, to;
};

/* Cut the ranges: a pair is due at `key`. */
void claim_cursor_cut(struct claim_cursor *, struct claim_key key);
/* The position from which a scan that has come to `at` goes on reading. */
struct claim_key claim_cursor_next(const struct claim_cursor *,
    struct claim_key at);
/* How far it reads from there: up to the second range, or up to `last`. */
struct claim_key claim_cursor_until(const struct claim_cursor *,
    struct claim_key at, struct claim_key last);

/* The lanes of a task, ordered by their numbers. */
struct claim_lanes {
	uint32_t task;
	bool known;                  /* a full scan has listed them */
	struct mono scanned_at;      /* the time of the last full scan */
	uint64_t scanned_by;         /* and its claim, a number of `claims` */
	bool is_left;                /* it left a pair due: it was locked */
	struct claim_cursor **list;
	size_t n, cap;
};
/* The cursor of a lane; it is made if there is none. */
struct claim_cursor *claim_lanes_cursor(struct claim_lanes *, uint32_t lane);

struct claim_cursors {
	struct map tasks;            /* struct claim_lanes by task */
	uint64_t claims;             /* made so far */
	bool extended, lease_extended;       /* in the open transaction */
	struct mono rest_until;      /* no full scan is due before */
	int64_t lease_low;           /* us */
	struct mono lease_scan_at;   /* the next full scan of leases is due */
};
/*
 * Extend the ranges of a lane: nothing is due after `after` up to `last`.  If
 * this touches neither range, claim_cursor_extend() makes it the second range,
 * and claim_cursor_extend_empty() does so only if there is none: a stretch
 * that claims have emptied costs more to read again than one that was empty.
 */
void claim_cursor_extend(struct claim_cursors *, struct claim_cursor *,
    struct claim_key after, struct claim_key last);
void claim_cursor_extend_empty(struct claim_cursors *, struct claim_cursor *,
    struct claim_key after, struct claim_key last);
struct claim_cursors *claim_cursors_new(void);
void claim_cursors_free(struct claim_cursors **);
/* The lanes of a task; none is known before the first full scan. */
struct claim_lanes *claim_cursors_lanes(struct claim_cursors *, uint32_t task);
/* Whether a full scan of the task is due: the last one was `age_ms` ago, and
 * full scans have not had their share of the time; or no lane is known. */
bool claim_cursors_scan_is_due(const struct claim_cursors *,
    const struct claim_lanes *, int64_t age_ms, struct mono now);
/* Begin a full scan: forget the ranges of the task's lanes, and which of them
 * have planned pairs. */
void claim_cursors_scan(struct claim_cursors *, struct claim_lanes *,
    struct mono now);
/* A claim has read lanes from their beginning between these times. */
void claim_cursors_scanned(struct claim_cursors *, struct mono start,
    struct mono end);
/* The time after which leases are to be read; INT64_MIN for a full scan, and if
 * the cursors are NULL. */
int64_t claim_cursors_leases_after(const struct claim_cursors *, struct mono);
/* All leases after `after_us` up to `until_us` were read and ended. */
void claim_cursors_read_leases(struct claim_cursors *, int64_t after_us,
    int64_t until_us, struct mono start, struct mono end);
/* The writer writes this row: cut what it lies in.  The cursors may be NULL in
 * this call and the following ones. */
void claim_cursors_wrote(struct claim_cursors *, const struct pair_row *);
/* The transaction was committed. */
void claim_cursors_committed(struct claim_cursors *);
/* The transaction, or a savepoint of it, was rolled back. */
void claim_cursors_undone(struct claim_cursors *);

#endif

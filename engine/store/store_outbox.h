/*
 * store_outbox -- what the AMQP door of harvests keeps: orders that came by a
 * broker, messages that it has not confirmed yet, stops that came before their
 * start, and bodies whose reading may have ended the process.
 *
 * Messages of one harvest leave one after the other: store_outbox_next() gives
 * the first one that waits, and forgets the one that was confirmed before it.
 *
 * Each verb is one commit unless the caller groups it with others; what follows
 * from one change of a harvest (files, statuses) is put in one group with the
 * note that it was put, so that a crash neither loses nor doubles it.
 *
 * Thread: as the store's.  Errors: store.h's.
 * Source: contracts/harvest.md §3 to §7.
 */
#ifndef ENGINE_STORE_STORE_OUTBOX_H
#define ENGINE_STORE_STORE_OUTBOX_H

#include "engine/store/store_harvest.h"

#define STORE_MESSAGE_ID_BYTES_MAX 64u
#define STORE_ROUTING_KEY_BYTES_MAX 255u
#define STORE_MESSAGE_BYTES_MAX ((size_t)1 << 20)
/* So long a stop waits for its start, and a body is counted. */
#define STORE_STOP_DAYS 30
#define STORE_CRASH_DAYS 30

/* ---- Orders -------------------------------------------------------------- */

/* Belongs to the harvest of that id, which is put after it. */
struct store_order {
	struct str harvest;
	struct str routing_key;      /* of the start message */
	struct wall received;
	/* What was put into the outbox: the last status, "running"; and how
	 * many entries of the harvest's maps. */
	struct str told;
	uint64_t tokens_told, uids_told;
	bool here;                   /* this daemon has accepted it */
};

/*
 * One that is there stays as it is.  Orders older than STORE_HARVEST_DAYS whose
 * harvest is forgotten are forgotten, too.
 */
MUST_USE enum err store_order_put(struct store *, struct str harvest,
    struct str routing_key, struct wall now, struct why *);
/* ABSENT: the harvest did not come by a broker.  Memory: `a`. */
MUST_USE enum err store_order_get(struct store *, struct str harvest,
    struct arena *a, struct store_order *, struct why *);
/* Note `told` and both counts. */
MUST_USE enum err store_order_told(struct store *, const struct store_order *,
    struct why *);
/*
 * Ids of this daemon's harvests that came by a broker and whose final status
 * was not put yet, the oldest first.  Memory: `a`.
 */
MUST_USE enum err store_order_open(struct store *, struct arena *a,
    struct str **ids, size_t *n, struct why *);

/*
 * This daemon's harvests that came by a broker and ended after `after`, until
 * `until`: id, path and ended, at most STORE_ENDED_MAX, the longest ago first.
 * Memory: `a`.
 */
#define STORE_ENDED_MAX 100
MUST_USE enum err store_order_ended(struct store *, struct wall after,
    struct wall until, struct arena *a, struct store_harvest **, size_t *n,
    struct why *);

/* Files in their places that no message was put about yet, by name. */
MUST_USE enum err store_order_warcs(struct store *, struct str harvest,
    struct arena *a, struct store_harvest_warc **, size_t *n, struct why *);
/* A message about it was put, and its URLs are ordered. */
MUST_USE enum err store_order_announced(struct store *, struct str harvest,
    struct str name, struct why *);

/* ---- Messages ------------------------------------------------------------ */

struct store_message {
	uint64_t number;             /* grows; the store's to set */
	struct str harvest;
	struct str message_id;       /* never another one's */
	struct str routing_key;
	struct str body;             /* JSON */
	struct wall created;
};

/* INPUT, with the field. */
MUST_USE enum err store_outbox_put(struct store *,
    const struct store_message *, struct why *);
/*
 * Forget the message of that number, which was confirmed (0: none), and give
 * the first one of this harvest; its number is 0 when there is none.
 * Memory: `a`.
 */
MUST_USE enum err store_outbox_next(struct store *, struct str harvest,
    uint64_t confirmed, struct arena *a, struct store_message *, struct why *);
/* Harvests with messages of this daemon, by their first one.  Memory: `a`. */
MUST_USE enum err store_outbox_harvests(struct store *, struct arena *a,
    struct str **ids, size_t *n, struct why *);

struct store_outbox_totals {
	uint64_t messages, bytes;    /* bytes: of the bodies */
	struct wall oldest;          /* us 0: there is none */
};
/* When the first message of this daemon was put; us 0: there is none. */
MUST_USE enum err store_outbox_oldest(struct store *, struct wall *,
    struct why *);
/* Reads all rows: for the start. */
MUST_USE enum err store_outbox_totals(struct store *,
    struct store_outbox_totals *, struct why *);

/* ---- Stops and crashes --------------------------------------------------- */

/* Keep it for STORE_STOP_DAYS; again is no error.  Older ones go. */
MUST_USE enum err store_stop_put(struct store *, struct str harvest,
    struct wall now, struct why *);
MUST_USE enum err store_stop_find(struct store *, struct str harvest,
    struct wall now, bool *found, struct why *);

/*
 * The same for a harvest that is known: one that runs is stopping from now on,
 * which `*told` says.
 */
MUST_USE enum err store_stop_harvest(struct store *, struct str harvest,
    struct wall now, bool *told, struct why *);

/* Count one more attempt to read a body; `*n` is how many there were. */
MUST_USE enum err store_crash_count(struct store *, struct str digest,
    struct wall now, uint64_t *n, struct why *);
/* It was read and is done with. */
MUST_USE enum err store_crash_clear(struct store *, struct str digest,
    struct why *);

#endif

/*
 * store_harvest -- harvests and their WARC files, as the store keeps them.
 *
 *     accepted ─► running ⇄ paused ─► succeeded, failed
 *                    └─► stopping ─┘
 *
 * A row is what a harvest goes on from after a crash: the order, and what the
 * connector and its findings were after the first `captures` answers.  The
 * ledger has the answers themselves, also those that came later.
 *
 * Each verb is one commit unless the caller groups it with others.
 * Thread: as the store's.  Errors: store.h's; ABSENT when there is no such
 * harvest.
 * Source: contracts/harvest.md §3, §4.
 */
#ifndef ENGINE_STORE_STORE_HARVEST_H
#define ENGINE_STORE_STORE_HARVEST_H

#include "engine/store/store.h"

#define STORE_HARVEST_ID_BYTES_MAX 200u
#define STORE_HARVEST_PATH_BYTES_MAX 4000u
#define STORE_HARVEST_MESSAGE_BYTES_MAX ((size_t)16 << 20)
/* Rows; those that ended longer ago are forgotten. */
#define STORE_HARVESTS_MAX 100000u
#define STORE_HARVEST_DAYS 400

#define STORE_HARVEST_STATES(X)                                              \
	X(ACCEPTED, "accepted") X(RUNNING, "running") X(PAUSED, "paused")    \
	X(STOPPING, "stopping") X(SUCCEEDED, "completed success")            \
	X(FAILED, "completed failure")
enum store_harvest_state {
#define STORE_HARVEST_ENUM(name, text) STORE_HARVEST_##name,
	STORE_HARVEST_STATES(STORE_HARVEST_ENUM)
#undef STORE_HARVEST_ENUM
	STORE_HARVEST_STATE_COUNT
};
/* "completed success": as statuses have it. */
const char *store_harvest_state_name(enum store_harvest_state);
bool store_harvest_is_over(enum store_harvest_state);

/* How the connector's run has ended; what is left then is about files. */
enum store_harvest_end { STORE_HARVEST_GOES_ON, STORE_HARVEST_SUCCESS,
	STORE_HARVEST_FAILURE };

struct store_harvest {
	struct str id;               /* "sfmui:45", "feed_entries-3" */
	struct str type;             /* "feed_entries" */
	struct str path;             /* where its files go, absolute */
	struct str message;          /* JSON, without credentials */
	struct str sealed;           /* the credentials; empty: none */
	enum store_harvest_state state;
	struct wall accepted, started, ended;    /* us 0: not yet */
	/* After the first so many answers: the connector's checkpoint, and the
	 * findings as JSON. */
	uint64_t captures;
	struct str saved, totals;
	enum store_harvest_end end;
	bool merged;                 /* state.json has the findings' state */
};

/* A WARC file that is finished. */
struct store_harvest_warc {
	struct str name;             /* the last part of its path */
	struct str warc_id;          /* 32 hex, never another one's */
	struct str sha1;             /* of the file, 40 hex */
	uint64_t bytes;
	struct wall created;
	bool placed;                 /* it is in its hour directory */
	/* A JSON list of URLs that were found in it; empty: none.  Kept until
	 * store_order_announced(). */
	struct str urls;
};

/*
 * Put a new one: id (empty: it becomes TYPE-NUMBER, in `a`), type, path and
 * message; it is accepted at `now`.  EXISTS: the id is taken; FULL.
 */
MUST_USE enum err store_harvest_add(struct store *, struct store_harvest *,
    struct wall now, struct arena *a, struct why *);
/* Keep these credentials with it, sealed; empty: none. */
MUST_USE enum err store_harvest_seal(struct store *, struct str id,
    struct str sealed, struct why *);
/* Whole.  Memory: `a`. */
MUST_USE enum err store_harvest_get(struct store *, struct str id,
    struct arena *a, struct store_harvest *, struct why *);
/*
 * Those of this daemon, the oldest first, without message, sealed, saved and
 * totals; `open`: only those that are not over.
 */
MUST_USE enum err store_harvest_list(struct store *, bool open,
    struct arena *a, struct store_harvest **, size_t *n, struct why *);
/*
 * The same, the newest first and with totals: `size` of them from `start` on,
 * and how many there are.  `state`: its name, or "open"; empty: all.
 */
MUST_USE enum err store_harvest_page(struct store *, struct str state,
    uint64_t start, uint64_t size, struct arena *a, struct store_harvest **,
    size_t *n, uint64_t *total, struct why *);
/* With the first RUNNING it has started at `now`; at its end the credentials
 * and the checkpoint go. */
MUST_USE enum err store_harvest_set_state(struct store *, struct str id,
    enum store_harvest_state, struct wall now, struct why *);
/*
 * "WARC ready": these files, of which those that are known stay as they are,
 * contain the first `captures` answers; saved, totals and end are after them.
 */
MUST_USE enum err store_harvest_ready(struct store *,
    const struct store_harvest *, const struct store_harvest_warc *, size_t n,
    struct why *);
/* The findings alone, which no new answer has changed. */
MUST_USE enum err store_harvest_set_totals(struct store *, struct str id,
    struct str totals, struct why *);
MUST_USE enum err store_harvest_placed(struct store *, struct str id,
    struct str name, struct why *);
MUST_USE enum err store_harvest_merged(struct store *, struct str id,
    struct why *);
/* Forget it, and its files. */
MUST_USE enum err store_harvest_drop(struct store *, struct str id,
    struct why *);
/* By name.  Memory: `a`. */
MUST_USE enum err store_harvest_warcs(struct store *, struct str id,
    struct arena *a, struct store_harvest_warc **, size_t *n, struct why *);

#endif

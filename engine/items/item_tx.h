/*
 * item_tx -- one transaction over items: rows are loaded into memory, changed
 * there, and written back before the commit.
 *
 *     item_tx_begin()
 *       for each request:  item_tx_want_...()      which rows it will need
 *       item_tx_load()                             one bulk query per table
 *       for each request:  item_tx_mark(), change rows, or item_tx_undo()
 *     item_tx_end()                                one bulk write per table,
 *                                                  events, commit
 *
 * All rules of items are C over these rows, the same for SQLite and PostgreSQL;
 * a database only loads and stores rows by key.  A row that was not wanted
 * is loaded when it is asked for, so wanting is only a matter of speed.  On
 * PostgreSQL rows are locked as they are loaded (FOR UPDATE, ordered by key);
 * a transaction that loses against another daemon's ends with BUSY and is run
 * again by its caller.
 *
 * A row's texts live in item_tx_arena() and are never changed in place: a
 * change stores another text, so item_tx_undo() restores rows by copying
 * structs.
 *
 * Thread: the writer's.
 * Errors: of os/database.h.  After one, the transaction can only be ended.
 * Story:  engine/items/DESIGN.md
 */
#ifndef ENGINE_ITEMS_ITEM_TX_H
#define ENGINE_ITEMS_ITEM_TX_H

#include "base/arena.h"
#include "base/err.h"
#include "base/metric.h"
#include "base/time.h"
#include "engine/items/schema.h"

struct task_config;         /* task_config.h */
struct item_store;          /* item_store.h: database, names, configuration */
struct item_tx;

/* The memory of rows which the next transaction may use. */
#define ITEM_TX_KEPT_BYTES_MAX ((size_t)1 << 20)

#define ITEM_TIME_NONE ((struct wall){ INT64_MIN })    /* NULL in a column */

/* Due times of a pair, ms; others are dates. */
#define PAIR_DUE_FIRST (-1)       /* a person wants it first */
#define PAIR_DUE_UNPROCESSED 0
#define PAIR_DUE_STALE 1
#define PAIR_DUE_NONE INT64_MIN   /* NULL: nothing is due */

#define PAIR_STATES(X) \
	X(UNPROCESSED, "unprocessed") X(STALE, "stale") X(FRESH, "fresh") \
	X(RETRY, "retry") X(LEASED, "leased") X(BLOCKED, "blocked") \
	X(FAILED, "failed")
enum pair_state {
#define PAIR_STATE_ENUM(name, text) PAIR_##name,
	PAIR_STATES(PAIR_STATE_ENUM)
#undef PAIR_STATE_ENUM
	PAIR_STATE_COUNT
};
const char *pair_state_text(enum pair_state);    /* "unprocessed" */

struct item_tag {
	uint32_t tag;
	struct str name;             /* of the tag */
	struct str value;            /* p NULL: none */
};

struct item_row {
	bool exists;
	int64_t key;
	struct str id, data;
	struct str created_by;       /* p NULL: none */
	struct wall created_at, updated_at;
	uint64_t rev;
	unsigned aliases_n, blobs_n; /* aliases besides its own id */
	const struct item_tag *tags; /* by name; replaced, never changed */
	size_t tags_n;
};

struct alias_row {
	bool exists, own;
	struct str id;
	int64_t item;
};

#define RESULT_TTL_NONE INT64_MIN    /* the task's TTL applies */
#define RESULT_TTL_NEVER (-1)

struct result_row {
	bool exists;
	uint32_t task;
	int64_t item;
	struct str task_version, metadata;
	bool is_successful, is_invalidated;
	struct wall created_at;
	struct wall completed_at;    /* NONE: no result was ever stored */
	struct wall expires_at;      /* NONE: never */
	int64_t ttl_override_us;     /* or RESULT_TTL_... */
	uint64_t rev;
};

struct pair_row {
	bool exists;
	uint32_t task, lane;
	int64_t item;
	enum pair_state state;
	int64_t due_ms;
	uint64_t lease;              /* 0: none */
	struct wall lease_until;
	struct str worker;
	uint64_t generation;         /* of the configuration at the claim */
	unsigned attempt;            /* failed attempts in a row */
	bool again;                  /* expired while it was leased */
	uint64_t done_lease;         /* the lease that was completed last */
};

/* A rate's bucket: like struct rate of base/time.h, in wall time. */
struct bucket_row {
	struct str name;
	struct wall full_at;         /* when all of the burst is left again */
};

struct blob_row {
	bool exists;
	int64_t item;
	struct str name, type;
	uint8_t sha256[32];
	int64_t bytes;
};

struct task_state_row {
	bool exists;
	uint32_t task;
	bool paused, tripped;
	/* By enum pair_state, as of item_tx_task_state(); kept by item_tx. */
	int64_t pairs[PAIR_STATE_COUNT];
};

/*
 * Begin: a write transaction of the database.  `now` is the time of all that
 * happens in it.
 */
MUST_USE enum err item_tx_begin(struct item_store *, struct wall now,
    struct item_tx **, struct why *);
/*
 * The same, with what the transaction before has in memory, if it was begun so
 * too, was committed, and nobody else has written since: a run is claimed in
 * one and completed in another soon after, and its rows are read once.  For
 * transactions that change rows by statements of their own only between
 * item_tx_flush_all() and item_tx_forget().  SQLite; PostgreSQL has locks that
 * end with the transaction.
 */
MUST_USE enum err item_tx_continue(struct item_store *, struct wall now,
    struct item_tx **, struct why *);
/* Such a one, on SQLite. */
bool item_tx_continues(const struct item_tx *);
/*
 * Write what was changed and commit, or roll back when `so_far` is an error.
 * Frees the transaction.  On PostgreSQL the cursors of events are taken last,
 * under a lock, so that their order is that of the commits.
 */
MUST_USE enum err item_tx_end(struct item_tx **, enum err so_far,
    struct why *);

/*
 * Use this configuration from now on, also in the rest of the transaction.  It
 * is taken.  The one before is in force again when the transaction ends with an
 * error; item_tx_undo() does not bring it back.  Once in a transaction.
 */
void item_tx_use_config(struct item_tx *, struct task_config *);

/* Memory until item_tx_end(): for texts of rows, and for all else, which does
 * not outlive it where rows are kept. */
struct arena *item_tx_arena(struct item_tx *);
struct arena *item_tx_scratch(struct item_tx *);
struct wall item_tx_now(const struct item_tx *);
struct item_store *item_tx_store(const struct item_tx *);

/* -- What will be needed.  Nothing is read before item_tx_load(). -- */

void item_tx_want_item(struct item_tx *, struct str id_or_alias);
void item_tx_want_key(struct item_tx *, int64_t key);
/* The pair and the result of (task, item): by id or alias, by key. */
void item_tx_want_pair(struct item_tx *, uint32_t task, struct str id);
void item_tx_want_pair_key(struct item_tx *, uint32_t task, int64_t item);
/* The pair without the result. */
void item_tx_want_pair_row(struct item_tx *, uint32_t task, int64_t item);
MUST_USE enum err item_tx_load(struct item_tx *, struct why *);

/* -- Rows.  They are the transaction's; one that is not stored is returned with
 *    exists false, and becomes one when exists is set and it is touched. -- */

MUST_USE enum err item_tx_alias(struct item_tx *, struct str id,
    struct alias_row **, struct why *);
/* Through aliases; ABSENT ("ID: there is no such item") when there is none. */
MUST_USE enum err item_tx_find(struct item_tx *, struct str id,
    struct item_row **, struct why *);
MUST_USE enum err item_tx_item(struct item_tx *, int64_t key,
    struct item_row **, struct why *);
MUST_USE enum err item_tx_result(struct item_tx *, uint32_t task, int64_t item,
    struct result_row **, struct why *);
MUST_USE enum err item_tx_pair(struct item_tx *, uint32_t task, int64_t item,
    struct pair_row **, struct why *);
MUST_USE enum err item_tx_bucket(struct item_tx *, struct str name,
    struct bucket_row **, struct why *);
MUST_USE enum err item_tx_blob(struct item_tx *, int64_t item, struct str name,
    struct blob_row **, struct why *);
/* All results and pairs of an item, of any task, loaded ones as they are now.
 * Memory: the transaction's. */
MUST_USE enum err item_tx_results_of(struct item_tx *, int64_t item,
    struct result_row ***, size_t *n, struct why *);
MUST_USE enum err item_tx_pairs_of(struct item_tx *, int64_t item,
    struct pair_row ***, size_t *n, struct why *);
/* Its aliases without its own id. */
MUST_USE enum err item_tx_aliases_of(struct item_tx *, const struct item_row *,
    struct alias_row ***, size_t *n, struct why *);
MUST_USE enum err item_tx_blobs_of(struct item_tx *, const struct item_row *,
    struct blob_row ***, size_t *n, struct why *);
/* `paused` and `tripped` may be changed; the row need not exist. */
MUST_USE enum err item_tx_task_state(struct item_tx *, uint32_t task,
    struct task_state_row **, struct why *);

/*
 * Before a row is changed: remember it for item_tx_undo() and have it written.
 * Pairs keep the counts of task_state by it: the state before is noted.
 */
void item_tx_touch_alias(struct item_tx *, struct alias_row *);
void item_tx_touch_item(struct item_tx *, struct item_row *);
void item_tx_touch_result(struct item_tx *, struct result_row *);
void item_tx_touch_pair(struct item_tx *, struct pair_row *);
void item_tx_touch_bucket(struct item_tx *, struct bucket_row *);
void item_tx_touch_blob(struct item_tx *, struct blob_row *);
void item_tx_touch_task_state(struct item_tx *, struct task_state_row *);

/* A new item's key; its row has exists false. */
MUST_USE enum err item_tx_new_item(struct item_tx *, struct item_row **,
    struct why *);

/* -- Rows that are only written: failures, runs, blobs and events go out at the
 *    end, in order; item_tx_undo() drops them, too. -- */

/* At most items.pair_failures_max of a pair are kept; the oldest go. */
void item_tx_put_failure(struct item_tx *, uint32_t task, int64_t item,
    struct str message, struct str error_data);
/* A later success: mark the pair's open failures as handled. */
void item_tx_handle_failures(struct item_tx *, uint32_t task, int64_t item,
    struct str by, struct str note);
/* Failures and runs of an item, of all tasks: another item gets them; or they
 * go. */
void item_tx_move_records(struct item_tx *, int64_t from, int64_t to);
void item_tx_drop_records(struct item_tx *, int64_t item);

struct item_run {
	uint32_t task;
	int64_t item;
	struct wall started_at;
	bool success;
	unsigned attempt;
	struct str task_version;
	int64_t wall_us, cpu_us, memory_bytes, fetches, bytes;
	struct str record;           /* JSON; packed here */
	/* Without what a replay needs; stored when `record` is more than
	 * ITEM_RUN_BYTES_MAX packed. */
	struct str short_record;
};
#define ITEM_RUN_BYTES_MAX (256u << 10)
/* `keep`: 0 the last run of the pair, 1 failed runs too (30 days). */
void item_tx_put_run(struct item_tx *, const struct item_run *, bool keep);
/* Append the JSON that runs.record packs.  CORRUPT. */
MUST_USE enum err item_run_unpack(struct str packed, struct buf *,
    struct why *);
/* What tasks used: added to task_state. */
void item_tx_add_usage(struct item_tx *, uint32_t task, int64_t runs,
    int64_t wall_us, int64_t cpu_us, int64_t fetches, int64_t bytes);

/* -- Statements of other files of this folder run between begin and end, on
 *    item_store's database.  Rows that are loaded and touched are written
 *    first, so that the statement sees them. -- */
MUST_USE enum err item_tx_flush(struct item_tx *, struct why *);
/* Failures and runs, too: for statements that read or change these. */
MUST_USE enum err item_tx_flush_all(struct item_tx *, struct why *);
/* Forget loaded rows: a statement has changed them in the database, after
 * item_tx_flush_all().  States of pairs are changed by rows only, since these
 * are counted. */
void item_tx_forget(struct item_tx *);

/* -- Undo -- */

struct item_mark {
	size_t undo, appended, events, usage, savepoints;
};
struct item_mark item_tx_mark(struct item_tx *);
/* Back to the mark: rows, failures, runs, usage and events.  What a statement
 * has changed in the database stays changed, unless item_tx_flush_all() was
 * called between the mark and it. */
void item_tx_undo(struct item_tx *, struct item_mark);

/* -- Retention -- */

/*
 * Rows that were dropped because they are old, or too many: those of struct
 * item_pruned, counted by its callers, and failures beyond
 * items.pair_failures_max, counted as item_tx_end() commits.
 */
enum { PRUNED_EVENTS, PRUNED_FAILURES, PRUNED_RUNS, PRUNED_BLOBS,
	PRUNED_PAIR_FAILURES, PRUNED_COUNT };
extern struct metric item_pruned_metric;
/*
 * Drop what is older than it is kept: events, handled failures, failed runs,
 * blobs that no item uses; at most `max` rows of each, and `more` when some may
 * be left.  The newest event always stays.
 */
struct item_pruned {
	int64_t events, failures, runs, blobs;
	bool more;
};
MUST_USE enum err item_tx_prune(struct item_tx *, size_t max,
    struct item_pruned *, struct why *);

#endif

/*
 * items -- the items of a data directory, for the rooms and doors above: a
 * thread that writes in groups, a thread that reads beside it, claims that
 * wait, and events as they are committed.
 *
 *     door ── items_write() ──► writer: one transaction for all that waits,
 *                               each request with a mark of its own
 *          ◄── done(), once the transaction is durable
 *
 * Public: doors, commands and the task runner include this header, item_ops.h,
 * worklist.h and item_query.h.
 *
 * Thread: home's, but for what a comment says.
 * Limits: items.*, see item_limits.h.
 * Story:  engine/items/DESIGN.md
 */
#ifndef ENGINE_ITEMS_ITEMS_H
#define ENGINE_ITEMS_ITEMS_H

#include "engine/items/generation.h"
#include "engine/items/item_store.h"
#include "os/pool.h"

struct items;

struct items_options {
	const struct conf *conf;     /* NULL: the defaults */
	struct loop *home;
	const char *data_dir;
	/* A simulator, a command: the writer runs on `home`, in its turns; a
	 * read runs within items_read(). */
	bool no_threads;
	/* A command, beside daemons of a shared store: leases of the node's own
	 * workers stay, and there is no periodic work. */
	bool guest;
};
/*
 * Open items.db, or the tables beside the store's where store.url names
 * PostgreSQL; give back the leases of this daemon's own workers.  Errors: of
 * item_store_open().
 */
MUST_USE enum err items_open(const struct items_options *, struct items **,
    struct why *);
/*
 * Claims that wait are answered, requests that were put are finished, each with
 * its done(); then `closed` is called at home.  Later ones: CLOSED.
 */
void items_close(struct items *, void (*closed)(void *arg), void *arg);
/* After `closed`, or when `home` runs no more.  NULL is allowed. */
void items_free(struct items **);
/* The store alone, without threads: for commands that read, or move it. */
MUST_USE enum err items_open_store(const struct conf *, const char *data_dir,
    bool reader, struct item_store **, struct why *);
/* The settings items.*_max and their like. */
struct item_limits items_limits_of(const struct conf *);
const struct item_limits *items_limits(const struct items *);

/*
 * A request that writes.  want() and run() are called on the writer's thread,
 * run() again when the transaction has to be repeated (BUSY): it must not keep
 * what an earlier call left.  After an error of run() the request's changes are
 * undone and the others' stay.  done() comes at home when all is durable, with
 * `result` and `why`; texts that run() put into `arena` live until the owner
 * frees it.
 */
struct items_write {
	struct job job;
	void (*want)(struct items_write *, struct item_tx *);   /* or NULL */
	enum err (*run)(struct items_write *, struct item_tx *, struct why *);
	void (*done)(struct items_write *);
	enum err result;
	struct why why;
	struct arena arena;
	struct items *items;
	/* In a transaction of its own, which an error of run() rolls back:
	 * generation_load(), whose statements no mark undoes. */
	bool alone;
	/* Completions, or lines of an import: of all requests of a transaction
	 * together at most completions_max; 0 counts as 1. */
	size_t parts;
};
/* FULL (writes_max wait), UNREACHED, DISK_FULL and CLOSED come by done(), too:
 * never within this call. */
void items_write(struct items *, struct items_write *);
/* Whether the error means that too many requests are waiting, so that the same
 * request may be sent again later.  FULL for any other limit names a field. */
bool items_are_busy(enum err, const struct why *);

/*
 * A request that reads, in a snapshot of its own: it ends within 100 ms or so,
 * so a long list is several of them.
 */
struct items_read {
	struct job job;
	enum err (*run)(struct items_read *, struct item_store *, struct why *);
	void (*done)(struct items_read *);
	enum err result;
	struct why why;
	struct arena arena;
	struct buf out;              /* the owner's to free */
	struct items *items;
};
/* FULL beyond reads_max and CLOSED come by done(), too. */
void items_read(struct items *, struct items_read *);

/*
 * A claim that may wait: answered when something was leased, at `until`, or
 * when claims stop.  done() comes once.  FULL beyond items.claims_max.
 */
struct items_claim {
	struct items_write write;    /* items's */
	struct worklist_claim claim; /* texts: the owner's until done() */
	struct mono until;
	void (*done)(struct items_claim *);
	struct buf out;              /* JSON of "leases", elements only */
	size_t n;
	uint64_t generation;
	enum err result;
	struct why why;
	/* items's. */
	struct list waiting;
	struct mono retry_at;
	bool waits, cancelled;               /* the writer's */
	struct loop_call cancel;
	bool cancelling, cancel_back, answered;      /* home's */
};
void items_claim(struct items *, struct items_claim *);
void items_claim_cancel(struct items_claim *);   /* done() follows */
/* SIGTERM: claims end with what they have, and later ones get nothing. */
void items_stop_claims(struct items *);

/* Called at home after each commit that wrote events, with the newest cursor
 * (PostgreSQL: after those of other daemons, too, within a second). */
struct items_listener {
	struct list node;
	void (*committed)(struct items_listener *, uint64_t cursor);
	/* An event that has no cursor; NULL: not wanted. */
	void (*live)(struct items_listener *, struct str json);
};
void items_listen(struct items *, struct items_listener *);
void items_unlisten(struct items_listener *);
/* The newest cursor that listeners were called with. */
uint64_t items_cursor(const struct items *);

/*
 * Tell listeners, within this call, of an event of a run without a cursor:
 * "task.started", "log".  `more`: members of its JSON, or empty.
 */
struct items_live {
	const char *type;
	struct str item, task, lease, more;
};
void items_live_event(struct items *, const struct items_live *);

#endif

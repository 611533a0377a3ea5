/*
 * item_tx_own -- rows in memory, for the files of a transaction.
 *
 *     item_tx.c         begin and end, rows by key, undo
 *     item_tx_load.c    from the database to rows
 *     item_tx_flush.c   from rows to the database
 *     item_tx_append.c  what is only written: failures, runs, events, counts
 *     item_tx_keep.c    rows that stay in memory for the next transaction
 *
 * Private to item_tx*.c.
 */
#ifndef ENGINE_ITEMS_ITEM_TX_OWN_H
#define ENGINE_ITEMS_ITEM_TX_OWN_H

#include "base/map.h"
#include "engine/items/item_event.h"
#include "engine/items/item_store_own.h"
#include "engine/items/item_tx.h"

enum slot_kind {
	SLOT_ALIAS, SLOT_ITEM, SLOT_RESULT, SLOT_PAIR, SLOT_BUCKET, SLOT_BLOB,
	SLOT_TASK_STATE, SLOT_KINDS
};

/* The head of a row in memory.  A slot never moves: callers keep its row. */
struct slot {
	enum slot_kind kind;
	bool loaded;                 /* the row is the database's, or newer */
	bool queued;                 /* in tx.queue of its kind */
	bool dirty;                  /* in tx.dirty */
	bool touched;                /* in tx.touched */
	bool stored;                 /* the database has a row */
	bool unsure;                 /* or it may have none */
	size_t loaded_at;            /* savepoints that there were then */
	size_t undo_at;              /* 1 + its newest entry in tx.undo; or 0 */
};

struct alias_slot {
	struct slot head;
	struct alias_row row;
};

struct item_slot {
	struct slot head;
	struct item_row row;
	const struct item_tag *stored_tags;  /* those of the database */
	size_t stored_tags_n;
	bool tags_unsure;            /* or any others: all are written */
	bool results_loaded, pairs_loaded;   /* all of the item's are slots */
	struct result_slot *results;
	struct pair_slot *pairs;
};

struct task_key {
	uint64_t task;
	int64_t item;
};

struct result_slot {
	struct slot head;
	struct task_key key;
	struct result_slot *next;    /* of the item */
	struct result_row row;
};

struct pair_slot {
	struct slot head;
	struct task_key key;
	struct pair_slot *next;      /* of the item */
	int counted;                 /* the state in task_state; -1: none */
	struct pair_row row;
};

struct bucket_slot {
	struct slot head;
	struct bucket_row row;
};

struct blob_slot {
	struct slot head;
	struct str key;              /* the item's key and the name */
	uint8_t stored_sha256[32];
	bool counted;                /* in blobs.uses of stored_sha256 */
	struct blob_row row;
};

struct task_state_slot {
	struct slot head;
	int64_t stored_pairs[PAIR_STATE_COUNT];
	struct task_state_row row;
};

struct undo {
	struct slot *slot;
	void *row;                   /* as it was */
	size_t before;               /* the slot's undo_at */
	bool loaded;
	size_t loaded_at;
};

/* What is only written, in this order. */
enum append_kind {
	APPEND_FAILURE, APPEND_HANDLE, APPEND_RUN, APPEND_MOVE, APPEND_DROP
};
struct append {
	enum append_kind kind;
	uint32_t task;
	int64_t item;
	int64_t to;                  /* MOVE: the item that gets them */
	struct str message, text;    /* FAILURE: error data; HANDLE: by, note */
	const struct item_run *run;
	struct str packed;
	bool keep;
	int64_t n;                   /* RUN: 1 success */
};

struct event {
	enum item_event_type type;
	struct str task, tags, body; /* p NULL: NULL */
};

struct usage {
	uint32_t task;
	int64_t runs, wall_us, cpu_us, fetches, bytes;
};

/* An array that grows in the transaction's scratch memory. */
struct slots {
	struct slot **list;
	size_t n, cap;
};

struct item_tx {
	struct item_store *store;
	struct database *db;
	struct wall now;
	bool continues;              /* item_tx_continue() */
	uint64_t version;            /* then: of what others have committed */
	struct arena arena;          /* rows and their texts: may be kept */
	struct arena scratch;        /* all else */
	struct buf text;             /* of one event at a time */
	struct str event_begin;      /* what all of them begin with */
	struct map maps[SLOT_KINDS];
	struct slots queue[SLOT_KINDS];      /* to be loaded */
	struct slots touched, dirty;
	struct want_pair {
		uint32_t task;
		struct alias_slot *alias;
	} *want_pairs;
	size_t want_pairs_n, want_pairs_cap;
	struct undo *undo;
	size_t undo_n, undo_cap;
	size_t marked;               /* undo_n at the last mark */
	struct append *appended;
	size_t appended_n, appended_cap;
	size_t appended_done;        /* are in the database */
	int64_t failures_trimmed;
	struct savepoint {
		size_t appended_done;        /* before it */
		int64_t failures_trimmed;
	} *savepoints;
	size_t savepoints_n, savepoints_cap;
	struct event *events;
	size_t events_n, events_cap;
	struct usage *usage;
	size_t usage_n, usage_cap;
};

void tx_free(struct item_tx **);
/* Whether the next transaction may reuse the rows of this one, which was
 * committed. */
bool tx_can_be_kept(const struct item_tx *);
/* Drop everything but these rows, and them, too, when they are many; returns
 * the transaction. */
struct item_tx *tx_clear(struct item_tx *);

void *tx_row(struct slot *);
/* The row is what the database has now. */
void tx_set_loaded(struct item_tx *, struct slot *, bool stored);
void slots_add(struct item_tx *, struct slots *, struct slot *);

/* Slots by key, made when they are none; not loaded by it. */
struct alias_slot *tx_alias_slot(struct item_tx *, struct str id);
struct item_slot *tx_item_slot(struct item_tx *, int64_t key);
struct result_slot *tx_result_slot(struct item_tx *, uint32_t task,
    int64_t item);
struct pair_slot *tx_pair_slot(struct item_tx *, uint32_t task, int64_t item);
struct blob_slot *tx_blob_slot(struct item_tx *, int64_t item,
    struct str name);
struct task_state_slot *tx_task_state_slot(struct item_tx *, uint32_t task);
struct bucket_slot *tx_bucket_slot(struct item_tx *, struct str name);

/* Load the slot, if it is not. */
MUST_USE enum err tx_load_slot(struct item_tx *, struct slot *, struct why *);
/* Make slots of all rows of an item, loaded. */
MUST_USE enum err tx_load_results_of(struct item_tx *, struct item_slot *,
    struct why *);
MUST_USE enum err tx_load_pairs_of(struct item_tx *, struct item_slot *,
    struct why *);
MUST_USE enum err tx_load_aliases_of(struct item_tx *, int64_t item,
    struct why *);
MUST_USE enum err tx_load_blobs_of(struct item_tx *, int64_t item,
    struct why *);

/* Write dirty rows. */
MUST_USE enum err tx_flush_rows(struct item_tx *, struct why *);
/* Write what was appended so far, and at the end events and counts. */
MUST_USE enum err tx_flush_appended(struct item_tx *, struct why *);
MUST_USE enum err tx_flush_counts(struct item_tx *, struct why *);
MUST_USE enum err tx_flush_events(struct item_tx *, struct why *);
/* ITEM_TIME_NONE is NULL. */
void tx_bind_time(struct query *, int at, struct wall);
struct wall tx_get_time(struct query *, int column);

#endif

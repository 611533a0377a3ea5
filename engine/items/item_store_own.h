/*
 * item_store_own -- an open database of items, for the files that make
 * transactions of it.
 *
 * Private to item_store*.c, item_tx*.c and generation_rewrite.c.
 */
#ifndef ENGINE_ITEMS_ITEM_STORE_OWN_H
#define ENGINE_ITEMS_ITEM_STORE_OWN_H

#include "base/map.h"
#include "engine/items/claim_cursor.h"
#include "engine/items/item_store.h"
#include "engine/items/item_tx.h"

#define ITEM_KEYS_AHEAD 64u      /* keys of new items taken at a time */

struct item_name {
	uint32_t id;
	enum item_name_kind kind;
	struct str name;
	struct str key;              /* the kind's byte and the name */
};

/* A task whose pairs are rewritten (generation_rewrite.c). */
struct item_rewrite {
	uint32_t task;
	int64_t at;                  /* items up to it are done */
};

struct item_store {
	struct database *db;
	char *node;
	struct item_limits limits;
	struct task_config *config;  /* NULL: none was loaded */
	/* The one before, until the transaction ends that has changed it. */
	struct task_config *config_before;
	bool config_changed;
	/* The configuration is another daemon's: what runs tasks here has
	 * an earlier one.  `loads`: until this transaction, a load, ends. */
	bool outdated, loads;
	/* The table of that name, once `rewrites_known`. */
	struct item_rewrite *rewrites;
	size_t rewrites_n, rewrites_cap;
	bool rewrites_known;
	bool reader;
	/* Every name of the database, once `names_loaded`. */
	struct map names_by_key, names_by_id;
	struct item_names {
		struct item_names *older;
		struct arena arena;
	} *names;                    /* older ones: of a dropped cache */
	size_t tag_names_n;
	bool names_loaded;
	/* Keys that are nobody's yet, smallest last. */
	int64_t keys[ITEM_KEYS_AHEAD];
	size_t keys_n;
	uint64_t cursor;             /* of the newest event written here */
	void *packer;                /* of runs: ZSTD_CCtx */
	struct claim_cursors *claim_cursors; /* NULL: SQLite, or a reader */
	struct item_tx *kept;        /* rows of the last transaction, or NULL */
};

/* Texts of names that were dropped before this transaction go. */
void item_store_free_old_names(struct item_store *);
bool item_store_has_old_names(const struct item_store *);
/* Rows that were kept in memory for the next transaction go. */
void item_store_drop_kept(struct item_store *);
/* item_tx_use_config(). */
void item_store_change_config(struct item_store *, struct task_config *);
/* A transaction was committed: the configuration that it changed stays. */
void item_store_committed(struct item_store *);
/* The database went back to a savepoint: names and keys of since then are not
 * ours. */
void item_store_undone(struct item_store *);
/* A transaction was rolled back: what was taken from it is not ours. */
void item_store_rolled_back(struct item_store *);
/*
 * The first of `n` numbers in a row of a table's sequence.  SQLite: within a
 * transaction; PostgreSQL: its tables count for themselves.
 */
MUST_USE enum err item_store_take(struct item_store *, struct str table,
    size_t n, int64_t *first, struct why *);
/* The key of a new item. */
MUST_USE enum err item_store_new_key(struct item_store *, int64_t *,
    struct why *);

#endif

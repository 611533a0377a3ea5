/*
 * item_store -- the database of items, open; names; the configuration that is
 * in force.
 *
 * Two openings exist of one database: the writer's, with which transactions are
 * made, and the readers'.
 *
 * Thread: one at a time.  Private to engine/items.
 */
#ifndef ENGINE_ITEMS_ITEM_STORE_H
#define ENGINE_ITEMS_ITEM_STORE_H

#include "engine/items/item_limits.h"
#include "engine/items/schema.h"
#include "engine/items/task_config.h"

struct claim_cursors;            /* claim_cursor.h */
struct item_store;

struct item_store_options {
	const char *dir;             /* of items.db; NULL: url */
	const char *url, *password_file;
	const char *node;            /* store.node */
	const struct item_limits *limits;    /* NULL: the defaults */
	bool reader;                 /* transactions are not made with it */
};
MUST_USE enum err item_store_open(const struct item_store_options *,
    struct item_store **, struct why *);
void item_store_close(struct item_store **);
struct database *item_store_database(struct item_store *);
const char *item_store_node(const struct item_store *);
const struct item_limits *item_store_limits(const struct item_store *);
/* The index ranges that claims skip (claim_cursor.h); NULL for SQLite, and for
 * a store that was opened for reading. */
struct claim_cursors *item_store_claim_cursors(struct item_store *);

/*
 * The number of a name, which is made when `make` is set and it is none; 0: no
 * such name.  Within a transaction when it may be made.  FULL beyond
 * items.tag_names_max for tags.  Names are cached; item_store_names_changed()
 * drops the cache (after a migration, a rollback, and when another daemon
 * loaded a generation).
 */
MUST_USE enum err item_store_name(struct item_store *, enum item_name_kind,
    struct str name, bool make, uint32_t *, struct why *);
/* The text of a number; STR_NONE when there is none. */
struct str item_store_name_text(struct item_store *, uint32_t id);
void item_store_names_changed(struct item_store *);

/* The cursor of the newest event written with this opening; 0: none. */
uint64_t item_store_cursor(const struct item_store *);

/* The configuration in force; never NULL: without a file it has no tasks. */
const struct task_config *item_store_config(const struct item_store *);
void item_store_use_config(struct item_store *, struct task_config *);
/* It is in force for the pairs, but another daemon has loaded it, and this one
 * has not: generation_follow(). */
bool item_store_is_outdated(const struct item_store *);

#endif

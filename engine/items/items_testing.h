/*
 * items_testing -- a folder with a store of items, for tests.
 */
#ifndef ENGINE_ITEMS_ITEMS_TESTING_H
#define ENGINE_ITEMS_ITEMS_TESTING_H

#include "engine/items/item_store.h"
#include "engine/items/item_tx.h"

struct items_test {
	char dir[64];
	struct item_store *store;
	struct item_tx *tx;
	struct wall now;
};
/* Make a folder and open a store in it; `limits` may be NULL. */
void items_test_open(struct items_test *, const struct item_limits *);
/* Close the store, check the file, and remove the folder. */
void items_test_close(struct items_test *);
void items_test_begin(struct items_test *);
void items_test_commit(struct items_test *);
/* Use a configuration, as task_config_read() has it. */
void items_test_config(struct items_test *, const char *json);
/*
 * The types of the events in the open transaction from the mark on, with a
 * space between them; or their bodies, with a line for each.  Memory: the
 * transaction's.
 */
const char *items_test_events(struct items_test *, struct item_mark);
const char *items_test_bodies(struct items_test *, struct item_mark);
/* The first number that a statement of one row gives. */
int64_t items_test_number(struct items_test *, const char *sql);

#endif

/*
 * items_testing -- a store of items for tests: in a folder of its own, or, when
 * the test gets the argument `postgresql`, on a server of its own.
 */
#ifndef ENGINE_ITEMS_ITEMS_TESTING_H
#define ENGINE_ITEMS_ITEMS_TESTING_H

#include "engine/items/item_store.h"
#include "engine/items/item_tx.h"
#include "os/postgresql_testing.h"

struct items_test {
	char dir[64];
	char url[512];               /* "": files in `dir` */
	struct item_store *store;
	struct item_tx *tx;
	struct wall now;
};
/*
 * What main() of a test returns: start the server if the argument says so, run
 * the group, and stop it.  Without PostgreSQL the test is skipped.
 */
#define items_test_main(argc, argv, tests) \
	(!items_test_start(argc, argv) ? POSTGRESQL_TEST_SKIP : \
	items_test_stop(cmocka_run_group_tests(tests, NULL, NULL)))
bool items_test_start(int argc, char **argv);
int items_test_stop(int failed);

/* Open an empty store; `limits` may be NULL. */
void items_test_open(struct items_test *, const struct item_limits *);
/* Close the store, and open it again. */
void items_test_reopen(struct items_test *);
/* Close the store, check the database, and remove the folder. */
void items_test_close(struct items_test *);
void items_test_begin(struct items_test *);      /* item_tx_continue() */
void items_test_begin_alone(struct items_test *); /* item_tx_begin() */
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

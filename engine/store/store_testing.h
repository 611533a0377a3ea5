/*
 * store_testing -- checks that only tests make, and one suite for both
 * databases: a test that gets the argument `postgresql` runs on a server of its
 * own, else in files.
 */
#ifndef ENGINE_STORE_STORE_TESTING_H
#define ENGINE_STORE_STORE_TESTING_H

#include "engine/store/store.h"
#include "os/database.h"

struct postgresql_test;

/*
 * Call this first in a test's main(): it starts the server if the program's
 * argument is `postgresql`.  False: PostgreSQL is not installed, and the test
 * must exit with POSTGRESQL_TEST_SKIP.
 */
bool store_test_begin(int argc, char **argv);
/* Call this last; it stops the server and returns `failed`. */
int store_test_end(int failed);
/* The server, or NULL. */
struct postgresql_test *store_test_server(void);
/* From now on the store is another, empty one (a schema of its own). */
void store_test_renew(void);
/* store_open() with these options, or NULL; on a server as the node "here". */
enum err store_test_open(const char *dir, const struct store_options *,
    struct store **, struct why *);
/* Its database, opened once more. */
enum err store_test_database(const char *dir, struct database **,
    struct why *);

/*
 * Every invariant of the stored data, and the database's own: reads all of the
 * store, which `store` has open.
 */
enum err store_test_check(const char *dir, struct store *, struct why *);

#endif

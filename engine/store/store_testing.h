/*
 * store_testing -- checks that only tests make.
 */
#ifndef ENGINE_STORE_STORE_TESTING_H
#define ENGINE_STORE_STORE_TESTING_H

#include "engine/store/store.h"

/*
 * Every invariant of the stored data, and SQLite's own of the file: reads all
 * of DIR/store.db, which `store` has open.
 */
enum err store_test_check(const char *dir, struct store *, struct why *);

#endif

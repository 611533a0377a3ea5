/*
 * oracle -- what the store, the files and state.json of harvests must say, at
 * the beginning of each life and at the end.
 *
 *     store's row   its files are there, as noted, and contain exactly the
 *                   answers and items that the row counts, each once
 *     state.json    never ahead of the files beside it
 *
 * What is wrong is printed; the verdict is false then.
 * Source: contracts/harvest.md §4.
 */
#ifndef TESTS_SIM_ORACLE_H
#define TESTS_SIM_ORACLE_H

#include "base/arena.h"
#include "engine/store/store_harvest.h"
#include "tests/sim/platform.h"

/* A row of the store, with its files. */
bool oracle_row(struct store *, struct str id, const char *data_dir,
    struct store_harvest *, struct arena *a);
/* The directory of a host's harvests, and what is in it. */
bool oracle_dir(unsigned host, const char *path);
/* The same: its files have all items of the host. */
bool oracle_complete(unsigned host, const char *path);
/* All files below the path keep the rules of `argiope archive check --strict`,
 * and their bytes become part of the trace. */
bool oracle_archive(const char *path, uint64_t *files);

#endif

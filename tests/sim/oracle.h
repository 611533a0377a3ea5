/*
 * oracle -- what the store, the files and state.json of harvests must say, at
 * the beginning of each life and at the end.
 *
 *     store's row   its files are there, as noted, each once, and contain
 *                   exactly the answers and items that the row counts
 *     streams       no item between two others is missing, where the platform
 *                   has it still
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

/* A harvest as it is looked at. */
struct oracle_run {
	struct str id;
	unsigned host;
	bool over;                   /* its row says all there is */
	/* A stream that had time to catch up has all items from its first one
	 * up to this moment; us 0: it had none. */
	struct wall whole_until;
};
/* A row of the store, with its files; their number is added to `files`. */
bool oracle_row(struct store *, const struct oracle_run *,
    const char *data_dir, struct store_harvest *, uint64_t *files,
    struct arena *a);
/* The directory of a host's harvests, and what is in it; a file is read once in
 * each life, which begins with oracle_forget(). */
void oracle_forget(void);
bool oracle_dir(unsigned host, const char *path);
/* The same: its files have all items of the host. */
bool oracle_complete(unsigned host, const char *path);
/* There are so many files in it. */
bool oracle_files(const char *path, uint64_t files);
/* All files below the path keep the rules of `argiope archive check --strict`,
 * and their bytes become part of the trace. */
bool oracle_archive(const char *path, uint64_t *files);

#endif

/*
 * database_checkpoint -- checkpoints of an SQLite database by a thread of their
 * own.  Private to os/database_sqlite.c.
 *
 * SQLite's automatic checkpoint runs within a commit, which then takes as long
 * as all pages of the log take to be written and synced.  Here a commit that
 * finds `pages` pages in the log wakes a thread, which copies them with a
 * connection of its own while commits go on:
 *
 *     log    ├── copied by the thread ──┤── copied by a commit ──┤
 *                                        pages / REST_SHARE at most
 *
 * The log begins anew only when all of it has been copied, so what was added
 * meanwhile is copied by the thread again, until the rest is small; the next
 * commit copies that.  A log of GROWTH_MAX times `pages` makes commits wait,
 * so that it does not grow faster than it is copied.  A transaction that reads
 * keeps what is newer than its snapshot from being copied: then the log grows
 * for as long as it lasts, and the thread gives its file room ahead of the
 * commits.
 *
 * Errors: those of a checkpoint are not told, as SQLite does not tell those of
 * its own: commits are safe in the log, and the checkpoint is tried again.
 */
#ifndef OS_DATABASE_CHECKPOINT_H
#define OS_DATABASE_CHECKPOINT_H

#include <sqlite3.h>

#include "base/err.h"

/* SQLite's default, which nothing here changes. */
#define DATABASE_PAGE_BYTES 4096u

struct checkpointer;

/* For commits of `db`, which is open.  An SQLite code other than SQLITE_OK: the
 * second connection could not be opened. */
int checkpointer_start(sqlite3 *db, const char *path, unsigned pages,
    struct checkpointer **);
/* Before `db` is closed.  Waits for a checkpoint that is under way. */
void checkpointer_stop(struct checkpointer **);

#endif

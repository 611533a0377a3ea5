/*
 * snapshot -- a copy of a data directory as it is between two commit groups,
 * for argiope backup.
 *
 *     main loop ─► ledger's loop: hold ─► pool: parts ─► unhold ─► files that
 *      ◄───────────── done() ◄─ are being written, up to their end ◄─┘
 *
 * The table SNAPSHOT_PARTS lists what a data directory consists of: a new store
 * or spool adds its row there.  A file without a row is never copied, so that
 * neither a key file nor a lock gets into a backup.
 *
 * Story: engine/rebuild/DESIGN.md, "Backups".
 */
#ifndef ENGINE_REBUILD_SNAPSHOT_H
#define ENGINE_REBUILD_SNAPSHOT_H

#include "base/arena.h"
#include "base/err.h"

/*
 * How each is copied:
 *   INDEX     RocksDB's checkpoint; of a directory at rest its files
 *   FILES     all its files, byte by byte
 *   ARCHIVE   WARC files that are finished are linked, those being written
 *             copied up to what is committed, everything else is copied
 *   DATABASE  SQLite's online backup
 *   FILE      one file
 *
 * "hooks" comes before "archive": a file that a hook moves meanwhile has its
 * note there, or its call is pending in the copy.  "harvest" comes before
 * "harvested" and "store.db": a file that was brought away meanwhile is in the
 * copy all the same.
 *
 *        name         how */
#define SNAPSHOT_PARTS(X)                                                    \
	X("identity", FILE)                                                  \
	X("index", INDEX)                                                    \
	X("log", FILES)                                                      \
	X("hooks", FILES)                                                    \
	X("archive", ARCHIVE)                                                \
	X("harvest", ARCHIVE)                                                \
	X("harvested", ARCHIVE)                                              \
	X("store.db", DATABASE)                                              \
	X("items.db", DATABASE)

/* Other files of a data directory, which are not copied. */
#define SNAPSHOT_LEFT_OUT(X)                                                 \
	X("lock") X("serve.json") X("serve.json.new") X("backup")            \
	X("restoring") X("store.db-wal") X("store.db-shm")                   \
	X("items.db-wal") X("items.db-shm") X(".rebuild")

/* Where a running daemon puts its snapshot, below the data directory. */
#define SNAPSHOT_WORK "backup"
#define SNAPSHOT_DIR SNAPSHOT_WORK "/snapshot"

/*
 * A request to a running engine.  The snapshot is in DATA/backup/snapshot when
 * done() is called with `why` OK.
 */
struct engine;
struct snapshot_ask {
	uint64_t group;              /* the last commit group in it */
	uint64_t outside;            /* WARC files elsewhere; not in it */
	struct why why;              /* FULL: another is being made; others */
	void (*done)(struct snapshot_ask *);
	void *arg;
};
/* One at a time; an older one is replaced.  Thread: the main loop's. */
void engine_snapshot(struct engine *, struct snapshot_ask *);

/*
 * Copy a data directory that no process holds; the caller has its lock.  `to`
 * must be there, and empty.
 */
MUST_USE enum err snapshot_at_rest(const char *data_dir, const char *to,
    struct why *);
/*
 * Names in the data directory that neither list has: a store without a row.
 * Memory: `a`.
 */
MUST_USE enum err snapshot_strangers(const char *data_dir, struct arena *a,
    struct str **names, size_t *n, struct why *);
/*
 * Checked before a data directory is opened.  Errors: CORRUPT, with what to do,
 * when a restore into the directory was broken off.
 */
#define SNAPSHOT_RESTORING "restoring"
MUST_USE enum err snapshot_check(const char *data_dir, struct why *);
/* Remove what a backup that was killed has left, unless one is under way. */
void snapshot_clean(const char *data_dir);

#endif

/*
 * ledger -- where it is decided what survives: groups of changes that become
 * durable together, in order, and the index that follows them.
 *
 *     owner ── puts, notes, WARC members, promises ──► the gathering group
 *                         sealed when the sync thread is free
 *     sync thread:  WARC members written, synced; log record written, synced
 *                   (later, when all its promises are content with that)
 *     owner:        promises kept
 *     index thread: the group's puts into RocksDB; reads, in the same order
 *
 * The ledger knows nothing of URLs: its owner (engine/frontier) says what is
 * put.  State that lives in the owner's memory travels as notes, each holding
 * the absolute state of one thing, so that replaying a note twice is harmless.
 *
 * Thread: the ledger's loop only, unless a function says otherwise.
 * Story:  engine/ledger/DESIGN.md, and the project's prescription in it.
 */
#ifndef ENGINE_LEDGER_LEDGER_H
#define ENGINE_LEDGER_LEDGER_H

#include "base/arena.h"
#include "base/err.h"
#include "engine/ledger/identity.h"
#include "os/index.h"
#include "os/loop.h"
#include "os/pool.h"
#include "wire/digest.h"

struct ledger;

enum ledger_health {
	LEDGER_FINE,
	LEDGER_DISK_FULL,    /* waiting for space; nothing is lost */
	LEDGER_FAILED,       /* until restart: a sync failed */
};

/* How a start treats the archive's owner; see claims.h. */
enum ledger_claims {
	LEDGER_CLAIMS_CHECK,     /* refuse an archive that does not fit */
	LEDGER_CLAIMS_TAKE,      /* it is this directory's from now on */
	LEDGER_CLAIMS_NONE,      /* neither: while a directory is rebuilt */
};

/* A WARC that has its final name and its CDXJ. */
struct warc_closed {
	uint32_t crawl, file;
	struct str path;
	uint64_t size;
	struct digest digest;        /* of the whole file, if its series asks */
};

/*
 * Receives the events of WARC files.  A file's record in the index stores the
 * number of its owner, so that recovery after a crash calls the same owner.
 * Each function may be NULL.
 */
struct warc_owner {
	/*
	 * A file is about to get its final name.  On the ledger's loop, when
	 * this change joins the gathering group, or during recovery.
	 * finished() follows unless the renaming fails; then the next start
	 * repeats both.
	 */
	void (*closing)(void *arg, uint32_t crawl);
	/*
	 * The file has its final name, but this is not committed yet.  On a
	 * thread of the pool.  After an error the next start calls it again.
	 */
	enum err (*closed)(void *arg, const struct warc_closed *,
	    struct why *);
	/* The final name is committed.  On the ledger's loop.  File 0: the
	 * WARC had no records and was removed. */
	void (*finished)(void *arg, uint32_t crawl, uint32_t file);
	void *arg;
};
/* Indexes of ledger_options.owners; stored in the index, so never changed. */
enum { WARC_OF_CRAWL, WARC_OF_HARVEST, WARC_OWNERS };

struct ledger_options {
	const char *dir;                 /* log and index live under it */
	const char *home;                /* the data directory; NULL: dir */
	enum ledger_claims claims;
	size_t group_bytes_max;          /* seal at once at so many bytes */
	uint32_t group_records_max;      /* ... or so many promises */
	int64_t group_ms_max;            /* gather that long while many wait */
	uint32_t group_promises_few;     /* so many are not kept waiting */
	size_t segment_bytes;            /* of the log; a checkpoint each */
	size_t segment_bytes_max;        /* ... once it is long; 0: the same */
	size_t checkpoint_part;          /* things put per group; 0: 1024 */
	uint64_t free_bytes_min;         /* below it writes wait */
	unsigned open_files_max;         /* WARCs being written; 0: 256 */
	struct index_options index;
	bool threads;                    /* false: all on the ledger's loop */
	struct pool *pool;
	/* One note of the log, in its order; only from ledger_recover(). */
	void (*replay)(void *arg, uint8_t kind, struct str note);
	/*
	 * A checkpoint begins: all memory state that changed up to now is to be
	 * put into the index.  checkpoint_put() is called once for each group
	 * from this one on, puts at most n things by ledger_put_unlogged(), as
	 * they are then, and returns false when nothing is left.
	 */
	void (*checkpoint_begin)(void *arg);
	bool (*checkpoint_put)(void *arg, size_t n);
	/* A group is about to be sealed: the last chance to put notes. */
	void (*before_seal)(void *arg);
	/* Health changed; `text` says why in one sentence. */
	void (*health)(void *arg, enum ledger_health, const char *text);
	void *arg;
	struct warc_owner owners[WARC_OWNERS];
};

/*
 * Open the index and the log's directory.  The index shows the last checkpoint
 * until ledger_recover() has replayed the log; then ledger_start() lets groups
 * flow.  Errors: CORRUPT; NEWER; DISK_FULL; IO.
 */
MUST_USE enum err ledger_open(struct loop *, const struct ledger_options *,
    struct ledger **, struct why *);
MUST_USE enum err ledger_recover(struct ledger *, struct why *);
/*
 * In place of ledger_recover(), for a directory that is to be replaced: replay
 * what can be read of the log, into memory only, and look at no WARC file.
 * Then ledger_put_unlogged() works, and ledger_free() ends it; there is no
 * ledger_start().  Errors: those of the index.
 */
MUST_USE enum err ledger_recover_old(struct ledger *, struct why *);
/* Unlogged puts can be read from the index, whose files are not written. */
MUST_USE enum err ledger_apply_unlogged(struct ledger *, struct why *);
/*
 * Move what a group that was lost left in a series' work directory (NULL: as
 * in warc_set_options) to <dir>/.argiope/quarantine, and log it.  After
 * ledger_recover(), which does it for the directories that the records of WARCs
 * name, before ledger_start().
 * Errors: CORRUPT when a log that is newer than this one committed them.
 */
MUST_USE enum err ledger_quarantine(struct ledger *, const char *dir,
    const char *work_dir, const char *prefix, struct why *);
void ledger_start(struct ledger *);
/*
 * Make all that was put durable, checkpoint, close the WARCs, and call
 * `closed` on the ledger's loop; then ledger_free().  A failed ledger, or one
 * whose disk is full, waits for nothing: what it did not promise is lost.
 */
void ledger_close(struct ledger *, void (*closed)(void *arg), void *arg);
/*
 * Its threads end: no query of anybody runs any more, and none is answered.
 * For owners of queries who go before the ledger does.  ledger_free() does it.
 */
void ledger_stop(struct ledger *);
void ledger_free(struct ledger **);

/* How paths and collections are stored in the index; for ever the same. */
const struct stored_paths *ledger_paths(const struct ledger *);
/*
 * A crawl is to write to this WARC directory from now on.  Errors: CORRUPT,
 * with what to do, when it is another data directory's, or newer than this one.
 */
MUST_USE enum err ledger_may_archive(struct ledger *, struct str warc_dir,
    struct why *);

/*
 * Hold the ledger between two groups: held() is called on the ledger's loop
 * once every group so far is on the disk and in the index, no file is on its
 * way to its name, and no segment of the log is recycled; until
 * ledger_unhold() nothing below the data directory is written by the ledger.
 * What is put meanwhile gathers, and promises wait.  One hold at a time.
 * Errors, in `why`: CLOSED while it closes; BROKEN; DISK_FULL.
 */
struct ledger_hold {
	void (*held)(struct ledger_hold *);
	struct why why;
	uint64_t group;              /* the last one */
};
void ledger_hold(struct ledger *, struct ledger_hold *);
void ledger_unhold(struct ledger *);

/* The index, for reading on this loop before ledger_start(). */
struct index *ledger_index(struct ledger *);

/* --- the gathering group ------------------------------------------------ */

void ledger_put(struct ledger *, enum index_family, struct str key,
    struct str value);
/*
 * As ledger_put(), of a value that begins with file4 offset6: a place that
 * ledger_archive() gave in this group.  When the file cannot be written, its
 * members go to another one, and the place in the value goes with them.
 */
void ledger_put_placed(struct ledger *, enum index_family, struct str key,
    struct str value);
void ledger_delete(struct ledger *, enum index_family, struct str key);
void ledger_delete_range(struct ledger *, enum index_family, struct str from,
    struct str to);
/* The state of one thing in the owner's memory; kinds below 200 are his. */
void ledger_note(struct ledger *, uint8_t kind, struct str note);
/*
 * Into the index with this group, behind what is logged, not into the log: for
 * checkpoints, and for what the owner makes again from notes.
 */
void ledger_put_unlogged(struct ledger *, enum index_family, struct str key,
    struct str value);

/*
 * kept() is called on the ledger's loop when the gathering group is durable
 * (OK), or when it never will be (BROKEN).  Promises are kept in their order.
 *
 * One of ledger_promise_written() is content with a log that was written: the
 * group survives this process, and the machine from LEDGER_LATE_MS later on.
 * In a group that holds others, or WARC members, it waits with them.
 */
#define LEDGER_LATE_MS 1000
struct promise {
	struct promise *next;
	void (*kept)(struct promise *, enum err);
};
void ledger_promise(struct ledger *, struct promise *);
void ledger_promise_written(struct ledger *, struct promise *);
/* Somebody waits for this group alone: it gathers no longer than it must. */
void ledger_hurry(struct ledger *);
/* The number of the gathering group. */
uint64_t ledger_group(const struct ledger *);
enum ledger_health ledger_health(const struct ledger *);
/* Bytes gathered and in flight; for back-pressure and the metrics. */
size_t ledger_bytes_waiting(const struct ledger *);

/* --- WARC files ---------------------------------------------------------- */

/*
 * A series is the WARC files of one crawl, one open at a time.  Files are made,
 * rolled over, closed, renamed and indexed by the ledger.
 */
struct warc_set;
struct warc_set_options {
	const char *dir;             /* where finished files go */
	/* Where files are written, on the same volume; NULL:
	 * <dir>/.argiope/<prefix>. */
	const char *work_dir;
	const char *prefix;          /* of the names: the crawl's id */
	uint8_t owner;               /* WARC_OF_CRAWL ... */
	enum digest_kind digest;     /* of each whole file, for the owner */
	const char *token;           /* 8 of [a-z0-9]: the instance */
	uint32_t crawl;
	uint64_t rollover_bytes;
	int64_t rollover_s;
	/* Append the gzip member of the warcinfo of `filename` to `out`. */
	void (*warcinfo)(void *arg, const char *filename, struct buf *out);
	void *arg;
};
struct warc_set *ledger_series_open(struct ledger *,
    const struct warc_set_options *);
/* Close its file; `*sp` is gone once the group is durable. */
void ledger_series_close(struct ledger *, struct warc_set **sp);

/* A part of a file of the archive's, by its handle of the port. */
struct archive_extent {
	int handle;
	uint64_t at, n;
};
/* One gzip member in the bytes handed to ledger_archive(). */
struct archive_member {
	size_t at, n;                /* in the bytes */
	struct str cdxj;             /* up to `"offset":"`; empty: no line */
	/*
	 * The rest of the member, in another file; at least its first
	 * GZIP_HEAD_BYTES are in the bytes.  The caller keeps that file open
	 * and unchanged until a promise of this group is kept.  n 0: the whole
	 * member is in the bytes.
	 */
	struct archive_extent rest;
};
struct archive_place {
	uint32_t file;               /* id of the WARC */
	uint64_t offset;             /* of the first member */
};
/*
 * Append the members to the series' file, all to the same one.  Sequence
 * number and group are patched into each member (seq 0: it has none).  The
 * bytes are copied.  Errors: as warc creation.
 */
MUST_USE enum err ledger_archive(struct ledger *, struct warc_set *,
    struct str bytes, const struct archive_member *, size_t n, uint64_t seq,
    struct archive_place *, struct why *);

/* The path of a WARC by its id, open or finished.  ABSENT.  Memory: `a`.
 * A file whose end is under way may get its other name after this.
 * Thread: the index thread's (from a ledger_query). */
MUST_USE enum err ledger_warc_path(struct index *, uint32_t file,
    struct arena *a, struct str *path, struct why *);

/*
 * The path at which to read it: as ledger_warc_path(), or the new place of a
 * file that a hook has moved.  ABSENT, with the place in the reason, when it
 * cannot be read there.  The same thread.
 */
MUST_USE enum err ledger_warc_readable(struct index *, uint32_t file,
    struct arena *a, struct str *path, struct why *);
/*
 * Open it for reading there, also while it gets its other name.  `*fd` is -1
 * after an error.  The same thread.
 */
MUST_USE enum err ledger_warc_open(struct index *, uint32_t file, int *fd,
    struct why *);

/* Whether the index knows the file as one that is not finished yet.  The same
 * threads, and any before ledger_start(). */
bool ledger_warc_is_unfinished(struct index *, uint32_t file);

/* --- made anew from WARC files ------------------------------------------- */

/* A file that is there already; its records were read. */
struct ledger_file {
	uint32_t crawl;
	struct wall created;
	uint64_t first, end;         /* where the warcinfo ends; the size */
	struct str dir, work_dir, name;
	bool open;                   /* in work_dir: the next start names it */
};
/* Know the file from now on; its id. */
uint32_t ledger_adopt(struct ledger *, const struct ledger_file *);
/*
 * What was gathered goes into the index at once and never into the log, so that
 * it can be read here: only where the whole directory counts for nothing before
 * ledger_close() is through.  Without threads.  Errors: as index_write().
 */
MUST_USE enum err ledger_apply(struct ledger *, struct why *);

/* --- reading the index --------------------------------------------------- */

/*
 * run() is called on the index thread behind all groups that were durable when
 * the query was posted; then done() on the home loop.  The query, whose fields
 * are the ledger's, lies in what its owner knows of the question.
 * Thread of ledger_read(): any.
 */
struct ledger_query;
typedef void ledger_query_run(struct ledger_query *, struct index *);
typedef void ledger_query_done(struct ledger_query *);
struct ledger_query {
	struct mail mail;
	struct ledger *ledger;
	struct loop *home;
	ledger_query_run *run;
	ledger_query_done *done;
};
void ledger_read(struct ledger *, struct ledger_query *, struct loop *home,
    ledger_query_run *run, ledger_query_done *done);
/*
 * As ledger_read(), but beside the groups, on a thread of its own: those behind
 * ledger_applied() may be seen or not.
 */
void ledger_read_beside(struct ledger *, struct ledger_query *,
    struct loop *home, ledger_query_run *run, ledger_query_done *done);
/*
 * As ledger_read(), but nothing is read: done() is called once all groups that
 * are durable now are in the index.
 */
void ledger_barrier(struct ledger *, struct ledger_query *, struct loop *home,
    ledger_query_done *done);
uint64_t ledger_applied(const struct ledger *);

/* Figures for the metrics; read on the ledger's loop. */
struct ledger_stats {
	uint64_t groups, records, log_bytes, warc_bytes, checkpoints;
	uint64_t groups_unapplied;
	uint64_t warcs_open;         /* being written; archive.open_files */
	uint64_t warcs_squeezed;     /* closed early for that limit */
	uint64_t warcs_moved;        /* given up after an error of a write */
	int64_t sync_ns_sum, sync_ns_max;
};
void ledger_stats(const struct ledger *, struct ledger_stats *);

#endif

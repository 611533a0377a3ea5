/*
 * ledger -- makes groups of changes durable, each as a whole and in order, and
 * applies them to the index.  What the ledger has committed survives a crash.
 *
 *     owner ── puts, notes, WARC members, promises ──► the gathering group
 *                         sealed when the sync thread is free
 *     sync thread:  writes and syncs WARC members, then the log record (which
 *                   it may sync later, if all promises of the group allow that)
 *     owner:        keeps the promises
 *     index thread: applies the group to RocksDB; reads, in the same order
 *
 * The ledger knows nothing of URLs: its owner (engine/frontier) decides what to
 * put.  The owner logs changes of state that it keeps in memory as notes.  Each
 * note has the whole new state of one thing, so replaying it twice is harmless.
 *
 * Thread: the ledger's loop only, unless a function says otherwise.
 * Story:  engine/ledger/DESIGN.md.
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
	LEDGER_CLAIMS_TAKE,      /* make this directory the archive's owner */
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
	size_t group_bytes_max;          /* seal a group of this many bytes */
	uint32_t group_records_max;      /* ... or this many promises */
	int64_t group_ms_max;            /* a group with more promises than */
	uint32_t group_promises_few;     /* ... this: so long after the last */
	size_t segment_bytes;            /* of the log; a checkpoint each */
	size_t segment_bytes_max;        /* ... of a long log; 0: the same */
	size_t checkpoint_part;          /* things put per group; 0: 1024 */
	uint64_t free_bytes_min;         /* writes wait below this */
	unsigned open_files_max;         /* WARCs being written; 0: 256 */
	struct index_options index;
	bool threads;                    /* false: all on the ledger's loop */
	struct pool *pool;
	/* One note of the log, in its order; only from ledger_recover(). */
	void (*replay)(void *arg, uint8_t kind, struct str note);
	/*
	 * A checkpoint begins: the owner will put all state in memory that has
	 * changed up to now into the index.  The ledger calls checkpoint_put()
	 * once for each group from this one on.  It puts at most n things with
	 * ledger_put_unlogged(), in their present state, and returns false when
	 * nothing is left.
	 */
	void (*checkpoint_begin)(void *arg);
	bool (*checkpoint_put)(void *arg, size_t n);
	/* Called just before a group is sealed; it may still put notes. */
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
 * Replaces ledger_recover() for a directory that is about to be replaced:
 * replay what can be read of the log, into memory only, and read no WARC file.
 * Afterwards only ledger_put_unlogged() and ledger_free() may be called.
 * Errors: those of the index.
 */
MUST_USE enum err ledger_recover_old(struct ledger *, struct why *);
/* Make unlogged puts readable from the index, without writing its files. */
MUST_USE enum err ledger_apply_unlogged(struct ledger *, struct why *);
/*
 * Move the files that a lost group left in a series' work directory (NULL: as
 * in warc_set_options) to <dir>/.argiope/quarantine, and log it.  Call it
 * between ledger_recover() and ledger_start(); ledger_recover() does it for the
 * directories that the records of WARC files name.
 * Errors: CORRUPT when a log that is newer than this one committed the files.
 */
MUST_USE enum err ledger_quarantine(struct ledger *, const char *dir,
    const char *work_dir, const char *prefix, struct why *);
void ledger_start(struct ledger *);
/*
 * Make all that was put durable, checkpoint, close the WARCs, and call
 * `closed` on the ledger's loop; ledger_free() comes next.  A ledger that has
 * failed, or whose disk is full, closes at once and loses what it has not
 * promised.
 */
void ledger_close(struct ledger *, void (*closed)(void *arg), void *arg);
/*
 * End the ledger's threads: afterwards no query runs, and none is answered.
 * For callers whose queries must be freed before the ledger.  ledger_free()
 * calls it.
 */
void ledger_stop(struct ledger *);
void ledger_free(struct ledger **);

/* How paths and collections are stored in the index.  It never changes. */
const struct stored_paths *ledger_paths(const struct ledger *);
/*
 * Note that a crawl will write to this WARC directory.  Errors: CORRUPT, with
 * advice, when the directory belongs to another data directory, or is newer
 * than this one.
 */
MUST_USE enum err ledger_may_archive(struct ledger *, struct str warc_dir,
    struct why *);

/*
 * Hold the ledger between two groups.  It calls held() on its loop once every
 * group so far is on the disk and in the index, no file is being renamed, and
 * no segment of the log is being recycled.  From then until ledger_unhold() the
 * ledger writes nothing below the data directory; puts gather, and promises
 * wait.  One hold at a time.  Errors, in `why`: CLOSED while it closes; BROKEN;
 * DISK_FULL.
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
 * As ledger_put(), for a value that begins with a place (file4 offset6) that
 * ledger_archive() returned in this group.  When the file cannot be written,
 * the ledger writes its members to another file and corrects the place in the
 * value.
 */
void ledger_put_placed(struct ledger *, enum index_family, struct str key,
    struct str value);
void ledger_delete(struct ledger *, enum index_family, struct str key);
void ledger_delete_range(struct ledger *, enum index_family, struct str from,
    struct str to);
/* Log the state of one thing in the owner's memory.  Kinds from 200 on are the
 * ledger's. */
void ledger_note(struct ledger *, uint8_t kind, struct str note);
/*
 * Put into the index with this group, after its logged puts, but not into the
 * log: for checkpoints, and for state that the owner can derive from notes.
 */
void ledger_put_unlogged(struct ledger *, enum index_family, struct str key,
    struct str value);

/*
 * The ledger calls kept() on its loop when the gathering group is durable (OK),
 * or when it is certain that it never will be (BROKEN), in the order of the
 * promises.
 *
 * A promise of ledger_promise_written() is kept as soon as the log is written:
 * the group then survives the end of this process, and a power cut from
 * LEDGER_LATE_MS later on.  In a group with other promises, or with WARC
 * members, it waits for the sync as they do.
 */
#define LEDGER_LATE_MS 1000
struct promise {
	struct promise *next;
	void (*kept)(struct promise *, enum err);
	struct loop *home;           /* the ledger's own: of ledger_answer() */
	struct mail *answer;
};
void ledger_promise(struct ledger *, struct promise *);
void ledger_promise_written(struct ledger *, struct promise *);
/*
 * Make the promise, of the last or of the first kind, one that is kept by a
 * mail: the thread that wrote the group posts `answer` to `home`, which costs
 * its reader one wake-up less.  kept() is called for BROKEN alone.  The mail's
 * deliver() is set already, and the promise is its receiver's from the post on.
 * Mail that the receiver then sends to the ledger's loop arrives behind the
 * news of the group, so that reads it asks for there find what was put.
 */
void ledger_answer(struct ledger *, struct promise *, bool written,
    struct loop *home, struct mail *answer);
/* Seal this group as soon as the sync thread is free: a caller waits for it. */
void ledger_hurry(struct ledger *);
/* The number of the gathering group. */
uint64_t ledger_group(const struct ledger *);
enum ledger_health ledger_health(const struct ledger *);
/* Bytes gathered and in flight; for back-pressure and the metrics. */
size_t ledger_bytes_waiting(const struct ledger *);

/* --- WARC files ---------------------------------------------------------- */

/*
 * A series is the WARC files of one crawl, one open at a time.  The ledger
 * creates, rolls over, closes, renames and indexes them.
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

/* A part of an archive file, by the handle that archive_port gave. */
struct archive_extent {
	int handle;
	uint64_t at, n;
};
/* One gzip member in the bytes handed to ledger_archive(). */
struct archive_member {
	size_t at, n;                /* in the bytes */
	struct str cdxj;             /* up to `"offset":"`; empty: no line */
	/*
	 * The rest of the member, in another file; at least the member's first
	 * GZIP_HEAD_BYTES are in the bytes.  The caller keeps that file open
	 * and unchanged until a promise of this group is kept.  With n 0 the
	 * whole member is in the bytes.
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

/* The path of a WARC by its id, open or finished.  Memory: `a`.  A file that is
 * being finished may be renamed after this returns.
 * Thread: the index thread's (from a ledger_query).  Errors: ABSENT. */
MUST_USE enum err ledger_warc_path(struct index *, uint32_t file,
    struct arena *a, struct str *path, struct why *);

/*
 * The path at which the WARC can be read: as ledger_warc_path(), or the new
 * place of a file that a hook has moved.  Same thread.  Errors: ABSENT, with
 * the place in the reason, when it cannot be read there.
 */
MUST_USE enum err ledger_warc_readable(struct index *, uint32_t file,
    struct arena *a, struct str *path, struct why *);
/*
 * Open the WARC for reading, also while it is being renamed.  `*fd` is -1 after
 * an error.  Same thread.
 */
MUST_USE enum err ledger_warc_open(struct index *, uint32_t file, int *fd,
    struct why *);

/* Whether the index has the file as unfinished.  Same thread; any thread before
 * ledger_start(). */
bool ledger_warc_is_unfinished(struct index *, uint32_t file);

/* --- rebuilding from WARC files ------------------------------------------ */

/* An existing file whose records were read. */
struct ledger_file {
	uint32_t crawl;
	struct wall created;
	uint64_t first, end;         /* where the warcinfo ends; the size */
	struct str dir, work_dir, name;
	bool open;                   /* in work_dir: the next start names it */
};
/* Add the file to the index.  Returns its id. */
uint32_t ledger_adopt(struct ledger *, const struct ledger_file *);
/*
 * Apply the gathering group to the index at once, without logging it, so that
 * this thread can read it.  Only for a directory that is worthless until
 * ledger_close() has completed, and without threads.
 * Errors: as index_write().
 */
MUST_USE enum err ledger_apply(struct ledger *, struct why *);

/* --- reading the index --------------------------------------------------- */

/*
 * Call run() on the index thread after all groups that were durable when the
 * query was posted; then done() on the loop `home`.  The caller embeds the
 * query in a struct of its own and does not touch its fields until done().
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
 * As ledger_read(), but concurrently with the groups, on another thread: groups
 * after ledger_applied() may be visible or not.
 */
void ledger_read_beside(struct ledger *, struct ledger_query *,
    struct loop *home, ledger_query_run *run, ledger_query_done *done);
/*
 * Call done() on the loop `home` once all groups that are durable now are in
 * the index.  Thread: any.
 */
void ledger_barrier(struct ledger *, struct ledger_query *, struct loop *home,
    ledger_query_done *done);
uint64_t ledger_applied(const struct ledger *);

/* Values for the metrics.  Thread: the ledger's loop. */
struct ledger_stats {
	uint64_t groups, records, log_bytes, warc_bytes, checkpoints;
	uint64_t groups_unapplied;
	uint64_t warcs_open;         /* being written; archive.open_files */
	uint64_t warcs_squeezed;     /* closed early because of that limit */
	uint64_t warcs_moved;        /* abandoned after a write error */
	int64_t sync_ns_sum, sync_ns_max;
};
void ledger_stats(const struct ledger *, struct ledger_stats *);

#endif

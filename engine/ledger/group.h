/*
 * group -- a set of changes that is committed as a whole; the ledger's three
 * threads pass it on.  Private to engine/ledger.
 *
 *     owner: gathering ─► sync thread ─► owner: promises kept ─► index thread
 *            ▲                                                        │
 *            └───────────── cleared and reused ◄──────────────────────┘
 */
#ifndef ENGINE_LEDGER_GROUP_H
#define ENGINE_LEDGER_GROUP_H

#include "engine/ledger/commitlog.h"
#include "engine/ledger/identity.h"
#include "engine/ledger/ledger.h"

/* Operations in a group's body; a varint length frames each field. */
enum op {
	OP_PUT = 1,          /* family1 key value */
	OP_DELETE = 2,       /* family1 key */
	OP_DELETE_RANGE = 3, /* family1 from to */
	OP_NOTE = 4,         /* kind1 note */
};

/* Key in `meta`: the last group up to which the index is complete on disk. */
#define META_CHECKPOINT STR("checkpoint")
/* group8 chain4: the log's chain at that checkpoint. */
#define META_CHAIN STR("chain")

enum warc_state { WARC_OPEN = 1, WARC_CLOSING = 2, WARC_CLOSED = 3,
	WARC_REMOVED = 4 };

/* One WARC file's record: family `warc`, key id4. */
struct warc_record {
	uint32_t id;
	uint8_t state;
	uint32_t crawl;
	uint64_t end;              /* committed bytes */
	uint64_t first;            /* where the warcinfo ends */
	struct wall created;
	/* Directories of finished files and of files being written.  Absolute
	 * here; paths_store() defines the stored form. */
	struct str dir, work_dir;
	struct str name;           /* the final one */
	uint8_t owner;             /* WARC_OF_CRAWL ... */
	uint8_t digest;            /* enum digest_kind, for the owner */
};
void warc_record_put(const struct warc_record *, const struct stored_paths *,
    struct buf *);
/* Its strings are the value's, or in `a`. */
bool warc_record_parse(struct str value, const struct stored_paths *,
    struct arena *a, struct warc_record *);
/* "<work_dir>/<name>.open", "<dir>/<name>", and their CDXJ. */
enum warc_path { PATH_OPEN, PATH_DONE, PATH_OPEN_CDXJ, PATH_DONE_CDXJ };
struct str warc_record_path(const struct warc_record *, enum warc_path,
    struct arena *);

struct audit_finding;
/*
 * False when the record is a finished file's, and the file differs from it or
 * was moved: then `*f` describes the difference, with strings in `a`.
 */
bool audit_record(const struct warc_record *, struct arena *a,
    struct audit_finding *f);

/* The rest of a member, in another file; written after the first `behind` bytes
 * of the write. */
struct warc_rest {
	struct warc_rest *next;    /* in the arena, in their order */
	size_t behind;
	struct archive_extent part;
};

/* The sync thread's work on one file for one group. */
struct warc_write {
	uint32_t file;
	bool create, close;
	bool moved;                /* takes the place of a file that failed */
	size_t moved_at;           /* offset of the bytes taken over */
	bool no_lines;             /* write no CDXJ: it would have gaps */
	struct warc_set *series;          /* the owner's */
	uint64_t offset;           /* of `bytes` */
	struct buf bytes, cdxj;
	struct warc_rest *rests;
	struct str open_path, open_cdxj;     /* with `create`; in the arena */
	struct warc_record record;           /* with `close`; in the arena */
};

/* Written by the sync thread before the members of a new file: claims.h. */
struct mark {
	struct mark *next;
	struct str root;
	struct owner owner;
	bool lists;                /* `identity` names a new root */
	struct identity identity;
};

/* A place in the body, file4 offset6, that follows its file's members. */
struct fixup {
	size_t at;
	uint32_t file;
};

struct group {
	struct mail mail;
	struct group *older;       /* the next in the ledger's list */
	struct ledger *ledger;
	uint64_t number;
	struct buf body, unlogged;
	size_t note_bytes;         /* of the body: what is only for the log */
	struct warc_write *writes;
	size_t writes_n, writes_cap;
	struct fixup *fixups;
	size_t fixups_n, fixups_cap;
	struct mark *marks;        /* in the arena */
	struct promise *first, **last;
	uint32_t promises_n;
	uint32_t durable_n;        /* of these, that wait for the sync */
	bool lazy;                 /* written now, synced with a later group */
	bool hurry;
	size_t bytes;              /* of all the above */
	/* Not 0: the index is flushed after this group; then it contains all
	 * groups up to `checkpoint`, and the owner's state of that time. */
	uint64_t checkpoint;
	uint32_t chain;            /* the log's, up to this one; 0: not known */
	uint32_t checkpoint_chain; /* ... up to that of `checkpoint` */
	struct arena arena;
	struct why result;         /* the sync thread's answer */
	uint32_t failed_file;      /* not 0: with this file's error */
	int64_t sync_ns;
};
struct group *group_new(struct ledger *);
void group_free(struct group **);
void group_clear(struct group *);  /* for reuse; keeps its memory */
/* The group's work on `file`, added when there is none. */
struct warc_write *group_write(struct group *, uint32_t file);
/* Take the promises that are kept by a mail out of the group. */
struct promise *group_take_answers(struct group *);
/* Append to a body: an operation and its first field. */
void group_put_op(struct buf *, enum op, uint8_t kind, struct str one);
struct warc_write *group_find(const struct group *, uint32_t file);
/* Write this part of another file after the first `behind` bytes. */
void group_add_rest(struct group *, struct warc_write *, size_t behind,
    const struct archive_extent *);
/* The number of bytes it writes, including parts of other files. */
uint64_t warc_write_size(const struct warc_write *);
void group_fixup(struct group *, struct fixup);
/* Correct all places: bytes of `file` from offset `from` on are in `to` now,
 * from `at` on. */
void group_move_places(struct group *, uint32_t file, uint64_t from,
    uint32_t to, uint64_t at);

/*
 * syncer -- owns the log and the open WARC files; its thread blocks on disks.
 * It takes one group at a time and posts it back to the owner's loop when it
 * is durable or has failed.  On a full disk it waits for space.
 */
struct syncer;
struct syncer *syncer_new(struct loop *own, struct ledger *,
    struct commitlog *);
void syncer_free(struct syncer **);   /* closes what is open */
void syncer_take(struct syncer *, struct group *);          /* any thread */
void syncer_release(struct syncer *, uint64_t upto_group);  /* any thread */
/* When done() is called, all that was written before this request arrived is
 * on the disk. */
struct sync_ask {
	struct mail mail;
	struct syncer *syncer;
	struct loop *home;
	void (*done)(struct sync_ask *);
	struct why result;
	uint64_t upto;             /* groups that are durable now */
};
void syncer_ask(struct syncer *, struct sync_ask *);        /* any thread */

/*
 * indexer -- applies durable groups to the index and answers reads, in order.
 */
struct indexer;
struct indexer *indexer_new(struct loop *own, struct ledger *, struct index *);
void indexer_free(struct indexer **);
void indexer_apply(struct indexer *, struct group *);       /* any thread */
void indexer_read(struct indexer *, struct ledger_query *); /* any thread */
/* Read on that loop, independently of the index thread. */
void indexer_read_beside(struct loop *, struct ledger_query *);

/*
 * body_replay -- bodies into the index, on the caller's thread: of one group,
 * or of many at a start.
 */
struct body_replay {
	struct index *index;
	struct index_batch *batch;
	size_t bytes;              /* of bodies in the batch */
	/* Called for each note of a body, in their order; or NULL. */
	void (*note)(void *arg, uint8_t kind, struct str note);
	void *arg;
};
/* The rest is the caller's to set. */
void body_replay_begin(struct body_replay *, struct index *);
void body_replay_end(struct body_replay *);
/* Apply a body at once.  Errors: NEWER, and those of index_write(). */
MUST_USE enum err body_replay_now(struct body_replay *, struct str body,
    struct why *);
/* The same, perhaps with bodies that come later: by body_replay_rest() at the
 * latest. */
MUST_USE enum err body_replay_later(struct body_replay *, struct str body,
    struct why *);
MUST_USE enum err body_replay_rest(struct body_replay *, struct why *);

/* warc_finish -- renames a finished WARC and writes its CDXJ, on the pool. */
struct warc_finish {
	struct job job;
	struct ledger *ledger;
	struct arena arena;
	struct warc_record record;
	int fd;                    /* the file's, or -1: open it again */
	bool named;                /* by warc_finish_name() */
	bool no_cdxj;              /* renamed, but without an index */
	struct warc_finish *next;      /* of ledger_closing_later() */
	struct why result;
	void (*done)(struct warc_finish *);  /* on the ledger's loop */
};
struct warc_finish *warc_finish_new(struct ledger *, const struct warc_record *,
    int fd);
void warc_finish_run(struct warc_finish *);    /* the work; the pool's */
/*
 * The part that a start does before anything is served: rename the file, or
 * remove it when it is empty.  warc_finish_run() makes the CDXJ, for which it
 * may have to read the whole file.  The outcome is in `result`.
 */
void warc_finish_name(struct warc_finish *);
/* Put the file's new record into the gathering group.  Thread: the owner's. */
void warc_finish_put(struct warc_finish *);
void warc_finish_free(struct warc_finish **);

/* hold -- no group is sealed (ledger_hold()); the owner's loop's. */
struct hold {
	struct ledger *ledger;
	struct ledger_hold *asked;   /* NULL: the ledger is not held */
	bool told;                   /* held() was called or is scheduled */
	struct sync_ask ask;
};
/* Whether no group may be sealed.  Calls held() once nothing is under way. */
bool hold_stops(struct ledger *);
/* How many files the next group closes; they wait with it. */
unsigned hold_gathered_closings(struct ledger *);
struct hold *ledger_hold_of(struct ledger *);
bool ledger_is_quiet(struct ledger *);
bool ledger_is_closing(const struct ledger *);
void ledger_go_on(struct ledger *);

/* For the ledger's own files, each on the thread named. */
struct syncer *ledger_syncer(const struct ledger *);
struct indexer *ledger_indexer(const struct ledger *);
const struct ledger_options *ledger_options(const struct ledger *);
struct loop *ledger_loop(const struct ledger *);
struct claims *ledger_claims(const struct ledger *);
MUST_USE enum err ledger_load_chain(struct index *, uint64_t checkpoint,
    uint32_t *chain, struct why *);
uint64_t ledger_last_group(const struct ledger *);
void ledger_group_synced(struct ledger *, struct group *);    /* owner */
void ledger_group_applied(struct ledger *, struct group *);   /* owner */
void ledger_flushed(struct ledger *, uint64_t group, enum err); /* owner */
/* A sync for which no promise waited has failed. */
void ledger_log_failed(struct ledger *, const char *text);    /* owner */
/* Tells the file's owner that it is closing. */
void warc_finish_announce(struct ledger *, const struct warc_record *);
void ledger_closing_start(struct ledger *, struct warc_finish *); /* any */
/* Finish the file after the start; takes ownership.  Before ledger_start(). */
void ledger_closing_later(struct ledger *, struct warc_finish *);
void ledger_tell_health(struct ledger *, enum ledger_health,
    const char *text);                                         /* owner */
/* A number in `meta`; 0 when there is none.  Errors: CORRUPT; IO. */
MUST_USE enum err ledger_load_number(struct index *, struct str name,
    uint64_t *, struct why *);
/* Recovery of files that were being written; before any thread runs. */
MUST_USE enum err ledger_recover_warcs(struct ledger *, struct index *,
    uint64_t last_group, struct why *);

#endif

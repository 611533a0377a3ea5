/*
 * exporting -- exports as jobs: requested by a message or a command, made one
 * after the other by a few threads, begun again after a crash.
 *
 *     exporting_put() ─► row: accepted ─► running ─► succeeded, failed
 *                         │                 │ thread: files looked up, read,
 *     exporting_start() ──┘                 │ written (engine/export)
 *                                           └► DATA/exports/ID, or a path
 *
 * The row says all: a process that dies leaves one that is not over, and the
 * next one makes that export from its beginning.  What was at its path stays as
 * it was until all is written.
 *
 * Owns:    the rows of exports; DATA/exports, whose exports are kept for
 *          harvest.export_days.
 * Thread:  home's, except where a comment says otherwise.
 * Limits:  EXPORTING_RUNNING_MAX; store_export.h's.
 * Story:   engine/exporting/DESIGN.md
 * Source:  contracts/export.md §2, §3, §7.
 */
#ifndef ENGINE_EXPORTING_EXPORTING_H
#define ENGINE_EXPORTING_EXPORTING_H

#include "base/conf.h"
#include "base/list.h"
#include "engine/store/store_async.h"
#include "engine/store/store_export.h"

#define EXPORTING_RUNNING_MAX 4u
/* Below the data directory. */
#define EXPORTING_DIR "exports"

struct exporting;

struct exporting_options {
	struct store_async *store;   /* outlives the exports */
	struct loop *home;
	const struct conf *conf;
	const char *data_dir;        /* absolute */
};
/* It takes up what an earlier process has left. */
struct exporting *exporting_open(const struct exporting_options *);
/*
 * Nothing begins any more; what runs ends soon, and is begun again by the next
 * process.  `stopped` is called once, perhaps at once.
 */
void exporting_stop(struct exporting *, void (*stopped)(void *arg), void *arg);
/* After `stopped`, or when no loop runs any more.  NULL is allowed. */
void exporting_free(struct exporting **);

/*
 * Where the paths of requesters and of SFM's interface lie; set before any
 * request.  Without it only paths of exports below the data directory are
 * accepted, and only WARC files of our own harvests.
 */
struct exporting_places {
	/* Any thread: where a path of theirs lies here.  INPUT: nowhere. */
	enum err (*to_local)(void *arg, struct str path, struct arena *,
	    struct str *local, struct why *);
	/* Any thread, blocks: whether a directory here may be read or written.
	 * Errors: INPUT, DENIED; ABSENT: its root is not there. */
	enum err (*admit)(void *arg, struct str local, struct why *);
	/* Any thread, blocks: make the directories above one that is admitted
	 * and will be written.  Errors: those of os/shared_dir.h. */
	enum err (*make_above)(void *arg, struct str local, struct why *);
	/* Any thread, blocks: claim an export that came by a broker, before
	 * its row says that it runs; once more is no error.  EXISTS: another
	 * daemon has it, and the row goes.  With any other error the export
	 * goes on without a claim. */
	enum err (*claim)(void *arg, struct str id, struct str local,
	    struct why *);
	void *arg;
};
void exporting_set_places(struct exporting *, const struct exporting_places *);

/* Called when a row's state has changed, or the row is gone because another
 * daemon has the export. */
struct exporting_listener {
	struct list node;
	void (*changed)(struct exporting_listener *, struct str id);
};
void exporting_listen(struct exporting *, struct exporting_listener *);

/* ---- Requests ------------------------------------------------------------ */

/*
 * On the store's thread: put the row of what `message` requests (JSON, see
 * exporting_order.h).  With a routing key, what is wrong with it becomes the
 * row's final state; without one it is an error, and there is no row.  `*id` is
 * in `a`; `*over`: there is nothing to start.
 * Errors: INPUT, with the field; EXISTS: the id; those of the store.
 */
MUST_USE enum err exporting_put(struct exporting *, struct store *,
    struct str message, struct str routing_key, struct arena *a,
    struct str *id, bool *over, struct why *);
/* Make the export of that row, as soon as there is room; again is no error. */
void exporting_start(struct exporting *, struct str id);

/* What lists say of an export beside its row. */
#define EXPORTING_NAMED_MAX 20u
struct exporting_summary {
	/* What its WARC files are chosen by: the one that is not empty. */
	struct str collection;
	uint64_t seeds;
	uint64_t harvests;
	const struct str *named;     /* the first of the harvests */
	size_t named_n;
	/* The result, once there is one. */
	bool has_result;
	uint64_t rows, files, bytes;
};

/* The same and more, for commands.  Texts of the request live until done(). */
struct exporting_request {
	struct str id, message;
	uint64_t start, size;        /* of the list */
	/* Out; `list` has one row, or those asked for, and is in `arena`. */
	struct arena arena;
	struct store_export *list;
	struct exporting_summary *summaries;     /* of each */
	size_t n;
	uint64_t total;              /* of the list */
	struct why why;
	void (*done)(struct exporting_request *);
	void *arg;
	/* The exporting's. */
	struct store_job job;
	struct exporting *exporting;
	bool over;
};
void exporting_begin(struct exporting *, struct exporting_request *);
/* The newest first, without their messages and results. */
void exporting_list(struct exporting *, struct exporting_request *);
void exporting_get(struct exporting *, struct exporting_request *);
/* It ends soon, as a failure.  STATE: it is over. */
void exporting_cancel(struct exporting *, struct exporting_request *);

/* ---- Views --------------------------------------------------------------- */

/*
 * Append the row's members to an object; one that runs has its progress, and
 * one whose message is there has `order`, unless that is very long.
 */
void exporting_put_json(struct exporting *, const struct store_export *,
    const struct exporting_summary *, struct buf *);
/*
 * Append the list `types`: what can be exported, in which formats, with which
 * columns.  Any thread.
 */
void exporting_put_types(struct buf *);
/*
 * Whether the export is below the data directory, succeeded or not, and has
 * such a file; `*path` is where it is.  Memory: `a`.
 */
bool exporting_find_file(struct exporting *, const struct store_export *,
    struct str name, struct arena *a, const char **path);

#endif

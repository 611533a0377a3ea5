/*
 * harvest -- harvests of platforms: begun, paused, resumed, stopped.
 *
 *     harvest_begin() ─► order checked ─► row in the store ─► crawl ─► driver
 *                                                                        │
 *       state.json ◄── files in their hour directories ◄── WARCs end ◄───┘
 *
 * A harvest is a run of a connector (engine/connector) by a driver; its answers
 * are captures of a crawl of the kind `harvest`.  Its open files lie in
 * DATA/harvest/ID, finished ones go to PATH/YYYY/MM/DD/HH; PATH/state.json
 * follows when they are there.  After a crash each step whose effect is missing
 * is made again, with the same ids.
 *
 * Owns:    the rows of harvests in the store; rate budgets.
 * Thread:  home's.
 * Limits:  warc.rollover_bytes, warc.rollover_s, store_harvest.h's.
 * Story:   engine/harvest/DESIGN.md
 * Source:  contracts/harvest.md §4, §5, §8, §11.
 */
#ifndef ENGINE_HARVEST_HARVEST_H
#define ENGINE_HARVEST_HARVEST_H

#include "base/conf.h"
#include "engine/store/store_harvest.h"
#include "os/shared_dir.h"

#define HARVEST_TRIES_MAX 3u
/* A request in hand has so long when its harvest ends early. */
#define HARVEST_STOP_MS 15000
/* The first and the longest pause before a file is brought away again. */
#define HARVEST_RETRY_MS 1000
#define HARVEST_RETRY_MS_MAX 60000
/* A file ends when so many bytes of URLs were found in it. */
#define HARVEST_URLS_BYTES_MAX ((size_t)8 << 20)

struct engine;
struct harvests;
struct loop;

/* What a harvest does, for people; texts live until the next call. */
struct harvest_view {
	struct str id, type, path;
	enum store_harvest_state state;
	uint64_t items, answers;     /* answers: all that are durable */
	uint64_t replayed;           /* of them, read again from the archive */
	uint64_t warcs, warc_bytes;  /* in their places */
	uint64_t warcs_waiting;      /* finished, and not there yet */
	unsigned faults;             /* of this process; tries_max bounds it */
	const char *label;           /* of the items */
	const char *waits_for;       /* "the rate limit"; NULL: for nothing */
	int64_t waits_ms;
	const char *trouble;         /* of its path, why files wait or it
	                              * cannot go on; "" */
};

/* Who asked for it; TAKEN_UP: an earlier process has begun it, and it did not
 * come by a broker. */
enum harvest_origin { HARVEST_OF_OPERATOR, HARVEST_OF_CLIENT,
	HARVEST_OF_BROKER, HARVEST_TAKEN_UP };

struct harvests_options {
	struct engine *engine;       /* with doors, opened and not started */
	struct loop *home;
	const struct conf *conf;
	const char *data_dir;        /* absolute */
	unsigned tries_max;          /* 0: HARVEST_TRIES_MAX */
	bool keeps_urls;             /* that connectors find: with the files */
	/* It is over, or paused; its view is valid during the call. */
	void (*ended)(void *arg, const struct harvest_view *);
	/* The rest may be NULL.  It runs or is stopping, or files are in their
	 * places and the state is, too: the store says so. */
	void (*changed)(void *arg, struct str id);
	/* It had paused, and goes on or is to stop: ended() comes once more. */
	void (*resumed)(void *arg, struct str id);
	/*
	 * On the pool's thread: may files go to this directory?  Asked each
	 * time before it is used.  INPUT and DENIED: path_forbidden.
	 */
	enum err (*admit)(void *arg, enum harvest_origin, struct str path,
	    struct why *);
	/* Below which root this directory lies; a path of NULL: of none.
	 * NULL: there are no roots. */
	struct shared_root (*root_of)(void *arg, struct str path);
	/*
	 * On the pool's thread, when the row is committed and no work has
	 * begun.  EXISTS: another daemon has this harvest; the row goes, the
	 * requester gets EXISTS with the code "claimed", or ended() is called
	 * while the harvest is not over.
	 */
	enum err (*claim)(void *arg, enum harvest_origin, struct str id,
	    struct str path, struct why *);
	/* Bytes of files that wait for their places, of all harvests; then
	 * those that cannot bring theirs away make no calls.  0: any. */
	uint64_t staged_bytes_max;
	/* The simulator's: jobs run at once. */
	bool no_threads;
	void *arg;
};
/* The key in secrets.key_file is read when a credential is sealed or opened.
 * Errors: those of the store. */
MUST_USE enum err harvests_open(const struct harvests_options *,
    struct harvests **, struct why *);
/* These three options again, for those who learn them later: before
 * engine_start(). */
void harvests_limit(struct harvests *, unsigned tries_max,
    uint64_t staged_bytes_max, bool keeps_urls);
/* After engine_free(), before the loop is freed, which does not run any more:
 * what was under way goes on in another process.  NULL is allowed. */
void harvests_free(struct harvests **);

/*
 * Begin one.  The answer comes when its row is committed; from then on it
 * survives a crash.
 */
struct harvest_request {
	/* In; texts live until done(). */
	struct str id;               /* empty: it becomes TYPE-NUMBER */
	struct str message;          /* JSON: type, seeds, options,
	                              * credentials */
	struct str path;             /* an absolute directory; it is made */
	enum harvest_origin origin;
	/* Out. */
	struct str given_id;         /* until harvests_free() */
	const char *code;            /* of a refusal: "bad_request" ... */
	struct why why;              /* INPUT, with the field; EXISTS: the id;
	                              * those of the path and of the store */
	void (*done)(struct harvest_request *);
	void *arg;
	struct harvest *harvest;     /* the harvests' */
};
void harvest_begin(struct harvests *, struct harvest_request *);

/*
 * Take up one that an earlier process left: before engine_start() this, after
 * it harvest_resume().  Errors: ABSENT; STATE: it is over; CORRUPT.
 */
MUST_USE enum err harvest_continue(struct harvests *, struct str id,
    struct why *);
/* Those that can be taken up, the oldest first.  Before engine_start(). */
MUST_USE enum err harvests_unfinished(struct harvests *, struct arena *,
    struct store_harvest **, size_t *n, struct why *);

/*
 * What a harvest is to come to, by id: in any state, and again is no error; one
 * that is unknown or over is left alone.  Pause and stop finish the request in
 * hand, for HARVEST_STOP_MS, and what is archived is brought to its place;
 * ended() follows.  A paused harvest goes on by resume, or with the next
 * process; a stopped one is a success.  A stop is kept in the store, so that a
 * crash does not undo it, and nothing takes it back.
 */
void harvest_pause(struct harvests *, struct str id);
void harvest_resume(struct harvests *, struct str id);
void harvest_stop(struct harvests *, struct str id);
/* All pause, also those that are about to begin. */
void harvests_pause_all(struct harvests *);

/* Free the memory of one that ended() was told of; not from within ended(). */
void harvest_forget(struct harvests *, struct str id);

/* False: no such harvest is under way. */
bool harvest_look(struct harvests *, struct str id, struct harvest_view *);

/* All that are in memory; `*at` begins with 0.  False: no more. */
bool harvest_next_view(struct harvests *, size_t *at, struct harvest_view *);
/* What it has found so far, as totals_put() has it; nothing when no such
 * harvest is under way. */
void harvest_put_totals(struct harvests *, struct str id, struct buf *);

/*
 * Append to a JSON array the budgets that its calls count against, as far as
 * they are known: family, units, left, until.  Nothing when no such harvest is
 * under way.
 */
void harvest_put_budgets(struct harvests *, struct str id, struct buf *);

/* Its notes, in order: for a summary.  After ended() too. */
struct harvest_note {
	const char *level;           /* "info", "warning", "error" */
	struct str code, text, seed;
};
bool harvest_next_note(struct harvests *, struct str id, size_t *at,
    struct harvest_note *);

#endif

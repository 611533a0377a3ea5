/*
 * engine -- every verb that a door may say.
 *
 * The engine owns the ledger's loop and the fetching loops.  Its caller has a
 * loop of his own, "home": answers and events come there as mail.
 *
 * Thread: home's.
 * Story:  engine/DESIGN.md
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/conf.h"
#include "engine/fetcher/fetcher.h"

struct catalog;
struct engine;
struct stream;

/* What is told of one URL; memory lasts for the call. */
typedef void engine_event_fn(void *arg, const struct fetch_event *);
/* A crawl's counters, often, and every change of state; the last always. */
typedef void engine_view_fn(void *arg, const struct crawl_view *);
typedef void engine_health_fn(void *arg, enum ledger_health, const char *text);

struct engine_options {
	const struct conf *conf;
	struct loop *home;
	const char *data_dir;
	unsigned loops;              /* 0: one per core */
	bool small;                  /* memory for one crawl, not a daemon's */
	bool archive;                /* false: no WARC (benches only) */
	bool doors; /* control.h, crawl_registry.h; opens the store */
	bool every_event;            /* else exceptions, skipped seeds */
	engine_event_fn *event;
	engine_view_fn *view;
	engine_health_fn *health;
	void *arg;
	struct frontier_loading *loading;   /* how far the start is, or NULL */
	/* The simulator's: no threads, and a web of its own. */
	bool no_threads;
	/* The ledger's; 0: as configured, and its own. */
	size_t segment_bytes, checkpoint_part;
	struct transport *(*transport)(void *arg, struct loop *);
};

/*
 * Lock the data directory, recover, and be ready for engine_begin() and
 * engine_continue(); nothing moves before engine_start().  Errors: BUSY when
 * another process has the data; CORRUPT; DISK_FULL; CONFIG.
 */
MUST_USE enum err engine_open(const struct engine_options *, struct engine **,
    struct why *);
/*
 * The same in steps, for a daemon whose ports answer while it starts:
 *
 *     engine_lock()   short: the directory, its lock, the store
 *     engine_read()   the index, the log, WARC files after a crash; from here
 * on home may use the views, the registry and the stream, and
 *                     what asks the ledger's loop waits for engine_start()
 *     engine_load()   the known URLs of outsiders' crawls
 *
 * engine_read(), engine_load() and engine_continue() may take seconds and may
 * be called on any thread, one after the other.  Home does not use the engine
 * during engine_read(); after an error of it engine_free() is all that is
 * left.  Errors: as engine_open(); BUSY is engine_lock()'s alone.
 */
MUST_USE enum err engine_lock(const struct engine_options *, struct engine **,
    struct why *);
MUST_USE enum err engine_read(struct engine *, struct why *);
MUST_USE enum err engine_load(struct engine *, struct why *);
void engine_start(struct engine *);
/* Whether a command hook.warc_finished or hook.crawl_ended is configured. */
bool engine_has_hooks(const struct engine *);
/*
 * Stop fetching, make everything durable, close the files; then `closed` at
 * home.  Crawls that were running go on at the next engine_continue().
 */
void engine_close(struct engine *, void (*closed)(void *arg), void *arg);
void engine_free(struct engine **);   /* after `closed` */

struct crawl_request {
	struct str name;             /* empty: none */
	const struct str *tags;
	size_t tags_n;
	const struct str *seeds;     /* as typed, "http://" or not */
	size_t seeds_n;
	const double *seed_delays;   /* s, of each; < 0: the policy's; NULL */
	const struct policy *policy;
	struct str policy_name;      /* under which it is kept; empty: none */
	struct str warc_dir;
	/* Not empty: PARENT/crawl-ID instead, or PARENT/schedule-ID. */
	struct str warc_parent;
	struct str key;              /* of that key none is begun again */
	uint64_t schedule;           /* that starts it; 0: none */
	bool operator_seeds;         /* they may be private addresses */
	bool ends_by_duration;       /* limits.max_duration is looked after */
	/* Secrets: kept in memory, never written. */
	struct str authorization;    /* "Basic ..." or "Bearer ..." */
	struct str cookies;          /* the text of a Netscape cookie file */
	struct str proxy;            /* wins over the policy's */
};

/*
 * A seed as somebody typed it: blanks around it go, "http://" comes before it
 * where no scheme stands.  Memory: `a`.  Errors: INPUT with the reason.
 */
MUST_USE enum err engine_seed(struct str typed, struct arena *a,
    struct url *out, struct why *);
/* "http://user:pass@host/": it would be written into the crawl's record. */
bool engine_seed_has_password(struct str typed);

/* Before engine_start() only (the doors' verbs by mail come with the doors).
 * Errors: INPUT naming the field. */
MUST_USE enum err engine_begin(struct engine *, const struct crawl_request *,
    uint32_t *id, struct why *);
/*
 * Go on with a crawl that an earlier process left.  Only the secrets and
 * operator_seeds of the request count, and the latter only where the crawl
 * began with it.  Errors: ABSENT, STATE (also without the proxy that it began
 * with), INPUT.
 */
MUST_USE enum err engine_continue(struct engine *, uint32_t id,
    const struct crawl_request *, struct why *);
/* The newest crawl of that name; with an empty name the newest of all that can
 * go on.  UINT32_MAX: none. */
uint32_t engine_find(struct engine *, struct str name);

/*
 * The configuration was read again: the settings of fetching that do not wait
 * for a restart are in force for every request that begins from now on, and
 * for crawls that begin.  The texts that the configuration had before stay
 * until engine_free().  Not after engine_close().
 */
void engine_reload(struct engine *);

/* What the loops are doing, summed. */
struct engine_look {
	struct fetcher_view loops;
	size_t jobs_waiting;             /* for a thread of the pool */
	size_t ledger_bytes_waiting;
	enum ledger_health health;
	struct ledger_stats ledger;
};
void engine_look(struct engine *, void (*seen)(void *arg,
    const struct engine_look *), void *arg);
/* One true sentence; never empty while nothing is fetched. */
void catalog_diagnose(const struct engine_look *, const struct crawl_view *,
    char *out, size_t size);

/* Counts by media type, of the whole run.  After `closed`, before free. */
struct type_count {
	struct str type;
	uint64_t n, bytes;
};
const struct type_count *engine_types(struct engine *, size_t *n);

/* The views as they stand; before engine_start() or after `closed`. */
bool engine_next_view(struct engine *, size_t *at, struct crawl_view *);
struct frontier *engine_frontier(struct engine *);
/* Rooms of an engine with `doors`; else NULL. */
struct catalog *engine_catalog(struct engine *);
struct stream *engine_stream(struct engine *);

#endif

/*
 * engine -- the life of the engine: open, start, reload, close.
 *
 * The engine owns the ledger's loop and the fetching loops.  Its caller has a
 * loop of his own, "home": answers and events come there as mail.  What can be
 * asked of it is in engine/control/control.h and engine/catalog/catalog.h.
 *
 * Thread: home's.
 * Story:  engine/DESIGN.md
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/conf.h"

struct catalog;
struct crawl_view;
struct engine;
struct fetch_event;
struct frontier;
struct frontier_loading;
struct loop;
struct stream;
struct transport;

/* Whether what the crawls do becomes durable. */
enum engine_health {
	ENGINE_FINE,
	ENGINE_DISK_FULL,    /* waiting for space; nothing is lost */
	ENGINE_FAILED,       /* until restart: a write failed */
};

/* What is told of one URL; memory lasts for the call. */
typedef void engine_event_fn(void *arg, const struct fetch_event *);
/* A crawl's counters, often, and every change of state; the last always. */
typedef void engine_view_fn(void *arg, const struct crawl_view *);
typedef void engine_health_fn(void *arg, enum engine_health, const char *text);

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

/*
 * The configuration was read again: the settings of fetching that do not wait
 * for a restart are in force for every request that begins from now on, and
 * for crawls that begin.  The texts that the configuration had before stay
 * until engine_free().  Not after engine_close().
 */
void engine_reload(struct engine *);

/* For what asks the frontier directly: the lease service, a command. */
struct frontier *engine_frontier(struct engine *);
/* Rooms of an engine with `doors`; else NULL. */
struct catalog *engine_catalog(struct engine *);
struct stream *engine_stream(struct engine *);

#endif

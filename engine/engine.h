/*
 * engine -- the life of the engine: open, start, reload, close.
 *
 * The engine owns the ledger's loop and the fetching loops.  Its caller runs
 * the main loop (`home`) and receives answers and events there.  Requests to
 * the engine are in engine/control/control.h and engine/catalog/catalog.h.
 *
 * Thread: the main loop's.
 * Story:  engine/DESIGN.md
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdatomic.h>

#include "base/conf.h"

struct catalog;
struct crawl_view;
struct engine;
struct frontier;
struct loop;
struct stream;
struct transport;
struct url_event;

/* Whether what the crawls do becomes durable. */
enum engine_health {
	ENGINE_FINE,
	ENGINE_DISK_FULL,    /* waiting for space; nothing is lost */
	ENGINE_FAILED,       /* until restart: a write failed */
};

/* Reports what became of one URL; its texts last for the call. */
typedef void engine_event_fn(void *arg, const struct url_event *);
/*
 * Reports a crawl's state and counters.  Views in between may be left out, but
 * no change of state, and not the last one.
 */
typedef void engine_view_fn(void *arg, const struct crawl_view *);
typedef void engine_health_fn(void *arg, enum engine_health, const char *text);

struct engine_options {
	const struct conf *conf;
	struct loop *home;
	const char *data_dir;
	unsigned loops;              /* 0: one per core */
	bool small;                  /* memory for one crawl, not a daemon's */
	bool doors; /* control.h, crawl_registry.h; opens the store */
	bool every_event;            /* else exceptions, skipped seeds */
	engine_event_fn *event;
	engine_view_fn *view;
	engine_health_fn *health;
	void *arg;
	/* Counts URLs while engine_load() and engine_continue() load them; or
	 * NULL.  See engine_urls_to_load(). */
	atomic_uint_fast64_t *urls_loaded;
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
 *     engine_read()   the index, the log, WARC files after a crash; afterwards
 *                     the main loop may use the views, the registry and the
 *                     stream; requests that need the ledger's loop wait for
 *                     engine_start()
 *     engine_load()   the known URLs of outsiders' crawls
 *
 * engine_read(), engine_load() and engine_continue() may take seconds and may
 * be called on any thread, one after the other.  The main loop does not use the
 * engine during engine_read(); when that fails, only engine_free() may follow.
 * Errors: as engine_open(); only engine_lock() returns BUSY.
 */
MUST_USE enum err engine_lock(const struct engine_options *, struct engine **,
    struct why *);
MUST_USE enum err engine_read(struct engine *, struct why *);
MUST_USE enum err engine_load(struct engine *, struct why *);
/* How many URLs engine_load() will count.  After engine_read(). */
uint64_t engine_urls_to_load(const struct engine *);
void engine_start(struct engine *);
/* Whether a command hook.warc_finished or hook.crawl_ended is configured. */
bool engine_has_hooks(const struct engine *);
/*
 * Stop fetching, make everything durable and close the files; then call
 * `closed` on the main loop.  A later engine_continue() resumes the crawls that
 * were running.
 */
void engine_close(struct engine *, void (*closed)(void *arg), void *arg);
/* engine_close() was called: nothing new should be asked of it. */
bool engine_is_closing(const struct engine *);
void engine_free(struct engine **);   /* after `closed` */

/*
 * Apply a configuration that was read again: requests and crawls that begin
 * after this use those settings of fetching that need no restart.  The caller
 * keeps the earlier configuration's texts until engine_free().  Not after
 * engine_close().
 */
void engine_reload(struct engine *);

/* The handle for engine/frontier/lease_service.h. */
struct frontier *engine_frontier(struct engine *);
/* Rooms of an engine with `doors`; else NULL. */
struct catalog *engine_catalog(struct engine *);
struct stream *engine_stream(struct engine *);

#endif

/*
 * engine_own -- the engine's memory, for the files of engine/ alone.
 */
#ifndef ENGINE_CONTROL_ENGINE_OWN_H
#define ENGINE_CONTROL_ENGINE_OWN_H

#include "base/map.h"
#include "engine/control/crawl_runtime.h"
#include "engine/control/control.h"
#include "engine/fetcher/fetcher.h"
#include "engine/fetcher/handoff.h"
#include "engine/frontier/host_shard.h"
#include "engine/rebuild/snapshot_source.h"
#include "os/request.h"

struct engine_loop {
	struct engine *engine;
	struct loop *loop;
	struct map types;                /* text -> struct type_count */
};

struct engine {
	struct engine_options options;
	char *data_dir;
	int lock_fd;
	struct loop *ledger_loop;
	struct pool *pool;
	struct frontier *frontier;
	struct frontier_port *ports;
	struct engine_loop *loops;
	struct fetcher **fetchers;
	unsigned loops_n;
	struct host_shard host_shard;
	struct address_clock *address_clock;
	/* Immutable; engine_reload() sets others. */
	_Atomic(const struct fetch_settings *) settings;
	struct settings_kept *settings_kept;  /* all that ever were */
	struct arena arena;              /* texts of settings and crawls */
	struct crawl_runtime *crawls;
	struct digest_filter *seen;
	struct uncommitted uncommitted;
	atomic_size_t events_waiting;
	char token[9];
	bool started;
	struct event_publisher *publisher;
	/* The ledger's loop's: struct change, in the order they came. */
	struct list changes;
	/* Only in a daemon's engine (options.doors); else NULL. */
	struct crawl_registry *registry;
	struct store_async *store_async;
	struct scheduler *scheduler;
	struct outsiders *outsiders;
	struct catalog *catalog;
	struct stream *stream;
	struct handoff_pool fresh;
	size_t retry_max;                /* crawl.retry_max */
	struct hooks *hooks;             /* NULL: none is configured */
	struct map naming;               /* crawls whose WARCs get names */
	struct map closing_files;        /* the same, of harvests */
	struct snapshot_source snapshot_source;
	struct request_places places;
	struct request_loops each_loop;
	/* Closing. */
	size_t asked;                    /* verbs without their answer yet */
	bool closing;
	bool ending;                     /* the ledger's loop's word for it */
	struct timer idle_timer;
	void (*closed)(void *);
	void *closed_arg;
	struct request close_request;
	struct type_count *types;
	size_t types_n;
};

/* settings.c: those in force, read from the configuration; earlier ones stay
 * until all are freed. */
void engine_read_settings(struct engine *);
void engine_free_settings(struct engine *);
struct frontier_options engine_frontier_settings(struct engine *);
/* The settings of fetching; the texts belong to the configuration. */
void engine_settings(const struct engine *, const struct conf *,
    struct fetch_settings *);
/* url_events.c: what a loop says of a URL; `arg` is its struct engine_loop. */
void engine_url_event(void *arg, const struct url_event *);
void engine_free_types(struct engine_loop *);
/* transport.c: CONFIG when fetch.ca_file is of no use. */
MUST_USE enum err engine_check_ca_file(struct engine *, struct why *);
/* hook_calls.c: before the frontier is opened; after it. */
void engine_hooks_options(struct engine *, struct frontier_options *);
MUST_USE enum err engine_hooks_open(struct engine *, struct why *);
void engine_hooks_free(struct engine *);
/* The crawl writes: its hook will have to be called when it ends. */
void engine_hooks_expect(struct engine *, uint32_t crawl);
/* end_file.c: before the frontier is opened; behind it. */
void engine_files_options(struct engine *, struct frontier_options *);
void engine_files_free(struct engine *);
/* A loop's transport. */
struct transport *engine_transport(struct engine *, struct loop *);
/* Open the store and start its thread (store_verbs.c). */
MUST_USE enum err engine_open_store_async(struct engine *, struct why *);
/* On the ledger's loop: the loops do what the crawl's state says. */
void engine_order_loops(struct engine *, uint32_t crawl);
/* Changes that have no answer yet; behind the frontier. */
void changes_free(struct engine *);
/* Before the loops run: what an earlier process began goes on. */
void changes_resume(struct engine *);
/* Before the loops run: the registry with what earlier processes left, the
 * scheduler, the catalog and the stream. */
MUST_USE enum err launch_open(struct engine *, struct why *);
/* Before the doors open: retries of failures. */
void rerun_open(struct engine *);

#endif

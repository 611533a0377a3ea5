/*
 * catalog_open -- the catalog's life, for the engine, and what the stream has
 * in common with it.
 *
 * Thread: the main loop's; catalog_new() before it runs.
 */
#ifndef ENGINE_CATALOG_CATALOG_OPEN_H
#define ENGINE_CATALOG_CATALOG_OPEN_H

#include "engine/catalog/catalog.h"

struct fetch_settings;
struct fetcher;
struct frontier;
struct ledger;
struct loop;
struct pool;
struct read_tasks;
struct request_places;

struct catalog_options {
	struct loop *home;
	struct pool *pool;
	struct ledger *ledger;
	/* NULL where only captures are asked for, without a crawl's policy. */
	struct frontier *frontier;
	struct fetcher *const *fetchers;     /* of AT_EACH_LOOP, in its order */
	size_t fetchers_n;
	const _Atomic(const struct fetch_settings *) *settings;
	const struct request_places *places;
	struct crawl_registry *registry;
	uint64_t links_pages_max;    /* read for one links_to; 0: no limit */
};
struct catalog *catalog_new(const struct catalog_options *);
/*
 * Answer the queries of captures that wait, with CLOSED; `closed` is called
 * when no task reads any more, the stream's included, which may be at once.
 */
void catalog_close(struct catalog *, void (*closed)(void *arg), void *arg);
void catalog_free(struct catalog **);         /* after `closed` */
/* The tasks that read the archive. */
struct read_tasks *catalog_tasks(struct catalog *);

#endif

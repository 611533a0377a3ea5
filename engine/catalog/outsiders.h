/*
 * outsiders -- crawls of the urlfrontier door on the registry: looked at once a
 * second, told of when they changed.  Private to engine/.
 *
 * Of a row `queued` are URLs that wait or are leased, `items` those that the
 * outsiders called completed; there is no capture of them here.  Figures may be
 * ahead of the disk by the groups under way.
 *
 * Thread: home's.
 * Limits: OUTSIDERS_MAX; crawls beyond it, in no order, are not shown.
 */
#ifndef ENGINE_CATALOG_OUTSIDERS_H
#define ENGINE_CATALOG_OUTSIDERS_H

#include "engine/catalog/crawl_registry.h"

#define OUTSIDERS_MAX 10000u

struct frontier;
struct outsiders;
struct outsiders_options {
	struct loop *home, *ledger_loop;
	struct frontier *frontier;
	struct crawl_registry *registry;
};
struct outsiders *outsiders_new(const struct outsiders_options *);
void outsiders_start(struct outsiders *);    /* the loops run */
void outsiders_stop(struct outsiders *);     /* nothing more is asked */
void outsiders_free(struct outsiders **);

#endif

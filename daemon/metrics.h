/*
 * metrics -- the daemon's figures for Prometheus: of crawls, of the engine's
 * loops, of the HTTP port and of the process.
 *
 * Counters of crawls contain what was added since the process began, because
 * they start from the views that an earlier process left.  Gauges are sums over
 * the crawls that there are; a deleted one is taken out of them.
 *
 * Thread: the main loop's.
 */
#ifndef DAEMON_METRICS_H
#define DAEMON_METRICS_H

#include "base/map.h"
#include "engine/catalog/catalog.h"
#include "engine/control/control.h"
#include "server/web.h"

void metrics_register(void);
/* The sums of the engine's loops, of the process, and of the port unless it is
 * NULL; to be called about once a second. */
void metrics_look(const struct engine_look *, const struct web *);

/* Zeroed at first. */
struct crawl_metrics {
	struct crawl_registry *registry;   /* NULL: not started */
	struct registry_watch watch;
	uint64_t version;                  /* of the registry, looked at */
	struct map crawls;                 /* id -> struct counted_crawl */
};

/* The registry can be read: count what it has, and follow deletions. */
void crawl_metrics_start(struct crawl_metrics *, struct crawl_registry *);
/* Count the changes of one crawl, and log a change of its state. */
void crawl_metrics_view(struct crawl_metrics *, const struct crawl_view *);
/* Before engine_free(). */
void crawl_metrics_stop(struct crawl_metrics *);

#endif

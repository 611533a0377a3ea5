/*
 * loop_views -- what every fetching loop is doing for one crawl, for queries
 * that visit all of them.
 */
#ifndef ENGINE_CATALOG_LOOP_VIEWS_H
#define ENGINE_CATALOG_LOOP_VIEWS_H

#include "engine/catalog/catalog_open.h"
#include "engine/fetcher/loop_query.h"

/* One for each loop, to be filled there; `hosts` is shared by all. */
struct fetcher_crawl *loop_views_new(const struct catalog *, uint32_t crawl,
    size_t urls_max, struct fetcher_host *hosts, size_t hosts_n);
void loop_views_free(const struct catalog *, struct fetcher_crawl **);
/* Memory of the name: `a`. */
void host_view_of(const struct fetcher_host *, uint64_t queued,
    struct arena *a, struct host_view *out);

#endif

/*
 * core -- what several queries of the catalog work with: services of the
 * engine, pointers to the parts that have a state of their own, and what is
 * asked of robots.txt and of the fetching loops.
 */
#ifndef ENGINE_CATALOG_CORE_H
#define ENGINE_CATALOG_CORE_H

#include "engine/catalog/catalog_open.h"
#include "engine/catalog/read_task.h"
#include "engine/fetcher/loop_query.h"

struct catalog {
	struct catalog_options options;
	struct read_tasks *tasks;
	struct journal_scans *scans;
	bool closing;
};

/* --- robots_query.c ------------------------------------------------------ */

/*
 * The verdict of the stored robots.txt on a canonical URL; with an empty
 * `user_agent` for that of the settings.  `out` is all 0 before, and stays so
 * when no robots.txt is stored.  Memory: `a`.  Thread: any; it reads the index.
 */
void robots_verdict_read(const struct catalog *, struct str url,
    struct str user_agent, struct arena *a, struct robots_verdict *out);

/* --- loop_views.c: what every fetching loop is doing for one crawl ------- */

/* One for each loop, to be filled there; `hosts` is shared by all. */
struct fetcher_crawl *loop_views_new(const struct catalog *, uint32_t crawl,
    size_t urls_max, struct fetcher_host *hosts, size_t hosts_n);
void loop_views_free(const struct catalog *, struct fetcher_crawl **);
/* Memory of the name: `a`. */
void host_view_of(const struct fetcher_host *, uint64_t queued,
    struct arena *a, struct host_view *out);

#endif

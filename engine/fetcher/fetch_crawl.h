/*
 * fetch_crawl -- a crawl on one loop: what the loop was ordered to do with it,
 * and its cookies and traps.
 *
 * Thread: the loop's.
 */
#ifndef ENGINE_FETCHER_FETCH_CRAWL_H
#define ENGINE_FETCHER_FETCH_CRAWL_H

#include "engine/fetcher/cookie.h"
#include "engine/fetcher/core.h"
#include "engine/policy/trap.h"

struct fetch_crawl {
	struct fetcher *fetcher;
	struct crawl_shared *shared;
	enum fetch_order order;
	struct cookie_jar *cookies;      /* NULL: the policy wants none */
	struct trap_memory *traps;
	unsigned pages;                  /* being fetched here; page.c's */
};

void fetch_crawls_close(struct fetcher *);
/* NULL: this loop has had no order for the crawl, or forgot it. */
struct fetch_crawl *fetch_crawl_find(struct fetcher *, uint32_t id);
/* True when the crawl may begin a download now: it runs, below its limit. */
bool fetch_crawl_may_start(const struct fetch_crawl *);

#endif

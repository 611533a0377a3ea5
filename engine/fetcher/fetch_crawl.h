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
/* True when the crawl runs, and one of its policy's downloads seems free. */
bool fetch_crawl_may_start(const struct fetch_crawl *);
/* True when one seems free; another loop may take it at this moment. */
bool fetch_crawl_has_download(const struct fetch_crawl *);
/*
 * Take one of the downloads, which all loops share; given back by
 * fetch_crawl_give_download().  False: the policy's number is taken.
 */
bool fetch_crawl_take_download(struct fetch_crawl *);
void fetch_crawl_give_download(struct fetch_crawl *);

#endif

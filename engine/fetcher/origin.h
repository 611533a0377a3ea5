/*
 * origin -- scheme://host:port, and what its robots.txt says to the crawls of
 * one product token.  It is fetched once and remembered over restarts.
 *
 * Thread: the loop's.  Source: RFC 9309.
 */
#ifndef ENGINE_FETCHER_ORIGIN_H
#define ENGINE_FETCHER_ORIGIN_H

#include "engine/fetcher/core.h"
#include "engine/policy/robots.h"

#define ORIGIN_DETAIL_MAX 160
enum origin_state { ORIGIN_NEW, ORIGIN_LOADING, ORIGIN_FETCHING, ORIGIN_KNOWN };

struct origin {
	struct list node;                /* in host.origins */
	struct host *host;
	struct str text, token;          /* in `texts` */
	enum origin_state state;
	struct robots *robots;
	bool copied;                     /* they are the site's words */
	bool unreachable;                /* by network: reason below */
	bool stale;                      /* an older copy serves */
	enum exception reason;
	int status;                      /* of robots.txt; 0: no answer */
	char detail[ORIGIN_DETAIL_MAX];  /* why it is unreachable, or down */
	uint32_t sitemaps_told;          /* id + 1 of the crawl told last */
	struct mono down_until;          /* fail without asking */
	enum exception down_reason;
	struct mono fetched_at;          /* when to look again is counted */
	int64_t ttl_s;
	struct list waiting;             /* pages that must know */
	char texts[];
};

/* The origin of the page's current hop, for its crawl's product token. */
struct origin *origin_get(struct host *, struct page *);
/* All origins of a host. */
void origins_free(struct host *);
/* Pages wait for robots.txt, or it could not be read a moment ago. */
bool origins_hold_host(const struct host *, struct mono now, int64_t idle_ms);
/* The largest Crawl-delay, ms; 0: none. */
int64_t origins_delay_ms(const struct host *);
/* They may be tried again, robots.txt too where it was unreachable or with
 * `robots`. */
void origins_retry(struct host *, bool robots);

/* True when robots.txt is known; else the page waits in it. */
bool origin_ready(struct origin *, struct page *);

/* The crawl for which robots.txt was asked is over: others ask again. */
void origin_abandoned(struct origin *);
/* That crawl may not go where it is: its pages are skipped, others ask. */
void origin_blocked(struct origin *, const struct fetch_crawl *,
    struct str text);
/*
 * robots.txt came, or cannot be had.  Called from a step of `robots_page`, so
 * that the pages that wait go on after it has been handed over: what they do
 * may end the crawl.
 */
void origin_fetched(struct origin *, struct page *robots_page);

/* URLs of this origin fail without a request until then. */
void origin_down(struct origin *, enum exception, struct str detail,
    struct mono until);
/* It answers after all. */
void origin_up(struct origin *);
/* True once for each crawl: it is to be told the sitemaps. */
bool origin_tells_sitemaps(struct origin *, uint32_t crawl);

#endif

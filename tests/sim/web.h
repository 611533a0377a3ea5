/*
 * web -- an invented web behind the transport's table: every answer is a
 * function of the seed, the URL and how often it was asked.
 *
 *     http://hH.sim.test/p/N    page N of PAGES, on host N % HOSTS
 *
 * Some pages redirect, are missing, fail for a while, are cut, or are
 * forbidden by robots.txt; the same rules tell what a crawl must find.
 */
#ifndef TESTS_SIM_WEB_H
#define TESTS_SIM_WEB_H

#include "os/transport.h"

enum web_fate {
	WEB_PAGE,            /* an item, 200 */
	WEB_MISSING,         /* an item, 404 */
	WEB_BROKEN,          /* an item, 500 */
	WEB_BUSY,            /* 503 twice, then a page */
	WEB_FLAKY,           /* reset twice, then a page */
	WEB_DEAD,            /* an exception: always reset */
	WEB_MOVED,           /* redirects to a WEB_PAGE, maybe elsewhere */
	WEB_LOOP,            /* redirects to itself: an exception */
	WEB_FORBIDDEN,       /* robots.txt: skipped */
	WEB_SAME,            /* a page whose body others have too */
};

struct web_plan {
	uint64_t seed;
	unsigned pages, hosts;
	int64_t delay_ms;    /* what the crawl promised */
};
void web_begin(const struct web_plan *);
struct transport *web_transport(void *arg, struct loop *);
enum web_fate web_fate(unsigned page);
/* The pages that a page links to, at most 8. */
unsigned web_links(unsigned page, unsigned out[8]);
unsigned web_target(unsigned page);          /* of WEB_MOVED */
void web_url(unsigned page, char *out, size_t size);
bool web_page_of(struct str url, unsigned *page);
/* Requests made, and how many came before their host's delay was over. */
uint64_t web_requests(void);
uint64_t web_breaches(void);
/* What a crawl that begins with page 0 must find. */
struct web_expected {
	unsigned items, exceptions, forbidden;
	unsigned char *known;        /* of each page; to be freed */
};
void web_expect(struct web_expected *);
void web_kill(void);                         /* all connections are gone */

#endif

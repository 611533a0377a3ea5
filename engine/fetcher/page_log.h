/*
 * page_log -- what pages tell the crawl's log.  A line rides with its page's
 * submission; the line of a back-off is a submission without a page.
 *
 * Thread: the loop's.
 */
#ifndef ENGINE_FETCHER_PAGE_LOG_H
#define ENGINE_FETCHER_PAGE_LOG_H

#include "engine/fetcher/page.h"

void page_log_open(struct fetcher *);
void page_log_close(struct fetcher *);
/* Log the page's outcome, an exception or a skip; `text` may be empty. */
void page_log_outcome(struct page *, struct str text);
/* Log what was read from robots.txt. */
void page_log_robots(struct page *robots_page, const struct origin *,
    int status);
/* Once for each crawl and process: sitemap.depth_max left some out. */
void page_log_sitemap_depth(struct page *);
/* The host gets no request for a while; the page is tried again. */
void page_log_backoff(struct page *, const struct host *);

#endif

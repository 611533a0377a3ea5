/*
 * links -- what a page links to becomes what the frontier wants: canonical,
 * judged, hashed.
 *
 * Thread: the loop's.
 */
#ifndef ENGINE_FETCHER_LINKS_H
#define ENGINE_FETCHER_LINKS_H

#include "engine/fetcher/page.h"

void links_open(struct fetcher *);
void links_close(struct fetcher *);
/* From page.parsed to submission.found. */
void links_find(struct page *);
/* The sitemaps that robots.txt names, once per origin and crawl. */
void links_from_robots(struct page *, struct origin *);

#endif

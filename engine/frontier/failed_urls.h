/*
 * failed_urls -- the URLs of a crawl that ended in an exception, read from the
 * index a piece at a time.
 *
 * Thread: any that may read the index.
 */
#ifndef ENGINE_FRONTIER_FAILED_URLS_H
#define ENGINE_FRONTIER_FAILED_URLS_H

#include "base/arena.h"
#include "engine/frontier/url_scan.h"

/* Records that one piece looks at. */
#define FAILURES_LOOKS_MAX 4096u

struct failures {
	struct url_scan scan;        /* .crawl; its memory goes at the end */
	uint64_t start;              /* the first ones, which are not kept */
	size_t urls_max;             /* at most so many are kept */
	struct arena *arena;         /* of the URLs */
	/* Out. */
	struct str *urls;            /* room for urls_max; the caller's */
	size_t urls_n;
	uint64_t all;                /* counted, kept or not */
};
/* Read the next piece; nothing, once it has ended. */
void failures_read(struct failures *, struct index *);

#endif

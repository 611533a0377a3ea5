/*
 * limits -- of the bytes that crawls may write into WARC files, and of the
 * sitemaps that a crawl reads.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LIMITS_H
#define ENGINE_FRONTIER_LIMITS_H

#include "engine/frontier/core.h"

/* Set the bytes that the crawl has written; the total follows. */
void bytes_limit_set(struct crawl *, uint64_t warc_bytes);
bool bytes_limit_of_crawl(const struct crawl *);   /* it is reached */
bool bytes_limit_of_all(const struct frontier *);

/* One more is queued; false: a limit leaves it out, which the log says. */
bool sitemap_admit(struct crawl *);
/* One was read, of so many bytes unpacked. */
void sitemap_read(struct crawl *, uint64_t bytes);

#endif

/*
 * sitemap_limit -- limits of the sitemaps that a crawl reads.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_SITEMAP_LIMIT_H
#define ENGINE_FRONTIER_SITEMAP_LIMIT_H

#include "engine/frontier/core.h"

/* One more is queued; false: a limit leaves it out, which the log says. */
bool sitemap_admit(struct crawl *);
/* One was read, of so many bytes unpacked. */
void sitemap_read(struct crawl *, uint64_t bytes);

#endif

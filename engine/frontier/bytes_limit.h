/*
 * bytes_limit -- limits of the bytes that crawls may write into WARC files.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_BYTES_LIMIT_H
#define ENGINE_FRONTIER_BYTES_LIMIT_H

#include "engine/frontier/core.h"

/* Set the bytes that the crawl has written; the total follows. */
void bytes_limit_set(struct crawl *, uint64_t warc_bytes);
bool bytes_limit_of_crawl(const struct crawl *);   /* it is reached */
bool bytes_limit_of_all(const struct frontier *);

#endif

/*
 * retry -- another try for URLs that ended in an exception or were skipped.
 *
 * Thread: the ledger's loop, but for retry_read().
 */
#ifndef ENGINE_FRONTIER_RETRY_H
#define ENGINE_FRONTIER_RETRY_H

#include "engine/frontier/change.h"

/* For change.c: the verb, and its walk. */
void retry_begin(struct crawl_change *);
MUST_USE enum err retry_read(struct crawl_change *, struct index *);
void retry_settle(struct crawl_change *, struct crawl *);

#endif

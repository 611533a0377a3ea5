/*
 * exclude -- rules that come while a crawl runs leave URLs out.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_EXCLUDE_H
#define ENGINE_FRONTIER_EXCLUDE_H

#include "engine/frontier/change.h"
#include "engine/frontier/core.h"

struct queue;

/*
 * True when the crawl's rules leave the URL out and `judged_by`, the rules by
 * which it was judged before, are others.
 */
bool crawl_excludes_now(const struct crawl *, const void *judged_by,
    struct str url);
/* A waiting URL is not going to be fetched. */
void crawl_skip_waiting(struct crawl *, struct queue *, const struct lease *,
    enum skip_reason);

/* For change.c: RULES; then SKIP and COUNT, whose walk is read and settled. */
void exclude_take_rules(struct crawl_change *);
void exclude_begin(struct crawl_change *);
MUST_USE enum err exclude_read(struct crawl_change *, struct index *);
void exclude_settle(struct crawl_change *, struct crawl *);
void exclude_finish(struct crawl_change *, struct crawl *);

#endif

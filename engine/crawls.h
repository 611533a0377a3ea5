/*
 * crawls -- the crawls that run in this process: policy compiled, seeds read,
 * secrets held.  Private to engine/.
 *
 * Thread: home's; crawls_warcinfo() the ledger's.
 */
#ifndef ENGINE_CRAWLS_H
#define ENGINE_CRAWLS_H

#include "engine/engine.h"

struct crawls;
struct crawls *crawls_new(struct frontier *, struct fetcher **, unsigned n,
    const struct fetch_settings *, struct seen *);
void crawls_free(struct crawls **);   /* after the loops stopped */
MUST_USE enum err crawls_begin(struct crawls *, const struct crawl_request *,
    uint32_t *id, struct why *);
MUST_USE enum err crawls_continue(struct crawls *, uint32_t id,
    const struct crawl_request *, struct why *);
void crawls_order(struct crawls *, uint32_t id, enum fetch_order);
void crawls_order_all(struct crawls *, enum fetch_order);
/* The gzip member of the warcinfo of `filename`. */
void crawls_warcinfo(struct crawls *, uint32_t id, const char *filename,
    struct buf *out);

#endif

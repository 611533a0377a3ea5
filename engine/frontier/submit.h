/*
 * submit -- puts what a page changes into the gathering group.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_SUBMIT_H
#define ENGINE_FRONTIER_SUBMIT_H

#include "engine/frontier/core.h"

struct url_value;

/* Put or delete the record of a URL. */
void url_put(struct crawl *, uint32_t queue, uint32_t date, struct str url,
    const struct url_value *);
void url_drop(struct crawl *, uint32_t queue, uint32_t date, struct str url);
/* All that it needs is in the known table. */
void submission_admit(struct frontier *, struct submission *);
/* What became of the leased URL goes into the gathering group. */
void submission_settle(struct crawl *, struct submission *);
/* `via`: the number of the capture that it was found on; 0: none. */
void frontier_discover(struct crawl *, const struct found *, uint64_t via);

#endif

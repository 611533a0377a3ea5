/*
 * restore -- a crawl as its WARC files tell it, for engine/rebuild.
 *
 * The ledger has no threads.  Restore the crawl, find its seeds, and in the
 * order of the captures lease each URL and settle it with its links.
 *
 * Thread: the one that opened the frontier.
 */
#ifndef ENGINE_FRONTIER_RESTORE_H
#define ENGINE_FRONTIER_RESTORE_H

#include "engine/frontier/frontier.h"

/* EXISTS: there is such a crawl already. */
MUST_USE enum err frontier_restore(struct frontier *, uint32_t id,
    const struct crawl_spec *, struct wall created, struct why *);
void frontier_restore_found(struct frontier *, uint32_t crawl,
    const struct found *);
/*
 * Lease the URL.  Where it was found before, `lease` gets the cost and flags of
 * then, else those of `u`; depth is u's.  STATE when it is done already.
 * Memory: `lease` borrows the URL from `u`.
 */
MUST_USE enum err frontier_restore_lease(struct frontier *, uint32_t crawl,
    const struct found *u, struct lease *lease, struct why *);
/*
 * What became of it: with `place`, and for an item with `seq`, set.  The index
 * has it when this returns.  No promise is kept.
 */
MUST_USE enum err frontier_restore_settle(struct frontier *,
    struct submission *, struct why *);
/* Each URL that waits; judge() says true where the crawl would skip it. */
MUST_USE enum err frontier_restore_skip(struct frontier *, uint32_t crawl,
    enum skip_reason, bool (*judge)(void *arg, struct str url, uint8_t flags),
    void *arg, struct why *);
/* All is told: it has ended if nothing waits, at `last`, else it can go on. */
MUST_USE enum err frontier_restore_end(struct frontier *, uint32_t crawl,
    struct wall last, uint64_t warc_bytes, struct why *);

/*
 * What the replaced index knew of the crawl as it was then: numbers that were
 * given are given to no other, and one that had ended has ended.
 */
void frontier_restore_view(struct frontier *, const struct crawl_view *was);

#endif

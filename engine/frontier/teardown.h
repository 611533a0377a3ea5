/*
 * teardown -- frees the memory of a crawl that has ended, step by step.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_TEARDOWN_H
#define ENGINE_FRONTIER_TEARDOWN_H

#include "engine/frontier/core.h"

/* It has ended: what only one that runs needs leaves the memory. */
void crawl_teardown(struct crawl *);
void teardown_unref(struct teardown *);   /* others refer to it no more */
void teardown_put(struct frontier *);     /* some records, into this group */
/* At a start: is this queue's record one that stays where it is? */
bool teardown_record(struct frontier *, struct str key);
MUST_USE enum err teardown_load(struct frontier *, struct why *);
/* The ledger is there: go on with crawls that have ended. */
void teardown_open(struct frontier *);
/* Where steps of the frontier's requests run; it itself is their main loop. */
struct request_places;
const struct request_places *frontier_places(const struct frontier *);
void teardown_close(struct frontier *);

#endif

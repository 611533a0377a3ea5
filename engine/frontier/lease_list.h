/*
 * lease_list -- listings, counts and purges, a piece at a time.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_LIST_H
#define ENGINE_FRONTIER_LEASE_LIST_H

#include "engine/frontier/lease_core.h"

/* Free the walks that are open. */
void lease_free_walks(struct frontier *);
/* Begin to read a piece; false: there is none, and that was answered. */
bool lease_list_piece(struct lease_list *);
/* Its caller has left: end the walk and answer. */
void lease_list_end(struct lease_list *);
/* Delete a record at its present place, if it is known; false: it is not. */
bool lease_purge(struct lease_queue *, uint64_t hash, struct str url,
    uint32_t before_s);

#endif

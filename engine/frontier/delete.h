/*
 * delete -- records of crawls that were deleted, at a start.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_DELETE_H
#define ENGINE_FRONTIER_DELETE_H

#include "engine/frontier/core.h"

/* Replay a note of a deletion; false: it is damaged. */
bool crawl_deleted_note(struct frontier *, struct str note);
/* Of any other part of a crawl's records: is it a tombstone? */
void crawl_tomb_record(struct frontier *, struct str key);
void burial_forget(struct frontier *);

#endif

/*
 * delete -- deletion of a crawl that has ended.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_DELETE_H
#define ENGINE_FRONTIER_DELETE_H

#include "engine/frontier/change.h"
#include "engine/frontier/core.h"

/* Replay a note of a deletion; false: it is damaged. */
bool crawl_deleted_note(struct frontier *, struct str note);
/* Whether that part of a crawl's records is a tombstone. */
void crawl_tomb_record(struct frontier *, struct str key);
void delete_forget(struct frontier *);

/* For change.c: the verb. */
void delete_begin(struct crawl_change *);

#endif

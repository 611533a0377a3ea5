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
void retire_go_on(struct retirement *);   /* others have let it go */
void retire_put(struct frontier *);       /* some records, into this group */
void retire_forget(struct frontier *);
/* At a start: is this queue's record one that stays where it is? */
bool retired_record(struct frontier *, struct str key);
MUST_USE enum err retire_load(struct frontier *, struct why *);
void retire_opened(struct frontier *);

#endif

/*
 * crawl_state -- when a crawl starts, waits for others, and ends.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_CRAWL_STATE_H
#define ENGINE_FRONTIER_CRAWL_STATE_H

#include "engine/frontier/core.h"

/* End or pause the crawl if nothing is left or a limit is reached. */
void crawl_consider_end(struct crawl *);
/* Nothing of it is found yet: it starts, or waits for others. */
void crawl_start_new(struct crawl *);
/* Those that wait, the oldest first, while there is room. */
void crawl_start_pending(struct frontier *);
void crawl_stop_deadlines(struct frontier *);
/* URLs that may still be handed out under max_items. */
uint64_t crawl_tickets(const struct crawl *);
void crawl_wake_starved(struct crawl *);
/* Tell the loops of all queues in which URLs wait. */
void crawl_wake_all(struct crawl *);
/* Stop the crawl when limits.max_duration has passed since its start. */
void crawl_set_deadline(struct crawl *);

#endif

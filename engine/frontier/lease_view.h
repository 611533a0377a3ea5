/*
 * lease_view -- crawls of ours, for outsiders who may look at them: queues,
 * URLs and figures, in the words of lease_service.h.  Nothing is changed and
 * nothing leased.
 *
 *     waits, leased     active; its date is when it was found
 *     done              completed; when it was found is not kept any more
 *     never queued      (out of scope, too deep) not shown
 *
 * A crawl's name is "crawl/7", by its number; a queue's key is the host.  In a
 * queue completed URLs come first, by their bytes, then the others in the order
 * in which they will be fetched.
 *
 * URLs and their states are those that are durable, of one moment; figures may
 * run ahead of that by what is being gathered, for which they wait.
 *
 * Results: as in lease_service.h.  Thread: any.
 * Memory:  a listing of queues, or of URLs of a whole crawl, takes 24 bytes for
 *          each queue of the crawl while it is under way.
 */
#ifndef ENGINE_FRONTIER_LEASE_VIEW_H
#define ENGINE_FRONTIER_LEASE_VIEW_H

#include "engine/frontier/lease_service.h"

#define LEASE_VIEW_NO_CRAWL UINT32_MAX

/*
 * Is this the name of a crawl of ours, or one that a crawl of ours may get?
 * `*id` is its number; LEASE_VIEW_NO_CRAWL when no crawl will ever have it.
 */
bool lease_view_name(struct str crawl, uint32_t *id);

/*
 * All but PURGE_URLS, of a crawl with such a name.  LIST_CRAWLS: all of them,
 * outsiders' too; one of outsiders' that has such a name is left out.
 */
void lease_view_list(struct frontier *, struct lease_list *);
/* STATS alone.  It goes through all queues, if no key is given. */
void lease_view_stats(struct frontier *, struct lease_control *);
/*
 * A URL of which the known table says nothing (the crawl has ended, or
 * frontier.known_mem) costs a walk over its queue.
 */
void lease_view_status(struct frontier *, struct lease_status_of *);

#endif

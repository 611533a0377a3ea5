/*
 * lease_turn -- which queue of the lease service is served next, and what the
 * others wait for.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_TURN_H
#define ENGINE_FRONTIER_LEASE_TURN_H

#include "engine/frontier/lease_core.h"

/* A queue with fewer URLs begins its walks at a date, not at a URL. */
#define CURSOR_URLS_MIN 64u

/* Put the queue where it belongs by what it waits for, or out of there. */
void turn_place(struct lease_queue *);
void turn_take(struct lease_queue *);
/* An unleased URL of that date is there. */
void turn_available(struct lease_queue *, uint32_t date, struct str url);
void turn_cursor(struct lease_queue *, uint32_t date, struct str url);
/*
 * The next queue whose turn it is, with a ticket below `end` and less than
 * `urls_max` leased (0: any number); it leaves its place.  NULL: none.
 */
struct lease_queue *turn_pick(struct frontier *, struct lease_crawl *,
    uint32_t urls_max, uint64_t end);
bool turn_may(struct lease_queue *, uint32_t urls_max);
/* How late the queues are whose turn is next, in seconds. */
uint64_t turn_lag_s(struct lease_service *);
/* Being served, and last served at `served` before that: it might still be. */
bool turn_still(const struct lease_queue *, int64_t served);
/* Something was put to it behind that group. */
bool turn_put_since(const struct lease_queue *, uint64_t group);
/* Something was put to it that a walk may not see. */
bool turn_put_lately(const struct lease_queue *);
struct str turn_cursor_url(const struct lease_queue *);
void turn_forget_levels(struct lease_crawl *);

#endif

/*
 * host_slots -- limits the queues that a loop holds at once.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_HOST_SLOTS_H
#define ENGINE_FRONTIER_HOST_SLOTS_H

#include "engine/frontier/core.h"

struct queue;

void host_slots_open(struct frontier *);
void host_slots_close(struct frontier *);
void host_slots_check(const struct frontier *);
/* False: there is no place; it is told of again when there is one. */
bool queue_activate(struct queue *);
/* Something of it came back: does it keep its place? */
void queue_settle(struct queue *);
/* The same for all queues of a crawl. */
void crawl_settle(struct crawl *);

#endif

/*
 * host_slots -- limits the queues that a loop holds at once.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_HOST_SLOTS_H
#define ENGINE_FRONTIER_HOST_SLOTS_H

#include "engine/frontier/core.h"

struct queue;

/* Of one loop. */
struct host_slots {
	unsigned active;
	struct list waiting_for_slot;        /* queues, the longest first */
};

void host_slots_open(struct frontier *);
void host_slots_close(struct frontier *);
/* False: there is no place; it is told of again when there is one. */
bool queue_activate(struct queue *);
/* Something of it came back: does it keep its place? */
void queue_settle(struct queue *);
/* The same for all queues of a crawl. */
void crawl_settle(struct crawl *);

#endif

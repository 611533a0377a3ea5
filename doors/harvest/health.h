/*
 * health -- what is asked now and then: how many messages wait in each queue,
 * who consumes it, and how old the outbox is.
 *
 * Thread: the main loop's.
 * Source: contracts/harvest.md §8, Health.
 */
#ifndef DOORS_HARVEST_HEALTH_H
#define DOORS_HARVEST_HEALTH_H

#include "doors/harvest/harvest_door.h"

#define HEALTH_MS 10000

/* The broker is open: look, every HEALTH_MS. */
void health_begin(struct harvest_door *);
/* No further look; the broker is still open. */
void health_end(struct harvest_door *);
/* The door's line in lists. */
void health_put(const struct harvest_door *, char *note, size_t n);

/* The same as members of a JSON object: broker, queues, outbox, letters. */
void health_put_details(const struct harvest_door *, struct buf *json);

#endif

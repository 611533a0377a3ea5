/*
 * sweep -- removes the claims of harvests and exports that ended CLAIM_DAYS
 * ago: all of them when the process begins, then those whose time has come.
 *
 * Thread: the main loop's.
 * Source: contracts/harvest.md §3.
 */
#ifndef DOORS_HARVEST_SWEEP_H
#define DOORS_HARVEST_SWEEP_H

#include "doors/harvest/harvest_door.h"

#define CLAIM_DAYS 30

void sweep_begin(struct harvest_door *);
/* No further one begins; the one under way holds the door's work. */
void sweep_end(struct harvest_door *);
void sweep_free(struct harvest_door *);

#endif

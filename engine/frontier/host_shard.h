/*
 * host_shard -- which fetching loop a host belongs to: the same one for all
 * crawls, as its pauses and connections are kept there.
 *
 * By a host's hash alone, four hosts would often stand three to one, and one
 * loop would idle.  So the hash leads to one of HOST_SHARD_SLOTS slots, and a
 * slot is given to the loops in turn when its first host comes.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_HOST_SHARD_H
#define ENGINE_FRONTIER_HOST_SHARD_H

#include <stdatomic.h>

#include "base/bytes.h"

#define HOST_SHARD_SLOTS 4096

struct host_shard {
	unsigned ports_n;
	atomic_uint given;
	_Atomic uint32_t
	    slots[HOST_SHARD_SLOTS]; /* port + 1; 0: not given yet */
};

/* All else in `*s` is 0. */
unsigned host_shard_port(struct host_shard *s, struct str host);

#endif

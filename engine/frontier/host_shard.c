#include "engine/frontier/host_shard.h"

#include "base/hash.h"

unsigned
host_shard_port(struct host_shard *s, struct str host)
{
	_Atomic uint32_t *slot =
	    &s->slots[hash_bytes(host, 0) % HOST_SHARD_SLOTS];
	uint32_t port = atomic_load_explicit(slot, memory_order_relaxed);

	if (port != 0)
		return port - 1;
	uint32_t mine = atomic_fetch_add_explicit(&s->given, 1,
	    memory_order_relaxed) % s->ports_n + 1;
	/* Two loops may meet the same new host: the first one's word holds. */
	if (!atomic_compare_exchange_strong_explicit(slot, &port, mine,
	    memory_order_relaxed, memory_order_relaxed))
		return port - 1;
	return mine - 1;
}

#include "engine/fetcher/address_clock.h"

#include "base/hash.h"

struct address_clock *
address_clock_new(void)
{
	return mem_new(sizeof(struct address_clock));
}

void
address_clock_free(struct address_clock **c)
{
	mem_free(c);
}

bool
address_clock_reserve(struct address_clock *c, const struct ip *ip,
    struct mono now, int64_t spacing_ms, struct mono *at)
{
	struct str key = { (const char *)ip->b, sizeof(ip->b) };
	uint64_t hash = hash_bytes(key, 0);
	_Atomic int64_t *next = &c->next_ns[hash % ADDRESS_CLOCK_SLOTS];
	int64_t was = atomic_load_explicit(next, memory_order_relaxed), mine;

	do {
		mine = MAX(was, now.ns);
		if (mine - now.ns > ADDRESS_CLOCK_AHEAD_MS * NS_PER_MS) {
			/* Not all at once. */
			*at = mono_add_ms(now, ADDRESS_CLOCK_AHEAD_MS / 2 +
			    (mine / NS_PER_MS) % (ADDRESS_CLOCK_AHEAD_MS / 2));
			return false;
		}
	} while (!atomic_compare_exchange_weak_explicit(next, &was,
	    mine + spacing_ms * NS_PER_MS, memory_order_relaxed,
	    memory_order_relaxed));
	at->ns = mine;
	return true;
}

/*
 * address_clock -- spaces requests to one IP address, over all hosts and loops.
 *
 * An address's hosts may belong to several loops.  So the time of its next
 * request is one atomic word in a table that all loops share, and a request
 * reserves its time by moving that word on.  Two addresses with one slot share
 * their pace, which slows only those that are both at it all the time.
 *
 * Thread: any.
 */
#ifndef ENGINE_FETCHER_ADDRESS_CLOCK_H
#define ENGINE_FETCHER_ADDRESS_CLOCK_H

#include <stdatomic.h>

#include "base/time.h"
#include "os/transport.h"

#define ADDRESS_CLOCK_SLOTS 65536u
/* No time further ahead is reserved: its crawl may end before. */
#define ADDRESS_CLOCK_AHEAD_MS 5000

struct address_clock {
	_Atomic int64_t next_ns[ADDRESS_CLOCK_SLOTS];
};
/* One for all loops; 512 KiB, of which only pages in use take memory. */
struct address_clock *address_clock_new(void);
void address_clock_free(struct address_clock **);

/*
 * Reserve a request to `ip`: `*at` is its time, now or later, and the next one
 * comes `spacing_ms` after it.  False: all of ADDRESS_CLOCK_AHEAD_MS is
 * reserved; ask again at `*at`.
 */
bool address_clock_reserve(struct address_clock *, const struct ip *ip,
    struct mono now, int64_t spacing_ms, struct mono *at);

#endif

/*
 * digest_filter -- a filter in front of the index's digests: most payloads are
 * new, and a new one need not be asked for.
 *
 * A blocked Bloom filter: four bits in one cache line, set and never cleared.
 * "Not seen" is always true; "seen" may be wrong, more often the fuller the
 * filter is, and costs one look into the index.
 *
 * Thread: any; bits are set by atomic operations, nothing waits.
 */
#ifndef ENGINE_FETCHER_DIGEST_FILTER_H
#define ENGINE_FETCHER_DIGEST_FILTER_H

#include "base/bytes.h"

/* 2 MiB: one false answer in 100 at 1.5 million payloads. */
#define DIGEST_FILTER_BYTES ((size_t)2 << 20)

struct digest_filter;
struct digest_filter *digest_filter_new(
    size_t bytes); /* a power of two, at least 64 */
void digest_filter_free(struct digest_filter **);
/* Add the key; true when it may have been there. */
bool digest_filter_add(struct digest_filter *, struct str key);

#endif

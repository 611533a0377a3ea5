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
#define SEEN_BYTES ((size_t)2 << 20)

struct seen;
struct seen *seen_new(size_t bytes);      /* a power of two, at least 64 */
void seen_free(struct seen **);
/* Add the key; true when it may have been there. */
bool seen_add(struct seen *, struct str key);

#endif

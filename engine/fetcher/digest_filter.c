#include "engine/fetcher/digest_filter.h"

#include <stdatomic.h>

#include "base/hash.h"

#define LINE_WORDS 8              /* of 64 bits: one cache line */

struct digest_filter {
	size_t lines;
	_Atomic uint64_t words[];
};

struct digest_filter *
digest_filter_new(size_t bytes)
{
	CHECK(bytes >= 64 && (bytes & (bytes - 1)) == 0);
	struct digest_filter *s = mem_new(sizeof(*s) + bytes);

	s->lines = bytes / (LINE_WORDS * sizeof(uint64_t));
	return s;
}

void
digest_filter_free(struct digest_filter **sp)
{
	mem_free(sp);
}

bool
digest_filter_add(struct digest_filter *s, struct str key)
{
	uint64_t h = hash_bytes(key, 0x5ee4);
	_Atomic uint64_t *line = &s->words[(h >> 40) % s->lines * LINE_WORDS];
	bool all = true;

	for (int i = 0; i < 4; i++, h >>= 9) {
		uint64_t bit = UINT64_C(1) << (h & 63);
		uint64_t old = atomic_fetch_or_explicit(&line[h >> 6 & 7], bit,
		    memory_order_relaxed);
		all = all && (old & bit) != 0;
	}
	return all;
}

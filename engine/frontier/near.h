/*
 * near -- finds captures whose text is much like an earlier one's: simhashes at
 * most NEAR_DISTANCE bits apart.
 *
 * Four tables, one for each quarter of the hash: two hashes at most three bits
 * apart are equal in one quarter (pigeonhole), so that only chains are read.
 *
 * Limit: near_max hashes; beyond it new ones replace the oldest.
 * Thread: one.
 */
#ifndef ENGINE_FRONTIER_NEAR_H
#define ENGINE_FRONTIER_NEAR_H

#include "base/base.h"

#define NEAR_DISTANCE 3
#define NEAR_MAX (1u << 18)
/* Longest walk along one chain: a flood of like pages must not be quadratic. */
#define NEAR_CHAIN_MAX 256

struct near;
struct near *near_new(size_t near_max);
void near_free(struct near **);
/* True when a hash like this one was added before; adds it.  0 is ignored. */
bool near_add(struct near *, uint64_t simhash);

#endif

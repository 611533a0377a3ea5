/*
 * near_dup -- finds captures whose text is much like an earlier one's:
 * simhashes at most NEAR_DUP_DISTANCE bits apart.
 *
 * Four tables, one for each quarter of the hash: two hashes at most three bits
 * apart are equal in one quarter (pigeonhole).  Twelve bits of that quarter
 * choose a bucket, whose hashes lie side by side and are all compared.
 *
 * Limits: near_max hashes, beyond it new ones replace the oldest; and
 * NEAR_DUP_BUCKET_MAX in a bucket, likewise.
 * Thread: one.
 */
#ifndef ENGINE_FRONTIER_NEAR_DUP_H
#define ENGINE_FRONTIER_NEAR_DUP_H

#include "base/base.h"

#define NEAR_DUP_DISTANCE 3
#define NEAR_DUP_MAX (1u << 18)
/* Compared in one bucket: a flood of like pages must not be quadratic. */
#define NEAR_DUP_BUCKET_MAX 128

struct near_dup;
struct near_dup *near_dup_new(size_t near_max);
void near_dup_free(struct near_dup **);
/* True when a hash like this one was added before; adds it.  0 is ignored. */
bool near_dup_add(struct near_dup *, uint64_t simhash);
/* Add it without a comparison.  The last `near_max` hashes, in their order,
 * leave what all hashes would. */
void near_dup_restore(struct near_dup *, uint64_t simhash);

#endif

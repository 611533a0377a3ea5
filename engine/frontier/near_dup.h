/*
 * near_dup -- finds captures whose text is much like an earlier one's:
 * simhashes at most NEAR_DISTANCE bits apart.
 *
 * Four tables, one for each quarter of the hash: two hashes at most three bits
 * apart are equal in one quarter (pigeonhole).  Twelve bits of that quarter
 * choose a bucket, whose hashes lie side by side and are all compared.
 *
 * Limits: near_max hashes, beyond it new ones replace the oldest; and
 * NEAR_BUCKET_MAX in a bucket, likewise.
 * Thread: one.
 */
#ifndef ENGINE_FRONTIER_NEAR_DUP_H
#define ENGINE_FRONTIER_NEAR_DUP_H

#include "base/base.h"

#define NEAR_DISTANCE 3
#define NEAR_MAX (1u << 18)
/* Compared in one bucket: a flood of like pages must not be quadratic. */
#define NEAR_BUCKET_MAX 128

struct near;
struct near *near_new(size_t near_max);
void near_free(struct near **);
/* True when a hash like this one was added before; adds it.  0 is ignored. */
bool near_add(struct near *, uint64_t simhash);

#endif

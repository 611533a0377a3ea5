/*
 * idset -- which ids were seen.  Ids are known by 128 bits of a hash with a
 * seed of the process, so that nobody can choose two that are taken for one.
 *
 * The first are kept in memory.  Beyond the limit all are in a file: pages of
 * 256 hashes, chosen by the hash's first bits, with twice as many pages when
 * they fill.  Each question is then one read of a page, which the system's
 * cache answers as long as it can.
 *
 * Thread: one.
 */
#ifndef ENGINE_EXPORT_IDSET_H
#define ENGINE_EXPORT_IDSET_H

#include "base/bytes.h"
#include "base/err.h"

struct id_hash {
	uint64_t first, second;
};
/* A seed for id_hash_of(), from the system. */
struct id_hash id_hash_seed(void);
struct id_hash id_hash_of(struct str id, struct id_hash seed);

struct idset;
/*
 * `path`: the file, made when it is needed, gone as soon as it is open; it
 * outlives the set.  `bytes_max` of memory are used before.
 */
struct idset *idset_new(const char *path, size_t bytes_max);
void idset_free(struct idset **);
/* `*added` false: it was there already.  Errors: those of the file. */
MUST_USE enum err idset_add(struct idset *, struct id_hash, bool *added,
    struct why *);
MUST_USE enum err idset_has(struct idset *, struct id_hash, bool *has,
    struct why *);
uint64_t idset_count(const struct idset *);

#endif

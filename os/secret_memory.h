/*
 * secret_memory -- an arena for secrets: passwords, tokens, keys.
 *
 * Its pages are locked, so that they are not written to swap, where
 * RLIMIT_MEMLOCK allows it; they are left out of core files, and a forked
 * process reads zeroes there.  They are overwritten before the system gets them
 * back.
 *
 * Thread: one at a time; an arena may travel to another thread with its owner.
 * Source: contracts/external.md §6.
 */
#ifndef OS_SECRET_MEMORY_H
#define OS_SECRET_MEMORY_H

#include "base/bytes.h"

struct secret_block;
struct secret_memory {
	struct secret_block *blocks; /* newest first */
};
#define SECRET_MEMORY_INIT ((struct secret_memory){ NULL })

/* `n` zeroed bytes, 16-aligned; they stay where they are.  The arena grows by
 * whole pages.  NULL for no bytes, which take none. */
void *secret_memory_take(struct secret_memory *, size_t n);
struct str secret_memory_copy(struct secret_memory *, struct str);
/* Overwrite all that was taken; the memory stays the arena's and is handed out
 * no more. */
void secret_memory_clear(struct secret_memory *);
/* The same, and give the memory back.  The arena is empty, and can be used. */
void secret_memory_free(struct secret_memory *);

#endif

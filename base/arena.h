/*
 * arena -- memory that is freed whole: one per page or request.
 *
 * Thread: one at a time; an arena may travel to another thread with its owner.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/bytes.h"

struct arena_block;
struct arena {
	struct arena_block *blocks;  /* newest first */
	char *at, *end;              /* what is left of the newest */
	size_t total;                /* bytes taken from the system */
};
#define ARENA_INIT ((struct arena){ NULL, NULL, NULL, 0 })

void arena_free(struct arena *);   /* and empties it */
/* The same, and overwrites it first: there were secrets in it. */
void arena_wipe(struct arena *);
/* A new one's first block holds `n` bytes, not a page's: of what is small and
 * stays. */
void arena_room(struct arena *, size_t n);
/* Forget all, but keep one block for the next page. */
void arena_reset(struct arena *);
void *arena_take(struct arena *, size_t size);       /* zeroed, 16-aligned */
char *arena_bytes(struct arena *, size_t n);         /* not zeroed, any place */
struct str arena_copy(struct arena *, struct str);   /* with a NUL behind */
/* `n` slices, copied with their bytes. */
struct str *arena_copy_list(struct arena *, const struct str *, size_t n);
struct str arena_printf(struct arena *, const char *fmt, ...)
    PRINTF_LIKE(2, 3);
#define ARENA_NEW(a, type) ((type *)arena_take(a, sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_take_array(a, n, sizeof(type)))
void *arena_take_array(struct arena *, size_t n, size_t size);
/*
 * Room for one more item of `size` bytes behind the `n` at `p`, where `*cap`
 * fit: mem_room() in an arena, which keeps the smaller array's memory, too.
 */
void *arena_grow(struct arena *, void *p, size_t n, size_t *cap, size_t first,
    size_t size);

#endif

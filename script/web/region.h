/*
 * region -- memory that counts against a script's heap, and is freed whole.
 *
 * It is an arena of the JavaScript runtime: JS_SetMemoryLimit() bounds it, and
 * running out is an ordinary result, never the end of the process.
 *
 * Thread: the runtime's.
 */
#ifndef SCRIPT_WEB_REGION_H
#define SCRIPT_WEB_REGION_H

#include <quickjs.h>

#include "base/bytes.h"

struct region_block;
struct region {
	JSRuntime *rt;
	struct region_block *blocks;   /* newest first */
	char *at, *end;              /* what is left of the newest */
	size_t total;
	bool full;                   /* a request failed; stays so */
};
#define REGION_OF(runtime) ((struct region){ .rt = (runtime) })

/* Gives everything back; the region is empty then and can be used again. */
void region_free(struct region *);
/* Zeroed and 8-aligned; NULL when the heap's limit is met. */
void *region_take(struct region *, size_t size);
void *region_array(struct region *, size_t n, size_t size);
/* Not zeroed, at any address; NULL as above. */
char *region_bytes(struct region *, size_t n);
/* A copy with a NUL behind it; STR_NONE when the limit is met. */
struct str region_copy(struct region *, struct str);

/*
 * `p`, an array of `n` items of `size` bytes, with room for one more: a full
 * one is doubled.  False when the limit is met; the array stays as it is.
 */
MUST_USE bool region_room(JSRuntime *, void *p, size_t n, uint32_t *cap,
    size_t size);

#endif

#include "script/web/region.h"

#define BLOCK_BYTES 2048u
#define BLOCK_BYTES_MAX (256u * 1024)
#define ROOM_FIRST 64u

struct region_block {
	struct region_block *next;
	size_t size;
	char bytes[];
};

void
region_free(struct region *p)
{
	struct region_block *b = p->blocks, *next;

	for (; b != NULL; b = next) {
		next = b->next;
		js_free_rt(p->rt, b);
	}
	*p = REGION_OF(p->rt);
}

static bool
add_block(struct region *p, size_t least)
{
	size_t size = MAX(least, MIN(MAX(BLOCK_BYTES, p->total),
	    BLOCK_BYTES_MAX));
	struct region_block *b = NULL;

	if (!p->full && size < SIZE_MAX / 2)
		b = js_malloc_rt(p->rt, sizeof(*b) + size);
	p->full = b == NULL;
	if (b == NULL)
		return false;
	b->size = size;
	b->next = p->blocks;
	p->blocks = b;
	p->at = b->bytes;
	p->end = b->bytes + size;
	p->total += size;
	return true;
}

char *
region_bytes(struct region *p, size_t n)
{
	if ((p->at == NULL || (size_t)(p->end - p->at) < n) && !add_block(p, n))
		return NULL;
	char *at = p->at;
	p->at += n;
	return at;
}

void *
region_take(struct region *p, size_t size)
{
	if (p->at != NULL)
		p->at += MIN((size_t)(-(uintptr_t)p->at & 7),
		    (size_t)(p->end - p->at));
	char *at = region_bytes(p, size);
	if (at != NULL)
		memset(at, 0, size);
	return at;
}

void *
region_array(struct region *p, size_t n, size_t size)
{
	if (size != 0 && n > SIZE_MAX / 4 / size) {
		p->full = true;
		return NULL;
	}
	return region_take(p, n * size);
}

struct str
region_copy(struct region *p, struct str s)
{
	char *to = region_bytes(p, s.n + 1);

	if (to == NULL)
		return STR_NONE;
	if (s.n != 0)
		memcpy(to, s.p, s.n);
	to[s.n] = '\0';
	return (struct str){ to, s.n };
}

bool
region_room(JSRuntime *rt, void *p, size_t n, uint32_t *cap, size_t size)
{
	void **at = p;

	if (n < *cap)
		return true;
	size_t more = *cap == 0 ? ROOM_FIRST : (size_t)*cap * 2;
	if (more > UINT32_MAX / 2)
		return false;
	void *grown = js_realloc_rt(rt, *at, more * size);
	if (grown == NULL)
		return false;
	*at = grown;
	*cap = (uint32_t)more;
	return true;
}

#include "base/arena.h"

#include <stdarg.h>
#include <stdalign.h>

#define BLOCK_BYTES 8192u

struct arena_block {
	struct arena_block *next;
	size_t size;                /* of `bytes` */
	alignas(16) char bytes[];
};

static void
add_block_of(struct arena *a, size_t size)
{
	struct arena_block *b = malloc(sizeof(*b) + size);

	CHECK(b != NULL);
	b->size = size;
	b->next = a->blocks;
	a->blocks = b;
	a->at = b->bytes;
	a->end = b->bytes + size;
	a->total += size;
}

static void
add_block(struct arena *a, size_t least)
{
	/* Blocks double, so that a big page takes few of them. */
	add_block_of(a, MAX(least, MIN(MAX(BLOCK_BYTES, a->total), 1u << 20)));
}

void
arena_room(struct arena *a, size_t n)
{
	if (a->blocks == NULL)
		add_block_of(a, n);
}

char *
arena_bytes(struct arena *a, size_t n)
{
	if (a->at == NULL || (size_t)(a->end - a->at) < n)
		add_block(a, n);
	char *p = a->at;
	a->at += n;
	return p;
}

/* Not zeroed. */
static void *
take_aligned(struct arena *a, size_t size)
{
	size_t skip = a->at == NULL ? 0 : (size_t)(-(uintptr_t)a->at & 15);

	CHECK(size <= SIZE_MAX / 2);
	if (a->at == NULL || (size_t)(a->end - a->at) < skip + size) {
		add_block(a, size);
		skip = 0;
	}
	void *p = a->at + skip;
	a->at += skip + size;
	return p;
}

void *
arena_take(struct arena *a, size_t size)
{
	return memset(take_aligned(a, size), 0, size);
}

void *
arena_take_array(struct arena *a, size_t n, size_t size)
{
	CHECK(size == 0 || n <= SIZE_MAX / 2 / size);
	return arena_take(a, n * size);
}

void *
arena_grow(struct arena *a, void *p, size_t n, size_t *cap, size_t first,
    size_t size)
{
	if (n < *cap)
		return p;
	*cap = MAX(2 * *cap, first);
	CHECK(*cap <= SIZE_MAX / 2 / size);
	char *more = take_aligned(a, *cap * size);
	if (n != 0)
		memcpy(more, p, n * size);
	memset(more + n * size, 0, (*cap - n) * size);
	return more;
}

struct str
arena_copy(struct arena *a, struct str s)
{
	char *p = arena_bytes(a, s.n + 1);

	if (s.n != 0)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return (struct str){ p, s.n };
}

struct str *
arena_copy_list(struct arena *a, const struct str *list, size_t n)
{
	struct str *copy = ARENA_ARRAY(a, struct str, n);

	for (size_t i = 0; i < n; i++)
		copy[i] = arena_copy(a, list[i]);
	return copy;
}

struct str
arena_printf(struct arena *a, const char *fmt, ...)
{
	size_t room = a->at == NULL ? 0 : (size_t)(a->end - a->at);
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(a->at, room, fmt, ap);
	va_end(ap);
	CHECK(n >= 0);
	char *p = arena_bytes(a, (size_t)n + 1);
	if ((size_t)n >= room) {
		va_start(ap, fmt);
		vsnprintf(p, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	return (struct str){ p, (size_t)n };
}

void
arena_free(struct arena *a)
{
	while (a->blocks != NULL) {
		struct arena_block *b = a->blocks;
		a->blocks = b->next;
		free(b);
	}
	*a = ARENA_INIT;
}

void
arena_wipe(struct arena *a)
{
	for (struct arena_block *b = a->blocks; b != NULL; b = b->next)
		explicit_bzero(b->bytes, b->size);
	arena_free(a);
}

void
arena_reset(struct arena *a)
{
	struct arena_block *keep = a->blocks;

	if (keep == NULL)
		return;
	a->blocks = keep->next;
	arena_free(a);
	keep->next = NULL;
	a->blocks = keep;
	a->at = keep->bytes;
	a->end = keep->bytes + keep->size;
	a->total = keep->size;
}

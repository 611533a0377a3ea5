#include "os/secret_memory.h"

#include <stdalign.h>
#include <sys/mman.h>

#include "os/pages.h"

#define ALIGNMENT ((size_t)16)

/* At the beginning of its pages. */
struct secret_block {
	struct secret_block *next;
	size_t size;                /* of the pages */
	size_t used;                /* of `bytes` */
	alignas(16) char bytes[];
};

static size_t
room_of(const struct secret_block *b)
{
	return b == NULL ? 0 : b->size - sizeof(*b) - b->used;
}

static void
add_block(struct secret_memory *m, size_t least)
{
	size_t size = (sizeof(struct secret_block) + least + PAGE_BYTES - 1) /
	    PAGE_BYTES * PAGE_BYTES;
	struct secret_block *b = pages_new(size);

	/* Each of them is a precaution; without them a secret is as safe as
	 * any other memory. */
	(void)mlock(b, size);
	(void)madvise(b, size, MADV_DONTDUMP);
	(void)madvise(b, size, MADV_WIPEONFORK);
	b->size = size;
	b->next = m->blocks;
	m->blocks = b;
}

void *
secret_memory_take(struct secret_memory *m, size_t n)
{
	CHECK(n <= SIZE_MAX / 2);
	if (n == 0)
		return NULL;
	n = (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (room_of(m->blocks) < n)
		add_block(m, n);
	struct secret_block *b = m->blocks;
	void *p = b->bytes + b->used;
	b->used += n;
	return p;
}

struct str
secret_memory_copy(struct secret_memory *m, struct str s)
{
	char *p = secret_memory_take(m, s.n);

	if (s.n > 0)
		memcpy(p, s.p, s.n);
	return (struct str){ p, s.n };
}

void
secret_memory_clear(struct secret_memory *m)
{
	for (struct secret_block *b = m->blocks; b != NULL; b = b->next)
		explicit_bzero(b->bytes, b->used);
}

void
secret_memory_free(struct secret_memory *m)
{
	secret_memory_clear(m);
	while (m->blocks != NULL) {
		struct secret_block *b = m->blocks;
		m->blocks = b->next;
		pages_free(b, b->size);
	}
}

#include "os/pages.h"

#include <sys/mman.h>

void *
pages_new(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

void *
pages_new_large(size_t bytes)
{
	void *p = pages_new(bytes);

	/* Where there are none, small pages do. */
	(void)madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

void
pages_free(void *p, size_t bytes)
{
	CHECK(munmap(p, bytes) == 0);
}

#include "os/pages.h"

#include <sys/mman.h>

#include "os/pool.h"

/* A multiple of the sizes of small and of huge pages. */
#define FILL_ALIGN ((size_t)2 << 20)

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

struct fill {
	struct job job;
	unsigned char *p;
	size_t bytes;
};

static void
fill_some(struct job *j)
{
	struct fill *f = CONTAINER(j, struct fill, job);

#ifdef MADV_POPULATE_WRITE
	/* Before Linux 5.14 it fails, and each page is got at its first use. */
	(void)madvise(f->p, f->bytes, MADV_POPULATE_WRITE);
#else
	(void)f;
#endif
}

void
pages_fill(void *pages, size_t bytes, unsigned threads)
{
	struct fill fills[PAGES_FILL_THREADS_MAX];
	unsigned n = MIN(threads, PAGES_FILL_THREADS_MAX);

	if (n == 0)
		return;
	struct pool *pool = pool_new(n);
	size_t each = (bytes / n + FILL_ALIGN) & ~(FILL_ALIGN - 1), at = 0;
	for (unsigned i = 0; at < bytes; i++, at += each) {
		fills[i] = (struct fill){ .job.run = fill_some,
		    .p = (unsigned char *)pages + at,
		    .bytes = MIN(each, bytes - at) };
		pool_submit(pool, &fills[i].job);
	}
	pool_free(&pool);
}

void
pages_free(void *p, size_t bytes)
{
	CHECK(munmap(p, bytes) == 0);
}

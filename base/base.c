#include "base/base.h"

NORETURN void
check_failed(const char *file, int line, const char *cond)
{
	fprintf(stderr, "argiope: %s:%d: broken invariant: %s\n", file, line,
	    cond);
	abort();
}

static void *
must_have(void *p, size_t n, size_t size)
{
	if (p == NULL && n != 0 && size != 0) {
		fprintf(stderr, "argiope: out of memory (%zu x %zu bytes)\n", n,
		    size);
		abort();
	}
	return p;
}

void *
mem_new(size_t size)
{
	/* Never NULL, even for nothing. */
	return must_have(calloc(1, MAX(size, 1)), 1, MAX(size, 1));
}

void *
mem_array(size_t n, size_t size)
{
	return must_have(calloc(n, size), n, size);
}

void *
mem_resize(void *p, size_t n, size_t size)
{
	return must_have(reallocarray(p, n, size), n, size);
}

void *
mem_room(void *p, size_t n, size_t *cap, size_t first, size_t size)
{
	if (n < *cap)
		return p;
	*cap = *cap == 0 ? first : 2 * *cap;
	return mem_resize(p, *cap, size);
}

char *
mem_copy_text(const char *s)
{
	return must_have(strdup(s), 1, 1);
}

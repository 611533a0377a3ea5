#include "script/web/counted.h"

#include <lexbor/core/core.h>
#include <lexbor/core/lexbor.h>

/* Before each block: its size, and the runtime that it counts against. */
struct head {
	size_t size;
	JSRuntime *rt;               /* NULL: the system's */
};

static _Thread_local struct {
	JSRuntime *rt;               /* NULL: outside */
	unsigned depth;
	size_t over;                 /* bytes served beyond the limit */
	bool breached;
} now;

static struct head *
head_of(void *p)
{
	return (struct head *)p - 1;
}

/* A block of the system's for a request that the heap refused. */
static void *
take_beyond(size_t size)
{
	now.breached = true;
	if (size > COUNTED_SLACK_BYTES - now.over)
		return NULL;
	now.over += size;
	return malloc(sizeof(struct head) + size);
}

void *
counted_malloc(size_t size)
{
	struct head *h = NULL;
	JSRuntime *rt = now.rt;

	if (size > SIZE_MAX / 2)
		return NULL;
	if (rt != NULL)
		h = js_malloc_rt(rt, sizeof(*h) + size);
	if (h == NULL) {
		h = rt != NULL ? take_beyond(size) : malloc(sizeof(*h) + size);
		rt = NULL;
	}
	if (h == NULL)
		return NULL;
	*h = (struct head){ .size = size, .rt = rt };
	return h + 1;
}

static void *
counted_calloc(size_t n, size_t size)
{
	if (size != 0 && n > SIZE_MAX / 2 / size)
		return NULL;
	void *p = counted_malloc(n * size);
	if (p != NULL)
		memset(p, 0, n * size);
	return p;
}

void
counted_free(void *p)
{
	if (p == NULL)
		return;
	struct head *h = head_of(p);
	if (h->rt != NULL)
		js_free_rt(h->rt, h);
	else
		free(h);
}

void *
counted_realloc(void *p, size_t size)
{
	if (p == NULL)
		return counted_malloc(size);
	if (size > SIZE_MAX / 2)
		return NULL;
	struct head *h = head_of(p), *grown;
	if (h->rt != NULL) {
		grown = js_realloc_rt(h->rt, h, sizeof(*h) + size);
		if (grown != NULL) {
			grown->size = size;
			return grown + 1;
		}
	}
	void *to = counted_malloc(size);
	if (to == NULL)
		return NULL;
	memcpy(to, p, MIN(h->size, size));
	counted_free(p);
	return to;
}

void
counted_setup(void)
{
	CHECK(lexbor_memory_setup(counted_malloc, counted_realloc,
	    counted_calloc, counted_free) == LXB_STATUS_OK);
}

void
counted_enter(JSRuntime *rt)
{
	if (now.depth++ > 0)
		return;
	now.rt = rt;
	now.over = 0;
	now.breached = false;
}

void
counted_leave(void)
{
	CHECK(now.depth > 0);
	if (--now.depth == 0)
		now.rt = NULL;
}

bool
counted_breached(void)
{
	return now.breached;
}

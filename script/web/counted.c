#include "script/web/counted.h"

#include <lexbor/core/core.h>
#include <lexbor/core/lexbor.h>

#include "base/list.h"

/* Before each block. */
struct head {
	struct list link;            /* of `now.blocks`; alone: made outside */
	size_t size;                 /* what it has room for */
	JSRuntime *rt;               /* that it counts against; NULL: nothing */
};

static _Thread_local struct {
	JSRuntime *rt;               /* NULL: outside */
	struct list blocks;          /* made since the outermost enter */
	unsigned depth;
	size_t over;                 /* bytes served beyond the limit */
	bool breached;
} now;

static struct head *
head_of(void *p)
{
	return (struct head *)p - 1;
}

/* Larger blocks grow by an eighth. */
#define GROW_BYTES 65536u

static void
free_head(struct head *h)
{
	list_take(&h->link);
	if (h->rt != NULL)
		js_free_rt(h->rt, h);
	else
		free(h);
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
	h->size = size;
	h->rt = rt;
	list_init(&h->link);
	if (now.depth > 0)
		list_put(&now.blocks, &h->link);
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
	if (p != NULL)
		free_head(head_of(p));
}

void *
counted_realloc(void *p, size_t size)
{
	if (p == NULL)
		return counted_malloc(size);
	if (size > SIZE_MAX / 2)
		return NULL;
	struct head *h = head_of(p), *grown = NULL;
	if (size <= h->size && size >= h->size / 2)
		return p;
	/* lexbor asks for 4 KiB more again and again. */
	if (h->size >= GROW_BYTES && size > h->size)
		size += size / 8;
	struct list *after = h->link.next;
	bool alone = after == &h->link;
	if (h->rt != NULL) {
		list_take(&h->link);
		grown = js_realloc_rt(h->rt, h, sizeof(*h) + size);
		h = grown == NULL ? h : grown;
		list_init(&h->link);
		if (!alone)
			list_put(after, &h->link);
	}
	if (grown != NULL) {
		grown->size = size;
		return grown + 1;
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
	list_init(&now.blocks);
	now.over = 0;
	now.breached = false;
}

void
counted_leave(void)
{
	CHECK(now.depth > 0);
	if (--now.depth > 0)
		return;
	now.rt = NULL;
	/* Where memory ran out lexbor loses some of its blocks. */
	while (!list_empty(&now.blocks))
		free_head(LIST_ITEM(now.blocks.next, struct head, link));
}

bool
counted_breached(void)
{
	return now.breached;
}

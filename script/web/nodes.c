#include "script/web/nodes.h"

void
nodes_free(struct nodes *l)
{
	js_free_rt(l->rt, l->at);
	*l = NODES_OF(l->rt);
}

void
nodes_put(struct nodes *l, uint32_t node)
{
	if (l->full || !region_room(l->rt, &l->at, l->n, &l->cap,
	    sizeof(*l->at))) {
		l->full = true;
		return;
	}
	l->at[l->n++] = node;
}

static int
by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

void
nodes_sort(struct nodes *l)
{
	bool sorted = true;
	uint32_t n = 0;

	for (uint32_t i = 1; i < l->n && sorted; i++)
		sorted = l->at[i - 1] < l->at[i];
	if (sorted)
		return;
	qsort(l->at, l->n, sizeof(*l->at), by_number);
	for (uint32_t i = 0; i < l->n; i++)
		if (n == 0 || l->at[n - 1] != l->at[i])
			l->at[n++] = l->at[i];
	l->n = n;
}

/* A place of the list: what stands there, and where. */
struct place {
	uint32_t node, index;
};

static int
by_node(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int
by_index(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

void
nodes_unique(struct nodes *l)
{
	struct place *p;
	uint32_t n = 0;

	if (l->n < 2 || l->full)
		return;
	p = js_malloc_rt(l->rt, l->n * sizeof(*p));
	if (p == NULL) {
		l->full = true;
		return;
	}
	for (uint32_t i = 0; i < l->n; i++)
		p[i] = (struct place){ l->at[i], i };
	qsort(p, l->n, sizeof(*p), by_node);
	for (uint32_t i = 0; i < l->n; i++)
		if (n == 0 || p[n - 1].node != p[i].node)
			p[n++] = p[i];
	qsort(p, n, sizeof(*p), by_index);
	for (uint32_t i = 0; i < n; i++)
		l->at[i] = p[i].node;
	l->n = n;
	js_free_rt(l->rt, p);
}

void
nodes_reverse(struct nodes *l)
{
	for (uint32_t i = 0, k = l->n; i + 1 < k; i++) {
		uint32_t node = l->at[i];
		l->at[i] = l->at[--k];
		l->at[k] = node;
	}
}

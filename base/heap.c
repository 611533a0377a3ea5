#include "base/heap.h"

static bool
before(const struct heap_node *a, const struct heap_node *b)
{
	return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static void
place(struct heap *h, size_t i, struct heap_node *n)
{
	h->nodes[i] = n;
	n->at = i + 1;
}

static void
sift_up(struct heap *h, size_t i, struct heap_node *n)
{
	while (i > 0 && before(n, h->nodes[(i - 1) / 4])) {
		place(h, i, h->nodes[(i - 1) / 4]);
		i = (i - 1) / 4;
	}
	place(h, i, n);
}

static void
sift_down(struct heap *h, size_t i, struct heap_node *n)
{
	for (;;) {
		size_t first = 4 * i + 1, least = first;
		if (first >= h->n)
			break;
		for (size_t k = first + 1; k < MIN(first + 4, h->n); k++)
			if (before(h->nodes[k], h->nodes[least]))
				least = k;
		if (!before(h->nodes[least], n))
			break;
		place(h, i, h->nodes[least]);
		i = least;
	}
	place(h, i, n);
}

void
heap_free(struct heap *h)
{
	mem_free(&h->nodes);
	h->n = h->cap = 0;
}

void
heap_take(struct heap *h, struct heap_node *n)
{
	if (n->at == 0)
		return;
	size_t i = n->at - 1;
	CHECK(i < h->n && h->nodes[i] == n);
	struct heap_node *last = h->nodes[--h->n];
	n->at = 0;
	if (last == n)
		return;
	if (i > 0 && before(last, h->nodes[(i - 1) / 4]))
		sift_up(h, i, last);
	else
		sift_down(h, i, last);
}

void
heap_put(struct heap *h, struct heap_node *n, int64_t key, uint64_t tie)
{
	heap_take(h, n);
	h->nodes = mem_room(h->nodes, h->n, &h->cap, 16, sizeof(*h->nodes));
	n->key = key;
	n->tie = tie;
	h->n++;
	sift_up(h, h->n - 1, n);
}

struct heap_node *
heap_first(const struct heap *h)
{
	return h->n == 0 ? NULL : h->nodes[0];
}

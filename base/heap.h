/*
 * heap -- an intrusive 4-ary min-heap over 64-bit keys: timers, hosts by next
 * fetch, queues by turn.  Equal keys leave in the order of `tie`.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include "base/base.h"

struct heap_node {
	int64_t key;
	uint64_t tie;
	size_t at;                 /* place + 1; 0: in no heap */
};
struct heap {
	struct heap_node **nodes;
	size_t n, cap;
};
#define HEAP_INIT ((struct heap){ NULL, 0, 0 })

void heap_free(struct heap *);  /* the table, not the nodes */
/* Put the node, or move it when it is in the heap already. */
void heap_put(struct heap *, struct heap_node *, int64_t key, uint64_t tie);
void heap_take(struct heap *, struct heap_node *);  /* harmless when out */
struct heap_node *heap_first(const struct heap *);  /* NULL when empty */
static inline bool
heap_holds(const struct heap_node *n)
{
	return n->at != 0;
}

#endif

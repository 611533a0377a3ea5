/*
 * nodes -- a list of nodes of one document, by their numbers.
 *
 * Sticky: once the heap's limit is met nothing more is put, and `full` stays
 * true.
 *
 * Thread: the runtime's.
 */
#ifndef SCRIPT_WEB_NODES_H
#define SCRIPT_WEB_NODES_H

#include "script/web/region.h"

struct nodes {
	JSRuntime *rt;
	uint32_t *at;
	uint32_t n, cap;
	bool full;
};
#define NODES_OF(runtime) ((struct nodes){ .rt = (runtime) })

/* Mark a number in an array of bits; whether it was not marked before. */
static inline bool
nodes_mark(uint64_t *bits, uint32_t node)
{
	uint64_t bit = (uint64_t)1 << (node % 64);
	bool is_new = (bits[node / 64] & bit) == 0;

	bits[node / 64] |= bit;
	return is_new;
}
#define NODES_WORDS(n) ((size_t)(n) / 64 + 1)

/* Gives the memory back; the list is empty then. */
void nodes_free(struct nodes *);
void nodes_put(struct nodes *, uint32_t);
/* Into document order, each once. */
void nodes_sort(struct nodes *);
/* Each once, in the order of their first places. */
void nodes_unique(struct nodes *);
void nodes_reverse(struct nodes *);

#endif

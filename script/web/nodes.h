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

void nodes_free(struct nodes *);
void nodes_put(struct nodes *, uint32_t);
/* Into document order, each once. */
void nodes_sort(struct nodes *);
/* Each once, in the order of their first places. */
void nodes_unique(struct nodes *);
void nodes_reverse(struct nodes *);

#endif

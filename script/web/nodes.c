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

/*
 * A bit for each number up to the largest; NULL when the limit is met.  Sorting
 * by it is linear, and asks the system nothing, as qsort() would.
 */
static uint64_t *
new_bits(struct nodes *l, size_t *words)
{
	uint32_t max = 0;

	for (uint32_t i = 0; i < l->n; i++)
		max = MAX(max, l->at[i]);
	*words = NODES_WORDS(max);
	uint64_t *bits = js_mallocz_rt(l->rt, *words * sizeof(*bits));
	l->full = l->full || bits == NULL;
	return bits;
}

void
nodes_sort(struct nodes *l)
{
	bool sorted = true;
	size_t words;
	uint32_t n = 0;

	for (uint32_t i = 1; i < l->n && sorted; i++)
		sorted = l->at[i - 1] < l->at[i];
	if (sorted || l->full)
		return;
	uint64_t *bits = new_bits(l, &words);
	if (bits == NULL)
		return;
	for (uint32_t i = 0; i < l->n; i++)
		(void)nodes_mark(bits, l->at[i]);
	for (size_t w = 0; w < words; w++)
		for (uint64_t left = bits[w]; left != 0; left &= left - 1)
			l->at[n++] = (uint32_t)(w * 64) +
			    (uint32_t)__builtin_ctzll(left);
	l->n = n;
	js_free_rt(l->rt, bits);
}

void
nodes_unique(struct nodes *l)
{
	size_t words;
	uint32_t n = 0;

	if (l->n < 2 || l->full)
		return;
	uint64_t *bits = new_bits(l, &words);
	if (bits == NULL)
		return;
	for (uint32_t i = 0; i < l->n; i++)
		if (nodes_mark(bits, l->at[i]))
			l->at[n++] = l->at[i];
	l->n = n;
	js_free_rt(l->rt, bits);
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

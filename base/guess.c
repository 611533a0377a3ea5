#include "base/guess.h"

size_t
guess_distance(struct str a, struct str b)
{
	size_t rows[3][GUESS_NAME_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2], *spare;

	if (a.n > GUESS_NAME_MAX || b.n > GUESS_NAME_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= b.n; k++)
		last[k] = k;
	for (size_t i = 1; i <= a.n; i++) {
		row[0] = i;
		for (size_t k = 1; k <= b.n; k++) {
			size_t change = a.p[i - 1] != b.p[k - 1];
			row[k] = MIN(MIN(last[k], row[k - 1]) + 1,
			    last[k - 1] + change);
			if (i > 1 && k > 1 && a.p[i - 1] == b.p[k - 2] &&
			    a.p[i - 2] == b.p[k - 1])
				row[k] = MIN(row[k], before[k - 2] + 1);
		}
		spare = before;
		before = last;
		last = row;
		row = spare;
	}
	return last[b.n];
}

void
guess_look(struct guess *n, const char *name)
{
	size_t d = guess_distance(n->wrong, str_of(name));
	/* A third of the letters may be wrong; beyond that it is a guess. */
	size_t enough = MAX(n->wrong.n, strlen(name)) / 3;

	if (d > enough || (n->best != NULL && d >= n->distance))
		return;
	n->best = name;
	n->distance = d;
}

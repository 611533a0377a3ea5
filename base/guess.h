/*
 * guess -- which known name somebody may have meant.
 *
 * Pure.  Names longer than GUESS_NAME_MAX are near to nothing, so that the cost
 * of a hostile one is bounded.
 */
#ifndef BASE_GUESS_H
#define BASE_GUESS_H

#include "base/bytes.h"

#define GUESS_NAME_MAX 64

/*
 * How many slips lead from one name to the other: a letter put in, left out or
 * changed, or two neighbours swapped.  SIZE_MAX when a name is too long.
 */
size_t guess_distance(struct str, struct str);

/*
 * Keeps the nearest of the names that it is shown.  Start with { wrong name,
 * NULL, 0 }; `best` stays NULL while none is near enough to be suggested.
 */
struct guess {
	struct str wrong;
	const char *best;
	size_t distance;       /* of the best */
};
void guess_look(struct guess *, const char *name);

#endif

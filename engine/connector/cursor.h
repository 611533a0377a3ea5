/*
 * cursor -- the place in a list that a platform names by a text of its own, and
 * whether that place comes a second time.
 *
 * A list that leads back to where it was would be read for ever.  One of the
 * places is remembered, and exchanged for the present one after 1, 2, 4, 8 ...
 * steps (R. P. Brent's way of finding a cycle): so a cycle is found within
 * three times its length, and a list of any length takes the memory of two
 * places.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_CURSOR_H
#define ENGINE_CONNECTOR_CURSOR_H

#include "base/bytes.h"

#define CURSOR_BYTES_MAX 4096u

/* Zeroed, it is at the beginning of a list. */
struct cursor {
	struct buf at;               /* empty: the beginning */
	struct buf kept;
	uint64_t steps, steps_max;   /* since `kept` was the present one */
};

void cursor_free(struct cursor *);
/* Back to the beginning of a list. */
void cursor_begin(struct cursor *);
/* Go to the next place.  False: it is none, longer than CURSOR_BYTES_MAX, or
 * comes again. */
bool cursor_move(struct cursor *, struct str next);
void cursor_save(const struct cursor *, struct buf *);
/* False: it is none that was saved. */
bool cursor_load(struct cursor *, struct reader *);

#endif

/*
 * bluesky_known -- which commits of a stream have come, so that each counts
 * once: hashes of the last 6,000, some 5 s of all that is written.
 *
 * Thread: one at a time.  Part of a run; nothing to free.
 */
#ifndef ENGINE_CONNECTOR_BLUESKY_BLUESKY_KNOWN_H
#define ENGINE_CONNECTOR_BLUESKY_BLUESKY_KNOWN_H

#include "base/bytes.h"

#define BLUESKY_KNOWN_MAX 6000u
#define BLUESKY_KNOWN_LISTS 8192u

struct bluesky_known {
	uint64_t hashes[BLUESKY_KNOWN_MAX];      /* a ring */
	size_t n, at;
	/* By a hash's lower bits the newest of a list, and of each in it the
	 * next older one: 1 + its place in the ring; 0: none. */
	uint16_t newest[BLUESKY_KNOWN_LISTS], older[BLUESKY_KNOWN_MAX];
};

/* Whether it has come; from now on it has. */
bool bluesky_known_take(struct bluesky_known *, uint64_t hash);
/* As part of a checkpoint. */
void bluesky_known_save(const struct bluesky_known *, struct buf *);
/* Read to the end of the text; false: it is none.  Then nothing is known. */
bool bluesky_known_load(struct bluesky_known *, struct reader *);

#endif

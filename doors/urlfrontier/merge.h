/*
 * merge -- the sorted entries of several sources as one sorted stream, and the
 * page of it that somebody asked for.
 *
 *     source ─► its next ─┐
 *     source ─► its next ─┼─► the first of them, when each has one or is over
 *     source ─► its next ─┘
 *
 * Order: by key, date and URL; keys and URLs by their bytes.  Of equal ones any
 * may be the first.  It holds one entry of each source, and those are lent.
 *
 * Thread: one at a time.
 */
#ifndef DOORS_URLFRONTIER_MERGE_H
#define DOORS_URLFRONTIER_MERGE_H

#include "base/bytes.h"

enum merge_state { MERGE_WAITS, MERGE_HERE, MERGE_OVER };

struct merge_source {
	/*
	 * Go to the next entry.  HERE: it is in the fields below, which stand
	 * until the next call.  WAITS: ask again later.  OVER: for good.
	 */
	enum merge_state (*next)(struct merge_source *);
	struct str key, url;
	uint64_t date;
	/* The merge's own. */
	enum merge_state state;
};

struct merge {
	/* The asker's: entries before the page, and entries in it. */
	uint64_t skip, size;
	bool once;                   /* equal keys are one entry */
	/* Nothing more will come: the page is full, or all are over. */
	bool over;
	/* Its own. */
	struct merge_source **sources;
	size_t n;
	struct merge_source *first, *second;
	struct buf last;             /* once: the key before */
	bool any;
};

/* Begin zeroed.  A source is the asker's and outlives the merge. */
void merge_add(struct merge *, struct merge_source *);
void merge_free(struct merge *);

/*
 * The first entry of all, to be looked at and then taken.  NULL: it is over, or
 * a source waits.
 */
struct merge_source *merge_first(struct merge *);
/* Once for each: whether it is in the page. */
bool merge_wants(struct merge *, const struct merge_source *first);
/* Go on behind it. */
void merge_take(struct merge *);

#endif

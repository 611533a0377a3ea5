/*
 * pace -- when statuses may leave that are not urgent: at most one in a while
 * for the whole door, each harvest in its turn.
 *
 * sfm-ui sleeps one second for each message, so that a faster pace would only
 * make its queue longer.  What a status says is read when it leaves; so one
 * that waits is always the newest, and a harvest waits once, however much
 * changes.
 *
 * Thread: one at a time; pure.
 * Source: contracts/harvest.md §5, Pace.
 */
#ifndef DOORS_HARVEST_PACE_H
#define DOORS_HARVEST_PACE_H

#include "base/list.h"
#include "base/time.h"

struct pace {
	int64_t ms_min;              /* harvest.status_ms_min */
	struct mono next;            /* before it none leaves */
	struct list waiting;         /* struct pace_turn, the longest first */
};

/* Of one harvest. */
struct pace_turn {
	struct list node;
	bool waits;
};

void pace_init(struct pace *, int64_t ms_min);
void pace_turn_init(struct pace_turn *);
/* It has something to say; again is no error. */
void pace_ask(struct pace *, struct pace_turn *);
/* It has nothing to say any more. */
void pace_leave(struct pace_turn *);
/*
 * The one that may speak at `now`, which waits no longer; NULL: none.  Then
 * `*again` is when to ask, MONO_NEVER when none waits.
 */
struct pace_turn *pace_next(struct pace *, struct mono now,
    struct mono *again);

#endif

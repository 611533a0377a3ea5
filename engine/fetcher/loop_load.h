/*
 * loop_load -- how much of its time a loop needs for its own hosts and pages,
 * measured by the loop for others to see.
 *
 *     turn:   |----- own -----|-- lent --|-- own --|   waits   |
 *     load:   own / (own + lent + waits), over LOOP_LOAD_MS and more
 *
 * Thread: the loop's, but for the functions that say "any".
 * Limits: LOOP_LOAD_MS, LOOP_LOAD_STALE_MS.
 */
#ifndef ENGINE_FETCHER_LOOP_LOAD_H
#define ENGINE_FETCHER_LOOP_LOAD_H

#include <stdatomic.h>

#include "base/time.h"

/* A measurement takes at least so long. */
#define LOOP_LOAD_MS 4
/* A loop that has measured nothing for so long waits for events. */
#define LOOP_LOAD_STALE_MS (4 * LOOP_LOAD_MS)

/* A loop that has never had a turn: all 0. */
struct loop_load {
	struct mono since;               /* this measurement's begin */
	int64_t work_ns;                 /* in turns since then */
	int64_t lent_ns;                 /* of that, on pages of other loops */
	atomic_uint permille;            /* the last measurement's result */
	_Atomic int64_t measured_ns;     /* ... and its end */
};

/* A turn of the loop began and ended. */
void loop_load_turn(struct loop_load *, struct mono begin, struct mono end);
/* In this turn, so much went to a page of another loop. */
void loop_load_lent(struct loop_load *, struct mono begin, struct mono end);
/* The last measurement, in permille.  Thread: any. */
unsigned loop_load_permille(const struct loop_load *);
/*
 * The loop has time for the pages of one with this load: it has at most half of
 * that itself, so that no two loops work for each other.  Thread: any.
 */
bool loop_load_is_idle(const struct loop_load *, unsigned beside_permille,
    struct mono now);

#endif

/*
 * world_testing -- the world of tests that live on one loop: the disk of
 * file_fake, a clock that stands until the test moves it, and random bytes that
 * are the same in every run.
 *
 * Thread: the test's only.
 */
#ifndef OS_WORLD_TESTING_H
#define OS_WORLD_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/clock.h"
#include "os/file_fake.h"
#include "os/loop.h"
#include "os/pool.h"

struct world {
	struct mono mono;
	int64_t ahead_us;            /* of the wall clock; tests set it */
	int64_t look_us;             /* each look at it takes so long */
	int64_t look_ns;             /* each look at the other clock does */
	uint64_t random;             /* bytes given out */
	bool stopped;                /* the power is off: no loop moves */
};
extern struct world world;

int world_setup(void **state);       /* cmocka's */
int world_teardown(void **state);
/* Everything anew: another disk, empty and without faults; the first second. */
void world_begin(void);
/* Deliver mail and finish jobs until nothing moves.  pool NULL: none. */
void world_run(struct loop *, struct pool *);
/* Time goes on by so much, timers fire one after the other. */
void world_pass(struct loop *, struct pool *, int64_t ms);
/* A power cut or a kill; the faults end, and the next moment comes. */
void world_crash(bool power);

#endif

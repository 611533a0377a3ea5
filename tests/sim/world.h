/*
 * world -- what the simulators share: one thread, a virtual clock, an invented
 * disk, random numbers from a seed, and a hash of all that happened.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "base/err.h"
#include "base/time.h"
#include "os/loop.h"

struct engine;

extern struct sim_world {
	uint64_t random;
	struct mono mono;
	struct wall wall;
	uint64_t trace;
	struct loop *home;
	struct engine *engine;
	void (*freed)(void);         /* the engine was, the loop is not; NULL */
} sim_world;

/* A new world from the seed: its clock and disk are in use from now on. */
void sim_begin(uint64_t seed);
/* The real ones again. */
void sim_end(void);
uint64_t sim_random(void);
void sim_trace(const void *, size_t);
/* Anything but OK ends the program with a message. */
void sim_must(enum err, const struct why *);
/* One turn; when all is quiet, time goes on to the next timer. */
void sim_step(void);
/* The engine is freed, then what hangs on it, then the loop. */
void sim_free(void);
/* The engine is killed, or the power goes; the loop goes with it. */
void sim_crash(bool power);
/* The option's number. */
uint64_t sim_number(int argc, char **argv, const char *name,
    uint64_t otherwise);

#endif

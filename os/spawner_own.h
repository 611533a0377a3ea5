/*
 * spawner_own -- what the two ends of a spawner's socket say, a datagram each.
 */
#ifndef OS_SPAWNER_OWN_H
#define OS_SPAWNER_OWN_H

#include "os/sandbox.h"

enum { SPAWNER_FORK = 1, SPAWNER_KILL = 2 };
struct spawner_order {
	uint32_t op, id;
	struct sandbox_plan plan;      /* of SPAWNER_FORK, with a socket */
};

enum { SPAWNER_STARTED = 1, SPAWNER_ENDED = 2 };
struct spawner_notice {
	uint32_t op, id;
	int64_t value;                 /* process number, status */
};

#endif

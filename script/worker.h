/*
 * worker -- the program's hidden life as the spawner of script processes, and
 * as one of them.
 *
 * main() calls script_worker_is() before it reads anything, and
 * script_worker_main() when that is true.
 */
#ifndef SCRIPT_WORKER_H
#define SCRIPT_WORKER_H

#include "base/base.h"

/* The word by which the daemon starts this program anew. */
#define SCRIPT_WORKER_WORD "script-worker"

/* Whether these are the arguments of a spawner; its life, to the end. */
bool script_worker_is(int argc, char *const *argv);
NORETURN void script_worker_main(void);

/* For tests: a process's life with another beginning; see worker_testing.h. */
void script_worker_prepare(void);
struct why;
void script_worker_work(unsigned layers, const struct why *broken);

#endif

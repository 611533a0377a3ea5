/*
 * spawner -- a process that starts sandboxed processes for this one.
 *
 * It is this program, executed anew with an empty environment and one socket,
 * so that nothing that the daemon has read or opened is in its memory.  Its
 * children are forks of it, each behind os/sandbox.h with a socket of its own.
 *
 *     daemon ──orders──► spawner ──fork──► process
 *        ▲    ◄─notices─    │                │ descriptor 0
 *        └──────────────────┼────────────────┘
 *               end of the socket: it exits, and its children with it
 *
 * Thread: spawner_start() and what takes a struct spawner: the loop's.
 */
#ifndef OS_SPAWNER_H
#define OS_SPAWNER_H

#include "os/loop.h"
#include "os/sandbox.h"

struct spawner;

struct spawner_events {
	/* A process exists; the kernel knows it by this number. */
	void (*on_started)(void *arg, uint32_t id, int64_t pid);
	/* It has ended; `status` is waitpid(2)'s.  Its number is free. */
	void (*on_ended)(void *arg, uint32_t id, int status);
	/* The spawner has ended by itself, and all its processes with it. */
	void (*on_gone)(void *arg);
};

/*
 * Start it: this program with the words `argv`, ended by NULL.  The program's
 * main() must come to spawner_serve() before it does anything else.
 * Errors: IO when no process can be started.
 */
MUST_USE enum err spawner_start(struct loop *, const char *const *argv,
    const struct spawner_events *, void *arg, struct spawner **, struct why *);
/* Ends all of its processes; on_gone is not called. */
void spawner_stop(struct spawner **);
/*
 * Have a process started whose descriptor 0 is `*fd`, which is closed here and
 * emptied.  on_started follows, or on_ended when it could not be started.
 * Errors: FULL, try again later; CLOSED when the spawner is gone.
 */
MUST_USE enum err spawner_fork(struct spawner *, uint32_t id, int *fd,
    const struct sandbox_plan *, struct why *);
/* Kill one that was started; on_ended follows.  Unknown numbers do no harm. */
void spawner_kill(struct spawner *, uint32_t id);

/* Whether a process ended by a signal: its number, or 0. */
int spawner_signal(int status);
bool spawner_signal_is_sigsys(int number);
bool spawner_signal_is_sigkill(int number);
/* The status of one that was killed, as all are when their spawner ends. */
int spawner_killed(void);

/*
 * In the spawner itself: serve the socket at descriptor 0 until it ends.
 * `prepare` runs once, before any process is forked, with all means of an
 * ordinary process; what it opens must be closed again.  `work` is the whole
 * life of a process; it gets the layers that hold, or the reason why it is not
 * in a sandbox, in which case it must not do anything but report that.
 */
struct spawner_work {
	void (*prepare)(void);
	void (*work)(unsigned layers, const struct why *broken);
};
NORETURN void spawner_serve(const struct spawner_work *);

#endif

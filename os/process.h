/*
 * process -- run a command and wait for it.
 *
 * There is no shell.  The command gets /dev/null as its standard input, its
 * signals as they are by default, a process group of its own, and of the
 * environment PATH, HOME, LANG and TZ alone.
 *
 * Thread: any; process_run() blocks.
 */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/err.h"

/* More of the standard output is read and discarded. */
#define PROCESS_OUT_MAX 4096u
/* Between SIGTERM and SIGKILL. */
#define PROCESS_GRACE_MS 5000

struct process {
	const char *const *argv;       /* NULL at the end; found by PATH */
	int64_t ms_max;                /* then it is ended */
	const atomic_bool *stop;       /* end it once this is set; or NULL */
	/* Set by process_run(). */
	struct buf out;                /* the caller frees it */
	char error[256];               /* last line of its standard error */
	bool timed_out, stopped;
	int code;                      /* exit code; 128 + signal */
};

/*
 * OK when the command ended by itself with code 0.  Errors: ABSENT, DENIED or
 * IO when it cannot be started; STATE, with the reason, when it failed or was
 * ended.
 */
MUST_USE enum err process_run(struct process *, struct why *);

#endif

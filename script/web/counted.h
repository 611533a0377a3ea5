/*
 * counted -- lexbor and expat take their memory from a script's heap.
 *
 * lexbor has one set of memory functions for the process.  Between
 * counted_enter() and counted_leave() they take from the given runtime, and
 * what was taken is gone afterwards; outside of that they take from the system.
 * A request beyond the heap's limit sets `breached` and is served by the system
 * all the same, up to COUNTED_SLACK_BYTES, so that the library is not led onto
 * its rarely used paths for failed allocations; the caller looks at
 * counted_breached() often and gives up.
 *
 * Thread: the state is each thread's own, the functions are the process's.
 */
#ifndef SCRIPT_WEB_COUNTED_H
#define SCRIPT_WEB_COUNTED_H

#include <quickjs.h>

#include "base/base.h"

#define COUNTED_SLACK_BYTES (8u << 20)

/*
 * Set lexbor's memory functions; once is enough, more do no harm.  Call it
 * before the process makes its first lexbor object that outlives a call.
 */
void counted_setup(void);
/* Calls nest; the inner ones change nothing. */
void counted_enter(JSRuntime *);
void counted_leave(void);
/* The limit was met since the outermost counted_enter(). */
bool counted_breached(void);

/* malloc(), realloc() and free() in that sense, for expat. */
void *counted_malloc(size_t);
void *counted_realloc(void *, size_t);
void counted_free(void *);

#endif

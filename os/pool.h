/*
 * pool -- a few threads for what blocks or is heavy.
 *
 * A job runs on one of them and comes back as mail to its home loop.  Without
 * threads (a simulator) it runs at once, and still comes back as mail.
 *
 * Thread: pool_submit() any; new and free the owner's; finish any but the
 * pool's own.
 */
#ifndef OS_POOL_H
#define OS_POOL_H

#include "os/loop.h"

struct pool;
struct job {
	struct mail mail;                 /* to `home`: deliver() is "done" */
	struct job *next;
	struct loop *home;                /* NULL: nobody waits, run() frees */
	void (*run)(struct job *);        /* on the pool */
};

struct pool *pool_new(unsigned threads);
void pool_free(struct pool **);           /* finishes what was submitted */
/*
 * The same, but for a job that takes longer than that: then the pool and its
 * threads are left to themselves, for the end of the process, and it returns
 * false.  What jobs use must stay; home is not told of them any more.
 */
bool pool_free_within(struct pool **, int64_t ms);
void pool_submit(struct pool *, struct job *);
size_t pool_waiting(struct pool *);       /* jobs submitted and not begun */
void pool_finish(struct pool *);          /* wait until none waits or runs */

#endif

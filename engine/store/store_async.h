/*
 * store_async -- the store on a thread of its own.
 *
 *     home ──put──► the store's thread: run() ──mail──► home: done()
 *
 * Jobs run one after the other, in the order in which they were put.
 *
 * It also watches the store's version, once for everybody who keeps rows in
 * memory: every poll_ms, and before and after each job, it asks whether anybody
 * has committed (another process, another opening of the store, or a job), and
 * calls the watches.
 *
 * Thread: home's, except where a comment says otherwise.
 * Story:  engine/store/DESIGN.md
 */
#ifndef ENGINE_STORE_STORE_ASYNC_H
#define ENGINE_STORE_STORE_ASYNC_H

#include "base/list.h"
#include "engine/store/store.h"
#include "os/pool.h"

struct store_async;

struct store_async_options {
	struct store *store;         /* taken: closed by store_async_close() */
	struct loop *home;
	size_t *busy;                /* jobs put and not done; or NULL */
	unsigned poll_ms;            /* between two polls; 0: 1,000 */
	bool no_threads;             /* a simulator: jobs run at once */
};

/* It cannot fail. */
struct store_async *store_async_new(const struct store_async_options *);
/* Finish the jobs that were put, without their done().  NULL is allowed. */
void store_async_close(struct store_async **);

/* Embedded in what the job works on. */
struct store_job {
	struct job job;
	struct store_async *async;
	void (*run)(struct store_job *, struct store *);  /* store's thread */
	void (*done)(struct store_job *);
};
void store_async_put(struct store_async *, struct store_job *);

/*
 * look() runs on the store's thread: at every poll, and at once when something
 * has changed.  `changed`: somebody has committed since the call before, or the
 * version could not be read, so that nobody can tell.
 */
struct store_watch {
	struct list node;
	void (*look)(struct store_watch *, struct store *, bool changed);
};
/* Both wait for the jobs that were put: no look() runs meanwhile. */
void store_async_watch(struct store_async *, struct store_watch *);
void store_async_unwatch(struct store_async *, struct store_watch *);

/*
 * The store itself: for steps of requests on its thread, and at home while no
 * job can run (before the first is put, and in the turn of the loop that called
 * store_async_watch() or store_async_unwatch()).
 */
struct store *store_async_store(struct store_async *);
/* The one thread, for steps of requests (AT_STORE). */
struct pool *store_async_pool(struct store_async *);

#endif

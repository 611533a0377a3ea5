/*
 * store_async -- the store, on a thread of its own.  Private to engine/.
 *
 * Jobs run one after the other, in the order in which they were put.
 *
 * Thread: home's, but for what run() does.
 */
#ifndef ENGINE_CONTROL_STORE_ASYNC_H
#define ENGINE_CONTROL_STORE_ASYNC_H

#include "engine/store/store.h"
#include "os/pool.h"

struct engine;

struct store_async_job {
	struct job job;
	struct engine *engine;
	/* On the store_async's thread; of the engine it reads only settings. */
	void (*run)(struct store_async_job *, struct store *);
	void (*done)(struct store_async_job *);    /* at home */
};
struct store_async;
/* Errors: those of store_open(). */
MUST_USE enum err store_async_open(
    struct engine *, struct store_async **, struct why *);
void store_async_close(struct store_async **);
/* The engine is busy until done(). */
void store_async_put(struct engine *, struct store_async_job *);
/* For its thread, and before anything was put. */
struct store *store_async_store(struct store_async *);
/* The one thread, for steps of requests (AT_STORE). */
struct pool *store_async_pool(struct store_async *);

#endif

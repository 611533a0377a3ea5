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

struct shelf_job {
	struct job job;
	struct engine *engine;
	/* On the shelf's thread; of the engine it reads only settings. */
	void (*run)(struct shelf_job *, struct store *);
	void (*done)(struct shelf_job *);    /* at home */
};
struct shelf;
/* Errors: those of store_open(). */
MUST_USE enum err shelf_open(struct engine *, struct shelf **, struct why *);
void shelf_close(struct shelf **);
/* The engine is busy until done(). */
void shelf_put(struct engine *, struct shelf_job *);
/* Before anything was put. */
struct store *shelf_store(struct shelf *);

#endif

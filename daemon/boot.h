/*
 * boot -- opens a daemon's engine on a thread of its own, while the main loop
 * answers requests at the daemon's ports.
 *
 *     opening_start ─► engine_read()  ─► read() on the main loop: lists and
 *                                        captures can be served
 *                   ─► engine_load(), engine_continue() of each crawl
 *                                     ─► done() on the main loop:
 *                                        engine_start()
 *
 * Thread: the main loop's.
 */
#ifndef DAEMON_BOOT_H
#define DAEMON_BOOT_H

#include "engine/control/control.h"
#include "os/pool.h"

struct opening {
	/* The caller's. */
	struct engine *engine;           /* of engine_lock() */
	struct loop *home;
	void (*read)(void *arg);
	void (*done)(void *arg);
	void *arg;
	atomic_uint_fast64_t urls_loaded;   /* for engine_options */
	/* Valid in done(): with an error the engine must not be started; where
	 * read() was not called it can be freed. */
	struct why why;
	/* Its own. */
	bool was_read, over;
	uint64_t urls;                   /* that will be loaded */
	atomic_bool stopping;
	struct pool *pool;
	struct job job;
};

/* The object stays where it is until done() was called. */
void opening_start(struct opening *);
/* Continue no further crawl; done() comes when the step under way has ended. */
void opening_stop(struct opening *);
/* Append "loading, 40 %"; false, and nothing, behind done(). */
bool opening_put(const struct opening *, struct buf *);
/* After done(), or when opening_start() was not called. */
void opening_free(struct opening *);

#endif

/*
 * read_task -- work that reads the index or WARC files, on the pool.
 *
 *     main loop: the task waits ─► (a reader is free) ─► pool: run()
 *         ─► main loop: done()
 *
 * At most READ_TASKS_MAX tasks run at a time, each with a record_reader of its
 * own, so that no reader needs a lock.  Readers are kept, and give back what
 * they hold some time after their last use.
 *
 * Owns:    the readers, and tasks between read_task_put() and done().
 * Thread:  the main loop's, but for run().
 * Limits:  READ_TASKS_MAX.
 */
#ifndef ENGINE_CATALOG_READ_TASK_H
#define ENGINE_CATALOG_READ_TASK_H

#include "base/list.h"
#include "engine/catalog/record_reader.h"
#include "os/loop.h"
#include "os/pool.h"

#define READ_TASKS_MAX 8u

struct read_tasks;
struct read_task {
	struct job job;
	struct list node;
	struct read_tasks *tasks;
	struct record_reader *reader;        /* while it runs */
	void (*run)(struct read_task *);     /* on the pool */
	void (*done)(struct read_task *);    /* may free the task */
};

struct read_tasks *read_tasks_new(struct loop *home, struct pool *,
    struct index *);
/* `closed` is called when no task waits or runs, which may be at once. */
void read_tasks_close(struct read_tasks *, void (*closed)(void *arg),
    void *arg);
void read_tasks_free(struct read_tasks **);   /* when no task runs */

/* The caller has set run and done. */
void read_task_put(struct read_tasks *, struct read_task *);
/* A task comes later: closing waits until it is let go. */
void read_tasks_hold(struct read_tasks *);
void read_tasks_let_go(struct read_tasks *);
/* As many tasks run as may. */
bool read_tasks_full(const struct read_tasks *);
/* Lend a reader to the main loop itself, for work that does not block. */
struct record_reader *read_tasks_lend(struct read_tasks *);
void read_tasks_give_back(struct read_tasks *, struct record_reader *);

/*
 * Memory that is kept for the next reader: run() frees what was not used for a
 * while, and returns whether anything is left.  It is called every few seconds
 * after the last reading, until nothing is left anywhere.
 */
struct trim {
	struct list node;
	bool (*run)(struct trim *, struct mono now);
};
void read_tasks_trim(struct read_tasks *, struct trim *);

#endif

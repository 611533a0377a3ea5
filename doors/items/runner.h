/*
 * runner -- what a configuration needs to be run: the requests of its tasks,
 * and the tasks of a module themselves (script/items/task_runner.h).
 *
 * Thread: home's.
 */
#ifndef DOORS_ITEMS_RUNNER_H
#define DOORS_ITEMS_RUNNER_H

#include "doors/items/items_door.h"

struct script_bundle;
struct task_fetcher;
struct task_runner;

/* Read the secrets and the key.  Errors: of secrets_load(), key_file_read(). */
MUST_USE enum err runner_open(struct items_door *, struct why *);
/* The engine runs: tasks can fetch. */
void runner_start(struct items_door *, struct engine *);
/* Run this configuration; before runner_start() it waits for that.  Without a
 * bundle it has no functions: only remote workers fetch by its rules.  Errors:
 * of task_runner_use(). */
MUST_USE enum err runner_use(struct items_door *, struct script_bundle *,
    struct str config, uint64_t generation, struct why *);
/* What requests go through; NULL: nothing can be fetched yet. */
struct task_fetcher *runner_fetcher(struct items_door *);
/* NULL: no scripts run here. */
struct task_runner *runner_tasks(struct items_door *);
/* Claim nothing more. */
void runner_stop(struct items_door *);
/* Calls `drained` when no run is under way, perhaps at once. */
void runner_drain(struct items_door *, void (*drained)(void *door));
void runner_free(struct items_door *);

#endif

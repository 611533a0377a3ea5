/*
 * task_service -- what a configuration needs to be run: the secrets, the key of
 * sessions, the fetcher of its tasks, and the runner of those that are
 * functions of a module.
 *
 *     open ─► start ─► use, as often as a configuration is loaded
 *          ─► stop ─► drain ─► free
 *
 * Thread: home's.
 * Story:  script/items/DESIGN.md
 */
#ifndef SCRIPT_ITEMS_TASK_SERVICE_H
#define SCRIPT_ITEMS_TASK_SERVICE_H

#include "script/items/task_runner.h"

struct engine;
struct task_service;

struct task_service_options {
	const struct conf *conf;
	struct loop *home;
	const char *data_dir;
	struct script_host *scripts; /* NULL: no tasks run here */
	/* Of the runner; task_runner.h. */
	const struct str *tasks;
	size_t tasks_n;
	struct str item;
	void (*ended)(void *arg, const struct task_runner_end *);
	void *arg;
};
/*
 * Read the secrets and the key; `*out` is to be freed after an error, too.
 * Errors: of secrets_load(), key_file_read().
 */
MUST_USE enum err task_service_open(const struct task_service_options *,
    struct task_service **out, struct why *);
/* The engine runs: tasks can fetch.  The items are open up to the end. */
void task_service_start(struct task_service *, struct engine *,
    struct items *);
/*
 * Run this configuration; before task_service_start() it waits for that.
 * Without a bundle it has no functions: only remote workers fetch by its rules.
 * Errors: of task_runner_use().
 */
MUST_USE enum err task_service_use(struct task_service *,
    struct script_bundle *, struct str config, uint64_t generation,
    struct why *);
/* What requests go through; NULL: nothing can be fetched yet. */
struct task_fetcher *task_service_fetcher(const struct task_service *);
/* The names of the secrets and what scripts get for them, a JSON object. */
void task_service_put_secrets(const struct task_service *, struct buf *);
/* NULL: no scripts run here, or not yet. */
struct task_runner *task_service_runner(const struct task_service *);
/* Claim nothing more. */
void task_service_stop(struct task_service *);
/* Calls `drained` when no run is under way, perhaps at once. */
void task_service_drain(struct task_service *, void (*drained)(void *arg),
    void *arg);
void task_service_free(struct task_service **);

#endif

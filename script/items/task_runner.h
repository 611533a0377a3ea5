/*
 * task_runner -- runs the tasks of the configuration in this daemon: claims
 * pairs that are due, runs their functions in sandboxed processes, answers what
 * they ask, and stores what they have done.
 *
 *     items_claim() ─► task_run: script_run_start()
 *                        read, blob, fetch ◄─► items, task_fetch
 *                        done ─► worklist_complete() ─► finished
 *                            ◄── conflict: script_run_recompute()
 *
 * At most script.processes_max runs are under way; their leases are extended
 * until they end.  Tasks that are `remote` are left to others.
 *
 * Thread: home's.
 * Story:  script/items/DESIGN.md
 */
#ifndef SCRIPT_ITEMS_TASK_RUNNER_H
#define SCRIPT_ITEMS_TASK_RUNNER_H

#include "engine/items/items.h"
#include "engine/tasks/task_fetch.h"
#include "script/host.h"
#include "wire/seal.h"

struct far_pairs;
struct lease_users;
struct session_set;
struct task_port_table;
struct task_runner;

/* How a run has ended; the texts last for the call. */
struct task_runner_end {
	struct str task, item;
	bool success;
	struct str message;          /* of a failure */
	int64_t fetches, wall_us;
};

struct task_runner_options {
	const struct conf *conf;
	struct loop *home;
	struct items *items;
	struct script_host *host;
	struct task_fetcher *fetcher;
	struct secrets *secrets;     /* held */
	struct seal_key key;         /* of secrets.key_file */
	/* Of a remote worker, which has no items, fetcher and secrets; NULL:
	 * these do the work. */
	const struct task_port_table *port;
	void *port_arg;
	/* Names or patterns of the tasks to run, and the item; none: all. */
	const struct str *tasks;
	size_t tasks_n;
	struct str item;
	/* Called for each run that was stored; or NULL. */
	void (*ended)(void *arg, const struct task_runner_end *);
	void *arg;
};
struct task_runner *task_runner_new(const struct task_runner_options *);

/*
 * Run the tasks of this configuration from now on; runs under way end with
 * theirs.  `config` is its JSON, as it was loaded under that number; the
 * bundle is held.  Errors: INPUT: the configuration, or its fetch.policy.
 */
MUST_USE enum err task_runner_use(struct task_runner *,
    struct script_bundle *, struct str config, uint64_t generation,
    struct why *);

/* Claim nothing more.  Runs under way go on. */
void task_runner_stop(struct task_runner *);
/*
 * After task_runner_stop(): call `drained` once all runs have ended, at the
 * latest in TASK_RUNNER_GRACE_MS: then they are cut and their pairs given back
 * without counting an attempt.
 */
#define TASK_RUNNER_GRACE_MS 10000
void task_runner_drain(struct task_runner *, void (*drained)(void *arg),
    void *arg);
/* After `drained`, or when home runs no more. */
void task_runner_free(struct task_runner **);

/* Sessions, and their users of remote workers; NULL in a remote worker. */
struct session_set *task_runner_sessions(const struct task_runner *);
struct lease_users *task_runner_lease_users(const struct task_runner *);
/* Pairs of slow hosts, of all workers; NULL in a remote worker. */
struct far_pairs *task_runner_far_pairs(const struct task_runner *);

struct task_runner_counts {
	size_t running;
	uint64_t completed, failed, given_back;
};
/* What has become of runs since task_runner_new(), and how many go on. */
struct task_runner_counts task_runner_counts(const struct task_runner *);

#endif

/*
 * simulation -- a task tried on an item: it reads the live store and the live
 * site, or archived answers, and writes nothing.
 *
 *     input from the store ─► run ─► its mutations are applied, and undone
 *
 * Thread: home's.
 * Source: contracts/scripting.md §7.
 */
#ifndef SCRIPT_ITEMS_SIMULATION_H
#define SCRIPT_ITEMS_SIMULATION_H

#include "script/items/task_runner.h"

struct simulation {
	/* In; texts: the owner's until done(). */
	struct str task, item;
	bool archived;               /* fetches get archived answers alone */
	struct str module;           /* the main file's source; p NULL: as
	                              * configured */
	const struct source_file {
		struct str path, source;
	} *files;                    /* in place of those of these paths */
	size_t files_n;
	void (*done)(struct simulation *);
	void *arg;
	/* Out. */
	struct buf json;             /* the owner's to free */
	struct why why;              /* ABSENT naming `task` or `id`; INPUT
	                              * naming `files`; STATE: no configuration
	                              * runs here; CLOSED */
	/* The runner's. */
	struct task_runner *runner;
	struct runner_config *config;
	struct script_bundle *bundle;
	struct task_run *run;
	struct items_write write;
	struct buf input, mutations, head;
	yyjson_doc *doc;
	const struct source_file *unknown;   /* of no file of the bundle */
	size_t fault;
	uint64_t seed;
};
/* done() follows, never before this returns. */
void simulation_start(struct task_runner *, struct simulation *);

#endif

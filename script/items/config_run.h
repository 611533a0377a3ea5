/*
 * config_run -- reads the module that items.config names in the sandbox: its
 * default export as JSON, in which a function is {"$function":true}.
 *
 * Thread: the host's loop.
 * Source: contracts/items.md §6.
 */
#ifndef SCRIPT_ITEMS_CONFIG_RUN_H
#define SCRIPT_ITEMS_CONFIG_RUN_H

#include "script/host.h"

struct config_run {
	/* In. */
	struct script_bundle *bundle;        /* kept until done() */
	struct script_limits limits;
	void (*done)(struct config_run *);
	void *arg;
	/* Out: freed by config_run_free(). */
	struct buf json;
	struct why why;              /* INPUT: what is wrong, and where */
	struct script_run run;
};
void config_run_start(struct script_host *, struct config_run *);
void config_run_free(struct config_run *);

/* Where a run has failed: the first line of its stack, "at shop.js:12:5"; or
 * empty. */
struct str config_run_place(const struct script_outcome *);

#endif

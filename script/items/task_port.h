/*
 * task_port -- what runs of tasks ask of the store and the web, as a table:
 * local_port.c asks the items and the fetcher of this daemon, remote_port.c a
 * daemon over the worker protocol.
 *
 *     task_runner ── claim, extend, release ──►
 *     task_run    ── complete ────────────────►  local_port │ remote_port
 *     a script    ── begin_call ──────────────►
 *
 * Each request belongs to its owner, who keeps what it points to until done();
 * done() comes once, at home, and never before the call returns.
 *
 * Thread: home's.  Private to script/items.
 * Source: contracts/items.md §8.
 */
#ifndef SCRIPT_ITEMS_TASK_PORT_H
#define SCRIPT_ITEMS_TASK_PORT_H

#include "engine/items/items.h"
#include "script/host.h"
#include "script/items/far_pairs.h"

struct runner_config;
struct task_run;
struct task_runner;

/* Pairs that are due; it waits for the first. */
struct port_claim {
	struct task_runner *runner;
	const struct str *tasks;     /* names */
	size_t tasks_n;
	unsigned max;
	struct str only_item;        /* empty: any */
	void (*done)(struct port_claim *);
	/* Out. */
	enum err result;
	struct why why;
	struct buf leases;           /* JSON elements; the owner's to free */
	size_t n;
	uint64_t generation;         /* that the leases are of */
	/* The port's. */
	struct items_claim items;
	bool cancelled;
	void *own;
};

/* Leases to extend, or to give back. */
struct port_leases {
	struct task_runner *runner;
	struct port_lease {
		struct str text;
		int64_t lease_us;    /* from now; 0: the task's */
		bool lost;           /* out, of extend() */
		struct far_turn far; /* of release(): tokens go back, too */
		struct first_fetch first;    /* the same */
	} *list;
	size_t n;
	void (*done)(struct port_leases *);
	struct arena arena;          /* the owner's: texts */
	/* Out. */
	enum err result;
	/* The port's. */
	struct items_write write;
	void *own;
};

struct port_completion {
	struct str text;             /* JSON: an element of "completions" */
	struct run_usage usage;
	struct first_fetch first;
	void (*done)(struct port_completion *);
	/* Out. */
	enum err result;
	enum completion_status status;
	struct str reason;           /* FAILED: lives until the next one */
	struct buf answer;           /* JSON of the result; the owner's to
	                              * free */
	/* The port's. */
	struct task_runner *runner;
	yyjson_doc *doc;
	struct completion completion;
	struct items_write write;
	bool is_refused;
	void *own;
};

struct task_port_table {
	/* A configuration comes into use: its rules, and the secrets' names
	 * into `secrets`.  Errors: INPUT. */
	enum err (*use)(struct task_runner *, struct runner_config *,
	    struct why *);
	void (*claim)(struct task_runner *, struct port_claim *);
	void (*cancel_claim)(struct port_claim *);   /* done() follows */
	void (*extend)(struct task_runner *, struct port_leases *);
	void (*release)(struct task_runner *, struct port_leases *);
	void (*complete)(struct task_runner *, struct port_completion *);
	/* Calls join task_run.calls until they are gone. */
	void (*begin_call)(struct task_run *, struct script_call *);
	void (*cancel_call)(struct task_run *, struct script_call *);
	/* The run calls no more; its completion, if any, is still to come. */
	void (*end_run)(struct task_run *);
	/* An event without a cursor. */
	void (*event)(struct task_runner *, const struct items_live *);
};
extern const struct task_port_table local_port;

#endif

/*
 * remote_own -- what the files of the remote worker share.  Private to
 * script/items.
 */
#ifndef SCRIPT_ITEMS_REMOTE_OWN_H
#define SCRIPT_ITEMS_REMOTE_OWN_H

#include "script/items/config_file.h"
#include "script/items/remote_link.h"
#include "script/items/runner_own.h"

struct remote_worker {
	struct remote_worker_options o;
	struct remote_link *link;
	struct task_runner *runner;
	struct config_file file;     /* being read, or as it was read */
	bool reading;
	struct remote_request question;      /* the daemon's configuration */
	bool asking;
	struct timer again, release;
	struct buf secrets;          /* JSON, of the daemon */
	struct why why;
	bool began;                  /* once in accord with the daemon */
	bool stale;                  /* no claims: the daemon has another
	                              * generation, or bundle */
	bool stopping, drained, ended;
	struct port_claim *held;     /* a claim that waits for that to end */
	char name[64];               /* for the daemon: HOST:PID */
};

extern const struct task_port_table remote_port;
/* The daemon has another generation: ask for its configuration. */
void remote_worker_check(struct remote_worker *);
/* Answer the claim that is held, if any, with nothing. */
void remote_port_let_go(struct remote_worker *);

/* remote_call.c */
void remote_call_begin(struct task_run *, struct script_call *);
void remote_call_cancel(struct task_run *, struct script_call *);

#endif

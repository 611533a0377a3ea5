/*
 * module_own -- what the sources of a module's run share.
 */
#ifndef SCRIPT_CONNECTORS_MODULE_OWN_H
#define SCRIPT_CONNECTORS_MODULE_OWN_H

#include "base/list.h"
#include "engine/harvest/document_crawl.h"
#include "engine/tasks/task_fetch.h"
#include "script/connectors/module_run.h"
#include "script/items/task_request.h"

struct module_runs {
	struct engine *engine;
	struct loop *home;
	struct script_host *host;
	struct script_limits limits;
	struct secrets *no_secrets;
	/* For hosts that modules list, and for all others. */
	struct task_fetcher *listed, *others;
	struct list crawls;          /* struct document_crawl */
};

/* A fetch() of the script, or an emit() whose documents were not taken. */
struct module_call {
	struct list node;
	struct module_run *run;
	struct script_call *call;    /* NULL: its run has ended */
	struct task_request request; /* of a fetch */
	struct module_session *session;
	struct task_fetcher *fetcher;
	struct document_wait wait;   /* for the archive's crawl */
	struct secrets *secrets;     /* held */
	yyjson_doc *args;
	struct arena arena;
};

/* Cookies that the fetches of one name share, as long as the run lasts. */
struct module_session {
	struct list node;
	struct str name;
	struct cookie_jar *jar;
};

struct module_documents {
	struct arena arena;
	struct document *list;
	size_t n, cap;
	struct list emits;           /* calls to be answered once they are
	                              * taken: struct module_call */
};

struct module_run {
	struct module_runs *all;
	struct module_run_options options;
	struct arena arena;
	struct script_run script;
	struct buf input;
	struct buf secret_params;    /* JSON; overwritten at the end */
	struct secrets *secrets;
	struct str *private_hosts;
	size_t private_n;
	struct list fetches;         /* struct module_call */
	struct list sessions;
	/* Its archive: the crawls, NULL until they are wanted. */
	bool archives, told_archive, told_unarchived;
	struct document_archive archive;     /* its texts are the run's */
	struct document_crawl *listed, *others;

	struct buf state;            /* JSON, all of it */
	bool has_state;              /* that no batch has had */
	struct module_documents found, given;
	struct buf next;             /* the cursor of the batch */
	struct timer state_timer, stop_timer;
	bool gives;                  /* the caller has a batch */
	bool is_over;                /* the script has ended, and how is in
	                              * `end` */
	bool gave_end;               /* the last batch was given */
	bool is_stopped, has_ended, crashed_before;

	uint64_t answers, documents;
	struct buf progress, result;
	struct document_end end;
	struct mail end_mail;
};

/* ---- module_call.c ------------------------------------------------------ */

/* script_run_events.on_call and on_cancel */
void module_call_begin(struct script_run *, struct script_call *);
void module_call_cancel(struct script_run *, struct script_call *);
/* A call without its script's answer; it is freed. */
void module_call_free(struct module_call **);
void module_call_answer(struct module_call *);

/* ---- module_secrets.c --------------------------------------------------- */

/*
 * Make the values that fetches may use from now on, of that credential and of
 * the parameters that are secret, and append "credential":{...} with what the
 * script may see.  Errors: INPUT, with the field and no value; then nothing has
 * changed.
 */
MUST_USE enum err module_secrets_make(struct module_run *,
    struct str credential, struct buf *input, struct why *);
/* Add what the option `auth` wants to a request.  Errors: INPUT. */
MUST_USE enum err module_secrets_sign(struct task_request *, yyjson_val *auth,
    struct arena *, struct why *);

/* ---- module_run.c ------------------------------------------------------- */

/* Documents were emitted, or state was set. */
void module_run_found(struct module_run *, bool at_once);
/* A fetch has ended: the run may have waited for it. */
void module_run_look_at_end(struct module_run *);

#endif

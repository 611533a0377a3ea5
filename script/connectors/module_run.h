/*
 * module_run -- a run of a connector that is a module.  Its documents go to the
 * caller as those of engine/harvest/document_run.h do.
 *
 *     open ─► run(ctx) in a process ─► emit ─► batch() ─► taken ─► run(ctx) ...
 *                    │                            │ documents and cursor
 *                    ▼                            ▼
 *              fetch: the engine         ended(), after the last batch
 *
 * A batch has all documents that were emitted so far, and the state that the
 * script had set by then.  emit() returns when its batch was taken.
 *
 * Hosts that the module lists are asked without robots.txt and without a delay,
 * as those of declared connectors are; all others as crawls ask them.  With an
 * archive the script has an answer when its records are durable, and both kinds
 * of hosts have a crawl of their own.
 *
 * Thread: home's.
 * Limits: script_limits_of_connector(), SCRIPT_STATE_BYTES_MAX.
 * Story:  script/connectors/DESIGN.md
 * Source: contracts/scripting.md §4, §8.
 */
#ifndef SCRIPT_CONNECTORS_MODULE_RUN_H
#define SCRIPT_CONNECTORS_MODULE_RUN_H

#include "engine/external/external_connector.h"
#include "engine/harvest/document_run.h"
#include "script/host.h"

/* From module_run_stop() to the kill. */
#define MODULE_STOP_MS 15000
/* State without documents waits so long for some. */
#define MODULE_STATE_MS 200
/* The state as JSON: with the quotes and commas between its pairs. */
#define MODULE_STATE_JSON_MAX (SCRIPT_STATE_BYTES_MAX * 2)
/* Keys of a credential. */
#define MODULE_CREDENTIAL_MAX 32u
/* Values of earlier credentials that are cut out of records. */
#define MODULE_FORMER_MAX 32u
/* The code of a run that was too long without a host call. */
#define MODULE_CODE_WALL "limit_wall"

struct engine;
struct module_run;
struct module_runs;

/*
 * What all runs share: the fetchers.  The engine is one with `doors` that has
 * been opened; the host may be NULL, and then no run can be opened.
 */
struct module_runs *module_runs_new(struct engine *, struct loop *home,
    struct script_host *, const struct conf *);
/* When no run is left.  NULL is allowed. */
void module_runs_free(struct module_runs **);

struct module_run_options {
	const struct external_connector *connector;  /* kept by the caller */
	struct script_bundle *bundle;                /* held */
	/* "run", "check" or a choice by its parameter's name. */
	const char *function;
	struct str choice;
	struct str argument;         /* JSON, the second one; or empty */
	struct str params;           /* in their normal form */
	struct str credential;       /* a JSON object of texts; or empty */
	/* As those of struct document_run_options. */
	const struct str *former;
	size_t former_n;
	unsigned tries_max;          /* of a fetch; 0: fetch.tries_max */
	const struct document_archive *archive;      /* copied; NULL: none */
	/* As those of struct document_run_options. */
	struct str cursor;
	bool resumes;
	void (*batch)(void *arg, const struct document_batch *);
	void (*note)(void *arg, const struct document_note *);   /* or NULL */
	void (*called)(void *arg, const struct document_call *); /* or NULL */
	/* The code of a failure is the script's or the limit's word. */
	void (*ended)(void *arg, const struct document_end *);
	void *arg;
};

/*
 * Begin.  Texts are copied; callbacks come later.  Errors: INPUT: the cursor or
 * the credential, with its field; STATE: no scripts can be run.
 */
MUST_USE enum err module_run_open(struct module_runs *,
    const struct module_run_options *, struct module_run **, struct why *);
/*
 * The following fetches are made with another credential, as that of the
 * options; copied.  ctx.credential stays.  Errors: INPUT; then nothing has
 * changed.
 */
MUST_USE enum err module_run_set_credential(struct module_run *,
    struct str credential, struct why *);
/* The caller has the batch; the next one, or the end, may come. */
void module_run_taken(struct module_run *);
/*
 * Give no further batch and ask the script to end; ended() follows, after
 * MODULE_STOP_MS at the latest.  `at_once`: it is not asked.
 */
void module_run_stop(struct module_run *, bool at_once);
struct document_look module_run_look(const struct module_run *);
/* The last text that the script passed to ctx.progress(), or empty. */
struct str module_run_progress(const struct module_run *);
/* From ended() on: what the function has returned, as JSON. */
struct str module_run_result(const struct module_run *);
/* After ended(), also from there; or when the engine was freed and the host was
 * closed.  NULL is allowed. */
void module_run_free(struct module_run **);

#endif

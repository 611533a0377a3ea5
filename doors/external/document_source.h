/*
 * document_source -- where a task's documents come from: the run of a declared
 * connector, of a module, or that of `web_crawl`.  All give batches with a
 * cursor, and end once.
 *
 * Thread: the main loop's.
 */
#ifndef DOORS_EXTERNAL_DOCUMENT_SOURCE_H
#define DOORS_EXTERNAL_DOCUMENT_SOURCE_H

#include "doors/external/connectors.h"
#include "engine/harvest/document_run.h"

struct documents;
struct module_runs;
struct web_documents;

struct document_source;

struct document_source_options {
	struct documents *documents;
	struct web_documents *web;
	struct module_runs *modules;
	const struct held_connector *connector;
	struct str params;           /* in their normal form */
	/* Made by external_choices_order(), to be run instead of one for
	 * `params`; empty: none. */
	struct str order;
	struct str credential;       /* task_credential_make()'s; or empty */
	const struct str *granted;   /* external_order_make_granted()'s */
	const struct str *former;    /* of struct document_run_options */
	size_t former_n;
	/* For web_crawl: opening a run with a used key takes over its crawl. */
	struct str key;
	/* For a module: call choices.NAME() with this JSON argument; empty:
	 * call run(), or check(). */
	struct str choice, argument;
	/* One try of each call, and no crawl stays; of a module its function
	 * check() runs. */
	bool is_check;
	/* For declared connectors, built-in ones and modules; NULL: their
	 * answers are not archived.  A crawl of web_crawl always is. */
	const struct document_archive *archive;
	/* While it is true a module that is stopped is not asked to end. */
	const bool *is_ending;
	/* As those of struct document_run_options. */
	struct str cursor;
	bool resumes;
	void (*batch)(void *arg, const struct document_batch *);
	void (*note)(void *arg, const struct document_note *);   /* or NULL */
	void (*ended)(void *arg, const struct document_end *);
	void *arg;
};

/*
 * Begin; texts are copied, and the copies of a credential that this makes are
 * overwritten.  Errors: those of document_run_open(), web_documents_open() and
 * module_run_open().
 */
MUST_USE enum err document_source_open(const struct document_source_options *,
    struct document_source **, struct why *);
void document_source_taken(struct document_source *);
/* The following calls are made with another credential, as
 * task_credential_make() has made it; copied.  Errors: those of
 * document_run_set_credential() and module_run_set_credential(). */
MUST_USE enum err document_source_set_credential(struct document_source *,
    struct str credential, struct why *);
void document_source_stop(struct document_source *);
struct document_look document_source_look(const struct document_source *);
/* From ended() on: what a module's function has returned, as JSON. */
struct str document_source_result(const struct document_source *);
/* The last text that a module passed to ctx.progress(), or empty. */
struct str document_source_progress(const struct document_source *);
/* After ended(), also from there.  NULL is allowed. */
void document_source_free(struct document_source **);

#endif

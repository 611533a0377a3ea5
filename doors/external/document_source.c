#include "doors/external/document_source.h"

#include "doors/external/task_order.h"
#include "engine/harvest/web_documents.h"
#include "script/connectors/module_run.h"

#define CHECK_TRIES 1u

struct document_source {
	/* One of them. */
	struct document_run *documents;
	struct web_run *web;
	struct buf keys;             /* external_keys_put() */
	struct module_run *module;
	const bool *is_ending;
};

static enum err
open_documents(const struct document_source_options *o,
    struct document_source *s, struct why *w)
{
	FREED(buf_free) struct buf order = BUF_INIT;
	const struct external_connector *c = o->connector->connector;
	const char *code;
	struct document_run_options run = { .cursor = o->cursor,
		.former = o->former, .former_n = o->former_n,
		.resumes = o->resumes, .private_hosts = o->connector->hosts,
		.private_n = o->connector->hosts_n, .archive = o->archive,
		.call_tries_max = o->is_check, .tries_max = o->is_check,
		.batch = o->batch, .note = o->note, .ended = o->ended,
		.arg = o->arg };

	if (o->order.n == 0)
		external_keys_put(c, o->params, &s->keys);
	/* A declared API names the member that has the id. */
	if (external_connector_api(c) == NULL)
		run.id_member = external_connector_doc_id_field(c);
	enum err e = OK;
	if (o->order.n > 0)
		task_order_join(o->order, STR_NONE, o->credential, &order);
	else
		e = task_order_make(c, o->params, o->granted, o->credential,
		    &order, w);
	run.order = buf_str(&order);
	if (e == OK)
		e = document_run_open(o->documents, &run, &s->documents,
		    &code, w);
	if (order.cap > 0)
		explicit_bzero(order.p, order.cap);
	return e;
}

static enum err
open_web(const struct document_source_options *o, struct document_source *s,
    struct why *w)
{
	const struct web_documents_options run = { .params = o->params,
		.key = o->key, .name = o->connector->name,
		.cursor = o->cursor, .resumes = o->resumes,
		.is_check = o->is_check, .batch = o->batch, .note = o->note,
		.ended = o->ended, .arg = o->arg };

	return web_documents_open(o->web, &run, &s->web, w);
}

static enum err
open_module(const struct document_source_options *o,
    struct document_source *s, struct why *w)
{
	const struct module_run_options run = {
		.connector = o->connector->connector,
		.bundle = o->connector->bundle,
		.function = o->choice.n > 0 ? "choices" : o->is_check ?
		"check" : "run",
		.choice = o->choice, .argument = o->argument,
		.params = o->params, .credential = o->credential,
		.former = o->former, .former_n = o->former_n,
		.tries_max = o->is_check ? CHECK_TRIES : 0,
		.archive = o->archive,
		.cursor = o->cursor, .resumes = o->resumes, .batch = o->batch,
		.note = o->note, .ended = o->ended, .arg = o->arg };

	return module_run_open(o->modules, &run, &s->module, w);
}

enum err
document_source_open(const struct document_source_options *o,
    struct document_source **out, struct why *w)
{
	struct document_source *s = mem_new(sizeof(*s));
	const struct external_connector *c = o->connector->connector;

	s->is_ending = o->is_ending;
	enum err e = external_connector_is_module(c) ? open_module(o, s, w) :
	    external_connector_runs(c) != NULL ? open_documents(o, s, w) :
	    open_web(o, s, w);
	*out = s;
	if (e != OK)
		document_source_free(out);
	return e;
}

void
document_source_taken(struct document_source *s)
{
	if (s->module != NULL)
		module_run_taken(s->module);
	else if (s->web != NULL)
		web_documents_taken(s->web);
	else
		document_run_taken(s->documents);
}

enum err
document_source_set_credential(struct document_source *s,
    struct str credential, struct why *w)
{
	FREED(buf_free) struct buf all = BUF_INIT;

	if (s->module != NULL)
		return module_run_set_credential(s->module, credential, w);
	if (s->documents == NULL)
		return OK;
	external_credential_join(buf_str(&s->keys), credential, &all);
	enum err e = document_run_set_credential(s->documents, buf_str(&all),
	    w);
	if (all.cap > 0)
		explicit_bzero(all.p, all.cap);
	return e;
}

void
document_source_stop(struct document_source *s)
{
	if (s->module != NULL)
		module_run_stop(s->module, s->is_ending != NULL &&
		    *s->is_ending);
	else if (s->web != NULL)
		web_documents_stop(s->web);
	else
		document_run_stop(s->documents);
}

struct document_look
document_source_look(const struct document_source *s)
{
	return s->module != NULL ? module_run_look(s->module) :
	    s->web != NULL ? web_documents_look(s->web) :
	    document_run_look(s->documents);
}

struct str
document_source_result(const struct document_source *s)
{
	return s->module != NULL ? module_run_result(s->module) : STR_NONE;
}

struct str
document_source_progress(const struct document_source *s)
{
	return s->module != NULL ? module_run_progress(s->module) : STR_NONE;
}

void
document_source_free(struct document_source **sp)
{
	struct document_source *s = *sp;

	if (s == NULL)
		return;
	document_run_free(&s->documents);
	module_run_free(&s->module);
	web_documents_close(&s->web);
	buf_free(&(*sp)->keys);
	mem_free(sp);
}

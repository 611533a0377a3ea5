/*
 * POST /check: whether parameters and credential are right, by a run that ends
 * with the first answer of the source.  Nothing is kept or uploaded.
 *
 *     parameters ─► credential ─► the source's first documents ─► answer
 *                                      └── 25 s ──► stopped ───────┘
 */
#include "base/json_writer.h"
#include "doors/external/handlers.h"
#include "doors/external/meter.h"
#include "doors/external/reply.h"
#include "doors/external/request.h"
#include "doors/external/document_source.h"
#include "os/clock.h"

#define CHECKS_MAX 16u               /* at a time */
#define CHECK_MS 25000
#define DOCUMENTS_MAX 20u            /* that are looked at */

struct external_check {
	struct list node;
	struct external_request *x;
	struct document_source *run;
	struct timer timer;
	struct buf checks;           /* JSON objects */
	bool failed, late, answered;
	size_t documents, invalid;
	char fault[400];             /* of the first document that is invalid */
};

/* ---- The answer --------------------------------------------------------- */

static void
begin_check(struct external_check *k, const char *name, bool fine,
    struct str message)
{
	json_object(&k->checks, NULL);
	json_str(&k->checks, "name", str_of(name));
	json_bool(&k->checks, "ok", fine);
	json_str(&k->checks, "message", message);
	k->failed |= !fine;
}

static void
add_check(struct external_check *k, const char *name, bool fine,
    struct str message)
{
	begin_check(k, name, fine, message);
	buf_put_char(&k->checks, '}');
}

static void
finish(struct external_check *k)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct external_request *x = k->x;

	json_object(&b, NULL);
	json_bool(&b, "ok", !k->failed);
	json_name(&b, "checks");
	buf_put_char(&b, '[');
	buf_put_str(&b, buf_str(&k->checks));
	buf_put_text(&b, "]}");
	loop_timer_stop(x->door->host->home, &k->timer);
	list_take(&k->node);
	x->door->under_check_n--;
	buf_free(&k->checks);
	mem_free(&k);
	external_request_answer(x, buf_str(&b));
}

/* ---- The run ------------------------------------------------------------ */

static void
note_fault(void *arg, struct str pointer, struct str message)
{
	struct external_check *k = arg;

	if (k->fault[0] == '\0')
		snprintf(k->fault, sizeof(k->fault), "%.*s%s%.*s",
		    STR_FMT(str_cut(pointer, 0, 100)), pointer.n > 0 ? ": " :
		    "", STR_FMT(str_cut(message, 0, 250)));
}

static void
take_documents(void *arg, const struct document_batch *b)
{
	struct external_check *k = arg;
	const struct external_connector *c = k->x->connector->connector;

	for (size_t i = 0; i < b->n && k->documents < DOCUMENTS_MAX; i++) {
		yyjson_doc *doc = yyjson_read(b->list[i].json.p,
		    b->list[i].json.n, YYJSON_READ_BIGNUM_AS_RAW);
		k->invalid += !external_document_check(c,
		    yyjson_doc_get_root(doc), 1, note_fault, k);
		k->documents++;
		yyjson_doc_free(doc);
	}
	k->answered = true;
	document_source_stop(k->run);
}

static void
add_documents(struct external_check *k)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	if (k->invalid > 0)
		buf_printf(&text, "%zu of %zu documents are invalid: %s",
		    k->invalid, k->documents, k->fault);
	else
		buf_printf(&text, "%zu documents", k->documents);
	add_check(k, "documents", k->invalid == 0, buf_str(&text));
}

static void
run_ended(void *arg, const struct document_end *e)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct external_check *k = arg;
	bool fine = e->kind != DOCUMENTS_FAILED && (k->answered ||
	    e->kind == DOCUMENTS_DONE);

	if (e->kind == DOCUMENTS_FAILED)
		buf_printf(&text, "%s: %.*s", document_fault_name(e->fault),
		    STR_FMT(e->text));
	else if (!fine)
		buf_put_text(&text, k->late ? "transient: it has not answered "
		    "within 25 s" : "transient: the server is ending");
	else
		buf_put_text(&text, "it has answered");
	document_source_free(&k->run);
	add_check(k, "source", fine, buf_str(&text));
	if (fine)
		add_documents(k);
	finish(k);
}

static void
is_late(struct timer *timer)
{
	struct external_check *k = CONTAINER(timer, struct external_check,
	    timer);

	k->late = true;
	document_source_stop(k->run);
}

static void
open_run(struct external_check *k)
{
	struct external_request *x = k->x;
	FREED(arena_free) struct arena a = ARENA_INIT;
	static const bool at_once = true;
	uint64_t number = ++x->door->checks;
	struct document_source_options o = { .documents = x->door->documents,
		.web = x->door->web, .modules = x->door->modules,
		.is_ending = &at_once, .connector = x->connector,
		.params = buf_str(&x->params),
		.credential = buf_str(&x->credential),
		.granted = x->granted.client.id.n > 0 ? x->granted.values :
		NULL, .is_check = true,
		.key = arena_printf(&a, CRAWLS_KEY "check:%lld:%llu",
		(long long)clock_wall().us, (unsigned long long)number),
		.batch = take_documents, .ended = run_ended, .arg = k };
	struct why w = WHY_INIT;

	if (document_source_open(&o, &k->run, &w) == OK) {
		loop_timer_set(x->door->host->home, &k->timer, mono_add_ms(
		    clock_mono(), CHECK_MS));
		return;
	}
	add_check(k, "source", false, str_of(w.text));
	finish(k);
}

/* ---- The request -------------------------------------------------------- */

static void
check_params(struct external_check *k)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct external_request *x = k->x;
	struct task_faults *f = ARENA_NEW(&x->arena, struct task_faults);

	f->arena = &x->arena;
	bool fine = task_params_check(x->connector->connector,
	    x->order.params, f, &x->params) == OK;
	for (size_t i = 0; i < f->n; i++)
		buf_printf(&text, "%s%.*s", i > 0 ? "; " : "",
		    STR_FMT(f->messages[i]));
	for (size_t i = 0; fine && i < f->unknown_n; i++)
		buf_printf(&text, "%sthe connector has no parameter %.*s",
		    i > 0 ? "; " : "", STR_FMT(f->unknown[i]));
	begin_check(k, "parameters", fine, buf_str(&text));
	/* Each begins with the name of its parameter. */
	json_strs(&k->checks, "messages", f->messages, f->n);
	buf_put_char(&k->checks, '}');
}

static void
check_credential(struct external_check *k)
{
	struct external_request *x = k->x;
	struct why w = WHY_INIT;

	bool has_oauth = external_connector_oauth(x->connector->connector) !=
	    NULL;
	bool fine = has_oauth ? task_grant_name_read(x->order.credential,
	    &x->grant_name, &w) == OK : task_credential_make(
	    x->connector->connector, x->order.credential, &x->credential,
	    &w) == OK;

	if (has_oauth && x->backend == NULL)
		add_check(k, "credential", false, STR("people sign in at the "
		    "front end of a back end, and what they grant is of use "
		    "in its tasks alone"));
	else if (has_oauth && x->door->key_fault[0] != '\0')
		add_check(k, "credential", false, arena_printf(&x->arena,
		    "system: %s", x->door->key_fault));
	else if (!fine || !has_oauth)
		add_check(k, "credential", fine, str_of(w.text));
}

static void
grant_found(struct external_request *x)
{
	struct external_check *k = x->check;
	struct why w = WHY_INIT;
	const char *fault = external_request_take_grant(x, &w);

	add_check(k, "credential", fault == NULL, str_of(fault));
	if (fault != NULL)
		finish(k);
	else
		open_run(k);
}

void
external_post_check(struct web_request *r)
{
	struct external_request *x = external_request_open(r, EXTERNAL_BOTH,
	    EXTERNAL_CONNECTOR);
	struct why w = WHY_INIT;

	if (x == NULL)
		return;
	if (x->door->under_check_n >= CHECKS_MAX) {
		external_meter_limit("checks_max");
		web_add_field(r, "Retry-After", "30");
		reply_fail(r, 429, "%u checks are under way", CHECKS_MAX);
		external_request_free(&x);
		return;
	}
	if (task_order_read_check(web_body(r), &x->order, &w) != OK) {
		reply_fail(r, 400, "%s", w.text);
		external_request_free(&x);
		return;
	}
	struct external_check *k = mem_new(sizeof(*k));
	k->x = x;
	k->timer.fire = is_late;
	list_put(&x->door->under_check, &k->node);
	x->door->under_check_n++;
	check_params(k);
	check_credential(k);
	x->check = k;
	/* A module without check() has nothing to be asked. */
	if (k->failed || (external_connector_is_module(
	    x->connector->connector) && !external_connector_has_check(
	    x->connector->connector)))
		finish(k);
	else if (external_connector_oauth(x->connector->connector) != NULL)
		external_request_ask(x, external_request_find_grant,
		    grant_found);
	else
		open_run(k);
}

void
check_stop_all(struct external_door *d)
{
	LIST_EACH(k, &d->under_check, struct external_check, node)
		if (k->run != NULL)
			document_source_stop(k->run);
}

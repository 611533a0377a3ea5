/*
 * POST /choices: the options of a parameter that the API of a declared
 * connector has, by one call, or that a module's choices.NAME() gives.
 *
 *     name, query, parameters so far ─► order ─► credential ─► the API's list
 *                            │              └── 25 s ──► 503 ─────┴─► options
 *                            └► {"query":...} ─► choices.NAME() ──────┘
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "doors/external/document_source.h"
#include "doors/external/handlers.h"
#include "doors/external/meter.h"
#include "doors/external/reply.h"
#include "doors/external/request.h"
#include "os/clock.h"

#define CHOICES_MAX 16u              /* at a time */
#define CHOICES_MS 25000

struct choices_run {
	struct list node;            /* of the door's */
	struct external_request *x;
	struct document_source *run;
	struct timer timer;
	struct str name;             /* the parameter's; in the order's doc */
	struct buf order, options;
	struct buf argument;         /* of a module's function */
	size_t n;
	bool more;                   /* options were left out */
	bool answered;
};

static void
free_choices(struct choices_run *k)
{
	struct external_door *d = k->x->door;

	loop_timer_stop(d->host->home, &k->timer);
	document_source_free(&k->run);
	list_take(&k->node);
	d->under_choice_n--;
	external_request_free(&k->x);
	buf_free(&k->order);
	buf_free(&k->argument);
	buf_free(&k->options);
	mem_free(&k);
}

/* ---- The answer --------------------------------------------------------- */

/* An option of a module.  False: it is none. */
static bool
put_option(yyjson_val *option, struct buf *b)
{
	yyjson_val *value = yyjson_obj_get(option, "value");
	struct str label = json_text(yyjson_obj_get(option, "label"));
	size_t n = 0;
	char *number = yyjson_is_num(value) ? yyjson_val_write(value, 0, &n) :
	    NULL;
	struct str text = number != NULL ? (struct str){ number, n } :
	    json_text(value);

	if (text.n > 0) {
		json_object(b, NULL);
		json_str(b, "value", text);
		json_str(b, "label", label.n > 0 ? label : text);
		buf_put_char(b, '}');
	}
	free(number);
	return text.n > 0;
}

/* False: the module's function has returned something else. */
static bool
take_result(struct choices_run *k)
{
	struct str result = document_source_result(k->run);
	yyjson_doc *doc = yyjson_read(result.p, result.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc), *v;
	bool good = yyjson_is_arr(root);
	size_t i, n;

	yyjson_arr_foreach(root, i, n, v)
		good = good && (i >= EXTERNAL_OPTIONS_MAX ||
		    put_option(v, &k->options));
	k->more = yyjson_arr_size(root) > EXTERNAL_OPTIONS_MAX;
	yyjson_doc_free(doc);
	return good;
}

static bool
is_module(const struct choices_run *k)
{
	return external_connector_is_module(k->x->connector->connector);
}

static void
take_items(void *arg, const struct document_batch *b)
{
	struct choices_run *k = arg;

	/* A module's options are its return value; emitted documents are
	 * dropped. */
	if (is_module(k)) {
		document_source_taken(k->run);
		return;
	}
	size_t i = 0;
	for (; i < b->n && k->n < EXTERNAL_OPTIONS_MAX; i++)
		k->n += external_choices_put_option(
		    k->x->connector->connector, k->name, b->list[i].json,
		    &k->options);
	k->more = i < b->n;
	k->answered = true;
	document_source_stop(k->run);
}

static void
answer_failure(struct choices_run *k, const struct document_end *e)
{
	static const int statuses[] = { [DOCUMENT_SYSTEM] = 500,
		[DOCUMENT_CONFIG] = 400, [DOCUMENT_TRANSIENT] = 503 };

	reply_fail(k->x->request, statuses[e->fault], "%s: %.*s",
	    document_fault_name(e->fault), STR_FMT(e->text));
}

static void
run_ended(void *arg, const struct document_end *e)
{
	struct choices_run *k = arg;

	if (e->kind == DOCUMENTS_FAILED) {
		answer_failure(k, e);
	} else if (is_module(k) && e->kind == DOCUMENTS_DONE &&
	    !take_result(k)) {
		reply_fail(k->x->request, 500, "system: the connector's "
		    "choices are no list of {value, label}");
	} else if (k->answered || e->kind == DOCUMENTS_DONE) {
		buf_put_char(&k->options, ']');
		if (k->more)
			json_bool(&k->options, "more", true);
		buf_put_char(&k->options, '}');
		reply_success(k->x->request, buf_str(&k->options));
	} else {
		reply_fail(k->x->request, 503, "transient: the source has not "
		    "answered within 25 s, or the server is ending");
	}
	free_choices(k);
}

/* ---- The run ------------------------------------------------------------ */

static void
is_late(struct timer *timer)
{
	struct choices_run *k = CONTAINER(timer, struct choices_run, timer);

	document_source_stop(k->run);
}

static void
open_run(struct choices_run *k)
{
	struct external_request *x = k->x;
	static const bool at_once = true;
	struct document_source_options o = { .documents = x->door->documents,
		.modules = x->door->modules, .is_ending = &at_once,
		.params = buf_str(&x->params), .choice = is_module(k) ?
		k->name : STR_NONE, .argument = buf_str(&k->argument),
		.connector = x->connector, .order = buf_str(&k->order),
		.credential = buf_str(&x->credential), .is_check = true,
		.batch = take_items, .ended = run_ended, .arg = k };
	struct why w = WHY_INIT;

	if (document_source_open(&o, &k->run, &w) == OK) {
		loop_timer_set(x->door->host->home, &k->timer, mono_add_ms(
		    clock_mono(), CHOICES_MS));
		return;
	}
	reply_fail_why(x->request, w.err, &w);
	free_choices(k);
}

/* ---- The request -------------------------------------------------------- */

static enum err
make_argument(struct choices_run *k, struct str query, struct why *w)
{
	struct external_request *x = k->x;

	if (query.n > EXTERNAL_QUERY_BYTES_MAX)
		return why_field(w, ERR_INPUT, "query", "it is longer than %u "
		    "bytes", EXTERNAL_QUERY_BYTES_MAX);
	external_params_put_good(x->connector->connector, x->order.params,
	    &x->params);
	json_object(&k->argument, NULL);
	json_str(&k->argument, "query", query.p == NULL ? STR("") : query);
	buf_put_char(&k->argument, '}');
	return OK;
}

/* Errors: INPUT; ABSENT: the parameter has no choices. */
static enum err
read_request(struct choices_run *k, struct why *w)
{
	struct external_request *x = k->x;
	const struct external_connector *c = x->connector->connector;

	enum err e = task_order_read_check(web_body(x->request), &x->order,
	    w);
	if (e != OK)
		return e;
	yyjson_val *root = yyjson_doc_get_root(x->order.doc);
	yyjson_val *query = yyjson_obj_get(root, "query");
	k->name = json_text(yyjson_obj_get(root, "name"));
	if (k->name.n == 0)
		return why_field(w, ERR_INPUT, "name", "it is missing");
	if (!json_is_absent(query) && !yyjson_is_str(query))
		return why_field(w, ERR_INPUT, "query", "it is not a text");
	if (!external_choices_are_declared(c, k->name) &&
	    !external_connector_has_choices(c, k->name))
		return why(w, ERR_ABSENT, "name: no parameter of this name has"
		    " choices");
	e = external_connector_is_module(c) ? make_argument(k,
	    json_text(query), w) : external_choices_order(c, k->name,
	    x->order.params, json_text(query), &k->order, w);
	if (e != OK)
		return e;
	if (external_connector_oauth(c) == NULL)
		return task_credential_make(c, x->order.credential,
		    &x->credential, w);
	if (x->backend == NULL)
		return why_field(w, ERR_INPUT, "credential", "people sign in "
		    "at the front end of a back end, and what they grant is of"
		    " use in its tasks alone");
	return task_grant_name_read(x->order.credential, &x->grant_name, w);
}

static void
refuse_request(struct choices_run *k, int status, const char *text)
{
	reply_fail(k->x->request, status, "%s", text);
	free_choices(k);
}

static void
grant_found(struct external_request *x)
{
	struct choices_run *k = x->choices;
	struct why w = WHY_INIT;
	const char *fault = external_request_take_grant(x, &w);

	if (fault != NULL)
		refuse_request(k, 400, fault);
	else
		open_run(k);
}

static void
begin_choices(struct choices_run *k)
{
	struct external_request *x = k->x;
	struct why w = WHY_INIT;
	enum err e = read_request(k, &w);

	if (e != OK)
		refuse_request(k, e == ERR_ABSENT ? 404 : 400, w.text);
	else if (external_connector_oauth(x->connector->connector) == NULL)
		open_run(k);
	else if (x->door->key_fault[0] != '\0')
		refuse_request(k, 503, x->door->key_fault);
	else
		external_request_ask(x, external_request_find_grant,
		    grant_found);
}

void
external_post_choices(struct web_request *r)
{
	struct external_request *x = external_request_open(r, EXTERNAL_BOTH,
	    EXTERNAL_CONNECTOR);

	if (x == NULL)
		return;
	if (x->door->under_choice_n >= CHOICES_MAX) {
		external_meter_limit("choices_max");
		web_add_field(r, "Retry-After", "30");
		reply_fail(r, 429, "%u choices are under way", CHOICES_MAX);
		external_request_free(&x);
		return;
	}
	struct choices_run *k = mem_new(sizeof(*k));
	k->x = x;
	k->timer.fire = is_late;
	x->choices = k;
	list_put(&x->door->under_choice, &k->node);
	x->door->under_choice_n++;
	json_object(&k->options, NULL);
	json_array(&k->options, "options");
	begin_choices(k);
}

void
choices_stop_all(struct external_door *d)
{
	LIST_EACH(k, &d->under_choice, struct choices_run, node)
		if (k->run != NULL)
			document_source_stop(k->run);
}

/*
 * POST /task:
 *
 *     read ─► find task, version ─► endpoint ─┬─► none: check ─► put ─────┐
 *                                             ├─► open: the same? answer  │
 *                                             └─► closed: check ─► retry ─┤
 *                                                     run, answer ◄───────┘
 *
 * An operator's POST /task/FID/retry is the last line, with what the task has.
 */
#include "base/json_writer.h"
#include "doors/external/handlers.h"
#include "doors/external/reply.h"
#include "doors/external/request.h"
#include "doors/external/task_run.h"
#include "os/clock.h"
#include "os/log.h"

static void find_again(struct external_request *);

/* ---- The answer --------------------------------------------------------- */

static void
answer_task(struct external_request *x)
{
	FREED(buf_free) struct buf mount = BUF_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;

	external_request_put_mount(x, &mount);
	buf_printf(&mount, "/task/%.*s", STR_FMT(x->fid));
	json_object(&b, NULL);
	json_str(&b, "callback", buf_str(&mount));
	external_request_put_status(&x->row, false, &b);
	buf_put_char(&b, '}');
	external_request_answer(x, buf_str(&b));
}

static void
refuse(struct external_request *x, int status, const char *text)
{
	reply_fail(x->request, status, "%s", text);
	external_request_free(&x);
}

/* ---- A new task, or a new attempt --------------------------------------- */

static struct store_task
make_row(struct external_request *x)
{
	return (struct store_task){ .backend = x->backend->name,
		.connector = x->connector->name, .fid = x->fid,
		.crawler = x->order.crawler, .endpoint = x->endpoint,
		.params = buf_str(&x->concealed),
		.version = x->order.version > 0 ? x->order.version :
		x->version.version, .hash = x->version.hash,
		.reset = x->order.reset,
		.grant = x->grant.handle.n > 0 ? store_grant_id(
		x->grant.handle, &x->arena) : STR_NONE };
}

/* The crawler's last task has left its cursor. */
static enum err
inherit_cursor(struct external_request *x, struct store *st, struct why *w)
{
	const struct store_crawler c = { x->backend->name, x->connector->name,
		x->order.crawler };
	struct why absent = WHY_INIT;
	struct str cursor = STR_NONE;

	if (x->order.crawler.n == 0 || x->order.reset)
		return OK;
	enum err e = store_cursor_get(st, &c, &x->arena, &cursor, &absent);
	if (e == ERR_ABSENT || cursor.n == 0)
		return OK;
	if (e != OK)
		return why(w, e, "%s", absent.text);
	const struct store_emit none = { .first = x->row.emitted + 1,
		.cursor = cursor };
	x->row.cursor = cursor;
	return store_spool_emit(st, x->row.id, &none, clock_wall(), w);
}

static enum err
put_group(struct external_request *x, struct store *st, struct why *w)
{
	const struct store_task t = make_row(x);

	enum err e = store_task_put(st, &t, x->door->set.tasks_max,
	    clock_wall(), &x->arena, &x->row, &x->made, w);
	return e == OK && x->made ? inherit_cursor(x, st, w) : e;
}

static enum err
put_task(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = store_begin(st, w);

	return e == OK ? store_end(st, put_group(x, st, w), w) : e;
}

static enum err
retry_task(struct external_request *x, struct store *st, struct why *w)
{
	const struct store_task t = make_row(x);
	uint64_t id = x->row.id;

	enum err e = store_task_retry(st, id, &t, x->keep_cursor,
	    x->door->set.tasks_max, clock_wall(), w);
	return e == OK ? store_task_get(st, id, &x->arena, &x->row, w) : e;
}

static void
note_unknown(struct external_request *x, struct task_run *t)
{
	for (size_t i = 0; t != NULL && i < x->faults->unknown_n; i++)
		task_run_log(t, "warning", "the connector has no parameter "
		    "%.*s; it is left out",
		    STR_FMT(x->faults->unknown[i]));
}

static void
begin_task(struct external_request *x)
{
	FREED(buf_free) struct buf warning = BUF_INIT;
	struct external_door *d = x->door;

	log_info("external.accepted", "backend=%.*s connector=%.*s task=%.*s "
	    "attempt=%llu version=%llu", STR_FMT(x->backend->name),
	    STR_FMT(x->connector->name), STR_FMT(x->fid),
	    (unsigned long long)x->row.attempt,
	    (unsigned long long)x->row.version);
	if (x->version.choice == VERSION_AHEAD) {
		version_put_warning(&x->version, &warning);
		log_warn("external.version", "backend=%.*s task=%.*s text=%s",
		    STR_FMT(x->backend->name), STR_FMT(x->fid),
		    log_quoted(buf_str(&warning)));
	}
	if (!d->stopping) {
		task_run_begin(d, &x->row, x->set, x->backend, x->connector,
		    buf_str(&x->params), buf_str(&x->credential),
		    buf_str(&warning));
		note_unknown(x, task_run_of_id(d, x->row.id));
	}
	answer_task(x);
}

static void
put_done(struct external_request *x)
{
	if (x->result != OK)
		external_request_fail(x);
	else if (!x->made)
		find_again(x);
	else
		begin_task(x);
}

static void
retry_done(struct external_request *x)
{
	if (x->result == ERR_STATE)
		find_again(x);
	else if (x->result != OK)
		external_request_fail(x);
	else
		begin_task(x);
}

/* ---- What the store has ------------------------------------------------- */

static void
refuse_why(struct external_request *x, enum err e, const struct why *w)
{
	if (e == ERR_INPUT) {
		refuse(x, 400, w->text);
		return;
	}
	reply_fail_why(x->request, e, w);
	external_request_free(&x);
}

static void
grant_found(struct external_request *x)
{
	struct why w = WHY_INIT;

	enum err e = external_request_judge_grant(x, &w);
	if (e != OK)
		refuse_why(x, e, &w);
	else
		external_request_ask(x, x->put, x->put_done);
}

/* The row names the grant, so that is found first. */
static void
put_order(struct external_request *x, enum err (*put)(
    struct external_request *, struct store *, struct why *),
    void (*done)(struct external_request *))
{
	struct why w = WHY_INIT;

	if (external_connector_oauth(x->connector->connector) == NULL) {
		external_request_ask(x, put, done);
		return;
	}
	if (x->door->key_fault[0] != '\0') {
		reply_fail(x->request, 503, "system: %s", x->door->key_fault);
		external_request_free(&x);
		return;
	}
	if (task_grant_name_read(x->order.credential, &x->grant_name, &w) !=
	    OK) {
		refuse(x, 400, w.text);
		return;
	}
	x->put = put;
	x->put_done = done;
	external_request_ask(x, external_request_find_grant, grant_found);
}

/* False: refused. */
static bool
check_order(struct external_request *x)
{
	const struct external_connector *c = x->connector->connector;
	struct why w = WHY_INIT;

	if (x->faults->n > 0) {
		reply_fail_all(x->request, 400, x->faults->messages,
		    x->faults->n);
		external_request_free(&x);
		return false;
	}
	buf_clear(&x->credential);
	if (task_credential_make(c, x->order.credential, &x->credential, &w)
	    != OK) {
		refuse(x, 400, w.text);
		return false;
	}
	return true;
}

static bool
has_equal_params(const struct external_request *x)
{
	return x->faults->n == 0 && str_eq(x->row.params,
	    buf_str(&x->concealed));
}

static enum err
set_endpoint(struct external_request *x, struct store *st, struct why *w)
{
	return store_task_set_endpoint(st, x->row.id, x->endpoint,
	    clock_wall(), w);
}

static void
endpoint_set(struct external_request *x)
{
	struct task_run *t = task_run_of_id(x->door, x->row.id);

	/* Another daemon's task keeps the endpoint that it has. */
	if (x->result != OK && x->result != ERR_STATE) {
		external_request_fail(x);
		return;
	}
	if (x->result == OK && t != NULL)
		task_run_set_endpoint(t, x->endpoint);
	answer_task(x);
}

/* False: refused.  A credential that did not come stays, and so does that of a
 * task which runs at another daemon. */
static bool
replace_credential(struct external_request *x)
{
	struct task_run *t = task_run_of_id(x->door, x->row.id);
	struct why w = WHY_INIT;

	if (t == NULL || x->order.credential == NULL)
		return true;
	buf_clear(&x->credential);
	enum err e = task_credential_make(x->connector->connector,
	    x->order.credential, &x->credential, &w);
	if (e == OK && x->credential.n > 0)
		e = task_run_set_credential(t, buf_str(&x->credential), &w);
	if (e != OK)
		refuse(x, 400, w.text);
	return e == OK;
}

static void
replace_endpoint(struct external_request *x)
{
	if (str_eq(x->row.endpoint, x->endpoint))
		answer_task(x);
	else
		external_request_ask(x, set_endpoint, endpoint_set);
}

static enum err
set_grant(struct external_request *x, struct store *st, struct why *w)
{
	struct str id = store_grant_id(x->grant.handle, &x->arena);

	return str_eq(id, x->row.grant) ? OK : store_task_set_grant(st,
	    x->row.id, id, clock_wall(), w);
}

static void
grant_set(struct external_request *x)
{
	struct task_run *t = task_run_of_id(x->door, x->row.id);

	/* Another daemon's task keeps the grant that it has. */
	if (x->result != OK && x->result != ERR_STATE) {
		external_request_fail(x);
		return;
	}
	if (x->result == OK && t != NULL)
		task_grant_change(t, store_grant_id(x->grant.handle,
		    &x->arena));
	replace_endpoint(x);
}

static void
repeat_task(struct external_request *x)
{
	if (!has_equal_params(x) || !str_eq(x->row.connector,
	    x->connector->name) || !task_endpoints_agree(x->row.endpoint,
	    x->endpoint)) {
		refuse(x, 409, "a task with this fid is open, and has other "
		    "parameters or another endpoint");
		return;
	}
	if (external_connector_oauth(x->connector->connector) != NULL &&
	    x->order.credential != NULL)
		put_order(x, set_grant, grant_set);
	else if (replace_credential(x))
		replace_endpoint(x);
}

static void
check_params(struct external_request *x)
{
	const struct external_connector *c = x->connector->connector;

	x->faults = ARENA_NEW(&x->arena, struct task_faults);
	x->faults->arena = &x->arena;
	buf_clear(&x->params);
	buf_clear(&x->concealed);
	/* Passwords may be among them, and a buffer that grows would leave a
	 * copy behind; escapes may make it longer than this. */
	buf_reserve(&x->params, web_body(x->request).n + 1);
	if (task_params_check(c, x->order.params, x->faults, &x->params) ==
	    OK)
		(void)external_params_conceal(c, buf_str(&x->params),
		    &x->concealed);
}

static void
found(struct external_request *x)
{
	if (x->forbidden.n > 0) {
		refuse(x, 403, x->forbidden.p);
		return;
	}
	check_params(x);
	if (!x->is_there) {
		if (check_order(x))
			put_order(x, put_task, put_done);
	} else if (!store_task_is_closed(x->row.state)) {
		repeat_task(x);
	} else if (check_order(x)) {
		x->keep_cursor = has_equal_params(x) && str_eq(
		    x->row.connector, x->connector->name);
		put_order(x, retry_task, retry_done);
	}
}

/* A task of another connector says nothing about this one's versions. */
static enum err
find_task(struct external_request *x, struct store *st, struct why *w)
{
	struct version_facts *f = &x->version.facts;
	struct why first = WHY_INIT;

	enum err e = store_task_find(st, x->backend->name, x->fid, &x->arena,
	    &x->row, &first);
	x->is_there = e == OK;
	f->has_task = e == OK && x->row.hash.n > 0 && str_eq(
	    x->row.connector, x->connector->name);
	f->task_version = x->row.version;
	x->version.task_hash = x->row.hash;
	return e == OK || e == ERR_ABSENT ? OK : why(w, e, "%s", first.text);
}

static void
find_again(struct external_request *x)
{
	external_request_use_version(x, find_task, found);
}

/* ---- The request -------------------------------------------------------- */

void
external_post_task(struct web_request *r)
{
	struct external_request *x = external_request_new(r);
	struct str version = STR_NONE;
	struct why w = WHY_INIT;

	if (x == NULL)
		return;
	(void)web_param(r, "version", &version);
	enum err e = task_order_read(web_body(r), version, &x->order, &w);
	if (e == OK)
		e = backend_admit(x->backend, x->order.endpoint, &x->endpoint,
		    &x->arena, &w);
	if (e != OK && e != ERR_DENIED) {
		refuse(x, 400, w.text);
		return;
	}
	/* A version that is not known is said first. */
	if (e != OK)
		x->forbidden = arena_copy(&x->arena, str_of(w.text));
	x->fid = x->order.fid;
	x->version.facts.named = x->order.version;
	find_again(x);
}

/* ---- An operator's retry ------------------------------------------------ */

/* A secret is kept as null, and no other value is. */
static bool
has_secret(yyjson_val *params)
{
	size_t i, n;
	yyjson_val *key, *value;

	yyjson_obj_foreach(params, i, n, key, value)
		if (yyjson_is_null(value))
			return true;
	return false;
}

/*
 * With those of the request, or of the last attempt.  False: refused, and
 * freed.
 */
static bool
check_retry_params(struct external_request *x)
{
	struct str kept = x->row.params;
	yyjson_doc *doc = NULL;
	bool fine = true;

	if (x->order.params != NULL) {
		check_params(x);
		return true;
	}
	doc = yyjson_read(kept.p, kept.n, YYJSON_READ_NUMBER_AS_RAW);
	x->order.params = yyjson_doc_get_root(doc);
	fine = !has_secret(x->order.params);
	if (fine)
		check_params(x);
	x->order.params = NULL;
	yyjson_doc_free(doc);
	if (!fine)
		refuse(x, 400, "params: the task has secret ones, which are "
		    "not kept; give all of them again");
	return fine;
}

/* The connector is that of the task's version. */
static void
retry_versioned(struct external_request *x)
{
	if (!x->is_there || !store_task_is_closed(x->row.state)) {
		refuse(x, x->is_there ? 409 : 404, x->is_there ?
		    "the task is open" : "there is no such task");
		return;
	}
	if (!check_retry_params(x) || !check_order(x))
		return;
	x->keep_cursor = has_equal_params(x);
	put_order(x, retry_task, retry_done);
}

static void
retry_found(struct external_request *x)
{
	struct why w = WHY_INIT;

	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	x->backend = backends_find(x->set, x->row.backend);
	if (x->backend == NULL) {
		refuse(x, 409, "the task's back end is not configured any "
		    "more");
		return;
	}
	if (backend_admit(x->backend, x->row.endpoint, &x->endpoint,
	    &x->arena, &w) != OK) {
		refuse(x, 409, w.text);
		return;
	}
	x->backend_name = x->backend->name;
	x->order.crawler = x->row.crawler;
	x->order.version = x->version.facts.named = x->row.version;
	external_request_use_version(x, find_task, retry_versioned);
}

void
external_post_retry(struct web_request *r)
{
	struct external_request *x = external_request_open(r,
	    EXTERNAL_OPERATORS, EXTERNAL_CONNECTOR);
	struct why w = WHY_INIT;

	if (x == NULL || !external_request_take_fid(&x))
		return;
	if (web_body(r).n > 0 && task_order_read_check(web_body(r), &x->order,
	    &w) != OK) {
		refuse(x, 400, w.text);
		return;
	}
	external_request_ask(x, external_request_find, retry_found);
}

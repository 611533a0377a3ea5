/* Requests about a task that is there, and about a connector. */
#include "base/json_writer.h"
#include "doors/external/handlers.h"
#include "doors/external/reply.h"
#include "doors/external/request.h"
#include "doors/external/task_run.h"
#include "os/clock.h"
#include "os/log.h"

#define CODE_MAX 999u
#define CODE_CLOSES 200u
/* Rejected documents of an answer; `after` asks for more. */
#define REJECTED_PAGE 100u

/* ---- PATCH status ------------------------------------------------------- */

static enum err
close_group(struct external_request *x, struct store *st, struct why *w)
{
	struct wall now = clock_wall();

	enum err e = external_request_find(x, st, w);
	if (e != OK || store_task_is_closed(x->row.state))
		return e;
	/* The cursor stands behind documents that never arrived. */
	if (x->row.spooled > 0)
		e = store_task_reset_cursor(st, x->row.id, now, w);
	if (e == OK)
		e = store_task_close(st, x->row.id, &x->end, now, &x->made,
		    w);
	if (e == OK) {
		x->row.code = x->end.status.code;
		x->row.message = x->end.status.message;
		x->row.detail = x->end.status.detail;
	}
	return e;
}

static enum err
close_task(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = store_begin(st, w);

	return e == OK ? store_end(st, close_group(x, st, w), w) : e;
}

static enum err
note_code(struct external_request *x, struct store *st, struct why *w)
{
	const struct store_log_line line = { .time = clock_wall(),
		.level = STR("info"), .code = x->end.status.code,
		.text = x->end.status.message };

	enum err e = external_request_find(x, st, w);
	return e == OK ? store_log_add(st, x->row.id, &line, 1, w) : e;
}

static void
answer_status(struct external_request *x)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	json_object(&b, NULL);
	external_request_put_status(&x->row, false, &b);
	buf_put_char(&b, '}');
	external_request_answer(x, buf_str(&b));
}

static void
task_closed(struct external_request *x)
{
	struct task_run *t = x->result != OK ? NULL : task_run_of_id(x->door,
	    x->row.id);

	if (t != NULL && x->made) {
		log_info("external.stopped", "backend=%.*s task=%.*s "
		    "code=%llu", STR_FMT(x->backend->name), STR_FMT(x->fid),
		    (unsigned long long)x->row.code);
		task_run_leave(t);
	}
	answer_status(x);
}

static void
code_noted(struct external_request *x)
{
	x->row.code = x->end.status.code;
	x->row.message = x->end.status.message;
	answer_status(x);
}

static enum store_task_state
state_of(uint64_t code)
{
	switch (code) {
	case 200:
		return STORE_TASK_DONE;
	case 408:
		return STORE_TASK_TIMEOUT;
	case 499:
		return STORE_TASK_CANCELLED;
	default:
		return STORE_TASK_FAILED;
	}
}

/* False: refused, and freed. */
static bool
read_status(struct external_request *x)
{
	struct str body = web_body(x->request);
	struct store_task_status *s = &x->end.status;
	yyjson_doc *doc = yyjson_read(body.p, body.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *code = yyjson_obj_get(root, "code");
	bool fine = yyjson_is_uint(code) && yyjson_get_uint(code) <= CODE_MAX;

	if (fine) {
		s->code = yyjson_get_uint(code);
		s->state = state_of(s->code);
		s->message = arena_copy(&x->arena, str_cut(json_text(
		    yyjson_obj_get(root, "message")), 0,
		    DELIVERY_MESSAGE_BYTES_MAX));
		s->detail = arena_copy(&x->arena, str_cut(json_text(
		    yyjson_obj_get(root, "detail")), 0,
		    DELIVERY_MESSAGE_BYTES_MAX));
	}
	yyjson_doc_free(doc);
	if (fine)
		return true;
	if (doc == NULL)
		reply_fail(x->request, 400, "the body is no JSON");
	else
		reply_fail(x->request, 400, "code: it is no whole number from "
		    "0 to %u", CODE_MAX);
	external_request_free(&x);
	return false;
}

void
external_patch_status(struct web_request *r)
{
	struct external_request *x = external_request_new(r);

	if (x == NULL || !external_request_take_fid(&x) || !read_status(x))
		return;
	x->end.drop_spool = true;
	if (x->end.status.code >= CODE_CLOSES)
		external_request_ask(x, close_task, task_closed);
	else
		external_request_ask(x, note_code, code_noted);
}

/* ---- GET task, log ------------------------------------------------------ */

static void
answer_look(struct external_request *x)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	json_object(&b, NULL);
	external_request_put_task(x, &x->row, &b);
	json_raw(&b, "params", x->row.params.n > 0 ? x->row.params :
	    STR("{}"));
	if (x->row.cursor.n > 0)
		json_raw(&b, "cursor", x->row.cursor);
	else
		json_null(&b, "cursor");
	buf_put_char(&b, '}');
	external_request_answer(x, buf_str(&b));
}

void
external_get_task(struct web_request *r)
{
	struct external_request *x = external_request_open(r, EXTERNAL_BOTH,
	    EXTERNAL_ANY_CONNECTOR);

	if (x != NULL && external_request_take_fid(&x))
		external_request_ask(x, external_request_find, answer_look);
}

static enum err
read_log(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = external_request_find(x, st, w);

	return e == OK ? store_log_list(st, x->row.id, x->after, &x->arena,
	    &x->lines, &x->n, w) : e;
}

static void
answer_log(struct external_request *x)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	char iso[WALL_ISO_MAX];

	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	json_object(&b, NULL);
	json_array(&b, "lines");
	for (size_t i = 0; i < x->n; i++) {
		const struct store_log_line *l = &x->lines[i];
		wall_to_iso(l->time, iso);
		json_object(&b, NULL);
		json_u64(&b, "number", l->number);
		json_str(&b, "time", str_of(iso));
		json_str(&b, "level", l->level);
		json_u64(&b, "code", l->code);
		json_str(&b, "text", l->text);
		buf_put_char(&b, '}');
	}
	buf_put_text(&b, "]}");
	external_request_answer(x, buf_str(&b));
}

void
external_get_log(struct web_request *r)
{
	struct external_request *x = external_request_open(r, EXTERNAL_BOTH,
	    EXTERNAL_ANY_CONNECTOR);

	if (x != NULL && external_request_take_fid(&x) &&
	    external_request_take_number(&x, "after", &x->after))
		external_request_ask(x, read_log, answer_log);
}

/* ---- Rejected documents ------------------------------------------------- */

static enum err
read_rejected(struct external_request *x, struct store *st, struct why *w)
{
	enum err e = external_request_find(x, st, w);

	return e == OK ? store_rejected_list(st, x->row.id, x->after,
	    REJECTED_PAGE, &x->arena, &x->documents, &x->n, w) : e;
}

/* The document is a text, since it may have been cut. */
static void
answer_rejected(struct external_request *x)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	if (x->result != OK) {
		external_request_fail(x);
		return;
	}
	json_object(&b, NULL);
	json_array(&b, "rejected");
	for (size_t i = 0; i < x->n; i++) {
		const struct store_document *d = &x->documents[i];
		json_object(&b, NULL);
		json_u64(&b, "number", d->number);
		json_str(&b, "pointer", d->pointer);
		json_str(&b, "message", d->message);
		json_str(&b, "document", d->json);
		buf_put_char(&b, '}');
	}
	buf_put_char(&b, ']');
	json_u64(&b, "total", x->row.rejected);
	buf_put_char(&b, '}');
	external_request_answer(x, buf_str(&b));
}

void
external_get_rejected(struct web_request *r)
{
	struct external_request *x = external_request_open(r, EXTERNAL_BOTH,
	    EXTERNAL_ANY_CONNECTOR);

	if (x != NULL && external_request_take_fid(&x) &&
	    external_request_take_number(&x, "after", &x->after))
		external_request_ask(x, read_rejected, answer_rejected);
}

/* ---- The connector ------------------------------------------------------ */

void
external_get_object(struct web_request *r)
{
	FREED(buf_free) struct buf mount = BUF_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct external_request *x = external_request_open(r, EXTERNAL_BOTH,
	    EXTERNAL_CONNECTOR);

	if (x == NULL)
		return;
	external_request_put_mount(x, &mount);
	const struct external_object_options o = {
		.endpoint = buf_str(&mount) };
	external_object_write(x->connector->connector, &o, &b);
	external_request_answer(x, buf_str(&b));
}

/* The form with a member more: the registered version that it is of. */
static void
answer_form(struct external_request *x)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	external_form_write(x->connector->connector, &b);
	b.n--;
	if (x->version.version > 0)
		json_u64(&b, "registered", x->version.version);
	else
		json_null(&b, "registered");
	buf_put_char(&b, '}');
	external_request_answer(x, buf_str(&b));
}

void
external_get_form(struct web_request *r)
{
	struct external_request *x = external_request_open(r, EXTERNAL_BOTH,
	    EXTERNAL_CONNECTOR);
	struct str version = STR_NONE;

	if (x == NULL)
		return;
	if (web_param(r, "version", &version) && !str_to_u64(version,
	    &x->version.facts.named)) {
		reply_fail(r, 400, "version: it is no whole number");
		external_request_free(&x);
		return;
	}
	external_request_use_version(x, NULL, answer_form);
}

void
external_not_found(struct web_request *r)
{
	reply_fail(r, 404, "there is no such address");
}

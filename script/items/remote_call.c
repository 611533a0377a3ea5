/*
 * What a run of a remote worker asks for: each call is a request to the daemon.
 * It is asked again while the daemon is away; that time counts as waiting for a
 * turn, which has a limit of its own.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "script/items/remote_own.h"
#include "script/items/task_request.h"
#include "wire/base64.h"
#include "wire/digest.h"

#define ANSWER_MS 30000
#define LONG_ANSWER_MS 1200000       /* a fetch with its turn, a login */
#define JSON_TYPE "application/json"

struct remote_call {
	struct list node;            /* task_run.calls */
	struct task_run *t;
	struct script_call *call;
	bool waits_far;              /* counted in the runner's waiting_n */
	struct remote_request request;
	struct buf path, body;
};

static void
call_free(struct remote_call *c)
{
	struct task_run *t = c->t;

	list_take(&c->node);
	t->runner->waiting_n -= c->waits_far;
	remote_request_free(&c->request);
	buf_free(&c->path);
	buf_free(&c->body);
	mem_free(&c);
	if (list_empty(&t->calls))
		task_run_calls_done(t);
}

/* `blob`: the bytes of one that was read or put; its digest is recorded. */
static void
answer_call(struct remote_call *c, struct str value, struct str body,
    struct str blob)
{
	struct digest d;

	if (blob.p != NULL)
		digest_of(DIGEST_SHA256, blob, &d);
	replay_put_value(&c->t->writer, c->call, value, blob.p == NULL ?
	    NULL : d.bytes);
	script_call_answer(c->call, value, body);
	call_free(c);
}

static void
fail_call(struct remote_call *c, const struct run_fault *f)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	run_fault_put(f, &b);
	replay_put_error(&c->t->writer, c->call, buf_str(&b));
	script_call_fail(c->call, buf_str(&b), f->body);
	call_free(c);
}

/* An answer that is no 200.  A lease that is lost ends the run. */
static void
fail_by_status(struct remote_call *c)
{
	int status = c->request.status;
	const struct buf *b = &c->request.answer;
	yyjson_doc *doc = yyjson_read(b->p, b->n, 0);
	struct str text = json_text(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "error"));
	bool mine = status >= 400 && status < 500;
	struct task_run *t = c->t;
	struct run_fault f = { mine ? "PermanentError" : "TransientError",
	    mine ? "input" : "daemon", text.p == NULL ?
	    STR("the daemon did not answer") : text, 0, -1, STR_NONE,
	    STR_NONE };

	if (status == 409)
		task_run_cut(t);         /* cancels the call, and frees it */
	else
		fail_call(c, &f);
	yyjson_doc_free(doc);
}

/* -- Answers -- */

/* The version of the session that a script has got. */
static void
note_version(struct remote_call *c)
{
	const struct buf *b = &c->request.answer;
	yyjson_doc *doc = yyjson_read(b->p, b->n, 0);
	yyjson_val *version = yyjson_obj_get(yyjson_doc_get_root(doc),
	    "version");

	if (yyjson_is_uint(version))
		run_note_session(c->t, json_text(yyjson_obj_get(
		    script_call_args(c->call), "name")),
		    yyjson_get_uint(version));
	yyjson_doc_free(doc);
}

static void
json_answered(struct remote_request *request)
{
	struct remote_call *c = CONTAINER(request, struct remote_call,
	    request);

	if (request->status != 200) {
		fail_by_status(c);
		return;
	}
	enum script_call_kind kind = script_call_kind(c->call);
	if (kind == SCRIPT_CALL_SESSION || kind == SCRIPT_CALL_SESSION_EXPIRED)
		script_call_wait_turn(c->call, false);
	if (kind != SCRIPT_CALL_READ && kind != SCRIPT_CALL_PUT_BLOB)
		note_version(c);
	answer_call(c, buf_str(&request->answer), STR_NONE, kind ==
	    SCRIPT_CALL_PUT_BLOB ? script_call_body(c->call) : STR_NONE);
}

/* A line of JSON, then bytes. */
static void
split_answer(const struct remote_request *q, struct str *line,
    struct str *bytes)
{
	struct str all = buf_str(&q->answer);
	size_t at = str_find_char(all, '\n');

	*line = str_cut(all, 0, at);
	*bytes = str_from(all, MIN(at + 1, all.n));
}

static void
blob_answered(struct remote_request *request)
{
	struct remote_call *c = CONTAINER(request, struct remote_call,
	    request);
	struct str line, bytes;

	if (request->status != 200) {
		fail_by_status(c);
		return;
	}
	split_answer(request, &line, &bytes);
	answer_call(c, line, bytes, str_eq(line, STR("null")) ? STR_NONE :
	    bytes);
}

static void
note_fetch(struct remote_call *c, yyjson_val *head, yyjson_val *error)
{
	yyjson_val *capture = yyjson_obj_get(head, "capture");
	yyjson_val *args = script_call_args(c->call);
	yyjson_val *url = yyjson_obj_get(args, "url");
	yyjson_val *version = yyjson_obj_get(head, "sessionVersion");

	if (yyjson_is_uint(version))
		run_note_session(c->t, json_text(yyjson_obj_get(args,
		    "session")), yyjson_get_uint(version));
	run_note_fetch(c->t, json_text(url), (int)yyjson_get_uint(
	    yyjson_obj_get(head, "status")), json_text(yyjson_obj_get(error,
	    "code")), (uint32_t)yyjson_get_uint(yyjson_obj_get(capture,
	    "crawl")), yyjson_get_uint(yyjson_obj_get(capture, "seq")));
	if (yyjson_is_true(yyjson_obj_get(head, "secretFound")))
		run_note_secret(c->t);
}

static void
fail_fetch(struct remote_call *c, yyjson_val *head, yyjson_val *error,
    struct str line, struct str bytes)
{
	yyjson_val *after = yyjson_obj_get(error, "retryAfter");
	const char *code = yyjson_get_str(yyjson_obj_get(error, "code"));
	int status = (int)yyjson_get_uint(yyjson_obj_get(head, "status"));
	struct run_fault f = { task_request_class(code == NULL ? "" : code),
	    code == NULL ? "" : code, json_text(yyjson_obj_get(error,
	    "message")), status, yyjson_is_uint(after) ? (int64_t)
	    yyjson_get_uint(after) : -1, STR_NONE, STR_NONE };

	if (status > 0) {
		f.response = line;
		f.body = bytes;
	}
	fail_call(c, &f);
}

/* The daemon has noted the turn, so that claims pass over the pair. */
static bool
is_put_back(yyjson_val *error)
{
	return yyjson_equals_str(yyjson_obj_get(error, "code"), "turn");
}

static void
fetch_answered(struct remote_request *request)
{
	struct remote_call *c = CONTAINER(request, struct remote_call,
	    request);
	struct str line, bytes;

	if (request->status != 200) {
		fail_by_status(c);
		return;
	}
	split_answer(request, &line, &bytes);
	yyjson_doc *doc = yyjson_read(line.p, line.n, 0);
	yyjson_val *head = yyjson_doc_get_root(doc);
	yyjson_val *error = yyjson_obj_get(head, "error");
	note_fetch(c, head, error);
	if (is_put_back(error))
		task_run_put_back(c->t, NULL);       /* frees the call */
	else if (error != NULL)
		fail_fetch(c, head, error, line, bytes);
	else
		answer_call(c, line, bytes, STR_NONE);
	yyjson_doc_free(doc);
}

/* -- Questions -- */

static void
put_value(struct buf *b, const char *name, yyjson_val *v)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, 0, &n);

	json_raw(b, name, (struct str){ text, n });
	free(text);
}

static void
put_lease(struct remote_call *c)
{
	json_object(&c->body, NULL);
	json_str(&c->body, "lease", c->t->lease);
}

static void
send_post(struct remote_call *c, const char *path,
    void (*done)(struct remote_request *))
{
	struct remote_worker *rw = c->t->runner->o.port_arg;

	buf_put_char(&c->body, '}');
	c->request.method = "POST";
	c->request.path = str_of(path);
	c->request.type = JSON_TYPE;
	c->request.body = buf_str(&c->body);
	c->request.done = done;
	remote_link_send(rw->link, &c->request);
}

/* The members of the arguments that are there, as they are. */
static void
put_members(struct remote_call *c, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		yyjson_val *v = yyjson_obj_get(script_call_args(c->call),
		    names[i]);
		if (v != NULL && !yyjson_is_null(v))
			put_value(&c->body, names[i], v);
	}
}

static void
begin_read(struct remote_call *c)
{
	static const char *const names[] = { "items", "metadata" };

	put_lease(c);
	put_members(c, names, ARRAY_LEN(names));
	send_post(c, "/worker/read", json_answered);
}

static void
put_query(struct buf *b, const char *name, yyjson_val *value)
{
	struct str s = json_text(value);

	buf_printf(b, "&%s=", name);
	for (size_t i = 0; i < s.n; i++)
		buf_printf(b, "%%%02X", (unsigned char)s.p[i]);
}

static void
put_blob_path(struct remote_call *c)
{
	buf_put_text(&c->path, "/worker/blob?lease=");
	buf_put_str(&c->path, c->t->lease);
}

static void
send_blob(struct remote_call *c, const char *method,
    void (*done)(struct remote_request *))
{
	struct remote_worker *rw = c->t->runner->o.port_arg;

	c->request.method = method;
	c->request.path = buf_str(&c->path);
	c->request.done = done;
	remote_link_send(rw->link, &c->request);
}

static void
begin_blob(struct remote_call *c)
{
	yyjson_val *args = script_call_args(c->call);

	put_blob_path(c);
	put_query(&c->path, "id", yyjson_obj_get(args, "id"));
	put_query(&c->path, "name", yyjson_obj_get(args, "name"));
	send_blob(c, "GET", blob_answered);
}

static void
begin_put_blob(struct remote_call *c)
{
	put_blob_path(c);
	c->request.type = "application/octet-stream";
	c->request.body = script_call_body(c->call);
	send_blob(c, "PUT", json_answered);
}

/* Sent again when its answer was lost only where that does no harm. */
static bool
is_repeatable(struct str method)
{
	return method.n == 0 || str_eq_nocase(method, STR("GET")) ||
	    str_eq_nocase(method, STR("HEAD"));
}

static void
begin_fetch(struct remote_call *c)
{
	static const char *const names[] = { "url", "method", "headers",
		"contentType", "redirect", "timeout", "maxAge", "session",
		"auth", "stream", "accept" };
	yyjson_val *args = script_call_args(c->call);
	struct str body = script_call_body(c->call);

	put_lease(c);
	put_members(c, names, ARRAY_LEN(names));
	if (yyjson_obj_get(args, "accept") == NULL)
		json_raw(&c->body, "accept", STR("[]"));
	if (body.n > 0) {
		json_name(&c->body, "bodyBase64");
		buf_put_char(&c->body, '"');
		base64_put(&c->body, body);
		buf_put_char(&c->body, '"');
	}
	if (c->t->fetches_n++ == 0)
		json_u64(&c->body, "first_turn_ms",
		    (uint64_t)task_run_first_turn_ms(c->t, &c->waits_far));
	script_call_wait_turn(c->call, true);
	c->request.is_long = true;
	c->request.total_ms = LONG_ANSWER_MS;
	c->request.once = !is_repeatable(json_text(yyjson_obj_get(args,
	    "method")));
	send_post(c, "/worker/fetch", fetch_answered);
}

static const char *
session_word(enum script_call_kind kind)
{
	switch (kind) {
	case SCRIPT_CALL_SESSION:
		return "ask";
	case SCRIPT_CALL_SESSION_EXPIRED:
		return "expired";
	case SCRIPT_CALL_SESSION_STORE:
		return "store";
	case SCRIPT_CALL_SESSION_FAIL:
		return "fail";
	default:
		return "invalidate";
	}
}

static void
begin_session(struct remote_call *c)
{
	static const char *const names[] = { "name", "version", "data",
		"message" };
	yyjson_val *args = script_call_args(c->call);

	put_lease(c);
	json_str(&c->body, "do", str_of(session_word(script_call_kind(
	    c->call))));
	put_members(c, names, ARRAY_LEN(names));
	if (yyjson_obj_get(args, "version") == NULL && str_eq(json_text(
	    yyjson_obj_get(args, "name")), c->t->session))
		json_u64(&c->body, "version", c->t->session_rev);
	script_call_wait_turn(c->call, true);
	c->request.is_long = true;
	c->request.total_ms = LONG_ANSWER_MS;
	send_post(c, "/worker/session", json_answered);
}

/* -- The calls of a run -- */

void
remote_call_begin(struct task_run *t, struct script_call *call)
{
	static void (*const begin[SCRIPT_CALL_KIND_COUNT])(
	    struct remote_call *) = {
		[SCRIPT_CALL_READ] = begin_read,
		[SCRIPT_CALL_BLOB] = begin_blob,
		[SCRIPT_CALL_PUT_BLOB] = begin_put_blob,
		[SCRIPT_CALL_FETCH] = begin_fetch,
		[SCRIPT_CALL_SESSION] = begin_session,
		[SCRIPT_CALL_SESSION_EXPIRED] = begin_session,
		[SCRIPT_CALL_SESSION_STORE] = begin_session,
		[SCRIPT_CALL_SESSION_FAIL] = begin_session,
		[SCRIPT_CALL_SESSION_INVALIDATE] = begin_session,
	};
	struct remote_call *c = mem_new(sizeof(*c));
	enum script_call_kind kind = script_call_kind(call);

	CHECK(begin[kind] != NULL);
	c->t = t;
	c->call = call;
	c->request.total_ms = ANSWER_MS;
	list_put(&t->calls, &c->node);
	script_call_set_arg(call, c);
	begin[kind](c);
}

void
remote_call_cancel(struct task_run *t, struct script_call *call)
{
	struct remote_call *c = script_call_arg(call);

	(void)t;
	if (c == NULL)
		return;
	remote_link_stop(&c->request);
	call_free(c);
}

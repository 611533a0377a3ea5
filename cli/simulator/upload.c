/*
 * upload -- what crawlers send: documents and statuses, and the faults that the
 * plan sets against them.
 *
 *     count the call -> find its fault -> [delay] -> refuse | redirect
 *         -> accept -> answer | another status | cut answer | no answer
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "cli/simulator/envelope.h"
#include "cli/simulator/own.h"
#include "cli/simulator/upload_call.h"
#include "os/log.h"

#define KEY_BYTES_MAX 200u

/* One call, from its arrival to its answer.  Memory: the request's arena. */
struct call {
	struct list node;            /* of simulator.delayed, or of none */
	struct timer timer;
	struct simulator *simulator;
	struct web_request *request;
	enum fault_call kind;
	uint64_t number;
	const struct fault *fault;   /* NULL: none */
	struct task *task;           /* while it is accepted */
	struct str key;              /* Idempotency-Key, or empty */
	struct buf body;             /* decoded */
	int status;                  /* of the answer */
	struct buf answer;
};

/* The texts of a call of that kind. */
static const char *const kind_names[] = { "upload", "status" };

/* ---- Answers -------------------------------------------------------- */

static void
set_success(struct call *c, struct str payload)
{
	c->status = 200;
	envelope_put_success(&c->answer, payload);
}

static void
set_failure(struct call *c, int status, const char *text)
{
	struct str message = str_of(text);

	c->status = status;
	envelope_put_failure(&c->answer, &message, 1, STR(""));
}

static void
set_failure_why(struct call *c, const struct why *w)
{
	set_failure(c, err_http(w->err), w->text);
}

static void
log_call(const struct call *c, int status, const char *fault)
{
	char note[80];

	snprintf(note, sizeof(note), "%s_number=%llu%s%s", kind_names[c->kind],
	    (unsigned long long)c->number, fault[0] == '\0' ? "" : " fault=",
	    fault);
	log_request(c->request, status, note);
}

/* The call has ended; its request was answered or is gone. */
static void
end_call(struct call *c)
{
	buf_free(&c->body);
	buf_free(&c->answer);
}

static void
answer_call(struct call *c)
{
	/* A call that is refused anyway keeps its own answer. */
	const struct fault *f = c->status == 200 || c->status == 406 ?
	    c->fault : NULL;
	struct call ended = *c;

	log_call(c, upload_call_status(f, c->status), upload_call_fault(f));
	upload_call_answer(c->request, f, c->status, buf_str(&c->answer));
	/* `c` itself went with the request. */
	end_call(&ended);
}

/* A fault that keeps the call from being accepted.  False: it is no such. */
static bool
refuse_by_plan(struct call *c)
{
	static const struct str text = { "the fault plan refuses this call",
	    32 };
	struct call ended;

	if (!upload_call_is_refused(c->fault))
		return false;
	envelope_put_failure(&c->answer, &text, 1, STR(""));
	log_call(c, upload_call_status(c->fault, 0),
	    upload_call_fault(c->fault));
	ended = *c;
	upload_call_answer(c->request, c->fault, 0, buf_str(&c->answer));
	end_call(&ended);
	return true;
}

/* ---- What came ------------------------------------------------------ */

/* Undo Content-Encoding.  False: refused. */
static bool
decode_body(struct call *c)
{
	switch (upload_call_decode(c->request,
	    (uint64_t)c->simulator->limits.upload_bytes_max, &c->body)) {
	case HTTP_FINE:
		return true;
	case HTTP_UNKNOWN_CODING:
		set_failure(c, 415, "Content-Encoding: must be gzip, or none");
		return false;
	case HTTP_TOO_LONG:
	case HTTP_TOO_DENSE:
		set_failure(c, 413, "upload_bytes_max: the body unpacks to too "
		    "many bytes");
		return false;
	default:
		set_failure(c, 400, "Content-Encoding: the body is not coded "
		    "as it says");
		return false;
	}
}

static bool
find_task_of(struct call *c)
{
	struct str fid = request_segment(c->request, 2);

	c->task = map_get(&c->simulator->tasks, fid);
	if (c->task == NULL)
		set_failure(c, 404, "there is no such task");
	return c->task != NULL;
}

static bool
read_key(struct call *c)
{
	c->key = STR("");
	(void)web_field(c->request, "idempotency-key", &c->key);
	if (c->key.n <= KEY_BYTES_MAX)
		return true;
	set_failure(c, 400, "Idempotency-Key: more than 200 bytes");
	return false;
}

/* ---- Uploads -------------------------------------------------------- */

/* The lines of an upload, which are accepted or refused one by one. */
struct lines {
	struct line {
		yyjson_doc *doc;
		struct str id;           /* STR_NONE: it has none */
		struct str error;        /* empty: accepted */
	} *of;
	size_t n, cap, refused, duplicates;
	struct arena *arena;
};

static void
lines_free(struct lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		yyjson_doc_free(l->of[i].doc);
	mem_free(&l->of);
}

static enum err
read_lines(struct str body, struct lines *l, struct why *w)
{
	struct ndjson reader = { .rest = body };
	struct str text;
	yyjson_doc *doc = NULL;
	enum err e;

	while ((e = ndjson_next(&reader, &doc, &text, w)) == OK &&
	    doc != NULL) {
		l->of = mem_room(l->of, l->n, &l->cap, 64, sizeof(*l->of));
		l->of[l->n++] = (struct line){ doc, STR_NONE, STR("") };
	}
	return e;
}

static void
check_lines(const struct call *c, struct lines *l)
{
	const struct external *x = c->task->crawler->external;
	const struct fault *f = c->fault;

	for (size_t i = 0; i < l->n; i++) {
		struct line *line = &l->of[i];
		struct why w = WHY_INIT;
		if (f != NULL && f->kind == FAULT_LINES &&
		    fault_refuses_line(f, i + 1))
			line->error = STR("the fault plan refuses this line");
		else if (external_check_document(x,
		    yyjson_doc_get_root(line->doc), l->arena, &line->id,
		    &w) != OK)
			line->error = arena_copy(l->arena, str_of(w.text));
		l->refused += line->error.n > 0;
	}
}

static enum err
keep_lines(struct call *c, struct lines *l, struct why *w)
{
	bool duplicate;
	enum err e = OK;

	for (size_t i = 0; e == OK && i < l->n; i++) {
		if (l->of[i].error.n > 0)
			continue;
		e = document_set_put(c->task->documents, l->of[i].id,
		    yyjson_doc_get_root(l->of[i].doc), &duplicate, w);
		l->duplicates += e == OK && duplicate;
	}
	return e;
}

static void
put_errors(const struct lines *l, struct buf *b)
{
	json_array(b, "errors");
	for (size_t i = 0; i < l->n; i++) {
		if (l->of[i].error.n == 0)
			continue;
		json_object(b, NULL);
		json_u64(b, "line", i + 1);
		json_str(b, "error", l->of[i].error);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

static void
set_lines_answer(struct call *c, const struct lines *l)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str message;

	json_object(&b, NULL);
	json_u64(&b, "count", l->n - l->refused);
	if (l->refused > 0)
		put_errors(l, &b);
	buf_put_char(&b, '}');
	if (l->refused == 0) {
		set_success(c, buf_str(&b));
		return;
	}
	message = arena_printf(l->arena, "%zu of %zu documents are refused",
	    l->refused, l->n);
	c->status = 406;
	envelope_put_failure(&c->answer, &message, 1, buf_str(&b));
}

/* The same upload again gets the same answer. */
static bool
answer_known_key(struct call *c)
{
	struct upload_answer known;
	bool same;

	if (c->key.n == 0 || !document_set_upload(c->task->documents, c->key,
	    buf_str(&c->body), &same, &known))
		return false;
	if (!same) {
		set_failure(c, 400, "Idempotency-Key: was used for another "
		    "upload");
		return true;
	}
	c->status = known.status;
	buf_put_str(&c->answer, known.json);
	task_log(c->task, "upload %llu: came before, by its key",
	    (unsigned long long)c->number);
	return true;
}

static void
accept_lines(struct call *c, struct lines *l)
{
	struct task *t = c->task;
	struct why w = WHY_INIT;

	if (c->key.n > 0 && document_set_is_full(t->documents)) {
		set_failure(c, 429, "uploads_max: the task has too many keys");
		return;
	}
	check_lines(c, l);
	if (l->refused > (size_t)c->simulator->limits.line_faults_max) {
		set_failure(c, 406, "too many documents are refused; none was "
		    "accepted");
		return;
	}
	if (keep_lines(c, l, &w) != OK) {
		set_failure_why(c, &w);
		return;
	}
	set_lines_answer(c, l);
	task_log(t, "upload %llu: %zu documents, %zu of them known, %zu "
	    "refused", (unsigned long long)c->number, l->n - l->refused,
	    l->duplicates, l->refused);
	struct upload_answer answer = { c->status, buf_str(&c->answer) };
	if (c->key.n > 0)
		CHECK(document_set_note_upload(t->documents, c->key,
		    buf_str(&c->body), answer, NULL) == OK);
}

static void
accept_upload(struct call *c)
{
	FREED(lines_free) struct lines l = {
	    .arena = web_arena(c->request) };
	struct why w = WHY_INIT;

	if (!task_is_open(c->task)) {
		set_failure(c, 404, "the task is closed");
		return;
	}
	task_heard(c->task);
	if (answer_known_key(c))
		return;
	if (read_lines(buf_str(&c->body), &l, &w) == OK) {
		accept_lines(c, &l);
		return;
	}
	set_failure_why(c, &w);
	task_log(c->task, "upload %llu: refused: %s",
	    (unsigned long long)c->number, w.text);
}

/* ---- Statuses ------------------------------------------------------- */

/* `detail` may be any value; one that is no text is kept as JSON. */
static struct str
read_detail(yyjson_val *v, struct arena *a)
{
	char *text;
	size_t n;
	struct str s;

	if (v == NULL || yyjson_is_null(v))
		return STR_NONE;
	if (yyjson_is_str(v))
		return json_text(v);
	text = yyjson_val_write(v, 0, &n);
	CHECK(text != NULL);
	s = arena_copy(a, (struct str){ text, n });
	free(text);
	return s;
}

/* A closed task: only what it was closed by may come again. */
static void
answer_closed(struct call *c, int code)
{
	const struct task *t = c->task;

	if (code == t->code || (c->key.n > 0 && str_eq(c->key,
	    buf_str(&t->status_key))))
		set_success(c, STR("{}"));
	else
		set_failure(c, 404, "the task is closed");
}

static void
take_status(struct call *c, yyjson_val *body)
{
	struct task *t = c->task;
	yyjson_val *code = yyjson_obj_get(body, "code");
	yyjson_val *message = yyjson_obj_get(body, "message");

	if (!yyjson_is_uint(code) || yyjson_get_uint(code) > TASK_CODE_MAX) {
		set_failure(c, 400, "code: must be a whole number from 0 to "
		    "999");
		return;
	}
	if (message != NULL && !yyjson_is_null(message) &&
	    !yyjson_is_str(message)) {
		set_failure(c, 400, "message: must be a text");
		return;
	}
	if (!task_is_open(t)) {
		answer_closed(c, (int)yyjson_get_uint(code));
		return;
	}
	/* A retry of the last one changes nothing. */
	if (c->key.n == 0 || !str_eq(c->key, buf_str(&t->status_key)))
		task_set_status(t, (int)yyjson_get_uint(code),
		    json_text(message), read_detail(yyjson_obj_get(body,
		    "detail"), web_arena(c->request)));
	else
		task_heard(t);
	buf_clear(&t->status_key);
	buf_put_str(&t->status_key, c->key);
	set_success(c, STR("{}"));
}

static void
accept_status(struct call *c)
{
	FREED(json_doc_free) yyjson_doc *doc = NULL;
	struct why w = WHY_INIT;

	if (json_body_read(buf_str(&c->body), "the body", &doc, &w) == OK)
		take_status(c, yyjson_doc_get_root(doc));
	else
		set_failure_why(c, &w);
}

/* ---- The two requests ----------------------------------------------- */

static void
run_call(struct call *c)
{
	if (refuse_by_plan(c))
		return;
	if (find_task_of(c) && read_key(c) && decode_body(c)) {
		if (c->kind == FAULT_UPLOAD)
			accept_upload(c);
		else
			accept_status(c);
	}
	answer_call(c);
}

static void
delay_over(struct timer *t)
{
	struct call *c = CONTAINER(t, struct call, timer);

	list_take(&c->node);
	run_call(c);
}

static void
begin_call(struct web_request *r, enum fault_call kind)
{
	struct call *c = ARENA_NEW(web_arena(r), struct call);
	struct simulator *s = request_simulator(r);

	list_init(&c->node);
	c->simulator = s;
	c->request = r;
	c->kind = kind;
	c->number = ++s->fault_calls[kind];
	c->fault = fault_plan_find(s->faults, kind, c->number);
	if (c->fault == NULL || c->fault->delay_ms == 0) {
		run_call(c);
		return;
	}
	c->timer.fire = delay_over;
	list_put(&s->delayed, &c->node);
	loop_timer_set(s->loop, &c->timer, mono_add_ms(loop_now(s->loop),
	    (int64_t)c->fault->delay_ms));
}

void
post_upload(struct web_request *r)
{
	begin_call(r, FAULT_UPLOAD);
}

void
post_status(struct web_request *r)
{
	begin_call(r, FAULT_STATUS);
}

void
refuse_delayed(struct simulator *s)
{
	while (!list_empty(&s->delayed)) {
		struct call *c = LIST_POP(&s->delayed, struct call, node);
		loop_timer_stop(s->loop, &c->timer);
		answer_fault(c->request, 503, "the simulator is ending");
	}
}

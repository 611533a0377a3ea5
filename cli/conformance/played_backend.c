/*
 * played_backend -- the back end that a crawler is judged against: it records
 * what comes for each task, and answers as the task's plan of faults wants.
 *
 *     upload ─► recorded ─► [held | delayed] ─► read ─► answered
 */
#include "base/json_writer.h"
#include "cli/conformance/own.h"
#include "cli/simulator/envelope.h"
#include "cli/simulator/json_body.h"
#include "cli/simulator/upload_call.h"
#include "os/clock.h"

/* A call that is not answered yet.  Memory: the request's. */
struct pending {
	struct list node;
	struct timer timer;
	struct conformance *of;
	struct task_trace *task;
	size_t arrival;              /* its index, since arrivals move */
	struct web_request *request;
	const struct fault *fault;   /* NULL: none */
	enum http_damage damage;
};

static void
answer_failure(struct web_request *r, const struct fault *f, int status,
    const char *text)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str message = str_of(text);

	envelope_put_failure(&b, &message, 1, STR(""));
	upload_call_answer(r, f, status, buf_str(&b));
}

/* ---- Uploads -------------------------------------------------------- */

static uint64_t
refused_line(const struct fault *f, const struct arrival *a)
{
	for (uint64_t line = 1; f != NULL && f->kind == FAULT_LINES &&
	    line <= a->documents; line++)
		if (fault_refuses_line(f, line))
			return line;
	return 0;
}

static void
put_refused_line(struct buf *b, const struct arrival *a)
{
	FREED(buf_free) struct buf payload = BUF_INIT;
	struct str message = STR("a document is refused");

	json_object(&payload, NULL);
	json_u64(&payload, "count", a->documents - 1);
	json_array(&payload, "errors");
	json_object(&payload, NULL);
	json_u64(&payload, "line", a->refused);
	json_str(&payload, "error", message);
	buf_put_text(&payload, "}]}");
	envelope_put_failure(b, &message, 1, buf_str(&payload));
}

static void
put_count(struct buf *b, const struct arrival *a)
{
	FREED(buf_free) struct buf payload = BUF_INIT;

	json_object(&payload, NULL);
	json_u64(&payload, "count", a->documents);
	buf_put_char(&payload, '}');
	envelope_put_success(b, buf_str(&payload));
}

/* The status that the upload has earned, and its answer. */
static int
accept_upload(struct pending *p, struct arrival *a, struct buf *b)
{
	struct str message;

	if (a->malformed != NULL) {
		message = str_of(a->malformed);
		envelope_put_failure(b, &message, 1, STR(""));
		return 400;
	}
	a->accepted = true;
	a->refused = refused_line(p->fault, a);
	if (a->refused > 0) {
		put_refused_line(b, a);
		return 406;
	}
	put_count(b, a);
	return 200;
}

/* ---- Statuses ------------------------------------------------------- */

static int
accept_status(struct pending *p, struct arrival *a, struct buf *b)
{
	struct str message = str_of(a->malformed);

	if (a->malformed != NULL) {
		envelope_put_failure(b, &message, 1, STR(""));
		return 400;
	}
	a->accepted = true;
	if (a->code >= CODE_DONE && p->task->closed == 0)
		p->task->closed = a->code;
	envelope_put_success(b, STR("{}"));
	return 200;
}

static void
read_status(struct task_trace *t, struct arrival *a)
{
	yyjson_doc *doc = NULL;
	struct why w = WHY_INIT;
	yyjson_val *root, *code, *detail;

	if (json_body_read(a->body, "the status", &doc, &w) != OK) {
		a->malformed = arena_copy(&t->arena, str_of(w.text)).p;
		return;
	}
	root = yyjson_doc_get_root(doc);
	code = yyjson_obj_get(root, "code");
	detail = yyjson_obj_get(root, "detail");
	if (!yyjson_is_uint(code) || yyjson_get_uint(code) > CODE_MAX)
		a->malformed = "code is no whole number from 0 to 999";
	else if (!yyjson_is_str(yyjson_obj_get(root, "message")))
		a->malformed = "message is no text";
	else if (!json_is_absent(detail) && !yyjson_is_str(detail))
		a->malformed = "detail is neither a text nor null";
	else
		a->code = (int)yyjson_get_uint(code);
	yyjson_doc_free(doc);
}

/* ---- From a call to its answer -------------------------------------- */

static struct arrival *
pending_arrival(const struct pending *p)
{
	return &p->task->arrivals[p->arrival];
}

/* `p` is gone afterwards. */
static void
answer_pending(struct pending *p, const struct fault *f)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct arrival *a = pending_arrival(p);
	int status = 0;

	list_take(&p->node);
	p->task->unanswered -= a->call == FAULT_UPLOAD;
	a->answered = clock_mono();
	p->fault = f;
	if (!upload_call_is_refused(f))
		status = a->call == FAULT_UPLOAD ? accept_upload(p, a, &b) :
		    accept_status(p, a, &b);
	a->status = f != NULL && f->kind == FAULT_REPLY_LOST ? 0 :
	    upload_call_status(f, status);
	if (upload_call_is_refused(f))
		answer_failure(p->request, f, 0, "the conformance test "
		    "refuses this call");
	else
		upload_call_answer(p->request, f, status, buf_str(&b));
}

static void
delay_over(struct timer *t)
{
	struct pending *p = CONTAINER(t, struct pending, timer);

	answer_pending(p, p->fault);
}

static struct str
request_field(struct task_trace *t, struct web_request *r, const char *name)
{
	struct str value = STR("");

	(void)web_field(r, name, &value);
	return arena_copy(&t->arena, value);
}

/* Note what came; its body is read at once, for checks of any answer. */
static struct arrival *
record_call(struct pending *p, enum fault_call call)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	struct task_trace *t = p->task;
	struct arrival *a = task_trace_add(t, call, clock_mono());

	a->key = request_field(t, p->request, "idempotency-key");
	a->type = request_field(t, p->request, "content-type");
	a->coding = request_field(t, p->request, "content-encoding");
	a->damaged = upload_call_decode(p->request,
	    (uint64_t)p->of->limits.upload_bytes_max, &body) != HTTP_FINE;
	a->body = arena_copy(&t->arena, buf_str(&body));
	if (a->damaged)
		a->malformed = "the body is not coded as it says";
	else if (call == FAULT_UPLOAD)
		task_trace_read(t, a, p->of->id_field);
	else
		read_status(t, a);
	return a;
}

static struct task_trace *
find_task(struct conformance *c, struct str fid)
{
	LIST_EACH(t, &c->tasks, struct task_trace, node)
		if (str_eq(t->fid, fid))
			return t;
	return NULL;
}

static const struct fault *
find_fault(struct task_trace *t, const struct arrival *a)
{
	static const struct fault refusal = { .kind = FAULT_ANSWER,
	    .status = 500 };

	if (a->code < CODE_DONE || t->refused_closings == 0)
		return fault_plan_find(t->plan, a->call, a->number);
	t->refused_closings--;
	return &refusal;
}

static void
take_call(struct web_request *r, enum fault_call call)
{
	struct conformance *c = web_arg(r);
	struct pending *p = ARENA_NEW(web_arena(r), struct pending);
	struct str fid = STR("");
	struct arrival *a;

	(void)web_segment(r, 2, &fid);
	p->of = c;
	p->request = r;
	p->task = find_task(c, fid);
	if (p->task == NULL || p->task->n ==
	    (size_t)c->limits.arrivals_max) {
		answer_failure(r, NULL, p->task == NULL ? 404 : 429,
		    p->task == NULL ? "there is no such task" :
		    "arrivals_max: the task has sent too much");
		return;
	}
	p->arrival = p->task->n;
	a = record_call(p, call);
	a->overlaps = call == FAULT_UPLOAD && p->task->unanswered > 0;
	p->task->unanswered += call == FAULT_UPLOAD;
	p->fault = find_fault(p->task, a);
	list_put(&c->pending, &p->node);
	if (p->task->holds && call == FAULT_UPLOAD)
		return;
	if (p->fault == NULL || p->fault->delay_ms == 0) {
		answer_pending(p, p->fault);
		return;
	}
	p->timer.fire = delay_over;
	loop_timer_set(c->loop, &p->timer, mono_add_ms(loop_now(c->loop),
	    (int64_t)p->fault->delay_ms));
}

static void
take_upload(struct web_request *r)
{
	take_call(r, FAULT_UPLOAD);
}

static void
take_status(struct web_request *r)
{
	take_call(r, FAULT_STATUS);
}

/* Where redirects of a task lead. */
static void
take_redirected(struct web_request *r)
{
	struct conformance *c = web_arg(r);
	struct str fid = STR("");

	(void)web_segment(r, 1, &fid);
	LIST_EACH(t, &c->tasks, struct task_trace, node)
		t->redirected |= str_eq(t->elsewhere, fid);
	answer_failure(r, NULL, 404, "this address was a redirect's");
}

/* ---- Tasks ---------------------------------------------------------- */

struct task_trace *
played_backend_task(struct conformance *c, const char *plan)
{
	struct task_trace *t = mem_new(sizeof(*t));

	t->fid = conformance_fid(c);
	t->endpoint = arena_printf(&c->arena, "%.*s/actions/tasks/%.*s",
	    STR_FMT(c->base), STR_FMT(t->fid));
	/* Plans are ours. */
	if (plan != NULL)
		CHECK(fault_plan_read(str_of(plan), &t->plan, NULL) == OK);
	list_put(&c->tasks, &t->node);
	return t;
}

void
played_backend_hold(struct task_trace *t)
{
	t->holds = true;
}

void
played_backend_release(struct conformance *c, struct task_trace *t,
    uint64_t retry_after_s)
{
	struct fault refusal = { .kind = FAULT_ANSWER, .status = 503,
	    .has_retry_after = true, .retry_after_s = retry_after_s };
	struct list *next;

	t->holds = false;
	for (struct list *n = c->pending.next; n != &c->pending; n = next) {
		struct pending *p = LIST_ITEM(n, struct pending, node);
		next = n->next;
		if (p->task != t)
			continue;
		loop_timer_stop(c->loop, &p->timer);
		answer_pending(p, &refusal);
	}
}

void
played_backend_close(struct conformance *c)
{
	LIST_EACH(t, &c->tasks, struct task_trace, node)
		played_backend_release(c, t, 0);
}

/* ---- The requests --------------------------------------------------- */

enum err
played_backend_open(struct conformance *c, struct why *w)
{
	static const struct port_row rows[] = {
		{ "POST", "/actions/tasks/*/upload", take_upload },
		{ "POST", "/actions/tasks/*/status", take_status },
		{ "POST", "/elsewhere/*", take_redirected },
		{ "GET", "/elsewhere/*", take_redirected },
		{ "GET", "/", port_refuse },
		{ "POST", "/", port_refuse },
		{ "PATCH", "/", port_refuse },
		{ "DELETE", "/", port_refuse },
	};

	return port_open(c, rows, ARRAY_LEN(rows), w);
}

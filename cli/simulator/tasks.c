/*
 * tasks -- crawlers and their tasks: start, retry, status, silence, stop.
 *
 *     new (0) ──► running (102) ──► done (200), failed (500)
 *        │            ├── silence ──► timeout (408), reported to the crawler
 *        │            └── DELETE ──► 499, reported; the task is gone
 *        └── the crawler refuses, or cannot be reached ──► failed (500)
 *     closed ── retry ──► new
 */
#include "cli/simulator/own.h"

#include <stdarg.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/simulator/params_check.h"
#include "os/clock.h"
#include "os/log.h"

/* ---- A task --------------------------------------------------------- */

void
task_log(struct task *t, const char *fmt, ...)
{
	char text[LOG_TEXT_BYTES_MAX];
	size_t most = (size_t)t->simulator->limits.log_lines_max;
	size_t at = (size_t)(t->log_n % most);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (t->log_n < most)
		t->log = mem_room(t->log, at, &t->log_cap, 16,
		    sizeof(*t->log));
	else
		mem_free(&t->log[at].text);
	t->log[at] = (struct task_log_line){ clock_wall(),
	    mem_copy_text(text) };
	t->log_n++;
}

bool
task_is_open(const struct task *t)
{
	return t->code < TASK_CLOSED_FROM;
}

void
task_heard(struct task *t)
{
	struct simulator *s = t->simulator;

	if (task_is_open(t))
		loop_timer_set(s->loop, &t->silence, mono_add_ms(
		    loop_now(s->loop), s->silence_ms));
	else
		loop_timer_stop(s->loop, &t->silence);
}

void
task_set_status(struct task *t, int code, struct str message,
    struct str detail)
{
	t->code = code;
	snprintf(t->message, sizeof(t->message), "%.*s", (int)MIN(message.n,
	    sizeof(t->message)), message.p == NULL ? "" : message.p);
	t->has_detail = detail.p != NULL;
	snprintf(t->detail, sizeof(t->detail), "%.*s", (int)MIN(detail.n,
	    sizeof(t->detail)), detail.p == NULL ? "" : detail.p);
	task_log(t, "status %d: %.200s", code, t->message);
	task_heard(t);
}

static void
put_status(const struct task *t, struct buf *b)
{
	json_u64(b, "code", (uint64_t)t->code);
	json_str(b, "message", str_of(t->message));
	if (t->has_detail)
		json_str(b, "detail", str_of(t->detail));
	else
		json_null(b, "detail");
}

static void
put_raw(struct buf *b, const char *name, yyjson_val *v)
{
	size_t n;
	char *text = v == NULL ? NULL : yyjson_val_write(v, 0, &n);

	json_raw(b, name, text == NULL ? STR("{}") : (struct str){ text, n });
	free(text);
}

static void
put_task(const struct task *t, struct buf *b)
{
	json_object(b, NULL);
	json_object(b, "meta");
	json_str(b, "type", STR("tasks"));
	json_str(b, "fid", str_of(t->fid));
	json_u64(b, "version", t->attempt);
	buf_printf(b, ",\"links\":[{\"from\":{\"type\":\"crawlers\","
	    "\"fid\":\"%s\"}}]}", t->crawler->fid);
	put_raw(b, "params", yyjson_doc_get_root(t->params));
	json_object(b, "status");
	put_status(t, b);
	buf_put_char(b, '}');
	json_u64(b, "attempt", t->attempt);
	json_u64(b, "documents", document_set_count(t->documents));
	buf_printf(b, ",\"log\":\"/log/%s\",\"output\":\"/output/%s\"}", t->fid,
	    t->fid);
}

static void
answer_task(struct web_request *r, int status, const struct task *t)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	put_task(t, &b);
	answer_payload(r, status, buf_str(&b));
}

void
task_free(struct task *t)
{
	struct simulator *s = t->simulator;
	size_t kept = (size_t)MIN(t->log_n,
	    (uint64_t)s->limits.log_lines_max);

	loop_timer_stop(s->loop, &t->silence);
	map_take(&s->tasks, str_of(t->fid));
	list_take(&t->node);
	for (size_t i = 0; i < kept; i++)
		free(t->log[i].text);
	mem_free(&t->log);
	yyjson_doc_free(t->params);
	document_set_free(&t->documents);
	buf_free(&t->status_key);
	buf_free(&t->callback);
	mem_free(&t);
}

/* ---- Notices to the crawler ----------------------------------------- */

/* A PATCH that is under way; its task may be gone when it ends. */
struct notice {
	struct simulator *simulator;
	char fid[FID_BYTES_MAX];
	int code;
};

static void
noticed(void *arg, const struct crawler_answer *a)
{
	struct notice *n = arg;
	struct task *t = map_get(&n->simulator->tasks, str_of(n->fid));

	log_info("simulator.crawler", "call=\"PATCH callback\" task=%s code=%d "
	    "status=%d why=%s", n->fid, n->code, a->status,
	    log_quoted(str_of(a->error)));
	if (t != NULL)
		task_log(t, "PATCH callback with %d: %d %s", n->code,
		    a->status, a->error == NULL ? "" : a->error);
	mem_free(&n);
}

/* Tell the crawler the task's status, where it has named a callback. */
static void
notify_crawler(struct task *t)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf body = BUF_INIT;
	struct notice *n;
	struct url url;
	struct why w = WHY_INIT;

	if (t->callback.n == 0)
		return;
	n = mem_new(sizeof(*n));
	*n = (struct notice){ .simulator = t->simulator, .code = t->code };
	memcpy(n->fid, t->fid, sizeof(n->fid));
	json_object(&body, NULL);
	put_status(t, &body);
	buf_put_char(&body, '}');
	enum err e = url_parse(buf_str(&t->callback), NULL, &a, &url, &w);
	struct crawler_order o = { .method = "PATCH", .url = &url,
	    .headers = external_member(t->crawler->external, "headers"),
	    .type = "application/json", .body = buf_str(&body),
	    .done = noticed, .arg = n };
	if (e == OK)
		e = simulator_call(t->simulator, &o, &w);
	if (e != OK) {
		task_log(t, "PATCH callback: %s", w.text);
		mem_free(&n);
	}
}

static void
silence_over(struct timer *timer)
{
	struct task *t = CONTAINER(timer, struct task, silence);

	log_info("simulator.silence", "task=%s", t->fid);
	task_set_status(t, TASK_TIMEOUT, STR("Task is timeout"), STR_NONE);
	notify_crawler(t);
}

/* ---- Crawlers ------------------------------------------------------- */

static yyjson_val *
crawler_member(const struct crawler *c, const char *name)
{
	return yyjson_obj_get(yyjson_doc_get_root(c->doc), name);
}

/* The kind of credential: a text, or an object with a type, or with the kind
 * as its first member. */
static struct str
credential_kind(const struct external *x)
{
	yyjson_val *v = external_member(x, "credential");
	yyjson_val *type = yyjson_obj_get(v, "type");
	yyjson_obj_iter it;

	if (!yyjson_is_obj(v))
		return json_text(v);
	if (type != NULL)
		return json_text(type);
	yyjson_obj_iter_init(v, &it);
	return json_text(yyjson_obj_iter_next(&it));
}

static bool
needs_credential(const struct external *x)
{
	static const struct {
		const char *kind;
	} without[] = { { "none" }, { "ignore" } };
	struct str kind = credential_kind(x);

	return kind.n > 0 && STR_ROW(kind, without) == ARRAY_LEN(without);
}

/* All that is wrong with a crawler's body.  False: answered. */
static bool
check_crawler(struct web_request *r, const struct external *x,
    yyjson_val *body)
{
	struct param_faults f = { .arena = web_arena(r) };
	yyjson_val *params = yyjson_obj_get(body, "params");
	yyjson_val *credential = yyjson_obj_get(body, "credential");

	if (relational_link_from(body, "streams").n == 0) {
		answer_fault(r, 400, "meta.links: exactly one link must come "
		    "from a stream");
		return false;
	}
	if (!json_is_absent(params) && !yyjson_is_obj(params)) {
		answer_fault(r, 400, "params: must be an object");
		return false;
	}
	if ((!json_is_absent(credential) || needs_credential(x)) &&
	    !yyjson_is_obj(credential)) {
		answer_fault(r, 400, "credential: must be an object");
		return false;
	}
	if (params_check(external_member(x, "parameters"), params, &f))
		return true;
	answer_failure(r, 400, f.texts, f.n, STR(""));
	return false;
}

struct crawler *
crawler_new(struct web_request *r, struct external *x, yyjson_val *body)
{
	struct simulator *s = request_simulator(r);
	struct crawler *c;

	if (!check_crawler(r, x, body))
		return NULL;
	if (s->crawlers.n >= (size_t)s->limits.crawlers_max) {
		answer_fault(r, 429, "crawlers_max: there are %lld crawlers",
		    (long long)s->limits.crawlers_max);
		return NULL;
	}
	c = mem_new(sizeof(*c));
	c->external = x;
	list_init(&c->tasks);
	make_fid(s, 'c', c->fid);
	struct relational_meta m = { "crawlers", str_of(c->fid), 1 };
	c->doc = relational_put(body, &m);
	list_put(&x->crawlers, &c->node);
	map_put(&s->crawlers, str_of(c->fid), c);
	return c;
}

void
crawler_free(struct simulator *s, struct crawler *c)
{
	while (!list_empty(&c->tasks))
		task_free(LIST_ITEM(c->tasks.next, struct task, node));
	map_take(&s->crawlers, str_of(c->fid));
	list_take(&c->node);
	yyjson_doc_free(c->doc);
	mem_free(&c);
}

/* The crawler without its credential, which no answer repeats. */
static yyjson_doc *
show_crawler(const struct crawler *c)
{
	static const char patch[] = "{\"credential\":null}";
	FREED(json_doc_free) yyjson_doc *hide = yyjson_read(patch,
	    sizeof(patch) - 1, 0);

	return relational_merge(yyjson_doc_get_root(c->doc),
	    yyjson_doc_get_root(hide));
}

void
post_crawler(struct web_request *r)
{
	FREED(json_doc_free) yyjson_doc *body = NULL;
	FREED(json_doc_free) yyjson_doc *shown = NULL;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct simulator *s = request_simulator(r);
	struct str fid = request_segment(r, 2);
	struct external *x = map_get(&s->externals, fid);
	const struct crawler *c;

	if (x == NULL) {
		answer_absent(r, "external object", fid);
		return;
	}
	if (!request_json(r, &body))
		return;
	c = crawler_new(r, x, yyjson_doc_get_root(body));
	if (c == NULL)
		return;
	json_object(&b, NULL);
	shown = show_crawler(c);
	put_raw(&b, "crawler", yyjson_doc_get_root(shown));
	put_raw(&b, "analysis", external_member(x, "analysis"));
	buf_put_char(&b, '}');
	answer_payload(r, 200, buf_str(&b));
}

static struct crawler *
find_crawler(struct web_request *r, size_t segment)
{
	struct str fid = request_segment(r, segment);
	struct crawler *c = map_get(&request_simulator(r)->crawlers, fid);

	if (c == NULL)
		answer_absent(r, "crawler", fid);
	return c;
}

void
get_crawler(struct web_request *r)
{
	FREED(json_doc_free) yyjson_doc *shown = NULL;
	const struct crawler *c = find_crawler(r, 1);

	if (c == NULL)
		return;
	shown = show_crawler(c);
	answer_json(r, 200, yyjson_doc_get_root(shown));
}

/* ---- Start ---------------------------------------------------------- */

/* A POST /task that is under way, and the request that waits for it. */
struct start {
	struct simulator *simulator;
	char fid[FID_BYTES_MAX];
	unsigned attempt;
	struct web_request *request;
};

/*
 * The URL that status changes are sent to: the callback is absolute with the
 * origin of the endpoint, or begins with "/" and is appended to the endpoint
 * (external.md §10).
 */
static enum err
take_callback(struct task *t, struct str text, struct arena *a, struct why *w)
{
	const struct external *x = t->crawler->external;
	struct url endpoint, callback, out;
	enum err e = crawler_read_url(json_text(external_member(x,
	    "endpoint")), "endpoint", a, &endpoint, w);

	if (e != OK)
		return e;
	if (text.n == 0)
		return why(w, ERR_INPUT, "payload.callback: is missing");
	if (text.p[0] == '/') {
		e = crawler_make_url(&endpoint, text, t->version, a, &out, w);
	} else {
		e = crawler_read_url(text, "payload.callback", a, &callback,
		    w);
		if (e == OK && !str_eq(url_origin(&callback, a),
		    url_origin(&endpoint, a)))
			e = why(w, ERR_INPUT, "payload.callback: must have "
			    "the origin of the endpoint, or begin with /");
		if (e == OK)
			e = crawler_make_url(&callback, STR(""), t->version, a,
			    &out, w);
	}
	buf_clear(&t->callback);
	if (e == OK)
		buf_put_str(&t->callback, out.href);
	return e;
}

/* The callback and the status that the crawler answered. */
static enum err
take_payload(struct task *t, yyjson_val *payload, struct arena *a,
    struct why *w)
{
	yyjson_val *status = yyjson_obj_get(payload, "status");
	yyjson_val *code = yyjson_obj_get(status, "code");
	enum err e = take_callback(t, json_text(yyjson_obj_get(payload,
	    "callback")), a, w);

	if (e != OK)
		return e;
	if (!yyjson_is_uint(code) || yyjson_get_uint(code) > TASK_CODE_MAX)
		return why(w, ERR_INPUT, "payload.status.code: must be a whole "
		    "number from 0 to %d", TASK_CODE_MAX);
	/* A status that came meanwhile is newer than the answer. */
	if (t->code == TASK_NEW && yyjson_get_uint(code) > 0)
		task_set_status(t, (int)yyjson_get_uint(code),
		    json_text(yyjson_obj_get(status, "message")), STR_NONE);
	return OK;
}

static enum err
read_answer(struct task *t, const struct crawler_answer *a, struct arena *arena,
    struct why *w)
{
	FREED(json_doc_free) yyjson_doc *doc = NULL;
	struct why fault = WHY_INIT;
	yyjson_val *root;
	struct str said;

	if (a->status == 0)
		return why(w, ERR_UNREACHED, "the crawler: %s", a->error);
	bool is_json = json_body_read(a->body, "the crawler's answer", &doc,
	    &fault) == OK;
	root = yyjson_doc_get_root(doc);
	said = json_text(yyjson_arr_get_first(yyjson_obj_get(root,
	    "messages")));
	if (a->status < 200 || a->status > 299 || (is_json &&
	    !yyjson_is_true(yyjson_obj_get(root, "success"))))
		return why(w, ERR_UNREACHED, "the crawler answered %d%s%.*s",
		    a->status, said.n == 0 ? "" : ": ", (int)MIN(said.n, 200),
		    said.p == NULL ? "" : said.p);
	if (!is_json)
		return why(w, ERR_UNREACHED, "%s", fault.text);
	return take_payload(t, yyjson_obj_get(root, "payload"), arena, w);
}

static void
answer_started(struct web_request *r, struct task *t,
    const struct crawler_answer *a)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct why w = WHY_INIT;
	struct str message;

	if (read_answer(t, a, web_arena(r), &w) == OK) {
		task_log(t, "POST task: %d", a->status);
		answer_task(r, 200, t);
		return;
	}
	task_log(t, "POST task: %s", w.text);
	if (task_is_open(t))
		task_set_status(t, TASK_FAILED, STR("The crawler did not start "
		    "the task"), str_of(w.text));
	put_task(t, &b);
	message = str_of(w.text);
	answer_failure(r, 502, &message, 1, buf_str(&b));
}

static void
started(void *arg, const struct crawler_answer *a)
{
	struct start *s = arg;
	struct task *t = map_get(&s->simulator->tasks, str_of(s->fid));

	log_info("simulator.crawler", "call=\"POST task\" task=%s status=%d "
	    "why=%s", s->fid, a->status, log_quoted(str_of(a->error)));
	if (s->simulator->closing)
		answer_fault(s->request, 503, "the simulator is ending");
	else if (t == NULL || t->attempt != s->attempt)
		answer_fault(s->request, 409, "the task %s was stopped or "
		    "started again meanwhile", s->fid);
	else
		answer_started(s->request, t, a);
	mem_free(&s);
}

/* fid, params, credential and endpoint, as external.md §2 has them. */
static void
put_order(const struct task *t, struct arena *a, struct buf *b)
{
	yyjson_val *credential = crawler_member(t->crawler, "credential");

	json_object(b, NULL);
	json_str(b, "fid", str_of(t->fid));
	put_raw(b, "params", yyjson_doc_get_root(t->params));
	if (!json_is_absent(credential))
		put_raw(b, "credential", credential);
	json_str(b, "endpoint", arena_printf(a, "%.*s/actions/tasks/%s",
	    STR_FMT(simulator_base(t->simulator, a)), t->fid));
	json_str(b, "crawler", str_of(t->crawler->fid));
	buf_put_char(b, '}');
}

/* Send the task to the crawler; the request is answered when it replies. */
static void
send_task(struct web_request *r, struct task *t)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	const struct external *x = t->crawler->external;
	struct arena *a = web_arena(r);
	struct start *s = mem_new(sizeof(*s));
	struct url endpoint, url;
	struct why w = WHY_INIT;

	t->attempt++;
	t->version = x->version;
	buf_clear(&t->callback);
	buf_clear(&t->status_key);
	task_set_status(t, TASK_NEW, STR("New"), STR_NONE);
	*s = (struct start){ .simulator = t->simulator,
	    .attempt = t->attempt, .request = r };
	memcpy(s->fid, t->fid, sizeof(s->fid));
	put_order(t, a, &body);
	enum err e = crawler_read_url(json_text(external_member(x,
	    "endpoint")), "endpoint", a, &endpoint, &w);
	if (e == OK)
		e = crawler_make_url(&endpoint, STR("/task"), t->version, a,
		    &url, &w);
	struct crawler_order o = { .method = "POST", .url = &url,
	    .headers = external_member(x, "headers"),
	    .type = "application/json", .body = buf_str(&body),
	    .done = started, .arg = s };
	if (e == OK)
		e = simulator_call(t->simulator, &o, &w);
	if (e == OK)
		return;
	task_set_status(t, TASK_FAILED, STR("The task was not sent"),
	    str_of(w.text));
	answer_why(r, &w);
	mem_free(&s);
}

static struct task *
running_task(const struct crawler *c)
{
	LIST_EACH(t, &c->tasks, struct task, node)
		if (task_is_open(t))
			return t;
	return NULL;
}

bool
external_is_busy(const struct external *x)
{
	LIST_EACH(c, &x->crawlers, struct crawler, node)
		if (running_task(c) != NULL)
			return true;
	return false;
}

static struct task *
task_new(struct simulator *s, struct crawler *c, yyjson_doc *params)
{
	struct task *t = mem_new(sizeof(*t));
	struct document_limits limits = {
	    (size_t)(s->discards ? s->limits.discarded_max :
	    s->limits.documents_max), (size_t)s->limits.uploads_max,
	    (size_t)s->limits.output_bytes_max, s->discards };

	t->simulator = s;
	t->crawler = c;
	t->params = params;
	t->silence.fire = silence_over;
	t->documents = document_set_new(limits, &s->output_bytes);
	make_fid(s, 't', t->fid);
	list_put(&c->tasks, &t->node);
	map_put(&s->tasks, str_of(t->fid), t);
	return t;
}

void
start_task(struct web_request *r, struct crawler *c, yyjson_val *params)
{
	FREED(json_doc_free) yyjson_doc *merged = relational_merge(
	    crawler_member(c, "params"), params);
	struct simulator *s = request_simulator(r);
	struct param_faults f = { .arena = web_arena(r) };
	const struct task *running = running_task(c);

	if (running != NULL) {
		answer_task(r, 208, running);
		return;
	}
	if (!params_check(external_member(c->external, "parameters"),
	    yyjson_doc_get_root(merged), &f)) {
		answer_failure(r, 400, f.texts, f.n, STR(""));
		return;
	}
	if (s->tasks.n >= (size_t)s->limits.tasks_max) {
		answer_fault(r, 429, "tasks_max: there are %lld tasks; delete "
		    "some", (long long)s->limits.tasks_max);
		return;
	}
	struct task *t = task_new(s, c, merged);
	merged = NULL;
	send_task(r, t);
}

void
post_task(struct web_request *r)
{
	FREED(json_doc_free) yyjson_doc *body = NULL;
	struct crawler *c = find_crawler(r, 2);
	yyjson_val *params;

	if (c == NULL || !request_json(r, &body))
		return;
	params = yyjson_obj_get(yyjson_doc_get_root(body), "params");
	if (json_is_absent(params) || yyjson_is_obj(params))
		start_task(r, c, params);
	else
		answer_fault(r, 400, "params: must be an object");
}

struct task *
find_task(struct web_request *r, size_t segment)
{
	struct str fid = request_segment(r, segment);
	struct task *t = map_get(&request_simulator(r)->tasks, fid);

	if (t == NULL)
		answer_absent(r, "task", fid);
	return t;
}

void
retry_task(struct web_request *r)
{
	const struct crawler *c = find_crawler(r, 2);
	struct task *t = c == NULL ? NULL : find_task(r, 4);
	const struct task *running;

	if (t == NULL)
		return;
	running = running_task(c);
	if (t->crawler != c)
		answer_fault(r, 404, "the crawler %s has no task %s", c->fid,
		    t->fid);
	else if (running != NULL)
		answer_task(r, 208, running);
	else
		send_task(r, t);
}

void
get_task(struct web_request *r)
{
	const struct task *t = find_task(r, 1);

	if (t != NULL)
		answer_task(r, 200, t);
}

void
delete_task(struct web_request *r)
{
	struct task *t = find_task(r, 2);

	if (t == NULL)
		return;
	if (task_is_open(t)) {
		task_set_status(t, TASK_CANCELLED, STR("Task is cancelled"),
		    STR_NONE);
		notify_crawler(t);
	}
	task_free(t);
	answer_payload(r, 200, STR("{}"));
}

/*
 * One run as the daemon sees it: every message of its process is checked
 * against what the run may do, since the process may have been taken over.
 */
#include "base/json.h"
#include "base/text.h"
#include "os/clock.h"
#include "script/host_own.h"

/* ---- Time --------------------------------------------------------------- */

static int64_t
now_ns(const struct script_run *r)
{
	return loop_now(r->host->loop).ns;
}

static bool
run_has_begun(const struct script_run *r)
{
	return r->began.ns != 0;
}

int64_t
run_turn_ns(const struct script_run *r)
{
	return r->turn_ns + (r->turns_waiting > 0 ?
	    now_ns(r) - r->turn_began.ns : 0);
}

int64_t
run_wall_ns(const struct script_run *r)
{
	return run_has_begun(r) ? now_ns(r) - r->began.ns - run_turn_ns(r) : 0;
}

/* A connector's time without a host call begins anew. */
static void
renew_wall(struct script_run *r)
{
	if (!r->is_connector || !run_has_begun(r))
		return;
	r->began = r->turn_began = loop_now(r->host->loop);
	r->turn_ns = 0;
}

void
script_call_wait_turn(struct script_call *c, bool waits)
{
	struct script_run *r = c->run;

	if (c->waits_turn == waits)
		return;
	c->waits_turn = waits;
	if (waits && r->turns_waiting++ == 0) {
		r->turn_began = loop_now(r->host->loop);
	} else if (!waits && --r->turns_waiting == 0) {
		r->turn_ns += now_ns(r) - r->turn_began.ns;
	}
	/* Its limits are due at another time now. */
	if (r->process != NULL && r->process->state == PROCESS_RUNNING)
		process_watch_run(r->process);
}

/* ---- Calls -------------------------------------------------------------- */

uint32_t
script_call_number(const struct script_call *c)
{
	return c->id;
}

struct script_run *
script_call_run(const struct script_call *c)
{
	return c->run;
}

enum script_call_kind
script_call_kind(const struct script_call *c)
{
	return c->kind;
}

yyjson_val *
script_call_args(const struct script_call *c)
{
	return c->args;
}

struct str
script_call_body(const struct script_call *c)
{
	return buf_str(&c->body);
}

void *
script_call_arg(const struct script_call *c)
{
	return c->arg;
}

void
script_call_set_arg(struct script_call *c, void *arg)
{
	c->arg = arg;
}

static void
free_call(struct script_call *c)
{
	struct script_run *r = c->run;

	if (c->waits_turn) {
		c->waits_turn = false;
		if (--r->turns_waiting == 0)
			r->turn_ns += now_ns(r) - r->turn_began.ns;
	}
	loop_timer_stop(r->host->loop, &c->timer);
	list_take(&c->node);
	r->calls_n--;
	r->fetches_at_once -= c->kind == SCRIPT_CALL_FETCH;
	r->bytes_under_way -= c->body.n;
	yyjson_doc_free(c->doc);
	buf_free(&c->body);
	free(c);
}

void
run_cancel_calls(struct script_run *r)
{
	while (!list_empty(&r->calls)) {
		struct script_call *c = LIST_ITEM(r->calls.next,
		    struct script_call, node);
		if (c->kind != SCRIPT_CALL_SLEEP || r->owns_sleep)
			r->events->on_cancel(r, c);
		free_call(c);
	}
}

static void
send_answer(struct script_call *c, const char *what, struct str json,
    struct str body)
{
	struct script_process *p = c->run->process;
	struct buf text = BUF_INIT;

	renew_wall(c->run);
	c->run->body_bytes += (int64_t)body.n;
	if (c->run->events->on_answer != NULL)
		c->run->events->on_answer(c->run, c);
	buf_printf(&text, "{\"call\":%u,\"%s\":", c->id, what);
	buf_put_str(&text, json);
	buf_put_char(&text, '}');
	/* What its heap cannot hold need not be sent. */
	if (p != NULL && p->state == PROCESS_RUNNING &&
	    body.n > (size_t)c->run->limits.heap_bytes_max)
		process_kill(p, "limit_memory", "an answer of %zu bytes",
		    body.n);
	else if (p != NULL && p->state == PROCESS_RUNNING)
		process_queue(p, FRAME_ANSWER, buf_str(&text), body);
	buf_free(&text);
	free_call(c);
}

void
script_call_answer(struct script_call *c, struct str value, struct str body)
{
	send_answer(c, "value", value.n > 0 ? value : STR("null"), body);
}

void
script_call_fail(struct script_call *c, struct str error, struct str body)
{
	send_answer(c, "error", error, body);
}

static void
sleep_is_over(struct timer *t)
{
	script_call_answer(CONTAINER(t, struct script_call, timer),
	    STR("null"), STR_NONE);
}

static void
begin_sleep(struct script_call *c)
{
	struct loop *loop = c->run->host->loop;
	yyjson_val *until = yyjson_obj_get(c->args, "until_ms");
	int64_t ms = yyjson_get_sint(yyjson_obj_get(c->args, "ms"));

	if (until != NULL)
		ms = yyjson_get_sint(until) - clock_wall().us / 1000;
	if (c->run->skip_sleep)
		ms = 0;
	/* Longer than any run may last; the sum must not overflow. */
	ms = c->run->is_ending ? 0 : MAX((int64_t)0, MIN(ms,
	    (int64_t)86400000));
	if (c->run->is_connector)
		script_call_wait_turn(c, true);
	c->timer.fire = sleep_is_over;
	loop_timer_set(loop, &c->timer, mono_add_ms(loop_now(loop), ms));
}

/* Host calls are either for connectors or for tasks, or for both. */
static bool
may_call_kind(const struct script_run *r, enum script_call_kind kind)
{
	switch (kind) {
	case SCRIPT_CALL_EMIT:
	case SCRIPT_CALL_STATE:
		return r->is_connector;
	case SCRIPT_CALL_READ:
	case SCRIPT_CALL_BLOB:
	case SCRIPT_CALL_PUT_BLOB:
		return !r->is_connector;
	default:
		return true;
	}
}

/* Reject calls that an intact script process never makes. */
static bool
may_call(const struct script_run *r, const struct script_call *c,
    size_t body_n, struct why *w)
{
	bool good = c->id == r->last_call + 1;

	if (!good)
		(void)why(w, ERR_INPUT, "call: its number is %u", c->id);
	else if (c->kind == SCRIPT_CALL_KIND_COUNT || c->args == NULL ||
	    !may_call_kind(r, c->kind))
		good = why(w, ERR_INPUT, "call: of no known kind") == OK;
	else if (r->is_config)
		good = why(w, ERR_INPUT, "call: none while a configuration is "
		    "read") == OK;
	else if (r->calls_n >= HOST_CALLS_MAX)
		good = why(w, ERR_INPUT, "call: too many at a time") == OK;
	else if (r->calls_n > 0 && r->bytes_under_way + body_n >
	    (size_t)r->limits.mutation_bytes_max)
		good = why(w, ERR_INPUT, "call: too many bytes at a time") ==
		    OK;
	else if (c->kind == SCRIPT_CALL_FETCH &&
	    (r->fetches >= r->limits.fetches_max || (int64_t)r->fetches_at_once
	    >= r->limits.fetches_at_once_max))
		good = why(w, ERR_INPUT, "call: too many fetches") == OK;
	return good;
}

static bool
take_call(struct script_run *r, const struct message *m, struct why *w)
{
	static const char *const kinds[] = {
#define KIND_TEXT(id, text) text,
		SCRIPT_CALL_KINDS(KIND_TEXT)
#undef KIND_TEXT
	};
	struct script_call *c = mem_new(sizeof(*c));
	c->doc = yyjson_read(m->json.p, m->json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(c->doc);

	c->run = r;
	c->id = (uint32_t)yyjson_get_uint(yyjson_obj_get(root, "call"));
	c->kind = (enum script_call_kind)STR_ROW(
	    json_text(yyjson_obj_get(root, "kind")), kinds);
	c->args = yyjson_obj_get(root, "args");
	if (!yyjson_is_obj(c->args))
		c->args = NULL;
	if (r->is_done || !may_call(r, c, m->body.n, w)) {
		(void)why(w, ERR_INPUT, "call: the run is over");
		yyjson_doc_free(c->doc);
		free(c);
		return false;
	}
	renew_wall(r);
	buf_put_str(&c->body, m->body);
	list_put(&r->calls, &c->node);
	r->last_call = c->id;
	r->calls_n++;
	r->bytes_under_way += m->body.n;
	r->fetches += c->kind == SCRIPT_CALL_FETCH;
	r->fetches_at_once += c->kind == SCRIPT_CALL_FETCH;
	if (c->kind == SCRIPT_CALL_SLEEP && !r->owns_sleep)
		begin_sleep(c);
	else
		r->events->on_call(r, c);
	return true;
}

/* ---- Log ---------------------------------------------------------------- */

/* One more line, unless that is more than an intact process sends.  What a
 * connector sends around the end of a minute is dropped. */
static bool
take_line(struct script_run *r, struct str message, bool *dropped)
{
	struct mono now = loop_now(r->host->loop);

	if (r->is_connector && now.ns - r->minute.ns >= SCRIPT_MINUTE_MS *
	    NS_PER_MS) {
		r->minute = now;
		r->log_lines = 0;
	}
	bool has_room = r->log_lines < r->limits.log_lines_max;
	*dropped = !has_room && r->is_connector;
	r->log_lines += has_room;
	return (has_room || *dropped) && message.p != NULL &&
	    (int64_t)message.n <= r->limits.log_line_bytes_max;
}

static bool
take_note(struct script_run *r, const struct message *m, struct why *w)
{
	yyjson_doc *doc = yyjson_read(m->json.p, m->json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	bool dropped = false;
	bool good = r->is_connector && take_line(r, json_text(yyjson_obj_get(
	    root, "message")), &dropped) &&
	    yyjson_is_str(yyjson_obj_get(root, "what")) &&
	    yyjson_is_str(yyjson_obj_get(root, "level")) &&
	    yyjson_is_str(yyjson_obj_get(root, "code"));

	if (!good)
		(void)why(w, ERR_INPUT, "note: it is none");
	else if (!dropped)
		r->events->on_note(r, root);
	yyjson_doc_free(doc);
	return good;
}

static bool
take_log(struct script_run *r, const struct message *m, struct why *w)
{
	yyjson_doc *doc = yyjson_read(m->json.p, m->json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	struct str category = json_text(yyjson_obj_get(root, "category"));
	struct str message = json_text(yyjson_obj_get(root, "message"));
	bool dropped = false;
	bool good = category.p != NULL && take_line(r, message, &dropped);

	if (!good)
		(void)why(w, ERR_INPUT, "log: a line too many, or too long");
	else if (!dropped && r->events->on_log != NULL)
		r->events->on_log(r, category, message);
	yyjson_doc_free(doc);
	return good;
}

/* ---- Ends --------------------------------------------------------------- */

static int64_t
number_of(yyjson_val *root, const char *name)
{
	return MAX((int64_t)0, yyjson_get_sint(yyjson_obj_get(root, name)));
}

static struct script_outcome
counted_outcome(const struct script_run *r)
{
	return (struct script_outcome){ .wall_ns = run_wall_ns(r),
		.turn_ns = run_turn_ns(r), .fetches = r->fetches,
		.body_bytes = r->body_bytes, .mutations = STR("[]") };
}

void
run_fail(struct script_run *r, const char *code, const char *text)
{
	bool passes = strcmp(code, "crashed") == 0 ||
	    strcmp(code, "lost_worker") == 0 ||
	    strcmp(code, "limit_turn") == 0 || strcmp(code, "sandbox") == 0;
	struct script_outcome o = counted_outcome(r);

	run_cancel_calls(r);
	r->is_done = true;
	o.class = passes ? STR("transient") : STR("permanent");
	o.code = str_of(code);
	o.message = str_of(text);
	o.stack = STR("");
	/* As it was seen last: the process is gone. */
	o.cpu_ns = r->cpu_ns;
	host_count(r->host, o.code, o.cpu_ns, o.wall_ns);
	r->events->on_done(r, &o);
}

static bool
read_failure(yyjson_val *error, struct script_outcome *o)
{
	o->class = json_text(yyjson_obj_get(error, "class"));
	o->code = json_text(yyjson_obj_get(error, "code"));
	o->message = json_text(yyjson_obj_get(error, "message"));
	o->stack = json_text(yyjson_obj_get(error, "stack"));
	return (str_eq(o->class, STR("transient")) ||
	    str_eq(o->class, STR("permanent"))) && o->code.p != NULL &&
	    o->message.p != NULL && o->stack.p != NULL;
}

/* A value of the message as text; the caller frees it. */
static struct str
text_of(yyjson_val *v)
{
	size_t n = 0;
	char *text = v == NULL ? NULL : yyjson_val_write(v, 0, &n);

	return (struct str){ text, n };
}

static bool
is_array(struct str json)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	bool good = yyjson_is_arr(yyjson_doc_get_root(doc));

	yyjson_doc_free(doc);
	return good;
}

static bool
take_done(struct script_run *r, const struct message *m, struct why *w)
{
	yyjson_doc *doc = yyjson_read(m->json.p, m->json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	yyjson_val *error = yyjson_obj_get(root, "error");
	struct script_outcome o = counted_outcome(r);
	bool good = yyjson_is_obj(root) && !r->is_done && is_array(m->body) &&
	    (int64_t)m->body.n <= r->limits.mutation_bytes_max;

	o.is_success = yyjson_is_null(error);
	good = good && (o.is_success || read_failure(error, &o));
	if (!good) {
		(void)why(w, ERR_INPUT, "done: no outcome of this run");
		yyjson_doc_free(doc);
		return false;
	}
	o.allow_failure = yyjson_is_true(yyjson_obj_get(root,
	    "allowFailure"));
	o.has_callbacks = yyjson_is_true(yyjson_obj_get(root, "callbacks"));
	o.mutations = m->body;
	/* A connector has its process to itself. */
	r->process->is_last = r->is_connector ||
	    yyjson_is_true(yyjson_obj_get(root, "last"));
	o.cpu_ns = number_of(root, "cpu_ns");
	o.heap_bytes = number_of(root, "heap_bytes");
	o.log_dropped = number_of(root, "log_dropped");
	o.config = text_of(yyjson_obj_get(root, "config"));
	o.functions = text_of(yyjson_obj_get(root, "functions"));
	struct str config = o.config, functions = o.functions;
	r->is_done = true;
	r->ended = loop_now(r->host->loop);
	/* What follows a conflict is the same run. */
	if (r->recomputed == 0)
		host_count(r->host, o.code, o.cpu_ns, o.wall_ns);
	run_cancel_calls(r);
	r->events->on_done(r, &o);
	free((void *)(uintptr_t)config.p);
	free((void *)(uintptr_t)functions.p);
	yyjson_doc_free(doc);
	return true;
}

bool
run_take_message(struct script_run *r, const struct message *m,
    struct why *w)
{
	switch (m->kind) {
	case FRAME_CALL:
		return take_call(r, m, w);
	case FRAME_LOG:
		return take_log(r, m, w);
	case FRAME_NOTE:
		return take_note(r, m, w);
	case FRAME_DONE:
		return take_done(r, m, w);
	default:
		(void)why(w, ERR_INPUT, "frame: a message out of turn");
		return false;
	}
}

enum err
script_run_recompute(struct script_run *r, struct str current, struct why *w)
{
	if (!r->is_done || r->process == NULL ||
	    r->process->state != PROCESS_RUNNING)
		return why(w, ERR_STATE, "the run has no state any more");
	if (r->recomputed >= SCRIPT_RECOMPUTE_MAX)
		return why(w, ERR_FULL, "%d conflicts in a row",
		    SCRIPT_RECOMPUTE_MAX);
	r->recomputed++;
	r->is_done = false;
	/* The time that the owner took is not the run's. */
	r->began = mono_add_ns(r->began, now_ns(r) - r->ended.ns);
	process_queue(r->process, FRAME_RECOMPUTE, current, STR_NONE);
	process_watch_run(r->process);
	return OK;
}

void
script_run_finish(struct script_run *r)
{
	struct script_process *p = r->process;
	struct script_host *h = r->host;

	CHECK(r->is_done);
	r->process = NULL;
	if (p != NULL && p->run == r)
		process_release(p);
	host_schedule(h);
}

void
script_run_end(struct script_run *r)
{
	struct list sleeping;

	if (r->is_ending)
		return;
	r->is_ending = true;
	if (r->process == NULL || r->process->state != PROCESS_RUNNING ||
	    r->is_done)
		return;
	process_queue(r->process, FRAME_END, STR("{}"), STR_NONE);
	/* Each answer takes its call off the list. */
	list_init(&sleeping);
	for (struct list *at = r->calls.next; at != &r->calls;) {
		struct script_call *c = LIST_ITEM(at, struct script_call,
		    node);
		at = at->next;
		if (c->kind != SCRIPT_CALL_SLEEP || r->owns_sleep)
			continue;
		list_take(&c->node);
		list_put(&sleeping, &c->node);
	}
	while (!list_empty(&sleeping))
		script_call_answer(LIST_ITEM(sleeping.next,
		    struct script_call, node), STR("null"), STR_NONE);
}

void
script_run_cancel(struct script_run *r)
{
	struct script_process *p = r->process;

	if (p == NULL && !r->is_done) {
		list_take(&r->node);
		r->host->waiting_n--;
		return;
	}
	bool was_done = r->is_done;
	run_cancel_calls(r);
	r->process = NULL;
	r->is_done = true;
	if (p == NULL || p->run != r)
		return;
	if (p->state != PROCESS_RUNNING)
		p->run = NULL;
	else if (was_done)
		process_release(p);
	else
		process_stop_run(p);
}

/*
 * A script process: messages in, one run at a time, messages out.
 *
 *     READY ─► [MODULE ...] ─► RUN ─► CALL, LOG ─► DONE ─► FINISH ─► RUN ...
 *                                                   ▲        │
 *                                                   └─ RECOMPUTE
 *
 * After a breach of a running script the process exits.
 */
#include "script/worker.h"

#include "base/json.h"
#include "base/text.h"
#include "os/channel.h"
#include "os/clock.h"
#include "os/spawner.h"
#include "os/system.h"
#include "script/fetch.h"
#include "script/mutation.h"
#include "script/own.h"
#include "script/value.h"
#include "script/web/script_web.h"

#define SOCKET 0
#define READ_BYTES ((size_t)64 << 10)
/* Answers may be long; the daemon has limits for them. */
#define MESSAGE_BYTES_MAX ((size_t)512 << 20)
/* Memory of a run beyond this is given back once the process is idle. */
#define LARGE_BYTES ((size_t)1 << 20)
/* Largest result of a connector's check() or choices. */
#define RESULT_BYTES_MAX ((size_t)1 << 20)
/* Longer than a run waits for its turn and its pages while all are busy. */
#define IDLE_MS 1000

/* Made before the first fork, so that no process makes it anew. */
static struct process prepared;

/* ---- The socket --------------------------------------------------------- */

void
process_send(struct process *p, enum frame_kind kind, struct str json,
    struct str body)
{
	buf_clear(&p->out);
	frame_put(&p->out, kind, json, body);
	for (size_t at = 0; at < p->out.n;) {
		int64_t n = channel_write(SOCKET, p->out.p + at, p->out.n - at);
		if (n < 0)
			_Exit(0);
		at += (size_t)n;
	}
	if (p->out.cap > FRAME_PART_BYTES)
		buf_free(&p->out);
}

struct message
process_receive(struct process *p)
{
	struct message m;
	struct why w = WHY_INIT;
	bool got = false;

	for (;;) {
		if (frame_next(&p->in, &m, &got, &w) != OK)
			_Exit(1);
		if (got)
			return m;
		/* Without another run soon, memory goes back. */
		if (p->is_large && !channel_wait(SOCKET, IDLE_MS)) {
			system_malloc_trim();
			p->is_large = false;
		}
		void *room = frame_room(&p->in, READ_BYTES);
		int64_t n = channel_read(SOCKET, room, READ_BYTES);
		if (n < 0)
			_Exit(0);
		frame_unroom(&p->in, READ_BYTES - (size_t)n);
	}
}

/* ---- The bundle --------------------------------------------------------- */

struct module *
process_module(struct process *p, struct str path)
{
	for (size_t i = 0; i < p->n; i++)
		if (str_eq(p->modules[i].path, path))
			return &p->modules[i];
	return NULL;
}

static struct str
copy_text(struct str s)
{
	char *p = mem_new(s.n + 1);

	if (s.n > 0)
		memcpy(p, s.p, s.n);
	return (struct str){ p, s.n };
}

static void
take_module(struct process *p, const struct message *m)
{
	yyjson_doc *doc = yyjson_read(m->json.p, m->json.n, 0);
	struct str path = json_text(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "path"));

	if (path.p != NULL && process_module(p, path) == NULL) {
		p->modules = mem_room(p->modules, p->n, &p->cap, 8,
		    sizeof(*p->modules));
		p->modules[p->n++] = (struct module){ .path = copy_text(path),
			.source = copy_text(m->body) };
	}
	yyjson_doc_free(doc);
}

/* ---- Waiting ------------------------------------------------------------ */

/* STOP: the daemon has seen a limit that it alone counts. */
static void
take_stop(struct run *r, const struct message *m)
{
	static const char *const codes[] = { "limit_wall", "limit_turn",
		"limit_body", "stopped" };
	yyjson_doc *doc = yyjson_read(m->json.p, m->json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	size_t row = STR_ROW(json_text(yyjson_obj_get(root, "code")), codes);
	struct str text = json_text(yyjson_obj_get(root, "message"));

	r->is_clean = r->breach == NULL;
	run_breach(r, row < ARRAY_LEN(codes) ? codes[row] : "stopped", "%.*s",
	    STR_FMT(text));
	yyjson_doc_free(doc);
}

/* Take the next message of a run under way. */
static void
wait_for_answer(struct run *r)
{
	if (r->is_connector)
		connector_flush(r);
	int64_t before = clock_mono().ns;
	struct message m = process_receive(r->process);

	r->waited_ns += clock_mono().ns - before;
	run_note_answer(r);
	if (m.kind == FRAME_ANSWER)
		call_answer(r, &m);
	else if (m.kind == FRAME_STOP)
		take_stop(r, &m);
	else if (m.kind == FRAME_END)
		r->is_stopping = true;
	else
		_Exit(1);
}

static bool
is_waiting(const struct run *r)
{
	LIST_EACH(c, &r->calls, struct call, node)
		if (!c->is_dropped)
			return true;
	return !list_empty(&r->waiting);
}

/*
 * Go on until the promise is settled.  False: the run must end; its breach says
 * why.
 */
static bool
settle(struct run *r, JSValueConst promise)
{
	while (runtime_drain(r)) {
		if (JS_PromiseState(r->ctx, promise) != JS_PROMISE_PENDING)
			return true;
		if (!is_waiting(r)) {
			r->is_clean = true;
			run_breach(r, "never_settles", "the run's promise has "
			    "nothing left to wait for");
			return false;
		}
		wait_for_answer(r);
	}
	return false;
}

/*
 * What a script that was cut short has left behind is not worth cleaning up.
 */
static bool
is_spoilt(const struct run *r)
{
	return r->breach != NULL && !r->is_clean;
}

/* Wait for what the run itself has asked for. */
static bool
wait_for_own(struct run *r)
{
	while (r->breach == NULL && is_waiting(r))
		wait_for_answer(r);
	return r->breach == NULL;
}

/* ---- Outcomes ----------------------------------------------------------- */

struct outcome {
	struct buf error;            /* JSON; empty: success */
	struct buf mutations;        /* JSON */
	struct buf config;           /* likewise, of a configuration */
	struct buf functions;
};

static void
note_breach(struct run *r, struct outcome *o)
{
	buf_clear(&o->error);
	fault_write_code(&o->error, r->breach, r->breach_text);
}

/* What was thrown; a breach that is behind it is the cause. */
static void
note_exception(struct run *r, struct outcome *o)
{
	JSValue thrown = JS_GetException(r->ctx);

	buf_clear(&o->error);
	if (r->breach == NULL)
		fault_write(r, &o->error, thrown);
	JS_FreeValue(r->ctx, thrown);
	if (r->breach != NULL)
		note_breach(r, o);
}

static void
note_rejection(struct run *r, struct outcome *o, JSValueConst promise)
{
	JSValue reason = JS_PromiseResult(r->ctx, promise);

	buf_clear(&o->error);
	fault_write(r, &o->error, reason);
	JS_FreeValue(r->ctx, reason);
	if (r->breach != NULL)
		note_breach(r, o);
}

static void
send_outcome(struct run *r, struct outcome *o)
{
	struct buf json = BUF_INIT;
	bool good = o->error.n == 0;

	buf_printf(&json, "{\"outcome\":\"%s\",\"allowFailure\":%s,"
	    "\"callbacks\":%s,\"last\":%s,\"cpu_ns\":%lld,\"heap_bytes\":%zu,"
	    "\"log_dropped\":%lld,\"error\":", good ? "success" : "failure",
	    r->allow_failure ? "true" : "false",
	    callback_any(r) ? "true" : "false",
	    is_spoilt(r) ? "true" : "false", (long long)run_cpu_ns(r),
	    r->heap_peak, (long long)r->log_dropped);
	buf_put_str(&json, good ? STR("null") : buf_str(&o->error));
	if (o->config.n > 0) {
		buf_put_text(&json, ",\"config\":");
		buf_put_str(&json, buf_str(&o->config));
		/* Functions of a configuration. */
		buf_put_text(&json, ",\"functions\":[");
		buf_put_str(&json, buf_str(&o->functions));
		buf_put_char(&json, ']');
	}
	buf_put_char(&json, '}');
	/* The mutations are the bytes behind it. */
	process_send(r->process, FRAME_DONE, buf_str(&json),
	    o->mutations.n > 0 ? buf_str(&o->mutations) : STR("[]"));
	buf_free(&json);
}

/* ---- A run -------------------------------------------------------------- */

/* The bundle's default export.  False: `o` says why there is none. */
static bool
import_main(struct run *r, const char *path, JSValue *out, struct outcome *o)
{
	JSValue promise = runtime_import(r, path);
	bool done = false;

	*out = JS_UNDEFINED;
	if (JS_IsException(promise)) {
		note_exception(r, o);
		return false;
	}
	if (!settle(r, promise)) {
		note_breach(r, o);
	} else if (JS_PromiseState(r->ctx, promise) == JS_PROMISE_REJECTED) {
		JS_PromiseMarkAsHandled(r->ctx, promise);
		note_rejection(r, o, promise);
	} else {
		JSValue space = JS_PromiseResult(r->ctx, promise);
		*out = JS_GetPropertyStr(r->ctx, space, "default");
		JS_FreeValue(r->ctx, space);
		done = !JS_IsException(*out);
		if (!done)
			note_exception(r, o);
	}
	JS_FreeValue(r->ctx, promise);
	return done;
}

/* An own property, so that no name of Object.prototype is found. */
static JSValue
own_property(JSContext *ctx, JSValueConst obj, struct str name)
{
	JSPropertyDescriptor d;
	JSAtom atom = JS_NewAtomLen(ctx, name.p, name.n);
	JSValue v = JS_UNDEFINED;
	int has = JS_IsObject(obj) ? JS_GetOwnProperty(ctx, &d, obj, atom) : 0;

	if (has > 0) {
		JS_FreeValue(ctx, d.value);
		JS_FreeValue(ctx, d.getter);
		JS_FreeValue(ctx, d.setter);
		v = JS_GetProperty(ctx, obj, atom);
	}
	JS_FreeAtom(ctx, atom);
	return has < 0 ? JS_EXCEPTION : v;
}

/* The promise that a function has returned, or one of its value. */
static JSValue
promise_of(JSContext *ctx, JSValue result)
{
	JSValue settlers[2], done;

	if (JS_IsException(result) || JS_IsPromise(result))
		return result;
	/* Another object may be a promise of the script's own making. */
	JSValue promise = JS_NewPromiseCapability(ctx, settlers);
	if (!JS_IsException(promise)) {
		done = JS_Call(ctx, settlers[0], JS_UNDEFINED, 1, &result);
		if (JS_IsException(done))
			JS_FreeValue(ctx, JS_GetException(ctx));
		JS_FreeValue(ctx, done);
		JS_FreeValue(ctx, settlers[0]);
		JS_FreeValue(ctx, settlers[1]);
	}
	JS_FreeValue(ctx, result);
	return promise;
}

/* Call the task's run(); a promise of its end, or JS_EXCEPTION. */
static JSValue
call_task(struct run *r, JSValueConst config)
{
	JSContext *ctx = r->ctx;
	JSValue tasks = own_property(ctx, config, STR("tasks"));
	JSValue task = own_property(ctx, tasks, r->task);
	JSValue run = own_property(ctx, task, STR("run"));
	JSValue sessions = own_property(ctx, config, STR("sessions"));
	JSValue argument = JS_IsFunction(ctx, run) ?
	    task_context(r, sessions) : JS_UNDEFINED;
	JSValue result = JS_UNDEFINED;

	if (!JS_IsFunction(ctx, run))
		result = JS_ThrowTypeError(ctx, "the task '%.*s' has no run()",
		    STR_FMT(r->task));
	else if (JS_IsException(argument))
		result = JS_EXCEPTION;
	else
		result = JS_Call(ctx, run, task, 1, &argument);
	JS_FreeValue(ctx, argument);
	JS_FreeValue(ctx, sessions);
	JS_FreeValue(ctx, run);
	JS_FreeValue(ctx, task);
	JS_FreeValue(ctx, tasks);
	return promise_of(ctx, result);
}

/*
 * The function that "call" of the input names, ["run"] or ["choices","a"], and
 * in *owner what it is called on.
 */
static JSValue
find_function(struct run *r, JSValueConst module, JSValue *owner)
{
	JSContext *ctx = r->ctx;
	yyjson_val *path = yyjson_obj_get(r->input, "call"), *name;
	size_t i, n;
	JSValue at = JS_DupValue(ctx, module);

	*owner = JS_UNDEFINED;
	yyjson_arr_foreach(path, i, n, name) {
		JS_FreeValue(ctx, *owner);
		*owner = at;
		at = own_property(ctx, *owner, json_text(name));
	}
	return at;
}

static JSValue
call_connector(struct run *r, JSValueConst module)
{
	JSContext *ctx = r->ctx;
	JSValue owner, result;
	JSValue function = find_function(r, module, &owner);
	JSValue arguments[] = { JS_IsFunction(ctx, function) ?
		connector_context(r) : JS_UNDEFINED, value_from_json(ctx,
		yyjson_obj_get(r->input, "argument"), true) };

	if (JS_IsException(function) || JS_IsException(arguments[0]) ||
	    JS_IsException(arguments[1]))
		result = JS_EXCEPTION;
	else if (!JS_IsFunction(ctx, function))
		result = JS_ThrowTypeError(ctx, "the module has no such "
		    "function");
	else
		result = JS_Call(ctx, function, owner, 2,
		    (JSValueConst *)arguments);
	for (size_t i = 0; i < ARRAY_LEN(arguments); i++)
		JS_FreeValue(ctx, arguments[i]);
	JS_FreeValue(ctx, function);
	JS_FreeValue(ctx, owner);
	return promise_of(ctx, result);
}

/* Calls that a promise waits for, as the run's own have none. */
static bool
has_unawaited(const struct run *r)
{
	LIST_EACH(c, &r->calls, struct call, node)
		if (!JS_IsUndefined(c->resolve))
			return true;
	LIST_EACH(c, &r->waiting, struct call, node)
		if (!JS_IsUndefined(c->resolve))
			return true;
	return false;
}

/* The run's promise is settled: did it end well? */
static void
judge_end(struct run *r, JSValueConst promise, struct outcome *o)
{
	if (JS_PromiseState(r->ctx, promise) == JS_PROMISE_REJECTED) {
		JS_PromiseMarkAsHandled(r->ctx, promise);
		note_rejection(r, o, promise);
	} else if (has_unawaited(r)) {
		fault_write_code(&o->error, "unawaited", "the run has ended "
		    "before a host call that it made: await is missing");
	} else if (r->rejected_n > 0) {
		note_rejection(r, o, r->rejected[0]);
	}
}

static void
write_mutations(struct run *r, struct outcome *o)
{
	buf_clear(&o->mutations);
	if (!callback_write(r, &o->mutations)) {
		buf_clear(&o->mutations);
		note_exception(r, o);
	}
}

/* The operations with their callbacks' results; again after a conflict. */
static void
finish_mutations(struct run *r, struct outcome *o)
{
	bool keep = o->error.n == 0 || r->allow_failure;

	if (!keep || r->breach != NULL)
		return;
	(void)callback_ask(r);
	if (wait_for_own(r))
		write_mutations(r, o);
	else
		note_breach(r, o);
}

static void
run_task(struct run *r, JSValueConst config, struct outcome *o)
{
	JSValue promise = call_task(r, config);

	if (JS_IsException(promise)) {
		note_exception(r, o);
	} else if (settle(r, promise)) {
		judge_end(r, promise, o);
	} else {
		note_breach(r, o);
	}
	JS_FreeValue(r->ctx, promise);
	call_drop_all(r);
	finish_mutations(r, o);
}

/* Append the function's return value as JSON; undefined as null. */
static void
write_result(struct run *r, JSValueConst promise, struct outcome *o)
{
	struct value_writer w = { .ctx = r->ctx, .out = &o->config,
		.bytes_max = RESULT_BYTES_MAX };
	JSValue v = JS_PromiseResult(r->ctx, promise);

	if (JS_IsUndefined(v)) {
		buf_put_text(&o->config, "null");
	} else if (!value_write(&w, v)) {
		buf_clear(&o->config);
		if (w.reason[0] == '\0')
			note_exception(r, o);
		else
			fault_write_code(&o->error, "result", w.reason);
	}
	JS_FreeValue(r->ctx, v);
}

static void
run_connector(struct run *r, JSValueConst module, struct outcome *o)
{
	JSValue promise = call_connector(r, module);

	if (JS_IsException(promise)) {
		note_exception(r, o);
	} else if (settle(r, promise)) {
		judge_end(r, promise, o);
		if (o->error.n == 0)
			write_result(r, promise, o);
	} else {
		note_breach(r, o);
	}
	JS_FreeValue(r->ctx, promise);
	call_drop_all(r);
	if (r->breach != NULL)
		return;
	/* Documents emitted before a failure are kept. */
	connector_flush(r);
	if (!wait_for_own(r))
		note_breach(r, o);
}

/* The configuration as JSON; functions are named, and left out. */
static void
write_config(struct run *r, JSValueConst config, struct outcome *o)
{
	struct value_writer w = { .ctx = r->ctx, .out = &o->config,
		.functions = &o->functions,
		.bytes_max = (size_t)r->limits.mutation_bytes_max };
	char text[sizeof(w.where) + sizeof(w.reason) + 2];

	if (!JS_IsObject(config)) {
		fault_write_code(&o->error, "config",
		    "the module's default export is no object");
		return;
	}
	if (value_write(&w, config))
		return;
	buf_clear(&o->config);
	if (w.reason[0] == '\0') {
		note_exception(r, o);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s", w.where, w.where[0] != '\0' ?
	    ": " : "", w.reason);
	fault_write_code(&o->error, "config", text);
}

/* Until the daemon has no more use for it: new states after a conflict. */
static void
serve_conflicts(struct run *r, struct outcome *o)
{
	for (;;) {
		struct message m = process_receive(r->process);
		if (m.kind == FRAME_FINISH)
			return;
		/* Late ones: nothing waits for them any more. */
		if (m.kind == FRAME_ANSWER || m.kind == FRAME_STOP ||
		    m.kind == FRAME_END)
			continue;
		if (m.kind != FRAME_RECOMPUTE)
			_Exit(1);
		yyjson_doc *doc = yyjson_read(m.json.p, m.json.n, 0);
		callback_take(r, yyjson_doc_get_root(doc));
		yyjson_doc_free(doc);
		write_mutations(r, o);
		send_outcome(r, o);
		if (is_spoilt(r))
			_Exit(0);
	}
}

static void
read_limits(struct script_limits *l, yyjson_val *v)
{
#define LIMIT_READ(name, type, id, breach)                                     \
	l->name = yyjson_get_sint(yyjson_obj_get(v, #name));
	SCRIPT_LIMITS(LIMIT_READ)
#undef LIMIT_READ
}

static void
free_outcome(struct outcome *o)
{
	buf_free(&o->error);
	buf_free(&o->mutations);
	buf_free(&o->config);
	buf_free(&o->functions);
}

static void
execute_run(struct run *r, const char *main_path, struct outcome *o)
{
	JSValue config = JS_UNDEFINED;

	if (!runtime_open(r)) {
		run_breach(r, "limit_memory", "the heap is too small");
		note_breach(r, o);
		return;
	}
	if (import_main(r, main_path, &config, o)) {
		if (r->is_config)
			write_config(r, config, o);
		else if (r->is_connector)
			run_connector(r, config, o);
		else
			run_task(r, config, o);
	}
	JS_FreeValue(r->ctx, config);
}

static void
begin_run(struct process *p, const struct message *m)
{
	struct run r = { .process = p };
	struct outcome o = { .error = BUF_INIT };

	r.doc = yyjson_read(m->json.p, m->json.n, 0);
	yyjson_val *root = yyjson_doc_get_root(r.doc);
	if (root == NULL)
		_Exit(1);
	r.input = yyjson_obj_get(root, "input");
	r.task = json_text(yyjson_obj_get(root, "task"));
	r.id = json_text(yyjson_obj_get(yyjson_obj_get(r.input, "item"),
	    "id"));
	struct str mode = json_text(yyjson_obj_get(root, "mode"));
	r.is_config = str_eq(mode, STR("config"));
	r.is_connector = str_eq(mode, STR("connector"));
	r.is_stopping = yyjson_is_true(yyjson_obj_get(root, "stopping"));
	r.allow_failure = yyjson_is_true(yyjson_obj_get(root, "keep"));
	read_limits(&r.limits, yyjson_obj_get(root, "limits"));
	list_init(&r.calls);
	list_init(&r.waiting);
	execute_run(&r, yyjson_get_str(yyjson_obj_get(root, "main")), &o);
	send_outcome(&r, &o);
	if (is_spoilt(&r))
		_Exit(0);
	serve_conflicts(&r, &o);
	free_outcome(&o);
	callback_free(&r);
	connector_free(&r);
	mutation_free(&r);
	call_free_all(&r);
	runtime_close(&r);
	yyjson_doc_free(r.doc);
	p->is_large |= r.heap_peak > LARGE_BYTES;
}

/* ---- Its life ----------------------------------------------------------- */

static void
send_ready(struct process *p, unsigned layers, const struct why *broken)
{
	struct buf json = BUF_INIT;

	buf_printf(&json, "{\"layers\":%u,\"error\":", layers);
	if (broken == NULL)
		buf_put_text(&json, "null");
	else
		text_json(&json, str_of(broken->text));
	buf_put_char(&json, '}');
	process_send(p, FRAME_READY, buf_str(&json), STR_NONE);
	buf_free(&json);
}

void
script_worker_work(unsigned layers, const struct why *broken)
{
	struct process *p = &prepared;

	frame_reader_init(&p->in, MESSAGE_BYTES_MAX);
	send_ready(p, layers, broken);
	if (broken != NULL)
		return;
	for (;;) {
		struct message m = process_receive(p);
		if (m.kind == FRAME_MODULE)
			take_module(p, &m);
		else if (m.kind == FRAME_RUN)
			begin_run(p, &m);
		else if (m.kind != FRAME_FINISH && m.kind != FRAME_ANSWER &&
		    m.kind != FRAME_END)
			_Exit(1);
	}
}

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * What the C library looks up when it is first used, and keeps: the allocator a
 * random number, qsort() of more than 1 KB the size of memory.
 */
static void
warm_up(void)
{
	static int numbers[1024];

	system_malloc_keep();
	system_malloc_trim();
	qsort(numbers, ARRAY_LEN(numbers), sizeof(numbers[0]), by_number);
}

void
script_worker_prepare(void)
{
	script_web_prepare();
	runtime_compile_prelude(&prepared);
	warm_up();
}

bool
script_worker_is(int argc, char *const *argv)
{
	return argc == 2 && strcmp(argv[1], SCRIPT_WORKER_WORD) == 0;
}

void
script_worker_main(void)
{
	static const struct spawner_work work = {
		.prepare = script_worker_prepare,
		.work = script_worker_work,
	};

	spawner_serve(&work);
}

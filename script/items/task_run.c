/*
 * One run: its lease becomes the input, its outcome a completion.
 *
 *     started ─► done ─► completion stored ─► freed
 *        │         ▲           │ conflict
 *        │         └───────────┘ recompute
 *        └─ cut: the lease is lost, or the daemon ends
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "os/clock.h"
#include "script/items/config_file.h"
#include "script/items/runner_own.h"
#include "script/items/simulation.h"

#define SOURCE_LINES 2               /* before and after the failing one */
/* A run whose first fetch would wait for its host longer is put back. */
#define FIRST_TURN_MS_MAX 2000
/* One in so many runs may wait longer. */
#define WAITING_SHARE 4

/* -- Events without a cursor -- */

void
task_run_event(struct task_run *t, const char *type, struct str more)
{
	struct items_live e = { .type = type, .item = t->item,
		.task = t->run.task, .lease = t->lease, .more = more };

	if (t->simulation == NULL)
		t->runner->port->event(t->runner, &e);
}

static void
log_line(struct script_run *run, struct str category, struct str message)
{
	struct task_run *t = CONTAINER(run, struct task_run, run);
	size_t from = t->log.n + (t->log.n > 0);

	if (t->log.n > 0)
		buf_put_char(&t->log, ',');
	json_object(&t->log, NULL);
	json_str(&t->log, "category", category);
	json_str(&t->log, "message", message);
	struct str members = str_from(buf_str(&t->log), from + 1);
	task_run_event(t, "log", members);
	buf_put_char(&t->log, '}');
}

/* -- The completion -- */

/* "shop.js:12:5" in the first line of a stack that names a file of ours. */
static bool
find_place(const struct script_bundle *b, struct str stack, size_t *file,
    int *line)
{
	struct str text;

	while (str_split(&stack, '\n', &text)) {
		for (size_t i = 0; i < bundle_files(b); i++) {
			size_t at = str_find(text, bundle_path(b, i));
			struct str rest = str_from(text, at +
			    bundle_path(b, i).n);
			size_t digits = 1;
			while (digits < rest.n && ascii_is_digit(
			    rest.p[digits]))
				digits++;
			if (at == text.n || !str_take_char(&rest, ':') ||
			    !str_take_digits(&rest, MIN(digits - 1, 9), line))
				continue;
			*file = i;
			return true;
		}
	}
	return false;
}

/* The lines of the source round the place where it failed. */
void
task_run_put_source(struct task_run *t, struct str stack, struct buf *b)
{
	FREED(buf_free) struct buf lines = BUF_INIT;
	const struct script_bundle *bundle = t->run.bundle;
	struct str rest, text;
	size_t file;
	int line, n = 0;

	if (!find_place(bundle, stack, &file, &line))
		return;
	rest = bundle_source(bundle, file);
	while (str_split(&rest, '\n', &text))
		if (++n >= line - SOURCE_LINES && n <= line + SOURCE_LINES)
			buf_printf(&lines, "%s%5d  %.*s\n", n == line ? ">" :
			    " ", n, STR_FMT(str_cut(text, 0, 200)));
	json_str(b, "source", buf_str(&lines));
}

static void
put_error(struct task_run *t, const struct script_outcome *o, struct buf *b)
{
	json_object(b, "error");
	json_str(b, "class", o->class);
	json_str(b, "code", o->code);
	json_str(b, "message", o->message);
	json_str(b, "stack", o->stack);
	task_run_put_source(t, o->stack, b);
	json_str(b, "bundle", str_of(bundle_hash(t->config->bundle)));
	json_array(b, "captures");
	buf_put_str(b, buf_str(&t->fetches));
	buf_put_text(b, "]}");
}

static void
put_completion(struct task_run *t, const struct script_outcome *o)
{
	struct buf *b = &t->text;

	buf_clear(b);
	json_object(b, NULL);
	json_str(b, "lease", t->lease);
	json_str(b, "outcome", o->is_success ? STR("success") :
	    STR("failure"));
	json_bool(b, "allowFailure", o->allow_failure);
	t->message = o->is_success ? STR_NONE : arena_copy(&t->arena,
	    o->message);
	if (!o->is_success)
		put_error(t, o, b);
	json_raw(b, "mutations", o->mutations.n > 0 ? o->mutations :
	    STR("[]"));
	json_array(b, "log");
	buf_put_str(b, buf_str(&t->log));
	buf_put_text(b, "]}");
}

static void
end_run(struct task_run *t)
{
	if (!t->ended)
		script_run_finish(&t->run);
	t->ended = true;
	if (run_calls_done(t))
		task_runner_ended(t);
}

void
task_run_calls_done(struct task_run *t)
{
	if (t->ended && !t->completing)
		task_runner_ended(t);
}

/* What the store has by now, for the callbacks; false: they have had it often
 * enough. */
static bool
recompute(struct task_run *t)
{
	yyjson_doc *doc = yyjson_read(t->completion.answer.p,
	    t->completion.answer.n, 0);
	yyjson_val *current = yyjson_obj_get(yyjson_doc_get_root(doc),
	    "current");
	size_t n = 0;
	char *text = yyjson_val_write(current, 0, &n);
	bool goes_on = text != NULL && script_run_recompute(&t->run,
	    (struct str){ text, n }, NULL) == OK;

	if (goes_on)
		replay_put_recompute(&t->writer, (struct str){ text, n });
	free(text);
	yyjson_doc_free(doc);
	return goes_on;
}

static void begin_completion(struct task_run *);

/* The run fails, and will be tried again. */
static void
fail_conflict(struct task_run *t)
{
	static const struct script_outcome conflict = {
		.class = { "transient", 9 }, .code = { "conflict", 8 },
		.message = { "others changed the same items again and again",
		    45 }, .stack = { "", 0 },
	};

	t->success = false;
	put_completion(t, &conflict);
	begin_completion(t);
}

static struct str
failure_of(const struct task_run *t)
{
	if (t->completion.result != OK)
		return str_of(err_text(t->completion.result));
	return t->completion.reason.n > 0 ? t->completion.reason :
	    t->message.p != NULL ? t->message :
	    str_of(completion_status_text(t->completion.status));
}

static void
tell_owner(const struct task_run *t, bool success)
{
	const struct task_runner_options *o = &t->runner->o;
	struct task_runner_end end = { .task = t->run.task, .item = t->item,
	    .success = success, .message = success ? STR_NONE :
	    failure_of(t),
	    .fetches = t->completion.usage.fetches,
	    .wall_us = t->completion.usage.wall_us };

	if (o->ended != NULL)
		o->ended(o->arg, &end);
}

static void
completed(struct port_completion *k)
{
	struct task_run *t = CONTAINER(k, struct task_run, completion);
	struct task_runner_counts *n = &t->runner->counts;

	bool success = k->result == OK && t->success &&
	    k->status == COMPLETION_APPLIED;
	bool again = k->result == OK && !t->ended &&
	    k->status == COMPLETION_CONFLICT;

	t->completing = false;
	if (!again)
		tell_owner(t, success);
	if (again) {
		if (!recompute(t))
			fail_conflict(t);
		return;
	}
	n->completed += success;
	n->failed += !success;
	end_run(t);
}

static void
begin_completion(struct task_run *t)
{
	t->completion.text = buf_str(&t->text);
	t->completion.done = completed;
	t->completing = true;
	t->runner->port->complete(t->runner, &t->completion);
}

static void
run_done(struct script_run *run, const struct script_outcome *o)
{
	struct task_run *t = CONTAINER(run, struct task_run, run);

	t->completion.usage = (struct run_usage){ .started_at = t->started_at,
	    .wall_us = o->wall_ns / 1000, .cpu_us = o->cpu_ns / 1000,
	    .memory_bytes = o->heap_bytes, .fetches = o->fetches,
	    .bytes = o->body_bytes };
	if (t->fetches.n > 0)
		t->completion.usage.fetches_json = arena_printf(&t->arena,
		    "[%.*s]", STR_FMT(buf_str(&t->fetches)));
	buf_clear(&t->replay);
	if (replay_put(&t->writer, &t->run, o, &t->replay))
		t->completion.usage.replay_json = buf_str(&t->replay);
	t->success = o->is_success;
	t->runner->port->end_run(t);
	if (t->simulation != NULL) {
		simulation_ran(t->simulation, o);
		end_run(t);
		return;
	}
	put_completion(t, o);
	begin_completion(t);
}

void
task_run_cut(struct task_run *t)
{
	if (t->ended)
		return;
	t->cut = true;
	/* Its calls are cancelled by that; it is not freed with the last. */
	script_run_cancel(&t->run);
	t->ended = true;
	t->runner->port->end_run(t);
	if (t->simulation != NULL)
		simulation_ran(t->simulation, NULL);
	if (run_calls_done(t))
		task_runner_ended(t);
}

int64_t
task_run_first_turn_ms(struct task_run *t, bool *waits)
{
	struct task_runner *r = t->runner;

	*waits = t->has_turn && r->waiting_n < r->runs_max / WAITING_SHARE;
	r->waiting_n += *waits;
	return *waits ? 0 : FIRST_TURN_MS_MAX;
}

void
task_run_put_back(struct task_run *t, const struct far_turn *far)
{

	t->put_back = true;
	if (far != NULL) {
		t->far = *far;
		t->far.host = arena_copy(&t->arena, far->host);
	}
	task_run_cut(t);
}

/* -- The start -- */

static void
on_call(struct script_run *run, struct script_call *call)
{
	struct task_run *t = CONTAINER(run, struct task_run, run);

	t->runner->port->begin_call(t, call);
}

static void
on_cancel(struct script_run *run, struct script_call *call)
{
	struct task_run *t = CONTAINER(run, struct task_run, run);

	t->runner->port->cancel_call(t, call);
}

/* The others note their answers themselves. */
static void
on_answer(struct script_run *run, const struct script_call *call)
{
	struct task_run *t = CONTAINER(run, struct task_run, run);

	if (script_call_kind(call) == SCRIPT_CALL_SLEEP)
		replay_put_value(&t->writer, call, STR("null"), NULL);
}

static const struct script_run_events events = {
	.on_call = on_call, .on_cancel = on_cancel, .on_log = log_line,
	.on_answer = on_answer, .on_done = run_done,
};

struct script_limits
task_run_limits(const struct task_runner *r, const struct task *task)
{
	return config_file_limits(r->limits, task);
}

static struct str
copy_member(struct task_run *t, yyjson_val *object, const char *name)
{
	return arena_copy(&t->arena, json_text(yyjson_obj_get(object, name)));
}

struct task_run *
task_run_new(struct task_runner *r, struct runner_config *c,
    yyjson_val *lease)
{
	const struct task *task = task_find(c->config,
	    json_text(yyjson_obj_get(lease, "task")));
	struct task_run *t;
	size_t n = 0;

	if (task == NULL)
		return NULL;
	char *text = yyjson_val_write(lease, 0, &n);
	CHECK(text != NULL);
	t = mem_new(sizeof(*t));
	t->runner = r;
	t->config = runner_config_hold(c);
	t->task = task;
	t->lease = copy_member(t, lease, "lease");
	t->item = copy_member(t, yyjson_obj_get(lease, "item"), "id");
	t->has_turn = yyjson_is_true(yyjson_obj_get(lease, "has_turn"));
	t->user = (struct session_user){ .config = c, .item = t->item,
	    .may_login = true };
	t->input = arena_copy(&t->arena, (struct str){ text, n });
	free(text);
	t->started_at = clock_wall();
	t->writer.full = task->runs == TASK_RUNS_NONE;
	list_init(&t->calls);
	list_put(&r->runs, &t->node);
	r->runs_n++;
	t->run = (struct script_run){ .bundle = c->bundle,
	    .keep_on_failure = task->store_on_failure, .task = task->name,
	    .input = t->input, .secrets = buf_str(&c->secrets),
	    .limits = task_run_limits(r, task), .events = &events };
	return t;
}

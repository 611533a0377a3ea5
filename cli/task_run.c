/*
 * argiope task run CONFIG -- the tasks of a configuration in the foreground,
 * without a daemon.
 *
 *     open the data -> load CONFIG -> runs ──────────► close -> summary
 *                        ▲               │ --once: nothing is due
 *                        └── --watch ────┘ a signal
 *
 * One loop, "home", runs in the main thread: the runner of the tasks is there,
 * and the terminal's line is drawn there.
 */
#include "base/json_writer.h"
#include "cli/engines.h"
#include "cli/format.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "engine/control/control.h"
#include "os/clock.h"
#include "os/system.h"
#include "script/items/config_file.h"
#include "script/items/task_service.h"

#define TICK_MS 200
#define WATCH_TICKS 5                /* between looks at the source files */
#define MESSAGE_MAX 300u

#define RUN_OPTIONS(X)                                                       \
	X(ONCE, "once", '1', NULL, FLAG, 0, 0,                               \
	    "end when nothing is due")                                       \
	X(WATCH, "watch", 'w', NULL, FLAG, 0, 0,                             \
	    "load CONFIG again whenever one of its source files changes")    \
	X(TASK, "task", 't', "TASK", TEXT, 0, 0,                             \
	    "run this task, or those of a pattern like shop:*; may be given "\
	    "again")                                                         \
	X(ITEM, "item", 'i', "ID", TEXT, 0, 0,                               \
	    "run what is due for this item")                                 \
	X(QUIET, "quiet", 'q', NULL, FLAG, 0, 0,                             \
	    "no progress and no summary, only failures")
static const struct option_row rows[] = { RUN_OPTIONS(OPTION_ROW)
	OPTION_ROW(JSON, "json", 0, NULL, FLAG, 0, 0,
	    "print one JSON object per run on standard output")
	OPTION_COMMON(OPTION_ROW) };
const struct option_verb task_run_verb = {
	"task run", "CONFIG", 1, 1,
	"Run the tasks of a configuration in the foreground, without a daemon",
	"CONFIG is the main file of the configuration, an ES module.  It is "
	"loaded as the daemon loads items.config; results, failures and what "
	"was fetched are kept in the data directory.\n"
	"Without --once it goes on until Ctrl-C: runs under way have 10 "
	"seconds, others are given back.  A second Ctrl-C leaves at once.  A "
	"pair that waits for another try is due when its time has come, and "
	"--once does not wait for it.  A file that is wrong is reported; with "
	"--watch what was loaded before stays in force.\n"
	"A daemon that holds the data directory runs the tasks itself: name "
	"the file in its setting items.config.\n"
	"Exit code: 0; 1 a run failed; 65 the configuration is faulty; 66 "
	"there is no such file, task or item; 74 reading or writing failed; 75 "
	"a signal ended --once, or another process holds the data.",
	rows, ARRAY_LEN(rows)
};

/* A question to the writer: is there anything left to do? */
struct idle_question {
	struct items_write write;
	struct worklist_claim claim;
	bool idle;
	bool is_asked;
	uint64_t ended;              /* runs, when it was asked */
};

struct task_running {
	struct cli *cli;
	struct loop *home;
	struct script_host *scripts;
	struct engine *engine;
	struct items *items;
	struct task_service *service;
	struct progress progress;
	struct timer tick;
	unsigned ticks;
	struct mono began;

	const struct str *tasks;
	size_t tasks_n;
	struct str item;
	bool once, watch, quiet, json;

	struct config_file file;     /* being loaded, or the last one */
	bool loading, loaded;
	struct buf hash;             /* of the files that were tried last */
	struct idle_question idle;
	bool found;                  /* the item exists */

	uint64_t succeeded, failed, fetches;
	enum engine_health health;
	bool interrupted, ending, drained, closed;
	struct why why;
};

/* --- the end ------------------------------------------------------------ */

static void
engine_closed(void *arg)
{
	struct task_running *r = arg;

	loop_stop(r->home);
}

static void
items_closed(void *arg)
{
	struct task_running *r = arg;

	engine_close(r->engine, engine_closed, r);
}

/* When nothing is under way that comes back here. */
static void
close_if_done(struct task_running *r)
{
	if (!r->drained || r->loading || r->idle.is_asked || r->closed)
		return;
	r->closed = true;
	items_close(r->items, items_closed, r);
}

static void
runs_ended(void *arg)
{
	struct task_running *r = arg;

	r->drained = true;
	close_if_done(r);
}

static void
begin_end(struct task_running *r)
{
	if (r->ending)
		return;
	r->ending = true;
	loop_timer_stop(r->home, &r->tick);
	task_service_stop(r->service);
	items_stop_claims(r->items);
	task_service_drain(r->service, runs_ended, r);
}

static void
got_signal(void *arg, int signal)
{
	struct task_running *r = arg;

	/* nohup wants it to go on; a closing terminal sends it twice. */
	if (system_is_hangup(signal) && (r->interrupted ||
	    system_ignores_hangup()))
		return;
	if (r->interrupted) {
		progress_say(&r->progress, "stopped at once; runs under way "
		    "are made again");
		fflush(stdout);
		_Exit(75);
	}
	r->interrupted = true;
	progress_say(&r->progress, "stopping: runs under way are finished; "
	    "Ctrl-C again stops at once");
	begin_end(r);
}

/* --- runs --------------------------------------------------------------- */

static void
print_run(struct task_running *r, const struct task_runner_end *end)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	json_object(&b, NULL);
	json_str(&b, "event", STR("run"));
	json_str(&b, "task", end->task);
	json_str(&b, "item", end->item);
	json_bool(&b, "ok", end->success);
	if (!end->success)
		json_str(&b, "message", end->message);
	json_u64(&b, "fetches", (uint64_t)end->fetches);
	json_u64(&b, "wall_ms", (uint64_t)(end->wall_us / 1000));
	buf_put_text(&b, "}\n");
	progress_clear(&r->progress);
	cli_put(&b);
	fflush(stdout);
}

static void
run_ended(void *arg, const struct task_runner_end *end)
{
	struct task_running *r = arg;
	struct arena a = ARENA_INIT;

	r->succeeded += end->success;
	r->failed += !end->success;
	r->fetches += (uint64_t)end->fetches;
	if (r->json)
		print_run(r, end);
	else if (!end->success)
		progress_say(&r->progress, "%s failed on %s: %s",
		    format_text(&a, end->task, MESSAGE_MAX),
		    format_text(&a, end->item, MESSAGE_MAX),
		    format_text(&a, end->message, MESSAGE_MAX));
	arena_free(&a);
}

/* --- is anything left? -------------------------------------------------- */

static enum err
ask_store(struct items_write *w, struct item_tx *tx, struct why *why)
{
	struct idle_question *q = CONTAINER(w, struct idle_question, write);

	return worklist_is_idle(tx, &q->claim, &q->idle, why);
}

static size_t
runs_under_way(const struct task_running *r)
{
	return task_runner_counts(task_service_runner(r->service)).running;
}

static void
store_answered(struct items_write *w)
{
	struct idle_question *q = CONTAINER(w, struct idle_question, write);
	struct task_running *r = CONTAINER(q, struct task_running, idle);
	bool gone = w->result == ERR_ABSENT;

	q->is_asked = false;
	arena_free(&w->arena);
	if (gone && !r->found)
		r->why = w->why;
	else if (w->result != OK && !gone)
		progress_say(&r->progress, "%s", w->why.text);
	r->found = r->found || w->result == OK;
	/* A run that has ended meanwhile may have made new work. */
	if (gone || (w->result == OK && r->once && q->idle &&
	    runs_under_way(r) == 0 && q->ended == r->succeeded + r->failed))
		begin_end(r);
	if (r->ending)
		close_if_done(r);
}

static void
ask_if_idle(struct task_running *r)
{
	static const struct str all = { "*", 1 };
	struct idle_question *q = &r->idle;

	if (q->is_asked || !r->loaded || runs_under_way(r) > 0)
		return;
	q->is_asked = true;
	q->ended = r->succeeded + r->failed;
	q->claim = (struct worklist_claim){ .own = true,
	    .tasks = r->tasks_n > 0 ? r->tasks : &all,
	    .tasks_n = MAX(r->tasks_n, 1u), .only_item = r->item };
	q->write = (struct items_write){ .run = ask_store,
	    .done = store_answered, .why = WHY_INIT };
	items_write(r->items, &q->write);
}

/* --- the configuration -------------------------------------------------- */

static bool
is_wanted(const struct task_running *r, const struct task *t)
{
	bool wanted = r->tasks_n == 0;

	for (size_t i = 0; i < r->tasks_n; i++)
		wanted = wanted || task_matches(r->tasks[i], t->name);
	return wanted && t->has_run && !t->remote;
}

/* Whether it has a task that is to run. */
static enum err
check_tasks(struct task_running *r, struct why *w)
{
	struct task_config *c = NULL;
	bool any = false;
	enum err e = task_config_read(buf_str(&r->file.json),
	    items_limits(r->items), &c, NULL, w);

	for (size_t i = 0; e == OK && i < c->tasks_n; i++)
		any = any || is_wanted(r, &c->tasks[i]);
	task_config_free(&c);
	if (e != OK || any)
		return e;
	return r->tasks_n == 0 ? why(w, ERR_INPUT, "%s has no task that runs "
	    "here", r->file.path) : why(w, ERR_ABSENT, "%s has no task %.*s",
	    r->file.path, STR_FMT(str_cut(r->tasks[0], 0, 100)));
}

static void
say_faults(struct task_running *r)
{
	struct str rest = buf_str(&r->file.faults.text), line;
	struct arena a = ARENA_INIT;

	if (rest.n == 0)
		rest = str_of(r->file.why.text);
	while (rest.n > 0 && str_split(&rest, '\n', &line))
		if (line.n > 0)
			progress_say(&r->progress, "%s", format_text(&a, line,
			    MESSAGE_MAX));
	arena_free(&a);
	if (r->loaded)
		progress_say(&r->progress, "what was loaded before stays in "
		    "force");
}

static void
refuse_file(struct task_running *r, const struct why *w)
{
	if (r->watch && (w->err == ERR_INPUT || w->err == ERR_CONFIG ||
	    w->err == ERR_ABSENT)) {
		say_faults(r);
		return;
	}
	r->why = *w;
	begin_end(r);
}

/* A file that is being written may be missing, and is tried again. */
static void
note_hash(struct task_running *r)
{
	if (r->file.bundle == NULL)
		return;
	buf_clear(&r->hash);
	buf_put_text(&r->hash, bundle_hash(r->file.bundle));
}

static void
file_loaded(struct config_file *f)
{
	struct task_running *r = CONTAINER(f, struct task_running, file);
	struct why w = f->why;
	bool again = r->loaded;

	r->loading = false;
	if (!f->same && !r->ending) {
		note_hash(r);
		if (w.err == OK && check_tasks(r, &w) == OK)
			(void)!task_service_use(r->service, f->bundle,
			    buf_str(&f->json), f->generation, &w);
		r->loaded = r->loaded || w.err == OK;
		if (w.err != OK)
			refuse_file(r, &w);
		else if (again)
			progress_say(&r->progress, "%s is loaded again",
			    f->path);
	}
	config_file_free(f);
	if (r->ending)
		close_if_done(r);
}

static void
load_file(struct task_running *r)
{
	r->loading = true;
	r->file = (struct config_file){ .path = r->cli->options.operands[0],
	    .conf = &r->cli->conf, .scripts = r->scripts, .items = r->items,
	    .unless = buf_str(&r->hash), .done = file_loaded };
	config_file_load(&r->file);
}

/* --- while it runs ------------------------------------------------------ */

static void
show_progress(struct task_running *r)
{
	progress_text(&r->progress, "%llu runs  %llu failed  %zu under way  "
	    "%llu requests", (unsigned long long)(r->succeeded + r->failed),
	    (unsigned long long)r->failed, runs_under_way(r),
	    (unsigned long long)r->fetches);
}

static void
tick(struct timer *t)
{
	struct task_running *r = CONTAINER(t, struct task_running, tick);

	show_progress(r);
	if (r->watch && !r->loading && r->ticks % WATCH_TICKS == 0)
		load_file(r);
	if (r->once || !r->found)
		ask_if_idle(r);
	r->ticks++;
	if (!r->ending)
		loop_timer_set(r->home, t, mono_add_ms(clock_mono(), TICK_MS));
}

static void
health_changed(void *arg, enum engine_health h, const char *text)
{
	struct task_running *r = arg;

	r->health = h;
	progress_say(&r->progress, "%s: %s", h == ENGINE_FINE ?
	    "writing goes on" : h == ENGINE_DISK_FULL ? "writing waits" :
	    "the runs stop", text);
	if (h == ENGINE_FAILED) {
		why(&r->why, ERR_IO, "%s", text);
		begin_end(r);
	}
}

/* --- opening ------------------------------------------------------------ */

static enum err
check_words(struct task_running *r, struct why *w)
{
	struct cli *c = r->cli;
	size_t n = cli_count(c, "task");
	struct str *tasks = ARENA_ARRAY(&c->arena, struct str, n);

	for (size_t i = 0; i < n; i++)
		tasks[i] = str_of(cli_nth(c, "task", i));
	r->tasks = tasks;
	r->tasks_n = n;
	r->item = str_of(cli_text(c, "item", ""));
	r->found = r->item.n == 0;
	r->once = cli_given(c, "once");
	r->watch = cli_given(c, "watch");
	r->quiet = cli_given(c, "quiet");
	r->json = cli_json(c);
	if (r->once && r->watch)
		return why(w, ERR_USAGE, "--once ends when nothing is due, "
		    "--watch does not end; leave one of them away");
	if (!config_file_is_module(str_of(c->options.operands[0])))
		return why(w, ERR_INPUT, "%s is JSON: its tasks run in remote "
		    "workers alone", c->options.operands[0]);
	return OK;
}

/* Its processes inherit nothing that is opened later. */
static enum err
start_scripts(struct task_running *r, struct why *w)
{
	struct script_host_options o = script_host_options_of(&r->cli->conf);

	return script_host_open(r->home, &o, &r->scripts, w);
}

/* The crawls of tasks go on; others are none of ours. */
static enum err
continue_tasks(struct task_running *r, struct why *w)
{
	struct crawl_request q = { .spec.operator_seeds = false };
	struct crawl_view v;
	enum err e = OK;
	size_t at = 0;

	while (e == OK && engine_next_view(r->engine, &at, &v))
		if (v.kind == CRAWL_TASKS && !crawl_state_is_ended(v.state))
			e = engine_continue(r->engine, v.id, &q, w);
	return e;
}

static enum err
open_data(struct task_running *r, struct why *w)
{
	struct cli *c = r->cli;
	struct engine_options eo = { .conf = &c->conf, .home = r->home,
	    .loops = (unsigned)conf_int(&c->conf, CONF_LOOPS), .small = true,
	    .doors = true, .health = health_changed,
	    .arg = r };
	struct items_options io = { .conf = &c->conf, .home = r->home };
	struct task_service_options so = { .conf = &c->conf, .home = r->home,
	    .scripts = r->scripts, .tasks = r->tasks, .tasks_n = r->tasks_n,
	    .item = r->item, .ended = run_ended, .arg = r };

	enum err e = cli_dir(c, c->data_dir, &c->data_dir, w);
	eo.data_dir = io.data_dir = so.data_dir = c->data_dir;
	if (e == OK)
		e = engines_open(engine_open, &eo, &r->engine, w);
	if (e == OK)
		e = continue_tasks(r, w);
	if (e == OK)
		e = task_service_open(&so, &r->service, w);
	return e == OK ? items_open(&io, &r->items, w) : e;
}

/* --- the whole ---------------------------------------------------------- */

static void
put_summary(struct task_running *r)
{
	struct buf *b = &r->cli->out;
	double s = (double)mono_ns_between(r->began, clock_mono()) / 1e9;

	if (r->json) {
		json_object(b, NULL);
		json_str(b, "event", STR("end"));
		json_u64(b, "runs", r->succeeded + r->failed);
		json_u64(b, "failed", r->failed);
		json_u64(b, "fetches", r->fetches);
		buf_put_text(b, "}\n");
	} else if (!r->quiet) {
		buf_printf(b, "runs: %llu, failed: %llu, requests: %llu; "
		    "%.1f s\n", (unsigned long long)(r->succeeded +
		    r->failed), (unsigned long long)r->failed,
		    (unsigned long long)r->fetches, s);
	}
}

static enum err
run(struct task_running *r, struct why *w)
{
	r->began = clock_mono();
	progress_open(&r->progress, r->quiet || r->json);
	r->tick.fire = tick;
	engine_start(r->engine);
	task_service_start(r->service, r->engine, r->items);
	load_file(r);
	loop_timer_set(r->home, &r->tick, mono_add_ms(r->began, TICK_MS));
	loop_run(r->home);
	progress_clear(&r->progress);
	if (r->loaded)
		put_summary(r);
	r->cli->code = r->interrupted && r->once ? err_exit(ERR_FULL) :
	    r->failed > 0;
	*w = r->why;
	return w->err;
}

enum err
task_run_run(struct cli *c, struct why *w)
{
	struct task_running r = { .cli = c, .why = WHY_INIT };

	enum err e = check_words(&r, w);
	if (e != OK)
		return e;
	r.home = loop_new("home");
	e = start_scripts(&r, w);
	if (e == OK)
		e = cli_begin(c, w);
	if (e == OK) {
		/* Before any thread starts. */
		loop_on_signal(r.home, got_signal, &r);
		e = open_data(&r, w);
	}
	if (e == OK)
		e = run(&r, w);
	task_service_free(&r.service);
	items_free(&r.items);
	script_host_close(&r.scripts);
	engine_free(&r.engine);
	loop_free(&r.home);
	buf_free(&r.hash);
	return e;
}

/*
 * argiope task list|pause|resume|expire|reload|types -- the tasks of a running
 * daemon, and the declarations for their authors.
 */
#include <yyjson.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/items_data.h"
#include "cli/verbs.h"
#include "script/web/api_types.h"

#define WAITING_MAX 200u
#define TYPE_JSON STR("application/json")

#define EXIT_HELP                                                            \
	"Exit code: 0; 66 there is no such task; 69 no daemon serves the "   \
	"data directory."
#define TASK_HELP "TASK may be a pattern like shop:*.  "

const struct option_verb task_list_verb = {
	"task list", NULL, 0, 0,
	"List the daemon's tasks: state, items by state, runs and their cost",
	"Items are counted by the state of their results for the task.\n"
	"Exit code: 0; 69 no daemon serves the data directory.",
	verbs_json, ARRAY_LEN(verbs_json)
};
const struct option_verb task_pause_verb = {
	"task pause", "TASK", 1, 1,
	"Start no runs of a task until it is resumed",
	TASK_HELP "Runs under way are finished.\n" EXIT_HELP,
	verbs_json, ARRAY_LEN(verbs_json)
};
const struct option_verb task_resume_verb = {
	"task resume", "TASK", 1, 1,
	"Run a task again that was paused, or that too many failures stopped",
	TASK_HELP "\n" EXIT_HELP,
	verbs_json, ARRAY_LEN(verbs_json)
};

#define EXPIRE_OPTIONS(X)                                                    \
	X(EXPIRE_TAG, "tag", 't', "TAG", TEXT, 0, 0,                         \
	    "those of items that have the tag")                              \
	X(EXPIRE_PREFIX, "prefix", 'p', "TEXT", TEXT, 0, 0,                  \
	    "those of items whose id begins so")
static const struct option_row expire_rows[] = { EXPIRE_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
const struct option_verb task_expire_verb = {
	"task expire", "TASK", 1, 1,
	"Mark the results of a task as stale, so that it runs again",
	TASK_HELP "What failed and is parked runs again, too.\n" EXIT_HELP,
	expire_rows, ARRAY_LEN(expire_rows)
};
const struct option_verb task_reload_verb = {
	"task reload", NULL, 0, 0,
	"Have the daemon read items.config again",
	"A faulty configuration is refused with all its faults, and the one in "
	"force stays.\n"
	"Exit code: 0; 65 the configuration is faulty; 69 no daemon serves the "
	"data directory, or it has no items.config.",
	verbs_json, ARRAY_LEN(verbs_json)
};
const struct option_verb task_types_verb = {
	"task types", NULL, 0, 0,
	"Print argiope.d.ts, the TypeScript declarations for tasks",
	NULL, verbs_plain, ARRAY_LEN(verbs_plain)
};

/* --- the table ---------------------------------------------------------- */

static const char *const states[] = { "unprocessed", "stale", "expired",
	"retry", "failed", "blocked", "leased", "fresh" };

static const char *
state_of(yyjson_val *task)
{
	yyjson_val *counts = yyjson_obj_get(task, "counts");

	if (yyjson_is_true(yyjson_obj_get(task, "paused")))
		return "paused";
	if (yyjson_is_true(yyjson_obj_get(task, "tripped")))
		return "tripped";
	if (yyjson_is_str(yyjson_obj_get(task, "waiting")))
		return "waiting";
	if (yyjson_is_obj(yyjson_obj_get(task, "rewriting")))
		return "rewriting";
	return yyjson_get_uint(yyjson_obj_get(counts, "leased")) > 0 ?
	    "running" : "idle";
}

static void
put_column(struct buf *b, yyjson_val *object, const char *name, int width)
{
	char text[FORMAT_MAX];

	buf_printf(b, "  %*s", width, format_count(yyjson_get_uint(
	    yyjson_obj_get(object, name)), text));
}

static int
width_of(const char *head)
{
	return MAX((int)strlen(head), 6);
}

static void
put_task(struct buf *b, yyjson_val *task, int name_width, struct arena *a)
{
	yyjson_val *counts = yyjson_obj_get(task, "counts");
	yyjson_val *used = yyjson_obj_get(task, "used");
	struct str waiting = json_text(yyjson_obj_get(task, "waiting"));

	buf_printf(b, "%-*s  %-8s %-9s", name_width, format_text(a,
	    json_text(yyjson_obj_get(task, "task")), ITEM_ID_BYTES_MAX),
	    format_text(a, json_text(yyjson_obj_get(task, "version")),
	    WAITING_MAX), state_of(task));
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		put_column(b, counts, states[i], width_of(states[i]));
	put_column(b, used, "runs", 9);
	buf_printf(b, "  %8.1f", (double)yyjson_get_uint(yyjson_obj_get(used,
	    "cpu_ms")) / 1000);
	put_column(b, used, "fetches", 9);
	if (waiting.n > 0) {
		buf_put_text(b, "  ");
		format_safe(b, waiting, WAITING_MAX);
	}
	buf_put_char(b, '\n');
}

/* {"tasks":[TASK...]}, or one TASK. */
static void
put_table(struct buf *b, yyjson_val *root, struct arena *a)
{
	yyjson_val *tasks = yyjson_obj_get(root, "tasks"), *task;
	int width = 4;
	size_t at, n;

	yyjson_arr_foreach(tasks, at, n, task)
		width = MAX(width, (int)MIN(yyjson_get_len(yyjson_obj_get(task,
		    "task")), (size_t)40));
	if (tasks == NULL)
		width = MAX(width, (int)MIN(yyjson_get_len(yyjson_obj_get(root,
		    "task")), (size_t)40));
	buf_printf(b, "%-*s  %-8s %-9s", width, "task", "version", "state");
	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		buf_printf(b, "  %*s", width_of(states[i]), states[i]);
	buf_printf(b, "  %9s  %8s  %9s\n", "runs", "CPU s", "requests");
	if (tasks == NULL)
		put_task(b, root, width, a);
	yyjson_arr_foreach(tasks, at, n, task)
		put_task(b, task, width, a);
}

static enum err
print_tasks(struct cli *c, struct str answer, struct why *w)
{
	if (cli_json(c)) {
		buf_put_str(&c->out, answer);
		buf_put_char(&c->out, '\n');
		return OK;
	}
	yyjson_doc_free(c->answer);
	c->answer = yyjson_read(answer.p, answer.n, 0);
	if (c->answer == NULL)
		return why(w, ERR_BROKEN, "the answer is no JSON");
	put_table(&c->out, yyjson_doc_get_root(c->answer), &c->arena);
	return OK;
}

enum err
task_list_run(struct cli *c, struct why *w)
{
	struct ask_request r = { STR("GET"), STR("/tasks"), STR_NONE,
	    STR_NONE };
	struct str answer;

	enum err e = items_data_order(c, &r, &answer, w);
	return e == OK ? print_tasks(c, answer, w) : e;
}

/* --- orders ------------------------------------------------------------- */

static enum err
order_task(struct cli *c, const char *word, struct str body, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT;
	struct str answer;

	buf_put_text(&path, "/tasks/");
	items_data_part(&path, str_of(c->options.operands[0]));
	buf_printf(&path, "/%s", word);
	enum err e = items_data_order(c, &(struct ask_request){ STR("POST"),
	    buf_str(&path), TYPE_JSON, body }, &answer, w);
	return e == OK ? print_tasks(c, answer, w) : e;
}

enum err
task_pause_run(struct cli *c, struct why *w)
{
	return order_task(c, "pause", STR("{}"), w);
}

enum err
task_resume_run(struct cli *c, struct why *w)
{
	return order_task(c, "resume", STR("{}"), w);
}

enum err
task_expire_run(struct cli *c, struct why *w)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	static const char *const names[] = { "tag", "prefix" };

	json_object(&body, NULL);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (cli_given(c, names[i]))
			json_str(&body, names[i], str_of(cli_text(c, names[i],
			    "")));
	buf_put_char(&body, '}');
	return order_task(c, "expire", buf_str(&body), w);
}

enum err
task_reload_run(struct cli *c, struct why *w)
{
	struct ask_request r = { STR("POST"), STR("/items-config/reload"),
	    TYPE_JSON, STR("{}") };
	struct str answer;

	enum err e = items_data_order(c, &r, &answer, w);
	if (e != OK)
		return e;
	if (cli_json(c)) {
		buf_put_str(&c->out, answer);
		buf_put_char(&c->out, '\n');
		return OK;
	}
	c->answer = yyjson_read(answer.p, answer.n, 0);
	buf_printf(&c->out, "generation %llu is in force\n",
	    (unsigned long long)yyjson_get_uint(yyjson_obj_get(
	    yyjson_doc_get_root(c->answer), "generation")));
	return OK;
}

enum err
task_types_run(struct cli *c, struct why *w)
{
	(void)w;
	buf_put_str(&c->out, api_types());
	return OK;
}

/*
 * argiope task test FOLDER -- all cases below a folder, run again with today's
 * code.
 *
 *     case ─► its configuration, loaded once ─► run ─► outcome, difference
 *                                                       │ --update
 *                                                       ▼
 *                                                 expected.json
 *
 * No data directory and no daemon: the answers are the case's.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "cli/case_file.h"
#include "cli/case_pages.h"
#include "cli/format.h"
#include "cli/paint.h"
#include "cli/verbs.h"
#include "os/file.h"
#include "os/tree.h"
#include "script/items/config_file.h"

#define TEXT_MAX 2000u

#define TEST_OPTIONS(X)                                                      \
	X(UPDATE, "update", 'u', NULL, FLAG, 0, 0,                           \
	    "accept what the cases give now as what is expected")            \
	X(MODULE, "module", 'm', "FILE", PATH, 0, 0,                         \
	    "the configuration, in place of the file that the cases name")
static const struct option_row rows[] = { TEST_OPTIONS(OPTION_ROW)
	OPTION_COMMON(OPTION_ROW) };
const struct option_verb task_test_verb = {
	"task test", "FOLDER", 1, 1,
	"Run all cases below a folder with today's code, and compare",
	"A case is a folder that task record made.  Its task runs with the "
	"recorded input, reads and pages, without a daemon, a data directory "
	"or a network; what it changes is compared with expected.json.  The "
	"configuration is the file that the case names, in the nearest folder "
	"above it.\n"
	"Each case is a line, ok NAME or not ok NAME, and behind the latter "
	"the difference: + is new, ~ has another value, - is gone.  A task "
	"that asks for a page that was not recorded fails with ReplayMiss; "
	"such a case is not updated, but recorded again.\n"
	"Exit code: 0 all are ok; 1 one is not; 65 the configuration is "
	"faulty; 66 there is no case, or no configuration; 70 a case is "
	"damaged.",
	rows, ARRAY_LEN(rows)
};

struct test_config {
	const char *path;
	struct config_file file;
	struct task_config *config;
	bool is_read;
};

struct testing {
	struct cli *cli;
	struct loop *home;
	struct script_host *scripts;
	struct script_limits limits;
	struct http_decode_limits decode;
	const char **names;          /* of cases, below the folder */
	size_t names_n, names_cap;
	struct test_config config;   /* of the last case */
	size_t ok, updated;
	/* The case being run. */
	struct case_file file;
	struct case_pages *pages;
	struct replay_source source;
	struct replay_run run;
	bool done, freed, same, missed;
	struct buf expected, diff;   /* of its outcome; RFC 6902 */
	const char *failure;         /* NULL: it succeeded */
	struct str stack;
	size_t mutations_n;
};

/* -- Which cases -- */

static enum err
add_case(void *arg, const char *path, uint64_t bytes, struct why *w)
{
	struct testing *t = arg;
	struct arena *a = &t->cli->arena;
	struct str s = str_of(path), end = STR("/" CASE_NAME);

	(void)bytes, (void)w;
	if (!str_ends(s, end) && !str_eq(s, STR(CASE_NAME)))
		return OK;
	t->names = arena_grow(a, t->names, t->names_n, &t->names_cap, 16,
	    sizeof(*t->names));
	t->names[t->names_n++] = s.n < end.n ? "." : arena_copy(a, str_cut(s,
	    0, s.n - end.n)).p;
	return OK;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum err
find_cases(struct testing *t, struct why *w)
{
	const char *folder = t->cli->options.operands[0];
	enum err e = tree_walk(folder, add_case, t, w);

	if (e == OK && t->names_n == 0)
		e = why(w, ERR_ABSENT, "there is no case in %s", folder);
	if (e == OK)
		qsort(t->names, t->names_n, sizeof(*t->names), by_name);
	return e;
}

/* -- Its configuration -- */

static void
config_read(struct config_file *f)
{
	CONTAINER(f, struct test_config, file)->is_read = true;
}

static void
config_free(struct test_config *c)
{
	task_config_free(&c->config);
	config_file_free(&c->file);
	*c = (struct test_config){ .path = NULL };
}

static enum err
read_config(struct testing *t, const char *path, struct why *w)
{
	struct test_config *c = &t->config;
	struct item_limits limits = items_limits_of(&t->cli->conf);

	if (c->path != NULL && strcmp(c->path, path) == 0)
		return OK;
	config_free(c);
	c->path = arena_copy(&t->cli->arena, str_of(path)).p;
	c->file = (struct config_file){ .path = c->path,
	    .conf = &t->cli->conf, .scripts = t->scripts,
	    .done = config_read };
	config_file_load(&c->file);
	loop_run_until(t->home, &c->is_read);
	if (c->file.why.err != OK)
		return why(w, c->file.why.err, "%s", c->file.why.text);
	return task_config_read(buf_str(&c->file.json), &limits, &c->config,
	    NULL, w);
}

static enum err
open_config(struct testing *t, struct why *w)
{
	const char *path = cli_text(t->cli, "module", NULL);
	enum err e = path == NULL ? case_file_config(&t->file, &path, w) : OK;

	if (e == OK && !config_file_is_module(str_of(path)))
		e = why(w, ERR_INPUT, "%s is JSON: its tasks have no code "
		    "here", path);
	return e == OK ? read_config(t, path, w) : e;
}

/* -- Its run -- */

static void
answer_blob(struct testing *t, struct replay_need *need)
{
	FREED(buf_free) struct buf bytes = BUF_INIT;
	const char *path = case_file_path(&t->file, arena_printf(
	    &need->arena, CASE_BLOBS "/%.*s", STR_FMT(need->sha256)).p);

	need->found = file_load(path, CASE_BYTES_MAX, &bytes, NULL) == OK;
	need->body = arena_copy(&need->arena, buf_str(&bytes));
}

static void
find_answer(void *arg, struct replay_need *need)
{
	struct testing *t = arg;

	if (need->kind == REPLAY_CAPTURE)
		case_pages_answer(t->pages, t->decode, need);
	else if (need->kind == REPLAY_BLOB)
		answer_blob(t, need);
	replay_need_done(need);
}

static bool
outcome_is_expected(const struct replay_record *r,
    const struct script_outcome *o)
{
	return o->is_success == r->success && (o->is_success ||
	    (str_eq(o->class, r->class) && str_eq(o->code, r->code) &&
	    str_eq(o->message, r->message)));
}

static void
run_freed(struct replay_run *r)
{
	CONTAINER(r, struct testing, run)->freed = true;
}

static size_t
count_elements(struct str json)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	size_t n = yyjson_arr_size(yyjson_doc_get_root(doc));

	yyjson_doc_free(doc);
	return n;
}

static void
run_done(struct replay_run *r, const struct script_outcome *o)
{
	struct testing *t = CONTAINER(r, struct testing, run);

	replay_difference(r->record, o->mutations, &t->diff);
	t->same = outcome_is_expected(r->record, o) && str_eq(buf_str(
	    &t->diff), STR("[]"));
	t->missed = r->missed;
	t->failure = o->is_success ? NULL : arena_printf(&t->file.arena,
	    "failed (%s, %s): %s", format_text(&t->file.arena, o->class,
	    TEXT_MAX), format_text(&t->file.arena, o->code, TEXT_MAX),
	    format_text(&t->file.arena, o->message, TEXT_MAX)).p;
	t->stack = arena_copy(&t->file.arena, o->stack);
	t->mutations_n = count_elements(o->mutations);
	case_file_put_expected(&t->expected, o->is_success ? STR_NONE :
	    o->class, o->code, o->message, o->mutations);
	t->done = true;
	replay_run_finish(r, run_freed);
}

static enum err
run_case(struct testing *t, struct why *w)
{
	const struct replay_record *record = t->file.record;
	const struct task *task = task_find(t->config.config, record->task);

	if (task == NULL || !task->has_run)
		return why(w, ERR_ABSENT, "%s has no task %.*s",
		    t->config.path, STR_FMT(record->task));
	t->run = (struct replay_run){ .record = record,
	    .bundle = t->config.file.bundle, .loop = t->home,
	    .limits = config_file_limits(t->limits, task),
	    .source = &t->source, .done = run_done };
	t->done = t->freed = false;
	replay_run_start(t->scripts, &t->run);
	loop_run_until(t->home, &t->done);
	loop_run_until(t->home, &t->freed);
	return OK;
}

/* -- What is printed -- */

/* One of the two failed: its mutations say nothing more. */
static void
put_outcomes(struct testing *t)
{
	const struct replay_record *r = t->file.record;
	struct buf *b = &t->cli->out;

	if (t->failure != NULL) {
		buf_printf(b, "  %s\n", t->failure);
		format_lines(b, t->stack, "    ");
	}
	if (!r->success)
		buf_printf(b, "  expected: failed (%.*s, %.*s): %s\n",
		    STR_FMT(r->class), STR_FMT(r->code),
		    format_text(&t->file.arena, r->message, TEXT_MAX));
	buf_printf(b, "  mutations: %zu, expected: %zu\n", t->mutations_n,
	    yyjson_arr_size(r->mutations));
}

static void
put_difference(struct testing *t)
{
	struct paint p = paint_of(t->cli);

	if (t->failure != NULL || !t->file.record->success) {
		put_outcomes(t);
		return;
	}
	yyjson_doc *doc = yyjson_read(t->diff.p, t->diff.n, 0);
	paint_changes(&p, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
}

static enum err
report_case(struct testing *t, const char *name, struct why *w)
{
	struct paint p = paint_of(t->cli);
	bool update = !t->same && !t->missed && cli_given(t->cli, "update");
	enum err e = update ? case_file_store(t->file.dir, CASE_EXPECTED,
	    buf_str(&t->expected), w) : OK;

	t->ok += t->same;
	t->updated += update && e == OK;
	name = strcmp(name, ".") == 0 ? t->cli->options.operands[0] : name;
	paint_line(&p, t->same || update ? GREEN : RED, arena_printf(
	    &t->file.arena, "%s %s%s", t->same || update ? "ok" : "not ok",
	    format_text(&t->file.arena, str_of(name), TEXT_MAX), update ?
	    " (updated)" : "").p);
	if (!t->same)
		put_difference(t);
	return e;
}

/* -- The whole -- */

static void
case_free(struct testing *t)
{
	case_pages_free(&t->pages);
	case_file_free(&t->file);
	buf_free(&t->expected);
	buf_free(&t->diff);
}

static enum err
test_case(struct testing *t, const char *name, struct why *w)
{
	const char *dir = arena_printf(&t->cli->arena, "%s/%s",
	    t->cli->options.operands[0], name).p;
	enum err e = case_file_read(dir, &t->file, w);

	if (e == OK)
		e = open_config(t, w);
	if (e == OK)
		e = case_pages_open(case_file_path(&t->file, CASE_PAGES),
		    &t->pages, w);
	if (e == OK)
		e = run_case(t, w);
	if (e == OK)
		e = report_case(t, name, w);
	case_free(t);
	return e;
}

static enum err
test_cases(struct testing *t, struct why *w)
{
	struct buf *b = &t->cli->out;
	enum err e = find_cases(t, w);

	for (size_t i = 0; i < t->names_n && e == OK; i++)
		e = test_case(t, t->names[i], w);
	if (e != OK)
		return e;
	buf_printf(b, "cases: %zu, ok: %zu, not ok: %zu", t->names_n,
	    t->ok + t->updated, t->names_n - t->ok - t->updated);
	if (t->updated > 0)
		buf_printf(b, ", updated: %zu", t->updated);
	buf_put_char(b, '\n');
	t->cli->code = t->ok + t->updated < t->names_n;
	return OK;
}

enum err
task_test_run(struct cli *c, struct why *w)
{
	struct testing t = { .cli = c, .limits = script_limits_of(&c->conf),
	    .decode = { conf_size(&c->conf, CONF_FETCH_BODY_BYTES_MAX),
	    (uint32_t)conf_double(&c->conf, CONF_FETCH_DECODE_RATIO_MAX) } };
	struct script_host_options o = script_host_options_of(&c->conf);

	t.source = (struct replay_source){ .find = find_answer, .arg = &t };
	t.home = loop_new("home");
	/* Its processes inherit nothing that is opened later. */
	enum err e = script_host_open(t.home, &o, &t.scripts, w);
	if (e == OK)
		e = cli_log(&c->conf, true, w);
	if (e == OK)
		e = test_cases(&t, w);
	config_free(&t.config);
	script_host_close(&t.scripts);
	loop_free(&t.home);
	return e;
}

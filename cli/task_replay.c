/*
 * argiope task replay TASK|RUN -- recorded runs, run again offline by a running
 * daemon, a page after the other.
 */
#include <yyjson.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "cli/format.h"
#include "cli/items_data.h"
#include "cli/paint.h"
#include "cli/verbs.h"

#define REPLAY_OPTIONS(X)                                                    \
	X(ITEM, "item", 'i', "ID", TEXT, 0, 0,                               \
	    "only the run of this item")                                     \
	X(TAG, "tag", 't', "TAG", TEXT, 0, 0,                                \
	    "only the runs of items with this tag")                          \
	X(SINCE, "since", 's', "DATE", TEXT, 0, 0,                           \
	    "only runs that began then or later, such as "                   \
	    "2026-11-20T07:00:00Z")                                          \
	X(VERIFY, "verify", 'v', NULL, FLAG, 0, 0,                           \
	    "run the recorded code: it must do the same to the byte")        \
	X(APPLY, "apply", 'a', NULL, FLAG, 0, 0,                             \
	    "store what today's code does in place of what is stored")       \
	X(LOOSE, "loose", 'l', NULL, FLAG, 0, 0,                             \
	    "a page that a run has not asked for is its newest archived "    \
	    "answer")
static const struct option_row rows[] = { REPLAY_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
const struct option_verb task_replay_verb = {
	"task replay", "TASK|RUN", 1, 1,
	"Run recorded runs again on their archived pages",
	"The last run of each item of TASK is run again, or RUN (R17), with "
	"the code of today; no site is asked.  Answers come from the archive "
	"and the run's record, sleeps return at once.  What it does otherwise "
	"is printed with + (new), ~ (another value) and - (gone).\n"
	"Nothing is stored without --apply.  With it the new result takes the "
	"place of the recorded one and is as old as that: an item that had "
	"another run since, or has one now, is left alone.  Pages that the "
	"recorded run has not asked for are a ReplayMiss.\n"
	"Exit code: 0; 1 a run fails now, needs what is not recorded, or could "
	"not be stored; with --verify, one did something else; 66 there is no "
	"such task, run or item; 69 no daemon serves the data directory.",
	rows, ARRAY_LEN(rows)
};

struct replaying {
	struct cli *cli;
	struct paint paint;
	uint64_t same, different, applied, failed, missed, changed, skipped;
};

/* --- what is printed ------------------------------------------------------ */

static void
put_run(struct replaying *r, yyjson_val *run)
{
	struct paint *p = &r->paint;
	yyjson_val *error = yyjson_obj_get(run, "error");
	struct str status = json_text(yyjson_obj_get(run, "status"));
	bool good = str_eq(status, STR("applied")) ||
	    str_eq(status, STR("different")) || str_eq(status,
	    STR("skipped"));

	paint_line(p, good ? BOLD : RED, arena_printf(p->arena, "%s %s  %s",
	    paint_text(p, run, "run"), paint_text(p, run, "item"),
	    paint_text(p, run, "status")).p);
	paint_changes(p, yyjson_obj_get(run, "diff"));
	if (json_text(yyjson_obj_get(run, "reason")).n > 0)
		buf_printf(p->b, "  %s\n", paint_text(p, run, "reason"));
	if (!yyjson_is_obj(error))
		return;
	buf_printf(p->b, "  %s, %s: %s\n", paint_text(p, error, "class"),
	    paint_text(p, error, "code"), paint_text(p, error, "message"));
	format_lines(p->b, json_text(yyjson_obj_get(error, "stack")), "  ");
}

static void
add_counts(struct replaying *r, yyjson_val *counts)
{
	const struct {
		const char *name;
		uint64_t *n;
	} all[] = { { "same", &r->same }, { "different", &r->different },
		{ "applied", &r->applied }, { "failed", &r->failed },
		{ "missed", &r->missed }, { "changed", &r->changed },
		{ "skipped", &r->skipped } };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		*all[i].n += yyjson_get_uint(yyjson_obj_get(counts,
		    all[i].name));
}

static bool
has_failed(const struct replaying *r)
{
	return r->failed + r->missed + r->changed > 0 ||
	    (cli_given(r->cli, "verify") && r->different > 0);
}

static void
put_sum(struct replaying *r)
{
	struct buf *b = &r->cli->out;

	if (cli_json(r->cli)) {
		json_object(b, NULL);
		json_bool(b, "ok", !has_failed(r));
		json_u64(b, "same", r->same);
		json_u64(b, "different", r->different);
		json_u64(b, "applied", r->applied);
		json_u64(b, "failed", r->failed);
		json_u64(b, "missed", r->missed);
		json_u64(b, "changed", r->changed);
		json_u64(b, "skipped", r->skipped);
		buf_put_text(b, "}\n");
		return;
	}
	paint_line(&r->paint, has_failed(r) ? RED : GREEN, arena_printf(
	    &r->cli->arena, "%s: same: %llu; different: %llu; applied: %llu; "
	    "failed: %llu; missed: %llu; changed: %llu; skipped: %llu",
	    has_failed(r) ? "failed" : "ok", (unsigned long long)r->same,
	    (unsigned long long)r->different, (unsigned long long)r->applied,
	    (unsigned long long)r->failed, (unsigned long long)r->missed,
	    (unsigned long long)r->changed,
	    (unsigned long long)r->skipped).p);
}

static void
put_json(struct buf *b, yyjson_val *v)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, 0, &n);

	buf_put(b, text, n);
	buf_put_char(b, '\n');
	free(text);
}

static void
put_page(struct replaying *r, yyjson_val *root)
{
	struct cli *c = r->cli;
	yyjson_val *run;
	size_t i, n;

	add_counts(r, yyjson_obj_get(root, "counts"));
	yyjson_arr_foreach(yyjson_obj_get(root, "runs"), i, n, run) {
		if (cli_json(c))
			put_json(&c->out, run);
		else
			put_run(r, run);
	}
	/* A long replay is printed as it comes. */
	cli_put(&c->out);
	c->out = BUF_INIT;
}

/* --- requests ------------------------------------------------------------- */

static bool
is_run(const char *text)
{
	struct str s = str_of(text);
	int64_t n;

	return str_take_char(&s, 'R') && str_to_i64(s, &n) && n > 0;
}

static void
put_option(struct cli *c, struct buf *b, const char *name)
{
	if (cli_given(c, name))
		json_str(b, name, str_of(cli_text(c, name, "")));
}

static void
put_request(struct cli *c, struct str after, struct buf *b)
{
	buf_clear(b);
	json_object(b, NULL);
	json_str(b, "mode", cli_given(c, "verify") ? STR("verify") :
	    cli_given(c, "apply") ? STR("apply") : STR("compare"));
	json_bool(b, "loose", cli_given(c, "loose"));
	put_option(c, b, "item");
	put_option(c, b, "tag");
	put_option(c, b, "since");
	if (after.n > 0)
		json_str(b, "after", after);
	buf_put_char(b, '}');
}

static enum err
check_options(struct cli *c, bool run, struct why *w)
{
	if (cli_given(c, "verify") && cli_given(c, "apply"))
		return why(w, ERR_INPUT, "--verify and --apply: only one of "
		    "them; --verify runs the recorded code");
	if (run && (cli_given(c, "item") || cli_given(c, "tag") ||
	    cli_given(c, "since")))
		return why(w, ERR_INPUT, "--item, --tag and --since choose "
		    "among a task's runs, and %s is one run",
		    c->options.operands[0]);
	return OK;
}

/* `next`: where the next page begins; empty: there is none. */
static enum err
ask_page(struct replaying *r, struct str path, struct buf *next,
    struct why *w)
{
	FREED(buf_free) struct buf body = BUF_INIT;
	struct str answer;

	put_request(r->cli, buf_str(next), &body);
	enum err e = items_data_order(r->cli, &(struct ask_request){
	    STR("POST"), path, STR("application/json"), buf_str(&body) },
	    &answer, w);
	if (e != OK)
		return e;
	yyjson_doc *doc = yyjson_read(answer.p, answer.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);
	buf_clear(next);
	if (!yyjson_is_obj(root)) {
		e = why(w, ERR_BROKEN, "the answer is no JSON");
	} else {
		buf_put_str(next, json_text(yyjson_obj_get(root, "next")));
		put_page(r, root);
	}
	yyjson_doc_free(doc);
	return e;
}

enum err
task_replay_run(struct cli *c, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT, next = BUF_INIT;
	struct replaying r = { .cli = c, .paint = paint_of(c) };
	const char *name = c->options.operands[0];
	bool run = is_run(name);

	enum err e = check_options(c, run, w);
	buf_put_text(&path, run ? "/runs/" : "/tasks/");
	items_data_part(&path, str_of(name));
	buf_put_text(&path, "/replay");
	do {
		if (e == OK)
			e = ask_page(&r, buf_str(&path), &next, w);
	} while (e == OK && next.n > 0);
	if (e != OK)
		return e;
	c->code = has_failed(&r);
	put_sum(&r);
	return OK;
}

/*
 * argiope task record RUN FOLDER/NAME -- a run of the store becomes a case for
 * argiope task test.
 *
 *     run ─┬─ its record  ─► case.json, expected.json
 *          ├─ its answers ─► pages.warc.gz
 *          └─ its blobs   ─► blobs/
 *
 * It reads beside a daemon.  case.json is written last: without it the folder
 * is no case.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "cli/case_file.h"
#include "cli/case_pages.h"
#include "cli/format.h"
#include "cli/items_data.h"
#include "cli/verbs.h"
#include "os/file.h"
#include "wire/digest.h"

#define RECORD_OPTIONS(X)                                                    \
	X(TASK, "task", 't', "TASK", TEXT, 0, 0,                             \
	    "the last run of this task on the item; RUN is left out")        \
	X(ITEM, "item", 'i', "ID", TEXT, 0, 0, "the item of --task")
static const struct option_row rows[] = { RECORD_OPTIONS(OPTION_ROW)
	OPTION_COMMON(OPTION_ROW) };
const struct option_verb task_record_verb = {
	"task record", "[RUN] FOLDER/NAME", 1, 2,
	"Make a case for task test of a run: input, answers and changes",
	"RUN is the number of a run like R17, as the items door has it; or "
	"--task and --item name the run.  The last run of each task and item "
	"is kept, and failed ones for 30 days.\n"
	"The folder FOLDER/NAME gets case.json (input, reads), expected.json "
	"(what the run changed, or its error), pages.warc.gz (the records of "
	"the pages) and blobs.  It needs no data directory any more.  Keep it "
	"below the folder of the configuration, where task test looks for "
	"that.\n"
	"Exit code: 0; 66 there is no such run, or its pages are not archived "
	"any more; 69 the run was kept without replay; 73 there is a case "
	"already.",
	rows, ARRAY_LEN(rows)
};

struct recording {
	struct cli *cli;
	const char *dir;
	struct item_store *store;
	struct run_replay run;
	struct replay_record *record;
	struct buf sources, pages;
	size_t blobs;
};

/* -- The run -- */

static enum err
check_words(struct recording *x, struct why *w)
{
	struct cli *c = x->cli;
	bool pair = cli_given(c, "task") && cli_given(c, "item");

	x->dir = c->options.operands[c->options.operands_n - 1];
	if (cli_given(c, "task") != cli_given(c, "item") ||
	    pair != (c->options.operands_n == 1))
		return why(w, ERR_USAGE, "task record wants RUN, or --task and "
		    "--item");
	if (cli_is_there(arena_printf(&c->arena, "%s/" CASE_NAME,
	    x->dir).p))
		return why(w, ERR_EXISTS, "%s is a case already; remove it, or "
		    "take another name", x->dir);
	return OK;
}

static enum err
find_last_run(struct recording *x, struct why *w)
{
	struct cli *c = x->cli;
	struct replay_list l = { .task = str_of(cli_text(c, "task", "")),
	    .item = str_of(cli_text(c, "item", "")),
	    .since = ITEM_TIME_NONE, .max = 1 };
	struct run_replay *runs;
	size_t n;

	enum err e = item_query_replays(x->store, &l, &c->arena, &runs, &n, w);
	if (e == OK && n == 0)
		return why(w, ERR_ABSENT, "no run of %.*s on %.*s is kept",
		    STR_FMT(str_cut(l.task, 0, 100)),
		    STR_FMT(str_cut(l.item, 0, 100)));
	if (e == OK)
		x->run = runs[0];
	return e;
}

static enum err
read_run(struct recording *x, struct why *w)
{
	struct cli *c = x->cli;
	enum err e = items_data_read(c, &x->store, w);

	if (e == OK)
		e = cli_given(c, "task") ? find_last_run(x, w) :
		    item_query_replay(x->store, str_of(
		    c->options.operands[0]), &c->arena, &x->run, w);
	if (e == OK)
		e = replay_record_read(x->run.record, &x->record, w);
	return e == OK ? item_query_sources(x->store, x->record->bundle,
	    &x->sources, w) : e;
}

/* -- The case -- */

static enum err
store_blob(struct recording *x, struct str hex, struct why *w)
{
	struct arena *a = &x->cli->arena;
	FREED(buf_free) struct buf bytes = BUF_INIT;
	const char *dir = arena_printf(a, "%s/" CASE_BLOBS, x->dir).p;
	struct digest d;

	if (!digest_from_text(arena_printf(a, "sha256:%.*s", STR_FMT(hex)), &d))
		return why(w, ERR_CORRUPT, "the run's record has a blob that "
		    "is none");
	enum err e = item_query_bytes(x->store, d.bytes, &bytes, w);
	if (e == OK)
		e = file_make_dir(dir, w);
	if (e == OK)
		e = file_store(arena_printf(a, "%s/%.*s", dir,
		    STR_FMT(hex)).p, buf_str(&bytes), w);
	x->blobs += e == OK;
	return e;
}

static enum err
store_blobs(struct recording *x, struct why *w)
{
	const struct replay_record *r = x->record;
	enum err e = OK;

	for (size_t i = 0; i < r->calls_n && e == OK; i++)
		if (r->calls[i].kind == SCRIPT_CALL_BLOB &&
		    r->calls[i].sha256.p != NULL)
			e = store_blob(x, r->calls[i].sha256, w);
	return e;
}

static enum err
store_expected(struct recording *x, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT, mutations = BUF_INIT;
	const struct replay_record *r = x->record;

	replay_put_mutations(r, &mutations);
	case_file_put_expected(&b, r->success ? STR_NONE : r->class, r->code,
	    r->message, buf_str(&mutations));
	return case_file_store(x->dir, CASE_EXPECTED, buf_str(&b), w);
}

/* The main file is the first of {"shop.js":"..."}. */
static struct str
main_file(struct recording *x, yyjson_doc *sources)
{
	yyjson_obj_iter at = yyjson_obj_iter_with(yyjson_doc_get_root(
	    sources));

	return arena_copy(&x->cli->arena, json_text(yyjson_obj_iter_next(
	    &at)));
}

static enum err
store_case(struct recording *x, struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	yyjson_doc *sources = yyjson_read(x->sources.p, x->sources.n, 0);
	size_t n = 0;
	char *replay = yyjson_val_write(yyjson_obj_get(yyjson_doc_get_root(
	    x->record->doc), "replay"), 0, &n);

	json_object(&b, NULL);
	json_str(&b, "task", x->record->task);
	json_str(&b, "item", x->record->item);
	json_str(&b, "run", arena_printf(&x->cli->arena, "R%lld",
	    (long long)x->run.id));
	format_json_time(&b, "started_at", x->run.started_at);
	json_str(&b, "config", main_file(x, sources));
	json_raw(&b, "replay", (struct str){ replay, n });
	buf_put_char(&b, '}');
	free(replay);
	yyjson_doc_free(sources);
	return case_file_store(x->dir, CASE_NAME, buf_str(&b), w);
}

static enum err
store_all(struct recording *x, struct why *w)
{
	struct cli *c = x->cli;
	enum err e = case_pages_copy(c, x->record, &x->pages, w);

	if (e == OK)
		e = file_make_dir(x->dir, w);
	if (e == OK && x->pages.n > 0)
		e = file_store(arena_printf(&c->arena, "%s/" CASE_PAGES,
		    x->dir).p, buf_str(&x->pages), w);
	if (e == OK)
		e = store_blobs(x, w);
	if (e == OK)
		e = store_expected(x, w);
	return e == OK ? store_case(x, w) : e;
}

enum err
task_record_run(struct cli *c, struct why *w)
{
	struct recording x = { .cli = c };
	enum err e = check_words(&x, w);

	if (e == OK)
		e = read_run(&x, w);
	if (e == OK)
		e = store_all(&x, w);
	if (e == OK)
		buf_printf(&c->out, "R%lld, %s on %s, is the case %s\n",
		    (long long)x.run.id, format_text(&c->arena,
		    x.record->task, ITEM_ID_BYTES_MAX),
		    format_text(&c->arena, x.record->item,
		    ITEM_ID_BYTES_MAX), x.dir);
	replay_record_free(&x.record);
	item_store_close(&x.store);
	buf_free(&x.sources);
	buf_free(&x.pages);
	return e;
}

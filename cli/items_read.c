/*
 * argiope items list|show|worklist|failures -- what the items of a data
 * directory say.  They are read beside a daemon or without one.
 */
#include <yyjson.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/items_data.h"
#include "cli/verbs.h"
#include "os/clock.h"
#include "os/database.h"

#define TEXT_ID_MAX 1024u

#define LIST_OPTIONS(X)                                                      \
	X(TAG, "tag", 't', "TAG", TEXT, 0, 0, "those that have the tag")     \
	X(VALUE, "value", 0, "VALUE", TEXT, 0, 0, "the tag with this value") \
	X(PREFIX, "prefix", 'p', "TEXT", TEXT, 0, 0,                         \
	    "those whose id begins so")                                      \
	X(SINCE, "since", 0, "DATE", TEXT, 0, 0,                             \
	    "updated since then, such as 2026-11-20T07:00:00Z")              \
	X(METADATA, "metadata", 'm', "TASK", TEXT, 0, 0,                     \
	    "with what the task stored; may be given again")                 \
	X(LIMIT, "limit", 'n', "N", NUMBER, 1, INT64_MAX, "at most N items")
static const struct option_row list_rows[] = { LIST_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
const struct option_verb items_list_verb = {
	"items list", NULL, 0, 0,
	"List the items: id and tags",
	"With --json, a line of JSON for each: id, aliases, tags, data, dates, "
	"rev.\n"
	"Exit code: 0; 65 an option has a bad value.",
	list_rows, ARRAY_LEN(list_rows)
};
const struct option_verb items_show_verb = {
	"items show", "ID", 1, 1,
	"Print an item, and what its tasks have done",
	"ID may be any of its aliases.\n"
	"Exit code: 0; 66 there is no such item.",
	verbs_json, ARRAY_LEN(verbs_json)
};

#define WORKLIST_OPTIONS(X)                                                  \
	X(WORK_TASK, "task", 't', "TASK", TEXT, 0, 0,                        \
	    "of this task, or of those of a pattern like shop:*")            \
	X(WORK_VALUE, "value", 0, "VALUE", TEXT, 0, 0,                       \
	    "the tag with this value")                                       \
	X(WORK_LIMIT, "limit", 'n', "N", NUMBER, 1, ITEM_LIST_MAX,           \
	    "at most N pairs (default 100)")
static const struct option_row worklist_rows[] = {
	WORKLIST_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
const struct option_verb items_worklist_verb = {
	"items worklist", "TAG", 1, 1,
	"List what is due for a tag's items, in the order of claims",
	"Nothing is claimed.\n"
	"Exit code: 0; 66 there is no such tag.",
	worklist_rows, ARRAY_LEN(worklist_rows)
};

#define FAILURES_OPTIONS(X)                                                  \
	X(FAIL_HANDLED, "handled", 0, NULL, FLAG, 0, 0,                      \
	    "those that have been handled")                                  \
	X(FAIL_ALL, "all", 'a', NULL, FLAG, 0, 0, "open and handled ones")   \
	X(FAIL_GROUP, "group", 'g', NULL, FLAG, 0, 0,                        \
	    "open ones grouped by their message")                            \
	X(FAIL_LIMIT, "limit", 'n', "N", NUMBER, 1, INT64_MAX, "at most N")
static const struct option_row failures_rows[] = {
	FAILURES_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
const struct option_verb items_failures_verb = {
	"items failures", "[TASK]", 0, 1,
	"List failures that nobody has handled: number, item, task, message",
	"argiope items handle takes the number, or the task for all of them.\n"
	"Exit code: 0; 64 --group without a task; 66 there is no such task.",
	failures_rows, ARRAY_LEN(failures_rows)
};

/* --- pages -------------------------------------------------------------- */

/* One answer in a snapshot of its own. */
typedef enum err answer_fn(struct item_store *, void *arg, struct buf *out,
    struct why *);

static enum err
answer_in_snapshot(struct item_store *s, answer_fn *f, void *arg,
    struct buf *out, struct why *w)
{
	struct database *db = item_store_database(s);
	enum err e = database_begin_read(db, w);

	if (e != OK)
		return e;
	e = f(s, arg, out, w);
	return database_end(db, e, w);
}

static enum err
read_json(struct cli *c, const struct buf *b, yyjson_val **root,
    struct why *w)
{
	yyjson_doc_free(c->answer);
	c->answer = yyjson_read(b->p, b->n, 0);
	*root = yyjson_doc_get_root(c->answer);
	return *root != NULL ? OK : why(w, ERR_BROKEN, "the answer is no JSON");
}

static void
put_text(struct buf *b, yyjson_val *o, const char *name)
{
	format_safe(b, json_text(yyjson_obj_get(o, name)), TEXT_ID_MAX);
}

/* --- list --------------------------------------------------------------- */

struct listing {
	struct item_list ask;
	struct buf next;
};

static enum err
answer_list(struct item_store *s, void *arg, struct buf *out, struct why *w)
{
	struct listing *l = arg;

	return item_query_list(s, &l->ask, out, &l->next, w);
}

static void
put_tags(struct buf *b, yyjson_val *tags)
{
	yyjson_val *tag;
	size_t at, n;

	yyjson_arr_foreach(tags, at, n, tag) {
		buf_put_text(b, at == 0 ? "  " : " ");
		put_text(b, tag, "name");
		if (yyjson_is_str(yyjson_obj_get(tag, "value"))) {
			buf_put_char(b, '=');
			put_text(b, tag, "value");
		}
	}
}

/* A page of lines, as texts where no JSON was asked for. */
static enum err
put_page(struct cli *c, struct buf *page, struct why *w)
{
	struct str rest = buf_str(page), line;
	enum err e = OK;

	if (cli_json(c)) {
		buf_put_str(&c->out, rest);
	} else while (e == OK && rest.n > 0 && str_split(&rest, '\n', &line)) {
		FREED(buf_free) struct buf one = BUF_INIT;
		yyjson_val *root;
		buf_put_str(&one, line);
		e = read_json(c, &one, &root, w);
		if (e != OK)
			break;
		put_text(&c->out, root, "id");
		put_tags(&c->out, yyjson_obj_get(root, "tags"));
		buf_put_char(&c->out, '\n');
	}
	/* A long list is printed as it comes. */
	cli_put(&c->out);
	c->out = BUF_INIT;
	return e;
}

static enum err
read_list(struct cli *c, struct listing *l, struct why *w)
{
	const char *since = cli_text(c, "since", NULL);

	l->ask = (struct item_list){ .tag = str_of(cli_text(c, "tag", NULL)),
	    .value = str_of(cli_text(c, "value", NULL)),
	    .prefix = str_of(cli_text(c, "prefix", NULL)), .lines = true,
	    .updated_since = ITEM_TIME_NONE };
	if (since != NULL && !wall_from_iso(str_of(since),
	    &l->ask.updated_since))
		return why(w, ERR_INPUT, "--since %s: it is no date like "
		    "2026-11-20T07:00:00Z", since);
	struct str *tasks = ARENA_ARRAY(&c->arena, struct str,
	    cli_count(c, "metadata"));
	for (size_t i = 0; i < cli_count(c, "metadata"); i++)
		tasks[i] = str_of(cli_nth(c, "metadata", i));
	l->ask.metadata = tasks;
	l->ask.metadata_n = cli_count(c, "metadata");
	return OK;
}

static size_t
count_lines(const struct buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++)
		n += b->p[i] == '\n';
	return n;
}

enum err
items_list_run(struct cli *c, struct why *w)
{
	FREED(item_store_close) struct item_store *s = NULL;
	FREED(buf_free) struct buf page = BUF_INIT, after = BUF_INIT;
	struct listing l = { .next = BUF_INIT };
	uint64_t left = (uint64_t)cli_number(c, "limit", INT64_MAX);

	enum err e = read_list(c, &l, w);
	if (e == OK)
		e = items_data_read(c, &s, w);
	while (e == OK && left > 0) {
		buf_clear(&page);
		l.ask.limit = (unsigned)MIN(left, (uint64_t)ITEM_LIST_MAX);
		e = answer_in_snapshot(s, answer_list, &l, &page, w);
		if (e != OK)
			break;
		left -= count_lines(&page);
		e = put_page(c, &page, w);
		if (l.next.n == 0)
			break;
		buf_clear(&after);
		buf_put_str(&after, buf_str(&l.next));
		l.ask.after = buf_str(&after);
	}
	buf_free(&l.next);
	return e;
}

/* --- show --------------------------------------------------------------- */

static enum err
answer_show(struct item_store *s, void *arg, struct buf *out, struct why *w)
{
	FREED(buf_free) struct buf operations = BUF_INIT;
	struct str id = *(struct str *)arg;
	uint64_t rev;

	enum err e = item_query_get(s, id, out, &rev, w);
	if (e == OK)
		e = item_query_operations(s, id, "operations", clock_wall(),
		    &operations, w);
	if (e != OK)
		return e;
	/* {"id":"x","operations":[...]}: its second member. */
	struct str rest = buf_str(&operations);
	rest = str_from(rest, str_find(rest, STR(",\"operations\":[")));
	out->n--;
	buf_put_str(out, rest);
	return OK;
}

enum err
items_show_run(struct cli *c, struct why *w)
{
	FREED(item_store_close) struct item_store *s = NULL;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str id = str_of(c->options.operands[0]);
	yyjson_val *root;
	size_t n = 0;

	enum err e = items_data_read(c, &s, w);
	if (e == OK)
		e = answer_in_snapshot(s, answer_show, &id, &b, w);
	if (e == OK && !cli_json(c))
		e = read_json(c, &b, &root, w);
	if (e != OK)
		return e;
	if (cli_json(c)) {
		buf_put_str(&c->out, buf_str(&b));
	} else {
		/* What a site sent must not move the cursor. */
		char *text = yyjson_val_write(root,
		    YYJSON_WRITE_PRETTY_TWO_SPACES |
		    YYJSON_WRITE_ESCAPE_UNICODE, &n);
		buf_put(&c->out, text, n);
		free(text);
	}
	buf_put_char(&c->out, '\n');
	return OK;
}

/* --- worklist ----------------------------------------------------------- */

static enum err
answer_worklist(struct item_store *s, void *arg, struct buf *out,
    struct why *w)
{
	struct cli *c = arg;

	return item_query_worklist(s, str_of(c->options.operands[0]),
	    str_of(cli_text(c, "task", NULL)),
	    str_of(cli_text(c, "value", NULL)),
	    (unsigned)cli_number(c, "limit", 0), clock_wall(), out, w);
}

enum err
items_worklist_run(struct cli *c, struct why *w)
{
	FREED(item_store_close) struct item_store *s = NULL;
	FREED(buf_free) struct buf b = BUF_INIT;
	yyjson_val *root, *row;
	size_t at, n;

	enum err e = items_data_read(c, &s, w);
	if (e == OK)
		e = answer_in_snapshot(s, answer_worklist, c, &b, w);
	if (e == OK)
		e = read_json(c, &b, &root, w);
	if (e != OK)
		return e;
	if (cli_json(c)) {
		buf_put_str(&c->out, buf_str(&b));
		buf_put_char(&c->out, '\n');
		return OK;
	}
	yyjson_arr_foreach(yyjson_obj_get(root, "worklist"), at, n, row) {
		buf_printf(&c->out, "%-12s", yyjson_get_str(
		    yyjson_obj_get(row, "state")));
		put_text(&c->out, row, "task");
		buf_put_text(&c->out, "  ");
		put_text(&c->out, row, "id");
		buf_put_char(&c->out, '\n');
	}
	return OK;
}

/* --- failures ----------------------------------------------------------- */

struct failures {
	struct cli *cli;
	struct str task, after;
	unsigned limit;
};

static enum err
answer_failures(struct item_store *s, void *arg, struct buf *out,
    struct why *w)
{
	struct failures *f = arg;
	int handled = cli_given(f->cli, "all") ? -1 :
	    cli_given(f->cli, "handled");

	return item_query_failures(s, f->task, handled, f->after, f->limit,
	    out, w);
}

static enum err
answer_groups(struct item_store *s, void *arg, struct buf *out,
    struct why *w)
{
	struct failures *f = arg;

	return item_query_failure_groups(s, f->task, out, w);
}

static void
put_failure(struct buf *b, yyjson_val *row)
{
	yyjson_val *data = yyjson_obj_get(row, "error_data");

	buf_printf(b, "%-8llu", (unsigned long long)yyjson_get_uint(
	    yyjson_obj_get(row, "id")));
	put_text(b, row, "task");
	buf_put_text(b, "  ");
	put_text(b, row, "item");
	buf_put_text(b, "  ");
	put_text(b, data, "message");
	buf_put_char(b, '\n');
}

static void
put_group(struct buf *b, yyjson_val *row)
{
	buf_printf(b, "%-8llu", (unsigned long long)yyjson_get_uint(
	    yyjson_obj_get(row, "n")));
	put_text(b, row, "message");
	buf_put_char(b, '\n');
}

/* A page; rows of JSON are lines. */
static size_t
put_rows(struct cli *c, yyjson_val *rows,
    void (*put)(struct buf *, yyjson_val *))
{
	yyjson_val *row;
	size_t at, n, length;

	yyjson_arr_foreach(rows, at, n, row) {
		if (!cli_json(c)) {
			put(&c->out, row);
			continue;
		}
		char *text = yyjson_val_write(row, 0, &length);
		buf_put(&c->out, text, length);
		buf_put_char(&c->out, '\n');
		free(text);
	}
	return yyjson_arr_size(rows);
}

static enum err
print_failures(struct cli *c, struct item_store *s, struct failures *f,
    struct why *w)
{
	uint64_t left = (uint64_t)cli_number(c, "limit", INT64_MAX);
	yyjson_val *root = NULL;
	enum err e = OK;

	while (e == OK && left > 0) {
		FREED(buf_free) struct buf b = BUF_INIT;
		f->limit = (unsigned)MIN(left, (uint64_t)ITEM_LIST_MAX);
		e = answer_in_snapshot(s, answer_failures, f, &b, w);
		if (e == OK)
			e = read_json(c, &b, &root, w);
		if (e != OK)
			break;
		left -= put_rows(c, yyjson_obj_get(root, "failures"),
		    put_failure);
		f->after = arena_copy(&c->arena, json_text(yyjson_obj_get(root,
		    "next")));
		if (f->after.n == 0)
			break;
	}
	return e;
}

enum err
items_failures_run(struct cli *c, struct why *w)
{
	FREED(item_store_close) struct item_store *s = NULL;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct failures f = { .cli = c };
	yyjson_val *root;

	if (c->options.operands_n > 0)
		f.task = str_of(c->options.operands[0]);
	if (cli_given(c, "group") && f.task.n == 0)
		return why(w, ERR_USAGE, "items failures --group wants a task");
	enum err e = items_data_read(c, &s, w);
	if (e != OK || !cli_given(c, "group"))
		return e == OK ? print_failures(c, s, &f, w) : e;
	e = answer_in_snapshot(s, answer_groups, &f, &b, w);
	if (e == OK)
		e = read_json(c, &b, &root, w);
	if (e == OK)
		(void)put_rows(c, yyjson_obj_get(root, "groups"), put_group);
	return e;
}

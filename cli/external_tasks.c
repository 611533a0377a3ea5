/*
 * argiope external tasks|rejected|redeliver|cursor -- tasks of back ends, in
 * the store, beside a daemon or without one.
 */
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/store/store_external.h"
#include "os/clock.h"

#define TEXT_MAX 200u
#define MISSING "66 there is no such task; 69 several back ends have one: "   \
	"name yours with --backend"

static const struct option_row rows[] = {
	OPTION_ROW(BACKEND, "backend", 'b', "NAME", TEXT, 0, 0,
	    "the back end whose task it is")
	OPTION_ROW(JSON, "json", 'j', NULL, FLAG, 0, 0, "print JSON")
	OPTION_COMMON(OPTION_ROW)
};
static const struct option_row cursor_rows[] = {
	OPTION_ROW(BACKEND, "backend", 'b', "NAME", TEXT, 0, 0,
	    "the back end whose task it is")
	OPTION_ROW(RESET, "reset", 0, NULL, FLAG, 0, 0,
	    "forget it: the next attempt reads everything")
	OPTION_COMMON(OPTION_ROW)
};
static const struct option_row task_rows[] = {
	OPTION_ROW(BACKEND, "backend", 'b', "NAME", TEXT, 0, 0,
	    "the back end whose task it is")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb external_tasks_verb = {
	"external tasks", NULL, 0, 0,
	"List the tasks of back ends: state, counts, back end, connector",
	"Closed tasks are kept for external.keep_s.",
	rows, ARRAY_LEN(rows)
};
const struct option_verb external_rejected_verb = {
	"external rejected", "FID", 1, 1,
	"Print a task's rejected documents, and what is wrong with them",
	"Rejected are documents that the connector's schema does not allow, "
	"or that the back end has refused.  Each line is JSON: number, "
	"pointer, message, document.\n"
	"Exit code: 0; " MISSING ".",
	task_rows, ARRAY_LEN(task_rows)
};
const struct option_verb external_redeliver_verb = {
	"external redeliver", "FID", 1, 1,
	"Send an undelivered task's documents to its back end again",
	"A task is undelivered when its back end could not be reached for "
	"external.retry_s_max.  A daemon on the same data sends what is left, "
	"within seconds.\n"
	"Exit code: 0; " MISSING ", or the task is not undelivered.",
	task_rows, ARRAY_LEN(task_rows)
};
const struct option_verb external_cursor_verb = {
	"external cursor", "FID", 1, 1,
	"Print where a task's next attempt goes on, or forget it",
	"The cursor is the connector's; a task without one prints null.\n"
	"Exit code: 0; " MISSING ".",
	cursor_rows, ARRAY_LEN(cursor_rows)
};

static enum err
find_task(struct cli *c, struct store **st, struct store_task *t,
    struct why *w)
{
	enum err e = stores_find(c, "task", st, w);

	return e == OK ? store_task_find(*st, str_of(cli_text(c, "backend",
	    "")), str_of(c->options.operands[0]), &c->arena, t, w) : e;
}

/* ---- List ------------------------------------------------------------ */

static void
row_json(const void *row, struct buf *b)
{
	const struct store_task *t = row;

	json_str(b, "fid", t->fid);
	json_str(b, "backend", t->backend);
	json_str(b, "connector", t->connector);
	json_str(b, "state", str_of(store_task_state_name(t->state)));
	json_u64(b, "code", t->code);
	json_str(b, "message", t->message);
	json_u64(b, "attempt", t->attempt);
	json_u64(b, "uploaded", t->uploaded);
	json_u64(b, "spooled", t->spooled);
	json_u64(b, "rejected", t->rejected);
	stores_put_date(b, "created", t->created);
	stores_put_date(b, "closed", t->closed);
}

static void
put_text(const void *all, size_t n, struct buf *b)
{
	const struct store_task *list = all;

	for (size_t i = 0; i < n; i++) {
		const struct store_task *t = &list[i];
		buf_printf(b, "%-11s %8llu uploaded %8llu in the spool %6llu "
		    "rejected  ", store_task_state_name(t->state),
		    (unsigned long long)t->uploaded,
		    (unsigned long long)t->spooled,
		    (unsigned long long)t->rejected);
		format_safe(b, t->backend, STORE_NAME_BYTES_MAX);
		buf_put_char(b, ' ');
		format_safe(b, t->connector, STORE_NAME_BYTES_MAX);
		buf_put_char(b, ' ');
		format_safe(b, t->fid, STORE_FID_BYTES_MAX);
		if (t->message.n > 0) {
			buf_put_text(b, ": ");
			format_safe(b, t->message, TEXT_MAX);
		}
		buf_put_char(b, '\n');
	}
}

static enum err
list_all(struct cli *c, struct store *st, struct store_task **out, size_t *n,
    struct why *w)
{
	struct store_task_filter f = { .backend = str_of(cli_text(c,
		"backend", "")) };
	struct store_task *page;
	size_t page_n, cap = 0;
	enum err e;

	do {
		e = store_task_list(st, &f, &c->arena, &page, &page_n, w);
		for (size_t i = 0; e == OK && i < page_n; i++) {
			*out = arena_grow(&c->arena, *out, *n, &cap, 64,
			    sizeof(**out));
			(*out)[(*n)++] = page[i];
			f.after = page[i].id;
		}
	} while (e == OK && page_n == STORE_TASKS_PAGE_MAX);
	return e;
}

enum err
external_tasks_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct store_task *list = NULL;
	size_t n = 0;

	enum err e = stores_find(c, "task", &st, w);
	if (e == OK)
		e = list_all(c, st, &list, &n, w);
	return stores_print(c, &(struct stores_list){ "task", "tasks", list,
	    n, sizeof(*list), row_json, put_text }, e);
}

/* ---- One --------------------------------------------------------------- */

enum err
external_rejected_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct store_document *list;
	struct store_task t;
	size_t n = 0;

	enum err e = find_task(c, &st, &t, w);
	if (e == OK)
		e = store_rejected_list(st, t.id, 0, 0, &c->arena, &list, &n,
		    w);
	for (size_t i = 0; e == OK && i < n; i++) {
		json_object(&c->out, NULL);
		json_u64(&c->out, "number", list[i].number);
		json_str(&c->out, "pointer", list[i].pointer);
		json_str(&c->out, "message", list[i].message);
		json_str(&c->out, "document", list[i].json);
		buf_put_text(&c->out, "}\n");
	}
	return e;
}

enum err
external_redeliver_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct store_task t;

	enum err e = find_task(c, &st, &t, w);
	return e == OK ? store_task_redeliver(st, t.id, clock_wall(), w) : e;
}

enum err
external_cursor_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct store_task t;

	enum err e = find_task(c, &st, &t, w);
	if (e != OK)
		return e;
	if (cli_given(c, "reset"))
		return store_task_reset_cursor(st, t.id, clock_wall(), w);
	buf_printf(&c->out, "%.*s\n", STR_FMT(t.cursor.n > 0 ? t.cursor :
	    STR("null")));
	return OK;
}

/*
 * argiope items set|delete|tags|handle -- changes of items: here, or by the
 * daemon that holds the data.  Each has two halves, run() for the first and a
 * request for the second.
 */
#include <yyjson.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/items_change.h"
#include "cli/verbs.h"
#include "engine/items/worklist.h"
#include "os/database.h"

const struct option_verb items_set_verb = {
	"items set", "ID JSON", 2, 2,
	"Change an item's data by a JSON merge patch (RFC 7396)",
	"Members of JSON replace those of the data; null removes one.\n"
	"Exit code: 0; 65 the patch is no object; 66 there is no such item.",
	verbs_json, ARRAY_LEN(verbs_json)
};
const struct option_verb items_delete_verb = {
	"items delete", "ID", 1, 1,
	"Delete an item with its results, failures and blobs",
	"Exit code: 0; 66 there is no such item.",
	verbs_json, ARRAY_LEN(verbs_json)
};

#define TAGS_OPTIONS(X)                                                      \
	X(TAGS_REMOVE, "remove", 'r', "TAG", TEXT, 0, 0,                     \
	    "remove it from the item; may be given again")
static const struct option_row tags_rows[] = { TAGS_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
const struct option_verb items_tags_verb = {
	"items tags", "[ID [TAG[=VALUE]...]]", 0, OPERANDS_ANY,
	"List all tags, or change those of an item",
	"Without ID: each tag, how many items have it, and the tasks that it "
	"selects.\n"
	"Exit code: 0; 65 a tag has a bad name; 66 there is no such item.",
	tags_rows, ARRAY_LEN(tags_rows)
};

#define HANDLE_OPTIONS(X)                                                    \
	X(HANDLE_MESSAGE, "message", 'm', "TEXT", TEXT, 0, 0,                \
	    "those of a task that have this message")                        \
	X(HANDLE_NOTE, "note", 'n', "TEXT", TEXT, 0, 0,                      \
	    "what was found; kept with the failures")                        \
	X(HANDLE_PARK, "no-retry", 0, NULL, FLAG, 0, 0,                      \
	    "leave the pairs parked")
static const struct option_row handle_rows[] = { HANDLE_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
const struct option_verb items_handle_verb = {
	"items handle", "NUMBER|TASK", 1, 1,
	"Mark failures as handled and run their pairs again",
	"NUMBER is that of argiope items failures.  TASK may be a pattern like "
	"shop:*; handling all of a task resumes it where it was tripped.\n"
	"Exit code: 0; 66 there is no such failure or task.",
	handle_rows, ARRAY_LEN(handle_rows)
};

/* --- set, delete --------------------------------------------------------- */

static enum err
run_set(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct items_change *x = items_change_of(r);
	enum item_effect effect;
	struct item_row *row;

	enum err e = item_data_patch(tx, &items_change_actor, x->id,
	    str_of(x->cli->options.operands[1]), &effect, &row, w);
	buf_clear(&x->out);
	return e == OK ? item_json(tx, row, &x->out, w) : e;
}

enum err
items_set_run(struct cli *c, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT;
	struct items_change x = { .cli = c, .request.write.run = run_set,
	    .id = str_of(c->options.operands[0]) };

	items_change_path(&path, x.id, "");
	return items_change_do(&x, &(struct ask_request){ STR("PATCH"),
	    buf_str(&path), STR("application/merge-patch+json"),
	    str_of(c->options.operands[1]) }, w);
}

static enum err
run_delete(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct items_change *x = items_change_of(r);
	struct item_row *row;

	enum err e = item_tx_find(tx, x->id, &row, w);
	if (e != OK)
		return e;
	items_change_effect(x, row->id, ITEM_DELETED, 0);
	return item_delete(tx, &items_change_actor, x->id, w);
}

enum err
items_delete_run(struct cli *c, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT;
	struct items_change x = { .cli = c, .request.write.run = run_delete,
	    .id = str_of(c->options.operands[0]) };

	items_change_path(&path, x.id, "");
	return items_change_do(&x, &(struct ask_request){ STR("DELETE"),
	    buf_str(&path), STR_NONE, STR_NONE }, w);
}

/* --- tags ---------------------------------------------------------------- */

static void
put_tag_row(struct buf *b, yyjson_val *row)
{
	yyjson_val *task;
	size_t at, n;

	buf_printf(b, "%-10llu", (unsigned long long)yyjson_get_uint(
	    yyjson_obj_get(row, "items")));
	format_safe(b, json_text(yyjson_obj_get(row, "name")), 200);
	yyjson_arr_foreach(yyjson_obj_get(row, "tasks"), at, n, task) {
		buf_put_text(b, at == 0 ? "  " : " ");
		format_safe(b, json_text(task), 200);
	}
	buf_put_char(b, '\n');
}

static enum err
tags_page(struct cli *c, struct item_store *s, struct str *after,
    struct why *w)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	yyjson_val *row;
	size_t at, n, length;

	enum err e = item_query_tags(s, *after, ITEM_LIST_MAX, &b, w);
	if (e != OK)
		return e;
	yyjson_doc *d = yyjson_read(b.p, b.n, 0);
	yyjson_val *root = yyjson_doc_get_root(d);
	yyjson_arr_foreach(yyjson_obj_get(root, "tags"), at, n, row) {
		if (!cli_json(c)) {
			put_tag_row(&c->out, row);
			continue;
		}
		char *text = yyjson_val_write(row, 0, &length);
		buf_put(&c->out, text, length);
		buf_put_char(&c->out, '\n');
		free(text);
	}
	*after = arena_copy(&c->arena, json_text(yyjson_obj_get(root,
	    "next")));
	yyjson_doc_free(d);
	return OK;
}

static enum err
list_tags(struct cli *c, struct why *w)
{
	FREED(item_store_close) struct item_store *s = NULL;
	struct str after = STR_NONE;

	enum err e = items_data_read(c, &s, w);
	if (e != OK)
		return e;
	do
		e = tags_page(c, s, &after, w);
	while (e == OK && after.n > 0);
	return e;
}

static enum err
run_tags(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct items_change *x = items_change_of(r);
	struct item_row *row;

	enum err e = item_tags_update(tx, &items_change_actor, x->id, x->add,
	    x->add_n, x->remove, x->remove_n, &row, w);
	buf_clear(&x->out);
	return e == OK ? item_json(tx, row, &x->out, w) : e;
}

/* The door changes one tag with each request; the last answer is the item. */
static enum err
ask_tags(struct items_data *d, struct items_change *x, struct str *answer,
    struct why *w)
{
	enum err e = OK;

	for (size_t i = 0; i < x->add_n + x->remove_n && e == OK; i++) {
		FREED(buf_free) struct buf path = BUF_INIT, body = BUF_INIT;
		bool adds = i < x->add_n;
		items_change_path(&path, x->id, "/tags/");
		items_data_part(&path, adds ? x->add[i].name :
		    x->remove[i - x->add_n]);
		json_object(&body, NULL);
		if (adds && x->add[i].value.p != NULL)
			json_str(&body, "value", x->add[i].value);
		else
			json_null(&body, "value");
		buf_put_char(&body, '}');
		e = items_data_ask(d, &(struct ask_request){ adds ?
		    STR("PUT") : STR("DELETE"), buf_str(&path), adds ?
		    STR("application/json") : STR_NONE, adds ?
		    buf_str(&body) : STR_NONE }, answer, w);
	}
	return e;
}

static enum err
read_tag_words(struct cli *c, struct items_change *x, struct why *w)
{
	size_t n = c->options.operands_n - 1;
	struct item_tag_text *add = ARENA_ARRAY(&c->arena,
	    struct item_tag_text, n);
	struct str *remove = ARENA_ARRAY(&c->arena, struct str,
	    cli_count(c, "remove"));
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++)
		e = item_tag_read(str_of(c->options.operands[1 + i]), &add[i],
		    w);
	for (size_t i = 0; i < cli_count(c, "remove"); i++)
		remove[i] = str_of(cli_nth(c, "remove", i));
	x->id = str_of(c->options.operands[0]);
	x->add = add;
	x->add_n = n;
	x->remove = remove;
	x->remove_n = cli_count(c, "remove");
	if (e == OK && x->add_n + x->remove_n == 0)
		e = why(w, ERR_USAGE, "items tags ID wants tags to add, or "
		    "--remove; argiope items show prints them");
	return e;
}

enum err
items_tags_run(struct cli *c, struct why *w)
{
	struct items_change x = { .cli = c, .request.write.run = run_tags };
	struct items_data d;
	struct str answer = STR_NONE;

	if (c->options.operands_n == 0)
		return list_tags(c, w);
	enum err e = read_tag_words(c, &x, w);
	if (e != OK)
		return e;
	e = items_data_open(c, &d, w);
	if (e == OK && d.items != NULL) {
		e = items_data_write(&d, &x.request, w);
		answer = buf_str(&x.out);
	} else if (e == OK) {
		e = ask_tags(&d, &x, &answer, w);
	}
	if (e == OK)
		e = items_change_print(c, answer, w);
	items_data_close(&d);
	buf_free(&x.out);
	return e;
}

/* --- handle -------------------------------------------------------------- */

/* The number of a failure; 0: the operand is a task. */
static uint64_t
failure_number(struct cli *c)
{
	uint64_t n;

	return str_to_u64(str_of(c->options.operands[0]), &n) ? n : 0;
}

static enum err
run_handle(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct items_change *x = items_change_of(r);
	struct cli *c = x->cli;
	struct str note = str_of(cli_text(c, "note", NULL));
	bool retry = !cli_given(c, "no-retry");
	uint64_t failure = failure_number(c);
	size_t handled = 0, requeued = 0;
	enum err e;

	if (failure > 0)
		e = worklist_handle(tx, &items_change_actor, failure,
		    STR("operator"), note, retry, &handled, &requeued, w);
	else
		e = worklist_handle_task(tx, &items_change_actor, x->id,
		    str_of(cli_text(c, "message", NULL)), STR("operator"),
		    note, retry, &handled, &requeued, w);
	buf_clear(&x->out);
	json_object(&x->out, NULL);
	json_u64(&x->out, "handled", handled);
	json_u64(&x->out, "requeued", requeued);
	buf_put_char(&x->out, '}');
	return e;
}

enum err
items_handle_run(struct cli *c, struct why *w)
{
	FREED(buf_free) struct buf path = BUF_INIT, body = BUF_INIT;
	struct items_change x = { .cli = c, .request.write.run = run_handle,
	    .id = str_of(c->options.operands[0]) };
	const char *message = cli_text(c, "message", NULL);
	const char *note = cli_text(c, "note", NULL);
	uint64_t failure = failure_number(c);

	if (failure > 0 && message != NULL)
		return why(w, ERR_USAGE, "items handle --message wants a task");
	if (failure > 0) {
		buf_printf(&path, "/failures/%llu/handle",
		    (unsigned long long)failure);
	} else {
		buf_put_text(&path, "/tasks/");
		items_data_part(&path, x.id);
		buf_put_text(&path, "/failures/handle");
	}
	json_object(&body, NULL);
	json_bool(&body, "retry", !cli_given(c, "no-retry"));
	if (note != NULL)
		json_str(&body, "note", str_of(note));
	if (message != NULL)
		json_str(&body, "message", str_of(message));
	buf_put_char(&body, '}');
	return items_change_do(&x, &(struct ask_request){ STR("POST"),
	    buf_str(&path), STR("application/json"), buf_str(&body) }, w);
}

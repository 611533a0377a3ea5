/*
 * argiope items add -- an item, or those of a file.
 */
#include <errno.h>
#include <yyjson.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/items_change.h"
#include "cli/verbs.h"

#define LINES_MAX 1000u              /* of a transaction */
#define PART_BYTES ((size_t)4 << 20) /* and of a request to a daemon */
#define FAULTS_MAX 100u

#define ADD_OPTIONS(X)                                                       \
	X(ADD_TAG, "tag", 't', "TAG[=VALUE]", TEXT, 0, 0,                    \
	    "tag it; may be given again")                                    \
	X(ADD_ALIAS, "alias", 'a', "ID", TEXT, 0, 0,                         \
	    "another id of it; may be given again")                          \
	X(ADD_UPSERT, "upsert", 0, NULL, FLAG, 0, 0,                         \
	    "where it is there, merge the data, and add tags and aliases")   \
	X(ADD_FILE, "file", 'f', "FILE", PATH, 0, 0,                         \
	    "add the items of a file, one JSON object a line; - is standard " \
	    "input")
static const struct option_row add_rows[] = { ADD_OPTIONS(OPTION_ROW)
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW) };
const struct option_verb items_add_verb = {
	"items add", "[ID [JSON]]", 0, 2,
	"Add an item, or those of a file; one that is there stays as it is",
	"JSON is the item's data, an object.  Without an ID one is made.  "
	"Lines of a file are objects like {\"id\":\"x\",\"tags\":[\"a\","
	"\"site=eu\"],\"data\":{},\"aliases\":[]}; those that are wrong are "
	"named, the others are added.\n"
	"Exit code: 0; 65 something is wrong, with its place; 75 another "
	"process holds the data and takes no requests.",
	add_rows, ARRAY_LEN(add_rows)
};
/* --- add: what a line or the options say --------------------------------- */

static enum err
read_texts(yyjson_val *list, const char *field, struct arena *a,
    struct str **out, size_t *n, struct why *w)
{
	yyjson_val *v;
	size_t at, max;

	*n = 0;
	if (list == NULL || yyjson_is_null(list))
		return OK;
	if (!yyjson_is_arr(list))
		return why_field(w, ERR_INPUT, field, "it is no list");
	*out = ARENA_ARRAY(a, struct str, yyjson_arr_size(list));
	yyjson_arr_foreach(list, at, max, v) {
		if (!yyjson_is_str(v))
			return why_field(w, ERR_INPUT, field, "one is no text");
		(*out)[(*n)++] = arena_copy(a, json_text(v));
	}
	return OK;
}

static enum err
read_tags(const struct str *texts, size_t n, struct arena *a,
    struct item_create *o, struct why *w)
{
	struct item_tag_text *tags = ARENA_ARRAY(a, struct item_tag_text, n);
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++)
		e = item_tag_read(texts[i], &tags[i], w);
	o->tags = tags;
	o->tags_n = n;
	return e;
}

/* The members of POST /items/add.  Memory: `a`, up to the commit. */
static enum err
read_create(yyjson_val *root, struct arena *a, struct item_create *o,
    struct why *w)
{
	struct str *tags = NULL, *aliases = NULL;
	yyjson_val *data = yyjson_obj_get(root, "data");
	size_t tags_n = 0, n = 0;

	*o = (struct item_create){
	    .id = arena_copy(a, json_text(yyjson_obj_get(root, "id"))),
	    .created_by = arena_copy(a, json_text(yyjson_obj_get(root,
	    "createdBy"))),
	    .fail_if_exists = yyjson_is_true(yyjson_obj_get(root,
	    "failIfExists")), .allow_upsert = yyjson_is_true(
	    yyjson_obj_get(root, "allowUpsert")) };
	if (!yyjson_is_obj(root))
		return why(w, ERR_INPUT, "it is no JSON object");
	if (!yyjson_is_obj(data))
		return why_field(w, ERR_INPUT, "data", "it is not an object");
	char *text = yyjson_val_write(data, 0, &n);
	o->data = arena_copy(a, (struct str){ text, n });
	free(text);
	enum err e = read_texts(yyjson_obj_get(root, "tags"), "tags", a, &tags,
	    &tags_n, w);
	if (e == OK)
		e = read_tags(tags, tags_n, a, o, w);
	if (e == OK)
		e = read_texts(yyjson_obj_get(root, "aliases"), "aliases", a,
		    &aliases, &o->aliases_n, w);
	o->aliases = aliases;
	return e;
}

static void
put_texts(struct cli *c, struct buf *b, const char *member,
    const char *option)
{
	json_array(b, member);
	for (size_t i = 0; i < cli_count(c, option); i++)
		json_item(b, str_of(cli_nth(c, option, i)));
	buf_put_char(b, ']');
}

/* The options as a body of POST /items/add, or, where it may be there, of
 * POST /items/:id. */
static void
put_body(struct cli *c, struct buf *b)
{
	json_object(b, NULL);
	if (c->options.operands_n > 0 && !cli_given(c, "upsert"))
		json_str(b, "id", str_of(c->options.operands[0]));
	put_texts(c, b, "tags", "tag");
	json_raw(b, "data", c->options.operands_n > 1 ?
	    str_of(c->options.operands[1]) : STR("{}"));
	put_texts(c, b, "aliases", "alias");
	buf_put_char(b, '}');
}

static enum err
run_add(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct items_change *x = items_change_of(r);
	enum item_effect effect;
	struct item_row *row;

	enum err e = item_create(tx, &items_change_actor, x->create, &effect,
	    &row, w);
	if (e == OK)
		items_change_effect(x, row->id, effect, row->rev);
	return e;
}

static enum err
add_one(struct cli *c, struct why *w)
{
	FREED(buf_free) struct buf body = BUF_INIT, path = BUF_INIT;
	struct items_change x = { .cli = c, .request.write.run = run_add };
	struct item_create o;

	put_body(c, &body);
	yyjson_doc *d = yyjson_read(body.p, body.n, 0);
	if (d == NULL)
		return why(w, ERR_INPUT, "data: it is no JSON");
	enum err e = read_create(yyjson_doc_get_root(d), &c->arena, &o, w);
	x.create = &o;
	if (cli_given(c, "upsert")) {
		o.id = str_of(c->options.operands[0]);
		o.allow_upsert = o.merge_data = true;
		items_change_path(&path, o.id, "");
	} else {
		buf_put_text(&path, "/items/add");
	}
	if (e == OK)
		e = items_change_do(&x, &(struct ask_request){ STR("POST"),
		    buf_str(&path), STR("application/json"),
		    buf_str(&body) }, w);
	yyjson_doc_free(d);
	return e;
}

/* --- add: lines, a thousand at a time ------------------------------------- */

struct lines {
	struct items_data_write request;
	struct arena arena;
	/* Those that are added together. */
	struct buf text;
	size_t n;
	uint64_t part_made;
	struct buf part_faults;
	size_t part_faults_n;
	/* So far. */
	uint64_t lines, made, bad;
	struct buf faults;
};

static void
put_fault(struct lines *l, uint64_t line, struct str error)
{
	struct buf *b = &l->part_faults;

	if (l->bad + l->part_faults_n++ >= FAULTS_MAX)
		return;
	json_object(b, NULL);
	json_u64(b, "line", line);
	json_str(b, "error", error);
	buf_put_char(b, '}');
}

static enum err
add_line(struct lines *l, struct item_tx *tx, struct str line,
    struct why *w)
{
	struct item_create o;
	enum item_effect effect;
	struct item_row *row;
	yyjson_doc *d = yyjson_read(line.p, line.n, 0);

	enum err e = read_create(yyjson_doc_get_root(d), &l->arena, &o, w);
	if (e == OK)
		e = item_create(tx, &items_change_actor, &o, &effect, &row, w);
	l->part_made += e == OK && effect == ITEM_NEW;
	yyjson_doc_free(d);
	return e;
}

static bool
is_the_lines_fault(enum err e)
{
	return e == ERR_INPUT || e == ERR_FULL || e == ERR_EXISTS ||
	    e == ERR_STATE;
}

/* Each line behind a mark of its own; it is run again after BUSY. */
static enum err
run_lines(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct lines *l = CONTAINER(r, struct lines, request.write);
	struct str rest = buf_str(&l->text), line;

	arena_reset(&l->arena);
	l->part_made = l->part_faults_n = 0;
	buf_clear(&l->part_faults);
	for (size_t i = 1; i <= l->n && str_split(&rest, '\n', &line); i++) {
		struct item_mark mark = item_tx_mark(tx);
		struct why fault = WHY_INIT;
		enum err e = add_line(l, tx, line, &fault);
		if (e == OK)
			continue;
		if (!is_the_lines_fault(e)) {
			*w = fault;
			return e;
		}
		item_tx_undo(tx, mark);
		put_fault(l, l->lines + i, str_of(fault.text));
	}
	return OK;
}

/* What the daemon says of these lines: their numbers begin with 1. */
static enum err
read_summary(struct lines *l, struct str answer, struct why *w)
{
	yyjson_doc *d = yyjson_read(answer.p, answer.n, 0);
	yyjson_val *root = yyjson_doc_get_root(d), *fault;
	uint64_t skipped = yyjson_get_uint(yyjson_obj_get(root, "skipped"));
	size_t at, n;

	if (!yyjson_is_obj(root)) {
		yyjson_doc_free(d);
		return why(w, ERR_BROKEN, "the answer is no JSON");
	}
	l->part_made = yyjson_get_uint(yyjson_obj_get(root, "new"));
	l->part_faults_n = 0;
	buf_clear(&l->part_faults);
	yyjson_arr_foreach(yyjson_obj_get(root, "errors"), at, n, fault)
		put_fault(l, l->lines + yyjson_get_uint(yyjson_obj_get(fault,
		    "line")), json_text(yyjson_obj_get(fault, "error")));
	/* It names the first hundred. */
	l->part_faults_n = l->n - (size_t)(l->part_made + skipped);
	yyjson_doc_free(d);
	return OK;
}

static enum err
add_part(struct items_data *d, struct lines *l, struct why *w)
{
	struct str answer;
	enum err e;

	if (d->items != NULL) {
		e = items_data_write(d, &l->request, w);
	} else {
		e = items_data_ask(d, &(struct ask_request){ STR("POST"),
		    STR("/items/add"), STR("application/x-ndjson"),
		    buf_str(&l->text) }, &answer, w);
		if (e == OK)
			e = read_summary(l, answer, w);
	}
	if (e != OK)
		return e;
	if (l->part_faults.n > 0)
		json_comma(&l->faults);
	buf_put_str(&l->faults, buf_str(&l->part_faults));
	l->lines += l->n;
	l->made += l->part_made;
	l->bad += l->part_faults_n;
	buf_clear(&l->text);
	l->n = 0;
	return OK;
}

static enum err
add_lines(struct items_data *d, struct lines *l, FILE *f, struct why *w)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	enum err e = OK;

	l->request.write.run = run_lines;
	while (e == OK && (n = getline(&line, &cap, f)) >= 0) {
		buf_put(&l->text, line, (size_t)n);
		if (line[n - 1] != '\n')
			buf_put_char(&l->text, '\n');
		if (++l->n == LINES_MAX || l->text.n >= PART_BYTES)
			e = add_part(d, l, w);
	}
	if (e == OK && ferror(f))
		e = why_errno(w, ERR_IO, "the lines could not be read");
	if (e == OK && l->n > 0)
		e = add_part(d, l, w);
	free(line);
	return e;
}

static void
print_summary(struct cli *c, const struct lines *l)
{
	struct buf *b = &c->out;
	uint64_t skipped = l->lines - l->made - l->bad;

	if (!cli_json(c)) {
		buf_printf(b, "%llu lines: %llu new, %llu skipped, %llu "
		    "wrong\n", (unsigned long long)l->lines,
		    (unsigned long long)l->made,
		    (unsigned long long)skipped, (unsigned long long)l->bad);
		format_lines(b, buf_str(&l->faults), "  ");
		return;
	}
	json_object(b, NULL);
	json_u64(b, "lines", l->lines);
	json_u64(b, "new", l->made);
	json_u64(b, "skipped", skipped);
	json_name(b, "errors");
	buf_put_char(b, '[');
	buf_put_str(b, buf_str(&l->faults));
	buf_put_text(b, "]}\n");
}

static void
lines_free(struct lines **lp)
{
	struct lines *l = *lp;

	buf_free(&l->text);
	buf_free(&l->part_faults);
	buf_free(&l->faults);
	arena_free(&l->arena);
	mem_free(lp);
}

static enum err
add_file(struct cli *c, struct why *w)
{
	FREED(lines_free) struct lines *l = mem_new(sizeof(*l));
	struct items_data d = { .lock_fd = -1 };
	const char *path = cli_text(c, "file", NULL);
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");

	if (f == NULL)
		return why_errno(w, err_from_errno(errno), "%s", path);
	enum err e = items_data_open(c, &d, w);
	if (e == OK)
		e = add_lines(&d, l, f, w);
	items_data_close(&d);
	if (f != stdin)
		fclose(f);
	if (e != OK)
		return e;
	print_summary(c, l);
	/* The others are added, and yet something is wrong. */
	if (l->bad > 0)
		c->code = err_exit(ERR_INPUT);
	return OK;
}

enum err
items_add_run(struct cli *c, struct why *w)
{
	if (cli_given(c, "upsert") && c->options.operands_n == 0)
		return why(w, ERR_USAGE, "items add --upsert wants an ID");
	if (!cli_given(c, "file"))
		return add_one(c, w);
	if (c->options.operands_n > 0 || cli_given(c, "tag") ||
	    cli_given(c, "alias") || cli_given(c, "upsert"))
		return why(w, ERR_USAGE, "items add --file goes without other "
		    "items");
	return add_file(c, w);
}

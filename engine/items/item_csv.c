/* Items as a table: RFC 4180, with CRLF. */
#include <yyjson.h>

#include "base/json.h"
#include "engine/items/item_answer.h"
#include "engine/items/item_export.h"

#define CHUNK 200
#define LINES_BYTES ((size_t)1 << 20)

struct csv_field {
	enum { CSV_ID, CSV_CREATED_BY, CSV_CREATED_AT, CSV_UPDATED_AT, CSV_REV,
		CSV_DATA, CSV_METADATA } kind;
	size_t task;                 /* METADATA: of csv.tasks */
	struct str path;             /* "price.net" */
};

struct csv {
	struct item_store *store;
	const struct item_csv *ask;
	item_export_put *put;
	void *arg;
	struct arena arena;
	struct csv_field *fields;
	struct str *tasks;           /* whose metadata is wanted */
	size_t tasks_n;
	struct buf lines;
	uint64_t rows;
	int64_t key;
};

/* -- Fields -- */

static size_t
task_index(struct csv *c, struct str name)
{
	for (size_t i = 0; i < c->tasks_n; i++)
		if (str_eq(c->tasks[i], name))
			return i;
	c->tasks[c->tasks_n] = name;
	return c->tasks_n++;
}

/* "TASK.path": the longest name of a task, which may have dots. */
static enum err
read_metadata_field(struct csv *c, struct str text, struct csv_field *f,
    struct why *w)
{
	enum err e = OK;
	uint32_t id;

	for (size_t i = text.n; i > 1 && e == OK; i--) {
		if (text.p[i - 1] != '.')
			continue;
		struct str name = str_cut(text, 0, i - 1);
		e = item_store_name(c->store, ITEM_NAME_TASK, name, false,
		    &id, w);
		if (e != OK || id == 0)
			continue;
		*f = (struct csv_field){ CSV_METADATA, task_index(c, name),
		    str_from(text, i) };
		break;
	}
	return e;
}

static enum err
parse_field(struct csv *c, struct str text, struct csv_field *f,
    struct why *w)
{
	static const char *const columns[] = { "id", "created_by",
		"created_at", "updated_at", "rev" };
	size_t i = STR_ROW(text, columns);

	if (text.n == 0)
		return why_field(w, ERR_INPUT, "fields", "one is empty");
	*f = (struct csv_field){ .kind = CSV_DATA, .path = text };
	if (i < ARRAY_LEN(columns)) {
		f->kind = (int)i;
		return OK;
	}
	return read_metadata_field(c, text, f, w);
}

static enum err
read_fields(struct csv *c, struct why *w)
{
	const struct item_csv *ask = c->ask;
	enum err e = OK;

	if (ask->fields_n == 0 || ask->fields_n > ITEM_CSV_FIELDS_MAX)
		return why_field(w, ERR_INPUT, "fields", "from 1 to %u are "
		    "allowed", ITEM_CSV_FIELDS_MAX);
	c->fields = ARENA_ARRAY(&c->arena, struct csv_field, ask->fields_n);
	c->tasks = ARENA_ARRAY(&c->arena, struct str, ask->fields_n);
	for (size_t i = 0; i < ask->fields_n && e == OK; i++)
		e = parse_field(c, ask->fields[i], &c->fields[i], w);
	return e;
}

/* -- Values -- */

static void
put_value(struct buf *b, struct str s)
{
	bool quoted = str_find_char(s, ',') < s.n ||
	    str_find_char(s, '"') < s.n || str_find_char(s, '\n') < s.n ||
	    str_find_char(s, '\r') < s.n;

	if (!quoted) {
		buf_put_str(b, s);
		return;
	}
	buf_put_char(b, '"');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"')
			buf_put_char(b, '"');
		buf_put_char(b, s.p[i]);
	}
	buf_put_char(b, '"');
}

/* A member that has the whole name, else along its dots. */
static yyjson_val *
find_member(yyjson_val *o, struct str path)
{
	yyjson_val *v = yyjson_obj_getn(o, path.p, path.n);
	size_t dot = str_find_char(path, '.');

	while (v == NULL && dot < path.n) {
		o = yyjson_obj_getn(o, path.p, dot);
		path = str_from(path, dot + 1);
		v = yyjson_obj_getn(o, path.p, path.n);
		dot = str_find_char(path, '.');
	}
	return v;
}

static void
put_json(struct buf *b, yyjson_doc *d, struct str path)
{
	yyjson_val *v = find_member(yyjson_doc_get_root(d), path);
	size_t n = 0;

	if (v == NULL || yyjson_is_null(v))
		return;
	if (yyjson_is_str(v)) {
		put_value(b, json_text(v));
		return;
	}
	char *text = yyjson_val_write(v, 0, &n);
	put_value(b, (struct str){ text, n });
	free(text);
}

static void
put_date(struct buf *b, struct wall t)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(t, iso);
	memcpy(iso + 23, "Z", 2);
	buf_put_text(b, iso);
}

static void
put_field(const struct csv_field *f, const struct answer_item *row,
    yyjson_doc *const *docs, struct buf *b)
{
	switch (f->kind) {
	case CSV_ID:
		put_value(b, row->id);
		break;
	case CSV_CREATED_BY:
		put_value(b, row->created_by);
		break;
	case CSV_CREATED_AT:
		put_date(b, row->created_at);
		break;
	case CSV_UPDATED_AT:
		put_date(b, row->updated_at);
		break;
	case CSV_REV:
		buf_printf(b, "%llu", (unsigned long long)row->rev);
		break;
	case CSV_DATA:
		put_json(b, docs[0], f->path);
		break;
	case CSV_METADATA:
		put_json(b, docs[1 + f->task], f->path);
		break;
	}
}

static yyjson_doc *
read_doc(struct str json)
{
	return json.p == NULL ? NULL : yyjson_read(json.p, json.n,
	    YYJSON_READ_NUMBER_AS_RAW);
}

static void
put_row(struct csv *c, const struct answer_item *row)
{
	yyjson_doc *docs[1 + ITEM_CSV_FIELDS_MAX];

	docs[0] = read_doc(row->data);
	for (size_t i = 0; i < c->tasks_n; i++)
		docs[1 + i] = read_doc(row->metadata[i]);
	for (size_t i = 0; i < c->ask->fields_n; i++) {
		if (i > 0)
			buf_put_char(&c->lines, ',');
		put_field(&c->fields[i], row, docs, &c->lines);
	}
	buf_put_text(&c->lines, "\r\n");
	for (size_t i = 0; i <= c->tasks_n; i++)
		yyjson_doc_free(docs[i]);
	c->rows++;
}

/* -- Items -- */

static bool
is_wanted(const struct csv *c, const struct answer_item *row)
{
	bool tagged = c->ask->tag.p == NULL;

	for (size_t i = 0; i < row->tags_n && !tagged; i++)
		tagged = str_eq(row->tags[i].name, c->ask->tag);
	return tagged && str_starts(row->id, c->ask->prefix);
}

static enum err
put_chunk(struct csv *c, bool *more, struct why *w)
{
	FREED(answer_items_free) struct answer_items a = { .store = c->store };
	struct query *q = database_query(item_store_database(c->store),
	    "SELECT " ANSWER_COLUMNS " FROM items i WHERE i.key > ?1"
	    " ORDER BY i.key LIMIT ?2");

	query_i64(q, 1, c->key);
	query_i64(q, 2, CHUNK);
	while (query_step(q))
		c->key = answer_take_item(&a, q)->key;
	enum err e = query_end(&q, w);
	*more = a.n > 0;
	if (e == OK)
		e = answer_load(&a, c->tasks, c->tasks_n, w);
	for (size_t i = 0; i < a.n && e == OK; i++)
		if (is_wanted(c, a.rows[i]))
			put_row(c, a.rows[i]);
	return e;
}

static enum err
put_table(struct csv *c, struct why *w)
{
	bool more = true;
	enum err e = OK;

	for (size_t i = 0; i < c->ask->fields_n; i++) {
		if (i > 0)
			buf_put_char(&c->lines, ',');
		put_value(&c->lines, c->ask->fields[i]);
	}
	buf_put_text(&c->lines, "\r\n");
	while (more && e == OK) {
		e = put_chunk(c, &more, w);
		if (e == OK && (c->lines.n >= LINES_BYTES || !more)) {
			e = c->put(c->arg, buf_str(&c->lines), w);
			buf_clear(&c->lines);
		}
	}
	return e;
}

enum err
item_export_csv(struct item_store *s, const struct item_csv *ask,
    item_export_put *put, void *arg, uint64_t *rows, struct why *w)
{
	struct csv c = { .store = s, .ask = ask, .put = put, .arg = arg };

	enum err e = database_begin_read(item_store_database(s), w);
	if (e != OK)
		return e;
	e = read_fields(&c, w);
	if (e == OK)
		e = put_table(&c, w);
	e = database_end(item_store_database(s), e, w);
	arena_free(&c.arena);
	buf_free(&c.lines);
	*rows = c.rows;
	return e;
}

/*
 * Lines into an empty store.  They come in the order of an export: the
 * configuration first, since pairs that were leased are settled by it at the
 * end.
 */
#include <yyjson.h>

#include "base/json.h"
#include "engine/items/generation.h"
#include "engine/items/item_answer.h"
#include "engine/items/item_copy.h"
#include "engine/items/item_export.h"
#include "os/clock.h"
#include "wire/base64.h"

#define ROWS_MAX 5000u               /* of a transaction */
#define BYTES_MAX ((size_t)16 << 20)
#define SETTLE_MAX 500               /* pairs at a time */

struct item_import {
	struct item_store *store;
	uint64_t line, rows;
	bool has_head, has_end;
	/* The transaction under way. */
	bool in_transaction;
	size_t rows_n, bytes;
	struct arena arena;          /* bytes that are bound */
};

static enum err
is_empty(struct item_store *s, struct why *w)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT (SELECT count(*) FROM (SELECT 1 FROM items LIMIT 1) i),"
	    " (SELECT count(*) FROM generations),"
	    " (SELECT count(*) FROM (SELECT 1 FROM events LIMIT 1) e)");
	bool empty = query_step(q) && query_get_i64(q, 0) == 0 &&
	    query_get_i64(q, 1) == 0 && query_get_i64(q, 2) == 0;

	enum err e = query_end(&q, w);
	return e != OK || empty ? e : why(w, ERR_STATE, "the store has items, "
	    "or a configuration, already; an import wants an empty one");
}

enum err
item_import_begin(struct item_store *s, struct item_import **out,
    struct why *w)
{
	enum err e = is_empty(s, w);

	if (e != OK)
		return e;
	*out = mem_new(sizeof(**out));
	(*out)->store = s;
	return OK;
}

/* -- Transactions -- */

static enum err
commit(struct item_import *m, enum err e, struct why *w)
{
	if (!m->in_transaction)
		return e;
	m->in_transaction = false;
	m->rows_n = m->bytes = 0;
	e = database_end(item_store_database(m->store), e, w);
	arena_reset(&m->arena);
	return e;
}

static enum err
begin_transaction(struct item_import *m, struct why *w)
{
	enum err e = OK;

	if (m->rows_n >= ROWS_MAX || m->bytes >= BYTES_MAX)
		e = commit(m, OK, w);
	if (e == OK && !m->in_transaction) {
		e = database_begin(item_store_database(m->store), w);
		m->in_transaction = e == OK;
	}
	return e;
}

/* -- A row -- */

static enum err
bad_value(struct item_import *m, const struct copy_table *t,
    const struct copy_column *c, const char *wants, struct why *w)
{
	return why(w, ERR_INPUT, "line %llu: %s.%s: it is not %s",
	    (unsigned long long)m->line, t->name, c->name, wants);
}

/* A text that stays until the transaction ends, and the query runs. */
static struct str
keep(struct item_import *m, struct str s)
{
	m->bytes += s.n;
	return arena_copy(&m->arena, s);
}

/* Numbers are read as texts, so that those of data stay as they are. */
static bool
read_int(yyjson_val *v, int64_t *n)
{
	return yyjson_is_raw(v) && str_to_i64((struct str){
	    yyjson_get_raw(v), yyjson_get_len(v) }, n);
}

static enum err
bind_name(struct item_import *m, struct query *q, int at,
    enum copy_form form, struct str name, struct why *w)
{
	uint32_t id = 0;
	enum err e = item_store_name(m->store, copy_name_kind(form), name,
	    true, &id, w);

	query_i64(q, at, id);
	return e;
}

static enum err
bind_json(struct item_import *m, struct query *q, int at, yyjson_val *v)
{
	size_t n = 0;
	char *text = yyjson_val_write(v, 0, &n);

	query_str(q, at, keep(m, (struct str){ text, n }));
	free(text);
	return OK;
}

static enum err
bind_column(struct item_import *m, const struct copy_table *t,
    const struct copy_column *c, struct query *q, int at, yyjson_val *v,
    struct why *w)
{
	FREED(buf_free) struct buf bytes = BUF_INIT;
	bool null = v == NULL || yyjson_is_null(v);
	int64_t number;

	if (null && (c->form == COPY_INT_OR_NULL ||
	    c->form == COPY_TEXT_OR_NULL)) {
		query_null(q, at);
		return OK;
	}
	switch (c->form) {
	case COPY_INT:
	case COPY_INT_OR_NULL:
		if (!read_int(v, &number))
			return bad_value(m, t, c, "a whole number", w);
		query_i64(q, at, number);
		return OK;
	case COPY_JSON:
		return yyjson_is_obj(v) ? bind_json(m, q, at, v) :
		    bad_value(m, t, c, "an object", w);
	default:
		break;
	}
	if (!yyjson_is_str(v))
		return bad_value(m, t, c, "a text", w);
	switch (c->form) {
	case COPY_TASK:
	case COPY_TAG:
	case COPY_LANE:
		return bind_name(m, q, at, c->form, json_text(v), w);
	case COPY_BYTES:
		if (!base64_read(&bytes, json_text(v)))
			return bad_value(m, t, c, "base64", w);
		query_bytes(q, at, keep(m, buf_str(&bytes)));
		return OK;
	default:
		query_str(q, at, keep(m, json_text(v)));
		return OK;
	}
}

static enum err
put_row(struct item_import *m, const struct copy_table *t, yyjson_val *row,
    struct why *w)
{
	enum err e = begin_transaction(m, w);

	if (e != OK)
		return e;
	struct query *q = database_query(item_store_database(m->store),
	    t->write);
	for (int i = 0; t->columns[i].form != COPY_END && e == OK; i++)
		e = bind_column(m, t, &t->columns[i], q, 1 + i,
		    yyjson_obj_get(row, t->columns[i].name), w);
	if (e != OK) {
		/* Unbound, it would be a row of NULLs. */
		enum err unused = query_end(&q, NULL);
		(void)unused;
		return e;
	}
	query_post(&q);
	m->rows_n++;
	m->rows++;
	return OK;
}

static const struct copy_table *
find_table(struct str name)
{
	size_t i = str_find_row(name, copy_tables, copy_tables_n,
	    sizeof(copy_tables[0]), str_eq);

	return i < copy_tables_n ? &copy_tables[i] : NULL;
}

static enum err
put_object(struct item_import *m, yyjson_val *o, struct why *w)
{
	yyjson_val *table = yyjson_obj_get(o, "table");
	yyjson_val *end = yyjson_obj_get(o, "end");
	int64_t n = 0;

	if (!m->has_head) {
		m->has_head = read_int(yyjson_obj_get(o, "argiope_items"),
		    &n) && n == COPY_VERSION;
		return m->has_head ? OK : why(w, ERR_INPUT, "line %llu: it "
		    "begins no export of items of version %d",
		    (unsigned long long)m->line, COPY_VERSION);
	}
	if (end != NULL) {
		m->has_end = read_int(end, &n) && (uint64_t)n == m->rows;
		return m->has_end ? OK : why(w, ERR_INPUT, "line %llu: %lld "
		    "rows were exported, and %llu have come",
		    (unsigned long long)m->line, (long long)n,
		    (unsigned long long)m->rows);
	}
	const struct copy_table *t = find_table(json_text(table));
	return t != NULL ? put_row(m, t, o, w) : why(w, ERR_INPUT, "line %llu:"
	    " table: there is none of this name",
	    (unsigned long long)m->line);
}

enum err
item_import_line(struct item_import *m, struct str line, struct why *w)
{
	yyjson_read_err fault;
	enum err e;

	m->line++;
	if (m->has_end)
		return why(w, ERR_INPUT, "line %llu: it follows the end",
		    (unsigned long long)m->line);
	if (line.n > ITEM_IMPORT_LINE_BYTES_MAX)
		return why(w, ERR_INPUT, "line %llu: it is longer than %zu "
		    "bytes", (unsigned long long)m->line,
		    ITEM_IMPORT_LINE_BYTES_MAX);
	yyjson_doc *d = yyjson_read_opts((char *)(uintptr_t)line.p, line.n,
	    YYJSON_READ_NUMBER_AS_RAW, NULL, &fault);
	yyjson_val *root = yyjson_doc_get_root(d);
	if (!yyjson_is_obj(root))
		e = why(w, ERR_INPUT, "line %llu: it is no JSON object",
		    (unsigned long long)m->line);
	else
		e = put_object(m, root, w);
	yyjson_doc_free(d);
	return e;
}

/* -- The end -- */

/* The next numbers of tables that count: behind the greatest that came. */
static enum err
set_sequences(struct item_import *m, struct why *w)
{
	static const struct sql items = {
		"UPDATE sequences SET next = (SELECT coalesce(max(key), 0) + 1"
		" FROM items) WHERE name = 'items'",
		"SELECT setval(pg_get_serial_sequence('items', 'key'),"
		" (SELECT coalesce(max(key), 0) + 1 FROM items), false)" };
	static const struct sql runs = {
		"UPDATE sequences SET next = (SELECT coalesce(max(id), 0) + 1"
		" FROM runs) WHERE name = 'runs'",
		"SELECT setval(pg_get_serial_sequence('runs', 'id'),"
		" (SELECT coalesce(max(id), 0) + 1 FROM runs), false)" };
	/* SQLite's AUTOINCREMENT has seen the numbers. */
	static const struct sql failures = { "SELECT 1",
		"SELECT setval(pg_get_serial_sequence('failures', 'id'),"
		" (SELECT coalesce(max(id), 0) + 1 FROM failures), false)" };
	static const struct sql generations = { "SELECT 1",
		"SELECT setval(pg_get_serial_sequence('generations', 'id'),"
		" (SELECT coalesce(max(id), 0) + 1 FROM generations), false)" };
	const struct sql *const all[] = { &items, &runs, &failures,
		&generations };
	enum err e = OK;

	for (size_t i = 0; i < ARRAY_LEN(all) && e == OK; i++) {
		struct query *q = database_query_sql(
		    item_store_database(m->store), all[i]);
		while (query_step(q))
			;
		e = query_end(&q, w);
	}
	return e;
}

/* A row for each task that has pairs, and its counts. */
static enum err
count_pairs(struct item_import *m, struct why *w)
{
	static const char *const rows = "INSERT INTO task_state (task, paused,"
	    " tripped, unprocessed, stale, fresh, retry, leased, blocked,"
	    " failed, runs, wall_us, cpu_us, fetches, bytes)"
	    " SELECT task, 0, 0,"
	    " sum(CASE state WHEN 0 THEN 1 ELSE 0 END),"
	    " sum(CASE state WHEN 1 THEN 1 ELSE 0 END),"
	    " sum(CASE state WHEN 2 THEN 1 ELSE 0 END),"
	    " sum(CASE state WHEN 3 THEN 1 ELSE 0 END),"
	    " sum(CASE state WHEN 4 THEN 1 ELSE 0 END),"
	    " sum(CASE state WHEN 5 THEN 1 ELSE 0 END),"
	    " sum(CASE state WHEN 6 THEN 1 ELSE 0 END),"
	    " 0, 0, 0, 0, 0 FROM worklist WHERE true GROUP BY task"
	    " ON CONFLICT (task) DO UPDATE SET"
	    " unprocessed = excluded.unprocessed, stale = excluded.stale,"
	    " fresh = excluded.fresh, retry = excluded.retry,"
	    " leased = excluded.leased, blocked = excluded.blocked,"
	    " failed = excluded.failed";

	return database_do(item_store_database(m->store), rows, w);
}

struct settling {
	int64_t task, item;          /* the last that was looked at */
	struct {
		uint32_t task;
		int64_t item;
	} pairs[SETTLE_MAX];
	size_t n;
};

static enum err
load_leased(struct item_import *m, struct settling *s, struct why *w)
{
	struct query *q = database_query(item_store_database(m->store),
	    "SELECT task, item FROM worklist WHERE state = ?1 AND"
	    " (task, item) > (?2, ?3) ORDER BY task, item LIMIT ?4");

	query_i64(q, 1, PAIR_LEASED);
	query_i64(q, 2, s->task);
	query_i64(q, 3, s->item);
	query_i64(q, 4, SETTLE_MAX);
	for (s->n = 0; s->n < SETTLE_MAX && query_step(q); s->n++) {
		s->task = query_get_i64(q, 0);
		s->item = query_get_i64(q, 1);
		s->pairs[s->n].task = (uint32_t)s->task;
		s->pairs[s->n].item = s->item;
	}
	return query_end(&q, w);
}

/* What was leased gets the state that its result gives it. */
static enum err
settle_some(struct item_import *m, struct settling *s, struct why *w)
{
	struct item_tx *tx = NULL;
	struct pair_row *pair;

	enum err e = item_tx_begin(m->store, clock_wall(), &tx, w);
	if (e != OK)
		return e;
	for (size_t i = 0; i < s->n; i++)
		item_tx_want_pair_key(tx, s->pairs[i].task, s->pairs[i].item);
	e = item_tx_load(tx, w);
	for (size_t i = 0; i < s->n && e == OK; i++) {
		e = item_tx_pair(tx, s->pairs[i].task, s->pairs[i].item,
		    &pair, w);
		if (e != OK)
			break;
		item_tx_touch_pair(tx, pair);
		pair->state = PAIR_UNPROCESSED;
		e = pair_settle(tx, pair, w);
	}
	return item_tx_end(&tx, e, w);
}

static enum err
settle_leased(struct item_import *m, struct why *w)
{
	struct settling *s = mem_new(sizeof(*s));
	enum err e;

	s->task = s->item = INT64_MIN;
	do {
		e = load_leased(m, s, w);
		if (e == OK && s->n > 0)
			e = settle_some(m, s, w);
	} while (e == OK && s->n == SETTLE_MAX);
	mem_free(&s);
	return e;
}

enum err
item_import_end(struct item_import *m, uint64_t *rows, struct why *w)
{
	enum err e = commit(m, OK, w);

	*rows = m->rows;
	if (e == OK && !m->has_end)
		e = why(w, ERR_INPUT, "line %llu: the export was cut off: its "
		    "end is missing", (unsigned long long)m->line + 1);
	if (e == OK)
		e = begin_transaction(m, w);
	if (e == OK) {
		e = set_sequences(m, w);
		if (e == OK)
			e = count_pairs(m, w);
		e = commit(m, e, w);
	}
	if (e == OK)
		e = generation_open(m->store, w);
	return e == OK ? settle_leased(m, w) : e;
}

void
item_import_free(struct item_import **mp)
{
	struct item_import *m = *mp;

	if (m == NULL)
		return;
	/* What an error left. */
	enum err unused = commit(m, ERR_CLOSED, NULL);
	(void)unused;
	arena_free(&m->arena);
	mem_free(mp);
}

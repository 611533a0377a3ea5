/*
 * The table `bulk`: a virtual table of SQLite that is in no schema
 * (https://sqlite.org/vtab.html#eponymous_virtual_tables).
 */
#include "os/database_bulk.h"

struct bulk_table {
	sqlite3_vtab head;
	struct bulk *bulk;
};

struct bulk_cursor {
	sqlite3_vtab_cursor head;
	const struct query *query;
	size_t row;
};

static int
bulk_connect(sqlite3 *db, void *bulk, int argc, const char *const *argv,
    sqlite3_vtab **out, char **message)
{
	struct buf sql = BUF_INIT;

	(void)argc;
	(void)argv;
	(void)message;
	buf_put_text(&sql, "CREATE TABLE bulk (p1");
	for (unsigned i = 2; i <= DATABASE_PARAMETERS_MAX; i++)
		buf_printf(&sql, ", p%u", i);
	buf_put_text(&sql, ")");
	int r = sqlite3_declare_vtab(db, buf_text(&sql));
	buf_free(&sql);
	if (r != SQLITE_OK)
		return r;
	struct bulk_table *t = mem_new(sizeof(*t));
	t->bulk = bulk;
	*out = &t->head;
	return SQLITE_OK;
}

static int
bulk_disconnect(sqlite3_vtab *table)
{
	free(CONTAINER(table, struct bulk_table, head));
	return SQLITE_OK;
}

/* Called while a statement is prepared: the highest column that it reads. */
static int
bulk_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	struct bulk *b = CONTAINER(table, struct bulk_table, head)->bulk;

	for (unsigned i = 0; i < DATABASE_PARAMETERS_MAX; i++)
		if (info->colUsed & (sqlite3_uint64)1 << i)
			b->width = MAX(b->width, i + 1);
	return SQLITE_OK;
}

static int
bulk_open(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct bulk_cursor *c = mem_new(sizeof(*c));

	(void)table;
	*out = &c->head;
	return SQLITE_OK;
}

static int
bulk_close(sqlite3_vtab_cursor *cursor)
{
	free(CONTAINER(cursor, struct bulk_cursor, head));
	return SQLITE_OK;
}

/* To the first row. */
static int
bulk_filter(sqlite3_vtab_cursor *cursor, int plan, const char *plan_text,
    int argc, sqlite3_value **argv)
{
	struct bulk_cursor *c = CONTAINER(cursor, struct bulk_cursor, head);

	(void)plan;
	(void)plan_text;
	(void)argc;
	(void)argv;
	c->query = CONTAINER(cursor->pVtab, struct bulk_table,
	    head)->bulk->query;
	c->row = 0;
	return SQLITE_OK;
}

static int
bulk_next(sqlite3_vtab_cursor *cursor)
{
	CONTAINER(cursor, struct bulk_cursor, head)->row++;
	return SQLITE_OK;
}

static int
bulk_eof(sqlite3_vtab_cursor *cursor)
{
	const struct bulk_cursor *c = CONTAINER(cursor, struct bulk_cursor,
	    head);

	return c->row >= c->query->rows;
}

static int
bulk_column(sqlite3_vtab_cursor *cursor, sqlite3_context *out, int column)
{
	const struct bulk_cursor *c = CONTAINER(cursor, struct bulk_cursor,
	    head);
	const struct value *v = &c->query->values[c->row * c->query->width +
	    (unsigned)column];

	switch (v->kind) {
	case VALUE_I64:
		sqlite3_result_int64(out, v->i64);
		break;
	case VALUE_STR:
		sqlite3_result_text64(out, v->str.p, v->str.n, SQLITE_STATIC,
		    SQLITE_UTF8);
		break;
	case VALUE_BYTES:
		sqlite3_result_blob64(out, v->str.p, v->str.n, SQLITE_STATIC);
		break;
	case VALUE_NULL:
		break;
	}
	return SQLITE_OK;
}

static int
bulk_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)CONTAINER(cursor, struct bulk_cursor, head)->row;
	return SQLITE_OK;
}

static const sqlite3_module bulk_module = {
	.xConnect = bulk_connect, .xDisconnect = bulk_disconnect,
	.xBestIndex = bulk_best_index, .xOpen = bulk_open,
	.xClose = bulk_close, .xFilter = bulk_filter, .xNext = bulk_next,
	.xEof = bulk_eof, .xColumn = bulk_column, .xRowid = bulk_rowid,
};

int
bulk_register(sqlite3 *db, struct bulk *b)
{
	return sqlite3_create_module(db, "bulk", &bulk_module, b);
}

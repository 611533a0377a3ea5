#include "engine/items/item_export.h"

#include "engine/items/item_answer.h"
#include "engine/items/item_copy.h"
#include "wire/base64.h"

#define LINES_BYTES ((size_t)1 << 20)    /* gathered before they go out */

struct export {
	struct item_store *store;
	item_export_put *put;
	void *arg;
	struct buf lines;
	uint64_t rows;
};

static enum err
put_lines(struct export *x, bool all, struct why *w)
{
	if (x->lines.n == 0 || (!all && x->lines.n < LINES_BYTES))
		return OK;
	enum err e = x->put(x->arg, buf_str(&x->lines), w);
	buf_clear(&x->lines);
	return e;
}

/* -- Rows -- */

static void
put_column(struct export *x, const struct copy_column *c, struct query *q,
    int at)
{
	struct buf *b = &x->lines;
	struct str s;

	if (query_is_null(q, at)) {
		json_null(b, c->name);
		return;
	}
	switch (c->form) {
	case COPY_INT:
	case COPY_INT_OR_NULL:
		json_name(b, c->name);
		buf_printf(b, "%lld", (long long)query_get_i64(q, at));
		return;
	case COPY_JSON:
		json_raw(b, c->name, query_get_str(q, at));
		return;
	case COPY_BYTES:
		json_name(b, c->name);
		buf_put_char(b, '"');
		base64_put(b, query_get_str(q, at));
		buf_put_char(b, '"');
		return;
	case COPY_TASK:
	case COPY_TAG:
	case COPY_LANE:
		s = item_store_name_text(x->store,
		    (uint32_t)query_get_i64(q, at));
		json_str(b, c->name, s);
		return;
	default:
		json_str(b, c->name, query_get_str(q, at));
	}
}

static void
put_row(struct export *x, const struct copy_table *t, struct query *q,
    int first)
{
	json_object(&x->lines, NULL);
	json_str(&x->lines, "table", str_of(t->name));
	for (int i = 0; t->columns[i].form != COPY_END; i++)
		put_column(x, &t->columns[i], q, first + i);
	buf_put_text(&x->lines, "}\n");
	x->rows++;
}

/* -- Tables, by key -- */

struct key {
	bool begun;
	int64_t number[COPY_KEYS_MAX];
	struct buf text[COPY_KEYS_MAX];
};

static void
bind_key(struct query *q, const struct copy_table *t, const struct key *k)
{
	for (int i = 0; i < (int)COPY_KEYS_MAX; i++) {
		if (t->keys[i] == COPY_INT)
			query_i64(q, 1 + i, k->begun ? k->number[i] :
			    INT64_MIN);
		else if (t->keys[i] == COPY_TEXT)
			query_str(q, 1 + i, k->text[i].n > 0 ?
			    buf_str(&k->text[i]) : STR(""));
		else if (t->keys[i] == COPY_BYTES)
			query_bytes(q, 1 + i, buf_str(&k->text[i]));
	}
}

static int
take_key(struct query *q, const struct copy_table *t, struct key *k)
{
	int n = 0;

	k->begun = true;
	for (; n < (int)COPY_KEYS_MAX && t->keys[n] != COPY_END; n++) {
		if (t->keys[n] == COPY_INT) {
			k->number[n] = query_get_i64(q, n);
			continue;
		}
		buf_clear(&k->text[n]);
		buf_put_str(&k->text[n], query_get_str(q, n));
	}
	return n;
}

static enum err
export_table(struct export *x, const struct copy_table *t, struct why *w)
{
	struct key k = { .begun = false };
	bool any = true;
	enum err e = OK;

	while (any && e == OK) {
		struct query *q = database_query(
		    item_store_database(x->store), t->read);
		bind_key(q, t, &k);
		any = false;
		while (query_step(q)) {
			any = true;
			put_row(x, t, q, take_key(q, t, &k));
		}
		e = query_end(&q, w);
		if (e == OK)
			e = put_lines(x, false, w);
	}
	for (size_t i = 0; i < COPY_KEYS_MAX; i++)
		buf_free(&k.text[i]);
	return e;
}

enum err
item_export(struct item_store *s, item_export_put *put, void *arg,
    uint64_t *rows, struct why *w)
{
	struct export x = { .store = s, .put = put, .arg = arg };

	enum err e = database_begin_read(item_store_database(s), w);
	if (e != OK)
		return e;
	buf_printf(&x.lines, "{\"argiope_items\":%d}\n", COPY_VERSION);
	for (size_t i = 0; i < copy_tables_n && e == OK; i++)
		e = export_table(&x, &copy_tables[i], w);
	buf_printf(&x.lines, "{\"end\":%llu}\n", (unsigned long long)x.rows);
	if (e == OK)
		e = put_lines(&x, true, w);
	e = database_end(item_store_database(s), e, w);
	buf_free(&x.lines);
	*rows = x.rows;
	return e;
}

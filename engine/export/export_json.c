/*
 * json: a row is an object of the table's columns, one per line; as Python's
 * module json writes it, or as pandas does, without blanks and with escaped
 * slashes.
 */
#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/export/export_format.h"

static void
put_slashed(struct str s, struct buf *scratch, struct buf *out)
{
	buf_clear(scratch);
	item_json_put_text(scratch, s);
	for (struct str rest = buf_str(scratch); rest.n > 0;) {
		size_t n = str_find_char(rest, '/');
		buf_put(out, rest.p, n);
		if (n < rest.n)
			buf_put_text(out, "\\/");
		rest = str_from(rest, n + 1);
	}
}

static void
put_pandas_row(const struct export_selection *s, const struct cell *cells,
    struct buf *scratch, struct buf *out)
{
	buf_put_char(out, '{');
	for (size_t i = 0; i < s->n; i++) {
		const struct cell *c = &cells[i];
		if (i > 0)
			buf_put_char(out, ',');
		put_slashed(str_of(s->columns[i]->name), scratch, out);
		buf_put_char(out, ':');
		if (c->type == CELL_TEXT)
			put_slashed(c->text, scratch, out);
		else if (c->type == CELL_VALUE && yyjson_is_str(c->value))
			put_slashed(json_text(c->value), scratch, out);
		else if (c->type == CELL_VALUE)
			item_json_put(out, c->value);
		else
			buf_put_text(out, "null");
	}
	buf_put_text(out, "}\n");
}

static void
put_cell(const struct cell *c, struct buf *out)
{
	switch (c->type) {
	case CELL_VALUE:
		item_json_put(out, c->value);
		break;
	case CELL_TEXT:
		item_json_put_text(out, c->text);
		break;
	case CELL_DATE:
		buf_put_char(out, '"');
		item_date_put(out, &c->date, 'T');
		buf_put_char(out, '"');
		break;
	default:
		buf_put_text(out, "null");
	}
}

size_t
export_json_row(const struct export_selection *s, const struct cell *cells,
    struct buf *scratch, struct buf *out)
{
	if (s->table->dialect == TABLE_PANDAS) {
		put_pandas_row(s, cells, scratch, out);
		return 0;
	}
	buf_put_char(out, '{');
	for (size_t i = 0; i < s->n; i++) {
		if (i > 0)
			buf_put_text(out, ", ");
		item_json_put_text(out, str_of(s->columns[i]->name));
		buf_put_text(out, ": ");
		put_cell(&cells[i], out);
	}
	buf_put_text(out, "}\n");
	return 0;
}

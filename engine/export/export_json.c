/* json: a row is an object of the table's columns, one a line. */
#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/export/export_format.h"

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

void
export_json_row(const struct export_selection *s, const struct cell *cells,
    struct buf *scratch, struct buf *out)
{
	(void)scratch;
	buf_put_char(out, '{');
	for (size_t i = 0; i < s->n; i++) {
		if (i > 0)
			buf_put_text(out, ", ");
		item_json_put_text(out, str_of(s->columns[i]->name));
		buf_put_text(out, ": ");
		put_cell(&cells[i], out);
	}
	buf_put_text(out, "}\n");
}

/*
 * xlsx: rows are kept as bytes on their way to the sheet, cell by cell:
 *
 *     '-'                        an empty cell
 *     'b', a byte                a boolean
 *     'n', a double's 8 bytes    a number
 *     's', the text, NUL         as spreadsheet_put_text() makes it
 */
#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/export/export_format.h"
#include "os/spreadsheet.h"

static bool
put_text(struct str s, struct buf *out)
{
	FREED(buf_free) struct buf repaired = BUF_INIT;

	if (s.n == 0) {
		buf_put_char(out, '-');
		return false;
	}
	buf_put_char(out, 's');
	/* What stands for half a surrogate is no UTF-8. */
	if (memchr(s.p, 0xed, s.n) != NULL) {
		item_json_put_utf8(&repaired, s);
		s = buf_str(&repaired);
	}
	bool cut = spreadsheet_put_text(out, s);
	buf_put_char(out, '\0');
	return cut;
}

static void
put_number(yyjson_val *v, struct buf *out)
{
	double number = yyjson_get_num(v);

	buf_put_char(out, 'n');
	buf_put(out, &number, sizeof(number));
}

static bool
put_cell(const struct cell *c, struct buf *scratch, struct buf *out)
{
	switch (c->type) {
	case CELL_VALUE:
		if (yyjson_is_num(c->value)) {
			put_number(c->value, out);
			return false;
		}
		if (yyjson_is_bool(c->value)) {
			buf_put_char(out, 'b');
			buf_put_char(out, yyjson_get_bool(c->value));
			return false;
		}
		break;
	case CELL_DATE:
		buf_clear(scratch);
		item_date_put(scratch, &c->date, 'T');
		return put_text(buf_str(scratch), out);
	default:
		break;
	}
	return put_text(export_cell_text(c, scratch), out);
}

size_t
export_xlsx_row(const struct export_selection *s, const struct cell *cells,
    struct buf *scratch, struct buf *out)
{
	size_t cut = 0;

	for (size_t i = 0; i < s->n; i++)
		cut += put_cell(&cells[i], scratch, out);
	return cut;
}

void
export_xlsx_write_head(struct spreadsheet *x,
    const struct export_selection *s)
{
	for (size_t i = 0; i < s->n; i++)
		spreadsheet_text(x, 0, (uint32_t)i, s->columns[i]->name);
}

void
export_xlsx_write_row(struct spreadsheet *x, uint32_t row, struct str bytes)
{
	double number;

	for (uint32_t i = 0; bytes.n > 0; i++) {
		char type = bytes.p[0];
		size_t n = 0;
		bytes = str_from(bytes, 1);
		if (type == 's') {
			spreadsheet_text(x, row, i, bytes.p);
			n = strlen(bytes.p) + 1;
		} else if (type == 'n') {
			memcpy(&number, bytes.p, sizeof(number));
			spreadsheet_number(x, row, i, number);
			n = sizeof(number);
		} else if (type == 'b') {
			spreadsheet_bool(x, row, i, bytes.p[0] != 0);
			n = 1;
		}
		bytes = str_from(bytes, n);
	}
}

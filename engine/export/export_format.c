#include "engine/export/export_format.h"

#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/export/export.h"
#include "os/spreadsheet.h"

static void
put_whole_item(const struct item *item, struct buf *out)
{
	item_json_put(out, item->json);
	buf_put_char(out, '\n');
}

static void
put_id(const struct item *item, struct buf *out)
{
	item_json_put_utf8(out, item->id);
	buf_put_char(out, '\n');
}

/* SFM's exporter makes tables of so many rows by pandas, one a sheet. */
#define PANDAS_ROWS 25000

static const struct export_format formats[] = {
	{ .name = "csv", .extension = "csv", .head = export_csv_head,
	    .row = export_csv_row },
	{ .name = "tsv", .extension = "tsv", .head = export_tsv_head,
	    .row = export_tsv_row },
	{ .name = "json", .extension = "json", .row = export_json_row },
	{ .name = "json_full", .extension = "json", .item = put_whole_item },
	{ .name = "dehydrate", .extension = "txt", .item = put_id },
	{ .name = "xlsx", .extension = "xlsx", .row = export_xlsx_row,
	    .spreadsheet = true, .rows_max = SPREADSHEET_ROWS_MAX - 1,
	    .pandas_rows_max = PANDAS_ROWS },
	{ .name = "html", .extension = "html", .head = export_html_head,
	    .row = export_html_row, .tail = export_html_tail,
	    .no_pandas = true },
};

const struct export_format *
export_format_find(struct str name)
{
	size_t i = STR_ROW(name, formats);

	return i < ARRAY_LEN(formats) ? &formats[i] : NULL;
}

const struct export_format *
export_format_at(size_t i)
{
	return i < ARRAY_LEN(formats) ? &formats[i] : NULL;
}

const char *
export_format_name(const struct export_format *f)
{
	return f->name;
}

bool
export_format_serves(const struct export_format *f,
    const struct item_table *table)
{
	return !f->no_pandas || table == NULL || table->dialect !=
	    TABLE_PANDAS;
}

const char *
export_format_names(void)
{
	return "csv, tsv, json, json_full, dehydrate, xlsx, html";
}

bool
export_format_is_stream(const struct export_format *f)
{
	return !f->spreadsheet;
}

bool
export_format_is_table(const struct export_format *f)
{
	return f->row != NULL;
}

static struct str
value_text(yyjson_val *v, struct buf *scratch)
{
	switch (yyjson_get_type(v)) {
	case YYJSON_TYPE_STR:
		return json_text(v);
	case YYJSON_TYPE_BOOL:
		return yyjson_get_bool(v) ? STR("True") : STR("False");
	case YYJSON_TYPE_NUM:
	case YYJSON_TYPE_RAW:
		item_json_put_number(scratch, v);
		return buf_str(scratch);
	default:
		item_json_put(scratch, v);
		return buf_str(scratch);
	}
}

struct str
export_cell_text(const struct cell *c, struct buf *scratch)
{
	buf_clear(scratch);
	switch (c->type) {
	case CELL_VALUE:
		return value_text(c->value, scratch);
	case CELL_TEXT:
		return c->text;
	case CELL_DATE:
		item_date_put(scratch, &c->date, ' ');
		return buf_str(scratch);
	default:
		return STR("");
	}
}

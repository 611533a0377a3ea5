#include "engine/export/export_format.h"

#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/export/export.h"

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

static const struct export_format formats[] = {
	{ "csv", "csv", export_csv_head, export_csv_row, NULL },
	{ "tsv", "tsv", export_tsv_head, export_tsv_row, NULL },
	{ "json", "json", NULL, export_json_row, NULL },
	{ "json_full", "json", NULL, NULL, put_whole_item },
	{ "dehydrate", "txt", NULL, NULL, put_id },
};

const struct export_format *
export_format_find(struct str name)
{
	size_t i = STR_ROW(name, formats);

	return i < ARRAY_LEN(formats) ? &formats[i] : NULL;
}

const char *
export_format_names(void)
{
	return "csv, tsv, json, json_full, dehydrate";
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

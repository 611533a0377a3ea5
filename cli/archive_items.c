/* argiope archive items -- the posts in social media WARCs, one per line. */
#include "base/json_writer.h"
#include "cli/export_order.h"
#include "cli/verbs.h"
#include "engine/connector/item_json.h"

#define PUT_BYTES ((size_t)256 << 10)

static const struct option_row rows[] = {
	EXPORT_ORDER_OPTIONS(OPTION_ROW)
	OPTION_ROW(WHERE, "where", 'w', NULL, FLAG, 0, 0,
	    "each in an object that says type, id, date, account, file and "
	    "offset")
	OPTION_COMMON(OPTION_ROW)
};

const struct option_verb archive_items_verb = {
	"archive items", "PATH...", 1, OPERANDS_ANY,
	"Print the posts in social media WARCs as JSON, one per line",
	"Items of all types that are known are printed, as their platform "
	"sent them.  PATH is a WARC file or a directory of them, of Argiope "
	"or of Social Feed Manager.\n"
	"Example: argiope archive items warcs/ | jq -r .full_text\n"
	"Exit code: 0; 64 a wrong option; 66 a PATH or WARC file is not "
	"there; 70 something is damaged.  The rest is printed in any case.",
	rows, ARRAY_LEN(rows)
};

struct printing {
	struct cli *cli;
	bool where;
};

static void
put_where(const struct export_found *f, struct buf *b)
{
	const struct item *item = f->item;

	json_object(b, NULL);
	json_str(b, "type", str_of(item_type_name(item->of)));
	json_str(b, "id", item->id);
	if (item->date.known) {
		json_name(b, "date");
		buf_put_char(b, '"');
		item_date_put(b, &item->date, 'T');
		buf_put_char(b, '"');
	} else {
		json_null(b, "date");
	}
	if (item->owner.n > 0)
		json_str(b, "owner", item->owner);
	else
		json_null(b, "owner");
	json_str(b, "file", str_of(f->file->path));
	json_u64(b, "offset", f->offset);
	json_name(b, "item");
	item_json_put(b, item->json);
	buf_put_char(b, '}');
}

static enum err
print_item(void *arg, const struct export_found *f, struct why *w)
{
	struct printing *p = arg;
	struct buf *b = &p->cli->out;

	if (p->where)
		put_where(f, b);
	else
		item_json_put(b, f->item->json);
	buf_put_char(b, '\n');
	if (b->n < PUT_BYTES)
		return OK;
	fwrite(b->p, 1, b->n, stdout);
	buf_clear(b);
	return ferror(stdout) ? why(w, ERR_CLOSED, "nobody reads") : OK;
}

enum err
archive_items_run(struct cli *c, struct why *w)
{
	struct printing p = { c, cli_count(c, "where") > 0 };
	struct export_order o = { .format = NULL };
	struct export_result r;
	bool missing;

	enum err e = export_order_read(c, 0, &o, &missing, w);
	if (e != OK)
		return e;
	e = export_items(&o, print_item, &p, &r, w);
	export_order_tell(&r.notes);
	c->code = export_order_code(&r, missing);
	export_result_free(&r);
	return e == ERR_CLOSED ? OK : e;
}

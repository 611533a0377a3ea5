/*
 * argiope harvest list, harvest show -- harvests of the data directory, as the
 * store has them; a process that harvests may have it open.
 */
#include "base/json.h"
#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/stores.h"
#include "cli/verbs.h"
#include "engine/store/store_harvest.h"

static const struct option_row list_rows[] = {
	OPTION_ROW(OPEN, "open", 0, NULL, FLAG, 0, 0,
	    "only those that are not over")
	OPTION_JSON(OPTION_ROW) OPTION_COMMON(OPTION_ROW)
};

const struct option_verb harvest_list_verb = {
	"harvest list", NULL, 0, 0,
	"List the harvests: id, state, when accepted, where their files go",
	"Those that ended more than 400 days ago are forgotten.",
	list_rows, ARRAY_LEN(list_rows)
};
const struct option_verb harvest_show_verb = {
	"harvest show", "ID", 1, 1,
	"Show a harvest: its order, what it has found, its WARC files",
	"What it has found is as it was when its last WARC file was finished.  "
	"The credential is not shown.\n"
	"Exit code: 0; 66 there is no such harvest.",
	verbs_json, ARRAY_LEN(verbs_json)
};

/* ---- list --------------------------------------------------------------- */

static void
put_facts(const struct store_harvest *h, struct buf *b)
{
	json_str(b, "id", h->id);
	json_str(b, "type", h->type);
	json_str(b, "state", str_of(store_harvest_state_name(h->state)));
	json_str(b, "path", h->path);
	stores_put_date(b, "accepted", h->accepted);
	stores_put_date(b, "started", h->started);
	stores_put_date(b, "ended", h->ended);
}

static void
row_json(const void *row, struct buf *b)
{
	put_facts(row, b);
}

static void
put_text(const void *rows, size_t n, struct buf *b)
{
	const struct store_harvest *list = rows;
	char iso[WALL_ISO_MAX];

	for (size_t i = 0; i < n; i++) {
		buf_printf(b, "%-20s  %-17s  ", stores_date(list[i].accepted,
		    iso), store_harvest_state_name(list[i].state));
		format_safe(b, list[i].id, STORE_HARVEST_ID_BYTES_MAX);
		buf_put_text(b, "  ");
		format_safe(b, list[i].path, STORE_HARVEST_PATH_BYTES_MAX);
		buf_put_char(b, '\n');
	}
}

enum err
harvest_list_run(struct cli *c, struct why *w)
{
	FREED(store_close) struct store *st = NULL;
	struct store_harvest *list = NULL;
	size_t n = 0;

	enum err e = stores_find(c, "harvest", &st, w);
	if (e == OK)
		e = store_harvest_list(st, cli_given(c, "open"), &c->arena,
		    &list, &n, w);
	return stores_print(c, &(struct stores_list){ "harvest", "harvests",
	    list, n, sizeof(*list), row_json, put_text }, e);
}

/* ---- show --------------------------------------------------------------- */

static void
show_json(const struct store_harvest *h,
    const struct store_harvest_warc *warcs, size_t n, struct buf *b)
{
	json_object(b, NULL);
	put_facts(h, b);
	json_u64(b, "answers", h->captures);
	json_raw(b, "message", h->message);
	json_raw(b, "found", h->totals.n > 0 ? h->totals : STR("{}"));
	json_array(b, "warcs");
	for (size_t i = 0; i < n; i++) {
		json_object(b, NULL);
		json_str(b, "name", warcs[i].name);
		json_str(b, "id", warcs[i].warc_id);
		json_str(b, "sha1", warcs[i].sha1);
		json_u64(b, "bytes", warcs[i].bytes);
		stores_put_date(b, "created", warcs[i].created);
		json_bool(b, "placed", warcs[i].placed);
		buf_put_char(b, '}');
	}
	buf_put_text(b, "]}\n");
}

static void
put_line(struct buf *b, const char *name, struct str text)
{
	buf_printf(b, "%-10s", name);
	format_safe(b, text, STORE_HARVEST_PATH_BYTES_MAX);
	buf_put_char(b, '\n');
}

static void
put_member(struct buf *line, yyjson_val *object, const char *name,
    const char *behind)
{
	buf_put_str(line, json_text(yyjson_obj_get(object, name)));
	buf_put_text(line, behind);
}

static void
put_found(struct str totals, struct buf *b)
{
	yyjson_doc *doc = yyjson_read(totals.p, totals.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc), *v;
	size_t i, n;

	yyjson_arr_foreach(yyjson_obj_get(root, "counts"), i, n, v) {
		FREED(buf_free) struct buf line = BUF_INIT;
		put_member(&line, v, "day", ": ");
		buf_put_decimal(&line, yyjson_get_uint(yyjson_obj_get(v,
		    "n")), 1);
		buf_put_char(&line, ' ');
		put_member(&line, v, "label", "");
		put_line(b, "found", buf_str(&line));
	}
	yyjson_arr_foreach(yyjson_obj_get(root, "notes"), i, n, v) {
		FREED(buf_free) struct buf line = BUF_INIT;
		put_member(&line, v, "level", " ");
		put_member(&line, v, "code", ": ");
		put_member(&line, v, "text", "");
		put_line(b, "note", buf_str(&line));
	}
	yyjson_doc_free(doc);
}

static void
show_text(const struct store_harvest *h,
    const struct store_harvest_warc *warcs, size_t n, struct buf *b)
{
	char iso[WALL_ISO_MAX];

	put_line(b, "id", h->id);
	put_line(b, "type", h->type);
	put_line(b, "state", str_of(store_harvest_state_name(h->state)));
	put_line(b, "path", h->path);
	put_line(b, "accepted", str_of(stores_date(h->accepted, iso)));
	put_line(b, "ended", str_of(stores_date(h->ended, iso)));
	put_found(h->totals, b);
	for (size_t i = 0; i < n; i++) {
		FREED(buf_free) struct buf line = BUF_INIT;
		buf_printf(&line, "%.*s  %llu bytes  %s",
		    STR_FMT(warcs[i].name), (unsigned long long)
		    warcs[i].bytes, warcs[i].placed ? "in its place" :
		    "waits for its place");
		put_line(b, "warc", buf_str(&line));
	}
}

enum err
harvest_show_run(struct cli *c, struct why *w)
{
	struct str id = str_of(c->options.operands[0]);
	FREED(store_close) struct store *st = NULL;
	struct store_harvest_warc *warcs;
	struct store_harvest h;
	size_t n;

	enum err e = stores_find(c, arena_printf(&c->arena, "harvest %.60s",
	    c->options.operands[0]).p, &st, w);
	if (e == OK)
		e = store_harvest_get(st, id, &c->arena, &h, w);
	if (e == OK)
		e = store_harvest_warcs(st, id, &c->arena, &warcs, &n, w);
	if (e == OK && cli_json(c))
		show_json(&h, warcs, n, &c->out);
	else if (e == OK)
		show_text(&h, warcs, n, &c->out);
	return e;
}

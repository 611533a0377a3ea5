/* Exports as lists and their own page show them, and what can be exported. */
#include "base/json.h"
#include "base/json_writer.h"
#include "engine/connector/connectors.h"
#include "engine/exporting/exporting_own.h"
#include "os/tree.h"

#define DAY_US (INT64_C(86400) * US_PER_S)
/* Orders longer than this are not shown. */
#define ORDER_BYTES_MAX ((size_t)32 << 10)

/* ---- Summaries ------------------------------------------------------ */

static void
read_harvests(yyjson_val *list, struct arena *a, struct exporting_summary *s)
{
	yyjson_arr_iter i = yyjson_arr_iter_with(list);
	yyjson_val *v;
	struct str *named;

	s->harvests = yyjson_arr_size(list);
	named = ARENA_ARRAY(a, struct str, MIN(s->harvests,
	    EXPORTING_NAMED_MAX));
	while ((v = yyjson_arr_iter_next(&i)) != NULL && s->named_n <
	    EXPORTING_NAMED_MAX)
		named[s->named_n++] = arena_copy(a, json_text(v));
	s->named = named;
}

static void
read_result(struct str result, struct exporting_summary *s)
{
	yyjson_doc *doc = yyjson_read(result.p, result.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc), *v;
	yyjson_arr_iter i = yyjson_arr_iter_with(yyjson_obj_get(root,
	    "files"));

	s->has_result = yyjson_is_obj(root);
	s->rows = yyjson_get_uint(yyjson_obj_get(root, "rows"));
	while ((v = yyjson_arr_iter_next(&i)) != NULL) {
		s->files++;
		s->bytes += yyjson_get_uint(yyjson_obj_get(v, "bytes"));
	}
	yyjson_doc_free(doc);
}

void
exporting_summary_read(const struct store_export *x, struct arena *a,
    struct exporting_summary *s)
{
	yyjson_doc *doc = yyjson_read(x->message.p, x->message.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);

	*s = (struct exporting_summary){ .collection = arena_copy(a, json_text(
	    yyjson_obj_get(yyjson_obj_get(root, "collection"), "id"))),
	    .seeds = yyjson_arr_size(yyjson_obj_get(root, "seeds")) };
	read_harvests(yyjson_obj_get(root, "harvests"), a, s);
	yyjson_doc_free(doc);
	if (x->result.n > 0)
		read_result(x->result, s);
}

/* ---- One export ----------------------------------------------------- */

static void
put_source(const struct exporting_summary *s, struct buf *b)
{
	json_object(b, "source");
	if (s->collection.n > 0)
		json_str(b, "collection", s->collection);
	if (s->seeds > 0)
		json_u64(b, "seeds", s->seeds);
	if (s->harvests > 0) {
		json_u64(b, "harvests_total", s->harvests);
		json_array(b, "harvests");
		for (size_t i = 0; i < s->named_n; i++)
			json_item(b, s->named[i]);
		buf_put_char(b, ']');
	}
	buf_put_char(b, '}');
}

static void
put_progress(const struct work *x, struct buf *b)
{
	json_object(b, "progress");
	json_u64(b, "warcs", atomic_load(&x->watch.files));
	json_u64(b, "warcs_total", atomic_load(&x->files_n));
	json_u64(b, "rows", atomic_load(&x->watch.rows));
	buf_put_char(b, '}');
}

/* Files below the data directory are removed then. */
static struct wall
kept_until(const struct exporting *e, const struct store_export *x)
{
	bool is_removed = store_harvest_is_over(x->state) && x->path.n == 0 &&
	    x->routing_key.n == 0;

	return (struct wall){ is_removed ? x->ended.us + DAY_US * conf_int(
	    e->options.conf, CONF_HARVEST_EXPORT_DAYS) : 0 };
}

void
exporting_put_json(struct exporting *e, const struct store_export *x,
    const struct exporting_summary *s, struct buf *b)
{
	FREED(arena_free) struct arena a = ARENA_INIT;

	json_str(b, "id", x->id);
	json_str(b, "type", x->type);
	json_str(b, "format", x->format);
	json_str(b, "path", str_of(work_dir(e, x, &a)));
	json_bool(b, "downloadable", x->path.n == 0);
	json_str(b, "state", str_of(store_harvest_state_name(x->state)));
	json_time(b, "requested_at", x->accepted);
	json_time(b, "started_at", x->started);
	json_time(b, "ended_at", x->ended);
	json_time(b, "kept_until", kept_until(e, x));
	put_source(s, b);
	if (s->has_result) {
		json_u64(b, "rows", s->rows);
		json_u64(b, "files", s->files);
		json_u64(b, "bytes", s->bytes);
	}
	LIST_EACH(work, &e->works, struct work, node)
		if (str_eq(work->id, x->id))
			put_progress(work, b);
	if (x->message.n > 0 && x->message.n <= ORDER_BYTES_MAX)
		json_raw(b, "order", x->message);
	if (x->result.n > 0)
		json_raw(b, "result", x->result);
}

bool
exporting_find_file(struct exporting *e, const struct store_export *x,
    struct str name, struct arena *a, const char **path)
{
	struct str begin = arena_printf(a, "%.*s_", STR_FMT(x->id));
	bool is_plain = str_find_char(name, '/') == name.n &&
	    str_find_char(name, '\0') == name.n;

	if (!store_harvest_is_over(x->state) || x->path.n > 0 || !is_plain ||
	    (!str_starts(name, begin) && !str_eq(name, STR("README.txt"))))
		return false;
	*path = arena_printf(a, "%s/%.*s", work_dir(e, x, a),
	    STR_FMT(name)).p;
	return tree_kind(*path, NULL) == TREE_FILE;
}

/* ---- What can be exported ------------------------------------------- */

static void
put_formats(const struct connector_items *items, struct buf *b)
{
	const struct export_format *f;

	json_array(b, "formats");
	for (size_t i = 0; (f = export_format_at(i)) != NULL; i++) {
		if (!export_format_serves(f, items->table))
			continue;
		json_object(b, NULL);
		json_str(b, "name", str_of(export_format_name(f)));
		json_bool(b, "table", export_format_is_table(f));
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

/* A type whose platforms are declared has those of its description. */
static void
put_columns(const struct connector_items *items, struct buf *b)
{
	const struct item_table *t = items->table;

	json_array(b, "columns");
	for (size_t i = 0; t != NULL && i < t->columns_n; i++) {
		json_object(b, NULL);
		json_str(b, "name", str_of(t->columns[i].name));
		json_str(b, "meaning", str_of(t->columns[i].meaning));
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

void
exporting_put_types(struct buf *b)
{
	const struct connector_items *items;
	const struct connector *c;

	json_array(b, "types");
	for (size_t i = 0; (c = connector_at(i)) != NULL; i++) {
		items = item_type_find(str_of(c->type));
		if (items == NULL)
			continue;
		json_object(b, NULL);
		json_str(b, "type", str_of(c->type));
		json_str(b, "title", str_of(c->title));
		json_str(b, "label", str_of(c->label));
		json_bool(b, "honours_deletes", items->honours_deletes);
		put_formats(items, b);
		put_columns(items, b);
		buf_put_char(b, '}');
	}
	buf_put_char(b, ']');
}

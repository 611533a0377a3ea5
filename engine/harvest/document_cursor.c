#include "engine/harvest/document_cursor.h"

#include "base/json_writer.h"
#include "wire/base64.h"

#define VERSION 1u

static enum err
refuse_at(struct why *w, const char *field, const char *text)
{
	return why_field(w, ERR_INPUT, field, "%s", text);
}

/* --- reading --------------------------------------------------------- */

/* Of equal keys, which nobody writes, one stays. */
static size_t
sort_states(struct connector_state *list, size_t n)
{
	size_t kept = 0;

	if (n > 0)
		qsort(list, n, sizeof(*list), str_order);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && str_eq(list[kept - 1].key, list[i].key))
			list[kept - 1] = list[i];
		else
			list[kept++] = list[i];
	}
	return kept;
}

static bool
read_states(yyjson_val *list, struct arena *a, struct connector_state **out,
    size_t *out_n)
{
	size_t i, n = yyjson_arr_size(list);
	struct connector_state *all = ARENA_ARRAY(a, struct connector_state,
	    n / 2);
	yyjson_val *v;

	*out = all;
	if (n % 2 != 0 || (list != NULL && !yyjson_is_arr(list)))
		return false;
	yyjson_arr_foreach(list, i, n, v) {
		if (!yyjson_is_str(v))
			return false;
		struct str text = arena_copy(a, json_text(v));
		if (i % 2 == 0)
			all[i / 2].key = text;
		else
			all[i / 2].value = text;
	}
	*out_n = sort_states(all, n / 2);
	return true;
}

static bool
read_saved(yyjson_val *v, struct arena *a, struct str *out)
{
	FREED(buf_free) struct buf bytes = BUF_INIT;

	if (v == NULL)
		return true;
	if (!yyjson_is_str(v) || !base64_read(&bytes, json_text(v)) ||
	    bytes.n > CONNECTOR_SAVED_BYTES_MAX)
		return false;
	*out = arena_copy(a, buf_str(&bytes));
	return true;
}

static enum err
read_object(yyjson_val *root, struct arena *a, struct document_cursor *c,
    struct why *w)
{
	yyjson_val *order = yyjson_obj_get(root, "order");
	yyjson_val *ended = yyjson_obj_get(root, "ended");

	if (!yyjson_is_obj(root))
		return refuse_at(w, "cursor", "it is no JSON object");
	if (yyjson_get_uint(yyjson_obj_get(root, "version")) != VERSION)
		return refuse_at(w, "cursor.version", "it is not 1");
	if (order != NULL && !yyjson_is_str(order))
		return refuse_at(w, "cursor.order", "it is no text");
	if (ended != NULL && !yyjson_is_bool(ended))
		return refuse_at(w, "cursor.ended", "it is neither true nor "
		    "false");
	if (!read_states(yyjson_obj_get(root, "from"), a, &c->from,
	    &c->from_n))
		return refuse_at(w, "cursor.from", "it is no list of keys and "
		    "values");
	if (!read_states(yyjson_obj_get(root, "found"), a, &c->found,
	    &c->found_n))
		return refuse_at(w, "cursor.found", "it is no list of keys and "
		    "values");
	if (!read_saved(yyjson_obj_get(root, "saved"), a, &c->saved))
		return refuse_at(w, "cursor.saved", "it is no base64, or too "
		    "long");
	c->order = arena_copy(a, json_text(order));
	c->ended = yyjson_is_true(ended);
	return OK;
}

enum err
document_cursor_read(struct str json, struct arena *a,
    struct document_cursor *c, struct why *w)
{
	*c = (struct document_cursor){ .ended = false };
	if (json.n == 0)
		return OK;
	if (json.n > DOCUMENT_CURSOR_BYTES_MAX)
		return why_field(w, ERR_FULL, "cursor", "it is longer than "
		    "%zu bytes", DOCUMENT_CURSOR_BYTES_MAX);
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	enum err e = read_object(yyjson_doc_get_root(doc), a, c, w);

	yyjson_doc_free(doc);
	return e;
}

/* --- writing --------------------------------------------------------- */

static void
put_states(const char *name, const struct connector_state *list, size_t n,
    struct buf *b)
{
	json_array(b, name);
	for (size_t i = 0; i < n; i++) {
		json_item(b, list[i].key);
		json_item(b, list[i].value);
	}
	buf_put_char(b, ']');
}

void
document_cursor_put(const struct document_cursor *c, struct buf *b)
{
	FREED(buf_free) struct buf saved = BUF_INIT;

	base64_put(&saved, c->saved);
	json_object(b, NULL);
	json_u64(b, "version", VERSION);
	json_str(b, "order", c->order);
	put_states("from", c->from, c->from_n, b);
	put_states("found", c->found, c->found_n, b);
	json_str(b, "saved", buf_str(&saved));
	json_bool(b, "ended", c->ended);
	buf_put_char(b, '}');
}

void
document_cursor_begin_next(struct document_cursor *c, struct arena *a)
{
	struct connector_state *all = ARENA_ARRAY(a, struct connector_state,
	    c->from_n + c->found_n);
	size_t n = 0, f = 0;

	/* Both are sorted. */
	for (size_t i = 0; i < c->from_n || f < c->found_n;) {
		int order = i == c->from_n ? 1 : f == c->found_n ? -1 :
		    str_cmp(c->from[i].key, c->found[f].key);
		all[n++] = order < 0 ? c->from[i] : c->found[f];
		i += order <= 0;
		f += order >= 0;
	}
	*c = (struct document_cursor){ .order = c->order, .from = all,
	    .from_n = n };
}

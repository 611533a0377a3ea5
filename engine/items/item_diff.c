/*
 * Differences of two JSON texts as RFC 6902 has them.
 *
 * Objects are compared member by member, arrays element by element: what is
 * behind the shorter one is added or removed at the end, from the back.
 */
#include <yyjson.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/items/item_event.h"

#define PATH_DEPTH_MAX 64u

struct diff {
	struct buf *out;
	struct buf text;             /* of one path at a time */
	size_t begin;                /* of our text in `out` */
	bool any, full;
	struct path_part {
		struct str key;      /* p NULL: an index */
		size_t index;
	} path[PATH_DEPTH_MAX];
	size_t depth;
};

static void compare_values(struct diff *, yyjson_val *, yyjson_val *);

/* RFC 6901 §3: "~" is "~0" and "/" is "~1". */
static void
put_key(struct buf *b, struct str key)
{
	for (size_t i = 0; i < key.n; i++) {
		if (key.p[i] == '~')
			buf_put_text(b, "~0");
		else if (key.p[i] == '/')
			buf_put_text(b, "~1");
		else
			buf_put_char(b, key.p[i]);
	}
}

static void
put_path(struct diff *d)
{
	struct buf *path = &d->text;

	buf_clear(path);
	for (size_t i = 0; i < d->depth; i++) {
		buf_put_char(path, '/');
		if (d->path[i].key.p != NULL)
			put_key(path, d->path[i].key);
		else
			buf_printf(path, "%zu", d->path[i].index);
	}
	text_json(d->out, buf_str(path));
}

static void
put_value(struct diff *d, yyjson_val *v)
{
	size_t n;
	char *text = yyjson_val_write(v, 0, &n);

	CHECK(text != NULL);
	buf_put(d->out, text, n);
	free(text);
}

static void
put_operation(struct diff *d, const char *op, yyjson_val *value)
{
	if (d->full)
		return;
	buf_put_text(d->out, d->any ? ",{\"op\":\"" : "{\"op\":\"");
	d->any = true;
	buf_put_text(d->out, op);
	buf_put_text(d->out, "\",\"path\":");
	put_path(d);
	if (value != NULL) {
		buf_put_text(d->out, ",\"value\":");
		put_value(d, value);
	}
	buf_put_char(d->out, '}');
	/* With the bracket that closes it. */
	d->full = d->out->n + 1 - d->begin > ITEM_DIFF_BYTES_MAX;
}

static void
compare_members(struct diff *d, yyjson_val *a, yyjson_val *b)
{
	struct path_part *part = &d->path[d->depth++];
	yyjson_val *key, *value;
	size_t i, n;

	yyjson_obj_foreach(a, i, n, key, value) {
		part->key = json_text(key);
		yyjson_val *other = yyjson_obj_getn(b, part->key.p,
		    part->key.n);
		if (other == NULL)
			put_operation(d, "remove", NULL);
		else
			compare_values(d, value, other);
	}
	yyjson_obj_foreach(b, i, n, key, value) {
		part->key = json_text(key);
		if (yyjson_obj_getn(a, part->key.p, part->key.n) == NULL)
			put_operation(d, "add", value);
	}
	d->depth--;
}

static void
compare_elements(struct diff *d, yyjson_val *a, yyjson_val *b)
{
	struct path_part *part = &d->path[d->depth++];
	size_t an = yyjson_arr_size(a), bn = yyjson_arr_size(b);
	yyjson_val *x = yyjson_arr_get_first(a), *y = yyjson_arr_get_first(b);

	part->key = STR_NONE;
	for (size_t i = 0; i < MIN(an, bn); i++) {
		part->index = i;
		compare_values(d, x, y);
		x = unsafe_yyjson_get_next(x);
		y = unsafe_yyjson_get_next(y);
	}
	for (size_t i = an; i > bn; i--) {
		part->index = i - 1;
		put_operation(d, "remove", NULL);
	}
	for (size_t i = an; i < bn; i++) {
		part->index = i;
		put_operation(d, "add", y);
		y = unsafe_yyjson_get_next(y);
	}
	d->depth--;
}

static void
compare_values(struct diff *d, yyjson_val *a, yyjson_val *b)
{
	bool deep = d->depth < PATH_DEPTH_MAX;

	if (d->full)
		return;
	if (yyjson_is_obj(a) && yyjson_is_obj(b) && deep)
		compare_members(d, a, b);
	else if (yyjson_is_arr(a) && yyjson_is_arr(b) && deep)
		compare_elements(d, a, b);
	else if (!yyjson_equals(a, b))
		put_operation(d, "replace", b);
}

void
item_diff(struct str before, struct str after, struct buf *out)
{
	struct diff d = { .out = out, .begin = out->n };
	const yyjson_read_flag flags = YYJSON_READ_BIGNUM_AS_RAW;
	yyjson_doc *a = yyjson_read(before.p, before.n, flags);
	yyjson_doc *b = yyjson_read(after.p, after.n, flags);

	buf_put_char(out, '[');
	if (a != NULL && b != NULL)
		compare_values(&d, yyjson_doc_get_root(a),
		    yyjson_doc_get_root(b));
	buf_put_char(out, ']');
	if (d.full || a == NULL || b == NULL) {
		out->n = d.begin;
		buf_put_text(out, "null");
	}
	buf_free(&d.text);
	yyjson_doc_free(a);
	yyjson_doc_free(b);
}

#include "engine/connector/items.h"

#include "base/json.h"

/* --- rows --------------------------------------------------------------- */

void
row_begin(struct row *r, const struct item *item, struct arena *arena,
    struct buf *scratch)
{
	*r = (struct row){ .item = item, .arena = arena,
		.scratch = scratch };
	if (item->of->table->prepare != NULL)
		item->of->table->prepare(r);
}

void
row_cell(struct row *r, const struct column *c, struct cell *cell)
{
	*cell = (struct cell){ .type = CELL_NULL };
	c->fill(r, c, cell);
}

void
row_lacks(struct row *r, const char *field)
{
	for (size_t i = 0; i < r->lacks_n; i++)
		if (strcmp(r->lacks[i], field) == 0)
			return;
	if (r->lacks_n < ROW_LACKS_MAX)
		r->lacks[r->lacks_n++] = field;
}

/* --- cells -------------------------------------------------------------- */

void
cell_value(struct cell *c, yyjson_val *v)
{
	c->type = v == NULL || yyjson_is_null(v) ? CELL_NULL : CELL_VALUE;
	c->value = v;
}

void
cell_text(struct cell *c, struct str s)
{
	c->type = s.p == NULL ? CELL_NULL : CELL_TEXT;
	c->text = s;
}

void
cell_scratch(struct row *r, struct cell *c)
{
	cell_text(c, arena_copy(r->arena, buf_str(r->scratch)));
}

void
cell_line(struct row *r, yyjson_val *v, bool drop_cr, struct cell *c)
{
	struct str s = json_text(v);

	if (s.p == NULL)
		return;
	cell_value(c, v);
	if (memchr(s.p, '\n', s.n) == NULL &&
	    (!drop_cr || memchr(s.p, '\r', s.n) == NULL))
		return;
	char *line = arena_bytes(r->arena, s.n);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '\r' || !drop_cr)
			line[n++] = s.p[i] == '\n' ? ' ' : s.p[i];
	cell_text(c, (struct str){ line, n });
}

/* --- JSON --------------------------------------------------------------- */

void
fill_value_at(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *v = json_at(r->item->json, c->at);

	if (v == NULL)
		row_lacks(r, c->at);
	cell_value(cell, v);
}

void
fill_item_date(struct row *r, const struct column *c, struct cell *cell)
{
	if (!r->item->date.known) {
		row_lacks(r, c->at);
		return;
	}
	cell->type = CELL_DATE;
	cell->date = r->item->date;
}

static yyjson_val *
find_at(yyjson_val *v, struct str path)
{
	for (size_t from = 0, to; v != NULL && from <= path.n; from = to + 1) {
		for (to = from; to < path.n && path.p[to] != '.';)
			to++;
		v = yyjson_obj_getn(v, path.p + from, to - from);
	}
	return v;
}

yyjson_val *
json_at(yyjson_val *v, const char *path)
{
	return find_at(v, str_of(path));
}

yyjson_val *
row_at(struct row *r, yyjson_val *root, const char *path)
{
	const char *dot = strrchr(path, '.');
	struct row_parent *p = &r->parent;

	if (dot == NULL)
		return json_member(root, path);
	struct str above = { path, (size_t)(dot - path) };
	if (p->root != root || !str_eq(p->path, above))
		*p = (struct row_parent){ root, above, find_at(root, above) };
	return json_member(p->found, dot + 1);
}

bool
json_is_true(yyjson_val *v)
{
	switch (yyjson_get_type(v)) {
	case YYJSON_TYPE_BOOL:
		return yyjson_get_bool(v);
	case YYJSON_TYPE_NUM:
		return yyjson_is_real(v) ? yyjson_get_real(v) != 0 :
		    yyjson_get_uint(v) != 0;
	case YYJSON_TYPE_STR:
		return yyjson_get_len(v) > 0;
	case YYJSON_TYPE_ARR:
	case YYJSON_TYPE_OBJ:
		return yyjson_get_len(v) > 0;
	case YYJSON_TYPE_RAW:
		return true;
	default:
		return false;
	}
}

struct str
json_id(yyjson_val *v, struct arena *a)
{
	if (yyjson_is_str(v))
		return json_text(v);
	if (yyjson_is_raw(v))
		return (struct str){ yyjson_get_raw(v), yyjson_get_len(v) };
	if (yyjson_is_uint(v))
		return arena_printf(a, "%llu",
		    (unsigned long long)yyjson_get_uint(v));
	if (yyjson_is_sint(v))
		return arena_printf(a, "%lld",
		    (long long)yyjson_get_sint(v));
	return STR("");
}

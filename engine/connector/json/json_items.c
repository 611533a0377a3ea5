#include "engine/connector/json/json_items.h"

#include "base/json.h"
#include "engine/connector/item_json.h"
#include "engine/connector/json/json_description.h"

#define COLUMNS_MAX 200u

struct described {
	struct connector_items items;
	struct item_table table;
	struct json_description d;
	struct arena arena;
};

static const struct described *
described_of(const struct connector_items *items)
{
	return (const struct described *)items;
}

/* ---- Items ------------------------------------------------------------- */

static bool
recognises_nothing(struct str uri, struct str content_type)
{
	(void)uri;
	(void)content_type;
	return false;
}

static bool
recognises(const struct connector_items *items, struct str uri)
{
	struct str base = described_of(items)->d.base;
	struct str rest = str_from(uri, base.n);

	return str_starts(uri, base) &&
	    (rest.n == 0 || str_has_char(STR("/?"), rest.p[0]));
}

static enum err
give_item(const struct connector_items *of, yyjson_val *v, bool repaired,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	const struct json_description *d = &described_of(of)->d;
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = v,
		.repaired = repaired,
		.id = json_id(json_description_at(v, d->id), a) };

	if (d->owner != NULL)
		i.owner = json_id(json_description_at(v, d->owner), a);
	if (d->date != NULL)
		(void)json_description_date(json_id(json_description_at(v,
		    d->date), a), &i.date);
	if (i.id.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = d->id;
	}
	return fn(arg, &i, w);
}

/* Answers without such a list, such as errors, have no items. */
static enum err
each(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item_json j;
	yyjson_val *v;
	size_t i, n;

	if (of == &json_items)
		return OK;
	enum err e = item_json_parse(t->text, a, &j, w);
	if (e != OK)
		return e;
	yyjson_val *list = json_description_at(j.root,
	    described_of(of)->d.items);
	yyjson_arr_foreach(list, i, n, v) {
		e = give_item(of, v, j.repaired && i == 0, a, fn, arg, w);
		if (e != OK)
			return e;
	}
	return OK;
}

/* ---- Columns ----------------------------------------------------------- */

static void
fill_id(struct row *r, const struct column *c, struct cell *cell)
{
	(void)c;
	cell_text(cell, r->item->id);
}

static void
fill_owner(struct row *r, const struct column *c, struct cell *cell)
{
	(void)c;
	if (r->item->owner.n > 0)
		cell_text(cell, r->item->owner);
}

static void
fill_date(struct row *r, const struct column *c, struct cell *cell)
{
	(void)c;
	if (!r->item->date.known)
		return;
	cell->type = CELL_DATE;
	cell->date = r->item->date;
}

/* Items of such platforms need not have what others have. */
static void
fill_place(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_description_at(r->item->json, c->at));
}

static const struct column usual[] = {
	{ "id", "the item's id", fill_id, NULL },
	{ "date", "its date", fill_date, NULL },
	{ "owner", "the id of its owner", fill_owner, NULL },
};

/* "/a~1b" of "a/b". */
static const char *
place_of(struct arena *a, struct str name)
{
	FREED(buf_free) struct buf place = BUF_INIT;

	buf_put_char(&place, '/');
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] == '~' || name.p[i] == '/')
			buf_put_text(&place, name.p[i] == '~' ? "~0" : "~1");
		else
			buf_put_char(&place, name.p[i]);
	}
	return arena_copy(a, buf_str(&place)).p;
}

static bool
is_usual(struct str name)
{
	return STR_ROW(name, usual) < ARRAY_LEN(usual);
}

/* Those of the first item, behind the usual ones. */
static size_t
put_columns_of(struct described *x, yyjson_val *first, struct column *columns)
{
	size_t i, n, found = ARRAY_LEN(usual);
	yyjson_val *key, *v;

	memcpy(columns, usual, sizeof(usual));
	yyjson_obj_foreach(first, i, n, key, v) {
		struct str name = json_text(key);
		if (yyjson_is_ctn(v) || is_usual(name) || name.n == 0 ||
		    memchr(name.p, '\0', name.n) != NULL)
			continue;
		if (found == COLUMNS_MAX)
			break;
		columns[found++] = (struct column){
			arena_copy(&x->arena, name).p,
			"a member of the item", fill_place,
			place_of(&x->arena, name) };
	}
	return found;
}

static void
make_table(struct described *x, yyjson_val *first)
{
	const struct json_description *d = &x->d;
	struct column *columns = ARENA_ARRAY(&x->arena, struct column,
	    d->columns_n > 0 ? d->columns_n : COLUMNS_MAX);
	size_t n = d->columns_n;

	for (size_t i = 0; i < d->columns_n; i++)
		columns[i] = (struct column){ d->columns[i].name,
			d->columns[i].meaning != NULL ?
			d->columns[i].meaning : arena_printf(&x->arena,
			"what it has at %s", d->columns[i].at).p,
			fill_place, d->columns[i].at };
	if (n == 0)
		n = put_columns_of(x, first, columns);
	x->table = (struct item_table){ .dialect = TABLE_PETL,
		.columns = columns, .columns_n = n };
}

/* ---- Making ------------------------------------------------------------ */

static void
free_items(struct connector_items **items)
{
	struct described *x = (struct described *)*items;

	if (x == NULL)
		return;
	arena_free(&x->arena);
	free(x);
	*items = NULL;
}

static enum err
make_items(struct str text, yyjson_val *first, struct connector_items **out,
    struct why *w)
{
	struct described *x = mem_new(sizeof(*x));
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	enum err e = json_description_read(yyjson_doc_get_root(doc),
	    &x->arena, &x->d, w);

	yyjson_doc_free(doc);
	x->items = json_items;
	x->items.row = &json_items;
	x->items.table = &x->table;
	*out = &x->items;
	if (e != OK) {
		free_items(out);
		return e;
	}
	x->items.label = x->d.label;
	make_table(x, first);
	return OK;
}

static bool
wants_first(const struct connector_items *items)
{
	return described_of(items)->d.columns_n == 0;
}

static const struct item_declared declared = { make_items, free_items,
	wants_first, recognises };

static const struct item_table no_table = { .dialect = TABLE_PETL,
	.columns = usual, .columns_n = ARRAY_LEN(usual) };

const struct connector_items json_items = {
	.label = "items",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = recognises_nothing,
	.each = each,
	.table = &no_table,
	.declared = &declared,
};

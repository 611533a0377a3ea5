#include "engine/connector/feed/feed_items.h"

#include "base/json.h"
#include "base/json_writer.h"
#include "engine/connector/feed/feed_read.h"
#include "engine/connector/item_json.h"

/* --- items -------------------------------------------------------------- */

static bool
recognises(struct str uri, struct str content_type)
{
	static const struct str types[] = { STR("application/rss+xml"),
		STR("application/atom+xml"), STR("application/rdf+xml"),
		STR("application/feed+json") };

	(void)uri;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_eq(content_type, types[i]))
			return true;
	return false;
}

/* Servers send feeds as what they are also. */
static bool
recognises_named(struct str uri, struct str content_type)
{
	static const struct str types[] = { STR("application/xml"),
		STR("text/xml"), STR("application/json") };

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_eq(content_type, types[i]))
			return true;
	return recognises(uri, content_type);
}

struct giving {
	const struct connector_items *of;
	struct str feed_url;
	item_fn *fn;
	void *arg;
	struct buf json;
};

static void
put_list(struct buf *b, const char *name, const struct buf *list)
{
	json_array(b, name);
	for (struct str rest = buf_str(list), s; rest.n > 0 &&
	    str_split(&rest, '\0', &s);)
		json_item(b, s);
	buf_put_char(b, ']');
}

static void
put_entry(struct giving *g, const struct feed_entry *e)
{
	struct buf *b = &g->json;

	buf_clear(b);
	json_object(b, NULL);
	json_str(b, "feed_url", g->feed_url);
	for (size_t i = 0; i < FEED_FIELDS_N; i++)
		if (e->fields[i].n > 0)
			json_str(b, feed_field_name(i), buf_str(&e->fields[i]));
		else
			json_null(b, feed_field_name(i));
	put_list(b, "categories", &e->categories);
	put_list(b, "enclosures", &e->enclosures);
	buf_put_char(b, '}');
}

static enum err
give_entry(void *arg, const struct feed_entry *e, struct why *w)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct giving *g = arg;
	struct item i = { .of = g->of, .kind = ITEM_FOUND };
	struct item_json j;

	put_entry(g, e);
	enum err err = item_json_parse(buf_str(&g->json), &a, &j, w);
	if (err != OK)
		return err;
	i.json = j.root;
	if (e->fields[FEED_ID].n > 0) {
		i.id = arena_printf(&a, "%.*s %.*s", STR_FMT(g->feed_url),
		    STR_FMT(buf_str(&e->fields[FEED_ID])));
	} else {
		i.kind = ITEM_BROKEN;
		i.lacks = "guid, id or link";
	}
	if (!item_date_parse(buf_str(&e->fields[FEED_PUBLISHED]), &i.date))
		(void)item_date_parse(buf_str(&e->fields[FEED_UPDATED]),
		    &i.date);
	return g->fn(g->arg, &i, w);
}

static enum err
each(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct giving g = { .of = of, .feed_url = t->uri, .fn = fn,
		.arg = arg };

	(void)a;
	enum err e = feed_read(t->text, NULL, give_entry, &g, w);
	buf_free(&g.json);
	return e;
}

/* --- columns ------------------------------------------------------------ */

static void
fill_member(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_member(r->item->json, c->at));
}

static void
fill_line(struct row *r, const struct column *c, struct cell *cell)
{
	cell_line(r, json_member(r->item->json, c->at), true, cell);
}

/* A date that cannot be read stays as it was written. */
static void
fill_date(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *v = json_member(r->item->json, c->at);

	if (item_date_parse(json_text(v), &cell->date))
		cell->type = CELL_DATE;
	else
		cell_value(cell, v);
}

static void
join(struct row *r, const char *member, const char *between,
    struct cell *cell)
{
	yyjson_val *v;
	size_t i, n;

	buf_clear(r->scratch);
	yyjson_arr_foreach(json_member(r->item->json, member), i, n, v) {
		if (i > 0)
			buf_put_text(r->scratch, between);
		buf_put_str(r->scratch, json_text(v));
	}
	cell_scratch(r, cell);
}

static void
fill_categories(struct row *r, const struct column *c, struct cell *cell)
{
	join(r, c->at, ", ", cell);
}

static void
fill_enclosures(struct row *r, const struct column *c, struct cell *cell)
{
	join(r, c->at, " ", cell);
}

static const struct column columns[] = {
	{ "feed_url", "the address of the feed", fill_member, "feed_url" },
	{ "entry_id", "the entry's guid or id, else its address",
	    fill_member, "entry_id" },
	{ "url", "its address", fill_member, "url" },
	{ "title", "its title; line ends are blanks", fill_line, "title" },
	{ "author", "its author, else the feed's where it says so",
	    fill_line, "author" },
	{ "published", "when it was published", fill_date, "published" },
	{ "updated", "when it was changed", fill_date, "updated" },
	{ "summary", "its summary, often HTML; line ends are blanks",
	    fill_line, "summary" },
	{ "content", "its whole text where the feed has it; line ends are "
	    "blanks", fill_line, "content" },
	{ "categories", "its categories, a comma and a blank between",
	    fill_categories, "categories" },
	{ "enclosures", "addresses of its sounds and videos",
	    fill_enclosures, "enclosures" },
	{ "language", "its language, else the feed's", fill_member,
	    "language" },
};
static const struct item_table table = {
	.dialect = TABLE_PETL,
	.columns = columns,
	.columns_n = ARRAY_LEN(columns),
};

const struct connector_items feed_items = {
	.label = "feed entries",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = recognises,
	.recognises_named = recognises_named,
	.each = each,
	.table = &table,
	.malformed = "a feed that is malformed",
};

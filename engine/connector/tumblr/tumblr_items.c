#include "engine/connector/tumblr/tumblr_items.h"

#include "base/json.h"
#include "engine/connector/item_json.h"

/* --- items -------------------------------------------------------------- */

static bool
recognises(struct str uri, struct str content_type)
{
	(void)content_type;
	return str_starts(uri, STR("https://api.tumblr.com/v2/blog/")) &&
	    str_find(uri, STR("posts")) < uri.n;
}

static enum err
give_post(const struct connector_items *of, yyjson_val *post, bool repaired,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = post,
		.repaired = repaired,
		.id = json_id(json_member(post, "id"), a),
		.owner = json_text(json_member(post, "blog_name")) };

	if (i.id.n == 0)
		i.id = json_text(json_member(post, "id_string"));
	if (i.id.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = "id";
	}
	(void)item_date_parse(json_text(json_member(post, "date")), &i.date);
	return fn(arg, &i, w);
}

/* Errors have no `response`, or an empty list in its place. */
static enum err
each(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item_json j;
	yyjson_val *post;
	size_t i, n;
	enum err e = item_json_parse(t->text, a, &j, w);

	if (e != OK)
		return e;
	yyjson_val *list = json_at(j.root, "response.posts");
	yyjson_arr_foreach(list, i, n, post) {
		e = give_post(of, post, j.repaired && i == 0, a, fn, arg, w);
		if (e != OK)
			return e;
	}
	return OK;
}

/* --- columns ------------------------------------------------------------ */

/* Where a post of this type has its text; NULL: it has none. */
static const char *
text_member(struct str type)
{
	static const struct {
		const char *type, *member;
	} rows[] = {
		{ "audio", "caption" }, { "video", "caption" },
		{ "photo", "caption" }, { "chat", "body" },
		{ "text", "body" }, { "link", "excerpt" },
	};
	size_t i = STR_ROW(type, rows);

	return i < ARRAY_LEN(rows) ? rows[i].member : NULL;
}

static void
fill_text(struct row *r, const struct column *c, struct cell *cell)
{
	const char *member = text_member(json_text(json_member(
	    r->item->json, c->at)));

	if (member == NULL)
		return;
	yyjson_val *v = json_member(r->item->json, member);
	if (v == NULL)
		row_lacks(r, member);
	cell_value(cell, v);
}

static void
fill_tags(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *list = json_member(r->item->json, c->at), *v;
	size_t i, n;

	if (!yyjson_is_arr(list)) {
		row_lacks(r, c->at);
		return;
	}
	buf_clear(r->scratch);
	yyjson_arr_foreach(list, i, n, v) {
		if (i > 0)
			buf_put_text(r->scratch, ", ");
		buf_put_str(r->scratch, json_text(v));
	}
	cell_scratch(r, cell);
}

static const struct column columns[] = {
	{ "created_at", "when it was published, in UTC", fill_item_date,
	    "date" },
	{ "tumblr_id", "the post's number", fill_value_at, "id" },
	{ "blog_name", "the blog's name", fill_value_at, "blog_name" },
	{ "post_type", "text, photo, quote, link, chat, audio, video or "
	    "answer", fill_value_at, "type" },
	{ "post_slug", "the words in its address", fill_value_at, "slug" },
	{ "post_summary", "its beginning, without markup", fill_value_at,
	    "summary" },
	{ "post_text", "its text, caption or excerpt, as HTML", fill_text,
	    "type" },
	{ "tags", "its tags, a comma and a blank between", fill_tags,
	    "tags" },
	{ "tumblr_url", "its address", fill_value_at, "post_url" },
	{ "tumblr_short_url", "its short address", fill_value_at,
	    "short_url" },
};
static const struct item_table table = {
	.dialect = TABLE_PETL,
	.columns = columns,
	.columns_n = ARRAY_LEN(columns),
};

const struct connector_items tumblr_items = {
	.label = "tumblr posts",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = recognises,
	.each = each,
	.table = &table,
};

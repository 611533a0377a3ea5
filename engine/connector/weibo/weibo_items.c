#include "engine/connector/weibo/weibo_items.h"

#include "base/json.h"
#include "engine/connector/item_json.h"

/* --- items -------------------------------------------------------------- */

static bool
recognises(struct str uri, struct str content_type)
{
	(void)content_type;
	return str_starts(uri, STR("https://api.weibo.com/2"));
}

static enum err
give_post(const struct connector_items *of, yyjson_val *post, bool repaired,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = post,
		.repaired = repaired,
		.id = json_id(json_member(post, "mid"), a),
		.owner = json_text(json_at(post, "user.idstr")) };

	if (i.id.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = "mid";
	}
	(void)item_date_parse(json_text(json_member(post, "created_at")),
	    &i.date);
	return fn(arg, &i, w);
}

/* Errors and the limit call have no `statuses`. */
static enum err
each(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item_json j;
	yyjson_val *post;
	size_t i, n;
	enum err e = item_json_parse(t->text, a, &j, w);

	if (e != OK || json_member(j.root, "error") != NULL)
		return e;
	yyjson_val *list = json_member(j.root, "statuses");
	yyjson_arr_foreach(list, i, n, post) {
		e = give_post(of, post, j.repaired && i == 0, a, fn, arg, w);
		if (e != OK)
			return e;
	}
	return OK;
}

/* --- columns ------------------------------------------------------------ */

static void
fill_reply(struct row *r, const struct column *c, struct cell *cell)
{
	fill_value_at(r, c, cell);
	if (cell->type == CELL_NULL || !json_is_true(cell->value))
		cell_text(cell, STR(""));
}

static void
fill_url(struct row *r, const struct column *c, struct cell *cell)
{
	struct str user = json_id(json_at(r->item->json, c->at), r->arena);

	if (user.n == 0) {
		row_lacks(r, c->at);
		return;
	}
	cell_text(cell, arena_printf(r->arena, "http://m.weibo.cn/%.*s/%.*s",
	    STR_FMT(user), STR_FMT(r->item->id)));
}

static void
fill_topics(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *v = json_member(r->item->json, c->at);
	struct str text = json_text(v);

	if (text.p == NULL) {
		row_lacks(r, c->at);
		return;
	}
	buf_clear(r->scratch);
	weibo_put_topics(text, r->arena, r->scratch);
	cell_scratch(r, cell);
}

/* Link number `n` of a text, from 1. */
static bool
find_link(struct str text, int n, struct str *link)
{
	while (n > 0 && weibo_take_link(&text, link))
		n--;
	return n == 0;
}

static void
fill_link(struct row *r, const struct column *c, struct cell *cell)
{
	struct str text = json_text(json_member(r->item->json, "text")),
	    link;

	cell_text(cell, find_link(text, c->at[0] - '0', &link) ? link :
	    STR(""));
}

/* Without a retweet the row ends here, and so it does without its links. */
static void
fill_retweeted(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *post = json_member(r->item->json, "retweeted_status");

	if (!yyjson_is_obj(post)) {
		cell->type = CELL_END;
		return;
	}
	yyjson_val *text = json_member(post, c->at);
	if (text == NULL)
		row_lacks(r, "retweeted_status.text");
	cell_value(cell, text);
}

static void
fill_retweeted_link(struct row *r, const struct column *c, struct cell *cell)
{
	struct str text = json_text(json_at(r->item->json,
	    "retweeted_status.text")), link;

	if (text.p != NULL && find_link(text, c->at[0] - '0', &link))
		cell_text(cell, link);
	else
		cell->type = CELL_END;
}

static const struct column columns[] = {
	{ "created_at", "when it was posted, with its zone", fill_item_date,
	    "created_at" },
	{ "weibo_id", "the post's number", fill_value_at, "mid" },
	{ "screen_name", "its author's name", fill_value_at,
	    "user.screen_name" },
	{ "followers_count", "how many accounts follow its author",
	    fill_value_at, "user.followers_count" },
	{ "friends_count", "how many accounts its author follows",
	    fill_value_at, "user.friends_count" },
	{ "reposts_count", "how often it was passed on", fill_value_at,
	    "reposts_count" },
	{ "topics", "its topics, a comma and a blank between", fill_topics,
	    "text" },
	{ "in_reply_to_screen_name", "whose post it answers", fill_reply,
	    "in_reply_to_screen_name" },
	{ "weibo_url", "its address", fill_url, "user.idstr" },
	{ "text", "its text", fill_value_at, "text" },
	{ "url1", "the first link in the text", fill_link, "1" },
	{ "url2", "the second link", fill_link, "2" },
	{ "retweeted_text", "the text of the post that it passes on",
	    fill_retweeted, "text" },
	{ "retweeted_url1", "the first link there", fill_retweeted_link,
	    "1" },
	{ "retweeted_url2", "the second link there", fill_retweeted_link,
	    "2" },
};
static const struct item_table table = {
	.dialect = TABLE_PETL,
	.columns = columns,
	.columns_n = ARRAY_LEN(columns),
};

const struct connector_items weibo_items = {
	.label = "weibos",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = recognises,
	.each = each,
	.table = &table,
};

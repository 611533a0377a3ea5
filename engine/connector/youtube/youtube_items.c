#include "engine/connector/youtube/youtube_items.h"

#include "base/json.h"
#include "engine/connector/item_json.h"

#define API "https://www.googleapis.com/youtube/v3/"

/* "videos" of API "videos?part=..."; empty: another address. */
static struct str
call_of(struct str uri)
{
	struct str api = STR(API);

	if (!str_starts(uri, api))
		return STR("");
	uri = str_from(uri, api.n);
	return str_cut(uri, 0, str_find_char(uri, '?'));
}

static bool
is_videos(struct str uri, struct str content_type)
{
	(void)content_type;
	return str_eq(call_of(uri), STR("videos"));
}

static bool
is_comments(struct str uri, struct str content_type)
{
	struct str call = call_of(uri);

	(void)content_type;
	return str_eq(call, STR("commentThreads")) ||
	    str_eq(call, STR("comments"));
}

yyjson_val *
youtube_comment(yyjson_val *item)
{
	yyjson_val *top = json_at(item, "snippet.topLevelComment");

	return top != NULL ? top : item;
}

static enum err
give_item(const struct connector_items *of, yyjson_val *v, yyjson_val *within,
    bool repaired, item_fn *fn, void *arg, struct why *w)
{
	bool is_video = of == &youtube_video_items;
	yyjson_val *inner = is_video ? v : youtube_comment(v);
	struct item i = { .of = of, .kind = ITEM_FOUND, .json = v,
		.within = within, .repaired = repaired,
		.id = json_text(json_member(inner, "id")),
		.owner = json_text(json_at(inner, is_video ?
		    "snippet.channelId" : "snippet.authorChannelId.value")) };

	if (i.id.n == 0) {
		i.kind = ITEM_BROKEN;
		i.lacks = "id";
	}
	(void)item_date_parse(json_text(json_at(inner,
	    "snippet.publishedAt")), &i.date);
	return fn(arg, &i, w);
}

/* Replies that came with a thread follow it. */
static enum err
give_replies(const struct connector_items *of, yyjson_val *thread,
    item_fn *fn, void *arg, struct why *w)
{
	yyjson_val *list = json_at(thread, "replies.comments"), *reply;
	size_t i, n;

	yyjson_arr_foreach(list, i, n, reply) {
		enum err e = give_item(of, reply, thread, false, fn, arg, w);
		if (e != OK)
			return e;
	}
	return OK;
}

/* An error has no `items`. */
static enum err
each(const struct connector_items *of, const struct item_text *t,
    struct arena *a, item_fn *fn, void *arg, struct why *w)
{
	struct item_json j;
	yyjson_val *v;
	size_t i, n;
	enum err e = item_json_parse(t->text, a, &j, w);

	if (e != OK)
		return e;
	yyjson_val *list = json_member(j.root, "items");
	yyjson_arr_foreach(list, i, n, v) {
		e = give_item(of, v, NULL, j.repaired && i == 0, fn, arg, w);
		if (e == OK)
			e = give_replies(of, v, fn, arg, w);
		if (e != OK)
			return e;
	}
	return OK;
}

const struct connector_items youtube_video_items = {
	.label = "youtube videos",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = is_videos,
	.each = each,
	.table = &youtube_video_table,
};
const struct connector_items youtube_comment_items = {
	.label = "youtube comments",
	.framing = ITEM_FRAMING_DOCUMENT,
	.recognises = is_comments,
	.each = each,
	.table = &youtube_comment_table,
};

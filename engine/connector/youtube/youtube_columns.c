/* The tables of videos and of comments. */
#include "base/json.h"
#include "engine/connector/youtube/youtube_items.h"

enum { INNER };

static void
prepare(struct row *r)
{
	r->part[INNER] = youtube_comment(r->item->json);
}

static void
fill_value(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_at(r->part[INNER], c->at));
}

static void
fill_line(struct row *r, const struct column *c, struct cell *cell)
{
	cell_line(r, json_at(r->part[INNER], c->at), true, cell);
}

static void
fill_date(struct row *r, const struct column *c, struct cell *cell)
{
	if (item_date_parse(json_text(json_at(r->part[INNER], c->at)),
	    &cell->date))
		cell->type = CELL_DATE;
	else
		row_lacks(r, c->at);
}

static void
fill_list(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *list = json_at(r->part[INNER], c->at), *v;
	size_t i, n;

	buf_clear(r->scratch);
	yyjson_arr_foreach(list, i, n, v) {
		if (i > 0)
			buf_put_text(r->scratch, ", ");
		buf_put_str(r->scratch, json_text(v));
	}
	cell_scratch(r, cell);
}

static void
fill_video_url(struct row *r, const struct column *c, struct cell *cell)
{
	(void)c;
	cell_text(cell, arena_printf(r->arena,
	    "https://www.youtube.com/watch?v=%.*s", STR_FMT(r->item->id)));
}

/*
 * The video that a comment is on.  Since November 2023 a comment may leave it
 * out, but its thread names it.  Answers of comments.list have no thread.
 */
static yyjson_val *
video_of(struct row *r, const char *at)
{
	yyjson_val *const places[] = { r->part[INNER], r->item->json,
		r->item->within };

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (yyjson_is_str(json_at(places[i], at)))
			return json_at(places[i], at);
	return NULL;
}

static void
fill_video(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, video_of(r, c->at));
}

static void
fill_comment_url(struct row *r, const struct column *c, struct cell *cell)
{
	struct str video = json_text(video_of(r, c->at));

	if (video.n > 0)
		cell_text(cell, arena_printf(r->arena,
		    "https://www.youtube.com/watch?v=%.*s&lc=%.*s",
		    STR_FMT(video), STR_FMT(r->item->id)));
}

/* As it was written; an answer may have the shown form alone. */
static void
fill_text(struct row *r, const struct column *c, struct cell *cell)
{
	yyjson_val *v = json_at(r->part[INNER], "snippet.textOriginal");

	if (!yyjson_is_str(v))
		v = json_at(r->part[INNER], c->at);
	if (v == NULL)
		row_lacks(r, c->at);
	cell_line(r, v, true, cell);
}

/* A thread's member; a reply has none. */
static void
fill_thread(struct row *r, const struct column *c, struct cell *cell)
{
	cell_value(cell, json_at(r->item->json, c->at));
}

static const struct column video_columns[] = {
	{ "video_id", "the video's id", fill_value, "id" },
	{ "url", "its address", fill_video_url, NULL },
	{ "channel_id", "its channel's id", fill_value,
	    "snippet.channelId" },
	{ "channel_title", "its channel's name", fill_line,
	    "snippet.channelTitle" },
	{ "title", "its title", fill_line, "snippet.title" },
	{ "description", "its description; line ends are blanks", fill_line,
	    "snippet.description" },
	{ "published_at", "when it was published, in UTC", fill_date,
	    "snippet.publishedAt" },
	{ "duration", "how long it is, as ISO 8601: PT1M30S", fill_value,
	    "contentDetails.duration" },
	{ "tags", "its tags, a comma and a blank between", fill_list,
	    "snippet.tags" },
	{ "category_id", "the number of its category", fill_value,
	    "snippet.categoryId" },
	{ "default_language", "the language of title and description",
	    fill_value, "snippet.defaultLanguage" },
	{ "live_broadcast_content", "none, upcoming or live", fill_value,
	    "snippet.liveBroadcastContent" },
	{ "view_count", "how often it was seen", fill_value,
	    "statistics.viewCount" },
	{ "like_count", "how many like it", fill_value,
	    "statistics.likeCount" },
	{ "comment_count", "how many comments it has", fill_value,
	    "statistics.commentCount" },
	{ "privacy_status", "public, unlisted or private", fill_value,
	    "status.privacyStatus" },
	{ "made_for_kids", "whether it is for children", fill_value,
	    "status.madeForKids" },
	{ "topic_categories", "Wikipedia's pages on its topics", fill_list,
	    "topicDetails.topicCategories" },
};
static const struct column comment_columns[] = {
	{ "comment_id", "the comment's id", fill_value, "id" },
	{ "url", "its address, where the video is known", fill_comment_url,
	    "snippet.videoId" },
	{ "video_id", "the video that it is on, where the answer says it",
	    fill_video, "snippet.videoId" },
	{ "parent_id", "the comment that it answers", fill_value,
	    "snippet.parentId" },
	{ "author_channel_id", "the channel of its author", fill_value,
	    "snippet.authorChannelId.value" },
	{ "author_name", "its author's name", fill_line,
	    "snippet.authorDisplayName" },
	{ "text", "its text; line ends are blanks", fill_text,
	    "snippet.textDisplay" },
	{ "published_at", "when it was written, in UTC", fill_date,
	    "snippet.publishedAt" },
	{ "updated_at", "when it was last changed", fill_date,
	    "snippet.updatedAt" },
	{ "like_count", "how many like it", fill_value,
	    "snippet.likeCount" },
	{ "reply_count", "how many replies it has", fill_thread,
	    "snippet.totalReplyCount" },
};

const struct item_table youtube_video_table = {
	.dialect = TABLE_PETL,
	.columns = video_columns,
	.columns_n = ARRAY_LEN(video_columns),
	.prepare = prepare,
};
const struct item_table youtube_comment_table = {
	.dialect = TABLE_PETL,
	.columns = comment_columns,
	.columns_n = ARRAY_LEN(comment_columns),
	.prepare = prepare,
};

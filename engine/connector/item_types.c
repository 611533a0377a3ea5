/* The one list of harvest types and what their answers contain. */
#include "engine/connector/bluesky/bluesky_items.h"
#include "engine/connector/feed/feed_items.h"
#include "engine/connector/flickr/flickr_items.h"
#include "engine/connector/items.h"
#include "engine/connector/json/json_items.h"
#include "engine/connector/mastodon/mastodon_items.h"
#include "engine/connector/tumblr/tumblr_items.h"
#include "engine/connector/twitter/twitter_items.h"
#include "engine/connector/weibo/weibo_items.h"
#include "engine/connector/youtube/youtube_items.h"

/*
 * In the order in which a record is asked about: the first that recognises it
 * has it.  Types of one platform that differ in their calls alone share items.
 */
static const struct item_type types[] = {
	{ "twitter_search", &twitter_rest_items },
	{ "twitter_user_timeline", &twitter_rest_items },
	{ "twitter_filter", &twitter_stream_items },
	{ "twitter_sample", &twitter_stream_items },
	{ "twitter_search_2", &twitter2_rest_items },
	{ "twitter_academic_search", &twitter2_rest_items },
	{ "twitter_user_timeline_2", &twitter2_rest_items },
	{ "twitter_filter_stream", &twitter2_stream_items },
	{ "flickr_user", &flickr_items },
	{ "flickr_photo", &flickr_items },
	{ "tumblr_blog_posts", &tumblr_items },
	{ "weibo_timeline", &weibo_items },
	{ "weibo_search", &weibo_items },
	{ "mastodon_account", &mastodon_items },
	{ "mastodon_hashtag", &mastodon_items },
	{ "mastodon_stream", &mastodon_stream_items },
	{ "bluesky_author_feed", &bluesky_feed_items },
	{ "bluesky_jetstream", &bluesky_jetstream_items },
	{ "feed_entries", &feed_items },
	{ "youtube_channel", &youtube_video_items },
	{ "youtube_comments", &youtube_comment_items },
	{ "json_api", &json_items },
};

const struct item_type *
item_types(size_t *n)
{
	*n = ARRAY_LEN(types);
	return types;
}

const struct connector_items *
item_type_find(struct str type)
{
	size_t i = STR_ROW(type, types);

	return i < ARRAY_LEN(types) ? types[i].items : NULL;
}

const struct connector_items *
item_type_declared(void)
{
	return &json_items;
}

const char *
item_type_name(const struct connector_items *items)
{
	if (items->row != NULL)
		items = items->row;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].items == items)
			return types[i].type;
	return "";
}

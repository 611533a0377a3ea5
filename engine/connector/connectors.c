#include "engine/connector/connectors.h"

#include "engine/connector/bluesky/bluesky.h"
#include "engine/connector/feed/feed.h"
#include "engine/connector/flickr/flickr.h"
#include "engine/connector/json/json_api.h"
#include "engine/connector/mastodon/mastodon.h"
#include "engine/connector/tumblr/tumblr.h"
#include "engine/connector/twitter/twitter.h"
#include "engine/connector/web.h"
#include "engine/connector/weibo/weibo.h"
#include "engine/connector/youtube/youtube.h"

/* By type. */
static const struct connector *const connectors[] = {
	&bluesky_author_feed,
	&bluesky_jetstream,
	&feed_entries,
	&flickr_photo,
	&flickr_user,
	&json_api,
	&mastodon_account,
	&mastodon_hashtag,
	&mastodon_stream,
	&tumblr_blog_posts,
	&twitter_academic_search,
	&twitter_filter,
	&twitter_filter_stream,
	&twitter_sample,
	&twitter_search,
	&twitter_search_2,
	&twitter_user_timeline,
	&twitter_user_timeline_2,
	&web_pages,
	&weibo_search,
	&weibo_timeline,
	&youtube_channel,
	&youtube_comments,
};

const struct connector *
connector_find(struct str type)
{
	for (size_t i = 0; i < ARRAY_LEN(connectors); i++)
		if (str_eq(type, str_of(connectors[i]->type)))
			return connectors[i];
	return NULL;
}

const struct connector *
connector_at(size_t i)
{
	return i < ARRAY_LEN(connectors) ? connectors[i] : NULL;
}

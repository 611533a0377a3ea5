#include "engine/connector/connectors.h"

#include "engine/connector/bluesky/bluesky.h"
#include "engine/connector/feed/feed.h"
#include "engine/connector/mastodon/mastodon.h"

/* By type. */
static const struct connector *const connectors[] = {
	&bluesky_author_feed,
	&bluesky_jetstream,
	&feed_entries,
	&mastodon_account,
	&mastodon_hashtag,
	&mastodon_stream,
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

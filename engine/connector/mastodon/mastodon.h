/*
 * mastodon -- posts of accounts and hashtags, and streams of posts, from a
 * Mastodon instance or a server that speaks its API.
 *
 * Source: contracts/platforms.md §8, https://docs.joinmastodon.org/.
 */
#ifndef ENGINE_CONNECTOR_MASTODON_MASTODON_H
#define ENGINE_CONNECTOR_MASTODON_MASTODON_H

#include "engine/connector/connector.h"

extern const struct connector mastodon_account, mastodon_hashtag,
    mastodon_stream;

#endif

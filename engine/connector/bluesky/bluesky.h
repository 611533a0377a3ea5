/*
 * bluesky -- posts of authors, from the public API of Bluesky.
 *
 * Source: contracts/platforms.md §9; lexicons app.bsky.actor.getProfile and
 * app.bsky.feed.getAuthorFeed of https://github.com/bluesky-social/atproto.
 */
#ifndef ENGINE_CONNECTOR_BLUESKY_BLUESKY_H
#define ENGINE_CONNECTOR_BLUESKY_BLUESKY_H

#include "engine/connector/connector.h"

extern const struct connector bluesky_author_feed;

#endif

/*
 * bluesky -- posts of authors, from Bluesky's public API, and the stream of all
 * posts.
 *
 * Source: contracts/platforms.md §9; lexicons app.bsky.actor.getProfile and
 * app.bsky.feed.getAuthorFeed of https://github.com/bluesky-social/atproto;
 * https://github.com/bluesky-social/jetstream, network.bsky.jetstream.
 */
#ifndef ENGINE_CONNECTOR_BLUESKY_BLUESKY_H
#define ENGINE_CONNECTOR_BLUESKY_BLUESKY_H

#include "engine/connector/connector.h"

extern const struct connector bluesky_author_feed, bluesky_jetstream;

#endif

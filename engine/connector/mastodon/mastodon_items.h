/*
 * mastodon_items -- posts of Mastodon and of servers that speak its API:
 * statuses of accounts and hashtags, one document an answer, and of streams,
 * one event each.
 *
 * Source: contracts/platforms.md section 8, export.md section 5.
 */
#ifndef ENGINE_CONNECTOR_MASTODON_MASTODON_ITEMS_H
#define ENGINE_CONNECTOR_MASTODON_MASTODON_ITEMS_H

#include "engine/connector/items.h"

extern const struct connector_items mastodon_items;
extern const struct connector_items mastodon_stream_items;

#endif

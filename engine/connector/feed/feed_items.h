/*
 * feed_items -- entries of feeds: RSS 0.9x to 2.0, RSS 1.0, Atom 1.0 and JSON
 * Feed.  An item's JSON is made here, with the names of the columns.
 *
 * Source: contracts/platforms.md section 12, export.md section 5; RFC 4287;
 * RSS 2.0.11; RSS 1.0; https://www.jsonfeed.org/version/1.1/.
 */
#ifndef ENGINE_CONNECTOR_FEED_FEED_ITEMS_H
#define ENGINE_CONNECTOR_FEED_FEED_ITEMS_H

#include "engine/connector/items.h"

extern const struct connector_items feed_items;

#endif

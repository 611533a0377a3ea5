/*
 * tumblr_items -- posts of Tumblr blogs.
 *
 * Source: contracts/platforms.md section 6, export.md section 5.
 */
#ifndef ENGINE_CONNECTOR_TUMBLR_TUMBLR_ITEMS_H
#define ENGINE_CONNECTOR_TUMBLR_TUMBLR_ITEMS_H

#include "engine/connector/items.h"

extern const struct connector_items tumblr_items;

#endif

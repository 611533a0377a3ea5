/*
 * twitter_items -- tweets of Twitter's API v1.1: search and user timelines
 * (one document an answer), filter and sample streams (one tweet a line).
 *
 * Source: contracts/platforms.md section 3, export.md section 5.
 */
#ifndef ENGINE_CONNECTOR_TWITTER_TWITTER_ITEMS_H
#define ENGINE_CONNECTOR_TWITTER_TWITTER_ITEMS_H

#include "engine/connector/items.h"

extern const struct connector_items twitter_rest_items;
extern const struct connector_items twitter_stream_items;

/* Of twitter1_columns.c: both have the same table. */
extern const struct item_table twitter1_table;

#endif

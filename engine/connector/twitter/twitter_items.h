/*
 * twitter_items -- tweets of Twitter: of API v1.1 (twitter_), searches and user
 * timelines as one document an answer, filters and samples as one tweet a line;
 * of API v2 (twitter2_) likewise.
 *
 * Source: contracts/platforms.md sections 3 and 4, export.md section 5.
 */
#ifndef ENGINE_CONNECTOR_TWITTER_TWITTER_ITEMS_H
#define ENGINE_CONNECTOR_TWITTER_TWITTER_ITEMS_H

#include "engine/connector/items.h"

extern const struct connector_items twitter_rest_items;
extern const struct connector_items twitter_stream_items;

extern const struct connector_items twitter2_rest_items;
extern const struct connector_items twitter2_stream_items;

/* Of twitter1_columns.c and twitter2_columns.c. */
extern const struct item_table twitter1_table;
extern const struct item_table twitter2_table;

/*
 * Take "https://HOST.twitter.com/" or the same of x.com, its newer name, off a
 * URI; SFM reads the older one alone.  False: it is neither.
 */
bool twitter_take_host(struct str *uri, const char *host);

#endif

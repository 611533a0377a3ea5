/*
 * youtube_items -- videos of YouTube, and comments on them: answers of
 * videos.list, commentThreads.list and comments.list.
 *
 * Source: contracts/platforms.md section 13, export.md section 5.
 */
#ifndef ENGINE_CONNECTOR_YOUTUBE_YOUTUBE_ITEMS_H
#define ENGINE_CONNECTOR_YOUTUBE_YOUTUBE_ITEMS_H

#include "engine/connector/items.h"

extern const struct connector_items youtube_video_items;
extern const struct connector_items youtube_comment_items;

/* Of youtube_columns.c. */
extern const struct item_table youtube_video_table;
extern const struct item_table youtube_comment_table;

/* The comment of an item, which a thread has within. */
yyjson_val *youtube_comment(yyjson_val *item);

#endif

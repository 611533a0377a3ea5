/*
 * bluesky_items -- posts of Bluesky: feeds of authors, one document an answer,
 * and frames of Jetstream, one per line, in both of its protocols.
 *
 * Source: contracts/platforms.md section 9, export.md section 5; lexicons
 * app.bsky.feed.post, app.bsky.richtext.facet and app.bsky.embed.*.
 */
#ifndef ENGINE_CONNECTOR_BLUESKY_BLUESKY_ITEMS_H
#define ENGINE_CONNECTOR_BLUESKY_BLUESKY_ITEMS_H

#include "engine/connector/items.h"

extern const struct connector_items bluesky_feed_items;
extern const struct connector_items bluesky_jetstream_items;

/* Of bluesky_columns.c: both have the same table. */
extern const struct item_table bluesky_table;

/* The frame of a Jetstream message, in either protocol. */
yyjson_val *bluesky_frame(yyjson_val *message);
/* What a commit frame says: did, operation, collection, rkey, record, cid. */
yyjson_val *bluesky_commit(yyjson_val *frame);
/* Whether a frame is of that kind: "commit", "account", "info" ... */
bool bluesky_is_kind(yyjson_val *frame, struct str kind);

#endif

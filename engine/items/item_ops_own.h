/*
 * item_ops_own -- what the files of the mutations share.
 *
 *     item_check.c    ids, tags and JSON, judged
 *     item_ops.c      create, rename, delete, data
 *     item_tags.c     tags
 *     item_alias.c    aliases
 *     item_merge.c    merge
 *     item_result.c   metadata, expiry, results for other items
 *     item_blob.c     blobs
 *     item_mutate.c   a worker's list of mutations
 *     item_json.c     an item as the door writes it
 *
 * Private to these.
 */
#ifndef ENGINE_ITEMS_ITEM_OPS_OWN_H
#define ENGINE_ITEMS_ITEM_OPS_OWN_H

#include <yyjson.h>

#include "base/map.h"
#include "engine/items/item_event.h"
#include "engine/items/item_ops.h"
#include "engine/items/item_store.h"

#define ITEM_NEW_ID_BYTES 26u    /* 48 bits of time, 80 random, in base32 */

/* As item_json_check(), of a value that was read; NULL: it is missing. */
MUST_USE enum err item_json_value(const char *field, yyjson_val *,
    const struct item_limits *, struct arena *a, struct str *out,
    struct why *);
/* RFC 7396.  Both texts are JSON objects; so is `out`. */
MUST_USE enum err item_json_patch(struct str json, struct str patch,
    const struct item_limits *, struct arena *a, struct str *out,
    struct why *);
/* A blob's name, a media type. */
MUST_USE enum err item_blob_check(const struct item_blob *, struct why *);
/* FULL when `n` is more than `most`. */
MUST_USE enum err item_count_check(const char *field, size_t n, int64_t most,
    struct why *);

/* Make the tags of the row: `add` over those it has, without `remove`.  Events
 * of tags when `by` is not NULL. */
MUST_USE enum err item_tags_change(struct item_tx *, const struct item_actor *,
    struct item_row *, const struct item_tag_text *add, size_t add_n,
    const struct str *remove, size_t remove_n, bool *changed, struct why *);
/* Give the item this data, another than its own; it is checked. */
void item_data_put(struct item_tx *, const struct item_actor *,
    struct item_row *, struct str data);
/* Add an alias that nothing uses; its row is loaded. */
MUST_USE enum err item_alias_put(struct item_tx *, const struct item_actor *,
    struct item_row *, struct alias_row *, struct why *);
/* As item_data_set() and item_metadata_set(), of JSON that is checked and is
 * the transaction's. */
MUST_USE enum err item_data_set_checked(struct item_tx *,
    const struct item_actor *, struct str id, struct str data,
    enum item_effect *, struct item_row **, struct why *);
MUST_USE enum err item_metadata_set_checked(struct item_tx *,
    const struct item_actor *, struct str id, struct str task,
    struct str metadata, struct why *);
/* The metadata of any pair but the running one; JSON that is checked, and is
 * the transaction's. */
MUST_USE enum err item_metadata_put(struct item_tx *,
    const struct item_actor *, struct item_row *, struct str task,
    struct str metadata, struct why *);
/* The task by its name, as a number: ABSENT when the configuration has none
 * and nothing was ever stored for it. */
MUST_USE enum err item_task_find(struct item_tx *, struct str name, uint32_t *,
    struct why *);

#endif

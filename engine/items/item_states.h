/*
 * item_states -- items and metadata as a run reads them, with the revisions
 * that its mutations refer to (contracts/items.md §8, /worker/read).
 *
 * Thread: the writer's.
 */
#ifndef ENGINE_ITEMS_ITEM_STATES_H
#define ENGINE_ITEMS_ITEM_STATES_H

#include "engine/items/worklist.h"

#define ITEM_STATES_MAX 1000u        /* of items, and of metadata */

struct item_states {
	const struct str *items;     /* ids or aliases */
	size_t items_n;
	const struct item_state_pair {
		struct str id, task;
	} *metadata;
	size_t metadata_n;
};

/* "items" and "metadata" of that object; both may be missing.  Memory: `a`; the
 * texts are the document's.  Errors: INPUT, naming the field. */
struct yyjson_val;
MUST_USE enum err item_states_read(struct yyjson_val *object, struct arena *a,
    struct item_states *, struct why *);
void item_states_want(struct item_tx *, const struct item_states *);
/* Append `"items":{...},"metadata":[...]`.  What is not there: null. */
MUST_USE enum err item_states_put(struct item_tx *, const struct item_states *,
    struct buf *, struct why *);

#endif

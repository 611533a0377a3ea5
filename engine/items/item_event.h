/*
 * item_event -- what has happened to items and tasks, written in the
 * transaction that it reports (contracts/items.md §9).
 *
 * Thread: the writer's.
 */
#ifndef ENGINE_ITEMS_ITEM_EVENT_H
#define ENGINE_ITEMS_ITEM_EVENT_H

#include "engine/items/item_ops.h"

#define ITEM_EVENTS(X) \
	X(ITEM_NEW, "item.new") X(ITEM_UPDATED, "item.updated") \
	X(ITEM_RENAMED, "item.renamed") X(ITEM_MERGED, "item.merged") \
	X(ITEM_DELETED, "item.deleted") X(ALIAS_NEW, "alias.new") \
	X(ALIAS_DELETED, "alias.deleted") X(TAG_ADDED, "tag.added") \
	X(TAG_REMOVED, "tag.removed") X(METADATA_UPDATED, "metadata.updated") \
	X(BLOB_PUT, "blob.put") X(BLOB_DELETED, "blob.deleted") \
	X(TASK_DONE, "task.done") X(TASK_RETRY, "task.retry") \
	X(TASK_FAILED, "task.failed") X(TASK_UNFAILED, "task.unfailed") \
	X(TASK_EXPIRED, "task.expired") X(TASK_TRIPPED, "task.tripped") \
	X(TASK_PAUSED, "task.paused") X(TASK_RESUMED, "task.resumed") \
	X(CONFIG_LOADED, "config.loaded") \
	X(CONFIG_REWRITTEN, "config.rewritten")
enum item_event_type {
#define ITEM_EVENT_ENUM(name, text) ITEM_EVENT_##name,
	ITEM_EVENTS(ITEM_EVENT_ENUM)
#undef ITEM_EVENT_ENUM
	ITEM_EVENT_COUNT
};

struct item_event {
	enum item_event_type type;
	const struct item_row *item; /* its id and tags; NULL: none */
	struct str id;               /* in place of the item's */
	struct str task;             /* empty: none */
	struct str detail;           /* JSON members, `"to":"y"`; or empty */
	struct str before, after;    /* JSON; a diff is made; p NULL: none */
};
/* Written with item_tx_end(); dropped by item_tx_undo(). */
void item_event_put(struct item_tx *, const struct item_actor *,
    const struct item_event *);

/* A time as the door writes it, "2026-11-20T07:00:00.000Z"; null: NONE. */
void item_json_time(struct buf *, const char *name, struct wall);

/*
 * RFC 6902 from one JSON text to the other, of the operations add, remove and
 * replace; `null` when it would be longer than 16 KiB.
 */
#define ITEM_DIFF_BYTES_MAX (16u << 10)
void item_diff(struct str before, struct str after, struct buf *);

#endif

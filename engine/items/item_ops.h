/*
 * item_ops -- the mutations of items (contracts/items.md §5), each applied to
 * the rows of a transaction; what the door asks directly and what a run queued
 * goes through the same functions.
 *
 * Each appends its events and keeps the pairs of the worklist in step with the
 * item's tags (worklist.h).  Ids resolve through aliases.  On an error the rows
 * may be half changed: the caller goes back to its mark.
 *
 * Thread: the writer's.
 * Errors: INPUT, FULL, naming the field; ABSENT; EXISTS; STATE.
 */
#ifndef ENGINE_ITEMS_ITEM_OPS_H
#define ENGINE_ITEMS_ITEM_OPS_H

#include "engine/items/item_limits.h"
#include "engine/items/item_tx.h"

#define ITEM_EFFECTS(X) \
	X(NEW, "new") X(UPDATED, "updated") X(SKIPPED, "skipped") \
	X(RENAMED, "renamed") X(MERGED, "merged") X(DELETED, "deleted") \
	X(EXPIRED, "expired") X(ALIAS_NEW, "alias_new") \
	X(ALIAS_DELETED, "alias_deleted") X(TAGS, "tags") \
	X(METADATA, "metadata") X(TTL, "ttl") X(COMPLETED, "completed") \
	X(BLOB, "blob") X(BLOB_DELETED, "blob_deleted")
enum item_effect {
#define ITEM_EFFECT_ENUM(name, text) ITEM_##name,
	ITEM_EFFECTS(ITEM_EFFECT_ENUM)
#undef ITEM_EFFECT_ENUM
	ITEM_EFFECT_COUNT
};
const char *item_effect_text(enum item_effect);      /* "new" */

/*
 * On whose behalf: a person's request has no run.  `run_item` is the running
 * item's key; what a run stores about its own pair waits until the run's result
 * is stored (worklist_complete() sets `own`).
 */
struct item_actor {
	struct str task, lease;      /* "by" of events; task empty: a person */
	int64_t run_item;            /* 0: no run */
	struct str run_id;           /* its id, as claimed */
	struct str creator;          /* of new items; p NULL: run_id */
	struct str version;          /* of the task; empty: as configured */
	struct run_result *own;      /* worklist.h; NULL: no run */
};

/* "name" or "name=value". */
struct item_tag_text {
	struct str name, value;      /* value p NULL: none */
};
#define ITEM_TAG_VALUE_BYTES_MAX 1024u
MUST_USE enum err item_tag_check(const struct item_tag_text *, struct why *);
MUST_USE enum err item_tag_read(struct str, struct item_tag_text *,
    struct why *);
MUST_USE enum err item_id_check(const char *field, struct str,
    struct why *);
/* An object of at most data_bytes_max, depth ITEM_JSON_DEPTH_MAX; `*out` is its
 * compact form.  Memory: `a`. */
MUST_USE enum err item_json_check(const char *field, struct str json,
    const struct item_limits *, struct arena *a, struct str *out,
    struct why *);

struct item_create {
	struct str id;               /* empty: one is made */
	struct str data;             /* a JSON object */
	const struct item_tag_text *tags;
	size_t tags_n;
	const struct str *aliases;
	size_t aliases_n;
	struct str created_by;       /* empty: the actor's item */
	bool fail_if_exists, allow_upsert;
	bool merge_data;             /* upsert: RFC 7396 onto the old data */
};
MUST_USE enum err item_create(struct item_tx *, const struct item_actor *,
    const struct item_create *, enum item_effect *, struct item_row **,
    struct why *);
MUST_USE enum err item_rename(struct item_tx *, const struct item_actor *,
    struct str from, struct str to, struct item_row **, struct why *);

struct item_merge {
	struct str from, into;
	bool has_data;
	struct str data;             /* else the data changed last, whole */
	/* Merged metadata by task; tasks not named take the newest row. */
	const struct item_merge_metadata {
		struct str task, metadata;
	} *metadata;
	size_t metadata_n;
};
MUST_USE enum err item_merge(struct item_tx *, const struct item_actor *,
    const struct item_merge *, enum item_effect *, struct item_row **,
    struct why *);
MUST_USE enum err item_delete(struct item_tx *, const struct item_actor *,
    struct str id, struct why *);
MUST_USE enum err item_alias_create(struct item_tx *,
    const struct item_actor *, struct str from, struct str to,
    bool fail_if_exists, enum item_effect *, struct why *);
MUST_USE enum err item_alias_delete(struct item_tx *,
    const struct item_actor *, struct str alias, enum item_effect *,
    struct why *);
MUST_USE enum err item_tags_update(struct item_tx *,
    const struct item_actor *, struct str id, const struct item_tag_text *add,
    size_t add_n, const struct str *remove, size_t remove_n,
    struct item_row **, struct why *);
/* `data`: whole.  UPDATED, or SKIPPED when it is the same. */
MUST_USE enum err item_data_set(struct item_tx *, const struct item_actor *,
    struct str id, struct str data, enum item_effect *, struct item_row **,
    struct why *);
/* RFC 7396 onto the data. */
MUST_USE enum err item_data_patch(struct item_tx *, const struct item_actor *,
    struct str id, struct str patch, enum item_effect *, struct item_row **,
    struct why *);
MUST_USE enum err item_metadata_set(struct item_tx *,
    const struct item_actor *, struct str id, struct str task,
    struct str metadata, struct why *);
/* `not_before` min_interval: of scripts.  `first`: PAIR_DUE_FIRST. */
MUST_USE enum err item_expire(struct item_tx *, const struct item_actor *,
    struct str id, struct str task, bool first, struct why *);
/* us after completed_at; RESULT_TTL_NEVER. */
MUST_USE enum err item_ttl_set(struct item_tx *, const struct item_actor *,
    struct str id, struct str task, int64_t ttl_us, enum item_effect *,
    struct why *);
MUST_USE enum err item_complete_for(struct item_tx *,
    const struct item_actor *, struct str id, struct str metadata,
    bool has_ttl, int64_t ttl_us, enum item_effect *, struct why *);

struct item_blob {
	struct str name, type;
	uint8_t sha256[32];
	struct str bytes;            /* p NULL: stored before under sha256 */
	int64_t size;
};
MUST_USE enum err item_blob_put(struct item_tx *, const struct item_actor *,
    struct str id, const struct item_blob *, struct why *);
MUST_USE enum err item_blob_delete(struct item_tx *,
    const struct item_actor *, struct str id, struct str name,
    enum item_effect *, struct why *);
/* Bytes for a later blob_put; those that no item uses go after a day. */
MUST_USE enum err item_blob_store(struct item_tx *, struct str bytes,
    uint8_t sha256[static 32], struct why *);

/*
 * A mutation as the worker protocol has it (contracts/items.md §8), one element
 * of "mutations": {"op":"updateData","id":"x","rev":7,"data":{}}.  `conflict`:
 * the rev it was computed from is not the item's or result's any more; nothing
 * was changed, and OK is returned.
 */
struct yyjson_val;
struct item_conflict {
	bool any;
	struct str item;             /* or */
	struct str task;             /* of a metadata conflict, with item */
};
MUST_USE enum err item_mutate(struct item_tx *, const struct item_actor *,
    struct yyjson_val *mutation, enum item_effect *, struct item_conflict *,
    struct why *);
/*
 * Judge a run's list before it is applied: deleting an item beside updates of
 * its data or metadata is refused (STATE; `*op` is the index).  A run that
 * deletes its own item passes that item's created_by on: `creator` is set.
 */
MUST_USE enum err item_mutations_check(struct item_tx *, struct item_actor *,
    struct yyjson_val *list, size_t *op, struct why *);
/* Declare the rows that a list of mutations will need. */
void item_mutations_want(struct item_tx *, struct yyjson_val *list);

/* The JSON of an item, contracts/items.md §7: ITEM.  With its aliases. */
MUST_USE enum err item_json(struct item_tx *, struct item_row *, struct buf *,
    struct why *);

#endif

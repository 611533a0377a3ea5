/*
 * item_limits -- the limits of items, in one table.
 *
 * Source: contracts/items.md §7.
 */
#ifndef ENGINE_ITEMS_ITEM_LIMITS_H
#define ENGINE_ITEMS_ITEM_LIMITS_H

#include <stdint.h>

#define ITEM_ID_BYTES_MAX 1024u
#define ITEM_JSON_DEPTH_MAX 64u
#define ITEM_TAG_BYTES_MAX 200u

/*  name                  default        what it bounds */
#define ITEM_LIMITS(X)                                                       \
	X(data_bytes_max,     1 << 20,       "an item's data, metadata")    \
	X(tags_max,           256,           "tags of an item")               \
	X(aliases_max,        1000,          "aliases of an item")            \
	X(blobs_max,          256,           "blobs of an item")              \
	X(blob_bytes_max,     16 << 20,      "a blob")                        \
	X(body_bytes_max,     1 << 20,       "a body, an NDJSON line")      \
	X(complete_bytes_max, 32 << 20,      "the body of /worker/complete")  \
	X(tag_names_max,      10000,         "tag names")                     \
	X(tasks_max,          1000,          "tasks of a configuration")      \
	X(migrations_max,     1000,          "migrations of a configuration") \
	X(event_readers_max,  1000,          "readers of events at a time")   \
	X(claims_max,         1000,          "claims that wait")              \
	X(claim_bytes_max,    16 << 20,      "items and metadata of a claim") \
	X(writes_max,         10000,         "requests that wait to write")   \
	X(reads_max,          1000,          "requests that wait to read")    \
	X(pair_failures_max,  100,           "failures kept of a pair")       \
	X(failure_days,       30,            "handled failures are kept")     \
	X(event_days,         7,             "events are kept")               \
	X(event_bytes_max,    1 << 30,       "events that are kept, together") \
	X(completions_max,    1000,          "completions in a commit")       \
	X(mutations_max,      10000,         "mutations of a run")
struct item_limits {
#define ITEM_LIMIT_FIELD(name, value, help) int64_t name;
	ITEM_LIMITS(ITEM_LIMIT_FIELD)
#undef ITEM_LIMIT_FIELD
};
#define ITEM_LIMIT_VALUE(name, value, help) value,
#define ITEM_LIMITS_DEFAULT \
	((struct item_limits){ ITEM_LIMITS(ITEM_LIMIT_VALUE) })

#endif

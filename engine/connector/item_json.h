/*
 * item_json -- JSON of platforms: read into an arena, and written as Python's
 * json.dumps() writes it, byte for byte.
 *
 * Reading repairs what Python's reader or ours would refuse: bytes that are no
 * UTF-8 become U+FFFD; the escape of a lone surrogate, such as "\ud83d",
 * becomes the three bytes that UTF-8 would have for it, so that it can be
 * written as the same escape again.  Numbers beyond 64 bits keep their digits.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_ITEM_JSON_H
#define ENGINE_CONNECTOR_ITEM_JSON_H

#include <yyjson.h>

#include "base/arena.h"
#include "base/err.h"

/* Deeper values are written as null. */
#define ITEM_JSON_DEPTH_MAX 256

struct item_json {
	yyjson_val *root;
	size_t used;              /* bytes of the text; more may follow */
	bool repaired;            /* bytes that were no UTF-8 */
};
/*
 * Parse the JSON value at the start of a text.  Memory: the arena, which must
 * outlive the value.  Errors: INPUT, naming the place in the text.
 */
MUST_USE enum err item_json_parse(struct str text, struct arena *,
    struct item_json *, struct why *);
/*
 * The values of a text that has one behind the other:
 *
 *     item_json_values_of() ─► while rest.n > 0: item_json_next()
 *
 * Memory: the first value is in the arena that is given; each of the others
 * lives until the next one is read, so that they take no more than the longest.
 */
struct item_json_values {
	struct str rest;          /* not read yet, without space around it */
	struct arena *first;      /* NULL: the first value was read */
	char *copy;               /* of `rest`, from the second value on */
	struct arena kept, value;
};
struct item_json_values item_json_values_of(struct str text, struct arena *);
void item_json_values_free(struct item_json_values *);
/* Errors: as item_json_parse(); nothing more can be read then. */
MUST_USE enum err item_json_next(struct item_json_values *,
    struct item_json *, struct why *);

/* An allocator that takes from an arena and gives nothing back. */
yyjson_alc item_json_arena(struct arena *);

/*
 * Append the value as json.dumps(value) has it: ", " and ": " between, \uXXXX
 * for all that is not ASCII, floats in the shortest form that reads back.
 */
void item_json_put(struct buf *, yyjson_val *);
/* A text, in quotes. */
void item_json_put_text(struct buf *, struct str);
/* A number; also without quotes elsewhere: "10", "1e+16", "0.1". */
void item_json_put_number(struct buf *, yyjson_val *);
/*
 * Append a text as UTF-8 for files that are no JSON: what stands for a lone
 * surrogate becomes U+FFFD.
 */
void item_json_put_utf8(struct buf *, struct str);

#endif

/*
 * schema -- JSON Schema, drafts 6 and 7: is this value what was promised?
 *
 * A schema is compiled once and then checks any number of values.  Schemas and
 * values both come from strangers, so every check has a budget: one that uses
 * it up has found the value invalid, and says why.
 *
 * Thread: a compiled schema is read-only; any number of threads may check by it
 * at the same time.  Limits: SCHEMA_..._MAX, below.
 * Source: JSON Schema draft-06 and draft-07 (core, validation), RFC 6901,
 * RFC 3986.  Story: engine/schema/DESIGN.md
 */
#ifndef ENGINE_SCHEMA_SCHEMA_H
#define ENGINE_SCHEMA_SCHEMA_H

#include "base/err.h"
#include "base/json.h"

/*
 * Limits of a schema: bytes of its compact text, nesting of its subschemas,
 * their number, memory of its compiled patterns.
 */
#define SCHEMA_BYTES_MAX (1024u * 1024)
#define SCHEMA_DEPTH_MAX 128u
#define SCHEMA_SUBSCHEMAS_MAX 20000u
#define SCHEMA_PATTERN_MEMORY_MAX (4u * 1024 * 1024)
/* The least number of a repeat in a pattern: "{1000}", "{1000,}". */
#define SCHEMA_REPEAT_MAX 1000u
/* Significant digits of a "multipleOf". */
#define SCHEMA_MULTIPLE_DIGITS_MAX 18u
/*
 * Limits of a check: how deeply subschemas apply within one another, and its
 * steps.  A step is a subschema that is applied, a member of an object, a value
 * that is compared, an item of a pattern that is tried, or SCHEMA_STEP_BYTES of
 * a text that is read.
 */
#define SCHEMA_CHECK_DEPTH_MAX 512u
#define SCHEMA_CHECK_STEPS_MAX 2000000u
#define SCHEMA_STEP_BYTES 64u
/* Memory for matching one pattern; a match that needs more gives up. */
#define SCHEMA_PATTERN_HEAP_KIB 8192u
/* Longer messages about a value are cut. */
#define SCHEMA_MESSAGE_BYTES_MAX 240u

struct schema;

/*
 * Compile a schema.  `text` is copied; integers of any length are exact if it
 * was read with YYJSON_READ_BIGNUM_AS_RAW.  Without "$schema" it is of draft 7.
 * A "$ref" leads to a place of the same schema, or to the metaschema of either
 * draft; nothing is ever fetched.  schema_free() frees `*out`, which is NULL
 * after an error.
 *
 * Errors: INPUT, with the JSON pointer of the keyword that is wrong in front of
 * the text: another "$schema", a keyword whose value is malformed, a "$ref"
 * that leads nowhere or out of the schema, subschemas that apply themselves to
 * the same value forever.  FULL, when a limit is exceeded.
 */
MUST_USE enum err schema_compile(yyjson_val *text, struct schema **out,
    struct why *);
void schema_free(struct schema **);

/*
 * One fault of a value.  `pointer` is the JSON pointer of the part of the value
 * that is wrong ("" is all of it), `message` a sentence without its subject,
 * such as "must be integer, not string".  Both are valid during the call.
 */
typedef void schema_fault_fn(void *arg, struct str pointer,
    struct str message);

/*
 * Whether the value is valid.  Otherwise calls `fault` for each fault until it
 * was called `most` times; with 0 it may be NULL.  Integers of any length are
 * exact if the value was read with YYJSON_READ_BIGNUM_AS_RAW.  "format" is
 * checked for the names that DESIGN.md lists; others are ignored.
 *
 * A check that exceeds a limit ends with a fault that says so, and the value is
 * not valid.  Memory: a few bytes for each level of nesting and for each
 * property of the schema, 16 for each element of an array with "uniqueItems",
 * and SCHEMA_PATTERN_HEAP_KIB where there are patterns; all is freed.
 */
bool schema_check(const struct schema *, yyjson_val *value, size_t most,
    schema_fault_fn *fault, void *arg);

#endif

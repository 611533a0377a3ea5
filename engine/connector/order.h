/*
 * order -- reads and checks what a harvest is asked for: seeds, options and
 * credential of a start message, by the rows of the connector's table.
 *
 * This is where secrets stay behind: an order names the secret keys that were
 * given, without their values.
 *
 * Thread: any; pure.
 * Source: contracts/harvest.md §3, contracts/platforms.md §1, §2.
 */
#ifndef ENGINE_CONNECTOR_ORDER_H
#define ENGINE_CONNECTOR_ORDER_H

#include "base/arena.h"
#include "engine/connector/connector.h"

#define CONNECTOR_SEED_BYTES_MAX 4096u       /* of an id, a token, a uid */
#define CONNECTOR_KEY_BYTES_MAX 8192u        /* of a credential's value */

/*
 * Read `message`, an object with "seeds", "options", "credentials" and
 * "collection_set", each of which may be absent or null; other members are not
 * looked at.  It was parsed
 * with YYJSON_READ_NUMBER_AS_RAW, so that numbers keep their digits.  `out`
 * refers to it; what is made anew is in `a`.  State is added by the caller.
 * Errors: INPUT, with the field in `w` and in *code either "bad_request" or
 * "credentials_missing".
 */
MUST_USE enum err connector_order_read(const struct connector *,
    yyjson_val *message, struct arena *a, struct connector_order *out,
    const char **code, struct why *w);

/*
 * Values of an object that has been checked by that table; `name` is a row's.
 * Absent are false, `otherwise`, STR_NONE and NULL.
 */
bool connector_param_bool(yyjson_val *object, const char *name);
int64_t connector_param_int(yyjson_val *object, const char *name,
    int64_t otherwise);
struct str connector_param_text(yyjson_val *object, const char *name);
yyjson_val *connector_param_texts(yyjson_val *object, const char *name);

/* Whether that key was given, and its value unless it is secret. */
bool connector_has_key(const struct connector_order *, const char *name);
struct str connector_key_text(const struct connector_order *, const char *name);

/* What an earlier run has left under that key; STR_NONE: nothing. */
struct str connector_state_find(const struct connector_order *, struct str key);

#endif

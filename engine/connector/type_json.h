/*
 * type_json -- what a type of harvests takes, as JSON: for `harvest types`, the
 * realtime door and the forms of the console.
 *
 * Thread: any; pure.
 */
#ifndef ENGINE_CONNECTOR_TYPE_JSON_H
#define ENGINE_CONNECTOR_TYPE_JSON_H

#include "engine/connector/connector.h"

/* Put one object: type, platform, label, title, help, stream, seeds_min,
 * seeds_max, token, uid, fields, options, credential. */
void connector_type_json(const struct connector *, struct buf *);
/* What a value of that type is: "true|false", "number". */
const char *connector_value_name(enum connector_type);

#endif

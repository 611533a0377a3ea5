/*
 * schema_format -- the values of "format" that are checked.
 *
 * Thread: any; pure.
 * Source: JSON Schema validation draft-07 §7.3, and the RFCs that it names.
 */
#ifndef ENGINE_SCHEMA_SCHEMA_FORMAT_H
#define ENGINE_SCHEMA_SCHEMA_FORMAT_H

#include "base/bytes.h"

struct schema_format {
	const char *name;
	bool (*is_valid)(struct str);
	size_t steps;                /* of a check, beside one for each byte */
};

/* NULL: it is not known, and is not checked. */
const struct schema_format *schema_format_find(struct str name);

#endif

/*
 * metadata -- the fields of a call: binary values and grpc-timeout.
 *
 * Names are lower-case.  The value of a field whose name ends in "-bin" is any
 * bytes, and base64 on the wire; others are printable ASCII.
 *
 * Thread: any.  Source: gRPC's doc/PROTOCOL-HTTP2.md.
 */
#ifndef WIRE_GRPC_METADATA_H
#define WIRE_GRPC_METADATA_H

#include "base/arena.h"

struct grpc_field {
	struct str name, value;
};

struct grpc_fields {
	struct grpc_field *all;
	size_t n, cap;
};

/* Append a field whose bytes the caller keeps; the table is from `a`. */
void grpc_fields_add(struct grpc_fields *, struct arena *a, struct str name,
    struct str value);
/* The first of that name; STR_NONE without one. */
struct str grpc_fields_find(const struct grpc_fields *, struct str name);

/* Whether it may be sent: its name, its value, not one of the protocol's. */
bool grpc_field_is_fine(struct str name, struct str value);
/* The value as it stands on the wire, a copy in `a`. */
struct str grpc_value_write(struct arena *a, struct str name,
    struct str value);
/* The value as it was meant, a copy in `a`; false when it is no base64. */
bool grpc_value_read(struct arena *a, struct str name, struct str wire,
    struct str *value);


/* At most 8 digits and a unit, H M S m u n.  False when it is none. */
bool grpc_timeout_read(struct str, int64_t *ns);
/* In the finest unit that has room; rounded up, at least "1n". */
#define GRPC_TIMEOUT_MAX 16
void grpc_timeout_write(int64_t ns, char out[static GRPC_TIMEOUT_MAX]);

#endif

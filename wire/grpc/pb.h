/*
 * pb -- protocol buffers by hand, for the few messages of health checks and
 * reflection, so that this folder needs no generated code.
 *
 * Thread: any.  Source: protobuf.dev, "Encoding".
 */
#ifndef WIRE_GRPC_PB_H
#define WIRE_GRPC_PB_H

#include "base/bytes.h"

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };

struct pb_field {
	uint32_t number;
	enum pb_type type;
	uint64_t value;          /* VARINT */
	struct str bytes;        /* BYTES; borrows from the message */
};
/*
 * The next field; false at the end, and after damage, which sets `bad` of the
 * reader.  Groups, which nobody uses, are damage.
 */
bool pb_next(struct reader *, struct pb_field *);

/* Append a field.  Empty bytes and 0 are written too. */
void pb_put_varint(struct buf *, uint32_t number, uint64_t value);
void pb_put_bytes(struct buf *, uint32_t number, struct str bytes);

#endif

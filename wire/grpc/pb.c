#include "wire/grpc/pb.h"

#define NUMBER_MAX ((1u << 29) - 1)

bool
pb_next(struct reader *r, struct pb_field *f)
{
	if (r->bad || r->n == 0)
		return false;
	uint64_t tag = read_varint(r);
	*f = (struct pb_field){ .number = (uint32_t)(tag >> 3),
	    .type = (enum pb_type)(tag & 7) };
	if (tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
		r->bad = true;
	switch (f->type) {
	case PB_VARINT:
		f->value = read_varint(r);
		break;
	case PB_FIXED64:
		read_bytes(r, 8);
		break;
	case PB_BYTES:
		f->bytes = read_field(r);
		break;
	case PB_FIXED32:
		read_bytes(r, 4);
		break;
	default:
		r->bad = true;
	}
	return !r->bad;
}

static void
put_tag(struct buf *b, uint32_t number, enum pb_type type)
{
	buf_put_varint(b, (uint64_t)number << 3 | type);
}

void
pb_put_varint(struct buf *b, uint32_t number, uint64_t value)
{
	put_tag(b, number, PB_VARINT);
	buf_put_varint(b, value);
}

void
pb_put_bytes(struct buf *b, uint32_t number, struct str bytes)
{
	put_tag(b, number, PB_BYTES);
	buf_put_field(b, bytes);
}

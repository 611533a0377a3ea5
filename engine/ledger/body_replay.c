/*
 * Bodies of groups into the index.  At a start those of many groups are sorted
 * together: what the log has after a checkpoint are some 100,000 URLs.
 */
#include "engine/ledger/group.h"

/* Bytes of bodies that are sorted together. */
#define CHUNK_BYTES ((size_t)4 << 20)

void
body_replay_begin(struct body_replay *r, struct index *x)
{
	*r = (struct body_replay){ .index = x, .batch = index_batch_new() };
}

void
body_replay_end(struct body_replay *r)
{
	index_batch_free(&r->batch);
	op_order_free(&r->order);
	buf_free(&r->bytes);
}

/* False: no such operation. */
static bool
take_op(struct body_replay *r, uint8_t op, uint8_t kind, struct str one,
    struct str two)
{
	if (op == OP_NOTE) {
		if (r->note != NULL)
			r->note(r->arg, kind, one);
		return true;
	}
	if (kind >= INDEX_FAMILIES)
		return false;
	switch (op) {
	case OP_PUT:
		op_order_put(&r->order, kind, one, two);
		return true;
	case OP_DELETE:
		op_order_delete(&r->order, kind, one);
		return true;
	case OP_DELETE_RANGE:
		/* It stays behind what came before it. */
		op_order_write(&r->order, r->index, r->batch);
		index_delete_range(r->index, r->batch, kind, one, two);
		return true;
	default:
		return false;
	}
}

static enum err
take_ops(struct body_replay *r, struct str body, struct why *w)
{
	struct reader in = reader_of(body);

	while (in.n > 0 && !in.bad) {
		uint8_t op = read_u8(&in), kind = read_u8(&in);
		struct str one = read_field(&in), two = STR_NONE;
		if (op == OP_PUT || op == OP_DELETE_RANGE)
			two = read_field(&in);
		if (in.bad || !take_op(r, op, kind, one, two))
			break;
	}
	if (in.n == 0 && !in.bad)
		return OK;
	r->order.n = 0;
	return why(w, ERR_NEWER, "a group of the commit log was written by a "
	    "newer version of argiope; use that version");
}

enum err
body_replay_rest(struct body_replay *r, struct why *w)
{
	op_order_write(&r->order, r->index, r->batch);
	buf_clear(&r->bytes);
	return index_write(r->index, r->batch, w);
}

enum err
body_replay_now(struct body_replay *r, struct str body, struct why *w)
{
	enum err e = take_ops(r, body, w);

	return e == OK ? body_replay_rest(r, w) : e;
}

/* The bytes do not move while operations borrow them. */
enum err
body_replay_later(struct body_replay *r, struct str body, struct why *w)
{
	enum err e = OK;

	if (r->bytes.n > 0 && r->bytes.n + body.n > r->bytes.cap)
		e = body_replay_rest(r, w);
	if (r->bytes.n == 0)
		buf_reserve(&r->bytes, MAX(CHUNK_BYTES, body.n));
	struct str copy = { r->bytes.p + r->bytes.n, body.n };
	buf_put_str(&r->bytes, body);
	return e == OK ? take_ops(r, copy, w) : e;
}

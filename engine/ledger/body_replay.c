/*
 * Bodies of groups into the index.  At a start those of many groups are one
 * batch: what the log has after a checkpoint are some 100,000 URLs.
 */
#include "engine/ledger/group.h"

/* Bytes of bodies in one batch. */
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
		index_put(r->index, r->batch, kind, one, two);
		return true;
	case OP_DELETE:
		index_delete(r->index, r->batch, kind, one);
		return true;
	case OP_DELETE_RANGE:
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
	index_batch_clear(r->batch);
	return why(w, ERR_NEWER, "a group of the commit log was written by a "
	    "newer version of argiope; use that version");
}

enum err
body_replay_rest(struct body_replay *r, struct why *w)
{
	r->bytes = 0;
	return index_write(r->index, r->batch, w);
}

enum err
body_replay_now(struct body_replay *r, struct str body, struct why *w)
{
	enum err e = take_ops(r, body, w);

	return e == OK ? body_replay_rest(r, w) : e;
}

enum err
body_replay_later(struct body_replay *r, struct str body, struct why *w)
{
	enum err e = take_ops(r, body, w);

	r->bytes += body.n;
	return e == OK && r->bytes >= CHUNK_BYTES ? body_replay_rest(r, w) : e;
}

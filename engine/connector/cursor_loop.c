#include "engine/connector/cursor_loop.h"

#include "base/hash.h"

bool
cursor_loop_closes(struct cursor_loop *l, struct str cursor)
{
	uint64_t hash = hash_bytes(cursor, 0);
	bool closes = l->pages > 0 && (hash == l->last || hash == l->mark);

	l->last = hash;
	if (l->pages++ >= l->mark_at) {
		l->mark = hash;
		l->mark_at = 2 * l->pages;
	}
	return closes;
}

void
cursor_loop_save(const struct cursor_loop *l, struct buf *out)
{
	buf_put_be64(out, l->last);
	buf_put_be64(out, l->mark);
	buf_put_varint(out, l->pages);
	buf_put_varint(out, l->mark_at);
}

void
cursor_loop_read(struct cursor_loop *l, struct reader *r)
{
	l->last = read_be64(r);
	l->mark = read_be64(r);
	l->pages = read_varint(r);
	l->mark_at = read_varint(r);
}

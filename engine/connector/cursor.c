#include "engine/connector/cursor.h"

static void
set(struct buf *b, struct str text)
{
	buf_clear(b);
	buf_put_str(b, text);
}

void
cursor_free(struct cursor *c)
{
	buf_free(&c->at);
	buf_free(&c->kept);
}

void
cursor_begin(struct cursor *c)
{
	buf_clear(&c->at);
	buf_clear(&c->kept);
	c->steps = c->steps_max = 0;
}

bool
cursor_move(struct cursor *c, struct str next)
{
	if (next.n == 0 || next.n > CURSOR_BYTES_MAX ||
	    str_eq(next, buf_str(&c->kept)) || str_eq(next, buf_str(&c->at)))
		return false;
	set(&c->at, next);
	if (++c->steps > c->steps_max) {
		set(&c->kept, next);
		c->steps = 0;
		c->steps_max = 2 * c->steps_max + 1;
	}
	return true;
}

void
cursor_save(const struct cursor *c, struct buf *out)
{
	buf_put_field(out, buf_str(&c->at));
	buf_put_field(out, buf_str(&c->kept));
	buf_put_varint(out, c->steps);
	buf_put_varint(out, c->steps_max);
}

bool
cursor_load(struct cursor *c, struct reader *r)
{
	struct str at = read_field(r), kept = read_field(r);

	c->steps = read_varint(r);
	c->steps_max = read_varint(r);
	if (r->bad || at.n > CURSOR_BYTES_MAX || kept.n > CURSOR_BYTES_MAX ||
	    c->steps > c->steps_max || c->steps_max > UINT64_MAX / 4)
		return false;
	set(&c->at, at);
	set(&c->kept, kept);
	return true;
}

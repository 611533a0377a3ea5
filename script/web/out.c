#include "script/web/out.h"

#define FIRST_BYTES 256u

void
out_free(struct out *o)
{
	js_free_rt(o->rt, o->p);
	*o = OUT_OF(o->rt);
}

bool
out_room(struct out *o, size_t n)
{
	if (o->cap - o->n >= n)
		return !o->full;
	if (o->full || n > SIZE_MAX / 4)
		return false;
	size_t cap = MAX(MAX(o->n + n, o->cap * 2), FIRST_BYTES);
	char *p = js_realloc_rt(o->rt, o->p, cap);
	if (p == NULL) {
		/* Doubling may be too much where what is needed is not. */
		cap = o->n + n;
		p = js_realloc_rt(o->rt, o->p, cap);
	}
	if (p == NULL) {
		o->full = true;
		return false;
	}
	o->p = p;
	o->cap = cap;
	return true;
}

void
out_put(struct out *o, const void *from, size_t n)
{
	if (n == 0 || !out_room(o, n))
		return;
	memcpy(o->p + o->n, from, n);
	o->n += n;
}

void
out_str(struct out *o, struct str s)
{
	out_put(o, s.p, s.n);
}

void
out_char(struct out *o, char c)
{
	out_put(o, &c, 1);
}

void
out_point(struct out *o, uint32_t c)
{
	unsigned char b[4];

	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x80) {
		b[0] = (unsigned char)c;
		out_put(o, b, 1);
	} else if (c < 0x800) {
		b[0] = (unsigned char)(0xc0 | c >> 6);
		b[1] = (unsigned char)(0x80 | (c & 0x3f));
		out_put(o, b, 2);
	} else if (c < 0x10000) {
		b[0] = (unsigned char)(0xe0 | c >> 12);
		b[1] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		b[2] = (unsigned char)(0x80 | (c & 0x3f));
		out_put(o, b, 3);
	} else {
		b[0] = (unsigned char)(0xf0 | c >> 18);
		b[1] = (unsigned char)(0x80 | (c >> 12 & 0x3f));
		b[2] = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		b[3] = (unsigned char)(0x80 | (c & 0x3f));
		out_put(o, b, 4);
	}
}

struct str
out_text(const struct out *o)
{
	return o->n == 0 ? STR("") : (struct str){ o->p, o->n };
}

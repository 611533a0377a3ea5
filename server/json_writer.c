#include "server/json_writer.h"

#include <math.h>

#include "base/text.h"

void
out_comma(struct buf *b)
{
	if (b->n > 0 && strchr("{[:,", b->p[b->n - 1]) == NULL)
		buf_put_char(b, ',');
}

void
out_name(struct buf *b, const char *name)
{
	out_comma(b);
	buf_put_char(b, '"');
	buf_put_text(b, name);
	buf_put_str(b, STR("\":"));
}

void
out_text(struct buf *b, const char *name, struct str s)
{
	out_name(b, name);
	text_json(b, s);
}

void
out_u64(struct buf *b, const char *name, uint64_t v)
{
	out_name(b, name);
	buf_printf(b, "%llu", (unsigned long long)v);
}

void
out_real(struct buf *b, const char *name, double v)
{
	out_name(b, name);
	if (!isfinite(v)) {
		buf_put_str(b, STR("null"));
		return;
	}
	buf_printf(b, "%.6f", v);
	while (b->p[b->n - 1] == '0')
		b->n--;
	if (b->p[b->n - 1] == '.')
		b->n--;
}

void
out_bool(struct buf *b, const char *name, bool v)
{
	out_name(b, name);
	buf_put_text(b, v ? "true" : "false");
}

void
out_null(struct buf *b, const char *name)
{
	out_name(b, name);
	buf_put_str(b, STR("null"));
}

void
out_texts(struct buf *b, const char *name, const struct str *s, size_t n)
{
	out_name(b, name);
	buf_put_char(b, '[');
	for (size_t i = 0; i < n; i++) {
		out_comma(b);
		text_json(b, s[i]);
	}
	buf_put_char(b, ']');
}

void
out_time(struct buf *b, const char *name, struct wall t)
{
	if (t.us <= 0 || t.us == INT64_MAX) {
		out_null(b, name);
		return;
	}
	out_name(b, name);
	buf_printf(b, "%lld.%06lld", (long long)(t.us / US_PER_S),
	    (long long)(t.us % US_PER_S));
}

#include "base/json_writer.h"

#include <math.h>

#include "base/text.h"

void
json_comma(struct buf *b)
{
	if (b->n == 0)
		return;
	switch (b->p[b->n - 1]) {
	case '{': case '[': case ':': case ',': case '\n':
		return;
	}
	buf_put_char(b, ',');
}

void
json_name(struct buf *b, const char *name)
{
	json_comma(b);
	buf_put_char(b, '"');
	buf_put_text(b, name);
	buf_put_str(b, STR("\":"));
}

static void
begin(struct buf *b, const char *name, char bracket)
{
	if (name != NULL)
		json_name(b, name);
	else
		json_comma(b);
	buf_put_char(b, bracket);
}

void
json_object(struct buf *b, const char *name)
{
	begin(b, name, '{');
}

void
json_array(struct buf *b, const char *name)
{
	begin(b, name, '[');
}

void
json_str(struct buf *b, const char *name, struct str s)
{
	json_name(b, name);
	text_json(b, s);
}

void
json_u64(struct buf *b, const char *name, uint64_t v)
{
	json_name(b, name);
	buf_put_decimal(b, v, 1);
}

void
json_real(struct buf *b, const char *name, double v)
{
	json_name(b, name);
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
json_decimals(struct buf *b, const char *name, double v, int decimals)
{
	json_name(b, name);
	buf_printf(b, "%.*f", decimals, v);
}

void
json_bool(struct buf *b, const char *name, bool v)
{
	json_raw(b, name, v ? STR("true") : STR("false"));
}

void
json_null(struct buf *b, const char *name)
{
	json_raw(b, name, STR("null"));
}

void
json_raw(struct buf *b, const char *name, struct str json)
{
	json_name(b, name);
	buf_put_str(b, json);
}

void
json_strs(struct buf *b, const char *name, const struct str *s, size_t n)
{
	json_array(b, name);
	for (size_t i = 0; i < n; i++)
		json_item(b, s[i]);
	buf_put_char(b, ']');
}

void
json_item(struct buf *b, struct str s)
{
	json_comma(b);
	text_json(b, s);
}

void
json_time(struct buf *b, const char *name, struct wall t)
{
	if (t.us <= 0 || t.us == INT64_MAX) {
		json_null(b, name);
		return;
	}
	json_name(b, name);
	buf_printf(b, "%lld.%06lld", (long long)(t.us / US_PER_S),
	    (long long)(t.us % US_PER_S));
}

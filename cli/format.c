#include "cli/format.h"

#include "base/json_writer.h"

const char *
format_count(uint64_t n, char out[static FORMAT_MAX])
{
	char digits[FORMAT_MAX];
	int len = snprintf(digits, sizeof(digits), "%llu",
	    (unsigned long long)n);
	int at = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

const char *
format_bytes(uint64_t n, char out[static FORMAT_MAX])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB",
	    "PB" };
	double v = (double)n;
	size_t unit = 0;

	while (v >= 999.95 && unit + 1 < ARRAY_LEN(units)) {
		v /= 1000;
		unit++;
	}
	snprintf(out, FORMAT_MAX, unit == 0 ? "%.0f %s" : "%.1f %s", v,
	    units[unit]);
	return out;
}

const char *
format_rate(double v, char out[static FORMAT_MAX])
{
	if (v >= 99.95)
		return format_count((uint64_t)(v + 0.5), out);
	snprintf(out, FORMAT_MAX, "%.1f", v);
	return out;
}

void
format_safe(struct buf *b, struct str s, size_t max)
{
	for (size_t i = 0; i < s.n && i < max; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c >= 0x20 && c < 0x7f)
			buf_put_char(b, (char)c);
		else
			buf_printf(b, "\\x%02x", c);
	}
	if (s.n > max)
		buf_put_text(b, "...");
}

const char *
format_text(struct arena *a, struct str s, size_t max)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	format_safe(&b, s, max);
	return arena_copy(a, buf_str(&b)).p;
}

void
format_lines(struct buf *b, struct str text, const char *indent)
{
	struct str line;

	while (str_split(&text, '\n', &line)) {
		if (line.n == 0)
			continue;
		buf_put_text(b, indent);
		format_safe(b, line, SIZE_MAX);
		buf_put_char(b, '\n');
	}
}

void
format_json_time(struct buf *b, const char *name, struct wall t)
{
	char iso[WALL_ISO_MAX];

	wall_to_iso(t, iso);
	json_str(b, name, str_of(iso));
}

void
format_shell(struct buf *b, const char *word)
{
	bool plain = word[0] != '\0';

	for (const char *p = word; *p != '\0'; p++)
		if (!ascii_is_alpha(*p) && !ascii_is_digit(*p) &&
		    !str_has_char(STR("-_./:=@%+,"), *p))
			plain = false;
	if (plain) {
		buf_put_text(b, word);
		return;
	}
	buf_put_char(b, '\'');
	for (const char *p = word; *p != '\0'; p++) {
		if (*p == '\'')
			buf_put_text(b, "'\\''");
		else
			buf_put_char(b, *p);
	}
	buf_put_char(b, '\'');
}

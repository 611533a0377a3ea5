#include "base/text.h"

static void
blanks(struct buf *b, size_t n)
{
	while (n-- > 0)
		buf_put_char(b, ' ');
}

static size_t
begin_line(struct buf *b, size_t indent, const char *prefix)
{
	if (prefix != NULL) {
		buf_put_text(b, prefix);
		return strlen(prefix);
	}
	blanks(b, indent);
	return indent;
}

void
text_wrap(struct buf *b, struct str words, size_t indent, const char *prefix,
    size_t column)
{
	struct str word;
	bool first = true;

	if (column == 0)
		column = begin_line(b, indent, prefix);
	while (str_split(&words, ' ', &word)) {
		if (word.n == 0)
			continue;
		if (!first && column + 1 + word.n > TEXT_COLUMNS - 1) {
			buf_put_char(b, '\n');
			column = begin_line(b, indent, prefix);
			first = true;
		}
		if (!first)
			buf_put_char(b, ' ');
		buf_put_str(b, word);
		column += word.n + !first;
		first = false;
	}
	buf_put_char(b, '\n');
}

void
text_row(struct buf *b, struct str left, size_t tab, struct str words)
{
	size_t column = 2 + left.n;

	blanks(b, 2);
	buf_put_str(b, left);
	if (column + 2 > tab) {
		buf_put_char(b, '\n');
		column = 0;
	}
	blanks(b, tab - column);
	text_wrap(b, words, tab, NULL, tab);
}

void
text_troff(struct buf *b, struct str s)
{
	bool line_start = true;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		/* A line that begins so would be a request. */
		if (line_start && (c == '.' || c == '\''))
			buf_put_text(b, "\\&");
		if (c == '\\')
			buf_put_text(b, "\\e");
		else if (c == '-')
			buf_put_text(b, "\\-");
		else
			buf_put_char(b, c);
		line_start = c == '\n';
	}
}

size_t
text_utf8_length(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	unsigned char low = 0x80, high = 0xbf;
	size_t n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		n = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		n = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (n > s.n || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

bool
text_is_token(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alpha(s.p[i]) && !ascii_is_digit(s.p[i]) &&
		    !str_has_char(STR("!#$%&'*+-.^_`|~"), s.p[i]))
			return false;
	return s.n > 0;
}

struct str
text_product_token(struct str user_agent)
{
	size_t n = 0;

	while (n < user_agent.n && (ascii_is_alpha(user_agent.p[n]) ||
	    user_agent.p[n] == '_' || user_agent.p[n] == '-'))
		n++;
	bool ends = n == user_agent.n || user_agent.p[n] == '/' ||
	    user_agent.p[n] == ' ' || user_agent.p[n] == '\t';
	return str_cut(user_agent, 0, ends ? n : 0);
}

bool
text_has_control(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return true;
	return false;
}

bool
text_is_field_value(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

bool
text_is_utf8(struct str s)
{
	uint64_t eight;

	while (s.n > 0) {
		size_t n = 8;
		if (s.n >= n)
			memcpy(&eight, s.p, n);
		/* Mostly it is ASCII. */
		if (s.n < n || (eight & UINT64_C(0x8080808080808080)) != 0)
			n = text_utf8_length(s);
		if (n == 0)
			return false;
		s.p += n;
		s.n -= n;
	}
	return true;
}

/* Stands in a JSON string as it is. */
static bool
is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* Eight of them, whose order does not matter. */
static bool
are_plain(uint64_t eight)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	const uint64_t quote = eight ^ each * '"';
	const uint64_t backslash = eight ^ each * '\\';
	const uint64_t del = eight ^ each * 0x7f;

	/* A difference below zero sets the high bit of its byte; so does the
	 * borrow from it in the next one, but then there is one anyway. */
	return (((eight - each * 0x20) | ((quote - each) & ~quote) |
	    ((backslash - each) & ~backslash) | ((del - each) & ~del) |
	    eight) & each * 0x80) == 0;
}

/* Bytes from the start of `s` that stand in a JSON string as they are. */
static size_t
plain_run(struct str s)
{
	size_t i = 0;
	uint64_t eight;

	for (; s.n - i >= sizeof(eight); i += sizeof(eight)) {
		memcpy(&eight, s.p + i, sizeof(eight));
		if (!are_plain(eight))
			break;
	}
	while (i < s.n && is_plain((unsigned char)s.p[i]))
		i++;
	return i;
}

/* The character at the start of `s`, which is no plain one; its length. */
static size_t
put_json_char(struct buf *b, struct str s, bool latin1)
{
	unsigned char c = (unsigned char)s.p[0];
	size_t n = text_utf8_length(s);

	if (n == 0 && latin1)
		buf_printf(b, "\\u00%02x", c);
	else if (n == 0)
		buf_put_text(b, "\\ufffd");
	else if (c == '"' || c == '\\')
		buf_printf(b, "\\%c", c);
	else if (c < 0x20 || c == 0x7f)
		buf_printf(b, "\\u%04x", c);
	else
		buf_put_str(b, str_cut(s, 0, n));
	return MAX(n, 1);
}

static void
put_json(struct buf *b, struct str s, bool latin1)
{
	buf_put_char(b, '"');
	while (s.n > 0) {
		size_t n = plain_run(s);
		if (n > 0)
			buf_put(b, s.p, n);
		else
			n = put_json_char(b, s, latin1);
		s = str_from(s, n);
	}
	buf_put_char(b, '"');
}

void
text_json(struct buf *b, struct str s)
{
	put_json(b, s, false);
}

void
text_json_latin1(struct buf *b, struct str s)
{
	put_json(b, s, true);
}

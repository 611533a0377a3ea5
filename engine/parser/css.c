#include "engine/parser/css.h"

#include <lexbor/encoding/encoding.h>

/* `s` is the rest of the style; what is read is cut off its front. */
struct scan {
	struct str s;
	struct arena *a;
	css_found *found;
	void *ctx;
	bool stop;
};

static void
skip(struct scan *c, size_t n)
{
	c->s = str_from(c->s, n);
}

static bool
is_name_char(char ch)
{
	return ascii_is_alpha(ch) || ascii_is_digit(ch) || ch == '-' ||
	    ch == '_' || (unsigned char)ch >= 0x80;
}

static void
skip_comment(struct scan *c)
{
	skip(c, 2);
	skip(c, str_find(c->s, STR("*/")) + 2);
}

static void
skip_space(struct scan *c)
{
	for (;;) {
		if (c->s.n > 0 && ascii_is_space(c->s.p[0]))
			skip(c, 1);
		else if (str_starts(c->s, STR("/*")))
			skip_comment(c);
		else
			return;
	}
}

static size_t
put_utf8(char *to, uint32_t cp)
{
	if (cp == 0 || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000))
		cp = 0xfffd;
	lxb_char_t *at = (lxb_char_t *)to;
	return (size_t)lxb_encoding_encode_utf_8_single(NULL, &at, at + 4, cp);
}

/* Read the hex digits of an escape at `*i`, and one space behind them. */
static uint32_t
read_hex(struct str s, size_t *i)
{
	uint32_t cp = 0;
	size_t end = MIN(s.n, *i + 6);

	while (*i < end && ascii_hex_value(s.p[*i]) >= 0)
		cp = cp << 4 | (uint32_t)ascii_hex_value(s.p[(*i)++]);
	if (*i + 1 < s.n && s.p[*i] == '\r' && s.p[*i + 1] == '\n')
		(*i)++;
	if (*i < s.n && ascii_is_space(s.p[*i]))
		(*i)++;
	return cp;
}

/*
 * "\26 b" is "&b", "\)" is ")", a backslash before a line break is nothing.
 * One hex digit needs two bytes and may give three, hence the room.
 */
static struct str
unescape(struct str s, struct arena *a)
{
	if (s.n == 0 || memchr(s.p, '\\', s.n) == NULL)
		return s;
	char *out = arena_bytes(a, 2 * s.n + 4);
	size_t n = 0;

	for (size_t i = 0; i < s.n; ) {
		if (s.p[i] != '\\') {
			out[n++] = s.p[i++];
		} else if (++i == s.n) {
			break;
		} else if (ascii_hex_value(s.p[i]) >= 0) {
			n += put_utf8(out + n, read_hex(s, &i));
		} else if (s.p[i] == '\n' || s.p[i] == '\f') {
			i++;
		} else if (s.p[i] == '\r') {
			i += 1 + (i + 1 < s.n && s.p[i + 1] == '\n');
		} else {
			out[n++] = s.p[i++];
		}
	}
	return (struct str){ out, n };
}

/* Read a quoted string; false when its line or the style ends first. */
static bool
read_string(struct scan *c, struct str *out)
{
	char quote = c->s.p[0];
	size_t i = 1;

	while (i < c->s.n && c->s.p[i] != quote && c->s.p[i] != '\n')
		i += c->s.p[i] == '\\' && i + 1 < c->s.n ? 2 : 1;
	bool closed = i < c->s.n && c->s.p[i] == quote;
	*out = str_cut(c->s, 1, i);
	skip(c, i + 1);
	return closed;
}

static void
report(struct scan *c, struct str url, bool import)
{
	url = str_trim(unescape(url, c->a));
	if (url.n != 0 && !c->found(c->ctx, url, import))
		c->stop = true;
}

/* Where the character at `i` ends, be it an escape with its space. */
static size_t
after_char(struct str s, size_t i)
{
	if (s.p[i] != '\\' || ++i == s.n)
		return MIN(i + 1, s.n);
	if (ascii_hex_value(s.p[i]) >= 0) {
		(void)read_hex(s, &i);
		return i;
	}
	return i + 1;
}

/* Reads what follows "url(". */
static void
read_url(struct scan *c, bool import)
{
	struct str url;
	size_t i = 0;

	while (c->s.n > 0 && ascii_is_space(c->s.p[0]))
		skip(c, 1);
	if (c->s.n > 0 && (c->s.p[0] == '"' || c->s.p[0] == '\'')) {
		if (read_string(c, &url))
			report(c, url, import);
		return;
	}
	while (i < c->s.n && c->s.p[i] != ')' && !ascii_is_space(c->s.p[i]) &&
	    c->s.p[i] != '"' && c->s.p[i] != '\'' && c->s.p[i] != '(')
		i = after_char(c->s, i);
	url = str_cut(c->s, 0, i);
	skip(c, i);
	while (c->s.n > 0 && ascii_is_space(c->s.p[0]))
		skip(c, 1);
	/* A quote or bracket inside makes it a bad URL, dropped to its end. */
	if (c->s.n == 0 || c->s.p[0] == ')')
		report(c, url, import);
	else
		skip(c, str_find_char(c->s, ')') + 1);
}

/* Reads what follows "@import". */
static void
read_import(struct scan *c)
{
	struct str url;

	skip_space(c);
	if (c->s.n > 0 && (c->s.p[0] == '"' || c->s.p[0] == '\'')) {
		if (read_string(c, &url))
			report(c, url, true);
	} else if (str_starts_nocase(c->s, STR("url("))) {
		skip(c, 4);
		read_url(c, true);
	}
}

static void
read_name(struct scan *c)
{
	size_t n = 1;

	while (n < c->s.n && is_name_char(c->s.p[n]))
		n++;
	struct str name = str_cut(c->s, 0, n);
	skip(c, n);
	if (c->s.n > 0 && c->s.p[0] == '(' &&
	    (str_eq_nocase(name, STR("url")) ||
	    str_eq_nocase(name, STR("src")))) {
		skip(c, 1);
		read_url(c, false);
	} else if (str_eq_nocase(name, STR("@import"))) {
		read_import(c);
	}
}

void
css_scan(struct str css, struct arena *a, css_found *found, void *ctx)
{
	struct scan c = { css, a, found, ctx, false };
	struct str ignored;

	while (c.s.n > 0 && !c.stop) {
		char ch = c.s.p[0];
		if (ch == '@' || is_name_char(ch))
			read_name(&c);
		else if (ch == '"' || ch == '\'')
			(void)read_string(&c, &ignored);
		else if (ch == '\\')
			skip(&c, 2);
		else if (str_starts(c.s, STR("/*")))
			skip_comment(&c);
		else
			skip(&c, 1);
	}
}

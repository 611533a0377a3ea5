#include "engine/connector/url_text.h"

#include "base/text.h"

static bool
is_unreserved(char c)
{
	return ascii_is_alpha(c) || ascii_is_digit(c) || c == '-' ||
	    c == '.' || c == '_' || c == '~';
}

void
url_text_encode(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (is_unreserved(s.p[i]))
			buf_put_char(b, s.p[i]);
		else
			buf_printf(b, "%%%02X", (unsigned char)s.p[i]);
	}
}

void
url_text_param(struct buf *url, const char *name, struct str value)
{
	bool first = str_find_char(buf_str(url), '?') == url->n;

	buf_put_char(url, first ? '?' : '&');
	url_text_encode(url, str_of(name));
	buf_put_char(url, '=');
	url_text_encode(url, value);
}

/* Of a query: "+" is a blank; a "%" without two digits stays. */
static struct str
decode(struct str s, struct arena *a)
{
	char *p = arena_bytes(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		int byte = str_percent_byte(str_from(s, i));
		if (byte >= 0) {
			p[n++] = (char)byte;
			i += 2;
		} else {
			p[n++] = s.p[i] == '+' ? ' ' : s.p[i];
		}
	}
	return (struct str){ p, n };
}

bool
url_text_find(struct str url, const char *name, struct arena *a,
    struct str *value)
{
	struct str query = str_cut(url, 0, str_find_char(url, '#')), pair;

	query = str_from(query, str_find_char(query, '?'));
	if (!str_take_char(&query, '?'))
		return false;
	while (str_split(&query, '&', &pair)) {
		size_t n = str_find_char(pair, '=');
		if (!str_eq(decode(str_cut(pair, 0, n), a), str_of(name)))
			continue;
		*value = decode(str_from(pair, n + 1), a);
		return true;
	}
	return false;
}

static void
skip_blanks(struct str *s)
{
	while (s->n > 0 && (s->p[0] == ' ' || s->p[0] == '\t'))
		*s = str_from(*s, 1);
}

/* A token, or a quoted string without its quotes; a backslash in it is kept,
 * no relation has one. */
static bool
take_value(struct str *s, struct str *value)
{
	size_t n = 0;

	if (str_take_char(s, '"')) {
		while (n < s->n && s->p[n] != '"')
			n += s->p[n] == '\\' ? 2 : 1;
		if (n >= s->n)
			return false;
		*value = str_cut(*s, 0, n);
		*s = str_from(*s, n + 1);
		return true;
	}
	while (n < s->n && !str_has_char(STR(" \t;,"), s->p[n]))
		n++;
	*value = str_cut(*s, 0, n);
	*s = str_from(*s, n);
	return n > 0;
}

static bool
has_word(struct str words, struct str word)
{
	struct str one;

	while (str_split(&words, ' ', &one))
		if (str_eq_nocase(one, word))
			return true;
	return false;
}

/* ";NAME=VALUE" and the like up to the next link; `*is_it`: one of them is rel
 * with that word.  False: it cannot be read. */
static bool
take_params(struct str *s, struct str rel, bool *is_it)
{
	struct str value;

	for (*is_it = false;;) {
		skip_blanks(s);
		if (!str_take_char(s, ';'))
			return true;
		skip_blanks(s);
		size_t n = 0;
		while (n < s->n && !str_has_char(STR(" \t=;,"), s->p[n]))
			n++;
		struct str name = str_cut(*s, 0, n);
		*s = str_from(*s, n);
		skip_blanks(s);
		if (!str_take_char(s, '='))
			continue;
		skip_blanks(s);
		if (!take_value(s, &value))
			return false;
		if (str_eq_nocase(name, STR("rel")) && has_word(value, rel))
			*is_it = true;
	}
}

static struct str
link_of_field(struct str s, struct str rel)
{
	bool is_it;

	for (;;) {
		skip_blanks(&s);
		if (str_take_char(&s, ','))
			continue;
		if (!str_take_char(&s, '<'))
			return STR_NONE;
		size_t n = str_find_char(s, '>');
		if (n == s.n)
			return STR_NONE;
		struct str target = str_cut(s, 0, n);
		s = str_from(s, n + 1);
		if (!take_params(&s, rel, &is_it))
			return STR_NONE;
		if (is_it)
			return target;
	}
}

struct str
url_text_link(const struct http_head *head, const char *rel)
{
	struct str value;

	for (size_t at = 0; http_next(head, STR("Link"), &at, &value);) {
		struct str target = link_of_field(value, str_of(rel));
		if (target.p != NULL)
			return target;
	}
	return STR_NONE;
}

bool
url_text_is_web(struct str url)
{
	size_t scheme = str_starts_nocase(url, STR("https://")) ? 8 :
	    str_starts_nocase(url, STR("http://")) ? 7 : 0;

	return scheme > 0 && url.n > scheme && !text_has_control(url) &&
	    text_is_utf8(url) && str_find_char(url, ' ') == url.n;
}

#include "engine/connector/item_html.h"

/* --- character references ----------------------------------------------- */

static void
put_character(struct buf *b, uint32_t u)
{
	if (u < 0x80) {
		buf_put_char(b, (char)u);
		return;
	}
	if (u < 0x800) {
		buf_put_char(b, (char)(0xc0 | u >> 6));
	} else if (u < 0x10000) {
		buf_put_char(b, (char)(0xe0 | u >> 12));
		buf_put_char(b, (char)(0x80 | (u >> 6 & 63)));
	} else {
		buf_put_char(b, (char)(0xf0 | u >> 18));
		buf_put_char(b, (char)(0x80 | (u >> 12 & 63)));
		buf_put_char(b, (char)(0x80 | (u >> 6 & 63)));
	}
	buf_put_char(b, (char)(0x80 | (u & 63)));
}

/* "#39" or "#x27"; 0: it is no character. */
static uint32_t
number_of(struct str s)
{
	bool hex = s.n > 1 && (s.p[1] == 'x' || s.p[1] == 'X');
	uint32_t u = 0;

	s = str_from(s, hex ? 2 : 1);
	if (s.n == 0 || s.n > 7)
		return 0;
	for (size_t i = 0; i < s.n; i++) {
		int digit = ascii_hex_value(s.p[i]);
		if (digit < 0 || (!hex && digit > 9))
			return 0;
		u = u * (hex ? 16 : 10) + (uint32_t)digit;
	}
	return u > 0x10ffff || (u >= 0xd800 && u <= 0xdfff) ? 0 : u;
}

/* The reference at the start of `s`, which begins with "&"; how long it is. */
static size_t
put_reference(struct str s, struct buf *b)
{
	static const struct {
		const char *name, *text;
	} named[] = { { "amp", "&" }, { "lt", "<" }, { "gt", ">" },
		{ "quot", "\"" }, { "apos", "'" }, { "nbsp", " " } };
	size_t end = str_find_char(str_cut(s, 0, 12), ';');
	struct str name = str_cut(s, 1, end);

	if (end < MIN(s.n, (size_t)12) && name.n > 0) {
		size_t i = STR_ROW(name, named);
		uint32_t u = name.p[0] == '#' ? number_of(name) : 0;
		if (i < ARRAY_LEN(named)) {
			buf_put_text(b, named[i].text);
			return end + 1;
		}
		if (u != 0) {
			put_character(b, u);
			return end + 1;
		}
	}
	buf_put_char(b, '&');
	return 1;
}

static void
put_decoded(struct str s, struct buf *b)
{
	while (s.n > 0) {
		size_t n = str_find_char(s, '&');
		buf_put(b, s.p, n);
		s = str_from(s, n);
		if (s.n > 0)
			s = str_from(s, put_reference(s, b));
	}
}

/* --- tags --------------------------------------------------------------- */

/* The tag at the start of `*html`, without "<" and ">", is taken off. */
static struct str
take_tag(struct str *html)
{
	char quote = '\0';
	size_t i = 1;

	for (; i < html->n; i++) {
		char c = html->p[i];
		if (quote != '\0')
			quote = c == quote ? '\0' : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '>')
			break;
	}
	struct str tag = str_cut(*html, 1, i);
	*html = str_from(*html, i + 1);
	return tag;
}

static struct str
tag_name(struct str tag)
{
	size_t n = 0;

	while (n < tag.n && !ascii_is_space(tag.p[n]) &&
	    (tag.p[n] != '/' || n == 0))
		n++;
	return str_cut(tag, 0, n);
}

/* The value of an attribute, as written; STR_NONE: there is none. */
static struct str
attribute(struct str tag, struct str name)
{
	struct str rest = str_from(tag, tag_name(tag).n);

	while (rest.n > 0) {
		rest = str_trim(rest);
		size_t n = 0;
		while (n < rest.n && rest.p[n] != '=' &&
		    !ascii_is_space(rest.p[n]))
			n++;
		struct str found = str_cut(rest, 0, n), value = STR("");
		rest = str_from(rest, n);
		if (str_take_char(&rest, '=')) {
			char quote = rest.n > 0 ? rest.p[0] : '\0';
			bool quoted = quote == '"' || quote == '\'';
			rest = str_from(rest, quoted);
			n = str_find_char(rest, quoted ? quote : ' ');
			value = str_cut(rest, 0, n);
			rest = str_from(rest, n + quoted);
		} else if (n == 0) {
			rest = str_from(rest, 1);
		}
		if (str_eq_nocase(found, name))
			return value;
	}
	return STR_NONE;
}

/* --- text and links ----------------------------------------------------- */

/* Append with runs of white space as one blank, and none at the start. */
static void
put_words(struct str s, size_t begin, struct buf *out)
{
	for (size_t i = 0; i < s.n; i++) {
		bool space = ascii_is_space(s.p[i]);
		if (space && (out->n == begin || out->p[out->n - 1] == ' '))
			continue;
		buf_put_char(out, space ? ' ' : s.p[i]);
	}
}

static bool
is_break(struct str tag)
{
	static const struct str names[] = { STR("br"), STR("/p"), STR("/li"),
		STR("/blockquote"), STR("/pre") };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq_nocase(tag_name(tag), names[i]))
			return true;
	return false;
}

void
item_html_put_text(struct str html, struct buf *out)
{
	FREED(buf_free) struct buf decoded = BUF_INIT;
	size_t begin = out->n;

	while (html.n > 0) {
		size_t n = str_find_char(html, '<');
		buf_clear(&decoded);
		put_decoded(str_cut(html, 0, n), &decoded);
		put_words(buf_str(&decoded), begin, out);
		html = str_from(html, n);
		if (html.n > 0 && is_break(take_tag(&html)))
			put_words(STR(" "), begin, out);
	}
	while (out->n > begin && out->p[out->n - 1] == ' ')
		out->n--;
}

bool
item_html_take_link(struct str *html, struct buf *href, struct str *classes)
{
	while (html->n > 0) {
		*html = str_from(*html, str_find_char(*html, '<'));
		if (html->n == 0)
			return false;
		struct str tag = take_tag(html);
		if (!str_eq_nocase(tag_name(tag), STR("a")))
			continue;
		struct str value = attribute(tag, STR("href"));
		*classes = attribute(tag, STR("class"));
		if (value.n == 0)
			continue;
		put_decoded(value, href);
		return true;
	}
	return false;
}

#include "engine/connector/item_html.h"

#include "engine/connector/item_html_names.h"

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
	return item_html_numbered(u);
}

/* The reference at the start of `s`, which begins with "&"; how long it is. */
static size_t
put_reference(struct str s, struct buf *b)
{
	size_t end = str_find_char(str_cut(s, 0, 12), ';');
	struct str name = str_cut(s, 1, end);

	if (end < MIN(s.n, (size_t)12) && name.n > 0) {
		uint32_t u = name.p[0] == '#' ? number_of(name) :
		    item_html_named(name);
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

/*
 * Whether the "<" at the start of `s` opens a tag or a comment.  Otherwise it
 * is an ordinary character of the text.
 */
static bool
begins_markup(struct str s)
{
	bool end = s.n > 1 && s.p[1] == '/';
	char c = s.n > 1u + end ? s.p[1 + end] : '\0';

	if (end)
		return c != '\0';
	return ascii_is_alpha(c) || c == '!' || c == '?';
}

/* The offset of the ">" that ends the tag at the start of `s`. */
static size_t
tag_end(struct str s)
{
	enum { NAME, BEFORE_VALUE, VALUE, QUOTED } at = NAME;
	char quote = '\0';
	size_t i = 1;

	for (; i < s.n; i++) {
		char c = s.p[i];
		if (at == QUOTED) {
			at = c == quote ? NAME : QUOTED;
			continue;
		}
		if (c == '>')
			break;
		if (at == NAME)
			at = c == '=' ? BEFORE_VALUE : NAME;
		else if (ascii_is_space(c))
			at = at == VALUE ? NAME : at;
		else if (at == BEFORE_VALUE)
			at = c == '"' || c == '\'' ? QUOTED : VALUE;
		quote = c;
	}
	return i;
}

/*
 * Take the markup at the start of `*html` off.  Returns a tag without "<" and
 * ">", or an empty text for a comment.
 */
static struct str
take_tag(struct str *html)
{
	struct str tag, open = STR("<!--"), close = STR("-->");

	if (str_starts(*html, open)) {
		/* "<!-->" is a whole comment. */
		size_t n = 2 + str_find(str_from(*html, 2), close);
		*html = str_from(*html, n + close.n);
		return STR("");
	}
	char next = html->n > 1 ? html->p[1] : '\0';
	bool is_tag = ascii_is_alpha(next) || (next == '/' && html->n > 2 &&
	    ascii_is_alpha(html->p[2]));
	size_t end = is_tag ? tag_end(*html) : str_find_char(*html, '>');
	tag = is_tag ? str_cut(*html, 1, end) : STR("");
	*html = str_from(*html, end + 1);
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

static void
skip_spaces(struct str *s, bool slashes_too)
{
	while (s->n > 0 && (ascii_is_space(s->p[0]) ||
	    (slashes_too && s->p[0] == '/')))
		*s = str_from(*s, 1);
}

/* Take the text up to white space or one of the characters `ends`. */
static struct str
take_until(struct str *s, const char *ends)
{
	size_t n = 0;

	while (n < s->n && !ascii_is_space(s->p[n]) &&
	    !str_has_char(str_of(ends), s->p[n]))
		n++;
	struct str taken = str_cut(*s, 0, n);
	*s = str_from(*s, n);
	return taken;
}

static struct str
take_value(struct str *s)
{
	char quote = s->n > 0 ? s->p[0] : '\0';

	if (quote != '"' && quote != '\'')
		return take_until(s, "");
	*s = str_from(*s, 1);
	size_t n = str_find_char(*s, quote);
	struct str value = str_cut(*s, 0, n);
	*s = str_from(*s, n + 1);
	return value;
}

/* The value of an attribute, as written; STR_NONE: there is none. */
static struct str
attribute(struct str tag, struct str name)
{
	struct str rest = str_from(tag, tag_name(tag).n);

	for (skip_spaces(&rest, true); rest.n > 0;
	    skip_spaces(&rest, true)) {
		/* A "=" that comes first belongs to the name. */
		bool odd = rest.p[0] == '=';
		struct str found = rest, value = STR("");
		rest = str_from(rest, odd);
		(void)take_until(&rest, "=/");
		found = str_cut(found, 0, found.n - rest.n);
		skip_spaces(&rest, false);
		if (str_take_char(&rest, '=')) {
			skip_spaces(&rest, false);
			value = take_value(&rest);
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

/* Whether a browser begins a new line, or a new cell, at the tag. */
static bool
is_break(struct str tag)
{
	static const char *const names[] = { "br", "p", "div", "li", "ul",
		"ol", "blockquote", "pre", "hr", "h1", "h2", "h3", "h4", "h5",
		"h6", "table", "tr", "th", "td" };

	(void)str_take_char(&tag, '/');
	return STR_ROW_NOCASE(tag_name(tag), names) < ARRAY_LEN(names);
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
		if (html.n > 0 && !begins_markup(html)) {
			put_words(STR("<"), begin, out);
			html = str_from(html, 1);
		} else if (html.n > 0 && is_break(take_tag(&html))) {
			put_words(STR(" "), begin, out);
		}
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
		if (!begins_markup(*html)) {
			*html = str_from(*html, 1);
			continue;
		}
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

#include "engine/parser/prescan.h"

struct prescan
prescan_begin(struct str head)
{
	return (struct prescan){ .p = head.p, .n = head.n };
}

static bool
is_at(const struct prescan *s, size_t at, char c)
{
	return at < s->n && s->p[at] == c;
}

static void
skip_spaces(struct prescan *s)
{
	while (s->at < s->n && ascii_is_space(s->p[s->at]))
		s->at++;
}

/* To what follows the next ">", or to the end. */
static void
skip_tag(struct prescan *s)
{
	struct str rest = { s->p + s->at, s->n - s->at };

	s->at = MIN(s->n, s->at + str_find_char(rest, '>') + 1);
}

/* "<!--": its dashes may be those of "-->". */
static void
skip_comment(struct prescan *s)
{
	struct str rest = { s->p + s->at, s->n - s->at };

	s->at = MIN(s->n, s->at + str_find(rest, STR("-->")) + 3);
}

/* The value at hand; one that does not end is empty. */
static struct str
read_value(struct prescan *s)
{
	size_t start = s->at;

	if (is_at(s, start, '"') || is_at(s, start, '\'')) {
		struct str rest = { s->p + start + 1, s->n - start - 1 };
		size_t n = str_find_char(rest, s->p[start]);
		s->at = MIN(s->n, start + n + 2);
		return n < rest.n ? str_cut(rest, 0, n) : STR("");
	}
	while (s->at < s->n && !ascii_is_space(s->p[s->at]) &&
	    s->p[s->at] != '>')
		s->at++;
	return s->at == s->n ? STR("") :
	    (struct str){ s->p + start, s->at - start };
}

/* False at the end of the tag, which is then behind. */
static bool
read_attr(struct prescan *s, struct str *name, struct str *value)
{
	while (s->at < s->n && (ascii_is_space(s->p[s->at]) ||
	    s->p[s->at] == '/'))
		s->at++;
	if (s->at == s->n)
		return false;
	if (s->p[s->at] == '>') {
		s->at++;
		return false;
	}
	/* A name may begin with "=". */
	size_t start = s->at++;
	while (s->at < s->n && !ascii_is_space(s->p[s->at]) &&
	    s->p[s->at] != '/' && s->p[s->at] != '>' && s->p[s->at] != '=')
		s->at++;
	*name = (struct str){ s->p + start, s->at - start };
	*value = STR("");
	skip_spaces(s);
	if (!is_at(s, s->at, '='))
		return true;
	s->at++;
	skip_spaces(s);
	*value = read_value(s);
	return true;
}

/* "text/html; charset=x": what is after "charset=", or nothing. */
static struct str
label_in(struct str content)
{
	for (size_t i = 0; i + 7 < content.n; i++) {
		struct str s = str_from(content, i);
		if (!str_starts_nocase(s, STR("charset")))
			continue;
		s = str_from(s, 7);
		while (s.n > 0 && ascii_is_space(s.p[0]))
			s = str_from(s, 1);
		if (s.n == 0 || s.p[0] != '=')
			continue;
		s = str_from(s, 1);
		while (s.n > 0 && ascii_is_space(s.p[0]))
			s = str_from(s, 1);
		struct prescan value = prescan_begin(s);
		if (s.n > 0 && (s.p[0] == '"' || s.p[0] == '\''))
			return read_value(&value);
		size_t n = 0;
		while (n < s.n && !ascii_is_space(s.p[n]) && s.p[n] != ';')
			n++;
		return str_cut(s, 0, n);
	}
	return STR_NONE;
}

/* Read the attributes of a <meta>; return the encoding label that it states, or
 * STR_NONE. */
static struct str
read_meta(struct prescan *s)
{
	struct str name, value, charset = STR_NONE, content = STR_NONE;
	struct str pragma = STR_NONE;

	/* The first of two equal names counts. */
	while (read_attr(s, &name, &value)) {
		if (charset.p == NULL && str_eq_nocase(name, STR("charset")))
			charset = value;
		else if (content.p == NULL &&
		    str_eq_nocase(name, STR("content")))
			content = value;
		else if (pragma.p == NULL &&
		    str_eq_nocase(name, STR("http-equiv")))
			pragma = value;
	}
	if (charset.n > 0)
		return charset;
	return str_eq_nocase(pragma, STR("content-type")) ?
	    label_in(content) : STR_NONE;
}

/* Any other tag: its attributes may contain ">". */
static void
skip_attrs(struct prescan *s)
{
	struct str name, value;

	while (s->at < s->n && !ascii_is_space(s->p[s->at]) &&
	    s->p[s->at] != '>')
		s->at++;
	while (read_attr(s, &name, &value))
		;
}

/* Read the markup after a "<"; return the label if it is a <meta> that states
 * one, else STR_NONE. */
static struct str
read_markup(struct prescan *s)
{
	struct str rest = { s->p + s->at, s->n - s->at };
	bool slash = is_at(s, s->at, '/');

	if (str_starts(rest, STR("!--"))) {
		s->at++;
		skip_comment(s);
	} else if (rest.n > 5 && str_starts_nocase(rest, STR("meta")) &&
	    (ascii_is_space(rest.p[4]) || rest.p[4] == '/')) {
		s->at += 5;
		return read_meta(s);
	} else if (rest.n > (size_t)slash && ascii_is_alpha(rest.p[slash])) {
		skip_attrs(s);
	} else if (slash || is_at(s, s->at, '!') || is_at(s, s->at, '?')) {
		skip_tag(s);
	}
	return STR_NONE;
}

bool
prescan_next(struct prescan *s, struct str *label)
{
	while (s->at < s->n) {
		struct str rest = { s->p + s->at, s->n - s->at };
		s->at = MIN(s->n, s->at + str_find_char(rest, '<') + 1);
		*label = read_markup(s);
		if (label->n > 0)
			return true;
	}
	return false;
}

#include "engine/parser/readable.h"

#include <lexbor/tag/const.h>

#include "base/json.h"
#include "base/text.h"
#include "engine/parser/date.h"

/* ---- Elements ---------------------------------------------------------- */

enum trait {
	BLOCK = 1,      /* on lines of its own; ends an open <p> */
	EMPTY = 2,      /* void: it has no inside */
	DROPPED = 4,    /* its inside is not readable text */
	SCOPE = 8,      /* most end tags inside end nothing outside */
	CELL = 16,      /* a blank is between it and the next one */
	PART = 32,      /* of a table: its end tag ends cells, too */
	FIRM = 64,      /* inline, but its end tag ends blocks inside */
	CONTENT = 128,  /* headers and footers inside belong to it */
	LANDMARK = 256, /* dropped, but not as a part of content */
	PASSED = 512,   /* neither its tags nor its attributes count */
};

static const uint16_t traits[LXB_TAG__LAST_ENTRY] = {
	[LXB_TAG_HTML] = BLOCK | PASSED, [LXB_TAG_HEAD] = BLOCK | PASSED,
	[LXB_TAG_BODY] = BLOCK | PASSED,
	[LXB_TAG_ADDRESS] = BLOCK, [LXB_TAG_BLOCKQUOTE] = BLOCK,
	[LXB_TAG_CENTER] = BLOCK, [LXB_TAG_DD] = BLOCK,
	[LXB_TAG_DETAILS] = BLOCK, [LXB_TAG_DIR] = BLOCK,
	[LXB_TAG_DIV] = BLOCK, [LXB_TAG_DL] = BLOCK, [LXB_TAG_DT] = BLOCK,
	[LXB_TAG_FIELDSET] = BLOCK, [LXB_TAG_FIGCAPTION] = BLOCK,
	[LXB_TAG_FIGURE] = BLOCK, [LXB_TAG_FORM] = BLOCK,
	[LXB_TAG_H1] = BLOCK, [LXB_TAG_H2] = BLOCK, [LXB_TAG_H3] = BLOCK,
	[LXB_TAG_H4] = BLOCK, [LXB_TAG_H5] = BLOCK, [LXB_TAG_H6] = BLOCK,
	[LXB_TAG_HGROUP] = BLOCK, [LXB_TAG_LEGEND] = BLOCK,
	[LXB_TAG_LI] = BLOCK, [LXB_TAG_LISTING] = BLOCK,
	[LXB_TAG_MENU] = BLOCK, [LXB_TAG_OL] = BLOCK, [LXB_TAG_P] = BLOCK,
	[LXB_TAG_PLAINTEXT] = BLOCK, [LXB_TAG_PRE] = BLOCK,
	[LXB_TAG_SUMMARY] = BLOCK, [LXB_TAG_UL] = BLOCK,
	[LXB_TAG_XMP] = BLOCK,
	[LXB_TAG_ARTICLE] = BLOCK | CONTENT, [LXB_TAG_MAIN] = BLOCK | CONTENT,
	[LXB_TAG_SECTION] = BLOCK | CONTENT,
	[LXB_TAG_ASIDE] = BLOCK | LANDMARK,
	[LXB_TAG_FOOTER] = BLOCK | LANDMARK,
	[LXB_TAG_HEADER] = BLOCK | LANDMARK,
	[LXB_TAG_DIALOG] = BLOCK | DROPPED, [LXB_TAG_NAV] = BLOCK | DROPPED,
	[LXB_TAG_SEARCH] = BLOCK | DROPPED,
	[LXB_TAG_TABLE] = BLOCK | SCOPE | PART,
	[LXB_TAG_CAPTION] = BLOCK | SCOPE | PART,
	[LXB_TAG_TBODY] = BLOCK | PART, [LXB_TAG_TFOOT] = BLOCK | PART,
	[LXB_TAG_THEAD] = BLOCK | PART, [LXB_TAG_TR] = BLOCK | PART,
	[LXB_TAG_TD] = SCOPE | CELL | PART, [LXB_TAG_TH] = SCOPE | CELL | PART,
	[LXB_TAG_BUTTON] = FIRM, [LXB_TAG_MARQUEE] = SCOPE,
	[LXB_TAG_APPLET] = DROPPED | SCOPE, [LXB_TAG_AUDIO] = DROPPED,
	[LXB_TAG_CANVAS] = DROPPED, [LXB_TAG_DATALIST] = DROPPED,
	[LXB_TAG_IFRAME] = DROPPED, [LXB_TAG_METER] = DROPPED,
	[LXB_TAG_NOEMBED] = DROPPED, [LXB_TAG_NOFRAMES] = DROPPED,
	[LXB_TAG_NOSCRIPT] = DROPPED, [LXB_TAG_OBJECT] = DROPPED | SCOPE,
	[LXB_TAG_PROGRESS] = DROPPED, [LXB_TAG_RP] = DROPPED,
	[LXB_TAG_SCRIPT] = DROPPED, [LXB_TAG_SELECT] = DROPPED | SCOPE,
	[LXB_TAG_STYLE] = DROPPED, [LXB_TAG_SVG] = DROPPED | SCOPE,
	[LXB_TAG_TEMPLATE] = DROPPED | SCOPE, [LXB_TAG_TEXTAREA] = DROPPED,
	[LXB_TAG_TITLE] = DROPPED, [LXB_TAG_VIDEO] = DROPPED,
	[LXB_TAG_MATH] = SCOPE,
	[LXB_TAG_AREA] = EMPTY, [LXB_TAG_BASE] = EMPTY,
	[LXB_TAG_BASEFONT] = EMPTY, [LXB_TAG_BGSOUND] = EMPTY,
	[LXB_TAG_BR] = EMPTY, [LXB_TAG_COL] = EMPTY, [LXB_TAG_EMBED] = EMPTY,
	[LXB_TAG_FRAME] = EMPTY, [LXB_TAG_HR] = BLOCK | EMPTY,
	[LXB_TAG_IMG] = EMPTY, [LXB_TAG_INPUT] = EMPTY,
	[LXB_TAG_KEYGEN] = EMPTY, [LXB_TAG_LINK] = EMPTY,
	[LXB_TAG_META] = EMPTY, [LXB_TAG_PARAM] = EMPTY,
	[LXB_TAG_SOURCE] = EMPTY, [LXB_TAG_TRACK] = EMPTY,
	[LXB_TAG_WBR] = EMPTY,
};

static unsigned
traits_of(uintptr_t tag)
{
	return tag < LXB_TAG__LAST_ENTRY ? traits[tag] : 0;
}

/* A start tag of `tag` ends an open element of `ends`, if none of `within` was
 * opened since. */
#define TAGS_MAX 4
static const struct implied_end {
	uint16_t tag;
	uint16_t ends[TAGS_MAX];
	uint16_t within[TAGS_MAX];
} implied_ends[] = {
	{ LXB_TAG_LI, { LXB_TAG_LI },
	    { LXB_TAG_UL, LXB_TAG_OL, LXB_TAG_MENU, LXB_TAG_DIR } },
	{ LXB_TAG_DD, { LXB_TAG_DD, LXB_TAG_DT }, { LXB_TAG_DL } },
	{ LXB_TAG_DT, { LXB_TAG_DD, LXB_TAG_DT }, { LXB_TAG_DL } },
	{ LXB_TAG_TD, { LXB_TAG_TD, LXB_TAG_TH, LXB_TAG_CAPTION },
	    { LXB_TAG_TR, LXB_TAG_TABLE } },
	{ LXB_TAG_TH, { LXB_TAG_TD, LXB_TAG_TH, LXB_TAG_CAPTION },
	    { LXB_TAG_TR, LXB_TAG_TABLE } },
	{ LXB_TAG_TR, { LXB_TAG_TR, LXB_TAG_CAPTION }, { LXB_TAG_TABLE } },
	{ LXB_TAG_TBODY, { LXB_TAG_TBODY, LXB_TAG_THEAD, LXB_TAG_TFOOT,
	    LXB_TAG_CAPTION }, { LXB_TAG_TABLE } },
	{ LXB_TAG_THEAD, { LXB_TAG_TBODY, LXB_TAG_THEAD, LXB_TAG_TFOOT,
	    LXB_TAG_CAPTION }, { LXB_TAG_TABLE } },
	{ LXB_TAG_TFOOT, { LXB_TAG_TBODY, LXB_TAG_THEAD, LXB_TAG_TFOOT,
	    LXB_TAG_CAPTION }, { LXB_TAG_TABLE } },
	{ LXB_TAG_RP, { LXB_TAG_RP, LXB_TAG_RT }, { LXB_TAG_RUBY } },
	{ LXB_TAG_RT, { LXB_TAG_RP, LXB_TAG_RT }, { LXB_TAG_RUBY } },
};

static bool
has_tag(const uint16_t tags[TAGS_MAX], uintptr_t tag)
{
	for (size_t i = 0; i < TAGS_MAX && tags[i] != 0; i++)
		if (tags[i] == tag)
			return true;
	return false;
}

/* ---- Text -------------------------------------------------------------- */

/* The separator that precedes the next character, or NUL. */
static char
pending_separator(const struct readable *r)
{
	if (r->text.n == 0 || r->text.p[r->text.n - 1] == '\n')
		return '\0';
	return r->line ? '\n' : r->space ? ' ' : '\0';
}

static void
put_bytes(struct readable *r, const char *p, size_t n)
{
	char before = pending_separator(r);

	if (r->text.n + n + (before != '\0') > r->bytes_max) {
		r->cut = true;
		return;
	}
	if (before != '\0')
		buf_put_char(&r->text, before);
	buf_put(&r->text, p, n);
	r->line = r->space = r->pre_begins = false;
}

/* White space that counts, but for blank lines before any text. */
static void
put_space(struct readable *r, char c)
{
	if (c == '\n' && r->pre_begins)
		r->pre_begins = false;
	else if (r->text.n > 0)
		put_bytes(r, c == '\f' ? " " : &c, 1);
}

/* The length of the printable ASCII at the start, as far as it fits with a
 * separator. */
static size_t
printable_length(const struct readable *r, struct str s)
{
	size_t room = r->bytes_max - MIN(r->bytes_max, r->text.n), n = 0;

	while (n < s.n && n + 1 < room && s.p[n] > ' ' && s.p[n] < 0x7f)
		n++;
	return n;
}

void
readable_put_text(struct readable *r, struct str s)
{
	while (r->drops == 0 && s.n > 0 && !r->cut) {
		size_t n = printable_length(r, s);
		if (n > 0) {
			put_bytes(r, s.p, n);
			s = str_from(s, n);
			continue;
		}
		n = text_utf8_length(s);
		unsigned char c = (unsigned char)s.p[0];

		if (c == '\r' && r->pres > 0)
			c = s.n > 1 && s.p[1] == '\n' ? '\0' : '\n';
		if (ascii_is_space((char)c) && r->pres > 0)
			put_space(r, (char)c);
		else if (ascii_is_space((char)c))
			r->space = true;
		else if (n == 0)
			put_bytes(r, "\xef\xbf\xbd", 3);
		else if (c >= ' ' && c != 0x7f)
			put_bytes(r, s.p, n);
		s = str_from(s, MAX(n, 1));
	}
}

/* ---- Open elements ----------------------------------------------------- */

static void
count_element(struct readable *r, const struct readable_element *e, int by)
{
	r->drops += (unsigned)(e->drops ? by : 0);
	r->contents += (unsigned)(e->is_content ? by : 0);
	r->pres += (unsigned)(e->is_pre ? by : 0);
}

/* An element begins or ends.  Inside a dropped one that separates nothing. */
static void
put_border(struct readable *r, uintptr_t tag)
{
	unsigned t = traits_of(tag);

	if (r->drops > 0)
		return;
	r->line = r->line || (t & BLOCK) != 0 || tag == LXB_TAG_BR;
	r->space = r->space || (t & CELL) != 0;
}

static void
pop_element(struct readable *r)
{
	const struct readable_element *e = &r->open[--r->n];

	count_element(r, e, -1);
	r->pre_begins = false;
	put_border(r, e->tag);
}

static void
pop_down_to(struct readable *r, size_t n)
{
	while (r->n > n)
		pop_element(r);
}

/* Whether the search for what an end tag ends goes no further out. */
static bool
stops_end_tag(const struct readable_element *e, uintptr_t tag)
{
	unsigned inner = traits_of(e->tag), t = traits_of(tag);

	if (tag == LXB_TAG_TEMPLATE)
		return false;
	if ((t & PART) != 0)
		return e->tag == LXB_TAG_TABLE || e->tag == LXB_TAG_TEMPLATE;
	return (inner & SCOPE) != 0 || (t == 0 && (inner & BLOCK) != 0);
}

void
readable_close(struct readable *r, uintptr_t tag)
{
	unsigned t = traits_of(tag);

	put_border(r, tag);
	if ((t & (EMPTY | PASSED)) != 0)
		return;
	for (size_t i = r->n; i-- > 0; ) {
		if (r->open[i].tag == tag) {
			pop_down_to(r, i);
			return;
		}
		if (stops_end_tag(&r->open[i], tag))
			return;
	}
}

void
readable_leave_foreign(struct readable *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->open[i].tag == LXB_TAG_SVG ||
		    r->open[i].tag == LXB_TAG_MATH) {
			pop_down_to(r, i);
			return;
		}
}

static void
end_paragraph(struct readable *r)
{
	for (size_t i = r->n; i-- > 0; ) {
		if (r->open[i].tag == LXB_TAG_P) {
			pop_down_to(r, i);
			return;
		}
		if ((traits_of(r->open[i].tag) & (SCOPE | FIRM)) != 0)
			return;
	}
}

static void
end_implied(struct readable *r, uintptr_t tag)
{
	const struct implied_end *x = NULL;

	for (size_t i = 0; i < ARRAY_LEN(implied_ends) && x == NULL; i++)
		if (implied_ends[i].tag == tag)
			x = &implied_ends[i];
	for (size_t i = r->n; x != NULL && i-- > 0; ) {
		if (has_tag(x->ends, r->open[i].tag)) {
			pop_down_to(r, i);
			return;
		}
		if (has_tag(x->within, r->open[i].tag) ||
		    r->open[i].tag == LXB_TAG_TEMPLATE)
			return;
	}
}

/* ---- What is left out -------------------------------------------------- */

/* The value of a property in a style attribute; STR_NONE: it is not there. */
static struct str
style_value(struct str style, struct str property)
{
	struct str part, value = STR_NONE;

	while (str_split(&style, ';', &part)) {
		size_t colon = str_find_char(part, ':');
		if (str_eq_nocase(str_trim(str_cut(part, 0, colon)), property))
			value = str_trim(str_from(part, colon + 1));
	}
	value.n = str_find_char(value, '!');
	return str_trim(value);
}

static bool
is_hidden(const struct readable_attrs *x)
{
	if (x->hidden.p != NULL && !str_eq_nocase(str_trim(x->hidden),
	    STR("until-found")))
		return true;
	if (str_eq_nocase(str_trim(x->aria_hidden), STR("true")))
		return true;
	return x->style.n > 0 && (str_eq_nocase(style_value(x->style,
	    STR("display")), STR("none")) || str_eq_nocase(style_value(
	    x->style, STR("visibility")), STR("hidden")));
}

/* The first word of a list. */
static struct str
first_word(struct str s)
{
	size_t n = 0;

	s = str_trim(s);
	while (n < s.n && !ascii_is_space(s.p[n]))
		n++;
	return str_cut(s, 0, n);
}

/* An explicit role takes precedence over the element's own. */
static void
judge_role(const struct readable *r, struct str role, unsigned t,
    struct readable_element *e)
{
	static const char *const dropped[] = { "alertdialog", "banner",
		"complementary", "contentinfo", "dialog", "menu", "menubar",
		"navigation", "search" };
	static const char *const content[] = { "article", "main", "region" };

	e->is_content = (t & CONTENT) != 0;
	if (role.n > 0) {
		e->drops = STR_ROW_NOCASE(role, dropped) < ARRAY_LEN(dropped);
		e->is_content = e->is_content || STR_ROW_NOCASE(role,
		    content) < ARRAY_LEN(content);
	} else {
		e->drops = (t & LANDMARK) != 0 && r->contents == 0;
	}
	/* <nav> may have another role, a <script> may not. */
	if ((t & DROPPED) != 0)
		e->drops = e->drops || (t & BLOCK) == 0 || role.n == 0;
}

/* ---- Dates ------------------------------------------------------------- */

static void
take_date(struct readable *r, enum readable_date d,
    enum readable_source source, struct str text)
{
	struct wall at;

	if (source >= r->source[d] || !date_parse(text, &at))
		return;
	r->date[d] = at;
	r->source[d] = source;
}

static void
take_meta_dates(struct readable *r, const struct readable_attrs *x)
{
	struct str name = str_trim(x->property.n > 0 ? x->property : x->name);

	if (str_eq_nocase(name, STR("article:published_time")))
		take_date(r, READABLE_PUBLISHED, READABLE_META, x->content);
	else if (str_eq_nocase(name, STR("article:modified_time")))
		take_date(r, READABLE_MODIFIED, READABLE_META, x->content);
}

static void
take_itemprop(struct readable *r, const struct readable_attrs *x)
{
	struct str value = x->datetime.n > 0 ? x->datetime : x->content;
	struct str rest = str_trim(x->itemprop);

	while (value.n > 0 && rest.n > 0) {
		struct str word = first_word(rest);
		rest = str_trim(str_from(rest, word.n + 1));
		if (str_eq(word, STR("datePublished")))
			take_date(r, READABLE_PUBLISHED, READABLE_ITEMPROP,
			    value);
		else if (str_eq(word, STR("dateModified")))
			take_date(r, READABLE_MODIFIED, READABLE_ITEMPROP,
			    value);
	}
}

static void
take_json_node(struct readable *r, yyjson_val *node)
{
	take_date(r, READABLE_PUBLISHED, READABLE_JSON, json_text(
	    yyjson_obj_get(node, "datePublished")));
	take_date(r, READABLE_MODIFIED, READABLE_JSON, json_text(
	    yyjson_obj_get(node, "dateModified")));
}

/* A node, or a list of nodes. */
static void
take_json_nodes(struct readable *r, yyjson_val *v)
{
	size_t i, n;
	yyjson_val *one;

	if (yyjson_is_obj(v))
		take_json_node(r, v);
	yyjson_arr_foreach(v, i, n, one)
		take_json_node(r, one);
}

void
readable_put_json(struct readable *r, struct str text)
{
	yyjson_doc *doc = text.n > READABLE_JSON_BYTES_MAX ? NULL :
	    yyjson_read(text.p, text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);

	take_json_nodes(r, root);
	take_json_nodes(r, yyjson_obj_get(root, "@graph"));
	yyjson_doc_free(doc);
}

/* ---- Tags -------------------------------------------------------------- */

static void
push_element(struct readable *r, uintptr_t tag, unsigned t,
    const struct readable_attrs *x)
{
	struct readable_element e = { .tag = tag,
	    .is_pre = tag == LXB_TAG_PRE || tag == LXB_TAG_LISTING ||
	    tag == LXB_TAG_XMP || tag == LXB_TAG_PLAINTEXT };

	judge_role(r, first_word(x->role), t, &e);
	e.drops = e.drops || is_hidden(x);
	if (r->n == READABLE_DEPTH_MAX)
		pop_element(r);
	r->open[r->n++] = e;
	count_element(r, &e, 1);
	r->pre_begins = e.is_pre;
}

void
readable_open(struct readable *r, uintptr_t tag,
    const struct readable_attrs *x)
{
	unsigned t = traits_of(tag);

	if (tag == LXB_TAG_META)
		take_meta_dates(r, x);
	if (x->itemprop.n > 0)
		take_itemprop(r, x);
	if ((t & BLOCK) != 0)
		end_paragraph(r);
	end_implied(r, tag);
	put_border(r, tag);
	if ((t & (EMPTY | PASSED)) == 0)
		push_element(r, tag, t, x);
}

/* ---- A page ------------------------------------------------------------ */

void
readable_begin(struct readable *r, size_t bytes_max, struct arena *a)
{
	*r = (struct readable){ .a = a, .bytes_max = bytes_max,
	    .open = ARENA_ARRAY(a, struct readable_element,
	    READABLE_DEPTH_MAX) };
	for (size_t i = 0; i < READABLE_DATE_COUNT; i++)
		r->source[i] = READABLE_NOWHERE;
}

struct str
readable_end(struct readable *r)
{
	struct str text = arena_copy(r->a, str_trim(buf_str(&r->text)));

	buf_free(&r->text);
	return text;
}

struct str
readable_of_plain(struct str text, size_t bytes_max, struct arena *a,
    bool *cut)
{
	struct readable r = { .a = a, .bytes_max = bytes_max, .pres = 1 };

	readable_put_text(&r, text);
	*cut = r.cut;
	return readable_end(&r);
}

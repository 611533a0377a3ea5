#include "engine/parser/html_page.h"

#include "base/text.h"
#include "engine/parser/css.h"

static void
add(struct html_page *g, struct str raw, enum link_kind kind, bool nofollow)
{
	if (raw.n != 0 || (raw.p != NULL && kind == LINK_PAGE))
		link_add(&g->links, raw, kind, nofollow);
}

static void
add_embed(struct html_page *g, enum html_attr k)
{
	add(g, g->attr[k], LINK_EMBED, false);
}

static bool
css_link(void *ctx, struct str url, bool import)
{
	struct html_page *g = ctx;

	(void)import;
	/* In a style a fragment alone names a part of the page itself. */
	return url.p[0] == '#' ||
	    link_add(&g->links, url, LINK_EMBED, false);
}

/*
 * "a.png 1x, b.png 2x": a URL, then up to the next comma outside of brackets.
 * HTML section 4.8.4.2.
 */
static void
add_srcset(struct html_page *g, struct str s)
{
	size_t i = 0;

	while (i < s.n) {
		while (i < s.n && (ascii_is_space(s.p[i]) || s.p[i] == ','))
			i++;
		size_t start = i;
		while (i < s.n && !ascii_is_space(s.p[i]))
			i++;
		size_t end = i;
		while (end > start && s.p[end - 1] == ',')
			end--;
		add(g, str_cut(s, start, end), LINK_EMBED, false);
		if (end != i)
			continue;
		for (int depth = 0; i < s.n; i++) {
			if (s.p[i] == ',' && depth == 0)
				break;
			depth += s.p[i] == '(' ? 1 : s.p[i] == ')' ? -1 : 0;
		}
	}
}

static bool
next_token(struct str *rest, struct str *token)
{
	size_t i = 0, end;

	while (i < rest->n && ascii_is_space(rest->p[i]))
		i++;
	for (end = i; end < rest->n && !ascii_is_space(rest->p[end]); )
		end++;
	*token = str_cut(*rest, i, end);
	*rest = str_from(*rest, end);
	return token->n != 0;
}

enum rel {
	REL_NOFOLLOW = 1, REL_CANONICAL = 2, REL_ALTERNATE = 4, REL_PAGE = 8,
	REL_EMBED = 16,
};

static unsigned
read_rel(struct str s)
{
	static const struct {
		struct str name;
		unsigned rel;
	} known[] = {
		{ { "nofollow", 8 }, REL_NOFOLLOW },
		{ { "ugc", 3 }, REL_NOFOLLOW },
		{ { "sponsored", 9 }, REL_NOFOLLOW },
		{ { "canonical", 9 }, REL_CANONICAL },
		{ { "alternate", 9 }, REL_ALTERNATE },
		{ { "next", 4 }, REL_PAGE }, { { "prev", 4 }, REL_PAGE },
		{ { "previous", 8 }, REL_PAGE },
		{ { "stylesheet", 10 }, REL_EMBED },
		{ { "icon", 4 }, REL_EMBED },
		{ { "apple-touch-icon", 16 }, REL_EMBED },
		{ { "apple-touch-icon-precomposed", 28 }, REL_EMBED },
		{ { "mask-icon", 9 }, REL_EMBED },
		{ { "preload", 7 }, REL_EMBED },
		{ { "modulepreload", 13 }, REL_EMBED },
		{ { "manifest", 8 }, REL_EMBED },
	};
	struct str token;
	unsigned rel = 0;

	while (next_token(&s, &token))
		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			if (str_eq_nocase(token, known[i].name))
				rel |= known[i].rel;
	return rel;
}

static bool
is_feed_type(struct str type)
{
	if (type.n == 0)
		return false;
	type = str_trim(str_cut(type, 0, str_find_char(type, ';')));
	return str_eq_nocase(type, STR("application/rss+xml")) ||
	    str_eq_nocase(type, STR("application/atom+xml")) ||
	    str_eq_nocase(type, STR("application/feed+json"));
}

static void
take_anchor(struct html_page *g)
{
	struct str href = g->attr[ATTR_HREF];
	unsigned rel = g->attr[ATTR_REL].n == 0 ? 0 :
	    read_rel(g->attr[ATTR_REL]);

	if (href.p == NULL)
		href = g->attr[ATTR_XLINK_HREF];
	add(g, href, is_feed_type(g->attr[ATTR_TYPE]) ? LINK_FEED : LINK_PAGE,
	    (rel & REL_NOFOLLOW) != 0);
}

/* One <link> can be several things: "alternate stylesheet" is a style. */
static void
take_link(struct html_page *g)
{
	struct str href = g->attr[ATTR_HREF];
	unsigned rel = read_rel(g->attr[ATTR_REL]);
	bool nofollow = (rel & REL_NOFOLLOW) != 0;

	if ((rel & REL_EMBED) != 0) {
		add(g, href, LINK_EMBED, false);
		add_srcset(g, g->attr[ATTR_IMAGESRCSET]);
		return;
	}
	if ((rel & REL_CANONICAL) != 0)
		add(g, href, LINK_CANONICAL, false);
	if ((rel & REL_ALTERNATE) != 0 && is_feed_type(g->attr[ATTR_TYPE]))
		add(g, href, LINK_FEED, nofollow);
	else if ((rel & (REL_ALTERNATE | REL_PAGE)) != 0)
		add(g, href, LINK_PAGE, nofollow);
}

static void
take_robots(struct html_page *g, struct str content)
{
	struct parse_output *o = g->out;
	struct str part;

	while (str_split(&content, ',', &part)) {
		part = str_trim(part);
		bool none = str_eq_nocase(part, STR("none"));
		if (none || str_eq_nocase(part, STR("noindex")))
			o->noindex = true;
		if (none || str_eq_nocase(part, STR("nofollow")))
			o->nofollow = true;
		if (str_eq_nocase(part, STR("noarchive")))
			o->noarchive = true;
	}
}

/* "5; url='next.html'": HTML section 4.2.5.3, shared declarative refresh. */
static void
take_refresh(struct html_page *g, struct str s)
{
	size_t i = 0;

	s = str_trim(s);
	while (i < s.n && (ascii_is_digit(s.p[i]) || s.p[i] == '.'))
		i++;
	if (i == 0 || (i < s.n && s.p[i] != ';' && s.p[i] != ',' &&
	    !ascii_is_space(s.p[i])))
		return;
	while (i < s.n && ascii_is_space(s.p[i]))
		i++;
	if (i < s.n && (s.p[i] == ';' || s.p[i] == ','))
		i++;
	s = str_trim(str_from(s, i));
	if (str_starts_nocase(s, STR("url"))) {
		struct str v = str_trim(str_from(s, 3));
		if (v.n > 0 && v.p[0] == '=')
			s = str_trim(str_from(v, 1));
	}
	if (s.n > 0 && (s.p[0] == '"' || s.p[0] == '\'')) {
		char quote = s.p[0];
		s = str_from(s, 1);
		s.n = str_find_char(s, quote);
	}
	add(g, s, LINK_REDIRECT, false);
}

static void
take_meta(struct html_page *g)
{
	struct str name = str_trim(g->attr[ATTR_NAME]);
	struct str content = g->attr[ATTR_CONTENT];

	if (content.n == 0)
		return;
	if (name.n != 0 && (str_eq_nocase(name, STR("robots")) ||
	    str_eq_nocase(name, g->in->robots_token)))
		take_robots(g, content);
	if (str_eq_nocase(str_trim(g->attr[ATTR_HTTP_EQUIV]), STR("refresh")))
		take_refresh(g, content);
}

static void
take_media(struct html_page *g)
{
	add_embed(g, ATTR_SRC);
	add_embed(g, ATTR_DATA_SRC);
	add_embed(g, ATTR_POSTER);
	if (g->attr[ATTR_SRCSET].n != 0)
		add_srcset(g, g->attr[ATTR_SRCSET]);
	if (g->attr[ATTR_DATA_SRCSET].n != 0)
		add_srcset(g, g->attr[ATTR_DATA_SRCSET]);
}

/* <image> and <use> of SVG; a fragment alone is a part of the page. */
static void
take_reference(struct html_page *g)
{
	struct str href = g->attr[ATTR_HREF];

	if (href.p == NULL)
		href = g->attr[ATTR_XLINK_HREF];
	if (href.n != 0 && href.p[0] != '#')
		add(g, href, LINK_EMBED, false);
}

static void
take_lang(struct html_page *g)
{
	struct str lang = str_trim(g->attr[ATTR_LANG]);

	if (g->has_lang || lang.n > PARSE_LANG_BYTES_MAX)
		return;
	g->has_lang = true;
	g->out->lang = arena_copy(g->a, lang);
}

static void
take_form(struct html_page *g)
{
	if (g->in->forms && g->attr[ATTR_ACTION].n != 0 &&
	    (g->attr[ATTR_METHOD].n == 0 ||
	    str_eq_nocase(g->attr[ATTR_METHOD], STR("get"))))
		add(g, g->attr[ATTR_ACTION], LINK_PAGE, false);
}

static void
take_tag(struct html_page *g, uintptr_t tag)
{
	switch (tag) {
	case LXB_TAG_A:
	case LXB_TAG_AREA:
		take_anchor(g);
		break;
	case LXB_TAG_LINK:
		take_link(g);
		break;
	case LXB_TAG_META:
		take_meta(g);
		break;
	case LXB_TAG_BASE:
		if (g->attr[ATTR_HREF].p != NULL)
			link_set_base(&g->links, g->attr[ATTR_HREF]);
		break;
	case LXB_TAG_HTML:
		take_lang(g);
		break;
	case LXB_TAG_FORM:
		take_form(g);
		break;
	case LXB_TAG_FRAME:
	case LXB_TAG_IFRAME:
		if (g->attr[ATTR_SRC].n != 0)
			add(g, g->attr[ATTR_SRC], LINK_PAGE, false);
		break;
	case LXB_TAG_SCRIPT:
		add_embed(g, ATTR_SRC);
		if (g->foreign > 0)
			take_reference(g);
		break;
	case LXB_TAG_IMAGE:
	case LXB_TAG_FEIMAGE:
		take_reference(g);
		take_media(g);
		break;
	case LXB_TAG_IMG:
	case LXB_TAG_SOURCE:
	case LXB_TAG_VIDEO:
	case LXB_TAG_AUDIO:
	case LXB_TAG_TRACK:
	case LXB_TAG_EMBED:
	case LXB_TAG_BGSOUND:
		take_media(g);
		break;
	case LXB_TAG_INPUT:
		if (str_eq_nocase(g->attr[ATTR_TYPE], STR("image")))
			add_embed(g, ATTR_SRC);
		break;
	case LXB_TAG_OBJECT:
		add_embed(g, ATTR_DATA);
		break;
	case LXB_TAG_BODY:
	case LXB_TAG_TABLE:
	case LXB_TAG_TR:
	case LXB_TAG_TD:
	case LXB_TAG_TH:
		add_embed(g, ATTR_BACKGROUND);
		break;
	case HTML_TAG_USE:
		take_reference(g);
		break;
	default:
		break;
	}
	struct str style = g->attr[ATTR_STYLE];
	if (style.n != 0 && memchr(style.p, '(', style.n) != NULL)
		css_scan(style, g->a, css_link, g);
}

/* The effect of each tag on the scanner and on the nesting. */
enum trait {
	RAW = 1,        /* its inside is text */
	UNCOUNTED = 2,  /* void, or may stay open without nesting */
	BREAKS_OUT = 4, /* ends <svg> and <math>, HTML section 13.2.6.5 */
};

static const uint8_t traits[LXB_TAG__LAST_ENTRY] = {
	[LXB_TAG_TITLE] = RAW, [LXB_TAG_TEXTAREA] = RAW,
	[LXB_TAG_STYLE] = RAW, [LXB_TAG_XMP] = RAW, [LXB_TAG_IFRAME] = RAW,
	[LXB_TAG_NOEMBED] = RAW, [LXB_TAG_NOFRAMES] = RAW,
	[LXB_TAG_SCRIPT] = RAW, [LXB_TAG_PLAINTEXT] = RAW,
	[LXB_TAG_AREA] = UNCOUNTED, [LXB_TAG_BASE] = UNCOUNTED,
	[LXB_TAG_BASEFONT] = UNCOUNTED, [LXB_TAG_BGSOUND] = UNCOUNTED,
	[LXB_TAG_BR] = UNCOUNTED | BREAKS_OUT, [LXB_TAG_COL] = UNCOUNTED,
	[LXB_TAG_EMBED] = UNCOUNTED | BREAKS_OUT, [LXB_TAG_FRAME] = UNCOUNTED,
	[LXB_TAG_HR] = UNCOUNTED | BREAKS_OUT,
	[LXB_TAG_IMG] = UNCOUNTED | BREAKS_OUT, [LXB_TAG_INPUT] = UNCOUNTED,
	[LXB_TAG_LINK] = UNCOUNTED, [LXB_TAG_META] = UNCOUNTED | BREAKS_OUT,
	[LXB_TAG_PARAM] = UNCOUNTED, [LXB_TAG_SOURCE] = UNCOUNTED,
	[LXB_TAG_TRACK] = UNCOUNTED, [LXB_TAG_WBR] = UNCOUNTED,
	[LXB_TAG_P] = UNCOUNTED | BREAKS_OUT,
	[LXB_TAG_LI] = UNCOUNTED | BREAKS_OUT,
	[LXB_TAG_DD] = UNCOUNTED | BREAKS_OUT,
	[LXB_TAG_DT] = UNCOUNTED | BREAKS_OUT, [LXB_TAG_OPTION] = UNCOUNTED,
	[LXB_TAG_OPTGROUP] = UNCOUNTED, [LXB_TAG_TR] = UNCOUNTED,
	[LXB_TAG_TD] = UNCOUNTED, [LXB_TAG_TH] = UNCOUNTED,
	[LXB_TAG_TBODY] = UNCOUNTED, [LXB_TAG_THEAD] = UNCOUNTED,
	[LXB_TAG_TFOOT] = UNCOUNTED, [LXB_TAG_COLGROUP] = UNCOUNTED,
	[LXB_TAG_HTML] = UNCOUNTED, [LXB_TAG_HEAD] = UNCOUNTED | BREAKS_OUT,
	[LXB_TAG_BODY] = UNCOUNTED | BREAKS_OUT, [LXB_TAG_B] = BREAKS_OUT,
	[LXB_TAG_BIG] = BREAKS_OUT, [LXB_TAG_BLOCKQUOTE] = BREAKS_OUT,
	[LXB_TAG_CENTER] = BREAKS_OUT, [LXB_TAG_CODE] = BREAKS_OUT,
	[LXB_TAG_DIV] = BREAKS_OUT, [LXB_TAG_DL] = BREAKS_OUT,
	[LXB_TAG_EM] = BREAKS_OUT, [LXB_TAG_H1] = BREAKS_OUT,
	[LXB_TAG_H2] = BREAKS_OUT, [LXB_TAG_H3] = BREAKS_OUT,
	[LXB_TAG_H4] = BREAKS_OUT, [LXB_TAG_H5] = BREAKS_OUT,
	[LXB_TAG_H6] = BREAKS_OUT, [LXB_TAG_I] = BREAKS_OUT,
	[LXB_TAG_LISTING] = BREAKS_OUT, [LXB_TAG_MENU] = BREAKS_OUT,
	[LXB_TAG_NOBR] = BREAKS_OUT, [LXB_TAG_OL] = BREAKS_OUT,
	[LXB_TAG_PRE] = BREAKS_OUT, [LXB_TAG_RUBY] = BREAKS_OUT,
	[LXB_TAG_S] = BREAKS_OUT, [LXB_TAG_SMALL] = BREAKS_OUT,
	[LXB_TAG_SPAN] = BREAKS_OUT, [LXB_TAG_STRONG] = BREAKS_OUT,
	[LXB_TAG_STRIKE] = BREAKS_OUT, [LXB_TAG_SUB] = BREAKS_OUT,
	[LXB_TAG_SUP] = BREAKS_OUT, [LXB_TAG_TABLE] = BREAKS_OUT,
	[LXB_TAG_TT] = BREAKS_OUT, [LXB_TAG_U] = BREAKS_OUT,
	[LXB_TAG_UL] = BREAKS_OUT, [LXB_TAG_VAR] = BREAKS_OUT,
};

static unsigned
traits_of(uintptr_t tag)
{
	return tag < LXB_TAG__LAST_ENTRY ? traits[tag] : 0;
}

static void
break_out(struct html_page *g)
{
	g->foreign = 0;
	if (g->in->readable)
		readable_leave_foreign(&g->readable);
}

static void
open_readable(struct html_page *g, uintptr_t tag)
{
	const struct readable_attrs x = {
		.aria_hidden = g->attr[ATTR_ARIA_HIDDEN],
		.content = g->attr[ATTR_CONTENT],
		.datetime = g->attr[ATTR_DATETIME],
		.hidden = g->attr[ATTR_HIDDEN],
		.itemprop = g->attr[ATTR_ITEMPROP],
		.name = g->attr[ATTR_NAME],
		.property = g->attr[ATTR_PROPERTY],
		.role = g->attr[ATTR_ROLE], .style = g->attr[ATTR_STYLE] };

	g->in_json = tag == LXB_TAG_SCRIPT && str_eq_nocase(str_trim(
	    g->attr[ATTR_TYPE]), STR("application/ld+json"));
	readable_open(&g->readable, tag, &x);
}

/* True when the inside of the element is text to the scanner, too. */
static bool
open_element(struct html_page *g, uintptr_t tag, unsigned t, bool self)
{
	if (g->foreign > 0 && (t & BREAKS_OUT) != 0)
		break_out(g);
	if (self && (g->foreign > 0 || tag == LXB_TAG_SVG ||
	    tag == LXB_TAG_MATH))
		return false;
	if (tag == LXB_TAG_SVG || tag == LXB_TAG_MATH) {
		g->foreign++;
	} else if (g->foreign > 0 && (tag == LXB_TAG_FOREIGNOBJECT ||
	    tag == LXB_TAG_DESC)) {
		/* Inside is HTML again. */
		g->foreign_saved = g->foreign;
		g->foreign = 0;
	}
	if (g->in->readable)
		open_readable(g, tag);
	if ((t & UNCOUNTED) == 0 && ++g->open > g->out->nesting)
		g->out->nesting = (uint32_t)MIN(g->open, UINT32_MAX);
	if ((t & RAW) == 0)
		return false;
	g->raw = tag;
	if (g->foreign > 0)
		return false;
	g->in_title = tag == LXB_TAG_TITLE && !g->has_title;
	return true;
}

bool
html_page_open(struct html_page *g, const struct scan_token *t)
{
	g->attr = t->attr;
	if (t->attrs_n > 0)
		take_tag(g, t->tag);
	return open_element(g, t->tag, traits_of(t->tag), t->self);
}

/* The title ends with its element, be it empty. */
void
html_page_close(struct html_page *g, uintptr_t tag)
{
	if (g->in->readable)
		readable_close(&g->readable, tag);
	if ((traits_of(tag) & UNCOUNTED) == 0 && g->open > 0)
		g->open--;
	if (tag == LXB_TAG_SVG || tag == LXB_TAG_MATH)
		g->foreign -= g->foreign > 0;
	if (tag == LXB_TAG_FOREIGNOBJECT || tag == LXB_TAG_DESC) {
		g->foreign = MAX(g->foreign, g->foreign_saved);
		g->foreign_saved = 0;
	}
	if (g->raw == LXB_TAG_PLAINTEXT)
		return;
	g->raw = LXB_TAG__UNDEF;
	g->has_title = g->has_title || g->in_title;
	g->in_title = false;
}

/* Collapse white space, mend UTF-8, cut at PARSE_TITLE_BYTES_MAX. */
static void
take_title(struct html_page *g, struct str s)
{
	char *to = arena_bytes(g->a, PARSE_TITLE_BYTES_MAX + 1);
	size_t n = 0;
	bool space = false;

	while (s.n > 0) {
		size_t k = 1, m = text_utf8_length(s);
		const char *from = s.p;
		if (ascii_is_space(s.p[0]) || s.p[0] == '\0') {
			space = n > 0;
			s = str_from(s, 1);
			continue;
		}
		if (m == 0) {
			from = "\xef\xbf\xbd";
			m = 3;
		} else {
			k = m;
		}
		if (n + space + m > PARSE_TITLE_BYTES_MAX)
			break;
		if (space)
			to[n++] = ' ';
		space = false;
		memcpy(to + n, from, m);
		n += m;
		s = str_from(s, k);
	}
	to[n] = '\0';
	g->out->title = (struct str){ to, n };
}

/* Where text is what people read: not in <script>, <textarea> and the like. */
static bool
is_prose(const struct html_page *g)
{
	return g->raw == LXB_TAG__UNDEF || g->raw == LXB_TAG_PLAINTEXT ||
	    g->raw == LXB_TAG_XMP;
}

bool
html_page_wants_text(const struct html_page *g)
{
	return g->in_title || is_prose(g) || g->raw == LXB_TAG_STYLE ||
	    (g->raw == LXB_TAG_SCRIPT && g->in_json);
}

void
html_page_text(struct html_page *g, struct str text)
{
	if (g->in_title) {
		if (!g->has_title)
			take_title(g, text);
		g->has_title = true;
	} else if (is_prose(g)) {
		simhash_add(&g->simhash, text);
		if (g->in->readable)
			readable_put_text(&g->readable, text);
	} else if (g->raw == LXB_TAG_STYLE) {
		css_scan(text, g->a, css_link, g);
	} else if (g->raw == LXB_TAG_SCRIPT && g->in_json) {
		readable_put_json(&g->readable, text);
	}
}

const char *
html_page_limit(const struct html_page *g)
{
	if (g->links.full)
		return "parse.links_max";
	if (g->in->nesting_max != 0 && g->open > g->in->nesting_max)
		return "parse.nesting_max";
	return NULL;
}

void
html_page_begin(struct html_page *g, const struct parse_input *in,
    struct parse_output *out, struct arena *a)
{
	*g = (struct html_page){ .in = in, .out = out, .a = a,
	    .simhash = SIMHASH_INIT };
	link_set_init(&g->links, in->url, in->links_max != 0 ?
	    in->links_max : PARSE_LINKS_MAX, a);
	if (in->readable)
		readable_begin(&g->readable, in->text_bytes_max != 0 ?
		    in->text_bytes_max : PARSE_TEXT_BYTES_MAX, a);
}

static void
take_readable(struct readable *r, struct parse_output *out)
{
	out->text_cut = r->cut;
	out->published = r->date[READABLE_PUBLISHED];
	out->modified = r->date[READABLE_MODIFIED];
	out->text = readable_end(r);
}

void
html_page_end(struct html_page *g)
{
	struct parse_output *out = g->out;

	out->links = g->links.at;
	out->links_n = g->links.n;
	out->schemes_dropped = g->links.schemes_dropped;
	out->bad_urls = g->links.bad;
	out->simhash = simhash_value(&g->simhash, &out->words);
	if (g->in->readable)
		take_readable(&g->readable, out);
}

/* Feeds in XML: RSS in all its versions, and Atom. */

/* Debian's expat is built with it; the header shows the limits only then. */
#define XML_DTD 1
#include <expat.h>

#include "engine/connector/feed/feed_read.h"

/* Names come as "namespace local". */
#define SEPARATOR ' '
#define XHTML_DEPTH_MAX 64
/* What entities may make of a text. */
#define AMPLIFICATION_MAX 10.0f
#define AMPLIFICATION_FROM (1u << 20)
#define FIELD_BYTES_MAX ((size_t)4 << 20)

enum space { SPACE_RSS, SPACE_ATOM, SPACE_DC, SPACE_CONTENT, SPACE_OTHER };

static enum space
space_of(struct str uri)
{
	static const struct {
		const char *uri;
		enum space space;
	} rows[] = {
		{ "", SPACE_RSS },
		{ "http://purl.org/rss/1.0/", SPACE_RSS },
		{ "http://my.netscape.com/rdf/simple/0.9/", SPACE_RSS },
		{ "http://backend.userland.com/rss2", SPACE_RSS },
		{ "http://www.w3.org/2005/Atom", SPACE_ATOM },
		{ "http://purl.org/dc/elements/1.1/", SPACE_DC },
		{ "http://purl.org/rss/1.0/modules/content/", SPACE_CONTENT },
	};
	size_t i = STR_ROW(uri, rows);

	return i < ARRAY_LEN(rows) ? rows[i].space : SPACE_OTHER;
}

/* An element of an entry whose text is a field. */
static const struct {
	const char *name;
	enum space space;
	enum feed_field field;
} elements[] = {
	{ "guid", SPACE_RSS, FEED_ID },
	{ "title", SPACE_RSS, FEED_TITLE },
	{ "link", SPACE_RSS, FEED_URL },
	{ "author", SPACE_RSS, FEED_AUTHOR },
	{ "pubDate", SPACE_RSS, FEED_PUBLISHED },
	{ "description", SPACE_RSS, FEED_SUMMARY },
	{ "encoded", SPACE_CONTENT, FEED_CONTENT },
	{ "creator", SPACE_DC, FEED_AUTHOR },
	{ "date", SPACE_DC, FEED_PUBLISHED },
	{ "language", SPACE_DC, FEED_LANGUAGE },
	{ "id", SPACE_ATOM, FEED_ID },
	{ "title", SPACE_ATOM, FEED_TITLE },
	{ "published", SPACE_ATOM, FEED_PUBLISHED },
	{ "updated", SPACE_ATOM, FEED_UPDATED },
	{ "summary", SPACE_ATOM, FEED_SUMMARY },
	{ "content", SPACE_ATOM, FEED_CONTENT },
};

struct reading {
	XML_Parser parser;
	struct feed_about *about;    /* or NULL */
	feed_entry_fn *entry;
	void *arg;
	struct why *why;
	enum err err;            /* of entry() */
	bool known;              /* the root is that of a feed */
	int depth;
	int entry_depth;         /* 0: not in an entry */
	struct feed_entry now;
	struct buf language;     /* the feed's */
	struct buf category;
	/* Where text goes: a field, the category, or nowhere (NULL). */
	struct buf *text;
	int text_depth;
	bool xhtml;              /* elements within are part of it */
	size_t opened;           /* where the last tag within has ended */
	bool in_author;          /* Atom: its <name> is meant */
	bool is_permalink;
};

static struct str
local_name(const char *name, enum space *space)
{
	struct str s = str_of(name);
	size_t n = str_find_char(s, SEPARATOR);

	*space = n < s.n ? space_of(str_cut(s, 0, n)) : SPACE_RSS;
	return n < s.n ? str_from(s, n + 1) : s;
}

static struct str
attribute(const char **attributes, const char *name)
{
	for (; *attributes != NULL; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return str_of(attributes[1]);
	return STR_NONE;
}

static void
trim(struct buf *b)
{
	struct str s = str_trim(buf_str(b));

	if (s.n > 0)
		memmove(b->p, s.p, s.n);
	b->n = s.n;
}

/* --- elements ----------------------------------------------------------- */

static void
begin_text(struct reading *r, struct buf *into, const char **attributes)
{
	/* The first of several counts. */
	if (into->n > 0)
		return;
	r->text = into;
	r->text_depth = r->depth;
	r->xhtml = str_eq(attribute(attributes, "type"), STR("xhtml"));
}

static void
put_escaped(struct buf *b, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		switch (p[i]) {
		case '"':
			buf_put_text(b, "&quot;");
			break;
		case '&':
			buf_put_text(b, "&amp;");
			break;
		case '<':
			buf_put_text(b, "&lt;");
			break;
		default:
			buf_put_char(b, p[i]);
		}
}

static void
put_markup(struct reading *r, struct str name, const char **attributes)
{
	/* The <div> around it is not part of it (RFC 4287 §3.1.1.3). */
	if (r->depth <= r->text_depth + 1 ||
	    r->depth > r->text_depth + XHTML_DEPTH_MAX)
		return;
	buf_printf(r->text, "<%.*s", STR_FMT(name));
	for (; *attributes != NULL; attributes += 2) {
		enum space space;
		struct str key = local_name(attributes[0], &space);
		buf_printf(r->text, " %.*s=\"", STR_FMT(key));
		put_escaped(r->text, attributes[1], strlen(attributes[1]));
		buf_put_char(r->text, '"');
	}
	buf_put_char(r->text, '>');
	r->opened = r->text->n;
}

static void
end_markup(struct reading *r, struct str name)
{
	if (r->depth <= r->text_depth + 1 ||
	    r->depth > r->text_depth + XHTML_DEPTH_MAX)
		return;
	if (r->text->n == r->opened) {
		/* "<br></br>" would be two of them. */
		r->text->n--;
		buf_put_text(r->text, " />");
	} else {
		buf_printf(r->text, "</%.*s>", STR_FMT(name));
	}
	r->opened = 0;
}

static void
add_listed(struct buf *list, struct str s)
{
	if (s.n > 0) {
		buf_put_str(list, s);
		buf_put_char(list, '\0');
	}
}

/* <link rel="alternate" href="..."/> and <link rel="enclosure" .../> */
static void
read_atom_link(struct reading *r, const char **attributes)
{
	struct str rel = attribute(attributes, "rel"), href =
	    attribute(attributes, "href");

	if (str_eq(rel, STR("enclosure")))
		add_listed(&r->now.enclosures, href);
	else if ((rel.p == NULL || str_eq(rel, STR("alternate"))) &&
	    r->now.fields[FEED_URL].n == 0)
		buf_put_str(&r->now.fields[FEED_URL], href);
}

/* Of the feed: <link rel="prev-archive" href="..."/> in <feed> or <channel>. */
static void
read_feed_link(struct reading *r, const char **attributes)
{
	struct str rel = attribute(attributes, "rel"), href =
	    attribute(attributes, "href");

	if (r->about == NULL || href.n == 0 ||
	    !(str_eq(rel, STR("prev-archive")) || (str_eq(rel, STR("next")) &&
	    r->about->older.n == 0)))
		return;
	buf_clear(&r->about->older);
	buf_put_str(&r->about->older, href);
}

static void
begin_field(struct reading *r, struct str name, enum space space,
    const char **attributes)
{
	for (size_t i = 0; i < ARRAY_LEN(elements); i++)
		if (space == elements[i].space &&
		    str_eq(name, str_of(elements[i].name))) {
			if (elements[i].field == FEED_ID)
				r->is_permalink = space == SPACE_RSS &&
				    !str_eq(attribute(attributes,
				    "isPermaLink"), STR("false"));
			begin_text(r, &r->now.fields[elements[i].field],
			    attributes);
			return;
		}
}

/* A child of an entry. */
static void
begin_child(struct reading *r, struct str name, enum space space,
    const char **attributes)
{
	bool category = str_eq(name, STR("category"));

	if (space == SPACE_ATOM && str_eq(name, STR("link")))
		read_atom_link(r, attributes);
	else if (space == SPACE_ATOM && category)
		add_listed(&r->now.categories, attribute(attributes,
		    "term"));
	else if (space == SPACE_RSS && str_eq(name, STR("enclosure")))
		add_listed(&r->now.enclosures, attribute(attributes, "url"));
	else if ((space == SPACE_RSS && category) ||
	    (space == SPACE_DC && str_eq(name, STR("subject")))) {
		buf_clear(&r->category);
		begin_text(r, &r->category, attributes);
	} else if (space == SPACE_ATOM && str_eq(name, STR("author"))) {
		r->in_author = true;
	} else {
		begin_field(r, name, space, attributes);
	}
}

static void
begin_entry(struct reading *r)
{
	r->entry_depth = r->depth;
	r->in_author = r->is_permalink = false;
	feed_entry_clear(&r->now);
}

static bool
is_root(struct str name)
{
	return str_eq(name, STR("rss")) || str_eq(name, STR("RDF")) ||
	    str_eq(name, STR("feed"));
}

static void XMLCALL
on_start(void *arg, const char *full, const char **attributes)
{
	struct reading *r = arg;
	enum space space;
	struct str name = local_name(full, &space);
	struct str lang = attribute(attributes,
	    "http://www.w3.org/XML/1998/namespace lang");

	r->depth++;
	if (r->depth == 1)
		r->known = is_root(name);
	if (r->text != NULL) {
		if (r->xhtml)
			put_markup(r, name, attributes);
	} else if (r->entry_depth == 0) {
		if ((space == SPACE_RSS && str_eq(name, STR("item"))) ||
		    (space == SPACE_ATOM && str_eq(name, STR("entry"))))
			begin_entry(r);
		else if (space == SPACE_RSS && str_eq(name,
		    STR("language")))
			begin_text(r, &r->language, attributes);
		else if (space == SPACE_ATOM && r->depth <= 3 &&
		    str_eq(name, STR("link")))
			read_feed_link(r, attributes);
		else if (r->depth == 1)
			buf_put_str(&r->language, lang);
	} else if (r->depth == r->entry_depth + 1) {
		begin_child(r, name, space, attributes);
	} else if (r->in_author && r->depth == r->entry_depth + 2 &&
	    str_eq(name, STR("name"))) {
		begin_text(r, &r->now.fields[FEED_AUTHOR], attributes);
	}
	if (r->depth == r->entry_depth && lang.n > 0)
		buf_put_str(&r->now.fields[FEED_LANGUAGE], lang);
}

static void XMLCALL
on_text(void *arg, const char *p, int n)
{
	struct reading *r = arg;

	if (r->text == NULL || r->text->n >= FIELD_BYTES_MAX)
		return;
	if (r->xhtml)
		put_escaped(r->text, p, (size_t)n);
	else
		buf_put(r->text, p, (size_t)n);
}

/* --- ends --------------------------------------------------------------- */

static void
end_text(struct reading *r)
{
	trim(r->text);
	if (r->text == &r->category)
		add_listed(&r->now.categories, buf_str(r->text));
	r->text = NULL;
}

static void
end_entry(struct reading *r)
{
	struct buf *id = &r->now.fields[FEED_ID], *url =
	    &r->now.fields[FEED_URL], *language =
	    &r->now.fields[FEED_LANGUAGE];

	r->entry_depth = 0;
	if (url->n == 0 && r->is_permalink)
		buf_put_str(url, buf_str(id));
	if (id->n == 0)
		buf_put_str(id, buf_str(url));
	if (language->n == 0)
		buf_put_str(language, buf_str(&r->language));
	r->err = r->entry(r->arg, &r->now, r->why);
	if (r->err != OK)
		XML_StopParser(r->parser, XML_FALSE);
}

static void XMLCALL
on_end(void *arg, const char *full)
{
	struct reading *r = arg;
	enum space space;
	struct str name = local_name(full, &space);

	if (r->text != NULL && r->depth == r->text_depth)
		end_text(r);
	else if (r->text != NULL && r->xhtml)
		end_markup(r, name);
	else if (r->entry_depth > 0 && r->depth == r->entry_depth)
		end_entry(r);
	else if (r->in_author && r->depth == r->entry_depth + 1)
		r->in_author = false;
	r->depth--;
}

enum err
feed_read_xml(struct str text, struct feed_about *about,
    feed_entry_fn *entry, void *arg, struct why *w)
{
	struct reading r = { .about = about, .entry = entry, .arg = arg,
		.why = w };
	enum err e = OK;

	if (text.n > INT32_MAX)
		return why(w, ERR_INPUT, "it has more than 2 GiB");
	r.parser = XML_ParserCreateNS(NULL, SEPARATOR);
	CHECK(r.parser != NULL);
	XML_SetBillionLaughsAttackProtectionMaximumAmplification(r.parser,
	    AMPLIFICATION_MAX);
	XML_SetBillionLaughsAttackProtectionActivationThreshold(r.parser,
	    AMPLIFICATION_FROM);
	XML_SetUserData(r.parser, &r);
	XML_SetElementHandler(r.parser, on_start, on_end);
	XML_SetCharacterDataHandler(r.parser, on_text);
	enum XML_Status status = XML_Parse(r.parser, text.p, (int)text.n,
	    XML_TRUE);
	if (r.err != OK)
		e = r.err;
	else if (status != XML_STATUS_OK)
		e = why(w, ERR_INPUT, "line %lu: %s", (unsigned long)
		    XML_GetCurrentLineNumber(r.parser),
		    XML_ErrorString(XML_GetErrorCode(r.parser)));
	else if (!r.known)
		e = why(w, ERR_INPUT, "no feed");
	XML_ParserFree(r.parser);
	feed_entry_free(&r.now);
	buf_free(&r.language);
	buf_free(&r.category);
	return e;
}

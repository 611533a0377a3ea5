#include "engine/parser/sitemap.h"

/* Debian's expat is built with it; the header shows the limits only then. */
#define XML_DTD 1
#include <expat.h>
#include <zlib.h>

#include "engine/parser/charset.h"
#include "engine/parser/date.h"

#define TEXT_MAX 8192u          /* bytes of one element's text */
#define STREAM_BYTES 65536u       /* given to expat at a time */
#define AMPLIFICATION_MAX 10.0f
#define AMPLIFICATION_FROM (1u << 20)

/* Elements that mean something to us; the rest is OTHER. */
#define TAGS(X)                                                           \
	X(OTHER, "") X(URLSET, "urlset") X(INDEX, "sitemapindex")         \
	X(URL, "url") X(SITEMAP, "sitemap") X(LOC, "loc")                 \
	X(LASTMOD, "lastmod") X(PRIORITY, "priority") X(IMAGE, "image")   \
	X(RSS, "rss") X(RDF, "RDF") X(CHANNEL, "channel") X(ITEM, "item") \
	X(LINK, "link") X(GUID, "guid") X(PUBDATE, "pubDate")             \
	X(DATE, "date") X(ENCLOSURE, "enclosure") X(TITLE, "title")       \
	X(FEED, "feed") X(ENTRY, "entry") X(UPDATED, "updated")           \
	X(PUBLISHED, "published")

enum tag {
#define TAG_ENUM(name, text) TAG_##name,
	TAGS(TAG_ENUM)
#undef TAG_ENUM
	TAG_COUNT
};

/* One <url>, <item> or <entry> while it is open. */
struct record {
	struct str loc, guid;
	struct sitemap_note note;
};

struct reading {
	XML_Parser xml;
	struct arena *a;
	struct sitemap *out;
	struct link_set links;
	size_t notes_cap;
	uint8_t stack[SITEMAP_NESTING_MAX];
	size_t depth;
	struct record record;
	bool in_record;
	char text[TEXT_MAX];
	size_t text_n;
	bool text_cut;
};

/* expat's memory functions have no context: the count is the thread's. */
static _Thread_local size_t xml_bytes;

struct xml_block {
	size_t n;
	max_align_t bytes[];
};

static void
xml_free(void *p)
{
	if (p == NULL)
		return;
	struct xml_block *b = CONTAINER(p, struct xml_block, bytes);
	xml_bytes -= b->n;
	free(b);
}

static void *
xml_resize(void *p, size_t n)
{
	struct xml_block *b = p == NULL ? NULL :
	    CONTAINER(p, struct xml_block, bytes);
	size_t old = b == NULL ? 0 : b->n;

	if (n > SITEMAP_PARSER_BYTES_MAX ||
	    xml_bytes - old + n > SITEMAP_PARSER_BYTES_MAX)
		return NULL;
	b = realloc(b, sizeof(*b) + n);
	if (b == NULL)
		return NULL;
	b->n = n;
	xml_bytes += n - old;
	return b->bytes;
}

static void *
xml_new(size_t n)
{
	return xml_resize(NULL, n);
}

static void
cut(struct reading *r, const char *reason)
{
	if (r->out->cut_reason == NULL)
		r->out->cut_reason = reason;
	if (r->xml != NULL)
		XML_StopParser(r->xml, XML_FALSE);
}

static enum tag
tag_of(const char *name)
{
	static const char *const names[] = {
		TAGS(TABLE_SECOND)
	};
	const char *colon = strrchr(name, ':');

	if (colon != NULL)
		name = colon + 1;
	for (size_t i = 1; i < TAG_COUNT; i++)
		if (strcmp(name, names[i]) == 0)
			return (enum tag)i;
	return TAG_OTHER;
}

static enum tag
parent(const struct reading *r)
{
	return r->depth < 2 ? TAG_OTHER : (enum tag)r->stack[r->depth - 2];
}

static void
put(struct reading *r, struct str loc, enum link_kind kind,
    const struct sitemap_note *note)
{
	if (str_trim(loc).n == 0)
		return;
	if (!link_add(&r->links, loc, kind, false)) {
		cut(r, "sitemap.urls_max");
		return;
	}
	if (r->links.n == r->out->n)
		return;
	r->out->notes = arena_grow(r->a, r->out->notes, r->out->n,
	    &r->notes_cap, 64, sizeof(*r->out->notes));
	r->out->notes[r->out->n++] = *note;
}

static const char *
attr(const char **attrs, const char *name)
{
	for (; attrs[0] != NULL; attrs += 2)
		if (strcmp(attrs[0], name) == 0)
			return attrs[1];
	return NULL;
}

static const struct sitemap_note plain_note = { .priority = 50 };

/* Atom's <link rel href>; also xhtml:link in a sitemap, and RSS's atom:link. */
static void
take_link(struct reading *r, const char **attrs)
{
	const char *href = attr(attrs, "href"), *rel = attr(attrs, "rel");
	struct str kind = str_of(rel);

	if (href == NULL)
		return;
	if (rel == NULL || str_eq(kind, STR("alternate"))) {
		if (parent(r) == TAG_ENTRY && r->record.loc.n == 0)
			r->record.loc = arena_copy(r->a, str_of(href));
		else
			put(r, str_of(href), LINK_PAGE, &plain_note);
	} else if (str_eq(kind, STR("enclosure"))) {
		put(r, str_of(href), LINK_EMBED, &plain_note);
	} else if (str_eq(kind, STR("next")) || str_eq(kind, STR("previous"))) {
		put(r, str_of(href), LINK_FEED, &plain_note);
	}
}

static void
take_root(struct reading *r, enum tag t)
{
	switch (t) {
	case TAG_URLSET:
		r->out->kind = SITEMAP_URLS;
		break;
	case TAG_INDEX:
		r->out->kind = SITEMAP_INDEX;
		break;
	case TAG_RSS:
	case TAG_RDF:
		r->out->kind = SITEMAP_RSS;
		break;
	case TAG_FEED:
		r->out->kind = SITEMAP_ATOM;
		break;
	default:
		cut(r, "no sitemap");
	}
}

static void XMLCALL
on_start(void *ctx, const char *name, const char **attrs)
{
	struct reading *r = ctx;
	enum tag t = tag_of(name);

	if (r->depth == SITEMAP_NESTING_MAX) {
		cut(r, "sitemap.nesting_max");
		return;
	}
	r->stack[r->depth++] = (uint8_t)t;
	r->text_n = 0;
	r->text_cut = false;
	if (r->depth == 1)
		take_root(r, t);
	else if (t == TAG_URL || t == TAG_SITEMAP || t == TAG_ITEM ||
	    t == TAG_ENTRY) {
		r->record = (struct record){ .note = plain_note };
		r->in_record = true;
	} else if (t == TAG_LINK) {
		take_link(r, attrs);
	} else if (t == TAG_ENCLOSURE && attr(attrs, "url") != NULL) {
		put(r, str_of(attr(attrs, "url")), LINK_EMBED, &plain_note);
	}
}

static void XMLCALL
on_text(void *ctx, const char *p, int n)
{
	struct reading *r = ctx;

	if (r->text_n + (size_t)n > TEXT_MAX) {
		r->text_cut = true;
		return;
	}
	memcpy(r->text + r->text_n, p, (size_t)n);
	r->text_n += (size_t)n;
}

static void
take_priority(struct sitemap_note *note, struct str s)
{
	double v;

	if (str_to_double(s, &v) && v >= 0 && v <= 1)
		note->priority = (uint8_t)(v * 100 + 0.5);
}

static void
take_date(struct sitemap_note *note, struct str s)
{
	struct wall t;

	if (!note->dated && date_parse(s, &t)) {
		note->changed = t;
		note->dated = true;
	}
}

static void
end_record(struct reading *r, enum tag t)
{
	struct record *c = &r->record;
	bool index = r->out->kind == SITEMAP_INDEX && t == TAG_SITEMAP;

	r->in_record = false;
	/* Some write the URL into <sitemap> without a <loc>. */
	if (c->loc.n == 0 && (t == TAG_URL || t == TAG_SITEMAP))
		c->loc = arena_copy(r->a, str_trim((struct str){ r->text,
		    r->text_n }));
	put(r, c->loc.n != 0 ? c->loc : c->guid,
	    index ? LINK_SITEMAP : LINK_PAGE, &c->note);
}

/* The text of an element inside of a record or of the channel. */
static void
take_text(struct reading *r, enum tag t, struct str s)
{
	enum tag up = parent(r);
	bool in_item = up == TAG_ITEM || up == TAG_ENTRY;

	switch (t) {
	case TAG_LOC:
		if (up == TAG_IMAGE)
			put(r, s, LINK_EMBED, &plain_note);
		else if (up == TAG_URL || up == TAG_SITEMAP)
			r->record.loc = arena_copy(r->a, s);
		break;
	case TAG_LINK:
		if (up == TAG_ITEM && s.n != 0)
			r->record.loc = arena_copy(r->a, s);
		else if (up == TAG_CHANNEL)
			put(r, s, LINK_PAGE, &plain_note);
		break;
	case TAG_GUID:
		/* Taken when there is no link, whatever isPermaLink says. */
		if (up == TAG_ITEM && str_starts_nocase(s, STR("http")))
			r->record.guid = arena_copy(r->a, s);
		break;
	case TAG_LASTMOD:
	case TAG_PUBDATE:
	case TAG_DATE:
	case TAG_UPDATED:
	case TAG_PUBLISHED:
		if (r->in_record)
			take_date(&r->record.note, s);
		break;
	case TAG_PRIORITY:
		take_priority(&r->record.note, s);
		break;
	case TAG_TITLE:
		if (!in_item && (up == TAG_CHANNEL || up == TAG_FEED) &&
		    r->out->title.n == 0)
			r->out->title = arena_copy(r->a, str_cut(s, 0, 500));
		break;
	default:
		break;
	}
}

static void XMLCALL
on_end(void *ctx, const char *name)
{
	struct reading *r = ctx;

	(void)name;
	if (r->depth == 0)
		return;
	enum tag t = (enum tag)r->stack[r->depth - 1];
	if (!r->text_cut)
		take_text(r, t, str_trim((struct str){ r->text, r->text_n }));
	if (r->in_record && (t == TAG_URL || t == TAG_SITEMAP ||
	    t == TAG_ITEM || t == TAG_ENTRY))
		end_record(r, t);
	r->depth--;
	r->text_n = 0;
}

/*
 * Nothing is read from outside.  An empty DTD is, however: then the entities of
 * HTML in a stream (&nbsp;) are unknown and passed over, not an error.
 */
static int XMLCALL
on_external(XML_Parser p, const char *context, const char *base,
    const char *system, const char *public)
{
	(void)base, (void)system, (void)public;
	if (context != NULL)
		return XML_STATUS_OK;
	XML_Parser dtd = XML_ExternalEntityParserCreate(p, context, NULL);
	if (dtd == NULL)
		return XML_STATUS_ERROR;
	int ok = XML_Parse(dtd, "", 0, 1);
	XML_ParserFree(dtd);
	return ok;
}

static XML_Parser
new_parser(struct reading *r)
{
	const XML_Memory_Handling_Suite mem = { xml_new, xml_resize, xml_free };
	XML_Parser p = XML_ParserCreate_MM("UTF-8", &mem, NULL);

	CHECK(p != NULL);
	XML_SetUserData(p, r);
	XML_SetElementHandler(p, on_start, on_end);
	XML_SetCharacterDataHandler(p, on_text);
	XML_SetParamEntityParsing(p, XML_PARAM_ENTITY_PARSING_ALWAYS);
	XML_SetExternalEntityRefHandler(p, on_external);
	XML_UseForeignDTD(p, XML_TRUE);
	XML_SetBillionLaughsAttackProtectionMaximumAmplification(p,
	    AMPLIFICATION_MAX);
	XML_SetBillionLaughsAttackProtectionActivationThreshold(p,
	    AMPLIFICATION_FROM);
	return p;
}

static void
read_xml(struct reading *r, struct str text)
{
	r->xml = new_parser(r);
	for (bool last = false; !last; ) {
		size_t n = MIN(text.n, STREAM_BYTES);
		last = n == text.n;
		if (XML_Parse(r->xml, n == 0 ? "" : text.p, (int)n, last) !=
		    XML_STATUS_OK)
			break;
		text = str_from(text, n);
	}
	if (XML_GetErrorCode(r->xml) == XML_ERROR_NO_MEMORY)
		cut(r, "sitemap.parser_bytes_max");
	else if (XML_GetErrorCode(r->xml) != XML_ERROR_NONE)
		cut(r, "malformed");
	XML_ParserFree(r->xml);
	r->xml = NULL;
}

/* `*body` is cut to SITEMAP_BYTES_MAX. */
static struct reading *
reading_new(struct str *body, const struct url *page, size_t urls_max,
    struct arena *a, struct sitemap *out)
{
	struct reading *r = mem_new(sizeof(*r));

	*out = (struct sitemap){ .kind = SITEMAP_NONE };
	r->a = a;
	r->out = out;
	link_set_init(&r->links, page,
	    urls_max != 0 ? urls_max : SITEMAP_URLS_MAX, a);
	if (body->n > SITEMAP_BYTES_MAX) {
		cut(r, "sitemap.bytes_max");
		body->n = SITEMAP_BYTES_MAX;
	}
	return r;
}

static void
reading_end(struct reading *r)
{
	r->out->links = r->links.at;
	r->out->bad_urls = r->links.bad;
	r->out->schemes_dropped = r->links.schemes_dropped;
	mem_free(&r);
}

void
sitemap_parse(struct str body, struct str label, const struct url *page,
    size_t urls_max, struct arena *a, struct sitemap *out)
{
	struct reading *r = reading_new(&body, page, urls_max, a, out);

	const char *name = charset_of(body, label, CHARSET_XML);
	struct str text = charset_to_utf8(name, body, a);
	/* A declaration behind white space is an error to expat only. */
	while (text.n > 0 && ascii_is_space(text.p[0]))
		text = str_from(text, 1);
	read_xml(r, text);
	reading_end(r);
	if (out->kind == SITEMAP_NONE)
		out->n = 0;
}

void
sitemap_parse_text(struct str body, const struct url *page, size_t urls_max,
    struct arena *a, struct sitemap *out)
{
	struct reading *r = reading_new(&body, page, urls_max, a, out);
	struct str line;

	out->kind = SITEMAP_TEXT;
	body = charset_to_utf8(charset_of(body, STR("utf-8"), CHARSET_PLAIN),
	    body, a);
	while (str_split(&body, '\n', &line)) {
		line = str_trim(line);
		if (line.n == 0)
			continue;
		if (str_starts_nocase(line, STR("http://")) ||
		    str_starts_nocase(line, STR("https://")))
			put(r, line, LINK_PAGE, &plain_note);
		else
			r->links.bad++;
		if (out->cut_reason != NULL && r->links.full)
			break;
	}
	reading_end(r);
}

struct str
sitemap_type(struct str body)
{
	struct str start = str_trim(str_cut(body, 0, 1024));

	return str_starts_nocase(start, STR("http")) ? STR("text/plain") :
	    STR("application/xml");
}

enum err
sitemap_gunzip(struct str gz, size_t bytes_max, struct buf *out,
    struct why *w)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)gz.p };
	enum err e = OK;
	int got = Z_OK;
	bool whole = false;   /* a member has ended: rubbish may follow */

	buf_clear(out);
	z.avail_in = (uInt)MIN(gz.n, UINT32_MAX);
	CHECK(inflateInit2(&z, 16 + MAX_WBITS) == Z_OK);
	while (e == OK && (got != Z_STREAM_END || z.avail_in > 0)) {
		size_t room = MIN(65536u, bytes_max + 1 - out->n);
		if (got == Z_STREAM_END && inflateReset(&z) != Z_OK)
			break;
		buf_reserve(out, room);
		z.next_out = (Bytef *)out->p + out->n;
		z.avail_out = (uInt)room;
		got = inflate(&z, Z_NO_FLUSH);
		out->n += room - z.avail_out;
		if (whole && got == Z_DATA_ERROR)
			break;
		whole = whole || got == Z_STREAM_END;
		if (out->n > bytes_max) {
			out->n = bytes_max;
			e = why(w, ERR_FULL, "gzip: more than %zu bytes",
			    bytes_max);
		} else if (got != Z_OK && got != Z_STREAM_END) {
			e = why(w, ERR_INPUT, "gzip: %s", z.msg != NULL ?
			    z.msg : "it ends too early");
		}
	}
	inflateEnd(&z);
	return e;
}

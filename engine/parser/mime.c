#include "engine/parser/mime.h"

#include "base/text.h"
#include "engine/parser/charset.h"

static struct str
lowered(struct str s, struct arena *a)
{
	struct str copy = arena_copy(a, s);
	char *p = (char *)(uintptr_t)copy.p;

	for (size_t i = 0; i < s.n; i++)
		p[i] = ascii_lower(p[i]);
	return copy;
}

/* HTTP white space: without the form stream of HTML. */
static bool
is_http_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct str
trim_end(struct str s)
{
	while (s.n > 0 && is_http_space(s.p[s.n - 1]))
		s.n--;
	return s;
}

static struct str
trim_start(struct str s)
{
	while (s.n > 0 && is_http_space(s.p[0]))
		s = str_from(s, 1);
	return s;
}

/* Fetch section 2.2, "collect an HTTP quoted string", at its quote. */
static struct str
take_quoted(struct str *rest, struct arena *a)
{
	char *out = arena_bytes(a, rest->n);
	size_t n = 0, i = 1;

	for (; i < rest->n && rest->p[i] != '"'; i++) {
		if (rest->p[i] == '\\' && i + 1 < rest->n)
			i++;
		out[n++] = rest->p[i];
	}
	*rest = str_from(*rest, i + 1);
	return (struct str){ out, n };
}

static void
put_param(struct mime *m, struct str name, struct str value, struct arena *a)
{
	if (!text_is_token(name) || !text_is_field_value(value) ||
	    m->params_n == MIME_PARAMS_MAX)
		return;
	name = lowered(name, a);
	if (mime_param(m, name).p != NULL)
		return;
	m->params[m->params_n++] = (struct mime_param){ name,
	    arena_copy(a, value) };
}

/* Read ";name=value" ...; what is malformed is passed over. */
static void
take_params(struct mime *m, struct str rest, struct arena *a)
{
	while (rest.n > 0) {
		rest = trim_start(rest);
		size_t n = MIN(str_find_char(rest, ';'),
		    str_find_char(rest, '='));
		struct str name = str_cut(rest, 0, n), value;
		bool has_value = n < rest.n && rest.p[n] == '=';
		rest = str_from(rest, n + 1);
		if (!has_value)
			continue;
		if (rest.n > 0 && rest.p[0] == '"') {
			value = take_quoted(&rest, a);
			rest = str_from(rest, str_find_char(rest, ';') + 1);
		} else {
			n = str_find_char(rest, ';');
			value = trim_end(str_cut(rest, 0, n));
			rest = str_from(rest, n + 1);
			if (value.n == 0)
				continue;
		}
		put_param(m, name, value, a);
	}
}

bool
mime_parse(struct str s, struct arena *a, struct mime *out)
{
	out->params_n = 0;
	s = trim_end(trim_start(s));
	size_t slash = str_find_char(s, '/');
	struct str type = str_cut(s, 0, slash);
	if (slash == s.n || !text_is_token(type))
		return false;
	s = str_from(s, slash + 1);
	size_t end = str_find_char(s, ';');
	struct str subtype = trim_end(str_cut(s, 0, end));
	if (!text_is_token(subtype))
		return false;
	out->type = lowered(type, a);
	out->subtype = lowered(subtype, a);
	take_params(out, str_from(s, end + 1), a);
	return true;
}

struct str
mime_param(const struct mime *m, struct str name)
{
	for (size_t i = 0; i < m->params_n; i++)
		if (str_eq(m->params[i].name, name))
			return m->params[i].value;
	return STR_NONE;
}

static struct str
skip_bom_and_space(struct str s)
{
	if (str_starts(s, STR("\xef\xbb\xbf")))
		s = str_from(s, 3);
	while (s.n > 0 && ascii_is_space(s.p[0]))
		s = str_from(s, 1);
	return s;
}

/* The name of the root element, without prefix; empty when none is found. */
static struct str
xml_root(struct str s)
{
	s = skip_bom_and_space(str_cut(s, 0, 4096));
	while (s.n > 1 && s.p[0] == '<' && (s.p[1] == '?' || s.p[1] == '!')) {
		struct str end = str_starts(s, STR("<!--")) ? STR("-->") :
		    STR(">");
		size_t at = str_find(s, end);
		if (at == s.n)
			return STR_NONE;
		s = skip_bom_and_space(str_from(s, at + end.n));
	}
	if (s.n == 0 || s.p[0] != '<')
		return STR_NONE;
	size_t n = 1, from = 1;
	while (n < s.n && !ascii_is_space(s.p[n]) && s.p[n] != '>' &&
	    s.p[n] != '/') {
		if (s.p[n] == ':')
			from = n + 1;
		n++;
	}
	return str_cut(s, from, n);
}

/* FEED, SITEMAP or HTML when the root element says so, else `otherwise`. */
static enum mime_kind
kind_by_root(struct str body, enum mime_kind otherwise)
{
	static const struct {
		struct str name;
		enum mime_kind kind;
	} roots[] = {
		{ { "rss", 3 }, MIME_FEED }, { { "feed", 4 }, MIME_FEED },
		{ { "RDF", 3 }, MIME_FEED },
		{ { "urlset", 6 }, MIME_SITEMAP },
		{ { "sitemapindex", 12 }, MIME_SITEMAP },
		{ { "html", 4 }, MIME_HTML },
	};
	struct str root = xml_root(body);

	for (size_t i = 0; i < ARRAY_LEN(roots); i++)
		if (str_eq_nocase(root, roots[i].name))
			return roots[i].kind;
	return otherwise;
}

/* Section 7.1, the first table: a tag and then a space or ">". */
static bool
starts_as_html(struct str s)
{
	static const struct str tags[] = {
		{ "<!doctype html", 14 }, { "<html", 5 }, { "<head", 5 },
		{ "<script", 7 }, { "<iframe", 7 }, { "<h1", 3 },
		{ "<div", 4 }, { "<font", 5 }, { "<table", 6 }, { "<a", 2 },
		{ "<style", 6 }, { "<title", 6 }, { "<b", 2 },
		{ "<body", 5 }, { "<br", 3 }, { "<p", 2 }, { "<meta", 5 },
	};

	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		size_t n = tags[i].n;
		if (str_starts_nocase(s, tags[i]) && s.n > n &&
		    (ascii_is_space(s.p[n]) || s.p[n] == '>'))
			return true;
	}
	return str_starts(s, STR("<!--"));
}

static bool
has_binary(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= 8 || c == 0x0b || (c >= 0x0e && c <= 0x1a) ||
		    (c >= 0x1c && c <= 0x1f))
			return true;
	}
	return false;
}

/* Sections 6 and 7: kinds that their first bytes give away. */
static enum mime_kind
kind_by_magic(struct str s)
{
	static const struct {
		struct str bytes;
		enum mime_kind kind;
	} magic[] = {
		{ { "%PDF-", 5 }, MIME_PDF },
		{ { "\x89PNG\r\n\x1a\n", 8 }, MIME_PNG },
		{ { "GIF87a", 6 }, MIME_GIF }, { { "GIF89a", 6 }, MIME_GIF },
		{ { "\xff\xd8\xff", 3 }, MIME_JPEG },
		{ { "\x1f\x8b\x08", 3 }, MIME_GZIP },
		{ { "PK\x03\x04", 4 }, MIME_ZIP },
	};

	for (size_t i = 0; i < ARRAY_LEN(magic); i++)
		if (str_starts(s, magic[i].bytes))
			return magic[i].kind;
	if (str_starts(s, STR("RIFF")) && s.n >= 14 &&
	    memcmp(s.p + 8, "WEBPVP", 6) == 0)
		return MIME_WEBP;
	return MIME_NONE;
}

static enum mime_kind
kind_by_bytes(struct str body, bool may_be_markup)
{
	struct str head = str_cut(body, 0, MIME_SNIFF_BYTES);
	struct str at = skip_bom_and_space(head);
	enum mime_kind k = kind_by_magic(head);

	if (k != MIME_NONE)
		return k;
	if (str_starts(at, STR("<?xml")) || str_starts(at, STR("<rss")) ||
	    str_starts(at, STR("<feed")) || str_starts(at, STR("<urlset")) ||
	    str_starts(at, STR("<sitemapindex")))
		return kind_by_root(body, MIME_XML);
	if (may_be_markup && starts_as_html(at))
		return MIME_HTML;
	if (charset_by_bom(head) != NULL || !has_binary(head))
		return MIME_TEXT;
	return MIME_NONE;
}

/* The kind that a declared type stands for, or MIME_KIND_COUNT. */
static enum mime_kind
kind_by_name(const struct mime *m)
{
	static const struct {
		const char *type, *subtype;
		enum mime_kind kind;
	} names[] = {
		{ "text", "html", MIME_HTML },
		{ "application", "xhtml+xml", MIME_HTML },
		{ "text", "css", MIME_CSS },
		{ "application", "rss+xml", MIME_FEED },
		{ "application", "atom+xml", MIME_FEED },
		{ "application", "rdf+xml", MIME_FEED },
		{ "application", "xml", MIME_XML },
		{ "application", "pdf", MIME_PDF },
		{ "image", "png", MIME_PNG }, { "image", "gif", MIME_GIF },
		{ "image", "jpeg", MIME_JPEG }, { "image", "webp", MIME_WEBP },
		{ "application", "gzip", MIME_GZIP },
		{ "application", "x-gzip", MIME_GZIP },
		{ "application", "zip", MIME_ZIP },
		{ "text", "xml", MIME_XML }, { "text", "plain", MIME_TEXT },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq(m->type, str_of(names[i].type)) &&
		    str_eq(m->subtype, str_of(names[i].subtype)))
			return names[i].kind;
	if (str_ends(m->subtype, STR("+xml")))
		return MIME_XML;
	return str_eq(m->type, STR("text")) ? MIME_TEXT : MIME_KIND_COUNT;
}

static bool
says_nothing(const struct mime *m)
{
	return m == NULL || str_eq(m->subtype, STR("octet-stream")) ||
	    str_eq(m->subtype, STR("unknown")) || str_eq(m->type, STR("*"));
}

enum mime_kind
mime_sniff(const struct mime *m, bool nosniff, struct str body)
{
	if (says_nothing(m))
		return nosniff && m != NULL ? MIME_NONE :
		    kind_by_bytes(body, true);
	enum mime_kind k = kind_by_name(m);
	switch (k) {
	case MIME_KIND_COUNT:
		return MIME_NONE;
	case MIME_XML:
	case MIME_FEED:
		return kind_by_root(body, k);
	case MIME_HTML: {
		/* Feeds as "text/html" exist: section 7.3. */
		enum mime_kind r = nosniff ? k : kind_by_root(body, k);
		return r == MIME_SITEMAP || r == MIME_FEED ? r : k;
	}
	case MIME_TEXT:
		return nosniff || !str_eq(m->subtype, STR("plain")) ? k :
		    kind_by_bytes(body, false);
	default:
		return k;
	}
}

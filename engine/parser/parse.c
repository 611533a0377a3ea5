#include "engine/parser/parse.h"

#include "engine/parser/charset.h"
#include "engine/parser/css.h"
#include "engine/parser/html.h"
#include "engine/parser/readable.h"
#include "engine/parser/simhash.h"
#include "engine/parser/sitemap.h"

struct parser {
	struct html *html;
};

struct parser *
parser_new(void)
{
	struct parser *p = mem_new(sizeof(*p));

	p->html = html_new();
	return p;
}

void
parser_free(struct parser **p)
{
	if (*p == NULL)
		return;
	html_free(&(*p)->html);
	mem_free(p);
}

static bool
css_link(void *ctx, struct str url, bool import)
{
	(void)import;
	return url.p[0] == '#' || link_add(ctx, url, LINK_EMBED, false);
}

static void
parse_css(const struct parse_input *in, struct str text, struct arena *a,
    struct parse_output *out)
{
	struct link_set links;

	link_set_init(&links, in->url, in->links_max != 0 ? in->links_max :
	    PARSE_LINKS_MAX, a);
	css_scan(text, a, css_link, &links);
	out->links = links.at;
	out->links_n = links.n;
	out->schemes_dropped = links.schemes_dropped;
	out->bad_urls = links.bad;
	if (links.full)
		out->cut_reason = "parse.links_max";
}

static void
take_sitemap(const struct sitemap *s, struct parse_output *out)
{
	out->kind = s->kind == SITEMAP_RSS || s->kind == SITEMAP_ATOM ?
	    MIME_FEED : MIME_SITEMAP;
	out->links = s->links;
	out->links_n = s->n;
	out->title = s->title;
	out->schemes_dropped = s->schemes_dropped;
	out->bad_urls = s->bad_urls;
	out->cut_reason = s->cut_reason;
}

/* XML of unknown kind is asked too: the root may be further down. */
static void
parse_xml(const struct parse_input *in, struct str label, struct arena *a,
    struct parse_output *out)
{
	struct sitemap s;

	sitemap_parse(in->body, label, in->url, in->links_max, a, &s);
	out->charset = charset_of(in->body, label, CHARSET_XML);
	if (s.kind == SITEMAP_NONE)
		out->kind = MIME_XML;
	else
		take_sitemap(&s, out);
}

static struct str
text_of(const struct parse_input *in, struct str label,
    enum charset_markup markup, struct arena *a, struct parse_output *out)
{
	out->charset = charset_of(in->body, label, markup);
	return charset_to_utf8(out->charset, in->body, a);
}

static void
parse_text(const struct parse_input *in, struct str text, struct arena *a,
    struct parse_output *out)
{
	struct simhash hash = SIMHASH_INIT;
	struct sitemap s;

	if (in->sitemap) {
		sitemap_parse_text(text, in->url, in->links_max, a, &s);
		take_sitemap(&s, out);
		return;
	}
	simhash_add(&hash, text);
	out->simhash = simhash_value(&hash, &out->words);
	if (in->readable)
		out->text = readable_of_plain(text, in->text_bytes_max != 0 ?
		    in->text_bytes_max : PARSE_TEXT_BYTES_MAX, a,
		    &out->text_cut);
}

enum err
parse_document(struct parser *p, const struct parse_input *in,
    struct arena *a, struct parse_output *out, struct why *w)
{
	struct mime declared;
	bool typed = mime_parse(in->content_type, a, &declared);
	struct str label = typed ? mime_param(&declared, STR("charset")) :
	    STR_NONE;

	(void)w;
	*out = (struct parse_output){ .kind = mime_sniff(
	    typed ? &declared : NULL, in->nosniff, in->body) };
	switch (out->kind) {
	case MIME_HTML:
		html_parse(p->html, in, text_of(in, label, CHARSET_HTML, a,
		    out), a, out);
		return OK;
	case MIME_CSS:
		parse_css(in, text_of(in, label, CHARSET_PLAIN, a, out), a,
		    out);
		return OK;
	case MIME_FEED:
	case MIME_SITEMAP:
	case MIME_XML:
		parse_xml(in, label, a, out);
		return OK;
	case MIME_TEXT:
		parse_text(in, text_of(in, label, CHARSET_PLAIN, a, out), a,
		    out);
		return OK;
	default:
		return OK;
	}
}

#include "script/web/script_web.h"

#include "base/text.h"
#include "engine/parser/charset.h"
#include "engine/parser/mime.h"
#include "script/web/counted.h"
#include "script/web/parse_html.h"
#include "script/web/parse_xml.h"
#include "script/web/utf8.h"
#include "script/web/bind.h"

bool
script_web_init(JSContext *ctx, const struct script_web *host)
{
	static bool (*const opens[])(JSContext *) = { el_open, sel_open,
		dollar_open, params_open, url_open, codec_open, clone_open,
		subtle_open };
	struct poll p = { .interrupted = host->interrupted,
		.opaque = host->opaque };

	counted_setup();
	if (!bind_open(ctx, &p))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(opens); i++)
		if (!opens[i](ctx))
			return false;
	return true;
}

/* What the header says: its charset, and whether it names XML or HTML. */
static struct str
read_type(struct str content_type, struct arena *a, enum charset_markup *m)
{
	struct mime mime;

	if (!mime_parse(content_type, a, &mime))
		return STR_NONE;
	if (str_eq(mime.subtype, STR("html")))
		*m = CHARSET_HTML;
	else if (str_eq(mime.subtype, STR("xml")) ||
	    str_ends(mime.subtype, STR("+xml")))
		*m = CHARSET_XML;
	return arena_copy(a, mime_param(&mime, STR("charset")));
}

/*
 * The body as valid UTF-8.  It borrows from `body`, from the arena or from `o`.
 * The decoder takes its memory from the system: it is asked whether the heap
 * would have had it.
 */
static bool
to_utf8(JSContext *ctx, struct str body, const char *charset, struct arena *a,
    struct out *o, struct str *text)
{
	if (strcmp(charset, "UTF-8") != 0) {
		void *room = js_malloc(ctx, body.n * 2 + 1);
		if (room == NULL)
			return false;
		js_free(ctx, room);
	}
	*text = charset_to_utf8(charset, body, a);
	if (text_is_utf8(*text))
		return true;
	(void)utf8_repair(*text, o);
	*text = out_text(o);
	if (o->full)
		(void)JS_ThrowOutOfMemory(ctx);
	return !o->full;
}

static bool
set_url(struct document *d, struct str url)
{
	d->has_url = url.n != 0 && url_parse(url, NULL, &d->url_arena,
	    &d->url, NULL) == OK;
	return d->has_url;
}

static JSValue
make_document(JSContext *ctx, struct str text, struct str url, bool xml)
{
	struct why w = WHY_INIT;
	struct document *d = document_new(JS_GetRuntime(ctx), xml);
	struct poll *p = &bind_of(ctx)->poll;

	if (d == NULL)
		return JS_ThrowOutOfMemory(ctx);
	(void)set_url(d, url);
	enum err e = xml ? parse_xml(d, text, p, &w) :
	    parse_html(d, text, p, &w);
	p->stopped = false;
	if (e == OK)
		return dollar_new(ctx, d);
	document_drop(&d);
	return bind_throw(ctx, e, &w);
}

JSValue
script_document_new(JSContext *ctx, struct str body, struct str content_type,
    struct str url, bool xml)
{
	enum charset_markup m = xml ? CHARSET_XML : CHARSET_HTML, given = m;
	struct arena a = ARENA_INIT;
	struct out o = OUT_OF(JS_GetRuntime(ctx));
	struct str text, label = read_type(content_type, &a, &given);
	JSValue v = JS_EXCEPTION;

	if (to_utf8(ctx, body, charset_of(body, label, m), &a, &o, &text))
		v = make_document(ctx, text, url, xml);
	out_free(&o);
	arena_free(&a);
	return v;
}

JSValue
script_text_decode(JSContext *ctx, struct str body, struct str content_type)
{
	enum charset_markup m = CHARSET_PLAIN;
	struct arena a = ARENA_INIT;
	struct out o = OUT_OF(JS_GetRuntime(ctx));
	struct str text, label = read_type(content_type, &a, &m);
	JSValue v = JS_EXCEPTION;

	if (to_utf8(ctx, body, charset_of(body, label, m), &a, &o, &text))
		v = bind_string(ctx, text);
	out_free(&o);
	arena_free(&a);
	return v;
}

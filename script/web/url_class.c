/*
 * The class URL.  https://url.spec.whatwg.org/ section 6.1
 */
#include <ada_c.h>

#include "script/web/url_own.h"

struct url_object {
	struct url_box *box;
	JSValue params;              /* undefined until asked for */
};

#define URL_PARTS(X)                                                        \
	X(href) X(protocol) X(username) X(password) X(host) X(hostname)     \
	X(port) X(pathname) X(search) X(hash)

enum url_part {
#define URL_PART_ENUM(name) URL_PART_##name,
	URL_PARTS(URL_PART_ENUM)
#undef URL_PART_ENUM
};

void
url_box_drop(JSRuntime *rt, struct url_box **at)
{
	struct url_box *b = *at;

	*at = NULL;
	if (b == NULL || --b->refs > 0)
		return;
	js_free_rt(rt, (char *)(uintptr_t)b->href.p);
	js_free_rt(rt, b);
}

bool
url_keep(JSContext *ctx, struct str *at, struct str s)
{
	char *p = js_malloc(ctx, s.n + 1);

	if (p == NULL)
		return false;
	if (s.n != 0)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	js_free(ctx, (char *)(uintptr_t)at->p);
	*at = (struct str){ p, s.n };
	return true;
}

static struct str
str_of_ada(ada_string s)
{
	return (struct str){ s.data, s.length };
}

static void
on_url_end(JSRuntime *rt, JSValueConst v)
{
	struct url_object *o = bind_finalized(rt, v, BIND_CLASS_URL);

	if (o == NULL)
		return;
	JS_FreeValueRT(rt, o->params);
	url_box_drop(rt, &o->box);
	js_free_rt(rt, o);
}

static void
mark_url(JSRuntime *rt, JSValueConst v, JS_MarkFunc *mark)
{
	struct url_object *o = bind_finalized(rt, v, BIND_CLASS_URL);

	if (o != NULL)
		JS_MarkValue(rt, o->params, mark);
}

static bool
set_query(JSContext *ctx, struct params *p, struct str search)
{
	return url_keep(ctx, &p->query, str_from(search, search.n > 0));
}

/* Keep what `u` is now, and tell the parameters. */
static bool
keep_url(JSContext *ctx, struct url_box *b, ada_url u)
{
	return url_keep(ctx, &b->href, str_of_ada(ada_get_href(u))) &&
	    (b->params == NULL ||
	    set_query(ctx, b->params, str_of_ada(ada_get_search(u))));
}

bool
url_set_query(JSContext *ctx, struct url_box *b, struct str query)
{
	ada_url u = ada_parse(b->href.p, b->href.n);

	ada_set_search(u, query.n == 0 ? "" : query.p, query.n);
	bool ok = url_keep(ctx, &b->href, str_of_ada(ada_get_href(u)));
	ada_free(u);
	return ok;
}

/* ada's URL of one or two values.  NULL: an exception, or `quiet`. */
static ada_url
parse_values(JSContext *ctx, int argc, JSValueConst *argv, bool quiet)
{
	struct str s = bind_usv(ctx, argv[0]), base = STR_NONE;
	bool based = argc > 1 && !JS_IsUndefined(argv[1]);
	ada_url u = NULL;

	if (s.p == NULL)
		return NULL;
	if (based && (base = bind_usv(ctx, argv[1])).p == NULL) {
		bind_text_free(ctx, s);
		return NULL;
	}
	if (s.n <= URL_BYTES_MAX && base.n <= URL_BYTES_MAX)
		u = based ? ada_parse_with_base(s.p, s.n, base.p, base.n) :
		    ada_parse(s.p, s.n);
	if (u != NULL && !ada_is_valid(u)) {
		ada_free(u);
		u = NULL;
	}
	if (u == NULL && !quiet)
		(void)JS_ThrowTypeError(ctx, "Invalid URL: %.*s%s",
		    (int)MIN(s.n, 200u), s.p, s.n > 200 ? "..." : "");
	bind_text_free(ctx, s);
	bind_text_free(ctx, base);
	return u;
}

static struct url_object *
object_new(JSContext *ctx, ada_url u)
{
	struct url_object *o = js_mallocz(ctx, sizeof(*o));
	struct url_box *b = js_mallocz(ctx, sizeof(*b));

	if (o != NULL && b != NULL && url_keep(ctx, &b->href,
	    str_of_ada(ada_get_href(u)))) {
		b->refs = 1;
		*o = (struct url_object){ b, JS_UNDEFINED };
		return o;
	}
	js_free(ctx, o);
	js_free(ctx, b);
	return NULL;
}

/* Frees `u`.  `target` undefined: the class's own prototype. */
static JSValue
url_new(JSContext *ctx, JSValueConst target, ada_url u)
{
	struct url_object *o = object_new(ctx, u);
	JSValue v = JS_EXCEPTION;

	ada_free(u);
	if (o == NULL)
		return v;
	v = JS_IsUndefined(target) ? bind_object(ctx, BIND_CLASS_URL, o) :
	    bind_object_of(ctx, BIND_CLASS_URL, target, o);
	if (JS_IsException(v)) {
		url_box_drop(JS_GetRuntime(ctx), &o->box);
		js_free(ctx, o);
	}
	return v;
}

static JSValue
construct_url(JSContext *ctx, JSValueConst target, int argc,
    JSValueConst *argv)
{
	ada_url u = parse_values(ctx, argc, argv, false);

	return u == NULL ? JS_EXCEPTION : url_new(ctx, target, u);
}

static JSValue
url_static(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int parse)
{
	ada_url u = parse_values(ctx, argc, argv, true);

	(void)this;
	if (u == NULL && JS_HasException(ctx))
		return JS_EXCEPTION;
	if (parse)
		return u == NULL ? JS_NULL : url_new(ctx, JS_UNDEFINED, u);
	ada_free(u);
	return JS_NewBool(ctx, u != NULL);
}

static struct str
part_of(ada_url u, enum url_part part)
{
	switch (part) {
#define URL_PART_GET(name)                                                  \
	case URL_PART_##name:                                               \
		return str_of_ada(ada_get_##name(u));
	URL_PARTS(URL_PART_GET)
#undef URL_PART_GET
	}
	return STR("");
}

static JSValue
get_part(JSContext *ctx, JSValueConst this, int part)
{
	struct url_object *o = bind_opaque(ctx, this, BIND_CLASS_URL);

	if (o == NULL)
		return JS_EXCEPTION;
	if (part == URL_PART_href)
		return bind_string(ctx, o->box->href);
	ada_url u = ada_parse(o->box->href.p, o->box->href.n);
	JSValue v = bind_string(ctx, part_of(u, (enum url_part)part));
	ada_free(u);
	return v;
}

/* Whether ada took it; the others have no effect where they are wrong. */
static bool
set_part_of(ada_url u, enum url_part part, struct str s)
{
	switch (part) {
	case URL_PART_href:
		return ada_set_href(u, s.p, s.n);
	case URL_PART_protocol:
		return ada_set_protocol(u, s.p, s.n);
	case URL_PART_username:
		return ada_set_username(u, s.p, s.n);
	case URL_PART_password:
		return ada_set_password(u, s.p, s.n);
	case URL_PART_host:
		return ada_set_host(u, s.p, s.n);
	case URL_PART_hostname:
		return ada_set_hostname(u, s.p, s.n);
	case URL_PART_port:
		return ada_set_port(u, s.p, s.n);
	case URL_PART_pathname:
		return ada_set_pathname(u, s.p, s.n);
	case URL_PART_search:
		ada_set_search(u, s.p, s.n);
		return true;
	case URL_PART_hash:
		ada_set_hash(u, s.p, s.n);
		return true;
	}
	return false;
}

static JSValue
set_part(JSContext *ctx, JSValueConst this, JSValueConst value, int part)
{
	struct url_object *o = bind_opaque(ctx, this, BIND_CLASS_URL);

	if (o == NULL)
		return JS_EXCEPTION;
	struct str s = bind_usv(ctx, value);
	if (s.p == NULL)
		return JS_EXCEPTION;
	/* The value's conversion may have run a script. */
	ada_url u = ada_parse(o->box->href.p, o->box->href.n);
	bool set = s.n <= URL_BYTES_MAX &&
	    set_part_of(u, (enum url_part)part, s);
	bool ok = !set || keep_url(ctx, o->box, u);
	ada_free(u);
	bind_text_free(ctx, s);
	if (!set && part == URL_PART_href)
		return JS_ThrowTypeError(ctx, "Invalid URL");
	return ok ? JS_UNDEFINED : JS_EXCEPTION;
}

static JSValue
get_origin(JSContext *ctx, JSValueConst this)
{
	struct url_object *o = bind_opaque(ctx, this, BIND_CLASS_URL);

	if (o == NULL)
		return JS_EXCEPTION;
	ada_url u = ada_parse(o->box->href.p, o->box->href.n);
	ada_owned_string s = ada_get_origin(u);
	JSValue v = bind_string(ctx, (struct str){ s.data, s.length });
	ada_free_owned_string(s);
	ada_free(u);
	return v;
}

static JSValue
get_params(JSContext *ctx, JSValueConst this)
{
	struct url_object *o = bind_opaque(ctx, this, BIND_CLASS_URL);

	if (o == NULL)
		return JS_EXCEPTION;
	if (JS_IsUndefined(o->params)) {
		ada_url u = ada_parse(o->box->href.p, o->box->href.n);
		struct str search = str_of_ada(ada_get_search(u));
		JSValue v = params_of_url(ctx, o->box, str_from(search,
		    search.n > 0));
		ada_free(u);
		if (JS_IsException(v))
			return v;
		o->params = v;
	}
	return JS_DupValue(ctx, o->params);
}

static JSValue
url_text(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	(void)argc, (void)argv;
	return get_part(ctx, this, URL_PART_href);
}

static bool
add_statics(JSContext *ctx)
{
	static const JSCFunctionListEntry list[] = {
		JS_CFUNC_MAGIC_DEF("canParse", 1, url_static, 0),
		JS_CFUNC_MAGIC_DEF("parse", 1, url_static, 1),
	};
	JSValue global = JS_GetGlobalObject(ctx);
	JSValue f = JS_GetPropertyStr(ctx, global, "URL");
	bool ok = JS_SetPropertyFunctionList(ctx, f, list,
	    ARRAY_LEN(list)) >= 0;

	JS_FreeValue(ctx, f);
	JS_FreeValue(ctx, global);
	return ok;
}

bool
url_open(JSContext *ctx)
{
	static const JSClassDef def = { .class_name = "URL",
		.finalizer = on_url_end, .gc_mark = mark_url };
	static const JSCFunctionListEntry list[] = {
#define URL_PART_ROW(name)                                                  \
	JS_CGETSET_MAGIC_DEF(#name, get_part, set_part, URL_PART_##name),
		URL_PARTS(URL_PART_ROW)
#undef URL_PART_ROW
		JS_CGETSET_DEF("origin", get_origin, NULL),
		JS_CGETSET_DEF("searchParams", get_params, NULL),
		JS_CFUNC_DEF("toString", 0, url_text),
		JS_CFUNC_DEF("toJSON", 0, url_text),
		JS_PROP_STRING_DEF("[Symbol.toStringTag]", "URL",
		    JS_PROP_CONFIGURABLE),
	};

	return bind_class_new(ctx, BIND_CLASS_URL, &def, list, ARRAY_LEN(list))
	    && bind_constructor(ctx, BIND_CLASS_URL, "URL", construct_url, 1) &&
	    add_statics(ctx);
}

/*
 * Dollar: the function `$` of one document.
 */
#include "script/web/bind.h"

static struct document *
this_document(JSContext *ctx, JSValueConst this)
{
	return bind_opaque(ctx, this, BIND_CLASS_DOLLAR);
}

static void
on_dollar_end(JSRuntime *rt, JSValueConst v)
{
	struct document *d = bind_finalized(rt, v, BIND_CLASS_DOLLAR);

	document_drop(&d);
}

JSValue
dollar_new(JSContext *ctx, struct document *d)
{
	JSValue v = bind_object(ctx, BIND_CLASS_DOLLAR, d);

	if (JS_IsException(v))
		document_drop(&d);
	return v;
}

/* Where a call looks: in `within`, or in the whole document. */
static bool
take_context(JSContext *ctx, struct document *d, int argc,
    JSValueConst *argv, struct nodes *from)
{
	if (argc < 2 || JS_IsUndefined(argv[1]) || JS_IsNull(argv[1])) {
		nodes_put(from, 0);
		return true;
	}
	if (JS_IsString(argv[1])) {
		uint32_t root = 0;
		return sel_find(ctx, d, argv[1], SELECTOR_PLAIN, &root, 1,
		    UINT32_MAX, from);
	}
	int is = sel_nodes(ctx, d, argv[1], from);
	if (is == 0)
		(void)JS_ThrowTypeError(ctx, "within: neither Sel nor El");
	return is == 1;
}

static bool
select_nodes(JSContext *ctx, struct document *d, int argc,
    JSValueConst *argv, struct nodes *l)
{
	struct nodes from = NODES_OF(l->rt);
	bool ok = true, whole;

	if (argc == 0 || JS_IsUndefined(argv[0]) || JS_IsNull(argv[0]))
		return true;
	if (!JS_IsString(argv[0])) {
		int is = sel_nodes(ctx, d, argv[0], l);
		if (is == 0)
			(void)JS_ThrowTypeError(ctx,
			    "$ takes a selector, an El or a Sel");
		return is == 1;
	}
	struct str s = bind_text(ctx, argv[0]);
	bind_text_free(ctx, s);
	if (s.n == 0)
		return s.p != NULL;
	ok = take_context(ctx, d, argc, argv, &from);
	whole = from.n == 1 && from.at[0] == 0;
	ok = ok && sel_find(ctx, d, argv[0], whole ? SELECTOR_PLAIN :
	    SELECTOR_RELATIVE, from.at, from.n, UINT32_MAX, l);
	nodes_free(&from);
	return ok;
}

static JSValue
call_dollar(JSContext *ctx, JSValueConst f, JSValueConst this, int argc,
    JSValueConst *argv, int flags)
{
	struct document *d = this_document(ctx, f);
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));

	(void)this, (void)flags;
	if (d == NULL)
		return JS_EXCEPTION;
	if (select_nodes(ctx, d, argc, argv, &l))
		return sel_new(ctx, d, &l);
	nodes_free(&l);
	return JS_EXCEPTION;
}

static JSValue
dollar_query(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int all)
{
	struct document *d = this_document(ctx, this);

	(void)argc;
	return d == NULL ? JS_EXCEPTION :
	    sel_query(ctx, d, 0, argv[0], all != 0);
}

static JSValue
dollar_root(JSContext *ctx, JSValueConst this)
{
	struct document *d = this_document(ctx, this);
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));

	if (d == NULL)
		return JS_EXCEPTION;
	nodes_put(&l, 0);
	return sel_new(ctx, d, &l);
}

static JSValue
dollar_base(JSContext *ctx, JSValueConst this)
{
	struct document *d = this_document(ctx, this);

	if (d == NULL)
		return JS_EXCEPTION;
	const struct url *base = document_base(d);
	return bind_string(ctx, base == NULL ? STR("") : base->href);
}

enum fact { FACT_META, FACT_JSONLD, FACT_MICRODATA, FACT_LINKS };

static JSValue
dollar_fact(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int fact)
{
	struct document *d = this_document(ctx, this);

	(void)argc, (void)argv;
	if (d == NULL)
		return JS_EXCEPTION;
	switch ((enum fact)fact) {
	case FACT_META:
		return facts_meta(ctx, d);
	case FACT_JSONLD:
		return facts_jsonld(ctx, d);
	case FACT_MICRODATA:
		return facts_microdata(ctx, d);
	default:
		return facts_links(ctx, d);
	}
}

/* A function's prototype, so that `$` has call(), apply() and bind(). */
static bool
inherit_function(JSContext *ctx)
{
	JSValue proto = JS_GetClassProto(ctx, bind_class(JS_GetRuntime(ctx),
	    BIND_CLASS_DOLLAR));
	JSValue function = JS_GetFunctionProto(ctx);
	bool ok = JS_SetPrototype(ctx, proto, function) >= 0;

	JS_FreeValue(ctx, function);
	JS_FreeValue(ctx, proto);
	return ok;
}

bool
dollar_open(JSContext *ctx)
{
	static const JSClassDef def = { .class_name = "Dollar",
		.finalizer = on_dollar_end, .call = call_dollar };
	static const JSCFunctionListEntry list[] = {
		JS_CGETSET_DEF("root", dollar_root, NULL),
		JS_CGETSET_DEF("base", dollar_base, NULL),
		JS_CFUNC_MAGIC_DEF("querySelector", 1, dollar_query, 0),
		JS_CFUNC_MAGIC_DEF("querySelectorAll", 1, dollar_query, 1),
		JS_CFUNC_MAGIC_DEF("meta", 0, dollar_fact, FACT_META),
		JS_CFUNC_MAGIC_DEF("jsonld", 0, dollar_fact, FACT_JSONLD),
		JS_CFUNC_MAGIC_DEF("microdata", 0, dollar_fact,
		    FACT_MICRODATA),
		JS_CFUNC_MAGIC_DEF("links", 0, dollar_fact, FACT_LINKS),
	};

	return bind_class_new(ctx, BIND_CLASS_DOLLAR, &def, list,
	    ARRAY_LEN(list)) && inherit_function(ctx);
}

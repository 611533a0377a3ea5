/*
 * El: one node.  The same node is the same object while a script has it: the
 * node knows its wrapper, and the wrapper's end empties that link.
 */
#include "script/web/markup.h"
#include "script/web/bind.h"

struct el {
	struct document *d;
	uint32_t node;
};

static void
on_el_end(JSRuntime *rt, JSValueConst v)
{
	struct el *e = bind_finalized(rt, v, BIND_CLASS_EL);

	if (e == NULL)
		return;
	e->d->nodes[e->node].wrapper = NULL;
	document_drop(&e->d);
	js_free_rt(rt, e);
}

JSValue
el_new(JSContext *ctx, struct document *d, uint32_t node)
{
	void *wrapper = d->nodes[node].wrapper;

	if (wrapper != NULL)
		return JS_DupValue(ctx, JS_MKPTR(JS_TAG_OBJECT, wrapper));
	struct el *e = js_malloc(ctx, sizeof(*e));
	if (e == NULL)
		return JS_EXCEPTION;
	JSValue v = bind_object(ctx, BIND_CLASS_EL, e);
	if (JS_IsException(v)) {
		js_free(ctx, e);
		return v;
	}
	*e = (struct el){ document_hold(d), node };
	d->nodes[node].wrapper = JS_VALUE_GET_PTR(v);
	return v;
}

struct document *
el_of(JSValueConst v, uint32_t *node)
{
	struct el *e = bind_opaque_of(v, BIND_CLASS_EL);

	if (e == NULL)
		return NULL;
	*node = e->node;
	return e->d;
}

#define EL_TEXTS(X)                                                         \
	X(TAG_NAME, "tagName") X(TEXT, "textContent") X(INNER, "innerHTML") \
	X(OUTER, "outerHTML")

enum el_text {
#define EL_TEXT_ENUM(name, text) EL_##name,
	EL_TEXTS(EL_TEXT_ENUM)
#undef EL_TEXT_ENUM
};

static JSValue
el_text(JSContext *ctx, JSValueConst this, int magic)
{
	struct el *e = bind_opaque(ctx, this, BIND_CLASS_EL);
	struct out o = OUT_OF(JS_GetRuntime(ctx));
	struct poll *p = &bind_of(ctx)->poll;

	if (e == NULL)
		return JS_EXCEPTION;
	const struct node *n = &e->d->nodes[e->node];
	if (magic == EL_TAG_NAME)
		return bind_string(ctx, n->type == NODE_ELEMENT ?
		    name_text(n->name) : STR(""));
	if (magic == EL_TEXT) {
		struct str s = document_text_of(e->d, e->node, &o);
		JSValue v = s.p == NULL ? JS_ThrowOutOfMemory(ctx) :
		    bind_string(ctx, s);
		out_free(&o);
		return v;
	}
	if (magic == EL_INNER)
		markup_inner(e->d, e->node, p, &o);
	else
		markup_outer(e->d, e->node, p, &o);
	JSValue v = bind_take(ctx, &o);
	if (!JS_IsException(v) && !bind_poll_ok(ctx)) {
		JS_FreeValue(ctx, v);
		return JS_EXCEPTION;
	}
	return v;
}

static JSValue
el_parent(JSContext *ctx, JSValueConst this)
{
	struct el *e = bind_opaque(ctx, this, BIND_CLASS_EL);

	if (e == NULL)
		return JS_EXCEPTION;
	uint32_t up = document_parent_element(e->d, e->node);
	return up == NODE_NONE ? JS_NULL : el_new(ctx, e->d, up);
}

static JSValue
el_children(JSContext *ctx, JSValueConst this)
{
	struct el *e = bind_opaque(ctx, this, BIND_CLASS_EL);
	struct nodes l = NODES_OF(JS_GetRuntime(ctx));

	if (e == NULL)
		return JS_EXCEPTION;
	for (uint32_t at = document_first_element(e->d, e->node);
	    at != NODE_NONE; at = document_next_element(e->d, at))
		nodes_put(&l, at);
	JSValue v = l.full ? JS_ThrowOutOfMemory(ctx) :
	    sel_array(ctx, e->d, l.at, l.n);
	nodes_free(&l);
	return v;
}

/* HTML's names are in lower case but for some of SVG's. */
static struct str
attribute_of(const struct el *e, struct str name)
{
	struct str v = document_attr_of(e->d, e->node,
	    document_name(e->d, name));
	struct out o = OUT_OF(e->d->rt);

	if (v.p != NULL || e->d->xml)
		return v;
	for (size_t i = 0; i < name.n; i++)
		out_char(&o, ascii_lower(name.p[i]));
	v = document_attr_of(e->d, e->node, document_name(e->d,
	    out_text(&o)));
	out_free(&o);
	return v;
}

static JSValue
el_attribute(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct el *e = bind_opaque(ctx, this, BIND_CLASS_EL);

	(void)argc;
	if (e == NULL)
		return JS_EXCEPTION;
	struct str name = bind_text(ctx, argv[0]);
	if (name.p == NULL)
		return JS_EXCEPTION;
	struct str value = attribute_of(e, name);
	bind_text_free(ctx, name);
	return value.p == NULL ? JS_UNDEFINED : bind_string(ctx, value);
}

static JSValue
el_query(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv,
    int all)
{
	struct el *e = bind_opaque(ctx, this, BIND_CLASS_EL);

	(void)argc;
	return e == NULL ? JS_EXCEPTION :
	    sel_query(ctx, e->d, e->node, argv[0], all != 0);
}

bool
el_open(JSContext *ctx)
{
	static const JSClassDef def = { .class_name = "El",
		.finalizer = on_el_end };
	static const JSCFunctionListEntry list[] = {
#define EL_TEXT_ROW(name, text)                                             \
	JS_CGETSET_MAGIC_DEF(text, el_text, NULL, EL_##name),
		EL_TEXTS(EL_TEXT_ROW)
#undef EL_TEXT_ROW
		JS_CGETSET_DEF("parentElement", el_parent, NULL),
		JS_CGETSET_DEF("children", el_children, NULL),
		JS_CFUNC_DEF("getAttribute", 1, el_attribute),
		JS_CFUNC_MAGIC_DEF("querySelector", 1, el_query, 0),
		JS_CFUNC_MAGIC_DEF("querySelectorAll", 1, el_query, 1),
	};

	return bind_class_new(ctx, BIND_CLASS_EL, &def, list, ARRAY_LEN(list));
}

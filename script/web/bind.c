#include "script/web/bind.h"

static JSClassID ids[BIND_CLASS_COUNT];

JSClassID
bind_class(JSRuntime *rt, enum bind_class c)
{
	return JS_NewClassID(rt, &ids[c]);
}

static void
on_bind_end(JSRuntime *rt, JSValueConst v)
{
	js_free_rt(rt, bind_finalized(rt, v, BIND_CLASS_BIND));
}

/* The state is the opaque value of a prototype that no script can reach. */
struct bind *
bind_of(JSContext *ctx)
{
	JSValue holder = JS_GetClassProto(ctx, ids[BIND_CLASS_BIND]);
	struct bind *w = JS_GetOpaque(holder, ids[BIND_CLASS_BIND]);

	JS_FreeValue(ctx, holder);
	return w;
}

bool
bind_open(JSContext *ctx, const struct poll *poll)
{
	static const JSClassDef def = { .class_name = "Bind",
		.finalizer = on_bind_end };
	JSRuntime *rt = JS_GetRuntime(ctx);
	JSClassID id;

	/* All at once, so that a later runtime gives none of them away. */
	for (size_t i = 0; i < BIND_CLASS_COUNT; i++)
		(void)bind_class(rt, (enum bind_class)i);
	id = ids[BIND_CLASS_BIND];
	if (!JS_IsRegisteredClass(rt, id) && JS_NewClass(rt, id, &def) < 0)
		return false;
	struct bind *w = js_mallocz(ctx, sizeof(*w));
	if (w == NULL)
		return false;
	w->poll = *poll;
	JSValue holder = JS_NewObjectProtoClass(ctx, JS_NULL, id);
	if (JS_IsException(holder)) {
		js_free(ctx, w);
		return false;
	}
	JS_SetOpaque(holder, w);
	JS_SetClassProto(ctx, id, holder);
	return true;
}

bool
bind_class_new(JSContext *ctx, enum bind_class c, const JSClassDef *def,
    const JSCFunctionListEntry *list, size_t n)
{
	JSRuntime *rt = JS_GetRuntime(ctx);

	if (!JS_IsRegisteredClass(rt, ids[c]) &&
	    JS_NewClass(rt, ids[c], def) < 0)
		return false;
	JSValue proto = JS_NewObject(ctx);
	if (JS_IsException(proto))
		return false;
	if (JS_SetPropertyFunctionList(ctx, proto, list, (int)n) < 0) {
		JS_FreeValue(ctx, proto);
		return false;
	}
	JS_SetClassProto(ctx, ids[c], proto);
	return true;
}

bool
bind_constructor(JSContext *ctx, enum bind_class c, const char *name,
    JSCFunction *made, int length)
{
	JSValue f = JS_NewCFunction2(ctx, made, name, length,
	    JS_CFUNC_constructor, 0);
	JSValue proto = JS_GetClassProto(ctx, ids[c]);
	JSValue global = JS_GetGlobalObject(ctx);
	bool ok = !JS_IsException(f);

	if (ok) {
		JS_SetConstructor(ctx, f, proto);
		ok = JS_DefinePropertyValueStr(ctx, global, name, f,
		    JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) >= 0;
	}
	JS_FreeValue(ctx, proto);
	JS_FreeValue(ctx, global);
	return ok;
}

JSValue
bind_object(JSContext *ctx, enum bind_class c, void *opaque)
{
	JSValue v = JS_NewObjectClass(ctx, ids[c]);

	if (!JS_IsException(v))
		JS_SetOpaque(v, opaque);
	return v;
}

JSValue
bind_object_of(JSContext *ctx, enum bind_class c, JSValueConst new_target,
    void *opaque)
{
	JSValue proto = JS_GetPropertyStr(ctx, new_target, "prototype");

	if (JS_IsException(proto))
		return proto;
	if (!JS_IsObject(proto)) {
		JS_FreeValue(ctx, proto);
		proto = JS_GetClassProto(ctx, ids[c]);
	}
	JSValue v = JS_NewObjectProtoClass(ctx, proto, ids[c]);
	JS_FreeValue(ctx, proto);
	if (!JS_IsException(v))
		JS_SetOpaque(v, opaque);
	return v;
}

void *
bind_opaque(JSContext *ctx, JSValueConst v, enum bind_class c)
{
	return JS_GetOpaque2(ctx, v, ids[c]);
}

void *
bind_opaque_of(JSValueConst v, enum bind_class c)
{
	return JS_GetOpaque(v, ids[c]);
}

void *
bind_finalized(JSRuntime *rt, JSValueConst v, enum bind_class c)
{
	(void)rt;
	return JS_GetOpaque(v, ids[c]);
}

static JSValue
throw_interrupted(JSContext *ctx)
{
	(void)JS_ThrowInternalError(ctx, "interrupted");
	JSValue e = JS_GetException(ctx);
	JS_SetUncatchableError(ctx, e);
	return JS_Throw(ctx, e);
}

JSValue
bind_throw(JSContext *ctx, enum err e, const struct why *w)
{
	switch (e) {
	case ERR_INPUT:
		return JS_ThrowSyntaxError(ctx, "%s", w->text);
	case ERR_FULL:
		return JS_ThrowOutOfMemory(ctx);
	case ERR_TIMEOUT:
		return throw_interrupted(ctx);
	default:
		return JS_ThrowInternalError(ctx, "%s", w->text);
	}
}

bool
bind_poll_ok(JSContext *ctx)
{
	struct bind *w = bind_of(ctx);

	if (!w->poll.stopped)
		return true;
	/* The next walk asks again. */
	w->poll.stopped = false;
	(void)throw_interrupted(ctx);
	return false;
}

struct str
bind_text(JSContext *ctx, JSValueConst v)
{
	size_t n = 0;
	const char *p = JS_ToCStringLen(ctx, &n, v);

	return p == NULL ? STR_NONE : (struct str){ p, n };
}

/* The first lone surrogate, three bytes from 0xED 0xA0; or s.n. */
static size_t
find_surrogate(struct str s, size_t from)
{
	for (size_t i = from; i + 2 < s.n; i++)
		if (s.p[i] == '\xed' && (unsigned char)s.p[i + 1] >= 0xa0)
			return i;
	return s.n;
}

struct str
bind_usv(JSContext *ctx, JSValueConst v)
{
	struct str s = bind_text(ctx, v);

	if (s.p == NULL || find_surrogate(s, 0) == s.n)
		return s;
	struct out o = OUT_OF(JS_GetRuntime(ctx));
	out_str(&o, s);
	bind_text_free(ctx, s);
	for (size_t i = 0; !o.full &&
	    (i = find_surrogate(out_text(&o), i)) < o.n; i += 3)
		memcpy(o.p + i, "\xef\xbf\xbd", 3);
	JSValue mended = bind_take(ctx, &o);
	if (JS_IsException(mended))
		return STR_NONE;
	s = bind_text(ctx, mended);
	JS_FreeValue(ctx, mended);
	return s;
}

void
bind_text_free(JSContext *ctx, struct str s)
{
	if (s.p != NULL)
		JS_FreeCString(ctx, s.p);
}

JSValue
bind_string(JSContext *ctx, struct str s)
{
	return JS_NewStringLen(ctx, s.n == 0 ? "" : s.p, s.n);
}

JSValue
bind_take(JSContext *ctx, struct out *o)
{
	JSValue v = o->full ? JS_ThrowOutOfMemory(ctx) :
	    bind_string(ctx, out_text(o));

	out_free(o);
	return v;
}

bool
bind_push(JSContext *ctx, JSValueConst array, uint32_t *n, JSValue v)
{
	return !JS_IsException(v) && JS_DefinePropertyValueUint32(ctx, array,
	    (*n)++, v, JS_PROP_C_W_E) >= 0;
}

bool
bind_put(JSContext *ctx, JSValueConst object, struct str key, JSValue v)
{
	if (JS_IsException(v))
		return false;
	JSAtom atom = JS_NewAtomLen(ctx, key.p, key.n);
	if (atom == JS_ATOM_NULL) {
		JS_FreeValue(ctx, v);
		return false;
	}
	int put = JS_DefinePropertyValue(ctx, object, atom, v, JS_PROP_C_W_E);
	JS_FreeAtom(ctx, atom);
	return put >= 0;
}

/* The part of a buffer that a view shows. */
static bool
bytes_of_view(JSContext *ctx, JSValueConst v, struct str *out)
{
	size_t offset = 0, n = 0, all = 0;
	JSValue buffer = JS_GetTypedArrayBuffer(ctx, v, &offset, &n, NULL);

	if (JS_IsException(buffer))
		return false;
	uint8_t *p = JS_GetArrayBuffer(ctx, &all, buffer);
	JS_FreeValue(ctx, buffer);
	if (p == NULL && JS_HasException(ctx))
		return false;
	*out = str_cut((struct str){ (char *)p, all }, offset, offset + n);
	return true;
}

bool
bind_bytes(JSContext *ctx, JSValueConst v, struct str *out)
{
	size_t n = 0;

	if (JS_IsArrayBuffer(v)) {
		uint8_t *p = JS_GetArrayBuffer(ctx, &n, v);
		*out = (struct str){ (char *)p, p == NULL ? 0 : n };
		return p != NULL || !JS_HasException(ctx);
	}
	if (JS_GetTypedArrayType(v) >= 0)
		return bytes_of_view(ctx, v, out);
	(void)JS_ThrowTypeError(ctx, "not an ArrayBuffer or a typed array");
	return false;
}

/* The next value of an iterator: 1; 0 at its end; -1: an exception. */
static int
take_next(JSContext *ctx, JSValueConst iterator, JSValueConst next, JSValue *v)
{
	JSValue r = JS_Call(ctx, next, iterator, 0, NULL);
	JSValue done = JS_IsException(r) ? JS_EXCEPTION :
	    JS_GetPropertyStr(ctx, r, "done");
	int end = JS_IsException(done) ? -1 : JS_ToBool(ctx, done);

	*v = JS_UNDEFINED;
	if (end == 0) {
		*v = JS_GetPropertyStr(ctx, r, "value");
		if (JS_IsException(*v))
			end = -1;
	}
	JS_FreeValue(ctx, done);
	JS_FreeValue(ctx, r);
	return end < 0 ? -1 : !end;
}

JSValue
bind_iterator_method(JSContext *ctx, JSValueConst v)
{
	JSValue global = JS_GetGlobalObject(ctx);
	JSValue class = JS_GetPropertyStr(ctx, global, "Symbol");
	JSValue symbol = JS_GetPropertyStr(ctx, class, "iterator");
	JSAtom atom = JS_ValueToAtom(ctx, symbol);
	JSValue method = JS_IsSymbol(symbol) ? JS_GetProperty(ctx, v, atom) :
	    JS_UNDEFINED;

	JS_FreeAtom(ctx, atom);
	JS_FreeValue(ctx, symbol);
	JS_FreeValue(ctx, class);
	JS_FreeValue(ctx, global);
	return method;
}

int
bind_iterate(JSContext *ctx, JSValueConst from, JSValueConst method,
    int (*take)(JSContext *, void *, int, JSValue), void *to)
{
	JSValue iterator = JS_Call(ctx, method, from, 0, NULL), v;
	JSValue next = JS_IsException(iterator) ? JS_EXCEPTION :
	    JS_GetPropertyStr(ctx, iterator, "next");
	int n = 0, more = JS_IsException(next) ? -1 : 1;

	while (more > 0 && (more = take_next(ctx, iterator, next, &v)) > 0)
		if (take(ctx, to, n++, v) < 0)
			more = -1;
	JS_FreeValue(ctx, next);
	JS_FreeValue(ctx, iterator);
	return more < 0 ? -1 : n;
}

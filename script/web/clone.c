/*
 * structuredClone() of plain objects, arrays, Map, Set, Date, RegExp, errors,
 * ArrayBuffer and typed arrays; equal references stay equal, cycles stay.
 * Anything else is a DataCloneError.
 *
 * https://html.spec.whatwg.org/ section 2.7.3
 */
#include "script/web/bind.h"

/* Objects inside each other. */
#define CLONE_DEPTH_MAX 1000u

struct pair {
	JSValue from, to;            /* held, so that no address is reused */
};

struct clone {
	JSContext *ctx;
	unsigned depth;
	struct pair *slots;          /* by the address of `from` */
	uint32_t n, cap;             /* cap is 0 or a power of two */
};

static JSValue clone_value(struct clone *, JSValueConst);

static struct pair *
find_slot(struct pair *slots, uint32_t cap, JSValueConst v)
{
	uintptr_t at = (uintptr_t)JS_VALUE_GET_PTR(v);
	uint32_t i = (uint32_t)(at / 16 ^ at / 65536) & (cap - 1);

	while (!JS_IsUndefined(slots[i].from) &&
	    JS_VALUE_GET_PTR(slots[i].from) != (void *)at)
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static bool
grow_pairs(struct clone *c)
{
	uint32_t cap = MAX(16u, c->cap * 2);
	struct pair *to = js_malloc(c->ctx, cap * sizeof(*to));

	if (to == NULL)
		return false;
	for (uint32_t i = 0; i < cap; i++)
		to[i] = (struct pair){ JS_UNDEFINED, JS_UNDEFINED };
	for (uint32_t i = 0; i < c->cap; i++)
		if (!JS_IsUndefined(c->slots[i].from))
			*find_slot(to, cap, c->slots[i].from) = c->slots[i];
	js_free(c->ctx, c->slots);
	c->slots = to;
	c->cap = cap;
	return true;
}

static bool
remember(struct clone *c, JSValueConst from, JSValueConst to)
{
	if (c->n * 2 >= c->cap && !grow_pairs(c))
		return false;
	*find_slot(c->slots, c->cap, from) = (struct pair){
		JS_DupValue(c->ctx, from), JS_DupValue(c->ctx, to) };
	c->n++;
	return true;
}

static JSValue
refuse(JSContext *ctx)
{
	return JS_ThrowDOMException(ctx, "DataCloneError",
	    "the object cannot be cloned");
}

/* `new NAME(ARGS)` of the context's global. */
static JSValue
construct(JSContext *ctx, const char *name, int argc, JSValueConst *argv)
{
	JSValue global = JS_GetGlobalObject(ctx);
	JSValue f = JS_GetPropertyStr(ctx, global, name);
	JSValue v = JS_IsException(f) ? f :
	    JS_CallConstructor(ctx, f, argc, argv);

	JS_FreeValue(ctx, f);
	JS_FreeValue(ctx, global);
	return v;
}

static bool
copy_properties(struct clone *c, JSValueConst from, JSValueConst to)
{
	JSContext *ctx = c->ctx;
	JSPropertyEnum *at = NULL;
	uint32_t n = 0;
	bool ok = JS_GetOwnPropertyNames(ctx, &at, &n, from,
	    JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) >= 0;

	for (uint32_t i = 0; ok && i < n; i++) {
		JSValue v = JS_GetProperty(ctx, from, at[i].atom);
		JSValue copy = JS_IsException(v) ? v : clone_value(c, v);
		JS_FreeValue(ctx, v);
		ok = !JS_IsException(copy) && JS_DefinePropertyValue(ctx, to,
		    at[i].atom, copy, JS_PROP_C_W_E) >= 0;
	}
	if (at != NULL)
		JS_FreePropertyEnum(ctx, at, n);
	return ok;
}

static JSValue
clone_plain(struct clone *c, JSValueConst v, bool array)
{
	JSContext *ctx = c->ctx;
	JSValue to = array ? JS_NewArray(ctx) : JS_NewObject(ctx);
	int64_t n = 0;
	bool ok = !JS_IsException(to) && remember(c, v, to);

	if (ok && array)
		ok = JS_GetLength(ctx, v, &n) >= 0 &&
		    JS_SetLength(ctx, to, n) >= 0;
	if (ok && copy_properties(c, v, to))
		return to;
	JS_FreeValue(ctx, to);
	return JS_EXCEPTION;
}

/* ---- Map and Set ------------------------------------------------------ */

struct filling {
	struct clone *c;
	JSValue to;
	bool map;
};

static int
call_method(JSContext *ctx, JSValueConst to, const char *name, int argc,
    JSValueConst *argv)
{
	JSAtom atom = JS_NewAtom(ctx, name);
	JSValue r = JS_Invoke(ctx, to, atom, argc, argv);
	int ok = JS_IsException(r) ? -1 : 0;

	JS_FreeValue(ctx, r);
	JS_FreeAtom(ctx, atom);
	return ok;
}

static int
put_member(JSContext *ctx, void *filling, int i, JSValue v)
{
	struct filling *f = filling;
	JSValue args[2] = { JS_UNDEFINED, JS_UNDEFINED };
	int ok = 0;

	(void)i;
	for (uint32_t k = 0; k < (f->map ? 2u : 1u) && ok == 0; k++) {
		JSValue part = f->map ? JS_GetPropertyUint32(ctx, v, k) :
		    JS_DupValue(ctx, v);
		args[k] = JS_IsException(part) ? part :
		    clone_value(f->c, part);
		JS_FreeValue(ctx, part);
		ok = JS_IsException(args[k]) ? -1 : 0;
	}
	if (ok == 0)
		ok = call_method(ctx, f->to, f->map ? "set" : "add",
		    f->map ? 2 : 1, args);
	JS_FreeValue(ctx, args[0]);
	JS_FreeValue(ctx, args[1]);
	JS_FreeValue(ctx, v);
	return ok;
}

static JSValue
clone_collection(struct clone *c, JSValueConst v, bool map)
{
	JSContext *ctx = c->ctx;
	struct filling f = { c, construct(ctx, map ? "Map" : "Set", 0, NULL),
		map };
	JSValue method = bind_iterator_method(ctx, v);
	bool ok = !JS_IsException(f.to) && remember(c, v, f.to) &&
	    bind_iterate(ctx, v, method, put_member, &f) >= 0;

	JS_FreeValue(ctx, method);
	if (ok)
		return f.to;
	JS_FreeValue(ctx, f.to);
	return JS_EXCEPTION;
}

/* ---- Others ----------------------------------------------------------- */

static JSValue
clone_buffer(struct clone *c, JSValueConst v)
{
	struct str s;

	if (!bind_bytes(c->ctx, v, &s))
		return JS_EXCEPTION;
	return JS_NewArrayBufferCopy(c->ctx, (const uint8_t *)s.p, s.n);
}

/* A view of the buffer's clone, which other views may share. */
static JSValue
clone_view(struct clone *c, JSValueConst v, int type)
{
	JSContext *ctx = c->ctx;
	size_t offset = 0, n = 0, item = 1;
	JSValue buffer = JS_GetTypedArrayBuffer(ctx, v, &offset, &n, &item);
	JSValue copy = JS_IsException(buffer) ? buffer :
	    clone_value(c, buffer);

	JS_FreeValue(ctx, buffer);
	if (JS_IsException(copy))
		return copy;
	JSValue args[3] = { copy, JS_NewInt64(ctx, (int64_t)offset),
	    JS_NewInt64(ctx, (int64_t)(n / item)) };
	JSValue to = JS_NewTypedArray(ctx, 3, args, (JSTypedArrayEnum)type);
	JS_FreeValue(ctx, copy);
	return to;
}

static JSValue
clone_date(JSContext *ctx, JSValueConst v)
{
	double ms = 0;
	JSAtom atom = JS_NewAtom(ctx, "getTime");
	JSValue t = JS_Invoke(ctx, v, atom, 0, NULL);
	int ok = JS_IsException(t) ? -1 : JS_ToFloat64(ctx, &ms, t);

	JS_FreeValue(ctx, t);
	JS_FreeAtom(ctx, atom);
	return ok < 0 ? JS_EXCEPTION : JS_NewDate(ctx, ms);
}

static JSValue
clone_regexp(JSContext *ctx, JSValueConst v)
{
	JSValue args[2] = { JS_GetPropertyStr(ctx, v, "source"),
	    JS_GetPropertyStr(ctx, v, "flags") };
	JSValue to = JS_IsException(args[0]) || JS_IsException(args[1]) ?
	    JS_EXCEPTION : construct(ctx, "RegExp", 2, args);

	JS_FreeValue(ctx, args[0]);
	JS_FreeValue(ctx, args[1]);
	return to;
}

static JSValue
clone_error(JSContext *ctx, JSValueConst v)
{
	static const char *const names[] = { "EvalError", "RangeError",
		"ReferenceError", "SyntaxError", "TypeError", "URIError" };
	JSValue name = JS_GetPropertyStr(ctx, v, "name");
	JSValue message = JS_GetPropertyStr(ctx, v, "message");
	const char *class = "Error";
	JSValue to = JS_EXCEPTION;

	if (JS_IsString(name)) {
		struct str s = bind_text(ctx, name);
		size_t i = STR_ROW(s, names);
		class = i < ARRAY_LEN(names) ? names[i] : class;
		bind_text_free(ctx, s);
	}
	if (!JS_IsException(name) && !JS_IsException(message))
		to = construct(ctx, class, !JS_IsUndefined(message), &message);
	JS_FreeValue(ctx, name);
	JS_FreeValue(ctx, message);
	return to;
}

static bool
is_plain(JSContext *ctx, JSValueConst v)
{
	JSValue o = JS_NewObject(ctx);
	bool is = JS_GetClassID(o) == JS_GetClassID(v);

	JS_FreeValue(ctx, o);
	return is;
}

static JSValue
clone_leaf(struct clone *c, JSValueConst v)
{
	JSContext *ctx = c->ctx;
	int type = JS_GetTypedArrayType(v);

	if (JS_IsArrayBuffer(v))
		return clone_buffer(c, v);
	if (type >= 0)
		return clone_view(c, v, type);
	if (JS_IsDate(v))
		return clone_date(ctx, v);
	if (JS_IsRegExp(v))
		return clone_regexp(ctx, v);
	return JS_IsError(v) ? clone_error(ctx, v) : refuse(ctx);
}

static JSValue
clone_object(struct clone *c, JSValueConst v)
{
	JSContext *ctx = c->ctx;

	if (JS_IsProxy(v) || JS_IsFunction(ctx, v))
		return refuse(ctx);
	if (JS_IsMap(v) || JS_IsSet(v))
		return clone_collection(c, v, JS_IsMap(v));
	if (JS_IsArray(v) || is_plain(ctx, v))
		return clone_plain(c, v, JS_IsArray(v));
	JSValue to = clone_leaf(c, v);
	if (JS_IsException(to) || remember(c, v, to))
		return to;
	JS_FreeValue(ctx, to);
	return JS_EXCEPTION;
}

static JSValue
clone_value(struct clone *c, JSValueConst v)
{
	if (JS_IsSymbol(v))
		return refuse(c->ctx);
	if (!JS_IsObject(v))
		return JS_DupValue(c->ctx, v);
	if (c->cap != 0) {
		struct pair *p = find_slot(c->slots, c->cap, v);
		if (!JS_IsUndefined(p->from))
			return JS_DupValue(c->ctx, p->to);
	}
	if (c->depth == CLONE_DEPTH_MAX)
		return JS_ThrowRangeError(c->ctx, "deeper than %u objects",
		    CLONE_DEPTH_MAX);
	c->depth++;
	JSValue to = clone_object(c, v);
	c->depth--;
	return to;
}

static JSValue
structured_clone(JSContext *ctx, JSValueConst this, int argc,
    JSValueConst *argv)
{
	struct clone c = { .ctx = ctx };

	(void)this;
	if (argc < 1)
		return JS_ThrowTypeError(ctx, "1 argument is needed");
	JSValue to = clone_value(&c, argv[0]);
	for (uint32_t i = 0; i < c.cap; i++) {
		JS_FreeValue(ctx, c.slots[i].from);
		JS_FreeValue(ctx, c.slots[i].to);
	}
	js_free(ctx, c.slots);
	return to;
}

bool
clone_open(JSContext *ctx)
{
	static const JSCFunctionListEntry globals[] = {
		JS_CFUNC_DEF("structuredClone", 1, structured_clone),
	};
	JSValue global = JS_GetGlobalObject(ctx);
	bool ok = JS_SetPropertyFunctionList(ctx, global, globals,
	    ARRAY_LEN(globals)) >= 0;

	JS_FreeValue(ctx, global);
	return ok;
}

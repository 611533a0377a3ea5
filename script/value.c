#include "script/value.h"

#include <math.h>
#include <stdarg.h>

#include "base/json.h"
#include "base/text.h"

/* The daemon's answers contain what scripts may store, and a bit more. */
#define READ_DEPTH_MAX (VALUE_DEPTH_MAX + 16)

/* Integers up to here are doubles without loss. */
#define EXACT_MAX (UINT64_C(1) << 53)

/* How values are made. */
enum { FROZEN = 1, FOREIGN = 2 };

/* ---- From JSON ---------------------------------------------------------- */

static JSValue from_json(JSContext *ctx, yyjson_val *v, unsigned how,
    unsigned depth);

JSValue
value_string(JSContext *ctx, struct str s)
{
	return JS_NewStringLen(ctx, s.p, s.n);
}

int
value_define(JSContext *ctx, JSValueConst obj, const char *name, JSValue v)
{
	if (JS_IsException(v))
		return -1;
	return JS_DefinePropertyValueStr(ctx, obj, name, v, JS_PROP_C_W_E);
}

static JSValue
finish_container(JSContext *ctx, JSValue obj, unsigned how)
{
	if ((how & FROZEN) != 0 && JS_FreezeObject(ctx, obj) < 0) {
		JS_FreeValue(ctx, obj);
		return JS_EXCEPTION;
	}
	return obj;
}

static JSValue
array_from_json(JSContext *ctx, yyjson_val *v, unsigned how, unsigned depth)
{
	JSValue array = JS_NewArray(ctx);
	size_t i, n;
	yyjson_val *item;

	if (JS_IsException(array))
		return array;
	yyjson_arr_foreach(v, i, n, item) {
		JSValue one = from_json(ctx, item, how, depth + 1);
		if (JS_IsException(one) || JS_DefinePropertyValueUint32(ctx,
		    array, (uint32_t)i, one, JS_PROP_C_W_E) < 0) {
			JS_FreeValue(ctx, array);
			return JS_EXCEPTION;
		}
	}
	return finish_container(ctx, array, how);
}

static JSValue
object_from_json(JSContext *ctx, yyjson_val *v, unsigned how, unsigned depth)
{
	JSValue obj = JS_NewObject(ctx);
	size_t i, n;
	yyjson_val *key, *item;

	if (JS_IsException(obj))
		return obj;
	yyjson_obj_foreach(v, i, n, key, item) {
		struct str name = json_text(key);
		JSValue one = from_json(ctx, item, how, depth + 1);
		JSAtom atom = JS_IsException(one) ? JS_ATOM_NULL :
		    JS_NewAtomLen(ctx, name.p, name.n);
		/* An own property, "__proto__" too. */
		bool done = atom != JS_ATOM_NULL && JS_DefinePropertyValue(ctx,
		    obj, atom, one, JS_PROP_C_W_E) >= 0;
		JS_FreeAtom(ctx, atom);
		if (!done) {
			JS_FreeValue(ctx, obj);
			return JS_EXCEPTION;
		}
	}
	return finish_container(ctx, obj, how);
}

static JSValue
number_from_json(JSContext *ctx, yyjson_val *v, unsigned how)
{
	char text[24];

	if (yyjson_is_real(v))
		return JS_NewFloat64(ctx, yyjson_get_real(v));
	bool is_big = yyjson_is_uint(v) ? yyjson_get_uint(v) > EXACT_MAX :
	    yyjson_get_sint(v) < -(int64_t)EXACT_MAX;
	if ((how & FOREIGN) == 0 || !is_big)
		return yyjson_is_uint(v) && yyjson_get_uint(v) > INT64_MAX ?
		    JS_NewFloat64(ctx, yyjson_get_num(v)) :
		    JS_NewInt64(ctx, yyjson_get_sint(v));
	if (yyjson_is_uint(v))
		snprintf(text, sizeof(text), "%llu",
		    (unsigned long long)yyjson_get_uint(v));
	else
		snprintf(text, sizeof(text), "%lld",
		    (long long)yyjson_get_sint(v));
	return JS_NewString(ctx, text);
}

static JSValue
from_json(JSContext *ctx, yyjson_val *v, unsigned how, unsigned depth)
{
	if (depth > READ_DEPTH_MAX)
		return JS_ThrowRangeError(ctx, "the JSON is too deep");
	switch (yyjson_get_type(v)) {
	case YYJSON_TYPE_BOOL:
		return JS_NewBool(ctx, yyjson_get_bool(v));
	case YYJSON_TYPE_NUM:
		return number_from_json(ctx, v, how);
	case YYJSON_TYPE_STR:
		return value_string(ctx, json_text(v));
	case YYJSON_TYPE_ARR:
		return array_from_json(ctx, v, how, depth);
	case YYJSON_TYPE_OBJ:
		return object_from_json(ctx, v, how, depth);
	default:
		return JS_NULL;
	}
}

JSValue
value_from_json(JSContext *ctx, yyjson_val *v, bool frozen)
{
	return from_json(ctx, v, frozen ? FROZEN : 0, 0);
}

JSValue
value_from_foreign(JSContext *ctx, yyjson_val *v)
{
	return from_json(ctx, v, FOREIGN, 0);
}

JSValue
value_from_text(JSContext *ctx, struct str s, bool frozen)
{
	yyjson_doc *doc = yyjson_read(s.p, s.n, 0);
	JSValue v;

	if (doc == NULL)
		return JS_ThrowInternalError(ctx, "the daemon's JSON is cut");
	v = value_from_json(ctx, yyjson_doc_get_root(doc), frozen);
	yyjson_doc_free(doc);
	return v;
}

/* ---- To JSON ------------------------------------------------------------ */

static bool write_value(struct value_writer *, JSValueConst);

static void
note_where(struct value_writer *w)
{
	size_t n = 0;

	for (unsigned i = 0; i < w->depth && n < sizeof(w->where); i++)
		n += (size_t)snprintf(w->where + n, sizeof(w->where) - n,
		    "%s%.*s", i > 0 ? "." : "", (int)MIN(w->path[i].n,
		    (size_t)64), w->path[i].p);
}

PRINTF_LIKE(2, 3) static bool
refuse(struct value_writer *w, const char *fmt, ...)
{
	va_list args;

	note_where(w);
	va_start(args, fmt);
	vsnprintf(w->reason, sizeof(w->reason), fmt, args);
	va_end(args);
	return false;
}

/*
 * An exception is pending.  One that the script could have caught becomes a
 * reason; the others stay pending.
 */
static bool
refuse_exception(struct value_writer *w, const char *who)
{
	JSValue e = JS_GetException(w->ctx);

	if (JS_IsUncatchableError(e)) {
		(void)JS_Throw(w->ctx, e);
		w->reason[0] = '\0';
		return false;
	}
	JS_FreeValue(w->ctx, e);
	return refuse(w, "%s threw", who);
}

static bool
refuse_length(struct value_writer *w)
{
	w->too_long = true;
	return refuse(w, "it is longer than %zu bytes", w->bytes_max);
}

static bool
has_room(struct value_writer *w)
{
	return w->out->n <= w->bytes_max || refuse_length(w);
}

static bool
write_text(struct value_writer *w, JSValueConst v)
{
	size_t n = 0;
	const char *p = JS_ToCStringLen(w->ctx, &n, v);

	if (p == NULL)
		return refuse_exception(w, "its text");
	struct str s = { p, n };
	bool good = text_is_utf8(s), fits = w->out->n + n <= w->bytes_max;
	if (good && fits)
		text_json(w->out, s);
	JS_FreeCString(w->ctx, p);
	if (!good)
		return refuse(w, "a text has half of a surrogate pair");
	return fits ? has_room(w) : refuse_length(w);
}

static bool
write_number(struct value_writer *w, JSValueConst v)
{
	double d = 0;

	if (JS_ToFloat64(w->ctx, &d, v) != 0)
		return refuse_exception(w, "a number");
	if (!isfinite(d))
		return refuse(w, "a number is not finite");
	if (d == trunc(d) && fabs(d) < (double)EXACT_MAX) {
		buf_printf(w->out, "%lld", (long long)d);
		return has_room(w);
	}
	const char *text = JS_ToCString(w->ctx, v);
	if (text == NULL)
		return refuse_exception(w, "a number");
	buf_put_text(w->out, text);
	JS_FreeCString(w->ctx, text);
	return has_room(w);
}

static bool
is_other_object(JSContext *ctx, JSValueConst v)
{
	return JS_IsMap(v) || JS_IsSet(v) || JS_IsWeakMap(v) ||
	    JS_IsWeakSet(v) || JS_IsWeakRef(v) || JS_IsRegExp(v) ||
	    JS_IsPromise(v) || JS_IsArrayBuffer(v) || JS_IsDataView(v) ||
	    JS_GetTypedArrayType(v) >= 0 || JS_IsFunction(ctx, v);
}

static bool
write_array(struct value_writer *w, JSValueConst v)
{
	int64_t n = 0;
	char index[24];

	if (JS_GetLength(w->ctx, v, &n) < 0)
		return refuse_exception(w, "an array");
	buf_put_char(w->out, '[');
	for (int64_t i = 0; i < n; i++) {
		snprintf(index, sizeof(index), "%lld", (long long)i);
		w->path[w->depth - 1] = str_of(index);
		if (i > 0)
			buf_put_char(w->out, ',');
		JSValue item = JS_GetPropertyInt64(w->ctx, v, i);
		if (JS_IsException(item))
			return refuse_exception(w, "a getter");
		bool done = JS_IsUndefined(item) ?
		    refuse(w, "an element is undefined") : write_value(w, item);
		JS_FreeValue(w->ctx, item);
		if (!done)
			return false;
	}
	w->path[w->depth - 1] = STR("");
	buf_put_char(w->out, ']');
	return has_room(w);
}

static void
note_function(struct value_writer *w)
{
	struct buf *f = w->functions;

	buf_put_text(f, f->n == 0 ? "[" : ",[");
	for (unsigned i = 0; i < w->depth; i++) {
		if (i > 0)
			buf_put_char(f, ',');
		text_json(f, w->path[i]);
	}
	buf_put_char(f, ']');
}

/* The value of a property; the path names it while this runs. */
static bool
write_member(struct value_writer *w, struct str name, JSValueConst v,
    bool *first)
{
	if (!text_is_utf8(name))
		return refuse(w, "a key has half of a surrogate pair");
	if (w->functions != NULL && JS_IsFunction(w->ctx, v)) {
		note_function(w);
		return true;
	}
	if (!*first)
		buf_put_char(w->out, ',');
	*first = false;
	text_json(w->out, name);
	buf_put_char(w->out, ':');
	return has_room(w) && write_value(w, v);
}

/* One property; `*first` until one was written. */
static bool
write_property(struct value_writer *w, JSValueConst obj, JSAtom key,
    bool *first)
{
	size_t n = 0;
	const char *p = JS_AtomToCStringLen(w->ctx, &n, key);
	struct str name = { p, n };
	bool done;

	if (p == NULL)
		return refuse_exception(w, "a key");
	w->path[w->depth - 1] = name;
	JSValue v = JS_GetProperty(w->ctx, obj, key);
	if (JS_IsException(v))
		done = refuse_exception(w, "a getter");
	else
		done = JS_IsUndefined(v) || write_member(w, name, v, first);
	w->path[w->depth - 1] = STR("");
	JS_FreeCString(w->ctx, p);
	JS_FreeValue(w->ctx, v);
	return done;
}

static bool
write_object(struct value_writer *w, JSValueConst v)
{
	JSPropertyEnum *keys = NULL;
	uint32_t n = 0;
	bool first = true, done = true;

	if (JS_GetOwnPropertyNames(w->ctx, &keys, &n, v,
	    JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0)
		return refuse_exception(w, "a proxy");
	buf_put_char(w->out, '{');
	for (uint32_t i = 0; done && i < n; i++)
		done = write_property(w, v, keys[i].atom, &first);
	JS_FreePropertyEnum(w->ctx, keys, n);
	buf_put_char(w->out, '}');
	return done && has_room(w);
}

/* What toJSON() gives in place of the value, as of dates; else undefined. */
static bool
ask_to_json(struct value_writer *w, JSValueConst v, JSValue *out)
{
	JSValue method = JS_GetPropertyStr(w->ctx, v, "toJSON");

	*out = JS_UNDEFINED;
	if (JS_IsException(method))
		return refuse_exception(w, "a getter");
	if (!JS_IsFunction(w->ctx, method)) {
		JS_FreeValue(w->ctx, method);
		return true;
	}
	*out = JS_Call(w->ctx, method, v, 0, NULL);
	JS_FreeValue(w->ctx, method);
	if (JS_IsException(*out)) {
		*out = JS_UNDEFINED;
		return refuse_exception(w, "toJSON()");
	}
	if (JS_IsUndefined(*out))
		return refuse(w, "toJSON() gave nothing");
	return true;
}

static bool
write_container(struct value_writer *w, JSValueConst v)
{
	if (w->depth >= VALUE_DEPTH_MAX)
		return refuse(w, "it is deeper than %u", VALUE_DEPTH_MAX);
	if (is_other_object(w->ctx, v))
		return refuse(w, "it is no JSON");
	w->path[w->depth++] = STR("");
	bool done = JS_IsArray(v) ? write_array(w, v) : write_object(w, v);
	w->depth--;
	return done;
}

static bool
write_value(struct value_writer *w, JSValueConst v)
{
	JSValue other = JS_UNDEFINED;

	if (JS_IsNull(v)) {
		buf_put_text(w->out, "null");
		return has_room(w);
	}
	if (JS_IsBool(v)) {
		buf_put_text(w->out, JS_VALUE_GET_BOOL(v) ? "true" : "false");
		return has_room(w);
	}
	if (JS_IsString(v))
		return write_text(w, v);
	if (JS_IsNumber(v))
		return write_number(w, v);
	if (!JS_IsObject(v))
		return refuse(w, "it is no JSON");
	if (!ask_to_json(w, v, &other))
		return false;
	if (JS_IsUndefined(other))
		return write_container(w, v);
	bool done = JS_IsObject(other) ? write_container(w, other) :
	    write_value(w, other);
	JS_FreeValue(w->ctx, other);
	return done;
}

bool
value_write(struct value_writer *w, JSValueConst v)
{
	w->reason[0] = w->where[0] = '\0';
	w->too_long = false;
	w->depth = 0;
	return write_value(w, v);
}

/*
 * Errors: those that scripts catch, and what a failed run is told to have
 * failed of.
 */
#include <stdarg.h>

#include "base/json.h"
#include "base/text.h"
#include "script/fetch.h"
#include "script/own.h"
#include "script/value.h"

static const struct {
	const char *name, *code;
	bool is_transient;
} classes[ERROR_COUNT] = {
	[ERROR_FETCH] = { "FetchError", "fetch", true },
	[ERROR_NOT_FOUND] = { "NotFoundError", "not_found", false },
	[ERROR_MUTATION] = { "MutationError", "mutation", false },
	[ERROR_REPLAY_MISS] = { "ReplayMiss", "replay_miss", false },
	[ERROR_TRANSIENT] = { "TransientError", "transient", true },
	[ERROR_PERMANENT] = { "PermanentError", "permanent", false },
	[ERROR_CONFIG] = { "ConfigError", "config", false },
};

#define MESSAGE_BYTES_MAX 2000u
#define STACK_BYTES_MAX 8000u

/* ---- Throwing ----------------------------------------------------------- */

static JSValue
make_error(struct run *r, enum error_class class, const char *message)
{
	JSContext *ctx = r->ctx;
	JSValue e = JS_NewError(ctx);

	if (JS_IsException(e))
		return e;
	if (JS_SetPrototype(ctx, e, r->error_protos[class]) < 0 ||
	    JS_DefinePropertyValueStr(ctx, e, "message", JS_NewString(ctx,
	    message), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) < 0) {
		JS_FreeValue(ctx, e);
		return JS_EXCEPTION;
	}
	return e;
}

/* Give it a property, unless something has failed before. */
static bool
add_text(JSContext *ctx, JSValueConst e, const char *name, struct str text)
{
	return text.p == NULL ||
	    value_define(ctx, e, name, value_string(ctx, text)) >= 0;
}

static JSValue
throw_built(JSContext *ctx, JSValue e, bool done)
{
	if (JS_IsException(e))
		return e;
	if (!done) {
		JS_FreeValue(ctx, e);
		return JS_EXCEPTION;
	}
	return JS_Throw(ctx, e);
}

JSValue
fault_throw(JSContext *ctx, enum error_class class, const char *code,
    const char *fmt, ...)
{
	char message[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	JSValue e = make_error(run_of(ctx), class, message);
	return throw_built(ctx, e, JS_IsException(e) ||
	    add_text(ctx, e, "code", str_of(code)));
}

JSValue
fault_throw_mutation(JSContext *ctx, const char *op, const char *reason)
{
	char message[300];

	snprintf(message, sizeof(message), "%s: %s", op, reason);
	JSValue e = make_error(run_of(ctx), ERROR_MUTATION, message);
	return throw_built(ctx, e, JS_IsException(e) ||
	    (add_text(ctx, e, "op", str_of(op)) &&
	    add_text(ctx, e, "reason", str_of(reason))));
}

/* The answer that a FetchError is about, where there was one. */
static bool
add_response(struct run *r, JSValueConst e, yyjson_val *head, struct str body)
{
	return !yyjson_is_obj(head) || value_define(r->ctx, e, "response",
	    fetch_response(r, head, body)) >= 0;
}

JSValue
fault_from_answer(struct run *r, yyjson_val *v, struct str body)
{
	struct str name = json_text(yyjson_obj_get(v, "class"));
	struct buf message = BUF_INIT;
	size_t class = STR_ROW(name, classes);
	static const char *const numbers[] = { "status", "retryAfter" };

	/* Another name is an ordinary error. */
	if (class == ERROR_COUNT)
		class = ERROR_PERMANENT;
	buf_put_str(&message, json_text(yyjson_obj_get(v, "message")));
	JSValue e = make_error(r, (enum error_class)class, buf_text(&message));
	buf_free(&message);
	if (JS_IsException(e))
		return e;
	bool done = add_text(r->ctx, e, "code",
	    json_text(yyjson_obj_get(v, "code"))) &&
	    add_text(r->ctx, e, "op", json_text(yyjson_obj_get(v, "op"))) &&
	    add_text(r->ctx, e, "reason",
	    json_text(yyjson_obj_get(v, "reason")));
	for (size_t i = 0; done && i < ARRAY_LEN(numbers); i++) {
		yyjson_val *n = yyjson_obj_get(v, numbers[i]);
		if (yyjson_is_num(n))
			done = value_define(r->ctx, e, numbers[i],
			    JS_NewFloat64(r->ctx, yyjson_get_num(n))) >= 0;
	}
	if (!done || !add_response(r, e, yyjson_obj_get(v, "response"),
	    body)) {
		JS_FreeValue(r->ctx, e);
		return JS_EXCEPTION;
	}
	return e;
}

/* ---- Telling ------------------------------------------------------------ */

/* Which of our classes it is of, subclasses too; ERROR_COUNT: none. */
static enum error_class
class_of(struct run *r, JSValueConst thrown)
{
	JSValue at = JS_DupValue(r->ctx, thrown);

	for (int steps = 0; steps < 64 && JS_IsObject(at) && !JS_IsProxy(at);
	    steps++) {
		for (size_t i = 0; i < ERROR_COUNT; i++) {
			if (JS_IsStrictEqual(r->ctx, at, r->error_protos[i])) {
				JS_FreeValue(r->ctx, at);
				return (enum error_class)i;
			}
		}
		JSValue next = JS_GetPrototype(r->ctx, at);
		JS_FreeValue(r->ctx, at);
		at = next;
	}
	JS_FreeValue(r->ctx, at);
	return ERROR_COUNT;
}

/* The text of a property, if it is one; what a getter throws is dropped. */
static bool
copy_text(struct run *r, JSValueConst obj, const char *name, size_t max,
    struct buf *out)
{
	JSValue v = JS_IsObject(obj) ? JS_GetPropertyStr(r->ctx, obj, name) :
	    JS_UNDEFINED;
	size_t n = 0;
	const char *text = JS_IsString(v) ? JS_ToCStringLen(r->ctx, &n, v) :
	    NULL;

	if (text != NULL)
		buf_put(out, text, MIN(n, max));
	JS_FreeCString(r->ctx, text);
	if (JS_IsException(v) || (JS_IsString(v) && text == NULL))
		JS_FreeValue(r->ctx, JS_GetException(r->ctx));
	JS_FreeValue(r->ctx, v);
	return text != NULL;
}

/* "TypeError: x is no function", or the text of what is no error. */
static void
copy_message(struct run *r, JSValueConst thrown, struct buf *out)
{
	size_t n = 0;

	if (JS_IsObject(thrown)) {
		if (copy_text(r, thrown, "name", 100, out))
			buf_put_text(out, ": ");
		if (!copy_text(r, thrown, "message", MESSAGE_BYTES_MAX, out))
			buf_put_text(out, "an object was thrown");
		return;
	}
	const char *text = JS_IsSymbol(thrown) ? NULL :
	    JS_ToCStringLen(r->ctx, &n, thrown);
	if (text != NULL)
		buf_put(out, text, MIN(n, (size_t)MESSAGE_BYTES_MAX));
	else
		buf_put_text(out, "a value was thrown");
	JS_FreeCString(r->ctx, text);
}

/* Refused requests are no passing fault. */
static bool
is_refusal(struct str code)
{
	static const char *const codes[] = { "robots", "denied", "limit_body" };

	return STR_ROW(code, codes) < ARRAY_LEN(codes);
}

static void
write_fault(struct buf *out, bool is_transient, struct str code,
    struct str message, struct str stack)
{
	buf_printf(out, "{\"class\":\"%s\",\"code\":",
	    is_transient ? "transient" : "permanent");
	text_json(out, code);
	buf_put_text(out, ",\"message\":");
	text_json(out, message);
	buf_put_text(out, ",\"stack\":");
	text_json(out, stack);
	buf_put_char(out, '}');
}

void
fault_write(struct run *r, struct buf *out, JSValueConst thrown)
{
	FREED(buf_free) struct buf code = BUF_INIT;
	FREED(buf_free) struct buf message = BUF_INIT;
	FREED(buf_free) struct buf stack = BUF_INIT;
	FREED(buf_free) struct buf reason = BUF_INIT;
	enum error_class class = class_of(r, thrown);
	bool is_ours = class != ERROR_COUNT, is_transient = false;

	if (is_ours) {
		is_transient = classes[class].is_transient;
		if (!copy_text(r, thrown, "code", 64, &code) || code.n == 0)
			buf_put_text(&code, classes[class].code);
	} else {
		buf_put_text(&code, "error");
	}
	if (class == ERROR_FETCH && is_refusal(buf_str(&code)))
		is_transient = false;
	if (class == ERROR_MUTATION &&
	    copy_text(r, thrown, "reason", 64, &reason) &&
	    str_eq(buf_str(&reason), STR("conflict")))
		is_transient = true;
	copy_message(r, thrown, &message);
	(void)copy_text(r, thrown, "stack", STACK_BYTES_MAX, &stack);
	write_fault(out, is_transient, buf_str(&code), buf_str(&message),
	    buf_str(&stack));
}

void
fault_write_code(struct buf *out, const char *code, const char *message)
{
	write_fault(out, strcmp(code, "limit_turn") == 0, str_of(code),
	    str_of(message), STR(""));
}

/*
 * The task API: what a run reads and asks for.  mutation.c has what it changes.
 *
 * Every function here takes its context from JS_GetContextOpaque(), never from
 * `this`, since scripts take them apart: run({ data, getItem }).
 */
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "script/fetch.h"
#include "script/own.h"
#include "script/value.h"

/* ---- Arguments ---------------------------------------------------------- */

#define OPTION_BYTES_MAX ((size_t)64 << 10)

/*
 * The object `v` as JSON, read once; keys that `allowed` lacks are refused.
 * NULL: an exception is pending.
 */
static yyjson_doc *
read_options(JSContext *ctx, const char *who, JSValueConst v,
    const char *const *allowed, size_t n)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct value_writer w = { .ctx = ctx, .out = &text,
		.bytes_max = OPTION_BYTES_MAX };
	size_t i, count;
	yyjson_val *key, *item;

	if (!value_write(&w, v)) {
		if (w.reason[0] != '\0')
			JS_ThrowTypeError(ctx, "%s: %s", who, w.reason);
		return NULL;
	}
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
		yyjson_doc_free(doc);
		JS_ThrowTypeError(ctx, "%s: the argument is no object", who);
		return NULL;
	}
	yyjson_obj_foreach(yyjson_doc_get_root(doc), i, count, key, item) {
		if (str_find_row(json_text(key), allowed, n, sizeof(*allowed),
		    str_eq) < n)
			continue;
		JS_ThrowTypeError(ctx, "%s: unknown option '%s'", who,
		    yyjson_get_str(key));
		yyjson_doc_free(doc);
		return NULL;
	}
	return doc;
}

bool
task_take_text(JSContext *ctx, const char *who, const char *what,
    JSValueConst v, struct buf *out)
{
	size_t n = 0;
	const char *text;

	if (!JS_IsString(v)) {
		JS_ThrowTypeError(ctx, "%s: %s is no string", who, what);
		return false;
	}
	text = JS_ToCStringLen(ctx, &n, v);
	if (text == NULL)
		return false;
	bool good = text_is_utf8((struct str){ text, n });
	if (good)
		buf_put(out, text, n);
	JS_FreeCString(ctx, text);
	if (!good)
		JS_ThrowTypeError(ctx, "%s: %s has half of a surrogate pair",
		    who, what);
	return good;
}

static bool
is_true(yyjson_val *options, const char *name)
{
	return yyjson_is_true(yyjson_obj_get(options, name));
}

/* A member that is a text, or `otherwise` where there is none. */
static struct str
text_or(yyjson_val *options, const char *name, struct str otherwise)
{
	struct str s = json_text(yyjson_obj_get(options, name));

	return s.p != NULL ? s : otherwise;
}

static JSValue
begin_call(JSContext *ctx, const char *kind, struct buf *json,
    JSValue (*finish)(struct run *, struct call *, yyjson_val *, struct str),
    int64_t number)
{
	struct run *r = run_of(ctx);
	struct call *c = call_new(r, kind, json, STR_NONE);

	if (c == NULL)
		return JS_ThrowOutOfMemory(ctx);
	c->finish = finish;
	c->number = number;
	return call_promise(r, c);
}

/* ---- Items -------------------------------------------------------------- */

static JSValue
tags_of(JSContext *ctx, yyjson_val *tags)
{
	JSValue array = JS_NewArray(ctx);
	size_t i, n;
	yyjson_val *tag;
	bool done = !JS_IsException(array);

	yyjson_arr_foreach(tags, i, n, tag) {
		yyjson_val *value = yyjson_obj_get(tag, "value");
		JSValue one = JS_NewObject(ctx);
		done = done && !JS_IsException(one) && value_define(ctx, one,
		    "name", value_string(ctx,
		    json_text(yyjson_obj_get(tag, "name")))) >= 0;
		if (done && yyjson_is_str(value))
			done = value_define(ctx, one, "value",
			    value_string(ctx, json_text(value))) >= 0;
		done = done && JS_FreezeObject(ctx, one) >= 0;
		if (!done) {
			JS_FreeValue(ctx, one);
			break;
		}
		done = JS_DefinePropertyValueUint32(ctx, array, (uint32_t)i,
		    one, JS_PROP_C_W_E) >= 0;
	}
	if (!done || JS_FreezeObject(ctx, array) < 0) {
		JS_FreeValue(ctx, array);
		return JS_EXCEPTION;
	}
	return array;
}

/* ITEM of items.md as scripts see it, with their names. */
static JSValue
item_of(JSContext *ctx, yyjson_val *v)
{
	static const char *const fields[][2] = { { "id", "id" },
		{ "data", "data" }, { "aliases", "aliases" },
		{ "createdBy", "created_by" }, { "createdAt", "created_at" },
		{ "updatedAt", "updated_at" }, { "rev", "rev" } };
	JSValue item = JS_NewObject(ctx);
	bool done = !JS_IsException(item);

	for (size_t i = 0; done && i < ARRAY_LEN(fields); i++)
		done = value_define(ctx, item, fields[i][0],
		    value_from_json(ctx, yyjson_obj_get(v, fields[i][1]),
		    true)) >= 0;
	done = done && value_define(ctx, item, "tags",
	    tags_of(ctx, yyjson_obj_get(v, "tags"))) >= 0;
	if (!done || JS_FreezeObject(ctx, item) < 0) {
		JS_FreeValue(ctx, item);
		return JS_EXCEPTION;
	}
	return item;
}

enum { ITEM_OPTIONAL = 1, ITEM_RECORD = 2 };

static JSValue
finish_item(struct run *r, struct call *c, yyjson_val *value, struct str body)
{
	yyjson_val *items = yyjson_obj_get(value, "items");
	/* One was asked for, and one is there. */
	yyjson_obj_iter walk = yyjson_obj_iter_with(items);
	yyjson_val *key = yyjson_obj_iter_next(&walk);
	yyjson_val *item = key == NULL ? NULL : yyjson_obj_iter_get_val(key);

	(void)body;
	if (yyjson_is_obj(item))
		return (c->number & ITEM_RECORD) != 0 ? item_of(r->ctx, item) :
		    value_from_json(r->ctx, yyjson_obj_get(item, "data"), true);
	if ((c->number & ITEM_OPTIONAL) != 0)
		return JS_UNDEFINED;
	return fault_throw(r->ctx, ERROR_NOT_FOUND, "not_found",
	    "there is no item '%.200s'", yyjson_get_str(key) != NULL ?
	    yyjson_get_str(key) : "");
}

static JSValue
get_item(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	static const char *const allowed[] = { "id", "optional", "record" };
	FREED(buf_free) struct buf id = BUF_INIT;
	JSValueConst q = argc > 0 ? argv[0] : JS_UNDEFINED;
	int64_t flags = 0;

	(void)this_val;
	if (JS_IsObject(q)) {
		yyjson_doc *doc = read_options(ctx, "getItem", q, allowed,
		    ARRAY_LEN(allowed));
		if (doc == NULL)
			return JS_EXCEPTION;
		yyjson_val *o = yyjson_doc_get_root(doc);
		buf_put_str(&id, text_or(o, "id", STR("")));
		flags = (is_true(o, "optional") ? ITEM_OPTIONAL : 0) |
		    (is_true(o, "record") ? ITEM_RECORD : 0);
		bool named = yyjson_is_str(yyjson_obj_get(o, "id"));
		yyjson_doc_free(doc);
		if (!named)
			return JS_ThrowTypeError(ctx,
			    "getItem: id is no string");
	} else if (!task_take_text(ctx, "getItem", "the id", q, &id)) {
		return JS_EXCEPTION;
	}
	struct buf json = BUF_INIT;
	buf_put_text(&json, "{\"items\":[");
	text_json(&json, buf_str(&id));
	buf_put_text(&json, "],\"metadata\":[]}");
	return begin_call(ctx, "read", &json, finish_item, flags);
}

static JSValue
finish_metadata(struct run *r, struct call *c, yyjson_val *value,
    struct str body)
{
	yyjson_val *row = yyjson_arr_get_first(yyjson_obj_get(value,
	    "metadata"));
	yyjson_val *metadata = yyjson_obj_get(row, "metadata");

	(void)body;
	if (!yyjson_is_obj(metadata) || (c->number == 0 &&
	    yyjson_is_true(yyjson_obj_get(row, "is_stale"))))
		return JS_UNDEFINED;
	return value_from_json(r->ctx, metadata, true);
}

static JSValue
get_metadata(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	static const char *const allowed[] = { "id", "taskName",
		"allowStale" };
	struct run *r = run_of(ctx);
	JSValueConst q = argc > 0 ? argv[0] : JS_UNDEFINED;
	FREED(buf_free) struct buf task = BUF_INIT;
	FREED(buf_free) struct buf id = BUF_INIT;
	bool stale = false;

	(void)this_val;
	if (JS_IsObject(q)) {
		yyjson_doc *doc = read_options(ctx, "getMetadata", q, allowed,
		    ARRAY_LEN(allowed));
		if (doc == NULL)
			return JS_EXCEPTION;
		yyjson_val *o = yyjson_doc_get_root(doc);
		buf_put_str(&id, text_or(o, "id", r->id));
		buf_put_str(&task, text_or(o, "taskName", STR("")));
		stale = is_true(o, "allowStale");
		yyjson_doc_free(doc);
		if (task.n == 0)
			return JS_ThrowTypeError(ctx,
			    "getMetadata: taskName is no string");
	} else {
		if (!task_take_text(ctx, "getMetadata", "the task's name", q,
		    &task))
			return JS_EXCEPTION;
		buf_put_str(&id, r->id);
	}
	struct buf json = BUF_INIT;
	buf_put_text(&json, "{\"items\":[],\"metadata\":[{\"id\":");
	text_json(&json, buf_str(&id));
	buf_put_text(&json, ",\"taskName\":");
	text_json(&json, buf_str(&task));
	buf_put_text(&json, "}]}");
	return begin_call(ctx, "read", &json, finish_metadata, stale);
}

static JSValue
finish_blob(struct run *r, struct call *c, yyjson_val *value, struct str body)
{
	(void)c;
	if (!yyjson_is_obj(value))
		return JS_UNDEFINED;
	return JS_NewUint8ArrayCopy(r->ctx, (const uint8_t *)body.p, body.n);
}

static JSValue
get_blob(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	static const char *const allowed[] = { "id", "name" };
	struct run *r = run_of(ctx);
	JSValueConst q = argc > 0 ? argv[0] : JS_UNDEFINED;
	FREED(buf_free) struct buf name = BUF_INIT;
	FREED(buf_free) struct buf id = BUF_INIT;

	(void)this_val;
	if (JS_IsObject(q)) {
		yyjson_doc *doc = read_options(ctx, "getBlob", q, allowed,
		    ARRAY_LEN(allowed));
		if (doc == NULL)
			return JS_EXCEPTION;
		yyjson_val *o = yyjson_doc_get_root(doc);
		buf_put_str(&id, text_or(o, "id", r->id));
		buf_put_str(&name, text_or(o, "name", STR("")));
		yyjson_doc_free(doc);
		if (name.n == 0)
			return JS_ThrowTypeError(ctx,
			    "getBlob: name is no string");
	} else {
		if (!task_take_text(ctx, "getBlob", "the name", q, &name))
			return JS_EXCEPTION;
		buf_put_str(&id, r->id);
	}
	struct buf json = BUF_INIT;
	buf_put_text(&json, "{\"id\":");
	text_json(&json, buf_str(&id));
	buf_put_text(&json, ",\"name\":");
	text_json(&json, buf_str(&name));
	buf_put_char(&json, '}');
	return begin_call(ctx, "blob", &json, finish_blob, 0);
}

/* ---- Waiting ------------------------------------------------------------ */

static JSValue
finish_nothing(struct run *r, struct call *c, yyjson_val *v, struct str body)
{
	(void)r, (void)c, (void)v, (void)body;
	return JS_UNDEFINED;
}

static JSValue
sleep_ms(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	double ms = 0;

	(void)this_val;
	if (argc < 1 || !JS_IsNumber(argv[0]) ||
	    JS_ToFloat64(ctx, &ms, argv[0]) != 0 || !(ms >= 0 && ms < 1e12))
		return JS_ThrowTypeError(ctx,
		    "sleep: the time is no number of milliseconds");
	struct buf json = BUF_INIT;
	buf_printf(&json, "{\"ms\":%lld}", (long long)ms);
	return begin_call(ctx, "sleep", &json, finish_nothing, 0);
}

static JSValue
wait_until(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct wall at = { 0 };
	double s = 0;

	(void)this_val;
	if (argc > 0 && JS_IsNumber(argv[0])) {
		if (JS_ToFloat64(ctx, &s, argv[0]) != 0)
			return JS_EXCEPTION;
		if (!(s >= 0 && s < 1e11))
			return JS_ThrowTypeError(ctx,
			    "waitUntil: that is no time");
	} else {
		if (!task_take_text(ctx, "waitUntil", "the time",
		    argc > 0 ? argv[0] : JS_UNDEFINED, &text))
			return JS_EXCEPTION;
		if (!wall_from_iso(buf_str(&text), &at))
			return JS_ThrowTypeError(ctx,
			    "waitUntil: that is no time of RFC 3339");
		s = (double)at.us / US_PER_S;
	}
	struct buf json = BUF_INIT;
	buf_printf(&json, "{\"until_ms\":%lld}", (long long)(s * 1000));
	return begin_call(ctx, "sleep", &json, finish_nothing, 0);
}

/* ---- The rest ----------------------------------------------------------- */

static JSValue
log_line(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	FREED(buf_free) struct buf category = BUF_INIT;
	struct run *r = run_of(ctx);
	size_t n = 0;

	(void)this_val;
	if (argc < 2)
		return JS_ThrowTypeError(ctx,
		    "log: a category and a message are wanted");
	if (r->log_lines >= r->limits.log_lines_max) {
		r->log_dropped++;
		return JS_UNDEFINED;
	}
	if (!task_take_text(ctx, "log", "the category", argv[0], &category))
		return JS_EXCEPTION;
	const char *text = JS_ToCStringLen(ctx, &n, argv[1]);
	if (text == NULL)
		return JS_EXCEPTION;
	run_log(r, buf_str(&category), (struct str){ text, n });
	JS_FreeCString(ctx, text);
	return JS_UNDEFINED;
}

static JSValue
allow_failure(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	(void)this_val;
	run_of(ctx)->allow_failure = argc < 1 || JS_IsUndefined(argv[0]) ||
	    (JS_IsBool(argv[0]) && JS_VALUE_GET_BOOL(argv[0]));
	return JS_UNDEFINED;
}

/* 26 characters: 48 bits of the run's time, 80 of its chance. */
static JSValue
random_id(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	struct run *r = run_of(ctx);
	FREED(buf_free) struct buf id = BUF_INIT;
	uint64_t time = (uint64_t)r->now_ms & ((UINT64_C(1) << 48) - 1);
	uint64_t high = time << 16 | (run_random(r) >> 48), low = run_random(r);

	(void)this_val;
	if (argc > 0 && !JS_IsUndefined(argv[0]) &&
	    !task_take_text(ctx, "randomId", "the prefix", argv[0], &id))
		return JS_EXCEPTION;
	/* 128 bits as 26 digits of 5, the first of 3. */
	for (int i = 25; i >= 0; i--) {
		int shift = i * 5;
		uint64_t bits = shift >= 64 ? high >> (shift - 64) :
		    shift > 59 ? low >> shift | high << (64 - shift) :
		    low >> shift;
		buf_put_char(&id, digits[bits & 31]);
	}
	return value_string(ctx, buf_str(&id));
}

/* The placeholder that the daemon fills in as a request leaves. */
static JSValue
secret_named(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	struct run *r = run_of(ctx);
	FREED(buf_free) struct buf name = BUF_INIT;

	(void)this_val;
	if (!task_take_text(ctx, "secret", "the name",
	    argc > 0 ? argv[0] : JS_UNDEFINED, &name))
		return JS_EXCEPTION;
	yyjson_val *secrets = yyjson_obj_get(
	    yyjson_doc_get_root(r->doc), "secrets");
	struct str text = json_text(yyjson_obj_getn(secrets, name.p, name.n));
	if (text.p == NULL)
		return fault_throw(ctx, ERROR_PERMANENT, "secret",
		    "there is no secret '%.100s'", buf_text(&name));
	return value_string(ctx, text);
}

/* Those that connectors have, too. */
static const JSCFunctionListEntry shared_functions[] = {
	JS_CFUNC_DEF("sleep", 1, sleep_ms),
	JS_CFUNC_DEF("waitUntil", 1, wait_until),
	JS_CFUNC_DEF("log", 2, log_line),
};
static const JSCFunctionListEntry functions[] = {
	JS_CFUNC_DEF("getItem", 1, get_item),
	JS_CFUNC_DEF("getMetadata", 1, get_metadata),
	JS_CFUNC_DEF("getBlob", 1, get_blob),
	JS_CFUNC_DEF("allowFailure", 1, allow_failure),
	JS_CFUNC_DEF("randomId", 1, random_id),
	JS_CFUNC_DEF("secret", 1, secret_named),
};

/* fetch() and session(), which the prelude makes of these functions. */
static bool
install_fetch(struct run *r, JSValueConst context, JSValueConst sessions)
{
	JSContext *ctx = r->ctx;
	static const char *const names[] = { "fetch", "session" };
	JSValue arguments[] = {
		JS_NewCFunction(ctx, fetch_session_call, "call", 2),
		JS_NewCFunction(ctx, fetch_call, "fetch", 2),
		JS_GetPropertyStr(ctx, context, "secret"),
		JS_DupValue(ctx, sessions),
	};
	JSValue make = JS_GetPropertyStr(ctx, r->prelude, "makeSessions");
	JSValue made = JS_Call(ctx, make, JS_UNDEFINED, 4,
	    (JSValueConst *)arguments);
	bool done = !JS_IsException(made);

	for (size_t i = 0; done && i < ARRAY_LEN(names); i++)
		done = value_define(ctx, context, names[i],
		    JS_GetPropertyStr(ctx, made, names[i])) >= 0;
	JS_FreeValue(ctx, made);
	JS_FreeValue(ctx, make);
	for (size_t i = 0; i < ARRAY_LEN(arguments); i++)
		JS_FreeValue(ctx, arguments[i]);
	return done;
}

bool
task_install_shared(struct run *r, JSValueConst context,
    JSValueConst sessions)
{
	return JS_SetPropertyFunctionList(r->ctx, context, shared_functions,
	    ARRAY_LEN(shared_functions)) >= 0 &&
	    install_fetch(r, context, sessions);
}

JSValue
task_context(struct run *r, JSValueConst sessions)
{
	JSContext *ctx = r->ctx;
	JSValue c = JS_NewObject(ctx);
	JSValue item = item_of(ctx, yyjson_obj_get(r->input, "item"));

	if (JS_IsException(c) || JS_IsException(item)) {
		JS_FreeValue(ctx, c);
		JS_FreeValue(ctx, item);
		return JS_EXCEPTION;
	}
	bool done = JS_SetPropertyFunctionList(ctx, c, functions,
	    ARRAY_LEN(functions)) >= 0 &&
	    task_install_shared(r, c, sessions) && mutation_install(r, c) &&
	    value_define(ctx, c, "data", JS_GetPropertyStr(ctx, item, "data"))
	    >= 0 && value_define(ctx, c, "id", value_string(ctx, r->id)) >= 0 &&
	    value_define(ctx, c, "item", item) >= 0 &&
	    value_define(ctx, c, "task", value_string(ctx, r->task)) >= 0 &&
	    value_define(ctx, c, "attempt", JS_NewInt64(ctx,
	    yyjson_get_sint(yyjson_obj_get(r->input, "attempt")))) >= 0 &&
	    JS_FreezeObject(ctx, c) >= 0;
	if (!done) {
		JS_FreeValue(ctx, c);
		return JS_EXCEPTION;
	}
	return c;
}

#include "script/fetch.h"

#include "base/json.h"
#include "base/text.h"
#include "script/own.h"
#include "script/value.h"
#include "script/web/script_web.h"

/* ---- Responses ---------------------------------------------------------- */

struct response {
	size_t n;
	yyjson_doc *head;
	uint8_t bytes[];
};

/* One for the process: every runtime knows the class by it. */
static JSClassID response_class;

static void
free_response(JSRuntime *rt, JSValueConst v)
{
	struct response *p = JS_GetOpaque(v, response_class);

	if (p == NULL)
		return;
	yyjson_doc_free(p->head);
	js_free_rt(rt, p);
}

static struct response *
response_of(JSContext *ctx, JSValueConst v)
{
	return JS_GetOpaque2(ctx, v, response_class);
}

/* The first field of that name; absent: empty. */
static struct str
first_field(const struct response *p, struct str name)
{
	yyjson_val *pair;
	size_t i, n;

	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(p->head),
	    "headers"), i, n, pair)
		if (str_eq_nocase(json_text(yyjson_arr_get(pair, 0)), name))
			return json_text(yyjson_arr_get(pair, 1));
	return STR("");
}

static struct str
body_of(const struct response *p)
{
	return (struct str){ (const char *)p->bytes, p->n };
}

static struct str
skip_mark(struct str s)
{
	return str_starts(s, STR("\xef\xbb\xbf")) ? str_from(s, 3) : s;
}

static JSValue
response_text(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	struct response *p = response_of(ctx, this_val);

	(void)argc, (void)argv;
	if (p == NULL)
		return JS_EXCEPTION;
	return script_text_decode(ctx, body_of(p),
	    first_field(p, STR("content-type")));
}

/* html() and xml(). */
static JSValue
response_document(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv, int is_xml)
{
	struct response *p = response_of(ctx, this_val);

	(void)argc, (void)argv;
	if (p == NULL)
		return JS_EXCEPTION;
	return script_document_new(ctx, body_of(p),
	    first_field(p, STR("content-type")),
	    json_text(yyjson_obj_get(yyjson_doc_get_root(p->head), "url")),
	    is_xml != 0);
}

static JSValue
response_json(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	struct response *p = response_of(ctx, this_val);
	yyjson_read_err error;

	(void)argc, (void)argv;
	if (p == NULL)
		return JS_EXCEPTION;
	struct str s = skip_mark(body_of(p));
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)s.p, s.n, 0, NULL,
	    &error);
	if (doc == NULL)
		return JS_ThrowSyntaxError(ctx, "the response is no JSON: %s "
		    "at byte %zu", error.msg, error.pos);
	JSValue v = value_from_foreign(ctx, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	return v;
}

static JSValue
response_bytes(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	struct response *p = response_of(ctx, this_val);

	(void)argc, (void)argv;
	if (p == NULL)
		return JS_EXCEPTION;
	return JS_NewUint8ArrayCopy(ctx, p->bytes, p->n);
}

/* The values of a field, [["name","value"],...] in the head. */
static JSValue
response_field(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv, int all, JSValueConst *data)
{
	struct response *p = response_of(ctx, data[0]);
	yyjson_val *pair;
	size_t i, n;
	uint32_t found = 0;

	(void)this_val;
	const char *name = argc > 0 ? JS_ToCString(ctx, argv[0]) : NULL;
	JSValue list = name == NULL ? JS_EXCEPTION : JS_NewArray(ctx);
	if (p == NULL || JS_IsException(list)) {
		JS_FreeCString(ctx, name);
		return argc > 0 ? JS_EXCEPTION : JS_ThrowTypeError(ctx,
		    "the name of a field is wanted");
	}
	JSValue joined = JS_NULL;
	struct buf text = BUF_INIT;
	yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(p->head),
	    "headers"), i, n, pair) {
		struct str value = json_text(yyjson_arr_get(pair, 1));
		if (!str_eq_nocase(json_text(yyjson_arr_get(pair, 0)),
		    str_of(name)))
			continue;
		if (found > 0)
			buf_put_text(&text, ", ");
		buf_put_str(&text, value);
		if (JS_DefinePropertyValueUint32(ctx, list, found++,
		    value_string(ctx, value), JS_PROP_C_W_E) < 0)
			break;
	}
	JS_FreeCString(ctx, name);
	if (all == 0 && found > 0)
		joined = value_string(ctx, buf_str(&text));
	buf_free(&text);
	if (all != 0)
		return list;
	JS_FreeValue(ctx, list);
	return joined;
}

/* lines() and events(): the prelude's generators, over the text. */
static JSValue
response_walk(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv, int events)
{
	JSValue text = response_text(ctx, this_val, argc, argv);

	if (JS_IsException(text))
		return text;
	JSValue walk = JS_GetPropertyStr(ctx, run_of(ctx)->prelude,
	    events != 0 ? "events" : "lines");
	JSValue made = JS_Call(ctx, walk, JS_UNDEFINED, 1,
	    (JSValueConst *)&text);
	JS_FreeValue(ctx, walk);
	JS_FreeValue(ctx, text);
	return made;
}

static const JSCFunctionListEntry response_functions[] = {
	JS_CFUNC_DEF("text", 0, response_text),
	JS_CFUNC_DEF("json", 0, response_json),
	JS_CFUNC_DEF("bytes", 0, response_bytes),
	JS_CFUNC_MAGIC_DEF("html", 0, response_document, 0),
	JS_CFUNC_MAGIC_DEF("xml", 0, response_document, 1),
	JS_CFUNC_MAGIC_DEF("lines", 0, response_walk, 0),
	JS_CFUNC_MAGIC_DEF("events", 0, response_walk, 1),
};

bool
fetch_open(JSContext *ctx)
{
	static const JSClassDef class = { .class_name = "Response",
		.finalizer = free_response };
	JSRuntime *rt = JS_GetRuntime(ctx);

	(void)JS_NewClassID(rt, &response_class);
	if (JS_NewClass(rt, response_class, &class) < 0)
		return false;
	JSValue proto = JS_NewObject(ctx);
	if (JS_IsException(proto))
		return false;
	if (JS_SetPropertyFunctionList(ctx, proto, response_functions,
	    ARRAY_LEN(response_functions)) < 0) {
		JS_FreeValue(ctx, proto);
		return false;
	}
	JS_SetClassProto(ctx, response_class, proto);
	return true;
}

bool
fetch_bytes_of(JSContext *ctx, JSValueConst v, struct str *out)
{
	struct response *p = JS_GetOpaque(v, response_class);
	size_t n = 0;
	uint8_t *bytes = NULL;

	if (p != NULL) {
		*out = (struct str){ (const char *)p->bytes, p->n };
		return true;
	}
	if (JS_IsArrayBuffer(v))
		bytes = JS_GetArrayBuffer(ctx, &n, v);
	else if (JS_GetTypedArrayType(v) == JS_TYPED_ARRAY_UINT8)
		bytes = JS_GetUint8Array(ctx, &n, v);
	else
		return false;
	if (bytes == NULL && n > 0)
		JS_FreeValue(ctx, JS_GetException(ctx));
	*out = (struct str){ bytes == NULL ? "" : (const char *)bytes,
		bytes == NULL ? 0 : n };
	return true;
}

static JSValue
make_headers(JSContext *ctx, JSValueConst response)
{
	JSValue headers = JS_NewObject(ctx);
	static const char *const names[] = { "get", "getAll" };

	for (int i = 0; i < 2 && !JS_IsException(headers); i++) {
		if (value_define(ctx, headers, names[i], JS_NewCFunctionData(
		    ctx, response_field, 1, i, 1, &response)) < 0) {
			JS_FreeValue(ctx, headers);
			return JS_EXCEPTION;
		}
	}
	return headers;
}

/* Its properties, from the head of the answer. */
static bool
fill_response(JSContext *ctx, JSValueConst response, yyjson_val *head)
{
	static const char *const names[] = { "url", "redirected",
		"fromArchive", "capture", "status" };
	int64_t status = yyjson_get_sint(yyjson_obj_get(head, "status"));
	bool done = value_define(ctx, response, "ok",
	    JS_NewBool(ctx, status >= 200 && status < 300)) >= 0;

	for (size_t i = 0; done && i < ARRAY_LEN(names); i++)
		done = value_define(ctx, response, names[i], value_from_json(
		    ctx, yyjson_obj_get(head, names[i]), true)) >= 0;
	return done && value_define(ctx, response, "headers",
	    make_headers(ctx, response)) >= 0;
}

JSValue
fetch_response(struct run *r, yyjson_val *value, struct str body)
{
	JSContext *ctx = r->ctx;
	JSValue response = JS_NewObjectClass(ctx, response_class);
	size_t n = 0;

	if (JS_IsException(response))
		return response;
	struct response *p = js_malloc(ctx, sizeof(*p) + body.n);
	if (p == NULL) {
		JS_FreeValue(ctx, response);
		return JS_EXCEPTION;
	}
	/* The head outlives the message that it came in. */
	char *text = yyjson_val_write(value, 0, &n);
	p->head = text == NULL ? NULL : yyjson_read(text, n, 0);
	free(text);
	p->n = body.n;
	if (body.n > 0)
		memcpy(p->bytes, body.p, body.n);
	JS_SetOpaque(response, p);
	if (!fill_response(ctx, response, value)) {
		JS_FreeValue(ctx, response);
		return JS_EXCEPTION;
	}
	return response;
}

static JSValue
finish_fetch(struct run *r, struct call *c, yyjson_val *value,
    struct str body)
{
	(void)c;
	return fetch_response(r, value, body);
}

/* ---- Requests ----------------------------------------------------------- */

struct request {
	struct buf json;             /* {"url":...,... without its end */
	struct buf body;
	bool has_body;
};

static bool
set_body(JSContext *ctx, struct request *q, struct str bytes, const char *type)
{
	if (q->has_body) {
		JS_ThrowTypeError(ctx, "fetch: one of body, json and form is "
		    "wanted");
		return false;
	}
	if (bytes.n > SCRIPT_REQUEST_BYTES_MAX) {
		JS_ThrowTypeError(ctx, "fetch: the body is longer than %zu "
		    "bytes", SCRIPT_REQUEST_BYTES_MAX);
		return false;
	}
	q->has_body = true;
	buf_put_str(&q->body, bytes);
	if (type != NULL)
		buf_printf(&q->json, ",\"contentType\":\"%s\"", type);
	return true;
}

static bool
take_body(JSContext *ctx, struct request *q, JSValueConst v)
{
	struct str bytes;
	size_t n = 0;

	if (fetch_bytes_of(ctx, v, &bytes))
		return set_body(ctx, q, bytes, NULL);
	if (!JS_IsString(v)) {
		JS_ThrowTypeError(ctx, "fetch: body is neither a string nor a "
		    "Uint8Array");
		return false;
	}
	const char *text = JS_ToCStringLen(ctx, &n, v);
	if (text == NULL)
		return false;
	bool done = set_body(ctx, q, (struct str){ text, n },
	    "text/plain;charset=UTF-8");
	JS_FreeCString(ctx, text);
	return done;
}

static bool
write_json(JSContext *ctx, const char *option, JSValueConst v, struct buf *out)
{
	struct value_writer w = { .ctx = ctx, .out = out,
		.bytes_max = SCRIPT_REQUEST_BYTES_MAX };

	if (value_write(&w, v))
		return true;
	if (w.reason[0] != '\0')
		JS_ThrowTypeError(ctx, "fetch: %s: %s", option, w.reason);
	return false;
}

static bool
take_json(JSContext *ctx, struct request *q, JSValueConst v)
{
	FREED(buf_free) struct buf text = BUF_INIT;

	return write_json(ctx, "json", v, &text) &&
	    set_body(ctx, q, buf_str(&text), "application/json");
}

/* application/x-www-form-urlencoded, of the URL Standard section 5.2. */
static void
put_form_text(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (ascii_is_alpha((char)c) || ascii_is_digit((char)c) ||
		    str_has_char(STR("*-._"), c))
			buf_put_char(out, (char)c);
		else if (c == ' ')
			buf_put_char(out, '+');
		else
			buf_printf(out, "%%%02X", c);
	}
}

static bool
take_form(JSContext *ctx, struct request *q, JSValueConst v)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	FREED(buf_free) struct buf form = BUF_INIT;
	size_t i, n;
	yyjson_val *key, *value;

	if (!write_json(ctx, "form", v, &text))
		return false;
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	bool good = yyjson_is_obj(yyjson_doc_get_root(doc));
	yyjson_obj_foreach(yyjson_doc_get_root(doc), i, n, key, value) {
		good = good && yyjson_is_str(value);
		if (i > 0)
			buf_put_char(&form, '&');
		put_form_text(&form, json_text(key));
		buf_put_char(&form, '=');
		put_form_text(&form, json_text(value));
	}
	yyjson_doc_free(doc);
	if (!good) {
		JS_ThrowTypeError(ctx, "fetch: form is no object of strings");
		return false;
	}
	return set_body(ctx, q, buf_str(&form),
	    "application/x-www-form-urlencoded");
}

/* The daemon judges these; here they need only be JSON. */
static bool
take_plain(JSContext *ctx, struct request *q, const char *name,
    JSValueConst v)
{
	buf_printf(&q->json, ",\"%s\":", name);
	return write_json(ctx, name, v, &q->json);
}

static bool
take_option(JSContext *ctx, struct request *q, const char *name,
    JSValueConst v)
{
	static const char *const plain[] = { "method", "headers", "auth",
		"timeout", "redirect", "maxAge", "accept", "stream",
		"session" };

	if (strcmp(name, "body") == 0)
		return take_body(ctx, q, v);
	if (strcmp(name, "json") == 0)
		return take_json(ctx, q, v);
	if (strcmp(name, "form") == 0)
		return take_form(ctx, q, v);
	size_t row = STR_ROW(str_of(name), plain);
	if (row < ARRAY_LEN(plain))
		return take_plain(ctx, q, plain[row], v);
	JS_ThrowTypeError(ctx, "fetch: unknown option '%s'", name);
	return false;
}

static bool
take_options(JSContext *ctx, struct request *q, JSValueConst v)
{
	JSPropertyEnum *keys = NULL;
	uint32_t n = 0;
	bool done = true;

	if (!JS_IsObject(v)) {
		JS_ThrowTypeError(ctx, "fetch: the options are no object");
		return false;
	}
	if (JS_GetOwnPropertyNames(ctx, &keys, &n, v,
	    JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY) < 0)
		return false;
	for (uint32_t i = 0; done && i < n; i++) {
		JSValue option = JS_GetProperty(ctx, v, keys[i].atom);
		const char *name = JS_AtomToCString(ctx, keys[i].atom);
		done = name != NULL && !JS_IsException(option);
		if (done && !JS_IsUndefined(option))
			done = take_option(ctx, q, name, option);
		JS_FreeCString(ctx, name);
		JS_FreeValue(ctx, option);
	}
	JS_FreePropertyEnum(ctx, keys, n);
	return done;
}

static JSValue
send_request(JSContext *ctx, struct request *q)
{
	struct run *r = run_of(ctx);

	if (++r->fetches_made > r->limits.fetches_max) {
		run_breach(r, "limit_fetch", "more than %lld fetches",
		    (long long)r->limits.fetches_max);
		return run_throw_breach(r);
	}
	buf_printf(&q->json, ",\"hasBody\":%s}", q->has_body ? "true" :
	    "false");
	struct call *c = call_new(r, "fetch", &q->json, buf_str(&q->body));
	if (c == NULL)
		return run_throw_breach(r);
	c->finish = finish_fetch;
	return call_promise(r, c);
}

JSValue
fetch_call(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	struct request q = { .has_body = false };
	size_t n = 0;

	(void)this_val;
	/* An URL object becomes its text. */
	const char *url = argc > 0 ? JS_ToCStringLen(ctx, &n, argv[0]) : NULL;
	if (url == NULL)
		return argc > 0 ? JS_EXCEPTION :
		    JS_ThrowTypeError(ctx, "fetch: a URL is wanted");
	buf_put_text(&q.json, "{\"url\":");
	text_json(&q.json, (struct str){ url, n });
	JS_FreeCString(ctx, url);
	bool done = true;
	if (argc > 1 && !JS_IsUndefined(argv[1]))
		done = take_options(ctx, &q, argv[1]);
	JSValue v = done ? send_request(ctx, &q) : JS_EXCEPTION;
	buf_free(&q.json);
	buf_free(&q.body);
	return v;
}

/* ---- Sessions ----------------------------------------------------------- */

/*
 * call(kind, args) of the prelude, which alone has it: a host call about a
 * session, whose promise gives the answer's value.
 */
JSValue
fetch_session_call(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	struct run *r = run_of(ctx);
	struct buf json = BUF_INIT;
	char kind[32] = "";

	(void)this_val;
	CHECK(argc == 2);
	const char *text = JS_ToCString(ctx, argv[0]);
	if (text == NULL)
		return JS_EXCEPTION;
	snprintf(kind, sizeof(kind), "%s", text);
	JS_FreeCString(ctx, text);
	if (!write_json(ctx, kind, argv[1], &json)) {
		buf_free(&json);
		return JS_EXCEPTION;
	}
	struct call *c = call_new(r, kind, &json, STR_NONE);
	if (c == NULL)
		return run_throw_breach(r);
	/* Nobody waits for the end of an invalidation. */
	if (strcmp(kind, "session_invalidate") == 0) {
		call_send(r, c);
		return JS_UNDEFINED;
	}
	return call_promise(r, c);
}

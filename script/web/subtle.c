/*
 * crypto.subtle.digest() and hmac(), by OpenSSL.
 */
#include "script/web/bind.h"
#include "script/web/script_web.h"
#include "script/web/sums.h"

/* A name, or an object that has one. */
static const struct sums *
take_algorithm(JSContext *ctx, JSValueConst v)
{
	JSValue name = JS_IsObject(v) ? JS_GetPropertyStr(ctx, v, "name") :
	    JS_DupValue(ctx, v);
	struct str s = JS_IsException(name) ? STR_NONE : bind_text(ctx, name);
	const struct sums *sums = s.p == NULL ? NULL : sums_by_name(s);

	if (sums == NULL && s.p != NULL)
		(void)JS_ThrowDOMException(ctx, "NotSupportedError",
		    "no such algorithm: %.*s", (int)MIN(s.n, 60u), s.p);
	bind_text_free(ctx, s);
	JS_FreeValue(ctx, name);
	return sums;
}

static JSValue
digest_now(JSContext *ctx, JSValueConst *argv)
{
	unsigned char sum[SUMS_BYTES_MAX];
	struct str s;
	const struct sums *sums = take_algorithm(ctx, argv[0]);

	if (sums == NULL || !bind_bytes(ctx, argv[1], &s))
		return JS_EXCEPTION;
	return JS_NewArrayBufferCopy(ctx, sum, sums_digest(sums, s, sum));
}

static JSValue
digest(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	JSValue v = digest_now(ctx, argv), promise;
	bool failed = JS_IsException(v);

	(void)this, (void)argc;
	if (failed)
		v = JS_GetException(ctx);
	if (failed && JS_IsUncatchableError(v))
		return JS_Throw(ctx, v);
	promise = JS_NewSettledPromise(ctx, failed, v);
	JS_FreeValue(ctx, v);
	return promise;
}

/* A string's UTF-8, or bytes. */
static bool
take_bytes(JSContext *ctx, JSValueConst v, struct out *o)
{
	struct str s;

	if (JS_IsString(v)) {
		s = bind_usv(ctx, v);
		if (s.p == NULL)
			return false;
		out_str(o, s);
		bind_text_free(ctx, s);
	} else {
		if (!bind_bytes(ctx, v, &s))
			return false;
		out_str(o, s);
	}
	if (o->full)
		(void)JS_ThrowOutOfMemory(ctx);
	return !o->full;
}

static JSValue
hmac(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct out key = OUT_OF(JS_GetRuntime(ctx)), data = key;
	unsigned char sum[SUMS_BYTES_MAX];
	const struct sums *sums = take_algorithm(ctx, argv[0]);
	JSValue v = JS_EXCEPTION;

	(void)this, (void)argc;
	if (sums != NULL && take_bytes(ctx, argv[1], &key) &&
	    take_bytes(ctx, argv[2], &data))
		v = JS_NewUint8ArrayCopy(ctx, sum, sums_hmac(sums,
		    out_text(&key), out_text(&data), sum));
	sums_wipe(key.p, key.n);
	out_free(&key);
	out_free(&data);
	return v;
}

void
script_web_prepare(void)
{
	sums_prepare();
}

bool
subtle_open(JSContext *ctx)
{
	static const JSCFunctionListEntry subtle[] = {
		JS_CFUNC_DEF("digest", 2, digest),
	};
	static const JSCFunctionListEntry crypto[] = {
		JS_OBJECT_DEF("subtle", subtle, ARRAY_LEN(subtle),
		    JS_PROP_CONFIGURABLE),
	};
	static const JSCFunctionListEntry globals[] = {
		JS_OBJECT_DEF("crypto", crypto, ARRAY_LEN(crypto),
		    JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE),
		JS_CFUNC_DEF("hmac", 3, hmac),
	};
	JSValue global = JS_GetGlobalObject(ctx);
	bool ok = JS_SetPropertyFunctionList(ctx, global, globals,
	    ARRAY_LEN(globals)) >= 0;

	script_web_prepare();
	JS_FreeValue(ctx, global);
	return ok;
}

/*
 * TextEncoder and TextDecoder.  https://encoding.spec.whatwg.org/ section 7
 *
 * lexbor decodes the legacy encodings; UTF-8 is repaired by utf8.c, Shift_JIS
 * decoded by the crawls' parser, since lexbor's decoder loses half of it.
 */
#include <lexbor/encoding/encoding.h>

#include "base/text.h"
#include "engine/parser/charset.h"
#include "script/web/utf8.h"
#include "script/web/bind.h"

#define POINTS 1024u
/* lexbor writes this for what is malformed; out_point() makes U+FFFD of it. */
#define MALFORMED 0x110000u
#define HELD_MAX 4u

struct decoder {
	const lxb_encoding_data_t *encoding;
	bool fatal, ignore_bom;
	bool begun;                  /* something was put out */
	bool flowing;                /* the last call was one of a stream */
	lxb_encoding_decode_t ctx;
	char held[HELD_MAX];         /* of a sequence that is not complete */
	size_t held_n;
};

static const lxb_codepoint_t malformed = MALFORMED;

static void
on_decoder_end(JSRuntime *rt, JSValueConst v)
{
	js_free_rt(rt, bind_finalized(rt, v, BIND_CLASS_DECODER));
}

/* ---- Decoding --------------------------------------------------------- */

static size_t
put_points(struct out *o, const lxb_codepoint_t *p, size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		bad += p[i] > 0x10ffff;
		out_point(o, p[i]);
	}
	return bad;
}

/*
 * In steps so small that lexbor never fills its buffer: it loses bytes when it
 * does.
 */
static size_t
decode_legacy(struct decoder *d, struct str s, bool last, struct out *o)
{
	lxb_codepoint_t points[POINTS];
	size_t bad = 0;

	lxb_encoding_decode_buf_set(&d->ctx, points, POINTS);
	while (s.n > 0 && !o->full) {
		const lxb_char_t *at = (const lxb_char_t *)s.p;
		const lxb_char_t *end = at + MIN(s.n, POINTS / 2);
		lxb_status_t status = d->encoding->decode(&d->ctx, &at, end);
		size_t n = (size_t)(at - (const lxb_char_t *)s.p);
		bad += put_points(o, points,
		    lxb_encoding_decode_buf_used(&d->ctx));
		lxb_encoding_decode_buf_used_set(&d->ctx, 0);
		s = str_from(s, n);
		if (n == 0 && status != LXB_STATUS_SMALL_BUFFER)
			break;
	}
	if (last) {
		(void)lxb_encoding_decode_finish(&d->ctx);
		bad += put_points(o, points,
		    lxb_encoding_decode_buf_used(&d->ctx));
		lxb_encoding_decode_buf_used_set(&d->ctx, 0);
	}
	return bad;
}

/* The bytes of a lead without its trail at the end of a Shift_JIS text. */
static size_t
sjis_cut_length(struct str s)
{
	size_t i = 0;

	while (i < s.n) {
		unsigned char b = (unsigned char)s.p[i];
		bool lead = (b >= 0x81 && b <= 0x9f) ||
		    (b >= 0xe0 && b <= 0xfc);
		i += lead ? 2 : 1;
	}
	return i > s.n;
}

static size_t
decode_sjis(struct str s, struct out *o)
{
	struct arena a = ARENA_INIT;
	struct str text = charset_to_utf8("Shift_JIS", s, &a), mark =
	    STR("\xef\xbf\xbd");
	size_t bad = str_find(text, mark) < text.n;

	out_str(o, text);
	arena_free(&a);
	return bad;
}

/* Encodings whose incomplete sequences we hold back ourselves. */
static size_t
decode_held(struct decoder *d, struct str s, bool last, struct out *o)
{
	bool utf8 = d->encoding->encoding == LXB_ENCODING_UTF_8;
	struct out joined = OUT_OF(o->rt);
	size_t cut, bad = 0;

	if (d->held_n > 0) {
		out_put(&joined, d->held, d->held_n);
		out_str(&joined, s);
		s = out_text(&joined);
	}
	cut = last ? 0 : utf8 ? utf8_cut_length(s) : sjis_cut_length(s);
	d->held_n = cut;
	memcpy(d->held, s.p + s.n - cut, cut);
	s.n -= cut;
	bad = utf8 ? utf8_repair(s, o) : decode_sjis(s, o);
	o->full = o->full || joined.full;
	out_free(&joined);
	return bad;
}

static bool
is_held(const struct decoder *d)
{
	return d->encoding->encoding == LXB_ENCODING_UTF_8 ||
	    d->encoding->encoding == LXB_ENCODING_SHIFT_JIS;
}

static bool
has_mark(const struct decoder *d)
{
	return d->encoding->encoding == LXB_ENCODING_UTF_8 ||
	    d->encoding->encoding == LXB_ENCODING_UTF_16LE ||
	    d->encoding->encoding == LXB_ENCODING_UTF_16BE;
}

static void
begin(struct decoder *d)
{
	lxb_codepoint_t points[1];

	/* A replacement is taken only where there is a buffer for it. */
	CHECK(lxb_encoding_decode_init(&d->ctx, d->encoding, points, 1) ==
	    LXB_STATUS_OK && lxb_encoding_decode_replace_set(&d->ctx,
	    &malformed, 1) == LXB_STATUS_OK);
	d->held_n = 0;
	d->begun = false;
}

static JSValue
finish_text(JSContext *ctx, struct decoder *d, struct out *o)
{
	struct str s = out_text(o);

	if (!d->begun && has_mark(d) && !d->ignore_bom &&
	    str_starts(s, STR("\xef\xbb\xbf")))
		s = str_from(s, 3);
	d->begun = d->begun || o->n > 0;
	JSValue v = o->full ? JS_ThrowOutOfMemory(ctx) : bind_string(ctx, s);
	out_free(o);
	return v;
}

static bool
take_stream(JSContext *ctx, JSValueConst options, bool *stream)
{
	JSValue v = JS_IsObject(options) ?
	    JS_GetPropertyStr(ctx, options, "stream") : JS_UNDEFINED;
	int yes = JS_ToBool(ctx, v);

	JS_FreeValue(ctx, v);
	*stream = yes > 0;
	return yes >= 0;
}

static JSValue
decode(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct decoder *d = bind_opaque(ctx, this, BIND_CLASS_DECODER);
	struct out o = OUT_OF(JS_GetRuntime(ctx));
	struct str s = STR("");
	bool stream = false;

	if (d == NULL || (argc > 1 && !take_stream(ctx, argv[1], &stream)) ||
	    (argc > 0 && !JS_IsUndefined(argv[0]) &&
	    !bind_bytes(ctx, argv[0], &s)))
		return JS_EXCEPTION;
	if (!d->flowing)
		begin(d);
	d->flowing = stream;
	/* Shift_JIS takes memory from the system: would the heap have it? */
	void *room = js_malloc(ctx, s.n * 3 + 1);
	if (room == NULL)
		return JS_EXCEPTION;
	js_free(ctx, room);
	size_t bad = is_held(d) ? decode_held(d, s, !stream, &o) :
	    decode_legacy(d, s, !stream, &o);
	if (bad > 0 && d->fatal) {
		d->flowing = false;
		out_free(&o);
		return JS_ThrowTypeError(ctx, "malformed %s",
		    (const char *)d->encoding->name);
	}
	return finish_text(ctx, d, &o);
}

static bool
take_flag(JSContext *ctx, JSValueConst options, const char *name, bool *out)
{
	JSValue v = JS_GetPropertyStr(ctx, options, name);
	int yes = JS_ToBool(ctx, v);

	JS_FreeValue(ctx, v);
	*out = yes > 0;
	return yes >= 0;
}

static const lxb_encoding_data_t *
encoding_of(JSContext *ctx, JSValueConst label)
{
	const lxb_encoding_data_t *e;
	struct str s = STR("utf-8");

	if (!JS_IsUndefined(label) && (s = bind_text(ctx, label)).p == NULL)
		return NULL;
	struct str name = str_trim(s);
	e = lxb_encoding_data_by_name((const lxb_char_t *)name.p, name.n);
	if (e == NULL || e->encoding == LXB_ENCODING_REPLACEMENT) {
		(void)JS_ThrowRangeError(ctx, "no encoding is called so: %.*s",
		    (int)MIN(name.n, 60u), name.p);
		e = NULL;
	}
	if (!JS_IsUndefined(label))
		bind_text_free(ctx, s);
	return e;
}

static JSValue
construct_decoder(JSContext *ctx, JSValueConst target, int argc,
    JSValueConst *argv)
{
	const lxb_encoding_data_t *e = encoding_of(ctx, argc > 0 ? argv[0] :
	    JS_UNDEFINED);
	bool fatal = false, ignore_bom = false;

	if (e == NULL || (argc > 1 && JS_IsObject(argv[1]) &&
	    (!take_flag(ctx, argv[1], "fatal", &fatal) ||
	    !take_flag(ctx, argv[1], "ignoreBOM", &ignore_bom))))
		return JS_EXCEPTION;
	struct decoder *d = js_mallocz(ctx, sizeof(*d));
	if (d == NULL)
		return JS_EXCEPTION;
	d->encoding = e;
	d->fatal = fatal;
	d->ignore_bom = ignore_bom;
	JSValue v = bind_object_of(ctx, BIND_CLASS_DECODER, target, d);
	if (JS_IsException(v))
		js_free(ctx, d);
	return v;
}

enum decoder_fact { DECODER_NAME, DECODER_FATAL, DECODER_IGNORE_BOM };

static JSValue
decoder_fact(JSContext *ctx, JSValueConst this, int fact)
{
	struct decoder *d = bind_opaque(ctx, this, BIND_CLASS_DECODER);
	char name[32];
	size_t n = 0;

	if (d == NULL)
		return JS_EXCEPTION;
	if (fact != DECODER_NAME)
		return JS_NewBool(ctx, fact == DECODER_FATAL ? d->fatal :
		    d->ignore_bom);
	struct str s = str_of((const char *)d->encoding->name);
	for (; n < s.n && n < sizeof(name); n++)
		name[n] = ascii_lower(s.p[n]);
	return bind_string(ctx, (struct str){ name, n });
}

/* ---- Encoding --------------------------------------------------------- */

static JSValue
construct_encoder(JSContext *ctx, JSValueConst target, int argc,
    JSValueConst *argv)
{
	(void)argc, (void)argv;
	return bind_object_of(ctx, BIND_CLASS_ENCODER, target, NULL);
}

static JSValue
encode(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct str s;

	(void)this;
	if (argc == 0 || JS_IsUndefined(argv[0]))
		return JS_NewUint8ArrayCopy(ctx, NULL, 0);
	s = bind_usv(ctx, argv[0]);
	if (s.p == NULL)
		return JS_EXCEPTION;
	JSValue v = JS_NewUint8ArrayCopy(ctx, (const uint8_t *)s.p, s.n);
	bind_text_free(ctx, s);
	return v;
}

/* As many whole characters as fit: UTF-16 units read, and bytes written. */
static JSValue
encode_into(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	size_t room = 0, n = 0, k;
	int64_t units = 0;
	struct str s = bind_usv(ctx, argv[0]);
	uint8_t *to = s.p == NULL ? NULL :
	    JS_GetUint8Array(ctx, &room, argv[1]);

	(void)this, (void)argc;
	if (to == NULL && (s.p == NULL || JS_HasException(ctx))) {
		bind_text_free(ctx, s);
		return JS_EXCEPTION;
	}
	while (n < s.n && (k = text_utf8_length(str_from(s, n))) != 0 &&
	    n + k <= room) {
		units += k == 4 ? 2 : 1;
		n += k;
	}
	if (n != 0)
		memcpy(to, s.p, n);
	bind_text_free(ctx, s);
	JSValue v = JS_NewObject(ctx);
	if (JS_IsException(v) || !bind_put(ctx, v, STR("read"),
	    JS_NewInt64(ctx, units)) || !bind_put(ctx, v, STR("written"),
	    JS_NewInt64(ctx, (int64_t)n))) {
		JS_FreeValue(ctx, v);
		return JS_EXCEPTION;
	}
	return v;
}

/* atob() and btoa() are QuickJS-ng's own; a bare context lacks them. */
static bool
add_base64(JSContext *ctx)
{
	JSValue global = JS_GetGlobalObject(ctx);
	JSValue f = JS_GetPropertyStr(ctx, global, "atob");
	bool has = JS_IsFunction(ctx, f);

	JS_FreeValue(ctx, f);
	JS_FreeValue(ctx, global);
	return has || JS_AddIntrinsicAToB(ctx) >= 0;
}

bool
codec_open(JSContext *ctx)
{
	static const JSClassDef encoder = { .class_name = "TextEncoder" };
	static const JSClassDef decoder = { .class_name = "TextDecoder",
		.finalizer = on_decoder_end };
	static const JSCFunctionListEntry encoder_list[] = {
		JS_CFUNC_DEF("encode", 0, encode),
		JS_CFUNC_DEF("encodeInto", 2, encode_into),
		JS_PROP_STRING_DEF("encoding", "utf-8", 0),
		JS_PROP_STRING_DEF("[Symbol.toStringTag]", "TextEncoder",
		    JS_PROP_CONFIGURABLE),
	};
	static const JSCFunctionListEntry decoder_list[] = {
		JS_CFUNC_DEF("decode", 0, decode),
		JS_CGETSET_MAGIC_DEF("encoding", decoder_fact, NULL,
		    DECODER_NAME),
		JS_CGETSET_MAGIC_DEF("fatal", decoder_fact, NULL,
		    DECODER_FATAL),
		JS_CGETSET_MAGIC_DEF("ignoreBOM", decoder_fact, NULL,
		    DECODER_IGNORE_BOM),
		JS_PROP_STRING_DEF("[Symbol.toStringTag]", "TextDecoder",
		    JS_PROP_CONFIGURABLE),
	};

	return bind_class_new(ctx, BIND_CLASS_ENCODER, &encoder, encoder_list,
	    ARRAY_LEN(encoder_list)) && bind_class_new(ctx, BIND_CLASS_DECODER,
	    &decoder, decoder_list, ARRAY_LEN(decoder_list)) &&
	    bind_constructor(ctx, BIND_CLASS_ENCODER, "TextEncoder",
	    construct_encoder, 0) && bind_constructor(ctx, BIND_CLASS_DECODER,
	    "TextDecoder", construct_decoder, 0) && add_base64(ctx);
}

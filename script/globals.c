/*
 * What every script finds: the language, less what would tell the time or
 * share memory, and the log.
 */
#include <inttypes.h>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/time.h"
#include "script/fetch.h"
#include "script/own.h"
#include "script/value.h"
#include "script/web/script_web.h"

static const char *const error_names[ERROR_COUNT] = {
	[ERROR_FETCH] = "FetchError",
	[ERROR_NOT_FOUND] = "NotFoundError",
	[ERROR_MUTATION] = "MutationError",
	[ERROR_REPLAY_MISS] = "ReplayMiss",
	[ERROR_TRANSIENT] = "TransientError",
	[ERROR_PERMANENT] = "PermanentError",
	[ERROR_CONFIG] = "ConfigError",
};

/* ---- Chance ------------------------------------------------------------- */

static uint64_t
split_mix(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* xoroshiro128+: what a run draws depends on its seed alone. */
uint64_t
run_random(struct run *r)
{
	uint64_t a = r->seed[0], b = r->seed[1], sum = a + b;

	b ^= a;
	r->seed[0] = ((a << 24) | (a >> 40)) ^ b ^ (b << 16);
	r->seed[1] = (b << 37) | (b >> 27);
	return sum;
}

static JSValue
math_random(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv)
{
	(void)this_val, (void)argc, (void)argv;
	return JS_NewFloat64(ctx, (double)(run_random(run_of(ctx)) >> 11) *
	    0x1.0p-53);
}

/* ---- The clock, which stands -------------------------------------------- */

static JSValue
date_now(JSContext *ctx, JSValueConst this_val, int argc, JSValueConst *argv)
{
	(void)this_val, (void)argc, (void)argv;
	return JS_NewInt64(ctx, run_of(ctx)->now_ms);
}

/* new Date(...) and Date(), with the run's time where none is given. */
static JSValue
date_construct(JSContext *ctx, JSValueConst new_target, int argc,
    JSValueConst *argv)
{
	struct run *r = run_of(ctx);
	JSValue now = JS_NewInt64(ctx, r->now_ms);
	JSValueConst no_time[] = { now };

	if (JS_IsUndefined(new_target)) {
		JSValue date = JS_CallConstructor(ctx, r->date, 1, no_time);
		if (JS_IsException(date))
			return date;
		JSValue text = JS_ToString(ctx, date);
		JS_FreeValue(ctx, date);
		return text;
	}
	return argc == 0 ?
	    JS_CallConstructor2(ctx, r->date, new_target, 1, no_time) :
	    JS_CallConstructor2(ctx, r->date, new_target, argc, argv);
}

static bool
replace_date(struct run *r, JSValueConst global)
{
	JSContext *ctx = r->ctx;
	static const char *const kept[] = { "parse", "UTC" };

	r->date = JS_GetPropertyStr(ctx, global, "Date");
	JSValue proto = JS_GetPropertyStr(ctx, r->date, "prototype");
	JSValue date = JS_NewCFunction2(ctx, date_construct, "Date", 7,
	    JS_CFUNC_constructor_or_func, 0);
	if (JS_IsException(r->date) || JS_IsException(proto) ||
	    JS_IsException(date)) {
		JS_FreeValue(ctx, proto);
		JS_FreeValue(ctx, date);
		return false;
	}
	bool done = JS_SetConstructor(ctx, date, proto) >= 0 &&
	    JS_DefinePropertyValueStr(ctx, date, "now", JS_NewCFunction(ctx,
	    date_now, "now", 0), JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) >= 0;
	for (size_t i = 0; done && i < ARRAY_LEN(kept); i++)
		done = JS_DefinePropertyValueStr(ctx, date, kept[i],
		    JS_GetPropertyStr(ctx, r->date, kept[i]),
		    JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) >= 0;
	JS_FreeValue(ctx, proto);
	if (!done) {
		JS_FreeValue(ctx, date);
		return false;
	}
	return JS_DefinePropertyValueStr(ctx, global, "Date", date,
	    JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) >= 0;
}

/* ---- The log ------------------------------------------------------------ */

/* The longest beginning of at most `max` bytes that ends with a character. */
static struct str
cut_text(struct str s, size_t max)
{
	if (s.n <= max)
		return s;
	while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80)
		max--;
	return str_cut(s, 0, max);
}

/* Whether there is room for one more. */
static bool
take_line(struct run *r)
{
	run_renew_minute(r);
	bool has_room = r->log_lines < r->limits.log_lines_max;

	r->log_lines += has_room;
	r->log_dropped += !has_room;
	return has_room;
}

void
run_note(struct run *r, const char *what, struct str level, struct str code,
    struct str message)
{
	FREED(buf_free) struct buf json = BUF_INIT;

	if (!take_line(r))
		return;
	json_object(&json, NULL);
	json_str(&json, "what", str_of(what));
	json_str(&json, "level", level);
	json_str(&json, "code", cut_text(code, RUN_NOTE_CODE_BYTES_MAX));
	json_str(&json, "message", cut_text(message,
	    (size_t)r->limits.log_line_bytes_max));
	buf_put_char(&json, '}');
	process_send(r->process, FRAME_NOTE, buf_str(&json), STR_NONE);
}

void
run_log(struct run *r, struct str category, struct str message)
{
	struct buf json = BUF_INIT;

	if (!take_line(r))
		return;
	buf_put_text(&json, "{\"category\":");
	text_json(&json, cut_text(category, 64));
	buf_put_text(&json, ",\"message\":");
	text_json(&json, cut_text(message,
	    (size_t)r->limits.log_line_bytes_max));
	buf_put_char(&json, '}');
	process_send(r->process, FRAME_LOG, buf_str(&json), STR_NONE);
	buf_free(&json);
}

/* An argument of console.log(): texts as they are, objects as JSON. */
static bool
put_argument(JSContext *ctx, struct buf *out, JSValueConst v, size_t max)
{
	struct value_writer w = { .ctx = ctx, .out = out,
		.bytes_max = out->n + max };
	size_t n = 0, before = out->n;

	if (JS_IsObject(v) && !JS_IsError(v) && !JS_IsFunction(ctx, v)) {
		if (value_write(&w, v))
			return true;
		out->n = before;
		if (w.reason[0] == '\0')
			return false;
	}
	const char *text = JS_ToCStringLen(ctx, &n, v);
	if (text == NULL)
		return false;
	buf_put(out, text, MIN(n, max));
	JS_FreeCString(ctx, text);
	return true;
}

static const char *const console_categories[] = { "info", "info", "debug",
	"warn", "error", "debug" };

static JSValue
console_log(JSContext *ctx, JSValueConst this_val, int argc,
    JSValueConst *argv, int magic)
{
	struct run *r = run_of(ctx);
	struct buf line = BUF_INIT;
	bool done = true;

	(void)this_val;
	/* A line that will be dropped is not written. */
	if (r->log_lines >= r->limits.log_lines_max) {
		r->log_dropped++;
		return JS_UNDEFINED;
	}
	for (int i = 0; done && i < argc; i++) {
		if (i > 0)
			buf_put_char(&line, ' ');
		done = put_argument(ctx, &line, argv[i],
		    (size_t)r->limits.log_line_bytes_max);
	}
	if (done)
		run_log(r, str_of(console_categories[magic]), buf_str(&line));
	buf_free(&line);
	return done ? JS_UNDEFINED : JS_EXCEPTION;
}

static bool
install_console(struct run *r, JSValueConst global)
{
	static const char *const names[] = { "log", "info", "debug", "warn",
		"error", "trace" };
	JSValue console = JS_NewObject(r->ctx);

	if (JS_IsException(console))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (value_define(r->ctx, console, names[i],
		    JS_NewCFunctionMagic(r->ctx, console_log, names[i], 1,
		    JS_CFUNC_generic_magic, (int)i)) < 0) {
			JS_FreeValue(r->ctx, console);
			return false;
		}
	}
	return JS_DefinePropertyValueStr(r->ctx, global, "console", console,
	    JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) >= 0;
}

/* ---- All of them -------------------------------------------------------- */

static bool
install_errors(struct run *r, JSValueConst global)
{
	JSContext *ctx = r->ctx;
	JSValue code = JS_ReadObject(ctx, r->process->prelude,
	    r->process->prelude_n, JS_READ_OBJ_BYTECODE);
	JSValue errors = JS_IsException(code) ? code :
	    JS_EvalFunction(ctx, code);
	bool done = !JS_IsException(errors);

	for (uint32_t i = 0; done && i < ERROR_COUNT; i++) {
		JSValue one = JS_GetPropertyUint32(ctx, errors, i);
		r->error_protos[i] = JS_GetPropertyStr(ctx, one, "prototype");
		done = JS_IsObject(r->error_protos[i]) &&
		    JS_DefinePropertyValueStr(ctx, global, error_names[i], one,
		    JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) >= 0;
	}
	if (done)
		r->prelude = JS_GetPropertyUint32(ctx, errors,
		    ERROR_COUNT);
	JS_FreeValue(ctx, errors);
	return done && JS_IsObject(r->prelude);
}

/* What scripts do not get: sharing, waiting, and other clocks. */
static bool
remove_globals(struct run *r, JSValueConst global)
{
	static const char *const names[] = { "Atomics", "SharedArrayBuffer",
		"WeakRef", "FinalizationRegistry", "performance",
		"queueMicrotask", "setTimeout", "navigator" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		JSAtom name = JS_NewAtom(r->ctx, names[i]);
		int done = name == JS_ATOM_NULL ? -1 :
		    JS_DeleteProperty(r->ctx, global, name, 0);
		JS_FreeAtom(r->ctx, name);
		if (done < 0)
			return false;
	}
	return true;
}

static bool
replace_random(struct run *r, JSValueConst global)
{
	JSValue math = JS_GetPropertyStr(r->ctx, global, "Math");
	bool done = JS_IsObject(math) && JS_DefinePropertyValueStr(r->ctx, math,
	    "random", JS_NewCFunction(r->ctx, math_random, "random", 0),
	    JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) >= 0;

	JS_FreeValue(r->ctx, math);
	return done;
}

/* The lease's "seed", 64 bits in hexadecimal, and "now". */
static void
read_seed(struct run *r)
{
	struct str seed = json_text(yyjson_obj_get(r->input, "seed"));
	struct str now = json_text(yyjson_obj_get(r->input, "now"));
	struct wall at = { 0 };
	uint64_t state = 0;

	for (size_t i = 0; i < seed.n && i < 16; i++)
		state = state << 4 |
		    ((uint64_t)ascii_hex_value(seed.p[i]) & 15);
	r->seed[0] = split_mix(&state);
	r->seed[1] = split_mix(&state);
	if (now.p != NULL && wall_from_iso(now, &at))
		r->now_ms = at.us / 1000;
}

bool
globals_install(struct run *r)
{
	JSValue global = JS_GetGlobalObject(r->ctx);

	read_seed(r);
	const struct script_web web = { .interrupted = run_is_over,
		.opaque = r };
	/* In this order in every runtime: it numbers the classes. */
	bool done = fetch_open(r->ctx) && script_web_init(r->ctx, &web) &&
	    remove_globals(r, global) && replace_random(r, global) &&
	    replace_date(r, global) && install_console(r, global) &&
	    install_errors(r, global);
	JS_FreeValue(r->ctx, global);
	return done;
}

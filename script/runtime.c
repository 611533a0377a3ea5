/*
 * A run's JavaScript runtime: its memory, its time, its modules.
 */
#include <stdarg.h>

#include "os/clock.h"
#include "script/own.h"

/* ---- Memory ------------------------------------------------------------- */

/* In front of each block; it keeps the alignment. */
struct block {
	size_t n;
	size_t unused;
};

static bool
take_bytes(struct run *r, size_t n)
{
	if (n > (size_t)r->limits.heap_bytes_max ||
	    r->heap > (size_t)r->limits.heap_bytes_max - n) {
		run_breach(r, "limit_memory", "more than %lld bytes of memory",
		    (long long)r->limits.heap_bytes_max);
		return false;
	}
	r->heap += n;
	r->heap_peak = MAX(r->heap_peak, r->heap);
	return true;
}

static void *
heap_take(void *opaque, size_t n)
{
	struct run *r = opaque;

	if (!take_bytes(r, n + sizeof(struct block)))
		return NULL;
	struct block *b = malloc(n + sizeof(*b));
	if (b == NULL) {
		r->heap -= n + sizeof(*b);
		run_breach(r, "limit_memory", "the process has no more memory");
		return NULL;
	}
	b->n = n;
	return b + 1;
}

static void *
heap_take_zeroed(void *opaque, size_t count, size_t size)
{
	size_t n = 0;

	if (__builtin_mul_overflow(count, size, &n))
		return NULL;
	void *p = heap_take(opaque, n);
	if (p != NULL)
		memset(p, 0, n);
	return p;
}

static void
heap_free(void *opaque, void *p)
{
	struct run *r = opaque;

	if (p == NULL)
		return;
	struct block *b = (struct block *)p - 1;
	r->heap -= b->n + sizeof(*b);
	free(b);
}

static void *
heap_resize(void *opaque, void *p, size_t n)
{
	struct run *r = opaque;

	if (p == NULL)
		return heap_take(opaque, n);
	struct block *b = (struct block *)p - 1;
	if (n > b->n && !take_bytes(r, n - b->n))
		return NULL;
	struct block *now = realloc(b, n + sizeof(*b));
	if (now == NULL) {
		if (n > b->n)
			r->heap -= n - b->n;
		run_breach(r, "limit_memory", "the process has no more memory");
		return NULL;
	}
	if (n < now->n)
		r->heap -= now->n - n;
	now->n = n;
	return now + 1;
}

static size_t
heap_usable(const void *p)
{
	return p == NULL ? 0 : ((const struct block *)p - 1)->n;
}

static const JSMallocFunctions heap_functions = { heap_take_zeroed, heap_take,
	heap_free, heap_resize, heap_usable };

/* ---- Time --------------------------------------------------------------- */

struct run *
run_of(JSContext *ctx)
{
	return JS_GetContextOpaque(ctx);
}

void
run_breach(struct run *r, const char *code, const char *fmt, ...)
{
	va_list args;

	if (r->breach != NULL)
		return;
	r->breach = code;
	va_start(args, fmt);
	vsnprintf(r->breach_text, sizeof(r->breach_text), fmt, args);
	va_end(args);
}

JSValue
run_throw_breach(struct run *r)
{
	JS_ThrowInternalError(r->ctx, "%s", r->breach_text);
	JSValue e = JS_GetException(r->ctx);
	JS_SetUncatchableError(r->ctx, e);
	return JS_Throw(r->ctx, e);
}

int64_t
run_cpu_ns(const struct run *r)
{
	return clock_thread_cpu_ns() - r->cpu_start;
}

void
run_renew_minute(struct run *r)
{
	int64_t minute = (clock_mono().ns - r->run_start) / (NS_PER_MS *
	    SCRIPT_MINUTE_MS);

	if (!r->is_connector || minute == r->minute)
		return;
	r->minute = minute;
	r->minute_cpu_start = run_cpu_ns(r);
	r->log_lines = 0;
}

void
run_note_answer(struct run *r)
{
	if (!r->is_connector)
		return;
	r->now_ms = clock_wall().us / 1000;
	r->wall_start = clock_mono().ns;
	r->waited_ns = 0;
	run_renew_minute(r);
}

bool
run_is_over(void *opaque)
{
	struct run *r = opaque;
	const struct script_limits *l = &r->limits;

	run_renew_minute(r);
	if (r->breach == NULL && run_cpu_ns(r) - r->minute_cpu_start >
	    l->cpu_ms_max * NS_PER_MS)
		run_breach(r, "limit_cpu", "more than %lld ms of processor "
		    "time%s", (long long)l->cpu_ms_max, r->is_connector ?
		    " in a minute" : "");
	if (r->breach == NULL && clock_mono().ns - r->wall_start -
	    r->waited_ns > l->wall_ms_max * NS_PER_MS)
		run_breach(r, "limit_wall", "more than %lld ms",
		    (long long)l->wall_ms_max);
	return r->breach != NULL;
}

/* Asked every few thousand steps; what it stops cannot be caught. */
static int
interrupt_script(JSRuntime *rt, void *opaque)
{
	(void)rt;
	return run_is_over(opaque);
}

/* ---- Modules ------------------------------------------------------------ */

/*
 * "./a.js" and "../b.js" of the importing module's folder, with no step above
 * the bundle's.  Anything else is no path of the bundle.
 */
static char *
resolve_name(JSContext *ctx, const char *base, const char *name, void *opaque)
{
	struct buf path = BUF_INIT;
	struct str rest = str_of(name), part;
	bool good = str_starts(rest, STR("./")) || str_starts(rest, STR("../"));
	char *out = NULL;

	(void)opaque;
	/* The first import is the daemon's own, by its path. */
	if (base[0] == '<')
		return js_strndup(ctx, name, strlen(name));
	const char *slash = strrchr(base, '/');
	if (slash != NULL)
		buf_put(&path, base, (size_t)(slash - base));
	while (good && str_split(&rest, '/', &part)) {
		if (str_eq(part, STR(".")))
			continue;
		if (str_eq(part, STR(".."))) {
			good = path.n > 0;
			while (path.n > 0 && path.p[path.n - 1] != '/')
				path.n--;
			path.n -= path.n > 0;
			continue;
		}
		good = part.n > 0;
		if (path.n > 0)
			buf_put_char(&path, '/');
		buf_put_str(&path, part);
	}
	if (good)
		out = js_strndup(ctx, path.p == NULL ? "" : path.p, path.n);
	else
		JS_ThrowReferenceError(ctx, "cannot import '%.200s': only "
		    "relative paths inside the configuration's folder", name);
	buf_free(&path);
	return out;
}

static bool
is_json_path(struct str path)
{
	return str_ends(path, STR(".json"));
}

/* A module whose default export is the JSON's value. */
static int
export_json(JSContext *ctx, JSModuleDef *m)
{
	return JS_SetModuleExport(ctx, m, "default",
	    JS_GetModulePrivateValue(ctx, m));
}

static JSModuleDef *
load_json(JSContext *ctx, const struct module *m)
{
	JSValue v = JS_ParseJSON(ctx, m->source.p, m->source.n, m->path.p);

	if (JS_IsException(v))
		return NULL;
	JSModuleDef *def = JS_NewCModule(ctx, m->path.p, export_json);
	if (def == NULL) {
		JS_FreeValue(ctx, v);
		return NULL;
	}
	if (JS_AddModuleExport(ctx, def, "default") < 0 ||
	    JS_SetModulePrivateValue(ctx, def, v) < 0)
		return NULL;
	return def;
}

/* Compile once for all runs of this process. */
static JSModuleDef *
compile_module(JSContext *ctx, struct module *m)
{
	JSValue v = JS_Eval(ctx, m->source.p, m->source.n, m->path.p,
	    JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);

	if (JS_IsException(v))
		return NULL;
	size_t n = 0;
	uint8_t *code = JS_WriteObject(ctx, &n, v, JS_WRITE_OBJ_BYTECODE);
	if (code != NULL) {
		m->code = mem_new(MAX(n, (size_t)1));
		memcpy(m->code, code, n);
		m->code_n = n;
		js_free(ctx, code);
	}
	/* The context has the module; the value only points to it. */
	JSModuleDef *def = JS_VALUE_GET_PTR(v);
	JS_FreeValue(ctx, v);
	return code == NULL ? NULL : def;
}

static JSModuleDef *
load_module(JSContext *ctx, const char *name, void *opaque)
{
	struct run *r = opaque;
	struct module *m = process_module(r->process, str_of(name));

	if (m == NULL) {
		JS_ThrowReferenceError(ctx, "cannot import '%.200s': the "
		    "configuration's folder has no such file", name);
		return NULL;
	}
	if (is_json_path(m->path))
		return load_json(ctx, m);
	if (m->code == NULL)
		return compile_module(ctx, m);
	JSValue v = JS_ReadObject(ctx, m->code, m->code_n,
	    JS_READ_OBJ_BYTECODE);
	if (JS_IsException(v))
		return NULL;
	JSModuleDef *def = JS_VALUE_GET_PTR(v);
	JS_FreeValue(ctx, v);
	return def;
}

JSValue
runtime_import(struct run *r, const char *path)
{
	return JS_LoadModule(r->ctx, "<daemon>", path);
}

/* ---- Jobs --------------------------------------------------------------- */

bool
runtime_drain(struct run *r)
{
	JSContext *ctx = NULL;
	int done = 1;

	while (done != 0 && r->breach == NULL) {
		done = JS_ExecutePendingJob(r->rt, &ctx);
		/* A job that throws has a promise to tell; or it was cut. */
		if (done < 0)
			JS_FreeValue(r->ctx, JS_GetException(r->ctx));
		if (done != 0)
			(void)run_is_over(r);
	}
	return r->breach == NULL;
}

static void
forget_rejection(struct run *r, JSValueConst promise)
{
	for (size_t i = 0; i < r->rejected_n; i++) {
		if (!JS_IsStrictEqual(r->ctx, r->rejected[i], promise))
			continue;
		JS_FreeValue(r->ctx, r->rejected[i]);
		r->rejected[i] = r->rejected[--r->rejected_n];
		return;
	}
}

/* More are as good as these: the run fails by the first one. */
#define REJECTED_MAX 64u
static void
note_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason,
    bool is_handled, void *opaque)
{
	struct run *r = opaque;

	(void)reason;
	if (is_handled) {
		forget_rejection(r, promise);
		return;
	}
	if (r->rejected_n >= REJECTED_MAX)
		return;
	r->rejected = mem_room(r->rejected, r->rejected_n, &r->rejected_cap, 4,
	    sizeof(*r->rejected));
	r->rejected[r->rejected_n++] = JS_DupValue(ctx, promise);
}

/* ---- The prelude -------------------------------------------------------- */

static const char prelude_source[] = {
#include "script/prelude.inc"
	0
};

void
runtime_compile_prelude(struct process *p)
{
	JSRuntime *rt = JS_NewRuntime();
	CHECK(rt != NULL);
	JSContext *ctx = JS_NewContext(rt);
	CHECK(ctx != NULL);
	JSValue v = JS_Eval(ctx, prelude_source, sizeof(prelude_source) - 1,
	    "<prelude>", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY);
	CHECK(!JS_IsException(v));
	size_t n = 0;
	uint8_t *code = JS_WriteObject(ctx, &n, v, JS_WRITE_OBJ_BYTECODE);
	CHECK(code != NULL);
	p->prelude = mem_new(n);
	memcpy(p->prelude, code, n);
	p->prelude_n = n;
	js_free(ctx, code);
	JS_FreeValue(ctx, v);
	JS_FreeContext(ctx);
	JS_FreeRuntime(rt);
}

/* ---- Its life ----------------------------------------------------------- */

bool
runtime_open(struct run *r)
{
	r->cpu_start = clock_thread_cpu_ns();
	r->wall_start = r->run_start = clock_mono().ns;
	for (size_t i = 0; i < ERROR_COUNT; i++)
		r->error_protos[i] = JS_UNDEFINED;
	r->date = r->prelude = JS_UNDEFINED;
	r->rt = JS_NewRuntime2(&heap_functions, r);
	if (r->rt == NULL)
		return false;
	JS_SetMaxStackSize(r->rt, (size_t)r->limits.stack_bytes_max);
	JS_SetInterruptHandler(r->rt, interrupt_script, r);
	JS_SetCanBlock(r->rt, false);
	JS_SetModuleLoaderFunc(r->rt, resolve_name, load_module, r);
	JS_SetHostPromiseRejectionTracker(r->rt, note_rejection, r);
	r->ctx = JS_NewContext(r->rt);
	if (r->ctx == NULL)
		return false;
	JS_SetContextOpaque(r->ctx, r);
	return globals_install(r);
}

void
runtime_close(struct run *r)
{
	if (r->ctx != NULL) {
		for (size_t i = 0; i < r->rejected_n; i++)
			JS_FreeValue(r->ctx, r->rejected[i]);
		for (size_t i = 0; i < ERROR_COUNT; i++)
			JS_FreeValue(r->ctx, r->error_protos[i]);
		JS_FreeValue(r->ctx, r->date);
		JS_FreeValue(r->ctx, r->prelude);
		JS_FreeContext(r->ctx);
	}
	free(r->rejected);
	if (r->rt != NULL)
		JS_FreeRuntime(r->rt);
}

#include "script/web/web_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static bool
ask(void *opaque)
{
	struct web_testing *t = opaque;

	return t->questions_max != 0 && ++t->questions > t->questions_max;
}

static int
ask_runtime(JSRuntime *rt, void *opaque)
{
	(void)rt;
	return ask(opaque);
}

static JSValue
load(JSContext *ctx, JSValueConst this, int argc, JSValueConst *argv)
{
	struct str s;

	(void)this, (void)argc;
	s.p = JS_ToCStringLen(ctx, &s.n, argv[0]);
	if (s.p == NULL)
		return JS_EXCEPTION;
	JSValue v = script_document_new(ctx, s, STR(""),
	    STR("http://h.example/dir/page?q"), JS_ToBool(ctx, argv[1]) == 1);
	JS_FreeCString(ctx, s.p);
	return v;
}

static void
add_load(JSContext *ctx)
{
	JSValue global = JS_GetGlobalObject(ctx);

	assert_true(JS_SetPropertyStr(ctx, global, "load",
	    JS_NewCFunction(ctx, load, "load", 2)) >= 0);
	JS_FreeValue(ctx, global);
}

struct web_testing *
web_testing_open(size_t heap_bytes)
{
	JSMemoryUsage usage;
	struct web_testing *t = mem_new(sizeof(*t));
	struct script_web host = { .interrupted = ask, .opaque = t };

	script_web_prepare();
	t->rt = JS_NewRuntime();
	assert_non_null(t->rt);
	JS_SetInterruptHandler(t->rt, ask_runtime, t);
	t->ctx = JS_NewContext(t->rt);
	assert_non_null(t->ctx);
	assert_true(script_web_init(t->ctx, &host));
	add_load(t->ctx);
	JS_ComputeMemoryUsage(t->rt, &usage);
	JS_SetMemoryLimit(t->rt, heap_bytes == 0 ? 0 :
	    (size_t)usage.malloc_size + heap_bytes);
	JS_SetDumpFlags(t->rt, JS_ABORT_ON_LEAKS);
	return t;
}

void
web_testing_close(struct web_testing **at)
{
	struct web_testing *t = *at;

	JS_SetMemoryLimit(t->rt, 0);
	JS_FreeContext(t->ctx);
	JS_FreeRuntime(t->rt);
	mem_free(at);
}

static char *
take_text(struct web_testing *t, JSValue v)
{
	const char *s = JS_ToCString(t->ctx, v);
	char *copy = mem_copy_text(s == NULL ? "(no string)" : s);

	if (s == NULL)
		JS_FreeValue(t->ctx, JS_GetException(t->ctx));
	else
		JS_FreeCString(t->ctx, s);
	JS_FreeValue(t->ctx, v);
	return copy;
}

bool
web_testing_load(struct web_testing *t, const char *name, struct str body,
    const char *type, bool xml)
{
	JSValue global = JS_GetGlobalObject(t->ctx);
	JSValue v = script_document_new(t->ctx, body, str_of(type),
	    STR("http://h.example/dir/page?q"), xml);
	bool ok = !JS_IsException(v);

	if (!ok)
		v = JS_UNDEFINED;
	assert_true(JS_SetPropertyStr(t->ctx, global, name, v) >= 0);
	JS_FreeValue(t->ctx, global);
	return ok;
}

char *
web_testing_eval(struct web_testing *t, const char *expression)
{
	JSContext *ctx = t->ctx, *job;
	JSValue v = JS_Eval(ctx, expression, strlen(expression), "test",
	    JS_EVAL_TYPE_GLOBAL);

	while (JS_ExecutePendingJob(t->rt, &job) > 0)
		;
	if (JS_IsException(v))
		v = JS_GetException(ctx);
	else if (JS_IsPromise(v)) {
		JSValue r = JS_PromiseResult(ctx, v);
		JS_FreeValue(ctx, v);
		v = r;
	}
	return take_text(t, v);
}

void
web_testing_check(struct web_testing *t, const char *expression,
    const char *want)
{
	char *got = web_testing_eval(t, expression);

	if (strcmp(got, want) != 0)
		print_message("%s\n  gives  %s\n  wanted %s\n", expression,
		    got, want);
	assert_string_equal(got, want);
	mem_free(&got);
}

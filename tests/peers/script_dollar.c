/*
 * script_dollar -- our `$` for script_dollar.py.
 *
 *     script_dollar QUESTIONS.js < PATHS
 *     script_dollar QUESTIONS.js --cpu PATH ROUNDS
 *
 * A line of JSON for each page; or the milliseconds of CPU for one.
 */
#include <time.h>

#include "script/web/script_web.h"

static void
die(JSContext *ctx, const char *what)
{
	JSValue e = JS_GetException(ctx);
	const char *text = JS_ToCString(ctx, e);

	fprintf(stderr, "%s: %s\n", what, text == NULL ? "" : text);
	exit(1);
}

static bool
read_file(const char *path, struct buf *b)
{
	FILE *f = fopen(path, "rb");
	char part[65536];

	buf_clear(b);
	if (f == NULL)
		return false;
	for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0; )
		buf_put(b, part, n);
	fclose(f);
	return true;
}

static JSValue
eval(JSContext *ctx, const char *text)
{
	JSValue v = JS_Eval(ctx, text, strlen(text), "questions",
	    JS_EVAL_TYPE_GLOBAL);

	if (JS_IsException(v))
		die(ctx, "questions");
	return v;
}

static void
load_page(JSContext *ctx, struct str page)
{
	JSValue v = script_document_new(ctx, page, STR("text/html"),
	    STR("http://h.example/"), false);
	JSValue global = JS_GetGlobalObject(ctx);

	if (JS_IsException(v))
		die(ctx, "the page");
	JS_SetPropertyStr(ctx, global, "page", v);
	JS_FreeValue(ctx, global);
}

static double
cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Each round in a fresh runtime, as a task's run has it. */
static JSContext *
open_context(const char *questions)
{
	struct script_web host = { .interrupted = NULL };
	JSRuntime *rt = JS_NewRuntime();
	JSContext *ctx = JS_NewContext(rt);

	if (!script_web_init(ctx, &host))
		die(ctx, "init");
	JS_SetMemoryLimit(rt, 64u << 20);
	JS_FreeValue(ctx, eval(ctx, questions));
	return ctx;
}

static void
close_context(JSContext *ctx)
{
	JSRuntime *rt = JS_GetRuntime(ctx);

	JS_FreeContext(ctx);
	JS_FreeRuntime(rt);
}

static void
measure(const char *questions, struct str page, unsigned rounds)
{
	double used = 0;
	int32_t n = 0;

	for (unsigned i = 0; i < rounds; i++) {
		JSContext *ctx = open_context(questions);
		double began = cpu_ms();
		load_page(ctx, page);
		JSValue v = eval(ctx, "ten(page)");
		used += cpu_ms() - began;
		JS_ToInt32(ctx, &n, v);
		close_context(ctx);
	}
	printf("%.3f %d\n", used / rounds, n);
}

static void
answer(const char *questions, struct str page)
{
	JSContext *ctx = open_context(questions);

	load_page(ctx, page);
	JSValue v = eval(ctx, "JSON.stringify(SELECTORS.map((css) =>"
	    "answer(page, css, (s) => s.outerHtml())))");
	const char *text = JS_ToCString(ctx, v);
	puts(text);
	JS_FreeCString(ctx, text);
	JS_FreeValue(ctx, v);
	close_context(ctx);
}

int
main(int argc, char **argv)
{
	FREED(buf_free) struct buf questions = BUF_INIT;
	FREED(buf_free) struct buf page = BUF_INIT;
	uint64_t rounds = 0;
	char path[4096];

	if (argc < 2 || !read_file(argv[1], &questions))
		return 64;
	const char *text = buf_text(&questions);
	if (argc == 5 && read_file(argv[3], &page) &&
	    str_to_u64(str_of(argv[4]), &rounds) && rounds > 0)
		measure(text, buf_str(&page), (unsigned)rounds);
	while (argc == 2 && fgets(path, sizeof(path), stdin) != NULL) {
		path[strcspn(path, "\n")] = '\0';
		if (!read_file(path, &page))
			return 66;
		answer(text, buf_str(&page));
	}
	return 0;
}

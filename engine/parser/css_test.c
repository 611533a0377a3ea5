#include "engine/parser/suite_test.h"

#include "engine/parser/css.h"
#include "tests/growth.h"

struct got {
	struct buf text;
	size_t n, max;
};

static bool
note(void *ctx, struct str url, bool import)
{
	struct got *g = ctx;

	buf_printf(&g->text, "%s%.*s|", import ? "@" : "", STR_FMT(url));
	return ++g->n < g->max;
}

static void
check(const char *css, const char *want)
{
	struct arena a = ARENA_INIT;
	struct got g = { .text = BUF_INIT, .max = 100 };

	css_scan(str_of(css), &a, note, &g);
	assert_str(buf_str(&g.text), want);
	buf_free(&g.text);
	arena_free(&a);
}

static void
test_found(void **state)
{
	(void)state;
	check("a{b:url(x)}", "x|");
	check("URL( x.png\t)", "x.png|");
	check("url(\"a b\") url('c)d')", "a b|c)d|");
	check("@import 'a';@IMPORT url(b) screen;@import/**/\"c\"",
	    "@a|@b|@c|");
	check("src: src(\"a\")", "a|");
	check("url(a) , url(b)", "a|b|");
	check("x:url(a", "a|");
	check("background:url()", "");
	check("url(\"\")url(' ')", "");
}

static void
test_not_found(void **state)
{
	(void)state;
	check("/* url(a) */", "");
	check("/* url(a)", "");
	check("\"url(a)\"'url(b)'", "");
	check("myurl(a) -url(b) \\url(c)", "");
	check("url (a)", "");
	check("@importx 'a'; @media 'b'", "");
	check("url(a\"b) url(c)", "c|");
	check("url(a b) url(c)", "c|");
	check("url('a\n) url(c)", "c|");
	check("@import", "");
	check("", "");
	check("\\", "");
}

static void
test_escapes(void **state)
{
	(void)state;
	check("url(a\\)b)", "a)b|");
	check("url(\"a\\\"b\\\nc\")", "a\"bc|");
	check("url(\\26 b\\000026c)", "&b&c|");
	check("url(\\e9)", "\xc3\xa9|");
	check("url(\\26 b c)url(\\26  b)", "");
	check("url(\\110000\\0 \\d800)",
	    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|");
	check("url(\\1f600)", "\xf0\x9f\x98\x80|");
	check("url(a\\", "a|");
	check("'\\", "");
	check("url('a\\", "");
}

static void
test_stop(void **state)
{
	struct arena a = ARENA_INIT;
	struct got g = { .text = BUF_INIT, .max = 2 };

	(void)state;
	css_scan(STR("url(a)url(b)url(c)"), &a, note, &g);
	assert_str(buf_str(&g.text), "a|b|");
	buf_free(&g.text);
	arena_free(&a);
}

/* ---- Cost --------------------------------------------------------------- */

static bool
count(void *ctx, struct str url, bool import)
{
	(void)url;
	(void)import;
	++*(size_t *)ctx;
	return true;
}

static void
scan(void *style, size_t n)
{
	struct arena a = ARENA_INIT;
	size_t found = 0;

	css_scan(str_cut(buf_str(style), 0, n), &a, count, &found);
	arena_free(&a);
}

static void
test_linear(void **state)
{
	static const char *const parts[] = { "url(", "/*", "'", "@import",
		"\\", "url('", "url(a\"", "(", "u", "/" };
	enum { BYTES = 32 << 10 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct buf b = BUF_INIT;
		while (b.n < GROWTH_TIMES * BYTES)
			buf_put_text(&b, parts[i]);
		if (!growth_is_linear(scan, &b, BYTES))
			fail_msg("many %s", parts[i]);
		buf_free(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_not_found),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

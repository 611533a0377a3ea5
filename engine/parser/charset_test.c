#include "engine/parser/suite_test.h"

#include "engine/parser/charset.h"

#include "base/text.h"

#define BODY(s) { s, sizeof(s) - 1 }

static const struct row {
	struct str body;
	const char *label;
	enum charset_markup markup;
	const char *name;
	struct str text;
} rows[] = {
	{ BODY("abc"), NULL, CHARSET_HTML, "UTF-8", BODY("abc") },
	{ BODY("\xc3\xa9"), NULL, CHARSET_PLAIN, "UTF-8", BODY("\xc3\xa9") },
	{ BODY("\xe9"), NULL, CHARSET_PLAIN, "windows-1252",
	    BODY("\xc3\xa9") },
	{ BODY("\xe9\x80"), "Latin1", CHARSET_PLAIN, "windows-1252",
	    BODY("\xc3\xa9\xe2\x82\xac") },
	{ BODY("\xef\xbb\xbfx"), "latin1", CHARSET_HTML, "UTF-8", BODY("x") },
	{ BODY("\xfe\xff\0x"), "utf-8", CHARSET_PLAIN, "UTF-16BE",
	    BODY("x") },
	{ BODY("\xff\xfex\0"), NULL, CHARSET_PLAIN, "UTF-16LE", BODY("x") },
	{ BODY("x\0"), "utf-16", CHARSET_PLAIN, "UTF-16LE", BODY("x") },
	{ BODY("\xd8\0"), "koi8-r", CHARSET_HTML, "KOI8-R",
	    BODY("\xd1\x8c\0") },
	{ BODY("\x82\xa0"), "sjis", CHARSET_HTML, "Shift_JIS",
	    BODY("\xe3\x81\x82") },
	{ BODY("\x82"), "sjis", CHARSET_HTML, "Shift_JIS",
	    BODY("\xef\xbf\xbd") },
	{ BODY("\xe1\x40\xfa\x40\xb1\x81<\xe0\xff\xa0"), "sjis", CHARSET_HTML,
	    "Shift_JIS", BODY("\xe7\x93\xa0\xe2\x85\xb0\xef\xbd\xb1"
	    "\xef\xbf\xbd<\xef\xbf\xbd\xef\xbf\xbd") },
	{ BODY("<meta charset=iso-8859-2>\xb1"), NULL, CHARSET_HTML,
	    "ISO-8859-2", BODY("<meta charset=iso-8859-2>\xc4\x85") },
	{ BODY("<meta charset=iso-8859-2>"), NULL, CHARSET_PLAIN, "UTF-8",
	    BODY("<meta charset=iso-8859-2>") },
	{ BODY("<!-- <meta charset=iso-8859-2> --><META CONTENT='text/html; "
	    "charset=gbk' http-equiv=content-type>"), NULL, CHARSET_HTML,
	    "GBK", BODY("<!-- <meta charset=iso-8859-2> --><META CONTENT='"
	    "text/html; charset=gbk' http-equiv=content-type>") },
	{ BODY("<meta charset=utf-16>"), NULL, CHARSET_HTML, "UTF-8",
	    BODY("<meta charset=utf-16>") },
	{ BODY("<meta charset=x-user-defined>"), NULL, CHARSET_HTML,
	    "windows-1252", BODY("<meta charset=x-user-defined>") },
	{ BODY("<meta charset=nonsense>"), "nonsense", CHARSET_HTML, "UTF-8",
	    BODY("<meta charset=nonsense>") },
	{ BODY("<?xml version='1.0' encoding = \"latin2\"?>\xb1"), NULL,
	    CHARSET_XML, "ISO-8859-2",
	    BODY("<?xml version='1.0' encoding = \"latin2\"?>\xc4\x85") },
	{ BODY("<\0?\0"), NULL, CHARSET_XML, "UTF-16LE", BODY("<?") },
	{ BODY(""), NULL, CHARSET_HTML, "UTF-8", BODY("") },
};

static void
test_rows(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		const char *name = charset_of(r->body, str_of(r->label),
		    r->markup);
		struct str text = charset_to_utf8(name, r->body, &a);
		if (strcmp(name, r->name) != 0)
			fail_msg("row %zu: %s, want %s", i, name, r->name);
		if (!str_eq(text, r->text))
			fail_msg("row %zu: \"%.*s\"", i, STR_FMT(text));
	}
	arena_free(&a);
}

static void
test_no_copy(void **state)
{
	struct arena a = ARENA_INIT;
	struct str s = STR("\xef\xbb\xbf not copied \xff");
	struct str t = charset_to_utf8("UTF-8", s, &a);

	(void)state;
	assert_ptr_equal(t.p, s.p + 3);
	assert_int_equal(a.total, 0);
}

/* The prescan ends at 1,024 bytes. */
static void
test_prescan_limit(void **state)
{
	const char *meta = "<meta charset=koi8-r>";
	char text[2048];

	(void)state;
	for (size_t at = 0; at < 1100; at++) {
		memset(text, ' ', sizeof(text));
		memcpy(text + at, meta, strlen(meta));
		const char *name = charset_of((struct str){ text, 2048 },
		    STR_NONE, CHARSET_HTML);
		bool found = strcmp(name, "KOI8-R") == 0;
		if (found != (at + strlen(meta) <= CHARSET_PRESCAN_BYTES))
			fail_msg("at %zu: %s", at, name);
	}
}

/* Longer than one block of the decoder, cut at every place. */
static void
test_blocks(void **state)
{
	struct arena a = ARENA_INIT;
	char text[5000];

	(void)state;
	for (size_t n = 2030; n < 2070; n++) {
		memset(text, '\xe9', sizeof(text));
		struct str s = charset_to_utf8("windows-1252",
		    (struct str){ text, n }, &a);
		assert_int_equal(s.n, 2 * n);
		for (size_t i = 0; i + 1 < n; i += 2)
			memcpy(text + i, "\x82\xa0", 2);
		s = charset_to_utf8("Shift_JIS", (struct str){ text, n & ~1u },
		    &a);
		assert_int_equal(s.n, n / 2 * 3);
		assert_true(text_is_utf8(s));
	}
	arena_free(&a);
}

static void
test_is_utf8(void **state)
{
	static const struct {
		struct str s;
		bool ok;
	} cases[] = {
		{ BODY(""), true }, { BODY("12345678abc"), true },
		{ BODY("\xc3\xa9"), true }, { BODY("\xc3"), false },
		{ BODY("\xc0\x80"), false }, { BODY("\xe0\x9f\x80"), false },
		{ BODY("\xe0\xa0\x80"), true }, { BODY("\xed\xa0\x80"), false },
		{ BODY("\xed\x9f\xbf"), true },
		{ BODY("\xf0\x8f\x80\x80"), false },
		{ BODY("\xf4\x8f\xbf\xbf"), true },
		{ BODY("\xf4\x90\x80\x80"), false }, { BODY("\x80"), false },
		{ BODY("1234567\xe2\x82\xac" "12345678"), true },
		{ BODY("1234567\xe2\x82" "12345678"), false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (text_is_utf8(cases[i].s) != cases[i].ok)
			fail_msg("case %zu", i);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_no_copy),
		cmocka_unit_test(test_prescan_limit),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_is_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

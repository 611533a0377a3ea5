#include "base/guess.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
test_wrap(void **state)
{
	struct buf b = BUF_INIT;
	char word[200];

	(void)state;
	text_wrap(&b, STR("  a  b "), 4, NULL, 0);
	assert_string_equal(buf_text(&b), "    a b\n");
	buf_clear(&b);
	text_wrap(&b, STR(""), 0, "# ", 0);
	assert_string_equal(buf_text(&b), "# \n");
	buf_clear(&b);
	/* The edge: 79 columns stay on the line, the 80th does not. */
	memset(word, 'x', sizeof(word));
	for (size_t n = 76; n <= 78; n++) {
		struct buf words = BUF_INIT;
		buf_put(&words, word, n);
		buf_put_text(&words, " y");
		buf_clear(&b);
		text_wrap(&b, buf_str(&words), 0, NULL, 0);
		assert_int_equal(str_find_char(buf_str(&b), '\n'),
		    n <= 77 ? n + 2 : n);
		buf_free(&words);
	}
	/* A word that fits nowhere stands alone and is not cut. */
	buf_clear(&b);
	buf_put_text(&b, "");
	struct buf words = BUF_INIT;
	buf_put_text(&words, "a ");
	buf_put(&words, word, 200);
	text_wrap(&b, buf_str(&words), 0, NULL, 0);
	assert_int_equal(b.n, 2 + 200 + 1);
	buf_free(&words);
	buf_free(&b);
}

static void
test_row(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	text_row(&b, STR("abc"), 7, STR("d"));
	assert_string_equal(buf_text(&b), "  abc  d\n");
	buf_clear(&b);
	text_row(&b, STR("abcd"), 7, STR("d"));
	assert_string_equal(buf_text(&b), "  abcd\n       d\n");
	buf_free(&b);
}

static void
test_troff(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	text_troff(&b, STR(".a-b\\\n'c.d"));
	assert_string_equal(buf_text(&b), "\\&.a\\-b\\e\n\\&'c.d");
	buf_free(&b);
}

/* Unicode's own examples of what is no UTF-8 (chapter 3, table 3-7). */
static void
test_json(void **state)
{
	static const struct {
		const char *text, *json;
	} rows[] = {
		{ "", "\"\"" }, { "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "\n\x01\x7f", "\"\\u000a\\u0001\\u007f\"" },
		{ "\xc3\xa9", "\"\xc3\xa9\"" },
		{ "\xe2\x82\xac", "\"\xe2\x82\xac\"" },
		{ "\xf0\x9f\x95\xb7", "\"\xf0\x9f\x95\xb7\"" },
		{ "\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\"" },
		{ "\xc0\xaf", "\"\\ufffd\\ufffd\"" },
		{ "\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xf0\x80\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\xc3", "\"\\ufffd\"" }, { "\xe2\x82", "\"\\ufffd\\ufffd\"" },
		{ "\xff" "a", "\"\\ufffda\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b = BUF_INIT;
		text_json(&b, str_of(rows[i].text));
		assert_string_equal(buf_text(&b), rows[i].json);
		assert_int_equal(text_is_utf8(str_of(rows[i].text)),
		    strstr(rows[i].json, "\\ufffd") == NULL);
		buf_free(&b);
	}
}

/* Eight bytes are looked at together: any byte in any of their places. */
static void
test_json_places(void **state)
{
	(void)state;
	for (unsigned c = 1; c < 0x80; c++)
		for (size_t at = 0; at < 18; at++) {
			char text[] = "abcdefghijklmnopqr", want[32];
			struct buf b = BUF_INIT;
			const char *one = c < 0x20 || c == 0x7f ? "\\u%04x" :
			    c == '"' || c == '\\' ? "\\%c" : "%c";

			text[at] = (char)c;
			int n = snprintf(want, sizeof(want), "\"%.*s",
			    (int)at, text);
			n += snprintf(want + n, sizeof(want) - (size_t)n, one,
			    c);
			snprintf(want + n, sizeof(want) - (size_t)n, "%s\"",
			    text + at + 1);
			text_json(&b, str_of(text));
			assert_string_equal(buf_text(&b), want);
			buf_free(&b);
		}
}

static void
test_distance(void **state)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} rows[] = {
		{ "", "", 0 }, { "", "abc", 3 }, { "abc", "abc", 0 },
		{ "abc", "acb", 1 }, { "abc", "ab", 1 }, { "abc", "xabc", 1 },
		{ "kitten", "sitting", 3 }, { "ca", "abc", 3 },
	};
	char big[GUESS_NAME_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str a = str_of(rows[i].a), b = str_of(rows[i].b);
		assert_int_equal(guess_distance(a, b), rows[i].distance);
		assert_int_equal(guess_distance(b, a), rows[i].distance);
	}
	memset(big, 'x', sizeof(big));
	assert_int_equal(guess_distance((struct str){ big, GUESS_NAME_MAX },
	    STR("x")), GUESS_NAME_MAX - 1);
	assert_int_equal(guess_distance((struct str){ big,
	    GUESS_NAME_MAX + 1 }, STR("x")), SIZE_MAX);
}

static void
test_guess(void **state)
{
	struct guess g = { STR("lmit"), NULL, 0 };

	(void)state;
	guess_look(&g, "quite-another");
	assert_null(g.best);
	guess_look(&g, "limits");
	assert_string_equal(g.best, "limits");
	guess_look(&g, "limit");
	assert_string_equal(g.best, "limit");
	guess_look(&g, "limits");
	assert_string_equal(g.best, "limit");
}

/* Each byte alone: RFC 9110 §5.6.2 and §5.5. */
static void
test_field(void **state)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	(void)state;
	for (int c = 0; c < 256; c++) {
		char byte = (char)c;
		struct str s = { &byte, 1 };
		bool letter = ascii_is_alpha(byte) || ascii_is_digit(byte);
		assert_int_equal(text_is_token(s), letter ||
		    (c != 0 && strchr(marks, c) != NULL));
		assert_int_equal(text_is_field_value(s), c == '\t' ||
		    (c >= ' ' && c != 0x7f));
	}
	assert_true(text_is_token(STR("X-a")));
	assert_false(text_is_token(STR("a b")));
	assert_false(text_is_token(STR("")));
	assert_true(text_is_field_value(STR("")));
	assert_false(text_is_field_value(STR("a\nb")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_troff),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_field),
		cmocka_unit_test(test_json_places),
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

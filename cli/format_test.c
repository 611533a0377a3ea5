#include "cli/format.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
test_counts(void **state)
{
	char out[FORMAT_MAX];

	(void)state;
	assert_string_equal(format_count(0, out), "0");
	assert_string_equal(format_count(999, out), "999");
	assert_string_equal(format_count(1000, out), "1,000");
	assert_string_equal(format_count(1234567, out), "1,234,567");
	assert_string_equal(format_count(UINT64_MAX, out),
	    "18,446,744,073,709,551,615");
}

static void
test_bytes(void **state)
{
	char out[FORMAT_MAX];

	(void)state;
	assert_string_equal(format_bytes(0, out), "0 B");
	assert_string_equal(format_bytes(999, out), "999 B");
	assert_string_equal(format_bytes(1000, out), "1.0 kB");
	assert_string_equal(format_bytes(999949, out), "999.9 kB");
	assert_string_equal(format_bytes(999950, out), "1.0 MB");
	assert_string_equal(format_bytes(UINT64_MAX, out), "18446.7 PB");
}

static void
test_rates(void **state)
{
	char out[FORMAT_MAX];

	(void)state;
	assert_string_equal(format_rate(0, out), "0.0");
	assert_string_equal(format_rate(0.44, out), "0.4");
	assert_string_equal(format_rate(99.94, out), "99.9");
	assert_string_equal(format_rate(99.95, out), "100");
	assert_string_equal(format_rate(12345.6, out), "12,346");
}

/* A server's text must not reach the terminal's controls. */
static void
test_safe(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	format_safe(&b, STR("a\x1b[2J\r\n\x7f\xc2\x9b~"), 100);
	assert_string_equal(buf_text(&b),
	    "a\\x1b[2J\\x0d\\x0a\\x7f\\xc2\\x9b~");
	buf_clear(&b);
	format_safe(&b, STR("abcdef"), 3);
	assert_string_equal(buf_text(&b), "abc...");
	buf_clear(&b);
	format_lines(&b, STR("one\n\ntwo\x07\n"), "> ");
	assert_string_equal(buf_text(&b), "> one\n> two\\x07\n");
	buf_free(&b);
}

static void
test_shell(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	format_shell(&b, "/a/b-c_d.e");
	buf_put_char(&b, ' ');
	format_shell(&b, "it's $HOME");
	buf_put_char(&b, ' ');
	format_shell(&b, "");
	assert_string_equal(buf_text(&b), "/a/b-c_d.e 'it'\\''s $HOME' ''");
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

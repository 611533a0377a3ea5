#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define assert_str(s, text) assert_true(str_eq(s, str_of(text)))

static int
sign(int v)
{
	return (v > 0) - (v < 0);
}

static void
test_compare(void **state)
{
	static const struct {
		const char *a, *b;
		int order;
	} rows[] = {
		{ "", "", 0 }, { "a", "", 1 }, { "a", "b", -1 },
		{ "ab", "a", 1 }, { "\x80", "a", 1 }, { "abc", "abc", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str a = str_of(rows[i].a), b = str_of(rows[i].b);
		assert_int_equal(sign(str_cmp(a, b)), rows[i].order);
		assert_int_equal(sign(str_cmp(b, a)), -rows[i].order);
		assert_int_equal(str_eq(a, b), rows[i].order == 0);
	}
	assert_true(str_eq(STR_NONE, STR("")));
	assert_null(str_of(NULL).p);
	assert_true(str_eq((struct str){ "a\0b", 3 }, STR("a\0b")));
	assert_false(str_eq((struct str){ "a\0b", 3 }, STR("a\0c")));
	assert_true(str_eq_nocase(STR("AbC-[{"), STR("aBc-[{")));
	assert_false(str_eq_nocase(STR("["), STR("{")));
	assert_false(str_eq_nocase(STR("abc"), STR("ab")));
	/* ASCII only: no locale turns these into one another. */
	assert_false(str_eq_nocase(STR("\xc4"), STR("\xe4")));
}

static void
test_decimal(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	buf_put_decimal(&b, 0, 1);
	buf_put_decimal(&b, 0, 0);
	buf_put_char(&b, ' ');
	buf_put_decimal(&b, 7, 6);
	buf_put_char(&b, ' ');
	buf_put_decimal(&b, 1234567, 6);
	buf_put_char(&b, ' ');
	buf_put_decimal(&b, UINT64_MAX, 1);
	assert_str(buf_str(&b), "0 000007 1234567 18446744073709551615");
	buf_free(&b);

	char text[21] = { 0 };
	assert_ptr_equal(ascii_put_decimal(text, 0), text + 1);
	assert_string_equal(text, "0");
	assert_ptr_equal(ascii_put_decimal(text, 255), text + 3);
	assert_string_equal(text, "255");
	assert_ptr_equal(ascii_put_decimal(text, UINT64_MAX), text + 20);
	assert_string_equal(text, "18446744073709551615");
}

static void
test_ends(void **state)
{
	(void)state;
	assert_true(str_starts(STR("abc"), STR("ab")));
	assert_true(str_starts(STR("abc"), STR("")));
	assert_true(str_starts(STR_NONE, STR_NONE));
	assert_false(str_starts(STR("ab"), STR("abc")));
	assert_true(str_starts_nocase(STR("ABc"), STR("ab")));
	assert_false(str_starts_nocase(STR("A"), STR("ab")));
	assert_true(str_ends(STR("abc"), STR("bc")));
	assert_true(str_ends(STR("abc"), STR("")));
	assert_false(str_ends(STR("bc"), STR("abc")));
	assert_false(str_ends(STR("abc"), STR("ab")));
}

static void
test_cut(void **state)
{
	struct str s = STR("abcdef");

	(void)state;
	assert_str(str_cut(s, 1, 3), "bc");
	assert_str(str_cut(s, 0, 100), "abcdef");
	assert_str(str_cut(s, 4, 2), "");
	assert_str(str_cut(s, 100, 200), "");
	assert_str(str_from(s, 5), "f");
	assert_str(str_from(s, 7), "");
	assert_null(str_from(STR_NONE, 3).p);
	assert_str(str_trim(STR(" \t\r\n a b \f")), "a b");
	assert_str(str_trim(STR("  ")), "");
	assert_str(str_trim(STR_NONE), "");
}

static void
test_find(void **state)
{
	struct str s = STR("a.b..c");

	(void)state;
	assert_int_equal(str_find_char(s, '.'), 1);
	assert_int_equal(str_find_char(s, 'x'), s.n);
	assert_int_equal(str_find_char(STR_NONE, 'x'), 0);
	assert_true(str_has_char(STR("_.-"), '-'));
	assert_false(str_has_char(STR("_.-"), '\0'));
	assert_true(str_has_char(STR("_\0"), '\0'));
	assert_false(str_has_char(STR_NONE, '\0'));
	assert_int_equal(str_find(s, STR("..")), 3);
	assert_int_equal(str_find(s, STR("")), 0);
	assert_int_equal(str_find(s, STR("...")), s.n);
	assert_int_equal(str_find(STR_NONE, STR("a")), 0);
}

static void
test_split(void **state)
{
	static const struct {
		struct str text;
		const char *parts;
	} rows[] = {
		{ STR_NONE, "" }, { { "", 0 }, "<>" }, { { ",", 1 }, "<><>" },
		{ { "a", 1 }, "<a>" }, { { "a,b", 3 }, "<a><b>" },
		{ { "a,", 2 }, "<a><>" }, { { ",,a", 3 }, "<><><a>" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str rest = rows[i].text, part;
		struct buf got = BUF_INIT;
		while (str_split(&rest, ',', &part))
			buf_printf(&got, "<%.*s>", STR_FMT(part));
		assert_string_equal(buf_text(&got), rows[i].parts);
		assert_false(str_split(&rest, ',', &part));
		buf_free(&got);
	}
}

static void
test_numbers(void **state)
{
	static const struct {
		const char *text;
		bool u, i;
		uint64_t uv;
		int64_t iv;
	} rows[] = {
		{ "0", true, true, 0, 0 }, { "007", true, true, 7, 7 },
		{ "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
		{ "9223372036854775808", true, false,
		    UINT64_C(9223372036854775808), 0 },
		{ "-9223372036854775808", false, true, 0, INT64_MIN },
		{ "-9223372036854775809", false, false, 0, 0 },
		{ "18446744073709551615", true, false, UINT64_MAX, 0 },
		{ "18446744073709551616", false, false, 0, 0 },
		{ "99999999999999999999", false, false, 0, 0 },
		{ "-1", false, true, 0, -1 }, { "-0", false, true, 0, 0 },
		{ "", false, false, 0, 0 }, { "-", false, false, 0, 0 },
		{ "+1", false, false, 0, 0 }, { " 1", false, false, 0, 0 },
		{ "1 ", false, false, 0, 0 }, { "--1", false, false, 0, 0 },
		{ "1a", false, false, 0, 0 },
	};
	double d;

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		struct str s = str_of(rows[k].text);
		uint64_t u = 1;
		int64_t i = 1;
		assert_int_equal(str_to_u64(s, &u), rows[k].u);
		assert_true(u == (rows[k].u ? rows[k].uv : 1));
		assert_int_equal(str_to_i64(s, &i), rows[k].i);
		assert_true(i == (rows[k].i ? rows[k].iv : 1));
	}
	assert_true(str_to_double(STR("-1.5e3"), &d) && d <= -1499.9 &&
	    d >= -1500.1);
	assert_false(str_to_double(STR(""), &d));
	assert_false(str_to_double(STR(" 1"), &d));
	assert_false(str_to_double(STR("1x"), &d));
	assert_false(str_to_double(STR("inf"), &d));
	assert_false(str_to_double(STR("nan"), &d));
	assert_false(str_to_double(STR("1e999"), &d));
	/* The longest text that is read has 63 bytes. */
	char text[65];
	memset(text, '0', sizeof(text));
	assert_true(str_to_double((struct str){ text, 63 }, &d));
	assert_false(str_to_double((struct str){ text, 64 }, &d));
}

static void
test_letters(void **state)
{
	(void)state;
	for (int i = -128; i < 128; i++) {
		char c = (char)i;
		bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
		assert_int_equal(ascii_is_alpha(c), upper || lower);
		assert_int_equal(ascii_lower(c), upper ? c + 32 : c);
		assert_int_equal(ascii_is_digit(c), c >= '0' && c <= '9');
		assert_int_equal(ascii_is_space(c), c != '\0' &&
		    strchr(" \t\n\r\f", c) != NULL);
		const char *hex = "0123456789abcdef";
		const char *at = c == '\0' ? NULL : strchr(hex, upper ? c + 32 :
		    c);
		assert_int_equal(ascii_hex_value(c), at == NULL ? -1 :
		    (int)(at - hex));
	}
	assert_int_equal(str_percent_byte(STR("%fF1")), 0xff);
	assert_int_equal(str_percent_byte(STR("%4")), -1);
	assert_int_equal(str_percent_byte(STR("%4g")), -1);
	assert_int_equal(str_percent_byte(STR("x41")), -1);
}

static void
test_buf(void **state)
{
	struct buf b = BUF_INIT;
	char big[500];

	(void)state;
	assert_string_equal(buf_text(&b), "");
	assert_int_equal(b.n, 0);
	buf_put(&b, NULL, 0);
	assert_non_null(buf_grow(&b, 0));
	assert_int_equal(b.n, 0);
	buf_put_text(&b, "ab");
	buf_put_char(&b, '\0');
	buf_put_str(&b, STR("cd"));
	buf_put_str(&b, STR_NONE);
	assert_true(str_eq(buf_str(&b), STR("ab\0cd")));
	memcpy(buf_grow(&b, 2), "ef", 2);
	assert_true(str_eq(buf_str(&b), STR("ab\0cdef")));
	buf_clear(&b);
	assert_true(b.n == 0 && b.cap > 0);
	/* printf at every length around the room that is there. */
	memset(big, 'x', sizeof(big));
	for (int n = 0; n < (int)sizeof(big); n++) {
		buf_free(&b);
		buf_put_char(&b, '<');
		buf_printf(&b, "%.*s>", n, big);
		assert_int_equal(b.n, n + 2);
		assert_int_equal(b.p[0], '<');
		assert_int_equal(b.p[n + 1], '>');
		assert_int_equal(strlen(buf_text(&b)), n + 2);
	}
	/* Growth keeps what is there. */
	buf_free(&b);
	for (int i = 0; i < 100000; i++)
		buf_put_char(&b, (char)i);
	for (int i = 0; i < 100000; i++)
		if (b.p[i] != (char)i)
			fail_msg("byte %d", i);
	assert_true(b.cap <= 4 * b.n);
	buf_free(&b);
	assert_null(b.p);
	buf_free(&b);
}

static void
test_integers(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	buf_put_be16(&b, 0x0102);
	buf_put_be32(&b, 0x03040506);
	buf_put_be48(&b, UINT64_C(0x0708090a0b0c));
	buf_put_be64(&b, UINT64_C(0x0d0e0f1011121314));
	assert_int_equal(b.n, 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(b.p[i], i + 1);
	struct reader r = reader_of(buf_str(&b));
	assert_int_equal(read_be16(&r), 0x0102);
	assert_int_equal(read_be32(&r), 0x03040506);
	assert_true(read_be48(&r) == UINT64_C(0x0708090a0b0c));
	assert_true(read_be64(&r) == UINT64_C(0x0d0e0f1011121314));
	assert_false(r.bad);
	assert_int_equal(read_u8(&r), 0);
	assert_true(r.bad);
	buf_free(&b);
}

static void
test_varints(void **state)
{
	static const uint64_t values[] = { 0, 1, 127, 128, 16383, 16384,
		UINT32_MAX, INT64_MAX, UINT64_MAX - 1, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		struct buf b = BUF_INIT;
		buf_put_varint(&b, values[i]);
		assert_true(b.n <= 10);
		struct reader r = reader_of(buf_str(&b));
		assert_true(read_varint(&r) == values[i]);
		assert_true(!r.bad && r.n == 0);
		/* Each cut is noticed. */
		for (size_t n = 0; n < b.n; n++) {
			r = reader_of(str_cut(buf_str(&b), 0, n));
			read_varint(&r);
			assert_true(r.bad);
		}
		buf_free(&b);
	}
	struct reader r = reader_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff"
	    "\x02"));
	assert_int_equal(read_varint(&r), 0);
	assert_true(r.bad);
	r = reader_of(STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
	read_varint(&r);
	assert_true(r.bad);
}

/* After the first read past the end all reads give nothing. */
static void
test_sticky(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	buf_put_field(&b, STR("abc"));
	buf_put_field(&b, STR(""));
	struct reader r = reader_of(buf_str(&b));
	assert_str(read_field(&r), "abc");
	assert_int_equal(read_field(&r).n, 0);
	assert_true(!r.bad && r.n == 0);
	r = reader_of(STR("\x05" "abc"));
	assert_null(read_field(&r).p);
	assert_true(r.bad);
	assert_int_equal(read_u8(&r), 0);
	assert_null(read_bytes(&r, 0).p);
	r = reader_of(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "abc"));
	assert_null(read_field(&r).p);
	assert_true(r.bad);
	r = reader_of(STR_NONE);
	assert_int_equal(read_bytes(&r, 0).n, 0);
	assert_false(r.bad);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_decimal),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_buf),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_varints),
		cmocka_unit_test(test_sticky),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

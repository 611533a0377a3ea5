#include "wire/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* RFC 4648 §10. */
static void
test_write(void **state)
{
	static const char *const rows[][2] = { { "", "" }, { "f", "Zg==" },
		{ "fo", "Zm8=" }, { "foo", "Zm9v" }, { "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" }, { "foobar", "Zm9vYmFy" },
		{ "\xfb\xff\xbf", "+/+/" } };
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_clear(&b);
		base64_put(&b, str_of(rows[i][0]));
		assert_string_equal(buf_text(&b), rows[i][1]);
		assert_int_equal(b.n, BASE64_LENGTH(strlen(rows[i][0])));
	}
	buf_free(&b);
}

static void
test_read(void **state)
{
	static const struct {
		const char *letters, *plain;
	} good[] = {
		{ "", "" }, { "Zg==", "f" }, { "Zg", "f" }, { "Zm8=", "fo" },
		{ "Zm8", "fo" }, { "Zm9v", "foo" }, { "Zm9vYg", "foob" },
		{ "+/+/", "\xfb\xff\xbf" },
	};
	static const char *const bad[] = { "Z", "Zm9vY", "Zg=", "Z*==",
	    "=Zg=", "Zg== ", "-_-_" };
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		buf_clear(&b);
		assert_true(base64_read(&b, str_of(good[i].letters)));
		assert_true(str_eq(buf_str(&b), str_of(good[i].plain)));
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(base64_read(&b, str_of(bad[i])));
	buf_free(&b);
}

/* All bytes at all three places, and every length: back as they went. */
static void
test_round_trip(void **state)
{
	struct buf letters = BUF_INIT, back = BUF_INIT;
	char bytes[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / 256);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		struct str s = { bytes + sizeof(bytes) - n, n };
		buf_clear(&letters);
		buf_clear(&back);
		base64_put(&letters, s);
		assert_true(base64_read(&back, buf_str(&letters)));
		assert_true(str_eq(buf_str(&back), s));
	}
	buf_free(&letters);
	buf_free(&back);
}

/* Many at once, and three at a time. */
static void
test_long(void **state)
{
	struct buf whole = BUF_INIT, pieces = BUF_INIT;
	char bytes[3 * 256];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * i * 31 + i / 5);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		struct str s = { bytes, n };
		buf_clear(&whole);
		buf_clear(&pieces);
		base64_put(&whole, s);
		for (size_t i = 0; i < n; i += 3)
			base64_put(&pieces, str_cut(s, i, i + 3));
		assert_true(str_eq(buf_str(&whole), buf_str(&pieces)));
	}
	buf_free(&whole);
	buf_free(&pieces);
}

/* RFC 4648 §5; RFC 7515 appendix C. */
static void
test_url_alphabet(void **state)
{
	static const struct {
		const char *letters, *plain;
	} good[] = {
		{ "", "" }, { "Zg", "f" }, { "Zm8", "fo" }, { "Zm9v", "foo" },
		{ "-_-_", "\xfb\xff\xbf" },
		{ "A-z_4ME", "\x03\xec\xff\xe0\xc1" },
	};
	/* A letter too many, padding, bits behind the end, foreign letters. */
	static const char *const bad[] = { "Z", "Zm9vY", "Zg==", "Zm8=", "Zh",
	    "Zm9", "+/+/", "Z*", "Zg ", "Z g" };
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		buf_clear(&b);
		buf_put_char(&b, '.');
		base64url_put(&b, str_of(good[i].plain));
		assert_string_equal(buf_text(&b) + 1, good[i].letters);
		buf_clear(&b);
		assert_true(base64url_read(&b, str_of(good[i].letters)));
		assert_true(str_eq(buf_str(&b), str_of(good[i].plain)));
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		buf_clear(&b);
		buf_put_char(&b, '.');
		assert_false(base64url_read(&b, str_of(bad[i])));
		assert_int_equal(b.n, 1);
	}
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_url_alphabet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

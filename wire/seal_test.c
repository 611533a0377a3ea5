#include "wire/seal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct seal_key key = { "0123456789abcdef0123456789abcde" };

static void
what_is_sealed_opens(void **state)
{
	static const size_t sizes[] = { 0, 1, 15, 16, 17, 5000 };
	FREED(buf_free) struct buf text = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		FREED(buf_free) struct buf sealed = BUF_INIT;
		FREED(buf_free) struct buf out = BUF_INIT;
		while (text.n < sizes[i])
			buf_put_char(&text, (char)('a' + text.n % 26));
		seal_put(&key, STR("session a"), buf_str(&text), &sealed);
		assert_int_equal(sealed.n, text.n + SEAL_MORE_BYTES);
		buf_put_text(&out, "before ");
		assert_true(seal_open(&key, STR("session a"),
		    buf_str(&sealed), &out));
		assert_true(str_eq(str_from(buf_str(&out), 7),
		    buf_str(&text)));
	}
}

static void
a_nonce_is_never_used_again(void **state)
{
	FREED(buf_free) struct buf a = BUF_INIT, b = BUF_INIT;

	(void)state;
	seal_put(&key, STR("x"), STR("the same text"), &a);
	seal_put(&key, STR("x"), STR("the same text"), &b);
	assert_false(str_eq(buf_str(&a), buf_str(&b)));
	assert_int_equal(str_find(buf_str(&a), STR("same")), a.n);
}

/* Another key, another context, any byte changed, cut or added. */
static void
what_was_changed_does_not_open(void **state)
{
	FREED(buf_free) struct buf sealed = BUF_INIT, out = BUF_INIT;
	struct seal_key other = key;

	(void)state;
	seal_put(&key, STR("session a"), STR("cookie=1"), &sealed);
	assert_false(seal_open(&key, STR("session b"), buf_str(&sealed),
	    &out));
	other.bytes[31] ^= 1;
	assert_false(seal_open(&other, STR("session a"), buf_str(&sealed),
	    &out));
	for (size_t i = 0; i < sealed.n; i++) {
		sealed.p[i] ^= 1;
		assert_false(seal_open(&key, STR("session a"),
		    buf_str(&sealed), &out));
		sealed.p[i] ^= 1;
		assert_false(seal_open(&key, STR("session a"),
		    str_cut(buf_str(&sealed), 0, i), &out));
	}
	assert_int_equal(out.n, 0);
	assert_true(seal_open(&key, STR("session a"), buf_str(&sealed),
	    &out));
	buf_put_char(&sealed, 'x');
	assert_false(seal_open(&key, STR("session a"), buf_str(&sealed),
	    &out));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sealed_opens),
		cmocka_unit_test(a_nonce_is_never_used_again),
		cmocka_unit_test(what_was_changed_does_not_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

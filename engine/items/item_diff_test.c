#include "engine/items/item_event.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
check_diff(const char *before, const char *after, const char *expected)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	item_diff(str_of(before), str_of(after), &b);
	assert_string_equal(buf_text(&b), expected);
}

static void
members(void **state)
{
	(void)state;
	check_diff("{}", "{}", "[]");
	check_diff("{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "[]");
	check_diff("{}", "{\"a\":1}",
	    "[{\"op\":\"add\",\"path\":\"/a\",\"value\":1}]");
	check_diff("{\"a\":1}", "{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]");
	check_diff("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":[2]}}",
	    "[{\"op\":\"replace\",\"path\":\"/a/b\",\"value\":[2]}]");
	check_diff("{\"a\":null}", "{\"a\":false}",
	    "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":false}]");
	check_diff("{\"a\":{}}", "{\"a\":[]}",
	    "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":[]}]");
	check_diff("{}", "{\"n\":12345678901234567890123}", "[{\"op\":\"add\","
	    "\"path\":\"/n\",\"value\":12345678901234567890123}]");
	check_diff("{\"a\":1,\"b\":2}", "{\"c\":3,\"b\":2}",
	    "[{\"op\":\"remove\",\"path\":\"/a\"},"
	    "{\"op\":\"add\",\"path\":\"/c\",\"value\":3}]");
}

/* RFC 6901 §3 and §5. */
static void
keys_are_escaped(void **state)
{
	(void)state;
	check_diff("{}", "{\"a/b\":0}",
	    "[{\"op\":\"add\",\"path\":\"/a~1b\",\"value\":0}]");
	check_diff("{}", "{\"m~n\":0}",
	    "[{\"op\":\"add\",\"path\":\"/m~0n\",\"value\":0}]");
	check_diff("{}", "{\"\":0}",
	    "[{\"op\":\"add\",\"path\":\"/\",\"value\":0}]");
	check_diff("{}", "{\"k\\\"l\":0}",
	    "[{\"op\":\"add\",\"path\":\"/k\\\"l\",\"value\":0}]");
}

static void
elements(void **state)
{
	(void)state;
	check_diff("{\"a\":[1,2,3]}", "{\"a\":[1,5]}",
	    "[{\"op\":\"replace\",\"path\":\"/a/1\",\"value\":5},"
	    "{\"op\":\"remove\",\"path\":\"/a/2\"}]");
	/* From the back, so that each path is right when its turn comes. */
	check_diff("{\"a\":[1,2,3]}", "{\"a\":[1]}",
	    "[{\"op\":\"remove\",\"path\":\"/a/2\"},"
	    "{\"op\":\"remove\",\"path\":\"/a/1\"}]");
	check_diff("{\"a\":[]}", "{\"a\":[{},[]]}",
	    "[{\"op\":\"add\",\"path\":\"/a/0\",\"value\":{}},"
	    "{\"op\":\"add\",\"path\":\"/a/1\",\"value\":[]}]");
	check_diff("{\"a\":[[1]]}", "{\"a\":[[2]]}",
	    "[{\"op\":\"replace\",\"path\":\"/a/0/0\",\"value\":2}]");
}

static void
deep_values_are_replaced(void **state)
{
	FREED(buf_free) struct buf a = BUF_INIT, b = BUF_INIT, d = BUF_INIT;

	(void)state;
	for (int i = 0; i < 200; i++) {
		buf_put_text(&a, "{\"k\":");
		buf_put_text(&b, "{\"k\":");
	}
	buf_put_char(&a, '1');
	buf_put_char(&b, '2');
	for (int i = 0; i < 200; i++) {
		buf_put_char(&a, '}');
		buf_put_char(&b, '}');
	}
	item_diff(buf_str(&a), buf_str(&b), &d);
	assert_true(str_starts(buf_str(&d), STR("[{\"op\":\"replace\","
	    "\"path\":\"/k/k/")));
}

/* {"a":"xxx..."} whose difference has so many bytes. */
static void
check_length(size_t n, bool fits)
{
	static const char frame[] = "[{\"op\":\"add\",\"path\":\"/a\","
	    "\"value\":\"\"}]";
	FREED(buf_free) struct buf b = BUF_INIT, d = BUF_INIT;

	buf_put_text(&b, "{\"a\":\"");
	for (size_t i = sizeof(frame) - 1; i < n; i++)
		buf_put_char(&b, 'x');
	buf_put_text(&b, "\"}");
	buf_put_text(&d, "before");
	item_diff(STR("{}"), buf_str(&b), &d);
	if (fits)
		assert_int_equal(d.n, 6 + n);
	else
		assert_string_equal(buf_text(&d), "beforenull");
}

static void
long_ones_are_null(void **state)
{
	(void)state;
	check_length(ITEM_DIFF_BYTES_MAX - 1, true);
	check_length(ITEM_DIFF_BYTES_MAX, true);
	check_length(ITEM_DIFF_BYTES_MAX + 1, false);
	check_diff("{", "{}", "null");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members),
		cmocka_unit_test(keys_are_escaped),
		cmocka_unit_test(elements),
		cmocka_unit_test(deep_values_are_replaced),
		cmocka_unit_test(long_ones_are_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

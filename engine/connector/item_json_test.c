/* JSON as Python's json module writes it. */
#include "engine/connector/item_json.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* What json.dumps(json.loads(text)) is, with repairs. */
static void
check(const char *text, const char *want)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct item_json j;
	struct why w = WHY_INIT;

	assert_int_equal(item_json_parse(str_of(text), &a, &j, &w), OK);
	item_json_put(&b, j.root);
	assert_string_equal(buf_text(&b), want);
	buf_free(&b);
	arena_free(&a);
}

static void
values_are_written_like_python(void **state)
{
	(void)state;
	check("{\"a\":[1,true,false,null,\"\"],\"b\":{},\"c\":[]}",
	    "{\"a\": [1, true, false, null, \"\"], \"b\": {}, \"c\": []}");
	check("\"\\u0000\\b\\t\\n\\f\\r\\u001f\\u007f\\\"\\\\\\/\"",
	    "\"\\u0000\\b\\t\\n\\f\\r\\u001f\\u007f\\\"\\\\/\"");
	check("\"\xc3\xa9 \xe9\x9b\xaa \xf0\x9f\x98\x80 \xef\xbf\xbf\"",
	    "\"\\u00e9 \\u96ea \\ud83d\\ude00 \\uffff\"");
	check("\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\"");
	check("{\"b\":1,\"a\":2}", "{\"b\": 1, \"a\": 2}");
}

static void
numbers_are_written_like_python(void **state)
{
	(void)state;
	check("[0,-0,18446744073709551615,-9223372036854775808]",
	    "[0, 0, 18446744073709551615, -9223372036854775808]");
	check("[123456789012345678901234567890]",
	    "[123456789012345678901234567890]");
	check("[1.0,-0.0,0.1,1e5,1E+15,1e16,123456789.123456789]",
	    "[1.0, -0.0, 0.1, 100000.0, 1000000000000000.0, 1e+16, "
	    "123456789.12345679]");
	check("[0.0001,0.00001,1e-7,1.5e-7,1e22,1e100,5e-324]",
	    "[0.0001, 1e-05, 1e-07, 1.5e-07, 1e+22, 1e+100, 5e-324]");
	check("[100000000000000000000.0,38.8998300000001,1234567890123456.7]",
	    "[1e+20, 38.8998300000001, 1234567890123456.8]");
}

/* An escape without its other half stays one. */
static void
lone_surrogates_are_kept(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct item_json j;

	(void)state;
	check("[\"a\\ud83d\", \"\\ude00b\", \"\\ud83d\\ud83d\\ude00\"]",
	    "[\"a\\ud83d\", \"\\ude00b\", \"\\ud83d\\ud83d\\ude00\"]");
	/* Not an escape, but a backslash before one. */
	check("[\"\\ud83d\",\"\\\\ud83d\"]", "[\"\\ud83d\", \"\\\\ud83d\"]");
	assert_int_equal(item_json_parse(STR("\"x\\ud83dy\""), &a, &j, NULL),
	    OK);
	assert_false(j.repaired);
	item_json_put_utf8(&b, (struct str){ yyjson_get_str(j.root),
	    yyjson_get_len(j.root) });
	assert_string_equal(buf_text(&b), "x\xef\xbf\xbdy");
	buf_clear(&b);
	/* Hangul begins with the same byte. */
	item_json_put_utf8(&b, STR("\xed\x95\x9c\xea\xb8\x80\xed"));
	assert_string_equal(buf_text(&b), "\xed\x95\x9c\xea\xb8\x80\xed");
	buf_free(&b);
	arena_free(&a);
}

static void
other_bytes_are_replaced(void **state)
{
	struct arena a = ARENA_INIT;
	struct item_json j;

	(void)state;
	check("[\"caf\xe9\",\"\xff\xfe\",\"\xe9\x9b\"]",
	    "[\"caf\\ufffd\", \"\\ufffd\\ufffd\", \"\\ufffd\\ufffd\"]");
	assert_int_equal(item_json_parse(STR("\"\xe9\""), &a, &j, NULL), OK);
	assert_true(j.repaired);
	arena_free(&a);
}

static void
faults_are_named(void **state)
{
	static const char *const texts[] = { "", "{", "[1,", "nothing",
		"{\"a\"}", "\"\\x\"", "\"\\ud83d", "<html>", "[\"\xe9\"" };
	struct arena a = ARENA_INIT;
	struct item_json j;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct why w = WHY_INIT;
		assert_int_equal(item_json_parse(str_of(texts[i]), &a, &j,
		    &w), ERR_INPUT);
		assert_int_not_equal(w.text[0], '\0');
	}
	arena_free(&a);
}

/* Several values in one text are read one after the other. */
static void
one_value_at_a_time(void **state)
{
	struct arena a = ARENA_INIT;
	struct str s = STR("[1] {\"a\":2}");
	struct item_json j;

	(void)state;
	assert_int_equal(item_json_parse(s, &a, &j, NULL), OK);
	assert_int_equal(j.used, 3);
	assert_int_equal(item_json_parse(str_from(s, 4), &a, &j, NULL), OK);
	assert_true(yyjson_is_obj(j.root));
	arena_free(&a);
}

/* The same by the reader of such texts, whose values are written at once. */
static void
check_values(struct str text, const char *want)
{
	struct arena a = ARENA_INIT;
	struct item_json_values v = item_json_values_of(text, &a);
	struct buf b = BUF_INIT;
	struct item_json j;
	enum err e = OK;

	while (e == OK && v.rest.n > 0) {
		e = item_json_next(&v, &j, NULL);
		if (e == OK)
			item_json_put(&b, j.root);
		buf_put_char(&b, e == OK ? ';' : '!');
	}
	assert_string_equal(buf_text(&b), want);
	buf_free(&b);
	item_json_values_free(&v);
	arena_free(&a);
}

static void
values_follow_one_another(void **state)
{
	(void)state;
	check_values(STR(" \r\n"), "");
	check_values(STR(" {\"a\":\"\\u00e9\"}\n"),
	    "{\"a\": \"\\u00e9\"};");
	check_values(STR("1 {\"a\":\"b\\nc\"}\n[3,\"d\"]\t\"e\""),
	    "1;{\"a\": \"b\\nc\"};[3, \"d\"];\"e\";");
	check_values(STR("123456789012345678901[2]123456789012345678901\"f\""),
	    "123456789012345678901;[2];123456789012345678901;\"f\";");
	check_values(STR("1 2 } 4"), "1;2;!");
	check_values(STR("1 2 [\"\xe9\"]"), "1;2;[\"\\ufffd\"];");
	check_values(STR("[\"\\ud83d\"]"), "[\"\\ud83d\"];");
	/* Behind what had to be repaired nothing is read. */
	check_values(STR("1 [\"\xe9\"] 3"), "1;[\"\\ufffd\"];");
}

/* So many values are read, and what their reader took for it. */
static size_t
read_many(const char *values, size_t n, size_t want)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct item_json j;
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		buf_put_text(&b, values);
	struct item_json_values v = item_json_values_of(buf_str(&b), &a);
	for (; v.rest.n > 0; found++)
		assert_int_equal(item_json_next(&v, &j, NULL), OK);
	assert_int_equal(found, want);
	size_t total = v.value.total;
	assert_true(a.total + v.kept.total + total <= 64 * b.n);
	buf_free(&b);
	item_json_values_free(&v);
	arena_free(&a);
	return total;
}

static void
many_values_are_not_copied_each_time(void **state)
{
	(void)state;
	read_many("[7] ", 1 << 19, 1 << 19);
	/* The parser ends a long number's text where the next value begins. */
	assert_true(read_many("123456789012345678901[7]", 1 << 15, 1 << 16) <
	    100000);
}

/* 8 million numbers take the memory that they need, and not twice that. */
static void
long_texts_take_no_more_than_they_need(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct item_json j;
	size_t n = (size_t)8 << 20;

	(void)state;
	buf_put_char(&b, '[');
	for (size_t i = 0; i < n; i++)
		buf_put_text(&b, i > 0 ? ",1" : "1");
	buf_put_char(&b, ']');
	assert_int_equal(item_json_parse(buf_str(&b), &a, &j, NULL), OK);
	assert_int_equal(yyjson_arr_size(j.root), n);
	assert_true(a.total <= 13 * b.n + 4096);
	buf_free(&b);
	arena_free(&a);
}

/* A stack has an end. */
static void
depth_is_bounded(void **state)
{
	enum { DEPTH = 1000000 };
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT, out = BUF_INIT;
	struct item_json j;

	(void)state;
	memset(buf_grow(&b, DEPTH), '[', DEPTH);
	memset(buf_grow(&b, DEPTH), ']', DEPTH);
	assert_int_equal(item_json_parse(buf_str(&b), &a, &j, NULL), OK);
	item_json_put(&out, j.root);
	assert_int_equal(out.n, 2 * ITEM_JSON_DEPTH_MAX + 6);
	buf_free(&b);
	buf_free(&out);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_written_like_python),
		cmocka_unit_test(numbers_are_written_like_python),
		cmocka_unit_test(lone_surrogates_are_kept),
		cmocka_unit_test(other_bytes_are_replaced),
		cmocka_unit_test(faults_are_named),
		cmocka_unit_test(one_value_at_a_time),
		cmocka_unit_test(values_follow_one_another),
		cmocka_unit_test(many_values_are_not_copied_each_time),
		cmocka_unit_test(long_texts_take_no_more_than_they_need),
		cmocka_unit_test(depth_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

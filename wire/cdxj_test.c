#include "wire/cdxj.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void
test_round_trip(void **state)
{
	struct cdxj_line l = { .surt = STR("org,example)/a"),
		.url = STR("http://example.org/a\"\\\x01\xff\xc3\xa4"),
		.mime = STR("text/html"), .digest = STR("sha1:X"),
		.status = 200, .length = 123, .method = STR("POST"),
		.request_body = STR("a=b") }, back;
	struct buf b = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;

	(void)state;
	cdxj_put_head(&b, &l, (struct wall){ INT64_C(1793176696123456) });
	cdxj_put_tail(&b, 456, STR("x.warc.gz"));
	assert_string_equal(buf_text(&b), "org,example)/a 20261028083816 "
	    "{\"url\":\"http://example.org/a\\\"\\\\\\u0001\xef\xbf\xbd"
	    "\xc3\xa4\",\"mime\":\"text/html\",\"status\":\"200\","
	    "\"digest\":\"sha1:X\",\"method\":\"POST\","
	    "\"requestBody\":\"a=b\",\"length\":\"123\",\"offset\":\"456\","
	    "\"filename\":\"x.warc.gz\"}\n");
	assert_int_equal(cdxj_parse(buf_str(&b), &a, &back, &w), OK);
	assert_true(str_eq(back.surt, l.surt));
	assert_true(str_eq(back.time, STR("20261028083816")));
	assert_true(str_eq(back.mime, l.mime));
	assert_int_equal(back.status, 200);
	assert_int_equal(back.length, 123);
	assert_int_equal(back.offset, 456);
	assert_true(str_eq(back.filename, STR("x.warc.gz")));
	assert_true(str_eq(back.method, STR("POST")));
	buf_free(&b);
	arena_free(&a);
}

/* A blank in the key would end it; a line end would end the line. */
static void
test_hostile_key(void **state)
{
	struct cdxj_line l = { .surt = STR("a b\n\x7f"), .url = STR("u\n"),
		.time = STR("20200101000000") };
	struct buf b = BUF_INIT;

	(void)state;
	cdxj_put_head(&b, &l, (struct wall){ 0 });
	assert_string_equal(buf_text(&b), "a%20b%0a%7f 20200101000000 "
	    "{\"url\":\"u\\u000a\",\"mime\":\"\",\"length\":\"0\",");
	buf_free(&b);
}

static void
test_foreign_lines(void **state)
{
	static const struct str good[] = {
		STR("com,a)/ 20200101000000 {\"offset\": 5}"),
		STR("com,a)/ 20200101000000 {\"url\": null, \"status\": 404,"
		    " \"length\": \"x\", \"offset\": \"5\", \"new\": []}\r\n"),
	};
	static const struct str bad[] = {
		STR(""), STR("\n"), STR("a"), STR("a 20200101000000"),
		STR("a 2020010100000 {\"offset\": 5}"),
		STR("a 2020010100000x {\"offset\": 5}"),
		STR("a 20200101000000 {}"), STR("a 20200101000000 []"),
		STR("a 20200101000000 {\"offset\": -5}"),
		STR("a 20200101000000 {\"offset\": 5"),
		STR("!meta 0 {\"format\": \"x\"}"),
	};
	struct arena a = ARENA_INIT;
	struct cdxj_line l;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(cdxj_parse(good[i], &a, &l, NULL), OK);
		assert_int_equal(l.offset, 5);
		assert_int_equal(l.length, 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct why w = WHY_INIT;
		assert_int_equal(cdxj_parse(bad[i], &a, &l, &w), ERR_INPUT);
		assert_true(w.text[0] != '\0');
	}
	arena_free(&a);
}

static void
test_request_bodies(void **state)
{
	static const struct {
		struct str type, body;
		const char *key;
	} rows[] = {
		{ STR("application/x-www-form-urlencoded"), STR("a=b&c=d e#"),
		    "a=b&c=d%20e%23" },
		{ STR("application/json; charset=utf-8"),
		    STR("{\"a\":1,\"b\":{\"a\":[\"x y\",true]},\"c\":null,"
		    "\"d\":0.1,\"e\":-2}"),
		    "a=1&a.2_=x+y&a.3_=true&c=null&d=0.1&e=-2" },
		{ STR("application/json"), STR("{broken"),
		    "__wb_post_data=e2Jyb2tlbg%3D%3D" },
		{ STR("text/plain"), STR("hello"),
		    "__wb_post_data=aGVsbG8%3D" },
		{ STR(""), STR(""), "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b = BUF_INIT;
		cdxj_put_request_body(&b, rows[i].type, rows[i].body);
		assert_string_equal(buf_text(&b), rows[i].key);
		buf_free(&b);
	}
}

/* Only the first CDXJ_POST_BYTES_MAX bytes of a body count. */
static void
test_body_limit(void **state)
{
	struct buf in = BUF_INIT, one = BUF_INIT, two = BUF_INIT;

	(void)state;
	while (in.n < CDXJ_POST_BYTES_MAX)
		buf_put_char(&in, 'x');
	cdxj_put_request_body(&one, STR("text/plain"), buf_str(&in));
	buf_put_char(&in, 'y');
	cdxj_put_request_body(&two, STR("text/plain"), buf_str(&in));
	assert_true(str_eq(buf_str(&one), buf_str(&two)));
	in.p[0] = 'z';
	buf_clear(&two);
	cdxj_put_request_body(&two, STR("text/plain"), buf_str(&in));
	assert_false(str_eq(buf_str(&one), buf_str(&two)));
	buf_free(&in);
	buf_free(&one);
	buf_free(&two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_hostile_key),
		cmocka_unit_test(test_foreign_lines),
		cmocka_unit_test(test_request_bodies),
		cmocka_unit_test(test_body_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "os/web_parts.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
hosts(void **state)
{
	static const struct {
		const char *host;
		bool loopback;
	} t[] = {
		{ "localhost", true }, { "LOCALHOST:8001", true },
		{ "127.0.0.1", true }, { "127.9.9.9:1", true },
		{ "[::1]", true }, { "[::1]:8001", true },
		{ "a.localhost:80", true }, { "localhost:", false },
		{ "localhost:99999", false }, { "localhost:8x", false },
		{ ".localhost", false }, { "", false }, { ":80", false },
		{ "localhost.evil.example", false }, { "evil.example", false },
		{ "127.0.0.1.evil.example", false }, { "128.0.0.1", false },
		{ "127.1", false }, { "0.0.0.0", false }, { "[::2]", false },
		{ "[::1]x", false }, { "[::1", false },
		{ "localhost,b", false },
		{ "xlocalhost", false }, { "localhost.", false },
		{ "0177.0.0.1", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		if (web_host_is_loopback(str_of(t[i].host)) != t[i].loopback)
			fail_msg("host %s", t[i].host);
	assert_false(web_host_is_loopback((struct str){ "127.0.0.1\0", 10 }));
	assert_true(web_origin_is_loopback(STR("http://localhost:3000")));
	assert_true(web_origin_is_loopback(STR("HTTPS://127.0.0.1")));
	assert_false(web_origin_is_loopback(STR("http://evil.example")));
	assert_false(web_origin_is_loopback(STR("null")));
	assert_false(web_origin_is_loopback(STR("file://localhost")));
	assert_false(web_origin_is_loopback(STR("http://")));
}

static void
lengths(void **state)
{
	uint64_t n;

	(void)state;
	assert_true(web_length(STR(" 12 "), &n));
	assert_int_equal(n, 12);
	assert_true(web_length(STR("999999999999999999"), &n));
	assert_false(web_length(STR("9999999999999999999"), &n));
	assert_false(web_length(STR("-1"), &n));
	assert_false(web_length(STR("+1"), &n));
	assert_false(web_length(STR("1,1"), &n));
	assert_false(web_length(STR("0x10"), &n));
	assert_false(web_length(STR(""), &n));
}

static void
nothing(struct web_request *r)
{
	(void)r;
}

static void
routes_meet(void **state)
{
	static const struct web_route t[] = {
		{ "GET", "/", WEB_PREFIX, nothing, NULL, "" },
		{ "GET", "/a/", WEB_PREFIX, nothing, NULL, "" },
		{ "POST", "/a/", WEB_PREFIX, nothing, NULL, "" },
		{ "GET", "/a/b", WEB_EXACT, nothing, NULL, "" },
		{ "DELETE", "/x", WEB_EXACT, nothing, NULL, "" },
	};
	static const struct web_route few[] = {
		{ "POST", "/x", WEB_EXACT, nothing, NULL, "" },
	};
	static const struct {
		const char *method, *path;
		size_t row;
	} want[] = {
		{ "GET", "/", 0 }, { "HEAD", "/", 0 }, { "GET", "/q", 0 },
		{ "GET", "/a/", 1 }, { "GET", "/a/c", 1 }, { "GET", "/a", 0 },
		{ "POST", "/a/b", 2 }, { "GET", "/a/b", 3 },
		{ "GET", "/a/bc", 1 }, { "DELETE", "/x", 4 },
		{ "PUT", "/a/b", 5 }, { "get", "/", 5 }, { "", "/", 5 },
	};
	bool known;
	struct arena a = ARENA_INIT;

	(void)state;
	web_routes_check(t, ARRAY_LEN(t));
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		size_t row = web_route_find(t, ARRAY_LEN(t),
		    str_of(want[i].method), str_of(want[i].path), &known);
		if (row != want[i].row || !known)
			fail_msg("%s %s: row %zu", want[i].method,
			    want[i].path, row);
	}
	assert_int_equal(web_route_find(few, 1, STR("GET"), STR("/y"),
	    &known), 1);
	assert_false(known);
	struct str allow = web_route_allow(t, ARRAY_LEN(t), STR("/a/b"), &a);
	assert_string_equal(allow.p, "GET, HEAD, POST");
	arena_free(&a);
}

static void
errors_are_json(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	web_error_json(&b, STR("a\"b\\c\n \xc3\xa4 \xff"), "x");
	assert_string_equal(buf_text(&b), "{\"error\":\"a\\\"b\\\\c\\u000a "
	    "\xc3\xa4 \\ufffd\",\"code\":\"x\"}\n");
	buf_free(&b);
	assert_int_equal(web_status_of_slot(web_status_slot(404)), 404);
	assert_int_equal(web_status_of_slot(web_status_slot(418)), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts), cmocka_unit_test(lengths),
		cmocka_unit_test(routes_meet),
		cmocka_unit_test(errors_are_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

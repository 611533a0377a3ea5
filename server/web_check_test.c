#include "server/web_own.h"

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
origins(void **state)
{
	(void)state;
	assert_true(web_origin_is_of(STR("http://a.org:1"), STR("a.org:1")));
	assert_true(web_origin_is_of(STR("https://A.org"), STR("a.org")));
	assert_false(web_origin_is_of(STR("http://xa.org"), STR("a.org")));
	assert_false(web_origin_is_of(STR("null"), STR("")));
	assert_true(web_origin_is_listed(STR("null"), STR("http://a, null")));
	assert_true(web_origin_is_listed(STR("http://a"), STR("http://a")));
	assert_false(web_origin_is_listed(STR("http://ab"), STR("http://a")));
	assert_false(web_origin_is_listed(STR(""), STR("")));
	assert_false(web_origin_is_listed(STR("null"), STR("")));
}

static void
ranges(void **state)
{
	static const struct {
		const char *value;
		int status;
		uint64_t from, to;
	} t[] = {
		{ "bytes=0-0", 206, 0, 1 }, { "bytes=2-", 206, 2, 10 },
		{ "bytes=-3", 206, 7, 10 }, { "bytes=-30", 206, 0, 10 },
		{ "bytes=9-99", 206, 9, 10 }, { "bytes=10-", 416, 0, 0 },
		{ "bytes=-0", 416, 0, 0 }, { "bytes=5-4", 0, 0, 0 },
		{ "bytes=0-1,3-4", 0, 0, 0 }, { "bytes=", 0, 0, 0 },
		{ "bytes=-", 0, 0, 0 }, { "lines=0-1", 0, 0, 0 },
		{ "bytes=x-1", 0, 0, 0 },
		{ "bytes=99999999999999999999-", 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		uint64_t from = 0, to = 0;
		int status = web_range(str_of(t[i].value), 10, &from, &to);
		if (status != t[i].status || from != t[i].from ||
		    to != t[i].to)
			fail_msg("%s: %d %llu %llu", t[i].value, status,
			    (unsigned long long)from, (unsigned long long)to);
	}
	uint64_t from, to;
	assert_int_equal(web_range(STR("bytes=0-"), 0, &from, &to), 416);
}

static void
nothing(struct web_request *r)
{
	(void)r;
}

#define ROW(method, path, match) { method, path, match, nothing, NULL, "", \
	WEB_TO_ALL, TOKEN_DOOR_CONSOLE, TOKEN_READ, .early = false }

static void
routes_meet(void **state)
{
	static const struct web_route t[] = {
		ROW("GET", "/", WEB_PREFIX),
		ROW("GET", "/a/", WEB_PREFIX),
		ROW("POST", "/a/", WEB_PREFIX),
		ROW("GET", "/a/b", WEB_EXACT),
		ROW("DELETE", "/x", WEB_EXACT),
	};
	static const struct web_route few[] = {
		ROW("POST", "/x", WEB_EXACT),
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
		{ "GET", "/%61/b", 3 }, { "GET", "/a/%62", 3 },
		{ "GET", "/a%2Fb", 0 }, { "GET", "/a/b%2F", 1 },
		{ "GET", "/a/%6", 1 }, { "GET", "/a/b/", 1 },
	};
	const struct web_route *rows[ARRAY_LEN(t)], *one = few;
	bool known;
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		rows[i] = &t[i];
	web_routes_check(rows, ARRAY_LEN(t));
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		size_t row = web_route_find(rows, ARRAY_LEN(t),
		    str_of(want[i].method), str_of(want[i].path), &known);
		if (row != want[i].row || !known)
			fail_msg("%s %s: row %zu", want[i].method,
			    want[i].path, row);
	}
	assert_int_equal(web_route_find(&one, 1, STR("GET"), STR("/y"),
	    &known), 1);
	assert_false(known);
	struct str allow = web_route_allow(rows, ARRAY_LEN(t), STR("/a/b"), &a);
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

static void
test_socket_paths(void **state)
{
	static const struct web_socket_events events = { 0 };
	static const struct web_socket_path rows[] = {
		{ "*", &events, TOKEN_DOOR_REALTIME, NULL },
		{ "/feed", &events, TOKEN_DOOR_ITEMS, NULL },
	};

	(void)state;
	assert_ptr_equal(web_socket_find(rows, 2, STR("/feed")), &rows[1]);
	assert_ptr_equal(web_socket_find(rows, 2, STR("/feed/")), &rows[0]);
	assert_ptr_equal(web_socket_find(rows, 2, STR("/")), &rows[0]);
	assert_null(web_socket_find(rows + 1, 1, STR("/fee")));
	assert_null(web_socket_find(NULL, 0, STR("/feed")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts), cmocka_unit_test(origins),
		cmocka_unit_test(ranges),
		cmocka_unit_test(routes_meet),
		cmocka_unit_test(errors_are_json),
		cmocka_unit_test(test_socket_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

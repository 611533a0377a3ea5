#include "doors/realtime/item.h"
#include "doors/realtime/sync.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <yyjson.h>

#include "wire/base64.h"

/* A capture made by hand: its heads are parsed from text. */
struct made {
	struct journal_entry entry;
	struct capture record;
	struct stream_capture capture;
	struct arena arena;
	struct buf out;
	yyjson_doc *doc;
	yyjson_val *root;
};

static void
make(struct made *m, const char *fields, struct str body, unsigned form)
{
	struct buf head = BUF_INIT;

	memset(m, 0, sizeof(*m));
	buf_printf(&head, "HTTP/1.1 200 OK\r\n%s\r\n", fields);
	assert_int_equal(http_parse_head(arena_copy(&m->arena,
	    buf_str(&head)), false, HTTP_LIMITS_DEFAULT, &m->arena,
	    &m->record.http, NULL), OK);
	buf_free(&head);
	m->record.has_http = true;
	m->entry = (struct journal_entry){ .crawl = 7, .seq = 12,
	    .status = 200, .depth = 2, .url = STR("http://a.example/"),
	    .start = { INT64_C(1795159500321846) }, .duration_us = 1721 };
	m->capture = (struct stream_capture){ .entry = &m->entry,
	    .has_record = true, .record = &m->record, .body = body,
	    .body_length = body.n, .form = form, .mark = "abcd1234" };
}

static void
render(struct made *m)
{
	item_render(&m->capture, &m->out);
	m->doc = yyjson_read(m->out.p, m->out.n, 0);
	if (m->doc == NULL)
		fail_msg("no JSON: %s", buf_text(&m->out));
	m->root = yyjson_doc_get_root(m->doc);
}

static void
end(struct made *m)
{
	yyjson_doc_free(m->doc);
	arena_free(&m->arena);
	buf_free(&m->out);
}

static void
expect_str(yyjson_val *v, const char *name, const char *text)
{
	assert_string_equal(yyjson_get_str(yyjson_obj_get(v, name)), text);
}

/* The whole text, as clients have it. */
static void
test_text(void **state)
{
	struct made m;

	(void)state;
	make(&m, "Server: test\r\nContent-Length: 5\r\n", STR("hello"),
	    STREAM_BODY);
	render(&m);
	assert_string_equal(buf_text(&m.out), "{\"url\":\"http://a.example/\","
	    "\"status_code\":200,\"depth\":2,\"crawl_id\":7,"
	    "\"started_at\":1795159500.321846,"
	    "\"completed_at\":1795159500.323567,\"duration\":0.001721,"
	    "\"body_length\":5,\"truncated\":false,"
	    "\"sync_token\":\"MTIuNy5hYmNkMTIzNA==\","
	    "\"headers\":{\"Server\":\"test\",\"Content-Length\":\"5\"},"
	    "\"body\":\"aGVsbG8=\"}");
	end(&m);
}

/* The fields of the seed, with their types. */
static void
test_types(void **state)
{
	struct made m;

	(void)state;
	make(&m, "A: 1\r\n", STR(""), STREAM_BODY);
	m.entry.start.us = 1795159500000000;
	m.entry.duration_us = 2000000;
	render(&m);
	assert_true(yyjson_is_real(yyjson_obj_get(m.root, "started_at")));
	assert_true(yyjson_is_real(yyjson_obj_get(m.root, "completed_at")));
	assert_true(yyjson_is_real(yyjson_obj_get(m.root, "duration")));
	assert_true(yyjson_is_uint(yyjson_obj_get(m.root, "status_code")));
	assert_true(yyjson_is_uint(yyjson_obj_get(m.root, "depth")));
	assert_true(yyjson_is_uint(yyjson_obj_get(m.root, "crawl_id")));
	assert_true(yyjson_is_obj(yyjson_obj_get(m.root, "headers")));
	expect_str(m.root, "body", "");
	assert_null(yyjson_obj_get(m.root, "final_url"));
	end(&m);
}

/* An object: repeats joined, of several Set-Cookie the first. */
static void
test_headers_object(void **state)
{
	struct made m;

	(void)state;
	make(&m, "Set-Cookie: a=1\r\nVary: x\r\nset-cookie: b=2\r\n"
	    "VARY: y\r\nX-Empty:\r\nvary: z\r\nSET-COOKIE: c=3\r\n",
	    STR_NONE, 0);
	render(&m);
	yyjson_val *h = yyjson_obj_get(m.root, "headers");
	assert_int_equal(yyjson_obj_size(h), 3);
	expect_str(h, "Set-Cookie", "a=1");
	expect_str(h, "Vary", "x, y, z");
	expect_str(h, "X-Empty", "");
	assert_null(yyjson_obj_get(m.root, "body"));
	end(&m);
}

static void
test_headers_list(void **state)
{
	static const char *const want[][2] = { { "Set-Cookie", "a=1" },
	    { "Vary", "x" }, { "set-cookie", "b=2" }, { "VARY", "y" } };
	struct made m;

	(void)state;
	make(&m, "Set-Cookie: a=1\r\nVary: x\r\nset-cookie: b=2\r\n"
	    "VARY: y\r\n", STR_NONE, STREAM_LIST_HEADERS);
	render(&m);
	yyjson_val *h = yyjson_obj_get(m.root, "headers");
	assert_int_equal(yyjson_arr_size(h), ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		for (size_t k = 0; k < 2; k++)
			assert_string_equal(yyjson_get_str(yyjson_arr_get(
			    yyjson_arr_get(h, i), k)), want[i][k]);
	end(&m);
}

/* UTF-8 stays, single bytes are Latin-1, quotes and controls are escaped. */
static void
test_bytes(void **state)
{
	static const unsigned forms[] = { 0, STREAM_LIST_HEADERS };
	struct made m;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		make(&m, "X: caf\xc3\xa9 caf\xe9 \"q\" \\ \x01\xff\xc3\r\n"
		    "Y\xe9: 1\r\n", STR_NONE, forms[i]);
		m.entry.url = STR("http://a.example/\"\xff");
		render(&m);
		yyjson_val *h = yyjson_obj_get(m.root, "headers");
		const char *x = i == 0 ? yyjson_get_str(yyjson_obj_get(h,
		    "X")) : yyjson_get_str(yyjson_arr_get(yyjson_arr_get(h,
		    0), 1));
		assert_string_equal(x, "caf\xc3\xa9 caf\xc3\xa9 \"q\" \\ "
		    "\x01\xc3\xbf\xc3\x83");
		expect_str(m.root, "url", "http://a.example/\"\xef\xbf\xbd");
		end(&m);
	}
}

/* All a body can hold comes back from its letters. */
static void
test_bodies(void **state)
{
	char bytes[1000];
	struct made m;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 13);
	for (size_t n = 0; n < sizeof(bytes); n += 37) {
		struct buf back = BUF_INIT;
		make(&m, "", (struct str){ bytes, n }, STREAM_BODY);
		render(&m);
		yyjson_val *b = yyjson_obj_get(m.root, "body");
		assert_true(base64_read(&back, (struct str){
		    yyjson_get_str(b), yyjson_get_len(b) }));
		assert_true(str_eq(buf_str(&back),
		    (struct str){ bytes, n }));
		buf_free(&back);
		end(&m);
	}
}

/* A door may put a body in front of the last brace. */
static void
test_big(void **state)
{
	struct made m;

	(void)state;
	make(&m, "A: 1\r\n", STR_NONE, STREAM_BODY);
	m.capture.big = true;
	m.capture.body_length = 1000000;
	item_render(&m.capture, &m.out);
	assert_int_equal(m.out.p[m.out.n - 1], '}');
	m.out.n--;
	buf_put_text(&m.out, ",\"body\":\"AAAA\"}");
	m.doc = yyjson_read(m.out.p, m.out.n, 0);
	m.root = yyjson_doc_get_root(m.doc);
	expect_str(m.root, "body", "AAAA");
	assert_int_equal(yyjson_get_uint(yyjson_obj_get(m.root,
	    "body_length")), 1000000);
	end(&m);
}

static void
test_truncated(void **state)
{
	struct made m;

	(void)state;
	for (int i = 0; i < 5; i++) {
		make(&m, "A: 1\r\n", STR("x"), STREAM_BODY);
		m.entry.flags = i == 1 ? JOURNAL_TRUNCATED : i == 2 ?
		    JOURNAL_DAMAGED : JOURNAL_REVISIT;
		m.capture.body_damaged = i == 3;
		if (i == 4) {
			m.capture.has_record = false;
			m.capture.body_damaged = true;
			m.capture.body = STR_NONE;
		}
		render(&m);
		assert_int_equal(yyjson_get_bool(yyjson_obj_get(m.root,
		    "truncated")), i > 0);
		assert_int_equal(yyjson_obj_size(yyjson_obj_get(m.root,
		    "headers")), i < 4);
		assert_non_null(yyjson_obj_get(m.root, "body"));
		end(&m);
	}
}

static void
test_redirected(void **state)
{
	struct made m;

	(void)state;
	make(&m, "A: 1\r\n", STR_NONE, 0);
	m.entry.final_url = STR("http://b.example/there");
	render(&m);
	expect_str(m.root, "url", "http://a.example/");
	expect_str(m.root, "final_url", "http://b.example/there");
	end(&m);
}

static void
test_token(void **state)
{
	struct buf out = BUF_INIT, plain = BUF_INIT;

	(void)state;
	sync_put(&out, SYNC_ITEM, UINT64_MAX, UINT32_MAX, "abcdefgh");
	assert_true(base64_read(&plain, buf_str(&out)));
	assert_string_equal(buf_text(&plain),
	    "18446744073709551615.4294967295.abcdefgh");
	buf_free(&out);
	buf_free(&plain);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_headers_object),
		cmocka_unit_test(test_headers_list),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_redirected),
		cmocka_unit_test(test_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

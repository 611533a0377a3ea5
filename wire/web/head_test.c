#include "wire/http.h"
#include "wire/web/head.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct head_limits limits = { 1000, 5 };

/* Scanned and parsed; the status of the refusal, 0 for a request. */
static int
parse(const char *text, struct arena *a, struct head *h)
{
	struct head_scan s = { 0, 0, false };
	struct head_refusal r;
	struct str in = str_of(text);
	size_t n = head_scan(&s, in, &limits, &r);

	if (r.status != 0)
		return r.status;
	assert_true(n > 0);
	if (head_parse(str_cut(in, 0, n), &limits, a, h, &r)) {
		assert_int_equal(r.status, 0);
		return 0;
	}
	assert_true(r.status >= 400 && r.code != NULL && r.text != NULL);
	return r.status;
}

#define HOST "Host: a\r\n"
static void
refusals(void **state)
{
	static const struct {
		const char *text;
		int status;
	} t[] = {
		{ "GET / HTTP/1.1\r\n" HOST "\r\n", 0 },
		{ "\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 0 },
		{ "GET / HTTP/1.0\r\n\r\n", 0 },
		{ "M-X!*' /a?b HTTP/1.1\r\n" HOST "\r\n", 0 },
		/* Lines. */
		{ "GET / HTTP/1.1\n" HOST "\r\n", 400 },
		{ "GET / HTTP/1.1\r\nHost: a\n\r\n", 400 },
		{ "\nGET / HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "A: b\rc\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "A: b\001\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "A : b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST ": b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "A\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "A(: b\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "A:\r\n\r\n", 0 },
		/* The first one. */
		{ "\x16\x03", 400 }, { " GET / HTTP/1.1\r\n", 400 },
		{ "GET / \r\n" HOST "\r\n", 400 },
		{ "GET  / HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /\tHTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET / HTTP/1.1 \r\n" HOST "\r\n", 505 },
		{ "GET / HTTP/1.2\r\n" HOST "\r\n", 505 },
		{ "GET / http/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /\r\n\r\n", 400 },
		{ "G,T / HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n", 501 },
		/* Targets. */
		{ "GET * HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET a HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /#a HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /%0 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /%g0 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /%00 HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /%7f HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /.. HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /a/../b HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET /a/%2e/b HTTP/1.1\r\n" HOST "\r\n", 0 },
		{ "GET /a/..%2Fb HTTP/1.1\r\n" HOST "\r\n", 0 },
		{ "GET /a/...b HTTP/1.1\r\n" HOST "\r\n", 0 },
		{ "GET http:///a HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET http://u@b/a HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET ftp://b/a HTTP/1.1\r\n" HOST "\r\n", 400 },
		{ "GET http://b?q HTTP/1.1\r\n" HOST "\r\n", 0 },
		/* Hosts. */
		{ "GET / HTTP/1.1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400 },
		/* Framing. */
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 1,1\r\n\r\n",
		    400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 0x1\r\n\r\n",
		    400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
		    "content-length: 1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST
		    "Content-Length: 9999999999999999999\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST
		    "Content-Length: 999999999999999999\r\n\r\n", 0 },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
		    "\r\n", 0 },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: x\r\n\r\n",
		    501 },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
		    "Content-Length: 1\r\n\r\n", 400 },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
		    "Transfer-Encoding: chunked\r\n\r\n", 501 },
		{ "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		    400 },
		{ "GET / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\n\r\n",
		    0 },
		{ "GET / HTTP/1.1\r\n" HOST "Expect: x\r\n\r\n", 417 },
		/* Five fields and no more. */
		{ "GET / HTTP/1.1\r\n" HOST "A:\r\nA:\r\nA:\r\nA:\r\n\r\n",
		    0 },
		{ "GET / HTTP/1.1\r\n" HOST "A:\r\nA:\r\nA:\r\nA:\r\nA:\r\n"
		    "\r\n", 431 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct arena a = ARENA_INIT;
		struct head h;
		int status = parse(t[i].text, &a, &h);
		if (status != t[i].status)
			fail_msg("%s: %d", t[i].text, status);
		arena_free(&a);
	}
}

static void
parts(void **state)
{
	struct arena a = ARENA_INIT;
	struct head h;
	struct str v;

	(void)state;
	assert_int_equal(parse("PUT /a%20b/%C3%A4?x=1&y%3d=%41+b&x=2&z HTTP/1.1"
	    "\r\nhOST: h:1\r\nA:  b \t\r\nConnection: x, Close\r\n"
	    "a: c\r\nContent-Length: 7\r\n\r\nrest", &a, &h), 0);
	assert_true(str_eq(h.method, STR("PUT")));
	assert_true(str_eq(h.path, STR("/a b/\xc3\xa4")));
	assert_true(str_eq(h.host, STR("h:1")));
	assert_int_equal(h.minor, 1);
	assert_int_equal(h.length, 7);
	assert_true(h.close);
	assert_true(head_find(&h, STR("a"), &a, &v));
	assert_true(str_eq(v, STR("b, c")));
	assert_false(head_find(&h, STR("b"), &a, &v));
	assert_true(head_lists(&h, STR("connection"), STR("CLOSE")));
	assert_false(head_lists(&h, STR("connection"), STR("clos")));
	assert_true(head_param(h.query, &(size_t){ 0 }, STR("x"), &a, &v));
	assert_true(str_eq(v, STR("1")));
	assert_true(head_param(h.query, &(size_t){ 0 }, STR("y="), &a, &v));
	assert_true(str_eq(v, STR("A b")));
	assert_true(head_param(h.query, &(size_t){ 0 }, STR("z"), &a, &v));
	assert_int_equal(v.n, 0);
	assert_false(head_param(h.query, &(size_t){ 0 }, STR("q"), &a, &v));
	assert_int_equal(parse("GET HTTP://B:2?c HTTP/1.1\r\nHost: a\r\n\r\n",
	    &a, &h), 0);
	assert_true(str_eq(h.host, STR("B:2")));
	assert_true(str_eq(h.path, STR("/")));
	assert_true(str_eq(h.query, STR("c")));
	arena_free(&a);
}

/* In any pieces the end is found at the same place, and so is the limit. */
static void
pieces(void **state)
{
	static const char text[] = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET";
	size_t whole = sizeof(text) - 1;

	(void)state;
	for (size_t step = 1; step < whole; step++) {
		struct head_scan s = { 0, 0, false };
		struct head_refusal r;
		size_t n = 0, at = 0;
		while (n == 0 && at < whole) {
			at = MIN(at + step, whole);
			n = head_scan(&s, (struct str){ text, at }, &limits,
			    &r);
			assert_int_equal(r.status, 0);
		}
		assert_int_equal(n, whole - 3);
	}
	for (size_t most = whole - 4; most <= whole - 3; most++) {
		struct head_scan s = { 0, 0, false };
		struct head_limits l = { most, 5 };
		struct head_refusal r;
		size_t n = head_scan(&s, str_of(text), &l, &r);
		assert_int_equal(n, most == whole - 3 ? most : 0);
		assert_int_equal(r.status, most == whole - 3 ? 0 : 431);
	}
	struct head_scan s = { 0, 0, false };
	struct head_limits l = { 10, 5 };
	struct head_refusal r;
	assert_int_equal(head_scan(&s, STR("GET /aaaaaaaaaa"), &l, &r), 0);
	assert_int_equal(r.status, 414);
}

static enum http_chunks_found
chunked(const char *text, size_t step, size_t most, struct buf *out)
{
	struct http_chunks k = { .strict = true };
	struct str all = str_of(text);
	enum http_chunks_found found = HTTP_CHUNKS_MORE;

	for (size_t at = 0; at < all.n && found == HTTP_CHUNKS_MORE;
	    at += step) {
		struct str in = str_cut(all, at, at + step);
		found = http_chunks_feed(&k, &in, out, most);
		assert_true(found != HTTP_CHUNKS_MORE || in.n == 0);
	}
	return found;
}

static void
chunks(void **state)
{
	static const struct {
		const char *text;
		enum http_chunks_found found;
		const char *data;
	} t[] = {
		{ "0\r\n\r\n", HTTP_CHUNKS_END, "" },
		{ "1\r\na\r\n0\r\n\r\n", HTTP_CHUNKS_END, "a" },
		{ "00A;b=\"c\"\r\n0123456789\r\n0;x\r\nT: u\r\n\r\n",
		    HTTP_CHUNKS_END, "0123456789" },
		{ "a \r\n0123456789\r\n2\r\nab\r\n0\r\n\r\n", HTTP_CHUNKS_END,
		    "0123456789ab" },
		{ "1\r\na\r\n", HTTP_CHUNKS_MORE, "a" },
		{ "\r\n", HTTP_CHUNKS_BAD, "" },
		{ "-1\r\n", HTTP_CHUNKS_BAD, "" },
		{ "1\na", HTTP_CHUNKS_BAD, "" },
		{ "1\r\nab", HTTP_CHUNKS_BAD, "a" },
		{ "1\r\na\n", HTTP_CHUNKS_BAD, "a" },
		{ "a \t;x\r\n0123456789\r\n0\t\r\n\r\n", HTTP_CHUNKS_END,
		    "0123456789" },
		{ "1;\n", HTTP_CHUNKS_BAD, "" },
		{ "1;\rx", HTTP_CHUNKS_BAD, "" },
		{ "1 1\r\n", HTTP_CHUNKS_BAD, "" },
		{ "1 x\r\n", HTTP_CHUNKS_BAD, "" },
		{ "0\r\n\n", HTTP_CHUNKS_BAD, "" },
		{ "0\r\na\n", HTTP_CHUNKS_BAD, "" },
		{ "0\r\n\rx", HTTP_CHUNKS_BAD, "" },
		{ "1000000000000000\r\n", HTTP_CHUNKS_BAD, "" },
		{ "fffffffffffffff\r\n", HTTP_CHUNKS_TOO_LONG, "" },
		{ "d\r\n0123456789abc\r\n", HTTP_CHUNKS_TOO_LONG, "" },
		{ "c\r\n0123456789ab\r\n1\r\n", HTTP_CHUNKS_TOO_LONG,
		    "0123456789ab" },
	};
	struct buf out = BUF_INIT, b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		for (size_t step = 1; step < 9; step++) {
			buf_clear(&out);
			enum http_chunks_found found = chunked(t[i].text, step,
			    12, &out);
			if (found != t[i].found ||
			    !str_eq(buf_str(&out), str_of(t[i].data)))
				fail_msg("%s: %d %s", t[i].text, found,
				    buf_text(&out));
		}
	/* Neither a line nor the trailers go on for ever. */
	buf_put_text(&b, "1;");
	while (b.n < HTTP_CHUNK_LINE_STRICT_MAX + 2)
		buf_put_char(&b, 'x');
	assert_int_equal(chunked(buf_text(&b), 7, 12, &out), HTTP_CHUNKS_BAD);
	buf_clear(&b);
	buf_put_text(&b, "0\r\n");
	while (b.n < HTTP_TRAILER_STRICT_MAX + 20)
		buf_put_text(&b, "A: b\r\n");
	assert_int_equal(chunked(buf_text(&b), 7, 12, &out), HTTP_CHUNKS_BAD);
	buf_free(&out);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals), cmocka_unit_test(parts),
		cmocka_unit_test(pieces), cmocka_unit_test(chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

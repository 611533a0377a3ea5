#include "wire/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <zlib.h>
#include <zstd.h>

static void
parse(struct str s, bool request, struct arena *a, struct http_head *h)
{
	struct why w = WHY_INIT;

	assert_int_equal(http_parse_head(s, request, HTTP_LIMITS_DEFAULT, a, h,
	    &w), OK);
}

static void
assert_str(struct str s, const char *text)
{
	assert_int_equal(s.n, strlen(text));
	assert_memory_equal(s.p == NULL ? "" : s.p, text, s.n);
}

static void
test_head(void **state)
{
	struct arena a = ARENA_INIT;
	struct http_head h;
	struct str s = STR("HTTP/1.1 404 Not Found\r\nA: 1\r\n"
	    "Content-Type : text/HTML;charset=\"utf-8\"\r\na:  2 \r\n"
	    "Folded: x\r\n\t y\r\n  z\r\nno field\r\n: empty\r\n\r\nbody");

	(void)state;
	parse(s, false, &a, &h);
	assert_int_equal(h.status, 404);
	assert_int_equal(h.version, 11);
	assert_str(h.reason, "Not Found");
	assert_int_equal(h.fields_n, 4);
	assert_int_equal(h.garbage, 2);
	assert_int_equal(h.folds, 2);
	assert_int_equal(h.bare_lf, 0);
	assert_true(h.complete);
	assert_int_equal(h.n, s.n - 4);
	assert_int_equal(http_head_end(s), s.n - 4);
	assert_str(http_find(&h, STR("FOLDED")), "x y z");
	assert_str(http_find_all(&h, STR("a"), &a), "1, 2");
	struct http_media m = http_content_type(&h, &a);
	assert_str(m.type, "text/html");
	assert_str(m.charset, "utf-8");
	arena_free(&a);
}

static void
test_odd_heads(void **state)
{
	struct arena a = ARENA_INIT;
	struct http_head h;

	(void)state;
	parse(STR("\r\n\nHTTP/1.0 200\nA:b\n\nx"), false, &a, &h);
	assert_int_equal(h.status, 200);
	assert_int_equal(h.bare_lf, 2);
	assert_str(http_find(&h, STR("a")), "b");
	parse(STR("ICY 200 OK\r\n\r\n"), false, &a, &h);
	assert_int_equal(h.version, 10);
	parse(STR("HTTP/2 301\r\nA: b"), false, &a, &h);
	assert_int_equal(h.version, 20);
	assert_false(h.complete);
	assert_str(http_find(&h, STR("A")), "b");
	parse(STR("GET /a b c HTTP/1.1\r\n\r\n"), true, &a, &h);
	assert_str(h.method, "GET");
	assert_str(h.target, "/a b c");
	assert_int_equal(h.version, 11);
	parse(STR("GET /x\r\n\r\n"), true, &a, &h);
	assert_str(h.target, "/x");
	assert_int_equal(h.version, 9);
	static const struct str bad[] = { STR(""), STR("\r\n\r\n"),
		STR("<html>"), STR("HTTP/1.1"), STR("HTTP/1.1 20"),
		STR("HTTP/1.1 099 x"), STR("HTTP/1.1 2000 x") };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(http_parse_head(bad[i], false,
		    HTTP_LIMITS_DEFAULT, &a, &h, NULL), ERR_INPUT);
	arena_free(&a);
}

static void
test_head_limits(void **state)
{
	struct arena a = ARENA_INIT;
	struct http_head h;
	struct http_limits l = { 3, 40 };
	struct str three = STR("HTTP/1.1 200 OK\r\na:\r\nb:\r\nc:\r\n\r\n");
	struct str four = STR("HTTP/1.1 200 OK\r\na:\r\nb:\r\nc:\r\nd:\r\n"
	    "\r\n");
	struct str forty = STR("HTTP/1.1 200 OK\r\nabcdefghi: abcdefgh\r\n"
	    "\r\n");

	(void)state;
	assert_int_equal(http_parse_head(three, false, l, &a, &h, NULL), OK);
	assert_int_equal(http_parse_head(four, false, l, &a, &h, NULL),
	    ERR_FULL);
	assert_int_equal(forty.n, 40);
	assert_int_equal(http_parse_head(forty, false, l, &a, &h, NULL), OK);
	l.bytes_max = 39;
	assert_int_equal(http_parse_head(forty, false, l, &a, &h, NULL),
	    ERR_FULL);
	arena_free(&a);
}

static void
test_content_length(void **state)
{
	static const struct {
		struct str head;
		int64_t n;        /* -1: none */
	} rows[] = {
		{ STR("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n"), 5 },
		{ STR("HTTP/1.1 200\r\nContent-Length: 5, 5\r\n\r\n"), 5 },
		{ STR("HTTP/1.1 200\r\nContent-Length: 5\r\n"
		    "Content-Length: 6\r\n\r\n"), -1 },
		{ STR("HTTP/1.1 200\r\nContent-Length: -5\r\n\r\n"), -1 },
		{ STR("HTTP/1.1 200\r\nContent-Length:\r\n\r\n"), -1 },
		{ STR("HTTP/1.1 200\r\n\r\n"), -1 },
	};
	struct arena a = ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct http_head h;
		uint64_t n = 0;
		parse(rows[i].head, false, &a, &h);
		bool has = http_content_length(&h, &n);
		assert_int_equal(has, rows[i].n >= 0);
		if (has)
			assert_int_equal(n, rows[i].n);
	}
	arena_free(&a);
}

/* --- bodies ------------------------------------------------------------- */

/*
 * Decode at once, and by pieces of every size from 1 to 40: all must agree.
 */
static enum http_damage
decode(const char *fields, struct str raw, struct http_decode_limits limits,
    struct buf *out)
{
	struct arena a = ARENA_INIT;
	struct http_head h;
	struct str head = arena_printf(&a, "HTTP/1.1 200 OK\r\n%s\r\n\r\n",
	    fields);
	struct buf again = BUF_INIT;

	parse(head, false, &a, &h);
	buf_clear(out);
	enum http_damage d = http_decode_body(&h, raw, limits, out);
	for (size_t step = 1; step <= 40; step++) {
		struct http_decoder *x = http_decoder_new(&h, limits);
		buf_clear(&again);
		for (size_t at = 0; at < raw.n; at += step)
			http_decoder_feed(x, str_cut(raw, at, at + step),
			    &again);
		assert_int_equal(http_decoder_end(x, &again), d);
		/* The ratio is looked at as bytes come: it may cut sooner. */
		if (d != HTTP_TOO_DENSE)
			assert_true(str_eq(buf_str(&again), buf_str(out)));
		http_decoder_free(&x);
	}
	buf_free(&again);
	arena_free(&a);
	return d;
}

static void
assert_decodes(const char *fields, struct str raw, const char *text,
    enum http_damage damage)
{
	struct buf out = BUF_INIT;

	assert_int_equal(decode(fields, raw, HTTP_DECODE_LIMITS_DEFAULT,
	    &out), damage);
	assert_string_equal(buf_text(&out), text);
	buf_free(&out);
}

static void
test_chunks(void **state)
{
	static const char *te = "Transfer-Encoding: chunked";

	(void)state;
	assert_decodes(te, STR("5\r\nhello\r\n0\r\n\r\n"), "hello", HTTP_FINE);
	assert_decodes(te, STR("5;a=b\r\nhello\r\n006 \r\n world\r\n0\r\n"
	    "Trailer: x\r\n\r\nrubbish"), "hello world", HTTP_FINE);
	assert_decodes(te, STR("5\nhello\n0\n\n"), "hello", HTTP_FINE);
	assert_decodes(te, STR("5\r\nhel"), "hel", HTTP_CUT);
	assert_decodes(te, STR("5\r\nhello\r\n0\r\n"), "hello", HTTP_CUT);
	assert_decodes(te, STR("5\r\nhello\r\nxx\r\n"), "hello",
	    HTTP_BAD_CHUNK);
	assert_decodes(te, STR("5\r\nhelloworld"), "hello", HTTP_BAD_CHUNK);
	assert_decodes(te, STR("11111111111111111\r\nx"),
	    "11111111111111111\r\nx", HTTP_NOT_CHUNKED);
	assert_decodes(te, STR("<html>not chunked</html>"),
	    "<html>not chunked</html>", HTTP_NOT_CHUNKED);
	assert_decodes(te, STR("ab"), "ab", HTTP_CUT);
	assert_decodes(te, STR(""), "", HTTP_FINE);
	assert_decodes("Transfer-Encoding: chunked, chunked",
	    STR("2\r\nok\r\n0\r\n\r\n"), "ok", HTTP_FINE);
}

static void
test_chunk_limits(void **state)
{
	struct buf raw = BUF_INIT, out = BUF_INIT;
	struct http_decode_limits l = { 10, 250 };

	(void)state;
	assert_int_equal(decode("Transfer-Encoding: chunked",
	    STR("A\r\n0123456789\r\n0\r\n\r\n"), l, &out), HTTP_FINE);
	assert_int_equal(decode("Transfer-Encoding: chunked",
	    STR("B\r\n0123456789a\r\n0\r\n\r\n"), l, &out), HTTP_TOO_LONG);
	assert_int_equal(out.n, 10);
	/* An extension up to the limit of the line, and one beyond it. */
	for (int more = 0; more < 2; more++) {
		buf_clear(&raw);
		buf_put_text(&raw, "1\r\na\r\n1;");
		while (raw.n < 6 + HTTP_CHUNK_LINE_MAX - 1 + (size_t)more)
			buf_put_char(&raw, 'x');
		buf_put_text(&raw, "\nb\r\n0\r\n\r\n");
		enum http_damage d = decode("Transfer-Encoding: chunked",
		    buf_str(&raw), HTTP_DECODE_LIMITS_DEFAULT, &out);
		assert_int_equal(d, more ? HTTP_BAD_CHUNK : HTTP_FINE);
	}
	buf_free(&raw);
	buf_free(&out);
}

/* Deflate with zlib's wrapper (15), gzip's (31) or none (-15). */
static void
deflate_to(struct buf *out, struct str s, int window)
{
	z_stream z;

	memset(&z, 0, sizeof(z));
	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, window, 8, 0), Z_OK);
	size_t room = deflateBound(&z, s.n) + 64;
	buf_reserve(out, room);
	z.next_in = (Bytef *)(uintptr_t)s.p;
	z.avail_in = (uInt)s.n;
	z.next_out = (Bytef *)out->p + out->n;
	z.avail_out = (uInt)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->n += room - z.avail_out;
	deflateEnd(&z);
}

static void
test_codings(void **state)
{
	static const char text[] = "hello hello hello hello, world";
	struct str s = str_of(text);
	struct buf raw = BUF_INIT;

	(void)state;
	deflate_to(&raw, s, 31);
	assert_decodes("Content-Encoding: gzip", buf_str(&raw), text,
	    HTTP_FINE);
	assert_decodes("Content-Encoding: GZIP, identity", buf_str(&raw), text,
	    HTTP_FINE);
	struct str cut = str_cut(buf_str(&raw), 0, raw.n - 3);
	assert_decodes("Content-Encoding: x-gzip", cut, text, HTTP_CUT);
	/* A second member, then rubbish. */
	deflate_to(&raw, STR("!"), 31);
	buf_put_text(&raw, "rubbish");
	assert_decodes("Content-Encoding: gzip", buf_str(&raw),
	    "hello hello hello hello, world!", HTTP_FINE);
	for (int window = -15; window <= 15; window += 30) {
		buf_clear(&raw);
		deflate_to(&raw, s, window);
		assert_decodes("Content-Encoding: deflate", buf_str(&raw),
		    text, HTTP_FINE);
	}
	buf_clear(&raw);
	raw.n = ZSTD_compress(buf_grow(&raw, 200), 200, s.p, s.n, 3);
	assert_decodes("Content-Encoding: zstd", buf_str(&raw), text,
	    HTTP_FINE);
	/* "hello" as brotli by hand: one uncompressed-like literal block. */
	assert_decodes("Content-Encoding: br", STR("\x0b\x02\x80hello\x03"),
	    "hello", HTTP_FINE);
	assert_decodes("Content-Encoding: gzip", STR("plain"), "plain",
	    HTTP_NOT_CODED);
	assert_decodes("Content-Encoding: zstd", STR("plain"), "plain",
	    HTTP_NOT_CODED);
	assert_decodes("Content-Encoding: compress", STR("x"), "x",
	    HTTP_UNKNOWN_CODING);
	assert_decodes("Content-Encoding: gzip", STR(""), "", HTTP_FINE);
	assert_decodes("X: y", STR("as it is"), "as it is", HTTP_FINE);
	buf_free(&raw);
}

static void
test_chains(void **state)
{
	struct buf inner = BUF_INIT, outer = BUF_INIT, raw = BUF_INIT;

	(void)state;
	deflate_to(&inner, STR("twice"), 15);
	deflate_to(&outer, buf_str(&inner), 31);
	assert_decodes("Content-Encoding: deflate, gzip", buf_str(&outer),
	    "twice", HTTP_FINE);
	buf_printf(&raw, "%zx\r\n", outer.n);
	buf_put_str(&raw, buf_str(&outer));
	buf_put_text(&raw, "\r\n0\r\n\r\n");
	assert_decodes("Content-Encoding: deflate\r\n"
	    "Transfer-Encoding: gzip, chunked", buf_str(&raw), "twice",
	    HTTP_FINE);
	assert_decodes("Content-Encoding: a, b, c, d, e", STR("x"), "x",
	    HTTP_UNKNOWN_CODING);
	buf_clear(&inner);
	assert_int_equal(decode("Content-Encoding: deflate\r\n"
	    "Transfer-Encoding: gzip, chunked", buf_str(&raw),
	    (struct http_decode_limits){ 4, 1000 }, &inner), HTTP_TOO_LONG);
	buf_free(&inner);
	buf_free(&outer);
	buf_free(&raw);
}

/* A limit is that of the text, which may be shorter than its coding. */
static void
test_short_texts(void **state)
{
	static const struct http_decode_limits two = { 2, 1000 };
	struct buf packed = BUF_INIT, raw = BUF_INIT, out = BUF_INIT;

	(void)state;
	deflate_to(&packed, STR("[]"), 31);
	buf_printf(&raw, "%zx\r\n", packed.n);
	buf_put_str(&raw, buf_str(&packed));
	buf_put_text(&raw, "\r\n0\r\n\r\n");
	assert_int_equal(decode("Content-Encoding: gzip\r\n"
	    "Transfer-Encoding: chunked", buf_str(&raw), two, &out),
	    HTTP_FINE);
	assert_true(str_eq(buf_str(&out), STR("[]")));
	buf_clear(&out);
	/* What is not in chunks although it says so. */
	assert_int_equal(decode("Content-Encoding: gzip\r\n"
	    "Transfer-Encoding: chunked", buf_str(&packed), two, &out),
	    HTTP_NOT_CHUNKED);
	assert_true(str_eq(buf_str(&out), STR("[]")));
	buf_free(&packed);
	buf_free(&raw);
	buf_free(&out);
}

/* A bomb: 30 MB of zeros in 30 KB, against both limits. */
static void
test_bombs(void **state)
{
	size_t n = (size_t)30 << 20;
	char *zeros = mem_new(n);
	struct buf raw = BUF_INIT, out = BUF_INIT;
	struct http_decode_limits l = { (uint64_t)8 << 20, 1100 };
	struct arena a = ARENA_INIT;
	struct http_head h;

	(void)state;
	deflate_to(&raw, (struct str){ zeros, n }, 31);
	parse(STR("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"), false,
	    &a, &h);
	assert_int_equal(http_decode_body(&h, buf_str(&raw), l, &out),
	    HTTP_TOO_LONG);
	assert_int_equal(out.n, l.bytes_max);
	buf_clear(&out);
	l = (struct http_decode_limits){ (uint64_t)64 << 20, 250 };
	assert_int_equal(http_decode_body(&h, buf_str(&raw), l, &out),
	    HTTP_TOO_DENSE);
	assert_true(out.n <= raw.n * 250);
	buf_clear(&out);
	l.ratio_max = 1100;
	assert_int_equal(http_decode_body(&h, buf_str(&raw), l, &out),
	    HTTP_FINE);
	assert_int_equal(out.n, n);
	mem_free(&zeros);
	buf_free(&raw);
	buf_free(&out);
	arena_free(&a);
}

/* Every byte of a gzip body changed once: never more than it held. */
static void
test_flips(void **state)
{
	struct buf raw = BUF_INIT, out = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct http_head h;
	size_t found = 0;

	(void)state;
	deflate_to(&raw, STR("The quick brown fox jumps over the lazy dog"),
	    31);
	parse(STR("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"), false,
	    &a, &h);
	for (size_t i = 0; i < 8 * raw.n; i++) {
		raw.p[i / 8] ^= (char)(1 << i % 8);
		buf_clear(&out);
		found += http_decode_body(&h, buf_str(&raw),
		    HTTP_DECODE_LIMITS_DEFAULT, &out) != HTTP_FINE;
		raw.p[i / 8] ^= (char)(1 << i % 8);
	}
	/* Only time, XFL, OS and an optional name may change unnoticed. */
	assert_true(found > 8 * (raw.n - 10));
	buf_free(&raw);
	buf_free(&out);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_odd_heads),
		cmocka_unit_test(test_head_limits),
		cmocka_unit_test(test_content_length),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_chunk_limits),
		cmocka_unit_test(test_codings),
		cmocka_unit_test(test_chains),
		cmocka_unit_test(test_short_texts),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_flips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

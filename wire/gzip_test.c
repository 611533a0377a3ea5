#include "wire/gzip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <zlib.h>

/* Text that compresses about as HTML does. */
static void
fill(struct buf *b, size_t n)
{
	unsigned x = 12345;

	while (b->n < n) {
		x = x * 1103515245 + 12345;
		buf_printf(b, "<a href=\"/page/%u\">%u</a>\n", x >> 20,
		    x >> 28);
	}
	b->n = n;
}

/* What zlib makes of one member; false when it is no sound member. */
static bool
unpack(struct str in, struct buf *out, size_t *used)
{
	z_stream z;
	char piece[65536];
	int r;

	memset(&z, 0, sizeof(z));
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)in.p;
	z.avail_in = (uInt)in.n;
	do {
		z.next_out = (Bytef *)piece;
		z.avail_out = sizeof(piece);
		r = inflate(&z, Z_NO_FLUSH);
		buf_put(out, piece, sizeof(piece) - z.avail_out);
	} while (r == Z_OK);
	*used = in.n - z.avail_in;
	inflateEnd(&z);
	return r == Z_STREAM_END;
}

static void
check_member(struct str member, struct str text, struct gzip_lengths l)
{
	struct buf out = BUF_INIT;
	struct gzip_head head;
	size_t used;

	assert_true(unpack(member, &out, &used));
	assert_int_equal(used, member.n);
	assert_true(str_eq(buf_str(&out), text));
	assert_int_equal(gzip_head_parse(member, &head), GZIP_HEAD_OK);
	assert_int_equal(head.n, GZIP_HEAD_BYTES);
	assert_true(head.has_lengths && head.has_numbers);
	assert_int_equal(head.lengths.clen, l.clen);
	assert_int_equal(head.lengths.ulen, text.n);
	buf_free(&out);
}

/* Every level at the sizes where the way of compressing changes. */
static void
test_sizes(void **state)
{
	static const size_t sizes[] = { 0, 1, 1023, 1024, 6000, 65536,
		GZIP_ONE_CALL_MAX, GZIP_ONE_CALL_MAX + 1, 3 << 20 };
	struct buf text = BUF_INIT, out = BUF_INIT;

	(void)state;
	for (int level = 0; level <= 3; level++) {
		struct gzip_writer *g = gzip_writer_new(level);
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			struct gzip_lengths l;
			struct str whole;
			buf_clear(&text);
			buf_clear(&out);
			fill(&text, sizes[i]);
			whole = buf_str(&text);
			struct str parts[3] = { str_cut(whole, 0, 10),
				str_cut(whole, 10, sizes[i] / 2),
				str_from(whole, MAX(sizes[i] / 2, 10)) };
			buf_put_text(&out, "before");
			assert_int_equal(gzip_put(g, parts, 3, &out, &l,
			    NULL), OK);
			assert_int_equal(l.clen, out.n - 6);
			check_member(str_from(buf_str(&out), 6), whole, l);
		}
		gzip_writer_free(&g);
	}
	buf_free(&text);
	buf_free(&out);
}

/* Random bytes do not shrink, and must not overflow the room made. */
static void
test_incompressible(void **state)
{
	static char noise[70000];
	uint64_t x = 88172645463325252ull;
	struct buf out = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		noise[i] = (char)x;
	}
	for (int level = 0; level <= 12; level += 3) {
		struct gzip_writer *g = gzip_writer_new(level);
		for (size_t n = 100; n < sizeof(noise); n = n * 7 / 2) {
			struct str s = { noise, n };
			struct gzip_lengths l;
			buf_clear(&out);
			assert_int_equal(gzip_put(g, &s, 1, &out, &l, NULL),
			    OK);
			assert_true(l.clen < n + n / 8 + 1100);
			check_member(buf_str(&out), s, l);
		}
		gzip_writer_free(&g);
	}
	buf_free(&out);
}

/* A body that is gzip already is stored, and what stands around it is not. */
static void
test_packed_bodies(void **state)
{
	static const size_t sizes[] = { 4095, 4096, 65535, 65536, 200000,
		GZIP_ONE_CALL_MAX + 1 };
	static const char *const begins[] = { "\x1f\x8b\x08",
		"c00\r\n\x1f\x8b\x08" };
	struct buf body = BUF_INIT, out = BUF_INIT, whole = BUF_INIT;
	struct buf head = BUF_INIT;
	struct gzip_writer *g = gzip_writer_new(1);

	(void)state;
	fill(&head, 900);
	for (size_t i = 0; i < ARRAY_LEN(sizes) * ARRAY_LEN(begins); i++) {
		struct gzip_lengths l;
		size_t n = sizes[i / 2];
		bool stored = n >= 4096;
		buf_clear(&body);
		buf_clear(&out);
		buf_clear(&whole);
		buf_put_text(&body, begins[i % 2]);
		/* It would shrink: that shows what was done with it. */
		fill(&body, n);
		struct str parts[] = { buf_str(&head), buf_str(&body),
			STR_NONE, STR("\r\n\r\n") };
		for (size_t k = 0; k < ARRAY_LEN(parts); k++)
			buf_put_str(&whole, parts[k]);
		assert_int_equal(gzip_put(g, parts, ARRAY_LEN(parts), &out,
		    &l, NULL), OK);
		check_member(buf_str(&out), buf_str(&whole), l);
		assert_int_equal(l.clen > n, stored);
		assert_true(l.clen < n + 800 + n / 6000);
		/* Alone, too. */
		buf_clear(&out);
		assert_int_equal(gzip_put(g, parts + 1, 1, &out, &l, NULL),
		    OK);
		check_member(buf_str(&out), buf_str(&body), l);
	}
	gzip_writer_free(&g);
	buf_free(&head);
	buf_free(&body);
	buf_free(&whole);
	buf_free(&out);
}

/*
 * Texts are compressed by what was learned of earlier ones, at little loss;
 * what is none keeps out, and what only looks like one comes out whole.
 */
static void
test_learned(void **state)
{
	struct gzip_writer *g = gzip_writer_new(1);
	struct buf text = BUF_INIT, out = BUF_INIT;
	size_t own = 0, learned = 0;
	struct gzip_lengths l;
	uint32_t x = 1;

	(void)state;
	for (int i = 0; i < 400; i++) {
		buf_clear(&text);
		buf_clear(&out);
		while (text.n < 5000) {
			x = x * 1664525 + 1013904223;
			buf_printf(&text, "<p>%s %c%u</p>", i % 2 == 0 ?
			    "even pages" : "odd ones", 'a' + x % 26, x >> 8);
		}
		/* Noise: all of it, or but for the bytes that are looked at. */
		size_t step = text.n / 64;
		for (size_t k = 0; i % 10 >= 8 && k < text.n; k++) {
			x = x * 1664525 + 1013904223;
			if (i % 10 == 9 || k % step != step / 2)
				text.p[k] = (char)(x >> 24);
		}
		struct str s = buf_str(&text);
		assert_int_equal(gzip_put(g, &s, 1, &out, &l, NULL), OK);
		check_member(buf_str(&out), s, l);
		if (i % 10 >= 8) {
			assert_true(l.clen < s.n + s.n / 8);
			continue;
		}
		learned += l.clen;
		struct gzip_writer *alone = gzip_writer_new(1);
		buf_clear(&out);
		assert_int_equal(gzip_put(alone, &s, 1, &out, &l, NULL), OK);
		gzip_writer_free(&alone);
		own += l.clen;
	}
	/* A fixed table would need a quarter more. */
	assert_true(learned < own + own / 20);
	assert_int_not_equal(learned, own);
	gzip_writer_free(&g);
	buf_free(&text);
	buf_free(&out);
}

/* In a stream, piece by piece. */
static void
test_big(void **state)
{
	struct buf text = BUF_INIT, out = BUF_INIT;
	struct gzip_writer *g = gzip_writer_new(1);
	struct gzip_lengths l;

	(void)state;
	fill(&text, 9 << 20);
	struct str s = buf_str(&text);
	assert_int_equal(gzip_put(g, &s, 1, &out, &l, NULL), OK);
	check_member(buf_str(&out), s, l);
	gzip_writer_free(&g);
	buf_free(&text);
	buf_free(&out);
}

static void
test_limit(void **state)
{
	struct gzip_writer *g = gzip_writer_new(1);
	struct str huge = { "", (size_t)GZIP_ULEN_MAX + 1 };
	struct buf out = BUF_INIT;
	struct gzip_lengths l;

	(void)state;
	assert_int_equal(gzip_put(g, &huge, 1, &out, &l, NULL), ERR_FULL);
	assert_int_equal(out.n, 0);
	gzip_writer_free(&g);
	buf_free(&out);
}

static void
test_patch(void **state)
{
	struct gzip_writer *g = gzip_writer_new(1);
	struct buf out = BUF_INIT;
	struct gzip_lengths l;
	struct gzip_head head;
	struct str s = STR("hello");

	(void)state;
	assert_int_equal(gzip_put(g, &s, 1, &out, &l, NULL), OK);
	gzip_patch(out.p, UINT64_C(0x0102030405060708), 99);
	check_member(buf_str(&out), s, l);
	assert_int_equal(gzip_head_parse(buf_str(&out), &head), GZIP_HEAD_OK);
	assert_true(head.seq == UINT64_C(0x0102030405060708));
	assert_int_equal(head.group, 99);
	assert_int_equal((unsigned char)out.p[28], 1);
	gzip_writer_free(&g);
	buf_free(&out);
}

static void
test_foreign_heads(void **state)
{
	struct gzip_head h;
	struct str plain = STR("\x1f\x8b\x08\0\0\0\0\0\0\xff");
	struct str all = STR("\x1f\x8b\x08\x1e\0\0\0\0\0\x03"
	    "\x06\0ab\x02\0xyname\0comment\0\x12\x34rest");
	struct str odd = STR("\x1f\x8b\x08\x04\0\0\0\0\0\x03"
	    "\x06\0sl\x63\0xy");

	(void)state;
	assert_int_equal(gzip_head_parse(plain, &h), GZIP_HEAD_OK);
	assert_int_equal(h.n, 10);
	assert_int_equal(gzip_head_parse(all, &h), GZIP_HEAD_OK);
	assert_int_equal(h.n, all.n - 4);
	assert_false(h.has_lengths || h.has_numbers);
	for (size_t n = 0; n < all.n - 4; n++)
		assert_int_equal(gzip_head_parse(str_cut(all, 0, n), &h),
		    GZIP_HEAD_SHORT);
	/* A subfield longer than the field is passed over. */
	assert_int_equal(gzip_head_parse(odd, &h), GZIP_HEAD_OK);
	assert_int_equal(gzip_head_parse(STR("\x1f\x8b\x08\xe0\0\0\0\0\0\0"),
	    &h), GZIP_HEAD_BAD);
	assert_int_equal(gzip_head_parse(STR("\x1f\x8c"), &h),
	    GZIP_HEAD_BAD);
	assert_int_equal(gzip_head_parse(STR("WARC/1.1\r\n"), &h),
	    GZIP_HEAD_BAD);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_incompressible),
		cmocka_unit_test(test_packed_bodies),
		cmocka_unit_test(test_learned),
		cmocka_unit_test(test_big),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_patch),
		cmocka_unit_test(test_foreign_heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "wire/grpc/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <zlib.h>

#define MAX_BYTES ((size_t)1 << 20)

static void
put(struct buf *b, char flag, struct str s)
{
	message_put_head(b, s.n);
	b->p[b->n - MESSAGE_HEAD_BYTES] = flag;
	buf_put_str(b, s);
}

static void
gzip(struct buf *out, struct str plain)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, 0), 0);
	buf_clear(out);
	buf_reserve(out, deflateBound(&z, plain.n));
	z.next_in = (Bytef *)(uintptr_t)plain.p;
	z.avail_in = (uInt)plain.n;
	z.next_out = (Bytef *)out->p;
	z.avail_out = (uInt)out->cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out->n = z.total_out;
	deflateEnd(&z);
}

static struct str
filled(struct buf *b, size_t n, char c)
{
	buf_clear(b);
	memset(buf_grow(b, n), c, n);
	return buf_str(b);
}

/* Cut anywhere, the same messages come out, and no byte is lost. */
static void
test_cut(void **state)
{
	struct buf all = BUF_INIT, big = BUF_INIT, packed = BUF_INIT;
	struct message_gunzip *g = message_gunzip_new();

	(void)state;
	gzip(&packed, filled(&big, 70000, 'z'));
	for (int i = 0; i < 20; i++) {
		put(&all, 0, STR("hello"));
		put(&all, 0, STR(""));
		put(&all, 1, buf_str(&packed));
		put(&all, 0, buf_str(&big));
	}
	for (size_t step = 1; step < all.n; step = step * 3 + 1) {
		struct message_reader m = { .gzip = true };
		size_t found = 0, bytes = 0;
		for (size_t at = 0; at < all.n; at += step) {
			struct str more = str_cut(buf_str(&all), at,
			    at + step), s;
			while (message_next(&m, g, MAX_BYTES, &more, &s) ==
			    MESSAGE_HERE) {
				found++;
				bytes += s.n;
				assert_true(s.n < 5 || s.p[0] == 'h' ||
				    s.p[s.n - 1] == 'z');
			}
			assert_int_equal(more.n, 0);
		}
		assert_int_equal(found, 80);
		assert_int_equal(bytes, 20 * (5 + 2 * 70000));
		assert_int_equal(message_kept(&m), 0);
		message_free(&m);
	}
	message_gunzip_free(&g);
	buf_free(&all);
	buf_free(&big);
	buf_free(&packed);
}

/* Kept while nobody wants them, then handed out in order. */
static void
test_kept(void **state)
{
	struct buf all = BUF_INIT;
	struct message_gunzip *g = message_gunzip_new();
	struct message_reader m = { 0 };
	struct str none = STR_NONE, s;

	(void)state;
	for (char c = 'a'; c <= 'z'; c++)
		put(&all, 0, (struct str){ &c, 1 });
	for (size_t at = 0; at < all.n; at += 4) {
		message_keep(&m, str_cut(buf_str(&all), at, at + 4));
		/* One goes out now and then, so that bytes move. */
		if (at == 40) {
			assert_int_equal(message_next(&m, g, MAX_BYTES, &none,
			    &s), MESSAGE_HERE);
			assert_int_equal(s.p[0], 'a');
		}
	}
	for (char c = 'b'; c <= 'z'; c++) {
		assert_int_equal(message_next(&m, g, MAX_BYTES, &none, &s),
		    MESSAGE_HERE);
		assert_int_equal(s.n, 1);
		assert_int_equal(s.p[0], c);
	}
	assert_int_equal(message_next(&m, g, MAX_BYTES, &none, &s),
	    MESSAGE_NONE);
	message_free(&m);
	message_gunzip_free(&g);
	buf_free(&all);
}

static enum message_found
found(char flag, struct str body, bool allowed)
{
	struct message_gunzip *g = message_gunzip_new();
	struct message_reader m = { .gzip = allowed };
	struct buf b = BUF_INIT;
	struct str s;

	put(&b, flag, body);
	struct str more = buf_str(&b);
	enum message_found f = message_next(&m, g, MAX_BYTES, &more, &s);
	message_free(&m);
	message_gunzip_free(&g);
	buf_free(&b);
	return f;
}

static void
test_limits(void **state)
{
	struct buf plain = BUF_INIT, packed = BUF_INIT;

	(void)state;
	assert_int_equal(found(0, filled(&plain, MAX_BYTES, 'x'), false),
	    MESSAGE_HERE);
	assert_int_equal(found(0, filled(&plain, MAX_BYTES + 1, 'x'), false),
	    MESSAGE_TOO_BIG);
	/* The same for what it unpacks to: a bomb ends at the limit. */
	gzip(&packed, filled(&plain, MAX_BYTES, 'x'));
	assert_int_equal(found(1, buf_str(&packed), true), MESSAGE_HERE);
	assert_int_equal(found(1, buf_str(&packed), false), MESSAGE_BAD);
	assert_int_equal(found(2, buf_str(&packed), true), MESSAGE_BAD);
	gzip(&packed, filled(&plain, MAX_BYTES + 1, 'x'));
	assert_int_equal(found(1, buf_str(&packed), true), MESSAGE_TOO_BIG);
	gzip(&packed, filled(&plain, 100 * MAX_BYTES, 0));
	assert_true(packed.n < MAX_BYTES);
	assert_int_equal(found(1, buf_str(&packed), true), MESSAGE_TOO_BIG);
	/* No gzip, cut gzip, something behind it. */
	assert_int_equal(found(1, STR("no gzip"), true), MESSAGE_BAD);
	assert_int_equal(found(1, STR(""), true), MESSAGE_BAD);
	gzip(&packed, STR("text"));
	assert_int_equal(found(1, str_cut(buf_str(&packed), 0, packed.n - 1),
	    true), MESSAGE_BAD);
	buf_put_char(&packed, 'x');
	assert_int_equal(found(1, buf_str(&packed), true), MESSAGE_BAD);
	buf_free(&plain);
	buf_free(&packed);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

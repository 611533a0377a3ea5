/*
 * What a WebSocket's frames may be: lengths that are refused when they are
 * announced, frames handled at once, frames that carry nothing.
 */
#include "wire/web/ws.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define BYTES_MAX 70000u
#define TEXT 0x81
#define FIRST 0x01
#define MORE 0x00
#define LAST 0x80
#define PING 0x89
#define PONG 0x8a

static struct {
	struct ws *ws;
	struct buf in, out, messages;
} t;

static void
message(void *arg, struct str m)
{
	(void)arg;
	buf_put_str(&t.messages, m);
	buf_put_char(&t.messages, '\n');
}

static int
setup(void **state)
{
	(void)state;
	t.ws = ws_new(BYTES_MAX, message, NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	ws_free(&t.ws);
	buf_free(&t.in);
	buf_free(&t.out);
	buf_free(&t.messages);
	return 0;
}

/* A head with a mask of zeros is in t.in; the payload may follow. */
static void
put_head(uint8_t first, uint64_t n)
{
	buf_put_char(&t.in, (char)first);
	if (n < 126) {
		buf_put_char(&t.in, (char)(0x80 | n));
	} else if (n <= UINT16_MAX) {
		buf_put_char(&t.in, (char)(0x80 | 126));
		buf_put_be16(&t.in, (uint16_t)n);
	} else {
		buf_put_char(&t.in, (char)(0x80 | 127));
		buf_put_be64(&t.in, n);
	}
}

static void
put_frame(uint8_t first, size_t n)
{
	put_head(first, n);
	buf_put_be32(&t.in, 0);
	memset(buf_grow(&t.in, n), 'x', n);
}

/* All that is in t.in, in steps of so many bytes. */
static void
give(size_t step)
{
	struct str in = buf_str(&t.in);

	for (size_t at = 0; at < in.n; at += step)
		assert_int_equal(ws_recv(t.ws, str_cut(in, at, at + step),
		    SIZE_MAX, &t.out), MIN(step, in.n - at));
	buf_clear(&t.in);
}

static void
assert_refused(void)
{
	assert_true(ws_is_over(t.ws));
	assert_int_equal(ws_code(t.ws), 1009);
	assert_true(t.out.n > 4);
	assert_memory_equal(t.out.p + 2, "\x03\xf1", 2);
	assert_int_equal(t.messages.n, 0);
}

static void
test_refused_by_the_head(void **state)
{
	static const uint64_t lengths[] = { BYTES_MAX + 1, 1 << 20,
	    UINT32_MAX, INT64_MAX };

	for (size_t i = 0; i < 2 * ARRAY_LEN(lengths); i++) {
		if (i > 0)
			setup(state);
		put_head(TEXT, lengths[i / 2]);
		give(i % 2 == 0 ? 100 : 1);
		assert_refused();
		teardown(state);
	}
	setup(state);
}

static void
test_refused_by_the_sum(void **state)
{
	(void)state;
	put_frame(FIRST, BYTES_MAX - 1);
	put_frame(PING, 125);
	put_frame(MORE, 0);
	give(1000);
	assert_false(ws_is_over(t.ws));
	buf_clear(&t.out);
	put_head(LAST, 2);
	give(1);
	assert_refused();
}

static void
test_as_long_as_may_be(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		put_frame(FIRST, BYTES_MAX - 1);
		put_frame(LAST, 1);
		put_frame(TEXT, BYTES_MAX);
	}
	give(5000);
	assert_false(ws_is_over(t.ws));
	assert_int_equal(t.messages.n, 6 * (BYTES_MAX + 1));
}

/* RFC 6455 §5.2: the first bit of a length is 0. */
static void
test_no_length(void **state)
{
	(void)state;
	put_head(TEXT, UINT64_MAX);
	buf_put_be32(&t.in, 0);
	give(100);
	assert_true(ws_is_over(t.ws));
	assert_int_equal(ws_code(t.ws), 1002);
}

static void
test_frames_at_once(void **state)
{
	size_t frame = 7, taken = 0;

	(void)state;
	put_frame(FIRST, 1);
	for (int i = 0; i < 98; i++)
		put_frame(MORE, 1);
	put_frame(LAST, 1);
	struct str in = buf_str(&t.in);
	for (int turn = 0; turn < 10; turn++) {
		assert_int_equal(t.messages.n, 0);
		size_t n = ws_recv(t.ws, str_from(in, taken), 10, &t.out);
		assert_int_equal(n, 10 * frame);
		taken += n;
	}
	assert_int_equal(taken, in.n);
	assert_int_equal(t.messages.n, 101);
}

static void
test_frames_that_carry_nothing(void **state)
{
	(void)state;
	put_frame(PING, 0);
	put_frame(PING, 5);
	put_frame(PONG, 0);
	put_frame(FIRST, 0);
	put_frame(MORE, 0);
	assert_int_equal(ws_idle_frames(t.ws), 0);
	give(3);
	assert_int_equal(ws_idle_frames(t.ws), 5);
	put_frame(MORE, 1);
	put_frame(LAST, 0);
	put_frame(TEXT, 0);
	put_frame(TEXT, 3);
	give(3);
	assert_int_equal(ws_idle_frames(t.ws), 5);
	assert_string_equal(buf_text(&t.messages), "x\n\nxxx\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_refused_by_the_head),
		TEST(test_refused_by_the_sum),
		TEST(test_as_long_as_may_be),
		TEST(test_no_length),
		TEST(test_frames_at_once),
		TEST(test_frames_that_carry_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

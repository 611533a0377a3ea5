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
	t.ws = ws_new(false, BYTES_MAX, message, NULL);
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

/* --- a client ------------------------------------------------------------ */

static struct {
	struct ws *ws;
	struct buf in, out, messages;
} client;

static void
client_message(void *arg, struct str m)
{
	(void)arg;
	buf_put_str(&client.messages, m);
	buf_put_char(&client.messages, '\n');
}

static int
setup_client(void **state)
{
	client.ws = ws_new(true, BYTES_MAX, client_message, NULL);
	return setup(state);
}

static int
teardown_client(void **state)
{
	ws_free(&client.ws);
	buf_free(&client.in);
	buf_free(&client.out);
	buf_free(&client.messages);
	return teardown(state);
}

/* What one side has put goes to the other, until both are silent. */
static void
exchange(void)
{
	while (t.out.n > 0 || client.out.n > 0) {
		struct buf to_server = client.out, to_client = t.out;
		client.out = t.out = BUF_INIT;
		ws_recv(t.ws, buf_str(&to_server), SIZE_MAX, &t.out);
		ws_recv(client.ws, buf_str(&to_client), SIZE_MAX, &client.out);
		buf_free(&to_server);
		buf_free(&to_client);
	}
}

static void
give_client(const char *bytes, size_t n)
{
	ws_recv(client.ws, (struct str){ bytes, n }, SIZE_MAX, &client.out);
}

/* RFC 6455 section 4.2.2's example; keys differ and are accepted. */
static void
test_keys(void **state)
{
	char accept[WS_ACCEPT_BYTES], key[WS_KEY_BYTES], other[WS_KEY_BYTES];

	(void)state;
	assert_true(ws_accept(STR("dGhlIHNhbXBsZSBub25jZQ=="), accept));
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
	ws_key(key);
	ws_key(other);
	assert_int_equal(strlen(key), WS_KEY_BYTES - 1);
	assert_string_not_equal(key, other);
	assert_true(ws_accept(str_of(key), accept));
}

/* A server refuses frames without a mask, so these have one. */
static void
test_client_talks(void **state)
{
	static const size_t lengths[] = { 0, 1, 125, 126, 65535, 65536,
	    BYTES_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct buf text = BUF_INIT;
		memset(buf_grow(&text, lengths[i]), 'y', lengths[i]);
		ws_client_put_text(&client.out, buf_str(&text));
		exchange();
		buf_put_char(&text, '\n');
		assert_true(str_eq(buf_str(&t.messages), buf_str(&text)));
		buf_clear(&t.messages);
		buf_free(&text);
	}
	ws_put_ping(&client.out, true, STR("p"));
	exchange();
	assert_int_equal(ws_idle_frames(client.ws), 1);
	ws_put_head(&t.out, true, false, 2);
	buf_put_text(&t.out, "an");
	ws_put_head(&t.out, false, true, 4);
	buf_put_text(&t.out, "swer");
	ws_put_ping(&t.out, false, STR("p"));
	exchange();
	assert_string_equal(buf_text(&client.messages), "answer\n");
	assert_int_equal(ws_idle_frames(t.ws), 2);
	assert_false(ws_is_over(t.ws));
	assert_false(ws_is_over(client.ws));
}

/* Two frames of one text: masked, and by two masks. */
static void
test_client_masks(void **state)
{
	struct buf one = BUF_INIT, two = BUF_INIT;

	(void)state;
	ws_client_put_text(&one, STR("secret text"));
	ws_client_put_text(&two, STR("secret text"));
	assert_int_equal(one.n, 2 + 4 + 11);
	assert_int_equal((uint8_t)one.p[1], 0x80 | 11);
	assert_int_equal(one.n, two.n);
	assert_memory_not_equal(one.p + 2, two.p + 2, 15);
	assert_int_equal(str_find(buf_str(&one), STR("secret")), one.n);
	buf_free(&one);
	buf_free(&two);
}

static void
test_closes(void **state)
{
	(void)state;
	ws_put_close(&client.out, true, 1000, STR("done"));
	exchange();
	assert_int_equal(ws_code(t.ws), 1000);
	assert_int_equal(ws_code(client.ws), 1000);
	teardown_client(state);
	setup_client(state);
	ws_put_close(&t.out, false, 1001, STR("going away"));
	exchange();
	assert_int_equal(ws_code(client.ws), 1001);
	assert_int_equal(ws_code(t.ws), 1001);
}

/* RFC 6455 section 5.1: a client closes when a masked frame comes. */
static void
test_server_faults(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		int code;
	} faults[] = {
		{ "\x81\x81\0\0\0\0x", 7, 1002 },
		{ "\xc1\x01x", 3, 1002 },
		{ "\x83\x01x", 3, 1002 },
		{ "\x80\x01x", 3, 1002 },
		{ "\x88\x01x", 3, 1002 },
		{ "\x81\x02\xff\xff", 4, 1007 },
		{ "\x81\x7f\0\0\0\0\0\x01\x11\x71", 10, 1009 },
	};

	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		give_client(faults[i].bytes, faults[i].n);
		assert_true(ws_is_over(client.ws));
		assert_int_equal(ws_code(client.ws), faults[i].code);
		assert_int_equal(client.messages.n, 0);
		/* The server reads the close, so it is masked. */
		exchange();
		assert_int_equal(ws_code(t.ws), faults[i].code);
		teardown_client(state);
		setup_client(state);
	}
}

#define TEST_CLIENT(f) cmocka_unit_test_setup_teardown(f, setup_client, \
    teardown_client)
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
		TEST_CLIENT(test_keys),
		TEST_CLIENT(test_client_talks),
		TEST_CLIENT(test_client_masks),
		TEST_CLIENT(test_closes),
		TEST_CLIENT(test_server_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

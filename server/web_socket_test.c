/*
 * WebSockets of the port: the handshake, limits, holding, flow, the end.  The
 * protocol itself is held against Autobahn's cases in
 * tests/peers/websocket_cases.sh.
 */
#include "server/web_testing.h"

#include <linux/filter.h>

#define TEXT 0x81
#define CLOSE 0x88
#define PING 0x89
#define PONG 0x8a

static void
wait_for_none(void)
{
	for (int i = 0; i < 5000 && port_counts().sockets > 0; i++)
		usleep(1000);
	assert_int_equal(port_counts().sockets, 0);
}

static void
handshakes(void **state)
{
	static const struct {
		const char *fields;
		int status;
	} t[] = {
		{ UPGRADE, 101 },
		{ "Connection: keep-alive, UPGRADE\r\nUpgrade: WebSocket\r\n"
		    "Sec-WebSocket-Version: 13\r\n"
		    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", 101 },
		{ "Connection: Upgrade\r\nUpgrade: websocket\r\n"
		    "Sec-WebSocket-Version: 8\r\n"
		    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", 426 },
		{ "Connection: Upgrade\r\nUpgrade: websocket\r\n"
		    "Sec-WebSocket-Version: 13\r\n", 400 },
		{ "Connection: Upgrade\r\nUpgrade: websocket\r\n"
		    "Sec-WebSocket-Version: 13\r\n"
		    "Sec-WebSocket-Key: AAAA\r\n", 400 },
		{ "Connection: Upgrade\r\nUpgrade: websocket\r\n"
		    "Sec-WebSocket-Version: 13\r\n"
		    "Sec-WebSocket-Key: A*AAAAAAAAAAAAAAAAAAAA==\r\n", 400 },
		{ "Connection: close\r\nUpgrade: websocket\r\n"
		    "Sec-WebSocket-Version: 13\r\n"
		    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", 400 },
		{ UPGRADE "Content-Length: 1\r\n", 400 },
		{ UPGRADE "Origin: http://localhost:3\r\n", 101 },
		{ UPGRADE "Origin: http://evil.example\r\n", 403 },
		{ UPGRADE "Origin: null\r\n", 403 },
	};
	char text[600];
	struct answer a = { .status = 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		snprintf(text, sizeof(text), "GET /a/b HTTP/1.1\r\n" HOST
		    "%s\r\n", t[i].fields);
		int fd = dial();
		say_text(fd, text);
		hear(fd, &a, false);
		if (a.status != t[i].status)
			fail_msg("%zu: %d", i, a.status);
		assert_null(strstr(a.head, "extensions"));
		assert_null(strstr(a.head, "protocol:"));
		close(fd);
		buf_clear(&a.in);
	}
	snprintf(text, sizeof(text), "POST / HTTP/1.1\r\n" HOST UPGRADE
	    "\r\n");
	expect(text, 400, "GET");
	answer_free(&a);
}

static void
echoes(void **state)
{
	static const size_t sizes[] = { 0, 1, 125, 126, 127, 65535, 65536,
	    1 << 20 };
	struct answer a = { .status = 0 };
	int fd = dial_socket(&a);
	char *p = mem_new(1 << 20);

	(void)state;
	memset(p, 'y', 1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		say_frame(fd, TEXT, p, sizes[i]);
		assert_int_equal(hear_frame(fd, &a), TEXT);
		assert_int_equal(a.body.n, sizes[i]);
	}
	/* In fragments, with a ping between, which is answered first. */
	say_frame(fd, 0x01, "ab", 2);
	say_frame(fd, PING, "p", 1);
	say_frame(fd, 0x80, "cd", 2);
	assert_int_equal(hear_frame(fd, &a), PONG);
	assert_string_equal(buf_text(&a.body), "p");
	assert_int_equal(hear_frame(fd, &a), TEXT);
	assert_string_equal(buf_text(&a.body), "abcd");
	say_frame(fd, CLOSE, "\x03\xe8", 2);
	assert_int_equal(hear_close(fd, &a), 1000);
	assert_true(is_closed(fd));
	close(fd);
	wait_for_none();
	assert_int_equal(atomic_load(&port_code), 1000);
	mem_free(&p);
	answer_free(&a);
}

/* What comes behind the handshake in one packet is a message already. */
static void
early_message(void **state)
{
	struct answer a = { .status = 0 };
	int fd = dial();

	(void)state;
	say_text(fd, "GET / HTTP/1.1\r\n" HOST UPGRADE "\r\n\x81\x82"
	    "abcd\x09\x0b");
	hear(fd, &a, true);
	assert_int_equal(a.status, 101);
	assert_int_equal(hear_frame(fd, &a), TEXT);
	assert_string_equal(buf_text(&a.body), "hi");
	close(fd);
	answer_free(&a);
}

/* One message of `n` pieces that are a byte longer than the limit in all. */
static int
too_long(int pieces)
{
	struct answer a = { .status = 0 };
	int fd = dial_socket(&a);
	size_t whole = (1 << 20) + 1, part = whole / (size_t)pieces;
	char *p = mem_new(whole);

	memset(p, 'y', whole);
	for (int i = 0; i < pieces; i++) {
		bool last = i == pieces - 1;
		say_frame(fd, (i == 0 ? 1 : 0) | (last ? 0x80 : 0), p, last ?
		    whole - part * (size_t)(pieces - 1) : part);
	}
	int code = hear_close(fd, &a);
	close(fd);
	mem_free(&p);
	answer_free(&a);
	return code;
}

static void
limits(void **state)
{
	(void)state;
	assert_int_equal(too_long(1), 1009);
	assert_int_equal(too_long(2), 1009);
	assert_int_equal(too_long(1000), 1009);
}

/* Its head alone, of a message that will never come. */
static void
announced(void **state)
{
	struct answer a = { .status = 0 };
	int fd = dial_socket(&a);

	(void)state;
	say(fd, "\x81\xff\0\0\0\0\0\x10\0\x01", 10);
	assert_int_equal(hear_close(fd, &a), 1009);
	close(fd);
	answer_free(&a);
}

/* Sends n empty frames of one kind, then a message and a close. */
static int
idle(int kind, int n)
{
	struct answer a = { .status = 0 };
	int fd = dial_socket(&a);

	for (int i = 0; i < n; i++)
		say_frame(fd, i > 0 && kind == 0x01 ? 0 : kind, "", 0);
	say_frame(fd, kind == 0x01 ? 0x80 : TEXT, "end", 3);
	usleep(100000);
	say_frame(fd, CLOSE, "\x03\xe8", 2);
	int code = hear_close(fd, &a);
	close(fd);
	answer_free(&a);
	return code;
}

/* Frames that carry nothing, at the limit and above it. */
static void
idle_frames(void **state)
{
	static const int kinds[] = { PING, PONG, 0x01 };
	struct web_limits l = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &l };

	(void)state;
	l.idle_frames_burst = 200;
	l.idle_frames_per_s = 1;
	port_close();
	port_open(&o);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		assert_int_equal(idle(kinds[i], 200), 1000);
		assert_int_equal(idle(kinds[i], 250), 1008);
	}
}

/* Frames beyond those of one turn come in the turns that follow. */
static void
many_turns(void **state)
{
	struct web_limits l = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &l };
	struct answer a = { .status = 0 };
	struct buf b = BUF_INIT;

	(void)state;
	l.turn_frames_max = 3;
	port_close();
	port_open(&o);
	int fd = dial_socket(&a);
	for (int i = 0; i < 1000; i++) {
		char frame[] = { i == 0 ? 1 : i == 999 ? (char)0x80 : 0,
		    (char)0x81, 0, 0, 0, 0, (char)('a' + i % 26) };
		buf_put(&b, frame, sizeof(frame));
	}
	buf_put(&b, "\x89\x80\0\0\0\0", 6);
	say(fd, b.p, b.n);
	assert_int_equal(hear_frame(fd, &a), TEXT);
	assert_int_equal(a.body.n, 1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(a.body.p[i], 'a' + i % 26);
	assert_int_equal(hear_frame(fd, &a), PONG);
	say_frame(fd, TEXT, "on", 2);
	assert_int_equal(hear_frame(fd, &a), TEXT);
	close(fd);
	buf_free(&b);
	answer_free(&a);
}

static void
held(void **state)
{
	struct answer a = { .status = 0 };
	int fd = dial_socket(&a);

	(void)state;
	say_frame(fd, TEXT, "hold 300", 8);
	say_frame(fd, TEXT, "one", 3);
	say_frame(fd, PING, "", 0);
	say_frame(fd, TEXT, "two", 3);
	/* Pings are answered all the same. */
	assert_int_equal(hear_frame(fd, &a), PONG);
	assert_int_equal(hear_frame(fd, &a), TEXT);
	assert_string_equal(buf_text(&a.body), "one");
	assert_int_equal(hear_frame(fd, &a), TEXT);
	assert_string_equal(buf_text(&a.body), "two");
	/* Held for good, and closed: nothing more is delivered. */
	say_frame(fd, TEXT, "hold 9000000", 12);
	say_frame(fd, TEXT, "three", 5);
	say_frame(fd, CLOSE, "", 0);
	assert_int_equal(hear_close(fd, &a), 1005);
	assert_int_equal(atomic_load(&port_code), 1005);
	close(fd);
	answer_free(&a);
}

/* Who floods what is held, or reads nothing, is not read: memory stays. */
static void
floods(void **state)
{
	static char part[60000];
	int64_t cpu, before, after;
	int quiet = dial(), deaf;
	struct answer a = { .status = 0 };

	(void)state;
	close(quiet);
	clock_process_use(&cpu, &before);
	for (int kind = 0; kind < 2; kind++) {
		struct pollfd p = { .events = POLLOUT };
		p.fd = deaf = dial_socket(&a);
		if (kind == 0)
			say_frame(deaf, TEXT, "hold 9000000", 12);
		int sent = 0;
		while (poll(&p, 1, 300) == 1 && sent++ < 3000)
			say_frame(deaf, kind == 0 ? TEXT : PING, part,
			    kind == 0 ? sizeof(part) : 125);
		/* Pings are small: three thousand of them do fit. */
		assert_true(kind == 1 || sent < 3000);
		close(deaf);
		buf_clear(&a.in);
	}
	clock_process_use(&cpu, &after);
	assert_true(after - before < 40 << 20);
	answer_free(&a);
}

static void
big_messages(void **state)
{
	struct answer a = { .status = 0 };
	int fd = dial_socket(&a), first;
	size_t n = 0;

	(void)state;
	say_frame(fd, TEXT, "big 20000000", 12);
	say_frame(fd, PING, "mid", 3);
	do {
		first = hear_frame(fd, &a);
		assert_true(first == 0x01 || first == 0 || first == 0x80 ||
		    first == PONG);
		n += first == PONG ? 0 : a.body.n;
	} while (first != 0x80);
	assert_int_equal(n, 20000000);
	say_frame(fd, TEXT, "close", 5);
	assert_int_equal(hear_close(fd, &a), 4000);
	assert_string_equal(buf_text(&a.body) + 2, "as you wish");
	assert_true(is_closed(fd));
	close(fd);
	while (atomic_load(&port_closed) < atomic_load(&port_opened))
		usleep(1000);
	assert_int_equal(atomic_load(&port_code), 4000);
	answer_free(&a);
}

static void
leavers(void **state)
{
	struct answer a = { .status = 0 };

	(void)state;
	for (int i = 0; i < 20; i++) {
		int fd = dial_socket(&a);
		struct linger now = { 1, 0 };
		if (i % 2)
			say_frame(fd, TEXT, "big 9000000", 11);
		if (i % 4 < 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &now,
			    sizeof(now));
		close(fd);
		buf_clear(&a.in);
	}
	wait_for_none();
	assert_int_equal(atomic_load(&port_code), 1006);
	answer_free(&a);
}

/* One that takes nothing is closed with 1013, and may read on to see it. */
static void
stalls(void **state)
{
	struct web_limits l = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &l };
	struct answer a = { .status = 0 };

	(void)state;
	l.socket_stall_ms = 1500;
	l.drain_ms = 3000;
	port_close();
	port_open(&o);
	int fd = dial_socket(&a), fine = dial_socket(&a);
	say_frame(fd, TEXT, "big 90000000", 12);
	usleep(1300000);
	assert_int_equal(port_counts().sockets_stalled, 1);
	int closed = atomic_load(&port_closed);
	usleep(1500000);
	assert_int_equal(atomic_load(&port_closed), closed + 1);
	assert_int_equal(atomic_load(&port_code), 1013);
	assert_int_equal(hear_close(fd, &a), 1013);
	say_frame(fine, TEXT, "hi", 2);
	buf_clear(&a.in);
	assert_int_equal(hear_frame(fine, &a), TEXT);
	close(fd), close(fine);
	answer_free(&a);
}

static void
pings(void **state)
{
	struct web_limits l = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &l };
	struct answer a = { .status = 0 };

	(void)state;
	l.ping_ms = 200;
	port_close();
	port_open(&o);
	int fd = dial_socket(&a);
	for (int i = 0; i < 4; i++)
		assert_int_equal(hear_frame(fd, &a), PING);
	close(fd);
	answer_free(&a);
}

/* From now on it takes part in nothing, as if its cable had been pulled. */
static void
unplug(int fd)
{
	struct sock_filter drop = { .code = BPF_RET | BPF_K, .k = 0 };
	struct sock_fprog all = { 1, &drop };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &all,
	    sizeof(all)), 0);
}

/*
 * Who went without a word is noticed; who reads nothing, or answers no pings,
 * is there still.
 */
static void
vanished(void **state)
{
	struct web_limits l = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &l };
	struct answer a = { .status = 0 };
	int fds[4];

	(void)state;
	l.ping_ms = 100;
	l.silent_ms = 700;
	port_close();
	port_open(&o);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = dial_socket(&a);
		buf_clear(&a.in);
		/* The last has something under way, and reads nothing. */
		if (i == 3)
			say_frame(fds[i], TEXT, "big 90000000", 12);
	}
	int closed = atomic_load(&port_closed);
	usleep(1500000);
	assert_int_equal(atomic_load(&port_closed), closed);
	unplug(fds[1]), unplug(fds[2]);
	say_frame(fds[2], TEXT, "big 90000000", 12);
	for (int i = 0; i < 5000 && port_counts().sockets > 2; i++)
		usleep(1000);
	assert_int_equal(atomic_load(&port_closed), closed + 2);
	assert_int_equal(atomic_load(&port_code), 1006);
	assert_int_equal(port_counts().sockets, 2);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	answer_free(&a);
}

static void
too_many(void **state)
{
	struct web_limits l = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &l };
	struct answer a = { .status = 0 };

	(void)state;
	l.sockets_max = 2;
	l.coming_bytes_max = 100000;
	port_close();
	port_open(&o);
	int one = dial_socket(&a), two = dial_socket(&a);
	expect("GET / HTTP/1.1\r\n" HOST UPGRADE "\r\n", 503, "limit");
	/* Messages of both that are not whole, above what there is for all. */
	static char part[60000];
	say_frame(one, 0x01, part, sizeof(part));
	usleep(100000);
	say_frame(two, 0x01, part, sizeof(part));
	assert_int_equal(hear_close(two, &a), 1013);
	say_frame(one, 0x80, "", 0);
	buf_clear(&a.in);
	assert_int_equal(hear_frame(one, &a), TEXT);
	assert_int_equal(a.body.n, sizeof(part));
	close(one), close(two);
	answer_free(&a);
}

int
main(void)
{
#define LIVE(f) cmocka_unit_test_setup_teardown(f, port_setup, port_teardown)
	const struct CMUnitTest tests[] = {
		LIVE(handshakes), LIVE(echoes), LIVE(early_message),
		LIVE(limits), LIVE(announced), LIVE(idle_frames),
		LIVE(many_turns), LIVE(held), LIVE(floods), LIVE(big_messages),
		LIVE(leavers), LIVE(stalls), LIVE(pings), LIVE(vanished),
		LIVE(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

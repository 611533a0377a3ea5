/*
 * Clients that are wrong, slow, gone, too many or malicious.
 */
#include "os/web_testing.h"

static void
refusals(void **state)
{
	struct answer a = { .status = 0 };

	(void)state;
	expect("GET /nowhere HTTP/1.1\r\n" HOST "\r\n", 404, "not_found");
	expect("GET / HTTP/1.1\r\n" HOST "\r\n", 404, "not_found");
	expect("DELETE /hello HTTP/1.1\r\n" HOST "\r\n", 405, "GET, HEAD");
	expect("OPTIONS /hello HTTP/1.1\r\n" HOST "\r\n", 405, NULL);
	expect("POST /hello HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab",
	    405, NULL);
	ask("GET /echo HTTP/1.1\r\n" HOST "\r\n", &a);
	assert_int_equal(a.status, 405);
	assert_non_null(strstr(a.head, "allow: POST"));
	answer_free(&a);
	/* Hosts and origins of strangers. */
	expect("GET /hello HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403,
	    "bad_host");
	expect("GET /hello HTTP/1.1\r\nHost: evil.example\r\n"
	    "Host: localhost\r\n\r\n", 403, "bad_host");
	expect("GET /hello HTTP/1.1\r\nHost: a\"\\\r\n\r\n", 403, NULL);
	expect("GET /hello HTTP/1.1\r\nHost: [::1]:8001\r\n\r\n", 200, NULL);
	expect("GET /hello HTTP/1.1\r\n\r\n", 400, "bad_host");
	expect("POST /echo HTTP/1.1\r\n" HOST "Origin: http://evil.example"
	    "\r\nContent-Length: 1\r\n\r\na", 403, "bad_origin");
	expect("POST /echo HTTP/1.1\r\n" HOST "Origin: null\r\n"
	    "Content-Length: 1\r\n\r\na", 403, "bad_origin");
	expect("POST /echo HTTP/1.1\r\n" HOST "Origin: http://localhost:1\r\n"
	    "Content-Length: 1\r\n\r\na", 200, "a");
	expect("GET /hello HTTP/1.1\r\n" HOST "Origin: http://evil.example"
	    "\r\n\r\n", 200, NULL);
	/* Framing. */
	expect("POST /echo HTTP/1.1\r\n" HOST "\r\n", 411, NULL);
	expect("PUT /echo HTTP/1.1\r\n" HOST "\r\n", 411, NULL);
	expect("PUT /echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\na",
	    405, NULL);
	expect("DELETE /echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\na",
	    405, NULL);
	expect("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	    "\r\n1\r\na\r\n0\r\n\r\n", 411, "chunked");
	expect("GET /hello HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	    "\r\n0\r\n\r\n", 411, NULL);
	expect("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
	    "Content-Length: 2\r\n\r\nab", 400, "bad_length");
	expect("POST /echo HTTP/1.1\r\n" HOST "Content-Length: -5\r\n\r\nab",
	    400, "bad_length");
	expect("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1e3\r\n\r\nab",
	    400, "bad_length");
	expect("POST /echo HTTP/1.1\r\n" HOST
	    "Content-Length: 99999999999999999999\r\n\r\nab", 400, NULL);
	expect("GET /hello HTTP/2.0\r\n" HOST "\r\n", 505, NULL);
	expect("GET /hello\r\n\r\n", 505, NULL);
	expect("GET /a&b HTTP/1.1\r\n" HOST "\r\n", 400, "%26");
	expect("GET /%01 HTTP/1.1\r\n" HOST "\r\n", 400, "bad_path");
	/* No HTTP at all. */
	expect("BREW /pot HTTP/1.1\r\n" HOST "\r\n", 501, "bad_method");
	expect("CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n", 501, NULL);
	expect("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 501, NULL);
	expect("\x16\x03\x01 hello", 400, "TLS");
	expect("GET /hello HTTP/1.1\r\n" HOST "Connection: Upgrade\r\n"
	    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", 404,
	    "no_websocket");
	/* An offer of HTTP/2 is ignored, as curl --http2 expects. */
	expect("GET /hello HTTP/1.1\r\n" HOST "Connection: Upgrade, "
	    "HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQA"
	    "AP__\r\n\r\n", 200, "hello\n");
}

static void
big_heads(void **state)
{
	struct buf b = BUF_INIT;
	struct answer a = { .status = 0 };

	(void)state;
	/* Well below the limit; the field is in no table. */
	buf_put_text(&b, "GET /param?v=1 HTTP/1.1\r\n" HOST "X-Odd: ");
	for (int i = 0; i < 6000; i++)
		buf_put_char(&b, 'y');
	buf_put_text(&b, "\r\n\r\n");
	ask(buf_text(&b), &a);
	assert_int_equal(a.status, 200);
	assert_true(a.body.n > 6000);
	/* Beyond it: closed, in one piece and in many, known field or not. */
	for (int i = 0; i < 3; i++) {
		buf_clear(&b);
		buf_put_text(&b, i == 0 ? "GET /hello HTTP/1.1\r\n" HOST
		    "X-Odd: " : i == 1 ? "GET /hello HTTP/1.1\r\n" HOST
		    "User-Agent: " : "GET /");
		for (size_t j = 0; j < WEB_HEAD_BYTES_MAX + 100; j++)
			buf_put_char(&b, 'y');
		ask(buf_text(&b), &a);
		assert_int_equal(a.status, 0);
	}
	buf_clear(&b);
	buf_put_text(&b, "GET /hello HTTP/1.1\r\n" HOST);
	for (int i = 0; i < 300; i++)
		buf_put_text(&b, "Accept: a\r\n");
	buf_put_text(&b, "\r\n");
	ask(buf_text(&b), &a);
	assert_int_equal(a.status, 0);
	buf_free(&b);
	answer_free(&a);
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
}

#define GARBAGE 600
/* Bytes of chance, and requests with a few bytes changed: it goes on. */
static void
garbage(void **state)
{
	static const char *seeds[] = {
		"GET /param?v=1 HTTP/1.1\r\nHost: localhost\r\nA: b\r\n\r\n",
		"POST /echo HTTP/1.1\r\nHost: localhost\r\n"
		"Content-Length: 5\r\n\r\nhello",
		"GET /hello HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\n"
		"Connection: upgrade\r\nHTTP2-Settings: AAMA\r\n\r\n",
	};
	uint64_t seed = 20261120;

	(void)state;
	for (int i = 0; i < GARBAGE; i++) {
		char text[400];
		size_t n = strlen(seeds[i % 3]);
		memcpy(text, seeds[i % 3], n);
		for (int j = 0; j < 1 + i % 8; j++) {
			seed = seed * 6364136223846793005u + 1;
			text[(seed >> 33) % n] = (char)(seed >> 50);
		}
		int fd = dial();
		say(fd, text, n);
		shutdown(fd, SHUT_WR);
		char got[1000];
		while (recv(fd, got, sizeof(got), 0) > 0)
			;
		close(fd);
	}
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
}

/*
 * POSTs sent so: libwebsockets would mistake their heads for their bodies.
 * Each is answered rightly or not at all, whatever came before it.
 */
static void
pipelined_bodies(void **state)
{
	static const char *before[] = {
		"GET /hello HTTP/1.1\r\n" HOST "\r\n",
		"GET /kept/fast HTTP/1.1\r\n" HOST "\r\n",
		"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab",
		"POST /kept/5 HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab",
		"GET /nowhere HTTP/1.1\r\n" HOST "\r\n",
		"GET /big HTTP/1.1\r\n" HOST "\r\n",
	};
	static const char *posts[] = {
		"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody",
		"POST /kept/x HTTP/1.1\r\n" HOST "Content-Length:4\r\n\r\nbody",
		"POST /none HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody",
		"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 900\r\n\r\nb",
		"GET /none HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody",
		"POST /echo HTTP/1.1\r\n" HOST "\r\n",
		"PUT /echo HTTP/1.1\r\n" HOST "\r\n",
		"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 4x\r\n\r\nbody",
	};
	static const char more[] = "GET /hello HTTP/1.1\r\n" HOST "\r\n";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(before) * ARRAY_LEN(posts) * 4; i++) {
		struct buf b = BUF_INIT, got = BUF_INIT;
		int fd = dial();
		buf_put_text(&b, before[i / 4 % ARRAY_LEN(before)]);
		/* In one packet, or with the cut in an unlucky place. */
		size_t cut = i % 4 == 0 ? 0 : b.n + 17 * (i % 4 - 1);
		buf_put_text(&b, posts[i / 4 / ARRAY_LEN(before)]);
		buf_put_text(&b, more);
		say(fd, b.p, cut);
		if (cut > 0)
			usleep(2000);
		say(fd, b.p + cut, b.n - cut);
		if (i % 3 == 0)
			shutdown(fd, SHUT_WR);
		hear_all(fd, &got);
		if (strstr(buf_text(&got), "POST /") != NULL)
			fail_msg("case %zu: %s", i, got.p);
		close(fd);
		buf_free(&b);
		buf_free(&got);
	}
	expect(more, 200, NULL);
}

static void
slow_reader(void **state)
{
	int slow = dial(), small = 65536;
	struct answer a = { .status = 0 };
	int64_t cpu_before, cpu_after, rss;

	(void)state;
	setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	/* It even sends its next request, and reads nothing for a while. */
	say_text(slow, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	usleep(50000);
	clock_process_use(&cpu_before, &rss);
#if LWS_LIBRARY_VERSION_NUMBER < 4003000
	say_text(slow, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
#endif
	for (int i = 0; i < 20; i++) {
		expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
		usleep(20000);
	}
	clock_process_use(&cpu_after, &rss);
	/* 400 ms went by; without the nap a core would have been busy. */
	assert_true(cpu_after - cpu_before < 250 * NS_PER_MS);
	hear(slow, &a, false);
	assert_int_equal(a.body.n, BIG_BYTES);
	for (size_t i = 0; i < BIG_BYTES; i++)
		if (a.body.p[i] != (char)('a' + i % 26))
			fail_msg("byte %zu", i);
#if LWS_LIBRARY_VERSION_NUMBER < 4003000
	hear(slow, &a, false);
	assert_string_equal(buf_text(&a.body), "hello\n");
#endif
	close(slow);
	answer_free(&a);
}

/* A client that leaves while its request is kept. */
static void
leavers(void **state)
{
	struct web_counts n;

	(void)state;
	for (int i = 0; i < 20; i++) {
		int fd = dial();
		struct linger now = { 1, 0 };
		say_text(fd, "GET /kept/100 HTTP/1.1\r\n" HOST "\r\n");
		while (atomic_load(&port_kept) <= i)
			usleep(1000);
		if (i % 2 == 0)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &now,
			    sizeof(now));
		close(fd);
	}
	usleep(300000);
	web_counts(port, &n);
	assert_int_equal(n.requests_kept, 0);
	assert_int_equal(n.connections, 0);
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
}

static void
connection_limit(void **state)
{
	int fds[51];
	struct answer a = { .status = 0 };
	struct web_counts n;

	(void)state;
	for (int i = 0; i < 50; i++) {
		fds[i] = dial();
		say_text(fds[i], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
		hear(fds[i], &a, false);
		assert_int_equal(a.status, 200);
	}
	fds[50] = dial();
	hear(fds[50], &a, false);
	assert_int_equal(a.status, 503);
	assert_non_null(strstr(buf_text(&a.body), "\"limit\""));
	web_counts(port, &n);
	assert_int_equal(n.connections, 50);
	assert_int_equal(n.refused, 1);
	for (int i = 0; i < 51; i++)
		close(fds[i]);
	usleep(100000);
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
	answer_free(&a);
}

static void
timeouts(void **state)
{
	static const struct web_options o = { .idle_s_max = 1,
	    .head_s_max = 1, .body_s_max = 1 };
	struct answer a = { .status = 0 };
	struct web_counts n;

	(void)state;
	port_close();
	port_open(&o);
	int idle = dial(), head = dial(), body = dial(), used = dial();
	say_text(used, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	hear(used, &a, false);
	say_text(body, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n"
	    "\r\n");
	/* Drop by drop: neither head nor body gains time by it. */
	say_text(head, "GET /hello HTTP/1.1\r\n" HOST);
	for (int i = 0; i < 15; i++) {
		usleep(100000);
		say_text(head, "x");
		if (i < 3)
			say_text(body, "x");
	}
	hear(body, &a, false);
	assert_int_equal(a.status, 408);
	hear(head, &a, false);
	assert_int_equal(a.status, 0);
	assert_true(is_closed(idle));
	assert_true(is_closed(used));
	web_counts(port, &n);
	assert_int_equal(n.timeouts, 1);
	/* A kept request waits as long as its answer takes. */
	expect("GET /kept/2500 HTTP/1.1\r\n" HOST "\r\n", 200, "2500");
	close(idle), close(head), close(body), close(used);
	answer_free(&a);
}

int
main(void)
{
#define LIVE(f) cmocka_unit_test_setup_teardown(f, port_setup, port_teardown)
	const struct CMUnitTest tests[] = {
		LIVE(refusals), LIVE(big_heads), LIVE(garbage),
		LIVE(pipelined_bodies), LIVE(slow_reader), LIVE(leavers),
		LIVE(connection_limit), LIVE(timeouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Clients that are wrong, slow, gone, too many or malicious.
 */
#include "server/web_testing.h"

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
	expect("GET http://evil.example/hello HTTP/1.1\r\n" HOST "\r\n", 403,
	    "bad_host");
	expect("GET /hello HTTP/1.1\r\nHost: localhost\r\n"
	    "Host: localhost\r\n\r\n", 400, "bad_host");
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
	expect("GET /hello HTTP/1.1\r\n" HOST "Origin: http://evil.example\r\n"
	    UPGRADE "\r\n", 403, "bad_origin");
	/* Framing; that of the head itself is in wire/web/head_test.c. */
	expect("PUT /echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\na",
	    405, NULL);
	expect("DELETE /echo HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\na",
	    405, NULL);
	expect("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	    "Content-Length: 1\r\n\r\n1\r\na\r\n0\r\n\r\n", 400, "bad_length");
	expect("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, "
	    "chunked\r\n\r\n", 501, NULL);
	expect("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	    "\r\nx\r\n", 400, "chunked");
	expect("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	    "\r\n1\na\r\n0\r\n\r\n", 400, "chunked");
	expect("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	    "\r\nfffffff\r\n", 413, "limit");
	expect("GET /hello HTTP/2.0\r\n" HOST "\r\n", 505, NULL);
	expect("GET /hello\r\n\r\n", 400, NULL);
	expect("GET /%01 HTTP/1.1\r\n" HOST "\r\n", 400, "bad_path");
	expect("GET /a/../hello HTTP/1.1\r\n" HOST "\r\n", 400, "bad_path");
	expect("GET /file/..%2fa HTTP/1.1\r\n" HOST "\r\n", 400, "bad_path");
	expect("BREW /hello HTTP/1.1\r\n" HOST "\r\n", 405, "bad_method");
	expect("CONNECT a:1 HTTP/1.1\r\n" HOST "\r\n", 501, NULL);
	expect("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, NULL);
	expect("\x16\x03\x01 hello", 400, "TLS");
	/* An offer of HTTP/2 is ignored, as curl --http2 expects. */
	expect("GET /hello HTTP/1.1\r\n" HOST "Connection: Upgrade, "
	    "HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQA"
	    "AP__\r\n\r\n", 200, "hello\n");
}

/* A request of exactly so many bytes, most of them in the target, or not. */
static int
head_of(size_t bytes, bool target)
{
	static const char end[] = " HTTP/1.1\r\n" HOST "\r\n";
	struct buf b = BUF_INIT;
	struct answer a = { .status = 0 };

	buf_put_text(&b, target ? "GET /hello?" : "GET /hello HTTP/1.1\r\n"
	    HOST "X-Odd: ");
	while (b.n + (target ? sizeof(end) - 1 : 4) < bytes)
		buf_put_char(&b, 'y');
	buf_put_text(&b, target ? end : "\r\n\r\n");
	assert_int_equal(b.n, bytes);
	ask(buf_text(&b), &a);
	buf_free(&b);
	answer_free(&a);
	return a.status;
}

static int
fields_of(int n)
{
	struct buf b = BUF_INIT;
	struct answer a = { .status = 0 };

	buf_put_text(&b, "GET /hello HTTP/1.1\r\n" HOST);
	for (int i = 1; i < n; i++)
		buf_put_text(&b, "Accept: a\r\n");
	buf_put_text(&b, "\r\n");
	ask(buf_text(&b), &a);
	buf_free(&b);
	answer_free(&a);
	return a.status;
}

static void
big_heads(void **state)
{
	(void)state;
	assert_int_equal(head_of(16384, false), 200);
	assert_int_equal(head_of(16385, false), 431);
	assert_int_equal(head_of(100000, false), 431);
	assert_int_equal(head_of(16384, true), 200);
	assert_int_equal(head_of(16385, true), 431);
	assert_int_equal(head_of(100000, true), 414);
	assert_int_equal(fields_of(100), 200);
	assert_int_equal(fields_of(101), 431);
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
}

/* All limits of a body, with a length and in chunks. */
static int
body_of(size_t bytes, bool chunked)
{
	struct answer a = { .status = 0 };
	char head[200];
	char *body = mem_new(bytes + 1);
	int fd = dial();

	memset(body, 'x', bytes);
	int h = chunked ? snprintf(head, sizeof(head), "POST /echo HTTP/1.1"
	    "\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", bytes)
	    : snprintf(head, sizeof(head), "POST /echo HTTP/1.1\r\n" HOST
	    "Content-Length: %zu\r\n\r\n", bytes);
	say(fd, head, (size_t)h);
	say(fd, body, bytes);
	if (chunked)
		say_text(fd, "\r\n0\r\n\r\n");
	hear(fd, &a, false);
	if (a.status == 200)
		assert_int_equal(a.body.n, bytes);
	else
		assert_true(is_closed(fd));
	close(fd);
	mem_free(&body);
	answer_free(&a);
	return a.status;
}

static void
big_bodies(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(body_of(99999, i == 1), 200);
		assert_int_equal(body_of(100000, i == 1), 200);
		assert_int_equal(body_of(100001, i == 1), 413);
		assert_int_equal(body_of(5000000, i == 1), 413);
	}
}

/* Bodies of many that are not whole: what there is for all of them. */
static void
many_bodies(void **state)
{
	struct web_limits limits = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &limits };
	struct answer a = { .status = 0 };
	static char part[50000];
	int fds[3];

	(void)state;
	limits.coming_bytes_max = 120000;
	port_close();
	port_open(&o);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = dial();
		say_text(fds[i], "POST /echo HTTP/1.1\r\n" HOST
		    "Content-Length: 50001\r\n\r\n");
		say(fds[i], part, sizeof(part));
		usleep(50000);
	}
	hear(fds[2], &a, false);
	assert_int_equal(a.status, 503);
	assert_true(is_closed(fds[2]));
	/* The others are served, and give back what they had. */
	for (int i = 0; i < 2; i++) {
		say_text(fds[i], "x");
		hear(fds[i], &a, false);
		assert_int_equal(a.status, 200);
	}
	assert_int_equal(body_of(100000, false), 200);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	answer_free(&a);
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

/* Whatever comes behind whatever, and wherever it is cut: each its answer. */
static void
pipelined_bodies(void **state)
{
	static const struct {
		const char *text, *answer;
	} t[] = {
		{ "GET /hello HTTP/1.1\r\n" HOST "\r\n", "hello\n" },
		{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 4\r\n"
		    "\r\nbody", "body" },
		{ "POST /kept/5 HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
		    "\r\nab", "5" },
		{ "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: "
		    "chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc" },
		{ "GET /nowhere HTTP/1.1\r\n" HOST "\r\n", "not_found" },
		{ "GET /kept/fast HTTP/1.1\r\n" HOST "\r\n", "fast" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t) * ARRAY_LEN(t) * 4; i++) {
		size_t one = i / 4 % ARRAY_LEN(t), two = i / 4 / ARRAY_LEN(t);
		struct buf b = BUF_INIT;
		struct answer a = { .status = 0 };
		int fd = dial();
		buf_put_text(&b, t[one].text);
		/* In one packet, or with the cut in an unlucky place. */
		size_t cut = i % 4 == 0 ? 0 : b.n + 17 * (i % 4 - 1);
		buf_put_text(&b, t[two].text);
		buf_put_text(&b, t[0].text);
		say(fd, b.p, cut);
		if (cut > 0)
			usleep(2000);
		say(fd, b.p + cut, b.n - cut);
		const char *want[] = { t[one].answer, t[two].answer,
		    t[0].answer };
		for (size_t j = 0; j < ARRAY_LEN(want); j++) {
			hear(fd, &a, false);
			if (strstr(buf_text(&a.body), want[j]) == NULL)
				fail_msg("case %zu.%zu: %s", i, j,
				    buf_text(&a.body));
		}
		close(fd);
		buf_free(&b);
		answer_free(&a);
	}
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
	say_text(slow, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	for (int i = 0; i < 20; i++) {
		expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
		usleep(20000);
	}
	clock_process_use(&cpu_after, &rss);
	/* 400 ms went by. */
	assert_true(cpu_after - cpu_before < 250 * NS_PER_MS);
	hear(slow, &a, false);
	assert_int_equal(a.body.n, BIG_BYTES);
	for (size_t i = 0; i < BIG_BYTES; i++)
		if (a.body.p[i] != (char)('a' + i % 26))
			fail_msg("byte %zu", i);
	hear(slow, &a, false);
	assert_string_equal(buf_text(&a.body), "hello\n");
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
	n = port_counts();
	assert_int_equal(n.requests_kept, 0);
	assert_int_equal(n.connections, 0);
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
}

/* A client that sends on and on and reads no answers: it is not read. */
static void
deaf_sender(void **state)
{
	static const char text[] = "GET /text HTTP/1.1\r\n" HOST "\r\n";
	int fd = dial(), sent = 0, small = 65536;
	struct answer a = { .status = 0 };
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	(void)state;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	/* Until neither side's buffers take any more. */
	while (poll(&p, 1, 500) == 1 && sent < 200000) {
		say(fd, text, sizeof(text) - 1);
		sent++;
	}
	assert_true(sent < 200000);
	assert_true(port_counts().requests < (uint64_t)sent);
	for (int i = 0; i < sent; i++) {
		hear(fd, &a, false);
		assert_int_equal(a.status, 200);
	}
	close(fd);
	answer_free(&a);
}

/* -- Bodies that are read as they arrive -- */

static void
wait_for(atomic_int *number, int n)
{
	for (int i = 0; i < 10000 && atomic_load(number) != n; i++)
		usleep(1000);
	assert_int_equal(atomic_load(number), n);
}

/* One that is refused while it is read: its reader is cut, once. */
static void
refused_upload(const char *query, const char *body, int status)
{
	struct answer a = { .status = 0 };
	int fd = dial(), cut = atomic_load(&port_cut);

	say_upload(fd, query, SIZE_MAX);
	say_text(fd, body);
	hear(fd, &a, false);
	assert_int_equal(a.status, status);
	assert_true(is_closed(fd));
	assert_int_equal(atomic_load(&port_cut), cut + 1);
	close(fd);
	answer_free(&a);
}

static void
bad_uploads(void **state)
{
	struct answer a = { .status = 0 };
	int fd = dial();

	(void)state;
	refused_upload("", "3\r\nabc\r\nx\r\n", 400);
	refused_upload("", "3\r\nabcd", 400);
	refused_upload("", "3\r\nabc\r\nfffffff\r\n", 413);
	refused_upload("hold=100", "3\r\nabc\r\nfffffff\r\n", 413);
	/* A Content-Length above the limit never reaches the handler. */
	say_upload(fd, "", UPLOAD_BYTES_MAX + 1);
	hear(fd, &a, false);
	assert_int_equal(a.status, 413);
	assert_int_equal(atomic_load(&port_cut), 4);
	close(fd);
	/* To the last byte of the limit, in all its pieces. */
	fd = dial();
	say_upload(fd, "", SIZE_MAX);
	for (size_t at = 0; at < UPLOAD_BYTES_MAX; at += 1 << 20)
		say_letters(fd, at, 1 << 20, true);
	say_text(fd, "0\r\n\r\n");
	hear(fd, &a, false);
	assert_string_equal(buf_text(&a.body), "33554432 0");
	say_upload(fd, "", SIZE_MAX);
	for (size_t at = 0; at < UPLOAD_BYTES_MAX; at += 1 << 20)
		say_letters(fd, at, 1 << 20, true);
	say_text(fd, "1\r\na\r\n0\r\n\r\n");
	hear(fd, &a, false);
	assert_int_equal(a.status, 413);
	assert_int_equal(atomic_load(&port_cut), 5);
	close(fd);
	answer_free(&a);
}

/* Clients that leave in the middle, in peace or not, waited for or not. */
static void
gone_uploads(void **state)
{
	struct linger now = { 1, 0 };

	(void)state;
	for (int i = 0; i < 12; i++) {
		int fd = dial(), read = atomic_load(&port_read);
		bool held = i % 3 == 2;
		say_upload(fd, held ? "hold=200" : "", i % 2 == 0 ? 1000 :
		    SIZE_MAX);
		say_letters(fd, 0, 10, i % 2 == 1);
		wait_for(&port_read, read + 10);
		/* Where nobody reads on it is noticed later. */
		if (i % 4 < 2)
			setsockopt(fd, SOL_SOCKET, SO_LINGER, &now,
			    sizeof(now));
		close(fd);
		wait_for(&port_cut, i + 1);
	}
	assert_int_equal(port_counts().requests_kept, 0);
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
}

/* A client that sends on while nobody reads is not read, and loses nothing;
 * one that sent all and its end meanwhile is answered. */
static void
held_uploads(void **state)
{
	static const size_t bytes = 20 << 20;
	struct answer a = { .status = 0 };
	struct pollfd p = { .events = POLLOUT };
	size_t sent = 0;

	(void)state;
	int fd = p.fd = dial();
	say_upload(fd, "hold=300", bytes);
	while (sent < bytes && poll(&p, 1, 100) == 1) {
		say_letters(fd, sent, 65536, false);
		sent += 65536;
	}
	assert_true(sent < bytes);
	assert_true(atomic_load(&port_read) < 1 << 20);
	close(fd);
	wait_for(&port_cut, 1);
	fd = dial();
	say_upload(fd, "hold=100", 300000);
	say_letters(fd, 0, 300000, false);
	shutdown(fd, SHUT_WR);
	hear(fd, &a, false);
	assert_int_equal(a.status, 200);
	assert_string_equal(buf_text(&a.body), "300000 0");
	assert_true(is_closed(fd));
	close(fd);
	answer_free(&a);
}

/*
 * body_ms limits the time between pieces of 64 KiB, but not while the handler
 * does not read.  Each upload takes longer than body_ms in all.
 */
static void
slow_uploads(void **state)
{
	struct web_limits limits = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &limits };
	struct answer a = { .status = 0 };

	(void)state;
	limits.body_ms = 4000;
	port_close();
	port_open(&o);
	int drops = dial(), steps = dial(), held = dial();
	say_upload(drops, "", 1000);
	say_upload(steps, "", 4 * 65536);
	say_upload(held, "hold=5000", 6);
	say_letters(held, 0, 3, false);
	for (int i = 0; i < 24; i++) {
		usleep(250000);
		say_letters(drops, (size_t)i, 1, false);
		if (i % 6 == 5)
			say_letters(steps, (size_t)i / 6 * 65536, 65536,
			    false);
	}
	hear(steps, &a, false);
	assert_string_equal(buf_text(&a.body), "262144 0");
	hear(drops, &a, false);
	assert_int_equal(a.status, 408);
	assert_int_equal(atomic_load(&port_cut), 1);
	assert_int_equal(port_counts().timeouts, 1);
	say_letters(held, 3, 3, false);
	hear(held, &a, false);
	assert_string_equal(buf_text(&a.body), "6 0");
	close(drops), close(steps), close(held);
	answer_free(&a);
}

static void
connection_limit(void **state)
{
	int fds[51];
	struct answer a = { .status = 0 };
	struct pollfd p = { .events = POLLIN };

	(void)state;
	for (int i = 0; i < 50; i++) {
		fds[i] = dial();
		say_text(fds[i], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
		hear(fds[i], &a, false);
		assert_int_equal(a.status, 200);
	}
	/* One more waits at the door until another leaves. */
	p.fd = fds[50] = dial();
	say_text(fds[50], "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(poll(&p, 1, 300), 0);
	assert_int_equal(port_counts().connections, 50);
	close(fds[0]);
	hear(fds[50], &a, false);
	assert_int_equal(a.status, 200);
	for (int i = 1; i < 51; i++)
		close(fds[i]);
	answer_free(&a);
}

static void
timeouts(void **state)
{
	struct web_limits limits = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &limits };
	struct answer a = { .status = 0 };

	(void)state;
	limits.idle_ms = limits.head_ms = limits.body_ms = 1000;
	port_close();
	port_open(&o);
	int idle = dial(), head = dial(), body = dial(), used = dial();
	say_text(used, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	hear(used, &a, false);
	say_text(body, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 50\r\n"
	    "\r\n");
	/* Drop by drop: neither head nor body gains time by it. */
	say_text(head, "GET /hello HTTP/1.1\r\n" HOST);
	for (int i = 0; i < 15; i++) {
		usleep(100000);
		say_text(head, "x");
		say_text(body, "x");
	}
	hear(body, &a, false);
	assert_int_equal(a.status, 408);
	buf_clear(&a.in);
	hear(head, &a, false);
	assert_int_equal(a.status, 408);
	assert_true(is_closed(idle));
	assert_true(is_closed(used));
	assert_int_equal(port_counts().timeouts, 2);
	/* A kept request waits as long as its answer takes. */
	expect("GET /kept/2500 HTTP/1.1\r\n" HOST "\r\n", 200, "2500");
	close(idle), close(head), close(body), close(used);
	answer_free(&a);
}

/* An answer of which nothing is taken. */
static void
stalled(void **state)
{
	struct web_limits limits = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &limits };
	int small = 4096, fd;

	(void)state;
	limits.stall_ms = 500;
	port_close();
	port_open(&o);
	fd = dial();
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	say_text(fd, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	usleep(200000);
	assert_int_equal(port_counts().connections, 1);
	usleep(1500000);
	assert_int_equal(port_counts().connections, 0);
	close(fd);
}

/* A handler that aborts: the connection ends without a byte, whether there is
 * a body, another request behind it, or nobody any more. */
static void
aborts(void **state)
{
	static const char *const texts[] = {
		"POST /abort HTTP/1.1\r\n" HOST "\r\n",
		"POST /abort HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
		"POST /abort HTTP/1.1\r\n" HOST "\r\nGET /hello HTTP/1.1\r\n"
		    HOST "\r\n",
		"POST /abort/kept HTTP/1.1\r\n" HOST "\r\n",
		"POST /abort/kept HTTP/1.1\r\n" HOST
		    "Content-Length: 3\r\n\r\nabc",
	};
	FREED(buf_free) struct buf all = BUF_INIT;
	int fd;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		fd = dial();
		say_text(fd, texts[i]);
		buf_clear(&all);
		hear_all(fd, &all);
		assert_int_equal(all.n, 0);
		assert_true(is_closed(fd));
		close(fd);
		fd = dial();
		say_text(fd, texts[i]);
		close(fd);
	}
	usleep(200000);
	assert_int_equal(port_counts().connections, 0);
	assert_int_equal(port_counts().requests_kept, 0);
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, "hello\n");
}

/* Cookies by their names, in one field or several. */
static void
cookies(void **state)
{
	static const struct {
		const char *fields, *said;
	} t[] = {
		{ "", "no cookie" },
		{ "Cookie: a=1\r\n", "a is <1>" },
		{ "Cookie: b=2; a=1=2 ;c=3\r\n", "a is <1=2>" },
		{ "Cookie: b=2\r\nCookie: a=1\r\n", "a is <1>" },
		{ "Cookie: a=1; a=2\r\n", "a is <1>" },
		{ "Cookie: a=\r\n", "a is <>" },
		{ "Cookie: aa=1; A=2; xa=3\r\n", "no cookie" },
		{ "Cookie: a\r\n", "no cookie" },
		{ "Cookie: b=\"; a\"\r\n", "no cookie" },
	};
	char text[300];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		snprintf(text, sizeof(text), "GET /crumbs HTTP/1.1\r\n" HOST
		    "%s\r\n", t[i].fields);
		expect(text, 200, t[i].said);
	}
	expect("HEAD /crumbs HTTP/1.1\r\n" HOST "\r\n", 204, "");
}

/* Hosts of a route are admitted on loopback; those of another are not. */
static void
other_hosts(void **state)
{
	(void)state;
	expect("GET /crumbs HTTP/1.1\r\nHost: Proxy.example\r\n\r\n", 200,
	    "no cookie");
	expect("GET /crumbs HTTP/1.1\r\nHost: proxy.example:443\r\n\r\n",
	    200, "no cookie");
	expect("GET /crumbs HTTP/1.1\r\nHost: proxy.example:80\r\n\r\n",
	    403, "bad_host");
	expect("GET /crumbs HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403,
	    "bad_host");
	expect("GET /hello HTTP/1.1\r\nHost: proxy.example\r\n\r\n", 403,
	    "bad_host");
}

int
main(void)
{
#define LIVE(f) cmocka_unit_test_setup_teardown(f, port_setup, port_teardown)
	const struct CMUnitTest tests[] = {
		LIVE(refusals), LIVE(big_heads), LIVE(big_bodies),
		LIVE(many_bodies), LIVE(garbage), LIVE(pipelined_bodies),
		LIVE(slow_reader), LIVE(deaf_sender), LIVE(leavers),
		LIVE(bad_uploads), LIVE(gone_uploads), LIVE(held_uploads),
		LIVE(slow_uploads), LIVE(aborts), LIVE(cookies),
		LIVE(other_hosts),
		LIVE(connection_limit), LIVE(timeouts), LIVE(stalled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

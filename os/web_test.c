#include "os/web_testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static void
answers(void **state)
{
	struct answer a = { .status = 0 };
	char value[200];

	(void)state;
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, "hello\n");
	expect("GET /hello HTTP/1.0\r\n\r\n", 200, "hello\n");
	expect("GET /param?a=1&v=x%20y%26z+w&v=2 HTTP/1.1\r\n" HOST
	    "User-Agent: me\r\nX-Odd: 1\r\n\r\n", 200, "x y&z w|me|1");
	expect("GET /param?va=1 HTTP/1.1\r\n" HOST "\r\n", 400, "bad_args");
	expect("GET /param?v HTTP/1.1\r\n" HOST "\r\n", 200, "|none|none");
	expect("GET /none HTTP/1.1\r\n" HOST "\r\n", 204, "");
	expect("GET /broken HTTP/1.1\r\n" HOST "\r\n", 404,
	    "{\"error\":\"no crawl 7\",\"code\":\"absent\"}");
	expect("GET /kept/fast HTTP/1.1\r\n" HOST "\r\n", 200, "fast");
	expect("GET /kept/30 HTTP/1.1\r\n" HOST "\r\n", 200, "30");
	expect("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
	    200, "abc");
	expect("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
	    200, "");
	expect("POST /kept/x HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\na",
	    200, "x");
	expect("GET /hel%6Co HTTP/1.1\r\n" HOST "\r\n", 200, "hello\n");
	expect("GET /a/../hello HTTP/1.1\r\n" HOST "\r\n", 200, "hello\n");
	expect("GET //hello HTTP/1.1\r\n" HOST "\r\n", 200, "hello\n");
	/* A GET with a body is odd, and the body is read all the same. */
	expect("GET /hello HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nab",
	    200, "hello\n");

	ask("GET /param?v=1 HTTP/1.1\r\n" HOST "\r\n", &a);
	assert_non_null(strstr(a.head, "x-seen: yes"));
	assert_non_null(strstr(a.head, "cache-control: max-age=5"));
	assert_null(strstr(a.head, "no-store"));
	assert_non_null(strstr(a.head, "frame-ancestors 'none'"));
	assert_true(field(&a, "date: ", value, sizeof(value)));
	struct wall date;
	assert_true(wall_from_http(str_of(value), &date));
	answer_free(&a);
}

static void
head_only(void **state)
{
	int fd = dial();
	struct answer a = { .status = 0 };
	char length[16];

	(void)state;
	/* Two on one connection: a body would be taken for the next answer. */
	for (int i = 0; i < 2; i++) {
		say_text(fd, "HEAD /hello HTTP/1.1\r\n" HOST "\r\n");
		hear(fd, &a, true);
		assert_int_equal(a.status, 200);
		assert_true(field(&a, "content-length: ", length,
		    sizeof(length)));
		assert_string_equal(length, "6");
	}
	say_text(fd, "HEAD /nowhere HTTP/1.1\r\n" HOST "\r\n");
	hear(fd, &a, true);
	assert_int_equal(a.status, 404);
	assert_int_equal(a.in.n, 0);
	close(fd);
	answer_free(&a);
}

static void
body_limit(void **state)
{
	int fd = dial();
	struct answer a = { .status = 0 };
	char head[200];
	char *body = mem_new(100001);

	(void)state;
	memset(body, 'x', 100001);
	for (int n = 99999; n <= 100001; n++) {
		int h = snprintf(head, sizeof(head), "POST /echo HTTP/1.1\r\n"
		    HOST "Content-Length: %d\r\n\r\n", n);
		say(fd, head, (size_t)h);
		say(fd, body, (size_t)n);
		hear(fd, &a, false);
		assert_int_equal(a.status, n <= 100000 ? 200 : 413);
		if (n <= 100000)
			assert_int_equal(a.body.n, n);
	}
	assert_non_null(strstr(a.head, "connection: close"));
	assert_true(is_closed(fd));
	close(fd);
	/* It need not come whole to be refused. */
	expect("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999999\r\n"
	    "\r\nabc", 413, "100000");
	mem_free(&body);
	answer_free(&a);
}

static void
waits_for_continue(void **state)
{
	int fd = dial();
	struct answer a = { .status = 0 };

	(void)state;
	say_text(fd, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
	    "Expect: 100-continue\r\n\r\n");
	hear(fd, &a, true);
	assert_int_equal(a.status, 100);
	say_text(fd, "ok");
	hear(fd, &a, false);
	assert_int_equal(a.status, 200);
	assert_string_equal(buf_text(&a.body), "ok");
	close(fd);
	answer_free(&a);
}

static void
keep_alive(void **state)
{
	int fd = dial();
	struct answer a = { .status = 0 };

	(void)state;
	for (int i = 0; i < 1000; i++) {
		say_text(fd, i % 3 == 0 ? "GET /hello HTTP/1.1\r\n" HOST "\r\n"
		    : i % 3 == 1 ? "POST /echo HTTP/1.1\r\n" HOST
		    "Content-Length: 6\r\n\r\nhello\n" :
		    "GET /kept/fast HTTP/1.1\r\n" HOST "\r\n");
		hear(fd, &a, false);
		assert_int_equal(a.status, 200);
		assert_string_equal(buf_text(&a.body), i % 3 == 2 ? "fast" :
		    "hello\n");
	}
	say_text(fd, "GET /hello HTTP/1.1\r\n" HOST "Connection: TE, Close\r\n"
	    "\r\n");
	hear(fd, &a, false);
	assert_non_null(strstr(a.head, "connection: close"));
	assert_true(is_closed(fd));
	close(fd);
	answer_free(&a);
}

/* GETs sent before their predecessors are answered: in order, all. */
static void
pipelining(void **state)
{
	int fd = dial();
	struct answer a = { .status = 0 };
	struct buf b = BUF_INIT;

	(void)state;
	for (int i = 0; i < 100; i++)
		buf_printf(&b, i % 4 == 2 ?
		    "GET /kept/x%04d HTTP/1.1\r\n" HOST "\r\n" :
		    "GET /param?v=%04d HTTP/1.1\r\n" HOST "\r\n", i);
	say(fd, b.p, b.n);
	for (int i = 0; i < 100; i++) {
		char want[16];
		hear(fd, &a, false);
		assert_int_equal(a.status, 200);
		snprintf(want, sizeof(want), "%04d", i);
		if (strstr(buf_text(&a.body), want) == NULL)
			fail_msg("answer %d: %s", i, buf_text(&a.body));
	}
	close(fd);
	buf_free(&b);
	answer_free(&a);
}

static void
piece_by_piece(void **state)
{
	static const char text[] = "POST /echo HTTP/1.1\r\n" HOST
	    "Content-Length: 10\r\n\r\n0123456789";
	int fd = dial();
	struct answer a = { .status = 0 };

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		say(fd, text + i, 1);
		usleep(500);
	}
	hear(fd, &a, false);
	assert_int_equal(a.status, 200);
	assert_string_equal(buf_text(&a.body), "0123456789");
	close(fd);
	answer_free(&a);
}

static void
drains(void **state)
{
	struct answer a = { .status = 0 };
	int kept = dial(), idle = dial(), half = dial();
	struct web_counts n;
	struct sockaddr_in at = { .sin_family = AF_INET,
	    .sin_port = htons(web_port(port)) };

	(void)state;
	say_text(kept, "GET /kept/300 HTTP/1.1\r\n" HOST "\r\n");
	say_text(idle, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	hear(idle, &a, false);
	say_text(half, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
	    "\r\na");
	do {
		usleep(1000);
		web_counts(port, &n);
	} while (atomic_load(&port_kept) < 1 || n.requests < 3);
	web_stop(port);
	assert_true(is_closed(idle));
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int late = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_not_equal(connect(late, (void *)&at, sizeof(at)), 0);
	say_text(half, "b");
	hear(half, &a, false);
	assert_int_equal(a.status, 503);
	assert_non_null(strstr(a.head, "connection: close"));
	hear(kept, &a, false);
	assert_int_equal(a.status, 200);
	assert_true(is_closed(kept));
	close(kept), close(idle), close(half), close(late);
	answer_free(&a);
}

/* A request that nobody answers, and a reader that never reads. */
static void
drain_ends(void **state)
{
	static const struct web_options o = { .drain_s_max = 1 };
	struct mono before;
	char first;

	(void)state;
	port_close();
	port_open(&o);
	int kept = dial(), stuck = dial();
	say_text(kept, "GET /kept/1200 HTTP/1.1\r\n" HOST "\r\n");
	say_text(stuck, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	while (atomic_load(&port_kept) < 1)
		usleep(1000);
	/* Its answer has begun: else it would be idle, and closed at once. */
	assert_int_equal(recv(stuck, &first, 1, MSG_PEEK), 1);
	web_stop(port);
	usleep(1500000);               /* the answer is in by then */
	before = clock_mono();
	web_close(&port);
	int64_t ms = mono_ns_between(before, clock_mono()) / NS_PER_MS;
	assert_in_range(ms, 900, 3000);
	loop_stop(port_engine);
	loop_join(port_engine);
	loop_free(&port_engine);
	close(kept), close(stuck);
	port_open(NULL);
}

/* Many clients at once, some kept, while the port is closed under them. */
static void *
hammer(void *arg)
{
	struct answer a = { .status = 0 };
	atomic_int *good = arg;
	int fd = dial();

	for (int i = 0; i < 100000; i++) {
		say_text(fd, i % 2 ? "GET /hello HTTP/1.1\r\n" HOST "\r\n" :
		    "GET /kept/fast HTTP/1.1\r\n" HOST "\r\n");
		hear(fd, &a, false);
		if (a.status != 200)
			break;
		atomic_fetch_add(good, 1);
	}
	close(fd);
	answer_free(&a);
	return NULL;
}

static void
closed_under_load(void **state)
{
	pthread_t t[8];
	atomic_int good = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		pthread_create(&t[i], NULL, hammer, &good);
	usleep(300000);
	port_close();
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		pthread_join(t[i], NULL);
	assert_true(atomic_load(&good) > 100);
	port_open(NULL);
}

struct tally {
	uint64_t hello, missing, all;
};

static void
tally_one(void *arg, const struct web_route *route, int status, uint64_t n)
{
	struct tally *t = arg;

	t->all += n;
	if (route == &port_routes[0] && status == 200)
		t->hello += n;
	if (route == NULL && status == 404)
		t->missing += n;
}

static void
counts(void **state)
{
	struct tally t = { 0, 0, 0 };
	struct web_counts n;

	(void)state;
	for (int i = 0; i < 3; i++)
		expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
	expect("GET /nowhere HTTP/1.1\r\n" HOST "\r\n", 404, NULL);
	expect("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
	    200, NULL);
	web_route_counts(port, tally_one, &t);
	assert_int_equal(t.hello, 3);
	assert_int_equal(t.missing, 1);
	assert_int_equal(t.all, 5);
	web_counts(port, &n);
	assert_int_equal(n.requests, 5);
	assert_int_equal(n.accepted, 5);
	assert_int_equal(n.bytes_in, 3);
	assert_true(n.bytes_out > 500);
}

static void
addresses(void **state)
{
	struct web *w = NULL;
	struct web_options o = { .address = "0.0.0.0" };
	struct why why_ = WHY_INIT;

	(void)state;
	assert_int_equal(web_open(&o, port_routes, 1, &w, &why_), ERR_CONFIG);
	assert_non_null(strstr(why_.text, "--insecure"));
	assert_null(w);
	o.address = "localhost.example";
	why_ = WHY_INIT;
	assert_int_equal(web_open(&o, port_routes, 1, &w, &why_), ERR_CONFIG);
	o.address = NULL;
	o.port = web_port(port);
	why_ = WHY_INIT;
	assert_int_equal(web_open(&o, port_routes, 1, &w, &why_), ERR_BUSY);
	assert_non_null(strstr(why_.text, "127.0.0.1 port"));
	o.port = 0;
	o.head_bytes_max = 60001;
	why_ = WHY_INIT;
	assert_int_equal(web_open(&o, port_routes, 1, &w, &why_), ERR_CONFIG);
}

/* Beyond loopback by the flag: any Host, but only orders of its own pages. */
static void
insecure(void **state)
{
	static const struct web_options o = { .address = "0.0.0.0",
	    .insecure = true };

	(void)state;
	port_close();
	port_open(&o);
	expect("GET /hello HTTP/1.1\r\nHost: box.example\r\n\r\n", 200, NULL);
	expect("POST /echo HTTP/1.1\r\nHost: box:1\r\nOrigin: http://box:1\r\n"
	    "Content-Length: 1\r\n\r\na", 200, "a");
	expect("POST /echo HTTP/1.1\r\nHost: box:1\r\nOrigin: http://abox:1"
	    "\r\nContent-Length: 1\r\n\r\na", 403, NULL);
	expect("POST /echo HTTP/1.1\r\nHost: box\r\nOrigin: http://localhost"
	    "\r\nContent-Length: 1\r\n\r\na", 403, NULL);
}

int
main(void)
{
#define LIVE(f) cmocka_unit_test_setup_teardown(f, port_setup, port_teardown)
	const struct CMUnitTest tests[] = {
		LIVE(answers), LIVE(head_only), LIVE(body_limit),
		LIVE(waits_for_continue), LIVE(keep_alive), LIVE(pipelining),
		LIVE(piece_by_piece), LIVE(drains), LIVE(drain_ends),
		LIVE(closed_under_load), LIVE(counts), LIVE(addresses),
		LIVE(insecure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

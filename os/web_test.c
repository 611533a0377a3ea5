#include "os/web_parts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/clock.h"

/* -- What needs no sockets -- */

static void
hosts(void **state)
{
	static const struct {
		const char *host;
		bool loopback;
	} t[] = {
		{ "localhost", true }, { "LOCALHOST:8001", true },
		{ "127.0.0.1", true }, { "127.9.9.9:1", true },
		{ "[::1]", true }, { "[::1]:8001", true },
		{ "a.localhost:80", true }, { "localhost:", false },
		{ "localhost:99999", false }, { "localhost:8x", false },
		{ ".localhost", false }, { "", false }, { ":80", false },
		{ "localhost.evil.example", false }, { "evil.example", false },
		{ "127.0.0.1.evil.example", false }, { "128.0.0.1", false },
		{ "127.1", false }, { "0.0.0.0", false }, { "[::2]", false },
		{ "[::1]x", false }, { "[::1", false }, { "localhost,b", false },
		{ "xlocalhost", false }, { "localhost.", false },
		{ "0177.0.0.1", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		if (web_host_is_loopback(str_of(t[i].host)) != t[i].loopback)
			fail_msg("host %s", t[i].host);
	assert_false(web_host_is_loopback((struct str){ "127.0.0.1\0", 10 }));
	assert_true(web_origin_is_loopback(STR("http://localhost:3000")));
	assert_true(web_origin_is_loopback(STR("HTTPS://127.0.0.1")));
	assert_false(web_origin_is_loopback(STR("http://evil.example")));
	assert_false(web_origin_is_loopback(STR("null")));
	assert_false(web_origin_is_loopback(STR("file://localhost")));
	assert_false(web_origin_is_loopback(STR("http://")));
}

static void
lengths(void **state)
{
	uint64_t n;

	(void)state;
	assert_true(web_length(STR(" 12 "), &n));
	assert_int_equal(n, 12);
	assert_true(web_length(STR("999999999999999999"), &n));
	assert_false(web_length(STR("9999999999999999999"), &n));
	assert_false(web_length(STR("-1"), &n));
	assert_false(web_length(STR("+1"), &n));
	assert_false(web_length(STR("1,1"), &n));
	assert_false(web_length(STR("0x10"), &n));
	assert_false(web_length(STR(""), &n));
}

static void
nothing(struct web_request *r)
{
	(void)r;
}

static void
routes_meet(void **state)
{
	static const struct web_route t[] = {
		{ "GET", "/", WEB_PREFIX, nothing, NULL, "" },
		{ "GET", "/a/", WEB_PREFIX, nothing, NULL, "" },
		{ "POST", "/a/", WEB_PREFIX, nothing, NULL, "" },
		{ "GET", "/a/b", WEB_EXACT, nothing, NULL, "" },
		{ "DELETE", "/x", WEB_EXACT, nothing, NULL, "" },
	};
	static const struct web_route few[] = {
		{ "POST", "/x", WEB_EXACT, nothing, NULL, "" },
	};
	static const struct {
		const char *method, *path;
		size_t row;
	} want[] = {
		{ "GET", "/", 0 }, { "HEAD", "/", 0 }, { "GET", "/q", 0 },
		{ "GET", "/a/", 1 }, { "GET", "/a/c", 1 }, { "GET", "/a", 0 },
		{ "POST", "/a/b", 2 }, { "GET", "/a/b", 3 },
		{ "GET", "/a/bc", 1 }, { "DELETE", "/x", 4 },
		{ "PUT", "/a/b", 5 }, { "get", "/", 5 }, { "", "/", 5 },
	};
	bool known;
	struct arena a = ARENA_INIT;

	(void)state;
	web_routes_check(t, ARRAY_LEN(t));
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		size_t row = web_route_find(t, ARRAY_LEN(t),
		    str_of(want[i].method), str_of(want[i].path), &known);
		if (row != want[i].row || !known)
			fail_msg("%s %s: row %zu", want[i].method,
			    want[i].path, row);
	}
	assert_int_equal(web_route_find(few, 1, STR("GET"), STR("/y"),
	    &known), 1);
	assert_false(known);
	struct str allow = web_route_allow(t, ARRAY_LEN(t), STR("/a/b"), &a);
	assert_string_equal(allow.p, "GET, HEAD, POST");
	arena_free(&a);
}

static void
errors_are_json(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	web_error_json(&b, STR("a\"b\\c\n \xc3\xa4 \xff"), "x");
	assert_string_equal(buf_text(&b), "{\"error\":\"a\\\"b\\\\c\\u000a "
	    "\xc3\xa4 \\ufffd\",\"code\":\"x\"}\n");
	buf_free(&b);
	assert_int_equal(web_status_of_slot(web_status_slot(404)), 404);
	assert_int_equal(web_status_of_slot(web_status_slot(418)), 0);
}

/* -- A port with a few doors, and an engine that answers kept requests -- */

struct question {
	struct mail mail;
	struct timer timer;
	struct web_request *request;
	struct str name;
};

static struct loop *engine;
static struct web *port;
static atomic_int engine_got;

static void
answer_question(struct mail *m)
{
	struct question *q = CONTAINER(m, struct question, mail);

	web_answer(q->request, 200, "text/plain", q->name);
	free((void *)(uintptr_t)q->name.p);
	free(q);
}

static void
thought(struct timer *t)
{
	struct question *q = CONTAINER(t, struct question, timer);

	q->mail.deliver = answer_question;
	web_post(port, &q->mail);
}

static void
think(struct mail *m)
{
	struct question *q = CONTAINER(m, struct question, mail);

	atomic_fetch_add(&engine_got, 1);
	q->timer.fire = thought;
	/* "fast" at once; else after so many milliseconds. */
	uint64_t ms = 0;
	str_to_u64(q->name, &ms);
	if (ms == 0)
		thought(&q->timer);
	else
		loop_timer_set(engine, &q->timer,
		    mono_add_ms(clock_mono(), (int64_t)ms));
}

static void
get_kept(struct web_request *r)
{
	struct question *q = mem_new(sizeof(*q));
	struct str rest = web_rest(r);

	q->request = r;
	q->name = (struct str){ memcpy(mem_new(rest.n + 1), rest.p, rest.n),
	    rest.n };
	q->mail.deliver = think;
	loop_post(engine, &q->mail);
}

static void
get_hello(struct web_request *r)
{
	web_answer(r, 200, "text/plain", str_of(web_arg(r)));
}

static void
post_echo(struct web_request *r)
{
	web_answer(r, 200, "application/octet-stream", web_body(r));
}

static void
get_param(struct web_request *r)
{
	struct str v = STR(""), agent = STR("none"), odd = STR("none");

	if (!web_param(r, "v", &v)) {
		web_fail(r, 400, "bad_args", "the parameter v is missing");
		return;
	}
	web_field(r, "user-agent", &agent);
	web_field(r, "x-odd", &odd);
	struct str all = arena_printf(web_arena(r), "%.*s|%.*s|%.*s",
	    STR_FMT(v), STR_FMT(agent), STR_FMT(odd));
	web_add_field(r, "X-Seen", "yes");
	web_add_field(r, "Cache-Control", "max-age=5");
	web_answer(r, 200, "text/plain", all);
}

#define BIG_BYTES (8u << 20)
static void
get_big(struct web_request *r)
{
	char *p = arena_bytes(web_arena(r), BIG_BYTES);

	for (size_t i = 0; i < BIG_BYTES; i++)
		p[i] = (char)('a' + i % 26);
	web_answer(r, 200, "text/plain", (struct str){ p, BIG_BYTES });
}

static void
get_none(struct web_request *r)
{
	web_answer(r, 204, NULL, STR(""));
}

static void
get_broken(struct web_request *r)
{
	struct why w = WHY_INIT;

	why(&w, ERR_ABSENT, "no crawl %d", 7);
	web_fail_why(r, w.err, &w);
}

static const struct web_route routes[] = {
	{ "GET", "/hello", WEB_EXACT, get_hello, "hello\n", "greets" },
	{ "POST", "/echo", WEB_EXACT, post_echo, NULL, "sends back" },
	{ "GET", "/param", WEB_EXACT, get_param, NULL, "reads parameters" },
	{ "GET", "/kept/", WEB_PREFIX, get_kept, NULL, "answers later" },
	{ "POST", "/kept/", WEB_PREFIX, get_kept, NULL, "answers later" },
	{ "GET", "/big", WEB_EXACT, get_big, NULL, "much" },
	{ "GET", "/none", WEB_EXACT, get_none, NULL, "nothing" },
	{ "GET", "/broken", WEB_EXACT, get_broken, NULL, "fails" },
};

static void
open_port(const struct web_options *o)
{
	struct why w = WHY_INIT;

	if (web_open(o, routes, ARRAY_LEN(routes), &port, &w) != OK)
		fail_msg("%s", w.text);
	engine = loop_new("engine");
	loop_start(engine);
	atomic_store(&engine_got, 0);
}

static void
close_port(void)
{
	web_stop(port);
	loop_stop(engine);
	loop_join(engine);
	web_close(&port);
	loop_free(&engine);
	assert_null(port);
}

static int
setup(void **state)
{
	static const struct web_options o = { .body_bytes_max = 100000,
	    .connections_max = 50, .drain_s_max = 10 };

	(void)state;
	open_port(&o);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	close_port();
	return 0;
}

/* -- A raw client -- */

static int
dial(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
	    .sin_port = htons(web_port(port)) };
	struct timeval patience = { .tv_sec = 10 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (void *)&at, sizeof(at)), 0);
	return fd;
}

static void
say(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t r = send(fd, text, n, MSG_NOSIGNAL);
		if (r < 0)
			return;
		text += r;
		n -= (size_t)r;
	}
}

static void
say_text(int fd, const char *text)
{
	say(fd, text, strlen(text));
}

struct answer {
	struct buf in;               /* what was read and not yet used */
	char head[4096];
	int status;                  /* 0: closed without one */
	struct buf body;
};

static bool
field(const struct answer *a, const char *name, char *out, size_t n)
{
	const char *at = strcasestr(a->head, name);

	if (at == NULL)
		return false;
	at += strlen(name);
	snprintf(out, n, "%.*s", (int)strcspn(at, "\r\n"), at);
	return true;
}

static bool
fill(int fd, struct buf *b)
{
	char part[65536];
	ssize_t n = recv(fd, part, sizeof(part), 0);

	if (n < 0 && errno == EAGAIN)
		fail_msg("no answer for 10 s");
	if (n <= 0)
		return false;
	buf_put(b, part, (size_t)n);
	return true;
}

static void
use(struct buf *b, size_t n)
{
	memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
}

/* One answer; `in` keeps what came behind it. */
static void
hear(int fd, struct answer *a, bool to_head)
{
	size_t end;
	char length[32];
	uint64_t n = 0;

	a->status = 0;
	a->head[0] = '\0';
	buf_clear(&a->body);
	while ((end = str_find(buf_str(&a->in), STR("\r\n\r\n"))) == a->in.n)
		if (!fill(fd, &a->in))
			return;
	assert_true(end < sizeof(a->head));
	snprintf(a->head, sizeof(a->head), "%.*s", (int)end, a->in.p);
	use(&a->in, end + 4);
	assert_int_equal(sscanf(a->head, "HTTP/1.%*d %d", &a->status), 1);
	if (field(a, "content-length: ", length, sizeof(length)))
		assert_true(str_to_u64(str_of(length), &n));
	if (to_head)
		return;
	while (a->in.n < n)
		if (!fill(fd, &a->in))
			fail_msg("cut after %zu of %llu", a->in.n,
			    (unsigned long long)n);
	buf_put(&a->body, a->in.p, n);
	if (n > 0)
		use(&a->in, n);
}

/* All that comes until it is closed, or nothing came for a while. */
static void
hear_all(int fd, struct buf *all)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 50) == 1 && fill(fd, all))
		;
}

static void
answer_free(struct answer *a)
{
	buf_free(&a->in);
	buf_free(&a->body);
}

static bool
is_closed(int fd)
{
	char c;

	return recv(fd, &c, 1, 0) <= 0 && errno != EAGAIN;
}

/* Send `text` on a connection of its own and hear one answer. */
static void
ask(const char *text, struct answer *a)
{
	int fd = dial();

	say_text(fd, text);
	hear(fd, a, strncmp(text, "HEAD", 4) == 0);
	close(fd);
}

#define HOST "Host: localhost\r\n"

static void
expect(const char *text, int status, const char *body)
{
	struct answer a = { .status = 0 };

	ask(text, &a);
	if (a.status != status)
		fail_msg("%.60s: %d instead of %d\n%s", text, a.status, status,
		    a.head);
	if (body != NULL && strstr(buf_text(&a.body), body) == NULL)
		fail_msg("%.60s: %s", text, buf_text(&a.body));
	if (status >= 400) {
		assert_non_null(strstr(a.head, "application/json"));
		assert_true(str_starts(buf_str(&a.body),
		    STR("{\"error\":\"")));
		assert_non_null(strstr(buf_text(&a.body), "\"code\":\""));
	}
	if (status != 0)
		assert_non_null(strstr(a.head, "nosniff"));
	answer_free(&a);
}

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
			seed = seed * 6364136223846793005u + 1442695040888963407u;
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
		"POST /kept/x HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody",
		"POST /none HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody",
		"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 4000\r\n\r\nbo",
		"GET /hello HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nbody",
		"POST /echo HTTP/1.1\r\n" HOST "\r\n",
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
		while (atomic_load(&engine_got) <= i)
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
	close_port();
	open_port(&o);
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
	} while (atomic_load(&engine_got) < 1 || n.requests < 3);
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

	(void)state;
	close_port();
	open_port(&o);
	int kept = dial(), stuck = dial();
	say_text(kept, "GET /kept/1200 HTTP/1.1\r\n" HOST "\r\n");
	say_text(stuck, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	while (atomic_load(&engine_got) < 1)
		usleep(1000);
	web_stop(port);
	usleep(1500000);               /* the answer is in by then */
	before = clock_mono();
	web_close(&port);
	int64_t ms = mono_ns_between(before, clock_mono()) / NS_PER_MS;
	assert_in_range(ms, 900, 3000);
	loop_stop(engine);
	loop_join(engine);
	loop_free(&engine);
	close(kept), close(stuck);
	open_port(NULL);
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
	close_port();
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		pthread_join(t[i], NULL);
	assert_true(atomic_load(&good) > 100);
	open_port(NULL);
}

struct tally {
	uint64_t hello, missing, all;
};

static void
tally_one(void *arg, const struct web_route *route, int status, uint64_t n)
{
	struct tally *t = arg;

	t->all += n;
	if (route == &routes[0] && status == 200)
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
	assert_int_equal(web_open(&o, routes, 1, &w, &why_), ERR_CONFIG);
	assert_non_null(strstr(why_.text, "--insecure"));
	assert_null(w);
	o.address = "localhost.example";
	why_ = WHY_INIT;
	assert_int_equal(web_open(&o, routes, 1, &w, &why_), ERR_CONFIG);
	o.address = NULL;
	o.port = web_port(port);
	why_ = WHY_INIT;
	assert_int_equal(web_open(&o, routes, 1, &w, &why_), ERR_BUSY);
	assert_non_null(strstr(why_.text, "127.0.0.1 port"));
	o.port = 0;
	o.head_bytes_max = 60001;
	why_ = WHY_INIT;
	assert_int_equal(web_open(&o, routes, 1, &w, &why_), ERR_CONFIG);
}

/* Beyond loopback by the flag: any Host, but only orders of its own pages. */
static void
insecure(void **state)
{
	static const struct web_options o = { .address = "0.0.0.0",
	    .insecure = true };

	(void)state;
	close_port();
	open_port(&o);
	expect("GET /hello HTTP/1.1\r\nHost: box.example\r\n\r\n", 200, NULL);
	expect("POST /echo HTTP/1.1\r\nHost: box:1\r\nOrigin: http://box:1\r\n"
	    "Content-Length: 1\r\n\r\na", 200, "a");
	expect("POST /echo HTTP/1.1\r\nHost: box:1\r\nOrigin: http://abox:1"
	    "\r\nContent-Length: 1\r\n\r\na", 403, NULL);
	expect("POST /echo HTTP/1.1\r\nHost: box\r\nOrigin: http://localhost"
	    "\r\nContent-Length: 1\r\n\r\na", 403, NULL);
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
#define LIVE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts), cmocka_unit_test(lengths),
		cmocka_unit_test(routes_meet),
		cmocka_unit_test(errors_are_json), LIVE(answers),
		LIVE(head_only), LIVE(refusals), LIVE(body_limit),
		LIVE(waits_for_continue), LIVE(big_heads), LIVE(garbage),
		LIVE(keep_alive), LIVE(pipelining), LIVE(pipelined_bodies),
		LIVE(piece_by_piece),
		LIVE(slow_reader), LIVE(leavers), LIVE(connection_limit),
		LIVE(timeouts), LIVE(drains), LIVE(drain_ends),
		LIVE(closed_under_load), LIVE(counts), LIVE(addresses),
		LIVE(insecure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "server/web_testing.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "os/file.h"

static void
answers(void **state)
{
	struct answer a = { .status = 0 };
	char value[200];

	(void)state;
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, "hello\n");
	expect("GET /hello HTTP/1.0\r\n\r\n", 200, "hello\n");
	expect("\r\nGET /hello HTTP/1.1\r\n" HOST "\r\n", 200, "hello\n");
	expect("GET http://localhost:8/hello HTTP/1.1\r\nHost: a\r\n\r\n", 200,
	    "hello\n");
	expect("GET /param?a=1&v=x%20y%26z+w&v=2 HTTP/1.1\r\n" HOST
	    "User-Agent: me\r\nX-Odd: 1\r\nx-odd:\t2 \r\n\r\n", 200,
	    "x y&z w|me|1, 2");
	expect("GET /param?va=1 HTTP/1.1\r\n" HOST "\r\n", 400, "bad_args");
	expect("GET /param?v HTTP/1.1\r\n" HOST "\r\n", 200, "|none|none");
	expect("GET /none HTTP/1.1\r\n" HOST "\r\n", 204, "");
	expect("GET /broken HTTP/1.1\r\n" HOST "\r\n", 404,
	    "{\"error\":\"no crawl 7\",\"code\":\"absent\"}");
	expect("GET /broken?internal=1 HTTP/1.1\r\n" HOST "\r\n", 500,
	    "{\"error\":\"stored data is damaged\",\"code\":\"corrupt\"}\n");
	expect("GET /kept/fast HTTP/1.1\r\n" HOST "\r\n", 200, "fast");
	expect("GET /kept/30 HTTP/1.1\r\n" HOST "\r\n", 200, "30");
	expect("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc",
	    200, "abc");
	expect("POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n",
	    200, "");
	expect("POST /echo HTTP/1.1\r\n" HOST "\r\n", 200, "");
	expect("POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	    "\r\n1\r\na\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n", 200,
	    "a0123456789");
	expect("POST /kept/x HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\na",
	    200, "x");
	expect("GET /hel%6Co HTTP/1.1\r\n" HOST "\r\n", 200, "hello\n");
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

/* Segments are parted before they are decoded. */
static void
segments(void **state)
{
	(void)state;
	expect("GET /parts/a%2Fb/end?v=1&w=2&v=&v=%33&v HTTP/1.1\r\n" HOST
	    "\r\n", 200, "a/b:1,,3,,");
	expect("GET /p%61rts/b/%65nd HTTP/1.1\r\n" HOST "\r\n", 200, "b:");
	expect("GET /parts%2Fa/end HTTP/1.1\r\n" HOST "\r\n", 404, NULL);
	expect("GET /parts//end HTTP/1.1\r\n" HOST "\r\n", 404, NULL);
	expect("GET /parts/a/end/ HTTP/1.1\r\n" HOST "\r\n", 404, NULL);
	expect("GET /parts/a/en HTTP/1.1\r\n" HOST "\r\n", 404, NULL);
	expect("GET /parts/a/endx HTTP/1.1\r\n" HOST "\r\n", 404, NULL);
	expect("GET /parts/a HTTP/1.1\r\n" HOST "\r\n", 404, NULL);
	expect("GET /parts/..%2Fa/end HTTP/1.1\r\n" HOST "\r\n", 400, NULL);
	expect("GET /kept/x%2Fy HTTP/1.1\r\n" HOST "\r\n", 200, "x/y");
	expect("GET /who HTTP/1.1\r\n" HOST "\r\n", 200, "nobody");
}

/* Rows whose segments are names: words as they came, dots when encoded. */
static void
ids(void **state)
{
	(void)state;
	expect("GET /ids/add HTTP/1.1\r\n" HOST "\r\n", 200, "a word");
	expect("GET /ids/%61dd HTTP/1.1\r\n" HOST "\r\n", 200, "add:");
	expect("GET /ids/%2e%2E HTTP/1.1\r\n" HOST "\r\n", 200, "..:");
	expect("GET /ids/a%2F..%2Fb HTTP/1.1\r\n" HOST "\r\n", 200,
	    "a/../b:");
	expect("GET /ids/.. HTTP/1.1\r\n" HOST "\r\n", 400, "bad_path");
	expect("GET /%69ds/a HTTP/1.1\r\n" HOST "\r\n", 404, NULL);
	expect("GET /nothing/%2e%2e HTTP/1.1\r\n" HOST "\r\n", 400, "bad_path");
}

static void
refused_plainly(const char *text)
{
	struct answer a = { .status = 0 };

	ask(text, &a);
	assert_int_equal(a.status, 413);
	assert_non_null(strstr(a.head, "text/plain"));
	assert_non_null(strstr(buf_text(&a.body), "limit: "));
	answer_free(&a);
}

/* A route's own limit of bodies, at its edge, and its own form of refusals. */
static void
route_limits(void **state)
{
	(void)state;
	expect("POST /small HTTP/1.1\r\n" HOST "Content-Length: 10\r\n\r\n"
	    "0123456789", 200, "0123456789");
	refused_plainly("POST /small HTTP/1.1\r\n" HOST
	    "Content-Length: 11\r\n\r\n0123456789a");
	expect("POST /small HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	    "\r\na\r\n0123456789\r\n0\r\n\r\n", 200, "0123456789");
	refused_plainly("POST /small HTTP/1.1\r\n" HOST
	    "Transfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n0\r\n"
	    "\r\n");
	expect("GET /small HTTP/1.1\r\n" HOST "\r\n", 405, "\"bad_method\"");
}

#define OF_A "Origin: https://a.org\r\n"
#define OF_B "Origin: https://B.org\r\n"
#define MAY(method) "Access-Control-Request-Method: " method "\r\n"

/* A route with origins answers their pages, and asks a token of them as of any
 * other; what it does not admit is as on other routes. */
static void
other_origins(void **state)
{
	static const struct {
		const char *text;
		int status;
		const char *admitted;        /* NULL: no page may read it */
	} t[] = {
		{ "GET /pages HTTP/1.1\r\n" HOST, 200, NULL },
		{ "GET /pages HTTP/1.1\r\n" HOST OF_A, 200, "https://a.org" },
		{ "GET /pages HTTP/1.1\r\n" HOST OF_B, 200, NULL },
		{ "GET /pages?of=b HTTP/1.1\r\n" HOST OF_B, 200,
		    "https://B.org" },
		{ "GET /pages?of=b HTTP/1.1\r\n" HOST "Origin: null\r\n", 200,
		    "null" },
		{ "GET /pages HTTP/1.1\r\n" HOST "Origin: null\r\n", 200,
		    NULL },
		{ "GET /pages HTTP/1.1\r\n" HOST OF_A OF_A, 200, NULL },
		{ "GET /pages HTTP/1.1\r\nHost: evil.org\r\n" OF_A, 403,
		    "https://a.org" },
		{ "DELETE /pages HTTP/1.1\r\n" HOST, 204, NULL },
		{ "DELETE /pages HTTP/1.1\r\n" HOST OF_A, 204,
		    "https://a.org" },
		{ "DELETE /pages HTTP/1.1\r\n" HOST OF_B, 403, NULL },
		{ "DELETE /pages HTTP/1.1\r\n" HOST OF_A
		    "Content-Length: 100001\r\n", 413, "https://a.org" },
		{ "OPTIONS /pages HTTP/1.1\r\n" HOST OF_A MAY("GET"), 204,
		    "https://a.org" },
		{ "OPTIONS /pages HTTP/1.1\r\n" HOST OF_A MAY("PUT"), 405,
		    NULL },
		{ "OPTIONS /pages HTTP/1.1\r\n" HOST OF_A, 405, NULL },
		{ "OPTIONS /pages HTTP/1.1\r\n" HOST MAY("GET"), 405, NULL },
		{ "OPTIONS /pages HTTP/1.1\r\n" HOST OF_B MAY("GET"), 405,
		    NULL },
		{ "OPTIONS /hello HTTP/1.1\r\n" HOST OF_A MAY("GET"), 405,
		    NULL },
		{ "OPTIONS /nowhere HTTP/1.1\r\n" HOST OF_A MAY("GET"), 404,
		    NULL },
		{ "GET /hello HTTP/1.1\r\n" HOST OF_A, 200, NULL },
	};
	struct answer a = { .status = 0 };
	char text[500], origin[100];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		snprintf(text, sizeof(text), "%s\r\n", t[i].text);
		ask(text, &a);
		if (a.status != t[i].status)
			fail_msg("%s: %d", text, a.status);
		bool may = field(&a, "access-control-allow-origin: ", origin,
		    sizeof(origin));
		assert_int_equal(may, t[i].admitted != NULL);
		if (may)
			assert_string_equal(origin, t[i].admitted);
		if (may || strstr(text, "GET /pages") != NULL)
			assert_non_null(strstr(a.head, "\r\nvary: origin"));
		assert_null(strstr(a.head, "allow-credentials"));
	}
	answer_free(&a);
}

/* The answer to a browser's preflight, before it sends such a request. */
static void
answers_preflight(void **state)
{
	struct answer a = { .status = 0 };
	char value[100];
	int fd = dial();

	(void)state;
	/* Twice, for the connection stays usable. */
	for (int i = 0; i < 2; i++) {
		say_text(fd, "OPTIONS /pages?of=b HTTP/1.1\r\n" HOST OF_B
		    MAY("DELETE") "Access-Control-Request-Headers: "
		    "authorization\r\n\r\n");
		hear(fd, &a, false);
		assert_int_equal(a.status, 204);
	}
	assert_true(field(&a, "access-control-allow-methods: ", value,
	    sizeof(value)));
	assert_string_equal(value, "DELETE");
	assert_true(field(&a, "access-control-allow-headers: ", value,
	    sizeof(value)));
	assert_string_equal(value, "authorization, content-type");
	assert_true(field(&a, "access-control-max-age: ", value,
	    sizeof(value)));
	assert_string_equal(value, "600");
	close(fd);
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

/* A client that has sent its last request reads what is answered late. */
static void
half_closed(void **state)
{
	static const struct {
		const char *text;
		int answers;
		size_t bytes;        /* of the last */
	} t[] = {
		{ "", 0, 0 },
		{ "GET /hello HTTP/1.1\r\n" HOST "\r\n", 1, 6 },
		{ "GET /kept/50 HTTP/1.1\r\n" HOST "\r\n"
		    "GET /kept/50 HTTP/1.1\r\n" HOST "\r\n"
		    "GET /hello HTTP/1.1\r\n" HOST "\r\n", 3, 6 },
		{ "GET /big HTTP/1.1\r\n" HOST "\r\n", 1, BIG_BYTES },
		/* What is not whole is none. */
		{ "GET /hello HTTP/1.1\r\n" HOST "\r\nGET /he", 1, 6 },
		{ "GET /kept/50 HTTP/1.1\r\n" HOST "\r\n"
		    "GET /hello HTTP/1.1\r\n", 1, 2 },
		{ "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n"
		    "ab", 0, 0 },
	};
	struct answer a = { .status = 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		int fd = dial();
		say_text(fd, t[i].text);
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		for (int k = 0; k < t[i].answers; k++) {
			hear(fd, &a, false);
			assert_int_equal(a.status, 200);
		}
		if (t[i].answers > 0)
			assert_int_equal(a.body.n, t[i].bytes);
		assert_true(is_closed(fd));
		close(fd);
	}
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

/* -- Bodies that are pulled -- */

static void
check_letters(const struct answer *a, size_t n)
{
	assert_int_equal(a->status, 200);
	assert_int_equal(a->body.n, n);
	for (size_t i = 0; i < n; i++)
		if (a->body.p[i] != (char)('a' + i % 26))
			fail_msg("byte %zu", i);
}

static void
pulled(void **state)
{
	static const size_t sizes[] = { 0, 1, 1000, 300000, 3000000 };
	struct answer a = { .status = 0 };
	struct buf all = BUF_INIT;
	char text[200];
	int fd = dial();

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(sizes); i++) {
		snprintf(text, sizeof(text), "GET /pull?n=%zu%s HTTP/1.1\r\n"
		    HOST "\r\n", sizes[i / 2], i % 2 ? "&known=1" : "");
		say_text(fd, text);
		hear(fd, &a, false);
		check_letters(&a, sizes[i / 2]);
		assert_int_equal(strstr(a.head, "chunked") != NULL,
		    i % 2 == 0);
	}
	say_text(fd, "HEAD /pull?n=5 HTTP/1.1\r\n" HOST "\r\n");
	hear(fd, &a, true);
	assert_int_equal(a.status, 200);
	close(fd);
	/* HTTP/1.0 knows no chunks: the end of the connection is the end. */
	fd = dial();
	say_text(fd, "GET /pull?n=26 HTTP/1.0\r\n\r\n");
	hear_all(fd, &all);
	assert_true(str_ends(buf_str(&all), STR("\r\n\r\nabcdefghijklmnop"
	    "qrstuvwxyz")));
	close(fd);
	/* One that ends too early is cut, so that nobody takes it for whole. */
	fd = dial();
	say_text(fd, "GET /pull?n=5&known=1&lie=1 HTTP/1.1\r\n" HOST "\r\n");
	hear(fd, &a, true);
	assert_int_equal(a.status, 200);
	buf_clear(&all);
	hear_all(fd, &all);
	assert_true(a.in.n + all.n <= 5);
	assert_true(is_closed(fd));
	close(fd);
	/* Who leaves in the middle ends it: port_close() sees to that. */
	for (int i = 0; i < 5; i++) {
		buf_clear(&a.in);
		fd = dial();
		say_text(fd, "GET /pull?n=99999999 HTTP/1.1\r\n" HOST "\r\n");
		hear(fd, &a, true);
		close(fd);
	}
	buf_free(&all);
	answer_free(&a);
}

/* -- Bodies that are read as they arrive -- */

/* A body of so many bytes, or in chunks of so many, one after the other. */
static void
send_upload(int fd, const char *query, size_t n, size_t chunk, struct answer *a)
{
	char good[50];

	say_upload(fd, query, chunk > 0 ? SIZE_MAX : n);
	for (size_t at = 0, k; at < n; at += k) {
		k = chunk > 0 ? MIN(chunk, n - at) : n;
		say_letters(fd, at, k, chunk > 0);
	}
	if (chunk > 0)
		say_text(fd, "0\r\nT: v\r\n\r\n");
	hear(fd, a, false);
	snprintf(good, sizeof(good), "%zu 0", n);
	assert_int_equal(a->status, 200);
	assert_string_equal(buf_text(&a->body), good);
}

static void
reads_uploads(void **state)
{
	static const size_t sizes[] = { 0, 1, 1000, 300000, 3000000 };
	struct answer a = { .status = 0 };
	int fd = dial();

	(void)state;
	/* All on one connection; also with a reader that wants to wait. */
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		send_upload(fd, "", sizes[i], 0, &a);
		send_upload(fd, "", sizes[i], 77777, &a);
		send_upload(fd, "hold=1", sizes[i], 0, &a);
		send_upload(fd, "hold=1", sizes[i], 77777, &a);
	}
	send_upload(fd, "", 2000, 3, &a);
	/* A request behind the body, with the body, drop by drop. */
	say_upload(fd, "", 3);
	say_text(fd, "abcGET /hello HTTP/1.1\r\n" HOST "\r\n");
	hear(fd, &a, false);
	assert_string_equal(buf_text(&a.body), "3 0");
	hear(fd, &a, false);
	assert_string_equal(buf_text(&a.body), "hello\n");
	say_upload(fd, "hold=1", SIZE_MAX);
	for (const char *p = "3\r\nabc\r\n1\r\nX\r\n0\r\n\r\n"; *p; p++) {
		say(fd, p, 1);
		usleep(500);
	}
	hear(fd, &a, false);
	assert_string_equal(buf_text(&a.body), "3 1");
	close(fd);
	assert_int_equal(atomic_load(&port_cut), 0);
	answer_free(&a);
}

/* The answer comes before the body is whole, or before it has begun. */
static void
early_answers(void **state)
{
	struct answer a = { .status = 0 };
	int fd = dial();

	(void)state;
	say_upload(fd, "enough=5", 1000000);
	say_letters(fd, 0, 10, false);
	hear(fd, &a, false);
	assert_int_equal(a.status, 422);
	assert_non_null(strstr(a.head, "connection: close"));
	assert_true(is_closed(fd));
	close(fd);
	/* Whoever waits for a word before it sends the body is spared that. */
	fd = dial();
	say_text(fd, "POST /upload?full=1 HTTP/1.1\r\n" HOST
	    "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
	hear(fd, &a, false);
	assert_int_equal(a.status, 507);
	assert_true(is_closed(fd));
	close(fd);
	fd = dial();
	say_text(fd, "POST /upload HTTP/1.1\r\n" HOST
	    "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
	hear(fd, &a, true);
	assert_int_equal(a.status, 100);
	say_letters(fd, 0, 5, false);
	hear(fd, &a, false);
	assert_string_equal(buf_text(&a.body), "5 0");
	close(fd);
	assert_int_equal(atomic_load(&port_cut), 0);
	answer_free(&a);
}

static void
texts(void **state)
{
	struct answer a = { .status = 0 };
	char tag[100], text[300];

	(void)state;
	ask("GET /text HTTP/1.1\r\n" HOST "\r\n", &a);
	assert_int_equal(a.status, 200);
	assert_true(str_starts(buf_str(&a.body), STR("line 0 of a text\n")));
	size_t plain = a.body.n;
	assert_null(strstr(a.head, "content-encoding"));
	assert_non_null(strstr(a.head, "vary: accept-encoding"));
	assert_non_null(strstr(a.head, "cache-control: no-cache"));
	assert_true(field(&a, "etag: ", tag, sizeof(tag)));
	snprintf(text, sizeof(text), "GET /text HTTP/1.1\r\n" HOST
	    "If-None-Match: \"x\", W/%s\r\n\r\n", tag);
	ask(text, &a);
	assert_int_equal(a.status, 304);
	assert_int_equal(a.body.n, 0);
	ask("GET /text HTTP/1.1\r\n" HOST "Accept-Encoding: br, gzip;q=0.5"
	    "\r\n\r\n", &a);
	assert_non_null(strstr(a.head, "content-encoding: gzip"));
	assert_true(a.body.n < plain / 3);
	char packed[100];
	assert_true(field(&a, "etag: ", packed, sizeof(packed)));
	assert_string_not_equal(tag, packed);
	/* The tag of one coding is not the other's. */
	snprintf(text, sizeof(text), "GET /text HTTP/1.1\r\n" HOST
	    "If-None-Match: %s\r\n\r\n", packed);
	ask(text, &a);
	assert_int_equal(a.status, 200);
	ask("GET /text HTTP/1.1\r\n" HOST "Accept-Encoding: gzip;q=0, *\r\n"
	    "\r\n", &a);
	assert_null(strstr(a.head, "content-encoding"));
	ask("GET /text HTTP/1.1\r\n" HOST "Accept-Encoding: *\r\n\r\n", &a);
	assert_non_null(strstr(a.head, "content-encoding: gzip"));
	answer_free(&a);
}

static void
write_file(size_t n)
{
	char path[128];
	int fd = -1;
	struct why w = WHY_INIT;
	char *p = mem_new(n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)('a' + i % 26);
	snprintf(path, sizeof(path), "%s/a", port_folder);
	assert_int_equal(file_open(path, FILE_CREATE, &fd, &w), OK);
	assert_int_equal(file_cut(fd, 0, &w), OK);
	if (n > 0)
		assert_int_equal(file_write(fd, 0, p, n, &w), OK);
	file_close(&fd);
	mem_free(&p);
}

static void
files(void **state)
{
	struct answer a = { .status = 0 };
	int fd = dial();

	(void)state;
	write_file(3000000);
	for (int i = 0; i < 3; i++) {
		say_text(fd, "GET /file/a HTTP/1.1\r\n" HOST "\r\n");
		hear(fd, &a, false);
		check_letters(&a, 3000000);
	}
	assert_non_null(strstr(a.head, "attachment; filename=\"a\""));
	assert_non_null(strstr(a.head, "accept-ranges: bytes"));
	say_text(fd, "GET /file/a HTTP/1.1\r\n" HOST "Range: bytes=26-51\r\n"
	    "\r\n");
	hear(fd, &a, false);
	assert_int_equal(a.status, 206);
	assert_string_equal(buf_text(&a.body), "abcdefghijklmnopqrstuvwxyz");
	assert_non_null(strstr(a.head, "content-range: bytes 26-51/3000000"));
	say_text(fd, "GET /file/a HTTP/1.1\r\n" HOST "Range: bytes=3000000-"
	    "\r\n\r\n");
	hear(fd, &a, false);
	assert_int_equal(a.status, 416);
	assert_non_null(strstr(a.head, "content-range: bytes */3000000"));
	say_text(fd, "HEAD /file/a HTTP/1.1\r\n" HOST "\r\n");
	hear(fd, &a, true);
	assert_non_null(strstr(a.head, "content-length: 3000000"));
	close(fd);
	expect("GET /file/none HTTP/1.1\r\n" HOST "\r\n", 404, "not_found");
	write_file(0);
	expect("GET /file/a HTTP/1.1\r\n" HOST "\r\n", 200, "");
	/* Those who leave in the middle, or before it is open. */
	write_file(20000000);
	for (int i = 0; i < 10; i++) {
		buf_clear(&a.in);
		fd = dial();
		say_text(fd, "GET /file/a HTTP/1.1\r\n" HOST "\r\n");
		if (i % 2)
			hear(fd, &a, true);
		close(fd);
	}
	answer_free(&a);
}

/* -- The end -- */

static atomic_bool is_drained;

static void
drained(void *arg)
{
	(void)arg;
	atomic_store(&is_drained, true);
}

static void
drain(void)
{
	web_drain(port, drained, NULL);
}

static bool
drained_within(int ms)
{
	for (int i = 0; i < ms && !atomic_load(&is_drained); i++)
		usleep(1000);
	return atomic_load(&is_drained);
}

static void
drains(void **state)
{
	struct answer a = { .status = 0 }, b = { .status = 0 };
	int kept = dial(), idle = dial(), half = dial();
	int talk = dial_socket(&b);
	struct sockaddr_in at = { .sin_family = AF_INET,
	    .sin_port = htons(web_port(port)) };

	(void)state;
	atomic_store(&is_drained, false);
	say_text(kept, "GET /kept/300 HTTP/1.1\r\n" HOST "\r\n");
	say_text(idle, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
	hear(idle, &a, false);
	say_text(half, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
	    "\r\na");
	while (atomic_load(&port_kept) < 1 || port_counts().requests < 4)
		usleep(1000);
	port_do(drain);
	assert_true(is_closed(idle));
	assert_int_equal(hear_close(talk, &b), 1001);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int late = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_not_equal(connect(late, (void *)&at, sizeof(at)), 0);
	assert_false(atomic_load(&is_drained));
	say_text(half, "b");
	hear(half, &a, false);
	assert_int_equal(a.status, 503);
	assert_non_null(strstr(a.head, "connection: close"));
	hear(kept, &a, false);
	assert_int_equal(a.status, 200);
	assert_true(is_closed(kept));
	assert_true(drained_within(2000));
	close(kept), close(idle), close(half), close(late), close(talk);
	answer_free(&a);
	answer_free(&b);
}

/* A request that is answered late, and a reader that never reads. */
static void
drain_ends(void **state)
{
	struct web_limits limits = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &limits };
	char first;

	(void)state;
	limits.drain_ms = 500;
	port_close();
	port_open(&o);
	atomic_store(&is_drained, false);
	int kept = dial(), stuck = dial();
	say_text(kept, "GET /kept/900 HTTP/1.1\r\n" HOST "\r\n");
	say_text(stuck, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	while (atomic_load(&port_kept) < 1)
		usleep(1000);
	/* Its answer has begun: else it would be idle, and closed at once. */
	assert_int_equal(recv(stuck, &first, 1, MSG_PEEK), 1);
	struct mono before = clock_mono();
	port_do(drain);
	assert_true(drained_within(3000));
	int64_t ms = mono_ns_between(before, clock_mono()) / NS_PER_MS;
	assert_in_range(ms, 450, 1500);
	/* The late answer still finds its request. */
	usleep(700000);
	close(kept), close(stuck);
}

/* An upload that becomes whole in time is answered, another one is cut. */
static void
drains_uploads(void **state)
{
	struct web_limits limits = WEB_LIMITS_DEFAULT;
	struct web_options o = { .limits = &limits };
	struct answer a = { .status = 0 };

	(void)state;
	limits.drain_ms = 500;
	port_close();
	port_open(&o);
	atomic_store(&is_drained, false);
	int whole = dial(), part = dial(), held = dial();
	say_upload(whole, "", 6);
	say_upload(part, "", 6);
	say_upload(held, "hold=60000", 6);
	for (int i = 0; i < 3; i++)
		say_letters((int[]){ whole, part, held }[i], 0, 3, false);
	while (atomic_load(&port_read) < 9)
		usleep(1000);
	port_do(drain);
	say_letters(whole, 3, 3, false);
	hear(whole, &a, false);
	assert_int_equal(a.status, 200);
	assert_string_equal(buf_text(&a.body), "6 0");
	assert_true(is_closed(whole));
	assert_false(atomic_load(&is_drained));
	assert_int_equal(atomic_load(&port_cut), 0);
	assert_true(drained_within(3000));
	assert_int_equal(atomic_load(&port_cut), 2);
	hear(part, &a, false);
	assert_int_equal(a.status, 503);
	hear(held, &a, false);
	assert_int_equal(a.status, 503);
	close(whole), close(part), close(held);
	answer_free(&a);
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
	atomic_store(&is_drained, false);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		pthread_create(&t[i], NULL, hammer, &good);
	usleep(300000);
	port_do(drain);
	assert_true(drained_within(5000));
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

static struct tally tally;

static void
tally_all(void)
{
	web_route_counts(port, tally_one, &tally);
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
	tally = (struct tally){ 0, 0, 0 };
	port_do(tally_all);
	t = tally;
	assert_int_equal(t.hello, 3);
	assert_int_equal(t.missing, 1);
	assert_int_equal(t.all, 5);
	n = port_counts();
	assert_int_equal(n.requests, 5);
	assert_int_equal(n.accepted, 5);
	assert_true(n.bytes_in > 150);
	assert_true(n.bytes_out > 500);
}

static void
addresses(void **state)
{
	static const struct {
		struct web_options o;
		enum err err;
		const char *text;
	} t[] = {
		{ { .address = "0.0.0.0" }, ERR_CONFIG, "TLS and a token" },
		{ { .address = "::" }, ERR_CONFIG, "TLS and a token" },
		{ { .address = "0.0.0.0", .token = true }, ERR_CONFIG, "TLS" },
		{ { .address = "127.0.0.1.org" }, ERR_CONFIG, "TLS" },
		{ { .address = "localhost", .insecure = true }, ERR_CONFIG,
		    "no IP address" },
		{ { .tls_chain = "/none", .tls_key = "/none" }, ERR_CONFIG,
		    "/none" },
	};
	struct loop *loop = loop_new("other");
	struct web *w = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct web_options o = t[i].o;
		struct why why_ = WHY_INIT;
		o.loop = loop;
		assert_int_equal(web_open(&o, port_routes, 1, &w, &why_),
		    t[i].err);
		if (strstr(why_.text, t[i].text) == NULL)
			fail_msg("%zu: %s", i, why_.text);
		assert_null(w);
	}
	struct web_options taken = { .loop = loop, .port = web_port(port) };
	struct why why_ = WHY_INIT;
	assert_int_equal(web_open(&taken, port_routes, 1, &w, &why_),
	    ERR_BUSY);
	assert_non_null(strstr(why_.text, "127.0.0.1:"));
	loop_free(&loop);
}

/* Beyond loopback by the flag: any Host, but only orders of its own pages. */
static void
insecure(void **state)
{
	static const struct web_options o = { .address = "0.0.0.0",
	    .insecure = true, .origins = { "http://c.org,null", 17 } };

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
	expect("POST /echo HTTP/1.1\r\nHost: box\r\nOrigin: null"
	    "\r\nContent-Length: 1\r\n\r\na", 200, "a");
	expect("POST /echo HTTP/1.1\r\nHost: box\r\nOrigin: http://c.org"
	    "\r\nContent-Length: 1\r\n\r\na", 200, "a");
}

static void
be_ready(void)
{
	web_ready(port);
}

/* While the program starts, only what needs nothing of it is answered. */
static void
starts(void **state)
{
	const struct web_options o = { .starting = true };
	struct answer a = { .status = 0 };

	(void)state;
	port_close();
	port_open(&o);
	expect("GET /early HTTP/1.1\r\n" HOST "\r\n", 200, "early");
	expect("GET /session HTTP/1.1\r\n" HOST "\r\n", 200, NULL);
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 503, "\"starting\"");
	expect("GET /nowhere HTTP/1.1\r\n" HOST "\r\n", 404, NULL);
	expect("GET / HTTP/1.1\r\n" HOST UPGRADE "\r\n", 503, "starting");
	expect("GET /hello HTTP/1.1\r\nHost: evil.org\r\n\r\n", 403, NULL);
	ask("GET /hello HTTP/1.1\r\n" HOST "\r\n", &a);
	assert_non_null(strstr(a.head, "retry-after: 1"));
	port_do(be_ready);
	expect("GET /hello HTTP/1.1\r\n" HOST "\r\n", 200, "hello");
	int fd = dial_socket(&a);
	close(fd);
	answer_free(&a);
}

int
main(void)
{
#define LIVE(f) cmocka_unit_test_setup_teardown(f, port_setup, port_teardown)
	const struct CMUnitTest tests[] = {
		LIVE(answers), LIVE(segments), LIVE(ids), LIVE(route_limits),
		LIVE(other_origins), LIVE(answers_preflight),
		LIVE(head_only), LIVE(body_limit),
		LIVE(waits_for_continue), LIVE(keep_alive), LIVE(pipelining),
		LIVE(half_closed), LIVE(piece_by_piece), LIVE(pulled),
		LIVE(reads_uploads), LIVE(early_answers),
		LIVE(texts), LIVE(files), LIVE(drains), LIVE(drain_ends),
		LIVE(drains_uploads),
		LIVE(closed_under_load), LIVE(counts), LIVE(addresses),
		LIVE(insecure), LIVE(starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

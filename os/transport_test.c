#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_testing.h"

/* Large: not for the stack. */
static struct test_server server, other_server;

static const struct transport_options options = {
	.connections_max = 50, .host_connections_max = 4, .idle_s_max = 60,
};

struct fixture {
	struct loop *loop;
	struct transport *t;
};

static struct fixture
begin(void)
{
	struct fixture f = { .loop = loop_new("test") };

	f.t = transport_new(f.loop, &options);
	return f;
}

/* The connections go first: the servers' threads wait for that. */
static void
end(struct fixture *f)
{
	transport_free(&f->t);
	loop_free(&f->loop);
}

static void
assert_str(struct str got, const char *expected)
{
	if (!str_eq(got, str_of(expected)))
		fail_msg("got \"%.*s\", expected \"%s\"", STR_FMT(got),
		    expected);
}

#define assert_end(run, word)                                                \
	do {                                                                 \
		if ((run)->end != TRANSPORT_##word)                          \
			fail_msg("ended with %s (%s), expected %s",          \
			    transport_end_word((run)->end), (run)->detail,   \
			    transport_end_word(TRANSPORT_##word));           \
	} while (0)

/* What the server got since `from`. */
static struct str
got_from(const struct test_server *s, size_t from)
{
	return (struct str){ s->got + from, s->got_n - from };
}

/* ---- servers ---- */

/* Answers each request on a connection with the text in `arg`. */
static void
serve_text(struct test_server *s, int fd)
{
	while (test_server_read(s, fd))
		test_send(fd, s->arg);
}

/* As serve_text, for several connections at a time: keeps nothing. */
static void
serve_quietly(struct test_server *s, int fd)
{
	char c, last[4] = "";

	while (recv(fd, &c, 1, 0) == 1) {
		memmove(last, last + 1, 3);
		last[3] = c;
		if (memcmp(last, "\r\n\r\n", 4) == 0)
			test_send(fd, s->arg);
	}
}

/* One answer, then the connection is closed. */
static void
serve_once(struct test_server *s, int fd)
{
	if (test_server_read(s, fd))
		test_send(fd, s->arg);
}

/* Reads as many bytes of body as `flag` says. */
static void
serve_post(struct test_server *s, int fd)
{
	if (test_server_read(s, fd) &&
	    test_server_read_n(s, fd, (size_t)s->flag))
		test_send(fd, "HTTP/1.1 204 No Content\r\n\r\n");
}

/* The text in `arg`, byte by byte. */
static void
serve_bytewise(struct test_server *s, int fd)
{
	while (test_server_read(s, fd))
		for (const char *p = s->arg; *p != '\0'; p++) {
			test_send_n(fd, p, 1);
			usleep(200);
		}
}

/* Says nothing, until the other side goes. */
static void
serve_nothing(struct test_server *s, int fd)
{
	char c;

	while (recv(fd, &c, 1, 0) > 0)
		;
	s->flag = 1;
}

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

static void
open_server(struct test_server *s, void (*serve)(struct test_server *, int),
    const char *text)
{
	s->arg = (void *)(uintptr_t)text;
	assert_true(test_server_open(s, NULL, serve));
}

/* ---- addresses and words ---- */

static void
test_ip(void **state)
{
	static const char *const texts[] = { "127.0.0.1", "0.0.0.0", "::1",
	    "2001:db8::1:0:0:1", "255.255.255.255" };
	char out[IP_TEXT_MAX];
	struct ip ip, mapped;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_true(ip_from_text(str_of(texts[i]), &ip));
		ip_to_text(&ip, out);
		assert_string_equal(out, texts[i]);
	}
	assert_true(ip_from_text(STR("::ffff:1.2.3.4"), &mapped));
	assert_true(ip_from_text(STR("1.2.3.4"), &ip));
	assert_memory_equal(&ip, &mapped, sizeof(ip));
	assert_false(ip_from_text(STR(""), &ip));
	assert_false(ip_from_text(STR("[::1]"), &ip));
	assert_false(ip_from_text(STR("1.2.3"), &ip));
	assert_false(ip_from_text(STR("1.2.3.4\0"), &ip));
	assert_false(ip_from_text(STR("1.2.3.4 "), &ip));
	assert_string_equal(transport_end_word(TRANSPORT_TLS), "tls");
	assert_string_equal(transport_end_text(TRANSPORT_DONE),
	    "the answer is complete");
}

/* ---- requests ---- */

static void
test_request_bytes(void **state)
{
	struct fixture f = begin();
	struct test_run r;
	size_t from;

	(void)state;
	open_server(&server, serve_text, OK_HELLO);
	from = server.got_n;
	test_run_open(&r, f.t, false, "h.test", server.port,
	    "/a/../b%20c?x=y&z=%7B{}");
	r.host_header[0] = '\0';
	r.headers[0] = (struct transport_header){ STR("User-Agent"),
	    STR("Argiope/1  two blanks") };
	test_run_header(&r, "hOsT", "h.test:81");
	test_run_header(&r, "X-Empty", "");
	test_run_header(&r, "Cookie", "a=b; c=d");
	test_run_header(&r, "Accept-Encoding", "gzip, br, zstd");
	test_run_header(&r, "Authorization", "Basic eDp5");
	test_run_whole(f.loop, &r);
	assert_end(&r, DONE);
	assert_int_equal(r.status, 200);
	assert_int_equal(r.x.http_version, 11);
	assert_str(buf_str(&r.body), "hello");
	assert_str(buf_str(&r.head),
	    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
	assert_str(got_from(&server, from),
	    "GET /a/../b%20c?x=y&z=%7B{} HTTP/1.1\r\n"
	    "Host: h.test:81\r\n"
	    "User-Agent: Argiope/1  two blanks\r\n"
	    "X-Empty:\r\n"
	    "Cookie: a=b; c=d\r\n"
	    "Accept-Encoding: gzip, br, zstd\r\n"
	    "Authorization: Basic eDp5\r\n"
	    "\r\n");
	assert_true(str_eq(buf_str(&r.request), got_from(&server, from)));
	end(&f);
	test_server_close(&server);
	test_run_free(&r);
}

static void
check_method(struct fixture *f, const char *method, const char *text)
{
	struct test_run r;
	size_t from = server.got_n;

	test_run_open(&r, f->t, false, "h.test", server.port, "/");
	r.x.method = str_of(method);
	test_run_whole(f->loop, &r);
	assert_end(&r, DONE);
	char expected[200];
	snprintf(expected, sizeof(expected), "%s / HTTP/1.1\r\n"
	    "Host: h.test:%u\r\n%s\r\n", method, server.port, text);
	assert_str(got_from(&server, from), expected);
	assert_true(str_eq(buf_str(&r.request), got_from(&server, from)));
	assert_int_equal(r.body.n, str_eq(r.x.method, STR("HEAD")) ? 0 : 5);
	test_run_free(&r);
}

/* The same handles are used for one method after the other. */
static void
test_methods(void **state)
{
	struct fixture f = begin();

	(void)state;
	open_server(&server, serve_text, OK_HELLO);
	check_method(&f, "GET", "");
	check_method(&f, "POST", "Content-Length: 0\r\n");
	check_method(&f, "DELETE", "");
	check_method(&f, "GET", "");
	check_method(&f, "PUT", "Content-Length: 0\r\n");
	end(&f);
	test_server_close(&server);
	/* What follows a head is not the answer to HEAD: a new connection. */
	f = begin();
	open_server(&server, serve_once, OK_HELLO);
	check_method(&f, "HEAD", "");
	check_method(&f, "GET", "");
	check_method(&f, "HEAD", "");
	end(&f);
	test_server_close(&server);
}

static void
check_post(struct fixture *f, size_t n, bool listed)
{
	struct test_run r;
	char *body = mem_new(n), expected[300];
	size_t from = server.got_n;

	memset(body, 'b', n);
	server.flag = (int)n;
	test_run_open(&r, f->t, false, "h.test", server.port, "/post");
	r.x.method = STR("POST");
	r.x.body = (struct str){ body, n };
	char length[24];
	snprintf(length, sizeof(length), "%zu", n);
	if (listed) {
		test_run_header(&r, "Content-Length", length);
		test_run_header(&r, "Content-Type", "text/plain");
	}
	test_run_whole(f->loop, &r);
	assert_end(&r, DONE);
	assert_int_equal(r.status, 204);
	snprintf(expected, sizeof(expected), "POST /post HTTP/1.1\r\n"
	    "Host: h.test:%u\r\nContent-Length: %zu\r\n%s\r\n", server.port,
	    n, listed ? "Content-Type: text/plain\r\n" : "");
	assert_str(buf_str(&r.request), expected);
	struct str sent = got_from(&server, from);
	assert_int_equal(sent.n, r.request.n + n);
	assert_memory_equal(sent.p, r.request.p, r.request.n);
	assert_memory_equal(sent.p + r.request.n, body, n);
	mem_free(&body);
	test_run_free(&r);
}

static void
test_post(void **state)
{
	struct fixture f = begin();

	(void)state;
	assert_true(test_server_open(&server, NULL, serve_post));
	check_post(&f, 10, false);
	check_post(&f, 10, true);
	check_post(&f, 3 << 20, false);
	end(&f);
	test_server_close(&server);
}

/* What must not be sent ends at once, with what is wrong. */
static void
test_request_refused(void **state)
{
	struct fixture f = begin();
	struct test_run r;

	(void)state;
	for (int i = 0; i < 6; i++) {
		test_run_open(&r, f.t, false, "h.test", 1, "/");
		if (i == 0)
			test_run_header(&r, "X", "a\r\nHost: evil");
		else if (i == 1)
			test_run_header(&r, "X Y", "a");
		else if (i == 2)
			r.x.headers_n = 0;
		else if (i == 3)
			r.x.method = STR("GET / HTTP/1.1\r\nX:");
		else if (i == 4)
			r.x.url = STR("http://h.test/a b");
		else
			r.x.addresses_n = 0;
		test_run_start(&r);
		assert_int_equal(r.done_n, 0);
		test_run_whole(f.loop, &r);
		if (i == 5)
			assert_end(&r, DNS);
		else
			assert_end(&r, PROTOCOL);
		assert_true(r.detail[0] != '\0');
		test_run_free(&r);
	}
	end(&f);
}

/* ---- connections ---- */

static void
test_reuse(void **state)
{
	struct fixture f = begin();
	struct test_run r;

	(void)state;
	open_server(&server, serve_text, OK_HELLO);
	for (int i = 0; i < 3; i++) {
		/* Another order of addresses, the same connection. */
		test_run_open(&r, f.t, false, "h.test", server.port, "/");
		if (i == 2) {
			r.addresses[1] = r.addresses[0];
			assert_true(ip_from_text(STR("127.9.9.9"),
			    &r.addresses[0]));
			r.x.addresses_n = 2;
		}
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_int_equal(r.connected_n, 1);
		assert_int_equal(r.x.reused, i > 0);
		char text[IP_TEXT_MAX];
		ip_to_text(&r.connected_to, text);
		assert_string_equal(text, "127.0.0.1");
		assert_memory_equal(&r.x.connected_ip, &r.connected_to, 16);
		assert_true(r.x.times.connect >= 0);
		assert_int_equal(r.x.times.tls, -1);
		assert_true(r.x.times.first_byte >= r.x.times.connect);
		assert_true(r.x.times.total >= r.x.times.first_byte);
		test_run_free(&r);
	}
	assert_int_equal(server.accepted, 1);
	/* Another host at the same address is another connection. */
	test_run_open(&r, f.t, false, "i.test", server.port, "/");
	test_run_whole(f.loop, &r);
	assert_end(&r, DONE);
	assert_false(r.x.reused);
	assert_int_equal(server.accepted, 2);
	test_run_free(&r);
	end(&f);
	test_server_close(&server);
}

/* The server closes a kept connection: the request goes again on a new one. */
/* Takes one request more than it answers on the first connection. */
static void
serve_and_leave(struct test_server *s, int fd)
{
	bool first = atomic_fetch_add(&s->flag, 1) == 0;

	while (test_server_read(s, fd)) {
		if (first && s->got_n > 0 && atomic_fetch_add(&s->flag, 1) > 1)
			return;
		test_send(fd, OK_HELLO);
	}
}

/* A request that was read before the kept connection ended. */
static void
test_request_is_sent_once(void **state)
{
	struct fixture f = begin();
	struct test_run r;
	(void)state;
	assert_true(test_server_open(&server, NULL, serve_and_leave));
	for (int i = 0; i < 2; i++) {
		test_run_open(&r, f.t, false, "h.test", server.port, "/");
		r.x.once = true;
		test_run_whole(f.loop, &r);
		assert_int_equal(r.end, i == 0 ? TRANSPORT_DONE :
		    TRANSPORT_RESET);
		test_run_free(&r);
	}
	assert_int_equal(atomic_load(&server.accepted), 1);
	end(&f);
	test_server_close(&server);
}

static void
test_kept_connection_dies(void **state)
{
	struct fixture f = begin();
	struct test_run r;

	(void)state;
	open_server(&server, serve_once, OK_HELLO);
	for (int i = 0; i < 3; i++) {
		test_run_open(&r, f.t, false, "h.test", server.port, "/");
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_false(r.x.reused);
		assert_int_equal(server.accepted, i + 1);
		test_run_free(&r);
		if (i == 0)
			test_loop_for(f.loop, 50);
	}
	end(&f);
	test_server_close(&server);
}

/* HTTP/1.0 with keep-alive: see the head of transport_curl.c. */
static void
test_http10(void **state)
{
	struct fixture f = begin();
	struct test_run r;

	(void)state;
	open_server(&server, serve_text, "HTTP/1.0 200 OK\r\n"
	    "Connection: keep-alive\r\nContent-Length: 5\r\n\r\nhello");
	for (int i = 0; i < 2; i++) {
		size_t from = server.got_n;
		test_run_open(&r, f.t, false, "h.test", server.port, "/");
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_int_equal(r.x.http_version, 10);
		assert_true(str_eq(buf_str(&r.request),
		    got_from(&server, from)));
		test_run_free(&r);
	}
	assert_int_equal(server.accepted, 2);
	end(&f);
	test_server_close(&server);
}

static void
test_idle_is_closed(void **state)
{
	struct transport_options o = options;
	struct fixture f = { .loop = loop_new("test") };
	struct test_run r;

	(void)state;
	o.idle_s_max = 1;
	f.t = transport_new(f.loop, &o);
	open_server(&server, serve_text, OK_HELLO);
	test_run_open(&r, f.t, false, "h.test", server.port, "/");
	test_run_whole(f.loop, &r);
	assert_end(&r, DONE);
	test_run_free(&r);
	/* The server's thread ends when its connection does. */
	struct mono begun = clock_mono();
	while (pthread_tryjoin_np(server.served[0], NULL) != 0) {
		test_loop_for(f.loop, 50);
		assert_true(mono_ns_between(begun, clock_mono()) <
		    5 * NS_PER_S);
	}
	assert_true(mono_ns_between(begun, clock_mono()) > NS_PER_S / 2);
	server.accepted = 0;
	end(&f);
	test_server_close(&server);
}

static void
test_next_address(void **state)
{
	struct fixture f = begin();
	struct test_run r;

	(void)state;
	open_server(&server, serve_text, OK_HELLO);
	test_run_open(&r, f.t, false, "h.test", server.port, "/");
	assert_true(ip_from_text(STR("127.0.0.3"), &r.addresses[0]));
	assert_true(ip_from_text(STR("::2"), &r.addresses[1]));
	assert_true(ip_from_text(STR("127.0.0.1"), &r.addresses[2]));
	r.x.addresses_n = 3;
	test_run_whole(f.loop, &r);
	assert_end(&r, DONE);
	assert_int_equal(r.connected_n, 3);
	assert_str(buf_str(&r.body), "hello");
	test_run_free(&r);
	/* Nobody there at all. */
	test_run_open(&r, f.t, false, "h.test", server.port, "/");
	assert_true(ip_from_text(STR("127.0.0.3"), &r.addresses[0]));
	assert_true(ip_from_text(STR("127.0.0.4"), &r.addresses[1]));
	r.x.addresses_n = 2;
	r.x.host = r.x.url = STR_NONE;
	snprintf(r.url, sizeof(r.url), "http://none.test:%u/", server.port);
	r.x.url = str_of(r.url);
	r.x.host = STR("none.test");
	test_run_whole(f.loop, &r);
	assert_end(&r, CONNECT);
	snprintf(r.url, sizeof(r.url), "127.0.0.4 port %u: Connection refused",
	    server.port);
	assert_string_equal(r.detail, r.url);
	test_run_free(&r);
	end(&f);
	test_server_close(&server);
}

static void
test_ipv6(void **state)
{
	struct fixture f = begin();
	struct test_run r;

	(void)state;
	server.arg = (void *)(uintptr_t)OK_HELLO;
	if (!test_server_open(&server, "::1", serve_text)) {
		end(&f);
		print_message("no IPv6 loopback here\n");
		skip();
	}
	for (int i = 0; i < 3; i++) {
		test_run_open(&r, f.t, false, i == 0 ? "[::1]" : "six.test",
		    server.port, "/");
		assert_true(ip_from_text(STR("::1"), &r.addresses[0]));
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_int_equal(r.x.reused, i == 2);
		assert_memory_equal(&r.x.connected_ip, &r.addresses[0], 16);
		test_run_free(&r);
	}
	end(&f);
	test_server_close(&server);
}

/*
 * A port on which connecting hangs: its queue of connections is full and nobody
 * accepts.  Returns the listening descriptor.
 */
static int
open_full(uint16_t *port, int fillers[static 8])
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	*port = ntohs(a.sin_port);
	for (int i = 0; i < 8; i++) {
		fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(fillers[i], (struct sockaddr *)&a, sizeof(a)) != 0)
			assert_int_equal(errno, EINPROGRESS);
	}
	usleep(50000);
	return fd;
}

static void
test_connect_hangs(void **state)
{
	struct fixture f = begin();
	struct test_run r;
	uint16_t port;
	int fillers[8], fd = open_full(&port, fillers);
	struct mono begun = clock_mono();

	(void)state;
	test_run_open(&r, f.t, false, "h.test", port, "/");
	r.x.connect_ms = 300;
	test_run_whole(f.loop, &r);
	assert_end(&r, CONNECT);
	int64_t ms = mono_ns_between(begun, clock_mono()) / NS_PER_MS;
	assert_in_range(ms, 290, 1500);
	assert_int_equal(r.x.times.connect, -1);
	test_run_free(&r);
	/* With another address behind it, that one gets its turn. */
	begun = clock_mono();
	test_run_open(&r, f.t, false, "h.test", port, "/");
	assert_true(ip_from_text(STR("127.0.0.3"), &r.addresses[1]));
	r.x.addresses_n = 2;
	r.x.connect_ms = 400;
	test_run_whole(f.loop, &r);
	assert_end(&r, CONNECT);
	assert_int_equal(r.connected_n, 2);
	ms = mono_ns_between(begun, clock_mono()) / NS_PER_MS;
	assert_in_range(ms, 190, 1500);
	test_run_free(&r);
	end(&f);
	for (int i = 0; i < 8; i++)
		close(fillers[i]);
	close(fd);
}

static void
test_blocked(void **state)
{
	struct fixture f = begin();
	struct test_run r;
	size_t from = 0;

	(void)state;
	open_server(&server, serve_text, OK_HELLO);
	test_run_open(&r, f.t, false, "h.test", server.port, "/");
	r.refuse = true;
	test_run_whole(f.loop, &r);
	assert_end(&r, BLOCKED);
	assert_string_equal(r.detail, "127.0.0.1 is not allowed");
	test_run_free(&r);
	test_loop_for(f.loop, 50);
	assert_int_equal(server.accepted, 0);
	/* A kept connection is asked about, too. */
	for (int i = 0; i < 2; i++) {
		from = server.got_n;
		test_run_open(&r, f.t, false, "h.test", server.port, "/");
		r.refuse = i == 1;
		test_run_whole(f.loop, &r);
		if (i == 0)
			assert_end(&r, DONE);
		else
			assert_end(&r, BLOCKED);
		test_run_free(&r);
	}
	assert_int_equal(server.accepted, 1);
	assert_int_equal(server.got_n, from);
	end(&f);
	test_server_close(&server);
}

/* ---- answers ---- */

static void
test_head_limit(void **state)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n"
	    "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
	    "HTTP/1.1 200 Fine\nX:  a \r\n b\r\nContent-Length: 2\r\n\r\nok";
	struct fixture f = begin();
	struct test_run r;
	size_t n = sizeof(text) - 1 - 2;

	(void)state;
	open_server(&server, serve_text, text);
	for (size_t less = 0; less < 2; less++) {
		test_run_open(&r, f.t, false, "h.test", server.port, "/");
		r.x.head_bytes_max = n - less;
		test_run_whole(f.loop, &r);
		if (less == 0) {
			assert_end(&r, DONE);
			assert_int_equal(r.heads_n, 1);
			assert_str(buf_str(&r.head), "HTTP/1.1 200 Fine\n"
			    "X:  a \r\n b\r\nContent-Length: 2\r\n\r\n");
		} else {
			assert_end(&r, PROTOCOL);
			assert_int_equal(r.heads_n, 0);
		}
		test_run_free(&r);
	}
	end(&f);
	test_server_close(&server);
}

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
#define ON_TOP "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n"
#define CHUNKS "5;ext=\"a;b\"\r\nhello\r\n0006 \r\n\r\n0\r\n\n\r\n" \
	"0\r\nX-Trailer: one\r\nX-Other: two\r\n\r\n"

static void
test_chunked_verbatim(void **state)
{
	struct fixture f = begin();
	struct test_run r;

	(void)state;
	for (int bytewise = 0; bytewise < 2; bytewise++) {
		open_server(&server, bytewise ? serve_bytewise : serve_text,
		    CHUNKED CHUNKS);
		for (int i = 0; i < 3; i++) {
			test_run_open(&r, f.t, false, "h.test", server.port,
			    "/");
			test_run_whole(f.loop, &r);
			assert_end(&r, DONE);
			assert_str(buf_str(&r.body), CHUNKS);
			assert_int_equal(r.x.reused, i > 0);
			test_run_free(&r);
		}
		assert_int_equal(server.accepted, 1);
		transport_free(&f.t);
		test_server_close(&server);
		f.t = transport_new(f.loop, &options);
	}
	end(&f);
}

/* What stands behind the end is neither ours nor the next answer. */
static void
test_chunked_excess(void **state)
{
	struct fixture f = begin();
	struct test_run r;

	(void)state;
	open_server(&server, serve_text, CHUNKED CHUNKS
	    "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged");
	for (int i = 0; i < 2; i++) {
		test_run_open(&r, f.t, false, "h.test", server.port, "/");
		test_run_whole(f.loop, &r);
		assert_end(&r, DONE);
		assert_str(buf_str(&r.body), CHUNKS);
		assert_false(r.x.reused);
		test_run_free(&r);
	}
	end(&f);
	test_server_close(&server);
}

static void
check_answer(const char *text, enum transport_end expected, const char *body)
{
	struct fixture f = begin();
	struct test_run r;

	open_server(&server, serve_once, text);
	test_run_open(&r, f.t, false, "h.test", server.port, "/");
	test_run_whole(f.loop, &r);
	if (r.end != expected)
		fail_msg("%s: ended with %s (%s)", text,
		    transport_end_word(r.end), r.detail);
	assert_str(buf_str(&r.body), body);
	assert_true((r.detail[0] == '\0') == (r.end == TRANSPORT_DONE));
	test_run_free(&r);
	end(&f);
	test_server_close(&server);
}

static void
test_answers(void **state)
{
	(void)state;
	/* Coded content is not touched, whatever it says. */
	check_answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
	    "Content-Length: 5\r\n\r\nplain", TRANSPORT_DONE, "plain");
	check_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nplain",
	    TRANSPORT_DONE, "plain");
	check_answer("HTTP/1.1 200 OK\r\n\r\nuntil the end", TRANSPORT_DONE,
	    "until the end");
	check_answer("HTTP/1.1 200 OK\r\n\r\n", TRANSPORT_DONE, "");
	check_answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
	    TRANSPORT_DONE, "");
	check_answer("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort",
	    TRANSPORT_RESET, "short");
	check_answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
	    "Content-Length: 5\r\n\r\nhello", TRANSPORT_DONE, "hello");
	check_answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"
	    "Content-Length: 4\r\n\r\nhello", TRANSPORT_PROTOCOL, "");
	check_answer(ON_TOP CHUNKS, TRANSPORT_DONE, CHUNKS);
	check_answer(ON_TOP CHUNKS "more", TRANSPORT_DONE, CHUNKS);
	check_answer(ON_TOP "5\r\nhel", TRANSPORT_RESET, "5\r\nhel");
	/* Broken framing: all that came is the body, to be archived. */
	check_answer(ON_TOP "x\r\nhel", TRANSPORT_PROTOCOL, "x\r\nhel");
	check_answer(CHUNKED "5\r\nhel", TRANSPORT_RESET, "5\r\nhel");
	check_answer(CHUNKED, TRANSPORT_RESET, "");
	check_answer("HTTP/1.1 304 Not Modified\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n", TRANSPORT_DONE, "");
	check_answer(CHUNKED "5\r\nhello\r\n0\r\n", TRANSPORT_RESET,
	    "5\r\nhello\r\n0\r\n");
	check_answer(CHUNKED "5\r\nhello!\r\n", TRANSPORT_PROTOCOL,
	    "5\r\nhello!\r\n");
	check_answer("HTTP/1.1 200 O", TRANSPORT_RESET, "");
	check_answer("HTTP/1.1 100 Continue\r\n\r\n", TRANSPORT_RESET, "");
	check_answer("", TRANSPORT_RESET, "");
	check_answer("HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\n"
	    "Content-Length: 0\r\n\r\n", TRANSPORT_DONE, "");
	check_answer("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\n"
	    "Content-Length: 0\r\n\r\n", TRANSPORT_DONE, "");
	check_answer("SSH-2.0-OpenSSH_9.2\r\n", TRANSPORT_PROTOCOL, "");
}

static void
test_total_time(void **state)
{
	struct fixture f = begin();
	struct test_run r;
	struct mono begun = clock_mono();

	(void)state;
	open_server(&server, serve_nothing, "");
	test_run_open(&r, f.t, false, "h.test", server.port, "/");
	r.x.total_ms = 300;
	test_run_whole(f.loop, &r);
	assert_end(&r, TIMEOUT);
	assert_in_range(mono_ns_between(begun, clock_mono()) / NS_PER_MS, 290,
	    1500);
	test_run_free(&r);
	end(&f);
	test_server_close(&server);
}

static void
test_speed(void **state)
{
	struct fixture f = begin();
	struct test_run r;
	struct mono begun = clock_mono();

	(void)state;
	open_server(&server, serve_nothing, "");
	test_run_open(&r, f.t, false, "h.test", server.port, "/");
	r.x.total_ms = 0;
	r.x.speed_bytes_min = 100;
	r.x.speed_s = 2;
	test_run_whole(f.loop, &r);
	assert_end(&r, TIMEOUT);
	assert_in_range(mono_ns_between(begun, clock_mono()) / NS_PER_MS, 1900,
	    4000);
	test_run_free(&r);
	end(&f);
	test_server_close(&server);
}

/* ---- stopping, starting ---- */

static void
test_stop_inside(void **state)
{
	struct fixture f = begin();
	struct test_run r;

	(void)state;
	open_server(&server, serve_text, OK_HELLO);
	for (int i = 0; i < 5; i++) {
		test_run_open(&r, f.t, false, "h.test", server.port, "/");
		r.stop_in_connected = i == 0;
		r.stop_in_head = i == 1;
		r.stop_in_body = i == 2;
		r.refuse_head = i == 3;
		r.body_max = i == 4 ? 4 : SIZE_MAX;
		test_run_whole(f.loop, &r);
		assert_end(&r, STOPPED);
		assert_int_equal(r.done_n, 1);
		assert_int_equal(r.heads_n, i > 0);
		assert_int_equal(r.body.n, i == 2 || i == 4 ? 5 : 0);
		test_run_free(&r);
	}
	end(&f);
	test_server_close(&server);
}

static void
test_stop_outside(void **state)
{
	struct fixture f = begin();
	struct test_run a, b;
	struct test_run *runs[] = { &a, &b };

	(void)state;
	open_server(&server, serve_nothing, "");
	open_server(&other_server, serve_text, OK_HELLO);
	/* At once; while it waits; by another one's callback. */
	test_run_open(&a, f.t, false, "h.test", server.port, "/");
	test_run_start(&a);
	transport_stop(f.t, &a.x);
	assert_end(&a, STOPPED);
	test_run_free(&a);
	test_run_open(&a, f.t, false, "h.test", server.port, "/");
	test_run_start(&a);
	test_loop_for(f.loop, 50);
	assert_int_equal(a.done_n, 0);
	transport_stop(f.t, &a.x);
	assert_int_equal(a.done_n, 1);
	transport_stop(f.t, &a.x);
	assert_int_equal(a.done_n, 1);
	test_run_free(&a);
	test_run_open(&a, f.t, false, "h.test", server.port, "/");
	test_run_open(&b, f.t, false, "h.test", other_server.port, "/");
	b.stop_other = &a;
	test_run_start(&a);
	test_run_start(&b);
	test_runs_finish(f.loop, runs, 2);
	assert_end(&a, STOPPED);
	assert_end(&b, DONE);
	test_run_free(&a);
	test_run_free(&b);
	/* What runs when the transport goes is told. */
	test_run_open(&a, f.t, false, "h.test", server.port, "/");
	test_run_start(&a);
	end(&f);
	assert_end(&a, STOPPED);
	test_run_free(&a);
	test_server_close(&server);
	test_server_close(&other_server);
}

static void
test_start_inside(void **state)
{
	struct fixture f = begin();
	struct test_run a, b;
	struct test_run *runs[] = { &a, &b };

	(void)state;
	open_server(&server, serve_text, OK_HELLO);
	test_run_open(&a, f.t, false, "h.test", server.port, "/");
	test_run_open(&b, f.t, false, "h.test", server.port, "/b");
	a.start_other = &b;
	test_run_start(&a);
	test_runs_finish(f.loop, runs, 2);
	assert_end(&a, DONE);
	assert_end(&b, DONE);
	test_run_free(&a);
	test_run_free(&b);
	end(&f);
	test_server_close(&server);
}

static void
test_many(void **state)
{
	static struct test_run runs[40];
	struct test_run *list[40];
	struct fixture f = begin();

	(void)state;
	open_server(&server, serve_quietly, OK_HELLO);
	for (int i = 0; i < 40; i++) {
		char host[20];
		snprintf(host, sizeof(host), "h%d.test", i % 5);
		test_run_open(&runs[i], f.t, false, host, server.port, "/");
		list[i] = &runs[i];
		test_run_start(&runs[i]);
	}
	test_runs_finish(f.loop, list, 40);
	for (int i = 0; i < 40; i++) {
		assert_end(&runs[i], DONE);
		assert_str(buf_str(&runs[i].body), "hello");
		test_run_free(&runs[i]);
	}
	/* host_connections_max is 4. */
	assert_in_range(server.accepted, 5, 20);
	end(&f);
	test_server_close(&server);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ip),
		cmocka_unit_test(test_request_bytes),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_request_refused),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_kept_connection_dies),
		cmocka_unit_test(test_request_is_sent_once),
		cmocka_unit_test(test_http10),
		cmocka_unit_test(test_idle_is_closed),
		cmocka_unit_test(test_next_address),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_connect_hangs),
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_head_limit),
		cmocka_unit_test(test_chunked_verbatim),
		cmocka_unit_test(test_chunked_excess),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_total_time),
		cmocka_unit_test(test_speed),
		cmocka_unit_test(test_stop_inside),
		cmocka_unit_test(test_stop_outside),
		cmocka_unit_test(test_start_inside),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

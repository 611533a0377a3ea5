/* Exchanges that become WebSockets: what frames are is not looked at here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_testing.h"

/* Large: not for the stack. */
static struct test_server server;

#define OPEN "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n" \
	"Connection: Upgrade\r\n\r\n"
#define FLOOD_BYTES ((size_t)32 << 20)

struct fixture {
	struct loop *loop;
	struct transport *t;
	struct test_run r;
};

static void
begin(struct fixture *f, void (*serve)(struct test_server *, int),
    const char *text)
{
	const struct transport_options options = { .connections_max = 50,
	    .host_connections_max = 4, .idle_s_max = 60 };

	f->loop = loop_new("test");
	f->t = transport_new(f->loop, &options);
	server.arg = (void *)(uintptr_t)text;
	assert_true(test_server_open(&server, NULL, serve));
	test_run_open(&f->r, f->t, false, "name.test", server.port, "/s?a=b");
	test_run_header(&f->r, "Connection", "Upgrade");
	f->r.x.upgrade = true;
}

static void
end(struct fixture *f)
{
	test_run_free(&f->r);
	transport_free(&f->t);
	loop_free(&f->loop);
	test_server_close(&server);
}

static void
assert_end(const struct test_run *r, enum transport_end end)
{
	if (r->end != end)
		fail_msg("ended with %s (%s), expected %s",
		    transport_end_word(r->end), r->detail,
		    transport_end_word(end));
}

static void
assert_str(struct str got, const char *expected)
{
	if (!str_eq(got, str_of(expected)))
		fail_msg("got \"%.*s\", expected \"%s\"", STR_FMT(got),
		    expected);
}

static void
wait_for_body(struct fixture *f, size_t n)
{
	for (int i = 0; i < 2000 && f->r.body_n < n && f->r.done_n == 0; i++)
		test_loop_for(f->loop, 5);
	assert_true(f->r.body_n >= n);
}

/* ---- servers ---- */

/* The text, then what comes, as it comes, up to a dot. */
static void
serve_echo(struct test_server *s, int fd)
{
	char c = ' ';

	if (!test_server_read(s, fd))
		return;
	test_send(fd, s->arg);
	while (c != '.' && recv(fd, &c, 1, 0) == 1)
		test_send_n(fd, &c, 1);
}

static void
serve_once(struct test_server *s, int fd)
{
	if (test_server_read(s, fd))
		test_send(fd, s->arg);
	test_wait_sent(fd);
}

static void
serve_bytewise(struct test_server *s, int fd)
{
	if (!test_server_read(s, fd))
		return;
	for (const char *p = s->arg; *p != '\0'; p++) {
		test_send_n(fd, p, 1);
		usleep(300);
	}
}

static void
serve_flood(struct test_server *s, int fd)
{
	static const char part[65536];

	if (!test_server_read(s, fd))
		return;
	test_send(fd, OPEN);
	for (size_t i = 0; i < FLOOD_BYTES / sizeof(part); i++)
		if (send(fd, part, sizeof(part), MSG_NOSIGNAL) < 0)
			return;
	test_wait_sent(fd);
}

/* Takes its time, and counts. */
static void
serve_slow_reader(struct test_server *s, int fd)
{
	char part[65536];
	ssize_t n;

	if (!test_server_read(s, fd))
		return;
	test_send(fd, OPEN "x");
	usleep(200000);
	while (s->flag < 4 << 20 && (n = recv(fd, part, sizeof(part), 0)) > 0)
		s->flag += (int)n;
	test_send(fd, "y");
	test_wait_sent(fd);
}

/* ---- a WebSocket ---- */

static void
test_both_directions(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, serve_echo, OPEN "hello");
	test_run_start(&f.r);
	wait_for_body(&f, 5);
	assert_int_equal(f.r.status, 101);
	assert_str(buf_str(&f.r.head), OPEN);
	assert_true(transport_send(f.t, &f.r.x, STR(" you")));
	wait_for_body(&f, 9);
	/* Long past what a kept connection may be idle is no matter. */
	test_loop_for(f.loop, 1200);
	assert_true(transport_send(f.t, &f.r.x, STR(" there.")));
	test_runs_finish(f.loop, (struct test_run *[]){ &f.r }, 1);
	assert_end(&f.r, TRANSPORT_DONE);
	assert_str(buf_str(&f.r.body), "hello you there.");
	assert_int_equal(f.r.connected_n, 1);
	assert_true(str_starts((struct str){ server.got, server.got_n },
	    STR("GET /s?a=b HTTP/1.1\r\nHost: name.test")));
	assert_true(str_eq((struct str){ server.got, server.got_n },
	    buf_str(&f.r.request)));
	end(&f);
}

static void
test_stopped(void **state)
{
	struct fixture f;

	(void)state;
	for (int i = 0; i < 4; i++) {
		begin(&f, serve_echo, OPEN "hello");
		f.r.stop_in_connected = i == 0;
		f.r.stop_in_head = i == 1;
		f.r.stop_in_body = i == 2;
		test_run_start(&f.r);
		if (i == 3) {
			wait_for_body(&f, 5);
			transport_stop(f.t, &f.r.x);
		}
		test_runs_finish(f.loop, (struct test_run *[]){ &f.r }, 1);
		assert_end(&f.r, TRANSPORT_STOPPED);
		test_loop_for(f.loop, 30);
		end(&f);
	}
	begin(&f, serve_echo, OPEN "hello");
	f.r.body_max = 3;
	test_run_whole(f.loop, &f.r);
	assert_end(&f.r, TRANSPORT_STOPPED);
	end(&f);
}

/* The server's bytes wait in the kernel, then at the server. */
static void
test_paused(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, serve_flood, NULL);
	f.r.discard = true;
	f.r.x.total_ms = 60000;
	test_run_start(&f.r);
	wait_for_body(&f, 1);
	transport_pause(f.t, &f.r.x, true);
	size_t before = f.r.body_n;
	test_loop_for(f.loop, 300);
	assert_int_equal(f.r.body_n, before);
	assert_int_equal(f.r.done_n, 0);
	transport_pause(f.t, &f.r.x, false);
	test_runs_finish(f.loop, (struct test_run *[]){ &f.r }, 1);
	assert_end(&f.r, TRANSPORT_DONE);
	assert_int_equal(f.r.body_n, FLOOD_BYTES);
	end(&f);
}

static void
test_much_is_sent(void **state)
{
	static char much[4 << 20];
	struct fixture f;

	(void)state;
	begin(&f, serve_slow_reader, NULL);
	server.flag = 0;
	test_run_start(&f.r);
	wait_for_body(&f, 1);
	assert_true(transport_send(f.t, &f.r.x, (struct str){ much,
	    sizeof(much) }));
	assert_false(transport_send(f.t, &f.r.x, STR("and more")));
	test_runs_finish(f.loop, (struct test_run *[]){ &f.r }, 1);
	assert_end(&f.r, TRANSPORT_DONE);
	assert_str(buf_str(&f.r.body), "xy");
	assert_int_equal(server.flag, sizeof(much));
	end(&f);
}

/* ---- other answers ---- */

static void
test_other_answers(void **state)
{
	static const struct {
		const char *text, *body;
		int status;
		enum transport_end end;
	} all[] = {
		{ "HTTP/1.1 400 Bad\r\nContent-Length: 5\r\n\r\nhello+",
		    "hello", 400, TRANSPORT_DONE },
		{ "HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n", "", 400,
		    TRANSPORT_DONE },
		{ "HTTP/1.1 204 None\r\n\r\nhello", "", 204, TRANSPORT_DONE },
		{ "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", 503,
		    TRANSPORT_DONE },
		{ "HTTP/1.1 200 OK\r\n\r\nhello", "hello", 200,
		    TRANSPORT_DONE },
		{ "HTTP/1.1 103 Hints\r\nA: b\r\n\r\nHTTP/1.1 403 No\r\n"
		    "Content-Length: 2\r\n\r\nno", "no", 403, TRANSPORT_DONE },
		{ "HTTP/1.1 400 Bad\r\nContent-Length: 9\r\n\r\nhello", "hello",
		    400, TRANSPORT_RESET },
		{ "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "5\r\nhel", "5\r\nhel", 503, TRANSPORT_RESET },
		{ "HTTP/1.1 400 Bad\r\nContent-Le", "", 0, TRANSPORT_RESET },
		{ "", "", 0, TRANSPORT_RESET },
		{ "SSH-2.0-OpenSSH\r\n", "", 0, TRANSPORT_PROTOCOL },
		{ "HTTP/1.1 400 Bad\r\nContent-Length: x\r\n\r\n", "", 0,
		    TRANSPORT_PROTOCOL },
	};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(all); i++) {
		size_t at = i / 2;
		begin(&f, i % 2 == 0 ? serve_once : serve_bytewise,
		    all[at].text);
		test_run_whole(f.loop, &f.r);
		assert_end(&f.r, all[at].end);
		assert_int_equal(f.r.status, all[at].status);
		assert_str(buf_str(&f.r.body), all[at].body);
		end(&f);
	}
}

static void
test_head_is_too_large(void **state)
{
	static char text[100000];
	struct fixture f;

	(void)state;
	for (int lines = 0; lines < 2; lines++) {
		memset(text, 'a', sizeof(text) - 1);
		memcpy(text, "HTTP/1.1 101 A\r\n", 16);
		for (size_t i = 60; lines && i < sizeof(text) - 1; i += 60)
			memcpy(text + i, "\r\na: ", 5);
		begin(&f, serve_once, text);
		test_run_whole(f.loop, &f.r);
		assert_end(&f.r, TRANSPORT_PROTOCOL);
		assert_true(f.r.x.too_large);
		end(&f);
	}
}

/* ---- addresses ---- */

static void
test_refused_address(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, serve_echo, OPEN);
	f.r.refuse = true;
	test_run_whole(f.loop, &f.r);
	assert_end(&f.r, TRANSPORT_BLOCKED);
	assert_int_equal(server.accepted, 0);
	end(&f);
}

static void
test_next_address(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, serve_once, OPEN "hello");
	f.r.addresses[1] = f.r.addresses[0];
	assert_true(ip_from_text(STR("127.0.0.77"), &f.r.addresses[0]));
	f.r.x.addresses_n = 2;
	test_run_whole(f.loop, &f.r);
	assert_end(&f.r, TRANSPORT_DONE);
	assert_int_equal(f.r.connected_n, 2);
	assert_str(buf_str(&f.r.body), "hello");
	end(&f);
}

/* An upgrade that the exchange did not ask for is refused as ever. */
static void
test_not_asked_for(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, serve_once, OPEN "hello");
	f.r.x.upgrade = false;
	test_run_whole(f.loop, &f.r);
	assert_end(&f.r, TRANSPORT_PROTOCOL);
	end(&f);
}

/* One that is open when the transport goes ends with STOPPED. */
static void
test_transport_goes(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, serve_echo, OPEN "hello");
	test_run_start(&f.r);
	wait_for_body(&f, 5);
	transport_free(&f.t);
	assert_int_equal(f.r.done_n, 1);
	assert_end(&f.r, TRANSPORT_STOPPED);
	test_run_free(&f.r);
	loop_free(&f.loop);
	test_server_close(&server);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_directions),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_much_is_sent),
		cmocka_unit_test(test_other_answers),
		cmocka_unit_test(test_head_is_too_large),
		cmocka_unit_test(test_refused_address),
		cmocka_unit_test(test_next_address),
		cmocka_unit_test(test_not_asked_for),
		cmocka_unit_test(test_transport_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Connections that are kept over a pause: how long, which of them when there is
 * no room for all, and what becomes of those that the server closes meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_testing.h"

#define OK_HELLO "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

/* Large: not for the stack. */
static struct test_server server;
static atomic_int requests, open_now;

struct fixture {
	struct loop *loop;
	struct transport *t;
};

static struct fixture
open_fixture(size_t connections_max, int64_t idle_s_max)
{
	struct transport_options options = { .host_connections_max = 4,
	    .connections_max = connections_max, .idle_s_max = idle_s_max };
	struct fixture f = { .loop = loop_new("test") };

	f.t = transport_new(f.loop, &options);
	requests = open_now = 0;
	return f;
}

static void
close_fixture(struct fixture *f)
{
	transport_free(&f->t);
	loop_free(&f->loop);
	test_server_close(&server);
}

/* ---- servers ---- */

static bool
read_request(int fd)
{
	char c, last[4] = "";

	while (recv(fd, &c, 1, 0) == 1) {
		memmove(last, last + 1, 3);
		last[3] = c;
		if (memcmp(last, "\r\n\r\n", 4) == 0) {
			atomic_fetch_add(&requests, 1);
			return true;
		}
	}
	return false;
}

static void
serve_text(struct test_server *s, int fd)
{
	atomic_fetch_add(&open_now, 1);
	while (read_request(fd))
		test_send(fd, s->arg);
	atomic_fetch_sub(&open_now, 1);
}

/* Keeps a connection for 300 ms after its answer. */
static void
serve_for_a_moment(struct test_server *s, int fd)
{
	if (!read_request(fd))
		return;
	test_send(fd, s->arg);
	usleep(300000);
}

/* Reads the first connection's second request, and is gone. */
static void
serve_and_leave(struct test_server *s, int fd)
{
	bool first = atomic_fetch_add(&s->flag, 1) == 0;

	for (int i = 0; read_request(fd) && !(first && i == 1); i++)
		test_send(fd, s->arg);
}

static void
open_server(void (*serve)(struct test_server *, int), const char *text)
{
	server.arg = (void *)(uintptr_t)text;
	assert_true(test_server_open(&server, NULL, serve));
}

/* ---- requests ---- */

/* Whether the connection had served the host before. */
static bool
ask_host(struct fixture *f, unsigned host, int64_t pause_ms)
{
	struct test_run r;
	char name[32];

	snprintf(name, sizeof(name), "h%u.test", host);
	test_run_open(&r, f->t, false, name, server.port, "/");
	r.x.pause_ms = pause_ms;
	test_run_whole(f->loop, &r);
	if (r.end != TRANSPORT_DONE)
		fail_msg("ended with %s (%s)", transport_end_word(r.end),
		    r.detail);
	bool reused = r.x.reused;
	test_run_free(&r);
	return reused;
}

/* The server sees a connection's end a little later. */
static void
assert_open(struct fixture *f, int n)
{
	struct mono until = mono_add_ms(clock_mono(), 5000);

	while (atomic_load(&open_now) != n) {
		assert_true(mono_before(clock_mono(), until));
		test_loop_for(f->loop, 1);
	}
}

/* ---- one host ---- */

static void
test_kept_over_pause(void **state)
{
	struct fixture f = open_fixture(4, 60);

	(void)state;
	open_server(serve_text, OK_HELLO);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ask_host(&f, 0, 1000), i > 0);
		if (i < 2)
			test_loop_for(f.loop, 1000);
	}
	assert_int_equal(server.accepted, 1);
	assert_int_equal(requests, 3);
	close_fixture(&f);
}

/* Seen when it happens: the next request opens a connection, and goes once. */
static void
test_server_closes_in_pause(void **state)
{
	struct fixture f = open_fixture(4, 60);

	(void)state;
	open_server(serve_for_a_moment, OK_HELLO);
	for (int i = 0; i < 2; i++) {
		assert_false(ask_host(&f, 0, 1000));
		assert_int_equal(server.accepted, i + 1);
		assert_int_equal(requests, i + 1);
		if (i == 0)
			test_loop_for(f.loop, 1000);
	}
	close_fixture(&f);
}

/* Too late to be seen: one more try, and no error. */
static void
test_server_closes_on_request(void **state)
{
	struct fixture f = open_fixture(4, 60);

	(void)state;
	open_server(serve_and_leave, OK_HELLO);
	for (int i = 0; i < 2; i++) {
		assert_false(ask_host(&f, 0, 100));
		assert_int_equal(server.accepted, i + 1);
		test_loop_for(f.loop, 100);
	}
	assert_int_equal(requests, 3);
	close_fixture(&f);
}

/* ---- how long ---- */

#define ANSWER(keep_alive)                                                   \
	"HTTP/1.1 200 OK\r\n" keep_alive "Content-Length: 0\r\n\r\n"

/* A connection that would be too old when it is needed is closed at once. */
static void
test_keep_alive(void **state)
{
	static const struct {
		const char *answer;
		int64_t pause_ms;
		bool kept;
	} cases[] = {
		{ ANSWER("Keep-Alive: timeout=2\r\n"), 1499, true },
		{ ANSWER("Keep-Alive: timeout=2\r\n"), 1500, false },
		{ ANSWER("keep-alive:max=7 ,\tTimeOut=2 \r\n"), 1500, false },
		{ ANSWER("Keep-Alive: timeout=9\r\nKeep-Alive: timeout=2\r\n"),
		    1500, false },
		{ ANSWER("Keep-Alive: timeout=1\r\n"), 0, true },
		{ ANSWER("Keep-Alive: timeout=0\r\n"), 0, false },
		{ ANSWER("Keep-Alive: timeout=18446744073709551615\r\n"),
		    59999, true },
		{ ANSWER("Keep-Alive: timeout=-1\r\n"), 1500, true },
		{ ANSWER("Keep-Alive: timeout=1x\r\n"), 1500, true },
		{ ANSWER("Keep-Alive: timeout\r\n"), 1500, true },
		{ ANSWER("Keep-Alive: max=0\r\n"), 1500, true },
		{ ANSWER("Keep-Alives: timeout=0\r\n"), 1500, true },
		/* A head of 1xx says nothing of it. */
		{ "HTTP/1.1 100 Go\r\nKeep-Alive: timeout=0\r\n\r\n"
		    ANSWER(""), 1500, true },
		/* The limit for all connections, 60 s here. */
		{ ANSWER(""), 59999, true },
		{ ANSWER(""), 60000, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture f = open_fixture(4, 60);
		open_server(serve_text, cases[i].answer);
		for (int n = 0; n < 2; n++) {
			bool reused = ask_host(&f, 0, cases[i].pause_ms);
			if (reused != (n == 1 && cases[i].kept))
				fail_msg("case %zu: reused %d", i, reused);
		}
		close_fixture(&f);
	}
}

/* Nor is it used in the last half second of the server's time. */
static void
test_keep_alive_ends(void **state)
{
	struct fixture f = open_fixture(4, 60);

	(void)state;
	open_server(serve_text, ANSWER("Keep-Alive: timeout=1\r\n"));
	assert_false(ask_host(&f, 0, 0));
	test_loop_for(f.loop, 100);
	assert_true(ask_host(&f, 0, 0));
	test_loop_for(f.loop, 550);
	assert_false(ask_host(&f, 0, 0));
	assert_int_equal(server.accepted, 2);
	assert_open(&f, 1);
	close_fixture(&f);
}

/* ---- more hosts than connections ---- */

/* Hosts that come in turn: the connection that is needed last goes first. */
static void
test_last_due_goes(void **state)
{
	static const bool reused[2][6] = { { false },
		{ true, true, false, false, false, true } };
	struct fixture f = open_fixture(3, 60);

	(void)state;
	open_server(serve_text, OK_HELLO);
	for (int round = 0; round < 2; round++)
		for (unsigned host = 0; host < 6; host++) {
			assert_int_equal(ask_host(&f, host, 5000),
			    reused[round][host]);
			assert_open(&f, round == 1 ? 3 : MIN((int)host + 1,
			    3));
		}
	assert_int_equal(requests, 12);
	close_fixture(&f);
}

/* As many hosts as connections: none has to go. */
static void
test_room_for_all(void **state)
{
	struct fixture f = open_fixture(6, 60);

	(void)state;
	open_server(serve_text, OK_HELLO);
	for (int round = 0; round < 2; round++)
		for (unsigned host = 0; host < 6; host++)
			assert_int_equal(ask_host(&f, host, 5000), round);
	assert_int_equal(server.accepted, 6);
	close_fixture(&f);
}

/* A host that did not come when it could may be done with. */
static void
test_overdue_goes(void **state)
{
	struct fixture f = open_fixture(2, 60);

	(void)state;
	open_server(serve_text, OK_HELLO);
	ask_host(&f, 0, 100);
	test_loop_for(f.loop, 700);
	/* Host 0 is overdue by 600 ms, and host 1 is due in 400. */
	ask_host(&f, 1, 400);
	ask_host(&f, 2, 400);
	assert_true(ask_host(&f, 1, 400));
	assert_true(ask_host(&f, 2, 400));
	/* Without a pause, the one that was used longest ago. */
	test_loop_for(f.loop, 20);
	ask_host(&f, 1, 0);
	test_loop_for(f.loop, 20);
	ask_host(&f, 2, 0);
	test_loop_for(f.loop, 20);
	assert_false(ask_host(&f, 0, 0));
	assert_true(ask_host(&f, 2, 0));
	assert_false(ask_host(&f, 1, 0));
	assert_open(&f, 2);
	close_fixture(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept_over_pause),
		cmocka_unit_test(test_server_closes_in_pause),
		cmocka_unit_test(test_server_closes_on_request),
		cmocka_unit_test(test_keep_alive),
		cmocka_unit_test(test_keep_alive_ends),
		cmocka_unit_test(test_last_due_goes),
		cmocka_unit_test(test_room_for_all),
		cmocka_unit_test(test_overdue_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

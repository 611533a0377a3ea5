/*
 * Where one answer ends and the next one begins: lengths and codings that say
 * so in doubtful words, and bytes on a kept connection that belong to no answer
 * (RFC 9112 §6.3, §9.3).  Each case makes two requests to one host; the second
 * must get its own answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <time.h>

#include "os/clock.h"
#include "os/transport_testing.h"

#define TRUE_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue"
#define FORGED "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
#define PAUSE_MS 40

static struct test_server server;
static struct loop *loop;
static struct transport *transport;

/* A first answer, in up to two pieces; the second comes PAUSE_MS later. */
struct answer {
	const char *text, *late;
};

static atomic_bool late_sent;

static void
sleep_ms(long ms)
{
	struct timespec t = { .tv_nsec = ms * 1000000 };

	nanosleep(&t, NULL);
}

/* The first connection answers as the case says, then truly; others truly. */
static void
serve_text(struct test_server *s, int fd)
{
	const struct answer *a = s->arg;
	bool first = atomic_fetch_add(&s->flag, 1) == 0;

	while (test_server_read(s, fd)) {
		test_send(fd, first ? a->text : TRUE_ANSWER);
		if (first && a->late != NULL) {
			sleep_ms(PAUSE_MS);
			test_send(fd, a->late);
			test_wait_sent(fd);
			atomic_store(&late_sent, true);
		}
		first = false;
	}
}

static void
ask(struct test_run *r)
{
	test_run_open(r, transport, false, "h.test", server.port, "/");
	r->x.total_ms = 20000;
	test_run_whole(loop, r);
}

static void
open_case(const struct answer *a)
{
	struct transport_options options = { .connections_max = 50,
	    .host_connections_max = 4, .idle_s_max = 60 };

	server.arg = (void *)(uintptr_t)a;
	atomic_store(&late_sent, a->late == NULL);
	assert_true(test_server_open(&server, NULL, serve_text));
	loop = loop_new("test");
	transport = transport_new(loop, &options);
}

static void
close_case(void)
{
	transport_free(&transport);
	loop_free(&loop);
	test_server_close(&server);
}

/* Waits until the server has sent all; the loop turns meanwhile, or not. */
static void
wait_for_late(bool turning)
{
	struct mono until = mono_add_ms(clock_mono(), 20000);

	while (!atomic_load(&late_sent)) {
		if (mono_before(until, clock_mono()))
			fail_msg("the server sent no second piece");
		if (turning)
			test_loop_for(loop, 1);
		else
			sleep_ms(1);
	}
}

/* The second request after the first one: its own answer, or the test fails. */
static void
check_second(const char *what, bool reused)
{
	struct test_run r;

	ask(&r);
	if (r.end != TRANSPORT_DONE || !str_eq(buf_str(&r.body), STR("true")))
		fail_msg("%s: the next request ended with %s (%s) and got "
		    "\"%.*s\"", what, transport_end_word(r.end), r.detail,
		    STR_FMT(buf_str(&r.body)));
	if (r.x.reused != reused)
		fail_msg("%s: the connection was %s", what, r.x.reused ?
		    "used again" : "not used again");
	test_run_free(&r);
}

/* ---- what a head may say ---- */

static const struct {
	const char *headers;
	enum transport_end end;
	bool reused;
} heads[] = {
	{ "Content-Length: 10\r\n", TRANSPORT_DONE, true },
	{ "Content-Length:10\r\n", TRANSPORT_DONE, true },
	{ "Content-Length: \t10 \r\n", TRANSPORT_DONE, true },
	{ "Content-Length: 0010\r\n", TRANSPORT_DONE, true },
	/* RFC 9110 §8.6: the same value again may be taken for one. */
	{ "Content-Length: 10, 10\r\n", TRANSPORT_DONE, true },
	{ "Content-Length: 10\r\nContent-Length: 10\r\n", TRANSPORT_DONE,
	    true },
	{ "Content-Length: +10\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: -10\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 0x10\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 1 0\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 10, 20\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 10,\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 10;\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 10.0\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 1e1\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: \"10\"\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 18446744073709551626\r\n", TRANSPORT_PROTOCOL,
	    false },
	{ "Content-Length: 9223372036854775808\r\n", TRANSPORT_PROTOCOL,
	    false },
	{ "Content-Length:\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 10\r\nContent-Length: 11\r\n", TRANSPORT_PROTOCOL,
	    false },
	{ "Content-Length: 1\r\n 0\r\n", TRANSPORT_PROTOCOL, false },
	{ "Content-Length: 10\r\n\t\r\n", TRANSPORT_PROTOCOL, false },
	/* A bare CR ends a line for some and not for others. */
	{ "Content-Length: 10\r\nX: a\rContent-Length: 5\r\n", TRANSPORT_DONE,
	    false },
	{ "X-Folded: a\r\n b\r\nContent-Length: 10\r\n", TRANSPORT_DONE,
	    true },
};

static void
test_lengths(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		char text[512];
		struct test_run r;
		snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%s\r\n"
		    "0123456789", heads[i].headers);
		open_case(&(struct answer){ text, NULL });
		ask(&r);
		if (r.end != heads[i].end)
			fail_msg("%s: ended with %s (%s)", heads[i].headers,
			    transport_end_word(r.end), r.detail);
		if (r.end == TRANSPORT_DONE)
			assert_int_equal(r.body_n, 10);
		else
			assert_true(r.detail[0] != '\0');
		test_run_free(&r);
		check_second(heads[i].headers, heads[i].reused);
		close_case();
	}
}

/* ---- transfer codings ---- */

#define CHUNKS "5\r\nhello\r\n0\r\n\r\n"

static const struct {
	const char *headers, *body;
	enum transport_end end;
	bool reused;
} codings[] = {
	{ "Transfer-Encoding: chunked\r\n", CHUNKS, TRANSPORT_DONE, true },
	{ "Transfer-Encoding: , chunked ,\r\n", CHUNKS, TRANSPORT_DONE,
	    true },
	{ "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
	    CHUNKS, TRANSPORT_PROTOCOL, false },
	{ "Transfer-Encoding: chunked, chunked\r\n", CHUNKS,
	    TRANSPORT_PROTOCOL, false },
	{ "Transfer-Encoding: chunked, gzip\r\n", CHUNKS, TRANSPORT_PROTOCOL,
	    false },
	{ "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", CHUNKS,
	    TRANSPORT_PROTOCOL, false },
	{ "Transfer-Encoding:\r\n chunked\r\n", CHUNKS, TRANSPORT_PROTOCOL,
	    false },
	{ "Transfer-Encoding: chunked;q=1\r\n", CHUNKS, TRANSPORT_PROTOCOL,
	    false },
	{ "Transfer-Encoding: xchunked\r\n", CHUNKS, TRANSPORT_PROTOCOL,
	    false },
	{ "Transfer-Encoding: \x0b" "chunked\r\n", CHUNKS, TRANSPORT_PROTOCOL,
	    false },
	/* RFC 9112 §6.3: the coding wins; who sent both is not trusted. */
	{ "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", CHUNKS,
	    TRANSPORT_DONE, false },
	{ "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", CHUNKS,
	    TRANSPORT_DONE, false },
	{ "Transfer-Encoding: chunked\r\nContent-Length: +3\r\n", CHUNKS,
	    TRANSPORT_PROTOCOL, false },
	/* Sizes that others read as another number. */
	{ "Transfer-Encoding: chunked\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
	    TRANSPORT_PROTOCOL, false },
	{ "Transfer-Encoding: chunked\r\n", "5 5\r\nhello\r\n0\r\n\r\n",
	    TRANSPORT_PROTOCOL, false },
	{ "Transfer-Encoding: chunked\r\n", "5,\r\nhello\r\n0\r\n\r\n",
	    TRANSPORT_PROTOCOL, false },
	{ "Transfer-Encoding: chunked\r\n", "+5\r\nhello\r\n0\r\n\r\n",
	    TRANSPORT_PROTOCOL, false },
	{ "Transfer-Encoding: chunked\r\n", " 5\r\nhello\r\n0\r\n\r\n",
	    TRANSPORT_PROTOCOL, false },
	{ "Transfer-Encoding: chunked\r\n", "5\t ;a=b\r\nhello\r\n0 \r\n\r\n",
	    TRANSPORT_DONE, true },
};

static void
test_codings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(codings); i++) {
		char text[512], what[512];
		struct test_run r;
		snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%s\r\n%s",
		    codings[i].headers, codings[i].body);
		snprintf(what, sizeof(what), "%s%.8s", codings[i].headers,
		    codings[i].body);
		open_case(&(struct answer){ text, NULL });
		ask(&r);
		if (r.end != codings[i].end)
			fail_msg("%s: ended with %s (%s)", what,
			    transport_end_word(r.end), r.detail);
		if (r.end == TRANSPORT_DONE)
			assert_true(str_eq(buf_str(&r.body),
			    str_of(codings[i].body)));
		test_run_free(&r);
		check_second(what, codings[i].reused);
		close_case();
	}
}

/* ---- bytes that belong to no answer ---- */

static const struct {
	const char *what;
	struct answer answer;
	int status;
	bool reused;
} leftovers[] = {
	{ "nothing left", { TRUE_ANSWER, NULL }, 200, true },
	{ "nothing left of 204", { "HTTP/1.1 204 No\r\n\r\n", NULL }, 204,
	    true },
	{ "nothing left of 304", { "HTTP/1.1 304 Same\r\n\r\n", NULL }, 304,
	    true },
	{ "nothing left after 103", { "HTTP/1.1 103 Early\r\nLink: <x>\r\n\r\n"
	    TRUE_ANSWER, NULL }, 200, true },
	{ "an answer after the length", { TRUE_ANSWER FORGED, NULL }, 200,
	    false },
	{ "an answer after the length, later", { TRUE_ANSWER, FORGED }, 200,
	    false },
	{ "half before, half later", { TRUE_ANSWER "HTTP/1.1 200 OK\r\nA: b",
	    "\r\nContent-Length: 6\r\n\r\nforged" }, 200, false },
	{ "one byte later", { TRUE_ANSWER, "\n" }, 200, false },
	{ "after the last chunk", { "HTTP/1.1 200 OK\r\nTransfer-Encoding: "
	    "chunked\r\n\r\n0\r\n\r\n", FORGED }, 200, false },
	{ "after an empty body", { "HTTP/1.1 200 OK\r\nContent-Length: 0"
	    "\r\n\r\n" FORGED, NULL }, 200, false },
	{ "after an empty body, half later", { "HTTP/1.1 200 OK\r\n"
	    "Content-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n",
	    "Content-Length: 6\r\n\r\nforged" }, 200, false },
	{ "204 with a body", { "HTTP/1.1 204 No\r\n\r\n" FORGED, NULL }, 204,
	    false },
	{ "204 with a body, later", { "HTTP/1.1 204 No\r\n\r\n", FORGED },
	    204, false },
	{ "204 that announces a body", { "HTTP/1.1 204 No\r\n"
	    "Content-Length: 6\r\n\r\n", NULL }, 204, false },
	{ "304 with a body", { "HTTP/1.1 304 Same\r\nContent-Length: 6\r\n\r\n"
	    "forged", NULL }, 304, false },
	{ "304 with a body, later", { "HTTP/1.1 304 Same\r\n\r\n", FORGED },
	    304, false },
	{ "304 with chunks", { "HTTP/1.1 304 Same\r\nTransfer-Encoding: "
	    "chunked\r\n\r\n", CHUNKS }, 304, false },
	{ "304 and an answer", { "HTTP/1.1 304 Same\r\nContent-Length: 0\r\n"
	    "\r\n" FORGED, NULL }, 304, false },
};

static void
test_leftovers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(leftovers); i++) {
		struct test_run r;
		open_case(&leftovers[i].answer);
		ask(&r);
		if (r.end != TRANSPORT_DONE || r.status != leftovers[i].status)
			fail_msg("%s: ended with %s (%s), status %d",
			    leftovers[i].what, transport_end_word(r.end),
			    r.detail, r.status);
		if (str_find(buf_str(&r.body), STR("forged")) < r.body.n)
			fail_msg("%s: forged", leftovers[i].what);
		test_run_free(&r);
		wait_for_late(true);
		test_loop_for(loop, PAUSE_MS);
		check_second(leftovers[i].what, leftovers[i].reused);
		close_case();
	}
}

/*
 * The bytes lie in the socket, but the loop has not turned since: only asking
 * the socket itself, just before the request, can tell.
 */
static void
test_leftovers_unseen(void **state)
{
	static const struct answer late = { TRUE_ANSWER, FORGED };
	struct test_run r;

	(void)state;
	open_case(&late);
	ask(&r);
	assert_int_equal(r.end, TRANSPORT_DONE);
	test_run_free(&r);
	wait_for_late(false);
	check_second("unseen", false);
	close_case();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_codings),
		cmocka_unit_test(test_leftovers),
		cmocka_unit_test(test_leftovers_unseen),
	};

	return cmocka_run_group_tests_name("transport_framing", tests, NULL,
	    NULL);
}

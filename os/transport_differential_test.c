/*
 * The transport beside its oracle, libcurl (transport_curl.h): both ask a raw
 * server, which gives both the same bytes, cut at the same places.  Answers are
 * put together by chance from lines that servers send and lines that they
 * should not send; half of them are damaged then.  A second request follows
 * where the server keeps the connection.  End, head, body and what becomes of
 * the second request are compared; `differences` lists what may differ and why.
 *
 *     transport_differential_test [CASES [FIRST]]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/transport_curl.h"
#include "os/transport_testing.h"
#include "tests/rounds.h"

#define CASES 10000
/* libcurl searches lists that grow with each case, so it begins anew. */
#define CURL_CASES 1000
#define CUTS_MAX 8
#define CONNS_MAX 16
#define TRUE_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue"

static uint64_t cases_n = ROUNDS(CASES), first_case;
/* Differences that a million cases showed. */
static const uint64_t found_later[] = { 176478, 245096, 415588 };

/* ---- chance ---- */

static uint64_t chance;

static uint64_t
draw(uint64_t n)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (chance >> 11) % n;
}

#define PICK(array) (array)[draw(ARRAY_LEN(array))]

/* ---- answers ---- */

static const char *const status_lines[] = {
	"HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK",
	"HTTP/1.1 200 OK", "HTTP/1.1 404 Not Found", "HTTP/1.1 204 No",
	"HTTP/1.1 304 Same", "HTTP/1.1 301 Moved", "HTTP/1.0 200 OK",
	"HTTP/1.1 500 Err", "HTTP/1.1 206 Part", "HTTP/1.1 200",
	"HTTP/1.1 200 ", "HTTP/1.1  200 OK", "HTTP/1.1 999 Denied",
	"HTTP/1.1 401 No", "HTTP/1.1 407 No", "HTTP/1.1 101 Up",
	"HTTP/1.1 100 Go", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK",
	"HTTP/1.1 -200 OK", "HTTP/1.2 200 OK", "HTTP/0.9 200 OK",
	"HTTP/11 200 OK", "HTTP/1.1\t200 OK", "HTTP/1.1", "HTTP/", "ICY 200",
	"HTTP 200 OK", " HTTP/1.1 200 OK", "SSH-2.0-x", "", "<html>",
};

static const char *const header_lines[] = {
	"Content-Length: 5", "Content-Length: 5", "content-length:5",
	"Content-Length: 0", "Content-Length: 3", "Content-Length: 50",
	"Content-Length: 5, 5", "Content-Length: 5,6", "Content-Length: +5",
	"Content-Length: -5", "Content-Length: 0x5", "Content-Length:",
	"Content-Length: 5 5", "Content-Length: 99999999999999999999",
	"Content-Length : 5", "Content-Length: 05", " Content-Length: 4",
	"Transfer-Encoding: chunked", "Transfer-Encoding: chunked",
	"transfer-encoding: Chunked", "Transfer-Encoding: gzip",
	"Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, gzip",
	"Transfer-Encoding: xchunked", "Transfer-Encoding: identity",
	"Transfer-Encoding:", "Transfer-Encoding: ,chunked",
	"Transfer-Encoding:chunked ", "Connection: close",
	"Connection: keep-alive", "Connection: Keep-Alive, x",
	"Keep-Alive: timeout=5", "Content-Type: text/html", "X: a", "X: a",
	"X:", "X: a\rY: b", " folded", "\tfolded: yes", "no colon", ": empty",
	"Content-Encoding: gzip", "Set-Cookie: a=b", "Location: /x",
	"Upgrade: websocket", "WWW-Authenticate: Basic", "\r",
};

static const char *const bodies[] = {
	"hello", "hello", "", "hel", "hello more", "5\r\nhello\r\n0\r\n\r\n",
	"5\r\nhello\r\n0\r\n\r\n", "5;a=b\r\nhello\r\n0\r\nT: x\r\n\r\n",
	"5\nhello\n0\n\n", "5\r\nhello\r\n0\r\n\r\nmore", "0\r\n\r\n",
	"x\r\nhello", "5\r\nhel", "5\r\nhello!\r\n", "0005 \r\nhello\r\n0",
	"5\r\nhello\r\n0\r\nT: x\r\n", TRUE_ANSWER, ("hello" TRUE_ANSWER),
};

enum after { CLOSES, KEEPS };
static struct {
	struct buf bytes;
	size_t cuts[CUTS_MAX], cuts_n;
	enum after after;
	const char *method;
	bool upgrade;
	uint64_t number;
	int64_t patience_ms;         /* with an answer that is not whole */
} now;

static void
put_line(const char *text, const char *end)
{
	buf_put_text(&now.bytes, text);
	buf_put_text(&now.bytes, end);
}

static void
put_answer(void)
{
	const char *end = draw(8) == 0 ? "\n" : "\r\n";
	size_t n = draw(4);

	while (draw(12) == 0)
		buf_put_text(&now.bytes, draw(2) ? "HTTP/1.1 100 Go\r\n\r\n" :
		    "HTTP/1.1 103 Hint\r\nLink: <x>\r\n\r\n");
	put_line(draw(2) ? status_lines[draw(5)] : PICK(status_lines), end);
	/* A length or a coding that fits is the rule. */
	if (draw(4) != 0)
		put_line(draw(2) ? "Content-Length: 5" :
		    "Transfer-Encoding: chunked", end);
	while (n-- > 0)
		put_line(PICK(header_lines), end);
	put_line("", end);
	buf_put_text(&now.bytes, PICK(bodies));
}

/* A byte is changed, taken out, doubled; or the end is cut off. */
static void
damage(void)
{
	static const char odd[] = "\r\n \t:;,0a5\x80\xff";
	struct buf *b = &now.bytes;

	for (size_t i = 0, n = 1 + draw(3); i < n && b->n > 1; i++) {
		size_t at = draw(b->n);
		switch (draw(4)) {
		case 0:
			b->p[at] = odd[draw(sizeof(odd) - 1)];
			break;
		case 1:
			memmove(b->p + at, b->p + at + 1, b->n - at - 1);
			b->n--;
			break;
		case 2:
			buf_put_char(b, ' ');
			memmove(b->p + at + 1, b->p + at, b->n - at - 1);
			break;
		default:
			b->n = draw(3) == 0 ? at : b->n;
		}
	}
}

static int
order_cuts(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

static void
make_case(uint64_t number)
{
	static const char *const methods[] = { "GET", "GET", "GET", "GET",
	    "GET", "POST", "HEAD", "DELETE" };

	chance = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
	for (int i = 0; i < 8; i++)
		(void)draw(2);
	now.number = number;
	now.patience_ms = 50;
	now.method = PICK(methods);
	now.upgrade = draw(20) == 0;
	/* One that is not whole takes its time then. */
	now.after = draw(160) == 0 ? KEEPS : CLOSES;
	buf_clear(&now.bytes);
	put_answer();
	if (draw(2))
		damage();
	now.cuts_n = draw(CUTS_MAX);
	for (size_t i = 0; i < now.cuts_n; i++)
		now.cuts[i] = draw(now.bytes.n + 1);
	qsort(now.cuts, now.cuts_n, sizeof(now.cuts[0]), order_cuts);
}

/*
 * libcurl 7.88 unfolds a head's first header into that of an earlier request,
 * whose memory it has freed: such a case would end this process.
 */
static bool
crashes_libcurl(void)
{
	struct str rest = buf_str(&now.bytes), line;
	bool after_status = false;

	while (str_split(&rest, '\n', &line)) {
		if (after_status && line.n > 0 &&
		    (line.p[0] == ' ' || line.p[0] == '\t'))
			return true;
		after_status = str_starts_nocase(line, STR("HTTP/"));
	}
	return false;
}

/* ---- the server, on the same loop ---- */

struct conn {
	struct watch watch;
	struct timer timer;
	char last[4];
	bool first;                  /* the answer under test */
	bool answering;
	size_t sent, cut;
};

static struct loop *loop;
static struct watch listener;
static uint16_t port;
static struct conn conns[CONNS_MAX];
static bool answer_is_due;           /* the next request gets the case */

static void
close_conn(struct conn *c)
{
	loop_timer_stop(loop, &c->timer);
	close(c->watch.fd);
	c->watch.fd = -1;
}

static void
send_piece(struct timer *t)
{
	struct conn *c = CONTAINER(t, struct conn, timer);
	struct str all = c->first ? buf_str(&now.bytes) : STR(TRUE_ANSWER);
	size_t to = c->first && c->cut < now.cuts_n ? now.cuts[c->cut++] :
	    all.n;

	test_send_n(c->watch.fd, all.p + c->sent, to - c->sent);
	c->sent = to;
	if (c->sent < all.n || (c->first && c->cut < now.cuts_n)) {
		loop_timer_set(loop, &c->timer, loop_now(loop));
		return;
	}
	c->answering = false;
	if (c->first && now.after == CLOSES)
		shutdown(c->watch.fd, SHUT_WR);
}

static void
answer(struct conn *c)
{
	c->first = answer_is_due;
	answer_is_due = false;
	c->sent = c->cut = 0;
	c->answering = true;
	loop_timer_set(loop, &c->timer, loop_now(loop));
}

static void
conn_ready(struct watch *w, unsigned events)
{
	struct conn *c = CONTAINER(w, struct conn, watch);
	char in[4096];
	ssize_t n = recv(w->fd, in, sizeof(in), MSG_DONTWAIT);

	(void)events;
	if (n <= 0) {
		close_conn(c);
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		memmove(c->last, c->last + 1, 3);
		c->last[3] = in[i];
		if (memcmp(c->last, "\r\n\r\n", 4) == 0)
			answer(c);
	}
}

static void
accept_conn(struct watch *w, unsigned events)
{
	int fd = accept(w->fd, NULL, NULL), one = 1;
	size_t i = 0;

	(void)events;
	assert_true(fd >= 0);
	while (i < CONNS_MAX && conns[i].watch.fd >= 0)
		i++;
	assert_true(i < CONNS_MAX);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	conns[i] = (struct conn){ .watch = { fd, conn_ready },
	    .timer.fire = send_piece };
	loop_watch(loop, &conns[i].watch, LOOP_READ);
}

static void
open_listener(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);

	for (size_t i = 0; i < CONNS_MAX; i++)
		conns[i].watch.fd = -1;
	listener = (struct watch){ socket(AF_INET, SOCK_STREAM, 0),
	    accept_conn };
	assert_int_equal(bind(listener.fd, (struct sockaddr *)&a, sizeof(a)),
	    0);
	assert_int_equal(listen(listener.fd, 64), 0);
	assert_int_equal(getsockname(listener.fd, (struct sockaddr *)&a, &n),
	    0);
	port = ntohs(a.sin_port);
	loop_watch(loop, &listener, LOOP_READ);
}

/* ---- both ---- */

struct result {
	struct test_run first, second;
	bool reused;
};

static void
finish_run(struct test_run *r)
{
	test_run_start(r);
	while (r->done_n == 0)
		(void)loop_step(loop);
}

static void
run_until_quiet(void)
{
	for (size_t i = 0; i < CONNS_MAX; i++)
		while (conns[i].watch.fd >= 0 && conns[i].answering)
			(void)loop_step(loop);
	for (int i = 0; i < 4; i++)
		(void)loop_step(loop);
}

static void
ask_both_times(struct transport *t, struct result *res)
{
	char host[40];

	snprintf(host, sizeof(host), "h%llu.test",
	    (unsigned long long)now.number);
	answer_is_due = true;
	test_run_open(&res->first, t, false, host, port, "/");
	res->first.x.method = str_of(now.method);
	res->first.x.upgrade = now.upgrade;
	res->first.x.total_ms = now.after == KEEPS ? now.patience_ms : 20000;
	finish_run(&res->first);
	run_until_quiet();
	answer_is_due = false;
	test_run_open(&res->second, t, false, host, port, "/");
	res->second.x.total_ms = 20000;
	finish_run(&res->second);
	run_until_quiet();
	assert_int_equal(res->second.end, TRANSPORT_DONE);
	if (!str_eq(buf_str(&res->second.body), STR("true")))
		fail_msg("case %llu: the second request got \"%.*s\"",
		    (unsigned long long)now.number,
		    STR_FMT(buf_str(&res->second.body)));
	res->reused = res->second.x.reused;
}

static void
free_result(struct result *r)
{
	test_run_free(&r->first);
	test_run_free(&r->second);
}

/* ---- what may differ ---- */

static bool
is_unread(const struct result *r)
{
	return r->first.status == 0 && r->first.head.n == 0;
}

static bool
is_bad_version(const struct result *curl, const struct result *own)
{
	(void)curl;
	return own->first.end == TRANSPORT_PROTOCOL && is_unread(own) &&
	    strcmp(own->first.detail,
	    "the answer's version of HTTP is unknown") == 0;
}

static bool
is_long_status(const struct result *curl, const struct result *own)
{
	return now.upgrade && curl->first.status >= 100 &&
	    own->first.end == TRANSPORT_PROTOCOL && is_unread(own) &&
	    strcmp(own->first.detail, "the answer has no status") == 0;
}

static bool
is_unread_by_both(const struct result *curl, const struct result *own)
{
	return curl->first.end == own->first.end && is_unread(curl) &&
	    is_unread(own);
}

static bool
is_refused_early(const struct result *curl, const struct result *own)
{
	return own->first.end == TRANSPORT_PROTOCOL && is_unread(own) &&
	    is_unread(curl) && (curl->first.end == TRANSPORT_TIMEOUT ||
	    (now.upgrade && curl->first.end == TRANSPORT_RESET));
}

static bool
has_equal_head(const struct result *curl, const struct result *own)
{
	return curl->first.status == own->first.status &&
	    str_eq(buf_str(&curl->first.head), buf_str(&own->first.head));
}

static bool
is_upgrade_by_head(const struct result *curl, const struct result *own)
{
	return now.upgrade && strcmp(now.method, "HEAD") == 0 &&
	    has_equal_head(curl, own) && own->first.body.n == 0 &&
	    own->first.end == TRANSPORT_DONE;
}

static bool
is_coded_upgrade(const struct result *curl, const struct result *own)
{
	return now.upgrade && has_equal_head(curl, own) &&
	    str_starts(buf_str(&own->first.body),
	    buf_str(&curl->first.body)) &&
	    own->first.end == (now.after == KEEPS ? TRANSPORT_TIMEOUT :
	    TRANSPORT_DONE);
}

/* Nothing but what becomes of the connection. */
static bool
differs_in_reuse(const struct result *curl, const struct result *own)
{
	return curl->reused != own->reused && has_equal_head(curl, own) &&
	    curl->first.end == own->first.end &&
	    str_eq(buf_str(&curl->first.body), buf_str(&own->first.body));
}

static bool
is_kept_with_codings(const struct result *curl, const struct result *own)
{
	static const struct str name = { "transfer-encoding:", 18 };
	struct str rest = buf_str(&own->first.head), line, coding;
	size_t codings = 0;

	while (str_split(&rest, '\n', &line))
		if (str_starts_nocase(line, name))
			for (line = str_from(line, name.n);
			    str_split(&line, ',', &coding); codings++)
				;
	return differs_in_reuse(curl, own) && own->reused && codings > 1;
}

static bool
has_stray_cr(const struct result *curl, const struct result *own)
{
	struct str head = buf_str(&own->first.head);

	return differs_in_reuse(curl, own) && curl->reused && head.n > 3 &&
	    memcmp(head.p + head.n - 3, "\r\r\n", 3) == 0;
}

static const struct difference {
	const char *why;
	bool (*explains)(const struct result *curl, const struct result *own);
} differences[] = {
	{ "a version other than 1.0, 1.1, 2 and 3: libcurl looks for a status "
	    "all the same, we refuse it (RFC 9112 2.3)", is_bad_version },
	{ "an upgrade's status of four digits: libcurl's adapter reads three, "
	    "we refuse it", is_long_status },
	{ "neither has a final head, and both end alike: http_version tells "
	    "the last status line that was read", is_unread_by_both },
	{ "what cannot become a status line is refused before it is whole; "
	    "libcurl waits for more", is_refused_early },
	{ "an upgrade asked for by HEAD: its answer has no body (RFC 9110 "
	    "9.3.2)", is_upgrade_by_head },
	{ "an upgrade's answer with both a coding and a length: the coding "
	    "wins (RFC 9112 6.3)", is_coded_upgrade },
	{ "chunked after other codings: libcurl's adapter ends the exchange "
	    "itself and closes, we keep the connection (RFC 9112 6.3)",
	    is_kept_with_codings },
	{ "a CR before the head's last line: libcurl keeps the connection, we "
	    "do not trust what comes next", has_stray_cr },
	{ NULL, NULL },
};

static bool
is_equal(const struct result *a, const struct result *b)
{
	return a->first.end == b->first.end &&
	    a->first.status == b->first.status &&
	    a->first.x.http_version == b->first.x.http_version &&
	    str_eq(buf_str(&a->first.head), buf_str(&b->first.head)) &&
	    str_eq(buf_str(&a->first.body), buf_str(&b->first.body)) &&
	    a->reused == b->reused;
}

static void
print_bytes(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] >= ' ' && s.p[i] < 127)
			print_message("%c", s.p[i]);
		else
			print_message("\\x%02x", (unsigned char)s.p[i]);
	print_message("\n");
}

static void
print_result(const char *who, const struct result *r)
{
	print_message("%s: %s (%s), status %d, version %d, reused %d, "
	    "head %zu, body ", who, transport_end_word(r->first.end),
	    r->first.detail, r->first.status, r->first.x.http_version,
	    r->reused, r->first.head.n);
	print_bytes(buf_str(&r->first.body));
}

/* ---- the test ---- */

/* The row that explains it; NULL: none does. */
static const struct difference *
explain(const struct result *curl, const struct result *own)
{
	const struct difference *d = differences;

	while (d->why != NULL && !d->explains(curl, own))
		d++;
	return d->why == NULL ? NULL : d;
}

static void
free_results(struct result *a, struct result *b)
{
	free_result(a);
	free_result(b);
}

/* Both, with the same answer. */
static void
compare_transports(struct transport *curl, struct transport *own,
    struct result *a, struct result *b)
{
	ask_both_times(curl, a);
	ask_both_times(own, b);
	if (is_equal(a, b) || now.after != KEEPS)
		return;
	/* On a busy machine one of them may have had too little time. */
	now.patience_ms = 2000;
	free_results(a, b);
	ask_both_times(curl, a);
	ask_both_times(own, b);
}

/* Case `i` of this run. */
static uint64_t
case_number(uint64_t i)
{
	return i < cases_n ? first_case + i : found_later[i - cases_n];
}

static void
test_cases(void **state)
{
	struct transport_options options = { .connections_max = 2,
	    .host_connections_max = 2, .idle_s_max = 60 };
	size_t explained[ARRAY_LEN(differences)] = { 0 }, bad = 0, done = 0;
	size_t left_out = 0;

	(void)state;
	loop = loop_new("test");
	open_listener();
	struct transport *curl = transport_curl_new(loop, &options);
	struct transport *own = transport_new(loop, &options);
	for (uint64_t i = 0; i < cases_n + ARRAY_LEN(found_later); i++) {
		struct result a, b;
		if (i % CURL_CASES == CURL_CASES - 1) {
			transport_free(&curl);
			curl = transport_curl_new(loop, &options);
		}
		make_case(case_number(i));
		if (crashes_libcurl()) {
			left_out++;
			continue;
		}
		compare_transports(curl, own, &a, &b);
		done += b.first.end == TRANSPORT_DONE;
		if (!is_equal(&a, &b)) {
			const struct difference *d = explain(&a, &b);
			if (d != NULL)
				explained[d - differences]++;
			if (d == NULL && bad++ < 20) {
				print_message("case %llu, %s%s: ",
				    (unsigned long long)now.number, now.method,
				    now.upgrade ? " upgrade" : "");
				print_bytes(buf_str(&now.bytes));
				print_result("libcurl", &a);
				print_result("own", &b);
			}
		}
		free_results(&a, &b);
	}
	for (size_t i = 0; i + 1 < ARRAY_LEN(differences); i++)
		print_message("%zu differ: %s\n", explained[i],
		    differences[i].why);
	print_message("conformance: the transport beside libcurl: %llu "
	    "answers, %zu of them whole, %zu left out, %zu differ without a "
	    "reason\n", (unsigned long long)cases_n, done, left_out,
	    bad);
	transport_free(&curl);
	transport_free(&own);
	for (size_t i = 0; i < CONNS_MAX; i++)
		if (conns[i].watch.fd >= 0)
			close_conn(&conns[i]);
	close(listener.fd);
	loop_free(&loop);
	buf_free(&now.bytes);
	assert_int_equal(bad, 0);
	/* A server that is never believed would make all equal. */
	assert_true(done > cases_n / 4);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	if ((argc > 1 && !str_to_u64(str_of(argv[1]), &cases_n)) ||
	    (argc > 2 && !str_to_u64(str_of(argv[2]), &first_case))) {
		fprintf(stderr, "usage: transport_differential_test [CASES "
		    "[FIRST]]\n");
		return 64;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

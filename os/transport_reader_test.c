/*
 * Answers, fed whole and in pieces of every length: head, body and end are the
 * same bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "os/transport_reader.h"

#define GET 0
#define HEAD 1
#define UPGRADE 2
#define OK_LINE "HTTP/1.1 200 OK\r\n"

static const struct row {
	const char *text, *head, *body;
	int flags;
	enum transport_read end;
	bool may_keep;               /* where the end is END */
	size_t left;                 /* bytes behind the end */
} rows[] = {
	{ OK_LINE "Content-Length: 2\r\n\r\nok", OK_LINE
	    "Content-Length: 2\r\n\r\n", "ok", GET, TRANSPORT_READ_END, true,
	    0 },
	{ OK_LINE "Content-Length: 2\r\n\r\nokHTTP", OK_LINE
	    "Content-Length: 2\r\n\r\n", "ok", GET, TRANSPORT_READ_END, true,
	    4 },
	{ OK_LINE "Connection: a, Close\r\nContent-Length: 0\r\n\r\n", OK_LINE
	    "Connection: a, Close\r\nContent-Length: 0\r\n\r\n", "", GET,
	    TRANSPORT_READ_END, false, 0 },
	{ OK_LINE "Content-Length: 2\r\n\r\nok", OK_LINE
	    "Content-Length: 2\r\n\r\n", "", HEAD, TRANSPORT_READ_END, true,
	    2 },
	{ "HTTP/1.0 200 OK\nContent-Length: 2\n\nok", "HTTP/1.0 200 OK\n"
	    "Content-Length: 2\n\n", "ok", GET, TRANSPORT_READ_END, false,
	    0 },
	{ "http/1.1 200\r\nContent-Length: 0\r\n\r\n",
	    "http/1.1 200\r\nContent-Length: 0\r\n\r\n", "", GET,
	    TRANSPORT_READ_END, true, 0 },
	{ "HTTP/2 200 \r\nContent-Length: 2\r\n\r\nok", "HTTP/1.1 200 \r\n"
	    "Content-Length: 2\r\n\r\n", "ok", GET, TRANSPORT_READ_END, false,
	    0 },
	{ "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 204 No\r\nA: b\r\n\r\n",
	    "HTTP/1.1 204 No\r\nA: b\r\n\r\n", "", GET, TRANSPORT_READ_END,
	    true, 0 },
	{ OK_LINE "\r\nall", OK_LINE "\r\n", "all", GET, TRANSPORT_READ_MORE,
	    false, 0 },
	{ OK_LINE "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n!",
	    OK_LINE "Transfer-Encoding: chunked\r\n\r\n",
	    "2\r\nok\r\n0\r\n\r\n", GET, TRANSPORT_READ_END, true, 1 },
	{ OK_LINE "Transfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\nab",
	    OK_LINE "Transfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\n",
	    "ab", GET, TRANSPORT_READ_MORE, false, 0 },
	{ "HTTP/1.1 101 Up\r\nContent-Length: 1\r\n\r\nabc",
	    "HTTP/1.1 101 Up\r\nContent-Length: 1\r\n\r\n", "abc", UPGRADE,
	    TRANSPORT_READ_MORE, false, 0 },
	{ "HTTP/1.1 101 Up\r\n\r\n", NULL, "", GET, TRANSPORT_READ_WRONG,
	    false, 0 },
	{ OK_LINE "no colon\r\n\r\n", NULL, "", GET, TRANSPORT_READ_WRONG,
	    false, 0 },
	{ OK_LINE "A: b\r\n no colon\r\nContent-Length: 0\r\n\r\n", OK_LINE
	    "A: b\r\n no colon\r\nContent-Length: 0\r\n\r\n", "", GET,
	    TRANSPORT_READ_END, true, 0 },
	{ OK_LINE " folded first\r\n\r\n", NULL, "", GET,
	    TRANSPORT_READ_WRONG, false, 0 },
	{ "HTTP/1.1 2000 OK\r\n\r\n", NULL, "", GET, TRANSPORT_READ_WRONG,
	    false, 0 },
	{ "HTTP/1.1 099 OK\r\n\r\n", NULL, "", GET, TRANSPORT_READ_WRONG,
	    false, 0 },
	{ "HTTP/1.1 20 OK\r\n\r\n", NULL, "", GET, TRANSPORT_READ_WRONG,
	    false, 0 },
	{ "HTTP/1.1 -20 OK\r\n\r\n", NULL, "", GET, TRANSPORT_READ_WRONG,
	    false, 0 },
	{ "HTTP/1.2 200 OK\r\n\r\n", NULL, "", GET, TRANSPORT_READ_WRONG,
	    false, 0 },
	{ "HTTX", NULL, "", GET, TRANSPORT_READ_WRONG, false, 0 },
	{ "HTT", NULL, "", GET, TRANSPORT_READ_MORE, false, 0 },
	{ "\r\nHTTP/1.1 200 OK\r\n\r\n", NULL, "", GET, TRANSPORT_READ_WRONG,
	    false, 0 },
};

static void
check_row(const struct row *row, size_t step)
{
	struct transport_reader r = { .status = 0 };
	struct str all = str_of(row->text), part, bytes = STR_NONE;
	enum transport_read got = TRANSPORT_READ_MORE;
	struct buf head = BUF_INIT, body = BUF_INIT;
	size_t at = 0;

	transport_reader_begin(&r, 0, row->flags & HEAD,
	    row->flags & UPGRADE);
	while (at < all.n && got == TRANSPORT_READ_MORE) {
		bytes = str_cut(all, at, at + step);
		at += bytes.n;
		while ((got = transport_reader_next(&r, &bytes, &part)) ==
		    TRANSPORT_READ_HEAD || got == TRANSPORT_READ_BODY)
			if (got == TRANSPORT_READ_BODY)
				buf_put_str(&body, part);
			else
				buf_put_str(&head, buf_str(&r.head));
	}
	if (got != row->end || !str_eq(buf_str(&body), str_of(row->body)) ||
	    !str_eq(buf_str(&head), str_of(row->head)))
		fail_msg("by %zu: %s: %d (%s), head \"%.*s\", body \"%.*s\"",
		    step, row->text, (int)got, r.wrong == NULL ? "" : r.wrong,
		    STR_FMT(buf_str(&head)), STR_FMT(buf_str(&body)));
	if (got == TRANSPORT_READ_END) {
		assert_int_equal(all.n - at + bytes.n, row->left);
		assert_int_equal(r.may_keep, row->may_keep);
	}
	assert_int_equal(r.wrong != NULL, got == TRANSPORT_READ_WRONG);
	buf_free(&head);
	buf_free(&body);
	transport_reader_free(&r);
}

static void
test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (size_t step = 1; step < 100; step++)
			check_row(&rows[i], step);
}

/* Heads and trailers together have so many bytes. */
static void
test_limit(void **state)
{
	static const char text[] = "HTTP/1.1 103 Early\r\n\r\n" OK_LINE
	    "Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n";
	size_t n = sizeof(text) - 1 - 3;

	(void)state;
	for (size_t less = 0; less < 2; less++) {
		struct transport_reader r = { .status = 0 };
		struct str bytes = { text, sizeof(text) - 1 }, part;
		enum transport_read got;
		transport_reader_begin(&r, n - less, false, false);
		do
			got = transport_reader_next(&r, &bytes, &part);
		while (got == TRANSPORT_READ_HEAD ||
		    got == TRANSPORT_READ_BODY);
		assert_int_equal(got, less ? TRANSPORT_READ_WRONG :
		    TRANSPORT_READ_END);
		assert_int_equal(r.too_large, less);
		transport_reader_free(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

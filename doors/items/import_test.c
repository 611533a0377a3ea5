/*
 * POST /items/add as NDJSON: faulty lines, lines over several commits, pieces
 * that part lines, slow clients, clients that leave, limits.
 */
#include "doors/items/items_door.h"
#include "doors/items/items_door_testing.h"

#define LINES "Content-Type: application/x-ndjson\r\n"

static void
counts(void **state)
{
	(void)state;
	items_say(200, "POST /items/add", LINES,
	    "{'id':'c1','data':{}}\n"
	    "{'id':'c2','data':{},'tags':['page']}\r\n"
	    "\n"
	    "{'id':'c1','data':{'other':1}}\n"
	    "nonsense\n"
	    "{'id':'c3'}\n"
	    "{'id':'c1','data':{},'failIfExists':true}\n"
	    "{'id':'c4','data':{'last':'no newline'}}");
	assert_string_equal(items_at("/lines"), "7");
	assert_string_equal(items_at("/new"), "3");
	assert_string_equal(items_at("/skipped"), "1");
	assert_string_equal(items_at("/errors/0/line"), "5");
	assert_non_null(strstr(items_at("/errors/0/error"), "no JSON"));
	assert_string_equal(items_at("/errors/1/line"), "6");
	assert_non_null(strstr(items_at("/errors/1/error"), "data: "));
	assert_string_equal(items_at("/errors/2/line"), "7");
	assert_string_equal(items_at("/errors/3/line"), "");
	items_say(200, "GET /items/c4", NULL, NULL);
	items_say(200, "GET /items/c2/operations", NULL, NULL);
	assert_string_equal(items_at("/operations/1/task"), "a:norm");
	items_say(200, "POST /items/add", LINES, "");
	assert_string_equal(items_at("/lines"), "0");
	items_say(200, "POST /items/add", LINES, "\n \n\r\n");
	assert_string_equal(items_at("/lines"), "0");
}

/* 5,000 lines are five commits; 300 of the ids are there, 150 are faulty. */
static void
many(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	for (int i = 0; i < 300; i++)
		buf_printf(&b, "{\"id\":\"many:%d\",\"data\":{}}\n", i * 7);
	items_say_bytes(200, "POST /items/add", LINES, buf_str(&b));
	assert_string_equal(items_at("/new"), "300");
	buf_clear(&b);
	for (int i = 0; i < 5000; i++)
		if (i >= 2100 && i < 2250)
			buf_printf(&b, "{\"id\":\"many:%d\",\"data\":7}\n", i);
		else
			buf_printf(&b, "{\"id\":\"many:%d\",\"data\":{\"n\":"
			    "%d}}\n", i, i);
	items_say_bytes(200, "POST /items/add", LINES, buf_str(&b));
	assert_string_equal(items_at("/lines"), "5000");
	assert_string_equal(items_at("/new"), "4550");
	assert_string_equal(items_at("/skipped"), "300");
	assert_string_equal(items_at("/errors/0/line"), "2101");
	assert_string_equal(items_at("/errors/99/line"), "2200");
	assert_string_equal(items_at("/errors/100/line"), "");
}

static void
say_chunk(int fd, const char *p, size_t n)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_printf(&b, "%zx\r\n", n);
	buf_put(&b, p, n);
	buf_put_text(&b, "\r\n");
	say(fd, b.p, b.n);
}

/* Chunks that part lines anywhere, a byte at a time at first. */
static void
pieces(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct answer a = { .status = 0 };
	size_t at = 0;

	(void)state;
	for (int i = 0; i < 2500; i++)
		buf_printf(&b, "{\"id\":\"pieces:%d\",\"data\":{}}\n", i);
	int fd = dial();
	say_text(fd, "POST /items/add HTTP/1.1\r\n" HOST LINES
	    "Transfer-Encoding: chunked\r\n\r\n");
	while (at < b.n) {
		size_t n = MIN(at < 100 ? 1 : 1 + at % 4099, b.n - at);
		say_chunk(fd, b.p + at, n);
		at += n;
	}
	say_text(fd, "0\r\n\r\n");
	hear(fd, &a, false);
	close(fd);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(buf_text(&a.body),
	    "\"lines\":2500,\"new\":2500,"));
	answer_free(&a);
}

/* A client that leaves: what was committed stays, the rest was never promised;
 * the door goes on. */
static void
leaver(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	bool found = false;

	(void)state;
	for (int i = 0; i < 3500; i++)
		buf_printf(&b, "{\"id\":\"leaver:%d\",\"data\":{}}\n", i);
	int fd = dial();
	say_text(fd, "POST /items/add HTTP/1.1\r\n" HOST LINES
	    "Content-Length: 10000000\r\n\r\n");
	say(fd, b.p, b.n);
	for (int i = 0; i < 200 && !found; i++) {
		poll(NULL, 0, 10);
		items_say(200, "GET /items?prefix=leaver:0&limit=1", NULL,
		    NULL);
		found = items_at("/items/0/id")[0] != '\0';
	}
	assert_true(found);
	close(fd);
	items_say(201, "POST /items/after-leaver", NULL, "{}");
}

/* Much more than is kept at a time comes in, one connection, and all of it is
 * counted: 12 MiB of lines of 3 KiB. */
static void
backpressure(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		buf_printf(&b, "{\"id\":\"bulk:%d\",\"data\":{\"t\":\"", i);
		memset(buf_grow(&b, 3000), 'x', 3000);
		buf_put_text(&b, "\"}}\n");
	}
	items_say_bytes(200, "POST /items/add", LINES, buf_str(&b));
	assert_string_equal(items_at("/lines"), "4000");
	assert_string_equal(items_at("/new"), "4000");
}

/* A line of items.body_bytes_max is taken, one more byte is 413. */
static void
line_limit(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	static const char head[] = "{\"id\":\"long\",\"data\":{\"t\":\"";

	(void)state;
	buf_put_text(&b, "{\"id\":\"first\",\"data\":{}}\n");
	size_t from = b.n;
	buf_put_text(&b, head);
	size_t fill = (1u << 20) - (sizeof(head) - 1) - 3;
	memset(buf_grow(&b, fill), 'y', fill);
	buf_put_text(&b, "\"}}");
	assert_int_equal(b.n - from, 1 << 20);
	buf_put_char(&b, '\n');
	items_say_bytes(200, "POST /items/add", LINES, buf_str(&b));
	assert_string_equal(items_at("/new"), "2");
	b.n -= 4;
	buf_put_text(&b, "y\"}}\n{\"id\":\"after\",\"data\":{}}\n");
	items_say_bytes(413, "POST /items/add", LINES, buf_str(&b));
	assert_non_null(strstr(items_at("/error"), "line: line 2 has more"));
	items_say(404, "GET /items/after", NULL, NULL);
}

/* ITEMS_IMPORTS_MAX at a time; those that end make room. */
static void
imports_max(void **state)
{
	int fds[ITEMS_IMPORTS_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = dial();
		say_text(fds[i], "POST /items/add HTTP/1.1\r\n" HOST LINES
		    "Content-Length: 1000\r\n\r\n{\"id\":");
	}
	poll(NULL, 0, 100);
	items_say(503, "POST /items/add", LINES, "{'data':{}}\n");
	assert_non_null(strstr(items_at("/error"), "imports: "));
	assert_non_null(strstr(items_head, "retry-after: "));
	items_say(201, "POST /items/add", NULL, "{'data':{}}");
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	for (int i = 0; i < 100; i++) {
		int fd = dial();
		struct answer a = { .status = 0 };
		say_text(fd, "POST /items/add HTTP/1.1\r\n" HOST LINES
		    "Content-Length: 0\r\n\r\n");
		hear(fd, &a, false);
		close(fd);
		bool fine = a.status == 200;
		answer_free(&a);
		if (fine)
			return;
		poll(NULL, 0, 20);
	}
	fail_msg("no import is let in any more");
}

#define LIVE(name) cmocka_unit_test(name)
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		LIVE(counts), LIVE(many), LIVE(pieces), LIVE(leaver),
		LIVE(backpressure), LIVE(line_limit), LIVE(imports_max),
	};

	return items_rig_main(argc, argv,
	    cmocka_run_group_tests(tests, items_rig_setup,
	    items_rig_teardown));
}

/* Calls that become WebSockets. */
#include "engine/fetcher/call.h"
#include "engine/fetcher/fetcher_testing.h"
#include "wire/web/ws.h"

static struct fetch_rig rig;

#define PLAIN "{\"robots\":\"ignore\",\"rate_limit\":0}"
#define URL "http://socket.test/subscribe?a=b"

struct followed {
	struct call call;
	unsigned begun, done;
	struct buf lines;
};

/* What the server says. */
static struct {
	const char *frames, *more;   /* more: fields of the head */
	unsigned times;
	int64_t every_ms;
	bool endless, wrong_key;
	int status;
} web;

static void
site(struct str url, struct answer *a)
{
	static char head[400];
	char accept[WS_ACCEPT_BYTES] = "";
	const char *name = "Sec-WebSocket-Key: ";
	const char *key = rig.seen_n == 0 ? NULL :
	    strstr(rig.seen[rig.seen_n - 1].headers, name);

	if (!str_starts(url, STR("http://socket.test")))
		return;
	a->status = web.status;
	a->body = web.frames;
	a->times = web.times;
	a->every_ms = web.every_ms;
	a->endless = web.endless;
	if (web.status != 101)
		return;
	assert_non_null(key);
	key += strlen(name);
	assert_true(ws_accept(str_cut(str_of(key), 0, 24), accept));
	if (web.wrong_key)
		accept[0]++;
	snprintf(head, sizeof(head), "Upgrade: websocket\r\n"
	    "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s", accept,
	    web.more);
	a->head = head;
}

static void
begins(struct call *c)
{
	struct followed *f = CONTAINER(c, struct followed, call);

	f->begun++;
	assert_int_equal(c->status, 101);
	assert_true(str_starts(c->taken.head, STR("HTTP/1.1 101")));
}

static void
piece(struct call *c, struct str lines)
{
	struct followed *f = CONTAINER(c, struct followed, call);

	assert_int_equal(f->begun, 1);
	assert_true(str_ends(lines, STR("\n")));
	buf_put_str(&f->lines, lines);
}

static void
done(struct call *c)
{
	CONTAINER(c, struct followed, call)->done++;
}

static void
begin(struct followed *f)
{
	static const struct transport_header none[] = {
		{ STR("Accept"), STR("") },
		{ STR("Accept-Encoding"), STR("") } };

	fetch_rig_init(&rig, site);
	rig.rig.kind = CRAWL_HARVEST;
	fetch_rig_begin(&rig, PLAIN, "http://seed.test/");
	fetch_rig_pass(&rig, 1000);
	rig.seen_n = 0;
	web.frames = "";
	web.more = "";
	web.times = 1;
	web.every_ms = 1000;
	web.endless = true;
	web.wrong_key = false;
	web.status = 101;
	*f = (struct followed){ .call = { .method = STR("GET"),
	    .url = STR(URL), .crawl = rig.crawl.id, .home = rig.rig.loop,
	    .headers = none, .headers_n = ARRAY_LEN(none), .tries_max = 1,
	    .archive = CALL_RESPONSE, .frames = true, .silence_ms = 60000,
	    .begins = begins, .piece = piece, .done = done } };
}

static void
start(struct followed *f)
{
	call_start(rig.fetcher, &f->call);
	fetch_rig_pass(&rig, 500);
}

static void
end(struct followed *f)
{
	assert_int_equal(f->done, 1);
	call_free_answer(&f->call);
	buf_free(&f->lines);
	buf_free(&rig.sent);
	fetch_rig_end(&rig);
}

static void
came(const struct followed *f, const char *lines)
{
	if (!str_eq(buf_str(&f->lines), str_of(lines)))
		fail_msg("\"%.*s\" is not \"%s\"", (int)f->lines.n,
		    f->lines.p, lines);
}

/* What a server's side makes of what was sent to it. */
static struct buf heard;
static int code;

static void
hear(void *arg, struct str text)
{
	(void)arg;
	buf_put_str(&heard, text);
	buf_put_char(&heard, '\n');
}

static void
hear_all(const char *texts, int want_code)
{
	FREED(ws_free) struct ws *ws = ws_new(false, 1 << 20, hear, NULL);
	FREED(buf_free) struct buf out = BUF_INIT;

	buf_clear(&heard);
	(void)ws_recv(ws, buf_str(&rig.sent), SIZE_MAX, &out);
	code = ws_is_over(ws) ? ws_code(ws) : 0;
	assert_int_equal(code, want_code);
	assert_true(str_eq(buf_str(&heard), str_of(texts)));
	buf_free(&heard);
}

/* ---- Messages ----------------------------------------------------------- */

static void
messages_are_lines(void **state)
{
	struct followed f;

	(void)state;
	begin(&f);
	f.call.hello = STR("{\"hello\":1}");
	f.call.protocol = "xrpc.v1.json";
	web.more = "Sec-WebSocket-Protocol: xrpc.v1.json\r\n";
	/* Two messages, a ping between fragments, breaks, and no JSON. */
	web.frames = "\x81\x03" "one" "\x01\x02" "tw" "\x89\x01" "p" "\x80\x01"
	    "o" "\x81\x0f" "{\n \"a\": 1.50\r\n}" "\x81\x03" "a\nb";
	web.endless = false;
	start(&f);
	fetch_rig_pass(&rig, 2000);
	came(&f, "one\ntwo\n{\"a\":1.50}\n\"a\\nb\"\n");
	assert_int_equal(f.call.end, CALL_ANSWERED);
	assert_int_equal(f.call.status, 101);
	/* Its owner archives it. */
	assert_int_equal(f.call.number, 0);
	hear_all("{\"hello\":1}\n", 0);
	const char *h = rig.seen[0].headers;
	assert_non_null(strstr(h, "\nConnection: Upgrade\nUpgrade: websocket\n"
	    "Sec-WebSocket-Version: 13\nSec-WebSocket-Key: "));
	assert_non_null(strstr(h, "Sec-WebSocket-Protocol: xrpc.v1.json\n"));
	assert_non_null(strstr(h, "User-Agent: "));
	assert_null(strstr(h, "Accept"));
	end(&f);
}

static void
other_sides_close(void **state)
{
	struct followed f;

	(void)state;
	begin(&f);
	/* 1001, and what comes behind it is nothing. */
	web.frames = "\x81\x03" "one" "\x88\x02\x03\xe9" "\x81\x03" "two";
	start(&f);
	came(&f, "one\n");
	/* It has 2 s to close the connection. */
	assert_int_equal(f.done, 0);
	hear_all("", 1001);
	fetch_rig_pass(&rig, 2100);
	assert_int_equal(rig.open, 0);
	end(&f);
}

static void
messages_that_are_none(void **state)
{
	static const struct {
		const char *frames;
		int code;
	} rows[] = {
		/* A binary one, too long a one, a masked one. */
		{ "\x81\x03" "one" "\x82\x02\xc3\x28", 1003 },
		{ "\x81\x03" "one" "\x81\x7f\x7f\x01\x01\x01\x01\x01\x01\x01",
		    1009 },
		{ "\x81\x03" "one" "\x81\x81\x01\x01\x01\x01" "a", 1002 },
		{ "\x81\x03" "one" "\x81\x02\xc3\x28", 1007 },
	};
	struct followed f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(&f);
		web.frames = rows[i].frames;
		start(&f);
		fetch_rig_pass(&rig, 2100);
		came(&f, "one\n");
		hear_all("", rows[i].code);
		end(&f);
	}
}

/* ---- The handshake ------------------------------------------------------- */

static void
answers_that_are_no_websocket(void **state)
{
	static const char *const more[] = { "",
	    "Sec-WebSocket-Extensions: x\r\n",
	    "Sec-WebSocket-Protocol: other\r\n" };
	struct followed f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		begin(&f);
		web.wrong_key = i == 0;
		web.more = more[i];
		start(&f);
		assert_int_equal(f.begun, 0);
		assert_int_equal(f.call.end, CALL_FAILED);
		assert_int_equal(f.call.exception, EXCEPTION_PROTOCOL);
		end(&f);
	}
}

static void
other_answers_are_archived(void **state)
{
	struct followed f;

	(void)state;
	begin(&f);
	web.status = 400;
	web.times = 0;
	web.frames = "{\"error\":\"CursorTooOld\"}";
	start(&f);
	assert_int_equal(f.begun, 0);
	assert_int_equal(f.call.end, CALL_ANSWERED);
	assert_int_equal(f.call.status, 400);
	assert_true(str_eq(buf_str(&f.call.content), str_of(web.frames)));
	assert_true(f.call.number > 0);
	end(&f);
}

/* ---- Time, and readers that are slow ------------------------------------- */

static void
silence_ends_it(void **state)
{
	struct followed f;

	(void)state;
	begin(&f);
	web.frames = "\x81\x03" "one";
	web.times = 3;
	web.every_ms = 50000;
	start(&f);
	fetch_rig_pass(&rig, 155000);
	assert_int_equal(f.done, 0);
	came(&f, "one\none\none\n");
	fetch_rig_pass(&rig, 10000);
	assert_int_equal(f.call.end, CALL_ANSWERED);
	end(&f);
}

static void
its_owner_stops_it(void **state)
{
	struct followed f;

	(void)state;
	begin(&f);
	web.frames = "\x81\x03" "one";
	web.times = 100;
	start(&f);
	fetch_rig_pass(&rig, 3000);
	call_stop(&f.call);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(f.done, 0);
	hear_all("", 1000);
	fetch_rig_pass(&rig, 1100);
	assert_int_equal(f.call.end, CALL_ANSWERED);
	assert_true(f.lines.n < 6 * 4);
	end(&f);
}

static void
its_owner_cannot_take_more(void **state)
{
	struct followed f;

	(void)state;
	begin(&f);
	web.frames = "\x81\x03" "one";
	web.times = 10;
	web.every_ms = 10000;
	start(&f);
	call_hold(&f.call, true);
	fetch_rig_pass(&rig, 10000);
	size_t n = f.lines.n;
	assert_true(rig.paused);
	/* Silence is ours now. */
	fetch_rig_pass(&rig, 300000);
	assert_int_equal(f.lines.n, n);
	assert_int_equal(f.done, 0);
	call_hold(&f.call, false);
	fetch_rig_pass(&rig, 100);
	assert_false(rig.paused);
	fetch_rig_pass(&rig, 100000);
	assert_int_equal(f.lines.n, 10 * 4);
	/* Stopped while nothing is read, it ends as well. */
	call_hold(&f.call, true);
	call_stop(&f.call);
	fetch_rig_pass(&rig, 3000);
	end(&f);
}

/* In frames whose length takes two bytes, right one after the other. */
static void
much_comes_at_once(void **state)
{
	static char frames[70000];
	struct followed f;

	(void)state;
	begin(&f);
	memset(frames, 'x', sizeof(frames) - 1);
	/* 65,535 bytes, in one frame. */
	memcpy(frames, "\x81\x7e\xff\xff", 4);
	frames[4 + 65535] = '\0';
	web.frames = frames;
	web.times = 40;
	web.every_ms = 0;
	web.endless = false;
	start(&f);
	fetch_rig_pass(&rig, 1000);
	assert_int_equal(f.lines.n, 40 * 65536);
	assert_int_equal(f.call.end, CALL_ANSWERED);
	end(&f);
}

/* ---- Records ------------------------------------------------------------- */

static void
what_its_owner_has_is_archived(void **state)
{
	struct call_received r = { .url = STR(URL),
	    .request = STR("GET / HTTP/1.1\r\nHost: socket.test\r\n\r\n"),
	    .head = STR("HTTP/1.1 101 Go on\r\n\r\n"), .start = { 1000 },
	    .end = { 2000 }, .whole = true, .sent = STR("{}\n") };
	struct call *c;
	struct followed f;

	(void)state;
	begin(&f);
	c = &f.call;
	c->frames = false;
	c->stored = &r;
	start(&f);
	assert_int_equal(c->end, CALL_ANSWERED);
	assert_int_equal(c->status, 101);
	assert_int_equal(c->number, 2);
	assert_false(c->truncated);
	call_free_answer(c);
	r = (struct call_received){ .url = STR(URL), .body = STR("one\ntwo\n"),
	    .start = { 3000 }, .end = { 4000 }, .whole = true,
	    .concurrent_to = STR("00000000-0000-4000-8000-000000000000") };
	c->archive = CALL_FRAMES;
	c->arena = (struct arena)ARENA_INIT;
	start(&f);
	assert_int_equal(f.done, 2);
	assert_int_equal(c->status, 0);
	assert_int_equal(c->number, 3);
	assert_int_equal(rig.seen_n, 0);
	f.done = 1;
	end(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_lines),
		cmocka_unit_test(other_sides_close),
		cmocka_unit_test(messages_that_are_none),
		cmocka_unit_test(answers_that_are_no_websocket),
		cmocka_unit_test(other_answers_are_archived),
		cmocka_unit_test(silence_ends_it),
		cmocka_unit_test(its_owner_stops_it),
		cmocka_unit_test(its_owner_cannot_take_more),
		cmocka_unit_test(much_comes_at_once),
		cmocka_unit_test(what_its_owner_has_is_archived),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}

/*
 * /events and /updates over a real port: order, filters, resuming, the end of a
 * stream that is too slow, and what is refused.
 */
#include "doors/items/items_door_testing.h"

#include "engine/items/items.h"

/* -- A client of server-sent events -- */

struct sse {
	int fd;
	struct buf in;
};

static void
sse_open(struct sse *s, const char *query, const char *lines)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	*s = (struct sse){ .fd = dial() };
	buf_printf(&b, "GET /events%s HTTP/1.1\r\n" HOST "%s\r\n", query,
	    lines == NULL ? "" : lines);
	say(s->fd, b.p, b.n);
}

static void
sse_close(struct sse *s)
{
	close(s->fd);
	buf_free(&s->in);
}

/* Where nothing was taken for long, the kernel asks again after as long. */
#define SILENCE_MS 60000

/* Read until the text has come; false: the end came first. */
static bool
sse_until(struct sse *s, const char *text)
{
	char bytes[65536];

	while (strstr(buf_text(&s->in), text) == NULL) {
		struct pollfd p = { .fd = s->fd, .events = POLLIN };
		if (poll(&p, 1, SILENCE_MS) != 1)
			fail_msg("%s did not come: %.500s", text,
			    buf_text(&s->in));
		ssize_t n = read(s->fd, bytes, sizeof(bytes));
		if (n <= 0)
			return false;
		buf_put(&s->in, bytes, (size_t)n);
	}
	return true;
}

static size_t
count(const char *all, const char *text)
{
	size_t n = 0;

	while ((all = strstr(all, text)) != NULL) {
		n++;
		all += strlen(text);
	}
	return n;
}

static void
streams(void **state)
{
	struct sse s;

	(void)state;
	sse_open(&s, "", NULL);
	assert_true(sse_until(&s, "retry: "));
	assert_non_null(strstr(buf_text(&s.in), "text/event-stream"));
	items_say(201, "POST /items/e1", NULL, "{'data':{'a':1}}");
	assert_true(sse_until(&s, "\"item.new\""));
	items_say(200, "PATCH /items/e1", NULL, "{'a':2}");
	assert_true(sse_until(&s, "\"item.updated\""));
	assert_non_null(strstr(buf_text(&s.in), "\nid: "));
	assert_non_null(strstr(buf_text(&s.in), "\"diff\":[{\"op\":"
	    "\"replace\",\"path\":\"/a\",\"value\":2}]"));
	sse_close(&s);
}

/* Live events of a remote run: its start, and its log once it completes. */
static void
remote_runs(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT, by = BUF_INIT;
	struct sse s;

	(void)state;
	sse_open(&s, "?types=task.started,log,task.done", NULL);
	assert_true(sse_until(&s, "retry: "));
	items_say(201, "POST /items/live1", NULL, "{'tags':['check']}");
	items_say(200, "POST /worker/claim", NULL, "{'worker':'w','tasks':"
	    "['b:check']}");
	assert_true(sse_until(&s, "\"task.started\""));
	buf_printf(&by, "\"by\":{\"item\":\"live1\",\"task\":\"b:check\","
	    "\"lease\":\"%s\"}", items_at("/leases/0/lease"));
	assert_non_null(strstr(buf_text(&s.in), buf_text(&by)));
	buf_printf(&b, "{'completions':[{'lease':'%s','outcome':'success',"
	    "'log':[{'category':'info','message':'said so'},{'category':"
	    "'warn','message':'twice'}]}]}", items_at("/leases/0/lease"));
	for (int i = 0; i < 2; i++) {
		items_say(200, "POST /worker/complete", NULL, buf_text(&b));
		assert_string_equal(items_at("/results/0/status"), "applied");
	}
	/* The next thing that happens comes behind what was said. */
	items_say(200, "POST /items/live1/tasks/b:check/expire", NULL,
	    "{'now':true}");
	items_say(200, "POST /worker/claim", NULL, "{'worker':'next','tasks':"
	    "['b:check']}");
	buf_clear(&by);
	buf_printf(&by, "\"lease\":\"%s\"", items_at("/leases/0/lease"));
	assert_true(sse_until(&s, buf_text(&by)));
	assert_int_equal(count(buf_text(&s.in), "\"message\":\"said so\""), 1);
	assert_int_equal(count(buf_text(&s.in), "\"category\":\"warn\""), 1);
	assert_int_equal(count(buf_text(&s.in), "\"task.started\""), 2);
	sse_close(&s);
}

static void
filters(void **state)
{
	struct sse types, tags, tasks;

	(void)state;
	sse_open(&types, "?types=item.deleted,alias.*", NULL);
	sse_open(&tags, "?tags=page", NULL);
	sse_open(&tasks, "?operations=b:*", NULL);
	assert_true(sse_until(&types, "retry: ") && sse_until(&tags,
	    "retry: ") && sse_until(&tasks, "retry: "));
	items_say(201, "POST /items/f1", NULL, "{'tags':['page']}");
	items_say(201, "POST /items/f2", NULL, "{'tags':['check']}");
	items_say(200, "POST /items/f2/tasks/b:check/expire", NULL,
	    "{'now':true}");
	items_say(201, "PUT /items/f2/aliases/f2b", NULL, NULL);
	items_say(200, "PATCH /items/f1", NULL, "{'x':1}");
	items_say(200, "DELETE /items/f2", NULL, NULL);
	items_say(200, "DELETE /items/f1", NULL, NULL);
	assert_true(sse_until(&types, "\"item.deleted\",\"id\":\"f1\""));
	assert_non_null(strstr(buf_text(&types.in), "\"alias.new\""));
	assert_null(strstr(buf_text(&types.in), "\"item.new\""));
	assert_true(sse_until(&tags, "\"item.updated\",\"id\":\"f1\""));
	assert_null(strstr(buf_text(&tags.in), "\"id\":\"f2\""));
	assert_true(sse_until(&tasks, "\"task.expired\""));
	assert_null(strstr(buf_text(&tasks.in), "\"item.new\""));
	sse_close(&types);
	sse_close(&tags);
	sse_close(&tasks);
}

/* The cursor in the last "id: " of what came. */
static void
last_cursor(const char *all, char out[static 32])
{
	const char *at = NULL;

	for (const char *p = all; (p = strstr(p, "\nid: ")) != NULL; p++)
		at = p + 5;
	assert_non_null(at);
	snprintf(out, 32, "%.*s", (int)strspn(at, "0123456789"), at);
}

/* Cut and taken up again, with 600 events between: none is missing, none comes
 * twice, their cursors rise. */
static void
resumes(void **state)
{
	char cursor[32], line[80], text[80];
	FREED(buf_free) struct buf b = BUF_INIT;
	struct sse s;

	(void)state;
	sse_open(&s, "?types=item.new", NULL);
	assert_true(sse_until(&s, "retry: "));
	items_say(201, "POST /items/resume:first", NULL, "{}");
	assert_true(sse_until(&s, "resume:first"));
	assert_true(sse_until(&s, "\n\n\r\n"));
	last_cursor(buf_text(&s.in), cursor);
	sse_close(&s);
	for (int i = 0; i < 1200; i++)
		buf_printf(&b, "{\"id\":\"resume:%04d\",\"data\":{}}\n", i);
	items_say_bytes(200, "POST /items/add",
	    "Content-Type: application/x-ndjson\r\n", buf_str(&b));
	snprintf(line, sizeof(line), "Last-Event-ID: %s\r\n", cursor);
	sse_open(&s, "?types=item.new", line);
	assert_true(sse_until(&s, "resume:1199"));
	assert_null(strstr(buf_text(&s.in), "resume:first"));
	assert_int_equal(count(buf_text(&s.in), "\"item.new\""), 1200);
	uint64_t before = 0;
	const char *at = buf_text(&s.in);
	for (int i = 0; i < 1200; i++) {
		uint64_t n;
		at = strstr(at, "\nid: ") + 5;
		assert_true(str_to_u64((struct str){ at, strspn(at,
		    "0123456789") }, &n));
		assert_true(n > before);
		before = n;
		snprintf(text, sizeof(text), "\"resume:%04d\"", i);
		assert_int_equal(count(buf_text(&s.in), text), 1);
	}
	sse_close(&s);
}

static void
updates(void **state)
{
	char cursor[32] = "", request[96];
	struct answer a = { .status = 0 };

	(void)state;
	items_say(200, "GET /updates", NULL, NULL);
	assert_non_null(strstr(items_head, "application/x-ndjson"));
	assert_true(strstr(items_head, "argiope-cursor: ") != NULL);
	snprintf(cursor, sizeof(cursor), "%.20s",
	    strstr(items_head, "argiope-cursor: ") + 16);
	cursor[strspn(cursor, "0123456789")] = '\0';
	snprintf(request, sizeof(request), "GET /updates?since=%s", cursor);
	assert_string_equal(items_say(200, request, NULL, NULL), "");
	items_say(201, "POST /items/u1", NULL, "{}");
	assert_non_null(strstr(items_say(200, request, NULL, NULL), "\"u1\""));
	/* One that waits. */
	int fd = dial();
	say_text(fd, "GET /updates?types=item.new&wait_ms=20000 HTTP/1.1\r\n"
	    HOST "\r\n");
	poll(NULL, 0, 100);
	items_say(200, "PATCH /items/u1", NULL, "{'not':'wanted'}");
	items_say(201, "POST /items/u2", NULL, "{}");
	hear(fd, &a, false);
	close(fd);
	assert_int_equal(a.status, 200);
	assert_non_null(strstr(buf_text(&a.body), "\"u2\""));
	assert_null(strstr(buf_text(&a.body), "item.updated"));
	/* One that waits in vain. */
	int64_t began = clock_mono().ns;
	items_say(200, "GET /updates?types=item.new&wait_ms=200", NULL, NULL);
	assert_true(clock_mono().ns - began >= 190 * NS_PER_MS);
	answer_free(&a);
}

/* The field of the last answer that says where to go on. */
static void
next_cursor(char out[static 32])
{
	const char *at = strstr(items_head, "argiope-cursor: ");

	assert_non_null(at);
	at += strlen("argiope-cursor: ");
	snprintf(out, 32, "%.*s", (int)strspn(at, "0123456789"), at);
}

/* In steps of 7: all 30, each once, in their order; other types are passed
 * over. */
static void
pages(void **state)
{
	FREED(buf_free) struct buf all = BUF_INIT;
	char cursor[32], request[96], text[32];
	const char *at;

	(void)state;
	items_say(200, "GET /updates", NULL, NULL);
	next_cursor(cursor);
	for (int i = 0; i < 30; i++) {
		snprintf(request, sizeof(request), "POST /items/page:%02d", i);
		items_say(201, request, NULL, "{'tags':['page']}");
	}
	for (int i = 0; i < 5; i++) {
		snprintf(request, sizeof(request), "GET /updates?types="
		    "item.new&since=%s&limit=7", cursor);
		const char *got = items_say(200, request, NULL, NULL);
		assert_int_equal(count(got, "item.new"), i < 4 ? 7 : 2);
		buf_put_text(&all, got);
		next_cursor(cursor);
	}
	at = buf_text(&all);
	for (int i = 0; i < 30; i++) {
		snprintf(text, sizeof(text), "\"page:%02d\"", i);
		at = strstr(at, text);
		assert_non_null(at);
	}
	assert_int_equal(count(buf_text(&all), "item.new"), 30);
}

/* Many wait for different things; each gets its own, cut at its limit. */
static void
waiters(void **state)
{
	static const char *const filters[] = { "types=item.deleted",
		"types=item.new&limit=2", "types=item.new&limit=2",
		"tags=page", "types=task.failed" };
	int fds[ARRAY_LEN(filters)];
	struct answer a = { .status = 0 };
	char text[160];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
		fds[i] = dial();
		snprintf(text, sizeof(text), "GET /updates?%s&wait_ms=%d "
		    "HTTP/1.1\r\n" HOST "\r\n", filters[i],
		    i == 4 ? 1500 : 20000);
		say_text(fds[i], text);
	}
	poll(NULL, 0, 200);
	items_say(200, "POST /items/add",
	    "Content-Type: application/x-ndjson\r\n",
	    "{'id':'wait:0','data':{}}\n{'id':'wait:1','data':{}}\n"
	    "{'id':'wait:2','data':{},'tags':['page']}\n");
	items_say(200, "DELETE /items/wait:0", NULL, NULL);
	for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
		hear(fds[i], &a, false);
		close(fds[i]);
		assert_int_equal(a.status, 200);
		const char *got = buf_text(&a.body);
		size_t new_ones = count(got, "item.new");
		assert_int_equal(new_ones, i == 1 || i == 2 ? 2 : i == 3);
		assert_int_equal(count(got, "item.deleted"), i == 0);
		buf_clear(&a.in);
	}
	answer_free(&a);
}

static void
refuses(void **state)
{
	(void)state;
	items_say(400, "GET /updates?since=x", NULL, NULL);
	items_say(400, "GET /updates?since=-1", NULL, NULL);
	items_say(400, "GET /updates?wait_ms=60001", NULL, NULL);
	items_say(400, "GET /events?since=1x", NULL, NULL);
	items_say(400, "GET /events", "Last-Event-ID: none\r\n", NULL);
	items_say(410, "GET /updates?since=999999999", NULL, NULL);
	assert_true(items_at("/oldest")[0] != '\0');
	items_say(410, "GET /events?since=999999999", NULL, NULL);
}

/* Two clients may follow; the third is 503; one that has left makes room. */
static void
readers_max(void **state)
{
	struct sse a, b;

	(void)state;
	sse_open(&a, "", NULL);
	sse_open(&b, "", NULL);
	assert_true(sse_until(&a, "retry: ") && sse_until(&b, "retry: "));
	items_say(503, "GET /events", NULL, NULL);
	items_say(503, "GET /updates", NULL, NULL);
	items_rig_counted(ITEMS_REFUSED("event_readers_max"));
	sse_close(&b);
	for (int i = 0; i < 100; i++) {
		int fd = dial();
		struct answer r = { .status = 0 };
		say_text(fd, "GET /updates HTTP/1.1\r\n" HOST "\r\n");
		hear(fd, &r, false);
		close(fd);
		bool fine = r.status == 200;
		answer_free(&r);
		if (fine)
			break;
		assert_true(i < 99);
		poll(NULL, 0, 20);
	}
	sse_close(&a);
}

/* A client that takes nothing while more than 1 MiB comes is told, and closed:
 * its answer ends. */
static void
lags(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct sse s;
	int small = 4096;

	(void)state;
	s = (struct sse){ .fd = dial() };
	setsockopt(s.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	say_text(s.fd, "GET /events HTTP/1.1\r\n" HOST "\r\n");
	assert_true(sse_until(&s, "retry: "));
	for (int round = 0; round < 30; round++) {
		buf_clear(&b);
		for (int i = 0; i < 1000; i++)
			buf_printf(&b, "{\"id\":\"lag:%d:%d:%0200d\","
			    "\"data\":{}}\n", round, i, 0);
		items_say_bytes(200, "POST /items/add",
		    "Content-Type: application/x-ndjson\r\n", buf_str(&b));
	}
	assert_true(sse_until(&s, "event: lagged"));
	/* Whole events before it, and the end behind it. */
	assert_non_null(strstr(buf_text(&s.in), "\n\nevent: lagged"));
	assert_true(sse_until(&s, "\r\n0\r\n\r\n"));
	sse_close(&s);
}

/* SIGTERM ends streams and answers what waits. */
static void
stops(void **state)
{
	struct answer a = { .status = 0 };
	struct sse s;
	int64_t began = clock_mono().ns;

	(void)state;
	sse_open(&s, "", NULL);
	assert_true(sse_until(&s, "retry: "));
	int fd = dial();
	say_text(fd, "GET /updates?wait_ms=30000 HTTP/1.1\r\n" HOST "\r\n");
	poll(NULL, 0, 100);
	items_rig_stop();
	hear(fd, &a, false);
	close(fd);
	assert_int_equal(a.status, 200);
	assert_true(sse_until(&s, "\r\n0\r\n\r\n"));
	assert_true(clock_mono().ns - began < 10 * NS_PER_S);
	sse_close(&s);
	answer_free(&a);
}

static int
small_setup(void **state)
{
	static const char *const settings[] = { "items.event_readers_max=2",
		NULL };

	(void)state;
	items_rig_open(settings);
	return 0;
}

#define LIVE(name) cmocka_unit_test(name)
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		LIVE(streams), LIVE(remote_runs), LIVE(filters),
		LIVE(resumes), LIVE(updates),
		LIVE(pages), LIVE(waiters), LIVE(refuses), LIVE(lags),
		LIVE(stops),
	};
	const struct CMUnitTest small[] = { LIVE(readers_max) };

	return items_rig_main(argc, argv,
	    cmocka_run_group_tests_name("events", tests, items_rig_setup,
	    items_rig_teardown) +
	    cmocka_run_group_tests_name("small", small, small_setup,
	    items_rig_teardown));
}

/*
 * Clients of HTTP/2 that are wrong, or make the session work for nothing; the
 * clock is the test's.
 */
#include "wire/web/http2.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define CALM 11
enum { DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW,
    CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

static const struct http2_limits limits = HTTP2_LIMITS_DEFAULT;

/* A session, and what it told us. */
struct told {
	struct http2 *http2;
	struct mono now;
	struct buf in;               /* of the next tell() */
	int heads, open, status;     /* of refusals, the last */
	size_t fields_n;
	int resets, goaway;          /* -1: none came */
	bool hold;                   /* bodies are not used at once */
	struct http2_stream *stream; /* whose body came last */
	size_t body_n, windows[4];   /* that we opened again, by stream */
};

/* --- the owner ------------------------------------------------------------ */

static void
head(void *arg, struct http2_stream *s, struct head *h, struct arena *a,
    const struct head_refusal *r, bool ended)
{
	struct told *t = arg;

	(void)s, (void)ended;
	t->heads++;
	t->open++;
	t->status = r->status;
	t->fields_n = h->fields_n;
	arena_free(a);
}

static bool
body(void *arg, struct http2_stream *s, struct str bytes)
{
	struct told *t = arg;

	t->stream = s;
	t->body_n += bytes.n;
	return !t->hold;
}

static void
end(void *arg, struct http2_stream *s)
{
	(void)arg, (void)s;
}

static void
closed(void *arg, struct http2_stream *s)
{
	struct told *t = arg;

	(void)s;
	t->open--;
}

static enum http2_taken
take(void *arg, struct http2_stream *s, struct buf *out, size_t room)
{
	(void)arg, (void)s, (void)out, (void)room;
	return HTTP2_NOTHING;
}

static void
wake(void *arg)
{
	(void)arg;
}

static const struct http2_events events = { head, body, end, closed, take,
	wake };

/* --- the client ----------------------------------------------------------- */

static void
frame(struct told *t, int type, int flags, uint32_t stream, struct str payload)
{
	buf_put_char(&t->in, (char)(payload.n >> 16));
	buf_put_be16(&t->in, (uint16_t)payload.n);
	buf_put_char(&t->in, (char)type);
	buf_put_char(&t->in, (char)flags);
	buf_put_be32(&t->in, stream);
	buf_put_str(&t->in, payload);
}

static void
field(struct buf *b, const char *name, const char *value)
{
	buf_put_char(b, 0);
	buf_put_char(b, (char)strlen(name));
	buf_put_text(b, name);
	buf_put_char(b, (char)strlen(value));
	buf_put_text(b, value);
}

/* The four that each request has.  nghttp2 asks for a path of these schemes
 * alone. */
static struct buf
block(const char *path)
{
	struct buf b = BUF_INIT;

	field(&b, ":method", "GET");
	field(&b, ":scheme", path[0] == '/' ? "https" : "other");
	field(&b, ":path", path);
	field(&b, ":authority", "localhost");
	return b;
}

static void
request(struct told *t, uint32_t stream, int flags)
{
	struct buf b = block("/");

	frame(t, HEADERS, flags, stream, buf_str(&b));
	buf_free(&b);
}

/* Counts resets and windows, and takes the code of a GOAWAY. */
static void
hear(struct told *t, struct str out)
{
	struct reader r = reader_of(out);

	while (r.n > 0) {
		size_t n = (size_t)read_u8(&r) << 16;
		n |= read_be16(&r);
		int type = read_u8(&r);
		(void)read_u8(&r);
		uint32_t stream = read_be32(&r);
		struct str payload = read_bytes(&r, n);
		assert_false(r.bad);
		t->resets += type == RST;
		if (type == WINDOW) {
			struct reader size = reader_of(payload);
			assert_true(stream < ARRAY_LEN(t->windows));
			t->windows[stream] += read_be32(&size);
		}
		if (type == GOAWAY)
			t->goaway = payload.p[7];
	}
}

/* Send what was gathered, and hear; false: the session has ended. */
static bool
tell(struct told *t)
{
	struct buf out = BUF_INIT;

	(void)http2_recv(t->http2, buf_str(&t->in), t->now);
	buf_clear(&t->in);
	http2_fill(t->http2, &out, SIZE_MAX / 2);
	hear(t, buf_str(&out));
	buf_free(&out);
	return !http2_is_done(t->http2);
}

static void
begin(struct told *t)
{
	*t = (struct told){ .goaway = -1 };
	t->http2 = http2_new(&limits, &events, t, t->now);
	buf_put_text(&t->in, PREFACE);
	frame(t, SETTINGS, 0, 0, STR(""));
	assert_true(tell(t));
}

static void
finish(struct told *t)
{
	http2_free(&t->http2);
	assert_int_equal(t->open, 0);
	buf_free(&t->in);
}

/* --- rates ---------------------------------------------------------------- */

static void
idle_frame(struct told *t, int i)
{
	switch (i % 4) {
	case 0:
		frame(t, PING, 0, 0, STR("12345678"));
		break;
	case 1:
		frame(t, SETTINGS, 0, 0, STR(""));
		break;
	case 2:
		frame(t, PRIORITY, 0, 1, STR("\0\0\0\0\x10"));
		break;
	default:
		frame(t, DATA, 0, 1, STR(""));
	}
}

/* Of all kinds of frames that carry nothing together, at the edge. */
static void
idle_frames(void **state)
{
	int left = (int)limits.idle_frames_burst - 1;
	struct told t;

	(void)state;
	begin(&t);               /* its SETTINGS were the first */
	request(&t, 1, END_HEADERS);
	for (int i = 0; i < left; i++)
		idle_frame(&t, i);
	assert_true(tell(&t));
	t.now.ns += NS_PER_S;
	for (int i = 0; i < (int)limits.idle_frames_per_s; i++)
		idle_frame(&t, i);
	assert_true(tell(&t));
	assert_int_equal(t.goaway, -1);
	idle_frame(&t, 0);
	assert_false(tell(&t));
	assert_int_equal(t.goaway, CALM);
	finish(&t);
}

/* A stream that the client resets, or has us reset: by a window that is too
 * large, by a head that says too little. */
static void
waste(struct told *t, int i)
{
	uint32_t id = (uint32_t)(2 * i + 1);

	if (i % 3 == 2) {
		frame(t, HEADERS, END_HEADERS | END_STREAM, id,
		    STR("\0\x01" "a\x01" "b"));
		return;
	}
	request(t, id, END_HEADERS | END_STREAM);
	if (i % 3 == 0)
		frame(t, RST, 0, id, STR("\0\0\0\x08"));
	else
		frame(t, WINDOW, 0, id, STR("\x7f\xff\xff\xff"));
}

static void
resets(void **state)
{
	int n = 0;
	struct told t;

	(void)state;
	begin(&t);
	while (n < (int)limits.resets_burst) {
		waste(&t, n++);
		assert_true(tell(&t));
	}
	assert_int_equal(t.resets, n * 2 / 3);
	assert_int_equal(t.open, 0);
	t.now.ns += NS_PER_S;
	for (int i = 0; i < (int)limits.resets_per_s; i++)
		waste(&t, n++);
	assert_true(tell(&t));
	waste(&t, n++);
	assert_false(tell(&t));
	assert_int_equal(t.goaway, CALM);
	finish(&t);
}

static void
cancel(void *arg, struct http2_stream *s)
{
	(void)arg;
	http2_cancel(s);
}

/* Those of our own wish do not count. */
static void
own_resets(void **state)
{
	int n = 2 * (int)limits.resets_burst;
	struct told t;

	(void)state;
	begin(&t);
	for (int i = 0; i < n; i++) {
		request(&t, (uint32_t)(2 * i + 1), END_HEADERS);
		assert_true(tell(&t));
		http2_each(t.http2, cancel, NULL);
	}
	assert_true(tell(&t));
	assert_int_equal(t.resets, n);
	finish(&t);
}

static void
streams(void **state)
{
	int n = (int)limits.streams_max;
	struct told t;

	(void)state;
	begin(&t);
	for (int i = 0; i < n + 5; i++)
		request(&t, (uint32_t)(2 * i + 1), END_HEADERS);
	(void)tell(&t);
	assert_int_equal(t.heads, n);
	finish(&t);
}

/* --- heads ---------------------------------------------------------------- */

/* One that does not become whole, however much of it still comes. */
static void
slow_head(void **state)
{
	int64_t ms = 1000;
	struct told t;

	(void)state;
	begin(&t);
	request(&t, 1, END_HEADERS);
	assert_true(tell(&t));
	t.now.ns += 2 * ms * NS_PER_MS;
	assert_false(http2_end_slow_head(t.http2, t.now, ms));
	request(&t, 3, 0);
	assert_true(tell(&t));
	t.now.ns += ms * NS_PER_MS - 1;
	frame(&t, CONTINUATION, 0, 3, STR("\0\x01" "a\x01" "b"));
	assert_true(tell(&t));
	assert_false(http2_end_slow_head(t.http2, t.now, ms));
	t.now.ns += 1;
	assert_true(http2_end_slow_head(t.http2, t.now, ms));
	assert_false(http2_end_slow_head(t.http2, t.now, ms));
	assert_false(tell(&t));
	assert_int_equal(t.goaway, CALM);
	assert_int_equal(t.heads, 1);
	finish(&t);
}

/* HPACK: a field of 4,000 bytes that one byte repeats. */
static void
bomb(void **state)
{
	struct buf b = block("/");
	struct told t;

	(void)state;
	begin(&t);
	buf_put_str(&b, STR("\x40\x01" "x\x7f\xa1\x1e"));
	memset(buf_grow(&b, 4000), 'y', 4000);
	memset(buf_grow(&b, 10000), '\xbe', 10000);
	frame(&t, HEADERS, END_HEADERS | END_STREAM, 1, buf_str(&b));
	assert_true(tell(&t));
	assert_int_equal(t.heads, 1);
	assert_int_equal(t.status, 431);
	assert_true(t.fields_n * 4000 < (size_t)limits.head_bytes_max);
	buf_free(&b);
	finish(&t);
}

/* --- bodies --------------------------------------------------------------- */

/* 64 KiB of a body, as often. */
static void
send_body(struct told *t, uint32_t stream, int times)
{
	static const char bytes[16384];

	for (int i = 0; i < 4 * times; i++) {
		frame(t, DATA, 0, stream, (struct str){ bytes,
		    sizeof(bytes) });
		assert_true(tell(t));
	}
}

/* A stream whose body waits is not sent more than its window; others are. */
static void
held_body(void **state)
{
	struct told t;

	(void)state;
	begin(&t);
	/* Our window_bytes count once the client has acknowledged them. */
	frame(&t, SETTINGS, ACK, 0, STR(""));
	request(&t, 1, END_HEADERS);
	request(&t, 3, END_HEADERS);
	t.hold = true;
	send_body(&t, 1, 4);
	assert_int_equal(t.body_n, limits.window_bytes);
	assert_int_equal(t.windows[1], 0);
	struct http2_stream *held = t.stream;
	t.hold = false;
	send_body(&t, 3, 8);
	assert_int_equal(t.body_n, 3 * limits.window_bytes);
	assert_true(t.windows[3] >= (size_t)limits.window_bytes);
	assert_true(t.windows[0] >= 2 * (size_t)limits.window_bytes);
	assert_int_equal(t.windows[1], 0);
	http2_used(held, (size_t)limits.window_bytes);
	assert_true(tell(&t));
	assert_int_equal(t.windows[1], limits.window_bytes);
	assert_int_equal(t.resets, 0);
	/* One that sends more than the window takes is reset. */
	t.hold = true;
	send_body(&t, 1, 4);
	assert_int_equal(t.resets, 0);
	frame(&t, DATA, 0, 1, STR("x"));
	(void)tell(&t);
	assert_int_equal(t.resets + (t.goaway > 0), 1);
	finish(&t);
}

/* The status of its refusal; 0: it is none. */
static int
status_of(const char *path, const char *host)
{
	struct buf b = block(path);
	struct told t;

	begin(&t);
	if (host != NULL)
		field(&b, "host", host);
	frame(&t, HEADERS, END_HEADERS | END_STREAM, 1, buf_str(&b));
	assert_true(tell(&t));
	assert_int_equal(t.heads, 1);
	buf_free(&b);
	finish(&t);
	return t.status;
}

static void
targets(void **state)
{
	(void)state;
	assert_int_equal(status_of("/", NULL), 0);
	assert_int_equal(status_of("/", "LocalHost"), 0);
	assert_int_equal(status_of("/", "evil.example"), 400);
	assert_int_equal(status_of("/a/../b", NULL), 400);
	assert_int_equal(status_of("http://localhost/", NULL), 400);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_frames), cmocka_unit_test(resets),
		cmocka_unit_test(own_resets), cmocka_unit_test(streams),
		cmocka_unit_test(slow_head), cmocka_unit_test(bomb),
		cmocka_unit_test(held_body), cmocka_unit_test(targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * An HTTP/2 client's bytes behind its preface: every request is told once and
 * closed once, and is answered with a body that is taken to its end or not.
 */
#include "wire/web/http2.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define ROUNDS 50

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

struct seen {
	int open;
	size_t body;
	size_t unused;               /* bytes that were not used at once */
};

static void
head(void *arg, struct http2_stream *s, struct head *h, struct arena *a,
    const struct head_refusal *r, bool ended)
{
	static const struct head_field field = { { "a", 1 }, { "b", 1 } };
	struct seen *seen = arg;

	CHECK(r->status >= 400 || (h->path.n > 0 && h->path.p[0] == '/'));
	seen->open++;
	arena_free(a);
	http2_set_data(s, seen);
	if (h->fields_n % 3 == 2)
		http2_cancel(s);
	else
		http2_answer(s, r->status != 0 ? r->status : 200, &field, 1,
		    !ended);
}

static bool
body(void *arg, struct http2_stream *s, struct str bytes)
{
	struct seen *seen = arg;

	CHECK(http2_data(s) == arg && bytes.n > 0);
	if (bytes.n % 3 == 0) {
		seen->unused += bytes.n;
		return false;
	}
	/* More than came for this stream, now and then: it is ignored. */
	http2_used(s, seen->unused);
	seen->unused = 0;
	return true;
}

static void
end(void *arg, struct http2_stream *s)
{
	CHECK(http2_data(s) == arg);
}

static void
closed(void *arg, struct http2_stream *s)
{
	struct seen *seen = arg;

	CHECK(http2_data(s) == arg && seen->open > 0);
	seen->open--;
}

static enum http2_taken
take(void *arg, struct http2_stream *s, struct buf *out, size_t room)
{
	struct seen *seen = arg;

	(void)s;
	if (++seen->body % 5 == 0)
		return HTTP2_LAST;
	if (seen->body % 7 == 0)
		return HTTP2_CUT;
	buf_grow(out, MIN(room, 100));
	memset(out->p, 'x', out->n);
	return HTTP2_SOME;
}

static void
wake(void *arg)
{
	(void)arg;
}

static const struct http2_events events = { head, body, end, closed, take,
	wake };

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static const struct http2_limits limits = HTTP2_LIMITS_DEFAULT;
	struct str in = { (const char *)p, n };
	struct mono now = { 0 };
	struct seen seen = { 0, 0, 0 };
	struct http2 *h = http2_new(&limits, &events, &seen, now);
	struct buf out = BUF_INIT;

	bool fine = http2_recv(h, STR(PREFACE), now);
	for (size_t at = 0; fine && at < n; at += 1 + n / ROUNDS) {
		fine = http2_recv(h, str_cut(in, at, at + 1 + n / ROUNDS),
		    now);
		buf_clear(&out);
		http2_fill(h, &out, 10000);
		CHECK(http2_streams(h) <= (size_t)limits.streams_max + 1);
		now.ns += NS_PER_S / 10;
	}
	http2_drain(h);
	http2_free(&h);
	CHECK(seen.open == 0);
	buf_free(&out);
	return 0;
}

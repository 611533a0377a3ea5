/*
 * What a peer sends that is no client of ours: frames by hand.  The session
 * answers as RFC 9113 and gRPC have it, or ends with a GOAWAY; what it keeps
 * for the peer stays bounded.
 */
#include "wire/grpc/grpc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <nghttp2/nghttp2.h>

#include "base/metric.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

enum { DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING,
	GOAWAY, WINDOW_UPDATE, CONTINUATION };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };

static struct {
	struct grpc_server *server;
	struct grpc_session *s;
	struct buf out;
	struct mono now;
	int opened, ended, messages;
	bool failed;
	struct why why;
	nghttp2_hd_inflater *inflater;
	/* What came back. */
	struct buf fields;               /* "name: value\n" */
	struct buf data;
	int goaways, resets, acks;
	uint32_t goaway_code, reset_code;
} t;

static void
on_open(struct grpc_call *c)
{
	(void)c;
	t.opened++;
}

static void
on_message(struct grpc_call *c, struct str message)
{
	t.messages++;
	grpc_send(c, message);
}

static void
on_half_close(struct grpc_call *c)
{
	grpc_finish(c, GRPC_OK, NULL);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	(void)c, (void)code, (void)text;
	t.ended++;
}

static const struct grpc_method methods[] = {
	{ "/t/Chat", GRPC_BIDI, { on_open, on_message, on_half_close, NULL,
	    on_end }, NULL, false },
	{ "/t/One", GRPC_UNARY, { on_open, on_message, NULL, NULL, on_end },
	    NULL, false },
};

/* ---- Frames ------------------------------------------------------------- */

static void
put(struct buf *b, int type, int flags, uint32_t stream, struct str payload)
{
	buf_put_char(b, (char)(payload.n >> 16));
	buf_put_be16(b, (uint16_t)payload.n);
	buf_put_char(b, (char)type);
	buf_put_char(b, (char)flags);
	buf_put_be32(b, stream);
	buf_put_str(b, payload);
}

/* HPACK: a literal that is not indexed, no Huffman; up to 16 KiB of value. */
static void
put_field(struct buf *b, const char *name, struct str value)
{
	buf_put_char(b, 0);
	buf_put_char(b, (char)strlen(name));
	buf_put_text(b, name);
	if (value.n < 127) {
		buf_put_char(b, (char)value.n);
	} else {
		buf_put_char(b, 127);
		buf_put_varint(b, value.n - 127);
	}
	buf_put_str(b, value);
}

static struct str
request(struct buf *b, const char *method, const char *path,
    const char *content_type)
{
	buf_clear(b);
	put_field(b, ":method", str_of(method));
	put_field(b, ":scheme", STR("http"));
	put_field(b, ":path", str_of(path));
	put_field(b, ":authority", STR("x"));
	put_field(b, "content-type", str_of(content_type));
	return buf_str(b);
}

static struct str
usual(struct buf *b)
{
	return request(b, "POST", "/t/Chat", "application/grpc");
}

static void
read_fields(struct str block)
{
	nghttp2_nv nv;
	int flags;
	ssize_t n;

	do {
		flags = 0;
		n = nghttp2_hd_inflate_hd2(t.inflater, &nv, &flags,
		    (const uint8_t *)block.p, block.n, 1);
		assert_true(n >= 0);
		block = str_from(block, (size_t)n);
		if (flags & NGHTTP2_HD_INFLATE_EMIT)
			buf_printf(&t.fields, "%.*s: %.*s\n", (int)nv.namelen,
			    (const char *)nv.name, (int)nv.valuelen,
			    (const char *)nv.value);
	} while (!(flags & NGHTTP2_HD_INFLATE_FINAL));
	nghttp2_hd_inflate_end_headers(t.inflater);
}

static void
read_frame(int type, int flags, struct str payload)
{
	struct reader r = reader_of(payload);

	if (type == HEADERS) {
		assert_true(flags & END_HEADERS);
		read_fields(payload);
	} else if (type == DATA) {
		buf_put_str(&t.data, payload);
	} else if (type == RST_STREAM) {
		t.resets++;
		t.reset_code = read_be32(&r);
	} else if (type == GOAWAY) {
		t.goaways++;
		read_be32(&r);
		t.goaway_code = read_be32(&r);
	} else if (type == PING && (flags & ACK)) {
		t.acks++;
	}
}

static void
read_all(void)
{
	struct reader r = reader_of(buf_str(&t.out));

	while (r.n > 0) {
		size_t n = (size_t)read_u8(&r) << 16;
		n |= read_be16(&r);
		int type = read_u8(&r), flags = read_u8(&r);
		read_be32(&r);
		read_frame(type, flags, read_bytes(&r, n));
		assert_false(r.bad);
	}
	buf_clear(&t.out);
}

/* ---- A session ---------------------------------------------------------- */

static void
begin(void)
{
	struct grpc_limits l = GRPC_LIMITS_DEFAULT;
	struct grpc_owner nobody = { NULL, NULL };

	memset(&t, 0, sizeof(t));
	t.now.ns = NS_PER_S;
	t.why = WHY_INIT;
	t.server = grpc_server_new(&l);
	grpc_server_add(t.server, methods, ARRAY_LEN(methods));
	t.s = grpc_session_server(t.server, nobody, t.now);
	assert_int_equal(nghttp2_hd_inflate_new(&t.inflater), 0);
}

static void
give(struct str bytes, bool reads)
{
	if (!t.failed)
		t.failed = grpc_recv(t.s, bytes, t.now, &t.why) != OK;
	if (!reads)
		return;
	while (grpc_fill(t.s, &t.out, 1 << 20, t.now))
		;
	read_all();
}

static void
greet(void)
{
	struct buf b = BUF_INIT;

	begin();
	buf_put_text(&b, PREFACE);
	put(&b, SETTINGS, 0, 0, STR(""));
	put(&b, SETTINGS, ACK, 0, STR(""));
	give(buf_str(&b), true);
	assert_false(t.failed);
	buf_free(&b);
}

struct wanted {
	const char *name;
	int64_t value;
};

static void
visit(const struct metric *m, void *arg)
{
	struct wanted *w = arg;

	if (strcmp(m->name, w->name) == 0)
		w->value = metric_value(m, 0);
}

static int64_t
metric_named(const char *name)
{
	struct wanted w = { name, -1 };

	metric_each(visit, &w);
	return w.value;
}

static void
end(void)
{
	grpc_session_free(&t.s);
	assert_int_equal(metric_named("argiope_grpc_connections"), 0);
	assert_int_equal(metric_named("argiope_grpc_calls"), 0);
	assert_int_equal(metric_named("argiope_grpc_held_bytes"), 0);
	assert_int_equal(metric_named("argiope_grpc_unsent_bytes"), 0);
	assert_int_equal(t.opened, t.ended);
	grpc_server_free(&t.server);
	nghttp2_hd_inflate_del(t.inflater);
	buf_free(&t.out);
	buf_free(&t.fields);
	buf_free(&t.data);
}

static bool
told(const char *line)
{
	return str_find(buf_str(&t.fields), str_of(line)) < t.fields.n;
}

/* n times the same frame: how many until the session ended; n + 1: it lives */
static int
flood(int n, int type, int flags, uint32_t stream, struct str payload)
{
	struct buf b = BUF_INIT;
	int i = 0;

	put(&b, type, flags, stream, payload);
	while (i++ < n && !t.failed)
		give(buf_str(&b), true);
	buf_free(&b);
	return t.failed ? i - 1 : n + 1;
}

static void
assert_calmed(void)
{
	assert_true(t.failed);
	assert_int_equal(t.goaways, 1);
	assert_int_equal(t.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
	assert_true(grpc_is_done(t.s));
}

/* ---- Tests -------------------------------------------------------------- */

static void
test_rapid_reset(void **state)
{
	struct buf b = BUF_INIT, h = BUF_INIT;
	int n = 0;

	(void)state;
	greet();
	usual(&h);
	for (uint32_t id = 1; id < 20000 && !t.failed; id += 2, n++) {
		buf_clear(&b);
		put(&b, HEADERS, END_HEADERS, id, buf_str(&h));
		put(&b, RST_STREAM, 0, id, STR("\0\0\0\x08"));
		give(buf_str(&b), true);
		assert_true(t.failed || grpc_calls(t.s) == 0);
	}
	assert_in_range(n, 2000, 2002);
	assert_calmed();
	end();

	/* A client that cancels 50 calls a second is let be. */
	greet();
	for (uint32_t id = 1; id < 20000; id += 2) {
		buf_clear(&b);
		put(&b, HEADERS, END_HEADERS, id, buf_str(&h));
		put(&b, RST_STREAM, 0, id, STR("\0\0\0\x08"));
		t.now = mono_add_ms(t.now, 20);
		give(buf_str(&b), true);
	}
	assert_false(t.failed);
	assert_int_equal(t.opened, 10000);
	end();
	buf_free(&b);
	buf_free(&h);
}

/* Calls that are answered at once, and cancelled then. */
static void
cancel_answered(int n)
{
	struct buf b = BUF_INIT, h = BUF_INIT;

	usual(&h);
	for (uint32_t id = 1; id < 2 * (uint32_t)n; id += 2) {
		buf_clear(&b);
		put(&b, HEADERS, END_HEADERS, id, buf_str(&h));
		put(&b, DATA, 0, id, STR("\0\0\0\0\1x"));
		give(buf_str(&b), true);
		flood(1, RST_STREAM, 0, id, STR("\0\0\0\x08"));
	}
	buf_free(&b);
	buf_free(&h);
}

/* Who cancels what was answered, is old or over has flooded nobody. */
static void
test_cancels(void **state)
{
	struct buf b = BUF_INIT, h = BUF_INIT;

	(void)state;
	greet();
	cancel_answered(10000);
	assert_false(t.failed);
	assert_int_equal(t.messages, 10000);
	end();

	greet();
	usual(&h);
	for (uint32_t from = 1; from < 20000; from += 1000) {
		for (uint32_t id = from; id < from + 1000; id += 2)
			flood(1, HEADERS, END_HEADERS, id, buf_str(&h));
		t.now = mono_add_ms(t.now, 1000);
		for (uint32_t id = from; id < from + 1000; id += 2)
			flood(1, RST_STREAM, 0, id, STR("\0\0\0\x08"));
	}
	assert_false(t.failed);
	assert_int_equal(t.ended, 10000);
	end();

	/* It crossed our answer's end; once. */
	greet();
	request(&h, "POST", "/t/No", "application/grpc");
	for (uint32_t id = 1; id < 20000; id += 2) {
		flood(1, HEADERS, END_HEADERS, id, buf_str(&h));
		flood(1, RST_STREAM, 0, id, STR("\0\0\0\x08"));
	}
	assert_false(t.failed);
	assert_in_range(flood(9000, RST_STREAM, 0, 1, STR("\0\0\0\x08")),
	    2000, 2002);
	assert_calmed();
	end();
	buf_free(&b);
	buf_free(&h);
}

/* Made to reset them ourselves, by windows beyond 2^31-1. */
static void
make_resets(const char *path, struct str data, int data_flags)
{
	struct buf b = BUF_INIT, h = BUF_INIT;
	int n = 0;

	greet();
	request(&h, "POST", path, "application/grpc");
	for (uint32_t id = 1; id < 20000 && !t.failed; id += 2, n++) {
		buf_clear(&b);
		put(&b, HEADERS, END_HEADERS, id, buf_str(&h));
		if (data.n > 0)
			put(&b, DATA, data_flags, id, data);
		give(buf_str(&b), true);
		assert_true(t.failed || grpc_calls(t.s) == 1);
		flood(1, WINDOW_UPDATE, 0, id, STR("\x7f\xff\xff\xff"));
		assert_true(t.failed || t.resets == n + 1);
	}
	assert_in_range(n, 2000, 2002);
	assert_calmed();
	end();
	buf_free(&b);
	buf_free(&h);
}

static void
test_made_to_reset(void **state)
{
	struct str message = STR("\0\0\0\0\1x");

	(void)state;
	make_resets("/t/Chat", STR_NONE, 0);
	/* What was answered counts here, too, and what was asked wholly. */
	make_resets("/t/Chat", message, 0);
	make_resets("/t/One", message, END_STREAM);
}

struct frames {
	const char *what;
	int first, first_flags, then, then_flags;
	uint32_t first_stream, then_stream;
	uint32_t code;                  /* 0: it lives */
};

/* Frames on streams that are no more; 3 was called before. */
static void
test_closed_streams(void **state)
{
	static const struct frames all[] = {
		{ "DATA behind END_STREAM", HEADERS, END_STREAM, DATA, 0, 5, 5,
		    NGHTTP2_STREAM_CLOSED },
		{ "HEADERS behind END_STREAM", HEADERS, END_STREAM, HEADERS,
		    END_STREAM, 5, 5, NGHTTP2_STREAM_CLOSED },
		{ "DATA behind RST_STREAM", RST_STREAM, 0, DATA, 0, 3, 3,
		    NGHTTP2_STREAM_CLOSED },
		{ "HEADERS behind RST_STREAM", RST_STREAM, 0, HEADERS, 0, 3,
		    3, NGHTTP2_STREAM_CLOSED },
		{ "HEADERS on a skipped one", HEADERS, 0, HEADERS, 0, 9, 7,
		    NGHTTP2_PROTOCOL_ERROR },
		{ "DATA on a skipped one", HEADERS, 0, DATA, 0, 9001, 7,
		    0 },
		{ "DATA on one just skipped", HEADERS, 0, DATA, 0, 9001, 8999,
		    NGHTTP2_PROTOCOL_ERROR },
		{ "WINDOW_UPDATE", RST_STREAM, 0, WINDOW_UPDATE, 0, 3, 3, 0 },
		{ "a second RST_STREAM", RST_STREAM, 0, RST_STREAM, 0, 3, 3,
		    0 },
		{ "long ago", HEADERS, 0, DATA, 0, 3 + 2 * 1024, 3, 0 },
	};
	struct buf b = BUF_INIT, h = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(all); i++) {
		const struct frames *f = &all[i / 2];
		struct str word = STR("\0\0\0\x08");
		greet();
		usual(&h);
		buf_clear(&b);
		put(&b, HEADERS, END_HEADERS, 3, buf_str(&h));
		put(&b, f->first, f->first_flags | (f->first == HEADERS
		    ? END_HEADERS : 0), f->first_stream,
		    f->first == HEADERS ? buf_str(&h) : word);
		give(buf_str(&b), true);
		assert_false(t.failed);
		buf_clear(&b);
		put(&b, f->then, f->then_flags | (f->then == HEADERS
		    ? END_HEADERS : 0), f->then_stream,
		    f->then == HEADERS ? buf_str(&h) : word);
		/* Whole, then cut anywhere. */
		for (size_t k = 0; i % 2 != 0 && k < b.n; k++)
			give(str_cut(buf_str(&b), k, k + 1), true);
		if (i % 2 == 0)
			give(buf_str(&b), true);
		if (t.failed != (f->code != 0) || t.goaway_code != f->code)
			fail_msg("%s: %u", f->what, t.goaway_code);
		end();
	}
	buf_free(&b);
	buf_free(&h);
}

/* Who speaks no gRPC is told so, may finish, and is reset when it does not. */
static void
test_plain_answer(void **state)
{
	struct buf h = BUF_INIT;

	(void)state;
	greet();
	flood(1, HEADERS, END_HEADERS, 1, request(&h, "POST", "/t/Chat",
	    "text/html"));
	assert_true(told(":status: 415\n"));
	assert_true(told("content-type: text/plain\n"));
	assert_true(str_eq(buf_str(&t.data), STR("This port speaks gRPC.\n")));
	assert_int_equal(t.resets, 0);
	assert_int_equal(grpc_calls(t.s), 1);
	flood(1, DATA, END_STREAM, 1, STR("<p>"));
	assert_int_equal(grpc_calls(t.s), 0);
	assert_int_equal(t.resets, 0);

	flood(1, HEADERS, END_HEADERS, 3, request(&h, "PUT", "/", "x"));
	assert_true(told(":status: 405\n"));
	for (int i = 0; i < 1000; i++)
		flood(1, DATA, 0, 3, str_cut(buf_str(&h), 0, 16));
	t.now = mono_add_ms(t.now, 5000);
	assert_int_equal(grpc_tick(t.s, t.now, &t.why), OK);
	give(STR(""), true);
	assert_int_equal(t.resets, 1);
	assert_int_equal(t.reset_code, NGHTTP2_NO_ERROR);
	assert_int_equal(grpc_calls(t.s), 0);

	buf_clear(&t.data);
	flood(1, HEADERS, END_HEADERS | END_STREAM, 5, request(&h, "HEAD",
	    "/", "x"));
	assert_int_equal(t.data.n, 0);
	assert_int_equal(grpc_calls(t.s), 0);
	assert_false(t.failed);
	end();
	buf_free(&h);
}

static void
test_floods(void **state)
{
	(void)state;
	greet();
	assert_in_range(flood(9000, PING, 0, 0, STR("12345678")), 500, 502);
	assert_true(t.acks >= 500);
	assert_calmed();
	end();

	greet();
	assert_in_range(flood(9000, SETTINGS, 0, 0, STR("")), 98, 102);
	assert_calmed();
	end();

	greet();
	assert_in_range(flood(9000, PRIORITY, 0, 1, STR("\0\0\0\0\1")), 2000,
	    2002);
	assert_calmed();
	end();

	/* Frames of a type that nobody knows are skipped (RFC 9113 §5.5). */
	greet();
	assert_int_equal(flood(9000, 77, 0, 0, STR("")), 9001);
	end();

	greet();
	struct buf h = BUF_INIT;
	assert_int_equal(flood(1, HEADERS, END_HEADERS, 1, usual(&h)), 2);
	assert_in_range(flood(9000, DATA, 0, 1, STR("")), 2000, 2002);
	assert_calmed();
	end();
	buf_free(&h);
}

/* A call whose every message is answered with one DATA frame. */
static void
open_chat(void)
{
	struct buf h = BUF_INIT;

	greet();
	assert_int_equal(flood(1, HEADERS, END_HEADERS, 1, usual(&h)), 2);
	flood(1, WINDOW_UPDATE, 0, 0, STR("\x10\0\0\0"));
	flood(1, WINDOW_UPDATE, 0, 1, STR("\x10\0\0\0"));
	buf_free(&h);
}

/* n rounds: one DATA frame is sent to the peer, then `pings` come from it. */
static int
chat_and_ping(int n, int pings)
{
	int i = 0;

	while (i < n && !t.failed) {
		flood(1, DATA, 0, 1, STR("\0\0\0\0\1x"));
		flood(pings, PING, 0, 0, STR("bdp-ping"));
		i++;
	}
	return i;
}

/*
 * grpc-go and grpc-java send a PING after a DATA frame that they received, to
 * measure the bandwidth, with no limit in time.
 */
static void
test_bandwidth_probes(void **state)
{
	(void)state;
	open_chat();
	assert_int_equal(chat_and_ping(20000, 1), 20000);
	assert_false(t.failed);
	assert_int_equal(t.acks, 20000);
	end();

	/* Two for each: one of them is more than we pay for. */
	open_chat();
	assert_in_range(chat_and_ping(20000, 2), 498, 502);
	assert_calmed();
	end();

	/* Frames sent long ago allow no larger burst. */
	open_chat();
	assert_int_equal(chat_and_ping(5000, 0), 5000);
	assert_in_range(flood(9000, PING, 0, 0, STR("bdp-ping")), 500, 502);
	assert_calmed();
	end();
}

/* One who does not read what we answer gets no DATA, and so no PING paid. */
static void
test_probes_unread(void **state)
{
	struct buf b = BUF_INIT;
	int n = 0;

	(void)state;
	open_chat();
	put(&b, DATA, 0, 1, STR("\0\0\0\0\1x"));
	put(&b, PING, 0, 0, STR("bdp-ping"));
	while (n++ < 20000 && !t.failed)
		give(buf_str(&b), false);
	assert_in_range(n, 500, 502);
	end();
	buf_free(&b);
}

static void
test_continuations(void **state)
{
	struct buf h = BUF_INIT, big = BUF_INIT;

	(void)state;
	greet();
	assert_int_equal(flood(1, HEADERS, 0, 1, usual(&h)), 2);
	assert_in_range(flood(9000, CONTINUATION, 0, 1, STR("")), 1, 100);
	assert_int_equal(t.goaways, 1);
	end();

	/* Fields beyond the limit refuse the call; far beyond, the peer. */
	greet();
	usual(&h);
	memset(buf_grow(&big, 16000), 'v', 16000);
	put_field(&h, "x-big", str_cut(buf_str(&big), 0, 12000));
	assert_int_equal(flood(1, HEADERS, END_HEADERS, 1, buf_str(&h)), 2);
	assert_int_equal(t.opened, 1);
	usual(&h);
	put_field(&h, "x-big", str_cut(buf_str(&big), 0, 8000));
	put_field(&h, "x-big", str_cut(buf_str(&big), 0, 8300));
	flood(1, HEADERS, 0, 3, str_cut(buf_str(&h), 0, 9000));
	flood(1, CONTINUATION, END_HEADERS, 3, str_from(buf_str(&h), 9000));
	assert_false(t.failed);
	assert_int_equal(t.opened, 1);
	assert_true(told("grpc-status: 8\n"));
	usual(&h);
	for (int i = 0; i < 5; i++)
		put_field(&h, "x-big", buf_str(&big));
	flood(1, HEADERS, 0, 5, str_cut(buf_str(&h), 0, 16000));
	for (size_t at = 16000; at < h.n; at += 16000)
		flood(1, CONTINUATION, at + 16000 >= h.n ? END_HEADERS : 0, 5,
		    str_cut(buf_str(&h), at, at + 16000));
	assert_calmed();
	end();
	buf_free(&h);
	buf_free(&big);
}

/* 20,000 calls at once: 1,000 are there, the others are refused. */
static void
test_many_streams(void **state)
{
	struct buf b = BUF_INIT, h = BUF_INIT;

	(void)state;
	greet();
	usual(&h);
	for (uint32_t id = 1; id < 40000 && !t.failed; id += 2) {
		buf_clear(&b);
		put(&b, HEADERS, END_HEADERS, id, buf_str(&h));
		give(buf_str(&b), true);
		assert_true(grpc_calls(t.s) <= 1000);
	}
	assert_int_equal(t.opened, 1000);
	assert_true(t.failed || t.resets > 0);
	end();
	buf_free(&b);
	buf_free(&h);
}

/* A peer that asks and never reads: what waits for it is bounded. */
static void
test_never_reads(void **state)
{
	struct buf b = BUF_INIT, h = BUF_INIT, message = BUF_INIT;
	uint32_t id = 1;

	(void)state;
	greet();
	usual(&h);
	buf_put(&message, "\0\0\0\x10\0", 5);
	memset(buf_grow(&message, 4096), 'm', 4096);
	while (id < 100000 && !t.failed) {
		buf_clear(&b);
		put(&b, HEADERS, END_HEADERS, id, buf_str(&h));
		put(&b, DATA, END_STREAM, id, buf_str(&message));
		give(buf_str(&b), false);
		id += 2;
	}
	/* Beyond the limit of calls nothing is looked at any more. */
	assert_in_range(t.messages, 1000, 1000);
	assert_in_range(metric_named("argiope_grpc_unsent_bytes"), 4096,
	    9 << 20);
	assert_int_equal(grpc_calls(t.s), 1000);
	give(STR(""), true);
	assert_int_equal(t.goaways, 1);
	assert_true(grpc_is_done(t.s));
	end();

	greet();
	buf_clear(&b);
	put(&b, PING, 0, 0, STR("12345678"));
	int n = 0;
	while (n++ < 100000 && !t.failed) {
		t.now = mono_add_ms(t.now, 20);   /* within the rate */
		give(buf_str(&b), false);
	}
	assert_in_range(n, 4000, 4010);
	end();
	buf_free(&b);
	buf_free(&h);
	buf_free(&message);
}

static void
test_no_http2(void **state)
{
	(void)state;
	begin();
	give(STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), true);
	assert_true(t.failed);
	end();

	/* Nothing at all: the handshake has a time. */
	begin();
	assert_int_equal(grpc_due(t.s).ns, mono_add_ms(t.now, 10000).ns);
	t.now = mono_add_ms(t.now, 10000);
	assert_int_equal(grpc_tick(t.s, t.now, &t.why), ERR_TIMEOUT);
	end();
}

static void
ask_by_hand(struct str fields, struct str data)
{
	greet();
	flood(1, HEADERS, END_HEADERS | (data.p == NULL ? END_STREAM : 0), 1,
	    fields);
	if (data.p != NULL)
		flood(1, DATA, END_STREAM, 1, data);
	assert_false(t.failed);
	assert_int_equal(grpc_calls(t.s), 0);
}

static void
test_answers(void **state)
{
	struct buf h = BUF_INIT;
	static const char *const types[] = { "application/grpc+json",
	    "application/json", "application/grpcx", "", "text/html" };
	static const char *const good[] = { "application/grpc",
	    "application/grpc+proto", "application/grpc; charset=utf-8" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		ask_by_hand(request(&h, "POST", "/t/Chat", types[i]),
		    STR("\0\0\0\0\1x"));
		assert_true(told(":status: 415\n"));
		assert_int_equal(t.opened, 0);
		end();
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		ask_by_hand(request(&h, "POST", "/t/Chat", good[i]),
		    STR("\0\0\0\0\1x"));
		assert_true(told(":status: 200\n"));
		assert_true(told("content-type: application/grpc\n"));
		assert_true(told("grpc-status: 0\n"));
		end();
	}
	ask_by_hand(request(&h, "GET", "/t/Chat", "application/grpc"),
	    STR_NONE);
	assert_true(told(":status: 405\n"));
	assert_true(told("allow: POST\n"));
	end();
	ask_by_hand(request(&h, "POST", "/t/No", "application/grpc"),
	    STR("\0\0\0\0\1x"));
	assert_true(told(":status: 200\n"));
	assert_true(told("grpc-status: 12\n"));
	end();

	static const struct {
		struct str data;
		const char *told;
	} bodies[] = {
		{ { "\2\0\0\0\1x", 6 }, "grpc-status: 13\n" },
		{ { "\1\0\0\0\1x", 6 }, "grpc-status: 13\n" },
		{ { "\0\0\0\0\2x", 6 }, "grpc-status: 13\n" },
		{ { "\0\0\0", 3 }, "grpc-status: 13\n" },
		{ { "\0\xff\xff\xff\xff", 5 }, "grpc-status: 8\n" },
		{ { "\0\0\x40\0\1", 5 }, "grpc-status: 8\n" },
	};
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		ask_by_hand(usual(&h), bodies[i].data);
		assert_true(told(bodies[i].told));
		end();
	}
	usual(&h);
	put_field(&h, "grpc-encoding", STR("snappy"));
	ask_by_hand(buf_str(&h), STR("\0\0\0\0\1x"));
	assert_true(told("grpc-status: 12\n"));
	assert_true(told("grpc-accept-encoding: identity,gzip\n"));
	end();
	usual(&h);
	put_field(&h, "grpc-timeout", STR("1x"));
	ask_by_hand(buf_str(&h), STR("\0\0\0\0\1x"));
	assert_true(told("grpc-status: 13\n"));
	end();
	usual(&h);
	put_field(&h, "x-bin", STR("AP8K,%"));
	ask_by_hand(buf_str(&h), STR("\0\0\0\0\1x"));
	assert_true(told("grpc-status: 13\n"));
	end();
	buf_free(&h);
}

/* An answer before the request's end: RST_STREAM says that it may stop. */
static void
test_early_answer(void **state)
{
	struct buf h = BUF_INIT;

	(void)state;
	greet();
	flood(1, HEADERS, END_HEADERS, 1, request(&h, "POST", "/t/No",
	    "application/grpc"));
	assert_true(told("grpc-status: 12\n"));
	assert_int_equal(t.resets, 1);
	assert_int_equal(t.reset_code, NGHTTP2_NO_ERROR);
	assert_int_equal(grpc_calls(t.s), 0);
	/* What was under way is no error. */
	flood(1, DATA, 0, 1, STR("\0\0\0\0\1x"));
	flood(1, DATA, END_STREAM, 1, STR(""));
	assert_false(t.failed);
	assert_int_equal(t.goaways, 0);
	end();
	buf_free(&h);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rapid_reset),
		cmocka_unit_test(test_cancels),
		cmocka_unit_test(test_made_to_reset),
		cmocka_unit_test(test_closed_streams),
		cmocka_unit_test(test_plain_answer),
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_bandwidth_probes),
		cmocka_unit_test(test_probes_unread),
		cmocka_unit_test(test_continuations),
		cmocka_unit_test(test_many_streams),
		cmocka_unit_test(test_never_reads),
		cmocka_unit_test(test_no_http2),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_early_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

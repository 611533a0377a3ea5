/*
 * Fuzz: bytes to a server session, in pieces, with a clock that runs.  The
 * first byte says what is given before them (see FIRST), the second the size of
 * the pieces.  What comes out is fed to a client session with one call open.
 */
#include "wire/grpc/grpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PREFACE = 1, BIDI = 2, UNARY = 4, GZIP = 8, TO_CLIENT = 16 };

static int open_calls;
static struct grpc_call *held;

static void
on_open(struct grpc_call *c)
{
	(void)c;
	open_calls++;
}

static void
on_message(struct grpc_call *c, struct str message)
{
	grpc_send(c, message);
	if (message.n > 0 && message.p[0] == 'p') {
		grpc_pause(c);
		held = c;
	}
	if (message.n > 0 && message.p[0] == 'f')
		grpc_finish(c, GRPC_ABORTED, "as you like");
}

static void
on_half_close(struct grpc_call *c)
{
	grpc_finish(c, GRPC_OK, NULL);
}

static void
on_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	CHECK(code < GRPC_CODE_COUNT);
	(void)text;
	open_calls--;
	if (held == c)
		held = NULL;
}

static const struct grpc_method methods[] = {
	{ "/c", GRPC_BIDI, { on_open, on_message, on_half_close, NULL,
	    on_end }, NULL, false },
	{ "/u", GRPC_UNARY, { on_open, on_message, on_half_close, NULL,
	    on_end }, NULL, false },
};

static const struct grpc_events asking = { .on_end = on_end };

static void
feed(struct grpc_session *s, struct str all, size_t step, struct buf *out)
{
	struct mono now = { NS_PER_S };
	struct why w = WHY_INIT;

	for (size_t at = 0; at < all.n; at += step) {
		now = mono_add_ms(now, 100);
		if (grpc_recv(s, str_cut(all, at, at + step), now, &w) != OK)
			break;
		if (at % 3 == 0 && held != NULL &&
		    grpc_call_session(held) == s)
			grpc_resume(held);
		grpc_fill(s, out, step * 10, now);
		if (grpc_due(s).ns <= now.ns && grpc_tick(s, now, &w) != OK)
			break;
	}
	for (int i = 0; i < 1000 && grpc_fill(s, out, 1 << 16, now); i++)
		;
}

static void
put_field(struct buf *b, const char *name, const char *value)
{
	buf_put_char(b, 0);
	buf_put_char(b, (char)strlen(name));
	buf_put_text(b, name);
	buf_put_char(b, (char)strlen(value));
	buf_put_text(b, value);
}

/* HEADERS of a call. */
static void
put_request(struct buf *b, const char *path, char stream, bool gzip)
{
	struct buf block = BUF_INIT;

	put_field(&block, ":method", "POST");
	put_field(&block, ":scheme", "http");
	put_field(&block, ":path", path);
	put_field(&block, ":authority", "x");
	put_field(&block, "content-type", "application/grpc");
	if (gzip)
		put_field(&block, "grpc-encoding", "gzip");
	buf_put(b, "\0\0", 2);
	buf_put_char(b, (char)block.n);
	buf_put(b, "\1\4\0\0\0", 5);
	buf_put_char(b, stream);
	buf_put_str(b, buf_str(&block));
	buf_free(&block);
}

static void
put_first(struct buf *b, unsigned what)
{
	if (what & PREFACE)
		buf_put_str(b, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
		    "\0\0\0\4\0\0\0\0\0"));
	if (what & BIDI)
		put_request(b, "/c", 1, what & GZIP);
	if (what & UNARY)
		put_request(b, "/u", 3, what & GZIP);
}

static void
to_server(const struct grpc_limits *l, unsigned what, struct str all,
    size_t step, struct buf *out)
{
	struct grpc_server *server = grpc_server_new(l);
	struct grpc_owner nobody = { NULL, NULL };
	struct mono now = { NS_PER_S };
	struct why w = WHY_INIT;
	struct buf first = BUF_INIT;

	grpc_server_add(server, methods, ARRAY_LEN(methods));
	struct grpc_session *s = grpc_session_server(server, nobody, now);
	put_first(&first, what);
	if (grpc_recv(s, buf_str(&first), now, &w) == OK)
		feed(s, all, step, out);
	grpc_session_free(&s);
	CHECK(open_calls == 0 && held == NULL);
	grpc_server_free(&server);
	buf_free(&first);
}

static void
to_client(const struct grpc_limits *l, struct str all, size_t step)
{
	struct grpc_owner nobody = { NULL, NULL };
	struct mono now = { NS_PER_S };
	struct why w = WHY_INIT;
	struct buf out = BUF_INIT;
	struct grpc_request r = { .path = "/c", .on = &asking };
	struct grpc_session *s = grpc_session_client(l, "http", "x", nobody,
	    now);
	struct grpc_call *c = grpc_call_new(s, &r, now, &w);

	CHECK(c != NULL);
	open_calls++;
	grpc_send(c, STR("x"));
	grpc_fill(s, &out, 1 << 16, now);
	feed(s, all, step, &out);
	grpc_session_free(&s);
	CHECK(open_calls == 0);
	buf_free(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct grpc_limits l = GRPC_LIMITS_DEFAULT;
	struct buf out = BUF_INIT;

	if (n < 2)
		return 0;
	l.message_bytes_max = 5000;
	l.stream_window_bytes = 70000;
	l.held_bytes_max = 10000;
	l.partial_bytes_max = 8000;
	struct str all = { (const char *)data + 2, n - 2 };
	size_t step = data[1] + 1u;
	if (!(data[0] & TO_CLIENT))
		to_server(&l, data[0], all, step, &out);
	to_client(&l, data[0] & TO_CLIENT ? all : buf_str(&out), step);
	buf_free(&out);
	return 0;
}

/*
 * A WebSocket's bytes: in pieces or at once the same messages come and the same
 * answers leave, and nothing is longer than the limit.
 */
#include "wire/web/ws.h"

#define BYTES_MAX 300u

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static bool client;

static void
message(void *arg, struct str m)
{
	CHECK(m.n <= BYTES_MAX);
	buf_put_field(arg, m);
}

static int
run(struct str in, size_t step, size_t frames,
    struct buf *messages, struct buf *out)
{
	struct ws *s = ws_new(client, BYTES_MAX, message,
	    messages);
	int code = 0;

	for (size_t at = 0, n; at < in.n && !ws_is_over(s); at += n) {
		n = ws_recv(s, str_cut(in, at, at + step), frames, out);
		CHECK(n > 0 && ws_partial(s) <= BYTES_MAX);
	}
	if (ws_is_over(s))
		code = ws_code(s);
	ws_free(&s);
	return code;
}

static bool
is_fault(int code)
{
	return code == 1002 || code == 1007;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	/* The last byte chooses the side; masks are random, so lengths are all
	 * that a client's answers have in common. */
	client = n > 0 && p[n - 1] & 1;
	struct str in = { (const char *)p, n - (n > 0) };
	struct buf one = BUF_INIT, two = BUF_INIT, out = BUF_INIT,
	    other = BUF_INIT;
	char accept[WS_ACCEPT_BYTES];

	int a = run(in, n + 1, SIZE_MAX, &one, &out);
	int b = run(in, n % 2 == 0 ? n + 1 : 1, 1, &two, &other);
	/*
	 * Of two faults in one frame either may be seen first, and one may be
	 * seen before the frame is whole, or not.
	 */
	CHECK(a == b || (is_fault(a) && is_fault(b)) || (a == 0 &&
	    is_fault(b)) || (b == 0 && is_fault(a)));
	CHECK(str_eq(buf_str(&one), buf_str(&two)));
	CHECK(a != b || (client ? out.n == other.n :
	    str_eq(buf_str(&out), buf_str(&other))));
	(void)ws_accept(str_cut(in, 0, 24), accept);
	buf_free(&one);
	buf_free(&two);
	buf_free(&out);
	buf_free(&other);
	return 0;
}

/* Calls of every kind between our client and our server, joined in memory. */
#include "wire/grpc/grpc_testing.h"
#include "tests/rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <nghttp2/nghttp2.h>

/* ---- The server's side -------------------------------------------------- */

static struct {
	struct grpc_call *held;      /* of Hold and Never */
	int messages, ends, half_closes, writables;
	enum grpc_code code;         /* of the last on_end */
	uint64_t left;
	int to_send;
} served;

static void
count_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	(void)text;
	served.ends++;
	served.code = code;
	served.left = grpc_messages_left(c);
	if (served.held == c)
		served.held = NULL;
}

static void
unary(struct grpc_call *c, struct str message)
{
	struct str code = grpc_metadata(c, STR("x-code"));
	uint64_t n;

	served.messages++;
	grpc_put_header(c, STR("x-echo"), grpc_metadata(c, STR("x-echo")));
	grpc_put_trailer(c, STR("x-echo-bin"),
	    grpc_metadata(c, STR("x-echo-bin")));
	if (str_to_u64(code, &n))
		grpc_finish(c, (enum grpc_code)n, "t\t\xc3\xbc%");
	else
		grpc_reply(c, message);
}

static void
count(struct grpc_call *c, struct str message)
{
	grpc_set_data(c, (void *)((uintptr_t)grpc_data(c) + message.n));
	served.messages++;
}

static void
count_done(struct grpc_call *c)
{
	char text[32];

	snprintf(text, sizeof(text), "%zu", (size_t)grpc_data(c));
	grpc_reply(c, str_of(text));
}

static void
send_more(struct grpc_call *c)
{
	char bytes[1000];

	memset(bytes, 'm', sizeof(bytes));
	served.writables++;
	while (served.to_send > 0) {
		served.to_send--;
		if (grpc_send(c, (struct str){ bytes, sizeof(bytes) }) !=
		    GRPC_ROOM && served.to_send > 0)
			return;
	}
	grpc_finish(c, GRPC_OK, NULL);
}

static void
many(struct grpc_call *c, struct str message)
{
	uint64_t n = 0;

	assert_true(str_to_u64(message, &n));
	served.to_send = (int)n;
	send_more(c);
}

static void
chat(struct grpc_call *c, struct str message)
{
	served.messages++;
	grpc_send(c, message);
}

static void
chat_done(struct grpc_call *c)
{
	served.half_closes++;
	grpc_finish(c, GRPC_OK, NULL);
}

static void
hold(struct grpc_call *c, struct str message)
{
	(void)message;
	served.messages++;
	served.held = c;
	grpc_pause(c);
}

static void
never(struct grpc_call *c, struct str message)
{
	(void)message;
	served.messages++;
	served.held = c;
}

static const struct grpc_method methods[] = {
	{ "/t.T/Unary", GRPC_UNARY, { .on_message = unary,
	    .on_end = count_end }, NULL, false },
	{ "/t.T/Count", GRPC_CLIENT_STREAM, { .on_message = count,
	    .on_half_close = count_done, .on_end = count_end }, NULL, false },
	{ "/t.T/Many", GRPC_SERVER_STREAM, { .on_message = many,
	    .on_writable = send_more, .on_end = count_end }, NULL, false },
	{ "/t.T/Chat", GRPC_BIDI, { .on_message = chat,
	    .on_half_close = chat_done, .on_end = count_end }, NULL, false },
	{ "/t.T/Hold", GRPC_BIDI, { .on_message = hold,
	    .on_half_close = chat_done, .on_end = count_end }, NULL, false },
	{ "/t.T/Never", GRPC_UNARY, { .on_message = never,
	    .on_end = count_end }, NULL, false },
};

/* ---- The client's side -------------------------------------------------- */

struct asked {
	int messages, ends;
	size_t bytes;
	enum grpc_code code;
	char text[200], header[50], trailer[50];
	bool pauses;
	struct grpc_call *call;
};

static void
copy(char *out, size_t room, struct str s)
{
	snprintf(out, room, "%.*s", STR_FMT(s));
}

static void
got_message(struct grpc_call *c, struct str message)
{
	struct asked *a = grpc_arg(c);

	a->messages++;
	a->bytes += message.n;
	if (a->pauses)
		grpc_pause(c);
}

static void
got_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	struct asked *a = grpc_arg(c);

	a->ends++;
	a->code = code;
	copy(a->text, sizeof(a->text), text);
	copy(a->header, sizeof(a->header), grpc_metadata(c, STR("x-echo")));
	copy(a->trailer, sizeof(a->trailer),
	    grpc_metadata(c, STR("x-echo-bin")));
	a->call = NULL;
}

static const struct grpc_events asking = { .on_message = got_message,
	.on_end = got_end };

static struct grpc_call *
ask(struct joined *j, struct asked *a, const char *path, int64_t timeout_ms)
{
	struct grpc_request r = { .path = path, .on = &asking, .arg = a,
	    .timeout_ns = timeout_ms * NS_PER_MS };
	struct why w = WHY_INIT;

	*a = (struct asked){ .code = GRPC_CODE_COUNT };
	a->call = grpc_call_new(j->c, &r, j->now, &w);
	assert_non_null(a->call);
	return a->call;
}

static void
ask_once(struct joined *j, struct asked *a, const char *path, struct str s)
{
	struct grpc_call *c = ask(j, a, path, 0);

	grpc_send(c, s);
	grpc_half_close(c);
	joined_run(j);
}

static void
open_all(struct joined *j, size_t cut_max)
{
	memset(&served, 0, sizeof(served));
	joined_open(j, methods, ARRAY_LEN(methods), NULL, NULL);
	j->cut_max = cut_max;
}

/* ---- Tests -------------------------------------------------------------- */

static void
test_unary(void **state)
{
	struct joined j;
	struct asked a;
	struct buf big = BUF_INIT;

	(void)state;
	/* More than a window. */
	memset(buf_grow(&big, ROUNDS(271828)), 'b', ROUNDS(271828));
	for (size_t cut = 1; cut < 100000; cut *= 7) {
		open_all(&j, cut);
		for (int i = 0; i < ROUNDS(100); i++) {
			ask_once(&j, &a, "/t.T/Unary", STR("hello"));
			assert_int_equal(a.ends, 1);
			assert_int_equal(a.code, GRPC_OK);
			assert_int_equal(a.messages, 1);
			assert_int_equal(a.bytes, 5);
		}
		ask_once(&j, &a, "/t.T/Unary", STR(""));
		assert_int_equal(a.messages, 1);
		ask_once(&j, &a, "/t.T/Unary", buf_str(&big));
		assert_int_equal(a.code, GRPC_OK);
		assert_int_equal(a.bytes, big.n);
		assert_int_equal(served.ends, ROUNDS(100) + 2);
		assert_int_equal(served.code, GRPC_OK);
		assert_int_equal(grpc_calls(j.s), 0);
		assert_int_equal(grpc_calls(j.c), 0);
		joined_close(&j);
	}
	buf_free(&big);
}

static void
test_metadata(void **state)
{
	struct joined j;
	struct asked a = { 0 };
	struct grpc_field fields[] = { { STR("x-echo"), STR("head value") },
	    { STR("x-echo-bin"), STR("\xff\x01 any") } };
	struct grpc_request r = { .path = "/t.T/Unary", .on = &asking,
	    .arg = &a, .fields = fields, .fields_n = 2 };

	(void)state;
	open_all(&j, 100);
	a.call = grpc_call_new(j.c, &r, j.now, NULL);
	grpc_send(a.call, STR("x"));
	grpc_half_close(a.call);
	joined_run(&j);
	assert_int_equal(a.code, GRPC_OK);
	assert_string_equal(a.header, "head value");
	assert_string_equal(a.trailer, "\xff\x01 any");

	/* An error with a text that needs escapes; no message. */
	fields[1] = (struct grpc_field){ STR("x-code"), STR("9") };
	a = (struct asked){ 0 };
	a.call = grpc_call_new(j.c, &r, j.now, NULL);
	grpc_send(a.call, STR("x"));
	grpc_half_close(a.call);
	joined_run(&j);
	assert_int_equal(a.code, GRPC_FAILED_PRECONDITION);
	assert_string_equal(a.text, "t\t\xc3\xbc%");
	assert_int_equal(a.messages, 0);
	assert_string_equal(a.header, "head value");

	struct why w = WHY_INIT;
	fields[0].name = STR("Upper");
	assert_null(grpc_call_new(j.c, &r, j.now, &w));
	assert_int_equal(w.err, ERR_INPUT);
	assert_int_equal(grpc_calls(j.c), 0);
	joined_close(&j);
}

static void
test_streams(void **state)
{
	struct joined j;
	struct asked a;

	(void)state;
	for (size_t cut = 3; cut < 100000; cut *= 31) {
		open_all(&j, cut);
		struct grpc_call *c = ask(&j, &a, "/t.T/Count", 0);
		for (int i = 0; i < 1000; i++) {
			grpc_send(c, STR("0123456789"));
			if (i % 100 == 0)
				joined_run(&j);
		}
		grpc_half_close(c);
		assert_int_equal(grpc_send(c, STR("late")), GRPC_GONE);
		joined_run(&j);
		assert_int_equal(served.messages, 1000);
		assert_int_equal(a.code, GRPC_OK);
		assert_int_equal(a.bytes, 5);     /* "10000" */

		ask_once(&j, &a, "/t.T/Many", STR("3000"));
		assert_int_equal(a.code, GRPC_OK);
		assert_int_equal(a.messages, 3000);
		assert_int_equal(a.bytes, 3000000);
		assert_true(served.writables > 3);
		assert_int_equal(served.left, 3000);

		c = ask(&j, &a, "/t.T/Chat", 0);
		for (int i = 1; i <= 20; i++) {
			grpc_send(c, STR("ping"));
			joined_run(&j);
			assert_int_equal(a.messages, i);
		}
		assert_int_equal(a.ends, 0);
		grpc_half_close(c);
		joined_run(&j);
		assert_int_equal(a.code, GRPC_OK);
		assert_int_equal(a.ends, 1);

		/* No message in either direction. */
		c = ask(&j, &a, "/t.T/Chat", 0);
		grpc_half_close(c);
		joined_run(&j);
		assert_int_equal(a.code, GRPC_OK);
		assert_int_equal(a.messages, 0);
		joined_close(&j);
	}
}

static void
test_refusals(void **state)
{
	struct joined j;
	struct asked a;
	struct buf big = BUF_INIT;

	(void)state;
	open_all(&j, 5000);
	ask_once(&j, &a, "/t.T/Absent", STR("x"));
	assert_int_equal(a.code, GRPC_UNIMPLEMENTED);
	ask_once(&j, &a, "/", STR("x"));
	assert_int_equal(a.code, GRPC_UNIMPLEMENTED);

	/* A method of one message wants exactly one. */
	struct grpc_call *c = ask(&j, &a, "/t.T/Unary", 0);
	grpc_half_close(c);
	joined_run(&j);
	assert_int_equal(a.code, GRPC_UNIMPLEMENTED);
	c = ask(&j, &a, "/t.T/Unary", 0);
	grpc_send(c, STR("1"));
	grpc_send(c, STR("2"));
	grpc_half_close(c);
	joined_run(&j);
	assert_int_equal(a.code, GRPC_UNIMPLEMENTED);
	assert_int_equal(served.messages, 0);

	memset(buf_grow(&big, (4 << 20) + 1), 'b', (4 << 20) + 1);
	ask_once(&j, &a, "/t.T/Unary", buf_str(&big));
	assert_int_equal(a.code, GRPC_RESOURCE_EXHAUSTED);
	ask_once(&j, &a, "/t.T/Unary", str_from(buf_str(&big), 1));
	assert_int_equal(a.code, GRPC_OK);
	assert_int_equal(a.bytes, 4 << 20);
	assert_false(j.server_failed);
	buf_free(&big);
	joined_close(&j);
}

/* A held call takes its window's worth and no more; resuming takes the rest. */
static void
test_backpressure(void **state)
{
	struct joined j;
	struct asked a, other;
	char bytes[10000];
	int sent;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	open_all(&j, 50000);
	struct grpc_call *c = ask(&j, &a, "/t.T/Hold", 0);
	for (sent = 1; grpc_send(c, (struct str){ bytes, sizeof(bytes) }) ==
	    GRPC_ROOM; sent++)
		joined_run(&j);
	joined_run(&j);
	assert_int_equal(served.messages, 1);
	/* 1 MiB of window, and what waits at the sender. */
	assert_in_range(sent * 10005, 1 << 20, (1 << 20) + 300000);
	/* Others are not held up by it. */
	ask_once(&j, &other, "/t.T/Unary", STR("hello"));
	assert_int_equal(other.code, GRPC_OK);
	served.messages--;
	for (int i = 1; i < sent; i++) {
		assert_int_equal(served.messages, i);
		grpc_resume(served.held);
		joined_run(&j);
	}
	assert_int_equal(served.messages, sent);
	grpc_half_close(c);
	joined_run(&j);
	assert_int_equal(served.half_closes, 0);
	grpc_resume(served.held);
	joined_run(&j);
	assert_int_equal(served.half_closes, 1);
	assert_int_equal(a.code, GRPC_OK);
	joined_close(&j);
}

/*
 * The end comes when a call was resumed and before what was kept is handed out:
 * it is told behind that.
 */
static void
test_end_behind_resume(void **state)
{
	struct joined j;
	struct asked a;
	struct buf up = BUF_INIT;

	(void)state;
	open_all(&j, 50000);
	struct grpc_call *c = ask(&j, &a, "/t.T/Hold", 0);
	for (int i = 0; i < 3; i++)
		grpc_send(c, STR("hello"));
	joined_run(&j);
	assert_int_equal(served.messages, 1);
	grpc_half_close(c);
	grpc_fill(j.c, &up, SIZE_MAX / 2, j.now);
	grpc_resume(served.held);
	assert_int_equal(grpc_recv(j.s, buf_str(&up), j.now, NULL), OK);
	for (int i = 2; i <= 3; i++) {
		joined_run(&j);
		assert_int_equal(served.messages, i);
		assert_int_equal(a.ends, 0);
		grpc_resume(served.held);
	}
	joined_run(&j);
	assert_int_equal(served.half_closes, 1);
	assert_int_equal(a.code, GRPC_OK);
	buf_free(&up);
	joined_close(&j);
}

/* Where the last HEADERS frame of these bytes begins. */
static size_t
last_headers(struct str bytes)
{
	size_t found = 0, at = 0;

	while (at + 9 <= bytes.n) {
		struct reader r = reader_of(str_from(bytes, at));
		size_t n = (size_t)read_u8(&r) << 16;
		n |= read_be16(&r);
		if (read_u8(&r) == NGHTTP2_HEADERS)
			found = at;
		at += 9 + n;
	}
	return found;
}

/* The same at a client: the trailers come between resume and what was kept. */
static void
test_trailers_behind_resume(void **state)
{
	struct joined j;
	struct asked a;
	struct buf up = BUF_INIT, down = BUF_INIT;

	(void)state;
	open_all(&j, 50000);
	ask_once(&j, &a, "/t.T/Unary", STR("x"));
	struct grpc_call *c = ask(&j, &a, "/t.T/Many", 0);
	a.pauses = true;
	grpc_send(c, STR("3"));
	grpc_half_close(c);
	grpc_fill(j.c, &up, SIZE_MAX / 2, j.now);
	assert_int_equal(grpc_recv(j.s, buf_str(&up), j.now, NULL), OK);
	grpc_fill(j.s, &down, SIZE_MAX / 2, j.now);
	size_t at = last_headers(buf_str(&down));
	assert_int_equal(grpc_recv(j.c, str_cut(buf_str(&down), 0, at),
	    j.now, NULL), OK);
	assert_int_equal(a.messages, 1);
	grpc_resume(c);
	assert_int_equal(grpc_recv(j.c, str_from(buf_str(&down), at), j.now,
	    NULL), OK);
	for (int i = 2; i <= 3; i++) {
		joined_run(&j);
		assert_int_equal(a.messages, i);
		assert_int_equal(a.ends, 0);
		grpc_resume(c);
	}
	joined_run(&j);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.code, GRPC_OK);
	assert_int_equal(grpc_calls(j.c), 0);
	buf_free(&up);
	buf_free(&down);
	joined_close(&j);
}

/* Held calls of one connection together keep held_bytes_max, then it waits. */
static void
test_many_held(void **state)
{
	enum { CALLS = 40 };
	struct joined j;
	static struct asked a[CALLS];
	struct asked other;
	static char bytes[200000];

	(void)state;
	open_all(&j, 500000);
	for (int i = 0; i < CALLS; i++) {
		ask(&j, &a[i], "/t.T/Hold", 0);
		for (int k = 0; k < 10; k++)
			grpc_send(a[i].call, (struct str){ bytes,
			    sizeof(bytes) });
		joined_run(&j);
	}
	assert_in_range(served.messages, 16, 24);
	/* The connection's window is closed now: cancelling opens it. */
	struct grpc_call *c = ask(&j, &other, "/t.T/Unary", 0);
	grpc_send(c, STR("hello"));
	grpc_half_close(c);
	joined_run(&j);
	assert_int_equal(other.ends, 0);
	for (int i = 0; i < CALLS; i++)
		grpc_cancel(a[i].call);
	joined_run(&j);
	assert_int_equal(other.code, GRPC_OK);
	assert_int_equal(grpc_calls(j.s), 0);
	joined_close(&j);
}

/* A client that pauses pushes the server back; the end comes last. */
static void
test_client_pauses(void **state)
{
	struct joined j;
	struct asked a;

	(void)state;
	open_all(&j, 50000);
	struct grpc_call *c = ask(&j, &a, "/t.T/Many", 0);
	a.pauses = true;
	grpc_send(c, STR("3000"));
	grpc_half_close(c);
	joined_run(&j);
	assert_int_equal(a.messages, 1);
	assert_true(served.to_send > 1000);
	for (int i = 2; i <= 3000; i++) {
		grpc_resume(c);
		joined_run(&j);
		assert_int_equal(a.messages, i);
		if (i < 3000)
			assert_int_equal(a.ends, 0);
	}
	grpc_resume(c);
	joined_run(&j);
	assert_int_equal(a.ends, 1);
	assert_int_equal(a.code, GRPC_OK);
	assert_int_equal(grpc_calls(j.c), 0);

	/* Cancelled while messages wait behind the end of the stream. */
	c = ask(&j, &a, "/t.T/Many", 0);
	a.pauses = true;
	grpc_send(c, STR("5"));
	grpc_half_close(c);
	joined_run(&j);
	assert_int_equal(grpc_calls(j.s), 0);
	assert_int_equal(a.messages, 1);
	grpc_cancel(c);
	assert_int_equal(a.code, GRPC_CANCELLED);
	joined_run(&j);
	assert_int_equal(grpc_calls(j.c), 0);
	assert_int_equal(a.ends, 1);
	joined_close(&j);
}

static void
test_cancel(void **state)
{
	struct joined j;
	struct asked a;

	(void)state;
	open_all(&j, 100);
	struct grpc_call *c = ask(&j, &a, "/t.T/Chat", 0);
	grpc_send(c, STR("x"));
	joined_run(&j);
	assert_int_equal(a.messages, 1);
	grpc_cancel(c);
	assert_int_equal(a.code, GRPC_CANCELLED);
	joined_run(&j);
	assert_int_equal(served.ends, 1);
	assert_int_equal(served.code, GRPC_CANCELLED);

	/* Before anything of it has left. */
	c = ask(&j, &a, "/t.T/Chat", 0);
	grpc_send(c, STR("x"));
	grpc_cancel(c);
	joined_run(&j);
	assert_int_equal(a.ends, 1);
	assert_int_equal(grpc_calls(j.c), 0);
	assert_int_equal(grpc_calls(j.s), 0);

	/* The connection is lost: both ends hear it. */
	c = ask(&j, &a, "/t.T/Never", 0);
	grpc_send(c, STR("x"));
	grpc_half_close(c);
	joined_run(&j);
	assert_non_null(served.held);
	grpc_session_free(&j.s);
	assert_int_equal(served.code, GRPC_UNAVAILABLE);
	grpc_session_free(&j.c);
	assert_int_equal(a.code, GRPC_UNAVAILABLE);
	joined_close(&j);
}

static void
cancel_and_read(struct grpc_call *c, struct str message)
{
	struct asked *a = grpc_arg(c);

	a->messages++;
	grpc_cancel(c);
	/* It stands until this returns. */
	for (size_t i = 0; i < message.n; i++)
		a->bytes += message.p[i] == 'b';
}

static void
test_cancel_inside(void **state)
{
	static const struct grpc_events cancelling = {
	    .on_message = cancel_and_read, .on_end = got_end };
	struct joined j;
	struct asked a = { 0 };
	struct grpc_request r = { .path = "/t.T/Chat", .on = &cancelling,
	    .arg = &a };
	struct buf big = BUF_INIT;

	(void)state;
	memset(buf_grow(&big, 300000), 'b', 300000);
	open_all(&j, 1000);
	struct grpc_call *c = grpc_call_new(j.c, &r, j.now, NULL);
	grpc_send(c, buf_str(&big));
	joined_run(&j);
	assert_int_equal(a.messages, 1);
	assert_int_equal(a.bytes, 300000);
	assert_int_equal(a.code, GRPC_CANCELLED);
	assert_int_equal(grpc_calls(j.s), 0);
	assert_int_equal(grpc_calls(j.c), 0);
	joined_close(&j);
	buf_free(&big);
}

static void
test_deadlines(void **state)
{
	struct joined j;
	struct asked a;

	(void)state;
	open_all(&j, 1000);
	struct grpc_call *c = ask(&j, &a, "/t.T/Never", 1500);
	grpc_send(c, STR("x"));
	grpc_half_close(c);
	joined_run(&j);
	assert_int_equal(grpc_deadline(served.held).ns - j.now.ns,
	    1500 * NS_PER_MS);
	joined_wait(&j, 1400);
	assert_int_equal(a.ends, 0);
	joined_wait(&j, 600);
	assert_int_equal(a.code, GRPC_DEADLINE_EXCEEDED);
	assert_int_equal(served.ends, 1);
	assert_int_equal(grpc_calls(j.s), 0);

	/* Less than the way here takes is over, however soon the answer is. */
	for (int64_t ns = 9999; ns <= 10000; ns++) {
		struct grpc_request r = { .path = "/t.T/Hold", .on = &asking,
		    .arg = &a, .timeout_ns = ns };
		struct why none = WHY_INIT;
		a = (struct asked){ .code = GRPC_CODE_COUNT };
		c = a.call = grpc_call_new(j.c, &r, j.now, &none);
		grpc_send(c, STR("x"));
		joined_run(&j);
		assert_int_equal(a.code, ns < 10000 ?
		    GRPC_DEADLINE_EXCEEDED : GRPC_CODE_COUNT);
	}
	joined_wait(&j, 100);
	assert_int_equal(a.code, GRPC_DEADLINE_EXCEEDED);

	/* The server tells it too, to a client that has no clock. */
	c = ask(&j, &a, "/t.T/Hold", 500);
	grpc_send(c, STR("x"));
	joined_run(&j);
	struct why w = WHY_INIT;
	j.now = mono_add_ms(j.now, 500);
	assert_int_equal(grpc_tick(j.s, j.now, &w), OK);
	assert_int_equal(served.code, GRPC_DEADLINE_EXCEEDED);
	joined_run(&j);
	assert_int_equal(a.code, GRPC_DEADLINE_EXCEEDED);
	assert_string_equal(a.text, "the deadline is over");
	assert_int_equal(grpc_calls(j.s), 0);
	joined_close(&j);
}

static void
test_drain(void **state)
{
	struct joined j;
	struct asked a, b;
	struct why w = WHY_INIT;

	(void)state;
	open_all(&j, 1000);
	struct grpc_call *c = ask(&j, &a, "/t.T/Chat", 0);
	grpc_send(c, STR("x"));
	joined_run(&j);
	grpc_drain(j.s, j.now);
	/* On its way while GOAWAY is: it is served. */
	ask_once(&j, &b, "/t.T/Unary", STR("x"));
	assert_int_equal(b.code, GRPC_OK);
	struct grpc_request r = { .path = "/t.T/Unary", .on = &asking,
	    .arg = &b };
	assert_null(grpc_call_new(j.c, &r, j.now, &w));
	assert_int_equal(w.err, ERR_CLOSED);
	assert_false(grpc_is_done(j.s));
	grpc_send(c, STR("y"));
	grpc_half_close(c);
	joined_run(&j);
	assert_int_equal(a.code, GRPC_OK);
	assert_int_equal(a.messages, 2);
	joined_wait(&j, 1500);
	assert_true(grpc_is_done(j.s));
	assert_true(grpc_is_done(j.c));
	joined_close(&j);
}

static void
test_keepalive(void **state)
{
	struct joined j;
	struct asked a;
	struct why w = WHY_INIT;

	(void)state;
	open_all(&j, 1000);
	struct grpc_call *c = ask(&j, &a, "/t.T/Never", 0);
	grpc_send(c, STR("x"));
	grpc_half_close(c);
	/* An idle peer that answers PINGs stays for as long as it likes. */
	joined_wait(&j, 600000);
	assert_false(j.server_failed);
	assert_false(j.client_failed);
	assert_int_equal(a.ends, 0);
	/* A dead one is found out. */
	int64_t began = j.now.ns;
	while (grpc_tick(j.c, j.now, &w) == OK) {
		grpc_fill(j.c, &j.up, 1 << 20, j.now);
		j.now = mono_add_ms(j.now, 1000);
	}
	assert_in_range((j.now.ns - began) / NS_PER_MS, 19000, 82000);
	assert_int_equal(w.err, ERR_TIMEOUT);
	grpc_session_free(&j.c);
	assert_int_equal(a.code, GRPC_DEADLINE_EXCEEDED);
	joined_close(&j);
}

static void
gate(struct grpc_call *c, void *arg)
{
	assert_true(arg == &served);
	if (grpc_metadata(c, STR("authorization")).p == NULL)
		grpc_finish(c, GRPC_UNAUTHENTICATED, "who are you?");
}

static void
test_gate(void **state)
{
	struct joined j;
	struct asked a;

	(void)state;
	open_all(&j, 1000);
	grpc_server_gate(j.server, gate, &served);
	ask_once(&j, &a, "/t.T/Unary", STR("x"));
	assert_int_equal(a.code, GRPC_UNAUTHENTICATED);
	assert_string_equal(a.text, "who are you?");
	assert_int_equal(served.messages, 0);
	assert_int_equal(served.ends, 0);
	joined_close(&j);
}

/* ---- A gate that lets calls wait ----------------------------------------- */

static struct {
	bool open;
	struct grpc_call *calls[4];
	size_t n;
	int ends;
	enum grpc_code code;
} door;

static void
waiting_end(struct grpc_call *c, enum grpc_code code, struct str text)
{
	(void)text;
	assert_ptr_equal(grpc_data(c), &door);
	door.ends++;
	door.code = code;
}

static const struct grpc_events waiting = { .on_end = waiting_end };

static void
slow_gate(struct grpc_call *c, void *arg)
{
	(void)arg;
	if (door.open) {
		grpc_set_data(c, NULL);
		if (grpc_metadata(c, STR("x-code")).p != NULL)
			grpc_finish(c, GRPC_UNAUTHENTICATED, "who are you?");
		return;
	}
	door.calls[door.n++] = c;
	grpc_set_data(c, &door);
	grpc_hold(c, &waiting);
}

static void
test_held_at_gate(void **state)
{
	struct joined j;
	struct asked one, late, stream, gone;

	(void)state;
	open_all(&j, 1000);
	memset(&door, 0, sizeof(door));
	grpc_server_gate(j.server, slow_gate, NULL);
	ask_once(&j, &one, "/t.T/Unary", STR("x"));
	struct grpc_call *c = ask(&j, &late, "/t.T/Unary", 1000);
	grpc_send(c, STR("y"));
	grpc_half_close(c);
	c = ask(&j, &stream, "/t.T/Count", 0);
	grpc_send(c, STR("12345"));
	joined_run(&j);
	struct grpc_call *leaves = ask(&j, &gone, "/t.T/Unary", 0);
	joined_run(&j);
	assert_int_equal(door.n, 4);
	assert_int_equal(served.messages, 0);
	/* The client leaves; another one's deadline is over. */
	grpc_cancel(leaves);
	joined_run(&j);
	assert_int_equal(door.ends, 1);
	assert_int_equal(door.code, GRPC_CANCELLED);
	joined_wait(&j, 2000);
	assert_int_equal(late.code, GRPC_DEADLINE_EXCEEDED);
	assert_int_equal(door.ends, 2);
	assert_int_equal(door.code, GRPC_DEADLINE_EXCEEDED);
	/* Bytes that came meanwhile are delivered, and later ones too. */
	door.open = true;
	grpc_admit(door.calls[0]);
	grpc_admit(door.calls[2]);
	joined_run(&j);
	assert_int_equal(one.code, GRPC_OK);
	grpc_send(c, STR("678"));
	grpc_half_close(c);
	joined_run(&j);
	assert_int_equal(stream.code, GRPC_OK);
	assert_int_equal(served.messages, 3);
	assert_int_equal(door.ends, 2);
	joined_close(&j);
}

/* The gate may still refuse it. */
static void
test_held_and_refused(void **state)
{
	const struct grpc_field field = { STR("x-code"), STR("1") };
	struct joined j;
	struct asked a = { .code = GRPC_CODE_COUNT };
	struct grpc_request r = { .path = "/t.T/Unary", .on = &asking,
	    .arg = &a, .fields = &field, .fields_n = 1 };
	struct why w = WHY_INIT;

	(void)state;
	open_all(&j, 1000);
	memset(&door, 0, sizeof(door));
	grpc_server_gate(j.server, slow_gate, NULL);
	struct grpc_call *c = grpc_call_new(j.c, &r, j.now, &w);
	grpc_send(c, STR("x"));
	grpc_half_close(c);
	joined_run(&j);
	door.open = true;
	grpc_admit(door.calls[0]);
	joined_run(&j);
	assert_int_equal(a.code, GRPC_UNAUTHENTICATED);
	assert_int_equal(served.messages, 0);
	assert_int_equal(door.ends, 0);
	joined_close(&j);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unary),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_backpressure),
		cmocka_unit_test(test_many_held),
		cmocka_unit_test(test_end_behind_resume),
		cmocka_unit_test(test_trailers_behind_resume),
		cmocka_unit_test(test_client_pauses),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_inside),
		cmocka_unit_test(test_deadlines),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_keepalive),
		cmocka_unit_test(test_gate),
		cmocka_unit_test(test_held_at_gate),
		cmocka_unit_test(test_held_and_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

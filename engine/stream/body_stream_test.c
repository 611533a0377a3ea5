#include "base/hash.h"
#include "engine/stream/stream_testing.h"

#define HEADS(lines) STR("HTTP/1.1 200 OK\r\n" lines "\r\n")

static struct rig rig;

static struct rig *
open_rig(void)
{
	stream_rig_init(&rig, NULL, 0);
	rig_open(&rig);
	return &rig;
}

/* A reader of one stream, and what it has of it. */
struct taker {
	struct body_stream *stream;
	struct buf got;
	unsigned told;
	bool asked, end;
	struct why why;
};

static void
ready(void *arg, struct str piece, bool end, const struct why *w)
{
	struct taker *t = arg;

	assert_true(t->asked && !t->end);
	assert_true(end || (piece.n > 0 && piece.n % 3 == 0));
	buf_put_str(&t->got, piece);
	t->asked = false;
	t->told++;
	t->end = end;
	t->why = *w;
}

static void
take_begin(struct rig *r, struct taker *t, uint64_t number)
{
	*t = (struct taker){ .stream = body_stream_open(r->stream, RIG_CRAWL,
	    number, ready, t) };
}

static void
take_next(struct taker *t)
{
	t->asked = true;
	body_stream_next(t->stream);
}

static void
take_end(struct taker *t)
{
	body_stream_close(&t->stream);
	assert_null(t->stream);
	buf_free(&t->got);
}

static void
expect_body(struct rig *r, uint64_t number, struct str body)
{
	struct taker t;

	take_begin(r, &t, number);
	while (!t.end) {
		take_next(&t);
		rig_run(r);
		assert_false(t.asked);
	}
	assert_int_equal(t.why.err, OK);
	if (!str_eq(buf_str(&t.got), body))
		fail_msg("item %llu: %zu bytes, not %zu",
		    (unsigned long long)number, t.got.n, body.n);
	take_end(&t);
}

/* --- what comes --------------------------------------------------------- */

static struct str
chunked(struct rig *r, struct str s)
{
	struct buf out = BUF_INIT;

	for (size_t at = 0; at < s.n; at += 7777) {
		struct str piece = str_cut(s, at, at + 7777);
		buf_printf(&out, "%zx\r\n", piece.n);
		buf_put_str(&out, piece);
		buf_put_text(&out, "\r\n");
	}
	buf_put_text(&out, "0\r\n\r\n");
	struct str copy = arena_copy(&r->arena, buf_str(&out));
	buf_free(&out);
	return copy;
}

static void
test_bodies(void **state)
{
	struct rig *r = open_rig();
	struct str plain = rig_bytes(r, 1000001, 1);
	struct str small = STR("small");

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .head = HEADS("A: 1\r\n"), .body = plain });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/2",
	    .head = HEADS("Content-Encoding: gzip\r\n"),
	    .body = rig_gzip(r, plain) });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/3",
	    .head = HEADS("Content-Encoding: gzip\r\n"
	    "Transfer-Encoding: chunked\r\n"),
	    .body = chunked(r, rig_gzip(r, plain)) });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/4",
	    .body = small });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/5" });
	rig_page(r, &(struct rig_page){ .url = "http://a.example/6",
	    .head = HEADS("A: 6\r\n"), .body = plain, .old = true });
	rig_show(r);
	rig_page(r, &(struct rig_page){ .url = "http://a.example/7",
	    .head = HEADS("A: 7\r\n"), .body = plain, .same_as = 1 });
	rig_show(r);
	for (uint64_t i = 1; i <= 7; i++)
		expect_body(r, i, i == 4 ? small : i == 5 ? STR_NONE : plain);
	rig_end(r);
}

static void
test_nothing(void **state)
{
	struct rig *r = open_rig();
	struct taker t;

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .body = STR("x"), .unarchived = true });
	rig_show(r);
	for (uint64_t i = 0; i < 3; i++) {
		take_begin(r, &t, i);
		take_next(&t);
		rig_run(r);
		assert_true(t.end);
		assert_int_equal(t.got.n, 0);
		assert_int_equal(t.why.err, ERR_ABSENT);
		take_end(&t);
	}
	rig_end(r);
}

/* Closed before it began, while it reads, while it waits, in its middle. */
static void
test_close(void **state)
{
	struct rig *r = open_rig();
	struct taker t[STREAM_STREAMS_MAX + 6];

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .body = rig_bytes(r, 500000, 1) });
	rig_show(r);
	for (int steps = 0; steps < 6; steps++) {
		take_begin(r, &t[0], 1);
		if (steps > 0)
			take_next(&t[0]);
		for (int i = 1; i < steps; i++)
			loop_step(r->loop);
		unsigned told = t[0].told;
		take_end(&t[0]);
		rig_run(r);
		assert_int_equal(t[0].told, told);
	}
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		take_begin(r, &t[i], 1);
		take_next(&t[i]);
	}
	rig_run(r);
	for (size_t i = ARRAY_LEN(t); i > 0; i--) {
		assert_int_equal(t[i - 1].told, i <= STREAM_STREAMS_MAX);
		take_end(&t[i - 1]);
	}
	rig_end(r);
}

/* --- turns -------------------------------------------------------------- */

/* Who stops keeps nobody waiting for long, and goes on where it was. */
static void
test_stopped(void **state)
{
	struct rig *r = open_rig();
	struct taker t[STREAM_STREAMS_MAX + 3];
	struct str plain = rig_bytes(r, 400001, 3);

	(void)state;
	rig_page(r, &(struct rig_page){ .url = "http://a.example/1",
	    .head = HEADS("Content-Encoding: gzip\r\n"),
	    .body = rig_gzip(r, plain) });
	rig_show(r);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		take_begin(r, &t[i], 1);
		take_next(&t[i]);
	}
	rig_pass(r, 500);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		assert_int_equal(t[i].told, i < STREAM_STREAMS_MAX);
	rig_pass(r, 2000);
	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		assert_int_equal(t[i].told, 1);
	/* Now all go on, in turns. */
	for (unsigned rounds = 0, ended = 0; ended < ARRAY_LEN(t); rounds++) {
		assert_true(rounds < 1000);
		ended = 0;
		for (size_t i = 0; i < ARRAY_LEN(t); i++) {
			if (t[i].end)
				ended++;
			else if (!t[i].asked)
				take_next(&t[i]);
		}
		rig_pass(r, 300);
	}
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		assert_true(str_eq(buf_str(&t[i].got), plain));
		take_end(&t[i]);
	}
	rig_end(r);
}

/* Many at random: each has its body in the end. */
static void
test_many(void **state)
{
	struct rig *r = open_rig();
	struct taker *t = mem_array(150, sizeof(*t));
	struct str bodies[5];
	char url[64];

	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(bodies); i++) {
		snprintf(url, sizeof(url), "http://a.example/%u", i);
		bodies[i] = rig_bytes(r, 150000 + 77777 * i, i);
		rig_page(r, &(struct rig_page){ .url = url, .head =
		    HEADS("Content-Encoding: gzip\r\n"),
		    .body = rig_gzip(r, bodies[i]) });
	}
	rig_show(r);
	for (unsigned i = 0; i < 150; i++)
		take_begin(r, &t[i], 1 + i % ARRAY_LEN(bodies));
	for (uint64_t n = 0, ended = 0; ended < 150; n++) {
		uint64_t dice = hash_u64(n + 5);
		struct taker *one = &t[dice % 150];
		assert_true(n < 1000000);
		if (!one->asked && !one->end)
			take_next(one);
		else if (one->end && one->stream != NULL)
			body_stream_close(&one->stream);
		if (dice / 1000 % 50 == 0)
			rig_pass(r, (int64_t)(dice >> 40) % 700);
		ended = 0;
		for (unsigned i = 0; i < 150; i++)
			ended += t[i].stream == NULL;
	}
	for (unsigned i = 0; i < 150; i++) {
		assert_true(str_eq(buf_str(&t[i].got),
		    bodies[i % ARRAY_LEN(bodies)]));
		take_end(&t[i]);
	}
	mem_free(&t);
	rig_end(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_close),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}

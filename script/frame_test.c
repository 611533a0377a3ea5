#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script/frame.h"

static void
feed(struct frame_reader *r, const struct buf *b)
{
	if (b->n > 0)
		memcpy(frame_room(r, b->n), b->p, b->n);
}

static void
test_a_message_comes_back(void **state)
{
	struct frame_reader r;
	struct buf b = BUF_INIT;
	struct message m;
	struct why w = WHY_INIT;
	bool got = false;

	(void)state;
	frame_reader_init(&r, 1000);
	frame_put(&b, FRAME_CALL, STR("{\"a\":1}"), STR("bytes"));
	frame_put(&b, FRAME_DONE, STR("{}"), STR_NONE);
	feed(&r, &b);
	assert_int_equal(frame_next(&r, &m, &got, &w), OK);
	assert_true(got);
	assert_int_equal(m.kind, FRAME_CALL);
	assert_true(str_eq(m.json, STR("{\"a\":1}")));
	assert_true(str_eq(m.body, STR("bytes")));
	assert_int_equal(frame_next(&r, &m, &got, &w), OK);
	assert_true(got);
	assert_int_equal(m.kind, FRAME_DONE);
	assert_int_equal(m.body.n, 0);
	assert_int_equal(frame_next(&r, &m, &got, &w), OK);
	assert_false(got);
	buf_free(&b);
	frame_reader_free(&r);
}

/* More than FRAME_PART_BYTES of JSON, of bytes, and of both. */
static void
test_a_long_message_comes_in_parts(void **state)
{
	static const size_t sizes[][2] = { { FRAME_PART_BYTES, 0 },
		{ 2, 3 * FRAME_PART_BYTES }, { 2, FRAME_PART_BYTES - 6 },
		{ 2, FRAME_PART_BYTES - 5 },
		{ 2 * FRAME_PART_BYTES, FRAME_PART_BYTES + 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct frame_reader r;
		struct buf b = BUF_INIT, json = BUF_INIT, body = BUF_INIT;
		struct message m;
		struct why w = WHY_INIT;
		bool got = false;
		memset(buf_grow(&json, sizes[i][0]), 'j', sizes[i][0]);
		if (sizes[i][1] > 0)
			memset(buf_grow(&body, sizes[i][1]), 'b', sizes[i][1]);
		frame_reader_init(&r, sizes[i][0] + sizes[i][1] + 4);
		frame_put(&b, FRAME_ANSWER, buf_str(&json), buf_str(&body));
		feed(&r, &b);
		assert_int_equal(frame_next(&r, &m, &got, &w), OK);
		assert_true(got);
		assert_true(str_eq(m.json, buf_str(&json)));
		assert_true(str_eq(m.body, buf_str(&body)));
		frame_reader_free(&r);
		/* One byte less room is too little. */
		frame_reader_init(&r, sizes[i][0] + sizes[i][1] + 3);
		feed(&r, &b);
		assert_int_equal(frame_next(&r, &m, &got, &w), ERR_INPUT);
		frame_reader_free(&r);
		buf_free(&b);
		buf_free(&json);
		buf_free(&body);
	}
}

static void
test_bad_frames_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *text;
	} rows[] = {
		{ "\xff\xff\xff\xff" "C", 5, "frame: 4294967295 bytes are too "
		    "long" },
		{ "\x02\x00\x00\x01" "C", 5, "frame: 33554433 bytes are too "
		    "long" },
		{ "\x00\x00\x00\x04" "Z\0\0\0\0", 9, "frame: unknown kind 90" },
		{ "\x00\x00\x00\x02" "C\0\0", 7, "frame: its JSON is cut" },
		{ "\x00\x00\x00\x05" "C\0\0\0\2{", 10, "frame: its JSON is "
		    "cut" },
		{ "\x00\x00\x00\x00" "C", 5, "frame: its JSON is cut" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame_reader r;
		struct message m;
		struct why w = WHY_INIT;
		bool got = false;
		frame_reader_init(&r, FRAME_BYTES_MAX);
		memcpy(frame_room(&r, rows[i].n), rows[i].bytes, rows[i].n);
		assert_int_equal(frame_next(&r, &m, &got, &w), ERR_INPUT);
		assert_string_equal(w.text, rows[i].text);
		frame_reader_free(&r);
	}
}

/* The longest length is no error, only not here yet. */
static void
test_the_longest_frame_is_awaited(void **state)
{
	struct frame_reader r;
	struct message m;
	struct why w = WHY_INIT;
	bool got = true;

	(void)state;
	frame_reader_init(&r, FRAME_BYTES_MAX);
	memcpy(frame_room(&r, 5), "\x02\x00\x00\x00" "C", 5);
	assert_int_equal(frame_next(&r, &m, &got, &w), OK);
	assert_false(got);
	frame_reader_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_comes_back),
		cmocka_unit_test(test_a_long_message_comes_in_parts),
		cmocka_unit_test(test_bad_frames_are_refused),
		cmocka_unit_test(test_the_longest_frame_is_awaited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

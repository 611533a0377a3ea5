/* Places of lists: those that lead on, and those that lead back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/connector/cursor.h"

static bool
move_to(struct cursor *c, unsigned n)
{
	char text[16];

	snprintf(text, sizeof(text), "p%u", n);
	return cursor_move(c, str_of(text));
}

static void
a_list_without_a_cycle_is_left_alone(void **state)
{
	struct cursor c = { .steps = 0 };

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		assert_true(move_to(&c, i));
	assert_true(str_eq(buf_str(&c.at), STR("p99999")));
	cursor_begin(&c);
	assert_int_equal(c.at.n, 0);
	assert_true(move_to(&c, 99999));
	cursor_free(&c);
}

/* After `before` other places come `length` ones, again and again. */
static void
expect_found(unsigned before, unsigned length)
{
	struct cursor c = { .steps = 0 };
	unsigned i = 0;

	while (move_to(&c, i < before ? i : before + (i - before) % length))
		i++;
	/* Never before one is repeated, and soon after that. */
	assert_in_range(i, before + length, 3 * (before + length) + 3);
	cursor_free(&c);
}

static void
every_cycle_is_found(void **state)
{
	(void)state;
	for (unsigned before = 0; before < 40; before++)
		for (unsigned length = 1; length < 40; length++)
			expect_found(before, length);
	expect_found(1000, 777);
}

static void
a_cycle_is_found_over_checkpoints(void **state)
{
	struct cursor c = { .steps = 0 };
	unsigned i = 0;

	(void)state;
	while (i < 1000 && move_to(&c, i % 7)) {
		struct buf saved = BUF_INIT;
		struct cursor other = { .steps = 0 };
		cursor_save(&c, &saved);
		struct reader r = reader_of(buf_str(&saved));
		assert_true(cursor_load(&other, &r));
		assert_int_equal(r.n, 0);
		cursor_free(&c);
		c = other;
		buf_free(&saved);
		i++;
	}
	assert_in_range(i, 7, 24);
	cursor_free(&c);
}

static void
what_cannot_be_a_place_is_refused(void **state)
{
	struct cursor c = { .steps = 0 };
	struct buf big = BUF_INIT;
	struct reader r = reader_of(STR("\1a\1a\5\4"));

	(void)state;
	memset(buf_grow(&big, CURSOR_BYTES_MAX + 1), 'x', CURSOR_BYTES_MAX + 1);
	assert_false(cursor_move(&c, buf_str(&big)));
	assert_true(cursor_move(&c, str_from(buf_str(&big), 1)));
	assert_false(cursor_move(&c, STR("")));
	assert_false(cursor_load(&c, &r));
	buf_free(&big);
	cursor_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_without_a_cycle_is_left_alone),
		cmocka_unit_test(every_cycle_is_found),
		cmocka_unit_test(a_cycle_is_found_over_checkpoints),
		cmocka_unit_test(what_cannot_be_a_place_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

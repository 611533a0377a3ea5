/* Cursors that repeat are noticed soon, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/connector/cursor_loop.h"

/* `lead` pages and then a loop of `length`: how many pages until it is found;
 * each step goes through a checkpoint. */
static unsigned
pages_until(unsigned lead, unsigned length, unsigned pages_max)
{
	struct cursor_loop l = { .pages = 0 };

	for (unsigned i = 0; i < pages_max; i++) {
		struct buf saved = BUF_INIT;
		char cursor[16];
		unsigned at = i < lead ? i : lead + (i - lead) % length;
		snprintf(cursor, sizeof(cursor), "c%u", at);
		bool closes = cursor_loop_closes(&l, str_of(cursor));
		if (closes)
			assert_true(i >= lead + length);
		cursor_loop_save(&l, &saved);
		struct reader r = reader_of(buf_str(&saved));
		struct cursor_loop again = { .pages = 7 };
		cursor_loop_read(&again, &r);
		assert_false(r.bad);
		assert_memory_equal(&again, &l, sizeof(l));
		buf_free(&saved);
		if (closes)
			return i + 1;
	}
	return 0;
}

static void
loops_are_found(void **state)
{
	(void)state;
	assert_int_equal(pages_until(0, 1, 10), 2);
	assert_int_equal(pages_until(900, 1, 2000), 902);
	for (unsigned lead = 0; lead < 40; lead++)
		for (unsigned length = 1; length < 40; length++)
			assert_in_range(pages_until(lead, length, 1000),
			    lead + length + 1, 3 * (lead + length) + 3);
}

static void
a_long_list_is_no_loop(void **state)
{
	(void)state;
	assert_int_equal(pages_until(20000, 1, 20000), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_are_found),
		cmocka_unit_test(a_long_list_is_no_loop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

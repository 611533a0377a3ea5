/* Loads: of turns, of turns for others, and of loops without a turn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/fetcher/loop_load.h"

static struct loop_load load;
static struct mono now;

static void
begin_load(void)
{
	now = (struct mono){ 100 * NS_PER_MS };
	load = (struct loop_load){ .since = now };
}

/* A turn of so long, of which a part is lent, after a wait; microseconds. */
static void
take_turn(int64_t waits_us, int64_t lent_us, int64_t own_us)
{
	now.ns += waits_us * 1000;
	struct mono from = now;
	now.ns += lent_us * 1000;
	if (lent_us > 0)
		loop_load_lent(&load, from, now);
	now.ns += own_us * 1000;
	loop_load_turn(&load, from, now);
}

static void
the_load_is_the_part_of_own_work(void **state)
{
	(void)state;
	begin_load();
	for (int i = 0; i < 8; i++)
		take_turn(250, 0, 750);
	assert_int_equal(loop_load_permille(&load), 750);
	begin_load();
	for (int i = 0; i < 8; i++)
		take_turn(300, 600, 100);
	assert_int_equal(loop_load_permille(&load), 100);
	begin_load();
	for (int i = 0; i < 8; i++)
		take_turn(0, 0, 1000);
	assert_int_equal(loop_load_permille(&load), 1000);
}

static void
a_measurement_takes_its_time(void **state)
{
	(void)state;
	begin_load();
	take_turn(0, 0, LOOP_LOAD_MS * 1000 - 1);
	assert_int_equal(loop_load_permille(&load), 0);
	take_turn(0, 0, 1);
	assert_int_equal(loop_load_permille(&load), 1000);
	/* The next one begins with nothing. */
	take_turn(LOOP_LOAD_MS * 1000 - 400, 0, 400);
	assert_int_equal(loop_load_permille(&load), 100);
}

static void
a_loop_is_idle_beside_one_with_twice_its_load(void **state)
{
	(void)state;
	begin_load();
	assert_true(loop_load_is_idle(&load, 0, now));
	take_turn(7000, 0, 3000);
	assert_int_equal(loop_load_permille(&load), 300);
	assert_false(loop_load_is_idle(&load, 599, now));
	assert_true(loop_load_is_idle(&load, 600, now));
	/* Work for others leaves it idle. */
	take_turn(0, 9000, 1000);
	assert_false(loop_load_is_idle(&load, 199, now));
	assert_true(loop_load_is_idle(&load, 200, now));
}

static void
a_loop_without_a_turn_is_idle(void **state)
{
	(void)state;
	begin_load();
	take_turn(0, 0, 8000);
	assert_false(loop_load_is_idle(&load, 1000, now));
	assert_false(loop_load_is_idle(&load, 1000, mono_add_ms(now,
	    LOOP_LOAD_STALE_MS)));
	assert_true(loop_load_is_idle(&load, 0, mono_add_ms(now,
	    LOOP_LOAD_STALE_MS + 1)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_load_is_the_part_of_own_work),
		cmocka_unit_test(a_measurement_takes_its_time),
		cmocka_unit_test(
		    a_loop_is_idle_beside_one_with_twice_its_load),
		cmocka_unit_test(a_loop_without_a_turn_is_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

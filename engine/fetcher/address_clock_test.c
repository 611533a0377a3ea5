#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/fetcher/address_clock.h"

#define MS(n) ((struct mono){ INT64_C(1000000) * (1000000 + (n)) })

static struct address_clock *address_clock;

static struct ip
address(uint8_t last)
{
	return (struct ip){ { [10] = 0xff, [11] = 0xff, [12] = 192, [15] =
	    last } };
}

/* The time that is reserved, in ms as MS() has it. */
static int64_t
reserve(uint8_t last, int64_t now, int64_t spacing)
{
	struct ip ip = address(last);
	struct mono at;

	assert_true(address_clock_reserve(address_clock, &ip, MS(now), spacing,
	    &at));
	return at.ns / 1000000 - 1000000;
}

static int
setup(void **state)
{
	(void)state;
	address_clock = address_clock_new();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	address_clock_free(&address_clock);
	return 0;
}

static void
requests_to_an_address_are_spaced(void **state)
{
	(void)state;
	assert_int_equal(reserve(1, 0, 250), 0);
	assert_int_equal(reserve(1, 0, 250), 250);
	assert_int_equal(reserve(1, 1, 250), 500);
	/* The edge: a moment before it is due, and when it is. */
	assert_int_equal(reserve(1, 749, 250), 750);
	assert_int_equal(reserve(1, 1000, 250), 1000);
	assert_int_equal(reserve(1, 1251, 250), 1251);
	/* Another address has its own time. */
	assert_int_equal(reserve(2, 1251, 250), 1251);
	/* A shorter spacing holds from the request that has it. */
	assert_int_equal(reserve(1, 1251, 30), 1501);
	assert_int_equal(reserve(1, 1251, 250), 1531);
}

static void
what_is_reserved_ahead_is_limited(void **state)
{
	struct ip ip = address(1);
	struct mono at;

	(void)state;
	for (int i = 0; i <= 20; i++)
		assert_int_equal(reserve(1, 0, 250), 250 * i);
	assert_false(address_clock_reserve(address_clock, &ip, MS(0), 250,
	    &at));
	assert_in_range(at.ns - MS(0).ns, 2500 * NS_PER_MS, 5000 * NS_PER_MS);
	/* Nothing was reserved by that. */
	assert_int_equal(reserve(1, 250, 250), 5250);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    requests_to_an_address_are_spaced, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    what_is_reserved_ahead_is_limited, setup, teardown),
	};

	return cmocka_run_group_tests_name("address_clock", tests, NULL,
	    NULL);
}

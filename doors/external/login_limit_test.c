/* The limit of calls without a ticket, at its edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "doors/external/login_limit.h"

static struct mono
at_ms(int64_t ms)
{
	return (struct mono){ ms * NS_PER_MS };
}

static void
calls_of_a_minute(void **state)
{
	struct login_limit l = { .keys = MAP_INIT };

	(void)state;
	for (unsigned i = 0; i < LOGIN_LIMIT_CALLS; i++)
		assert_int_equal(login_limit_count(&l, STR("a"),
		    at_ms(1000 * i)), 0);
	/* The eleventh waits for the end of the first one's minute. */
	assert_int_equal(login_limit_count(&l, STR("a"), at_ms(9001)), 51);
	assert_int_equal(login_limit_count(&l, STR("a"), at_ms(59999)), 1);
	assert_int_equal(login_limit_count(&l, STR("b"), at_ms(59999)), 0);
	assert_int_equal(login_limit_count(&l, STR("a"), at_ms(60000)), 0);
	/* Now the second one's. */
	assert_int_equal(login_limit_count(&l, STR("a"), at_ms(60000)), 1);
	assert_int_equal(login_limit_count(&l, STR("a"), at_ms(61000)), 0);
	login_limit_free(&l);
}

static void
as_many_keys(void **state)
{
	struct login_limit l = { .keys = MAP_INIT };
	char key[16];

	(void)state;
	for (unsigned i = 0; i < LOGIN_LIMIT_KEYS_MAX; i++) {
		snprintf(key, sizeof(key), "k%u", i);
		assert_int_equal(login_limit_count(&l, str_of(key), at_ms(i)),
		    0);
	}
	assert_int_equal(login_limit_count(&l, STR("one more"),
	    at_ms(LOGIN_LIMIT_MS - 1)), LOGIN_LIMIT_MS / 1000);
	assert_int_equal(login_limit_count(&l, STR("k7"),
	    at_ms(LOGIN_LIMIT_MS - 1)), 0);
	/* The first key's minute is over; k7 has called again. */
	assert_int_equal(login_limit_count(&l, STR("one more"),
	    at_ms(LOGIN_LIMIT_MS)), 0);
	assert_int_equal(login_limit_count(&l, STR("two more"),
	    at_ms(LOGIN_LIMIT_MS)), LOGIN_LIMIT_MS / 1000);
	login_limit_free(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_a_minute),
		cmocka_unit_test(as_many_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

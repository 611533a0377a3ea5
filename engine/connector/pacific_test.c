/* Midnights of Los Angeles, in winter, in summer and where they meet. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/connector/pacific.h"

static void
expect_midnight(const char *now, const char *want)
{
	struct wall at, wanted;

	assert_true(wall_from_iso(str_of(now), &at));
	assert_true(wall_from_iso(str_of(want), &wanted));
	assert_int_equal(pacific_midnight(at).us, wanted.us);
}

static void
midnights_are_those_of_los_angeles(void **state)
{
	(void)state;
	expect_midnight("2026-11-20T09:00:00Z", "2026-11-21T08:00:00Z");
	expect_midnight("2026-11-20T07:59:59.999Z", "2026-11-20T08:00:00Z");
	expect_midnight("2026-11-20T08:00:00Z", "2026-11-21T08:00:00Z");
	expect_midnight("2026-07-01T06:59:59Z", "2026-07-01T07:00:00Z");
	expect_midnight("2026-07-01T07:00:00Z", "2026-07-02T07:00:00Z");
	expect_midnight("2023-12-31T12:00:00Z", "2024-01-01T08:00:00Z");
}

static void
days_on_which_the_clock_changes_have_23_and_25_hours(void **state)
{
	(void)state;
	/* March 8 and November 1, 2026. */
	expect_midnight("2026-03-08T07:59:59Z", "2026-03-08T08:00:00Z");
	expect_midnight("2026-03-08T08:00:00Z", "2026-03-09T07:00:00Z");
	expect_midnight("2026-03-08T09:59:59Z", "2026-03-09T07:00:00Z");
	expect_midnight("2026-03-08T10:00:00Z", "2026-03-09T07:00:00Z");
	expect_midnight("2026-11-01T06:59:59Z", "2026-11-01T07:00:00Z");
	expect_midnight("2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z");
	expect_midnight("2026-11-01T09:00:00Z", "2026-11-02T08:00:00Z");
	/* In 2024, with a leap day before them, March 10 and November 3. */
	expect_midnight("2024-03-10T08:00:00Z", "2024-03-11T07:00:00Z");
	expect_midnight("2024-03-11T07:00:00Z", "2024-03-12T07:00:00Z");
	expect_midnight("2024-11-03T07:00:00Z", "2024-11-04T08:00:00Z");
	/* Months that begin on a Sunday: March 2026 and November 2026 do, and
	 * March 2020 and November 2020, after a leap day. */
	expect_midnight("2020-03-08T08:00:00Z", "2020-03-09T07:00:00Z");
	expect_midnight("2020-11-01T07:00:00Z", "2020-11-02T08:00:00Z");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(midnights_are_those_of_los_angeles),
		cmocka_unit_test(
		    days_on_which_the_clock_changes_have_23_and_25_hours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

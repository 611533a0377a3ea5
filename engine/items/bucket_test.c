/* Tokens of rates: how many, when, and after a change of rate or clock. */
#include "engine/items/bucket.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct wall t0 = { INT64_C(1795166296000000) };

static struct wall
after(int64_t us)
{
	return (struct wall){ t0.us + us };
}

static void
a_full_bucket_has_its_burst(void **state)
{
	struct task_rate rate = { .set = true, .n = 2, .per_us = US_PER_S,
	    .burst = 10 };
	struct bucket_row b = { .full_at = { 0 } };

	(void)state;
	assert_int_equal(bucket_left(&b, &rate, t0), 10);
	bucket_take(&b, &rate, 10, t0);
	assert_int_equal(bucket_left(&b, &rate, t0), 0);
	assert_int_equal(bucket_next(&b, &rate, t0).us, t0.us + 500000);
	assert_int_equal(bucket_left(&b, &rate, after(499999)), 0);
	assert_int_equal(bucket_left(&b, &rate, after(500000)), 1);
	assert_int_equal(bucket_left(&b, &rate, after(5000000)), 10);
	assert_int_equal(bucket_left(&b, &rate, after(US_PER_S * 3600)), 10);
}

static void
tokens_go_back(void **state)
{
	struct task_rate rate = { .set = true, .n = 1, .per_us = US_PER_S,
	    .burst = 3 };
	struct bucket_row b = { .full_at = { 0 } };

	(void)state;
	bucket_take(&b, &rate, 2, t0);
	bucket_take(&b, &rate, -1, t0);
	assert_int_equal(bucket_left(&b, &rate, t0), 2);
	bucket_take(&b, &rate, -5, t0);
	assert_int_equal(bucket_left(&b, &rate, t0), 3);
}

/* 3/s: a third of a second is no whole number of microseconds. */
static void
uneven_rates_keep_their_pace(void **state)
{
	static const int64_t ns[] = { 3, 7, 999, 300000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ns); i++) {
		struct task_rate rate = { .set = true, .n = ns[i],
		    .per_us = US_PER_S, .burst = 1 };
		struct bucket_row b = { .full_at = { 0 } };
		struct wall now = t0;
		int64_t n = 0;

		while (now.us < t0.us + US_PER_S) {
			now = bucket_next(&b, &rate, now);
			assert_int_equal(bucket_left(&b, &rate, now), 1);
			bucket_take(&b, &rate, 1, now);
			n++;
		}
		/* Each of single tokens is rounded up to a microsecond. */
		assert_in_range(n, ns[i] * 3 / 4, ns[i] + 1);
	}
}

/* Taken together they are rounded once. */
static void
batches_are_exact(void **state)
{
	struct task_rate rate = { .set = true, .n = 300000, .per_us = US_PER_S,
	    .burst = 1000 };
	struct bucket_row b = { .full_at = { 0 } };

	(void)state;
	bucket_take(&b, &rate, 1000, t0);
	assert_int_equal(bucket_left(&b, &rate, after(3333)), 999);
	assert_int_equal(bucket_left(&b, &rate, after(3334)), 1000);
}

/* Emptied under 1/h, or before the clock went back: it fills by the rate that
 * is in force. */
static void
an_older_rate_does_not_hold_it(void **state)
{
	struct task_rate slow = { .set = true, .n = 1, .per_us = 3600 *
	    US_PER_S, .burst = 1 };
	struct task_rate quick = { .set = true, .n = 10, .per_us = US_PER_S,
	    .burst = 1 };
	struct bucket_row b = { .full_at = { 0 } };

	(void)state;
	bucket_take(&b, &slow, 1, t0);
	assert_false(bucket_is_late(&b, &slow, t0));
	assert_int_equal(bucket_next(&b, &slow, t0).us,
	    t0.us + 3600 * US_PER_S);
	assert_true(bucket_is_late(&b, &quick, t0));
	bucket_take(&b, &quick, 0, t0);
	assert_false(bucket_is_late(&b, &quick, t0));
	assert_int_equal(bucket_next(&b, &quick, t0).us, t0.us + 100000);
	assert_int_equal(bucket_left(&b, &quick, after(100000)), 1);
	struct wall back = { t0.us - 24 * 3600 * US_PER_S };
	assert_true(bucket_is_late(&b, &slow, back));
	bucket_take(&b, &slow, 0, back);
	assert_int_equal(bucket_next(&b, &slow, back).us,
	    back.us + 3600 * US_PER_S);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_bucket_has_its_burst),
		cmocka_unit_test(tokens_go_back),
		cmocka_unit_test(uneven_rates_keep_their_pace),
		cmocka_unit_test(batches_are_exact),
		cmocka_unit_test(an_older_rate_does_not_hold_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

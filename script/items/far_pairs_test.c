/* Pairs that claims pass over, each until a turn of its own. */
#include "script/items/far_pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

static struct mono
put(struct far_pairs *f, uint32_t task, int64_t item, const char *host,
    int64_t turn_ms, int64_t delay_ms)
{
	struct far_turn t = { str_of(host), turn_ms, delay_ms };

	return far_pairs_put(f, task, item, &t);
}

#define HOST "slow.example"

static void
each_has_a_turn_of_its_own(void **state)
{
	struct far_pairs *f = far_pairs_new();
	struct mono now = clock_mono();

	(void)state;
	for (int64_t i = 0; i < 4; i++) {
		struct mono at = put(f, 1, i, HOST, 5000, 2000);
		assert_in_range(mono_ns_between(now, at) / 1000000,
		    5000 + 2000 * i, 5100 + 2000 * i);
	}
	/* Another host has its own; a turn that is further is taken. */
	struct mono at = put(f, 1, 4, "b.example", 3000, 2000);
	assert_in_range(mono_ns_between(now, at) / 1000000, 3000, 3100);
	at = put(f, 1, 5, HOST, 60000, 2000);
	assert_in_range(mono_ns_between(now, at) / 1000000, 60000, 60100);
	for (int64_t i = 0; i < 6; i++)
		assert_true(far_pairs_wait_ms(f, 1, i) > 0);
	/* A worker that says it twice takes no second turn. */
	at = put(f, 1, 0, HOST, 5000, 2000);
	assert_in_range(mono_ns_between(now, at) / 1000000, 5000, 5100);
	assert_int_equal(far_pairs_wait_ms(f, 2, 0), 0);
	assert_int_equal(far_pairs_wait_ms(f, 1, 6), 0);
	far_pairs_free(&f);
	assert_null(f);
}

static void
it_is_over_when_the_turn_comes(void **state)
{
	struct far_pairs *f = far_pairs_new();

	(void)state;
	put(f, 1, 7, HOST, 0, 0);
	assert_int_equal(far_pairs_count(f), 1);
	assert_int_equal(far_pairs_wait_ms(f, 1, 7), 0);
	assert_true(far_pairs_take(f, 1, 7));
	assert_false(far_pairs_take(f, 1, 7));
	assert_int_equal(far_pairs_count(f), 0);
	far_pairs_free(&f);
}

static void
no_pair_waits_for_ever(void **state)
{
	struct far_pairs *f = far_pairs_new();
	struct mono now = clock_mono();

	(void)state;
	for (int64_t i = 0; i < 3; i++) {
		struct mono at = put(f, 1, i, HOST, INT64_C(1) << 40,
		    1000);
		assert_in_range(mono_ns_between(now, at) / 1000000,
		    FAR_PAIRS_MS_MAX, FAR_PAIRS_MS_MAX + 100);
	}
	far_pairs_free(&f);
}

/* The next one is not kept; when some are over there is room again. */
static void
they_are_limited(void **state)
{
	struct far_pairs *f = far_pairs_new();

	(void)state;
	put(f, 2, 0, "b.example", 0, 0);
	for (size_t i = 1; i < FAR_PAIRS_MAX; i++)
		put(f, 1, (int64_t)i, HOST, 60000, 0);
	assert_int_equal(far_pairs_count(f), FAR_PAIRS_MAX);
	put(f, 1, FAR_PAIRS_MAX, HOST, 60000, 0);
	assert_int_equal(far_pairs_count(f), FAR_PAIRS_MAX);
	assert_true(far_pairs_wait_ms(f, 1, FAR_PAIRS_MAX) > 0);
	put(f, 1, FAR_PAIRS_MAX + 1, HOST, 60000, 0);
	assert_int_equal(far_pairs_wait_ms(f, 1, FAR_PAIRS_MAX + 1), 0);
	far_pairs_free(&f);
}

/* -- Pairs that are not started -- */

#define QUICK_URL "http://quick.example/"
#define SLOW_URL "http://" HOST "/"

static bool
guess_pair(struct far_pairs *f, int64_t item, const char *url)
{
	return far_pairs_guess(f, 1, item, str_of(url), STR("{}"));
}

/* Runs of task 1 ask the host of their item's id. */
static struct far_pairs *
new_taught_pairs(void)
{
	struct far_pairs *f = far_pairs_new();
	const struct first_fetch first = { STR(SLOW_URL), STR("{}"),
	    STR(HOST) };

	for (unsigned i = 0; i < FIRST_HOSTS_SURE; i++)
		far_pairs_learn(f, 1, &first);
	return f;
}

static void
pairs_of_a_far_host_are_not_started(void **state)
{
	struct far_pairs *f = new_taught_pairs();
	unsigned started = 0;

	(void)state;
	assert_false(guess_pair(f, 1, SLOW_URL));
	put(f, 1, 1, HOST, 5000, 5000);
	for (int64_t i = 2; i < 2 + 10 * FAR_PAIRS_TRIED; i++) {
		assert_false(guess_pair(f, i + 1000, QUICK_URL));
		started += !guess_pair(f, i, SLOW_URL);
	}
	assert_int_equal(started, 10);
	/* Each has a turn of its own. */
	assert_in_range(far_pairs_wait_ms(f, 1, 2), 9000, 10001);
	assert_in_range(far_pairs_wait_ms(f, 1, 3), 14000, 15001);
	far_pairs_free(&f);
}

/* At least one in FAR_PAIRS_TRIED_MAX. */
static void
fewer_are_started_the_surer_the_guess(void **state)
{
	struct far_pairs *f = new_taught_pairs();
	const struct first_fetch run = { STR(QUICK_URL), STR("{}"),
	    STR("quick.example") };
	/* Runs that have followed the rule, the second time twice as many as
	 * make a difference, and how many pairs go with one that is started. */
	const unsigned runs[] = { 40 * FAR_PAIRS_TRIED,
		2 * FAR_PAIRS_TRIED * FAR_PAIRS_TRIED_MAX };
	const unsigned each[] = { 40, FAR_PAIRS_TRIED_MAX };
	unsigned right = FIRST_HOSTS_SURE;
	int64_t item = 1;

	(void)state;
	put(f, 1, item, HOST, 5000, 5000);
	for (unsigned i = 0; i < ARRAY_LEN(runs); i++) {
		unsigned started = 0;

		for (; right < runs[i]; right++)
			far_pairs_learn(f, 1, &run);
		for (unsigned k = 0; k < 3 * each[i]; k++)
			started += !guess_pair(f, ++item, SLOW_URL);
		assert_int_equal(started, 3);
	}
	far_pairs_free(&f);
}

/* It is passed over for an hour, and then as any other. */
static void
a_turn_after_an_hour_is_not_given_away(void **state)
{
	struct far_pairs *f = new_taught_pairs();
	const int64_t hour_ms = FAR_PAIRS_MS_MAX;

	(void)state;
	put(f, 1, 1, HOST, hour_ms - 60000, 100000);
	assert_true(guess_pair(f, 2, SLOW_URL));
	assert_in_range(far_pairs_wait_ms(f, 1, 2), hour_ms - 100,
	    hour_ms + 1);
	assert_true(far_pairs_take(f, 1, 1));
	assert_false(far_pairs_take(f, 1, 2));
	far_pairs_free(&f);
}

/* That many others have got turns behind it makes no difference. */
static void
one_is_started_when_its_turn_comes(void **state)
{
	struct far_pairs *f = new_taught_pairs();

	(void)state;
	put(f, 1, 1, HOST, FAR_PAIRS_MS_MIN, 100);
	assert_true(guess_pair(f, 2, SLOW_URL));
	while (far_pairs_wait_ms(f, 1, 1) > 0 || far_pairs_wait_ms(f, 1, 2) > 0)
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	put(f, 1, 3, HOST, 60000, 100);
	for (int64_t i = 1; i <= 2; i++) {
		assert_true(far_pairs_take(f, 1, i));
		assert_true(guess_pair(f, i, SLOW_URL));
	}
	far_pairs_free(&f);
}

static void
a_near_turn_is_waited_for(void **state)
{
	struct far_pairs *f = new_taught_pairs();

	(void)state;
	put(f, 1, 1, HOST, FAR_PAIRS_MS_MIN / 2, FAR_PAIRS_MS_MIN / 4);
	assert_false(guess_pair(f, 2, SLOW_URL));
	far_pairs_free(&f);
}

/* Those of the task are due at once; one that was put back is not. */
static void
a_wrong_guess_holds_nobody_up(void **state)
{
	struct far_pairs *f = new_taught_pairs();

	(void)state;
	put(f, 1, 1, HOST, 5000, 5000);
	assert_true(guess_pair(f, 2, SLOW_URL));
	far_pairs_learn(f, 1, &(struct first_fetch){ STR(SLOW_URL), STR("{}"),
	    STR("api.example") });
	assert_int_equal(far_pairs_wait_ms(f, 1, 2), 0);
	assert_false(far_pairs_take(f, 1, 2));
	assert_false(guess_pair(f, 2, SLOW_URL));
	assert_true(far_pairs_wait_ms(f, 1, 1) > 0);
	far_pairs_free(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_has_a_turn_of_its_own),
		cmocka_unit_test(it_is_over_when_the_turn_comes),
		cmocka_unit_test(no_pair_waits_for_ever),
		cmocka_unit_test(they_are_limited),
		cmocka_unit_test(pairs_of_a_far_host_are_not_started),
		cmocka_unit_test(fewer_are_started_the_surer_the_guess),
		cmocka_unit_test(a_turn_after_an_hour_is_not_given_away),
		cmocka_unit_test(one_is_started_when_its_turn_comes),
		cmocka_unit_test(a_near_turn_is_waited_for),
		cmocka_unit_test(a_wrong_guess_holds_nobody_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The limits of what is not durable: what all loops share, and each one's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/fetcher/outbox.h"

#define LOOPS_MAX 4

static struct fetch_settings settings;
static struct uncommitted uncommitted;
static struct outbox outboxes[LOOPS_MAX];
static struct fetcher fetchers[LOOPS_MAX];

static void
open_outboxes(size_t loops, size_t pages_max, size_t bytes_max)
{
	memset(&uncommitted, 0, sizeof(uncommitted));
	memset(outboxes, 0, sizeof(outboxes));
	settings = (struct fetch_settings){ .uncommitted_max = pages_max,
	    .uncommitted_bytes_max = bytes_max };
	for (size_t i = 0; i < loops; i++) {
		memset(&fetchers[i], 0, sizeof(fetchers[i]));
		fetchers[i].options.all_n = loops;
		fetchers[i].options.uncommitted = &uncommitted;
		fetchers[i].outbox = &outboxes[i];
		atomic_init(&fetchers[i].settings, &settings);
	}
}

/* How many pages of so many bytes the loop may hand over. */
static size_t
fill(size_t loop, size_t bytes)
{
	struct fetcher *f = &fetchers[loop];
	size_t n = 0;

	for (; !outbox_is_full(f); n++) {
		assert_true(n < 1000);
		outbox_count(f, bytes);
	}
	return n;
}

static void
one_loop_has_the_whole_limit(void **state)
{
	(void)state;
	open_outboxes(1, 100, 1000000);
	assert_int_equal(fill(0, 1), 100);
	open_outboxes(1, 100, 1000);
	assert_int_equal(fill(0, 20), 50);
	open_outboxes(1, 1, 1000);
	assert_int_equal(fill(0, 20), 1);
}

/* A quarter of 100 is divided among four loops. */
static void
a_busy_loop_leaves_the_parts_of_the_others(void **state)
{
	(void)state;
	open_outboxes(4, 100, 1000000);
	assert_int_equal(fill(0, 1), 100 - 3 * 6);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(fill(i, 1), 6);
	assert_int_equal(uncommitted.pages, 100);
	open_outboxes(4, 1000, 1600);
	assert_int_equal(fill(0, 10), (1600 - 3 * 100) / 10);
	for (size_t i = 1; i < 4; i++)
		assert_int_equal(fill(i, 10), 10);
	assert_int_equal(uncommitted.bytes, 1600);
}

/* With any limit each loop may hand over one page. */
static void
no_loop_waits_for_the_others_alone(void **state)
{
	(void)state;
	for (size_t max = 1; max < 5; max++) {
		open_outboxes(4, max, 1000);
		for (size_t i = 0; i < 4; i++)
			assert_true(fill(i, 1) >= 1);
		open_outboxes(4, 100, max);
		for (size_t i = 0; i < 4; i++)
			assert_true(fill(i, 1) >= 1);
	}
}

static void
readers_that_are_behind_hold_all_loops(void **state)
{
	atomic_size_t waiting = 9;

	(void)state;
	open_outboxes(2, 100, 1000);
	for (size_t i = 0; i < 2; i++) {
		fetchers[i].options.events_waiting = &waiting;
		fetchers[i].options.events_waiting_max = 10;
		assert_false(outbox_is_full(&fetchers[i]));
	}
	waiting = 10;
	assert_true(outbox_is_full(&fetchers[0]));
	assert_true(outbox_is_full(&fetchers[1]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_loop_has_the_whole_limit),
		cmocka_unit_test(a_busy_loop_leaves_the_parts_of_the_others),
		cmocka_unit_test(no_loop_waits_for_the_others_alone),
		cmocka_unit_test(readers_that_are_behind_hold_all_loops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * urlfrontier.durability = relaxed: what a kill must leave, and what a power
 * cut may take (urlfrontier.md, section 7).
 */
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/lease_core.h"
#include "engine/frontier/lease_testing.h"
#include "tests/rounds.h"

#include <unistd.h>

#define URLS 60u

/* Room in memory, so that nothing is synced for the index's sake. */
static int
setup(void **state)
{
	world_setup(state);
	rig_init(R);
	rig.options.lease_relaxed = true;
	rig.options.ledger.index.write_buffer_bytes = 32 << 20;
	rig.options.ledger.index.write_buffers = 4;
	rig_open(R);
	return 0;
}

/* An index that flushes on its own after every few puts. */
static int
setup_small(void **state)
{
	world_setup(state);
	rig_init(R);
	rig.options.lease_relaxed = true;
	rig.options.ledger.segment_bytes = 1 << 20;
	rig.options.ledger.index.write_buffer_bytes = 1;
	rig_open(R);
	return 0;
}

static void
die(bool power)
{
	rig_crash(R, power);
	rig_open(R);
	rig_run(R);
	lease_check(rig.frontier);
}

static const char *
nth(unsigned i)
{
	return arena_printf(&rig.arena, "http://u/%04u", i).p;
}

/* How many stand there, which must be the first ones. */
static unsigned
first_ones(void)
{
	struct lease_list l = { .kind = LEASE_LIST_URLS,
	    .size = INT32_MAX };
	unsigned n = (unsigned)out_list(R, &l);

	for (unsigned i = 0; i < n; i++)
		assert_true(str_eq(got.entries[i].url, str_of(nth(i))));
	return n;
}

static void
no_answer_waits_for_a_sync(void **state)
{
	(void)state;
	out_put(R, "", "k", nth(0), 5);
	uint64_t syncs = file_calls(FILE_CALL_SYNC);
	out_put(R, "", "k", nth(1), 5);
	assert_int_equal(out_get(R, "", "", 1, 1, 60), 1);
	assert_int_equal(out_control(R, LEASE_SET_DELAY, "", "", 0, NULL),
	    OK);
	out_put(R, "", "k", nth(0), 0);
	assert_int_equal(file_calls(FILE_CALL_SYNC), syncs);
	rig_pass(R, LEDGER_LATE_MS);
	assert_int_equal(file_calls(FILE_CALL_SYNC), syncs + 1);
}

/* Killed at once when the answer is there, after each kind of verb. */
static void
a_kill_takes_nothing(void **state)
{
	struct lease_entry e;

	(void)state;
	for (unsigned i = 0; i < URLS; i++) {
		assert_int_equal(out_put(R, "", "k", nth(i), 5 + i),
		    LEASE_OK);
		if (i % 7 == 0)
			die(false);
		assert_int_equal(first_ones(), i + 1);
	}
	assert_int_equal(out_control(R, LEASE_SET_DELAY, "", "", 0, NULL),
	    OK);
	assert_int_equal(out_get(R, "", "", 3, 1, 60), 3);
	die(false);
	out_assert_stats(R, "", "k", URLS, 3, 0, 1);
	assert_int_equal(rig.frontier->leases->delay_s, 0);
	out_put(R, "", "k", nth(0), 0);
	die(false);
	out_assert_stats(R, "", "k", URLS - 1, 2, 1, 1);
	assert_int_equal(out_status(R, "", "k", nth(0), &e), OK);
	assert_int_equal(e.date_s, 0);
	assert_int_equal(out_control(R, LEASE_DELETE_QUEUE, "", "k", 0,
	    NULL), OK);
	die(false);
	out_assert_stats(R, "", "", 0, 0, 0, 0);
}

/*
 * A power cut loses what came in the last second at most, and from the end:
 * what is left is a beginning, and memory and index agree on it, although
 * checkpoints and flushes of the index came in between.
 */
static void
a_power_cut_takes_the_end(void **state)
{
	unsigned lost = 0;

	(void)state;
	for (unsigned life = 0; life < ROUNDS(40); life++) {
		unsigned n = first_ones(), safe = n;
		for (unsigned i = 0; i < 20 + life % 30; i++, n++) {
			assert_int_equal(out_put(R, "", "k", nth(n), 5 + n),
			    LEASE_OK);
			if (i % 9 != life % 9)
				continue;
			rig_pass(R, i % 2 == 0 ? 150 : LEDGER_LATE_MS);
			if (i % 2 != 0)
				safe = n + 1;
		}
		die(true);
		unsigned left = first_ones();
		assert_in_range(left, safe, n);
		out_assert_stats(R, "", "k", left, 0, 0, left > 0);
		lost += left < n;
	}
	assert_true(lost > 0);
}

/* Of no flush of the index's own does more survive than of the log. */
static void
the_index_is_never_ahead(void **state)
{
	static char metadata[3000];
	unsigned n = 0;

	(void)state;
	memset(metadata, 'm', sizeof(metadata) - 1);
	for (unsigned life = 0; life < ROUNDS(30); life++) {
		for (unsigned i = 0; i < 40 + life; i++, n++) {
			struct lease_item item = out_item("", "k", nth(n),
			    5 + n, metadata);
			out_put_all(R, &item, 1);
			assert_int_equal(item.status, LEASE_OK);
		}
		/* What is flushed is written by another thread. */
		usleep(5000);
		die(true);
		n = first_ones();
		arena_reset(&rig.arena);
	}
}

/* What a crawl of ours was told is durable at once. */
static void
our_crawls_wait_for_the_sync(void **state)
{
	(void)state;
	out_put(R, "", "k", nth(0), 5);
	rig_begin(R, "http://h/1", "http://h/2", NULL);
	out_put(R, "", "k", nth(1), 5);
	struct lease l = rig_next(R, "h", "http://h/1");
	rig_done(R, &l, OUTCOME_ITEM);
	assert_int_equal(rig.durable, OK);
	rig_restart(R, true);
	rig_next(R, "h", "http://h/2");
	rig_none(R, "h");
	/* So was what outsiders were told before. */
	assert_int_equal(first_ones(), 2);
	rig_restart(R, true);
}

static void
a_failed_sync_is_the_end(void **state)
{
	(void)state;
	out_put(R, "", "k", nth(0), 5);
	file_fault(FILE_CALL_SYNC, 1, FILE_FAULT_FOREVER, ERR_IO);
	rig_pass(R, LEDGER_LATE_MS);
	assert_true(rig.failed);
	assert_int_equal(out_put(R, "", "k", nth(1), 5), LEASE_FAIL);
	assert_int_equal(first_ones(), 1);
	file_faults_end();
	die(false);
	assert_int_equal(first_ones(), 1);
}

#define RULE(f) cmocka_unit_test_setup_teardown(f, setup, out_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RULE(no_answer_waits_for_a_sync),
		RULE(a_kill_takes_nothing),
		RULE(a_power_cut_takes_the_end),
		cmocka_unit_test_setup_teardown(the_index_is_never_ahead,
		    setup_small, out_teardown),
		RULE(our_crawls_wait_for_the_sync),
		RULE(a_failed_sync_is_the_end),
	};

	return cmocka_run_group_tests_name("outside_relaxed", tests, NULL,
	    NULL);
}

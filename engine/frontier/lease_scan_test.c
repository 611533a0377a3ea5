/*
 * Listings and counts beside each other, and calls that are cancelled.
 */
#include "engine/frontier/frontier_testing.h"
#include "engine/frontier/lease_core.h"
#include "engine/frontier/lease_testing.h"

#define URLS 20000u
#define CALLS 200u
/* One piece reads so many records at most; see lease_list.c. */
#define PIECE 8192u
/* As rig_init() sets it. */
#define LEASE_COUNTS_MAX 8

static struct lease_list calls[CALLS];
static unsigned ended;

static void
call_ended(struct lease_call *c)
{
	(void)c;
	ended++;
}

static struct lease_service *
leases(void)
{
	return rig.frontier->leases;
}

static void
fill(void)
{
	struct lease_item *items = mem_array(URLS, sizeof(*items));

	for (unsigned i = 0; i < URLS; i++)
		items[i] = out_item("", "k", out_text("http://U/%05u", i), 5,
		    "m");
	out_put_all(R, items, URLS);
	mem_free(&items);
	ended = 0;
}

static void
ask(struct lease_list *l)
{
	l->call.home = rig.loop;
	l->call.done = call_ended;
	lease_list(rig.frontier, l);
}

static void
begin(enum lease_listing kind, unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n; i++) {
		calls[i] = (struct lease_list){ .kind = kind,
		    .size = URLS };
		ask(&calls[i]);
	}
}

/* As the door does: on to the end of each. */
static void
run_to_end(unsigned n)
{
	unsigned left = n;

	for (unsigned i = 0; left > 0 && i < 100000; i++) {
		ended = 0;
		rig_run(R);
		left = 0;
		for (unsigned k = 0; k < n; k++) {
			if (!calls[k].more)
				continue;
			left++;
			assert_true(leases()->counts <= LEASE_COUNTS_MAX);
			ask(&calls[k]);
		}
	}
	assert_int_equal(left, 0);
	assert_int_equal(leases()->counts, 0);
	assert_int_equal(leases()->listings, 0);
	assert_int_equal(leases()->scans_new, 0);
	for (unsigned k = 0; k < n; k++)
		arena_free(&calls[k].arena);
}

static void
cancelled_counts_read_nothing(void **state)
{
	(void)state;
	fill();
	begin(LEASE_COUNT_URLS, 0, CALLS);
	for (unsigned i = 0; i < CALLS; i++)
		lease_cancel(&calls[i].call);
	rig_run(R);
	assert_int_equal(ended, CALLS);
	assert_int_equal(leases()->scanned, 0);
	run_to_end(CALLS);
}

/* Those that wait hold no memory, and are let go when they are cancelled. */
static void
few_counts_read_at_once(void **state)
{
	(void)state;
	fill();
	begin(LEASE_COUNT_URLS, 0, CALLS);
	rig_run(R);
	assert_int_equal(leases()->counts, LEASE_COUNTS_MAX);
	assert_int_equal(leases()->scans_new, CALLS - LEASE_COUNTS_MAX);
	for (unsigned i = LEASE_COUNTS_MAX; i < CALLS; i++) {
		assert_int_equal(calls[i].arena.total, 0);
		if (i > LEASE_COUNTS_MAX)
			lease_cancel(&calls[i].call);
	}
	run_to_end(CALLS);
	for (unsigned i = 0; i <= LEASE_COUNTS_MAX; i++)
		assert_int_equal(calls[i].count, URLS);
	for (unsigned i = LEASE_COUNTS_MAX + 1; i < CALLS; i++)
		assert_int_equal(calls[i].count, 0);
	assert_in_range(leases()->scanned, 9 * URLS, 9 * (URLS + 8));
}

/* A walk that is cancelled between two pieces, or while one is read. */
static void
open_walks_are_cancelled(void **state)
{
	(void)state;
	fill();
	begin(LEASE_LIST_URLS, 0, 4);
	rig_run(R);
	assert_int_equal(ended, 4);
	assert_int_equal(leases()->listings, 4);
	uint64_t scanned = leases()->scanned;
	for (unsigned i = 0; i < 4; i++) {
		assert_true(calls[i].more);
		ask(&calls[i]);
		lease_cancel(&calls[i].call);
	}
	rig_run(R);
	assert_int_equal(leases()->listings, 0);
	assert_int_equal(leases()->scanned, scanned);
	run_to_end(4);
}

static void
other_reads_wait_for_few_pieces(void **state)
{
	struct lease_entry e;

	(void)state;
	fill();
	begin(LEASE_COUNT_URLS, 0, CALLS);
	assert_int_equal(out_status(R, "", "k", "http://U/00007", &e), OK);
	assert_in_range(leases()->scanned, 0, LEASE_COUNTS_MAX * PIECE);
	/* New listings do not wait for counts that go on. */
	struct lease_list l = { .kind = LEASE_LIST_QUEUES };
	assert_int_equal(out_list(R, &l), 1);
	assert_in_range(leases()->scanned, 0, LEASE_COUNTS_MAX * PIECE + 1);
	for (unsigned i = 0; i < CALLS; i++)
		lease_cancel(&calls[i].call);
	run_to_end(CALLS);
}

static void
listings_have_a_limit(void **state)
{
	(void)state;
	fill();
	rig.frontier->options.lease_listings_max = 3;
	begin(LEASE_LIST_URLS, 0, 4);
	rig_run(R);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(calls[i].call.result, OK);
	assert_int_equal(calls[3].call.result, ERR_FULL);
	assert_false(calls[3].more);
	/* Neither counts nor queues are listings of URLs. */
	struct lease_list l = { .kind = LEASE_LIST_QUEUES };
	assert_int_equal(out_list(R, &l), 1);
	calls[1].stop = true;
	ask(&calls[1]);
	rig_run(R);
	assert_int_equal(leases()->listings, 2);
	begin(LEASE_LIST_URLS, 3, 1);
	rig_run(R);
	assert_int_equal(calls[3].call.result, OK);
	run_to_end(4);
}

static void
a_cancelled_get_leases_nothing(void **state)
{
	struct lease_get g = { .any_crawl = true };

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		out_put(R, "", out_text("k%u", i), "u", 5);
	out_prepare(R, &g.call);
	lease_get(rig.frontier, &g);
	lease_cancel(&g.call);
	out_wait(R, &out_back);
	assert_int_equal(g.n, 0);
	assert_false(g.more);
	lease_get_free(&g);
	out_assert_stats(R, "", "", 10, 0, 0, 10);
	assert_int_equal(out_get(R, "", "", 1, 0, 30), 10);
}

static void
a_cancelled_verb_does_nothing(void **state)
{
	struct lease_control k = { .verb = LEASE_DELETE_CRAWL };

	(void)state;
	out_put(R, "", "k", "u", 5);
	out_prepare(R, &k.call);
	lease_control(rig.frontier, &k);
	lease_cancel(&k.call);
	out_wait(R, &out_back);
	assert_int_equal(k.call.result, ERR_CLOSED);
	out_assert_stats(R, "", "", 1, 0, 0, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, out_setup, \
	out_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cancelled_counts_read_nothing),
		TEST(few_counts_read_at_once),
		TEST(open_walks_are_cancelled),
		TEST(other_reads_wait_for_few_pieces),
		TEST(listings_have_a_limit),
		TEST(a_cancelled_get_leases_nothing),
		TEST(a_cancelled_verb_does_nothing),
	};

	return cmocka_run_group_tests_name("outside_scan", tests, NULL, NULL);
}

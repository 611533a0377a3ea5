/*
 * Claims: turns, lanes, buckets, dependencies: contracts/items.md §3, §6.
 */
#include "engine/items/worklist_testing.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/hash.h"
#include "engine/items/generation.h"
#include "engine/items/item_store_own.h"
#include "engine/items/worklist_own.h"
#include "os/clock.h"

static struct work_test t;
static uint64_t random_state = 1;

/* Lots are drawn by a seed. */
static void
seeded_random(void *out, size_t n)
{
	char *p = out;

	for (size_t i = 0; i < n; i++) {
		random_state = hash_u64(random_state + 1);
		p[i] = (char)random_state;
	}
}

static int
teardown(void **state)
{
	(void)state;
	work_close(&t);
	return 0;
}

#define RUN "'run':{'$function':true},'version':'1'"
#define assert_state(id, task, text) \
	assert_string_equal(work_state(&t, id, task), text)

static void
put_items(const char *prefix, unsigned n, const char *tags)
{
	for (unsigned i = 0; i < n; i++)
		work_item(&t, arena_printf(&t.arena, "%s%u", prefix, i).p,
		    tags);
}

static unsigned
count_task(const struct work_lease *leases, size_t n, const char *task)
{
	unsigned count = 0;

	for (size_t i = 0; i < n; i++)
		count += strcmp(leases[i].task, task) == 0;
	return count;
}

static enum err
claim_by(const struct worklist_claim *claim, size_t *n, struct why *w)
{
	struct worklist_lease *leases;

	work_begin(&t);
	enum err e = worklist_claim(t.items.tx, claim, &leases, n, w);
	work_commit(&t);
	return e;
}

/* -- Turns -- */

static void
tasks_take_turns_by_weight(void **state)
{
	struct work_lease leases[40];

	(void)state;
	work_open(&t, "{'tags':{'t':['a','b']},'tasks':{'a':{" RUN
	    ",'weight':3},'b':{" RUN "}}}");
	put_items("i", 60, "t");
	assert_int_equal(work_claim(&t, 40, leases), 40);
	assert_in_range(count_task(leases, 40, "a"), 29, 31);
	/* They are mixed, not one task after the other. */
	assert_in_range(count_task(leases, 8, "a"), 5, 7);
}

/* Claims of one pair are fair in the long run. */
static void
single_claims_are_fair(void **state)
{
	struct work_lease leases[120];

	(void)state;
	work_open(&t, "{'tags':{'t':['a','b']},'tasks':{'a':{" RUN
	    ",'weight':3},'b':{" RUN "}}}");
	put_items("i", 100, "t");
	for (int i = 0; i < 100; i++)
		leases[i] = work_claim_one(&t);
	assert_in_range(count_task(leases, 100, "a"), 62, 88);
}

static void
a_task_without_pairs_leaves_its_turns(void **state)
{
	struct work_lease leases[20];

	(void)state;
	work_open(&t, "{'tags':{'s':['a'],'t':['b']},'tasks':{'a':{" RUN
	    ",'weight':9},'b':{" RUN "}}}");
	put_items("s", 2, "s");
	put_items("t", 10, "t");
	assert_int_equal(work_claim(&t, 20, leases), 12);
	assert_int_equal(count_task(leases, 12, "a"), 2);
}

static void
parallel_bounds_what_is_leased(void **state)
{
	struct work_lease leases[10];

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'parallel':3}}}");
	put_items("i", 10, "t");
	assert_int_equal(work_claim(&t, 10, leases), 3);
	assert_int_equal(work_claim(&t, 10, leases + 3), 0);
	work_succeed(&t, leases[0].text);
	assert_int_equal(work_claim(&t, 10, leases + 3), 1);
}

static void
claims_have_their_maximum(void **state)
{
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = WORKLIST_CLAIM_MAX, .own = true };
	struct why w = WHY_INIT;
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN "}}}");
	put_items("i", 3, "t");
	claim.lease_us = LEASE_US_MAX + 1;
	assert_int_equal(claim_by(&claim, &n, &w), ERR_INPUT);
	assert_string_equal(w.field, "lease_ms");
	claim.lease_us = 0;
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 3);
	w = WHY_INIT;
	claim.max = WORKLIST_CLAIM_MAX + 1;
	assert_int_equal(claim_by(&claim, &n, &w), ERR_INPUT);
	assert_string_equal(w.field, "max");
	claim.max = 0;
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 0);
}

/* A claim ends with the pair whose data and prefetched metadata reach
 * claim_bytes_max; the first pair is leased however long it is. */
static void
claims_have_their_bytes(void **state)
{
	const struct str all = STR("b"), of_a = STR("a");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = 8, .own = true };
	struct work_lease one;
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'s':['a'],'t':['b']},'tasks':{'a':{" RUN
	    "},'b':{" RUN "}}}");
	/* The data of each is {}: 2 bytes. */
	put_items("i", 9, "t");
	t.items.store->limits.claim_bytes_max = 6;
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 3);
	t.items.store->limits.claim_bytes_max = 5;
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 3);
	t.items.store->limits.claim_bytes_max = 1;
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 1);
	t.items.store->limits.claim_bytes_max = 1 << 20;
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 2);

	/* {"m":1} of a is 7 bytes more. */
	work_item(&t, "x", "s");
	assert_int_equal(work_claim(&t, 1, &one), 1);
	(void)work_complete(&t, one.text, "'outcome':'success','mutations':["
	    "{'op':'updateMetadata','rev':0,'metadata':{'m':1}}]");
	work_tag(&t, "x", "t", "");
	work_item(&t, "y", "t");
	claim.prefetch = &of_a;
	claim.prefetch_n = 1;
	t.items.store->limits.claim_bytes_max = 9;
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 1);
}

/* Two claims in one transaction never get the same pair. */
static void
claims_of_one_transaction_share(void **state)
{
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1, .max = 4,
	    .own = true };
	struct worklist_lease *one, *two;
	size_t one_n, two_n;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN "}}}");
	put_items("i", 6, "t");
	work_begin(&t);
	assert_int_equal(worklist_claim(t.items.tx, &claim, &one, &one_n,
	    NULL), OK);
	assert_int_equal(worklist_claim(t.items.tx, &claim, &two, &two_n,
	    NULL), OK);
	work_commit(&t);
	assert_int_equal(one_n, 4);
	assert_int_equal(two_n, 2);
}

/* Two daemons on one PostgreSQL: neither waits for the other, and no pair is
 * leased twice. */
static void
daemons_share_the_worklist(void **state)
{
	struct item_store_options o = { .node = "other" };
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1, .max = 4,
	    .own = true };
	struct worklist_lease *one, *two;
	struct item_store *other;
	struct item_tx *tx;
	size_t one_n, two_n;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN "}}}");
	put_items("i", 6, "t");
	if (t.items.url[0] == '\0')
		return;         /* files have one writer */
	o.url = t.items.url;
	assert_int_equal(item_store_open(&o, &other, NULL), OK);
	assert_int_equal(generation_open(other, NULL), OK);
	work_begin(&t);
	assert_int_equal(item_tx_begin(other, t.items.now, &tx, NULL), OK);
	assert_int_equal(worklist_claim(t.items.tx, &claim, &one, &one_n,
	    NULL), OK);
	assert_int_equal(worklist_claim(tx, &claim, &two, &two_n, NULL), OK);
	assert_int_equal(one_n, 4);
	assert_int_equal(two_n, 2);
	for (size_t i = 0; i < two_n; i++)
		for (size_t k = 0; k < one_n; k++)
			assert_true(one[k].item->key != two[i].item->key);
	work_commit(&t);
	assert_int_equal(item_tx_end(&tx, OK, NULL), OK);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT leased FROM task_state"), 6);
	/* Another has loaded a configuration: it claims nothing. */
	put_items("j", 1, "t");
	work_config(&t, "{'tags':{'t':['a']},'tasks':{'a':{'version':'2',"
	    "'run':{'$function':true}}}}");
	assert_int_equal(item_tx_begin(other, t.items.now, &tx, NULL), OK);
	assert_int_equal(generation_follow(tx, NULL), OK);
	assert_int_equal(worklist_claim(tx, &claim, &two, &two_n, NULL), OK);
	assert_int_equal(two_n, 0);
	assert_int_equal(item_tx_end(&tx, OK, NULL), OK);
	work_claim_one(&t);
	/* A restart of one leaves the other's leases. */
	work_begin(&t);
	assert_int_equal(worklist_release_own(t.items.tx, NULL), OK);
	work_commit(&t);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT leased FROM task_state"), 2);
	item_store_close(&other);
}

/* -- Who gets what -- */

static void
remote_tasks_are_left_to_remote_workers(void **state)
{
	const struct str names[] = { STR("x:*"), STR("b") };
	struct worklist_claim claim = { .tasks = names, .tasks_n = 1,
	    .max = 9, .own = true };
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'t':['x:a','b']},'tasks':{'x:a':{" RUN
	    ",'remote':true},'b':{" RUN "}}}");
	put_items("i", 2, "t");
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 0);
	claim.own = false;
	claim.worker = STR("n7");
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 2);
	assert_state("i0", "x:a", "leased -");
	assert_state("i0", "b", "unprocessed 0");
	claim.tasks_n = 2;
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 2);
}

static void
one_item_is_asked_for(void **state)
{
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = 9, .own = true, .only_item = STR("i1") };
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'t':['a','b']},'tasks':{'a':{" RUN "},'b':{"
	    RUN "}}}");
	put_items("i", 3, "t");
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 2);
	assert_state("i1", "a", "leased -");
	assert_state("i0", "a", "unprocessed 0");
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 0);
	claim.only_item = STR("nobody");
	assert_int_equal(claim_by(&claim, &n, NULL), ERR_ABSENT);
}

static bool
is_idle(const char *item)
{
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .own = true, .only_item = str_of(item) };
	struct why w = WHY_INIT;
	bool idle = false;

	work_begin(&t);
	if (worklist_is_idle(t.items.tx, &claim, &idle, &w) != OK)
		fail_msg("%s", w.text);
	work_commit(&t);
	return idle;
}

static void
nothing_is_left_to_claim(void **state)
{
	const struct str all = STR("*");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .max = 9, .own = true };
	const struct str *names;
	struct item_actor person = { .run_item = 0 };
	struct why w = WHY_INIT;
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'limits':{'global':'1/m'},"
	    "'tasks':{'a':{" RUN "}}}");
	assert_true(is_idle(""));
	put_items("i", 2, "t");
	assert_false(is_idle(""));
	assert_false(is_idle("i1"));
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 1);
	/* One is leased, one waits for a token. */
	assert_false(is_idle("i0"));
	assert_false(is_idle(""));
	work_begin(&t);
	assert_int_equal(worklist_release_own(t.items.tx, &w), OK);
	assert_int_equal(worklist_pause(t.items.tx, &person, STR("a"), true,
	    &names, &n, &w), OK);
	work_commit(&t);
	assert_true(is_idle(""));
	assert_true(is_idle("i1"));
}

static void
paused_tasks_are_not_claimed(void **state)
{
	struct item_actor person = { .run_item = 0 };
	struct work_lease leases[4];
	const struct str *names;
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'t':['x:a','x:b','c']},'tasks':{'x:a':{" RUN
	    "},'x:b':{" RUN "},'c':{" RUN "}}}");
	put_items("i", 1, "t");
	work_begin(&t);
	assert_int_equal(worklist_pause(t.items.tx, &person, STR("x:*"), true,
	    &names, &n, NULL), OK);
	assert_int_equal(n, 2);
	assert_true(str_eq(names[0], STR("x:a")));
	assert_int_equal(worklist_pause(t.items.tx, &person, STR("y"), true,
	    &names, &n, NULL), ERR_ABSENT);
	work_commit(&t);
	assert_int_equal(work_claim(&t, 4, leases), 1);
	assert_string_equal(leases[0].task, "c");
	work_begin(&t);
	assert_int_equal(worklist_pause(t.items.tx, &person, STR("x:b"), false,
	    &names, &n, NULL), OK);
	work_commit(&t);
	assert_int_equal(work_claim(&t, 4, leases), 1);
	assert_string_equal(leases[0].task, "x:b");
	assert_int_equal(work_events(&t, "task.paused"), 2);
	assert_int_equal(work_events(&t, "task.resumed"), 1);
}

static int64_t skip_ms = 60000;

static int64_t
skip_slow(void *arg, uint32_t task, int64_t item)
{
	const int64_t *slow_max = arg;

	(void)task;
	return item <= *slow_max ? skip_ms : 0;
}

/* Pairs of slow hosts do not hide the others. */
static void
skipped_pairs_are_passed_over(void **state)
{
	const struct str all = STR("*");
	int64_t slow_max;
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1, .max = 2,
	    .own = true, .skip = skip_slow, .arg = &slow_max };
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN "}}}");
	put_items("slow", 30, "t");
	put_items("quick", 3, "t");
	slow_max = items_test_number(&t.items,
	    "SELECT key FROM items WHERE id = 'slow29'");
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 2);
	assert_state("quick1", "a", "leased -");
	assert_state("slow0", "a", "unprocessed 0");
	slow_max = 0;
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_state("slow1", "a", "leased -");
}

/* The next claims begin behind them, for a second or until the first turn. */
static void
passed_pairs_are_not_read_again(void **state)
{
	const struct str all = STR("*");
	int64_t slow_max;
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1, .max = 1,
	    .own = true, .skip = skip_slow, .arg = &slow_max,
	    .passed = worklist_passed_new() };
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN "}}}");
	put_items("slow", 30, "t");
	put_items("quick", 9, "t");
	for (int64_t i = 0; i < 2; i++) {
		int64_t known_ms = i == 0 ? WORKLIST_PASSED_MS_MAX : 300;

		skip_ms = i == 0 ? 60000 : known_ms;
		slow_max = items_test_number(&t.items,
		    "SELECT key FROM items WHERE id = 'slow29'");
		assert_int_equal(claim_by(&claim, &n, NULL), OK);
		assert_int_equal(n, 1);
		/* They may be claimed now, but the head is not read yet. */
		slow_max = 0;
		work_sleep(&t, known_ms - 100);
		assert_int_equal(claim_by(&claim, &n, NULL), OK);
		assert_int_equal(n, 1);
		assert_state(i == 0 ? "slow0" : "slow1", "a",
		    "unprocessed 0");
		assert_state(i == 0 ? "quick1" : "quick3", "a", "leased -");
		work_sleep(&t, 101);
		assert_int_equal(claim_by(&claim, &n, NULL), OK);
		assert_state(i == 0 ? "slow0" : "slow1", "a", "leased -");
	}
	skip_ms = 60000;
	worklist_passed_free(&claim.passed);
	assert_null(claim.passed);
}

static enum worklist_choice
choose_quick(void *arg, uint32_t task, const struct item_row *item)
{
	unsigned *asked = arg;

	(void)task;
	*asked += 1;
	return str_starts(item->id, STR("slow")) ? WORKLIST_PASS_OVER :
	    str_eq(item->id, STR("quick1")) ? WORKLIST_TAKE_AT_TURN :
	    WORKLIST_TAKE;
}

/* They are neither leased nor changed, and cost no token. */
static void
pairs_are_passed_over_by_their_items(void **state)
{
	const struct str all = STR("*");
	unsigned asked = 0;
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1, .max = 2,
	    .own = true, .choose = choose_quick, .arg = &asked };
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'limits':{'rate':'1/h burst 3'}}}}");
	put_items("slow", 5, "t");
	put_items("quick", 3, "t");
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 2);
	assert_int_equal(asked, 7);
	assert_state("slow0", "a", "unprocessed 0");
	assert_state("quick1", "a", "leased -");
	/* A person who names the item wants it run. */
	claim.only_item = STR("slow0");
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 1);
	assert_int_equal(asked, 7);
	assert_state("slow0", "a", "leased -");
}

/* -- Buckets -- */

static void
all_buckets_apply_together(void **state)
{
	struct work_lease leases[20];

	(void)state;
	work_open(&t, "{'tags':{'t':['x:a','x:b','c','free']},"
	    "'limits':{'global':'1/h burst 6','groups':{'x:*':'1/h burst 4'}},"
	    "'tasks':{'x:a':{" RUN ",'limits':{'rate':'1/h burst 3'}},"
	    "'x:b':{" RUN "},'c':{" RUN ",'limits':{'groups':false}},"
	    "'free':{" RUN ",'limits':{'global':false}}}}");
	put_items("i", 8, "t");
	size_t n = work_claim(&t, 20, leases);
	assert_true(count_task(leases, n, "x:a") <= 3);
	assert_true(count_task(leases, n, "x:a") +
	    count_task(leases, n, "x:b") <= 4);
	assert_int_equal(count_task(leases, n, "x:a") +
	    count_task(leases, n, "x:b") + count_task(leases, n, "c"), 6);
	assert_int_equal(count_task(leases, n, "free"), 8);
	assert_int_equal(work_claim(&t, 20, leases), 0);
}

/* A bucket that is empty costs no token of the others. */
static void
tokens_are_taken_all_or_none(void **state)
{
	struct work_lease leases[4];

	(void)state;
	work_open(&t, "{'tags':{'t':['a'],'s':['b']},"
	    "'limits':{'global':'1/h burst 2'},"
	    "'tasks':{'a':{" RUN ",'limits':{'rate':'1/h'}},'b':{" RUN "}}}");
	put_items("i", 3, "t");
	assert_int_equal(work_claim(&t, 4, leases), 1);
	assert_int_equal(work_claim(&t, 4, leases), 0);
	put_items("j", 3, "s");
	assert_int_equal(work_claim(&t, 4, leases), 1);
	assert_string_equal(leases[0].task, "b");
}

static void
tags_have_buckets_and_lanes(void **state)
{
	struct work_lease leases[20];
	unsigned eu = 0, both = 0;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'limits':{'tags':{'site=eu':'1/h burst 2','r,q':'1/h'}}}}}");
	put_items("both", 3, "t,q,r");
	put_items("eu", 4, "t,site=eu");
	put_items("us", 3, "t,site=us");
	put_items("q", 2, "t,q");
	size_t n = work_claim(&t, 20, leases);
	for (size_t i = 0; i < n; i++) {
		eu += leases[i].id[0] == 'e';
		both += leases[i].id[0] == 'b';
	}
	assert_int_equal(eu, 2);
	assert_int_equal(both, 1);
	assert_int_equal(n, 8);
	/* A pair changes its lane with its tags. */
	work_tag(&t, "eu3", "site=us", NULL);
	assert_int_equal(work_claim(&t, 20, leases), 1);
	assert_string_equal(leases[0].id, "eu3");
}

/* Lanes are merged by due time. */
static void
lanes_are_first_come_first_served(void **state)
{
	struct work_lease leases[12];

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'limits':{'tags':{'x':'100/s burst 100','y':'100/s burst "
	    "100'}}}}}");
	for (int i = 0; i < 12; i++)
		work_item(&t, arena_printf(&t.arena, "i%d", i).p,
		    i % 3 == 0 ? "t,x" : i % 3 == 1 ? "t,y" : "t");
	assert_int_equal(work_claim(&t, 12, leases), 12);
	for (int i = 0; i < 12; i++)
		assert_string_equal(leases[i].id,
		    arena_printf(&t.arena, "i%d", i).p);
}

static void
a_restart_does_not_burst(void **state)
{
	struct work_lease leases[9];

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'limits':{'rate':'2/s burst 4'}}}}");
	put_items("i", 9, "t");
	assert_int_equal(work_claim(&t, 9, leases), 4);
	work_restart(&t);
	assert_int_equal(work_claim(&t, 9, leases), 0);
	work_sleep(&t, 1000);
	assert_int_equal(work_claim(&t, 9, leases), 2);
}

/* A higher rate, or a clock that went back: the bucket fills from now on. */
static void
a_bucket_is_never_emptier_than_empty(void **state)
{
	struct work_lease none;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'limits':{'rate':'1/h'}}}}");
	put_items("i", 3, "t");
	work_claim_one(&t);
	assert_int_equal(work_claim(&t, 1, &none), 0);
	work_config(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'limits':{'rate':'10/s'}}}}");
	assert_int_equal(work_claim(&t, 1, &none), 0);
	work_sleep(&t, 100);
	work_claim_one(&t);
	work_sleep(&t, -3600 * 1000);
	assert_int_equal(work_claim(&t, 1, &none), 0);
	work_sleep(&t, 100);
	work_claim_one(&t);
}

static void
refunded_tokens_are_left_again(void **state)
{
	struct work_lease leases[9];
	bool was;

	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'limits':{'global':'1/h burst 2'},"
	    "'tasks':{'a':{" RUN ",'limits':{'rate':'1/h burst 2',"
	    "'tags':{'t':'1/h burst 2'}}}}}");
	put_items("i", 9, "t");
	assert_int_equal(work_claim(&t, 9, leases), 2);
	work_begin(&t);
	assert_int_equal(worklist_release(t.items.tx, str_of(leases[0].text),
	    true, &was, NULL), OK);
	assert_int_equal(worklist_release(t.items.tx, str_of(leases[1].text),
	    false, &was, NULL), OK);
	work_commit(&t);
	assert_int_equal(work_claim(&t, 9, leases), 1);
}

/* -- When something is due -- */

static int64_t
next_of(const struct worklist_claim *claim)
{
	struct wall at;

	work_begin(&t);
	assert_int_equal(worklist_next_at(t.items.tx, claim, &at, NULL), OK);
	work_commit(&t);
	return at.us == ITEM_TIME_NONE.us ? -1 : at.us - t.items.now.us;
}

static int64_t
next_at(void)
{
	const struct str all = STR("*");
	const struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .own = true };

	return next_of(&claim);
}

static enum worklist_choice
pass_over(void *arg, uint32_t task, const struct item_row *item)
{
	int64_t *passed_max = arg;

	(void)task;
	*passed_max = MAX(*passed_max, item->key);
	return WORKLIST_PASS_OVER;
}

/* Not when the first of what it has passed over is looked at again. */
static void
a_claim_that_is_cut_is_made_again_at_once(void **state)
{
	const struct str all = STR("*");
	int64_t passed_max = 0;
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1, .max = 1,
	    .own = true, .skip = skip_slow, .choose = pass_over,
	    .arg = &passed_max, .passed = worklist_passed_new() };
	size_t n;

	(void)state;
	skip_ms = 60000;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN "}}}");
	put_items("slow", 1500, "t");
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 0);
	assert_int_equal(next_of(&claim), 0);
	assert_int_equal(claim_by(&claim, &n, NULL), OK);
	assert_int_equal(n, 0);
	assert_in_range(next_of(&claim), 1, US_PER_S);
	assert_int_equal(passed_max, items_test_number(&t.items,
	    "SELECT key FROM items WHERE id = 'slow1499'"));
	worklist_passed_free(&claim.passed);
}

static void
the_next_claim_is_known(void **state)
{
	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'ttl':'1h','lease':'60s','limits':{'rate':'1/m burst 2'}}}}");
	assert_int_equal(next_at(), -1);
	put_items("i", 3, "t");
	assert_int_equal(next_at(), 0);
	struct work_lease lease = work_claim_one(&t);
	work_claim_one(&t);
	/* The third waits for a token, or the leases end. */
	assert_in_range(next_at(), 59900000, 60000000);
	work_sleep(&t, 61000);
	struct work_lease leases[3];
	assert_int_equal(work_claim(&t, 3, leases), 1);
	assert_string_equal(leases[0].id, "i2");
	work_succeed(&t, leases[0].text);
	/* Both others are tried again 48 to 72 s after their leases ended. */
	assert_in_range(next_at(), 46000000, 73000000);
	assert_string_equal(lease.id, "i0");
}

/* A claim that gets nothing is not repeated at once. */
static void
what_is_not_for_a_claim_does_not_wake_it(void **state)
{
	const struct str all = STR("*");
	int64_t slow_max = INT64_MAX;
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1,
	    .own = true };

	(void)state;
	work_open(&t, "{'tags':{'t':['a'],'s':['b']},'tasks':{'a':{" RUN
	    ",'remote':true},'b':{" RUN "}}}");
	put_items("t", 1, "t");
	assert_int_equal(next_of(&claim), -1);
	claim.own = false;
	assert_int_equal(next_of(&claim), 0);
	put_items("s", 1, "s");
	claim.own = true;
	assert_int_equal(next_of(&claim), 0);
	claim.skip = skip_slow;
	claim.arg = &slow_max;
	assert_int_equal(next_of(&claim), US_PER_S / 4);
}

static void
fresh_pairs_are_planned(void **state)
{
	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'ttl':'1h'}}}");
	put_items("i", 1, "t");
	work_succeed(&t, work_claim_one(&t).text);
	assert_in_range(next_at(), INT64_C(3599900000), INT64_C(3600001000));
}

/* -- Dependencies -- */

#define CHAIN "{'tags':{'t':['a','b']},'tasks':{'a':{" RUN ",'ttl':'1h'}," \
	"'b':{" RUN ",'dependsOn':['a']}}}"

static void
dependents_wait_and_follow(void **state)
{
	struct work_lease leases[4];

	(void)state;
	work_open(&t, CHAIN);
	put_items("i", 1, "t");
	assert_int_equal(work_claim(&t, 4, leases), 1);
	assert_string_equal(leases[0].task, "a");
	assert_state("i0", "b", "blocked -");
	assert_int_equal(work_claim(&t, 4, leases + 1), 0);
	/* A failure does not meet it. */
	work_fail(&t, leases[0].text, "transient", "timeout");
	assert_state("i0", "b", "blocked -");
	work_sleep(&t, 80000);
	assert_int_equal(work_claim(&t, 4, leases), 1);
	work_succeed(&t, leases[0].text);
	assert_state("i0", "b", "unprocessed 0");
	assert_int_equal(work_claim(&t, 4, leases), 1);
	assert_string_equal(leases[0].task, "b");
	work_succeed(&t, leases[0].text);
	assert_state("i0", "b", "fresh -");
}

static void
an_expired_dependency_blocks(void **state)
{
	struct work_lease leases[4];

	(void)state;
	work_open(&t, CHAIN);
	put_items("i", 1, "t");
	work_succeed(&t, work_claim_one(&t).text);
	work_succeed(&t, work_claim_one(&t).text);
	work_sleep(&t, 3600 * 1000);
	work_expire(&t, "i0", "b", EXPIRY_PERSON);
	assert_int_equal(work_claim(&t, 4, leases), 1);
	assert_string_equal(leases[0].task, "a");
	assert_state("i0", "b", "blocked -");
	/* An expiry does not unblock it, nor is it lost. */
	work_expire(&t, "i0", "b", EXPIRY_PERSON);
	assert_state("i0", "b", "blocked -");
	work_succeed(&t, leases[0].text);
	assert_state("i0", "b", "stale 1");
}

static void
a_tag_may_bring_the_dependency(void **state)
{
	struct work_lease leases[4];

	(void)state;
	work_open(&t, "{'tags':{'t':['b'],'s':['a']},'tasks':{'a':{" RUN
	    "},'b':{" RUN ",'dependsOn':['a']}}}");
	put_items("i", 1, "t");
	assert_int_equal(work_claim(&t, 4, leases), 0);
	assert_state("i0", "b", "blocked -");
	work_tag(&t, "i0", "s", NULL);
	assert_int_equal(work_claim(&t, 4, leases), 1);
	work_succeed(&t, leases[0].text);
	assert_state("i0", "b", "unprocessed 0");
	/* Its result counts, also when it is no longer mapped. */
	work_tag(&t, "i0", NULL, "s");
	assert_string_equal(work_claim_one(&t).task, "b");
}

/* §11.3: the dependent runs once after each completion, and no more. */
static void
dependents_run_again_without_a_hot_loop(void **state)
{
	struct work_lease leases[4];

	(void)state;
	work_open(&t, "{'tags':{'t':['a','b']},'tasks':{'a':{" RUN
	    ",'ttl':'1h'},'b':{" RUN ",'dependsOn':['a'],"
	    "'minInterval':'0s'}}}");
	put_items("i", 1, "t");
	for (int round = 0; round < 3; round++) {
		assert_int_equal(work_claim(&t, 4, leases), 1);
		assert_string_equal(leases[0].task, "a");
		work_complete(&t, leases[0].text, "'outcome':'success',"
		    "'mutations':[{'op':'expire','taskName':'b'}]");
		assert_int_equal(work_claim(&t, 4, leases), 1);
		assert_string_equal(leases[0].task, "b");
		work_succeed(&t, leases[0].text);
		assert_int_equal(work_claim(&t, 4, leases), 0);
		assert_int_equal(next_at() > 3000 * US_PER_S, 1);
		work_sleep(&t, 3600 * 1000);
	}
	assert_int_equal(work_events(&t, "task.done"), 6);
}

/* A run may take its own pair away: what waits for its result goes on. */
static void
dependents_follow_a_pair_that_goes(void **state)
{
	struct work_lease leases[4];

	(void)state;
	work_open(&t, "{'tags':{'t':['b'],'s':['a']},'tasks':{'a':{" RUN
	    "},'b':{" RUN ",'dependsOn':['a']}}}");
	put_items("i", 1, "s,t");
	assert_int_equal(work_claim(&t, 4, leases), 1);
	assert_state("i0", "b", "blocked -");
	work_complete(&t, leases[0].text, "'outcome':'success',"
	    "'mutations':[{'op':'updateTags','remove':['s']}]");
	assert_state("i0", "a", "");
	assert_state("i0", "b", "unprocessed 0");
}

/* A claim over many blocked pairs notices each once. */
static void
blocked_pairs_are_noticed_once(void **state)
{
	struct work_lease leases[4];

	(void)state;
	work_open(&t, "{'tags':{'t':['b'],'s':['a']},'tasks':{'a':{" RUN
	    "},'b':{" RUN ",'dependsOn':['a']}}}");
	put_items("i", 50, "t");
	assert_int_equal(work_claim(&t, 1, leases), 0);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT count(*) FROM worklist WHERE state = 5"), 50);
	assert_int_equal(next_at(), -1);
}

int
main(int argc, char **argv)
{
	static struct clock_table clock;
#define CASE(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		CASE(tasks_take_turns_by_weight),
		CASE(single_claims_are_fair),
		CASE(a_task_without_pairs_leaves_its_turns),
		CASE(parallel_bounds_what_is_leased),
		CASE(claims_have_their_maximum),
		CASE(claims_have_their_bytes),
		CASE(claims_of_one_transaction_share),
		CASE(daemons_share_the_worklist),
		CASE(remote_tasks_are_left_to_remote_workers),
		CASE(one_item_is_asked_for),
		CASE(nothing_is_left_to_claim),
		CASE(paused_tasks_are_not_claimed),
		CASE(skipped_pairs_are_passed_over),
		CASE(passed_pairs_are_not_read_again),
		CASE(pairs_are_passed_over_by_their_items),
		CASE(a_claim_that_is_cut_is_made_again_at_once),
		CASE(all_buckets_apply_together),
		CASE(tokens_are_taken_all_or_none),
		CASE(tags_have_buckets_and_lanes),
		CASE(lanes_are_first_come_first_served),
		CASE(a_restart_does_not_burst),
		CASE(a_bucket_is_never_emptier_than_empty),
		CASE(refunded_tokens_are_left_again),
		CASE(the_next_claim_is_known),
		CASE(what_is_not_for_a_claim_does_not_wake_it),
		CASE(fresh_pairs_are_planned),
		CASE(dependents_wait_and_follow),
		CASE(an_expired_dependency_blocks),
		CASE(a_tag_may_bring_the_dependency),
		CASE(dependents_run_again_without_a_hot_loop),
		CASE(dependents_follow_a_pair_that_goes),
		CASE(blocked_pairs_are_noticed_once),
	};

	clock = clock_real;
	clock.random = seeded_random;
	clock_use(&clock);
	return items_test_main(argc, argv, tests);
}

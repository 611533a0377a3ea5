/* Claims that wait, and what wakes or ends them. */
#include "engine/items/items_rig_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/clock.h"

static const struct str tasks_all[] = { { "*", 1 } };
static const struct str tasks_b[] = { { "b", 1 } };

static void
a_claim_waits_for_work(void **state)
{
	struct rig_claim first = { 0 }, second = { 0 }, other = { 0 };
	struct rig_write w = { .id = "x" }, more = { .id = "y" };

	(void)state;
	rig_use_config();
	rig.claimed = 0;
	rig_claim(&first, tasks_all, 60000);
	rig_claim(&second, tasks_all, 60000);
	rig_claim(&other, tasks_b, 60000);
	rig_wait_ms(20);
	assert_int_equal(rig.claimed, 0);
	rig_put(&w);
	rig_until(&rig.claimed, 1);
	assert_int_equal(first.dones, 1);
	assert_int_equal(first.claim.result, OK);
	assert_int_equal(first.claim.n, 1);
	assert_non_null(strstr(buf_text(&first.claim.out), "\"id\":\"x\""));
	assert_true(str_starts(buf_str(&first.claim.out), STR("{\"lease\":")));
	rig_put(&more);
	rig_until(&rig.claimed, 2);
	assert_int_equal(second.claim.n, 1);
	assert_non_null(strstr(buf_text(&second.claim.out), "\"id\":\"y\""));
	rig_wait_ms(20);
	assert_int_equal(other.dones, 0);
	items_claim_cancel(&other.claim);
	items_claim_cancel(&other.claim);
	rig_until(&rig.claimed, 3);
	assert_int_equal(other.claim.n, 0);
	assert_int_equal(other.dones, 1);
	rig_forget(&first);
	rig_forget(&second);
	rig_forget(&other);
}

static void
a_claim_finds_what_is_there(void **state)
{
	struct rig_claim c = { 0 };
	struct rig_write w[3] = { { .id = "x" }, { .id = "y" },
	    { .id = "z" } };

	(void)state;
	rig_use_config();
	rig.claimed = 0;
	for (size_t i = 0; i < 3; i++)
		rig_put(&w[i]);
	rig_claim(&c, tasks_all, 0);
	rig_until(&rig.claimed, 1);
	assert_int_equal(c.claim.n, 3);
	rig_forget(&c);
}

static void
a_claim_ends_in_time(void **state)
{
	struct rig_claim c = { 0 }, at_once = { 0 };
	struct mono began = clock_mono();

	(void)state;
	rig_use_config();
	rig.claimed = 0;
	rig_claim(&at_once, tasks_all, 0);
	rig_until(&rig.claimed, 1);
	rig_claim(&c, tasks_all, 50);
	rig_until(&rig.claimed, 2);
	assert_int_equal(c.claim.n, 0);
	assert_int_equal(c.claim.result, OK);
	assert_true(mono_ns_between(began, clock_mono()) >= 50 * NS_PER_MS);
	rig_forget(&c);
	rig_forget(&at_once);
}

/* Makes an item whose pair falls due in 80 ms. */
static enum err
run_put_off(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct item_row *row;
	struct pair_row *pair;
	uint32_t task;

	enum err e = rig_run_write(r, tx, w);
	if (e == OK)
		e = item_tx_find(tx, STR("x"), &row, w);
	if (e == OK)
		e = item_store_name(item_tx_store(tx), ITEM_NAME_TASK,
		    STR("a"), false, &task, w);
	if (e == OK)
		e = item_tx_pair(tx, task, row->key, &pair, w);
	if (e != OK)
		return e;
	item_tx_touch_pair(tx, pair);
	pair->state = PAIR_RETRY;
	pair->attempt = 1;
	pair->due_ms = item_tx_now(tx).us / 1000 + 80;
	return OK;
}

/* Nobody writes: time alone wakes the claim. */
static void
a_claim_waits_for_a_date(void **state)
{
	struct rig_claim c = { 0 };
	struct rig_write w = { .id = "x" };
	struct mono began = clock_mono();

	(void)state;
	rig_use_config();
	rig.claimed = 0;
	assert_int_equal(rig_put_and_wait(&w, run_put_off), OK);
	rig_claim(&c, tasks_all, 60000);
	rig_until(&rig.claimed, 1);
	assert_int_equal(c.claim.n, 1);
	assert_true(mono_ns_between(began, clock_mono()) >= 79 * NS_PER_MS);
	rig_forget(&c);
}

static void
stopped_claims_get_nothing(void **state)
{
	struct rig_claim waits = { 0 }, later = { 0 };
	struct rig_write w = { .id = "x" };

	(void)state;
	rig_use_config();
	rig.claimed = 0;
	rig_claim(&waits, tasks_all, 60000);
	rig_wait_ms(10);
	items_stop_claims(rig.items);
	items_stop_claims(rig.items);
	rig_until(&rig.claimed, 1);
	assert_int_equal(waits.claim.n, 0);
	rig_put(&w);
	rig_until(&rig.done_n, 1);
	rig_claim(&later, tasks_all, 60000);
	rig_until(&rig.claimed, 2);
	assert_int_equal(later.claim.n, 0);
	assert_int_equal(later.claim.result, OK);
	rig_forget(&waits);
	rig_forget(&later);
}

static void
claims_are_bounded(void **state)
{
	size_t n = (size_t)rig.items->limits.claims_max;
	struct rig_claim *c = mem_array(n + 1, sizeof(*c));
	struct rig_write w = { .id = "x" };

	(void)state;
	rig_use_config();
	rig.claimed = 0;
	for (size_t i = 0; i <= n; i++)
		rig_claim(&c[i], tasks_all, 60000);
	rig_until(&rig.claimed, 1);
	assert_int_equal(c[n].claim.result, ERR_FULL);
	/* They are tried in order, and the first gets it. */
	rig_put(&w);
	rig_until(&rig.claimed, 2);
	assert_int_equal(c[0].claim.n, 1);
	for (size_t i = 1; i < n; i += 2)
		items_claim_cancel(&c[i].claim);
	rig_until(&rig.claimed, 2 + (unsigned)n / 2);
	items_stop_claims(rig.items);
	rig_until(&rig.claimed, (unsigned)n + 1);
	for (size_t i = 0; i <= n; i++) {
		assert_int_equal(c[i].dones, 1);
		rig_forget(&c[i]);
	}
	mem_free(&c);
}

/* Claim, and wait until the writer has answered; the main loop has not received
 * the answer yet. */
static void
claim_silently(struct rig_claim *c)
{
	int64_t groups = metric_value(&items_metrics[METRIC_GROUPS], 0);

	rig_claim(c, tasks_b, 0);
	for (int i = 0; i < 20000 && metric_value(
	    &items_metrics[METRIC_GROUPS], 0) == groups; i++)
		usleep(500);
	assert_int_not_equal(metric_value(&items_metrics[METRIC_GROUPS], 0),
	    groups);
}

/* Claims that have been answered, but whose cancellation is still under way, do
 * not count against the limit of writes. */
static void
writes_go_on_beside_cancelled_claims(void **state)
{
	struct rig_claim c[3] = { { .dones = 0 } };
	struct rig_write busy = { .id = "x" }, w = { .id = "y" };
	atomic_bool open = false;

	(void)state;
	rig_use_config();
	rig.claimed = rig.done_n = 0;
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		claim_silently(&c[i]);
	rig_put_gate(&busy, &open);
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		items_claim_cancel(&c[i].claim);
	for (int i = 0; i < 20000 && !c[2].claim.answered; i++)
		rig_turn();
	assert_true(c[2].claim.answered);
	assert_int_equal(rig.claimed, 0);
	rig_put(&w);
	atomic_store(&open, true);
	rig_until(&rig.done_n, 2);
	assert_int_equal(w.write.result, OK);
	rig_until(&rig.claimed, ARRAY_LEN(c));
	for (size_t i = 0; i < ARRAY_LEN(c); i++)
		rig_forget(&c[i]);
}

static int
run(void)
{
	const struct CMUnitTest tests[] = {
		RIG_WITH(a_claim_waits_for_work),
		RIG_ALONE(a_claim_waits_for_work),
		RIG_WITH(a_claim_finds_what_is_there),
		RIG_WITH(writes_go_on_beside_cancelled_claims),
		RIG_WITH(a_claim_ends_in_time),
		RIG_WITH(a_claim_waits_for_a_date),
		RIG_ALONE(a_claim_waits_for_a_date),
		RIG_WITH(stopped_claims_get_nothing),
		RIG_ALONE(stopped_claims_get_nothing),
		RIG_WITH(claims_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int
main(int argc, char **argv)
{
	return rig_main(argc, argv, run);
}

/*
 * States of pairs, the matrix of outcomes, retries and leases:
 * contracts/items.md §3, §4.
 */
#include "engine/items/worklist_testing.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "engine/items/worklist_own.h"

static struct work_test t;

#define RUN "'run':{'$function':true}"
#define TASK_A "'tags':{'t':['a']},'tasks':{'a':{" RUN ",'version':'1'"

static int
teardown(void **state)
{
	(void)state;
	work_close(&t);
	return 0;
}

#define assert_state(id, task, text) \
	assert_string_equal(work_state(&t, id, task), text)

/* -- §3: states -- */

static void
new_pairs_are_unprocessed(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_item(&t, "y", "other");
	assert_state("x", "a", "unprocessed 0");
	assert_state("y", "a", "");

	struct work_lease lease = work_claim_one(&t);
	assert_string_equal(lease.id, "x");
	assert_int_equal(lease.attempt, 1);
	assert_state("x", "a", "leased -");
	assert_int_equal(work_claim(&t, 1, &lease), 0);
}

static void
success_without_ttl_stays_fresh(void **state)
{
	struct work_lease lease;

	(void)state;
	work_open(&t, "{" TASK_A ",'ttl':null}}}");
	work_item(&t, "x", "t");
	work_succeed(&t, work_claim_one(&t).text);
	assert_state("x", "a", "fresh -");
	assert_int_equal(work_claim(&t, 1, &lease), 0);
	assert_int_equal(work_events(&t, "task.done"), 1);
}

static void
fresh_pairs_expire_by_their_due_time(void **state)
{
	struct work_lease lease;

	(void)state;
	work_open(&t, "{" TASK_A ",'ttl':'60s'}}}");
	work_item(&t, "x", "t");
	work_succeed(&t, work_claim_one(&t).text);
	struct result_row r = work_result(&t, "x", "a");
	assert_int_equal(r.expires_at.us - r.completed_at.us, 60 * US_PER_S);
	assert_string_equal(work_state(&t, "x", "a"), arena_printf(&t.arena,
	    "fresh %" PRId64, worklist_due_ms(r.expires_at)).p);

	work_sleep(&t, 59900);
	assert_int_equal(work_claim(&t, 1, &lease), 0);
	work_sleep(&t, 200);
	assert_int_equal(work_claim(&t, 1, &lease), 1);
}

static void
unprocessed_precede_stale(void **state)
{
	struct work_lease leases[5];

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "s1", "t");
	work_item(&t, "s2", "t");
	assert_int_equal(work_claim(&t, 2, leases), 2);
	work_succeed(&t, leases[0].text);
	work_succeed(&t, leases[1].text);
	work_expire(&t, "s1", "a", EXPIRY_PERSON);
	work_expire(&t, "s2", "a", EXPIRY_PERSON);
	assert_state("s1", "a", "stale 1");
	work_item(&t, "u", "t");
	assert_int_equal(work_claim(&t, 5, leases), 3);
	assert_string_equal(leases[0].id, "u");
	assert_string_equal(leases[1].id, "s1");
	assert_string_equal(leases[2].id, "s2");
}

/* Due -1 keeps the state. */
static void
a_person_may_want_it_first(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_succeed(&t, work_claim_one(&t).text);
	work_item(&t, "u", "t");
	work_item(&t, "v", "t");
	work_expire(&t, "x", "a", EXPIRY_FIRST);
	assert_state("x", "a", "stale -1");
	assert_string_equal(work_claim_one(&t).id, "x");
	work_expire(&t, "v", "a", EXPIRY_FIRST);
	assert_state("v", "a", "unprocessed -1");
	assert_string_equal(work_claim_one(&t).id, "v");
	assert_string_equal(work_claim_one(&t).id, "u");
}

static void
rows_follow_tags_and_results_stay(void **state)
{
	(void)state;
	work_open(&t, "{'tags':{'t':['a'],'s':['a']},'tasks':{'a':{" RUN
	    ",'version':'1'}}}");
	work_item(&t, "x", "t,s");
	work_succeed(&t, work_claim_one(&t).text);
	work_tag(&t, "x", NULL, "t");
	assert_state("x", "a", "fresh -");      /* s maps it, too */
	work_tag(&t, "x", NULL, "s");
	assert_state("x", "a", "");
	assert_true(work_result(&t, "x", "a").exists);
	work_tag(&t, "x", "s", NULL);
	assert_state("x", "a", "fresh -");
}

static void
a_lost_tag_ends_the_lease(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	struct work_lease lease = work_claim_one(&t);
	work_tag(&t, "x", NULL, "t");
	assert_int_equal(work_complete(&t, lease.text,
	    "'outcome':'success'").status, COMPLETION_LEASE_LOST);
	assert_false(work_result(&t, "x", "a").exists);
}

static void
a_new_version_makes_stale_and_readmits(void **state)
{
	struct work_lease leases[3];

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "good", "t");
	work_item(&t, "bad", "t");
	work_item(&t, "late", "t");
	assert_int_equal(work_claim(&t, 3, leases), 3);
	work_succeed(&t, leases[0].text);
	work_fail(&t, leases[1].text, "permanent", "changed page");
	work_fail(&t, leases[2].text, "transient", "timeout");
	assert_state("bad", "a", "failed -");
	work_config(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'version':'2'}}}");
	assert_state("good", "a", "stale 1");
	assert_state("bad", "a", "unprocessed 0");
	assert_state("late", "a", "unprocessed 0");
	assert_int_equal(work_claim(&t, 3, leases), 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(leases[i].attempt, 1);
}

static void
a_task_without_configuration_goes(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	struct work_lease lease = work_claim_one(&t);
	work_config(&t, "{'tasks':{'a':{" RUN ",'version':'1'}}}");
	assert_state("x", "a", "");
	assert_state("y", "a", "");
	assert_int_equal(work_complete(&t, lease.text,
	    "'outcome':'success'").status, COMPLETION_LEASE_LOST);
}

/* -- §4: the matrix -- */

static void
success_applies_and_stores(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A ",'ttl':'1h'}}}");
	work_item(&t, "x", "t");
	struct completion c = work_complete(&t, work_claim_one(&t).text,
	    "'outcome':'success'," WORK_UPDATES);
	assert_int_equal(c.status, COMPLETION_APPLIED);
	assert_int_equal(c.effects_n, 2);
	assert_int_equal(c.effects[0], ITEM_UPDATED);
	assert_int_equal(c.effects[1], ITEM_METADATA);
	work_assert_data(&t, "x", "{\"n\":1}");
	struct result_row r = work_result(&t, "x", "a");
	assert_true(r.is_successful);
	work_assert_text(&t, r.metadata, "{\"m\":1}");
	work_assert_text(&t, r.task_version, "1");

	/* The next success keeps metadata that it does not update. */
	work_expire(&t, "x", "a", EXPIRY_PERSON);
	work_succeed(&t, work_claim_one(&t).text);
	work_assert_text(&t, work_result(&t, "x", "a").metadata, "{\"m\":1}");
}

/* Metadata, TTL and completed_at of the success before stay. */
static void
failure_discards(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A ",'ttl':'1h'}}}");
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text, "'outcome':'success',"
	    "'mutations':[{'op':'updateMetadata','rev':0,'metadata':{'m':0}},"
	    "{'op':'setTTL','ttl':'2h'}]");
	struct result_row before = work_result(&t, "x", "a");
	assert_int_equal(before.ttl_override_us, 7200 * US_PER_S);
	work_expire(&t, "x", "a", EXPIRY_PERSON);
	struct completion c = work_complete(&t, work_claim_one(&t).text,
	    WORK_ERROR("permanent") "," WORK_UPDATES);
	assert_int_equal(c.status, COMPLETION_APPLIED);
	assert_int_equal(c.effects_n, 0);
	work_assert_data(&t, "x", "{}");
	struct result_row r = work_result(&t, "x", "a");
	assert_false(r.is_successful);
	work_assert_text(&t, r.metadata, "{\"m\":0}");
	assert_int_equal(r.completed_at.us, before.completed_at.us);
	assert_int_equal(r.ttl_override_us, before.ttl_override_us);
	assert_int_equal(r.expires_at.us, before.expires_at.us);
	assert_state("x", "a", "failed -");
	assert_int_equal(work_failures(&t, "x", false), 1);
	assert_int_equal(work_events(&t, "task.failed"), 1);
}

static void
assert_stored_failure(void)
{
	struct result_row r = work_result(&t, "x", "a");

	work_assert_data(&t, "x", "{\"n\":1}");
	assert_true(r.exists);
	assert_false(r.is_successful);
	work_assert_text(&t, r.metadata, "{\"m\":1}");
	assert_true(r.completed_at.us != ITEM_TIME_NONE.us);
	assert_state("x", "a", "failed -");
	assert_int_equal(work_failures(&t, "x", false), 1);
}

static void
allow_failure_applies_and_stores(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text,
	    "'allowFailure':true," WORK_ERROR("permanent") "," WORK_UPDATES);
	assert_stored_failure();
}

static void
on_failure_store_applies_and_stores(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A ",'onFailure':'store'}}}");
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text,
	    WORK_ERROR("permanent") "," WORK_UPDATES);
	assert_stored_failure();
}

static void
stored_transient_failures_are_tried_again(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text,
	    "'allowFailure':true," WORK_ERROR("transient") "," WORK_UPDATES);
	assert_int_equal(work_pair(&t, "x", "a").state, PAIR_RETRY);
	work_assert_text(&t, work_result(&t, "x", "a").metadata, "{\"m\":1}");
}

/* -- §4: retries -- */

/* 30 s × 2ⁿ up to 6 h, ±20 %, ten times; then it is parked. */
static void
transient_failures_back_off(void **state)
{
	int64_t want_ms = 60000;

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	for (unsigned i = 1; i <= 10; i++) {
		struct work_lease lease = work_claim_one(&t);

		assert_int_equal(lease.attempt, i);
		work_fail(&t, lease.text, "transient", "timeout");
		int64_t failed_ms = t.items.now.us / 1000;
		struct pair_row p = work_pair(&t, "x", "a");
		assert_int_equal(p.state, PAIR_RETRY);
		assert_in_range(p.due_ms - failed_ms, want_ms * 8 / 10 - 2,
		    want_ms * 12 / 10 + 2);
		assert_int_equal(work_claim(&t, 1, &lease), 0);
		t.items.now.us = p.due_ms * 1000;
		want_ms = MIN(want_ms * 2, 6 * 3600 * 1000);
	}
	work_fail(&t, work_claim_one(&t).text, "transient", "timeout");
	assert_state("x", "a", "failed -");
	assert_int_equal(work_failures(&t, "x", false), 11);
	assert_int_equal(work_events(&t, "task.retry"), 10);
	assert_int_equal(work_events(&t, "task.failed"), 1);
}

static void
back_off_has_its_maximum(void **state)
{
	struct pair_row p = { .due_ms = 0 };

	(void)state;
	work_open(&t, "{" TASK_A ",'retries':20}}}");
	work_item(&t, "x", "t");
	for (int i = 0; i < 14; i++) {
		work_fail(&t, work_claim_one(&t).text, "transient", "timeout");
		int64_t failed_ms = t.items.now.us / 1000;
		p = work_pair(&t, "x", "a");
		assert_in_range(p.due_ms - failed_ms, 0,
		    6 * 3600 * 1000 * 12 / 10 + 2);
		t.items.now.us = p.due_ms * 1000;
	}
	assert_int_equal(p.state, PAIR_RETRY);
}

static void
retry_after_is_heeded(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text, "'outcome':'failure',"
	    "'error':{'class':'transient','message':'429','retryAfter':3600}");
	struct pair_row p = work_pair(&t, "x", "a");
	assert_in_range(p.due_ms - t.items.now.us / 1000, 3599900, 3600000);

	/* A date, too; an earlier one does not shorten the back-off. */
	t.items.now.us = p.due_ms * 1000;
	work_complete(&t, work_claim_one(&t).text, "'outcome':'failure',"
	    "'error':{'class':'transient','message':'429',"
	    "'retryAfter':'2026-11-21T07:00:00Z'}");
	p = work_pair(&t, "x", "a");
	assert_int_equal(p.due_ms, INT64_C(1795244400000));
	t.items.now.us = p.due_ms * 1000;
	work_complete(&t, work_claim_one(&t).text, "'outcome':'failure',"
	    "'error':{'class':'transient','message':'429',"
	    "'retry_at':'2026-11-21T09:00:00Z'}");
	p = work_pair(&t, "x", "a");
	assert_int_equal(p.due_ms, INT64_C(1795251600000));
	t.items.now.us = p.due_ms * 1000;
	work_complete(&t, work_claim_one(&t).text, "'outcome':'failure',"
	    "'error':{'class':'transient','message':'429','retryAfter':1}");
	p = work_pair(&t, "x", "a");
	assert_true(p.due_ms - t.items.now.us / 1000 > 90000);
}

static void
retry_after_has_its_maximum(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text, "'outcome':'failure',"
	    "'error':{'class':'transient','message':'429','retryAfter':1e300}");
	int64_t max_ms = RETRY_AFTER_US_MAX / 1000;
	assert_in_range(work_pair(&t, "x", "a").due_ms -
	    t.items.now.us / 1000, max_ms - 100, max_ms);
}

static void
crashes_are_tried_once_more(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_fail(&t, work_claim_one(&t).text, "crashed", "signal 11");
	struct pair_row p = work_pair(&t, "x", "a");
	assert_int_equal(p.state, PAIR_RETRY);
	t.items.now.us = p.due_ms * 1000;
	work_fail(&t, work_claim_one(&t).text, "crashed", "signal 11");
	assert_state("x", "a", "failed -");
}

/* What failed otherwise before does not count. */
static void
crashes_are_counted_alone(void **state)
{
	static const char *const classes[] = { "transient", "crashed",
	    "transient", "crashed" };

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	for (int i = 0; i < 3; i++) {
		work_fail(&t, work_claim_one(&t).text, classes[i], "no");
		struct pair_row p = work_pair(&t, "x", "a");
		assert_int_equal(p.state, PAIR_RETRY);
		t.items.now.us = p.due_ms * 1000;
	}
	work_fail(&t, work_claim_one(&t).text, classes[3], "no");
	assert_state("x", "a", "failed -");
}

static void
a_later_success_handles_failures(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_fail(&t, work_claim_one(&t).text, "transient", "timeout");
	t.items.now.us = work_pair(&t, "x", "a").due_ms * 1000;
	work_succeed(&t, work_claim_one(&t).text);
	assert_state("x", "a", "fresh -");
	assert_int_equal(work_pair(&t, "x", "a").attempt, 0);
	assert_int_equal(work_failures(&t, "x", false), 0);
	assert_int_equal(work_failures(&t, "x", true), 1);
}

/* -- §4: leases -- */

static void
an_expired_lease_is_a_transient_failure(void **state)
{
	struct work_lease lease, none;

	(void)state;
	work_open(&t, "{" TASK_A ",'lease':'60s'}}}");
	work_item(&t, "x", "t");
	lease = work_claim_one(&t);
	work_sleep(&t, 59000);
	assert_int_equal(work_claim(&t, 1, &none), 0);
	assert_state("x", "a", "leased -");
	work_sleep(&t, 2000);
	assert_int_equal(work_claim(&t, 1, &none), 0);
	struct pair_row p = work_pair(&t, "x", "a");
	assert_int_equal(p.state, PAIR_RETRY);
	assert_int_equal(p.attempt, 1);
	assert_int_equal(work_failures(&t, "x", false), 1);

	/* The worker comes back: it has lost, and nothing is changed. */
	t.items.now.us = p.due_ms * 1000;
	struct work_lease second = work_claim_one(&t);
	assert_int_equal(work_complete(&t, lease.text,
	    "'outcome':'success'," WORK_UPDATES).status, COMPLETION_LEASE_LOST);
	work_assert_data(&t, "x", "{}");
	assert_state("x", "a", "leased -");
	work_succeed(&t, second.text);
}

static void
the_last_completion_may_be_repeated(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	struct work_lease lease = work_claim_one(&t);
	work_complete(&t, lease.text, "'outcome':'success'," WORK_UPDATES);
	struct result_row r = work_result(&t, "x", "a");
	assert_int_equal(work_complete(&t, lease.text,
	    "'outcome':'success'," WORK_UPDATES).status, COMPLETION_APPLIED);
	assert_int_equal(work_result(&t, "x", "a").completed_at.us,
	    r.completed_at.us);
	assert_int_equal(work_events(&t, "task.done"), 1);
	assert_int_equal(work_complete(&t, "Lnonsense",
	    "'outcome':'success'").status, COMPLETION_LEASE_LOST);
}

static bool
release(const char *lease, bool refund)
{
	bool was;

	work_begin(&t);
	assert_int_equal(worklist_release(t.items.tx, str_of(lease), refund,
	    &was, NULL), OK);
	work_commit(&t);
	return was;
}

static void
a_released_pair_is_as_before(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	struct work_lease lease = work_claim_one(&t);
	assert_true(release(lease.text, false));
	assert_state("x", "a", "unprocessed 0");
	assert_int_equal(work_pair(&t, "x", "a").attempt, 0);
	assert_int_equal(work_failures(&t, "x", true), 0);
	assert_false(release(lease.text, false));
	/* One that waits for another try goes on counting. */
	work_fail(&t, work_claim_one(&t).text, "transient", "timeout");
	t.items.now.us = work_pair(&t, "x", "a").due_ms * 1000;
	assert_true(release(work_claim_one(&t).text, false));
	assert_int_equal(work_pair(&t, "x", "a").state, PAIR_RETRY);
	assert_int_equal(work_claim_one(&t).attempt, 2);
}

static void
a_restart_releases_own_leases_only(void **state)
{
	const struct str all = STR("*");
	struct worklist_claim remote = { .tasks = &all, .tasks_n = 1,
	    .max = 1, .worker = STR("n7") };
	struct worklist_lease *leases;
	size_t n;

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	work_claim_one(&t);
	work_begin(&t);
	assert_int_equal(worklist_claim(t.items.tx, &remote, &leases, &n,
	    NULL), OK);
	assert_int_equal(n, 1);
	work_commit(&t);
	work_restart(&t);
	work_begin(&t);
	assert_int_equal(worklist_release_own(t.items.tx, NULL), OK);
	work_commit(&t);
	assert_state("x", "a", "unprocessed 0");
	assert_state("y", "a", "leased -");
	work_assert_text(&t, work_pair(&t, "y", "a").worker, "test/n7");
}

static void
heartbeats_extend(void **state)
{
	struct work_lease none;
	struct wall until;

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	struct work_lease lease = work_claim_one(&t);
	work_sleep(&t, 50000);
	work_begin(&t);
	assert_int_equal(worklist_heartbeat(t.items.tx, str_of(lease.text),
	    120 * US_PER_S, &until, NULL), OK);
	assert_int_equal(until.us, t.items.now.us + 120 * US_PER_S);
	work_commit(&t);
	work_sleep(&t, 119000);
	assert_int_equal(work_claim(&t, 1, &none), 0);
	assert_state("x", "a", "leased -");
	work_sleep(&t, 2000);
	assert_int_equal(work_claim(&t, 1, &none), 0);
	work_begin(&t);
	assert_int_equal(worklist_heartbeat(t.items.tx, str_of(lease.text), 0,
	    &until, NULL), OK);
	assert_int_equal(until.us, ITEM_TIME_NONE.us);
	work_commit(&t);
}

static void
leases_have_their_maximum(void **state)
{
	struct why w = WHY_INIT;
	struct wall until;

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	struct work_lease lease = work_claim_one(&t);
	work_begin(&t);
	assert_int_equal(worklist_heartbeat(t.items.tx, str_of(lease.text),
	    LEASE_US_MAX, &until, &w), OK);
	assert_int_equal(worklist_heartbeat(t.items.tx, str_of(lease.text),
	    LEASE_US_MAX + 1, &until, &w), ERR_INPUT);
	assert_string_equal(w.field, "lease_ms");
	work_commit(&t);
}

static void
results_of_old_versions_are_stale_at_once(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	struct work_lease x = work_claim_one(&t), y = work_claim_one(&t);
	work_config(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'version':'2'}}}");
	assert_state("x", "a", "leased -");
	work_complete(&t, x.text, "'outcome':'success'," WORK_UPDATES);
	struct result_row r = work_result(&t, "x", "a");
	work_assert_text(&t, r.metadata, "{\"m\":1}");
	work_assert_text(&t, r.task_version, "1");
	assert_state("x", "a", "stale 1");
	/* Its failure does not park it either. */
	work_fail(&t, y.text, "permanent", "changed page");
	assert_state("y", "a", "unprocessed 0");
}

static void
an_expiry_while_leased_runs_it_again(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A ",'minInterval':'0s'}}}");
	work_item(&t, "x", "t");
	struct work_lease lease = work_claim_one(&t);
	work_expire(&t, "x", "a", EXPIRY_PERSON);
	assert_state("x", "a", "leased -");
	work_succeed(&t, lease.text);
	assert_state("x", "a", "stale 1");
	work_succeed(&t, work_claim_one(&t).text);
	assert_state("x", "a", "fresh -");
}

int
main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		CASE(new_pairs_are_unprocessed),
		CASE(success_without_ttl_stays_fresh),
		CASE(fresh_pairs_expire_by_their_due_time),
		CASE(unprocessed_precede_stale),
		CASE(a_person_may_want_it_first),
		CASE(rows_follow_tags_and_results_stay),
		CASE(a_lost_tag_ends_the_lease),
		CASE(a_new_version_makes_stale_and_readmits),
		CASE(a_task_without_configuration_goes),
		CASE(success_applies_and_stores),
		CASE(failure_discards),
		CASE(allow_failure_applies_and_stores),
		CASE(on_failure_store_applies_and_stores),
		CASE(stored_transient_failures_are_tried_again),
		CASE(transient_failures_back_off),
		CASE(back_off_has_its_maximum),
		CASE(retry_after_is_heeded),
		CASE(retry_after_has_its_maximum),
		CASE(crashes_are_tried_once_more),
		CASE(crashes_are_counted_alone),
		CASE(a_later_success_handles_failures),
		CASE(an_expired_lease_is_a_transient_failure),
		CASE(the_last_completion_may_be_repeated),
		CASE(a_released_pair_is_as_before),
		CASE(a_restart_releases_own_leases_only),
		CASE(heartbeats_extend),
		CASE(leases_have_their_maximum),
		CASE(results_of_old_versions_are_stale_at_once),
		CASE(an_expiry_while_leased_runs_it_again),
	};

	return items_test_main(argc, argv, tests);
}

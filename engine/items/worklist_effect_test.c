/*
 * What completions do besides: effects on the running pair, mutations that
 * fail, tasks that trip, failures that are handled (contracts/items.md §4, §5).
 */
#include "engine/items/worklist_testing.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <yyjson.h>

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

/* -- §5: what a run stores about its own pair -- */

static void
own_ttl_and_expiry_take_effect_on_this_result(void **state)
{
	struct work_lease none;

	(void)state;
	work_open(&t, "{" TASK_A ",'ttl':'1h','minInterval':'10s'}}}");
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text, "'outcome':'success',"
	    "'mutations':[{'op':'setTTL','ttl':'2h'},{'op':'expire'}]");
	struct result_row r = work_result(&t, "x", "a");
	assert_int_equal(r.ttl_override_us, 7200 * US_PER_S);
	assert_int_equal(r.expires_at.us - r.completed_at.us,
	    7200 * US_PER_S);
	struct pair_row p = work_pair(&t, "x", "a");
	assert_int_equal(p.state, PAIR_STALE);
	assert_int_equal(p.due_ms, worklist_due_ms((struct wall){
	    r.completed_at.us + 10 * US_PER_S }));
	work_sleep(&t, 9900);
	assert_int_equal(work_claim(&t, 1, &none), 0);
	work_sleep(&t, 200);
	work_succeed(&t, work_claim_one(&t).text);
	/* The next result starts without an override. */
	r = work_result(&t, "x", "a");
	assert_int_equal(r.ttl_override_us, RESULT_TTL_NONE);
	assert_int_equal(r.expires_at.us - r.completed_at.us,
	    3600 * US_PER_S);
}

static void
scripts_wait_for_min_interval_and_people_do_not(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A ",'minInterval':'10s'}}}");
	work_item(&t, "x", "t");
	work_succeed(&t, work_claim_one(&t).text);
	int64_t due = worklist_due_ms((struct wall){
	    work_result(&t, "x", "a").completed_at.us + 10 * US_PER_S });
	work_expire(&t, "x", "a", EXPIRY_SCRIPT);
	struct pair_row p = work_pair(&t, "x", "a");
	assert_int_equal(p.state, PAIR_STALE);
	assert_int_equal(p.due_ms, due);
	/* Expired again by a script: no change; by a person: at once. */
	work_expire(&t, "x", "a", EXPIRY_SCRIPT);
	assert_int_equal(work_pair(&t, "x", "a").due_ms, due);
	work_expire(&t, "x", "a", EXPIRY_PERSON);
	assert_state("x", "a", "stale 1");
	work_succeed(&t, work_claim_one(&t).text);
	work_sleep(&t, 11000);
	work_expire(&t, "x", "a", EXPIRY_SCRIPT);
	assert_state("x", "a", "stale 1");
}

static void
expiring_a_parked_pair_unfails_it(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	struct work_lease x = work_claim_one(&t);
	work_succeed(&t, work_claim_one(&t).text);
	work_fail(&t, x.text, "permanent", "no");
	work_expire(&t, "x", "a", EXPIRY_PERSON);
	assert_state("x", "a", "unprocessed 0");
	work_expire(&t, "y", "a", EXPIRY_PERSON);
	struct work_lease leases[2];
	assert_int_equal(work_claim(&t, 2, leases), 2);
	assert_int_equal(leases[0].attempt, 1);
	work_fail(&t, leases[1].text, "permanent", "no");
	work_sleep(&t, 60000);
	work_expire(&t, "y", "a", EXPIRY_SCRIPT);
	assert_state("y", "a", "stale 1");
}

/* An expiry does not shorten the wait for a server. */
static void
expiring_a_waiting_pair_leaves_it_waiting(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_fail(&t, work_claim_one(&t).text, "transient", "timeout");
	int64_t due = work_pair(&t, "x", "a").due_ms;
	work_expire(&t, "x", "a", EXPIRY_PERSON);
	struct pair_row p = work_pair(&t, "x", "a");
	assert_int_equal(p.state, PAIR_RETRY);
	assert_int_equal(p.due_ms, due);
	assert_int_equal(p.attempt, 1);
	work_expire(&t, "x", "a", EXPIRY_FIRST);
	assert_state("x", "a", "retry -1");
}

static void
a_run_may_remove_its_own_tag(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text, "'outcome':'success',"
	    "'mutations':[{'op':'updateTags','remove':['t']},"
	    "{'op':'updateMetadata','rev':0,'metadata':{'m':1}}]");
	assert_state("x", "a", "");
	struct result_row r = work_result(&t, "x", "a");
	assert_true(r.is_successful);
	work_assert_text(&t, r.metadata, "{\"m\":1}");
}

static void
a_run_may_delete_its_own_item(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	struct completion c = work_complete(&t, work_claim_one(&t).text,
	    "'outcome':'success','mutations':[{'op':'deleteItem'}]");
	assert_int_equal(c.status, COMPLETION_APPLIED);
	assert_int_equal(c.effects[0], ITEM_DELETED);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT (SELECT count(*) FROM items) +"
	    " (SELECT count(*) FROM worklist) +"
	    " (SELECT count(*) FROM task_results) +"
	    " (SELECT count(*) FROM runs)"), 0);
}

static void
merge(const char *from, const char *into)
{
	struct item_actor person = { .run_item = 0 };
	struct item_merge m = { .from = str_of(from), .into = str_of(into) };
	enum item_effect effect;
	struct item_row *item;
	struct why w = WHY_INIT;

	work_begin(&t);
	if (item_merge(t.items.tx, &person, &m, &effect, &item, &w) != OK)
		fail_msg("%s", w.text);
	work_commit(&t);
}

static void
a_lease_moves_with_its_item(void **state)
{
	struct work_lease none;

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_item(&t, "y", "");
	struct work_lease lease = work_claim_one(&t);
	merge("x", "y");
	assert_state("y", "a", "leased -");
	assert_int_equal(work_claim(&t, 1, &none), 0);
	work_begin(&t);
	struct wall until;
	assert_int_equal(worklist_heartbeat(t.items.tx, str_of(lease.text), 0,
	    &until, NULL), OK);
	assert_true(until.us != ITEM_TIME_NONE.us);
	work_commit(&t);
	work_complete(&t, lease.text, "'outcome':'success','mutations':["
	    "{'op':'updateMetadata','rev':0,'metadata':{'m':1}}]");
	work_assert_text(&t, work_result(&t, "y", "a").metadata, "{\"m\":1}");
	assert_state("y", "a", "fresh -");
}

static void
a_lease_is_lost_to_a_leased_pair(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	struct work_lease x = work_claim_one(&t), y = work_claim_one(&t);
	merge("x", "y");
	assert_int_equal(work_complete(&t, x.text,
	    "'outcome':'success'").status, COMPLETION_LEASE_LOST);
	assert_state("y", "a", "leased -");
	work_succeed(&t, y.text);
}

static void
a_run_may_merge_itself_away(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_item(&t, "y", "");
	struct completion c = work_complete(&t, work_claim_one(&t).text,
	    "'outcome':'success','mutations':[{'op':'updateMetadata',"
	    "'rev':0,'metadata':{'m':1}},{'op':'mergeItem','into':'y'}]");
	assert_int_equal(c.status, COMPLETION_APPLIED);
	assert_int_equal(c.effects[1], ITEM_MERGED);
	work_assert_text(&t, work_result(&t, "y", "a").metadata, "{\"m\":1}");
	assert_state("x", "a", "fresh -");       /* an alias of y */
	assert_state("y", "a", "fresh -");

	/* Into an item whose pair is leased: it stores no result of its own. */
	work_item(&t, "v", "t");
	work_item(&t, "w", "t");
	struct work_lease leases[2];
	assert_int_equal(work_claim(&t, 2, leases), 2);
	c = work_complete(&t, leases[0].text, "'outcome':'success',"
	    "'mutations':[{'op':'mergeItem','into':'w'}]");
	assert_int_equal(c.status, COMPLETION_APPLIED);
	assert_state("w", "a", "leased -");
	assert_false(work_result(&t, "w", "a").exists);
}

static void
a_run_may_complete_for_others(void **state)
{
	struct work_lease leases[3];

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "leased", "t");
	work_item(&t, "parked", "t");
	work_item(&t, "x", "t");
	assert_int_equal(work_claim(&t, 3, leases), 3);
	work_fail(&t, leases[1].text, "permanent", "no");
	struct completion c = work_complete(&t, leases[2].text,
	    "'outcome':'success','mutations':[{'op':'completeFor',"
	    "'id':'leased','metadata':{'m':1}},{'op':'completeFor',"
	    "'id':'parked','metadata':{'m':2}}]");
	assert_int_equal(c.status, COMPLETION_APPLIED);
	assert_int_equal(c.effects[0], ITEM_SKIPPED);
	assert_int_equal(c.effects[1], ITEM_COMPLETED);
	assert_state("leased", "a", "leased -");
	assert_state("parked", "a", "fresh -");
	assert_int_equal(work_failures(&t, "parked", false), 0);
	work_assert_text(&t, work_result(&t, "parked", "a").metadata,
	    "{\"m\":2}");
}

static void
delete_beside_update_is_refused(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	struct completion c = work_complete(&t, work_claim_one(&t).text,
	    "'outcome':'success','mutations':[{'op':'updateData','id':'x',"
	    "'rev':1,'data':{'n':1}},{'op':'deleteItem','id':'x'}]");
	assert_int_equal(c.status, COMPLETION_FAILED);
	assert_int_equal(c.failed_op, 1);
	work_assert_data(&t, "x", "{}");
	assert_state("x", "a", "failed -");
}

/* All is rolled back, and the run is recorded as a failed one. */
static void
a_mutation_error_fails_the_run(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	struct completion c = work_complete(&t, work_claim_one(&t).text,
	    "'outcome':'success','mutations':[{'op':'updateData','id':'x',"
	    "'rev':1,'data':{'n':1}},{'op':'updateTags','id':'nobody',"
	    "'add':['t']}]");
	assert_int_equal(c.status, COMPLETION_FAILED);
	assert_int_equal(c.failed_op, 1);
	assert_non_null(strstr(c.reason.p, "nobody"));
	work_assert_data(&t, "x", "{}");
	assert_state("x", "a", "failed -");
	assert_int_equal(work_failures(&t, "x", false), 1);
	assert_int_equal(work_events(&t, "item.updated"), 0);
	assert_int_equal(work_events(&t, "task.failed"), 1);
}

static void
a_conflict_keeps_the_lease(void **state)
{
	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	struct work_lease lease = work_claim_one(&t);
	struct completion c = work_complete(&t, lease.text,
	    "'outcome':'success','mutations':[{'op':'createItem','id':'y',"
	    "'data':{}},{'op':'updateData','id':'x','rev':9,'data':{}}]");
	assert_int_equal(c.status, COMPLETION_CONFLICT);
	work_assert_text(&t, c.conflict.item, "x");
	assert_state("x", "a", "leased -");
	assert_int_equal(items_test_number(&t.items,
	    "SELECT count(*) FROM items"), 1);
	work_complete(&t, lease.text, "'outcome':'success'," WORK_UPDATES);
	work_assert_data(&t, "x", "{\"n\":1}");
}

static void
faulty_completions_name_the_field(void **state)
{
	static const struct {
		const char *json, *field;
	} rows[] = {
		{ "{'outcome':'success'}", "lease" },
		{ "{'lease':7,'outcome':'success'}", "lease" },
		{ "{'lease':'L','outcome':'maybe'}", "outcome" },
		{ "{'lease':'L'}", "outcome" },
		{ "{'lease':'L','outcome':'failure'}", "error" },
		{ "{'lease':'L','outcome':'failure','error':'no'}", "error" },
		{ "{'lease':'L','outcome':'success','mutations':{}}",
		    "mutations" },
		{ "{'lease':'L','outcome':'success','log':'x'}", "log" },
		{ "{'lease':'L','outcome':'success','allowFailure':1}",
		    "allowFailure" },
		{ "[]", "completions" },
	};

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str json = work_json(&t, rows[i].json);
		yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
		struct why w = WHY_INIT;
		struct completion c;

		work_begin(&t);
		worklist_complete_want(t.items.tx, yyjson_doc_get_root(doc));
		assert_int_equal(worklist_complete(t.items.tx,
		    yyjson_doc_get_root(doc), NULL, &c, &w), ERR_INPUT);
		assert_string_equal(w.field, rows[i].field);
		work_commit(&t);
		yyjson_doc_free(doc);
	}
}

/* -- Tripping and handling -- */

#define TRIPS TASK_A ",'maxOutstandingFailures':2}}}"

static void
handle_all(bool retry, size_t want_handled, size_t want_requeued)
{
	struct item_actor person = { .run_item = 0 };
	size_t handled, requeued;

	work_begin(&t);
	assert_int_equal(worklist_handle_task(t.items.tx, &person, STR("*"),
	    STR(""), STR("anna"), STR("site fixed"), retry, &handled,
	    &requeued, NULL), OK);
	work_commit(&t);
	assert_int_equal(handled, want_handled);
	assert_int_equal(requeued, want_requeued);
}

static void
fail_items(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		work_fail(&t, work_claim_one(&t).text, "permanent", "changed");
}

static void
parked_pairs_trip_the_task(void **state)
{
	struct work_lease none;

	(void)state;
	work_open(&t, "{" TRIPS);
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	work_item(&t, "z", "t");
	fail_items(1);
	assert_int_equal(work_events(&t, "task.tripped"), 0);
	fail_items(1);
	assert_int_equal(work_events(&t, "task.tripped"), 1);
	assert_int_equal(work_claim(&t, 1, &none), 0);
	handle_all(true, 2, 2);
	assert_int_equal(work_events(&t, "task.resumed"), 1);
	assert_int_equal(work_events(&t, "task.unfailed"), 2);
	assert_state("x", "a", "unprocessed 0");
	struct work_lease leases[3];
	assert_int_equal(work_claim(&t, 3, leases), 3);
}

/* Ten hours without an answer, from the evening to the morning. */
static void
a_night_without_the_host_parks_nothing(void **state)
{
	enum { PAIRS = 40, MINUTES = 600 };
	struct work_lease leases[PAIRS];
	unsigned tries = 0;

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	for (unsigned i = 0; i < PAIRS; i++)
		work_item(&t, arena_printf(&t.arena, "i%u", i).p, "t");
	for (unsigned m = 0; m < MINUTES; m++) {
		size_t n = work_claim(&t, PAIRS, leases);
		for (size_t i = 0; i < n; i++)
			work_fail(&t, leases[i].text, "transient",
			    "cannot connect");
		tries += (unsigned)n;
		work_sleep(&t, 60000);
	}
	/* Each was tried again and again, but nobody is asked too often. */
	assert_in_range(tries, PAIRS * 8, PAIRS * 11);
	assert_int_equal(work_events(&t, "task.failed"), 0);
	assert_int_equal(work_events(&t, "task.tripped"), 0);
	/* In the morning, and within the longest wait, all succeed. */
	work_sleep(&t, 8 * 3600 * 1000);
	assert_int_equal(work_claim(&t, PAIRS, leases), PAIRS);
	for (size_t i = 0; i < PAIRS; i++)
		work_succeed(&t, leases[i].text);
	assert_int_equal(work_failures(&t, "i0", false), 0);
}

/* With a new version no pair is parked any more. */
static void
a_new_version_resumes_a_tripped_task(void **state)
{
	struct work_lease leases[2];

	(void)state;
	work_open(&t, "{" TRIPS);
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	fail_items(2);
	assert_int_equal(work_claim(&t, 2, leases), 0);
	work_config(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN
	    ",'version':'2','maxOutstandingFailures':2}}}");
	assert_int_equal(work_claim(&t, 2, leases), 2);
	assert_int_equal(work_events(&t, "task.resumed"), 1);
}

/* Handled ones that stay parked do not count. */
static void
handled_failures_do_not_trip(void **state)
{
	(void)state;
	work_open(&t, "{" TRIPS);
	for (int i = 0; i < 5; i++)
		work_item(&t, arena_printf(&t.arena, "i%d", i).p, "t");
	fail_items(2);
	handle_all(false, 2, 0);
	assert_state("i0", "a", "failed -");
	fail_items(1);
	assert_int_equal(work_events(&t, "task.tripped"), 1);
	fail_items(1);
	assert_int_equal(work_events(&t, "task.tripped"), 2);
}

static void
one_failure_is_handled(void **state)
{
	struct item_actor person = { .run_item = 0 };
	struct why w = WHY_INIT;
	size_t handled, requeued;

	(void)state;
	work_open(&t, "{" TRIPS);
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	fail_items(2);
	for (uint64_t id = 1; id <= 2; id++) {
		assert_int_equal(work_events(&t, "task.resumed"), 0);
		work_begin(&t);
		assert_int_equal(worklist_handle(t.items.tx, &person, id,
		    STR("anna"), STR("gone"), id == 1, &handled, &requeued,
		    NULL), OK);
		work_commit(&t);
		assert_int_equal(handled, 1);
		assert_int_equal(requeued, id == 1);
	}
	assert_int_equal(work_events(&t, "task.resumed"), 1);
	assert_state("x", "a", "unprocessed 0");
	assert_state("y", "a", "failed -");
	work_begin(&t);
	assert_int_equal(worklist_handle(t.items.tx, &person, 99, STR(""),
	    STR(""), true, &handled, &requeued, &w), ERR_ABSENT);
	assert_string_equal(w.field, "failure");
	work_commit(&t);
}

static void
failures_of_a_message_are_handled(void **state)
{
	struct item_actor person = { .run_item = 0 };
	struct why w = WHY_INIT;
	size_t handled, requeued;

	(void)state;
	work_open(&t, "{" TASK_A "}}}");
	work_item(&t, "x", "t");
	work_item(&t, "y", "t");
	work_fail(&t, work_claim_one(&t).text, "permanent", "one");
	work_fail(&t, work_claim_one(&t).text, "permanent", "two");
	work_begin(&t);
	assert_int_equal(worklist_handle_task(t.items.tx, &person, STR("a"),
	    STR("two"), STR("anna"), STR_NONE, true, &handled, &requeued,
	    NULL), OK);
	assert_int_equal(worklist_handle_task(t.items.tx, &person, STR("q*"),
	    STR(""), STR("anna"), STR_NONE, true, &handled, &requeued, &w),
	    ERR_ABSENT);
	work_commit(&t);
	assert_state("x", "a", "failed -");
	assert_state("y", "a", "unprocessed 0");
}

/* -- Expiry of many -- */

static size_t
expire_all(const char *tag, const char *prefix, size_t max)
{
	struct item_actor person = { .run_item = 0 };
	struct worklist_place at = { .task = 0 };
	size_t n = 0;
	bool more = true;

	for (int i = 0; more && i < 100; i++) {
		work_begin(&t);
		assert_int_equal(worklist_expire(t.items.tx, &person,
		    STR("*"), str_of(tag), str_of(prefix), &at, max, &more,
		    &n, NULL), OK);
		work_commit(&t);
	}
	assert_false(more);
	return n;
}

static void
tasks_are_expired_in_chunks(void **state)
{
	struct work_lease leases[16];

	(void)state;
	work_open(&t, "{'tags':{'t':['a','b']},'tasks':{'a':{" RUN
	    ",'version':'1'},'b':{" RUN ",'version':'1'}}}");
	for (int i = 0; i < 8; i++)
		work_item(&t, arena_printf(&t.arena, "%c:%d", i % 2 ? 'p' :
		    'q', i).p, i < 2 ? "t,extra" : "t");
	size_t n = work_claim(&t, 16, leases);
	assert_int_equal(n, 16);
	for (size_t i = 0; i < n; i++)
		work_succeed(&t, leases[i].text);
	assert_int_equal(expire_all("extra", NULL, 3), 4);
	assert_state("q:0", "a", "stale 1");
	assert_state("p:1", "b", "stale 1");
	assert_state("q:2", "a", "fresh -");
	assert_int_equal(expire_all(NULL, "p:", 3), 8);
	assert_state("p:7", "a", "stale 1");
	assert_state("q:2", "a", "fresh -");
	assert_int_equal(expire_all("unknown", NULL, 3), 0);
	assert_int_equal(expire_all(NULL, NULL, 3), 16);
	assert_int_equal(work_claim(&t, 16, leases), 16);
}

int
main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		CASE(own_ttl_and_expiry_take_effect_on_this_result),
		CASE(scripts_wait_for_min_interval_and_people_do_not),
		CASE(expiring_a_parked_pair_unfails_it),
		CASE(expiring_a_waiting_pair_leaves_it_waiting),
		CASE(a_run_may_remove_its_own_tag),
		CASE(a_run_may_delete_its_own_item),
		CASE(a_lease_moves_with_its_item),
		CASE(a_lease_is_lost_to_a_leased_pair),
		CASE(a_run_may_merge_itself_away),
		CASE(a_run_may_complete_for_others),
		CASE(delete_beside_update_is_refused),
		CASE(a_mutation_error_fails_the_run),
		CASE(a_conflict_keeps_the_lease),
		CASE(faulty_completions_name_the_field),
		CASE(parked_pairs_trip_the_task),
		CASE(a_night_without_the_host_parks_nothing),
		CASE(a_new_version_resumes_a_tripped_task),
		CASE(handled_failures_do_not_trip),
		CASE(one_failure_is_handled),
		CASE(failures_of_a_message_are_handled),
		CASE(tasks_are_expired_in_chunks),
	};

	return items_test_main(argc, argv, tests);
}

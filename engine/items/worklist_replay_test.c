/*
 * Replayed runs in the store: which are found, and how what they did now takes
 * the place of what was stored.
 */
#include "engine/items/worklist_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <yyjson.h>

#include <cmocka.h>

#include "base/json.h"
#include "engine/items/item_query.h"

static struct work_test t;

#define RUN "'run':{'$function':true}"
#define CONFIG(members) "{'tags':{'t':['a']},'tasks':{'a':{" RUN \
	",'version':'1'" members "}}}"

static int
teardown(void **state)
{
	(void)state;
	work_close(&t);
	return 0;
}

/* -- Which runs -- */

/* "R1 x,R3 y," of the list. */
static const char *
runs_of(struct replay_list *l)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct run_replay *runs;
	struct why w = WHY_INIT;
	size_t n;

	if (item_query_replays(t.items.store, l, &t.arena, &runs, &n, &w) !=
	    OK)
		return arena_copy(&t.arena, str_of(w.text)).p;
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "R%lld %.*s%s,", (long long)runs[i].id,
		    STR_FMT(runs[i].item), runs[i].success ? "" : " failed");
	return arena_copy(&t.arena, buf_str(&b)).p;
}

static void
the_last_run_of_each_pair_is_listed(void **state)
{
	struct replay_list l = { .task = STR("a"), .max = 10,
	    .since = ITEM_TIME_NONE };

	(void)state;
	work_open(&t, CONFIG(",'retries':0"));
	work_item(&t, "x", "t,eu");
	work_item(&t, "y", "t");
	work_succeed(&t, work_claim_one(&t).text);
	work_fail(&t, work_claim_one(&t).text, "permanent", "no price");
	work_expire(&t, "y", "a", EXPIRY_PERSON);
	work_fail(&t, work_claim_one(&t).text, "permanent", "no title");
	assert_string_equal(runs_of(&l), "R1 x,R3 y failed,");
	assert_int_equal(l.upto, 3);
	l.upto = 2;
	assert_string_equal(runs_of(&l), "R1 x,");
	l.upto = 0;
	l.max = 1;
	assert_string_equal(runs_of(&l), "R1 x,");
	l.after = 1;
	assert_string_equal(runs_of(&l), "R3 y failed,");
	l.after = 0;
	l.max = 10;
	l.tag = STR("eu");
	assert_string_equal(runs_of(&l), "R1 x,");
	l.tag = STR_NONE;
	l.item = STR("y");
	assert_string_equal(runs_of(&l), "R3 y failed,");
	l.item = STR_NONE;
	l.since = (struct wall){ INT64_MAX };
	assert_string_equal(runs_of(&l), "");
	l.task = STR("b");
	assert_string_equal(runs_of(&l), "task: there is no such task");
}

static void
sources_are_found_by_their_hash(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	work_open(&t, CONFIG(""));
	assert_int_equal(item_query_sources(t.items.store, STR("none"), &b,
	    NULL), ERR_ABSENT);
	assert_int_equal(item_query_bytes(t.items.store,
	    (const uint8_t[32]){ 0 }, &b, NULL), ERR_ABSENT);
}

/* -- Storing them -- */

/* The record of the newest run. */
static yyjson_val *
newest_record(yyjson_doc **doc)
{
	struct replay_list l = { .task = STR("a"), .max = 10,
	    .since = ITEM_TIME_NONE };
	struct run_replay *runs;
	size_t n;

	assert_int_equal(item_query_replays(t.items.store, &l, &t.arena, &runs,
	    &n, NULL), OK);
	assert_true(n > 0);
	*doc = yyjson_read(runs[n - 1].record.p, runs[n - 1].record.n, 0);
	return yyjson_doc_get_root(*doc);
}

static struct wall
completed_at(void)
{
	yyjson_doc *doc;
	struct wall at = { yyjson_get_sint(yyjson_obj_get(newest_record(&doc),
	    "completed_at_us")) };

	yyjson_doc_free(doc);
	assert_true(at.us > 0);
	return at;
}

static struct completion
replay(struct wall at, bool was_success, const char *mutations)
{
	struct str json = work_json(&t, mutations);
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	struct worklist_replay r = { .task = STR("a"), .item = STR("x"),
	    .was_success = was_success, .completed_at = at,
	    .mutations = yyjson_doc_get_root(doc) };
	struct run_usage u = { .wall_us = 5 };
	struct why w = WHY_INIT;
	struct completion c;

	work_begin(&t);
	if (worklist_replay(t.items.tx, &r, &u, &c, &w) != OK)
		fail_msg("%s", w.text);
	work_commit(&t);
	yyjson_doc_free(doc);
	return c;
}

#define PRICE "[{'op':'updateData','id':'x','rev':%d,'data':{'price':%d}}]"
static const char *
price(int rev, int n)
{
	return arena_printf(&t.arena, PRICE, rev, n).p;
}

static void
a_replay_takes_the_place_of_its_run(void **state)
{
	yyjson_doc *doc;

	(void)state;
	work_open(&t, CONFIG(",'ttl':'1h'"));
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text, arena_printf(&t.arena,
	    "'outcome':'success','mutations':%s", price(1, 1)).p);
	struct wall at = completed_at();
	work_sleep(&t, 60000);
	/* Its callback saw the item as it was then. */
	assert_int_equal(replay(at, true, price(1, 2)).status,
	    COMPLETION_CONFLICT);
	work_assert_data(&t, "x", "{\"price\":1}");
	struct completion c = replay(at, true, price(2, 2));
	assert_int_equal(c.status, COMPLETION_APPLIED);
	assert_int_equal(c.effects_n, 1);
	work_assert_data(&t, "x", "{\"price\":2}");
	/* As of then. */
	struct result_row r = work_result(&t, "x", "a");
	assert_int_equal(r.completed_at.us, at.us);
	assert_int_equal(r.expires_at.us, at.us + 3600 * US_PER_S);
	assert_int_equal(completed_at().us, at.us);
	yyjson_val *m = yyjson_ptr_get(newest_record(&doc),
	    "/mutations/0/data/price");
	assert_int_equal(yyjson_get_int(m), 2);
	yyjson_doc_free(doc);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM runs"), 1);
	/* It is no further run. */
	assert_int_equal(items_test_number(&t.items,
	    "SELECT CAST(sum(runs) AS BIGINT) FROM task_state"), 1);
}

static void
nothing_is_stored_after_another_run(void **state)
{
	(void)state;
	work_open(&t, CONFIG(""));
	work_item(&t, "x", "t");
	work_complete(&t, work_claim_one(&t).text, arena_printf(&t.arena,
	    "'outcome':'success','mutations':%s", price(1, 1)).p);
	struct wall at = completed_at();
	work_expire(&t, "x", "a", EXPIRY_PERSON);
	struct work_lease l = work_claim_one(&t);
	assert_int_equal(replay(at, true, price(2, 2)).status,
	    COMPLETION_LEASE_LOST);
	work_succeed(&t, l.text);
	assert_int_equal(replay(at, true, price(2, 2)).status,
	    COMPLETION_LEASE_LOST);
	assert_int_equal(replay(at, false, price(2, 2)).status,
	    COMPLETION_LEASE_LOST);
	work_assert_data(&t, "x", "{\"price\":1}");
}

static void
a_failed_run_may_succeed_now(void **state)
{
	(void)state;
	work_open(&t, CONFIG(",'retries':0"));
	work_item(&t, "x", "t");
	work_fail(&t, work_claim_one(&t).text, "permanent", "no price");
	assert_string_equal(work_state(&t, "x", "a"), "failed -");
	struct wall at = completed_at();
	assert_int_equal(replay(at, false, price(1, 3)).status,
	    COMPLETION_APPLIED);
	work_assert_data(&t, "x", "{\"price\":3}");
	assert_string_equal(work_state(&t, "x", "a"), "fresh -");
	assert_int_equal(work_failures(&t, "x", false), 0);
	assert_int_equal(work_result(&t, "x", "a").completed_at.us, at.us);
}

static void
refused_mutations_undo_all(void **state)
{
	(void)state;
	work_open(&t, CONFIG(""));
	work_item(&t, "x", "t");
	work_succeed(&t, work_claim_one(&t).text);
	struct completion c = replay(completed_at(), true,
	    "[{'op':'updateData','id':'x','rev':1,'data':{'price':1}},"
	    "{'op':'renameItem','from':'x','to':''}]");
	assert_int_equal(c.status, COMPLETION_FAILED);
	assert_int_equal(c.failed_op, 1);
	work_assert_data(&t, "x", "{}");
	assert_string_equal(work_state(&t, "x", "a"), "fresh -");
}

/* A run may delete or rename its own item. */
static void
the_item_may_be_gone_afterwards(void **state)
{
	(void)state;
	work_open(&t, CONFIG(""));
	work_item(&t, "x", "t");
	work_succeed(&t, work_claim_one(&t).text);
	assert_int_equal(replay(completed_at(), true,
	    "[{'op':'deleteItem'}]").status, COMPLETION_APPLIED);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM items"), 0);
}

int
main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		CASE(the_last_run_of_each_pair_is_listed),
		CASE(sources_are_found_by_their_hash),
		CASE(a_replay_takes_the_place_of_its_run),
		CASE(nothing_is_stored_after_another_run),
		CASE(a_failed_run_may_succeed_now),
		CASE(refused_mutations_undo_all),
		CASE(the_item_may_be_gone_afterwards),
	};

	return items_test_main(argc, argv, tests);
}

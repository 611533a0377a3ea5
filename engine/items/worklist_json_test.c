/* The JSON of the worker protocol and of run records: contracts/items.md §8. */
#include "engine/items/worklist_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <yyjson.h>

#include <cmocka.h>

#include "engine/items/item_store_own.h"

static struct work_test t;

static int
teardown(void **state)
{
	(void)state;
	work_close(&t);
	return 0;
}

#define RUN "'run':{'$function':true},'version':'1'"

static void
leases_are_written(void **state)
{
	const struct str all = STR("*"), extra = STR("c");
	struct worklist_claim claim = { .tasks = &all, .tasks_n = 1, .max = 1,
	    .worker = STR("n7") };
	struct worklist_lease *leases;
	struct buf b = BUF_INIT;
	size_t n;

	(void)state;
	work_open(&t, "{'tags':{'t':['a','b','c']},'tasks':{'a':{" RUN
	    "},'b':{" RUN ",'dependsOn':['a','c'],'prefetch':['a']},"
	    "'c':{" RUN "}}}");
	work_item(&t, "i0", "t");
	for (int i = 0; i < 2; i++)
		work_complete(&t, work_claim_one(&t).text,
		    "'outcome':'success','mutations':[{'op':'updateMetadata',"
		    "'rev':0,'metadata':{'m':1}}]");
	work_begin(&t);
	assert_int_equal(worklist_claim(t.items.tx, &claim, &leases, &n,
	    NULL), OK);
	assert_int_equal(n, 1);
	assert_int_equal(worklist_lease_json(t.items.tx, leases, &extra, 1, &b,
	    NULL), OK);
	work_commit(&t);
	yyjson_doc *doc = yyjson_read(b.p, b.n, 0);
	yyjson_val *v = yyjson_doc_get_root(doc);
	assert_true(yyjson_is_obj(v));
	assert_string_equal(yyjson_get_str(yyjson_obj_get(v, "task")), "b");
	assert_string_equal(yyjson_get_str(yyjson_obj_get(v,
	    "task_version")), "1");
	assert_int_equal(yyjson_get_int(yyjson_obj_get(v, "attempt")), 1);
	assert_int_equal(strlen(yyjson_get_str(yyjson_obj_get(v, "seed"))),
	    16);
	assert_int_equal(strlen(yyjson_get_str(yyjson_obj_get(v,
	    "lease_until"))), 24);
	assert_string_equal(yyjson_get_str(yyjson_ptr_get(v, "/item/id")),
	    "i0");
	assert_int_equal(yyjson_get_int(yyjson_ptr_get(v,
	    "/metadata/a/m")), 1);
	assert_int_equal(yyjson_get_int(yyjson_ptr_get(v,
	    "/metadata/c/m")), 1);
	yyjson_doc_free(doc);
	buf_free(&b);
}

static void
assert_written(const struct completion *c, const char *text)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	work_begin(&t);
	assert_int_equal(completion_json(t.items.tx, STR("L1"), c, &b, NULL),
	    OK);
	work_commit(&t);
	assert_string_equal(buf_text(&b), work_json(&t, text).p);
}

static void
completions_are_written(void **state)
{
	(void)state;
	work_open(&t, "{'tags':{'t':['a']},'tasks':{'a':{" RUN "}}}");
	work_item(&t, "i0", "t");
	struct work_lease lease = work_claim_one(&t);
	struct completion c = work_complete(&t, lease.text,
	    "'outcome':'success','mutations':[{'op':'updateMetadata','id':'i0',"
	    "'taskName':'a','rev':7,'metadata':{}}]");
	assert_int_equal(c.status, COMPLETION_CONFLICT);
	assert_written(&c, "{'lease':'L1','status':'conflict','current':"
	    "{'items':{},'metadata':[{'id':'i0','taskName':'a',"
	    "'metadata':null,'rev':0,'is_stale':true}]}}");
	c = work_complete(&t, lease.text, "'outcome':'success','mutations':["
	    "{'op':'updateData','id':'i0','rev':1,'data':{'n':1}},"
	    "{'op':'expire','id':'i0','taskName':'a'}]");
	assert_written(&c, "{'lease':'L1','status':'applied',"
	    "'effects':['updated','expired']}");
	c = work_complete(&t, "L2", "'outcome':'success'");
	assert_written(&c, "{'lease':'L1','status':'lease_lost'}");
	work_sleep(&t, 20000);
	c = work_complete(&t, work_claim_one(&t).text,
	    "'outcome':'success','mutations':[{'op':'updateTags','id':'no',"
	    "'add':['t']}]");
	assert_int_equal(c.status, COMPLETION_FAILED);
	assert_true(c.reason.n > 0);
}

static void
runs_are_recorded(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	work_open(&t, "{'tags':{'t':['a','f','n']},'tasks':{'a':{" RUN "},"
	    "'f':{" RUN ",'runs':'failed'},'n':{" RUN ",'runs':'none'}}}");
	work_item(&t, "i0", "t");
	for (int i = 0; i < 3; i++)
		work_complete(&t, work_claim_one(&t).text,
		    "'outcome':'success','mutations':[{'op':'updateTags',"
		    "'id':'i0','add':['u']}],'log':[{'category':'info',"
		    "'message':'ok'}]");
	assert_int_equal(items_test_number(&t.items,
	    "SELECT count(*) FROM runs"), 1);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT CAST(sum(runs) AS BIGINT) FROM task_state"), 3);
	struct query *q = database_query(item_store_database(t.items.store),
	    "SELECT record, outcome, task_version FROM runs");
	assert_true(query_step(q));
	assert_int_equal(item_run_unpack(query_get_str(q, 0), &b, NULL), OK);
	assert_int_equal(query_get_i64(q, 1), 1);
	assert_int_equal(query_end(&q, NULL), OK);
	yyjson_doc *doc = yyjson_read(b.p, b.n, 0);
	yyjson_val *v = yyjson_doc_get_root(doc);
	assert_string_equal(yyjson_get_str(yyjson_ptr_get(v,
	    "/log/0/message")), "ok");
	assert_string_equal(yyjson_get_str(yyjson_ptr_get(v,
	    "/mutations/0/effect")), "tags");
	assert_true(yyjson_is_null(yyjson_obj_get(v, "error")));
	yyjson_doc_free(doc);
}

int
main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		CASE(leases_are_written),
		CASE(completions_are_written),
		CASE(runs_are_recorded),
	};

	return items_test_main(argc, argv, tests);
}

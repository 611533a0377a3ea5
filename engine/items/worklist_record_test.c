/*
 * What stays of a run: its record, its failure, and their limits.
 */
#include "engine/items/worklist_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <yyjson.h>

#include <cmocka.h>

#include "base/json.h"
#include "engine/items/worklist_own.h"

static struct work_test t;
static yyjson_doc *read;

static int
teardown(void **state)
{
	(void)state;
	yyjson_doc_free(read);
	read = NULL;
	work_close(&t);
	return 0;
}

#define TASK_A "'tags':{'t':['a']},'tasks':{'a':{'version':'1'," \
	"'run':{'$function':true}"

static void
open_with_item(const char *config)
{
	work_open(&t, config);
	work_item(&t, "x", "t");
}

/* The one text that a statement gives, as JSON; `packed`: a run's record. */
static yyjson_val *
read_json(const char *sql, bool packed)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct query *q = database_query(item_store_database(t.items.store),
	    sql);

	assert_true(query_step(q));
	if (packed)
		assert_int_equal(item_run_unpack(query_get_str(q, 0), &b,
		    NULL), OK);
	else
		buf_put_str(&b, query_get_str(q, 0));
	assert_int_equal(query_end(&q, NULL), OK);
	yyjson_doc_free(read);
	read = yyjson_read(b.p, b.n, 0);
	assert_non_null(read);
	return yyjson_doc_get_root(read);
}

static struct str
text_at(yyjson_val *v, const char *path)
{
	return json_text(yyjson_ptr_get(v, path));
}

static const char *
repeat(const char *s, size_t n)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		buf_put_text(&b, s);
	return arena_copy(&t.arena, buf_str(&b)).p;
}

static void
fail_with(const char *members)
{
	work_complete(&t, work_claim_one(&t).text, arena_printf(&t.arena,
	    "'outcome':'failure','error':{'class':'permanent',%s}",
	    members).p);
}

/* -- Failures -- */

static void
a_failure_says_where_to_look(void **state)
{
	(void)state;
	open_with_item("{" TASK_A "}}}");
	work_complete(&t, work_claim_one(&t).text, "'outcome':'failure',"
	    "'error':{'class':'permanent','message':'no price',"
	    "'stack':'at shop.js:7'},'log':[{'category':'debug',"
	    "'message':'here'}]");
	yyjson_val *v = read_json("SELECT error_data FROM failures", false);
	assert_true(str_eq(text_at(v, "/message"), STR("no price")));
	assert_true(str_eq(text_at(v, "/stack"), STR("at shop.js:7")));
	assert_true(str_eq(text_at(v, "/task_version"), STR("1")));
	assert_int_equal(yyjson_get_int(yyjson_ptr_get(v, "/attempt")), 1);
	assert_int_equal(text_at(v, "/seed").n, 16);
	assert_true(str_eq(text_at(v, "/log/0/message"), STR("here")));
	v = read_json("SELECT record FROM runs", true);
	assert_true(str_eq(text_at(v, "/error/message"), STR("no price")));
}

/* Cut between characters. */
static void
messages_have_their_maximum(void **state)
{
	(void)state;
	open_with_item("{" TASK_A "}}}");
	fail_with(arena_printf(&t.arena, "'message':'x%s'",
	    repeat("é", RUN_MESSAGE_BYTES_MAX / 2)).p);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT length(message) FROM failures"),
	    1 + (RUN_MESSAGE_BYTES_MAX - 1) / 2);
}

static void
errors_have_their_maximum(void **state)
{
	yyjson_val *v;

	(void)state;
	open_with_item("{" TASK_A ",'retries':0}}}");
	size_t head = strlen("{\"class\":\"permanent\",\"message\":\"no\","
	    "\"stack\":\"\"");
	fail_with(arena_printf(&t.arena, "'message':'no','stack':'%s'",
	    repeat("s", RUN_ERROR_BYTES_MAX - head)).p);
	v = read_json("SELECT error_data FROM failures", false);
	assert_int_equal(text_at(v, "/stack").n, RUN_ERROR_BYTES_MAX - head);
	work_expire(&t, "x", "a", EXPIRY_PERSON);
	fail_with(arena_printf(&t.arena, "'message':'no','stack':'%s'",
	    repeat("s", RUN_ERROR_BYTES_MAX - head + 1)).p);
	v = read_json("SELECT error_data FROM failures ORDER BY id DESC"
	    " LIMIT 1", false);
	assert_null(yyjson_ptr_get(v, "/stack"));
	assert_true(yyjson_is_true(yyjson_ptr_get(v, "/truncated")));
	assert_true(str_eq(text_at(v, "/message"), STR("no")));
}

/* -- Logs -- */

static void
complete_with_lines(unsigned n)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	for (unsigned i = 0; i < n; i++)
		buf_printf(&b, "%s{'category':'info','message':'%u'}",
		    i > 0 ? "," : "", i);
	work_complete(&t, work_claim_one(&t).text, arena_printf(&t.arena,
	    "'outcome':'failure','error':{'class':'permanent'},'log':[%.*s]",
	    STR_FMT(buf_str(&b))).p);
}

static void
logs_have_their_maximum(void **state)
{
	yyjson_val *v;

	(void)state;
	open_with_item("{" TASK_A "}}}");
	complete_with_lines(RUN_LOG_LINES_MAX + 1);
	v = read_json("SELECT record FROM runs", true);
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(v, "log")),
	    RUN_LOG_LINES_MAX);
	assert_true(str_eq(text_at(v, "/log/0/message"), STR("1")));
	v = read_json("SELECT error_data FROM failures", false);
	assert_int_equal(yyjson_arr_size(yyjson_obj_get(v, "log")),
	    RUN_ERROR_LOG_LINES);
}

static void
lines_have_their_maximum(void **state)
{
	(void)state;
	open_with_item("{" TASK_A "}}}");
	work_complete(&t, work_claim_one(&t).text, arena_printf(&t.arena,
	    "'outcome':'success','log':[{'category':'info','message':'%s'},"
	    "{'category':'info','message':'%s'}]",
	    repeat("x", RUN_LOG_LINE_BYTES_MAX),
	    repeat("x", RUN_LOG_LINE_BYTES_MAX + 1)).p);
	yyjson_val *v = read_json("SELECT record FROM runs", true);
	assert_int_equal(text_at(v, "/log/0/message").n,
	    RUN_LOG_LINE_BYTES_MAX);
	assert_int_equal(text_at(v, "/log/1/message").n,
	    RUN_LOG_LINE_BYTES_MAX);
}

/* -- Records -- */

/* Noise does not pack. */
static struct str
noise_json(size_t n)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	uint64_t x = 1;

	buf_put_text(&b, "[\"");
	for (size_t i = 0; i < n; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		buf_put_char(&b, (char)('0' + (x >> 58)));
	}
	buf_put_text(&b, "\"]");
	for (size_t i = 0; i < b.n; i++)
		if (b.p[i] == '\\')
			b.p[i] = '/';
	return arena_copy(&t.arena, buf_str(&b));
}

static void
complete_with_usage(const char *lease, const struct run_usage *u)
{
	struct str json = work_json(&t, arena_printf(&t.arena,
	    "{'lease':'%s','outcome':'success'}", lease).p);
	yyjson_doc *doc = yyjson_read(json.p, json.n, 0);
	struct completion c;

	work_begin(&t);
	assert_int_equal(worklist_complete(t.items.tx,
	    yyjson_doc_get_root(doc), u, &c, NULL), OK);
	assert_int_equal(c.status, COMPLETION_APPLIED);
	work_commit(&t);
	yyjson_doc_free(doc);
}

static void
big_records_are_kept_without_replay(void **state)
{
	struct run_usage u = { .wall_us = 812, .cpu_us = 9, .fetches = 2,
	    .bytes = 48211, .fetches_json = STR("[{\"url\":\"u\"}]") };

	(void)state;
	open_with_item("{" TASK_A "}}}");
	u.replay_json = noise_json(1000);
	complete_with_usage(work_claim_one(&t).text, &u);
	yyjson_val *v = read_json("SELECT record FROM runs", true);
	assert_int_equal(text_at(v, "/replay/0").n, 1000);
	assert_int_equal(items_test_number(&t.items,
	    "SELECT CAST(sum(bytes) AS BIGINT) FROM task_state"), 48211);

	work_expire(&t, "x", "a", EXPIRY_PERSON);
	u.replay_json = noise_json(ITEM_RUN_BYTES_MAX * 2);
	complete_with_usage(work_claim_one(&t).text, &u);
	v = read_json("SELECT record FROM runs", true);
	assert_null(yyjson_obj_get(v, "replay"));
	assert_null(yyjson_obj_get(v, "mutations"));
	assert_true(str_eq(text_at(v, "/fetches/0/url"), STR("u")));
	assert_true(yyjson_is_true(yyjson_obj_get(v, "short")));
}

static void
mutations_have_their_maximum(void **state)
{
	struct str json[2];
	int64_t max = ITEM_LIMITS_DEFAULT.mutations_max;

	(void)state;
	open_with_item("{" TASK_A "}}}");
	struct work_lease lease = work_claim_one(&t);
	for (int i = 0; i < 2; i++) {
		FREED(buf_free) struct buf b = BUF_INIT;

		buf_printf(&b, "{'lease':'%s','outcome':'success',"
		    "'mutations':[", lease.text);
		for (int64_t k = 0; k < max + 1 - i; k++)
			buf_printf(&b, "%s{'op':'updateTags','add':[]}",
			    k > 0 ? "," : "");
		buf_put_text(&b, "]}");
		json[i] = work_json(&t, buf_text(&b));
	}
	for (int i = 0; i < 2; i++) {
		yyjson_doc *doc = yyjson_read(json[i].p, json[i].n, 0);
		struct why w = WHY_INIT;
		struct completion c;

		work_begin(&t);
		assert_int_equal(worklist_complete(t.items.tx,
		    yyjson_doc_get_root(doc), NULL, &c, &w),
		    i == 0 ? ERR_FULL : OK);
		assert_string_equal(w.field, i == 0 ? "mutations" : "");
		work_commit(&t);
		yyjson_doc_free(doc);
	}
	assert_string_equal(work_state(&t, "x", "a"), "fresh -");
}

int
main(int argc, char **argv)
{
#define CASE(f) cmocka_unit_test_teardown(f, teardown)
	const struct CMUnitTest tests[] = {
		CASE(a_failure_says_where_to_look),
		CASE(messages_have_their_maximum),
		CASE(errors_have_their_maximum),
		CASE(logs_have_their_maximum),
		CASE(lines_have_their_maximum),
		CASE(big_records_are_kept_without_replay),
		CASE(mutations_have_their_maximum),
	};

	return items_test_main(argc, argv, tests);
}

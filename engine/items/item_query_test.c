/* Each answer, byte by byte, in the forms of contracts/items.md section 7. */
#include "engine/items/item_query.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "engine/items/item_tx.h"
#include "engine/items/items_testing.h"

#define AT "1795159200000000"        /* 2026-11-20T07:20:00.000Z */
#define AT_TEXT "\"2026-11-20T07:20:00.000Z\""

static struct items_test t;
static const struct wall now = { INT64_C(1795159200000000) };
static struct buf out, next;
static struct why w;

static void
run_sql(const char *sql)
{
	struct why failed = WHY_INIT;

	if (database_do(item_store_database(t.store), sql, &failed) != OK)
		fail_msg("%s: %s", sql, failed.text);
}

static const char config[] = "{"
    "\"tags\":{\"t\":[\"a\",\"b\"],\"site\":[\"a\"]},"
    "\"limits\":{\"groups\":{\"a*\":\"1/s\"}},"
    "\"tasks\":{"
    "\"a\":{\"version\":\"3\",\"run\":{\"$function\":true}},"
    "\"b\":{\"version\":\"1\",\"dependsOn\":[\"a\",\"c\"],"
    "\"run\":{\"$function\":true}},"
    "\"c\":{\"version\":\"1\",\"run\":{\"$function\":true}}}}";

/* Three items: x with everything, y with a tag, z without. */
static int
setup(void **state)
{
	struct task_config *c = NULL;

	(void)state;
	items_test_open(&t, NULL);
	if (task_config_read(str_of(config), item_store_limits(t.store), &c,
	    NULL, &w) != OK)
		fail_msg("%s", w.text);
	item_store_use_config(t.store, c);
	run_sql("INSERT INTO names (id, kind, name) VALUES (1, 0, 't'),"
	    " (2, 0, 'site'), (3, 1, 'a'), (4, 1, 'b'), (5, 2, 'a'),"
	    " (6, 2, 'b')");
	run_sql("INSERT INTO items VALUES"
	    " (1, 'x', '{\"url\":\"https://s.example/\"}', 'old-y', " AT ", " AT
	    ", 7, 1, 1),"
	    " (2, 'y', '{}', NULL, " AT ", " AT " + 5000, 1, 1, 0),"
	    " (3, 'z', '{}', 'gone', " AT ", " AT ", 1, 0, 0)");
	run_sql("INSERT INTO aliases VALUES ('x', 1, 1), ('EAN:1', 1, 0),"
	    " ('y', 2, 1), ('old-y', 2, 0), ('z', 3, 1)");
	run_sql("INSERT INTO tags VALUES (1, 1, NULL), (1, 2, 'eu'),"
	    " (2, 1, NULL)");
	run_sql("INSERT INTO task_results VALUES (3, 1, '3', '{\"p\":1}', 1, 0,"
	    " " AT ", " AT ", NULL, NULL, 2)");
	run_sql("INSERT INTO worklist (task, item, state, due, lane,"
	    " generation, attempt, again) VALUES (3, 1, 2, NULL, 5, 1, 0, 0),"
	    " (4, 1, 5, NULL, 6, 1, 0, 0), (3, 2, 0, 0, 5, 1, 0, 0),"
	    " (4, 2, 0, 0, 6, 1, 0, 0)");
	run_sql("INSERT INTO task_state VALUES (3, 0, 0, 1, 0, 1, 0, 0, 0, 0,"
	    " 90, 81200000, 900000, 180, 4821100)");
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	buf_free(&out);
	buf_free(&next);
	items_test_close(&t);
	return 0;
}

static void
assert_out(const char *want)
{
	assert_string_equal(buf_text(&out), want);
	buf_clear(&out);
}

static void
fails(enum err e, enum err want, const char *text)
{
	assert_int_equal(e, want);
	assert_string_equal(w.text, text);
	w = WHY_INIT;
	buf_clear(&out);
}

/* -- Items -- */

#define ITEM_X "{\"id\":\"x\",\"aliases\":[\"x\",\"EAN:1\"],\"tags\":["        \
	"{\"name\":\"site\",\"value\":\"eu\"},"                            \
	"{\"name\":\"t\",\"value\":null}],"                               \
	"\"data\":{\"url\":\"https://s.example/\"},\"created_by\":\"y\","     \
	"\"created_at\":" AT_TEXT ",\"updated_at\":" AT_TEXT ",\"rev\":7"
#define ITEM_Y "{\"id\":\"y\",\"aliases\":[\"y\",\"old-y\"],\"tags\":["        \
	"{\"name\":\"t\",\"value\":null}],\"data\":{},\"created_by\":null,"   \
	"\"created_at\":" AT_TEXT ","                                         \
	"\"updated_at\":\"2026-11-20T07:20:00.005Z\",\"rev\":1"
#define ITEM_Z "{\"id\":\"z\",\"aliases\":[\"z\"],\"tags\":[],\"data\":{}," \
	"\"created_by\":\"gone\",\"created_at\":" AT_TEXT ",\"updated_at\":"  \
	AT_TEXT ",\"rev\":1"

static void
an_item_by_any_of_its_names(void **state)
{
	uint64_t rev = 0;

	(void)state;
	assert_int_equal(item_query_get(t.store, STR("EAN:1"), &out, &rev, &w),
	    OK);
	assert_int_equal(rev, 7);
	assert_out(ITEM_X "}");
	/* Its maker is known under an alias, another's is gone. */
	assert_int_equal(item_query_get(t.store, STR("z"), &out, &rev, &w),
	    OK);
	assert_out(ITEM_Z "}");
	fails(item_query_get(t.store, STR("none"), &out, &rev, &w), ERR_ABSENT,
	    "id: there is no such item");
}

static void
list_items(const struct item_list *ask)
{
	assert_int_equal(item_query_list(t.store, ask, &out, &next, &w), OK);
}

#define LIST(...) list_items(&(struct item_list){ \
	.updated_since = ITEM_TIME_NONE, __VA_ARGS__ })

static void
lists_go_on_by_key(void **state)
{
	(void)state;
	LIST(.limit = 3);
	assert_out("{\"items\":[" ITEM_X "}," ITEM_Y "}," ITEM_Z "}],"
	    "\"next\":null}");
	LIST(.limit = 2);
	assert_out("{\"items\":[" ITEM_X "}," ITEM_Y "}],\"next\":\"2\"}");
	assert_string_equal(buf_text(&next), "2");
	LIST(.after = STR("2"), .limit = 2);
	assert_out("{\"items\":[" ITEM_Z "}],\"next\":null}");
	assert_int_equal(next.n, 0);
	LIST(.lines = true);
	assert_out(ITEM_X "}\n" ITEM_Y "}\n" ITEM_Z "}\n");
	fails(item_query_list(t.store, &(struct item_list){
	    .updated_since = ITEM_TIME_NONE, .after = STR("x") }, &out, &next,
	    &w), ERR_INPUT, "after: it is not the `next` of a list");
	fails(item_query_list(t.store, &(struct item_list){
	    .updated_since = ITEM_TIME_NONE, .limit = ITEM_LIST_MAX + 1 },
	    &out, &next, &w), ERR_INPUT, "limit: it is more than 1000");
	LIST(.limit = ITEM_LIST_MAX, .prefix = STR("none"));
	assert_out("{\"items\":[],\"next\":null}");
}

static void
lists_have_filters(void **state)
{
	const struct str tasks[] = { STR("a"), STR("b") };

	(void)state;
	LIST(.tag = STR("t"));
	assert_out("{\"items\":[" ITEM_X "}," ITEM_Y "}],\"next\":null}");
	LIST(.tag = STR("t"), .limit = 1);
	assert_out("{\"items\":[" ITEM_X "}],\"next\":\"1\"}");
	LIST(.tag = STR("t"), .limit = 1, .after = STR("1"));
	assert_out("{\"items\":[" ITEM_Y "}],\"next\":null}");
	LIST(.tag = STR("site"), .value = STR("eu"));
	assert_out("{\"items\":[" ITEM_X "}],\"next\":null}");
	LIST(.tag = STR("site"), .value = STR("us"));
	assert_out("{\"items\":[],\"next\":null}");
	LIST(.tag = STR("never"));
	assert_out("{\"items\":[],\"next\":null}");
	fails(item_query_list(t.store, &(struct item_list){
	    .updated_since = ITEM_TIME_NONE, .value = STR("eu") }, &out, &next,
	    &w), ERR_INPUT, "value: it wants a tag");
	LIST(.prefix = STR("y"));
	assert_out("{\"items\":[" ITEM_Y "}],\"next\":null}");
	LIST(.tag = STR("t"), .prefix = STR("y"));
	assert_out("{\"items\":[" ITEM_Y "}],\"next\":null}");
	list_items(&(struct item_list){ .updated_since = { now.us + 1 } });
	assert_out("{\"items\":[" ITEM_Y "}],\"next\":null}");
	LIST(.prefix = STR("x"), .metadata = tasks, .metadata_n = 2);
	assert_out("{\"items\":[" ITEM_X ",\"metadata\":{\"a\":{\"p\":1},"
	    "\"b\":null}}],\"next\":null}");
}

/* By id, not by key: `next` is an id. */
static void
lists_by_prefix_go_on_by_id(void **state)
{
	(void)state;
	run_sql("INSERT INTO items VALUES (4, 'p2', '{}', NULL, " AT ", " AT
	    ", 1, 0, 0), (5, 'p1', '{}', NULL, " AT ", " AT ", 1, 0, 0)");
	run_sql("INSERT INTO aliases VALUES ('p2', 4, 1), ('p1', 5, 1)");
	LIST(.prefix = STR("p"), .limit = 1, .lines = true);
	assert_true(str_starts(buf_str(&out), STR("{\"id\":\"p1\"")));
	assert_string_equal(buf_text(&next), "p1");
	buf_clear(&out);
	LIST(.prefix = STR("p"), .limit = 1, .lines = true,
	    .after = STR("p1"));
	assert_true(str_starts(buf_str(&out), STR("{\"id\":\"p2\"")));
	assert_int_equal(next.n, 0);
}

/* -- Results -- */

static void
metadata_of_tasks(void **state)
{
	const struct str tasks[] = { STR("b"), STR("a") };

	(void)state;
#define RESULT_A(stale) "\"a\":{\"metadata\":{\"p\":1},"              \
	"\"task_version\":\"3\",\"is_successful\":true,\"is_stale\":" stale \
	",\"completed_at\":" AT_TEXT ",\"expires_at\":null}"
	assert_int_equal(item_query_metadata(t.store, STR("EAN:1"), tasks, 2,
	    now, &out, &w), OK);
	assert_out("{\"id\":\"x\",\"metadata\":{\"b\":null,"
	    RESULT_A("false") "}}");
	assert_int_equal(item_query_metadata(t.store, STR("x"), NULL, 0, now,
	    &out, &w), OK);
	assert_out("{\"id\":\"x\",\"metadata\":{" RESULT_A("false") "}}");
	run_sql("UPDATE task_results SET is_invalidated = 1");
	assert_int_equal(item_query_metadata(t.store, STR("x"), tasks + 1, 1,
	    now, &out, &w), OK);
	assert_out("{\"id\":\"x\",\"metadata\":{" RESULT_A("true") "}}");
	fails(item_query_metadata(t.store, STR("none"), NULL, 0, now, &out,
	    &w), ERR_ABSENT, "id: there is no such item");
}

static void
operations_and_what_blocks_them(void **state)
{
	(void)state;
	run_sql("INSERT INTO failures VALUES (1, 4, 1, 'm', '{}', " AT
	    ", NULL, NULL, NULL), (2, 4, 1, 'm', '{}', " AT ", " AT
	    ", 'me', NULL)");
	assert_int_equal(item_query_operations(t.store, STR("x"), "operations",
	    now, &out, &w), OK);
	assert_out("{\"id\":\"x\",\"operations\":["
	    "{\"task\":\"a\",\"state\":\"fresh\",\"tags\":[\"site\",\"t\"],"
	    "\"task_version\":\"3\",\"current_version\":\"3\","
	    "\"is_successful\":true,\"is_invalidated\":false,"
	    "\"expires_at\":null,\"due_at\":null,\"attempt\":0,"
	    "\"blocked_by\":[],\"failures\":0},"
	    "{\"task\":\"b\",\"state\":\"blocked\",\"tags\":[\"t\"],"
	    "\"task_version\":null,\"current_version\":\"1\","
	    "\"is_successful\":null,\"is_invalidated\":false,"
	    "\"expires_at\":null,\"due_at\":null,\"attempt\":0,"
	    "\"blocked_by\":[{\"task\":\"c\",\"reason\":\"not_mapped\"}],"
	    "\"failures\":1}]}");
	run_sql("UPDATE worklist SET due = " AT " / 1000 WHERE task = 3 AND"
	    " item = 1");
	run_sql("UPDATE task_results SET expires_at = " AT);
	assert_int_equal(item_query_operations(t.store, STR("x"), "tasks",
	    now, &out, &w), OK);
	assert_non_null(strstr(buf_text(&out), "{\"id\":\"x\",\"tasks\":["
	    "{\"task\":\"a\",\"state\":\"expired\""));
	assert_non_null(strstr(buf_text(&out), "\"expires_at\":" AT_TEXT
	    ",\"due_at\":" AT_TEXT));
	assert_non_null(strstr(buf_text(&out), "{\"task\":\"a\","
	    "\"reason\":\"expired\"}"));
}

static void
blobs_and_their_bytes(void **state)
{
	(void)state;
	if (database_is_postgresql(item_store_database(t.store))) {
		run_sql("INSERT INTO blobs (sha256, bytes, uses, put_at)"
		    " VALUES ('\\x00ff', '\\x504e47', 1, 0)");
		run_sql("INSERT INTO item_blobs VALUES (1, 'pic', '\\x00ff',"
		    " 'image/png', 3)");
	} else {
		run_sql("INSERT INTO blobs (sha256, bytes, uses, put_at)"
		    " VALUES (x'00ff', x'504e47', 1, 0)");
		run_sql("INSERT INTO item_blobs VALUES (1, 'pic', x'00ff',"
		    " 'image/png', 3)");
	}
	assert_int_equal(item_query_blobs(t.store, STR("x"), &out, &w), OK);
	assert_out("{\"id\":\"x\",\"blobs\":[{\"name\":\"pic\","
	    "\"sha256\":\"00ff\",\"bytes\":3,\"type\":\"image/png\"}]}");
	assert_int_equal(item_query_blob(t.store, STR("x"), STR("pic"), &out,
	    &next, &w), OK);
	assert_out("PNG");
	assert_string_equal(buf_text(&next), "image/png");
	fails(item_query_blob(t.store, STR("x"), STR("none"), &out, &next,
	    &w), ERR_ABSENT, "name: the item has no such blob");
}

/* -- Runs -- */

static void
runs_and_their_records(void **state)
{
	struct item_run run = { .task = 3, .item = 1, .started_at = now,
	    .success = true, .attempt = 1, .task_version = STR("3"),
	    .wall_us = 812345, .cpu_us = 9876, .memory_bytes = 1200000,
	    .fetches = 2, .bytes = 48211,
	    .record = STR("{\"log\":[],\"fetches\":[{\"url\":\"u\"}],"
	    "\"mutations\":[],\"error\":null}") };

	(void)state;
	items_test_begin(&t);
	item_tx_put_run(t.tx, &run, true);
	items_test_commit(&t);
#define RUN_HEAD "\"run\":\"R1\",\"started_at\":" AT_TEXT ","                 \
	"\"outcome\":\"success\",\"attempt\":1,\"task_version\":\"3\","       \
	"\"wall_ms\":812,\"cpu_ms\":9,\"memory_bytes\":1200000"
	assert_int_equal(item_query_runs(t.store, STR("x"), STR("a"), &out,
	    &w), OK);
	assert_out("{\"runs\":[{" RUN_HEAD ",\"fetches\":2,\"bytes\":48211}]}");
	assert_int_equal(item_query_run(t.store, STR("R1"), &out, &w), OK);
	assert_out("{" RUN_HEAD ",\"bytes\":48211,\"item\":\"x\","
	    "\"task\":\"a\",\"log\":[],\"fetches\":[{\"url\":\"u\"}],"
	    "\"mutations\":[],\"error\":null}");
	fails(item_query_run(t.store, STR("R2"), &out, &w), ERR_ABSENT,
	    "run: there is no such run");
	fails(item_query_run(t.store, STR("1"), &out, &w), ERR_ABSENT,
	    "run: there is no such run");
	fails(item_query_runs(t.store, STR("x"), STR("none"), &out, &w),
	    ERR_ABSENT, "task: there is no such task");
}

/* -- Tags and worklists -- */

static void
tags_with_counts(void **state)
{
	(void)state;
	assert_int_equal(item_query_tags(t.store, STR_NONE, 0, &out, &w), OK);
	assert_out("{\"tags\":[{\"name\":\"site\",\"items\":1,"
	    "\"tasks\":[\"a\"]},{\"name\":\"t\",\"items\":2,"
	    "\"tasks\":[\"a\",\"b\"]}],\"next\":null}");
	assert_int_equal(item_query_tags(t.store, STR_NONE, 1, &out, &w), OK);
	assert_out("{\"tags\":[{\"name\":\"site\",\"items\":1,"
	    "\"tasks\":[\"a\"]}],\"next\":\"site\"}");
	assert_int_equal(item_query_tags(t.store, STR("site"), 1, &out, &w),
	    OK);
	assert_out("{\"tags\":[{\"name\":\"t\",\"items\":2,"
	    "\"tasks\":[\"a\",\"b\"]}],\"next\":null}");
}

static void
worklists_in_the_order_of_claims(void **state)
{
	(void)state;
	run_sql("UPDATE worklist SET state = 1, due = 1 WHERE item = 1 AND"
	    " task = 3");
	assert_int_equal(item_query_worklist(t.store, STR("t"), STR_NONE,
	    STR_NONE, 10, now, &out, &w), OK);
	assert_out("{\"tag\":\"t\",\"worklist\":["
	    "{\"id\":\"y\",\"task\":\"a\",\"state\":\"unprocessed\","
	    "\"due_at\":null},"
	    "{\"id\":\"y\",\"task\":\"b\",\"state\":\"unprocessed\","
	    "\"due_at\":null},"
	    "{\"id\":\"x\",\"task\":\"a\",\"state\":\"stale\","
	    "\"due_at\":null}]}");
	assert_int_equal(item_query_worklist(t.store, STR("site"), STR("a*"),
	    STR("eu"), 10, now, &out, &w), OK);
	assert_out("{\"tag\":\"site\",\"worklist\":[{\"id\":\"x\","
	    "\"task\":\"a\",\"state\":\"stale\",\"due_at\":null}]}");
	/* What falls due later does not count. */
	run_sql("UPDATE worklist SET state = 3, due = " AT " / 1000 + 1"
	    " WHERE item = 1 AND task = 3");
	assert_int_equal(item_query_worklist(t.store, STR("t"), STR("a"),
	    STR_NONE, 10, now, &out, &w), OK);
	assert_out("{\"tag\":\"t\",\"worklist\":[{\"id\":\"y\","
	    "\"task\":\"a\",\"state\":\"unprocessed\",\"due_at\":null}]}");
	fails(item_query_worklist(t.store, STR("never"), STR_NONE, STR_NONE,
	    10, now, &out, &w), ERR_ABSENT, "tag: there is no such tag");
}

/* -- Tasks -- */

#define TASK_A(waiting, rewriting, fresh, expired)                           \
	"{\"task\":\"a\",\"version\":\"3\",\"paused\":false,"                \
	"\"tripped\":false,\"waiting\":" waiting ",\"rewriting\":" rewriting   \
	",\"counts\":{\"unprocessed\":1,\"stale\":0,\"fresh\":" fresh          \
	",\"expired\":" expired ",\"retry\":0,\"leased\":0,\"blocked\":0,"    \
	"\"failed\":0},\"used\":{\"runs\":90,\"wall_ms\":81200,"             \
	"\"cpu_ms\":900,\"fetches\":180,\"bytes\":4821100}}"

static void
a_task_and_why_it_waits(void **state)
{
	(void)state;
	assert_int_equal(item_query_tasks(t.store, STR("a"), now, &out, &w),
	    OK);
	assert_out(TASK_A("null", "null", "1", "0"));
	/* A token of 1/s: full one second after it was taken. */
	run_sql("INSERT INTO buckets VALUES ('group a*', " AT " + 700000)");
	run_sql("INSERT INTO rewrites (task, generation, at, done, total)"
	    " VALUES (3, 1, 0, 5, 9)");
	run_sql("UPDATE worklist SET due = " AT " / 1000 WHERE task = 3 AND"
	    " item = 1");
	assert_int_equal(item_query_tasks(t.store, STR("a"), now, &out, &w),
	    OK);
	assert_out(TASK_A("\"bucket a* until 07:20:00\"",
	    "{\"done\":5,\"total\":9}", "0", "1"));
	/* Nothing is due: nothing waits. */
	run_sql("UPDATE worklist SET due = NULL");
	assert_int_equal(item_query_tasks(t.store, STR("a"), now, &out, &w),
	    OK);
	assert_out(TASK_A("null", "{\"done\":5,\"total\":9}", "1", "0"));
	fails(item_query_tasks(t.store, STR("none"), now, &out, &w),
	    ERR_ABSENT, "task: there is no such task");
	assert_int_equal(item_query_tasks(t.store, STR_NONE, now, &out, &w),
	    OK);
	assert_true(str_starts(buf_str(&out), STR("{\"tasks\":[{\"task\":"
	    "\"a\"")));
	assert_non_null(strstr(buf_text(&out), "{\"task\":\"c\","));
}

/* -- Failures -- */

#define FAILURE(id, rest) "{\"id\":" id ",\"item\":\"x\",\"task\":\"a\","      \
	"\"error_data\":{\"message\":\"m\"},\"occurred_at\":" AT_TEXT rest "}"
#define OPEN ",\"handled_at\":null,\"handled_by\":null,\"note\":null"
#define HANDLED ",\"handled_at\":" AT_TEXT ",\"handled_by\":\"me\","          \
	"\"note\":\"fixed\""

static void
failures_and_groups(void **state)
{
	(void)state;
	run_sql("INSERT INTO failures VALUES"
	    " (1, 3, 1, 'm', '{\"message\":\"m\"}', " AT ", NULL, NULL, NULL),"
	    " (2, 3, 1, 'm', '{\"message\":\"m\"}', " AT ", " AT
	    ", 'me', 'fixed'),"
	    " (3, 3, 1, 'm', '{\"message\":\"m\"}', " AT ", NULL, NULL, NULL),"
	    " (4, 3, 2, 'n', '{}', " AT ", NULL, NULL, NULL)");
	assert_int_equal(item_query_failures(t.store, STR("a"), 0, STR_NONE, 2,
	    &out, &w), OK);
	assert_out("{\"failures\":[" FAILURE("1", OPEN) "," FAILURE("3", OPEN)
	    "],\"next\":\"3\"}");
	assert_int_equal(item_query_failures(t.store, STR("a"), 1, STR_NONE, 0,
	    &out, &w), OK);
	assert_out("{\"failures\":[" FAILURE("2", HANDLED) "],\"next\":null}");
	assert_int_equal(item_query_failures(t.store, STR("b"), -1, STR_NONE,
	    0, &out, &w), OK);
	assert_out("{\"failures\":[],\"next\":null}");
	assert_int_equal(item_query_failure_groups(t.store, STR("a"), &out,
	    &w), OK);
	assert_out("{\"groups\":[{\"message\":\"m\",\"n\":2,\"first_at\":"
	    AT_TEXT ",\"last_at\":" AT_TEXT ",\"items\":[\"x\"]},"
	    "{\"message\":\"n\",\"n\":1,\"first_at\":" AT_TEXT ",\"last_at\":"
	    AT_TEXT ",\"items\":[\"y\"]}]}");
	assert_int_equal(item_query_failure(t.store, 2, &out, &w), OK);
	assert_out(FAILURE("2", HANDLED));
	fails(item_query_failure(t.store, 9, &out, &w), ERR_ABSENT,
	    "id: there is no such failure");
	fails(item_query_failures(t.store, STR("none"), 0, STR_NONE, 0, &out,
	    &w), ERR_ABSENT, "task: there is no such task");
}

/* -- Configuration -- */

static void
the_configuration_in_force(void **state)
{
	(void)state;
	assert_int_equal(item_query_config(t.store, &out, &w), OK);
	assert_out("{\"generation\":0,\"loaded_at\":null,\"hash\":null,"
	    "\"files\":[],\"rewriting\":null}");
	run_sql("INSERT INTO generations VALUES (13, " AT ", 'abc', '{}',"
	    " '{\"shop.js\":\"export default {}\"}')");
	assert_int_equal(item_query_config(t.store, &out, &w), OK);
	assert_out("{\"generation\":13,\"loaded_at\":" AT_TEXT ","
	    "\"hash\":\"abc\",\"files\":[\"shop.js\"],\"rewriting\":null}");
	assert_int_equal(item_query_config_file(t.store, STR("shop.js"), &out,
	    &w), OK);
	assert_out("export default {}");
	fails(item_query_config_file(t.store, STR("no.js"), &out, &w),
	    ERR_ABSENT, "path: the configuration has no such file");
}

/* -- Events -- */

static void
events_with_filters(void **state)
{
	const struct str types[] = { STR("item.*") };
	const struct str tags[] = { STR("t") }, tasks[] = { STR("a") };
	struct event_filter all = { .types = NULL };
	uint64_t last = 0;

	(void)state;
	assert_int_equal(item_query_cursor(t.store, &last, &w), OK);
	assert_int_equal(last, 0);
	assert_int_equal(item_query_events(t.store, 0, &all, 10, &out, &last,
	    &w), OK);
	assert_out("");
	run_sql("INSERT INTO events (cursor, at, type, task, tags, total,"
	    " body) VALUES (1, " AT ", 'item.new', NULL, ',t,', 20,"
	    " '{\"type\":\"item.new\"}'), (2, " AT ", 'task.done', 'a', ',tt,',"
	    " 40, '{\"type\":\"task.done\"}'), (3, " AT ", 'item.updated',"
	    " NULL, NULL, 60, '{\"type\":\"item.updated\"}')");
	assert_int_equal(item_query_cursor(t.store, &last, &w), OK);
	assert_int_equal(last, 3);
#define EVENT(cursor, type) \
	"{\"cursor\":\"" cursor "\",\"type\":\"" type "\"}\n"
	assert_int_equal(item_query_events(t.store, 0, &all, 2, &out, &last,
	    &w), OK);
	assert_out(EVENT("1", "item.new") EVENT("2", "task.done"));
	assert_int_equal(last, 2);
	assert_int_equal(item_query_events(t.store, 1, &(struct event_filter){
	    .types = types, .types_n = 1 }, 10, &out, &last, &w), OK);
	assert_out(EVENT("3", "item.updated"));
	assert_int_equal(last, 3);
	assert_int_equal(item_query_events(t.store, 0, &(struct event_filter){
	    .tags = tags, .tags_n = 1 }, 10, &out, &last, &w), OK);
	assert_out(EVENT("1", "item.new"));
	assert_int_equal(last, 3);
	assert_int_equal(item_query_events(t.store, 0, &(struct event_filter){
	    .tasks = tasks, .tasks_n = 1 }, 10, &out, &last, &w), OK);
	assert_out(EVENT("2", "task.done"));
	/* What was dropped is not passed over in silence. */
	run_sql("DELETE FROM events WHERE cursor < 3");
	fails(item_query_events(t.store, 1, &all, 10, &out, &last, &w),
	    ERR_ABSENT, "since: events up to 2 are not kept any more");
	assert_int_equal(last, 3);
	assert_int_equal(item_query_events(t.store, 2, &all, 10, &out, &last,
	    &w), OK);
	assert_out(EVENT("3", "item.updated"));
}

int
main(int argc, char **argv)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(an_item_by_any_of_its_names), WITH(lists_go_on_by_key),
		WITH(lists_have_filters), WITH(lists_by_prefix_go_on_by_id),
		WITH(metadata_of_tasks), WITH(operations_and_what_blocks_them),
		WITH(blobs_and_their_bytes), WITH(runs_and_their_records),
		WITH(tags_with_counts),
		WITH(worklists_in_the_order_of_claims),
		WITH(a_task_and_why_it_waits), WITH(failures_and_groups),
		WITH(the_configuration_in_force), WITH(events_with_filters),
	};

	return items_test_main(argc, argv, tests);
}

/*
 * What the check of a store finds: faults of every kind are planted, found, and
 * repaired.
 */
#include "engine/items/generation.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "engine/items/worklist_testing.h"

#define MUST(call)                                                           \
	do {                                                                  \
		struct why why_ = WHY_INIT, *w = &why_;                       \
		if ((call) != OK)                                             \
			fail_msg("%s:%d: %s", __FILE__, __LINE__, why_.text); \
	} while (0)

static struct work_test t;
static struct buf differences;

static void
note_difference(void *arg, struct str text)
{
	(void)arg;
	buf_put_str(&differences, text);
	buf_put_char(&differences, '\n');
}

/* What items_check() says, in lines. */
static const char *
check_store(void)
{
	uint64_t checked;

	buf_clear(&differences);
	MUST(items_check(t.items.store, note_difference, NULL, &checked, w));
	assert_int_equal(checked, items_test_number(&t.items,
	    "SELECT COUNT(*) FROM items"));
	return buf_text(&differences);
}

static const struct {
	const char *plant, *repair, *finds;
} faults[] = {
	{ "DELETE FROM aliases WHERE id = 'fresh'", "INSERT INTO aliases"
	    " SELECT id, key, 1 FROM items WHERE id = 'fresh'",
	    "item fresh: it has no alias of its own\n" },
	{ "UPDATE aliases SET own = 0 WHERE id = 'fresh'",
	    "UPDATE aliases SET own = 1 WHERE id = 'fresh'",
	    "item fresh: it has no alias of its own\n"
	    "item fresh: aliases_n is 0, but it has 1 aliases\n" },
	{ "INSERT INTO aliases VALUES ('lost', 999, 0)",
	    "DELETE FROM aliases WHERE id = 'lost'",
	    "alias lost leads to no item\n" },
	{ "INSERT INTO aliases SELECT 'two', key, 1 FROM items"
	    " WHERE id = 'fresh'", "DELETE FROM aliases WHERE id = 'two'",
	    "alias two is called its item's own, but the item has another id"
	    "\n" },
	{ "UPDATE items SET aliases_n = 1 WHERE id = 'new'",
	    "UPDATE items SET aliases_n = 0 WHERE id = 'new'",
	    "item new: aliases_n is 1, but it has 0 aliases\n" },
	{ "UPDATE items SET blobs_n = 2 WHERE id = 'new'",
	    "UPDATE items SET blobs_n = 0 WHERE id = 'new'",
	    "item new: blobs_n is 2, but it has 0 blobs\n" },
	{ "INSERT INTO tags VALUES (999, 1, NULL)",
	    "DELETE FROM tags WHERE item = 999",
	    "tags of item number 999, which is not there\n" },
	{ "INSERT INTO task_results SELECT task, 999, task_version, metadata,"
	    " 1, 0, 0, NULL, NULL, NULL, 1 FROM task_results LIMIT 1",
	    "DELETE FROM task_results WHERE item = 999",
	    "results of item number 999, which is not there\n" },
	{ "INSERT INTO failures (task, item, message, error_data, occurred_at)"
	    " VALUES (1, 999, '', '{}', 0)",
	    "DELETE FROM failures WHERE item = 999",
	    "failures of item number 999, which have no result\n" },
	{ "INSERT INTO item_blobs VALUES (999, 'b', x'00', '', 0)",
	    "DELETE FROM item_blobs WHERE item = 999",
	    "blobs of item number 999, which is not there\n"
	    "a blob of item number 999 has no bytes, or another number of "
	    "them\n" },
	{ "INSERT INTO blobs (sha256, uses, put_at, bytes) VALUES (x'e3b0c442"
	    "98fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 1, 0,"
	    " x'')", "DELETE FROM blobs",
	    "the uses of 1 blobs are not those of items\n" },
	{ "INSERT INTO blobs (sha256, uses, put_at, bytes) VALUES (x'e3b0c442"
	    "98fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0, 0,"
	    " x'00')", "DELETE FROM blobs", "the bytes of blob e3b0c44298fc1c14"
	    "9afbf4c8996fb92427ae41e4649b934ca495991b7852b855 have another "
	    "digest\n" },
	{ "UPDATE task_state SET fresh = 2 WHERE fresh = 1",
	    "UPDATE task_state SET fresh = 1 WHERE fresh = 2",
	    "task a: the count of fresh pairs is off by -1\n" },
	{ "UPDATE worklist SET state = 1, due = 1 WHERE state = 2",
	    "UPDATE worklist SET state = 2, due = NULL WHERE state = 1",
	    "item fresh, task a: stale, but fresh follows from its result\n"
	    "task a: the count of stale pairs is off by 1\n"
	    "task a: the count of fresh pairs is off by -1\n" },
	{ "UPDATE worklist SET due = 5 WHERE state = 0",
	    "UPDATE worklist SET due = 0 WHERE state = 0",
	    "item new, task a: its due time is 5 ms, but 0 ms follows from "
	    "its result\n" },
	{ "UPDATE worklist SET lease = 7 WHERE state = 0",
	    "UPDATE worklist SET lease = NULL WHERE state = 0",
	    "item new, task a: lease and state unprocessed do not fit\n" },
	{ "UPDATE worklist SET state = 9 WHERE state = 0",
	    "UPDATE worklist SET state = 0 WHERE state = 9",
	    "item new, task a: 9 is no state\n"
	    "task a: the count of unprocessed pairs is off by -1\n" },
	{ "UPDATE worklist SET lane = 999 WHERE state = 0",
	    "UPDATE worklist SET lane = (SELECT lane FROM worklist WHERE"
	    " state = 2) WHERE state = 0",
	    "item new, task a: its lane does not follow from its tags\n" },
	{ "UPDATE worklist SET state = 5, due = NULL WHERE state = 0",
	    "UPDATE worklist SET state = 0, due = 0 WHERE state = 5 AND"
	    " task = (SELECT task FROM worklist WHERE state = 2)",
	    "item new, task a: blocked, but all that it depends on is there\n"
	    "task a: the count of unprocessed pairs is off by -1\n"
	    "task a: the count of blocked pairs is off by 1\n" },
	{ "UPDATE worklist SET task = 99 WHERE state = 0",
	    "UPDATE worklist SET task = (SELECT task FROM worklist WHERE"
	    " state = 2) WHERE state = 0",
	    "item new, task a: its tags map the task, but there is no pair\n"
	    "item new: a pair of task number 99, which the configuration does "
	    "not have\n"
	    "task a: the count of unprocessed pairs is off by -1\n"
	    "task number 99: the count of unprocessed pairs is off by 1\n" },
	{ "DELETE FROM tags WHERE item = (SELECT key FROM items WHERE"
	    " id = 'new')", "INSERT INTO tags SELECT (SELECT key FROM items"
	    " WHERE id = 'new'), tag, NULL FROM tags WHERE"
	    " item = (SELECT key FROM items WHERE id = 'fresh')",
	    "item new, task a: a pair, but no tag maps the task\n" },
	{ "INSERT INTO worklist SELECT task, 999, state, due, lane, lease,"
	    " lease_until, worker, generation, attempt, again, done_lease"
	    " FROM worklist WHERE state = 0",
	    "DELETE FROM worklist WHERE item = 999",
	    "pairs of item number 999, which is not there\n"
	    "task a: the count of unprocessed pairs is off by 1\n" },
	{ "INSERT INTO runs (task, item, started_at, outcome, attempt,"
	    " task_version, wall_us, cpu_us, memory_bytes, fetches, bytes,"
	    " record) SELECT task, 999, started_at, outcome, attempt,"
	    " task_version, wall_us, cpu_us, memory_bytes, fetches, bytes,"
	    " record FROM runs LIMIT 1", "DELETE FROM runs WHERE item = 999",
	    "runs of item number 999, which is not there\n" },
	{ "UPDATE task_results SET task = 77", "UPDATE task_results"
	    " SET task = (SELECT task FROM worklist WHERE state = 2)",
	    "item fresh, task a: fresh, but unprocessed follows from its "
	    "result\n"
	    "results of task number 77, which has no name\n" },
	{ "INSERT INTO tags SELECT key, 77, NULL FROM items WHERE id = 'new'",
	    "DELETE FROM tags WHERE tag = 77",
	    "item new: tag number 77 has no name\n" },
	{ "UPDATE worklist SET due = 0 WHERE state = 5",
	    "UPDATE worklist SET due = NULL WHERE state = 5",
	    "item waits, task b: blocked, but due\n" },
	{ "UPDATE worklist SET attempt = 3 WHERE state = 2",
	    "UPDATE worklist SET attempt = 0 WHERE state = 2",
	    "item fresh, task a: it has failed 3 times, but 0 follows from "
	    "its result\n" },
	{ "UPDATE task_results SET expires_at = 5",
	    "UPDATE task_results SET expires_at = NULL",
	    "item fresh, task a: its due time is none, but 1 ms follows from "
	    "its result\n"
	    "item fresh, task a: its expiry does not follow from the TTL\n" },
};

/* PostgreSQL writes x'00' as '\x00'. */
static void
do_sql(const char *text)
{
	struct database *db = item_store_database(t.items.store);
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str rest = str_of(text);

	for (;;) {
		size_t at = str_find(rest, STR("x'"));
		buf_put_str(&b, str_cut(rest, 0, at));
		if (at == rest.n)
			break;
		buf_put_text(&b, database_is_postgresql(db) ? "'\\x" : "x'");
		rest = str_from(rest, at + 2);
	}
	/* The database keeps the text until it is closed. */
	MUST(database_do(db, arena_copy(&t.arena, buf_str(&b)).p, w));
}

static void
every_planted_fault_is_found(void **state)
{
	struct work_lease none;

	(void)state;
	work_open(&t, "{'tags':{'x':['a'],'y':['b']},'tasks':{'a':{'version':"
	    "'1','run':{'$function':true}},'b':{'version':'1','run':"
	    "{'$function':true},'dependsOn':['a']}}}");
	work_item(&t, "fresh", "x");
	work_succeed(&t, work_claim_one(&t).text);
	work_item(&t, "waits", "y");
	assert_int_equal(work_claim(&t, 1, &none), 0);
	work_item(&t, "new", "x");
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		assert_string_equal(check_store(), "");
		do_sql(faults[i].plant);
		const char *found = check_store();
		if (strcmp(found, faults[i].finds) != 0)
			fail_msg("%s\nfinds: %s\nnot:   %s", faults[i].plant,
			    found, faults[i].finds);
		do_sql(faults[i].repair);
	}
	work_close(&t);
}

static size_t
count_lines(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += *text == '\n';
	return n;
}

static void
the_first_thousand_differences_are_told(void **state)
{
	(void)state;
	work_open(&t, "{}");
	for (unsigned i = 0; i <= ITEMS_CHECK_TOLD_MAX; i++)
		work_item(&t, arena_printf(&t.arena, "i%u", i).p, "");
	do_sql("UPDATE items SET blobs_n = 1 WHERE key IN (SELECT key FROM"
	    " items ORDER BY key LIMIT 1000)");
	const char *found = check_store();
	assert_int_equal(count_lines(found), ITEMS_CHECK_TOLD_MAX);
	assert_null(strstr(found, "more"));
	do_sql("UPDATE items SET blobs_n = 1");
	found = check_store();
	assert_int_equal(count_lines(found), ITEMS_CHECK_TOLD_MAX + 1);
	assert_non_null(strstr(found, "\nand 1 more differences\n"));
	do_sql("UPDATE items SET blobs_n = 0");
	work_close(&t);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_planted_fault_is_found),
		cmocka_unit_test(the_first_thousand_differences_are_told),
	};

	int failed = items_test_main(argc, argv, tests);
	buf_free(&differences);
	return failed;
}

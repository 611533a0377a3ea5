/* From one store into another: equal exports, hence equal worklists. */
#include "engine/items/item_export.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "engine/items/item_query.h"
#include "engine/items/item_tx.h"
#include "engine/items/items_testing.h"

#define AT "1795159200000000"        /* 2026-11-20T07:20:00.000Z */
#define CONFIG "{\"tags\":{\"t\":[\"a\"]},\"tasks\":{\"a\":{"             \
	"\"version\":\"1\",\"run\":{\"$function\":true}}}}"

static struct items_test from, to;

static void
run_sql(struct items_test *t, const char *sql)
{
	struct why w = WHY_INIT;

	if (database_do(item_store_database(t->store), sql, &w) != OK)
		fail_msg("%s: %s", sql, w.text);
}

static int
setup(void **state)
{
	(void)state;
	items_test_open(&from, NULL);
	items_test_open(&to, NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	items_test_close(&from);
	items_test_close(&to);
	return 0;
}

static void
fill_bytes_sqlite(struct items_test *t)
{
	run_sql(t, "INSERT INTO blobs (sha256, bytes, uses, put_at) VALUES"
	    " (x'00ff', x'0001feff', 1, 4)");
	run_sql(t, "INSERT INTO item_blobs VALUES (5, 'pic', x'00ff',"
	    " 'image/png', 4)");
	run_sql(t, "INSERT INTO runs VALUES (4, 2, 5, " AT ", 1, 1, '1', 2, 3,"
	    " 4, 5, 6, x'ff00')");
	run_sql(t, "INSERT INTO sessions VALUES ('s', x'01', NULL, 1)");
}

static void
fill_bytes_postgresql(struct items_test *t)
{
	run_sql(t, "INSERT INTO blobs (sha256, bytes, uses, put_at) VALUES"
	    " ('\\x00ff', '\\x0001feff', 1, 4)");
	run_sql(t, "INSERT INTO item_blobs VALUES (5, 'pic', '\\x00ff',"
	    " 'image/png', 4)");
	run_sql(t, "INSERT INTO runs VALUES (4, 2, 5, " AT ", 1, 1, '1', 2, 3,"
	    " 4, 5, 6, '\\xff00')");
	run_sql(t, "INSERT INTO sessions VALUES ('s', '\\x01', NULL, 1)");
}

/* A row of every table, and every form of a value. */
static void
fill(struct items_test *t)
{
	run_sql(t, "INSERT INTO names VALUES (1, 0, 't'), (2, 1, 'a'),"
	    " (3, 2, 'a')");
	run_sql(t, "INSERT INTO generations VALUES (7, " AT ", 'abc', '"
	    CONFIG "', '{\"a.js\":\"x\"}')");
	run_sql(t, "INSERT INTO migrations VALUES ('m', " AT ")");
	run_sql(t, "INSERT INTO items VALUES (5, 'x',"
	    " '{\"title\":\"a,\\\"b\\\"\",\"price\":{\"net\":1.10},"
	    "\"n\":9007199254740993,\"l\":[1,2],\"u\":\"\xc3\xa9\"}', 'y', " AT
	    ", " AT ", 3, 1, 1), (6, 'y', '{\"title\":null}', NULL, " AT ", " AT
	    ", 1, 0, 0)");
	run_sql(t, "INSERT INTO aliases VALUES ('x', 5, 1), ('x2', 5, 0),"
	    " ('y', 6, 1)");
	run_sql(t, "INSERT INTO tags VALUES (5, 1, 'v'), (6, 1, NULL)");
	run_sql(t, "INSERT INTO task_results VALUES (2, 5, '1',"
	    " '{\"price\":5,\"a.b\":6}', 1, 0, " AT ", " AT ", NULL, " AT
	    ", 2)");
	run_sql(t, "INSERT INTO worklist (task, item, state, due, lane,"
	    " generation, attempt, again) VALUES (2, 5, 2, " AT " / 1000, 3,"
	    " 7, 0, 0), (2, 6, 6, NULL, 3, 7, 2, 0)");
	run_sql(t, "INSERT INTO failures VALUES (9, 2, 6, 'm', '{}', " AT
	    ", " AT ", 'me', NULL)");
	if (database_is_postgresql(item_store_database(t->store)))
		fill_bytes_postgresql(t);
	else
		fill_bytes_sqlite(t);
	run_sql(t, "INSERT INTO buckets VALUES ('global', " AT ")");
	run_sql(t, "INSERT INTO task_state (task, paused, tripped,"
	    " unprocessed, stale, fresh, retry, leased, blocked, failed, runs,"
	    " wall_us, cpu_us, fetches, bytes) VALUES"
	    " (2, 1, 0, 0, 0, 1, 0, 0, 0, 1, 5, 6, 7, 8, 9)");
	run_sql(t, "INSERT INTO rewrites (task, generation, at, done, total)"
	    " VALUES (2, 7, 5, 1, 2)");
	run_sql(t, "INSERT INTO events (cursor, at, type, task, tags, total,"
	    " body) VALUES (77, " AT ", 'item.new', NULL, ',t,', 12,"
	    " '{\"type\":\"x\"}')");
}

static enum err
put_text(void *arg, struct str lines, struct why *w)
{
	(void)w;
	buf_put_str(arg, lines);
	return OK;
}

static uint64_t
export(struct items_test *t, struct buf *out)
{
	struct why w = WHY_INIT;
	uint64_t rows;

	buf_clear(out);
	if (item_export(t->store, put_text, out, &rows, &w) != OK)
		fail_msg("%s", w.text);
	return rows;
}

static enum err
import(struct items_test *t, struct str text, uint64_t *rows, struct why *w)
{
	struct item_import *m = NULL;
	struct str line;

	enum err e = item_import_begin(t->store, &m, w);
	while (e == OK && text.n > 0 && str_split(&text, '\n', &line))
		e = item_import_line(m, line, w);
	if (e == OK)
		e = item_import_end(m, rows, w);
	item_import_free(&m);
	return e;
}

/* The key that the store gives to the next item. */
static int64_t
new_key(struct items_test *t)
{
	struct item_row *row = NULL;
	struct why w = WHY_INIT;

	items_test_begin(t);
	if (item_tx_new_item(t->tx, &row, &w) != OK)
		fail_msg("%s", w.text);
	int64_t key = row->key;
	items_test_commit(t);
	return key;
}

static void
everything_arrives(void **state)
{
	FREED(buf_free) struct buf first = BUF_INIT, second = BUF_INIT;
	struct why w = WHY_INIT;
	uint64_t rows = 0;

	(void)state;
	fill(&from);
	assert_int_equal(export(&from, &first), 21);
	if (import(&to, buf_str(&first), &rows, &w) != OK)
		fail_msg("%s", w.text);
	assert_int_equal(rows, 21);
	assert_int_equal(export(&to, &second), 21);
	assert_string_equal(buf_text(&second), buf_text(&first));
	assert_non_null(strstr(buf_text(&first), "\"net\":1.10}"));
	assert_non_null(strstr(buf_text(&first), "\"n\":9007199254740993,"));
	/* Counts are made, and numbers go on behind the greatest. */
	assert_int_equal(items_test_number(&to, "SELECT fresh * 10 + failed"
	    " FROM task_state"), 11);
	assert_int_equal(new_key(&to), 7);
	run_sql(&to, "INSERT INTO failures (task, item, message, error_data,"
	    " occurred_at) VALUES (2, 5, 'm', '{}', 1)");
	assert_int_equal(items_test_number(&to, "SELECT max(id) FROM failures"),
	    10);
}

/* From the server into a file, and back. */
static void
both_databases_agree(void **state)
{
	FREED(buf_free) struct buf first = BUF_INIT, second = BUF_INIT;
	struct items_test file = { .store = NULL };
	struct why w = WHY_INIT;
	uint64_t rows = 0;

	(void)state;
	if (!database_is_postgresql(item_store_database(from.store)))
		skip();
	fill(&from);
	export(&from, &first);
	const struct item_store_options o = { .dir = from.dir };
	if (item_store_open(&o, &file.store, &w) != OK ||
	    import(&file, buf_str(&first), &rows, &w) != OK)
		fail_msg("%s", w.text);
	export(&file, &second);
	assert_string_equal(buf_text(&second), buf_text(&first));
	if (import(&to, buf_str(&second), &rows, &w) != OK)
		fail_msg("%s", w.text);
	export(&to, &second);
	assert_string_equal(buf_text(&second), buf_text(&first));
	item_store_close(&file.store);
}

static void
leases_stay_behind(void **state)
{
	FREED(buf_free) struct buf first = BUF_INIT;
	struct why w = WHY_INIT;
	uint64_t rows = 0;

	(void)state;
	fill(&from);
	run_sql(&from, "UPDATE worklist SET state = 4, due = NULL, lease = 5,"
	    " lease_until = " AT ", worker = 'w', done_lease = 6, attempt = 0"
	    " WHERE item = 6");
	run_sql(&from, "UPDATE task_state SET failed = 0, leased = 1");
	export(&from, &first);
	assert_null(strstr(buf_text(&first), "lease"));
	if (import(&to, buf_str(&first), &rows, &w) != OK)
		fail_msg("%s", w.text);
	assert_int_equal(items_test_number(&to, "SELECT state FROM worklist"
	    " WHERE item = 6"), PAIR_UNPROCESSED);
	assert_int_equal(items_test_number(&to, "SELECT due FROM worklist"
	    " WHERE item = 6"), PAIR_DUE_UNPROCESSED);
	assert_int_equal(items_test_number(&to, "SELECT unprocessed * 10 +"
	    " leased FROM task_state"), 10);
}

/* Beyond what a statement reads, and what a transaction writes. */
static void
many_rows_arrive(void **state)
{
	FREED(buf_free) struct buf first = BUF_INIT, second = BUF_INIT;
	struct why w = WHY_INIT;
	uint64_t rows = 0;

	(void)state;
	run_sql(&from, "INSERT INTO names VALUES (1, 0, 't'), (2, 1, 'a'),"
	    " (3, 2, 'a')");
	run_sql(&from, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT"
	    " n + 1 FROM c WHERE n < 3100) INSERT INTO items SELECT n,"
	    " 'i' || n, '{}', NULL, n, n, 1, 0, 0 FROM c");
	run_sql(&from, "INSERT INTO aliases SELECT id, key, 1 FROM items");
	run_sql(&from, "INSERT INTO tags SELECT key, 1, NULL FROM items");
	run_sql(&from, "INSERT INTO worklist (task, item, state, due, lane,"
	    " generation, attempt, again) SELECT 2, key, 0, 0, 3, 0, 0, 0"
	    " FROM items");
	assert_int_equal(export(&from, &first), 4 * 3100);
	if (import(&to, buf_str(&first), &rows, &w) != OK)
		fail_msg("%s", w.text);
	assert_int_equal(rows, 4 * 3100);
	/* The row of counts is new. */
	assert_int_equal(export(&to, &second), 4 * 3100 + 1);
	assert_memory_equal(second.p, first.p, 4 * 3100 * 40);
	assert_int_equal(items_test_number(&to, "SELECT unprocessed FROM"
	    " task_state"), 3100);
}

static void
refuses(const char *text, const char *why_text)
{
	struct why w = WHY_INIT;
	uint64_t rows;

	assert_int_equal(import(&to, str_of(text), &rows, &w), ERR_INPUT);
	assert_string_equal(w.text, why_text);
}

static void
faults_name_their_line(void **state)
{
	struct why w = WHY_INIT;
	uint64_t rows;

	(void)state;
	refuses("{\"table\":\"items\"}\n", "line 1: it begins no export of "
	    "items of version 1");
	refuses("{\"argiope_items\":2}\n", "line 1: it begins no export of "
	    "items of version 1");
	refuses("no\n", "line 1: it is no JSON object");
#define HEAD "{\"argiope_items\":1}\n"
	refuses("", "line 1: the export was cut off: its end is missing");
	refuses(HEAD, "line 2: the export was cut off: its end is missing");
	refuses(HEAD "[]\n", "line 2: it is no JSON object");
	refuses(HEAD "{\"table\":\"x\"}\n", "line 2: table: there is none of "
	    "this name");
	refuses(HEAD "{}\n", "line 2: table: there is none of this name");
	refuses(HEAD "{\"end\":1}\n", "line 2: 1 rows were exported, and 0 "
	    "have come");
	refuses(HEAD "{\"end\":0}\n{}\n", "line 3: it follows the end");
	refuses(HEAD "{\"table\":\"migrations\",\"id\":\"m\"}\n",
	    "line 2: migrations.applied_at: it is not a whole number");
	refuses(HEAD "{\"table\":\"migrations\",\"id\":1,\"applied_at\":1}\n",
	    "line 2: migrations.id: it is not a text");
	refuses(HEAD "{\"table\":\"generations\",\"id\":1,\"loaded_at\":1,"
	    "\"hash\":\"h\",\"config\":1}\n",
	    "line 2: generations.config: it is not an object");
	refuses(HEAD "{\"table\":\"sessions\",\"name\":\"s\","
	    "\"sealed\":\"*\"}\n", "line 2: sessions.sealed: it is not base64");
	/* None of it has left a row: the store is empty as before. */
	assert_int_equal(import(&to, STR(HEAD "{\"end\":0}\n"), &rows, &w), OK);
	assert_int_equal(rows, 0);
	fill(&from);
	assert_int_equal(import(&from, STR(HEAD), &rows, &w), ERR_STATE);
}

/* -- Tables -- */

static enum err
csv(const char *fields, const char *tag, struct buf *out, struct why *w)
{
	struct str list[ITEM_CSV_FIELDS_MAX + 1], rest = str_of(fields);
	struct item_csv ask = { .fields = list, .tag = str_of(tag) };
	uint64_t rows;

	while (str_split(&rest, ',', &list[ask.fields_n]))
		ask.fields_n++;
	buf_clear(out);
	return item_export_csv(from.store, &ask, put_text, out, &rows, w);
}

static void
a_table_of_fields(void **state)
{
	FREED(buf_free) struct buf out = BUF_INIT, many = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	fill(&from);
	run_sql(&from, "UPDATE tags SET tag = 9 WHERE item = 6");
	run_sql(&from, "INSERT INTO names VALUES (9, 0, 'other')");
	assert_int_equal(csv("id,title,a.price,rev,created_at,created_by", NULL,
	    &out, &w), OK);
	assert_string_equal(buf_text(&out),
	    "id,title,a.price,rev,created_at,created_by\r\n"
	    "x,\"a,\"\"b\"\"\",5,3,2026-11-20T07:20:00.000Z,y\r\n"
	    "y,,,1,2026-11-20T07:20:00.000Z,\r\n");
	assert_int_equal(csv("price.net,n,l,u,a.a.b,none,price.none.x", "t",
	    &out, &w), OK);
	assert_string_equal(buf_text(&out),
	    "price.net,n,l,u,a.a.b,none,price.none.x\r\n"
	    "1.10,9007199254740993,\"[1,2]\",\xc3\xa9,6,,\r\n");
	assert_int_equal(csv("id,,title", NULL, &out, &w), ERR_INPUT);
	assert_string_equal(w.text, "fields: one is empty");
	for (unsigned i = 0; i < ITEM_CSV_FIELDS_MAX; i++)
		buf_put_text(&many, i == 0 ? "id" : ",id");
	assert_int_equal(csv(buf_text(&many), NULL, &out, &w), OK);
	buf_put_text(&many, ",id");
	w = WHY_INIT;
	assert_int_equal(csv(buf_text(&many), NULL, &out, &w), ERR_INPUT);
	assert_string_equal(w.text, "fields: from 1 to 256 are allowed");
}

int
main(int argc, char **argv)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(everything_arrives), WITH(both_databases_agree),
		WITH(leases_stay_behind),
		WITH(many_rows_arrive), WITH(faults_name_their_line),
		WITH(a_table_of_fields),
	};

	return items_test_main(argc, argv, tests);
}

/*
 * Rows, names, runs and retention, by examples; item_tx_random_test.c has the
 * rest.
 */
#include "engine/items/item_tx_own.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/hash.h"
#include "engine/items/items_testing.h"

static struct items_test t;

static int
setup(void **state)
{
	(void)state;
	items_test_open(&t, NULL);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	items_test_close(&t);
	return 0;
}

/* -- Examples -- */

static struct item_row *
new_item(const char *id)
{
	struct item_row *item;
	struct alias_row *a;

	assert_int_equal(item_tx_new_item(t.tx, &item, NULL), OK);
	item_tx_touch_item(t.tx, item);
	item->exists = true;
	item->id = str_of(id);
	item->data = STR("{}");
	item->created_at = item->updated_at = t.now;
	item->rev = 1;
	assert_int_equal(item_tx_alias(t.tx, str_of(id), &a, NULL), OK);
	item_tx_touch_alias(t.tx, a);
	a->exists = a->own = true;
	a->item = item->key;
	return item;
}

static void
finds_an_item_by_its_aliases(void **state)
{
	struct item_row *item, *found;
	struct alias_row *a, **list;
	struct why w = WHY_INIT;
	size_t n;

	(void)state;
	items_test_begin(&t);
	item = new_item("x");
	int64_t key = item->key;
	assert_int_equal(item_tx_alias(t.tx, STR("also x"), &a, NULL), OK);
	assert_false(a->exists);
	item_tx_touch_alias(t.tx, a);
	a->exists = true;
	a->item = key;
	item->aliases_n = 1;
	items_test_commit(&t);

	items_test_begin(&t);
	assert_int_equal(item_tx_find(t.tx, STR("also x"), &found, NULL), OK);
	assert_int_equal(found->key, key);
	assert_true(str_eq(found->id, STR("x")));
	assert_true(found->created_by.p == NULL);
	assert_int_equal(item_tx_aliases_of(t.tx, found, &list, &n, NULL), OK);
	assert_int_equal(n, 1);
	assert_true(str_eq(list[0]->id, STR("also x")));
	assert_int_equal(item_tx_find(t.tx, STR("y"), &found, &w), ERR_ABSENT);
	assert_string_equal(w.text, "y: there is no such item");
	items_test_commit(&t);
}

/* Two daemons on one server make an item of the same id. */
static void
the_second_of_two_daemons_does_it_again(void **state)
{
	const struct item_store_options o = { .url = t.url, .node = "other" };
	struct items_test other = { .now = t.now };
	struct item_row *found;
	struct why w = WHY_INIT;

	(void)state;
	if (t.url[0] == '\0')
		skip();         /* a file has one writer at a time */
	assert_int_equal(item_store_open(&o, &other.store, &w), OK);
	items_test_begin(&t);
	int64_t key = new_item("x")->key;
	struct item_tx *first = t.tx;
	items_test_begin(&other);
	t.tx = other.tx;
	int64_t other_key = new_item("x")->key;
	assert_int_not_equal(key, other_key);
	items_test_commit(&other);
	assert_int_equal(item_tx_end(&first, OK, NULL), ERR_BUSY);
	items_test_begin(&t);
	assert_int_equal(item_tx_find(t.tx, STR("x"), &found, NULL), OK);
	assert_int_equal(found->key, other_key);
	/* A name that the other has made is found. */
	uint32_t id, same;
	items_test_commit(&t);
	items_test_begin(&other);
	assert_int_equal(item_store_name(other.store, ITEM_NAME_TAG, STR("n"),
	    true, &id, NULL), OK);
	items_test_commit(&other);
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("n"),
	    false, &same, NULL), OK);
	assert_int_equal(same, id);
	item_store_close(&other.store);
}

static const char *
data_of_x(void)
{
	struct item_row *item;

	assert_int_equal(item_tx_find(t.tx, STR("x"), &item, NULL), OK);
	return arena_copy(item_tx_arena(t.tx), item->data).p;
}

static void
set_data_of_x(struct item_tx *tx, const char *data)
{
	struct item_row *item;

	assert_int_equal(item_tx_find(tx, STR("x"), &item, NULL), OK);
	item_tx_touch_item(tx, item);
	item->data = str_of(data);
}

/* Rows stay in memory: not beyond a commit of somebody else, nor a rollback. */
static void
kept_rows_are_those_of_the_database(void **state)
{
	bool is_file = t.url[0] == '\0';
	const struct item_store_options o = { .dir = is_file ? t.dir : NULL,
		.url = is_file ? NULL : t.url, .node = "other" };
	struct items_test other = { .now = t.now };

	(void)state;
	items_test_begin(&t);
	new_item("x");
	items_test_commit(&t);
	for (int i = 0; i < 3; i++) {
		items_test_begin(&t);
		assert_string_equal(data_of_x(), i == 0 ? "{}" : "[1]");
		set_data_of_x(t.tx, "[1]");
		items_test_commit(&t);
	}
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM items"
	    " WHERE data = '[1]'"), 1);
	items_test_begin(&t);
	set_data_of_x(t.tx, "[2]");
	assert_int_equal(item_tx_end(&t.tx, ERR_STATE, NULL), ERR_STATE);
	items_test_begin(&t);
	assert_string_equal(data_of_x(), "[1]");
	items_test_commit(&t);
	assert_int_equal(item_store_open(&o, &other.store, NULL), OK);
	items_test_begin(&other);
	set_data_of_x(other.tx, "[3]");
	items_test_commit(&other);
	items_test_begin(&t);
	assert_string_equal(data_of_x(), "[3]");
	struct item_mark m = item_tx_mark(t.tx);
	set_data_of_x(t.tx, "[4]");
	item_tx_undo(t.tx, m);
	items_test_commit(&t);
	items_test_begin(&t);
	assert_string_equal(data_of_x(), "[3]");
	items_test_commit(&t);
	item_store_close(&other.store);
}

static void
keys_are_never_used_again(void **state)
{
	struct item_row *item;

	(void)state;
	items_test_begin(&t);
	int64_t first = new_item("a")->key;
	items_test_commit(&t);
	items_test_begin(&t);
	assert_int_equal(item_tx_item(t.tx, first, &item, NULL), OK);
	item_tx_touch_item(t.tx, item);
	item->exists = false;
	items_test_commit(&t);
	items_test_begin(&t);
	for (int i = 0; i < 200; i++) {
		assert_int_equal(item_tx_new_item(t.tx, &item, NULL), OK);
		assert_true(item->key > first);
	}
	items_test_commit(&t);
}

static void
cursors_go_on(void **state)
{
	const struct item_actor nobody = { .run_item = 0 };
	const struct item_event e = { .type = ITEM_EVENT_TASK_PAUSED,
		.task = STR("a") };

	(void)state;
	assert_int_equal(item_store_cursor(t.store), 0);
	for (uint64_t i = 1; i <= 3; i++) {
		items_test_begin(&t);
		struct item_mark m = item_tx_mark(t.tx);
		item_event_put(t.tx, &nobody, &e);
		item_tx_undo(t.tx, m);
		item_event_put(t.tx, &nobody, &e);
		items_test_commit(&t);
		assert_int_equal(item_store_cursor(t.store), i);
	}
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM events"),
	    3);
	items_test_begin(&t);
	item_event_put(t.tx, &nobody, &e);
	assert_int_equal(item_tx_end(&t.tx, ERR_STATE, NULL), ERR_STATE);
	assert_int_equal(item_store_cursor(t.store), 3);
}

static void
names_are_numbers(void **state)
{
	uint32_t tag, task, again;
	struct why w = WHY_INIT;

	(void)state;
	items_test_begin(&t);
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("a"),
	    false, &tag, NULL), OK);
	assert_int_equal(tag, 0);
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("a"),
	    true, &tag, NULL), OK);
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TASK, STR("a"),
	    true, &task, NULL), OK);
	assert_int_not_equal(tag, task);
	assert_true(str_eq(item_store_name_text(t.store, task), STR("a")));
	assert_true(item_store_name_text(t.store, 99).p == NULL);
	items_test_commit(&t);
	item_store_names_changed(t.store);
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("a"),
	    false, &again, NULL), OK);
	assert_int_equal(again, tag);

	/* A rollback takes the name back. */
	items_test_begin(&t);
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("b"),
	    true, &again, NULL), OK);
	assert_int_equal(item_tx_end(&t.tx, ERR_STATE, NULL), ERR_STATE);
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("b"),
	    false, &again, NULL), OK);
	assert_int_equal(again, 0);
	t.store->limits.tag_names_max = 1;
	items_test_begin(&t);
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("b"),
	    true, &again, &w), ERR_FULL);
	assert_string_equal(w.field, "tag_names");
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TASK, STR("b"),
	    true, &again, NULL), OK);
	items_test_commit(&t);
}

static struct str
read_run(struct arena *a)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct query *q = database_query(item_store_database(t.store),
	    "SELECT record FROM runs ORDER BY id DESC");

	assert_true(query_step(q));
	assert_int_equal(item_run_unpack(query_get_str(q, 0), &b, NULL), OK);
	assert_int_equal(query_end(&q, NULL), OK);
	return arena_copy(a, buf_str(&b));
}

/* What was taken behind the savepoint goes with it: nothing that is stored may
 * be given once more later. */
static void
an_undone_savepoint_takes_keys_and_names_with_it(void **state)
{
	uint32_t id;

	(void)state;
	items_test_begin(&t);
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_tx_flush_all(t.tx, NULL), OK);
	new_item("undone");
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("n"),
	    true, &id, NULL), OK);
	item_tx_undo(t.tx, m);
	int64_t key = new_item("kept")->key;
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("n"),
	    false, &id, NULL), OK);
	assert_int_equal(id, 0);
	assert_int_equal(item_store_name(t.store, ITEM_NAME_TAG, STR("n"),
	    true, &id, NULL), OK);
	items_test_commit(&t);
	assert_int_equal(items_test_number(&t,
	    "SELECT count(*) FROM names WHERE name = 'n'"), 1);
	items_test_reopen(&t);
	items_test_begin(&t);
	assert_true(new_item("later")->key > key);
	items_test_commit(&t);
	assert_int_equal(items_test_number(&t,
	    "SELECT count(*) FROM items WHERE id IN ('kept', 'later')"), 2);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM items"
	    " WHERE id = 'undone'"), 0);
}

static void
put_record(struct str record)
{
	const struct item_run run = { .task = 1, .item = 1, .started_at = t.now,
		.success = true, .task_version = STR("1"), .record = record,
		.short_record = STR("{\"short\":true}") };

	items_test_begin(&t);
	item_tx_put_run(t.tx, &run, false);
	items_test_commit(&t);
}

static void
runs_are_packed(void **state)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT, out = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	put_record(STR("{}"));
	assert_true(str_eq(read_run(&a), STR("{}")));
	buf_put_char(&b, '{');
	for (int i = 0; i < 100000; i++)
		buf_put_text(&b, "\"same\":1,");
	buf_put_char(&b, '}');
	put_record(buf_str(&b));
	assert_true(str_eq(read_run(&a), buf_str(&b)));
	assert_true(items_test_number(&t, "SELECT length(record) FROM runs") <
	    1000);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM runs"), 1);

	/* What does not pack is kept without its replay. */
	buf_clear(&b);
	buf_put_char(&b, '{');
	uint64_t seed = 1;
	while (b.n < 2 * ITEM_RUN_BYTES_MAX)
		buf_put_be64(&b, hash_u64(seed++));
	put_record(buf_str(&b));
	assert_true(str_eq(read_run(&a), STR("{\"short\":true}")));

	assert_int_equal(item_run_unpack(STR("no"), &out, &w), ERR_CORRUPT);
	assert_int_equal(out.n, 0);
}

static void
put_events(int n)
{
	const struct item_actor nobody = { .run_item = 0 };
	const struct item_event e = { .type = ITEM_EVENT_TASK_PAUSED,
		.task = STR("a") };

	items_test_begin(&t);
	for (int i = 0; i < n; i++)
		item_event_put(t.tx, &nobody, &e);
	items_test_commit(&t);
}

static struct item_pruned pruned;

static bool
prune(size_t max)
{
	items_test_begin(&t);
	assert_int_equal(item_tx_prune(t.tx, max, &pruned, NULL), OK);
	items_test_commit(&t);
	return pruned.more;
}

static void
old_rows_go(void **state)
{
	const int64_t day_us = INT64_C(86400) * US_PER_S;

	(void)state;
	put_events(10);
	assert_false(prune(100));
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM events"),
	    10);
	t.now.us += 7 * day_us - 1000 * 1000;
	put_events(5);
	assert_false(prune(100));
	t.now.us += 1000 * 1000;
	assert_true(prune(4));
	assert_true(prune(4));
	assert_false(prune(4));
	assert_int_equal(pruned.events, 2);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM events"),
	    5);

	/* By bytes: two events fit. */
	int64_t bytes = items_test_number(&t,
	    "SELECT length(body) FROM events LIMIT 1");
	t.store->limits.event_bytes_max = 2 * bytes;
	assert_false(prune(100));
	assert_int_equal(items_test_number(&t, "SELECT min(cursor)"
	    " FROM events"), 14);
	/* The newest always stays: cursors go on. */
	t.now.us += 30 * day_us;
	assert_false(prune(100));
	assert_int_equal(items_test_number(&t, "SELECT min(cursor)"
	    " FROM events"), 15);
}

static void
old_records_go(void **state)
{
	const int64_t day_us = INT64_C(86400) * US_PER_S;
	struct item_run run = { .task = 1, .item = 1, .started_at = t.now,
		.task_version = STR("1"), .record = STR("{}") };

	(void)state;
	items_test_begin(&t);
	item_tx_put_failure(t.tx, 1, 1, STR("m"), STR("{}"));
	item_tx_handle_failures(t.tx, 1, 1, STR("me"), STR_NONE);
	item_tx_put_failure(t.tx, 1, 1, STR("m"), STR("{}"));
	item_tx_put_run(t.tx, &run, true);
	item_tx_put_run(t.tx, &run, true);
	items_test_commit(&t);
	t.now.us += 30 * day_us - US_PER_S;
	assert_false(prune(100));
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM runs"), 2);
	assert_int_equal(items_test_number(&t, "SELECT count(*)"
	    " FROM failures"), 2);
	t.now.us += US_PER_S;
	assert_false(prune(100));
	assert_int_equal(pruned.runs, 1);
	assert_int_equal(pruned.failures, 1);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM runs"), 1);
	assert_int_equal(items_test_number(&t, "SELECT count(*)"
	    " FROM failures WHERE handled_at IS NULL"), 1);
	assert_int_equal(items_test_number(&t, "SELECT count(*)"
	    " FROM failures"), 1);
}

static int64_t
trimmed_failures(void)
{
	return metric_value(&item_pruned_metric, PRUNED_PAIR_FAILURES);
}

static void
put_failures(int n)
{
	for (int i = 0; i < n; i++)
		item_tx_put_failure(t.tx, 1, 1, STR("m"), STR("{}"));
}

static void
a_pair_keeps_its_last_failures(void **state)
{
	int64_t before = trimmed_failures();

	(void)state;
	t.store->limits.pair_failures_max = 2;
	items_test_begin(&t);
	put_failures(2);
	item_tx_put_failure(t.tx, 1, 2, STR("m"), STR("{}"));
	items_test_commit(&t);
	assert_int_equal(trimmed_failures() - before, 0);
	items_test_begin(&t);
	put_failures(1);
	items_test_commit(&t);
	assert_int_equal(trimmed_failures() - before, 1);
	assert_int_equal(items_test_number(&t, "SELECT count(*)"
	    " FROM failures WHERE item = 1"), 2);
	assert_int_equal(items_test_number(&t, "SELECT count(*)"
	    " FROM failures WHERE item = 2"), 1);

	/* A transaction that is rolled back adds nothing to the count. */
	items_test_begin(&t);
	put_failures(1);
	assert_int_equal(item_tx_end(&t.tx, ERR_STATE, NULL), ERR_STATE);
	items_test_begin(&t);
	struct item_mark mark = item_tx_mark(t.tx);
	put_failures(1);
	assert_int_equal(item_tx_flush_all(t.tx, NULL), OK);
	item_tx_undo(t.tx, mark);
	put_failures(2);
	items_test_commit(&t);
	assert_int_equal(trimmed_failures() - before, 3);
	assert_int_equal(items_test_number(&t, "SELECT count(*)"
	    " FROM failures WHERE item = 1"), 2);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(finds_an_item_by_its_aliases,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    the_second_of_two_daemons_does_it_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    kept_rows_are_those_of_the_database, setup, teardown),
		cmocka_unit_test_setup_teardown(keys_are_never_used_again,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(cursors_go_on, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(names_are_numbers, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    an_undone_savepoint_takes_keys_and_names_with_it, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(runs_are_packed, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(old_rows_go, setup, teardown),
		cmocka_unit_test_setup_teardown(old_records_go, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(a_pair_keeps_its_last_failures,
		    setup, teardown),
	};

	return items_test_main(argc, argv, tests);
}

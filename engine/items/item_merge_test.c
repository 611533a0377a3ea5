/*
 * Merges, and what tasks store about items.
 */
#include "engine/items/item_ops.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "engine/items/items_testing.h"
#include "engine/items/worklist.h"

static struct items_test t;
static const struct item_actor person = { .run_item = 0 };
static struct why why_not;
static enum item_effect effect;
static struct item_mark mark;

static int
setup(void **state)
{
	struct item_limits l = ITEM_LIMITS_DEFAULT;

	(void)state;
	l.data_bytes_max = 200;
	l.aliases_max = 3;
	l.tags_max = 3;
	l.blobs_max = 2;
	items_test_open(&t, &l);
	items_test_config(&t, "{\"tags\":{\"t\":[\"a\"],\"u\":[\"b\"]},"
	    "\"tasks\":{\"a\":{\"version\":\"1\",\"ttl\":\"10s\","
	    "\"run\":{\"$function\":true}},\"b\":{\"version\":\"2\","
	    "\"run\":{\"$function\":true}}}}");
	items_test_begin(&t);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	items_test_commit(&t);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM items i"
	    " WHERE NOT EXISTS (SELECT 1 FROM aliases a WHERE a.id = i.id AND"
	    " a.item = i.key AND a.own = 1) OR aliases_n <> (SELECT count(*)"
	    " FROM aliases a WHERE a.item = i.key AND a.own = 0) OR blobs_n <>"
	    " (SELECT count(*) FROM item_blobs b WHERE b.item = i.key)"), 0);
	assert_int_equal(items_test_number(&t, "SELECT (SELECT count(*) FROM"
	    " aliases WHERE item NOT IN (SELECT key FROM items)) +"
	    " (SELECT count(*) FROM tags WHERE item NOT IN (SELECT key FROM"
	    " items)) + (SELECT count(*) FROM task_results WHERE item NOT IN"
	    " (SELECT key FROM items)) + (SELECT count(*) FROM worklist WHERE"
	    " item NOT IN (SELECT key FROM items)) + (SELECT count(*) FROM"
	    " failures WHERE item NOT IN (SELECT key FROM items))"), 0);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM blobs"
	    " WHERE uses <> (SELECT count(*) FROM item_blobs i"
	    " WHERE i.sha256 = blobs.sha256)"), 0);
	items_test_close(&t);
	return 0;
}

static enum err
tried(enum err e)
{
	if (e != OK)
		item_tx_undo(t.tx, mark);
	return e;
}

#define TRY(call) \
	(mark = item_tx_mark(t.tx), why_not = WHY_INIT, tried(call))
#define CHECK_ERROR(call, e, sentence) do {                                 \
	assert_int_equal(TRY(call), e);                                       \
	assert_string_equal(why_not.text, sentence);                          \
} while (0)

static struct item_row *
make_item(const char *id, const char *tag, const char *data)
{
	struct item_tag_text text = { str_of(tag), STR_NONE };
	const struct item_create c = { .id = str_of(id), .data = str_of(data),
		.tags = &text, .tags_n = tag != NULL };
	struct item_row *item;

	assert_int_equal(item_create(t.tx, &person, &c, &effect, &item,
	    &why_not), OK);
	assert_int_equal(effect, ITEM_NEW);
	return item;
}

static struct item_row *
found(const char *id)
{
	struct item_row *item;

	if (item_tx_find(t.tx, str_of(id), &item, NULL) != OK)
		return NULL;
	return item;
}

static uint32_t
task_number(const char *task)
{
	uint32_t id;

	assert_int_equal(item_store_name(t.store, ITEM_NAME_TASK, str_of(task),
	    false, &id, NULL), OK);
	assert_int_not_equal(id, 0);
	return id;
}

static struct result_row *
result_of(const struct item_row *item, const char *task)
{
	struct result_row *r;

	assert_int_equal(item_tx_result(t.tx, task_number(task), item->key, &r,
	    NULL), OK);
	return r;
}

static struct pair_row *
pair_of(const struct item_row *item, const char *task)
{
	struct pair_row *p;

	assert_int_equal(item_tx_pair(t.tx, task_number(task), item->key, &p,
	    NULL), OK);
	return p;
}

/* The item has a result of the task, as a run would have stored it. */
static void
store(struct item_row *item, const char *task, const char *metadata)
{
	const struct item_actor run = { .task = str_of(task),
		.run_item = INT64_MAX };

	assert_int_equal(item_complete_for(t.tx, &run, item->id,
	    str_of(metadata), false, 0, &effect, &why_not), OK);
	assert_int_equal(effect, ITEM_COMPLETED);
}

static void
later(int64_t us)
{
	items_test_commit(&t);
	t.now.us += us;
	items_test_begin(&t);
}

/* -- Metadata -- */

static void
sets_metadata(void **state)
{
	struct item_row *x = make_item("x", "t", "{}");
	struct run_result own = { .has_metadata = false };
	const struct item_actor run = { .task = STR("a"), .run_item = x->key,
		.run_id = STR("x"), .own = &own };

	(void)state;
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_metadata_set(t.tx, &person, STR("x"), STR("a"),
	    STR("{\"p\":1}"), NULL), OK);
	struct result_row *r = result_of(x, "a");
	assert_true(r->exists && !r->is_successful);
	assert_int_equal(r->completed_at.us, ITEM_TIME_NONE.us);
	assert_true(str_eq(r->task_version, STR("1")));
	assert_int_equal(r->rev, 1);
	/* It stays unprocessed. */
	assert_int_equal(pair_of(x, "a")->state, PAIR_UNPROCESSED);
	assert_int_equal(pair_of(x, "a")->due_ms, PAIR_DUE_UNPROCESSED);
	assert_string_equal(items_test_bodies(&t, m), "{\"at\":"
	    "\"2026-11-20T09:18:16.002Z\",\"type\":\"metadata.updated\","
	    "\"id\":\"x\",\"task\":\"a\",\"diff\":[{\"op\":\"add\",\"path\":"
	    "\"/p\",\"value\":1}]}\n");

	store(x, "a", "{\"p\":2}");
	struct result_row before = *r;
	assert_int_equal(r->rev, 2);
	assert_int_equal(item_metadata_set(t.tx, &person, STR("x"), STR("a"),
	    STR("{\"p\":3}"), NULL), OK);
	assert_int_equal(r->rev, 3);
	assert_int_equal(r->completed_at.us, before.completed_at.us);
	assert_int_equal(r->expires_at.us, before.expires_at.us);
	assert_true(r->is_successful);

	/* The running pair's waits for the run's result. */
	assert_int_equal(item_metadata_set(t.tx, &run, STR("x"), STR("a"),
	    STR("{\"p\":4}"), NULL), OK);
	assert_true(own.has_metadata && str_eq(own.metadata,
	    STR("{\"p\":4}")));
	assert_int_equal(r->rev, 3);
	assert_int_equal(item_metadata_set(t.tx, &run, STR("x"), STR("b"),
	    STR("{}"), NULL), OK);
	assert_true(result_of(x, "b")->exists);

	CHECK_ERROR(item_metadata_set(t.tx, &person, STR("x"), STR("none"),
	    STR("{}"), &why_not), ERR_ABSENT,
	    "taskName: there is no task none");
	CHECK_ERROR(item_metadata_set(t.tx, &person, STR("y"), STR("a"),
	    STR("{}"), &why_not), ERR_ABSENT, "y: there is no such item");
	CHECK_ERROR(item_metadata_set(t.tx, &person, STR("x"), STR("a"),
	    STR("1"), &why_not), ERR_INPUT, "metadata: it is not an object");
}

/* -- Expiry -- */

static void
expires(void **state)
{
	struct item_row *x = make_item("x", "t", "{}");
	struct run_result own = { .has_metadata = false };
	const struct item_actor run = { .task = STR("a"), .run_item = x->key,
		.run_id = STR("x"), .own = &own };

	(void)state;
	store(x, "a", "");
	assert_int_equal(pair_of(x, "a")->state, PAIR_FRESH);
	assert_int_equal(item_expire(t.tx, &person, STR("x"), STR("a"), false,
	    NULL), OK);
	assert_int_equal(pair_of(x, "a")->state, PAIR_STALE);
	assert_int_equal(pair_of(x, "a")->due_ms, PAIR_DUE_STALE);
	assert_int_equal(item_expire(t.tx, &person, STR("x"), STR("a"), true,
	    NULL), OK);
	assert_int_equal(pair_of(x, "a")->due_ms, PAIR_DUE_FIRST);
	assert_int_equal(item_expire(t.tx, &run, STR("x"), STR("a"), false,
	    NULL), OK);
	assert_true(own.expired);
	CHECK_ERROR(item_expire(t.tx, &person, STR("x"), STR("none"), false,
	    &why_not), ERR_ABSENT, "taskName: there is no task none");
	CHECK_ERROR(item_expire(t.tx, &person, STR("y"), STR("a"), false,
	    &why_not), ERR_ABSENT, "y: there is no such item");
}

static void
sets_a_ttl(void **state)
{
	struct item_row *x = make_item("x", "t", "{}");
	struct run_result own = { .has_ttl = false };
	const struct item_actor run = { .task = STR("a"), .run_item = x->key,
		.run_id = STR("x"), .own = &own };

	(void)state;
	assert_int_equal(item_ttl_set(t.tx, &person, STR("x"), STR("a"), 5,
	    &effect, NULL), OK);
	assert_int_equal(effect, ITEM_SKIPPED);
	store(x, "a", "");
	struct result_row *r = result_of(x, "a");
	assert_int_equal(r->expires_at.us, t.now.us + 10 * US_PER_S);
	assert_int_equal(item_ttl_set(t.tx, &person, STR("x"), STR("a"),
	    60 * US_PER_S, &effect, NULL), OK);
	assert_int_equal(effect, ITEM_TTL);
	assert_int_equal(r->expires_at.us, t.now.us + 60 * US_PER_S);
	assert_int_equal(r->ttl_override_us, 60 * US_PER_S);
	assert_int_equal(pair_of(x, "a")->due_ms, t.now.us / 1000 + 60000);
	assert_int_equal(item_ttl_set(t.tx, &person, STR("x"), STR("a"),
	    RESULT_TTL_NEVER, &effect, NULL), OK);
	assert_int_equal(r->expires_at.us, ITEM_TIME_NONE.us);
	assert_int_equal(pair_of(x, "a")->due_ms, PAIR_DUE_NONE);
	assert_int_equal(item_ttl_set(t.tx, &run, STR("x"), STR("a"), 7,
	    &effect, NULL), OK);
	assert_int_equal(effect, ITEM_TTL);
	assert_true(own.has_ttl && own.ttl_us == 7);
	assert_int_equal(TRY(item_ttl_set(t.tx, &person, STR("x"), STR("a"),
	    -2, &effect, &why_not)), ERR_INPUT);
	assert_string_equal(why_not.field, "ttl");
	assert_int_equal(TRY(item_ttl_set(t.tx, &person, STR("x"), STR("a"),
	    INT64_MAX, &effect, &why_not)), ERR_INPUT);
}

static void
completes_for_others(void **state)
{
	struct item_row *x = make_item("x", "t", "{}");
	struct item_row *y = make_item("y", "t", "{}");
	struct item_row *plain = make_item("plain", NULL, "{}");
	const struct item_actor run = { .task = STR("a"), .run_item = x->key,
		.run_id = STR("x"), .version = STR("0") };

	(void)state;
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(item_complete_for(t.tx, &run, STR("y"),
	    STR("{\"p\":1}"), true, 5 * US_PER_S, &effect, NULL), OK);
	assert_int_equal(effect, ITEM_COMPLETED);
	struct result_row *r = result_of(y, "a");
	assert_true(r->is_successful);
	assert_true(str_eq(r->metadata, STR("{\"p\":1}")));
	assert_int_equal(r->expires_at.us, t.now.us + 5 * US_PER_S);
	assert_string_equal(items_test_events(&t, m),
	    "metadata.updated task.done");
	/* By an old version: stored, and stale at once. */
	assert_true(str_eq(r->task_version, STR("0")));
	assert_int_equal(pair_of(y, "a")->state, PAIR_STALE);
	/* Without metadata those it has are kept; the TTL is the task's. */
	assert_int_equal(item_complete_for(t.tx, &run, STR("y"), STR_NONE,
	    false, 0, &effect, NULL), OK);
	assert_true(str_eq(r->metadata, STR("{\"p\":1}")));
	assert_int_equal(r->expires_at.us, t.now.us + 10 * US_PER_S);
	/* Its tags need not map the task. */
	assert_int_equal(item_complete_for(t.tx, &run, STR("plain"), STR_NONE,
	    false, 0, &effect, NULL), OK);
	assert_int_equal(effect, ITEM_COMPLETED);
	assert_true(result_of(plain, "a")->exists);
	assert_false(pair_of(plain, "a")->exists);

	struct pair_row *p = pair_of(y, "a");
	item_tx_touch_pair(t.tx, p);
	p->state = PAIR_LEASED;
	p->lease = 1;
	p->lease_until = (struct wall){ t.now.us + US_PER_S };
	p->due_ms = PAIR_DUE_NONE;
	assert_int_equal(item_complete_for(t.tx, &run, STR("y"), STR("{}"),
	    false, 0, &effect, NULL), OK);
	assert_int_equal(effect, ITEM_SKIPPED);
	assert_int_equal(p->state, PAIR_LEASED);
	CHECK_ERROR(item_complete_for(t.tx, &run, STR("z"), STR_NONE, false, 0,
	    &effect, &why_not), ERR_ABSENT, "z: there is no such item");
	CHECK_ERROR(item_complete_for(t.tx, &person, STR("x"), STR_NONE, false,
	    0, &effect, &why_not), ERR_STATE,
	    "completeFor is for the runs of a task");
}

static void
a_success_elsewhere_ends_a_parked_pair(void **state)
{
	struct item_row *x = make_item("x", "t", "{}");
	struct pair_row *p = pair_of(x, "a");

	(void)state;
	item_tx_put_failure(t.tx, p->task, x->key, STR("m"), STR("{}"));
	item_tx_touch_pair(t.tx, p);
	p->state = PAIR_FAILED;
	p->due_ms = PAIR_DUE_NONE;
	p->attempt = 11;
	later(1000);
	x = found("x");
	store(x, "a", "");
	assert_int_equal(pair_of(x, "a")->state, PAIR_FRESH);
	assert_int_equal(pair_of(x, "a")->attempt, 0);
	later(1000);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM failures"
	    " WHERE handled_at IS NULL"), 0);
}

/* -- Merge -- */

static enum err
merge(const char *from, const char *into, struct item_row **item)
{
	const struct item_merge m = { .from = str_of(from),
		.into = str_of(into) };

	return item_merge(t.tx, &person, &m, &effect, item, &why_not);
}

static void
put_blob(const char *id, const char *name, const char *bytes)
{
	const struct item_blob b = { .name = str_of(name),
		.bytes = str_of(bytes) };

	assert_int_equal(item_blob_put(t.tx, &person, str_of(id), &b, NULL),
	    OK);
}

static void
set_tag(const char *id, const char *name, const char *value)
{
	const struct item_tag_text tag = { str_of(name), str_of(value) };
	struct item_row *item;

	assert_int_equal(item_tags_update(t.tx, &person, str_of(id), &tag, 1,
	    NULL, 0, &item, NULL), OK);
}

static void
merges_all_of_two_items(void **state)
{
	struct item_row *from = make_item("from", "t", "{\"n\":1}");
	struct item_row *into = make_item("into", "u", "{\"n\":2}"), *item;
	struct blob_row **blobs;
	size_t n;

	(void)state;
	set_tag("from", "site", "eu");
	set_tag("into", "site", "us");
	put_blob("from", "pic", "1");
	put_blob("from", "both", "2");
	put_blob("into", "both", "3");
	assert_int_equal(item_alias_create(t.tx, &person, STR("old"),
	    STR("from"), false, &effect, NULL), OK);
	store(from, "a", "{\"p\":1}");
	item_tx_put_failure(t.tx, task_number("a"), from->key, STR("m"),
	    STR("{}"));
	later(1000);
	into = found("into");
	struct item_mark m = item_tx_mark(t.tx);
	assert_int_equal(merge("old", "into", &item), OK);
	assert_int_equal(effect, ITEM_MERGED);
	assert_ptr_equal(item, into);
	/* Both were made at one time: into's data stay. */
	assert_true(str_eq(into->data, STR("{\"n\":2}")));
	assert_ptr_equal(found("from"), into);
	assert_ptr_equal(found("old"), into);
	assert_int_equal(into->aliases_n, 2);
	assert_int_equal(into->tags_n, 3);
	assert_true(str_eq(into->tags[0].value, STR("us")));
	assert_true(str_eq(result_of(into, "a")->metadata, STR("{\"p\":1}")));
	assert_int_equal(result_of(into, "a")->rev, 2);
	/* The pair came with the tag, and is what the result says. */
	assert_int_equal(pair_of(into, "a")->state, PAIR_FRESH);
	assert_int_equal(item_tx_blobs_of(t.tx, into, &blobs, &n, NULL), OK);
	assert_int_equal(n, 2);
	assert_memory_equal(blobs[0]->sha256, "\x4e\x07\x40\x85\x62\xbe", 6);
	assert_true(str_starts(str_of(items_test_events(&t, m)),
	    STR("item.merged ")));
	later(1000);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM items"),
	    1);
	assert_int_equal(items_test_number(&t, "SELECT count(*) FROM failures"
	    " f JOIN items i ON i.key = f.item AND i.id = 'into'"), 1);
}

static void
merges_the_newest_data(void **state)
{
	struct item_row *item;

	(void)state;
	make_item("a", NULL, "{\"n\":1}");
	later(1000);
	make_item("b", NULL, "{\"n\":2}");
	later(1000);
	assert_int_equal(merge("b", "a", &item), OK);
	assert_true(str_eq(item->data, STR("{\"n\":2}")));
	assert_int_equal(item->rev, 2);
	make_item("c", NULL, "{\"n\":3}");
	const struct item_merge m = { .from = STR("c"), .into = STR("a"),
		.has_data = true, .data = STR("{\"n\":4}") };
	assert_int_equal(item_merge(t.tx, &person, &m, &effect, &item, NULL),
	    OK);
	assert_true(str_eq(item->data, STR("{\"n\":4}")));
}

static void
merges_the_newest_result(void **state)
{
	struct item_row *x = make_item("x", NULL, "{}");
	struct item_row *y = make_item("y", NULL, "{}"), *item;

	(void)state;
	store(x, "a", "{\"from\":\"x\"}");
	store(y, "b", "{\"from\":\"y\"}");
	later(1000);
	store(found("y"), "a", "{\"from\":\"y\"}");
	store(found("x"), "b", "{\"from\":\"x\"}");
	const struct item_merge_metadata merged = { STR("b"),
		STR("{\"from\":\"both\"}") };
	const struct item_merge m = { .from = STR("y"), .into = STR("x"),
		.metadata = &merged, .metadata_n = 1 };
	assert_int_equal(item_merge(t.tx, &person, &m, &effect, &item, NULL),
	    OK);
	assert_true(str_eq(result_of(item, "a")->metadata,
	    STR("{\"from\":\"y\"}")));
	assert_true(str_eq(result_of(item, "b")->metadata,
	    STR("{\"from\":\"both\"}")));
	assert_int_equal(result_of(item, "a")->completed_at.us, t.now.us);
	assert_int_equal(result_of(item, "b")->completed_at.us, t.now.us);
}

static void
merges_with_nothing(void **state)
{
	struct item_row *x = make_item("x", NULL, "{}"), *item;

	(void)state;
	const struct item_merge m = { .from = STR("none"), .into = STR("x"),
		.has_data = true, .data = STR("{\"n\":1}") };
	assert_int_equal(item_merge(t.tx, &person, &m, &effect, &item, NULL),
	    OK);
	assert_int_equal(effect, ITEM_MERGED);
	assert_ptr_equal(found("none"), x);
	assert_true(str_eq(x->data, STR("{\"n\":1}")));
	/* The same item: nothing happens. */
	struct item_mark before = item_tx_mark(t.tx);
	assert_int_equal(merge("none", "x", &item), OK);
	assert_int_equal(effect, ITEM_SKIPPED);
	assert_string_equal(items_test_events(&t, before), "");
	CHECK_ERROR(merge("x", "missing", &item), ERR_ABSENT,
	    "missing: there is no such item");
	assert_int_equal(TRY(merge("2", "x", &item)), OK);
	assert_int_equal(TRY(merge("3", "x", &item)), OK);
	CHECK_ERROR(merge("4", "x", &item), ERR_FULL,
	    "aliases: an item has at most 3");
	make_item("y", NULL, "{}");
	CHECK_ERROR(merge("y", "x", &item), ERR_FULL,
	    "aliases: an item has at most 3");
	assert_non_null(found("y"));
}

static void
united_items_have_limits(void **state)
{
	struct item_row *item;

	(void)state;
	make_item("x", "t", "{}");
	make_item("y", "u", "{}");
	set_tag("x", "1", NULL);
	set_tag("y", "2", NULL);
	CHECK_ERROR(merge("y", "x", &item), ERR_FULL,
	    "tags: an item has at most 3");
	make_item("v", NULL, "{}");
	make_item("w", NULL, "{}");
	put_blob("v", "1", "1");
	put_blob("v", "2", "2");
	put_blob("w", "3", "3");
	CHECK_ERROR(merge("w", "v", &item), ERR_FULL,
	    "blobs: an item has at most 2");
}

static void
lease_of(struct item_row *item, uint64_t lease)
{
	struct pair_row *p = pair_of(item, "a");

	item_tx_touch_pair(t.tx, p);
	p->state = PAIR_LEASED;
	p->lease = lease;
	p->lease_until = (struct wall){ t.now.us + 60 * US_PER_S };
	p->worker = STR("w");
	p->due_ms = PAIR_DUE_NONE;
}

static void
leases_move_or_are_lost(void **state)
{
	struct item_row *item;

	(void)state;
	lease_of(make_item("x", "t", "{}"), 1);
	make_item("y", "t", "{}");
	assert_int_equal(merge("x", "y", &item), OK);
	assert_int_equal(pair_of(item, "a")->state, PAIR_LEASED);
	assert_int_equal(pair_of(item, "a")->lease, 1);
	lease_of(make_item("z", "t", "{}"), 2);
	assert_int_equal(merge("z", "y", &item), OK);
	assert_int_equal(pair_of(item, "a")->lease, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(sets_metadata), TEST(expires), TEST(sets_a_ttl),
		TEST(completes_for_others),
		TEST(a_success_elsewhere_ends_a_parked_pair),
		TEST(merges_all_of_two_items), TEST(merges_the_newest_data),
		TEST(merges_the_newest_result), TEST(merges_with_nothing),
		TEST(united_items_have_limits),
		TEST(leases_move_or_are_lost),
	};

	return items_test_main(argc, argv, tests);
}

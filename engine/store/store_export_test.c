/* Exports and the index of WARC files as rows, in both databases. */
#include "engine/store/store_export.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"
#include "os/tree.h"

static char dir[64];
static struct store *store;
static struct arena arena;
static const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-store-XXXXXX");
	assert_non_null(mkdtemp(dir));
	store_test_renew();
	assert_int_equal(store_test_open(dir, NULL, &store, NULL), OK);
	arena = ARENA_INIT;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	assert_int_equal(store_test_check(dir, store, NULL), OK);
	store_close(&store);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

static struct wall
minutes(int n)
{
	return (struct wall){ t0.us + n * 60 * US_PER_S };
}

static struct str
put(const char *id, const char *key, struct wall now)
{
	struct store_export x = { .id = str_of(id), .type = STR("flickr_user"),
	    .format = STR("csv"), .path = STR("/exports/a"),
	    .message = STR("{\"dedupe\":true}"),
	    .routing_key = str_of(key) };
	struct why w = WHY_INIT;

	if (store_export_add(store, &x, now, &arena, &w) != OK)
		fail_msg("%s", w.text);
	return x.id;
}

static void
a_life(void **state)
{
	struct store_export x, again = { .id = STR("export-1") };

	(void)state;
	struct str id = put("", "", t0);
	assert_true(str_eq(id, STR("export-1")));
	assert_int_equal(store_export_add(store, &again, t0, &arena, NULL),
	    ERR_EXISTS);
	assert_int_equal(store_export_get(store, id, &arena, &x, NULL), OK);
	assert_int_equal(x.state, STORE_HARVEST_ACCEPTED);
	assert_true(str_eq(x.type, STR("flickr_user")));
	assert_true(str_eq(x.format, STR("csv")));
	assert_true(str_eq(x.path, STR("/exports/a")));
	assert_true(str_eq(x.message, STR("{\"dedupe\":true}")));
	assert_true(x.here && !x.cancelled && x.accepted.us == t0.us &&
	    x.started.us == 0 && x.ended.us == 0);
	assert_int_equal(store_export_set_state(store, id,
	    STORE_HARVEST_RUNNING, STR(""), minutes(1), NULL), OK);
	assert_int_equal(store_export_cancel(store, id, NULL), OK);
	assert_int_equal(store_export_set_state(store, id,
	    STORE_HARVEST_FAILED, STR("{}"), minutes(2), NULL), OK);
	assert_int_equal(store_export_get(store, id, &arena, &x, NULL), OK);
	assert_int_equal(x.state, STORE_HARVEST_FAILED);
	assert_true(x.cancelled && x.started.us == minutes(1).us &&
	    x.ended.us == minutes(2).us && str_eq(x.result, STR("{}")));
	assert_int_equal(store_export_drop(store, id, NULL), OK);
	assert_int_equal(store_export_get(store, id, &arena, &x, NULL),
	    ERR_ABSENT);
	assert_int_equal(store_export_cancel(store, id, NULL), ERR_ABSENT);
}

static void
one_that_was_refused_has_begun(void **state)
{
	struct store_export x;

	(void)state;
	struct str id = put("a", "export.start.flickr.flickr_user", t0);
	assert_int_equal(store_export_set_state(store, id,
	    STORE_HARVEST_FAILED, STR("{}"), minutes(1), NULL), OK);
	assert_int_equal(store_export_get(store, id, &arena, &x, NULL), OK);
	assert_true(x.started.us == minutes(1).us);
}

static void
lists(void **state)
{
	struct store_export *all;
	struct str *ids;
	uint64_t total;
	size_t n;

	(void)state;
	(void)put("a", "", t0);
	(void)put("b", "export.start.json.json_api", t0);
	(void)put("c", "export.start.json.json_api", t0);
	assert_int_equal(store_export_set_state(store, STR("b"),
	    STORE_HARVEST_SUCCEEDED, STR("{}"), t0, NULL), OK);
	assert_int_equal(store_export_list(store, &arena, &all, &n, NULL),
	    OK);
	assert_int_equal(n, 3);
	assert_true(str_eq(all[0].id, STR("c")) &&
	    str_eq(all[2].id, STR("a")));
	assert_int_equal(store_export_page(store, 1, 1, &arena, &all, &n,
	    &total, NULL), OK);
	assert_int_equal(total, 3);
	assert_int_equal(n, 1);
	assert_true(str_eq(all[0].id, STR("b")) && all[0].result.n == 0);
	assert_int_equal(store_export_page(store, 3, 9, &arena, &all, &n,
	    &total, NULL), OK);
	assert_int_equal(n, 0);
	assert_int_equal(store_export_open(store, &arena, &ids, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	assert_true(str_eq(ids[0], STR("a")) && str_eq(ids[1], STR("c")));
	assert_int_equal(store_export_untold(store, &arena, &ids, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	assert_true(str_eq(ids[0], STR("b")) && str_eq(ids[1], STR("c")));
	assert_int_equal(store_export_told(store, STR("b"),
	    STR("completed success"), NULL), OK);
	assert_int_equal(store_export_untold(store, &arena, &ids, &n, NULL),
	    OK);
	assert_int_equal(n, 1);
}

static void
ended_ones_by_the_moment(void **state)
{
	struct store_export *list;
	size_t n;

	(void)state;
	(void)put("late", "export.start.json.json_api", t0);
	(void)put("soon", "export.start.json.json_api", t0);
	(void)put("command", "", t0);
	(void)put("open", "export.start.json.json_api", t0);
	assert_int_equal(store_export_set_state(store, STR("late"),
	    STORE_HARVEST_SUCCEEDED, STR("{}"), minutes(9), NULL), OK);
	assert_int_equal(store_export_set_state(store, STR("soon"),
	    STORE_HARVEST_FAILED, STR("{}"), minutes(2), NULL), OK);
	assert_int_equal(store_export_set_state(store, STR("command"),
	    STORE_HARVEST_SUCCEEDED, STR("{}"), minutes(3), NULL), OK);
	assert_int_equal(store_export_ended(store, t0, minutes(9), &arena,
	    &list, &n, NULL), OK);
	assert_int_equal(n, 2);
	assert_true(str_eq(list[0].id, STR("soon")) &&
	    str_eq(list[0].path, STR("/exports/a")) &&
	    list[0].ended.us == minutes(2).us);
	assert_true(str_eq(list[1].id, STR("late")));
	assert_int_equal(store_export_ended(store, minutes(2), minutes(8),
	    &arena, &list, &n, NULL), OK);
	assert_int_equal(n, 0);
}

static void
old_ones_are_forgotten(void **state)
{
	struct store_export *all;
	size_t n;

	(void)state;
	(void)put("a", "", t0);
	assert_int_equal(store_export_set_state(store, STR("a"),
	    STORE_HARVEST_FAILED, STR("{}"), t0, NULL), OK);
	(void)put("b", "", minutes(60 * 24 * STORE_HARVEST_DAYS));
	assert_int_equal(store_export_list(store, &arena, &all, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	(void)put("c", "", minutes(60 * 24 * STORE_HARVEST_DAYS + 1));
	assert_int_equal(store_export_list(store, &arena, &all, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
}

/* --- WARC files ---------------------------------------------------------- */

/* A harvest that has begun at `at` and has put one file a minute later. */
static void
put_harvest(const char *id, const char *type, const char *message, int at)
{
	struct store_harvest h = { .id = str_of(id), .type = str_of(type),
	    .path = STR("/data/a"), .message = str_of(message) };
	struct store_harvest_warc f = { .created = minutes(at + 1),
	    .name = arena_printf(&arena, "%s.warc.gz", id),
	    .warc_id = arena_printf(&arena, "w-%s", id),
	    .sha1 = STR("5891b5b522d5df086d0ff0b110fbd9d21bb4fc71"),
	    .bytes = 10 };

	assert_int_equal(store_harvest_add(store, &h, t0, &arena, NULL), OK);
	assert_int_equal(store_harvest_set_state(store, h.id,
	    STORE_HARVEST_RUNNING, minutes(at), NULL), OK);
	assert_int_equal(store_harvest_ready(store, &h, &f, 1, NULL), OK);
	assert_int_equal(store_harvest_placed(store, h.id, f.name, NULL), OK);
}

static void
put_harvests(void)
{
	struct store_harvest h = { .id = STR("e"), .type = STR("flickr_user"),
	    .path = STR("/data/a"),
	    .message = STR("{\"collection\":{\"id\":\"Cb\"}}") };

	put_harvest("a", "flickr_user", "{\"collection\":{\"id\":\"ca\"},"
	    "\"seeds\":[{\"id\":\"s1\"},{\"id\":\"s2\"}]}", 0);
	put_harvest("b", "web", "{\"collection\":{\"id\":\"ca\"}}", 10);
	put_harvest("c", "flickr_user", "{\"collection\":{\"id\":\"ca\"},"
	    "\"seeds\":[{\"id\":\"s2\"}]}", 20);
	put_harvest("d", "feed_entries", "[", 30);
	assert_int_equal(store_harvest_set_state(store, STR("a"),
	    STORE_HARVEST_SUCCEEDED, minutes(40), NULL), OK);
	assert_int_equal(store_harvest_add(store, &h, t0, &arena, NULL), OK);
}

/* The names of what was found, such as "ac". */
static void
same(const struct store_warc_query *q, const char *names)
{
	struct store_warc *list;
	char found[8] = "";
	size_t n;

	assert_int_equal(store_warcs_find(store, q, &arena, &list, &n, NULL),
	    OK);
	assert_true(n < sizeof(found));
	for (size_t i = 0; i < n; i++)
		found[i] = list[i].name.p[0];
	assert_string_equal(found, names);
}

static void
files_are_found(void **state)
{
	const struct str seeds[] = { STR("s1"), STR("none") };
	const struct str both[] = { STR("s1"), STR("s2") };
	const struct str harvests[] = { STR("d"), STR("b") };

	(void)state;
	put_harvests();
	same(&(struct store_warc_query){ .with_web = true }, "abcd");
	same(&(struct store_warc_query){ .with_web = false }, "acd");
	same(&(struct store_warc_query){ .collection = STR("ca") }, "ac");
	same(&(struct store_warc_query){ .seeds = seeds, .seeds_n = 2 }, "a");
	same(&(struct store_warc_query){ .seeds = both, .seeds_n = 2 }, "ac");
	same(&(struct store_warc_query){ .harvests = harvests,
	    .harvests_n = 2 }, "d");
	same(&(struct store_warc_query){ .warc_id = STR("w-c") }, "c");
	same(&(struct store_warc_query){ .harvest = { true, true, minutes(20),
	    minutes(30) } }, "cd");
	same(&(struct store_warc_query){ .harvest = { .has_from = true,
	    .from = minutes(21) } }, "d");
	same(&(struct store_warc_query){ .created = { .has_to = true,
	    .to = minutes(21) } }, "ac");
	same(&(struct store_warc_query){ .created = { .has_to = true,
	    .to = { minutes(21).us - 1 } } }, "a");
}

static void
collections_are_found(void **state)
{
	struct store_collection *list;
	size_t n;

	(void)state;
	put_harvests();
	assert_int_equal(store_collections(store, STR("C"), &arena, &list,
	    &n, NULL), OK);
	assert_int_equal(n, 2);
	assert_true(str_eq(list[0].id, STR("ca")) && list[0].is_on);
	assert_true(str_eq(list[1].id, STR("Cb")) && list[1].is_on);
	assert_true(str_eq(list[0].type, STR("flickr_user")));
	assert_int_equal(store_harvest_set_state(store, STR("e"),
	    STORE_HARVEST_FAILED, minutes(40), NULL), OK);
	assert_int_equal(store_collections(store, STR("cb"), &arena, &list,
	    &n, NULL), OK);
	assert_int_equal(n, 1);
	assert_false(list[0].is_on);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(a_life), WITH(one_that_was_refused_has_begun),
		WITH(lists), WITH(ended_ones_by_the_moment),
		WITH(old_ones_are_forgotten),
		WITH(files_are_found), WITH(collections_are_found),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}

/* Harvests as rows, in both databases. */
#include "engine/store/store_harvest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_budget.h"
#include "engine/store/store_credential.h"
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
put(const char *id, struct wall now)
{
	struct store_harvest h = { .id = str_of(id),
	    .type = STR("feed_entries"), .path = STR("/data/a"),
	    .message = STR("{\"seeds\":[]}") };
	struct why w = WHY_INIT;

	if (store_harvest_add(store, &h, now, &arena, &w) != OK ||
	    store_harvest_seal(store, h.id, STR("\1\0x"), &w) != OK)
		fail_msg("%s", w.text);
	return h.id;
}

static struct store_harvest
get(struct str id)
{
	struct store_harvest h;

	assert_int_equal(store_harvest_get(store, id, &arena, &h, NULL), OK);
	return h;
}

static void
set(struct str id, enum store_harvest_state s, struct wall now)
{
	assert_int_equal(store_harvest_set_state(store, id, s, now, NULL), OK);
}

/* --- tests --------------------------------------------------------------- */

static void
a_life(void **state)
{
	(void)state;
	struct str id = put("", t0);
	assert_true(str_eq(id, STR("feed_entries-1")));
	struct store_harvest h = get(id);
	assert_int_equal(h.state, STORE_HARVEST_ACCEPTED);
	assert_true(str_eq(h.type, STR("feed_entries")));
	assert_true(str_eq(h.path, STR("/data/a")));
	assert_true(str_eq(h.message, STR("{\"seeds\":[]}")));
	assert_true(str_eq(h.sealed, STR("\1\0x")));
	assert_true(h.accepted.us == t0.us && h.started.us == 0 &&
	    h.ended.us == 0 && h.captures == 0 && h.merged);
	set(id, STORE_HARVEST_RUNNING, minutes(1));
	set(id, STORE_HARVEST_PAUSED, minutes(2));
	set(id, STORE_HARVEST_RUNNING, minutes(3));
	h = get(id);
	assert_true(h.started.us == minutes(1).us);
	set(id, STORE_HARVEST_SUCCEEDED, minutes(4));
	h = get(id);
	assert_true(h.ended.us == minutes(4).us);
	assert_true(h.started.us == minutes(1).us);
	assert_int_equal(h.sealed.n, 0);
	assert_int_equal(store_harvest_set_state(store, STR("none-1"),
	    STORE_HARVEST_RUNNING, t0, NULL), ERR_ABSENT);
}

static void
a_file_is_noted_once(void **state)
{
	struct store_harvest_warc *list, files[] = {
		{ STR("a-1.warc.gz"), STR("0a"), STR("11"), 5000000000,
		    minutes(1), false, STR_NONE },
		{ STR("a-2.warc.gz"), STR("0b"), STR("22"), 7, minutes(2),
		    false, STR_NONE } };
	size_t n;

	(void)state;
	struct str id = put("sfmui:45", t0);
	struct store_harvest h = get(id);
	h.captures = 12;
	h.saved = STR("\0saved");
	h.totals = STR("{}");
	assert_int_equal(store_harvest_ready(store, &h, files, 1, NULL), OK);
	/* A crash came, and all is said again: under other ids. */
	files[0].warc_id = STR("0c");
	h.end = STORE_HARVEST_FAILURE;
	h.captures = 13;
	assert_int_equal(store_harvest_ready(store, &h, files, 2, NULL), OK);
	assert_int_equal(store_harvest_warcs(store, id, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 2);
	assert_true(str_eq(list[0].warc_id, STR("0a")));
	assert_true(str_eq(list[0].sha1, STR("11")));
	assert_true(list[0].bytes == 5000000000);
	assert_true(list[1].created.us == minutes(2).us);
	assert_false(list[0].placed || list[1].placed);
	h = get(id);
	assert_int_equal(h.captures, 13);
	assert_true(str_eq(h.saved, STR("\0saved")));
	assert_int_equal(h.end, STORE_HARVEST_FAILURE);
	assert_false(h.merged);
	assert_int_equal(store_harvest_set_totals(store, id, STR("{\"a\":1}"),
	    NULL), OK);
	h = get(id);
	assert_true(str_eq(h.totals, STR("{\"a\":1}")));
	assert_int_equal(h.captures, 13);
	assert_int_equal(store_harvest_set_totals(store, STR("none-1"),
	    STR("{}"), NULL), ERR_ABSENT);
	assert_int_equal(store_harvest_placed(store, id, STR("a-2.warc.gz"),
	    NULL), OK);
	assert_int_equal(store_harvest_placed(store, id, STR("b"), NULL),
	    ERR_ABSENT);
	assert_int_equal(store_harvest_merged(store, id, NULL), OK);
	assert_int_equal(store_harvest_warcs(store, id, &arena, &list, &n,
	    NULL), OK);
	assert_true(!list[0].placed && list[1].placed);
	assert_true(get(id).merged);
	assert_int_equal(store_harvest_drop(store, id, NULL), OK);
	assert_int_equal(store_harvest_warcs(store, id, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 0);
	assert_int_equal(store_harvest_drop(store, id, NULL), ERR_ABSENT);
}

static void
lists_and_refusals(void **state)
{
	struct store_harvest *list, h = { .id = STR("a-1"), .type = STR("a"),
	    .path = STR("/x") };
	size_t n;

	(void)state;
	struct str first = put("", t0), second = put("a-1", t0);
	assert_int_equal(store_harvest_add(store, &h, t0, &arena, NULL),
	    ERR_EXISTS);
	h.path = STR("");
	assert_int_equal(store_harvest_add(store, &h, t0, &arena, NULL),
	    ERR_INPUT);
	assert_int_equal(store_harvest_list(store, true, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 2);
	assert_true(str_eq(list[0].id, first));
	assert_true(str_eq(list[1].id, second));
	set(first, STORE_HARVEST_FAILED, t0);
	assert_int_equal(store_harvest_list(store, true, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 1);
	assert_int_equal(store_harvest_list(store, false, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 2);
	assert_int_equal(list[0].state, STORE_HARVEST_FAILED);
}

static void
old_ones_are_forgotten(void **state)
{
	struct wall later = { t0.us + 401 * 86400 * US_PER_S };
	struct store_harvest *list;
	size_t n;

	(void)state;
	struct str old = put("", t0);
	put("still-open", t0);
	set(old, STORE_HARVEST_SUCCEEDED, t0);
	put("", (struct wall){ later.us - 2 * 86400 * US_PER_S });
	assert_int_equal(store_harvest_list(store, false, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 3);
	struct str newest = put("", later);
	/* Numbers are not given again. */
	assert_true(str_eq(newest, STR("feed_entries-4")));
	assert_int_equal(store_harvest_list(store, false, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 3);
	assert_true(str_eq(list[0].id, STR("still-open")));
}

static void
copied_with_their_files(void **state)
{
	struct store_harvest_warc file = { STR("a-1.warc.gz"), STR("0a"),
	    STR("11"), 5, t0, false, STR("[]") }, *list;
	struct store_copied counts;
	struct store *other;
	size_t n;

	(void)state;
	if (store_test_server() != NULL)
		return;
	struct str id = put("", t0);
	struct store_harvest h = get(id);
	h.saved = STR("\0s");
	assert_int_equal(store_harvest_ready(store, &h, &file, 1, NULL), OK);
	assert_int_equal(store_harvest_placed(store, id, file.name, NULL),
	    OK);
	struct str path = arena_printf(&arena, "%s/other", dir);
	assert_int_equal(tree_make_dir(path.p, NULL), OK);
	assert_int_equal(store_open(path.p, NULL, &other, NULL), OK);
	assert_int_equal(store_copy(store, other, &counts, NULL), OK);
	assert_int_equal(counts.harvests, 1);
	assert_int_equal(counts.warcs, 1);
	assert_int_equal(store_harvest_get(other, id, &arena, &h, NULL), OK);
	assert_true(str_eq(h.saved, STR("\0s")));
	assert_true(str_eq(h.sealed, STR("\1\0x")));
	assert_int_equal(store_harvest_warcs(other, id, &arena, &list, &n,
	    NULL), OK);
	assert_int_equal(n, 1);
	assert_true(list[0].placed);
	assert_int_equal(store_copy(store, other, &counts, NULL), ERR_EXISTS);
	h.id = STR_NONE;
	assert_int_equal(store_harvest_add(other, &h, t0, &arena, NULL), OK);
	assert_true(str_eq(h.id, STR("feed_entries-2")));
	store_close(&other);
}

static void
credentials(void **state)
{
	struct store_credential *list;
	struct str sealed;
	size_t n;

	(void)state;
	assert_int_equal(store_credential_put(store, STR("b"), STR("\0one"),
	    t0, NULL), OK);
	assert_int_equal(store_credential_put(store, STR("a"), STR("\0two"),
	    t0, NULL), OK);
	assert_int_equal(store_credential_put(store, STR("b"), STR("\0new"),
	    minutes(1), NULL), OK);
	assert_int_equal(store_credential_put(store, STR(""), STR("x"), t0,
	    NULL), ERR_INPUT);
	assert_int_equal(store_credential_get(store, STR("b"), &arena, &sealed,
	    NULL), OK);
	assert_true(str_eq(sealed, STR("\0new")));
	assert_int_equal(store_credential_list(store, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	assert_true(str_eq(list[0].name, STR("a")));
	assert_true(list[1].changed.us == minutes(1).us);
	assert_int_equal(store_credential_delete(store, STR("a"), NULL), OK);
	assert_int_equal(store_credential_delete(store, STR("a"), NULL),
	    ERR_ABSENT);
	assert_int_equal(store_credential_get(store, STR("a"), &arena, &sealed,
	    NULL), ERR_ABSENT);
}

static void
budgets(void **state)
{
	const struct store_budget some[] = {
		{ STR("b"), 7, minutes(60) }, { STR("a"), 1, minutes(1) } };
	const struct store_budget more = { STR("b"), 9, minutes(60) };
	struct store_budget *list;
	size_t n;

	(void)state;
	assert_int_equal(store_budgets_put(store, some, 2, t0, NULL), OK);
	assert_int_equal(store_budgets_list(store, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	assert_true(str_eq(list[0].name, STR("a")));
	/* Periods that are over go, and only they. */
	assert_int_equal(store_budgets_put(store, &more, 1, minutes(1), NULL),
	    OK);
	assert_int_equal(store_budgets_list(store, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 1);
	assert_int_equal(list[0].used, 9);
	assert_true(list[0].ends.us == minutes(60).us);
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(a_life),
		WITH(a_file_is_noted_once),
		WITH(lists_and_refusals),
		WITH(old_ones_are_forgotten),
		WITH(copied_with_their_files),
		WITH(credentials),
		WITH(budgets),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}

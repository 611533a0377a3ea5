/* The grants that tasks name, in both databases. */
#include "engine/store/store_external.h"
#include "engine/store/store_grant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"
#include "os/tree.h"

#define OPEN_MAX 3u

static char dir[64];
static struct store *store;
static struct arena arena;
static const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */

static int
open_fixture(void **state)
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
close_fixture(void **state)
{
	(void)state;
	assert_int_equal(store_test_check(dir, store, NULL), OK);
	store_close(&store);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

static void
ok(enum err e, struct why *w)
{
	if (e != OK)
		fail_msg("%s", w->text);
}

static void
refused(enum err got, enum err wanted, const char *field, struct why *w)
{
	assert_int_equal(got, wanted);
	assert_string_equal(w->field, field);
	*w = WHY_INIT;
}

static struct store_task
sample_task(const char *fid)
{
	return (struct store_task){ .backend = STR("acme"),
	    .connector = STR("feed"), .fid = str_of(fid),
	    .params = STR("{}"), .endpoint = STR("https://be.example/") };
}

static const struct seal_key key = { "a key of just thirty-two bytes.." };

static struct store_grant
put_grant(const char *account)
{
	const struct store_grant g = { .user = { STR("acme"), STR("feed"),
		STR("eu"), STR("u1") }, .account = str_of(account),
		.text = STR("{}"), .expiry = { t0.us + 9999 * US_PER_S } };
	struct store_grant out, ended;
	struct why w = WHY_INIT;

	ok(store_grant_put(store, &key, &g, t0, &arena, &out, &ended, &w),
	    &w);
	return out;
}

static void
expect_ungranted(uint64_t id)
{
	struct why w = WHY_INIT;
	uint64_t *ids;
	size_t n;

	ok(store_task_list_ungranted(store, &arena, &ids, &n, &w), &w);
	assert_int_equal(n, id != 0);
	if (id != 0)
		assert_int_equal(ids[0], id);
}

static void
tasks_know_their_grant(void **state)
{
	struct store_task t = sample_task("t1"), out;
	struct store_grant g = put_grant("ada"), found;
	const struct store_task_end end = { .status = { STORE_TASK_FAILED, 500,
	    STR("no"), STR("") }, .by_owner = true };
	struct why w = WHY_INIT;
	bool made, changed;

	(void)state;
	struct store_task without = sample_task("without");
	ok(store_task_put(store, &without, OPEN_MAX, t0, &arena, &out, &made,
	    &w), &w);
	t.grant = STR("short");
	refused(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made,
	    &w), ERR_INPUT, "grant", &w);
	t.grant = store_grant_id(g.handle, &arena);
	assert_int_equal(t.grant.n, STORE_GRANT_ID_BYTES);
	ok(store_task_put(store, &t, OPEN_MAX, t0, &arena, &out, &made, &w),
	    &w);
	assert_true(str_eq(out.grant, t.grant));
	ok(store_grant_of_id(store, &key, out.grant, &arena, &found, &w), &w);
	assert_true(str_eq(found.handle, g.handle));
	expect_ungranted(0);
	/* The same account: the handle stays. */
	put_grant("ada");
	expect_ungranted(0);
	/* Another one: it ends. */
	g = put_grant("bob");
	expect_ungranted(out.id);
	assert_int_equal(store_grant_of_id(store, &key, out.grant, &arena,
	    &found, NULL), ERR_ABSENT);
	ok(store_task_close(store, out.id, &end, t0, &changed, &w), &w);
	expect_ungranted(0);
	t.grant = store_grant_id(g.handle, &arena);
	ok(store_task_retry(store, out.id, &t, true, OPEN_MAX, t0, &w), &w);
	expect_ungranted(0);
	ok(store_task_get(store, out.id, &arena, &out, &w), &w);
	assert_true(str_eq(out.grant, t.grant));
	struct str gone = store_grant_id(STR("argt_gone"), &arena);
	ok(store_task_set_grant(store, out.id, gone, t0, &w), &w);
	expect_ungranted(out.id);
	refused(store_task_set_grant(store, out.id, STR("x"), t0, &w),
	    ERR_INPUT, "grant", &w);
	assert_int_equal(store_task_set_grant(store, 99, gone, t0, NULL),
	    ERR_ABSENT);
}

#define WITH(name) \
	cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(tasks_know_their_grant),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}

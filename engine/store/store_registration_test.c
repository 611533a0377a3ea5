/* Cursors of crawlers, and registrations, in both databases. */
#include "engine/store/store_external.h"

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

static struct wall
at_second(int n)
{
	return (struct wall){ t0.us + n * US_PER_S };
}

static void
assert_text(struct str s, const char *text)
{
	assert_int_equal(s.n, strlen(text));
	if (s.n > 0)
		assert_memory_equal(s.p, text, s.n);
}

static struct str
x_text(size_t n)
{
	char *p = arena_take(&arena, n);

	memset(p, 'x', n);
	return (struct str){ p, n };
}

/* Fill a table up to `most` rows with one statement of both dialects. */
static void
fill_table(const char *sqlite, const char *postgresql, size_t n)
{
	struct sql text = { sqlite, postgresql };
	struct database *d;

	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	struct query *q = database_query_sql(d, &text);
	query_i64(q, 1, (int64_t)n);
	query_step(q);
	assert_int_equal(query_changes(q), n);
	assert_int_equal(query_end(&q, NULL), OK);
	database_close(&d);
}

#define COUNTED "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1" \
	" FROM c WHERE i < ?1) "
#define SERIES " FROM generate_series(1, ?1::int8) AS c(i)"

static void
one_cursor_for_a_crawler(void **state)
{
	struct store_crawler c = { STR("acme"), STR("feed"), STR("c1") };
	struct str cursor;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(store_cursor_get(store, &c, &arena, &cursor, NULL),
	    ERR_ABSENT);
	ok(store_cursor_put(store, &c, STR("9"), t0, &w), &w);
	ok(store_cursor_put(store, &c, STR("10"), t0, &w), &w);
	ok(store_cursor_get(store, &c, &arena, &cursor, &w), &w);
	assert_text(cursor, "10");
	c.backend = STR("beta");
	assert_int_equal(store_cursor_get(store, &c, &arena, &cursor, NULL),
	    ERR_ABSENT);
	c.backend = STR("acme");
	ok(store_cursor_reset(store, &c, &w), &w);
	assert_int_equal(store_cursor_get(store, &c, &arena, &cursor, NULL),
	    ERR_ABSENT);
	ok(store_cursor_reset(store, &c, &w), &w);
	/* No cursor is put: the same. */
	ok(store_cursor_put(store, &c, STR("11"), t0, &w), &w);
	ok(store_cursor_put(store, &c, STR(""), t0, &w), &w);
	assert_int_equal(store_cursor_get(store, &c, &arena, &cursor, NULL),
	    ERR_ABSENT);
	ok(store_cursor_put(store, &c, x_text(STORE_CURSOR_BYTES_MAX), t0,
	    &w), &w);
	refused(store_cursor_put(store, &c, x_text(STORE_CURSOR_BYTES_MAX +
	    1), t0, &w), ERR_FULL, "cursor", &w);
	c.crawler = STR("");
	refused(store_cursor_put(store, &c, STR("1"), t0, &w), ERR_INPUT,
	    "crawler", &w);
}

static void
registrations(void **state)
{
	struct store_registration r = { .backend = STR("acme"),
	    .connector = STR("feed"), .fid = STR("x1"), .version = 3,
	    .hash = STR("abcd") }, got, *list;
	struct why w = WHY_INIT;
	uint64_t version;
	size_t n;

	(void)state;
	assert_int_equal(store_registration_newest(store, STR("acme"),
	    STR("feed"), &arena, &got, NULL), ERR_ABSENT);
	assert_int_equal(store_published_get(store, STR("feed"), &version,
	    NULL), ERR_ABSENT);
	assert_int_equal(store_published_put(store, STR("feed"), 3, t0, NULL),
	    ERR_ABSENT);
	ok(store_registration_put(store, &r, STR(""), t0, &w), &w);
	r.version = 12;
	ok(store_registration_put(store, &r, STR(""), t0, &w), &w);
	r.hash = STR("ef01");
	ok(store_registration_put(store, &r, STR(""), at_second(1), &w),
	    &w);
	r.backend = STR("beta");
	r.version = 20;
	ok(store_registration_put(store, &r, STR(""), t0, &w), &w);
	ok(store_registration_newest(store, STR("acme"), STR("feed"), &arena,
	    &got, &w), &w);
	assert_int_equal(got.version, 12);
	assert_text(got.hash, "ef01");
	assert_true(got.registered.us == at_second(1).us);
	ok(store_registration_get(store, STR("acme"), STR("feed"), 3, &arena,
	    &got, &w), &w);
	assert_text(got.hash, "abcd");
	assert_text(got.fid, "x1");
	assert_int_equal(store_registration_get(store, STR("acme"),
	    STR("feed"), 20, &arena, &got, NULL), ERR_ABSENT);
	ok(store_registration_list(store, STR("feed"), &arena, &list, &n, &w),
	    &w);
	assert_int_equal(n, 3);
	assert_int_equal(list[1].version, 12);
	assert_text(list[2].backend, "beta");
	ok(store_registration_list(store, STR(""), &arena, &list, &n, &w),
	    &w);
	assert_int_equal(n, 3);
	/* Published versions. */
	ok(store_published_put(store, STR("feed"), 20, t0, &w), &w);
	ok(store_published_put(store, STR("feed"), 3, t0, &w), &w);
	ok(store_published_get(store, STR("feed"), &version, &w), &w);
	assert_int_equal(version, 3);
	ok(store_published_drop(store, STR("feed"), &w), &w);
	assert_int_equal(store_published_get(store, STR("feed"), &version,
	    NULL), ERR_ABSENT);
	/* Limits. */
	r.hash = x_text(STORE_HASH_BYTES_MAX + 1);
	refused(store_registration_put(store, &r, STR(""), t0, &w), ERR_FULL,
	    "hash", &w);
	r.hash = x_text(STORE_HASH_BYTES_MAX);
	r.version = UINT64_MAX;
	refused(store_registration_put(store, &r, STR(""), t0, &w),
	    ERR_INPUT, "version", &w);
}

static void
assert_declaration(const char *hash, const char *text)
{
	struct str got = STR_NONE;
	enum err e = store_declaration_get(store, str_of(hash), &arena, &got,
	    NULL);

	assert_int_equal(e, text == NULL ? ERR_ABSENT : OK);
	if (text != NULL)
		assert_text(got, text);
}

/* The object of the newest version, and a text for each hash that is named. */
static void
declarations(void **state)
{
	struct store_registration r = { .backend = STR("acme"),
	    .connector = STR("feed"), .fid = STR("x1"), .version = 1,
	    .hash = STR("h1"), .object = STR("{}"), .token = 7 }, got;
	struct why w = WHY_INIT;

	(void)state;
	assert_declaration("h1", NULL);
	ok(store_registration_put(store, &r, STR("first"), t0, &w), &w);
	r.backend = STR("beta");
	ok(store_registration_put(store, &r, STR("first"), t0, &w), &w);
	r.version = 2;
	r.hash = STR("h2");
	r.object = STR("{\"a\":1}");
	ok(store_registration_put(store, &r, STR("second"), t0, &w), &w);
	assert_declaration("h1", "first");
	assert_declaration("h2", "second");
	ok(store_registration_newest(store, STR("beta"), STR("feed"), &arena,
	    &got, &w), &w);
	assert_text(got.object, "{\"a\":1}");
	assert_int_equal(got.token, 7);
	ok(store_registration_get(store, STR("beta"), STR("feed"), 1, &arena,
	    &got, &w), &w);
	assert_text(got.object, "");
	/* A version of another connector that has the same text. */
	ok(store_registration_forget(store, STR("beta"), STR("feed"), &w),
	    &w);
	assert_declaration("h1", "first");
	assert_declaration("h2", NULL);
	ok(store_registration_forget(store, STR("acme"), STR("feed"), &w),
	    &w);
	assert_declaration("h1", NULL);
	ok(store_registration_forget(store, STR("acme"), STR("feed"), &w),
	    &w);
	refused(store_registration_put(store, &r, x_text(
	    STORE_DECLARATION_BYTES_MAX + 1), t0, &w), ERR_FULL,
	    "declaration", &w);
	ok(store_registration_put(store, &r, x_text(
	    STORE_DECLARATION_BYTES_MAX), t0, &w), &w);
	r.object = x_text(STORE_OBJECT_BYTES_MAX + 1);
	refused(store_registration_put(store, &r, STR(""), t0, &w), ERR_FULL,
	    "object", &w);
}

/* A task keeps its connector until it is forgotten. */
static void
tasks_keep_declarations(void **state)
{
	struct store_registration r = { .backend = STR("acme"),
	    .connector = STR("feed"), .fid = STR("x1"), .version = 1,
	    .hash = STR("h1") };
	struct store_task t = { .backend = STR("acme"),
	    .connector = STR("feed"), .fid = STR("t1"),
	    .endpoint = STR("http://127.0.0.1/"), .params = STR("{}"),
	    .version = 1, .hash = STR("h1") }, got;
	const struct store_task_end end = {
	    .status = { .state = STORE_TASK_DONE, .code = 200 } };
	struct why w = WHY_INIT;
	bool done;
	size_t n;

	(void)state;
	ok(store_registration_put(store, &r, STR("first"), t0, &w), &w);
	ok(store_task_put(store, &t, 1, t0, &arena, &got, &done, &w), &w);
	assert_text(got.hash, "h1");
	ok(store_registration_forget(store, STR("acme"), STR("feed"), &w),
	    &w);
	assert_declaration("h1", "first");
	ok(store_task_close(store, got.id, &end, t0, &done, &w), &w);
	t.hash = STR("");
	ok(store_task_retry(store, got.id, &t, true, 1, t0, &w), &w);
	ok(store_task_find(store, STR("acme"), STR("t1"), &arena, &got, &w),
	    &w);
	assert_text(got.hash, "");
	ok(store_task_close(store, got.id, &end, t0, &done, &w), &w);
	t.hash = STR("h1");
	ok(store_task_retry(store, got.id, &t, true, 1, t0, &w), &w);
	ok(store_task_close(store, got.id, &end, t0, &done, &w), &w);
	assert_declaration("h1", "first");
	ok(store_task_forget(store, at_second(1), &n, &w), &w);
	assert_int_equal(n, 1);
	assert_declaration("h1", NULL);
	t.hash = x_text(STORE_HASH_BYTES_MAX + 1);
	refused(store_task_put(store, &t, 1, t0, &arena, &got, &done, &w),
	    ERR_FULL, "hash", &w);
}

/* The lowest versions go, but not the published one. */
static void
versions_are_bounded(void **state)
{
	struct store_registration r = { .backend = STR("acme"),
	    .connector = STR("feed"), .fid = STR("x1"), .hash = STR("h") },
	    got, *list;
	struct why w = WHY_INIT;
	size_t n;

	(void)state;
	for (r.version = 1; r.version <= STORE_VERSIONS_MAX; r.version++)
		ok(store_registration_put(store, &r, STR("x"), t0, &w), &w);
	ok(store_registration_get(store, STR("acme"), STR("feed"), 1, &arena,
	    &got, &w), &w);
	ok(store_published_put(store, STR("feed"), 2, t0, &w), &w);
	for (; r.version <= STORE_VERSIONS_MAX + 3; r.version++)
		ok(store_registration_put(store, &r, STR("x"), t0, &w), &w);
	ok(store_registration_list(store, STR(""), &arena, &list, &n, &w),
	    &w);
	assert_int_equal(n, STORE_VERSIONS_MAX + 1);
	assert_int_equal(list[0].version, 2);
	assert_int_equal(list[1].version, 4);
}

static void
cursors_are_bounded(void **state)
{
	struct store_crawler c = { STR("acme"), STR("feed"), STR("new") };
	struct store_crawler oldest = { STR("b"), STR("c"), STR("1") };
	struct store_crawler second = { STR("b"), STR("c"), STR("2") };
	struct str cursor;
	struct why w = WHY_INIT;

	(void)state;
#define CURSORS "INSERT INTO external_cursor (backend, connector, crawler," \
	" cursor, changed) "
#define CURSOR "SELECT 'b', 'c', CAST(i AS TEXT), '1', i"
	fill_table(COUNTED CURSORS CURSOR " FROM c", CURSORS CURSOR SERIES,
	    STORE_CURSORS_MAX);
	ok(store_cursor_put(store, &c, STR("1"), t0, &w), &w);
	assert_int_equal(store_cursor_get(store, &oldest, &arena, &cursor,
	    NULL), ERR_ABSENT);
	ok(store_cursor_get(store, &second, &arena, &cursor, &w), &w);
}

static void
registrations_are_bounded(void **state)
{
	struct store_registration r = { .backend = STR("acme"),
	    .connector = STR("feed"), .fid = STR("x1"), .version = 3,
	    .hash = STR("abcd") };
	struct why w = WHY_INIT;

	(void)state;
#define REGISTRATIONS "INSERT INTO external_registration (backend," \
	" connector, version, fid, hash, registered) "
#define REGISTRATION "SELECT 'b', 'c', i, 'f', 'h', 1"
	fill_table(COUNTED REGISTRATIONS REGISTRATION " FROM c", REGISTRATIONS
	    REGISTRATION SERIES, STORE_REGISTRATIONS_MAX - 1);
	ok(store_registration_put(store, &r, STR(""), t0, &w), &w);
	ok(store_registration_put(store, &r, STR(""), at_second(1), &w),
	    &w);
	r.version++;
	refused(store_registration_put(store, &r, STR(""), t0, &w), ERR_FULL,
	    "", &w);
}

#define WITH(name) \
	cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH(one_cursor_for_a_crawler), WITH(cursors_are_bounded),
		WITH(registrations), WITH(registrations_are_bounded),
		WITH(declarations), WITH(tasks_keep_declarations),
		WITH(versions_are_bounded),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}

/* A database on the disk of file_fake: what was committed survives. */
#include "os/database.h"
#include "os/database_fake.h"
#include "os/world_testing.h"

#define APPLICATION 0x41724731u
#define ROWS 40

static const struct database_options options = { .application = APPLICATION };
static const struct sql steps[] = {
	{ "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT NOT NULL) STRICT;",
	    NULL },
};
static struct database *d;

static int
setup(void **state)
{
	world_setup(state);
	database_fake_use(true);
	return file_make_dir("/data", NULL) == OK ? 0 : -1;
}

static int
teardown(void **state)
{
	database_close(&d);
	database_fake_use(false);
	return world_teardown(state);
}

static enum err
open_it(void)
{
	struct why w = WHY_INIT;
	enum err e = database_open("/data/x.db", &options, &d, &w);

	if (e == OK)
		e = database_migrate(d, steps, ARRAY_LEN(steps), &w);
	return e;
}

static enum err
put(int64_t id, size_t bytes, struct why *w)
{
	struct query *q = database_query(d, "INSERT INTO t VALUES (?1, ?2)");
	char *p = mem_new(bytes + 1);

	memset(p, 'v', bytes);
	query_i64(q, 1, id);
	query_str(q, 2, (struct str){ p, bytes });
	bool more = query_step(q);
	enum err e = query_end(&q, w);
	mem_free(&p);
	assert_false(more);
	return e;
}

static int64_t
count(void)
{
	struct query *q = database_query(d, "SELECT count(*) FROM t");
	int64_t n = query_step(q) ? query_get_i64(q, 0) : -1;

	assert_int_equal(query_end(&q, NULL), OK);
	return n;
}

/* After each row, and once in between. */
static void
commits_survive(void **state)
{
	(void)state;
	assert_int_equal(open_it(), OK);
	for (int64_t i = 0; i < ROWS; i++) {
		assert_int_equal(put(i, 3000, NULL), OK);
		world_crash(i % 2 == 0);
		database_close(&d);
		assert_int_equal(open_it(), OK);
		assert_int_equal(count(), i + 1);
	}
	assert_int_equal(database_check(d, NULL), OK);
}

/* The machine stops at each change of a commit: it took place, or did not. */
static void
commits_are_whole(void **state)
{
	int64_t rows = 0;

	(void)state;
	assert_int_equal(open_it(), OK);
	for (int64_t i = 0; i < ROWS; i++) {
		file_fault(FILE_CALL_CHANGE, 1 + (uint64_t)i % 5,
		    FILE_FAULT_FOREVER, ERR_IO);
		bool done = put(i, 3000, NULL) == OK;
		world_crash(i % 2 == 0);
		database_close(&d);
		assert_int_equal(open_it(), OK);
		int64_t now = count();
		assert_in_range(now, rows + done, rows + 1);
		rows = now;
	}
	assert_true(rows > 0);
	assert_int_equal(database_check(d, NULL), OK);
}

static void
full_disk(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(open_it(), OK);
	assert_int_equal(put(1, 3000, NULL), OK);
	file_fake_limit(64 << 10);
	assert_int_equal(put(2, 200000, &w), ERR_DISK_FULL);
	assert_non_null(strstr(w.text, "/data/x.db"));
	file_fake_limit(UINT64_MAX);
	assert_int_equal(put(2, 200000, NULL), OK);
	assert_int_equal(count(), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(commits_survive, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(commits_are_whole, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(full_disk, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

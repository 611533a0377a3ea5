/* Checkpoints beside commits: the log stays short, and nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/database.h"

#define PAGES 64
#define PAGE_BYTES 4096
#define ROWS 256                 /* each of a page of its own, nearly */

static char dir[64], path[96], log_path[128];
static const struct database_options options = { .application = 0x41724731u,
	.checkpoint_pages = PAGES };
static const struct database_options reading = { .application = 0x41724731u,
	.read_only = true };

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-checkpoint-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.db", dir);
	snprintf(log_path, sizeof(log_path), "%s-wal", path);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	assert_int_equal(unlink(path), 0);
	/* The last connection has copied the log, and removed it. */
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static struct database *
open_it(const struct database_options *o)
{
	static const struct sql step = { "CREATE TABLE t (id INTEGER PRIMARY"
	    " KEY, n INTEGER NOT NULL, v BLOB NOT NULL) STRICT;", NULL };
	struct database *d;
	struct why w = WHY_INIT;

	if (database_open(path, o, &d, &w) != OK ||
	    (!o->read_only && database_migrate(d, &step, 1, &w) != OK))
		fail_msg("%s", w.text);
	return d;
}

static void
run_statement(struct database *d, const char *sql)
{
	struct why w = WHY_INIT;

	if (database_do(d, sql, &w) != OK)
		fail_msg("%s: %s", sql, w.text);
}

static int64_t
read_number(struct database *d, const char *sql)
{
	struct query *q = database_query(d, sql);
	int64_t n = query_step(q) ? query_get_i64(q, 0) : -1;

	assert_int_equal(query_end(&q, NULL), OK);
	return n;
}

/* Each commit changes some three pages. */
static void
commit_rows(struct database *d, unsigned from, unsigned n)
{
	for (unsigned i = from; i < from + n; i++) {
		struct query *q = database_query(d, "INSERT OR REPLACE INTO t"
		    " VALUES (?1, ?2, zeroblob(3500))");

		query_i64(q, 1, i % ROWS);
		query_i64(q, 2, i);
		query_step(q);
		assert_int_equal(query_end(&q, NULL), OK);
	}
}

static int64_t
log_bytes(void)
{
	struct stat st;

	assert_int_equal(stat(log_path, &st), 0);
	return st.st_size;
}

static void
assert_rows(struct database *d, unsigned last)
{

	assert_int_equal(read_number(d, "SELECT count(*) FROM t"), ROWS);
	assert_int_equal(read_number(d, "SELECT max(n) FROM t"), last);
	assert_int_equal(read_number(d, "SELECT min(n) FROM t"),
	    last - ROWS + 1);
	assert_int_equal(database_check(d, NULL), OK);
}

static void
the_log_stays_short(void **state)
{
	struct database *d = open_it(&options);
	struct stat st;

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		commit_rows(d, i * 100, 100);
		/* With the pages of one commit more. */
		assert_in_range(log_bytes(), 0, (5 * PAGES) * (PAGE_BYTES +
		    24) + 32);
	}
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size >= ROWS * 3500);
	assert_rows(d, 3999);
	database_close(&d);
	d = open_it(&options);
	assert_rows(d, 3999);
	database_close(&d);
}

/* Pages newer than a reader's snapshot cannot be copied, but commits go on. */
static void
a_reader_holds_nobody_up(void **state)
{
	struct database *d = open_it(&options), *reader;

	(void)state;
	commit_rows(d, 0, ROWS);
	reader = open_it(&reading);
	run_statement(reader, "BEGIN");
	assert_int_equal(read_number(reader, "SELECT max(n) FROM t"), ROWS - 1);
	commit_rows(d, ROWS, 1000);
	assert_true(log_bytes() > (int64_t)1000 * PAGE_BYTES);
	assert_int_equal(read_number(reader, "SELECT max(n) FROM t"), ROWS - 1);
	run_statement(reader, "COMMIT");
	commit_rows(d, ROWS + 1000, 200);
	/* It began anew, and is cut to what it keeps. */
	assert_in_range(log_bytes(), 0, (5 * PAGES) * (PAGE_BYTES + 24) + 32);
	assert_rows(d, ROWS + 1199);
	database_close(&reader);
	database_close(&d);
}

static int64_t
log_pages(struct database *d)
{
	struct query *q = database_query(d, "PRAGMA wal_checkpoint(PASSIVE)");
	int64_t n = query_step(q) ? query_get_i64(q, 1) : -1;

	assert_int_equal(query_end(&q, NULL), OK);
	return n;
}

static void
copy_file(const char *from, const char *to)
{
	char command[512];

	snprintf(command, sizeof(command), "cp %s %s", from, to);
	assert_int_equal(system(command), 0);
}

/* Opens a copy of both files, as a crash would leave them. */
static void
assert_rows_of_copy(unsigned last)
{
	char copy[128], copy_log[144];

	snprintf(copy, sizeof(copy), "%s/copy.db", dir);
	snprintf(copy_log, sizeof(copy_log), "%s-wal", copy);
	copy_file(path, copy);
	copy_file(log_path, copy_log);
	struct database *d = NULL;
	struct why w = WHY_INIT;
	if (database_open(copy, &options, &d, &w) != OK)
		fail_msg("%s", w.text);
	assert_rows(d, last);
	database_close(&d);
	assert_int_equal(unlink(copy), 0);
}

/* Its file has room behind the last commit, which reads as no commit. */
static void
a_log_that_is_kept_has_room(void **state)
{
	struct database *d = open_it(&options), *reader;
	unsigned last = 4 * ROWS;
	int64_t end;

	(void)state;
	commit_rows(d, 0, last);
	reader = open_it(&reading);
	run_statement(reader, "BEGIN");
	assert_int_equal(read_number(reader, "SELECT max(n) FROM t"),
	    last - 1);
	do {
		assert_in_range(last, 0, 100 * ROWS);
		commit_rows(d, last++, 1);
		end = 32 + log_pages(d) * (PAGE_BYTES + 24);
	} while (log_bytes() < end + PAGES / 8 * PAGE_BYTES);
	assert_rows_of_copy(last - 1);
	run_statement(reader, "COMMIT");
	database_close(&reader);
	assert_rows(d, last - 1);
	database_close(&d);
}

/* Whatever the thread is at. */
static void
it_is_closed_at_any_time(void **state)
{
	struct database *d = open_it(&options);

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		commit_rows(d, i * ROWS, i < 30 ? 20 + i / 2 : ROWS);
		database_close(&d);
		d = open_it(&options);
	}
	assert_rows(d, 60 * ROWS - 1);
	database_close(&d);
}

#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(the_log_stays_short),
		WITH(a_reader_holds_nobody_up),
		WITH(a_log_that_is_kept_has_room),
		WITH(it_is_closed_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

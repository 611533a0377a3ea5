#include "os/database.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/clock.h"
#include "os/file.h"

#define APPLICATION 0x41724731u

static char dir[64], path[96];
static const struct database_options options = { .application = APPLICATION,
	.busy_ms_max = 50 };
static const struct sql steps[] = {
	{ "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL,"
	" v BLOB) STRICT;"
	"CREATE TABLE u (t INTEGER NOT NULL REFERENCES t (id)) STRICT;",
	    NULL },
	{ "ALTER TABLE t ADD COLUMN more INTEGER NOT NULL DEFAULT 7;", NULL },
};

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-database-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x.db", dir);
	return 0;
}

static int
teardown(void **state)
{
	static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
	char name[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		unlink(name);
	}
	assert_int_equal(rmdir(dir), 0);
	return 0;
}

static struct database *
open_it(void)
{
	struct database *d;
	struct why w = WHY_INIT;

	if (database_open(path, &options, &d, &w) != OK ||
	    database_migrate(d, steps, ARRAY_LEN(steps), &w) != OK)
		fail_msg("%s", w.text);
	return d;
}

static enum err
put(struct database *d, int64_t id, const char *name, struct str v,
    struct why *w)
{
	struct query *q = database_query(d,
	    "INSERT INTO t (id, name, v) VALUES (?1, ?2, ?3)");

	if (id == 0)
		query_null(q, 1);
	else
		query_i64(q, 1, id);
	query_str(q, 2, str_of(name));
	query_bytes(q, 3, v);
	query_step(q);
	return query_end(&q, w);
}

static int64_t
number(struct database *d, const char *sql)
{
	struct query *q = database_query(d, sql);
	int64_t n = query_step(q) ? query_get_i64(q, 0) : -1;
	struct why w = WHY_INIT;

	if (query_end(&q, &w) != OK)
		fail_msg("%s", w.text);
	return n;
}

static void
rows_come_back(void **state)
{
	struct database *d = open_it();
	struct stat st;

	(void)state;
	assert_int_equal(put(d, 5, "a", (struct str){ "x\0y", 3 }, NULL), OK);
	assert_int_equal(put(d, 0, "", STR(""), NULL), OK);
	struct query *q = database_query(d, "SELECT id, name, v, NULL, more"
	    " FROM t ORDER BY id");
	assert_true(query_step(q));
	assert_int_equal(query_get_i64(q, 0), 5);
	assert_true(str_eq(query_get_str(q, 1), STR("a")));
	assert_int_equal(query_get_str(q, 2).n, 3);
	assert_true(query_is_null(q, 3));
	assert_null(query_get_str(q, 3).p);
	assert_int_equal(query_get_i64(q, 4), 7);
	assert_true(query_step(q));
	assert_int_equal(query_get_i64(q, 0), 6);
	/* Empty is not nothing. */
	assert_non_null(query_get_str(q, 1).p);
	assert_int_equal(query_get_str(q, 1).n, 0);
	assert_false(query_step(q));
	assert_int_equal(query_end(&q, NULL), OK);
	assert_null(q);
	assert_int_equal(number(d, "PRAGMA synchronous"), 2);
	assert_int_equal(number(d, "PRAGMA foreign_keys"), 1);
	assert_int_equal(database_check(d, NULL), OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	database_close(&d);
	/* Again, with what is there. */
	d = open_it();
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 2);
	database_close(&d);
	assert_null(d);
}

static void
errors_stick(void **state)
{
	struct database *d = open_it();
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(put(d, 1, "a", STR(""), NULL), OK);
	assert_int_equal(put(d, 2, "a", STR(""), &w), ERR_EXISTS);
	assert_int_equal(w.err, ERR_EXISTS);
	assert_non_null(strstr(w.text, "x.db"));
	assert_int_equal(put(d, 1, "b", STR(""), NULL), ERR_EXISTS);
	assert_int_equal(database_do(d, "INSERT INTO u VALUES (9)", NULL),
	    ERR_STATE);
	assert_int_equal(put(d, 1, NULL, STR(""), NULL), ERR_STATE);
	/* No such parameter: what follows does nothing. */
	struct query *q = database_query(d, "INSERT INTO t (name) VALUES (?1)");
	query_i64(q, 2, 1);
	query_str(q, 1, STR("z"));
	assert_false(query_step(q));
	assert_int_equal(query_changes(q), 0);
	assert_int_equal(query_end(&q, NULL), ERR_BROKEN);
	q = database_query(d, "SELECT wrong FROM t");
	assert_false(query_step(q));
	w = WHY_INIT;
	assert_int_equal(query_end(&q, &w), ERR_BROKEN);
	assert_non_null(strstr(w.text, "no such column"));
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
	/* Values have a limit. */
	q = database_query(d, "INSERT INTO t (name, v) VALUES ('big',"
	    " zeroblob(?1))");
	query_i64(q, 1, DATABASE_VALUE_BYTES_MAX + 1);
	assert_false(query_step(q));
	assert_int_equal(query_end(&q, NULL), ERR_FULL);
	database_close(&d);
}

/* The cache: the same text in use twice, and more texts than it holds. */
static void
queries_are_kept(void **state)
{
	static char texts[3 * DATABASE_QUERIES_MAX][32];
	struct database *d = open_it();

	(void)state;
	for (int i = 1; i <= 3; i++)
		assert_int_equal(put(d, i, i == 1 ? "a" : i == 2 ? "b" : "c",
		    STR(""), NULL), OK);
	static const char all[] = "SELECT id FROM t ORDER BY id";
	struct query *outer = database_query(d, all), *inner;
	int pairs = 0;
	while (query_step(outer)) {
		inner = database_query(d, all);
		while (query_step(inner))
			pairs++;
		assert_int_equal(query_end(&inner, NULL), OK);
	}
	assert_int_equal(query_end(&outer, NULL), OK);
	assert_int_equal(pairs, 9);
	/* Ended early, it starts anew. */
	for (int i = 0; i < 3; i++) {
		struct query *q = database_query(d, all);
		assert_true(query_step(q));
		assert_int_equal(query_get_i64(q, 0), 1);
		assert_int_equal(query_end(&q, NULL), OK);
	}
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
			snprintf(texts[i], sizeof(texts[i]), "SELECT %zu", i);
			assert_int_equal(number(d, texts[i]), i);
		}
	database_close(&d);
}

static void
transactions(void **state)
{
	struct database *d = open_it();

	(void)state;
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 1, "a", STR(""), NULL), OK);
	assert_int_equal(database_end(d, OK, NULL), OK);
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 2, "b", STR(""), NULL), OK);
	enum err e = put(d, 1, "c", STR(""), NULL);
	assert_int_equal(database_end(d, e, NULL), ERR_EXISTS);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(put(d, 2, "b", STR(""), NULL), OK);
	assert_int_equal(database_end(d, OK, NULL), OK);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 2);
	database_close(&d);
}

static void
full_disk(void **state)
{
	struct database *d = open_it();
	struct why w = WHY_INIT;
	static char big[100000];
	enum err e = OK;

	(void)state;
	number(d, "PRAGMA max_page_count = 60");
	assert_int_equal(put(d, 0, "first", STR(""), NULL), OK);
	assert_int_equal(database_begin(d, NULL), OK);
	for (int i = 0; i < 10 && e == OK; i++) {
		char name[16];
		snprintf(name, sizeof(name), "n%d", i);
		e = put(d, 0, name, (struct str){ big, sizeof(big) }, &w);
	}
	assert_int_equal(e, ERR_DISK_FULL);
	assert_int_equal(database_end(d, e, NULL), ERR_DISK_FULL);
	/* Nothing of it is there, and it goes on. */
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
	assert_int_equal(put(d, 0, "small", STR("s"), NULL), OK);
	assert_int_equal(database_check(d, NULL), OK);
	database_close(&d);
}

static void
damage(void **state)
{
	struct database *d = open_it();
	struct why w = WHY_INIT;
	static char page[4096];

	(void)state;
	for (int i = 0; i < 400; i++) {
		char name[32];
		snprintf(name, sizeof(name), "name %d", i);
		assert_int_equal(put(d, 0, name, (struct str){ page, 200 },
		    NULL), OK);
	}
	database_close(&d);
	int fd = open(path, O_RDWR);
	memset(page, 0xa5, sizeof(page));
	for (int i = 5; i < 12; i++)
		assert_int_equal(pwrite(fd, page, sizeof(page), i * 4096),
		    4096);
	close(fd);
	d = open_it();
	assert_int_equal(database_check(d, &w), ERR_CORRUPT);
	database_close(&d);
	/* Not even a database. */
	fd = open(path, O_RDWR | O_TRUNC);
	assert_int_equal(write(fd, page, sizeof(page)), 4096);
	close(fd);
	w = WHY_INIT;
	assert_int_equal(database_open(path, &options, &d, &w), ERR_CORRUPT);
	assert_null(d);
	assert_non_null(strstr(w.text, "damaged"));
}

static void
strangers(void **state)
{
	struct database_options other = { .application = 99 };
	struct database *d = open_it();
	struct why w = WHY_INIT;

	(void)state;
	database_close(&d);
	assert_int_equal(database_open(path, &other, &d, &w), ERR_CORRUPT);
	assert_non_null(strstr(w.text, "not one of this program"));
	w = WHY_INIT;
	assert_int_equal(database_open("/nonexistent/x.db", &options, &d, &w),
	    ERR_ABSENT);
	/* A newer program was here. */
	w = WHY_INIT;
	assert_int_equal(database_open(path, &options, &d, NULL), OK);
	assert_int_equal(database_migrate(d, steps, 1, &w), ERR_STATE);
	assert_non_null(strstr(w.text, "version 2"));
	database_close(&d);
}

static void
reading_only(void **state)
{
	struct database_options o = { .application = APPLICATION,
	    .busy_ms_max = 50, .read_only = true };
	struct database *d;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(database_open(path, &o, &d, &w), ERR_ABSENT);
	assert_non_null(strstr(w.text, "x.db"));
	/* A writer that has just begun. */
	assert_int_equal(close(open(path, O_CREAT | O_RDWR, 0600)), 0);
	w = WHY_INIT;
	assert_int_equal(database_open(path, &o, &d, &w), ERR_STATE);
	assert_non_null(strstr(w.text, "empty"));
	assert_null(d);
	struct database *writer = open_it();
	assert_int_equal(put(writer, 1, "a", STR(""), NULL), OK);
	assert_int_equal(database_open(path, &o, &d, NULL), OK);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
	assert_int_equal(database_check(d, NULL), OK);
	database_close(&writer);
	/* It goes on when the writer has gone. */
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 1);
	database_close(&d);
	o.application = 99;
	assert_int_equal(database_open(path, &o, &d, NULL), ERR_CORRUPT);
}

static void
cache_has_a_size(void **state)
{
	static const struct { size_t bytes; int64_t pragma; } cases[] = {
		{ 0, -2000 }, { 1, -1 }, { 64u << 20, -65536 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct database_options o = { .application = APPLICATION,
		    .cache_bytes = cases[i].bytes };
		struct database *d;
		assert_int_equal(database_open(path, &o, &d, NULL), OK);
		assert_int_equal(number(d, "PRAGMA cache_size"),
		    cases[i].pragma);
		database_close(&d);
	}
}

/* Whether the files of the database contain that text. */
static bool
files_have(const char *text)
{
	static const char *const ends[] = { "", "-wal" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		char name[PATH_MAX];
		struct buf b = BUF_INIT;

		snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		if (access(name, F_OK) == 0)
			assert_int_equal(file_load(name, 1 << 20, &b, NULL),
			    OK);
		found |= str_find((struct str){ b.p, b.n }, str_of(text)) < b.n;
		buf_free(&b);
	}
	return found;
}

static void
deleted_rows_are_overwritten(void **state)
{
	static const char text[] = "a text that is found nowhere else";

	(void)state;
	for (int keeps = 0; keeps < 2; keeps++) {
		struct database_options o = { .application = APPLICATION,
		    .keeps_deleted = keeps };
		struct database *d;

		unlink(path);
		assert_int_equal(database_open(path, &o, &d, NULL), OK);
		assert_int_equal(database_do(d, "CREATE TABLE s (v TEXT)",
		    NULL), OK);
		struct query *q = database_query(d,
		    "INSERT INTO s VALUES (?1)");
		query_str(q, 1, str_of(text));
		assert_false(query_step(q));
		assert_int_equal(query_end(&q, NULL), OK);
		assert_true(files_have(text));
		assert_int_equal(database_do(d, "DELETE FROM s", NULL), OK);
		/* The end of the last connection empties the log. */
		database_close(&d);
		assert_int_equal(files_have(text), keeps);
	}
}

/* A step that fails leaves the version before it, whole. */
static void
failed_migration(void **state)
{
	static const struct sql bad[] = {
		{ "CREATE TABLE a (x INTEGER);", NULL },
		{ "CREATE TABLE b (x INTEGER); CREATE TABLE a (x INTEGER);",
		    NULL },
	};
	struct database *d;

	(void)state;
	assert_int_equal(database_open(path, &options, &d, NULL), OK);
	assert_int_equal(database_migrate(d, bad, 2, NULL), ERR_BROKEN);
	assert_int_equal(number(d, "PRAGMA user_version"), 1);
	assert_int_equal(number(d, "SELECT count(*) FROM sqlite_schema"
	    " WHERE name = 'b'"), 0);
	assert_int_equal(database_migrate(d, bad, 1, NULL), OK);
	database_close(&d);
}

static void
held_by_another(void **state)
{
	struct database *d = open_it(), *other;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(database_open(path, &options, &other, NULL), OK);
	assert_int_equal(database_begin(other, NULL), OK);
	assert_int_equal(database_begin(d, &w), ERR_BUSY);
	assert_int_equal(put(d, 1, "a", STR(""), NULL), ERR_BUSY);
	assert_int_equal(number(d, "SELECT count(*) FROM t"), 0);
	assert_int_equal(database_end(other, OK, NULL), OK);
	assert_int_equal(put(d, 1, "a", STR(""), NULL), OK);
	database_close(&other);
	database_close(&d);
}

/* Many jobs of a queue wait no longer than one of them. */
static void
waits_are_short_after_one_in_vain(void **state)
{
	struct database_options slow = options;
	struct database *d, *other;

	(void)state;
	slow.busy_ms_max = 600;
	assert_int_equal(database_open(path, &slow, &d, NULL), OK);
	assert_int_equal(database_open(path, &options, &other, NULL), OK);
	for (int round = 0; round < 2; round++) {
		struct mono began = clock_mono();
		assert_int_equal(database_begin(other, NULL), OK);
		assert_int_equal(database_begin(d, NULL), ERR_BUSY);
		int64_t first = mono_ns_between(began, clock_mono());
		assert_true(first >= 500 * NS_PER_MS);
		began = clock_mono();
		for (int i = 0; i < 3; i++)
			assert_int_equal(database_begin(d, NULL), ERR_BUSY);
		assert_true(mono_ns_between(began, clock_mono()) <
		    3 * first / 2);
		assert_int_equal(database_end(other, OK, NULL), OK);
		assert_int_equal(database_begin(d, NULL), OK);
		assert_int_equal(database_end(d, OK, NULL), OK);
		/* Some time later it is patient again. */
		usleep(2100000);
	}
	database_close(&other);
	database_close(&d);
}

/* Processes that meet at a new file: each finds it made, or makes it. */
static void
made_by_many(void **state)
{
	enum { PROCESSES = 6, ROUNDS = 20 };
	static const struct database_options o = { .application =
	    APPLICATION };
	pid_t pids[PROCESSES];
	int start[2], status;
	char byte;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		assert_int_equal(pipe(start), 0);
		for (int i = 0; i < PROCESSES; i++) {
			pids[i] = fork();
			assert_true(pids[i] >= 0);
			if (pids[i] > 0)
				continue;
			struct database *d;
			struct why w = WHY_INIT;
			close(start[1]);
			(void)!read(start[0], &byte, 1);
			enum err e = database_open(path, &o, &d, &w);
			if (e == OK)
				e = database_migrate(d, steps,
				    ARRAY_LEN(steps), &w);
			if (e != OK)
				fprintf(stderr, "%s\n", w.text);
			database_close(&d);
			_exit(e == OK ? 0 : 1);
		}
		close(start[0]);
		close(start[1]);
		for (int i = 0; i < PROCESSES; i++) {
			assert_int_equal(waitpid(pids[i], &status, 0),
			    pids[i]);
			assert_int_equal(status, 0);
		}
		struct database *d = open_it();
		assert_int_equal(number(d, "SELECT count(*) FROM t"), 0);
		database_close(&d);
		assert_int_equal(unlink(path), 0);
	}
}

int
main(void)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(rows_come_back), WITH(errors_stick),
		WITH(queries_are_kept), WITH(transactions), WITH(full_disk),
		WITH(damage), WITH(strangers), WITH(failed_migration),
		WITH(held_by_another), WITH(waits_are_short_after_one_in_vain),
		WITH(made_by_many),
		WITH(reading_only), WITH(cache_has_a_size),
		WITH(deleted_rows_are_overwritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Databases that cannot be written are told of, with cause and moment. */
#include <pthread.h>
#include <stdatomic.h>

#include "base/metric.h"
#include "os/database_failure.h"
#include "os/database_fake.h"
#include "os/world_testing.h"

#define APPLICATION 0x41724731u

static const struct database_options options = { .application = APPLICATION };
static const struct sql steps[] = {
	{ "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT NOT NULL) STRICT;",
	    NULL },
};
static struct database *d;

static int
setup(void **state)
{
	struct why w = WHY_INIT;

	world_setup(state);
	database_fake_use(true);
	return file_make_dir("/data", NULL) == OK &&
	    database_open("/data/x.db", &options, &d, &w) == OK &&
	    database_migrate(d, steps, ARRAY_LEN(steps), &w) == OK ? 0 : -1;
}

static int
teardown(void **state)
{
	database_close(&d);
	database_fake_use(false);
	return world_teardown(state);
}

static enum err
put_row(int64_t id, size_t bytes)
{
	FREED(buf_free) struct buf v = BUF_INIT;

	enum err e = database_begin(d, NULL);
	if (e != OK)
		return e;
	struct query *q = database_query(d, "INSERT INTO t VALUES (?1, ?2)");
	for (size_t i = 0; i < bytes; i++)
		buf_put_char(&v, 'v');
	query_i64(q, 1, id);
	query_str(q, 2, buf_str(&v));
	assert_false(query_step(q));
	e = query_end(&q, NULL);
	return database_end(d, e, NULL);
}

/* One that finds nothing to change. */
static enum err
change_nothing(void)
{
	enum err e = database_begin(d, NULL);

	return e != OK ? e : database_end(d, database_do(d,
	    "DELETE FROM t WHERE id < 0", NULL), NULL);
}

static enum err
touch_database(void)
{
	enum err e = database_begin(d, NULL);

	return e != OK ? e : database_end(d, database_touch(d, NULL), NULL);
}

static int64_t
metric_of(const char *name)
{
	FREED(buf_free) struct buf all = BUF_INIT;
	char line[80];

	metric_write(&all);
	snprintf(line, sizeof(line), "\n%s ", name);
	size_t at = str_find(buf_str(&all), str_of(line));
	assert_true(at < all.n);
	return atoll(all.p + at + strlen(line));
}

static void
told(enum err e)
{
	struct database_failure f;

	assert_int_equal(database_failures(&f, 1), e != OK);
	assert_int_equal(database_is_failing(d), e != OK);
	assert_int_equal(metric_of("argiope_databases_failing"), e != OK);
	if (e == OK)
		return;
	assert_int_equal(f.why.err, e);
	assert_non_null(strstr(f.why.text, "/data/x.db: "));
	assert_non_null(strstr(f.why.text, err_text(e)));
}

static void
full_disk(void **state)
{
	struct database_failure f;

	(void)state;
	assert_int_equal(put_row(1, 10), OK);
	told(OK);
	struct wall before = clock_wall();
	int64_t count = metric_of("argiope_database_write_failures_total");
	file_fake_limit(64 << 10);
	assert_int_equal(put_row(2, 200000), ERR_DISK_FULL);
	told(ERR_DISK_FULL);
	/* It goes on, since the first moment. */
	world.ahead_us += 1000000;
	assert_int_equal(put_row(2, 200000), ERR_DISK_FULL);
	told(ERR_DISK_FULL);
	assert_int_equal(database_failures(&f, 1), 1);
	assert_int_equal(f.since.us, before.us);
	assert_int_equal(metric_of("argiope_database_write_failures_total"),
	    count + 2);
	file_fake_limit(UINT64_MAX);
	/* Reading, and changing nothing, say nothing of writes. */
	assert_int_equal(change_nothing(), OK);
	told(ERR_DISK_FULL);
	assert_int_equal(put_row(2, 200000), OK);
	told(OK);
}

/* It takes room, and changes nothing. */
static void
touch_tells(void **state)
{
	int64_t n = 0;

	(void)state;
	assert_int_equal(put_row(1, 10), OK);
	file_fault(FILE_CALL_CHANGE, 1, FILE_FAULT_FOREVER, ERR_IO);
	assert_int_equal(touch_database(), ERR_IO);
	told(ERR_IO);
	assert_int_equal(touch_database(), ERR_IO);
	told(ERR_IO);
	file_faults_end();
	assert_int_equal(touch_database(), OK);
	told(OK);
	struct query *q = database_query(d, "SELECT count(*) FROM t");
	n = query_step(q) ? query_get_i64(q, 0) : -1;
	assert_int_equal(query_end(&q, NULL), OK);
	assert_int_equal(n, 1);
	assert_int_equal(database_migrate(d, steps, ARRAY_LEN(steps), NULL),
	    OK);
}

/* What is the caller's to mend. */
static void
constraints_are_no_failures(void **state)
{
	(void)state;
	assert_int_equal(put_row(1, 10), OK);
	assert_int_equal(put_row(1, 10), ERR_EXISTS);
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(database_end(d, ERR_IO, NULL), ERR_IO);
	assert_int_equal(database_begin_read(d, NULL), OK);
	assert_int_equal(database_end(d, database_do(d, "DELETE FROM t",
	    NULL), NULL), ERR_DENIED);
	told(OK);
	/* Nor do they end one. */
	file_fault(FILE_CALL_CHANGE, 1, FILE_FAULT_FOREVER, ERR_IO);
	assert_int_equal(put_row(2, 10), ERR_IO);
	file_faults_end();
	assert_int_equal(put_row(1, 10), ERR_EXISTS);
	told(ERR_IO);
}

static void
a_closed_one_is_forgotten(void **state)
{
	(void)state;
	file_fault(FILE_CALL_CHANGE, 1, FILE_FAULT_FOREVER, ERR_IO);
	assert_int_equal(put_row(1, 10), ERR_IO);
	told(ERR_IO);
	file_faults_end();
	database_close(&d);
	assert_int_equal(database_failures(NULL, 0), 0);
	assert_int_equal(metric_of("argiope_databases_failing"), 0);
	assert_int_equal(database_open("/data/x.db", &options, &d, NULL), OK);
}

static atomic_bool over;

static void *
read_on(void *arg)
{
	struct database_failure f;

	(void)arg;
	while (!atomic_load(&over))
		CHECK(database_failures(&f, 1) == 0 || f.why.err == ERR_IO);
	return NULL;
}

static void
others_read_meanwhile(void **state)
{
	pthread_t t;

	(void)state;
	atomic_store(&over, false);
	assert_int_equal(pthread_create(&t, NULL, read_on, NULL), 0);
	for (int64_t i = 0; i < 300; i++) {
		file_fault(FILE_CALL_CHANGE, 1, FILE_FAULT_FOREVER, ERR_IO);
		assert_int_equal(put_row(i, 10), ERR_IO);
		file_faults_end();
		assert_int_equal(put_row(i, 10), OK);
	}
	atomic_store(&over, true);
	assert_int_equal(pthread_join(t, NULL), 0);
}

int
main(void)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(full_disk), WITH(touch_tells),
		WITH(constraints_are_no_failures),
		WITH(a_closed_one_is_forgotten), WITH(others_read_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

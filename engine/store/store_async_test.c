/* Jobs on the store's thread, and watches of its version. */
#include "engine/store/store_async.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"

static char dir[64];
static struct loop *home;
static struct store *other;       /* as another process has it open */
static struct store_async *async;
static size_t busy;
static const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */

/* Counts its calls. */
struct counting {
	struct store_watch watch;
	atomic_uint polls, changes;
};

static void
count_look(struct store_watch *w, struct store *st, bool changed)
{
	struct counting *c = CONTAINER(w, struct counting, watch);

	(void)st;
	atomic_fetch_add(&c->polls, 1);
	atomic_fetch_add(&c->changes, changed);
}

/* Takes a place in the order of runs, or puts a policy. */
struct numbered {
	struct store_job job;
	bool puts;
	unsigned ran, done;
	enum err err;
};
static unsigned runs, dones;

static void
run_numbered(struct store_job *job, struct store *st)
{
	struct numbered *n = CONTAINER(job, struct numbered, job);

	n->ran = ++runs;
	if (n->puts)
		n->err = store_policy_put(st, STR("x"), STR("{}"), t0, NULL);
}

static void
numbered_done(struct store_job *job)
{
	CONTAINER(job, struct numbered, job)->done = ++dones;
}

static void
put_job(struct numbered *n)
{
	n->job.run = run_numbered;
	n->job.done = numbered_done;
	store_async_put(async, &n->job);
}

static void
open_async(unsigned poll_ms)
{
	struct store_async_options o = { .home = home, .busy = &busy,
	    .poll_ms = poll_ms };

	assert_int_equal(store_test_open(dir, NULL, &o.store, NULL), OK);
	async = store_async_new(&o);
}

static int
setup(void **state)
{
	(void)state;
	runs = dones = 0;
	snprintf(dir, sizeof(dir), "/tmp/argiope-async-XXXXXX");
	assert_non_null(mkdtemp(dir));
	store_test_renew();
	home = loop_new("home");
	return store_test_open(dir, NULL, &other, NULL) == OK ? 0 : -1;
}

static int
teardown(void **state)
{
	static const char *const names[] = { "store.db", "store.db-wal",
	    "store.db-shm" };
	char path[96];

	(void)state;
	store_async_close(&async);
	store_close(&other);
	loop_free(&home);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

/* Let home live until the value is reached; 10 s at most. */
static void
until(const atomic_uint *value, unsigned want)
{
	for (int i = 0; i < 10000; i++) {
		if (atomic_load(value) >= want)
			return;
		loop_step(home);
		usleep(1000);
	}
	fail_msg("%u, not %u, in 10 s", atomic_load(value), want);
}

static void
jobs_run_in_order(void **state)
{
	struct numbered jobs[20] = { 0 };

	(void)state;
	open_async(0);
	for (unsigned i = 0; i < ARRAY_LEN(jobs); i++)
		put_job(&jobs[i]);
	assert_int_equal(busy, ARRAY_LEN(jobs));
	for (int i = 0; i < 10000 && busy > 0; i++) {
		loop_step(home);
		usleep(1000);
	}
	for (unsigned i = 0; i < ARRAY_LEN(jobs); i++) {
		assert_int_equal(jobs[i].ran, i + 1);
		assert_int_equal(jobs[i].done, i + 1);
	}
}

static void
polls_find_what_others_commit(void **state)
{
	struct counting c = { .watch.look = count_look };

	(void)state;
	open_async(1);
	store_async_watch(async, &c.watch);
	until(&c.polls, 3);
	assert_int_equal(c.changes, 0);
	assert_int_equal(store_policy_put(other, STR("y"), STR("{}"), t0,
	    NULL), OK);
	until(&c.changes, 1);
	until(&c.polls, c.polls + 3);
	assert_int_equal(c.changes, 1);
	store_async_unwatch(async, &c.watch);
	unsigned polls = c.polls;
	for (int i = 0; i < 20; i++) {
		loop_step(home);
		usleep(1000);
	}
	assert_int_equal(c.polls, polls);
}

/* Whoever has an answer finds what was put in force: no poll in between. */
static void
a_job_that_commits_calls_the_watches(void **state)
{
	struct counting c = { .watch.look = count_look };
	struct numbered reads = { 0 }, puts = { .puts = true };

	(void)state;
	open_async(3600 * 1000);
	store_async_watch(async, &c.watch);
	put_job(&reads);
	while (reads.done == 0)
		loop_step(home);
	assert_int_equal(c.polls, 0);
	put_job(&puts);
	while (puts.done == 0)
		loop_step(home);
	assert_int_equal(puts.err, OK);
	assert_int_equal(c.changes, 1);
	/* A job sees what others committed before it. */
	assert_int_equal(store_policy_put(other, STR("y"), STR("{}"), t0,
	    NULL), OK);
	put_job(&reads);
	while (reads.done != 3)
		loop_step(home);
	assert_int_equal(c.changes, 2);
	store_async_unwatch(async, &c.watch);
}

int
main(int argc, char **argv)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(jobs_run_in_order), WITH(polls_find_what_others_commit),
		WITH(a_job_that_commits_calls_the_watches),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}

/*
 * Tasks of daemons that share a store: one task for each fid, leases, and what
 * a daemon whose tasks were taken over can still do.  It runs on a PostgreSQL
 * server of its own.
 */
#include "engine/store/store_external.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"
#include "os/tree.h"

#define RACERS 4
#define FIDS 50

static char dir[64];
static struct store *a, *b, *c;
static struct arena arena;
static const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */

static struct store *
open_node(const char *node)
{
	struct store_options o = { .node = node };
	struct store *st;
	struct why w = WHY_INIT;

	if (store_test_open(dir, &o, &st, &w) != OK)
		fail_msg("%s", w.text);
	return st;
}

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-shared-XXXXXX");
	assert_non_null(mkdtemp(dir));
	store_test_renew();
	a = open_node("a");
	b = open_node("b");
	c = open_node("c");
	arena = ARENA_INIT;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	store_close(&a);
	store_close(&b);
	store_close(&c);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

static struct wall
at_second(int n)
{
	return (struct wall){ t0.us + n * US_PER_S };
}

/* Whether it is new; `id` may be NULL. */
static bool
put_task(struct store *st, const char *fid, uint64_t *id)
{
	struct store_task t = { .backend = STR("acme"), .fid = str_of(fid),
	    .connector = STR("feed"), .endpoint = STR("https://e"),
	    .params = STR("{}") }, out;
	struct why w = WHY_INIT;
	bool made;

	if (store_task_put(st, &t, 1000, t0, &arena, &out, &made, &w) != OK)
		fail_msg("%s", w.text);
	if (id != NULL)
		*id = out.id;
	return made;
}

static bool
renew(struct store *st, int now, int until)
{
	bool kept;

	assert_int_equal(store_lease_renew(st, at_second(now), at_second(until),
	    &kept, NULL), OK);
	return kept;
}

static size_t
take_over(struct store *st, int now)
{
	struct why w = WHY_INIT;
	uint64_t *ids;
	size_t n;

	if (store_task_take_over(st, at_second(now), &arena, &ids, &n, &w) !=
	    OK)
		fail_msg("%s", w.text);
	return n;
}

static size_t
count_mine(struct store *st)
{
	struct store_task_filter f = { .mine = true, .open = true };
	struct store_task *list;
	size_t n;

	assert_int_equal(store_task_list(st, &f, &arena, &list, &n, NULL),
	    OK);
	return n;
}

static uint64_t
version_of(struct store *st)
{
	uint64_t v;

	assert_int_equal(store_version(st, &v, NULL), OK);
	return v;
}

/* --- tests --------------------------------------------------------------- */

/* Its exit code is how many of the tasks it has made. */
static pid_t
start_racer(int k)
{
	char node[16], fid[16];
	int made = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid != 0)
		return pid;
	snprintf(node, sizeof(node), "racer%d", k);
	struct store *st = open_node(node);
	for (int i = 0; i < FIDS; i++) {
		snprintf(fid, sizeof(fid), "t%d", i);
		made += put_task(st, fid, NULL);
	}
	_exit(made);
}

static void
a_fid_is_made_once(void **state)
{
	pid_t pids[RACERS];
	int status, made = 0;
	size_t n;

	(void)state;
	for (int k = 0; k < RACERS; k++)
		pids[k] = start_racer(k);
	for (int k = 0; k < RACERS; k++) {
		assert_int_equal(waitpid(pids[k], &status, 0), pids[k]);
		assert_true(WIFEXITED(status));
		made += WEXITSTATUS(status);
	}
	assert_int_equal(made, FIDS);
	assert_int_equal(store_task_count(a, STR("feed"), &n, NULL), OK);
	assert_int_equal(n, FIDS);
}

static void
tasks_are_taken_over(void **state)
{
	struct store_document d[] = { { .json = STR("{}") } };
	struct store_emit m = { .first = 1, .documents = d, .n = 1,
	    .cursor = STR("1") };
	struct store_ack k = { .first = 1, .last = 1 };
	struct store_task_end end = { .status = { .state = STORE_TASK_DONE },
	    .by_owner = true };
	uint64_t id, closed;
	bool changed;

	(void)state;
	assert_false(renew(a, 0, 30));
	assert_false(renew(b, 0, 60));
	assert_false(renew(c, 0, 60));
	put_task(a, "t1", &id);
	put_task(a, "t2", &closed);
	put_task(b, "t3", NULL);
	assert_int_equal(store_spool_emit(a, id, &m, t0, NULL), OK);
	assert_int_equal(store_task_close(a, closed, &end, t0, &changed,
	    NULL), OK);
	/* While the lease runs, no task is taken over. */
	uint64_t before = version_of(b);
	assert_int_equal(take_over(b, 29), 0);
	assert_true(renew(a, 29, 40));
	assert_int_equal(take_over(b, 39), 0);
	assert_true(version_of(b) == before);
	/* One daemon gets what is open. */
	assert_int_equal(take_over(b, 40), 1);
	assert_int_equal(take_over(c, 40), 0);
	assert_int_equal(count_mine(a), 0);
	assert_int_equal(count_mine(b), 2);
	/* The old one can do nothing more, and learns it. */
	m.first = 2;
	assert_int_equal(store_spool_emit(a, id, &m, t0, NULL), ERR_STATE);
	assert_int_equal(store_spool_ack(a, id, &k, t0, NULL), ERR_STATE);
	assert_int_equal(store_task_close(a, id, &end, t0, &changed, NULL),
	    ERR_STATE);
	assert_false(renew(a, 41, 70));
	assert_int_equal(take_over(b, 50), 0);
	assert_int_equal(store_spool_ack(b, id, &k, t0, NULL), OK);
	assert_int_equal(store_spool_emit(b, id, &m, t0, NULL), OK);
}

/* A daemon that has never had a lease has no tasks for long. */
static void
no_lease_at_all(void **state)
{
	(void)state;
	put_task(a, "t1", NULL);
	renew(b, 0, 60);
	assert_int_equal(take_over(b, 1), 1);
	/* After its restart a daemon finds its own. */
	store_close(&b);
	b = open_node("b");
	assert_int_equal(count_mine(b), 1);
	assert_true(renew(b, 2, 62));
}

/* A status from the back end arrives at another daemon. */
static void
closed_at_another_daemon(void **state)
{
	struct store_document d[] = { { .json = STR("{}") } };
	struct store_emit m = { .first = 1, .documents = d, .n = 1 };
	struct store_task_end end = { .status = { STORE_TASK_TIMEOUT, 408,
	    STR("Task is timeout"), STR("") }, .drop_spool = true };
	struct store_task t;
	uint64_t id;
	bool changed;

	(void)state;
	put_task(a, "t1", &id);
	assert_int_equal(store_spool_emit(a, id, &m, t0, NULL), OK);
	uint64_t before = version_of(a);
	assert_int_equal(store_task_close(b, id, &end, at_second(1), &changed,
	    NULL), OK);
	assert_true(changed);
	assert_true(version_of(a) > before);
	assert_int_equal(count_mine(a), 0);
	m.first = 2;
	assert_int_equal(store_spool_emit(a, id, &m, t0, NULL), ERR_STATE);
	/* The owner, which closes it now, finds it closed. */
	end.status.state = STORE_TASK_DONE;
	end.by_owner = true;
	assert_int_equal(store_task_close(a, id, &end, at_second(2), &changed,
	    NULL), OK);
	assert_false(changed);
	/* A retry belongs to the daemon that got it; one of two wins. */
	t = (struct store_task){ .endpoint = STR("https://e"),
	    .params = STR("{}") };
	assert_int_equal(store_task_retry(b, id, &t, true, 1, at_second(3),
	    NULL), OK);
	assert_int_equal(store_task_retry(a, id, &t, true, 1, at_second(3),
	    NULL), ERR_STATE);
	assert_int_equal(store_task_get(a, id, &arena, &t, NULL), OK);
	assert_true(str_eq(t.node, STR("b")));
	assert_int_equal(t.attempt, 2);
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	static char *arguments[] = { NULL, "postgresql", NULL };
	const struct CMUnitTest tests[] = {
		WITH(a_fid_is_made_once), WITH(tasks_are_taken_over),
		WITH(no_lease_at_all), WITH(closed_at_another_daemon),
	};

	if (!store_test_begin(2, arguments))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}

#include "engine/catalog/read_task.h"

#include "engine/catalog/catalog_testing.h"

#define TASKS 20u

static struct rig rig;
static unsigned ran, came, trims;
static bool is_closed;

struct counted {
	struct read_task task;
	bool again;                  /* puts itself once more when it is done */
};

static void
run(struct read_task *t)
{
	assert_non_null(t->reader);
	ran++;
}

static void
done(struct read_task *t)
{
	struct counted *c = CONTAINER(t, struct counted, task);

	assert_null(t->reader);
	came++;
	if (c->again) {
		c->again = false;
		read_task_put(t->tasks, t);
	}
}

static void
closed(void *arg)
{
	(void)arg;
	is_closed = true;
}

static struct read_tasks *
open_tasks(void)
{
	rig_init(&rig);
	rig_open(&rig);
	ran = came = trims = 0;
	is_closed = false;
	return read_tasks_new(rig.loop, rig.pool, ledger_index(rig.ledger));
}

/* Others wait until a reader is free; closing waits for all of them. */
static void
test_limit(void **state)
{
	struct read_tasks *t = open_tasks();
	struct counted c[TASKS] = { [3].again = true };

	(void)state;
	for (unsigned i = 0; i < TASKS; i++) {
		c[i].task.run = run;
		c[i].task.done = done;
		assert_int_equal(read_tasks_full(t), i >= READ_TASKS_MAX);
		read_task_put(t, &c[i].task);
	}
	/* The pool of the test runs a job when it is submitted. */
	assert_int_equal(ran, READ_TASKS_MAX);
	assert_int_equal(came, 0);
	read_tasks_close(t, closed, NULL);
	assert_false(is_closed);
	rig_run(&rig);
	assert_int_equal(ran, TASKS + 1);
	assert_int_equal(came, TASKS + 1);
	assert_true(is_closed);
	read_tasks_free(&t);
	rig_end(&rig);
}

static bool
count_trim(struct trim *x, struct mono now)
{
	(void)x;
	(void)now;
	return ++trims < 3;
}

/* A while after the last use, again and again until nothing is left. */
static void
test_trim(void **state)
{
	struct read_tasks *t = open_tasks();
	struct trim x = { .run = count_trim };

	(void)state;
	read_tasks_trim(t, &x);
	rig_pass(&rig, 60000);
	assert_int_equal(trims, 0);
	read_tasks_give_back(t, read_tasks_lend(t));
	rig_pass(&rig, 9000);
	assert_int_equal(trims, 0);
	rig_pass(&rig, 2000);
	assert_int_equal(trims, 1);
	rig_pass(&rig, 60000);
	assert_int_equal(trims, 3);
	read_tasks_close(t, closed, NULL);
	assert_true(is_closed);
	read_tasks_free(&t);
	rig_end(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_trim),
	};

	return cmocka_run_group_tests(tests, world_setup, world_teardown);
}

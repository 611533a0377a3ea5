#include "os/system.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sched.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/loop.h"

/* A loop that ends when it has noted its thread's policy. */
static struct loop *follower;
static int noted_policy = -1;

static bool
has_name(const struct system_thread *all, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].name, name) == 0)
			return true;
	return false;
}

/* The first one first, and no more than there is room for. */
static void
test_threads(void **state)
{
	struct system_thread all[8];
	struct loop *l = loop_new("another");
	size_t n = system_threads(all, ARRAY_LEN(all));

	(void)state;
	assert_false(has_name(all, n, "another"));
	loop_start(l);
	/* It gives itself its name. */
	while (!has_name(all, n, "another"))
		n = system_threads(all, ARRAY_LEN(all));
	assert_true(n >= 2 && n < ARRAY_LEN(all));
	assert_int_equal(all[0].id, system_pid());
	assert_true(all[0].cpu_ns > 0);
	for (size_t i = 1; i < n; i++)
		assert_true(all[i].id > all[i - 1].id);
	assert_int_equal(system_threads(all, 1), 1);
	assert_int_equal(system_threads(all, 0), 0);
	loop_stop(l);
	loop_join(l);
	loop_free(&l);
}

static void
note_policy(struct mail *m)
{
	(void)m;
	noted_policy = sched_getscheduler(0);
	loop_stop(follower);
}

/* Threads that are made later follow; a policy that was chosen stays. */
static void
test_give_way(void **state)
{
	struct sched_param none = { 0 };
	struct mail mail = { 0 };

	(void)state;
	if (sched_getscheduler(0) != SCHED_OTHER)
		skip();
	system_give_way();
	assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
	follower = loop_new("follower");
	loop_start(follower);
	loop_send(follower, &mail, note_policy);
	loop_join(follower);
	loop_free(&follower);
	assert_int_equal(noted_policy, SCHED_BATCH);
	assert_int_equal(sched_setscheduler(0, SCHED_IDLE, &none), 0);
	system_give_way();
	assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "os/system.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "os/loop.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_threads) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "os/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "os/clock.h"

static enum err
run(struct process *p, const char *const *argv, int64_t ms)
{
	*p = (struct process){ .argv = argv, .ms_max = ms };
	return process_run(p, NULL);
}

static void
test_words_stay_words(void **state)
{
	const char *const argv[] = { "echo", "a;b", "$HOME", "c d", NULL };
	struct process p;

	(void)state;
	assert_int_equal(run(&p, argv, 10000), OK);
	assert_true(str_eq(buf_str(&p.out), STR("a;b $HOME c d\n")));
	buf_free(&p.out);
}

static void
test_failures(void **state)
{
	const char *const three[] = { "sh", "-c",
	    "echo one >&2; echo two >&2; exit 3", NULL };
	const char *const none[] = { "/nowhere/at/all", NULL };
	struct process p;

	(void)state;
	assert_int_equal(run(&p, three, 10000), ERR_STATE);
	assert_int_equal(p.code, 3);
	assert_string_equal(p.error, "two");
	buf_free(&p.out);
	assert_int_equal(run(&p, none, 10000), ERR_ABSENT);
	buf_free(&p.out);
}

/* The rest is read, or the command would wait for ever. */
static void
test_output_limit(void **state)
{
	const char *const argv[] = { "head", "-c", "1000000", "/dev/zero",
		NULL };
	struct process p;

	(void)state;
	assert_int_equal(run(&p, argv, 60000), OK);
	assert_int_equal(p.out.n, PROCESS_OUT_MAX);
	buf_free(&p.out);
}

static void
test_time_limit(void **state)
{
	const char *const argv[] = { "sh", "-c", "sleep 60; true", NULL };
	struct mono begun = clock_mono();
	struct process p;

	(void)state;
	assert_int_equal(run(&p, argv, 100), ERR_STATE);
	assert_true(p.timed_out);
	assert_true(mono_before(clock_mono(), mono_add_ms(begun, 30000)));
	buf_free(&p.out);
}

static void
test_environment(void **state)
{
	const char *const argv[] = { "env", NULL };
	struct process p;

	(void)state;
	setenv("ARGIOPE_SECRET", "do-not-tell", 1);
	assert_int_equal(run(&p, argv, 10000), OK);
	buf_put_char(&p.out, 0);
	assert_null(strstr(p.out.p, "do-not-tell"));
	assert_non_null(strstr(p.out.p, "PATH="));
	buf_free(&p.out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_stay_words),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_output_limit),
		cmocka_unit_test(test_time_limit),
		cmocka_unit_test(test_environment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

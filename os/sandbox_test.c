/*
 * What can be seen without entering; script/native_test.c enters, and makes
 * every system call from inside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/channel.h"
#include "os/sandbox.h"
#include "os/system.h"

static void
test_layers_have_texts(void **state)
{
	(void)state;
	assert_string_equal(sandbox_layer_text(SANDBOX_SECCOMP), "seccomp");
	assert_string_equal(sandbox_layer_text(SANDBOX_IPC_NS),
	    "ipc namespace");
}

/* This process is in no sandbox, and neither is one that does not exist. */
static void
test_check_finds_what_is_missing(void **state)
{
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(sandbox_check(system_pid(), false, &w), ERR_STATE);
	assert_true(strstr(w.text, "privileges") != NULL ||
	    strstr(w.text, "seccomp") != NULL ||
	    strstr(w.text, "capabilities") != NULL);
	w = WHY_INIT;
	assert_int_equal(sandbox_check(INT32_MAX, false, &w), ERR_STATE);
}

/* A child that enters by itself; its exit code is the number of the check. */
static int
enter_and_report(int fd)
{
	const struct sandbox_plan plan = { .memory_bytes = 64 << 20,
		.cpu_s = 10, .drop_user = geteuid() == 0 };
	struct why w = WHY_INIT;
	unsigned layers = 0;

	if (dup2(fd, 0) != 0 ||
	    close_range(sandbox_first_closed(), ~0u, 0) != 0)
		return 1;
	if (sandbox_enter(&plan, &layers, &w) != OK)
		return 2;
	if (channel_write(0, &layers, sizeof(layers)) != sizeof(layers))
		return 3;
	/* Until the other side is gone. */
	while (channel_read(0, &layers, sizeof(layers)) >= 0)
		;
	return 0;
}

static void
test_a_process_enters(void **state)
{
	struct why w = WHY_INIT;
	unsigned layers = 0;
	int near, far, status = 0;

	(void)state;
	assert_int_equal(channel_open(&near, &far, &w), OK);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(enter_and_report(far));
	channel_close(&far);
	assert_int_equal(far, -1);
	assert_true(channel_wait(near, 10000));
	assert_int_equal(channel_read(near, &layers, sizeof(layers)),
	    sizeof(layers));
	assert_true((layers & SANDBOX_BIT(SECCOMP)) != 0);
	assert_int_equal((layers & SANDBOX_BIT(USER)) != 0, geteuid() == 0);
	assert_int_equal(sandbox_check(pid, false, &w), OK);
	assert_int_equal(channel_read(near, &layers, sizeof(layers)), 0);
	channel_close(&near);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
test_a_channel_ends_with_its_other_side(void **state)
{
	struct why w = WHY_INIT;
	char bytes[4] = "";
	int near, far;

	(void)state;
	assert_int_equal(channel_open(&near, &far, &w), OK);
	assert_int_equal(channel_read(near, bytes, 4), 0);
	assert_int_equal(channel_write(far, "ab", 2), 2);
	assert_int_equal(channel_read(near, bytes, 4), 2);
	channel_close(&far);
	assert_int_equal(channel_read(near, bytes, 4), -1);
	assert_int_equal(channel_write(near, "ab", 2), -1);
	channel_close(&near);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layers_have_texts),
		cmocka_unit_test(test_check_finds_what_is_missing),
		cmocka_unit_test(test_a_process_enters),
		cmocka_unit_test(test_a_channel_ends_with_its_other_side),
	};

	system_ignore_sigpipe();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

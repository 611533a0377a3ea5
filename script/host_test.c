/* Processes and runs, through the real spawner and its sandbox. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>

#include "os/clock.h"
#include "script/host_own.h"
#include "script/script_testing.h"

#define RUNS 8

static void
test_empty_run_succeeds(void **state)
{
	struct bench_world *world = script_testing_open(NULL);

	(void)state;
	expect_success(world, "", "[]");
	struct script_host_stats s = script_host_stats(world->host);
	assert_int_equal(s.processes, 1);
	assert_int_equal(s.runs, 1);
	assert_int_equal(s.running, 0);
	assert_true(s.has_layers);
	assert_true((s.layers & SANDBOX_BIT(SECCOMP)) != 0);
	struct buf text = BUF_INIT;
	script_layers_text(s.layers, &text);
	print_message("layers: %s\n", buf_text(&text));
	assert_non_null(strstr(text.p, "seccomp"));
	buf_free(&text);
	script_testing_close(&world);
}

/* ---- Lines -------------------------------------------------------------- */

static void
two_processes(struct script_host_options *o)
{
	o->processes_max = 2;
}

static void
test_runs_wait_for_a_process(void **state)
{
	struct bench_world *world = script_testing_open(two_processes);
	struct tried runs[RUNS];

	(void)state;
	tried_init(&runs[0], world, "await c.sleep(20)");
	for (size_t i = 1; i < RUNS; i++) {
		tried_init(&runs[i], world, "");
		bundle_drop(&runs[i].run.bundle);
		runs[i].run.bundle = bundle_hold(runs[0].run.bundle);
	}
	for (size_t i = 0; i < RUNS; i++)
		tried_start(&runs[i]);
	assert_int_equal(script_host_stats(world->host).processes, 2);
	assert_int_equal(script_host_stats(world->host).waiting, RUNS - 2);
	for (size_t i = 0; i < RUNS; i++) {
		tried_wait(&runs[i]);
		assert_true(runs[i].is_success);
		tried_free(&runs[i]);
	}
	assert_int_equal(script_host_stats(world->host).started, 2);
	assert_int_equal(script_host_stats(world->host).waiting, 0);
	script_testing_close(&world);
}

static void
one_process(struct script_host_options *o)
{
	o->processes_max = 1;
	o->runs_max = 3;
}

static void
test_a_process_is_replaced_after_its_runs(void **state)
{
	struct bench_world *world = script_testing_open(one_process);
	struct tried first;

	(void)state;
	tried_init(&first, world, "");
	for (int i = 1; i <= 7; i++) {
		struct tried t;
		tried_init(&t, world, "");
		bundle_drop(&t.run.bundle);
		t.run.bundle = bundle_hold(first.run.bundle);
		tried_run(&t);
		assert_true(t.is_success);
		assert_int_equal(script_host_stats(world->host).started,
		    (i + 2) / 3);
		tried_free(&t);
	}
	tried_free(&first);
	script_testing_close(&world);
}

/* A process serves one bundle; another one's takes its place. */
static void
test_bundles_do_not_share_a_process(void **state)
{
	struct bench_world *world = script_testing_open(one_process);

	(void)state;
	for (int i = 0; i < 3; i++) {
		expect_success(world, "globalThis.left = 1", "[]");
		expect_success(world, "if (globalThis.left) throw 1", "[]");
	}
	assert_int_equal(script_host_stats(world->host).started, 6);
	script_testing_close(&world);
}

/* A run finds nothing that the one before it has left in its process. */
static void
test_a_runs_globals_go_with_it(void **state)
{
	struct bench_world *world = script_testing_open(one_process);
	struct tried a, b;

	(void)state;
	tried_init(&a, world, "if (Array.left || globalThis.left) throw 1; "
	    "Array.left = globalThis.left = 1; JSON.parse = null");
	tried_init(&b, world, "");
	bundle_drop(&b.run.bundle);
	b.run.bundle = bundle_hold(a.run.bundle);
	tried_run(&a);
	tried_run(&b);
	assert_true(a.is_success && b.is_success);
	assert_int_equal(script_host_stats(world->host).started, 1);
	tried_free(&a);
	tried_free(&b);
	script_testing_close(&world);
}

/* ---- Ends from outside -------------------------------------------------- */

static void
until_running(struct tried *t)
{
	while (t->run.process == NULL ||
	    t->run.process->state != PROCESS_RUNNING)
		(void)loop_step(t->world->loop);
}

static void
keep_call(struct tried *t, struct script_call *c)
{
	t->arg = c;
}

static void
test_runs_are_cancelled(void **state)
{
	struct bench_world *world = script_testing_open(one_process);
	struct tried running, waiting;

	(void)state;
	tried_init(&running, world, "await c.getItem('y')");
	running.on_call = keep_call;
	tried_init(&waiting, world, "");
	tried_start(&running);
	tried_start(&waiting);
	while (running.arg == NULL)
		(void)loop_step(world->loop);
	script_run_cancel(&waiting.run);
	assert_int_equal(script_host_stats(world->host).waiting, 0);
	script_run_cancel(&running.run);
	assert_int_equal(running.cancelled_n, 1);
	assert_int_equal(script_host_stats(world->host).running, 0);
	/* Its process goes on with the next run. */
	struct tried next;
	tried_init(&next, world, "");
	bundle_drop(&next.run.bundle);
	next.run.bundle = bundle_hold(running.run.bundle);
	next.run.task = STR("none");
	tried_run(&next);
	assert_string_equal(next.code, "error");
	assert_int_equal(script_host_stats(world->host).started, 1);
	tried_free(&next);
	assert_int_equal(running.done_n + waiting.done_n, 0);
	tried_free(&running);
	tried_free(&waiting);
	script_testing_close(&world);
}

/* One that does not notice is killed, and one that has not begun is not. */
static void
test_a_cancelled_loop_is_killed(void **state)
{
	struct bench_world *world = script_testing_open(one_process);
	struct tried loop, starting;

	(void)state;
	tried_init(&loop, world, "for (;;) {}");
	tried_start(&loop);
	until_running(&loop);
	script_run_cancel(&loop.run);
	expect_success(world, "", "[]");
	assert_int_equal(script_host_stats(world->host).started, 2);
	tried_init(&starting, world, "for (;;) {}");
	tried_start(&starting);
	script_run_cancel(&starting.run);
	expect_success(world, "", "[]");
	assert_int_equal(loop.done_n + starting.done_n, 0);
	tried_free(&loop);
	tried_free(&starting);
	script_testing_close(&world);
}

static void
test_a_killed_process_fails_its_run_alone(void **state)
{
	struct bench_world *world = script_testing_open(NULL);
	struct tried killed, other;

	(void)state;
	tried_init(&killed, world, "for (;;) await c.sleep(10)");
	tried_init(&other, world, "await c.sleep(100)");
	tried_start(&killed);
	tried_start(&other);
	until_running(&killed);
	assert_int_equal(kill((pid_t)killed.run.process->pid, SIGKILL), 0);
	tried_wait(&killed);
	assert_string_equal(killed.code, "lost_worker");
	assert_string_equal(killed.class, "transient");
	tried_wait(&other);
	assert_true(other.is_success);
	tried_free(&killed);
	tried_free(&other);
	script_testing_close(&world);
}

/* The parent of a process: a line of its status. */
static pid_t
parent_of(int64_t pid)
{
	char path[64], line[256];
	long parent = 0;

	snprintf(path, sizeof(path), "/proc/%lld/status", (long long)pid);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "PPid: %ld", &parent) == 1)
			break;
	fclose(f);
	return (pid_t)parent;
}

/* systemd sends it to every process, and the daemon still lets runs end. */
static void
test_sigterm_is_the_daemons_alone(void **state)
{
	struct bench_world *world = script_testing_open(NULL);
	struct tried t;

	(void)state;
	tried_init(&t, world, "await c.sleep(100)");
	tried_start(&t);
	until_running(&t);
	int64_t pid = t.run.process->pid;
	assert_int_equal(kill(parent_of(pid), SIGTERM), 0);
	assert_int_equal(kill((pid_t)pid, SIGTERM), 0);
	tried_wait(&t);
	assert_true(t.is_success);
	tried_free(&t);
	expect_success(world, "", "[]");
	script_testing_close(&world);
}

static void
test_the_spawner_is_started_again(void **state)
{
	struct bench_world *world = script_testing_open(NULL);
	struct tried t;

	(void)state;
	tried_init(&t, world, "for (;;) await c.sleep(10)");
	tried_start(&t);
	until_running(&t);
	assert_int_equal(kill(parent_of(t.run.process->pid), SIGKILL), 0);
	tried_wait(&t);
	assert_string_equal(t.code, "lost_worker");
	assert_string_equal(t.class, "transient");
	tried_free(&t);
	expect_success(world, "", "[]");
	script_testing_close(&world);
}

/* ---- Memory ------------------------------------------------------------- */

/* Bytes that the process alone has written; -1: they cannot be read. */
static int64_t
own_bytes(int64_t pid)
{
	char path[64], line[256];
	long long kib = -1;

	snprintf(path, sizeof(path), "/proc/%lld/smaps_rollup",
	    (long long)pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "Private_Dirty: %lld", &kib) == 1)
			break;
	fclose(f);
	return kib < 0 ? -1 : (int64_t)kib * 1024;
}

static void
test_an_idle_process_is_small(void **state)
{
	struct bench_world *world = script_testing_open(one_process);
	struct tried a, b;

	(void)state;
	tried_init(&a, world, "const k = []; for (let i = 0; i < 3e4; i++) "
	    "k.push({i, s: 'x' + i}); new Uint8Array(2e7)");
	tried_run(&a);
	assert_true(a.is_success);
	assert_true(a.heap_bytes > 20000000);
	tried_init(&b, world, "await c.sleep(100)");
	bundle_drop(&b.run.bundle);
	b.run.bundle = bundle_hold(a.run.bundle);
	tried_start(&b);
	until_running(&b);
	int64_t pid = b.run.process->pid;
	tried_wait(&b);
	/* Behind FINISH the process frees its runtime, and a bit later more. */
	struct mono until = mono_add_ms(clock_mono(), 5000);
	int64_t bytes;
	do {
		(void)poll(NULL, 0, 20);
		bytes = own_bytes(pid);
	} while (bytes > 2 << 20 && sandbox_first_closed() == 1 &&
	    mono_before(clock_mono(), until));
	print_message("idle: %lld KiB of its own\n", (long long)bytes / 1024);
	/* Sanitizers keep shadows of all memory. */
	if (bytes >= 0 && sandbox_first_closed() == 1)
		assert_true(bytes <= 2 << 20);
	tried_free(&a);
	tried_free(&b);
	script_testing_close(&world);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_run_succeeds),
		cmocka_unit_test(test_runs_wait_for_a_process),
		cmocka_unit_test(test_a_process_is_replaced_after_its_runs),
		cmocka_unit_test(test_bundles_do_not_share_a_process),
		cmocka_unit_test(test_a_runs_globals_go_with_it),
		cmocka_unit_test(test_runs_are_cancelled),
		cmocka_unit_test(test_a_cancelled_loop_is_killed),
		cmocka_unit_test(test_a_killed_process_fails_its_run_alone),
		cmocka_unit_test(test_sigterm_is_the_daemons_alone),
		cmocka_unit_test(test_the_spawner_is_started_again),
		cmocka_unit_test(test_an_idle_process_is_small),
	};

	script_testing_begin(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

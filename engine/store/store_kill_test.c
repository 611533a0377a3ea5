/*
 * A child puts rows, tells each that was acknowledged through a pipe, and is
 * killed at a random moment, again and again: nothing it told may be missing.
 * Neither when it is the server that is killed, which the child outlives.
 */
#include "engine/store/store.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/postgresql_testing.h"

#define KILLS 20
#define SERVER_KILLS 5
#define POLICIES 40                /* names that are written over and over */

static char dir[64];
static const struct store_options options = {
	.policies_max = 1000000, .schedules_max = 1000000,
};

/* What was acknowledged: the numbers of puts are 1, 2, 3 ... */
static uint64_t told;

static enum err
put_once(struct store *st, uint64_t i, struct why *w)
{
	char name[32], value[64];
	struct wall now = { (int64_t)i };

	snprintf(name, sizeof(name), "p%llu",
	    (unsigned long long)i % POLICIES);
	snprintf(value, sizeof(value), "{\"i\":%llu}", (unsigned long long)i);
	struct schedule s = { .name = str_of(name), .seeds = STR("[]"),
	    .policy_json = str_of(value), .every = 1, .unit = SCHEDULE_DAYS };
	if (i % 3 == 0)
		return store_policy_put(st, str_of(name), str_of(value), now,
		    w);
	if (i % 3 == 1)
		return store_schedule_put(st, &s, now, w);
	snprintf(name, sizeof(name), "s%llu", (unsigned long long)i);
	return store_policy_put(st, str_of(name), str_of(value), now, w);
}

static void
put(struct store *st, uint64_t i)
{
	struct why w = WHY_INIT;
	enum err e;

	/* A server that is not there comes back. */
	while ((e = put_once(st, i, &w)) == ERR_UNREACHED) {
		w = WHY_INIT;
		usleep(5000);
	}
	if (e != OK) {
		fprintf(stderr, "put %llu: %s\n", (unsigned long long)i,
		    w.text);
		_exit(1);
	}
}

static void
child(int pipe_fd)
{
	struct store *st;
	struct why w = WHY_INIT;

	if (store_test_open(dir, &options, &st, &w) != OK) {
		fprintf(stderr, "%s\n", w.text);
		_exit(1);
	}
	for (uint64_t i = told + 1;; i++) {
		put(st, i);
		if (write(pipe_fd, &i, sizeof(i)) != sizeof(i))
			_exit(1);
	}
}

/* Start one, kill it some time later, note what it said. */
static void
round_of_killing(unsigned us)
{
	int fds[2], status;
	uint64_t i;

	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		child(fds[1]);
	}
	close(fds[1]);
	/* The time runs from its first word on. */
	if (read(fds[0], &i, sizeof(i)) == sizeof(i))
		told = i;
	usleep(us);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(fds[0], &i, sizeof(i)) == sizeof(i)) {
		assert_int_equal(i, told + 1);
		told = i;
	}
	close(fds[0]);
}

/*
 * Numbers above `told` may be there, once (a put may have been committed and
 * not told); the next child puts that number again, so a schedule can stand
 * there twice: at least once is what the store promises.
 */
static void
check_policies(struct store *st, struct arena *a)
{
	char name[32], value[64];
	struct store_policy p;

	for (uint64_t i = 1; i <= told; i++) {
		if (i % 3 != 2)
			continue;
		snprintf(name, sizeof(name), "s%llu", (unsigned long long)i);
		snprintf(value, sizeof(value), "{\"i\":%llu}",
		    (unsigned long long)i);
		if (store_policy_get(st, str_of(name), a, &p, NULL) != OK ||
		    !str_eq(p.json, str_of(value)))
			fail_msg("policy %s is lost", name);
	}
	for (uint64_t i = told; i > 0 && i + 3 * POLICIES > told; i--) {
		if (i % 3 != 0)
			continue;
		snprintf(name, sizeof(name), "p%llu",
		    (unsigned long long)i % POLICIES);
		if (store_policy_get(st, str_of(name), a, &p, NULL) != OK ||
		    p.changed.us < (int64_t)i)
			fail_msg("policy %s is older than put %llu", name,
			    (unsigned long long)i);
	}
}

static void
check_schedules(struct store *st, struct arena *a)
{
	struct schedule *list;
	size_t n;
	bool *seen = mem_array(told + 2, sizeof(*seen));

	assert_int_equal(store_schedule_list(st, a, &list, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		assert_true(list[i].start_at.us <= (int64_t)told + 1);
		seen[list[i].start_at.us] = true;
	}
	for (uint64_t i = 1; i <= told; i += 3)
		if (!seen[i])
			fail_msg("schedule of put %llu is lost",
			    (unsigned long long)i);
	mem_free(&seen);
}

static void
check_all(void)
{
	struct store *st;
	struct why w = WHY_INIT;
	struct arena a = ARENA_INIT;

	if (store_test_open(dir, &options, &st, &w) != OK ||
	    store_test_check(dir, st, &w) != OK)
		fail_msg("%s", w.text);
	check_policies(st, &a);
	check_schedules(st, &a);
	store_close(&st);
	arena_free(&a);
}

static void
killed_and_nothing_lost(void **state)
{
	uint64_t before;
	unsigned us;

	(void)state;
	for (int i = 0; i < KILLS; i++) {
		clock_random(&us, sizeof(us));
		before = told;
		round_of_killing(us % 60000);
		assert_true(told > before);
		check_all();
	}
	printf("%d kills, %llu acknowledged puts, none lost\n", KILLS,
	    (unsigned long long)told);
}

static void
wait_for_puts(int fd, uint64_t more)
{
	uint64_t i, want = told + more;

	while (told < want) {
		assert_int_equal(read(fd, &i, sizeof(i)), sizeof(i));
		assert_int_equal(i, told + 1);
		told = i;
	}
}

static void
server_killed_and_nothing_lost(void **state)
{
	int fds[2], status;
	uint64_t i;
	unsigned us;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		child(fds[1]);
	}
	close(fds[1]);
	for (int k = 0; k < SERVER_KILLS; k++) {
		wait_for_puts(fds[0], 20);
		clock_random(&us, sizeof(us));
		usleep(us % 60000);
		postgresql_test_kill(store_test_server());
		postgresql_test_start_again(store_test_server());
	}
	wait_for_puts(fds[0], 20);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (read(fds[0], &i, sizeof(i)) == sizeof(i))
		told = i;
	close(fds[0]);
	check_all();
	printf("%d kills of the server, %llu acknowledged puts, none lost\n",
	    SERVER_KILLS, (unsigned long long)told);
}

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-kill-XXXXXX");
	store_test_renew();
	told = 0;
	return mkdtemp(dir) == NULL;
}

static int
teardown(void **state)
{
	static const char *const files[] = { "store.db", "store.db-wal",
	    "store.db-shm" };
	char path[96];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		unlink(path);
	}
	return rmdir(dir);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_and_nothing_lost, setup,
		    teardown),
	};
	const struct CMUnitTest server_tests[] = {
		cmocka_unit_test_setup_teardown(server_killed_and_nothing_lost,
		    setup, teardown),
	};

	if (!store_test_begin(argc, argv))
		return POSTGRESQL_TEST_SKIP;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (store_test_server() != NULL)
		failed += cmocka_run_group_tests(server_tests, NULL, NULL);
	return store_test_end(failed);
}

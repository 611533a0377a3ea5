/*
 * A child emits documents into the spool and acknowledges them, tells each
 * commit through a pipe, and is killed at a random moment, again and again: no
 * document is lost, none comes twice, and the cursor is where the documents
 * are.  Then the server is killed, which the child outlives.
 */
#include "engine/store/store_external.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/clock.h"
#include "os/postgresql_testing.h"
#include "os/tree.h"

#define KILLS 20
#define SERVER_KILLS 3
#define BATCH 10u
#define REFUSED_EACH 7u            /* the back end refuses every seventh */

static char dir[64];

/* The child's report: the last document of a commit. */
struct told {
	uint64_t emitted, acknowledged;
};
static struct told told;

static void
check(enum err e, struct why *w)
{
	if (e != OK) {
		fprintf(stderr, "%s\n", w->text);
		_exit(1);
	}
}

static void
write_document(char text[static 32], uint64_t number)
{
	snprintf(text, 32, "{\"n\":%llu}", (unsigned long long)number);
}

/* -- The child -- */

static void
emit_batch(struct store *st, uint64_t id, uint64_t first)
{
	char texts[BATCH][32], cursor[32];
	struct store_document d[BATCH];
	struct store_emit m = { .first = first, .documents = d, .n = BATCH };
	struct why w = WHY_INIT;
	enum err e;

	for (size_t i = 0; i < BATCH; i++) {
		write_document(texts[i], first + i);
		d[i] = (struct store_document){ .json = str_of(texts[i]) };
	}
	snprintf(cursor, sizeof(cursor), "%llu",
	    (unsigned long long)(first + BATCH - 1));
	m.cursor = m.checkpoint = str_of(cursor);
	/* A server that is not there comes back. */
	while ((e = store_spool_emit(st, id, &m, clock_wall(), &w)) ==
	    ERR_UNREACHED) {
		w = WHY_INIT;
		usleep(5000);
	}
	check(e, &w);
}

static void
acknowledge_batch(struct store *st, uint64_t id, uint64_t first)
{
	struct store_document bad[BATCH];
	struct store_ack k = { .first = first, .last = first + BATCH - 1,
	    .refused = bad };
	struct why w = WHY_INIT;
	enum err e;

	for (uint64_t i = first; i <= k.last; i++)
		if (i % REFUSED_EACH == 0)
			bad[k.refused_n++] = (struct store_document){
			    .number = i, .message = STR("refused") };
	while ((e = store_spool_ack(st, id, &k, clock_wall(), &w)) ==
	    ERR_UNREACHED) {
		w = WHY_INIT;
		usleep(5000);
	}
	check(e, &w);
}

static void
tell(int fd, const struct told *t)
{
	if (write(fd, t, sizeof(*t)) != sizeof(*t))
		_exit(1);
}

/* Go on from what the store has. */
static void
child(int fd)
{
	struct store_task order = { .backend = STR("acme"), .fid = STR("t1"),
	    .connector = STR("feed"), .endpoint = STR("https://e"),
	    .params = STR("{}") }, t;
	struct arena a = ARENA_INIT;
	struct store *st;
	struct why w = WHY_INIT;
	bool made;

	check(store_test_open(dir, NULL, &st, &w), &w);
	check(store_task_put(st, &order, 1, clock_wall(), &a, &t, &made, &w),
	    &w);
	struct told now = { t.emitted, t.emitted - t.spooled };
	for (;;) {
		/* Up to three batches are on the way. */
		if (now.emitted < now.acknowledged + 3 * (uint64_t)BATCH) {
			emit_batch(st, t.id, now.emitted + 1);
			now.emitted += BATCH;
		} else {
			acknowledge_batch(st, t.id, now.acknowledged + 1);
			now.acknowledged += BATCH;
		}
		tell(fd, &now);
	}
}

/* -- The parent -- */

static pid_t
start_child(int *fd)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		child(fds[1]);
	}
	close(fds[1]);
	*fd = fds[0];
	return pid;
}

static void
kill_child(pid_t pid, int fd)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(fd, &told, sizeof(told)) == sizeof(told))
		;
	close(fd);
}

static void
wait_for_commits(int fd, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(read(fd, &told, sizeof(told)), sizeof(told));
}

static void
check_spool(struct store *st, const struct store_task *t, struct arena *a)
{
	struct store_document *d;
	size_t n;
	char text[32];

	assert_int_equal(store_spool_read(st, t->id, 1, 10000, 1 << 20, a, &d,
	    &n, NULL), OK);
	assert_int_equal(n, t->spooled);
	for (size_t i = 0; i < n; i++) {
		uint64_t number = t->emitted - n + 1 + i;
		assert_int_equal(d[i].number, number);
		write_document(text, number);
		assert_true(str_eq(d[i].json, str_of(text)));
	}
}

static void
check_all(void)
{
	struct arena a = ARENA_INIT;
	struct store *st;
	struct store_task t;
	struct why w = WHY_INIT;
	char cursor[32];

	if (store_test_open(dir, NULL, &st, &w) != OK ||
	    store_test_check(dir, st, &w) != OK ||
	    store_task_find(st, STR("acme"), STR("t1"), &a, &t, &w) != OK)
		fail_msg("%s", w.text);
	/* One commit may not have been told. */
	assert_true(t.emitted == told.emitted ||
	    t.emitted == told.emitted + BATCH);
	uint64_t acknowledged = t.uploaded + t.rejected;
	assert_true(acknowledged == told.acknowledged ||
	    acknowledged == told.acknowledged + BATCH);
	assert_int_equal(acknowledged + t.spooled, t.emitted);
	assert_int_equal(t.rejected, acknowledged / REFUSED_EACH);
	snprintf(cursor, sizeof(cursor), "%llu", (unsigned long long)t.emitted);
	assert_true(str_eq(t.cursor, str_of(cursor)));
	assert_true(str_eq(t.checkpoint, str_of(cursor)));
	check_spool(st, &t, &a);
	store_close(&st);
	arena_free(&a);
}

static void
killed_and_nothing_lost(void **state)
{
	unsigned us;
	int fd;

	(void)state;
	for (int i = 0; i < KILLS; i++) {
		pid_t pid = start_child(&fd);
		/* The time runs from its first commit on. */
		wait_for_commits(fd, 1);
		clock_random(&us, sizeof(us));
		usleep(us % 60000);
		kill_child(pid, fd);
		check_all();
	}
	printf("%d kills, %llu documents acknowledged\n", KILLS,
	    (unsigned long long)told.acknowledged);
}

static void
server_killed_and_nothing_lost(void **state)
{
	unsigned us;
	int fd;

	(void)state;
	pid_t pid = start_child(&fd);
	for (int i = 0; i < SERVER_KILLS; i++) {
		wait_for_commits(fd, 20);
		clock_random(&us, sizeof(us));
		usleep(us % 60000);
		postgresql_test_kill(store_test_server());
		postgresql_test_start_again(store_test_server());
	}
	wait_for_commits(fd, 20);
	kill_child(pid, fd);
	check_all();
	printf("%d kills of the server, %llu documents acknowledged\n",
	    SERVER_KILLS, (unsigned long long)told.acknowledged);
}

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/argiope-kill-XXXXXX");
	store_test_renew();
	told = (struct told){ .emitted = 0 };
	return mkdtemp(dir) == NULL;
}

static int
teardown(void **state)
{
	(void)state;
	return tree_remove(dir, NULL) != OK;
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

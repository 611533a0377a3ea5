/*
 * Daemons that share a store, and the copy of a store into another one.  It
 * runs on a PostgreSQL server of its own.
 */
#include "engine/store/store.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/postgresql_testing.h"

static char dir[64];
static struct store *a, *b;
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
	arena = ARENA_INIT;
	return 0;
}

static int
teardown(void **state)
{
	char path[128];
	struct str *names;
	size_t n;

	(void)state;
	assert_int_equal(store_test_check(dir, a, NULL), OK);
	store_close(&a);
	store_close(&b);
	assert_int_equal(file_list(dir, &arena, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", dir,
		    STR_FMT(names[i]));
		unlink(path);
	}
	arena_free(&arena);
	return rmdir(dir);
}

static struct wall
minutes(int64_t n)
{
	return (struct wall){ t0.us + n * 60 * US_PER_S };
}

static uint64_t
put(struct store *st, enum schedule_timing timing)
{
	static const struct str tags[] = { STR("x"), STR("\303\251\"") };
	struct schedule s = { .name = STR("s"), .seeds = STR("[\"u\"]"),
	    .policy = STR("default"), .every = 10, .unit = SCHEDULE_MINUTES,
	    .timing = timing, .tags = tags, .tags_n = 2 };
	struct why w = WHY_INIT;

	if (store_schedule_put(st, &s, t0, &w) != OK)
		fail_msg("%s", w.text);
	return s.id;
}

static size_t
count_due(struct store *st, struct wall now, struct schedule **list)
{
	struct schedule *unused;
	struct why w = WHY_INIT;
	size_t n;

	if (store_schedule_due(st, now, &arena, list == NULL ? &unused : list,
	    &n, &w) != OK)
		fail_msg("%s", w.text);
	return n;
}

static struct wall
next_of(struct store *st)
{
	struct wall next;

	assert_int_equal(store_schedule_next(st, &next, NULL), OK);
	return next;
}

static uint64_t
version_of(struct store *st)
{
	uint64_t v;

	assert_int_equal(store_version(st, &v, NULL), OK);
	return v;
}

static void
one_daemon_gets_a_run(void **state)
{
	struct schedule *list, s;
	uint64_t id = put(a, SCHEDULE_REGULAR);

	(void)state;
	assert_int_equal(id, 1);
	assert_true(next_of(b).us == t0.us);
	/* Nothing is due: nobody is told of a change. */
	uint64_t before = version_of(b);
	assert_int_equal(count_due(a, (struct wall){ t0.us - 1 }, NULL), 0);
	assert_true(version_of(b) == before);
	assert_int_equal(count_due(a, t0, &list), 1);
	assert_int_equal(list[0].id, id);
	assert_true(str_eq(list[0].tags[1], STR("\303\251\"")));
	assert_true(version_of(b) > before);
	/* The other one gets it neither now nor later. */
	assert_int_equal(count_due(b, t0, NULL), 0);
	assert_int_equal(count_due(b, minutes(10000), NULL), 0);
	assert_true(next_of(b).us == SCHEDULE_NEVER.us);
	/* The first one gets it again, as after a crash. */
	store_close(&a);
	a = open_node("a");
	assert_true(next_of(a).us == t0.us);
	assert_int_equal(count_due(a, t0, &list), 1);
	struct str key = list[0].key;
	assert_true(str_starts(key, STR("1/1/")));
	assert_true(key.n == 12);
	assert_int_equal(store_schedule_ran(a, id, 7, t0, NULL), OK);
	/* The next run is everybody's. */
	assert_true(next_of(b).us == minutes(10).us);
	assert_int_equal(count_due(b, minutes(10), &list), 1);
	assert_true(str_starts(list[0].key, STR("1/2/")));
	assert_true(str_eq(str_from(list[0].key, 3), str_from(key, 3)));
	assert_int_equal(count_due(a, minutes(10), NULL), 0);
	/* Its crawl has the number that a's had. */
	assert_int_equal(store_schedule_ran(b, id, 7, minutes(10), NULL), OK);
	assert_int_equal(store_schedule_ran(b, id, 7, minutes(11), NULL), OK);
	assert_int_equal(store_schedule_get(b, id, &arena, &s, NULL), OK);
	assert_int_equal(s.runs, 2);
	assert_false(s.is_elsewhere);
	assert_int_equal(s.last_crawl, 7);
	assert_int_equal(store_schedule_get(a, id, &arena, &s, NULL), OK);
	assert_true(s.is_elsewhere);
	assert_true(s.next_at.us == minutes(20).us);
}

static void
a_run_that_failed_is_anybodys(void **state)
{
	uint64_t id = put(a, SCHEDULE_REGULAR);
	struct schedule s;

	(void)state;
	assert_int_equal(count_due(a, t0, NULL), 1);
	assert_int_equal(store_schedule_late(a, id, minutes(1), NULL), OK);
	assert_int_equal(count_due(b, t0, NULL), 0);
	assert_int_equal(count_due(b, minutes(1), NULL), 1);
	/* Put anew for later, by whomever: the claim still goes. */
	s = (struct schedule){ .id = id, .name = STR("s"), .seeds = STR("[]"),
	    .policy = STR("p"), .every = 1, .unit = SCHEDULE_DAYS,
	    .start_at = minutes(500) };
	assert_int_equal(store_schedule_put(a, &s, t0, NULL), OK);
	assert_int_equal(count_due(a, minutes(500), NULL), 0);
	assert_int_equal(store_schedule_late(b, id, minutes(2), NULL), OK);
	assert_int_equal(count_due(a, minutes(499), NULL), 0);
	assert_int_equal(count_due(a, minutes(500), NULL), 1);
	/* A daemon cannot release a schedule that another one holds. */
	assert_int_equal(store_schedule_late(b, id, minutes(3), NULL), OK);
	assert_int_equal(count_due(b, minutes(600), NULL), 0);
}

static void
only_its_own_crawl_ends_a_wait(void **state)
{
	uint64_t id = put(a, SCHEDULE_AFTER);

	(void)state;
	assert_int_equal(count_due(a, t0, NULL), 1);
	assert_int_equal(store_schedule_ran(a, id, 3, t0, NULL), OK);
	assert_true(next_of(a).us == SCHEDULE_NEVER.us);
	/* b has a crawl of that number, too. */
	assert_int_equal(store_schedule_ended(b, id, 3, minutes(1), NULL), OK);
	assert_true(next_of(a).us == SCHEDULE_NEVER.us);
	/* b changes the schedule: the crawl that is waited for stays a's. */
	struct schedule s;
	assert_int_equal(store_schedule_get(b, id, &arena, &s, NULL), OK);
	s.every = 20;
	assert_int_equal(store_schedule_put(b, &s, minutes(1), NULL), OK);
	assert_true(next_of(a).us == SCHEDULE_NEVER.us);
	assert_int_equal(store_schedule_ended(a, id, 3, minutes(2), NULL), OK);
	assert_true(next_of(b).us == minutes(22).us);
}

/* Groups of several processes: each limit holds, each run is claimed once. */
static void
many_at_once(void **state)
{
	enum { PROCESSES = 4, SCHEDULES = 40, ROOM = 10 };
	pid_t pids[PROCESSES];
	int results[2], status;
	uint64_t id;
	bool seen[SCHEDULES + 1] = { false };
	struct store_policy *policies;
	size_t n, claimed = 0;

	(void)state;
	for (int i = 0; i < SCHEDULES; i++)
		put(a, SCHEDULE_REGULAR);
	assert_int_equal(pipe(results), 0);
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		char node[16], name[32];
		struct store *st;
		struct schedule *list;
		snprintf(node, sizeof(node), "n%d", i);
		struct store_options o = { .node = node,
		    .policies_max = ROOM };
		if (store_test_open(dir, &o, &st, NULL) != OK)
			_exit(1);
		for (int k = 0; k < ROOM; k++) {
			snprintf(name, sizeof(name), "%s-%d", node, k);
			enum err e = store_policy_put(st, str_of(name),
			    STR("{}"), t0, NULL);
			if (e != OK && e != ERR_FULL)
				_exit(2);
			if (store_schedule_due(st, t0, &arena, &list, &n,
			    NULL) != OK)
				_exit(3);
			for (size_t at = 0; at < n; at++) {
				id = list[at].id;
				if (store_schedule_ran(st, id, id, t0, NULL) !=
				    OK || write(results[1], &id, sizeof(id)) !=
				    sizeof(id))
					_exit(4);
			}
		}
		_exit(0);
	}
	close(results[1]);
	while (read(results[0], &id, sizeof(id)) == sizeof(id)) {
		assert_in_range(id, 1, SCHEDULES);
		assert_false(seen[id]);
		seen[id] = true;
		claimed++;
	}
	close(results[0]);
	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(claimed, SCHEDULES);
	assert_int_equal(store_policy_list(a, &arena, &policies, &n, NULL),
	    OK);
	assert_int_equal(n, ROOM);
}

static void
settings_are_named(void **state)
{
	struct store_options o = { .url = "postgresql://u:s3cret@/x",
	    .node = "a" };
	char file[96];
	struct store *st;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(store_open(dir, &o, &st, &w), ERR_CONFIG);
	assert_null(st);
	assert_string_equal(w.field, "store.url");
	assert_non_null(strstr(w.text, "store.url: "));
	assert_null(strstr(w.text, "s3cret"));
	snprintf(file, sizeof(file), "%s/password", dir);
	assert_int_equal(file_store(file, STR("s3cret\n"), NULL), OK);
	assert_int_equal(chmod(file, 0644), 0);
	o.url = "postgresql://u@/x";
	o.password_file = file;
	w = WHY_INIT;
	assert_int_equal(store_open(dir, &o, &st, &w), ERR_CONFIG);
	assert_string_equal(w.field, "store.password_file");
	assert_null(strstr(w.text, "s3cret"));
	/* Names of daemons. */
	char name[STORE_NODE_BYTES_MAX + 2];
	memset(name, 'n', sizeof(name));
	name[STORE_NODE_BYTES_MAX + 1] = '\0';
	o = (struct store_options){ .node = name };
	w = WHY_INIT;
	assert_int_equal(store_test_open(dir, &o, &st, &w), ERR_FULL);
	assert_string_equal(w.field, "store.node");
	name[STORE_NODE_BYTES_MAX] = '\0';
	assert_int_equal(store_test_open(dir, &o, &st, NULL), OK);
	store_close(&st);
	o.node = "a\nb";
	assert_int_equal(store_test_open(dir, &o, &st, NULL), ERR_INPUT);
}

/* Fill a store with something of everything. */
static void
fill(struct store *st, char text[static TOKEN_TEXT_BYTES + 1])
{
	struct token_scopes scopes;
	char other[TOKEN_TEXT_BYTES + 1];

	assert_int_equal(token_scopes_read(STR("*:write"), false, &scopes,
	    NULL), OK);
	assert_int_equal(store_policy_put(st, STR("p"),
	    STR("{\"x\":\"'\\\\\"}"), t0, NULL), OK);
	assert_int_equal(store_policy_put(st, STR("default"), STR("{}"), t0,
	    NULL), OK);
	put(st, SCHEDULE_REGULAR);
	uint64_t id = put(st, SCHEDULE_AFTER);
	assert_int_equal(store_schedule_ran(st, id, 5, t0, NULL), OK);
	/* Its number is not given again. */
	assert_int_equal(store_schedule_delete(st, put(st, SCHEDULE_AFTER),
	    NULL), OK);
	assert_int_equal(store_token_add(st, STR("t"), scopes, t0, text,
	    NULL), OK);
	assert_int_equal(store_token_add(st, STR("gone"), scopes, t0, other,
	    NULL), OK);
	assert_int_equal(store_token_revoke(st, STR("gone"), NULL), OK);
	assert_int_equal(store_token_used(st, 1, minutes(3), NULL), OK);
}

static void
check_copy(struct store *st, const char *text)
{
	struct store_policy p;
	struct schedule *list, s;
	struct token *tokens;
	uint8_t hash[TOKEN_HASH_BYTES];
	char other[TOKEN_TEXT_BYTES + 1];
	size_t n;

	assert_int_equal(store_policy_get(st, STR("p"), &arena, &p, NULL), OK);
	assert_true(str_eq(p.json, STR("{\"x\":\"'\\\\\"}")));
	assert_true(p.created.us == t0.us && p.changed.us == t0.us);
	assert_int_equal(store_schedule_list(st, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 2);
	assert_int_equal(store_schedule_get(st, 2, &arena, &s, NULL), OK);
	assert_true(str_eq(s.seeds, STR("[\"u\"]")));
	assert_int_equal(s.tags_n, 2);
	assert_true(str_eq(s.tags[1], STR("\303\251\"")));
	assert_int_equal(s.runs, 1);
	assert_int_equal(s.last_crawl, 5);
	assert_false(s.is_elsewhere);
	assert_true(s.next_at.us == SCHEDULE_NEVER.us);
	assert_int_equal(store_token_list(st, &arena, &tokens, &n, NULL), OK);
	assert_int_equal(n, 1);
	token_hash(str_of(text), hash);
	assert_memory_equal(tokens[0].hash, hash, sizeof(hash));
	assert_true(tokens[0].used.us == minutes(3).us);
	/* Ids go on where they were. */
	assert_int_equal(put(st, SCHEDULE_REGULAR), 4);
	assert_int_equal(store_schedule_delete(st, 4, NULL), OK);
	assert_int_equal(store_token_add(st, STR("new"), tokens[0].scopes, t0,
	    other, NULL), OK);
	assert_int_equal(store_token_list(st, &arena, &tokens, &n, NULL), OK);
	assert_int_equal(tokens[0].id, 3);
	assert_int_equal(store_token_revoke(st, STR("new"), NULL), OK);
}

static void
copies(void **state)
{
	struct store_copied n;
	struct store *file, *second;
	char text[TOKEN_TEXT_BYTES + 1], path[96];
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(store_open(dir, NULL, &file, NULL), OK);
	assert_false(store_is_shared(file));
	assert_true(store_is_shared(a));
	/* An empty one is copied, and may be copied again. */
	assert_int_equal(store_copy(file, a, &n, NULL), OK);
	assert_int_equal(n.policies + n.schedules + n.tokens, 0);
	fill(file, text);
	if (store_copy(file, a, &n, &w) != OK)
		fail_msg("%s", w.text);
	assert_int_equal(n.policies, 2);
	assert_int_equal(n.schedules, 2);
	assert_int_equal(n.tokens, 1);
	check_copy(a, text);
	/* The crawl that is waited for is that daemon's alone. */
	assert_int_equal(store_schedule_ended(b, 2, 5, minutes(1), NULL), OK);
	assert_true(next_of(b).us == t0.us);
	/* Never onto anything. */
	assert_int_equal(store_copy(file, b, &n, &w), ERR_EXISTS);
	assert_non_null(strstr(w.text, "2 policies, 2 schedules, 1 tokens"));
	assert_int_equal(store_copy(a, file, &n, NULL), ERR_EXISTS);
	store_close(&file);
	/* And back. */
	snprintf(path, sizeof(path), "%s/back", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(store_open(path, NULL, &second, NULL), OK);
	assert_int_equal(store_copy(a, second, &n, NULL), OK);
	/* The last id of the server is 4 by now. */
	assert_int_equal(put(second, SCHEDULE_REGULAR), 5);
	assert_int_equal(store_schedule_delete(second, 5, NULL), OK);
	struct schedule s;
	assert_int_equal(store_schedule_get(second, 2, &arena, &s, NULL), OK);
	assert_false(s.is_elsewhere);
	assert_int_equal(store_schedule_ended(second, 2, 5, minutes(1), NULL),
	    OK);
	assert_int_equal(store_schedule_get(second, 2, &arena, &s, NULL), OK);
	assert_true(s.next_at.us == minutes(11).us);
	store_close(&second);
	static const char *const names[] = { "store.db", "store.db-wal",
	    "store.db-shm" };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/back/%s", dir, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/back", dir);
	assert_int_equal(rmdir(path), 0);
}

/* A copy that is broken off leaves the target empty. */
static void
half_a_copy_is_none(void **state)
{
	struct store_copied n;
	struct store *file;
	struct database *d;
	char text[TOKEN_TEXT_BYTES + 1];
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(store_open(dir, NULL, &file, NULL), OK);
	fill(file, text);
	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	assert_int_equal(database_do(d, "ALTER TABLE token ADD CHECK"
	    " (name <> 't')", NULL), OK);
	assert_int_equal(store_copy(file, a, &n, &w), ERR_STATE);
	assert_int_equal(database_do(d, "ALTER TABLE token DROP CONSTRAINT"
	    " token_name_check", NULL), OK);
	assert_int_equal(store_copy(file, a, &n, NULL), OK);
	check_copy(a, text);
	database_close(&d);
	store_close(&file);
}

/* ---- The last commit of a process that was killed ---- */

static atomic_bool has_waited;

static void *
wait_for_it(void *arg)
{
	struct store *st = open_node("a");
	struct why w = WHY_INIT;

	(void)arg;
	if (store_wait_for_commits(st, &w) != OK)
		fail_msg("%s", w.text);
	atomic_store(&has_waited, true);
	return st;
}

/* The server still carries it out: nothing is read before it. */
static void
an_unfinished_commit_is_waited_for(void **state)
{
	struct token *list;
	struct database *d;
	char text[TOKEN_TEXT_BYTES + 1];
	pthread_t thread;
	void *opened;
	size_t n;

	(void)state;
	fill(a, text);
	assert_int_equal(store_test_database(dir, &d, NULL), OK);
	assert_int_equal(database_begin(d, NULL), OK);
	assert_int_equal(database_do(d, "UPDATE store_version SET version ="
	    " version + 1", NULL), OK);
	assert_int_equal(database_do(d, "DELETE FROM token", NULL), OK);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_it, NULL), 0);
	usleep(300000);
	assert_false(atomic_load(&has_waited));
	assert_int_equal(database_end(d, OK, NULL), OK);
	assert_int_equal(pthread_join(thread, &opened), 0);
	struct store *again = opened;
	assert_int_equal(store_token_list(again, &arena, &list, &n, NULL),
	    OK);
	assert_int_equal(n, 0);
	store_close(&again);
	database_close(&d);
}

int
main(void)
{
#define WITH(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(one_daemon_gets_a_run),
		WITH(a_run_that_failed_is_anybodys),
		WITH(only_its_own_crawl_ends_a_wait), WITH(many_at_once),
		WITH(settings_are_named), WITH(copies),
		WITH(half_a_copy_is_none),
		WITH(an_unfinished_commit_is_waited_for),
	};
	char *args[] = { NULL, "postgresql" };

	if (!store_test_begin(2, args))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}

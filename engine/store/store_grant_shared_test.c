/*
 * Logins, tickets and leases of daemons that share a store: of all that try at
 * once, exactly one wins.  It runs on a PostgreSQL server of its own.
 */
#include "engine/store/store_grant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/store/store_testing.h"
#include "os/postgresql_testing.h"
#include "os/tree.h"

#define RACERS 4
#define ROWS 40

static char dir[64];
static struct store *store;
static struct arena arena;
static const struct wall t0 = { INT64_C(1795166296000000) };  /* 2026-11-20 */
static const struct seal_key key = { "a key of just thirty-two bytes.." };

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
	store = open_node("main");
	arena = ARENA_INIT;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	store_close(&store);
	arena_free(&arena);
	return tree_remove(dir, NULL) != OK;
}

static struct store_user
key_of(int i)
{
	return (struct store_user){ STR("acme"), STR("mastodon"), STR("eu"),
		arena_printf(&arena, "u%d", i) };
}

static void
put_rows(void)
{
	struct store_grant out, ended;
	struct why w = WHY_INIT;

	for (int i = 0; i < ROWS; i++) {
		struct store_grant g = { .user = key_of(i), .account = STR("a"),
		    .text = STR("{}"), .expiry = t0, .refresh_at = t0 };
		struct store_login l = { .user = key_of(i),
		    .state = key_of(i).uuid,
		    .cookie = STR("c"), .text = STR("{}") };
		if (store_grant_put(store, &key, &g, t0, &arena, &out, &ended,
		    &w) != OK || store_login_put(store, &key, &l, t0, &w) !=
		    OK)
			fail_msg("%s", w.text);
	}
}

/* 1 when this call has won; whatever else may come must be `lost`. */
static int
count_win(enum err e, enum err lost)
{
	if (e != OK && e != lost)
		_exit(255);
	return e == OK;
}

static int
try_login(struct store *st, int i)
{
	struct store_login l;

	return count_win(store_login_take(st, &key, STR("mastodon"),
	    key_of(i).uuid, STR("c"), t0, &arena, &l, NULL), ERR_ABSENT);
}

static int
try_ticket(struct store *st, int i)
{
	return count_win(store_ticket_use(st, STR("acme"), key_of(i).uuid, t0,
	    t0, NULL), ERR_EXISTS);
}

static int
try_lease(struct store *st, int i)
{
	struct store_user u = key_of(i);
	struct store_grant g;

	return count_win(store_grant_lease(st, &key, &u, t0,
	    (struct wall){ t0.us + 1 }, &arena, &g, NULL), ERR_BUSY);
}

/* Its exit code is how many of the rows it has won. */
static pid_t
start_racer(int k, int (*try)(struct store *, int))
{
	char node[16];
	int won = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid != 0)
		return pid;
	snprintf(node, sizeof(node), "racer%d", k);
	struct store *st = open_node(node);
	for (int i = 0; i < ROWS; i++)
		won += try(st, i);
	_exit(won);
}

static void
exactly_one_wins(void **state)
{
	int (*const tries[])(struct store *, int) = { try_login, try_ticket,
		try_lease };
	pid_t pids[RACERS];
	int status;

	(void)state;
	put_rows();
	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		int won = 0;
		for (int k = 0; k < RACERS; k++)
			pids[k] = start_racer(k, tries[i]);
		for (int k = 0; k < RACERS; k++) {
			assert_int_equal(waitpid(pids[k], &status, 0),
			    pids[k]);
			assert_true(WIFEXITED(status));
			won += WEXITSTATUS(status);
		}
		assert_int_equal(won, ROWS);
	}
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	static char *arguments[] = { NULL, "postgresql", NULL };
	const struct CMUnitTest tests[] = { WITH(exactly_one_wins) };

	if (!store_test_begin(2, arguments))
		return POSTGRESQL_TEST_SKIP;
	return store_test_end(cmocka_run_group_tests(tests, NULL, NULL));
}

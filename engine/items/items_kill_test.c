/*
 * A child writes items, several at a time, tells each that was acknowledged
 * through a pipe, and is killed at a random moment, again and again: nothing
 * that it told may be missing, and the store must be in order.
 */
#include "engine/items/items.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/conf.h"
#include "engine/items/item_store.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/postgresql_testing.h"

#define KILLS 15
#define AT_ONCE 8

static char dir[64];
static struct postgresql_test *server;       /* NULL: files */
static struct conf conf;

/* What was acknowledged: items are "i1", "i2" ... */
static bool *told;
static uint64_t told_n, told_max, told_cap;

static const char config_json[] = "{\"tags\":{\"t\":[\"a\"]},\"tasks\":{"
    "\"a\":{\"version\":\"1\",\"run\":{\"$function\":true}}}}";

/* -- The child -- */

struct adding {
	struct items_write write;
	uint64_t n;
	char id[32];
};

static struct items *items;
static uint64_t next_n;
static int pipe_fd;

static void
fail_child(const struct why *w)
{
	fprintf(stderr, "child: %s\n", w->text);
	_exit(1);
}

/* An item, the data of one before it, and every fourth time a claim. */
static enum err
run_add(struct items_write *r, struct item_tx *tx, struct why *w)
{
	static const struct str all = { "*", 1 };
	struct adding *a = CONTAINER(r, struct adding, write);
	const struct item_actor person = { .run_item = 0 };
	struct item_tag_text tag = { STR("t"), STR_NONE };
	struct item_create o = { .id = str_of(a->id), .data = STR("{}"),
	    .tags = &tag, .tags_n = 1 };
	struct worklist_claim claim = { .worker = STR("w"), .tasks = &all,
	    .tasks_n = 1, .max = 1 };
	struct worklist_lease *leases;
	enum item_effect effect;
	struct item_row *row;
	size_t n;

	enum err e = item_create(tx, &person, &o, &effect, &row, w);
	if (e == OK)
		e = item_data_set(tx, &person, str_of(a->id),
		    STR("{\"n\":1}"), &effect, &row, w);
	if (e == OK && a->n % 4 == 0)
		e = worklist_claim(tx, &claim, &leases, &n, w);
	return e;
}

static void add_next(struct adding *a);

static void
added(struct items_write *r)
{
	struct adding *a = CONTAINER(r, struct adding, write);

	if (r->result != OK)
		fail_child(&r->why);
	if (write(pipe_fd, &a->n, sizeof(a->n)) != sizeof(a->n))
		_exit(1);
	add_next(a);
}

static void
add_next(struct adding *a)
{
	a->n = next_n++;
	snprintf(a->id, sizeof(a->id), "i%llu", (unsigned long long)a->n);
	a->write = (struct items_write){ .run = run_add, .done = added };
	items_write(items, &a->write);
}

static enum err
run_load(struct items_write *r, struct item_tx *tx, struct why *w)
{
	struct task_config *c = NULL;
	uint64_t generation;

	(void)r;
	enum err e = task_config_read(str_of(config_json),
	    item_store_limits(item_tx_store(tx)), &c, NULL, w);
	if (e != OK)
		return e;
	c->hash = STR("1");
	return generation_load(tx, c, STR("{}"), &generation, w);
}

static void
loaded(struct items_write *r)
{
	if (r->result != OK)
		fail_child(&r->why);
}

static void
child(void)
{
	struct adding adding[AT_ONCE];
	struct items_write load = { .run = run_load, .done = loaded,
	    .alone = true };
	struct loop *home = loop_new("home");
	struct items_options o = { .conf = &conf, .home = home,
	    .data_dir = dir };
	struct why w = WHY_INIT;

	if (items_open(&o, &items, &w) != OK)
		fail_child(&w);
	items_write(items, &load);
	next_n = told_max + AT_ONCE + 1;
	for (size_t i = 0; i < AT_ONCE; i++)
		add_next(&adding[i]);
	loop_run(home);
}

/* -- The parent -- */

static void
note(uint64_t n)
{
	while (n >= told_cap) {
		told = mem_resize(told, 2 * told_cap + 1024, sizeof(*told));
		memset(told + told_cap, 0, told_cap + 1024);
		told_cap = 2 * told_cap + 1024;
	}
	assert_false(told[n]);
	told[n] = true;
	told_n++;
	told_max = MAX(told_max, n);
}

/* Start one, kill it some time later, note what it said. */
static void
round_of_killing(unsigned us)
{
	int fds[2], status;
	uint64_t n;

	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		pipe_fd = fds[1];
		child();
		_exit(1);
	}
	close(fds[1]);
	/* The time runs from its first word on. */
	if (read(fds[0], &n, sizeof(n)) == sizeof(n))
		note(n);
	usleep(us);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(fds[0], &n, sizeof(n)) == sizeof(n))
		note(n);
	close(fds[0]);
}

static void
differs(void *arg, struct str text)
{
	(void)arg;
	fail_msg("%.*s", STR_FMT(text));
}

static bool
is_there(struct item_store *s, uint64_t n)
{
	struct query *q = database_query(item_store_database(s),
	    "SELECT 1 FROM aliases a JOIN items i ON i.key = a.item WHERE"
	    " a.id = ?1 AND i.data = '{\"n\":1}'");
	char id[32];

	snprintf(id, sizeof(id), "i%llu", (unsigned long long)n);
	query_str(q, 1, str_of(id));
	bool found = query_step(q);
	assert_int_equal(query_end(&q, NULL), OK);
	return found;
}

static void
check_all(void)
{
	struct item_store *s = NULL;
	struct why w = WHY_INIT;
	uint64_t checked = 0;

	if (items_open_store(&conf, dir, false, &s, &w) != OK ||
	    database_check(item_store_database(s), &w) != OK ||
	    generation_open(s, &w) != OK)
		fail_msg("%s", w.text);
	for (uint64_t n = 1; n <= told_max; n++)
		if (told[n] && !is_there(s, n))
			fail_msg("item i%llu is lost", (unsigned long long)n);
	if (items_check(s, differs, NULL, &checked, &w) != OK)
		fail_msg("%s", w.text);
	assert_true(checked >= told_n);
	item_store_close(&s);
}

static void
killed_and_nothing_lost(void **state)
{
	unsigned us;

	(void)state;
	for (int i = 0; i < KILLS; i++) {
		uint64_t before = told_n;
		clock_random(&us, sizeof(us));
		round_of_killing(us % 60000);
		assert_true(told_n > before);
		check_all();
	}
	printf("%d kills, %llu acknowledged items, none lost\n", KILLS,
	    (unsigned long long)told_n);
}

static int
setup(void **state)
{
	(void)state;
	conf_init(&conf);
	if (server != NULL) {
		char url[300];
		snprintf(url, sizeof(url), "store.url=%s",
		    postgresql_test_url(server, NULL));
		assert_int_equal(conf_flag(&conf, str_of(url), NULL), OK);
	}
	snprintf(dir, sizeof(dir), "/tmp/argiope-kill-XXXXXX");
	return mkdtemp(dir) == NULL;
}

static int
teardown(void **state)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str *names;
	char path[96];
	size_t n;

	(void)state;
	mem_free(&told);
	conf_free(&conf);
	assert_int_equal(file_list(dir, &a, &names, &n, NULL), OK);
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%.*s", dir,
		    STR_FMT(names[i]));
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

	if (argc > 1 && strcmp(argv[1], "postgresql") == 0 &&
	    (server = postgresql_test_start()) == NULL)
		return POSTGRESQL_TEST_SKIP;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	postgresql_test_stop(&server);
	return failed;
}

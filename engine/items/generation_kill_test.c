/*
 * A child loads configurations, rewrites pairs and runs tasks until it is
 * killed, again and again.  What is left must be a whole generation and a clean
 * store, and the rewriting goes on where it stopped.
 */
#include "engine/items/generation.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/items/generation_own.h"
#include "engine/items/worklist_testing.h"
#include "os/clock.h"

#define KILLS 25u
#define ITEMS 400u
#define CHUNK 20u

/* The child must not go on as the parent would after a failure. */
#define MUST(call)                                                           \
	do {                                                                  \
		struct why why_ = WHY_INIT, *w = &why_;                       \
		if ((call) == OK)                                             \
			break;                                                \
		print_error("%s:%d: %s\n", __FILE__, __LINE__, why_.text);    \
		if (is_child)                                                 \
			_exit(1);                                             \
		fail();                                                       \
	} while (0)

static struct work_test t;
static bool is_child;
static unsigned resumed;         /* kills in the middle of rewriting */

/* Every second number has one more tag that maps; versions go round. */
static const char *
config_text(unsigned n)
{
	return arena_printf(&t.arena, "{'tags':{'odd':['a']%s},'tasks':{'a':"
	    "{'version':'%u','run':{'$function':true}}}}",
	    n % 2 == 0 ? ",'even':['a']" : "", n / 2 % 3).p;
}

static void
load_number(unsigned n)
{
	struct task_config *c;
	uint64_t generation;

	MUST(task_config_read(work_json(&t, config_text(n)),
	    item_store_limits(t.items.store), &c, NULL, w));
	c->hash = arena_printf(&c->arena, "%u", n);
	items_test_begin_alone(&t.items);
	MUST(generation_load(t.items.tx, c, STR("{}"), &generation, w));
	work_commit(&t);
}

static bool
rewrite_chunk(void)
{
	bool more;

	items_test_begin_alone(&t.items);
	MUST(generation_rewrite(t.items.tx, CHUNK, &more, w));
	work_commit(&t);
	return more;
}

static void
run_some(void)
{
	struct work_lease leases[5];
	size_t n = work_claim(&t, 5, leases);

	for (size_t i = 0; i < n; i++)
		work_succeed(&t, leases[i].text);
}

static void
open_store(void)
{
	const struct item_store_options o = { .dir = t.items.dir,
		.node = "test" };

	MUST(item_store_open(&o, &t.items.store, w));
	MUST(generation_open(t.items.store, w));
}

static void
child(int fd, unsigned from)
{
	is_child = true;
	open_store();
	if (write(fd, "x", 1) != 1)
		_exit(1);
	for (unsigned n = from;; n++) {
		load_number(n);
		run_some();
		while (rewrite_chunk())
			run_some();
	}
}

/* The time of the kill runs from the child's first word on. */
static void
kill_a_child(unsigned from, unsigned us)
{
	int fds[2], status;
	char word;

	item_store_close(&t.items.store);
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(fds[0]);
		child(fds[1], from);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &word, 1), 1);
	close(fds[0]);
	usleep(us);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

static void
print_difference(void *arg, struct str text)
{
	*(unsigned *)arg += 1;
	print_error("%.*s\n", STR_FMT(text));
}

static void
expect_clean(void)
{
	unsigned differences = 0;
	uint64_t checked;

	MUST(items_check_at(t.items.store, t.items.now, print_difference,
	    &differences, &checked, w));
	assert_int_equal(differences, 0);
	assert_int_equal(checked, ITEMS);
}

static void
make_items(void)
{
	for (unsigned i = 0; i < ITEMS; i++)
		work_item(&t, arena_printf(&t.arena, "i%u", i).p,
		    i % 2 != 0 ? "odd" : "even");
}

/* Number and text belong to one load, and its pairs can be finished. */
static unsigned
expect_a_whole_generation(void)
{
	const struct task_config *c;
	struct generation_progress p;
	uint64_t number;

	open_store();
	c = item_store_config(t.items.store);
	assert_true(str_to_u64(c->hash, &number));
	assert_true(str_eq(c->json, work_json(&t,
	    config_text((unsigned)number))));
	expect_clean();
	MUST(generation_progress(t.items.store, 0, &p, w));
	resumed += p.tasks > 0 && p.done > 0;
	while (rewrite_chunk())
		continue;
	expect_clean();
	assert_int_equal(items_test_number(&t.items,
	    "SELECT COUNT(*) FROM worklist"), number % 2 == 0 ? ITEMS :
	    ITEMS / 2);
	return (unsigned)number;
}

static void
kills_leave_whole_generations(void **state)
{
	unsigned number = 0;
	uint64_t random;

	(void)state;
	t = (struct work_test){ .arena = ARENA_INIT };
	items_test_open(&t.items, NULL);
	make_items();
	load_number(0);
	for (unsigned i = 0; i < KILLS; i++) {
		clock_random(&random, sizeof(random));
		kill_a_child(number + 1, 1000 + (unsigned)(random % 60000));
		number = expect_a_whole_generation();
	}
	print_message("%u loads, %u kills while pairs were rewritten\n",
	    number, resumed);
	work_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kills_leave_whole_generations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

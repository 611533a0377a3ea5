/* Requests over real loops and a real pool. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "os/request.h"

enum { LOOPS = 3, TRACE_MAX = 64 };

static struct loop *home, *ledger, *loops[LOOPS];
static struct pool *pool;
static pthread_t home_thread;
static size_t busy;
static struct request_loops each_loop;
static struct request_places places;

/* What the steps note: one letter each. */
struct story {
	struct request request;
	char trace[TRACE_MAX];
	size_t n;
	pthread_t at_ledger, at_pool;
	atomic_uint visits;
	bool seen[LOOPS];
	atomic_bool cancelled;
	bool cancel_at_wake;
	unsigned turns;
	bool done;
	struct mail wake;
};

static struct story *
story_of(struct request *r)
{
	return CONTAINER(r, struct story, request);
}

static struct story *
note(struct request *r, char letter)
{
	struct story *s = story_of(r);

	assert_true(s->n + 1 < TRACE_MAX);
	s->trace[s->n++] = letter;
	return s;
}

static void
done(struct request *r)
{
	struct story *s = note(r, '.');

	assert_true(pthread_equal(pthread_self(), home_thread));
	s->done = true;
}

/* --- the table that all tests but the last run --------------------------- */

static int begin(struct request *);
static int at_ledger(struct request *);
static int again(struct request *);
static int at_pool(struct request *);
static int visited(struct request *);
static void visit(struct request *, size_t loop);
static int waiting(struct request *);
static int woken(struct request *);
static int fails(struct request *);

#define STORY_STEPS(X)                                                       \
	X(BEGIN, AT_MAIN, begin, "it begins")                                \
	X(LEDGER, AT_LEDGER, at_ledger, "on the ledger's loop")              \
	X(AGAIN, AT_LEDGER, again, "there once more, ten times")             \
	X(POOL, AT_POOL, at_pool, "on a thread of the pool")                 \
	X(VISIT, AT_EACH_LOOP, visited, "each loop is visited", .each =      \
	    visit)                                                           \
	X(BARRIER, AT_EACH_LOOP, waiting, "each loop has passed")            \
	X(WOKEN, AT_LEDGER, woken, "somebody woke it")                       \
	X(PASS, AT_POOL, request_next, "it goes through the pool")           \
	X(END, AT_EACH_LOOP, request_end, "and ends behind each loop")       \
	X(FAIL, AT_POOL, fails, "it fails")
enum { STORY_STEPS(REQUEST_ENUM) };
static const struct request_step steps[] = { STORY_STEPS(REQUEST_ROW) };

static int
begin(struct request *r)
{
	note(r, 'b');
	assert_true(pthread_equal(pthread_self(), home_thread));
	return LEDGER;
}

static int
at_ledger(struct request *r)
{
	note(r, 'l')->at_ledger = pthread_self();
	return AGAIN;
}

static int
again(struct request *r)
{
	struct story *s = story_of(r);

	assert_true(pthread_equal(pthread_self(), s->at_ledger));
	if (++s->turns < 10)
		return AGAIN;
	note(r, 'a');
	return POOL;
}

static int
at_pool(struct request *r)
{
	note(r, 'p')->at_pool = pthread_self();
	return VISIT;
}

static void
visit(struct request *r, size_t loop)
{
	struct story *s = story_of(r);

	atomic_fetch_add(&s->visits, 1);
	s->seen[loop] = true;
}

static int
visited(struct request *r)
{
	struct story *s = note(r, 'v');

	assert_true(pthread_equal(pthread_self(), s->at_ledger));
	assert_int_equal(atomic_load(&s->visits), LOOPS);
	for (size_t i = 0; i < LOOPS; i++)
		assert_true(s->seen[i]);
	return BARRIER;
}

static void
wake(struct mail *m)
{
	struct story *s = CONTAINER(m, struct story, wake);

	if (s->cancel_at_wake)
		atomic_store(&s->cancelled, true);
	request_resume(&s->request, WOKEN);
}

static int
waiting(struct request *r)
{
	struct story *s = note(r, 'w');

	assert_int_equal(atomic_load(&s->visits), LOOPS);
	loop_send(ledger, &s->wake, wake);
	return REQUEST_WAIT;
}

static int
woken(struct request *r)
{
	note(r, 'W');
	return PASS;
}

static int
fails(struct request *r)
{
	note(r, 'f');
	why(&r->why, ERR_IO, "the disk says no");
	return REQUEST_DONE;
}

/* --- the tests ----------------------------------------------------------- */

static void
start(struct story *s, int first)
{
	s->request.done = done;
	request_start(&s->request, &places, steps, first);
}

static void
run(struct story *s, int first)
{
	start(s, first);
	loop_run_until(home, &s->done);
}

static int
setup(void **state)
{
	(void)state;
	home_thread = pthread_self();
	home = loop_new("home");
	ledger = loop_new("ledger");
	pool = pool_new(2);
	for (size_t i = 0; i < LOOPS; i++)
		loops[i] = loop_new("fetch");
	each_loop = (struct request_loops){ ledger, loops, LOOPS };
	places = (struct request_places){ .busy = &busy, .at = {
		[AT_MAIN] = { request_enter_loop, home },
		[AT_LEDGER] = { request_enter_loop, ledger },
		[AT_POOL] = { request_enter_pool, pool },
		[AT_EACH_LOOP] = { request_enter_loops, &each_loop },
	} };
	loop_start(ledger);
	for (size_t i = 0; i < LOOPS; i++)
		loop_start(loops[i]);
	return 0;
}

static void
end_loop(struct loop **l)
{
	loop_stop(*l);
	loop_join(*l);
	loop_free(l);
}

static int
teardown(void **state)
{
	(void)state;
	pool_free(&pool);
	for (size_t i = 0; i < LOOPS; i++)
		end_loop(&loops[i]);
	end_loop(&ledger);
	loop_free(&home);
	return 0;
}

/* Every step runs at its place, in the table's order, and done() at home. */
static void
test_order(void **state)
{
	struct story s = { .turns = 0 };

	(void)state;
	start(&s, BEGIN);
	assert_int_equal(busy, 1);
	loop_run_until(home, &s.done);
	assert_string_equal(s.trace, "blapvwW.");
	assert_int_equal(s.request.why.err, OK);
	assert_false(pthread_equal(s.at_ledger, home_thread));
	assert_false(pthread_equal(s.at_pool, home_thread));
	assert_false(pthread_equal(s.at_pool, s.at_ledger));
	assert_int_equal(busy, 0);
}

static void
test_error(void **state)
{
	struct story s = { .turns = 0 };

	(void)state;
	run(&s, FAIL);
	assert_string_equal(s.trace, "f.");
	assert_int_equal(s.request.why.err, ERR_IO);
	assert_string_equal(s.request.why.text, "the disk says no");
	assert_int_equal(busy, 0);
}

/* Once it is cancelled no further step runs, whatever it waited for. */
static void
test_cancelled(void **state)
{
	struct story early = { .cancelled = true };
	struct story late = { .cancel_at_wake = true };
	struct story never = { .cancelled = false };

	(void)state;
	early.request.cancelled = &early.cancelled;
	run(&early, BEGIN);
	assert_string_equal(early.trace, ".");
	assert_int_equal(early.request.why.err, ERR_CLOSED);
	late.request.cancelled = &late.cancelled;
	run(&late, BEGIN);
	assert_string_equal(late.trace, "blapvw.");
	assert_int_equal(late.request.why.err, ERR_CLOSED);
	never.request.cancelled = &never.cancelled;
	run(&never, BEGIN);
	assert_string_equal(never.trace, "blapvwW.");
	assert_int_equal(never.request.why.err, OK);
}

static void
test_many_at_once(void **state)
{
	static struct story s[200];

	(void)state;
	memset(s, 0, sizeof(s));
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		start(&s[i], BEGIN);
	assert_int_equal(busy, ARRAY_LEN(s));
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		loop_run_until(home, &s[i].done);
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		assert_string_equal(s[i].trace, "blapvwW.");
	assert_int_equal(busy, 0);
}

/* The request frees itself; steps at home leave no mail. */
static int
only_step(struct request *r)
{
	note(r, 'o');
	return REQUEST_DONE;
}

static bool freed;

static void
free_it(struct request *r)
{
	struct story *s = story_of(r);

	mem_free(&s);
	freed = true;
}

static void
test_at_home_at_once(void **state)
{
	static const struct request_step only[] = {
		{ "ONLY", AT_MAIN, only_step, "the only one", NULL } };
	struct story *s = mem_new(sizeof(*s));

	(void)state;
	freed = false;
	s->request.done = free_it;
	request_start(&s->request, &places, only, 0);
	assert_true(freed);
}

/* --- the barrier --------------------------------------------------------- */

static atomic_uint slow, passed;
static bool barrier_done;

static void
count_slow(struct mail *m)
{
	(void)m;
	atomic_fetch_add(&slow, 1);
}

static void
pass(struct loop_barrier *b, size_t loop)
{
	(void)b;
	assert_in_range(loop, 0, LOOPS - 1);
	atomic_fetch_add(&passed, 1);
}

static void
all_passed(struct loop_barrier *b)
{
	(void)b;
	assert_true(pthread_equal(pthread_self(), home_thread));
	barrier_done = true;
}

/* What was posted before the barrier has been delivered behind it. */
static void
test_barrier(void **state)
{
	static struct mail mail[LOOPS][1000];

	(void)state;
	for (int with_run = 0; with_run < 2; with_run++) {
		struct loop_barrier b = { .run = with_run ? pass : NULL,
		    .done = all_passed };
		atomic_store(&slow, 0);
		atomic_store(&passed, 0);
		barrier_done = false;
		for (size_t i = 0; i < LOOPS; i++)
			for (size_t k = 0; k < ARRAY_LEN(mail[i]); k++) {
				mail[i][k].deliver = count_slow;
				loop_post(loops[i], &mail[i][k]);
			}
		loop_barrier(&b, home, loops, LOOPS);
		loop_run_until(home, &barrier_done);
		assert_int_equal(atomic_load(&slow),
		    LOOPS * ARRAY_LEN(mail[0]));
		assert_int_equal(atomic_load(&passed), with_run ? LOOPS : 0);
	}
}

/* Loops that do not run any more leave a request where it is. */
static void
test_dropped(void **state)
{
	static const struct request_step visit_loops[] = {
		{ .name = "VISIT", .at = AT_EACH_LOOP, .run = request_end },
	};
	struct loop *ended[] = { loop_new("one"), loop_new("two") };
	struct request_loops each = { ended[0], ended, ARRAY_LEN(ended) };
	struct request_places of_ended = {
		.at[AT_EACH_LOOP] = { request_enter_loops, &each } };
	struct request r = { .done = NULL };

	(void)state;
	request_start(&r, &of_ended, visit_loops, 0);
	assert_non_null(r.hop.barrier.calls);
	request_drop(&r);
	assert_null(r.hop.barrier.calls);
	for (size_t i = 0; i < ARRAY_LEN(ended); i++)
		loop_free(&ended[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_error, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancelled, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_many_at_once, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_at_home_at_once, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_barrier, setup, teardown),
		cmocka_unit_test(test_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "os/pool.h"

struct sum {
	struct job job;
	int number, doubled;
	pthread_t ran_on;
};
static int order[64];
static size_t order_n, done_n, done_want;
static struct loop *home;

static void
double_it(struct job *j)
{
	struct sum *s = CONTAINER(j, struct sum, job);

	s->doubled = 2 * s->number;
	s->ran_on = pthread_self();
}

static void
collect(struct mail *m)
{
	struct sum *s = CONTAINER(CONTAINER(m, struct job, mail), struct sum,
	    job);

	assert_int_equal(s->doubled, 2 * s->number);
	if (order_n < ARRAY_LEN(order))
		order[order_n++] = s->number;
	if (++done_n == done_want)
		loop_stop(home);
}

static struct sum
sum_of(int number)
{
	return (struct sum){ .job = { .mail.deliver = collect, .home = home,
	    .run = double_it }, .number = number };
}

static int
setup(void **state)
{
	(void)state;
	home = loop_new("home");
	order_n = done_n = 0;
	done_want = SIZE_MAX;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	loop_free(&home);
	return 0;
}

/* Without threads a job runs at once, and is told of by mail all the same. */
static void
test_no_threads(void **state)
{
	struct pool *p = pool_new(0);
	struct sum s = sum_of(21);

	(void)state;
	pool_submit(p, &s.job);
	assert_int_equal(s.doubled, 42);
	assert_true(pthread_equal(s.ran_on, pthread_self()));
	assert_int_equal(done_n, 0);
	assert_int_equal(pool_waiting(p), 0);
	assert_true(loop_step(home));
	assert_int_equal(done_n, 1);
	pool_free(&p);
	assert_null(p);
	pool_free(&p);
}

static void
test_one_thread_keeps_order(void **state)
{
	struct pool *p = pool_new(1);
	struct sum s[20];

	(void)state;
	done_want = 20;
	for (int i = 0; i < 20; i++) {
		s[i] = sum_of(i);
		pool_submit(p, &s[i].job);
	}
	loop_run(home);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(order[i], i);
		assert_false(pthread_equal(s[i].ran_on, pthread_self()));
	}
	pool_free(&p);
}

/* A job that nobody waits for frees itself. */
static atomic_int alone;

static void
run_alone(struct job *j)
{
	atomic_fetch_add(&alone, 1);
	free(CONTAINER(j, struct sum, job));
}

/* pool_free() finishes what was submitted, however much it is. */
static void
test_free_finishes(void **state)
{
	(void)state;
	for (unsigned threads = 0; threads < 4; threads++) {
		struct pool *p = pool_new(threads);
		atomic_store(&alone, 0);
		for (int i = 0; i < 1000; i++) {
			struct sum *s = mem_new(sizeof(*s));
			s->job.run = run_alone;
			pool_submit(p, &s->job);
		}
		pool_free(&p);
		assert_int_equal(atomic_load(&alone), 1000);
	}
}

/* pool_finish() waits for what runs too, and the pool goes on. */
static void
test_finish(void **state)
{
	struct pool *p = pool_new(3);

	(void)state;
	atomic_store(&alone, 0);
	for (int round = 1; round <= 50; round++) {
		for (int i = 0; i < 20; i++) {
			struct sum *s = mem_new(sizeof(*s));
			s->job.run = run_alone;
			pool_submit(p, &s->job);
		}
		pool_finish(p);
		assert_int_equal(atomic_load(&alone), 20 * round);
	}
	pool_free(&p);
}

/* A gate that holds the pool's threads, so that jobs wait. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	bool open;
	unsigned inside;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.moved = PTHREAD_COND_INITIALIZER };

static void
wait_at_gate(struct job *j)
{
	(void)j;
	pthread_mutex_lock(&gate.lock);
	gate.inside++;
	pthread_cond_broadcast(&gate.moved);
	while (!gate.open)
		pthread_cond_wait(&gate.moved, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

static void
test_waiting(void **state)
{
	struct pool *p = pool_new(2);
	struct sum s[5];

	(void)state;
	gate.open = false;
	gate.inside = 0;
	for (int i = 0; i < 5; i++) {
		s[i] = (struct sum){ .job.run = wait_at_gate };
		pool_submit(p, &s[i].job);
	}
	/* Two run at the same time, three wait. */
	pthread_mutex_lock(&gate.lock);
	while (gate.inside < 2)
		pthread_cond_wait(&gate.moved, &gate.lock);
	assert_int_equal(pool_waiting(p), 3);
	gate.open = true;
	pthread_cond_broadcast(&gate.moved);
	pthread_mutex_unlock(&gate.lock);
	pool_free(&p);
	assert_int_equal(gate.inside, 5);
}

/* Many threads submit, many run, one loop collects. */
#define SUBMITTERS 3
#define EACH 3000
struct submitter {
	struct pool *pool;
	struct sum *sums;
};

static void *
submit_many(void *arg)
{
	struct submitter *x = arg;

	for (int i = 0; i < EACH; i++) {
		x->sums[i] = sum_of(i);
		pool_submit(x->pool, &x->sums[i].job);
	}
	return NULL;
}

static void
test_many(void **state)
{
	struct pool *p = pool_new(3);
	struct submitter x[SUBMITTERS];
	pthread_t threads[SUBMITTERS];

	(void)state;
	done_want = SUBMITTERS * EACH;
	for (int i = 0; i < SUBMITTERS; i++) {
		x[i] = (struct submitter){ p,
		    mem_array(EACH, sizeof(struct sum)) };
		assert_int_equal(pthread_create(&threads[i], NULL, submit_many,
		    &x[i]), 0);
	}
	loop_run(home);
	assert_int_equal(done_n, done_want);
	for (int i = 0; i < SUBMITTERS; i++) {
		pthread_join(threads[i], NULL);
		mem_free(&x[i].sums);
	}
	assert_int_equal(pool_waiting(p), 0);
	pool_free(&p);
}

/* A job may submit another. */
struct chain {
	struct job job;
	struct pool *pool;
	struct chain *next;
};

static void
run_chain(struct job *j)
{
	struct chain *c = CONTAINER(j, struct chain, job);

	if (c->next != NULL)
		pool_submit(c->pool, &c->next->job);
}

static void
count_done(struct mail *m)
{
	(void)m;
	if (++done_n == done_want)
		loop_stop(home);
}

static void
test_job_submits(void **state)
{
	(void)state;
	for (unsigned threads = 0; threads < 3; threads++) {
		struct pool *p = pool_new(threads);
		struct chain c[10];
		done_n = 0;
		done_want = 10;
		for (int i = 0; i < 10; i++)
			c[i] = (struct chain){ { .mail.deliver = count_done,
			    .home = home, .run = run_chain }, p,
			    i < 9 ? &c[i + 1] : NULL };
		pool_submit(p, &c[0].job);
		while (done_n < done_want)
			if (!loop_step(home))
				usleep(100);
		pool_free(&p);
		teardown(state);
		setup(state);
	}
}

/* A job that hangs does not hold up the end of its pool. */
static atomic_bool may_end, has_ended;

static void
run_hanging(struct job *j)
{
	(void)j;
	while (!atomic_load(&may_end))
		usleep(1000);
	atomic_store(&has_ended, true);
}

static void
test_free_within(void **state)
{
	static struct job hangs;
	struct pool *p = pool_new(1);

	(void)state;
	assert_true(pool_free_within(&p, 1000));
	assert_null(p);
	assert_true(pool_free_within(&p, 1000));
	p = pool_new(1);
	hangs = (struct job){ .mail.deliver = count_done, .home = home,
	    .run = run_hanging };
	done_n = 0;
	pool_submit(p, &hangs);
	assert_false(pool_free_within(&p, 1000));
	assert_null(p);
	atomic_store(&may_end, true);
	while (!atomic_load(&has_ended))
		usleep(100);
	/* Home might be gone: it is not told. */
	usleep(10000);
	loop_step(home);
	assert_int_equal(done_n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_threads),
		TEST(test_one_thread_keeps_order),
		TEST(test_free_finishes),
		TEST(test_finish),
		TEST(test_waiting),
		TEST(test_many),
		TEST(test_job_submits),
		TEST(test_free_within),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}

#include "engine/frontier/host_shard.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define THREADS 4
#define HOSTS 6000

static struct str
host(unsigned i, char text[24])
{
	int n = snprintf(text, 24, "host-%u.example", i);

	return (struct str){ text, (size_t)n };
}

/* Any few hosts: no loop has two more than another. */
static void
few_tests(void **state)
{
	char text[24];

	(void)state;
	for (unsigned ports = 1; ports <= 8; ports++)
		for (unsigned from = 0; from < 400; from += 8) {
			struct host_shard *s = mem_new(sizeof(*s));
			unsigned got[8] = { 0 };
			s->ports_n = ports;
			for (unsigned i = 0; i < 8; i++)
				got[host_shard_port(s, host(from + i, text))]++;
			for (unsigned p = 0; p < ports; p++)
				/* Two of eight may share a slot: 1 in 150. */
				assert_in_range(got[p], 8 / ports - 1,
				    8 / ports + 2);
			mem_free(&s);
		}
}

struct asking {
	pthread_t thread;
	struct host_shard *host_shard;
	unsigned answers[HOSTS];
};

static void *
ask(void *arg)
{
	struct asking *a = arg;
	char text[24];

	for (unsigned i = 0; i < HOSTS; i++)
		a->answers[i] = host_shard_port(a->host_shard, host(i, text));
	return NULL;
}

/* All loops give the same answer, whoever asked first. */
static void
threads_tests(void **state)
{
	struct host_shard *s = mem_new(sizeof(*s));
	struct asking *a = mem_array(THREADS, sizeof(*a));
	unsigned got[3] = { 0 };

	(void)state;
	s->ports_n = 3;
	for (int i = 0; i < THREADS; i++) {
		a[i].host_shard = s;
		assert_int_equal(pthread_create(&a[i].thread, NULL, ask, &a[i]),
		    0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(a[i].thread, NULL);
	for (unsigned h = 0; h < HOSTS; h++) {
		for (int i = 1; i < THREADS; i++)
			assert_int_equal(a[i].answers[h], a[0].answers[h]);
		got[a[0].answers[h]]++;
	}
	for (int p = 0; p < 3; p++)
		assert_in_range(got[p], HOSTS / 4, HOSTS / 2);
	mem_free(&a);
	mem_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_tests), cmocka_unit_test(threads_tests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

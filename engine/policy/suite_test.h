/*
 * suite_test -- where the tests find the conformance data of others.
 */
#ifndef ENGINE_POLICY_SUITE_TEST_H
#define ENGINE_POLICY_SUITE_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <time.h>

#include "base/bytes.h"
#include "tests/suite.h"

/* The whole file into `out`; the test is skipped by name when it is absent. */
static inline void
suite_read(const char *name, struct buf *out)
{
	FILE *f = fopen(suite_path(name), "rb");
	char part[4096];
	size_t n;

	if (f == NULL) {
		print_message("suites: %s is absent\n", name);
		skip();
	}
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_put(out, part, n);
	fclose(f);
}

static inline double
test_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* xorshift: the same numbers in every run. */
static inline uint64_t
test_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#endif

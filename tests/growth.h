/*
 * growth -- whether the cost of work grows as its size does.
 *
 * A bound in seconds fails on a busy machine; this compares CPU time with CPU
 * time, each the least of some tries, which load cannot make smaller.
 */
#ifndef TESTS_GROWTH_H
#define TESTS_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#define GROWTH_TIMES 8               /* more is done */
#define GROWTH_COST_TIMES 24         /* at most; squared it is 64 times */
#define GROWTH_TRIES_MIN 3
#define GROWTH_TRIES_MAX 12

static inline double
growth_cpu_ns(void (*work)(void *ctx, size_t n), void *ctx, size_t n)
{
	struct timespec from, to;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	work(ctx, n);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return (double)(to.tv_sec - from.tv_sec) * 1e9 +
	    (double)(to.tv_nsec - from.tv_nsec);
}

/*
 * Whether work(ctx, 8 * n) costs what is to be expected of work(ctx, n), which
 * should take some ten microseconds at least.
 */
static inline bool
growth_is_linear(void (*work)(void *ctx, size_t n), void *ctx, size_t n)
{
	double less = 1e18, more = 1e18;

	for (int i = 1; i <= GROWTH_TRIES_MAX; i++) {
		double a = growth_cpu_ns(work, ctx, n);
		double b = growth_cpu_ns(work, ctx, GROWTH_TIMES * n);
		less = a < less ? a : less;
		more = b < more ? b : more;
		if (i >= GROWTH_TRIES_MIN && more < GROWTH_COST_TIMES * less)
			return true;
	}
	return false;
}

#endif

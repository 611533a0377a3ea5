/*
 * clock -- reads the two clocks of base/time.h, and random bytes.
 *
 * A simulator replaces the table before any loop runs; nobody else does.
 * Thread: any.
 */
#ifndef OS_CLOCK_H
#define OS_CLOCK_H

#include "base/time.h"

struct clock_table {
	struct mono (*mono)(void);
	struct wall (*wall)(void);
	void (*random)(void *out, size_t n);
};
extern const struct clock_table clock_real;
/* Before any loop runs. */
void clock_use(const struct clock_table *);

struct mono clock_mono(void);
struct wall clock_wall(void);
void clock_random(void *out, size_t n);
/* CPU time of the calling thread; for budgets, never for dates. */
int64_t clock_thread_cpu_ns(void);
/* CPU time (user and system) and peak resident bytes of the process. */
void clock_process_use(int64_t *cpu_ns, int64_t *rss_bytes_max);

#endif

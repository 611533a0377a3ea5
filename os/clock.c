#include "os/clock.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>

static int64_t
read_clock(clockid_t id)
{
	struct timespec t;

	CHECK(clock_gettime(id, &t) == 0);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct mono
real_mono(void)
{
	return (struct mono){ read_clock(CLOCK_MONOTONIC) };
}

static struct wall
real_wall(void)
{
	return (struct wall){ read_clock(CLOCK_REALTIME) / 1000 };
}

static void
real_random(void *out, size_t n)
{
	char *p = out;

	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);
		if (got < 0)
			continue;  /* EINTR: a signal came first */
		p += got;
		n -= (size_t)got;
	}
}

const struct clock_table clock_real = { real_mono, real_wall, real_random };
static const struct clock_table *table = &clock_real;

void
clock_use(const struct clock_table *t)
{
	table = t;
}

struct mono
clock_mono(void)
{
	return table->mono();
}

struct wall
clock_wall(void)
{
	return table->wall();
}

void
clock_random(void *out, size_t n)
{
	table->random(out, n);
}

int64_t
clock_thread_cpu_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void
clock_process_use(int64_t *cpu_ns, int64_t *rss_bytes_max)
{
	struct rusage u;

	CHECK(getrusage(RUSAGE_SELF, &u) == 0);
	*cpu_ns = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
	    (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
	*rss_bytes_max = u.ru_maxrss * INT64_C(1024);
}

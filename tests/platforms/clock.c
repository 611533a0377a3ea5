/* The simulated clock. */
#include <time.h>

#include "tests/platforms/platforms.h"

static struct {
	uint64_t factor;             /* of real time; 0: it stands */
	int64_t start_us, real_start_us, advanced_us;
} clock_now = { .factor = 1 };

static int64_t
real_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * US_PER_S + t.tv_nsec / 1000;
}

bool
clock_set(const char *mode, const char *start)
{
	struct wall first = { real_us() };

	clock_now.real_start_us = first.us;
	if (strcmp(mode, "real") == 0)
		clock_now.factor = 1;
	else if (strcmp(mode, "frozen") == 0)
		clock_now.factor = 0;
	else if (mode[0] != 'x' || !str_to_u64(str_of(mode + 1),
	    &clock_now.factor) || clock_now.factor > 1000000)
		return false;
	if (start != NULL && !wall_from_iso(str_of(start), &first))
		return false;
	clock_now.start_us = first.us;
	return true;
}

struct wall
clock_wall(void)
{
	int64_t gone = real_us() - clock_now.real_start_us;

	return (struct wall){ clock_now.start_us + clock_now.advanced_us +
	    gone * (int64_t)clock_now.factor };
}

void
clock_advance(int64_t s)
{
	clock_now.advanced_us += s * US_PER_S;
}

void
clock_sleep(int64_t ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

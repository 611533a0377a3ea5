#include "engine/connector/pacific.h"

#define HOUR INT64_C(3600)
#define DAY (24 * HOUR)

/* Seconds from 1970 to the n-th Sunday, from 1, of the month that begins at
 * that day. */
static int64_t
sunday_s(int64_t first_day, int n)
{
	/* 1970 began on a Thursday. */
	int64_t to_sunday = (7 - (first_day + 4) % 7) % 7;

	return (first_day + to_sunday + 7 * (n - 1)) * DAY;
}

/* The day of March 1 of that year, from 1970. */
static int64_t
march_of(int64_t year)
{
	return 365 * (year - 1970) + (year - 1968) / 4 - (year - 1900) / 100 +
	    (year - 1600) / 400 + 59;
}

/* From 2:00 on the second Sunday of March to 2:00 on the first of November. */
static bool
is_summer(int64_t s)
{
	char digits[18];
	uint64_t year;

	wall_to_digits((struct wall){ s * US_PER_S }, 14, digits);
	CHECK(str_to_u64((struct str){ digits, 4 }, &year));
	int64_t march = march_of((int64_t)year);
	return s >= sunday_s(march, 2) + 10 * HOUR &&
	    s < sunday_s(march + 245, 1) + 9 * HOUR;
}

struct wall
pacific_midnight(struct wall now)
{
	int64_t s = wall_s(now);
	int64_t behind = is_summer(s) ? 7 * HOUR : 8 * HOUR;
	int64_t next = (s - behind + DAY) / DAY * DAY;

	behind = is_summer(next + 7 * HOUR) ? 7 * HOUR : 8 * HOUR;
	return (struct wall){ (next + behind) * US_PER_S };
}

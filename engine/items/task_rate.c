/* Durations, rates and sizes as a configuration has them. */
#include "engine/items/task_read.h"

#define RATE_MAX 1000000u        /* runs in a unit, and of a burst */

static bool
take_number(struct str *s, int64_t *out)
{
	size_t digits = 0;

	while (digits < s->n && ascii_is_digit(s->p[digits]))
		digits++;
	if (!str_to_i64(str_cut(*s, 0, digits), out))
		return false;
	*s = str_from(*s, digits);
	return true;
}

static int64_t
unit_us(struct str unit)
{
	static const struct {
		const char *text;
		int64_t us;
	} units[] = {
		{ "ms", 1000 }, { "s", US_PER_S }, { "m", 60 * US_PER_S },
		{ "h", 3600 * US_PER_S }, { "d", 86400 * US_PER_S },
	};
	size_t i = STR_ROW(unit, units);

	return i < ARRAY_LEN(units) ? units[i].us : 0;
}

bool
task_duration(struct str s, int64_t *us)
{
	int64_t n;

	if (!take_number(&s, &n))
		return false;
	int64_t unit = unit_us(s);
	if (unit == 0 || n > INT64_MAX / 2 / unit)
		return false;
	*us = n * unit;
	return true;
}

bool
task_size_parse(struct str s, int64_t *bytes)
{
	static const char units[] = "KMG";
	int64_t n;

	if (!take_number(&s, &n) || s.n != 1)
		return false;
	const char *unit = memchr(units, s.p[0], sizeof(units) - 1);
	if (unit == NULL)
		return false;
	unsigned bits = 10 * (unsigned)(unit - units + 1);
	if (n > INT64_MAX >> bits)
		return false;
	*bytes = n << bits;
	return true;
}

static bool
is_rate_number(int64_t n)
{
	return n >= 1 && n <= RATE_MAX;
}

bool
task_rate_parse(struct str s, struct task_rate *out)
{
	struct task_rate r = { .set = true, .burst = 1 };
	struct str unit = STR_NONE;

	if (!take_number(&s, &r.n) || !is_rate_number(r.n) ||
	    !str_take_char(&s, '/'))
		return false;
	str_split(&s, ' ', &unit);
	r.per_us = unit_us(unit);
	if (r.per_us < US_PER_S)         /* not by milliseconds */
		return false;
	if (s.p != NULL) {
		if (!str_starts(s, STR("burst ")))
			return false;
		s = str_from(s, 6);
		if (!take_number(&s, &r.burst) || s.n != 0 ||
		    !is_rate_number(r.burst))
			return false;
	}
	*out = r;
	return true;
}

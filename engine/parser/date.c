#include "engine/parser/date.h"

struct parts {
	int year, month, day, hour, minute, second;
	int zone;             /* minutes east of Greenwich */
};

/* "Z", "+01:00", "-0530", "EST" or nothing. */
static bool
take_zone(struct str s, int *minutes)
{
	static const struct {
		struct str name;
		int hours;
	} names[] = {
		{ { "Z", 1 }, 0 }, { { "UT", 2 }, 0 }, { { "UTC", 3 }, 0 },
		{ { "GMT", 3 }, 0 }, { { "EST", 3 }, -5 },
		{ { "EDT", 3 }, -4 }, { { "CST", 3 }, -6 },
		{ { "CDT", 3 }, -5 }, { { "MST", 3 }, -7 },
		{ { "MDT", 3 }, -6 }, { { "PST", 3 }, -8 },
		{ { "PDT", 3 }, -7 },
	};
	int h, m;
	int sign = s.n > 0 && s.p[0] == '-' ? -1 : 1;

	*minutes = 0;
	if (s.n == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq_nocase(s, names[i].name)) {
			*minutes = names[i].hours * 60;
			return true;
		}
	if (!str_take_char(&s, '+') && !str_take_char(&s, '-'))
		return false;
	if (!str_take_digits(&s, 2, &h) || h > 23)
		return false;
	str_take_char(&s, ':');
	if (!str_take_digits(&s, 2, &m) || m > 59 || s.n != 0)
		return false;
	*minutes = sign * (h * 60 + m);
	return true;
}

/* "10:00", "10:00:00", "10:00:00.25"; a lone hour is none. */
static bool
take_clock(struct str *s, struct parts *d)
{
	if (!str_take_digits(s, 2, &d->hour) || !str_take_char(s, ':') ||
	    !str_take_digits(s, 2, &d->minute))
		return false;
	if (str_take_char(s, ':') && !str_take_digits(s, 2, &d->second))
		return false;
	if (str_take_char(s, '.'))
		while (s->n > 0 && ascii_is_digit(s->p[0]))
			*s = str_from(*s, 1);
	return true;
}

static bool
read_w3c(struct str s, struct parts *d)
{
	*d = (struct parts){ .month = 1, .day = 1 };
	if (!str_take_digits(&s, 4, &d->year))
		return false;
	if (str_take_char(&s, '-') && !str_take_digits(&s, 2, &d->month))
		return false;
	if (str_take_char(&s, '-') && !str_take_digits(&s, 2, &d->day))
		return false;
	if (s.n == 0)
		return true;
	if (!str_take_char(&s, 'T') && !str_take_char(&s, ' '))
		return false;
	return take_clock(&s, d) && take_zone(str_trim(s), &d->zone);
}

static struct str
take_word(struct str *s)
{
	size_t n = str_find_char(*s, ' ');
	struct str word = str_cut(*s, 0, n);

	*s = str_trim(str_from(*s, n));
	return word;
}

static bool
read_rfc822(struct str s, struct parts *d)
{
	struct str month, year, clock;
	uint64_t v;

	*d = (struct parts){ .zone = 0 };
	if (s.n > 0 && ascii_is_alpha(s.p[0]))
		(void)take_word(&s);
	if (!str_to_u64(take_word(&s), &v) || v > 31)
		return false;
	d->day = (int)v;
	month = take_word(&s);
	if (!str_take_month(&month, &d->month))
		return false;
	d->month++;
	year = take_word(&s);
	if ((year.n != 2 && year.n != 4) || !str_to_u64(year, &v))
		return false;
	if (year.n == 2)
		v += v < 50 ? 2000 : 1900;
	d->year = (int)v;
	clock = take_word(&s);
	return clock.n == 0 || (take_clock(&clock, d) && clock.n == 0 &&
	    take_zone(s, &d->zone));
}

bool
date_parse(struct str s, struct wall *out)
{
	struct parts d;
	char text[80];

	s = str_trim(s);
	if (!read_w3c(s, &d) && !read_rfc822(s, &d))
		return false;
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02dZ", d.year,
	    d.month, d.day, d.hour, d.minute, d.second);
	if (!wall_from_iso(str_of(text), out))
		return false;
	out->us -= d.zone * 60 * US_PER_S;
	return true;
}

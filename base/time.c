#include "base/time.h"

#include <time.h>

static struct tm
to_tm(struct wall t)
{
	time_t s = (time_t)(t.us / US_PER_S - (t.us % US_PER_S < 0));
	struct tm tm;

	memset(&tm, 0, sizeof(tm));
	gmtime_r(&s, &tm);
	return tm;
}

static int
us_of_second(struct wall t)
{
	int64_t us = t.us % US_PER_S;

	return (int)(us < 0 ? us + US_PER_S : us);
}

/* Exactly so many digits; returns the place after them. */
static char *
put_digits(char *p, int v, int digits)
{
	for (int i = digits; i-- > 0; v /= 10)
		p[i] = (char)('0' + v % 10);
	return p + digits;
}

/* The same, and the character after them. */
static char *
put_part(char *p, int v, int digits, char after)
{
	p = put_digits(p, v, digits);
	*p = after;
	return p + 1;
}

struct date {
	bool known;
	int64_t days;                /* since 1970-01-01 */
	int year, month, day;
};

/* Nearly all times are of the day of the one before. */
static const struct date *
date_of(struct wall t, int64_t days)
{
	static _Thread_local struct date last;

	if (last.known && last.days == days)
		return &last;
	struct tm tm = to_tm(t);
	last = (struct date){ true, days, tm.tm_year + 1900, tm.tm_mon + 1,
		tm.tm_mday };
	return &last;
}

struct moment {
	const struct date *date;     /* until the thread asks for the next */
	int second;                  /* of the day */
};

static struct moment
moment_of(struct wall t)
{
	int64_t s = t.us / US_PER_S - (t.us % US_PER_S < 0);
	int64_t days = s / 86400 - (s % 86400 < 0);

	return (struct moment){ date_of(t, days), (int)(s - days * 86400) };
}

/* By hand: each event and each item that is written has some times. */
void
wall_to_iso(struct wall t, char out[static WALL_ISO_MAX])
{
	struct moment m = moment_of(t);
	const struct date *d = m.date;
	char *p = out;

	if (d->year >= 0 && d->year <= 9999)
		p = put_part(p, d->year, 4, '-');
	else
		p += snprintf(out, 12, "%04d-", d->year);
	p = put_part(p, d->month, 2, '-');
	p = put_part(p, d->day, 2, 'T');
	p = put_part(p, m.second / 3600, 2, ':');
	p = put_part(p, m.second / 60 % 60, 2, ':');
	p = put_part(p, m.second % 60, 2, '.');
	p = put_part(p, us_of_second(t), 6, 'Z');
	*p = '\0';
}

void
wall_to_digits(struct wall t, int digits, char out[static 18])
{
	struct moment m = moment_of(t);
	const struct date *d = m.date;

	CHECK(digits == 14 || digits == 17);
	/* Four digits have no other year. */
	char *p = put_digits(out, MIN(MAX(d->year, 0), 9999), 4);
	p = put_digits(p, d->month, 2);
	p = put_digits(p, d->day, 2);
	p = put_digits(p, m.second / 3600, 2);
	p = put_digits(p, m.second / 60 % 60, 2);
	p = put_digits(p, m.second % 60, 2);
	if (digits == 17)
		p = put_digits(p, us_of_second(t) / 1000, 3);
	*p = '\0';
}

static bool
from_tm(struct tm *tm, struct wall *out)
{
	struct tm day = *tm;

	if (tm->tm_mon < 0 || tm->tm_mon > 11 || tm->tm_mday < 1 ||
	    tm->tm_mday > 31 || tm->tm_hour > 23 || tm->tm_min > 59 ||
	    tm->tm_sec > 60)
		return false;
	/*
	 * timegm() carries 31 February over; such a date is none.  A leap
	 * second at midnight may carry, and is left out of the question.
	 */
	day.tm_sec = 0;
	timegm(&day);
	if (day.tm_mday != tm->tm_mday)
		return false;
	out->us = (int64_t)timegm(tm) * US_PER_S;
	return true;
}

bool
wall_from_iso(struct str s, struct wall *out)
{
	struct tm tm;
	int64_t us = 0;

	memset(&tm, 0, sizeof(tm));
	if (!str_take_digits(&s, 4, &tm.tm_year) || !str_take_char(&s, '-') ||
	    !str_take_digits(&s, 2, &tm.tm_mon) || !str_take_char(&s, '-') ||
	    !str_take_digits(&s, 2, &tm.tm_mday) ||
	    (!str_take_char(&s, 'T') && !str_take_char(&s, 't')) ||
	    !str_take_digits(&s, 2, &tm.tm_hour) || !str_take_char(&s, ':') ||
	    !str_take_digits(&s, 2, &tm.tm_min) || !str_take_char(&s, ':') ||
	    !str_take_digits(&s, 2, &tm.tm_sec))
		return false;
	if (str_take_char(&s, '.')) {
		size_t i = 0;
		for (; i < s.n && ascii_is_digit(s.p[i]); i++)
			if (i < 6)
				us = us * 10 + (s.p[i] - '0');
		if (i == 0 || i > 9)
			return false;
		for (size_t j = i; j < 6; j++)
			us *= 10;
		s = str_from(s, i);
	}
	if ((!str_take_char(&s, 'Z') && !str_take_char(&s, 'z')) || s.n != 0)
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	if (!from_tm(&tm, out))
		return false;
	out->us += us;
	return true;
}

bool
str_take_month(struct str *s, int *out)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12; i++)
		if (str_starts_nocase(*s, (struct str){ names + 3 * i, 3 })) {
			*out = i;
			*s = str_from(*s, 3);
			return true;
		}
	return false;
}

static bool
take_clock(struct str *s, struct tm *tm)
{
	return str_take_digits(s, 2, &tm->tm_hour) && str_take_char(s, ':') &&
	    str_take_digits(s, 2, &tm->tm_min) && str_take_char(s, ':') &&
	    str_take_digits(s, 2, &tm->tm_sec);
}

/* "Sun Nov  6 08:49:37 1994", behind the name of the day. */
static bool
asctime_date(struct str s, struct tm *tm)
{
	if (!str_take_month(&s, &tm->tm_mon) || !str_take_char(&s, ' '))
		return false;
	bool one = str_take_char(&s, ' ');
	return str_take_digits(&s, one ? 1 : 2, &tm->tm_mday) &&
	    str_take_char(&s, ' ') && take_clock(&s, tm) &&
	    str_take_char(&s, ' ') && str_take_digits(&s, 4, &tm->tm_year) &&
	    s.n == 0;
}

bool
wall_from_http(struct str s, struct wall *out)
{
	struct tm tm;
	size_t comma = str_find_char(s, ',');

	memset(&tm, 0, sizeof(tm));
	if (comma == s.n) {
		if (!asctime_date(str_from(s, str_find_char(s, ' ') + 1), &tm))
			return false;
		tm.tm_year -= 1900;
		return from_tm(&tm, out);
	}
	s = str_trim(str_from(s, comma + 1));
	if (!str_take_digits(&s, 2, &tm.tm_mday))
		return false;
	char sep = s.n > 0 && s.p[0] == '-' ? '-' : ' ';
	if (!str_take_char(&s, sep) || !str_take_month(&s, &tm.tm_mon) ||
	    !str_take_char(&s, sep))
		return false;
	if (str_take_digits(&s, 4, &tm.tm_year))
		tm.tm_year -= 1900;
	else if (!str_take_digits(&s, 2, &tm.tm_year))
		return false;
	else if (tm.tm_year < 70)
		tm.tm_year += 100;
	if (!str_take_char(&s, ' ') || !take_clock(&s, &tm) ||
	    !str_eq_nocase(str_trim(s), STR("GMT")))
		return false;
	return from_tm(&tm, out);
}

void
duration_to_text(int64_t ns, char out[static 32])
{
	int64_t s = ns / NS_PER_S;

	if (ns < NS_PER_S)
		snprintf(out, 32, "%lld ms", (long long)(ns / NS_PER_MS));
	else if (s < 60)
		snprintf(out, 32, "%.1f s", (double)ns / 1e9);
	else if (s < 3600)
		snprintf(out, 32, "%lld min %lld s", (long long)(s / 60),
		    (long long)(s % 60));
	else
		snprintf(out, 32, "%lld h %lld min", (long long)(s / 3600),
		    (long long)(s % 3600 / 60));
}

#include "engine/connector/item_date.h"

#define DAY_S INT64_C(86400)

struct civil {
	int year, month, day;     /* month and day from 1 */
	int hour, minute, second;
	int us;
};

/* --- the calendar ------------------------------------------------------- */

/* Days since 1970-01-01; years begin in March, so that leap days are last. */
static int64_t
day_number(int year, int month, int day)
{
	int64_t y = year - (month <= 2);
	int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 +
	    day - 1;

	return 365 * y + y / 4 - y / 100 + y / 400 + in_year - 719468;
}

static void
put_day(int64_t number, struct civil *c)
{
	int64_t n = number + 719468;             /* since 0000-03-01 */
	int64_t era = (n >= 0 ? n : n - 146096) / 146097;
	int64_t in_era = n - era * 146097;
	int64_t y = (in_era - in_era / 1460 + in_era / 36524 -
	    in_era / 146096) / 365;
	int64_t in_year = in_era - (365 * y + y / 4 - y / 100);
	int64_t m = (5 * in_year + 2) / 153;

	c->day = (int)(in_year - (153 * m + 2) / 5 + 1);
	c->month = (int)(m < 10 ? m + 3 : m - 9);
	c->year = (int)(y + era * 400 + (c->month <= 2));
}

static bool
is_date(const struct civil *c)
{
	struct civil back;

	if (c->year < 1 || c->month < 1 || c->month > 12 || c->day < 1 ||
	    c->hour > 23 || c->minute > 59 || c->second > 59)
		return false;
	put_day(day_number(c->year, c->month, c->day), &back);
	return back.day == c->day && back.month == c->month;
}

/* --- reading ------------------------------------------------------------ */

static bool
take_time(struct str *s, struct civil *c)
{
	if (!str_take_digits(s, 2, &c->hour) || !str_take_char(s, ':') ||
	    !str_take_digits(s, 2, &c->minute))
		return false;
	if (!str_take_char(s, ':'))
		return true;
	if (!str_take_digits(s, 2, &c->second))
		return false;
	if (!str_take_char(s, '.'))
		return true;
	size_t digits = 0;
	for (; digits < s->n && ascii_is_digit(s->p[digits]); digits++)
		if (digits < 6)
			c->us = c->us * 10 + (s->p[digits] - '0');
	for (size_t i = digits; i < 6; i++)
		c->us *= 10;
	*s = str_from(*s, digits);
	return digits > 0;
}

/* "+0800" or "+08:00"; `*s` behind it. */
static bool
take_offset(struct str *s, struct item_date *d)
{
	bool west = s->n > 0 && s->p[0] == '-';
	int hours, minutes;

	if (!west && (s->n == 0 || s->p[0] != '+'))
		return false;
	*s = str_from(*s, 1);
	if (!str_take_digits(s, 2, &hours))
		return false;
	(void)str_take_char(s, ':');
	if (!str_take_digits(s, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	d->offset_min = (int16_t)((west ? -1 : 1) * (60 * hours + minutes));
	d->has_zone = true;
	return true;
}

/* Parse what follows the time: nothing, or a time zone. */
static bool
take_zone(struct str s, struct item_date *d)
{
	(void)str_take_char(&s, ' ');
	if (s.n == 0)
		return true;
	if (str_eq(s, STR("Z")) || str_eq(s, STR("z")) ||
	    str_eq(s, STR("GMT")) || str_eq(s, STR("UTC"))) {
		d->has_zone = true;
		return true;
	}
	return take_offset(&s, d) && s.n == 0;
}

/* "Wed Dec 02 18:56:27 +0000 2015", behind the name of the day. */
static bool
read_twitter(struct str s, struct civil *c, struct item_date *d)
{
	int month;

	if (!str_take_month(&s, &month) || !str_take_char(&s, ' ') ||
	    !str_take_digits(&s, 2, &c->day) || !str_take_char(&s, ' ') ||
	    !take_time(&s, c) || !str_take_char(&s, ' ') ||
	    !take_offset(&s, d) || !str_take_char(&s, ' ') ||
	    !str_take_digits(&s, 4, &c->year))
		return false;
	c->month = month + 1;
	d->has_time = true;
	return s.n == 0;
}

static bool
read_iso(struct str s, struct civil *c, struct item_date *d)
{
	if (!str_take_digits(&s, 4, &c->year) || !str_take_char(&s, '-') ||
	    !str_take_digits(&s, 2, &c->month) || !str_take_char(&s, '-') ||
	    !str_take_digits(&s, 2, &c->day))
		return false;
	if (s.n == 0)
		return true;
	d->has_time = true;
	return (str_take_char(&s, 'T') || str_take_char(&s, 't') ||
	    str_take_char(&s, ' ')) && take_time(&s, c) && take_zone(s, d);
}

/* The zones that RFC 822 names, in hours. */
static bool
take_zone_name(struct str s, struct item_date *d)
{
	static const struct {
		const char *name;
		int hours;
	} zones[] = { { "UT", 0 }, { "EST", -5 }, { "EDT", -4 },
		{ "CST", -6 }, { "CDT", -5 }, { "MST", -7 }, { "MDT", -6 },
		{ "PST", -8 }, { "PDT", -7 } };
	size_t i = STR_ROW(s, zones);

	if (i == ARRAY_LEN(zones))
		return false;
	d->offset_min = (int16_t)(60 * zones[i].hours);
	d->has_zone = true;
	return true;
}

/* "2 Oct 2002 13:00:05 GMT", behind the name of the day; two digits of a year
 * are of this century below 70 (RFC 2822 section 4.3). */
static bool
read_mail(struct str s, struct civil *c, struct item_date *d)
{
	bool two = s.n > 1 && ascii_is_digit(s.p[1]);
	int month;

	if (!str_take_digits(&s, two ? 2 : 1, &c->day) ||
	    !str_take_char(&s, ' ') || !str_take_month(&s, &month) ||
	    !str_take_char(&s, ' '))
		return false;
	if (!str_take_digits(&s, 4, &c->year)) {
		if (!str_take_digits(&s, 2, &c->year))
			return false;
		c->year += c->year < 70 ? 2000 : 1900;
	}
	c->month = month + 1;
	d->has_time = true;
	if (!str_take_char(&s, ' ') || !take_time(&s, c))
		return false;
	return take_zone(s, d) || take_zone_name(str_trim(s), d);
}

bool
item_date_parse(struct str s, struct item_date *d)
{
	struct civil c = { .day = 0 };
	size_t comma = str_find_char(s, ',');
	bool fine;

	*d = (struct item_date){ .known = false };
	if (s.n > 4 && ascii_is_alpha(s.p[0]) && s.p[3] == ' ')
		fine = read_twitter(str_from(s, 4), &c, d);
	else if (comma < s.n)
		fine = read_mail(str_trim(str_from(s, comma + 1)), &c, d);
	else if (s.n > 2 && (s.p[1] == ' ' || s.p[2] == ' '))
		fine = read_mail(s, &c, d);
	else
		fine = read_iso(s, &c, d);
	if (!fine || !is_date(&c))
		return false;
	d->at.us = US_PER_S * (day_number(c.year, c.month, c.day) * DAY_S +
	    c.hour * 3600 + c.minute * 60 + c.second -
	    (int64_t)d->offset_min * 60) + c.us;
	d->known = true;
	return true;
}

struct item_date
item_date_of_epoch(int64_t seconds)
{
	/* Years 1 to 9999, as is_date() and four digits allow. */
	bool known = seconds >= -62135596800 && seconds <= 253402300799;

	return (struct item_date){ .at = { known ? seconds * US_PER_S : 0 },
		.has_zone = true, .has_time = true, .known = known };
}

/* --- writing ------------------------------------------------------------ */

static char *
put_two(char *p, int v, char after)
{
	p[0] = (char)('0' + v / 10);
	p[1] = (char)('0' + v % 10);
	p[2] = after;
	return p + 3;
}

static char *
put_offset(char *p, int offset_min)
{
	int minutes = offset_min < 0 ? -offset_min : offset_min;

	*p++ = offset_min < 0 ? '-' : '+';
	p = put_two(p, minutes / 60, ':');
	return put_two(p, minutes % 60, '\0') - 1;
}

void
item_date_put(struct buf *b, const struct item_date *d, char separator)
{
	int64_t us = d->at.us + (int64_t)d->offset_min * 60 * US_PER_S;
	int64_t s = us / US_PER_S - (us % US_PER_S < 0);
	int64_t number = s / DAY_S - (s % DAY_S < 0);
	int in_day = (int)(s - number * DAY_S), fraction =
	    (int)(us - s * US_PER_S);
	struct civil c;
	char text[48], *p = text;

	put_day(number, &c);
	p = put_two(p, c.year / 100 % 100, '\0') - 1;
	p = put_two(p, c.year % 100, '-');
	p = put_two(p, c.month, '-');
	p = put_two(p, c.day, separator);
	p = put_two(p, in_day / 3600, ':');
	p = put_two(p, in_day / 60 % 60, ':');
	p = put_two(p, in_day % 60, '.');
	if (fraction > 0) {
		p = put_two(p, fraction / 10000, '\0') - 1;
		p = put_two(p, fraction / 100 % 100, '\0') - 1;
		p = put_two(p, fraction % 100, '\0');
	}
	p--;
	if (d->has_zone)
		p = put_offset(p, d->offset_min);
	buf_put(b, text, (size_t)(p - text));
}

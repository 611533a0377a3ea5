#include "engine/items/task_cron.h"

/*
 * The longest wait there is: 29 February on a certain day of the week, around a
 * year like 2100, which has none.
 */
#define DAYS_MAX (41 * 366)
#define US_PER_MINUTE (60 * US_PER_S)
#define US_PER_DAY (1440 * US_PER_MINUTE)

static const char *const month_names[] = { "jan", "feb", "mar", "apr", "may",
	"jun", "jul", "aug", "sep", "oct", "nov", "dec" };
static const char *const weekday_names[] = { "sun", "mon", "tue", "wed", "thu",
	"fri", "sat" };

static const struct cron_field {
	const char *title;
	unsigned min, max;
	const char *const *names;    /* of min, min + 1 ... */
	size_t names_n;
} fields[] = {
	{ "minute", 0, 59, NULL, 0 },
	{ "hour", 0, 23, NULL, 0 },
	{ "day of month", 1, 31, NULL, 0 },
	{ "month", 1, 12, month_names, ARRAY_LEN(month_names) },
	{ "day of week", 0, 7, weekday_names, ARRAY_LEN(weekday_names) },
};
enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };
_Static_assert(ARRAY_LEN(fields) == FIELDS, "a row for each field");

static enum err
field_fault(const struct cron_field *f, struct str text, struct why *w)
{
	return why(w, ERR_INPUT, "\"%.*s\" is no %s",
	    STR_FMT(str_cut(text, 0, 40)), f->title);
}

static bool
read_number(const struct cron_field *f, struct str text, unsigned *out)
{
	uint64_t n;

	for (size_t i = 0; i < f->names_n; i++)
		if (str_eq_nocase(text, str_of(f->names[i]))) {
			*out = f->min + (unsigned)i;
			return true;
		}
	if (text.n > 2 || !str_to_u64(text, &n) || n < f->min || n > f->max)
		return false;
	*out = (unsigned)n;
	return true;
}

/* "*", "5", "1-5", the first and the last also with "/2". */
static enum err
read_part(const struct cron_field *f, struct str part, uint64_t *set,
    struct why *w)
{
	struct str rest = part, range = STR_NONE, first = STR_NONE;
	unsigned from = f->min, to = f->max;
	uint64_t step = 1;

	str_split(&rest, '/', &range);
	bool stepped = rest.p != NULL;
	if (stepped && (rest.n > 2 || !str_to_u64(rest, &step) || step == 0))
		return field_fault(f, part, w);
	if (!str_eq(range, STR("*"))) {
		struct str last = range;
		str_split(&last, '-', &first);
		if (!read_number(f, first, &from))
			return field_fault(f, part, w);
		to = from;
		if (last.p == NULL ? stepped :
		    !read_number(f, last, &to) || to < from)
			return field_fault(f, part, w);
	}
	for (unsigned n = from; n <= to; n += (unsigned)step)
		*set |= UINT64_C(1) << n;
	return OK;
}

static enum err
read_set(const struct cron_field *f, struct str text, uint64_t *set,
    struct why *w)
{
	struct str part;

	*set = 0;
	while (str_split(&text, ',', &part)) {
		enum err e = read_part(f, part, set, w);
		if (e != OK)
			return e;
	}
	return OK;
}

/* Cut the line at its blanks. */
static bool
split_line(struct str line, struct str out[static FIELDS])
{
	struct str word;
	size_t n = 0;

	while (str_split(&line, ' ', &word)) {
		if (word.n == 0)
			continue;
		if (n == FIELDS)
			return false;
		out[n++] = word;
	}
	return n == FIELDS;
}

/* -- The calendar: days since 1970-01-01 -- */

struct date {
	int64_t year;
	unsigned month, day;         /* from 1 */
};

static bool
is_leap_year(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned
days_of_month(const struct date *d)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };

	return d->month == 2 && is_leap_year(d->year) ? 29 :
	    days[d->month - 1];
}

/* Days before the year, counted from the year 1. */
static int64_t
days_before_year(int64_t year)
{
	int64_t y = year - 1;

	return 365 * y + y / 4 - y / 100 + y / 400;
}

static struct date
date_of_day(int64_t day)
{
	int64_t from_1 = day + days_before_year(1970);
	struct date d = { from_1 / 366 + 1, 1, 1 };

	while (days_before_year(d.year + 1) <= from_1)
		d.year++;
	int64_t left = from_1 - days_before_year(d.year);
	while (left >= days_of_month(&d)) {
		left -= days_of_month(&d);
		d.month++;
	}
	d.day = (unsigned)left + 1;
	return d;
}

static void
date_advance(struct date *d)
{
	if (++d->day <= days_of_month(d))
		return;
	d->day = 1;
	if (++d->month <= 12)
		return;
	d->month = 1;
	d->year++;
}

static bool
set_has(uint64_t set, unsigned n)
{
	return (set >> n & 1) != 0;
}

static bool
day_fits(const struct task_cron *c, const struct date *d, int64_t day)
{
	/* 1970-01-01 was a Thursday. */
	unsigned weekday = (unsigned)(((day + 4) % 7 + 7) % 7);
	bool by_date = set_has(c->days, d->day);
	bool by_week = set_has(c->weekdays, weekday);

	if (!set_has(c->months, d->month))
		return false;
	return c->either_day ? by_date || by_week : by_date && by_week;
}

/* The first day from `day` on that fits; -1: there is none. */
static int64_t
next_day(const struct task_cron *c, int64_t day)
{
	struct date d = date_of_day(day);

	for (int64_t i = 0; i < DAYS_MAX; i++, date_advance(&d))
		if (day_fits(c, &d, day + i))
			return day + i;
	return -1;
}

/* The first minute of a day from `minute` on; 1440: no more today. */
static unsigned
next_minute(const struct task_cron *c, unsigned minute)
{
	while (minute < 1440 && !(set_has(c->hours, minute / 60) &&
	    set_has(c->minutes, minute % 60)))
		minute++;
	return minute;
}

/* Rounded down. */
static int64_t
divide(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

struct wall
task_cron_next(const struct task_cron *c, struct wall t)
{
	int64_t minutes = divide(t.us, US_PER_MINUTE) + 1;
	int64_t today = divide(minutes, 1440);
	unsigned minute = (unsigned)(minutes - today * 1440);

	int64_t day = next_day(c, today);
	if (day == today)
		minute = next_minute(c, minute);
	if (day == today && minute == 1440)
		day = next_day(c, today + 1);
	else if (day == today)
		return (struct wall){ day * US_PER_DAY +
		    (int64_t)minute * US_PER_MINUTE };
	CHECK(day > today);              /* task_cron_parse() has looked */
	return (struct wall){ day * US_PER_DAY +
	    (int64_t)next_minute(c, 0) * US_PER_MINUTE };
}

enum err
task_cron_parse(struct str line, struct task_cron *out, struct why *w)
{
	struct str words[FIELDS];
	uint64_t *sets[FIELDS] = { &out->minutes, &out->hours, &out->days,
		&out->months, &out->weekdays };

	if (!split_line(line, words))
		return why(w, ERR_INPUT, "a cron line has five fields");
	for (size_t i = 0; i < FIELDS; i++) {
		enum err e = read_set(&fields[i], words[i], sets[i], w);
		if (e != OK)
			return e;
	}
	if (set_has(out->weekdays, 7))
		out->weekdays = (out->weekdays | 1) & 127;
	out->either_day = words[DAY].p[0] != '*' &&
	    words[WEEKDAY].p[0] != '*';
	if (next_day(out, 0) < 0)
		return why(w, ERR_INPUT, "no such day ever comes");
	return OK;
}

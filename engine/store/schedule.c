#include "engine/store/schedule.h"

#include <time.h>

#define US_PER_MINUTE (60 * US_PER_S)
/* 9999-12-31T23:59:59Z */
#define LAST_US (INT64_C(253402300799) * US_PER_S)

static const char *const units[] = {
	SCHEDULE_UNITS(TABLE_SECOND)
};
static const char *const timings[] = { "regular_interval", "after_previous" };

const char *
schedule_unit_text(enum schedule_unit u)
{
	CHECK(u < SCHEDULE_UNIT_COUNT);
	return units[u];
}

bool
schedule_unit_of(struct str s, enum schedule_unit *out)
{
	size_t i = STR_ROW(s, units);

	if (i < ARRAY_LEN(units))
		*out = (enum schedule_unit)i;
	return i < ARRAY_LEN(units);
}

const char *
schedule_timing_text(enum schedule_timing t)
{
	CHECK(t < SCHEDULE_TIMING_COUNT);
	return timings[t];
}

bool
schedule_timing_of(struct str s, enum schedule_timing *out)
{
	size_t i = STR_ROW(s, timings);

	if (i < ARRAY_LEN(timings))
		*out = (enum schedule_timing)i;
	return i < ARRAY_LEN(timings);
}

enum err
schedule_check(const struct schedule *s, struct why *w)
{
	if (s->every < 1 || s->every > SCHEDULE_EVERY_MAX)
		return why(w, ERR_INPUT, "every: a number from 1 to %u is "
		    "needed", SCHEDULE_EVERY_MAX);
	if ((unsigned)s->unit >= SCHEDULE_UNIT_COUNT)
		return why(w, ERR_INPUT, "unit: minutes, hours, days, weeks, "
		    "months or years");
	if ((unsigned)s->timing >= SCHEDULE_TIMING_COUNT)
		return why(w, ERR_INPUT, "timing: regular_interval or "
		    "after_previous");
	if (s->start_at.us < 0 || s->start_at.us > LAST_US)
		return why(w, ERR_INPUT, "start_at: a time from 1970 to 9999 "
		    "is needed");
	return OK;
}

/* Seconds of a unit of constant length; 0 for months and years. */
static int64_t
unit_us(enum schedule_unit u)
{
	static const int64_t lengths[SCHEDULE_UNIT_COUNT] = {
		[SCHEDULE_MINUTES] = US_PER_MINUTE,
		[SCHEDULE_HOURS] = 60 * US_PER_MINUTE,
		[SCHEDULE_DAYS] = 24 * 60 * US_PER_MINUTE,
		[SCHEDULE_WEEKS] = 7 * 24 * 60 * US_PER_MINUTE,
	};

	return lengths[u];
}

static struct tm
calendar(struct wall t)
{
	time_t s = (time_t)wall_s(t);
	struct tm tm;

	gmtime_r(&s, &tm);
	return tm;
}

/* The same day and time so many months later, or the month's last day. */
static struct wall
months_later(struct wall from, uint64_t months)
{
	struct tm tm = calendar(from);
	uint64_t month = (uint64_t)(tm.tm_year + 1900) * 12 +
	    (uint64_t)tm.tm_mon + months;

	if (month / 12 > 9999)
		return SCHEDULE_NEVER;
	tm.tm_year = (int)(month / 12) - 1900;
	tm.tm_mon = (int)(month % 12);
	/* Day 0 of the next month is the last of this one. */
	struct tm last = { .tm_year = tm.tm_year, .tm_mon = tm.tm_mon + 1 };
	(void)timegm(&last);
	tm.tm_mday = MIN(tm.tm_mday, last.tm_mday);
	return (struct wall){ (int64_t)timegm(&tm) * US_PER_S +
	    from.us % US_PER_S };
}

struct wall
schedule_step(const struct schedule *s, struct wall from, uint64_t n)
{
	int64_t us = unit_us(s->unit);

	CHECK(from.us >= 0 && s->every >= 1);
	/* So many steps of a minute end in the year 9999. */
	if (n > (uint64_t)(LAST_US / US_PER_MINUTE) || from.us > LAST_US)
		return SCHEDULE_NEVER;
	uint64_t steps = n * s->every;
	if (us == 0)
		return steps > 12 * 10000 ? SCHEDULE_NEVER : months_later(from,
		    s->unit == SCHEDULE_YEARS ? 12 * steps : steps);
	if (steps > (uint64_t)((LAST_US - from.us) / us))
		return SCHEDULE_NEVER;
	return (struct wall){ from.us + (int64_t)steps * us };
}

/* A number of steps from start_at that surely does not lead beyond `t`. */
static uint64_t
steps_before(const struct schedule *s, struct wall t)
{
	int64_t us = unit_us(s->unit);

	if (us != 0)
		return (uint64_t)((t.us - s->start_at.us) / us) / s->every;
	struct tm a = calendar(s->start_at), b = calendar(t);
	int64_t months = (int64_t)(b.tm_year - a.tm_year) * 12 +
	    b.tm_mon - a.tm_mon - 1;
	unsigned each = s->unit == SCHEDULE_YEARS ? 12 : 1;
	return months <= 0 ? 0 : (uint64_t)months / each / s->every;
}

/* The first on the grid that is not before `t`. */
static struct wall
grid_from(const struct schedule *s, struct wall t)
{
	if (t.us <= s->start_at.us)
		return s->start_at;
	uint64_t n = steps_before(s, t);
	struct wall at = schedule_step(s, s->start_at, n);
	while (at.us < t.us)
		at = schedule_step(s, s->start_at, ++n);
	return at;
}

struct wall
schedule_first(const struct schedule *s, struct wall now)
{
	if (s->timing == SCHEDULE_AFTER)
		return s->start_at.us > now.us ? s->start_at : now;
	return grid_from(s, now);
}

struct wall
schedule_next(const struct schedule *s, struct wall now)
{
	if (s->timing == SCHEDULE_AFTER)
		return SCHEDULE_NEVER;
	return grid_from(s, (struct wall){ now.us + 1 });
}

struct wall
schedule_after(const struct schedule *s, struct wall ended)
{
	return schedule_step(s, ended, 1);
}

/* No longer than the limit, and not in the middle of a character. */
static struct str
cut_name(struct str s)
{
	size_t n = MIN(s.n, SCHEDULE_NAME_BYTES_MAX);

	while (n < s.n && n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
		n--;
	return str_cut(s, 0, n);
}

struct str
schedule_name(const struct schedule *s, struct wall now, struct arena *a)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct str rest = s->name_template;
	char iso[WALL_ISO_MAX];

	wall_to_iso(now, iso);
	if (rest.n == 0)
		buf_printf(&b, "%.*s #%llu", STR_FMT(s->name),
		    (unsigned long long)s->runs + 1);
	while (rest.n > 0) {
		size_t used = 1;
		if (str_starts(rest, STR("{COUNT}"))) {
			buf_printf(&b, "%llu", (unsigned long long)s->runs + 1);
			used = 7;
		} else if (str_starts(rest, STR("{DATE}"))) {
			buf_put(&b, iso, 10);
			used = 6;
		} else if (str_starts(rest, STR("{TIME}"))) {
			buf_put(&b, iso + 11, 8);
			used = 6;
		} else
			buf_put_char(&b, rest.p[0]);
		rest = str_from(rest, used);
	}
	return arena_copy(a, cut_name(buf_str(&b)));
}

/* Lines of cron, against a walk over every minute. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "engine/items/task_cron.h"

static struct wall
wall_of(const char *iso)
{
	struct wall t;

	assert_true(wall_from_iso(str_of(iso), &t));
	return t;
}

static struct task_cron
cron_of(const char *line)
{
	struct task_cron c;
	struct why w = WHY_INIT;

	enum err e = task_cron_parse(str_of(line), &c, &w);
	if (e != OK)
		fail_msg("%s: %s", line, w.text);
	return c;
}

static void
expect_next(const char *line, const char *from, const char *next)
{
	struct task_cron c = cron_of(line);
	char text[WALL_ISO_MAX];

	wall_to_iso(task_cron_next(&c, wall_of(from)), text);
	text[16] = '\0';
	if (strcmp(text, next) != 0)
		fail_msg("%s after %s: %s, not %s", line, from, text, next);
}

static void
finds_next_times(void **state)
{
	(void)state;
	/* 2026-11-24 is a Tuesday. */
	expect_next("0 3 * * 1", "2026-11-24T13:00:00Z", "2026-11-30T03:00");
	expect_next("0 3 * * MON", "2026-11-30T02:59:59Z", "2026-11-30T03:00");
	expect_next("0 3 * * 1", "2026-11-30T03:00:00Z", "2026-12-07T03:00");
	expect_next("0 3 * * 1", "2026-11-30T03:00:30Z", "2026-12-07T03:00");
	expect_next("* * * * *", "2026-12-31T23:59:00Z", "2027-01-01T00:00");
	expect_next("*/20 * * * *", "2026-11-24T13:20:00Z",
	    "2026-11-24T13:40");
	expect_next("5-50/15,59 * * * *", "2026-11-24T13:50:01Z",
	    "2026-11-24T13:59");
	expect_next("0 0 1 jan *", "2026-01-01T00:00:00Z", "2027-01-01T00:00");
	expect_next("30 4 1,15 * fri", "2026-11-24T00:00:00Z",
	    "2026-11-27T04:30");
	expect_next("30 4 1,15 * fri", "2026-11-28T00:00:00Z",
	    "2026-12-01T04:30");
	expect_next("0 0 */2 * sun", "2026-11-24T00:00:00Z",
	    "2026-11-29T00:00");
	expect_next("0 12 * * 7", "2026-11-24T00:00:00Z", "2026-11-29T12:00");
	expect_next("0 12 * * 5-7", "2026-11-24T00:00:00Z",
	    "2026-11-27T12:00");
	expect_next("0 0 29 2 *", "2096-03-01T00:00:00Z", "2104-02-29T00:00");
	/* 2100 has no such day: the longest wait for a Sunday. */
	expect_next("0 0 29 2 */7", "2088-03-01T00:00:00Z",
	    "2128-02-29T00:00");
}

/* The same question to gmtime(), minute by minute. */
static bool
slow_fits(const struct task_cron *c, time_t t)
{
	struct tm tm;

	gmtime_r(&t, &tm);
	bool date = (c->days >> tm.tm_mday & 1) != 0;
	bool week = (c->weekdays >> tm.tm_wday & 1) != 0;
	return (c->minutes >> tm.tm_min & 1) != 0 &&
	    (c->hours >> tm.tm_hour & 1) != 0 &&
	    (c->months >> (tm.tm_mon + 1) & 1) != 0 &&
	    (c->either_day ? date || week : date && week);
}

static void
agrees_with_a_walk_over_minutes(void **state)
{
	static const char *const lines[] = { "0 3 * * 1", "*/7 * * * *",
		"13 */5 * * *", "59 23 28-31 * *", "0 0 29 feb *",
		"0 6 1 1,jul *", "15 10 13 * fri", "7,9 1-3 */9 * *",
		"0 12 * dec-dec sat,sun", "30 0 31 * *" };
	static const char *const starts[] = { "1969-12-30T23:58:20Z",
		"2023-12-31T23:59:00Z", "2024-02-28T12:00:01Z",
		"2026-06-30T23:59:59Z" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct task_cron c = cron_of(lines[i]);
		for (size_t k = 0; k < ARRAY_LEN(starts); k++) {
			struct wall t = wall_of(starts[k]);
			struct wall next = task_cron_next(&c, t);
			time_t s = (time_t)(t.us / US_PER_S / 60 * 60 -
			    (t.us < 0 ? 60 : 0));
			do
				s += 60;
			while (!slow_fits(&c, s));
			assert_int_equal(next.us, (int64_t)s * US_PER_S);
		}
	}
}

static void
refuses_what_is_no_line(void **state)
{
	static const struct {
		const char *line, *why;
	} rows[] = {
		{ "", "a cron line has five fields" },
		{ "0 3 * *", "a cron line has five fields" },
		{ "0 3 * * 1 2", "a cron line has five fields" },
		{ "60 3 * * 1", "\"60\" is no minute" },
		{ "0 24 * * 1", "\"24\" is no hour" },
		{ "0 3 0 * 1", "\"0\" is no day of month" },
		{ "0 3 32 * 1", "\"32\" is no day of month" },
		{ "0 3 * 13 1", "\"13\" is no month" },
		{ "0 3 * 0 1", "\"0\" is no month" },
		{ "0 3 * * 8", "\"8\" is no day of week" },
		{ "0 3 * * moon", "\"moon\" is no day of week" },
		{ "0 3 * mon *", "\"mon\" is no month" },
		{ "1, 3 * * 1", "\"\" is no minute" },
		{ "5-1 3 * * 1", "\"5-1\" is no minute" },
		{ "5- 3 * * 1", "\"5-\" is no minute" },
		{ "5/2 3 * * 1", "\"5/2\" is no minute" },
		{ "*/0 3 * * 1", "\"*/0\" is no minute" },
		{ "*/ 3 * * 1", "\"*/\" is no minute" },
		{ "*/100 3 * * 1", "\"*/100\" is no minute" },
		{ "-1 3 * * 1", "\"-1\" is no minute" },
		{ "1-2-3 3 * * 1", "\"1-2-3\" is no minute" },
		{ "0 0 30 2 *", "no such day ever comes" },
		{ "0 0 31 4,6,9,11 *", "no such day ever comes" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct task_cron c;
		struct why w = WHY_INIT;
		assert_int_equal(task_cron_parse(str_of(rows[i].line), &c, &w),
		    ERR_INPUT);
		assert_string_equal(w.text, rows[i].why);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_next_times),
		cmocka_unit_test(agrees_with_a_walk_over_minutes),
		cmocka_unit_test(refuses_what_is_no_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

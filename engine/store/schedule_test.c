#include "engine/store/schedule.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct wall
at(const char *iso)
{
	struct wall t;

	if (!wall_from_iso(str_of(iso), &t))
		fail_msg("%s", iso);
	return t;
}

static struct schedule
every(unsigned n, enum schedule_unit u, const char *start)
{
	return (struct schedule){ .every = n, .unit = u, .start_at = at(start),
	    .timing = SCHEDULE_REGULAR };
}

static void
expect(const struct schedule *s, const char *now, const char *next)
{
	char iso[WALL_ISO_MAX];
	struct wall t = schedule_next(s, at(now));

	wall_to_iso(t, iso);
	if (t.us != at(next).us)
		fail_msg("every %u %s from %s: %s instead of %s", s->every,
		    schedule_unit_text(s->unit), now, iso, next);
}

static void
grid(void **state)
{
	struct schedule s = every(15, SCHEDULE_MINUTES,
	    "2026-11-20T09:00:00.5Z");

	(void)state;
	expect(&s, "2026-11-20T08:00:00Z", "2026-11-20T09:00:00.5Z");
	expect(&s, "2026-11-20T09:00:00.4Z", "2026-11-20T09:00:00.5Z");
	expect(&s, "2026-11-20T09:00:00.5Z", "2026-11-20T09:15:00.5Z");
	/* Missed runs collapse: days later, the next is the next. */
	expect(&s, "2026-11-25T11:07:00Z", "2026-11-25T11:15:00.5Z");
	s = every(2, SCHEDULE_HOURS, "2026-11-20T09:00:00Z");
	expect(&s, "2026-11-20T23:30:00Z", "2026-11-21T01:00:00Z");
	s = every(1, SCHEDULE_DAYS, "2024-02-28T10:00:00Z");
	expect(&s, "2024-02-28T10:00:00Z", "2024-02-29T10:00:00Z");
	s = every(2, SCHEDULE_WEEKS, "2026-11-20T09:00:00Z");
	expect(&s, "2026-12-05T00:00:00Z", "2026-12-18T09:00:00Z");
}

static void
calendars(void **state)
{
	struct schedule s = every(1, SCHEDULE_MONTHS, "2026-01-31T12:00:00Z");

	(void)state;
	expect(&s, "2026-01-31T12:00:00Z", "2026-02-28T12:00:00Z");
	/* Clamped once does not mean clamped for ever. */
	expect(&s, "2026-02-28T12:00:00Z", "2026-03-31T12:00:00Z");
	expect(&s, "2026-03-31T12:00:00Z", "2026-04-30T12:00:00Z");
	expect(&s, "2028-02-01T00:00:00Z", "2028-02-29T12:00:00Z");
	expect(&s, "2030-12-31T12:00:00Z", "2031-01-31T12:00:00Z");
	s = every(5, SCHEDULE_MONTHS, "2026-10-31T00:00:00Z");
	expect(&s, "2026-10-31T00:00:00Z", "2027-03-31T00:00:00Z");
	expect(&s, "2027-03-31T00:00:00Z", "2027-08-31T00:00:00Z");
	expect(&s, "2027-08-31T00:00:00Z", "2028-01-31T00:00:00Z");
	s = every(1, SCHEDULE_YEARS, "2024-02-29T23:59:59.25Z");
	expect(&s, "2024-03-01T00:00:00Z", "2025-02-28T23:59:59.25Z");
	expect(&s, "2027-03-01T00:00:00Z", "2028-02-29T23:59:59.25Z");
	s = every(4, SCHEDULE_YEARS, "2096-02-29T00:00:00Z");
	expect(&s, "2096-03-01T00:00:00Z", "2100-02-28T00:00:00Z");
	expect(&s, "2100-02-28T00:00:00Z", "2104-02-29T00:00:00Z");
}

static void
edges(void **state)
{
	struct schedule s = every(10000, SCHEDULE_YEARS,
	    "2026-11-20T09:00:00Z");
	struct wall end = at("9999-12-31T23:59:00Z");

	(void)state;
	assert_int_equal(schedule_next(&s, s.start_at).us, SCHEDULE_NEVER.us);
	s = every(10000, SCHEDULE_MONTHS, "9999-12-31T23:59:00Z");
	assert_int_equal(schedule_next(&s, end).us, SCHEDULE_NEVER.us);
	s = every(10000, SCHEDULE_WEEKS, "9999-12-31T23:59:00Z");
	assert_int_equal(schedule_next(&s, end).us, SCHEDULE_NEVER.us);
	s = every(1, SCHEDULE_MINUTES, "1970-01-01T00:00:00Z");
	expect(&s, "9999-12-31T23:58:30Z", "9999-12-31T23:59:00Z");
	assert_int_equal(schedule_step(&s, s.start_at, UINT64_MAX).us,
	    SCHEDULE_NEVER.us);
	expect(&s, "1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z");
}

static void
after_previous(void **state)
{
	struct schedule s = every(1, SCHEDULE_MONTHS, "2026-11-20T09:00:00Z");
	struct wall now = at("2026-12-31T10:11:12Z");

	(void)state;
	s.timing = SCHEDULE_AFTER;
	assert_int_equal(schedule_first(&s, now).us, now.us);
	assert_int_equal(schedule_first(&s, at("2026-01-01T00:00:00Z")).us,
	    s.start_at.us);
	assert_int_equal(schedule_next(&s, now).us, SCHEDULE_NEVER.us);
	assert_int_equal(schedule_after(&s, now).us,
	    at("2027-01-31T10:11:12Z").us);
	s.timing = SCHEDULE_REGULAR;
	assert_int_equal(schedule_first(&s, now).us,
	    at("2027-01-20T09:00:00Z").us);
	assert_int_equal(schedule_first(&s, s.start_at).us, s.start_at.us);
}

/* What the grid says against walking along it. */
static void
walks(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		uint64_t r[4];
		for (size_t j = 0; j < ARRAY_LEN(r); j++) {
			seed = seed * 6364136223846793005u + 1;
			r[j] = seed >> 20;
		}
		struct schedule s = { .every = 1 + (unsigned)(r[0] % 40),
		    .unit = (enum schedule_unit)(r[1] % SCHEDULE_UNIT_COUNT) };
		s.start_at.us = (int64_t)(r[2] % 4000000000u) * US_PER_S;
		uint64_t steps = r[3] % 200;
		struct wall t = schedule_step(&s, s.start_at, steps);
		struct wall next = schedule_step(&s, s.start_at, steps + 1);
		assert_true(next.us > t.us);
		assert_int_equal(schedule_first(&s, t).us, t.us);
		assert_int_equal(schedule_next(&s, t).us, next.us);
		if (next.us == SCHEDULE_NEVER.us)
			continue;
		struct wall between = { t.us + 1 + (int64_t)(r[3] %
		    (uint64_t)(next.us - t.us - 1)) };
		assert_int_equal(schedule_next(&s, between).us, next.us);
	}
}

static void
checks(void **state)
{
	struct schedule s = every(1, SCHEDULE_DAYS, "2026-11-20T09:00:00Z");
	struct why w = WHY_INIT;
	enum schedule_unit u;
	enum schedule_timing t;

	(void)state;
	assert_int_equal(schedule_check(&s, &w), OK);
	s.every = 0;
	assert_int_equal(schedule_check(&s, &w), ERR_INPUT);
	assert_non_null(strstr(w.text, "every"));
	s.every = SCHEDULE_EVERY_MAX;
	assert_int_equal(schedule_check(&s, NULL), OK);
	s.every++;
	assert_int_equal(schedule_check(&s, NULL), ERR_INPUT);
	s.every = 1;
	s.start_at.us = -1;
	assert_int_equal(schedule_check(&s, NULL), ERR_INPUT);
	s.start_at.us = INT64_MAX;
	assert_int_equal(schedule_check(&s, NULL), ERR_INPUT);
	s.start_at.us = 0;
	s.unit = SCHEDULE_UNIT_COUNT;
	assert_int_equal(schedule_check(&s, NULL), ERR_INPUT);
	for (unsigned i = 0; i < SCHEDULE_UNIT_COUNT; i++) {
		assert_true(schedule_unit_of(str_of(schedule_unit_text(
		    (enum schedule_unit)i)), &u));
		assert_int_equal(u, i);
	}
	assert_false(schedule_unit_of(STR("seconds"), &u));
	assert_true(schedule_timing_of(STR("after_previous"), &t));
	assert_int_equal(t, SCHEDULE_AFTER);
	assert_false(schedule_timing_of(STR(""), &t));
}

static void
names(void **state)
{
	struct schedule s = { .name = STR("daily"), .runs = 41 };
	struct wall now = at("2026-11-20T09:18:16.9Z");
	struct arena a = ARENA_INIT;
	char long_name[300];

	(void)state;
	assert_string_equal(schedule_name(&s, now, &a).p, "daily #42");
	s.name_template = STR("{DATE} {TIME}: {COUNT} {count} {COUNT");
	assert_string_equal(schedule_name(&s, now, &a).p,
	    "2026-11-20 09:18:16: 42 {count} {COUNT");
	memset(long_name, 'x', sizeof(long_name));
	memcpy(long_name + 199, "\xc3\xa4", 2);
	s.name_template = (struct str){ long_name, sizeof(long_name) };
	assert_int_equal(schedule_name(&s, now, &a).n, 199);
	memcpy(long_name + 198, "\xc3\xa4y", 3);
	assert_int_equal(schedule_name(&s, now, &a).n, 200);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grid), cmocka_unit_test(calendars),
		cmocka_unit_test(edges), cmocka_unit_test(after_previous),
		cmocka_unit_test(walks), cmocka_unit_test(checks),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

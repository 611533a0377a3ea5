#include "base/time.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* RFC 9110 section 5.6.7's own moment: Sun, 06 Nov 1994 08:49:37 GMT. */
#define NOV_1994 INT64_C(784111777)

static void
test_http(void **state)
{
	static const struct {
		const char *text;
		int64_t s;             /* -1: no date */
	} rows[] = {
		{ "Sun, 06 Nov 1994 08:49:37 GMT", NOV_1994 },
		{ "Sunday, 06-Nov-94 08:49:37 GMT", NOV_1994 },
		{ "Sun Nov  6 08:49:37 1994", NOV_1994 },
		{ "sun, 06 nov 1994 08:49:37 gmt", NOV_1994 },
		{ "Thu, 01 Jan 1970 00:00:00 GMT", 0 },
		{ "Sun Nov 16 08:49:37 1994", NOV_1994 + 864000 },
		{ "Saturday, 01-Jan-00 00:00:00 GMT", 946684800 },
		{ "Thu, 29 Feb 2024 12:00:00 GMT", 1709208000 },
		{ "Sat, 31 Dec 2016 23:59:60 GMT", 1483228800 },
		{ "Thu, 29 Feb 2023 12:00:00 GMT", -1 },
		{ "Sun, 31 Apr 1994 08:49:37 GMT", -1 },
		{ "Sun, 31 Apr 1994 08:49:60 GMT", -1 },
		{ "Sun, 00 Nov 1994 08:49:37 GMT", -1 },
		{ "Sun, 32 Nov 1994 08:49:37 GMT", -1 },
		{ "Sun, 06 Nov 1994 24:00:00 GMT", -1 },
		{ "Sun, 06 Nov 1994 08:60:00 GMT", -1 },
		{ "Sun, 06 Nov 1994 08:49:61 GMT", -1 },
		{ "Sun, 06 Nov 1994 08:49:37", -1 },
		{ "Sun, 06 Nov 1994 08:49:37 +0100", -1 },
		{ "Sun, 06 Nov 1994 08:49:37 GMT x", -1 },
		{ "Sun, 06 Foo 1994 08:49:37 GMT", -1 },
		{ "Sun, 06-Nov 1994 08:49:37 GMT", -1 },
		{ "Sun, -6 Nov 1994 08:49:37 GMT", -1 },
		{ "Sun Nov 6 08:49:37 1994", -1 },
		{ "Sun Nov  6 08:49:37 94", -1 },
		{ "Sun Nov  6 08:49:37 1994 ", -1 },
		{ "", -1 }, { "0", -1 }, { "-1", -1 }, { ",", -1 },
		{ "Sun,", -1 }, { "Sun", -1 }, { "Sun ", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wall t = { 42 };
		bool ok = wall_from_http(str_of(rows[i].text), &t);
		if (ok != (rows[i].s >= 0))
			fail_msg("%s", rows[i].text);
		if (ok)
			assert_true(t.us == rows[i].s * US_PER_S);
	}
}

static void
test_iso(void **state)
{
	static const struct {
		const char *text;
		int64_t us;            /* INT64_MIN: no date */
	} rows[] = {
		{ "1994-11-06T08:49:37Z", NOV_1994 * US_PER_S },
		{ "1994-11-06T08:49:37.5Z", NOV_1994 * US_PER_S + 500000 },
		{ "1994-11-06T08:49:37.000001Z", NOV_1994 * US_PER_S + 1 },
		{ "1994-11-06T08:49:37.123456789Z",
		    NOV_1994 * US_PER_S + 123456 },
		{ "1969-12-31T23:59:59.999999Z", -1 },
		{ "0001-01-01T00:00:00Z", INT64_C(-62135596800) * US_PER_S },
		{ "9999-12-31T23:59:59Z", INT64_C(253402300799) * US_PER_S },
		{ "1994-11-06T08:49:37.Z", INT64_MIN },
		{ "1994-11-06T08:49:37.1234567891Z", INT64_MIN },
		{ "1994-11-06T08:49:37", INT64_MIN },
		{ "1994-11-06T08:49:37+00:00", INT64_MIN },
		{ "1994-11-06 08:49:37Z", INT64_MIN },
		{ "1994-11-06T08:49Z", INT64_MIN },
		{ "1994-11-06", INT64_MIN },
		{ "1994-13-06T08:49:37Z", INT64_MIN },
		{ "1994-00-06T08:49:37Z", INT64_MIN },
		{ "1994-02-29T08:49:37Z", INT64_MIN },
		{ "1994-11-31T08:49:60Z", INT64_MIN },
		{ "1994-11-06T08:49:37ZZ", INT64_MIN },
		{ "94-11-06T08:49:37Z", INT64_MIN },
		{ "", INT64_MIN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct wall t = { 42 };
		bool ok = wall_from_iso(str_of(rows[i].text), &t);
		if (ok != (rows[i].us != INT64_MIN))
			fail_msg("%s", rows[i].text);
		if (ok)
			assert_true(t.us == rows[i].us);
	}
}

/* What is written reads back, over ten thousand years and before 1970. */
static void
test_round_trip(void **state)
{
	char iso[WALL_ISO_MAX], digits[18];

	(void)state;
	for (int64_t us = INT64_C(-62135596800) * US_PER_S;
	    us < INT64_C(253402300799) * US_PER_S;
	    us += INT64_C(39916800123457)) {
		struct wall t = { us }, back;
		wall_to_iso(t, iso);
		assert_int_equal(strlen(iso), 27);
		assert_true(wall_from_iso(str_of(iso), &back));
		assert_true(back.us == us);
		wall_to_digits(t, 17, digits);
		assert_int_equal(strlen(digits), 17);
		assert_memory_equal(digits, iso, 4);
		assert_memory_equal(digits + 14, iso + 20, 3);
		wall_to_digits(t, 14, digits);
		assert_int_equal(strlen(digits), 14);
	}
	struct wall t = { NOV_1994 * US_PER_S + 7008 };
	wall_to_iso(t, iso);
	assert_string_equal(iso, "1994-11-06T08:49:37.007008Z");
	wall_to_digits(t, 17, digits);
	assert_string_equal(digits, "19941106084937007");
	wall_to_digits(t, 14, digits);
	assert_string_equal(digits, "19941106084937");
	assert_int_equal(wall_s(t), NOV_1994);
	/* The ends of the type stay in their room. */
	wall_to_iso((struct wall){ INT64_MAX }, iso);
	assert_string_equal(iso, "294247-01-10T04:00:54.775807Z");
	wall_to_iso((struct wall){ INT64_MIN }, iso);
	assert_true(strlen(iso) < WALL_ISO_MAX);
	wall_to_digits((struct wall){ INT64_MIN }, 17, digits);
	assert_true(strlen(digits) < 18);
}

static void
test_mono(void **state)
{
	struct mono a = { 5 }, b = mono_add_ms(a, 2);

	(void)state;
	assert_true(b.ns == 2000005);
	assert_true(mono_ns_between(a, b) == 2000000);
	assert_true(mono_ns_between(b, a) == -2000000);
	assert_true(mono_before(a, b) && !mono_before(b, a) &&
	    !mono_before(a, a));
	assert_true(mono_add_ns(a, -5).ns == 0);
	assert_true(mono_before(b, MONO_NEVER));
}

/* At its edges: all at once, then as many a second; less than none is none. */
static void
test_rate(void **state)
{
	struct rate r = { 0 };
	struct mono now = { 77 };

	(void)state;
	assert_true(rate_count(&r, 5, 4, 5, now));
	now.ns += NS_PER_S;
	for (int i = 0; i < 4; i++)
		assert_true(rate_count(&r, 1, 4, 5, now));
	assert_false(rate_count(&r, 1, 4, 5, now));
	assert_true(rate_count(&r, -1, 4, 5, now));
	assert_false(rate_count(&r, 1, 4, 5, now));
	now.ns += 100 * NS_PER_S;
	assert_true(rate_count(&r, -100, 4, 5, now));
	assert_true(rate_count(&r, 5, 4, 5, now));
	assert_false(rate_count(&r, 1, 4, 5, now));
}

static void
test_duration(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0 ms" }, { 999999, "0 ms" },
		{ 999 * NS_PER_MS, "999 ms" },
		{ NS_PER_S, "1.0 s" }, { 3200 * NS_PER_MS, "3.2 s" },
		{ 60 * NS_PER_S, "1 min 0 s" },
		{ 250 * NS_PER_S, "4 min 10 s" },
		{ 3599 * NS_PER_S, "59 min 59 s" },
		{ 7500 * NS_PER_S, "2 h 5 min" },
	};
	char text[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		duration_to_text(rows[i].ns, text);
		assert_string_equal(text, rows[i].text);
	}
	duration_to_text(INT64_MAX, text);
	assert_true(strlen(text) < 32);
	duration_to_text(INT64_MIN, text);
	assert_true(strlen(text) < 32);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_iso),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_mono),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_duration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

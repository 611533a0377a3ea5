/* Dates of platforms, and how tables write them. */
#include "engine/connector/item_date.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
dates_are_read_and_written(void **state)
{
	static const struct {
		const char *text, *blank, *letter;
	} rows[] = {
		{ "Wed Dec 02 18:56:27 +0000 2015",
		    "2015-12-02 18:56:27+00:00", "2015-12-02T18:56:27+00:00" },
		{ "Thu Jun 02 12:00:00 +0800 2016",
		    "2016-06-02 12:00:00+08:00", "2016-06-02T12:00:00+08:00" },
		{ "Mon Feb 29 23:59:59 -0330 2016",
		    "2016-02-29 23:59:59-03:30", "2016-02-29T23:59:59-03:30" },
		{ "2016-06-02 12:00:00 GMT", "2016-06-02 12:00:00+00:00",
		    "2016-06-02T12:00:00+00:00" },
		{ "2023-03-02T12:00:01.000Z", "2023-03-02 12:00:01+00:00",
		    "2023-03-02T12:00:01+00:00" },
		{ "2023-03-02T12:00:01.05+01:00",
		    "2023-03-02 12:00:01.050000+01:00",
		    "2023-03-02T12:00:01.050000+01:00" },
		{ "2023-03-02T12:00:01.1234567Z",
		    "2023-03-02 12:00:01.123456+00:00",
		    "2023-03-02T12:00:01.123456+00:00" },
		{ "2016-06-02 08:09", "2016-06-02 08:09:00",
		    "2016-06-02T08:09:00" },
		{ "1969-12-31", "1969-12-31 00:00:00",
		    "1969-12-31T00:00:00" },
		{ "0001-01-01T00:00:00.5Z", "0001-01-01 00:00:00.500000+00:00",
		    "0001-01-01T00:00:00.500000+00:00" },
		{ "9999-12-31T23:59:59Z", "9999-12-31 23:59:59+00:00",
		    "9999-12-31T23:59:59+00:00" },
		{ "Wed, 02 Oct 2002 13:00:00 GMT",
		    "2002-10-02 13:00:00+00:00", "2002-10-02T13:00:00+00:00" },
		{ "Wed, 2 Oct 02 13:00 EST", "2002-10-02 13:00:00-05:00",
		    "2002-10-02T13:00:00-05:00" },
		{ "2 Oct 1999 13:00:01 +0130", "1999-10-02 13:00:01+01:30",
		    "1999-10-02T13:00:01+01:30" },
		{ "31 Dec 70 23:59 UT", "1970-12-31 23:59:00+00:00",
		    "1970-12-31T23:59:00+00:00" },
		{ "2000-02-29", "2000-02-29 00:00:00",
		    "2000-02-29T00:00:00" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct item_date d;
		struct buf b = BUF_INIT;
		assert_true(item_date_parse(str_of(rows[i].text), &d));
		assert_true(d.known);
		item_date_put(&b, &d, ' ');
		assert_string_equal(buf_text(&b), rows[i].blank);
		buf_clear(&b);
		item_date_put(&b, &d, 'T');
		assert_string_equal(buf_text(&b), rows[i].letter);
		buf_free(&b);
	}
}

static void
other_texts_are_no_dates(void **state)
{
	static const char *const texts[] = { "", "2016", "2016-00-01 00:00:00",
		"2016-02-30", "1900-02-29", "2016-06-02 24:00:00",
		"2016-06-02 12:00:00 PST", "2016-06-02 12:00:00 +24:00",
		"2016-06-02T12:00:00.Z", "2016-06-02T12:00:00Z ",
		"Wed Dec 32 18:56:27 +0000 2015", "Wed Dec 02 18:56:27 2015",
		"Wed, 02 Oct 2002", "Wed, 32 Oct 2002 13:00:00 GMT",
		"2 Oct 2002 13:00:00 XYZ", "Wed, ", ",", "2 ",
		"Wed", "0000-01-01", "12345678901234567890" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct item_date d = { .known = true };
		assert_false(item_date_parse(str_of(texts[i]), &d));
		assert_false(d.known);
	}
}

/* Every day of 400 years comes back, and the next one is a day later. */
static void
days_follow_each_other(void **state)
{
	int64_t before = 0;

	(void)state;
	for (int64_t day = 0; day < 146097; day++) {
		struct item_date d, again;
		struct buf b = BUF_INIT;
		d = item_date_of_epoch(-62135596800 + day * 86400);
		item_date_put(&b, &d, 'T');
		assert_true(item_date_parse(buf_str(&b), &again));
		assert_int_equal(again.at.us, d.at.us);
		assert_true(day == 0 ||
		    d.at.us - before == 86400 * US_PER_S);
		before = d.at.us;
		buf_free(&b);
	}
}

static void
zones_do_not_move_a_moment(void **state)
{
	struct item_date a, b;

	(void)state;
	assert_true(item_date_parse(STR("2016-06-02T12:00:00+08:00"), &a));
	assert_true(item_date_parse(STR("2016-06-02T04:00:00Z"), &b));
	assert_int_equal(a.at.us, b.at.us);
	assert_true(item_date_parse(STR("2016-06-02T04:00:00"), &a));
	assert_int_equal(a.at.us, b.at.us);
	assert_false(a.has_zone);
	assert_int_equal(a.at.us, item_date_of_epoch(1464840000).at.us);
	assert_false(item_date_of_epoch(INT64_MAX).known);
	assert_false(item_date_of_epoch(INT64_MIN).known);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_are_read_and_written),
		cmocka_unit_test(other_texts_are_no_dates),
		cmocka_unit_test(days_follow_each_other),
		cmocka_unit_test(zones_do_not_move_a_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

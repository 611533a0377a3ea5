#include "engine/parser/suite_test.h"

#include "engine/parser/date.h"

static void
test_dates(void **state)
{
	static const struct {
		const char *text, *iso;
	} cases[] = {
		{ "2026", "2026-01-01T00:00:00" },
		{ "2026-11", "2026-11-01T00:00:00" },
		{ " 2026-11-20 ", "2026-11-20T00:00:00" },
		{ "2026-11-20T10:00Z", "2026-11-20T10:00:00" },
		{ "2026-11-20T00:30:00.45+01:00", "2026-11-19T23:30:00" },
		{ "2026-11-20 10:00:00", "2026-11-20T10:00:00" },
		{ "Thu, 05 Jan 2017 13:34:51 +0100", "2017-01-05T12:34:51" },
		{ "Thu, 05 Jan 17 13:34:52 +0100", "2017-01-05T12:34:52" },
		{ "05 Jan 17 13:34:55", "2017-01-05T13:34:55" },
		{ "5 January 1999 13:34 EST", "1999-01-05T18:34:00" },
		{ "", NULL }, { "2026-13-01", NULL }, { "2026-02-30", NULL },
		{ "yesterday", NULL }, { "2026-11-20T", NULL },
		{ "20", NULL }, { "32 Jan 2017 00:00 GMT", NULL },
		{ "Thu, 05 Jan 2017 13:34:51 +9900", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wall t;
		char iso[WALL_ISO_MAX];
		bool ok = date_parse(str_of(cases[i].text), &t);
		if (ok != (cases[i].iso != NULL))
			fail_msg("%s: %d", cases[i].text, (int)ok);
		if (!ok)
			continue;
		wall_to_iso(t, iso);
		assert_memory_equal(iso, cases[i].iso, 19);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The configuration of a build without any door (meson -Ddoors=). */
#include "base/conf.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

_Static_assert(!DOOR_URLFRONTIER && !DOOR_REALTIME,
    "this test is compiled without doors");

static void
test_refused(void **state)
{
	static const char *const variables[] = {
		"ARGIOPE_URLFRONTIER_LISTEN=off", NULL
	};
	struct why w = WHY_INIT;
	struct conf c;

	(void)state;
	conf_init(&c);
	assert_int_equal(conf_flag(&c, STR("urlfrontier.listen=off"), &w),
	    ERR_CONFIG);
	assert_string_equal(w.text, "--set: urlfrontier.listen cannot be set, "
	    "because this argiope was built without the urlfrontier door; "
	    "remove the setting");
	w = WHY_INIT;
	assert_int_equal(conf_file(&c, STR("realtime.token = required\n"),
	    "a.conf", &w), ERR_CONFIG);
	assert_non_null(strstr(w.text, "a.conf:1: realtime.token cannot"));
	w = WHY_INIT;
	assert_int_equal(conf_env(&c, variables, &w), ERR_CONFIG);
	assert_non_null(strstr(w.text, "without the urlfrontier door"));
	conf_free(&c);
}

static void
test_defaults_stay(void **state)
{
	struct conf c;

	(void)state;
	conf_init(&c);
	assert_int_equal(conf_int(&c, CONF_REALTIME_CONNECTIONS_MAX), 10000);
	assert_int_equal(conf_flag(&c, STR("http.listen=off"), NULL), OK);
	assert_int_equal(conf_check(&c, NULL), OK);
	conf_free(&c);
}

/* No text shows a setting that cannot be set, or a group without settings. */
static void
test_texts(void **state)
{
	static const char *const absent[] = { "urlfrontier", "realtime",
	    "Port 8001: console" };
	struct conf c;
	struct buf b = BUF_INIT;

	(void)state;
	conf_init(&c);
	conf_print(&c, &b);
	conf_print_json(&c, &b);
	conf_example(&b);
	conf_man(&b);
	assert_non_null(strstr(buf_text(&b), "http.listen"));
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		assert_null(strstr(buf_text(&b), absent[i]));
	buf_free(&b);
	conf_free(&c);
}

/* A misspelled name is not answered with one that cannot be set. */
static void
test_nearest(void **state)
{
	const char *near = conf_nearest(STR("realtime.toke"));

	(void)state;
	assert_true(near == NULL || strcmp(near, "realtime.token") != 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_defaults_stay),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

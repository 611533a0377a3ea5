/* Verdicts: the first failure stays, choices, and the two forms of output. */
#include "cli/conformance/verdicts.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
expect_lines(struct verdicts *v, const char *group, const char *want)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	verdicts_put_group(v, group, &b);
	assert_string_equal(buf_text(&b), want);
}

static struct verdicts *
choose(const char *first, const char *second)
{
	struct verdicts *v = verdicts_new(VERDICT_CRAWLER, false);

	assert_int_equal(verdicts_choose(v, str_of(first), NULL), OK);
	if (second != NULL)
		assert_int_equal(verdicts_choose(v, str_of(second), NULL), OK);
	return v;
}

static void
keeps_the_first_failure(void **state)
{
	struct verdicts *v = choose("start/envelope", "start/callback");

	(void)state;
	verdict_skip(v, CHECK_START_ENVELOPE, "no answer");
	verdict_pass(v, CHECK_START_ENVELOPE);
	assert_true(verdict_judge(v, CHECK_START_CALLBACK, true, "none"));
	assert_false(verdict_judge(v, CHECK_START_CALLBACK, false, "it is %d\n",
	    7));
	verdict_fail(v, CHECK_START_CALLBACK, "another");
	verdict_pass(v, CHECK_START_CALLBACK);
	expect_lines(v, "start", "PASS start/envelope\n"
	    "FAIL start/callback it is 7 \n");
	verdicts_free(&v);
	assert_null(v);
}

static void
skips_what_was_not_reached(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct verdicts *v = choose("stop/unknown-task", "stop/repeated");

	(void)state;
	verdict_pass(v, CHECK_STOP_REPEATED);
	expect_lines(v, "stop", "PASS stop/repeated\n"
	    "SKIP stop/unknown-task it was not reached\n");
	assert_int_equal(verdicts_put_end(v, &b), 0);
	assert_string_equal(buf_text(&b), "1 passed, 0 failed, 1 skipped\n");
	verdicts_free(&v);
}

static void
writes_json(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct verdicts *v = verdicts_new(VERDICT_CRAWLER, true);

	(void)state;
	assert_int_equal(verdicts_choose(v, STR("upload/gzip"), NULL), OK);
	verdict_fail(v, CHECK_UPLOAD_GZIP, "a \"word\"");
	verdicts_put_group(v, "upload", &b);
	assert_int_equal(verdicts_put_end(v, &b), 1);
	assert_string_equal(buf_text(&b), "{\"result\":\"FAIL\",\"group\":"
	    "\"upload\",\"name\":\"gzip\",\"reason\":\"a \\\"word\\\"\"}\n"
	    "{\"passed\":0,\"failed\":1,\"skipped\":0}\n");
	verdicts_free(&v);
}

/* A name of the other side's is none. */
static void
chooses_by_group_and_name(void **state)
{
	struct verdicts *v = choose("security", "start/not-json");
	struct why w = WHY_INIT;

	(void)state;
	assert_true(verdicts_wants(v, "security"));
	assert_true(verdicts_wants(v, "start"));
	assert_false(verdicts_wants(v, "upload"));
	verdicts_leave_out(v, "security");
	assert_false(verdicts_wants(v, "security"));
	assert_int_equal(verdicts_choose(v, STR("register"), &w), ERR_USAGE);
	assert_non_null(strstr(w.text, "--only register"));
	assert_int_equal(verdicts_choose(v, STR("start/"), NULL), ERR_USAGE);
	assert_int_equal(verdicts_choose(v, STR("startx"), NULL), ERR_USAGE);
	verdicts_free(&v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_first_failure),
		cmocka_unit_test(skips_what_was_not_reached),
		cmocka_unit_test(writes_json),
		cmocka_unit_test(chooses_by_group_and_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

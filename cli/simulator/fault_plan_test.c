/* Plans of faults: what each member means, what is refused, and where. */
#include "cli/simulator/fault_plan.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct fault_plan *
read_plan(const char *text)
{
	struct fault_plan *p;
	struct why w = WHY_INIT;

	enum err e = fault_plan_read(str_of(text), &p, &w);
	if (e != OK)
		fail_msg("%s", w.text);
	return p;
}

static void
finds_calls(void **state)
{
	struct fault_plan *p = read_plan("{\"faults\":["
	    "{\"call\":\"upload\",\"number\":2,\"last\":4,\"status\":503,"
	    "\"retry_after_s\":7},"
	    "{\"call\":\"status\",\"number\":2,\"redirect\":\"http://x/\"},"
	    "{\"number\":3,\"cut_bytes\":0}]}");
	const struct fault *f;

	(void)state;
	assert_null(fault_plan_find(p, FAULT_UPLOAD, 1));
	f = fault_plan_find(p, FAULT_UPLOAD, 2);
	assert_int_equal(f->kind, FAULT_ANSWER);
	assert_int_equal(f->status, 503);
	assert_true(f->has_retry_after);
	assert_int_equal(f->retry_after_s, 7);
	/* The first that concerns a call holds. */
	assert_ptr_equal(fault_plan_find(p, FAULT_UPLOAD, 3), f);
	assert_ptr_equal(fault_plan_find(p, FAULT_UPLOAD, 4), f);
	assert_null(fault_plan_find(p, FAULT_UPLOAD, 5));
	assert_null(fault_plan_find(p, FAULT_STATUS, 1));
	f = fault_plan_find(p, FAULT_STATUS, 2);
	assert_int_equal(f->kind, FAULT_REDIRECT);
	assert_string_equal(f->redirect, "http://x/");
	assert_null(fault_plan_find(NULL, FAULT_STATUS, 2));
	fault_plan_free(&p);
	assert_null(p);
}

static void
reads_each_kind(void **state)
{
	struct fault_plan *p = read_plan("{\"faults\":["
	    "{\"number\":1,\"delay_ms\":5},"
	    "{\"number\":2,\"delay_ms\":5,\"cut_bytes\":9},"
	    "{\"number\":3,\"reply_lost\":true},"
	    "{\"number\":4,\"refused_lines\":[1,3]},"
	    "{\"number\":5,\"status\":200,\"body\":\"hello\"}]}");
	const struct fault *f;

	(void)state;
	f = fault_plan_find(p, FAULT_UPLOAD, 1);
	assert_int_equal(f->kind, FAULT_NONE);
	assert_int_equal(f->delay_ms, 5);
	f = fault_plan_find(p, FAULT_UPLOAD, 2);
	assert_int_equal(f->kind, FAULT_CUT);
	assert_int_equal(f->cut_bytes, 9);
	assert_int_equal(f->delay_ms, 5);
	assert_int_equal(fault_plan_find(p, FAULT_UPLOAD, 3)->kind,
	    FAULT_REPLY_LOST);
	f = fault_plan_find(p, FAULT_UPLOAD, 4);
	assert_int_equal(f->kind, FAULT_LINES);
	assert_true(fault_refuses_line(f, 1));
	assert_false(fault_refuses_line(f, 2));
	assert_true(fault_refuses_line(f, 3));
	f = fault_plan_find(p, FAULT_UPLOAD, 5);
	assert_true(str_eq(f->body, STR("hello")));
	fault_plan_free(&p);
}

static void
refuses_with_the_place(void **state)
{
	static const struct {
		const char *fault, *text;
	} cases[] = {
		{ "7", "faults[0]: must be an object" },
		{ "{\"number\":1}", "faults[0].status: is missing, as are "
		    "cut_bytes, reply_lost, refused_lines, redirect and "
		    "delay_ms" },
		{ "{\"status\":500}", "faults[0].number: is missing" },
		{ "{\"number\":0,\"status\":500}", "faults[0].number: must be "
		    "a whole number from 1 to 4294967295" },
		{ "{\"number\":2,\"last\":1,\"status\":500}",
		    "faults[0].last: is less than number" },
		{ "{\"number\":1,\"status\":199}", "faults[0].status: must be "
		    "a whole number from 200 to 599" },
		{ "{\"number\":1,\"status\":600}", "faults[0].status: must be "
		    "a whole number from 200 to 599" },
		{ "{\"number\":1,\"call\":\"both\",\"status\":500}",
		    "faults[0].call: must be \"upload\" or \"status\"" },
		{ "{\"number\":1,\"stauts\":500}",
		    "faults[0].stauts: is not known" },
		{ "{\"number\":1,\"status\":500,\"cut_bytes\":1}",
		    "faults[0].cut_bytes: a fault has one of status, "
		    "cut_bytes, reply_lost, refused_lines and redirect" },
		{ "{\"number\":1,\"reply_lost\":false}",
		    "faults[0].reply_lost: must be true" },
		{ "{\"number\":1,\"delay_ms\":600001}", "faults[0].delay_ms: "
		    "must be a whole number from 1 to 600000" },
		{ "{\"number\":1,\"cut_bytes\":1,\"retry_after_s\":1}",
		    "faults[0].retry_after_s: goes with status only" },
		{ "{\"number\":1,\"status\":503,\"retry_after_s\":86401}",
		    "faults[0].retry_after_s: must be a whole number from 0 "
		    "to 86400" },
		{ "{\"number\":1,\"cut_bytes\":1,\"body\":\"x\"}",
		    "faults[0].body: goes with status only" },
		{ "{\"number\":1,\"refused_lines\":[]}",
		    "faults[0].refused_lines: must be a list of line numbers" },
		{ "{\"number\":1,\"refused_lines\":[0]}",
		    "faults[0].refused_lines: must be a whole number from 1 to "
		    "4294967295" },
		{ "{\"number\":1,\"call\":\"status\",\"refused_lines\":[1]}",
		    "faults[0].refused_lines: only an upload has lines" },
		{ "{\"number\":1,\"redirect\":\"a\\r\\nb\"}",
		    "faults[0].redirect: must be a URL" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		FREED(buf_free) struct buf b = BUF_INIT;
		struct fault_plan *p;
		struct why w = WHY_INIT;
		buf_printf(&b, "{\"faults\":[%s]}", cases[i].fault);
		assert_int_equal(fault_plan_read(buf_str(&b), &p, &w),
		    ERR_INPUT);
		assert_null(p);
		assert_string_equal(w.text, cases[i].text);
	}
}

/* At the edge of FAULTS_MAX and FAULT_LINES_MAX, and one more. */
static void
keeps_its_limits(void **state)
{
	(void)state;
	for (size_t extra = 0; extra < 2; extra++) {
		FREED(buf_free) struct buf b = BUF_INIT;
		FREED(buf_free) struct buf l = BUF_INIT;
		struct fault_plan *p;
		struct why w = WHY_INIT;
		enum err want = extra == 0 ? OK : ERR_FULL;
		for (size_t i = 0; i < FAULTS_MAX + extra; i++)
			buf_printf(&b, "%s{\"number\":1,\"status\":500}",
			    i == 0 ? "{\"faults\":[" : ",");
		buf_put_text(&b, "]}");
		assert_int_equal(fault_plan_read(buf_str(&b), &p, &w), want);
		fault_plan_free(&p);
		for (size_t i = 0; i < FAULT_LINES_MAX + extra; i++)
			buf_printf(&l, "%s%zu", i == 0 ? "{\"faults\":["
			    "{\"number\":1,\"refused_lines\":[" : ",", i + 1);
		buf_put_text(&l, "]}]}");
		assert_int_equal(fault_plan_read(buf_str(&l), &p, NULL),
		    want);
		fault_plan_free(&p);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_calls),
		cmocka_unit_test(reads_each_kind),
		cmocka_unit_test(refuses_with_the_place),
		cmocka_unit_test(keeps_its_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

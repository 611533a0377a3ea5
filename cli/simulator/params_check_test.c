/* Forms of external objects and values for them. */
#include "cli/simulator/params_check.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
expect_form(const char *rows, const char *want)
{
	yyjson_doc *d = yyjson_read(rows, strlen(rows), 0);
	struct why w = WHY_INIT;

	assert_non_null(d);
	(void)!params_check_form(yyjson_doc_get_root(d), &w);
	assert_string_equal(w.text, want);
	yyjson_doc_free(d);
}

static void
checks_forms(void **state)
{
	(void)state;
	expect_form("null", "");
	expect_form("[{\"name\":\"a\"}]", "");
	expect_form("[{\"name\":\"a\",\"type\":\"interger\",\"min\":null,"
	    "\"max\":5,\"regex\":null,\"options\":[],\"restrictions\":[]}]",
	    "");
	expect_form("{}", "parameters: must be a list");
	expect_form("[7]", "parameters[0]: must be an object");
	expect_form("[{\"name\":\"a\"},{}]",
	    "parameters[1].name: must be a text");
	expect_form("[{\"name\":\"a\",\"type\":\"text\"}]",
	    "parameters[0].type: must be one of string, password, bool, date, "
	    "location, multi_bool, list, multi_search, integer");
	expect_form("[{\"name\":\"a\",\"min\":\"x\"}]",
	    "parameters[0].min: must be a number or a date");
	expect_form("[{\"name\":\"a\",\"max\":[]}]",
	    "parameters[0].max: must be a number or a date");
	expect_form("[{\"name\":\"a\",\"regex\":\"(\"}]",
	    "parameters[0].regex: is no regular expression");
	expect_form("[{\"name\":\"a\",\"regex\":1}]",
	    "parameters[0].regex: must be a text");
	expect_form("[{\"name\":\"a\",\"options\":1}]",
	    "parameters[0].options: must be a list");
	expect_form("[{\"name\":\"a\",\"restrictions\":[{\"rule\":\"ne\","
	    "\"target\":\"b\"}]}]", "parameters[0].restrictions[0].rule: must "
	    "be one of gt, gte, lt, lte, eq");
	expect_form("[{\"name\":\"a\",\"restrictions\":[{\"rule\":\"lt\"}]}]",
	    "parameters[0].restrictions[0].target: must name a parameter");
}

static void
limits_forms(void **state)
{
	(void)state;
	for (size_t extra = 0; extra < 2; extra++) {
		FREED(buf_free) struct buf b = BUF_INIT;
		for (size_t i = 0; i < PARAMS_MAX + extra; i++)
			buf_printf(&b, "%s{\"name\":\"p%zu\"}",
			    i == 0 ? "[" : ",", i);
		buf_put_char(&b, ']');
		expect_form(buf_text(&b), extra == 0 ? "" :
		    "parameters: more than 200");
	}
}

/* The faults of `params`, joined by "; ". */
static void
expect(const char *rows, const char *params, const char *want)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	FREED(buf_free) struct buf b = BUF_INIT;
	struct param_faults f = { .arena = &a };
	yyjson_doc *d = yyjson_read(rows, strlen(rows), 0);
	yyjson_doc *p = yyjson_read(params, strlen(params), 0);
	struct why w = WHY_INIT;

	assert_non_null(d);
	assert_non_null(p);
	assert_int_equal(params_check_form(yyjson_doc_get_root(d), &w), OK);
	bool fine = params_check(yyjson_doc_get_root(d),
	    yyjson_doc_get_root(p), &f);
	assert_int_equal(fine, want[0] == '\0');
	for (size_t i = 0; i < f.n; i++)
		buf_printf(&b, "%s%.*s", i == 0 ? "" : "; ",
		    STR_FMT(f.texts[i]));
	assert_string_equal(buf_text(&b), want);
	yyjson_doc_free(d);
	yyjson_doc_free(p);
}

#define ROW(type, more) \
	"[{\"name\":\"a\",\"type\":\"" type "\"" more "}]"

static void
checks_types(void **state)
{
	static const struct {
		const char *type, *good, *bad, *must;
	} cases[] = {
		{ "string", "\"x\"", "1", "must be a text" },
		{ "password", "\"x\"", "{}", "must be a text" },
		{ "bool", "\"false\"", "\"no\"", "must be true or false" },
		{ "bool", "true", "0", "must be true or false" },
		{ "integer", "\"-7\"", "1.5", "must be a whole number" },
		{ "interger", "7", "\"x\"", "must be a whole number" },
		{ "date", "\"2026-01-01\"", "\"2026-13-01\"",
		    "must be a date of ISO 8601, or milliseconds" },
		{ "date", "\"2026-01-01T10:00:00Z\"", "\"today\"",
		    "must be a date of ISO 8601, or milliseconds" },
		{ "date", "1767225600000", "true",
		    "must be a date of ISO 8601, or milliseconds" },
		{ "multi_bool", "{\"x\":true}", "{\"x\":1}", "must be a list "
		    "of names, or an object of true and false" },
		{ "multi_bool", "[\"x\"]", "[1]", "must be a list of names, "
		    "or an object of true and false" },
		{ "list", "\"x\"", "[]", "must be one of its options" },
		{ "multi_search", "[1,{}]", "\"x\"", "must be a list" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char row[100], params[100], want[160];
		snprintf(row, sizeof(row), "[{\"name\":\"a\",\"type\":\"%s\"}]",
		    cases[i].type);
		snprintf(params, sizeof(params), "{\"a\":%s}", cases[i].good);
		expect(row, params, "");
		snprintf(params, sizeof(params), "{\"a\":%s}", cases[i].bad);
		snprintf(want, sizeof(want), "params.a: %s", cases[i].must);
		expect(row, params, want);
	}
	expect(ROW("location", ""), "{\"a\":[{}]}", "");
}

static void
checks_values(void **state)
{
	(void)state;
	expect(ROW("string", ",\"req\":true"), "{}", "params.a: is missing");
	expect(ROW("string", ",\"req\":true"), "{\"a\":\"\"}",
	    "params.a: is missing");
	expect(ROW("string", ""), "{\"b\":1}", "");
	expect(ROW("integer", ",\"min\":1,\"max\":3"), "{\"a\":1}", "");
	expect(ROW("integer", ",\"min\":1,\"max\":3"), "{\"a\":\"3\"}", "");
	expect(ROW("integer", ",\"min\":1,\"max\":3"), "{\"a\":0}",
	    "params.a: is less than its min");
	expect(ROW("integer", ",\"min\":1,\"max\":3"), "{\"a\":4}",
	    "params.a: is greater than its max");
	expect(ROW("date", ",\"min\":\"2026-01-01\""), "{\"a\":1767225599999}",
	    "params.a: is less than its min");
	expect(ROW("date", ",\"min\":\"2026-01-01\""), "{\"a\":1767225600000}",
	    "");
	expect(ROW("string", ",\"regex\":\"^[a-z]+$\""), "{\"a\":\"ab\"}", "");
	expect(ROW("string", ",\"regex\":\"^[a-z]+$\""), "{\"a\":\"a1\"}",
	    "params.a: does not match its regex");
	/* One that would take ages is refused soon. */
	expect(ROW("string", ",\"regex\":\"^(a+)+$\""),
	    "{\"a\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"}",
	    "params.a: does not match its regex");
	expect(ROW("list",
	    ",\"options\":[\"x\",{\"value\":2,\"label\":\"L\"}]"),
	    "{\"a\":2}", "");
	expect(ROW("list", ",\"options\":[\"x\"]"), "{\"a\":\"y\"}",
	    "params.a: is none of its options");
	expect(ROW("multi_bool", ",\"options\":[\"x\"]"),
	    "{\"a\":{\"y\":true}}", "params.a: is none of its options");
	expect(ROW("multi_search", ",\"options\":[\"x\"]"),
	    "{\"a\":[\"x\",\"y\"]}", "params.a: is none of its options");
}

/* At the edge of PARAM_FAULTS_MAX, and one more. */
static void
limits_faults(void **state)
{
	(void)state;
	for (size_t extra = 0; extra < 2; extra++) {
		FREED(buf_free) struct buf rows = BUF_INIT;
		FREED(buf_free) struct buf want = BUF_INIT;
		for (size_t i = 0; i < PARAM_FAULTS_MAX + extra; i++)
			buf_printf(&rows, "%s{\"name\":\"p%zu\",\"req\":true}",
			    i == 0 ? "[" : ",", i);
		buf_put_char(&rows, ']');
		for (size_t i = 0; i < PARAM_FAULTS_MAX; i++)
			buf_printf(&want, "%sparams.p%zu: is missing",
			    i == 0 ? "" : "; ", i);
		expect(buf_text(&rows), "{}", buf_text(&want));
	}
}

#define TWO(rule, more) "[{\"name\":\"a\",\"type\":\"date\","               \
	"\"restrictions\":[{\"rule\":\"" rule "\",\"target\":\"b\"" more     \
	"}]},{\"name\":\"b\",\"type\":\"date\",\"req\":false}]"

static void
checks_restrictions(void **state)
{
	static const struct {
		const char *rows, *less, *equal, *greater;
	} cases[] = {
		{ TWO("lt", ""), "", "less than", "less than" },
		{ TWO("lte", ""), "", "", "at most" },
		{ TWO("gt", ""), "greater than", "greater than", "" },
		{ TWO("gte", ""), "at least", "", "" },
		{ TWO("eq", ""), "equal to", "", "equal to" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *wants[] = { cases[i].less, cases[i].equal,
		    cases[i].greater };
		for (size_t k = 0; k < 3; k++) {
			char params[80], want[80] = "";
			snprintf(params, sizeof(params), "{\"a\":%zu,\"b\":"
			    "\"1\"}", k);
			if (wants[k][0] != '\0')
				snprintf(want, sizeof(want), "params.a: must "
				    "be %s b", wants[k]);
			expect(cases[i].rows, params, want);
		}
	}
	/* Only when both are given. */
	expect(TWO("eq", ""), "{\"a\":1}", "");
	expect(TWO("lt", ",\"message\":\"Must be earlier\""),
	    "{\"a\":2,\"b\":1}", "params.a: Must be earlier");
	expect(TWO("lt", ""), "{\"a\":\"x\",\"b\":\"y\"}",
	    "params.a: must be a date of ISO 8601, or milliseconds; "
	    "params.b: must be a date of ISO 8601, or milliseconds");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_forms),
		cmocka_unit_test(limits_forms),
		cmocka_unit_test(checks_types),
		cmocka_unit_test(checks_values),
		cmocka_unit_test(limits_faults),
		cmocka_unit_test(checks_restrictions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

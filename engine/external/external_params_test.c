/* Parameters: how they are declared, and what becomes of their values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "engine/external/external_testing.h"

#define QUERY "https://a.example/x?p={p}"

/* ---- Declarations ------------------------------------------------------ */

static void
wrong_declarations_are_refused_by_place(void **state)
{
	static const struct { const char *text, *message; } rows[] = {
		{ DECLARED_P("'x-ui':'text'"), "parameters.properties.p.x-ui: "
		    "it is none of: string password bool" },
		{ DECLARED_P("'x-iu':'string'"), "parameters.properties.p: it "
		    "has a member that is not known: x-iu" },
		{ DECLARED_P("'x-ui':'date','type':'integer'"),
		    "parameters.properties.p.type: a parameter of type date is "
		    "of type string" },
		{ DECLARED_P("'x-ui':'string','minimum':1"),
		    "parameters.properties.p.minimum: only integers and" },
		{ DECLARED_P("'x-ui':'integer','minimum':1.5"),
		    "parameters.properties.p.minimum: it is not a whole" },
		{ DECLARED_P("'x-ui':'date','maximum':'soon'"),
		    "parameters.properties.p.maximum: it is not a date" },
		{ DECLARED_P("'x-ui':'integer','minimum':2,'maximum':1"),
		    "parameters.properties.p.maximum: it is below" },
		{ DECLARED_P("'x-ui':'integer','pattern':'1'"),
		    "parameters.properties.p.pattern: only texts" },
		{ DECLARED_P("'x-ui':'string','pattern':'('"),
		    "parameters.properties.p.pattern: /pattern" },
		{ DECLARED_P("'x-ui':'bool','enum':['a']"),
		    "parameters.properties.p.enum: a parameter of type bool "
		    "has no options" },
		{ DECLARED_P("'x-ui':'list','enum':[]"),
		    "parameters.properties.p.enum: it is not a list of 1" },
		{ DECLARED_P("'x-ui':'list','enum':['a',1]"),
		    "parameters.properties.p.enum[1]: it is not a text" },
		{ DECLARED_P("'x-ui':'list','enum':['a','a']"),
		    "parameters.properties.p.enum[1]: it is there twice" },
		{ DECLARED_P("'x-ui':'list','enum':['a'],'oneOf':[]"),
		    "parameters.properties.p: it has both enum and oneOf" },
		{ DECLARED_P("'x-ui':'list','oneOf':['a']"),
		    "parameters.properties.p.oneOf[0]: it is not an object" },
		{ DECLARED_P("'x-ui':'list','oneOf':[{'const':'a'}]"),
		    "parameters.properties.p.oneOf[0].title: it is missing" },
		{ DECLARED_P("'x-ui':'list','oneOf':[{'title':'a'}]"),
		    "parameters.properties.p.oneOf[0]: it is not a text" },
		{ DECLARED_P("'x-ui':'bool','default':'x'"),
		    "parameters.properties.p.default: it is not true" },
		{ DECLARED_P("'x-seed':'uid'"),
		    "parameters.properties.p.x-seed: it is none of: token" },
		{ DECLARED_P("'x-seed':'token'"), "parameters.properties.p."
		    "x-seed: the parameter must be required" },
		{ DECLARED_P("'x-ui':'bool','default':true,'x-seed':'token'"),
		    "parameters.properties.p.x-seed: a parameter of type" },
		{ DECLARED("'p':{'x-seed':'token'},'q':{'x-seed':'token'}",
		    "'p','q'", QUERY, ""), "parameters.properties.q.x-seed: "
		    "another parameter" },
		{ DECLARED_P("'x-restrictions':[{'rule':'ne','target':'p'}]"),
		    "parameters.properties.p.x-restrictions[0].rule: it is "
		    "none of: gt gte lt lte eq" },
		{ DECLARED_P("'x-restrictions':[{'rule':'eq','target':'q'}]"),
		    "parameters.properties.p.x-restrictions[0].target: there "
		    "is no such parameter" },
		{ DECLARED_P("'x-restrictions':[{'rule':'lt','target':'p'}]"),
		    "parameters.properties.p.x-restrictions[0].target: both "
		    "must be" },
		{ DECLARED_P("'x-restrictions':{}"),
		    "parameters.properties.p.x-restrictions: it is not a" },
		{ DECLARED("'p':{},'p':{}", "", QUERY, ""),
		    "parameters.properties.p: it is there twice" },
		{ DECLARED("'p q':{}", "", "https://a.example/", ""),
		    "parameters.properties: a parameter's name has" },
		{ DECLARED("'p':{}", "'q'", QUERY, ""),
		    "parameters.required[0]: there is no such parameter" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		testing_refused(rows[i].text, rows[i].message);
}

/* Declare `n` of something, with "%zu" in `one`, between two texts. */
static void
declare_many(struct buf *b, const char *before, const char *one, size_t n,
    const char *after)
{
	buf_clear(b);
	buf_put_text(b, before);
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s'%s%zu'%s", i == 0 ? "" : ",", one, i,
		    strcmp(one, "name") == 0 ? ":{}" : "");
	buf_put_text(b, after);
}

static void
declarations_have_limits(void **state)
{
	static const char parts[] = DECLARED("@", "", "https://a.example/x",
	    "");
	FREED(buf_free) struct buf b = BUF_INIT;
	FREED(arena_free) struct arena a = ARENA_INIT;
	size_t at = str_find_char(str_of(parts), '@');
	const char *before = arena_printf(&a, "%.*s", (int)at, parts).p;
	const char *after = parts + at + 1;

	(void)state;
	declare_many(&b, before, "name", EXTERNAL_PARAMS_MAX, after);
	struct external_connector *c = testing_load(buf_text(&b));
	assert_int_equal(external_connector_params_n(c), EXTERNAL_PARAMS_MAX);
	external_connector_free(&c);
	declare_many(&b, before, "name", EXTERNAL_PARAMS_MAX + 1, after);
	testing_refused(buf_text(&b),
	    "parameters.properties: there are more than 100");

	before = arena_printf(&a, "%s'p':{'enum':[", before).p;
	after = arena_printf(&a, "]}%s", after).p;
	declare_many(&b, before, "v", EXTERNAL_OPTIONS_MAX, after);
	c = testing_load(buf_text(&b));
	external_connector_free(&c);
	declare_many(&b, before, "v", EXTERNAL_OPTIONS_MAX + 1, after);
	testing_refused(buf_text(&b), "parameters.properties.p.enum: it is "
	    "not a list of 1 to 1000");
}

/* With a parameter whose name has `n` bytes, and with one that has `rules`
 * restrictions. */
static void
declare_long(struct buf *b, size_t n, size_t rules)
{
	static const char parts[] = DECLARED("@", "", "https://a.example/x",
	    "");
	size_t at = str_find_char(str_of(parts), '@');

	buf_clear(b);
	buf_put(b, parts, at);
	buf_put_char(b, '\'');
	for (size_t i = 0; i < n; i++)
		buf_put_char(b, 'p');
	buf_put_text(b, "':{'x-restrictions':[");
	for (size_t i = 0; i < rules; i++)
		buf_printf(b, "%s{'rule':'eq','target':'q'}", i == 0 ? "" :
		    ",");
	buf_put_text(b, "]},'q':{}");
	buf_put_text(b, parts + at + 1);
}

static void
names_and_restrictions_have_limits(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	declare_long(&b, EXTERNAL_NAME_BYTES_MAX, EXTERNAL_RESTRICTIONS_MAX);
	struct external_connector *c = testing_load(buf_text(&b));
	external_connector_free(&c);
	declare_long(&b, EXTERNAL_NAME_BYTES_MAX + 1, 0);
	testing_refused(buf_text(&b), "parameters.properties: a parameter's "
	    "name has 1 to 64 ");
	declare_long(&b, 1, EXTERNAL_RESTRICTIONS_MAX + 1);
	testing_refused(buf_text(&b), "parameters.properties.p.x-restrictions:"
	    " it is not a list of at most 20 restrictions");
}

/* ---- Values ------------------------------------------------------------ */

static void
texts(void **state)
{
	static const char text[] = DECLARED_P("'pattern':'^[a-c]+$'");

	(void)state;
	testing_params(text, "{'p':'abc'}", "{'p':'abc'}");
	testing_params(text, "{'p':'abd'}", "p: it does not match the pattern");
	testing_params(text, "{'p':1}", "p: it is not a text");
	testing_params(text, "{'p':'a\\nb'}", "p: it has control characters");
	testing_params(DECLARED_P("'type':'string','enum':['x','y']"),
	    "{'p':'y'}", "{'p':'y'}");
	testing_params(DECLARED_P("'type':'string','enum':['x','y']"),
	    "{'p':'z'}", "p: it is none of the options");
	testing_params(DECLARED_P("'oneOf':[{'const':'x','title':'X'}]"),
	    "{'p':'X'}", "p: it is none of the options");
}

static void
absent_values(void **state)
{
	static const char needed[] = DECLARED("'p':{},'q':{'default':'d'}",
	    "'p','q'", "https://a.example/x?p={p}&q={q}", "");
	static const char free_text[] = DECLARED_P("'x-ui':'multi_search'");

	(void)state;
	testing_params(needed, "{'p':'a'}", "{'p':'a','q':'d'}");
	testing_params(needed, "{'p':'a','q':null}", "{'p':'a','q':'d'}");
	testing_params(needed, "{}", "p: it is missing");
	testing_params(needed, "null", "p: it is missing");
	testing_params(needed, "{'p':null}", "p: it is missing");
	testing_params(needed, "{'p':''}", "p: it is missing");
	testing_params(needed, "[]", "params: it is not an object");
	testing_params(free_text, "{'p':[]}", "{'p':[]}");
	testing_params(free_text, "{}", "{}");
}

static void
booleans_and_integers_may_be_texts(void **state)
{
	static const char truth[] = DECLARED_P("'x-ui':'bool'");
	static const char whole[] = DECLARED_P("'x-ui':'interger','minimum':"
	    "-1,'maximum':10");
	static const char any[] = DECLARED_P("'type':'integer'");

	(void)state;
	testing_params(truth, "{'p':true}", "{'p':true}");
	testing_params(truth, "{'p':'false'}", "{'p':false}");
	testing_params(truth, "{'p':'yes'}", "p: it is not true or false");
	testing_params(truth, "{'p':1}", "p: it is not true or false");
	testing_params(whole, "{'p':-1}", "{'p':-1}");
	testing_params(whole, "{'p':'10'}", "{'p':10}");
	testing_params(whole, "{'p':-2}", "p: it is less than -1");
	testing_params(whole, "{'p':11}", "p: it is more than 10");
	testing_params(whole, "{'p':'1x'}", "p: it is not a whole number");
	testing_params(whole, "{'p':1.5}", "p: it is not a whole number");
	testing_params(any, "{'p':9223372036854775807}",
	    "{'p':9223372036854775807}");
	testing_params(any, "{'p':9223372036854775808}",
	    "p: it is not a whole number");
}

static void
dates_become_iso_8601(void **state)
{
	static const char date[] = DECLARED_P("'x-ui':'date'");
	static const char bounded[] = DECLARED_P("'x-ui':'date','minimum':"
	    "'2026-01-01','maximum':1767312000000");
	static const char wrong[] = "p: it is not a date in ISO 8601, and no "
	    "number of milliseconds since 1970";

	(void)state;
	testing_params(date, "{'p':'2026-01-01'}", "{'p':'2026-01-01'}");
	testing_params(date, "{'p':'2026-01-01T02:00:00+02:00'}",
	    "{'p':'2026-01-01T00:00:00Z'}");
	testing_params(date, "{'p':'2026-01-01T00:00:00.5Z'}",
	    "{'p':'2026-01-01T00:00:00.500000Z'}");
	testing_params(date, "{'p':1767225600000}",
	    "{'p':'2026-01-01T00:00:00Z'}");
	testing_params(date, "{'p':'1767225600001'}",
	    "{'p':'2026-01-01T00:00:00.001000Z'}");
	testing_params(date, "{'p':253402300799999}",
	    "{'p':'9999-12-31T23:59:59.999000Z'}");
	testing_params(date, "{'p':253402300800000}", wrong);
	testing_params(date, "{'p':-62135596800000}",
	    "{'p':'0001-01-01T00:00:00Z'}");
	testing_params(date, "{'p':-62135596800001}", wrong);
	testing_params(date, "{'p':'2026-02-30'}", wrong);
	testing_params(date, "{'p':'Wed, 2 Oct 2002 13:00 EST'}", wrong);
	testing_params(date, "{'p':'2026-01'}", wrong);
	testing_params(date, "{'p':true}", wrong);
	testing_params(bounded, "{'p':'2026-01-01'}", "{'p':'2026-01-01'}");
	testing_params(bounded, "{'p':'2025-12-31'}",
	    "p: it is before 2026-01-01T00:00:00Z");
	testing_params(bounded, "{'p':'2026-01-02'}", "{'p':'2026-01-02'}");
	testing_params(bounded, "{'p':1767312000001}",
	    "p: it is after 2026-01-02T00:00:00Z");
}

static void
choices_of_several(void **state)
{
	static const char chosen[] = DECLARED_P("'x-ui':'multi_bool','enum':"
	    "['a','b']");
	static const char searched[] = DECLARED_P("'x-ui':'multi_search'");
	static const char preset[] = DECLARED_P("'x-ui':'multi_bool','enum':"
	    "['a','b'],'default':['a']");
	static const char needed[] = DECLARED("'p':{'x-ui':'multi_bool'}",
	    "'p'", QUERY, "");
	static const char in_path[] = DECLARED("'p':{'x-ui':'multi_search',"
	    "'default':['a']}", "", "https://a.example/{p}", "");
	static const char seeds[] = DECLARED_P("'x-ui':'multi_search',"
	    "'x-seed':'token','default':['a']");

	(void)state;
	testing_params(chosen, "{'p':['b','a']}", "{'p':['b','a']}");
	testing_params(chosen, "{'p':{'a':true,'b':false}}", "{'p':['a']}");
	testing_params(chosen, "{'p':{'a':false}}", "{'p':[]}");
	testing_params(preset, "{}", "{'p':['a']}");
	testing_params(preset, "{'p':{'a':false}}", "{'p':[]}");
	testing_params(needed, "{'p':{'a':false}}", "p: it is missing");
	testing_params(in_path, "{'p':[]}", "p: it is missing");
	testing_params(seeds, "{'p':[]}", "p: it is missing");
	testing_params(chosen, "{'p':{'c':false}}",
	    "p: it is none of the options");
	testing_params(chosen, "{'p':{'a':1}}",
	    "p: it has a member that is not true or false");
	testing_params(chosen, "{'p':['c']}", "p: it is none of the options");
	testing_params(chosen, "{'p':['a','a']}", "p: it has a text twice");
	testing_params(chosen, "{'p':'a'}", "p: it is neither a list of names "
	    "nor an object of booleans");
	testing_params(searched, "{'p':['any','x']}", "{'p':['any','x']}");
	testing_params(searched, "{'p':['']}", "p: it has an empty text");
	testing_params(searched, "{'p':[1]}", "p: it is not a list of texts");
	testing_params(searched, "{'p':{'a':true}}", "p: it is not a list");
}

static void
a_location_is_passed_through(void **state)
{
	static const char place[] = DECLARED("'p':{'x-ui':'location'}", "",
	    "https://a.example/x", "");

	(void)state;
	testing_params(place, "{'p':{'lat':1.5,'near':['x']}}",
	    "{'p':{'lat':1.5,'near':['x']}}");
}

/* The value has `n` bytes; NULL: it is right as it is. */
static void
try_length(const char *declaration, size_t n, const char *message)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_put_text(&b, "{'p':'");
	for (size_t i = 0; i < n; i++)
		buf_put_char(&b, 'v');
	buf_put_text(&b, "'}");
	testing_params(declaration, buf_text(&b), message == NULL ?
	    buf_text(&b) : message);
}

static void
values_have_limits(void **state)
{
	static const char text[] = DECLARED_P("'x-ui':'string'");
	static const char several[] = DECLARED_P("'x-ui':'multi_search'");
	static const char place[] = DECLARED("'p':{'x-ui':'location'}", "",
	    "https://a.example/x", "");
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	try_length(text, EXTERNAL_VALUE_BYTES_MAX, NULL);
	try_length(text, EXTERNAL_VALUE_BYTES_MAX + 1,
	    "p: it is longer than 4096 bytes");
	/* As JSON it has two quotes besides. */
	try_length(place, EXTERNAL_VALUE_BYTES_MAX - 2, NULL);
	try_length(place, EXTERNAL_VALUE_BYTES_MAX - 1,
	    "p: it is longer than 4096 bytes of JSON");

	buf_put_text(&b, "{'p':['x'");
	for (size_t i = 1; i < EXTERNAL_VALUES_MAX; i++)
		buf_printf(&b, ",'%zu'", i);
	size_t n = b.n;
	buf_put_text(&b, "]}");
	testing_params(several, buf_text(&b), buf_text(&b));
	b.n = n;
	buf_put_text(&b, ",'y']}");
	testing_params(several, buf_text(&b),
	    "p: it has more than 1000 texts");
}

/* ---- All of them ------------------------------------------------------- */

static void
every_fault_is_reported(void **state)
{
	static const char text[] = DECLARED("'a':{'type':'integer'},'b':{},"
	    "'c':{'x-ui':'password','pattern':'^z$'}", "'b'",
	    "https://a.example/x?a={a}&b={b}", "");

	(void)state;
	testing_params(text, "{'z':1,'c':'secret','a':'x','y':2}",
	    "a: it is not a whole number|b: it is missing|"
	    "c: it does not match the pattern|?z|?y");
	testing_params(text, "{'b':'1','b':'2'}", "b: it is there twice");
	testing_params(text, "{'y':1,'b':'1','a':'2'}", "{'a':2,'b':'1'}");
}

static void
unknown_parameters_are_no_fault(void **state)
{
	FREED(buf_free) struct buf text = testing_quoted("{'p':'a','q':1}");
	FREED(buf_free) struct buf out = BUF_INIT;
	struct external_params_faults nobody = { NULL, NULL, NULL };
	struct external_connector *c = testing_load(DECLARED_P(""));
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);

	(void)state;
	assert_int_equal(external_params_check(c, yyjson_doc_get_root(doc),
	    &nobody, &out, NULL), OK);
	assert_string_equal(buf_text(&out), "{\"p\":\"a\"}");
	yyjson_doc_free(doc);
	external_connector_free(&c);
}

/* A declaration whose "a" has this rule towards "b". */
#define RULED(ui, rule)                                                      \
	DECLARED("'a':{'x-ui':'" ui "','x-restrictions':[{'rule':'" rule     \
	    "','target':'b','message':'no'}]},'b':{'x-ui':'" ui "'}", "",    \
	    "https://a.example/x?a={a}&b={b}", "")

static void
restrictions(void **state)
{
	static const struct { const char *text; int least, most; } rows[] = {
		/* The order of "a" to "b" that is right: from, to. */
		{ RULED("integer", "gt"), 1, 1 },
		{ RULED("integer", "gte"), 0, 1 },
		{ RULED("integer", "lt"), -1, -1 },
		{ RULED("integer", "lte"), -1, 0 },
		{ RULED("integer", "eq"), 0, 0 },
	};
	static const char *const params[] = { "{'a':1,'b':2}",
		"{'a':2,'b':2}", "{'a':3,'b':2}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (int order = -1; order <= 1; order++)
			testing_params(rows[i].text, params[order + 1],
			    order >= rows[i].least && order <= rows[i].most ?
			    params[order + 1] : "a: no");
	testing_params(rows[0].text, "{'a':1}", "{'a':1}");
	testing_params(rows[0].text, "{'b':1}", "{'b':1}");
	testing_params(rows[0].text, "{'a':1,'b':'x'}",
	    "b: it is not a whole number");
	/* The same moment, written in two ways. */
	testing_params(RULED("date", "lt"),
	    "{'a':'2026-01-01','b':'2026-01-01T01:00:00+01:00'}", "a: no");
	testing_params(RULED("date", "lt"),
	    "{'a':'2026-01-01','b':1767225600001}",
	    "{'a':'2026-01-01','b':'2026-01-01T00:00:00.001000Z'}");
	testing_params(RULED("string", "eq"), "{'a':'x','b':'y'}", "a: no");
	testing_params(RULED("string", "eq"), "{'a':'x','b':'x'}",
	    "{'a':'x','b':'x'}");
	testing_params(RULED("bool", "eq"), "{'a':true,'b':'true'}",
	    "{'a':true,'b':true}");
	testing_params(RULED("bool", "eq"), "{'a':true,'b':false}", "a: no");
}

static void
a_restriction_without_a_message_has_one(void **state)
{
	(void)state;
	testing_params(DECLARED("'a':{'x-ui':'date','x-restrictions':[{'rule':"
	    "'lt','target':'b'}]},'b':{'x-ui':'date'}", "",
	    "https://a.example/x", ""), "{'a':2,'b':1}",
	    "a: it breaks the rule: lt b");
}

static void
passwords_are_concealed(void **state)
{
	static const char declaration[] = DECLARED("'s':{'type':'string'},"
	    "'w':{'x-ui':'password'},'n':{'type':'integer'}", "",
	    "https://a.example/?s={s}&n={n}", "");
	static const struct {
		const char *params, *out;
		bool concealed;
	} rows[] = {
		{ "{}", "{}", false },
		{ "{'s':'w','n':-7}", "{'s':'w','n':-7}", false },
		{ "{'s':'x','w':'secret'}", "{'s':'x','w':null}", true },
		{ "{'s':'x','w':null}", "{'s':'x','w':null}", true },
	};
	struct external_connector *c = testing_load(declaration);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		FREED(buf_free) struct buf given = testing_quoted(
		    rows[i].params);
		FREED(buf_free) struct buf want = testing_quoted(rows[i].out);
		FREED(buf_free) struct buf got = BUF_INIT;
		assert_int_equal(external_params_conceal(c, buf_str(&given),
		    &got), rows[i].concealed);
		assert_string_equal(buf_text(&got), buf_text(&want));
	}
	external_connector_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_declarations_are_refused_by_place),
		cmocka_unit_test(declarations_have_limits),
		cmocka_unit_test(names_and_restrictions_have_limits),
		cmocka_unit_test(texts),
		cmocka_unit_test(absent_values),
		cmocka_unit_test(booleans_and_integers_may_be_texts),
		cmocka_unit_test(dates_become_iso_8601),
		cmocka_unit_test(choices_of_several),
		cmocka_unit_test(a_location_is_passed_through),
		cmocka_unit_test(values_have_limits),
		cmocka_unit_test(every_fault_is_reported),
		cmocka_unit_test(unknown_parameters_are_no_fault),
		cmocka_unit_test(restrictions),
		cmocka_unit_test(a_restriction_without_a_message_has_one),
		cmocka_unit_test(passwords_are_concealed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

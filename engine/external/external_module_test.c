/* Members of modules: those that load, each wrong one's message, and the input
 * of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "engine/external/external_testing.h"

#define F "{'$function':true}"
#define HEAD "'name':'m','version':1,'title':'T','schema':{},'docIdField':"  \
	"'id','parameters':{'type':'object','properties':{'kind':{'x-ui':"    \
	"'string'},'tags':{'x-ui':'multi_search','enum':['a','b'],"           \
	"'default':['a'],'x-seed':'token'},'pin':{'x-ui':'password'}}}"
#define MODULE(more) "{" HEAD ",'run':" F more "}"

static enum err
load_members(const char *text, struct external_connector **out, struct why *w)
{
	FREED(buf_free) struct buf b = testing_quoted(text);

	*w = WHY_INIT;
	return external_connector_load_module(buf_str(&b), "m.js", out, w);
}

static struct external_connector *
load_good(const char *text)
{
	struct external_connector *c;
	struct why w;

	if (load_members(text, &c, &w) != OK)
		fail_msg("%s", w.text);
	return c;
}

static void
a_module_has_what_it_says(void **state)
{
	struct external_connector *c = load_good(MODULE(",'check':" F
	    ",'choices':{'kind':" F "},'hosts':['API.example','b.example:443',"
	    "'127.0.0.1:8080','[::1]:80'],'serves':['harvest','external'],"
	    "'kind':'stream','platform':'p','types':['a'],'analysis':{'a':1},"
	    "'credential':{'external':'basic','fields':['token']}"));
	static const char *const hosts[] = { "api.example", "b.example",
		"127.0.0.1:8080", "[::1]:80" };
	size_t n;

	(void)state;
	const struct str *found = external_connector_hosts(c, &n);
	assert_int_equal(n, ARRAY_LEN(hosts));
	for (size_t i = 0; i < n; i++)
		assert_true(str_eq(found[i], str_of(hosts[i])));
	assert_true(external_connector_is_module(c));
	assert_null(external_connector_api(c));
	assert_null(external_connector_runs(c));
	assert_true(external_connector_has_check(c));
	assert_true(external_connector_has_choices(c, STR("kind")));
	assert_false(external_connector_has_choices(c, STR("pin")));
	assert_string_equal(external_connector_credential(c), "basic");
	struct buf b = BUF_INIT;
	external_object_write(c, &(struct external_object_options){
	    .endpoint = STR("https://e.example") }, &b);
	assert_non_null(strstr(buf_text(&b), "\"analysis\":{\"a\":1}"));
	buf_clear(&b);
	external_form_write(c, &b);
	assert_non_null(strstr(buf_text(&b), "\"kind\":{\"type\":\"string\","
	    "\"title\":\"kind\",\"x-ui\":\"string\",\"x-choices\":true}"));
	/* The other two have none. */
	assert_null(strstr(strstr(buf_text(&b), "x-choices") + 1, "x-choices"));
	buf_free(&b);
	external_connector_free(&c);

	c = load_good(MODULE(""));
	assert_false(external_connector_has_check(c));
	assert_false(external_connector_has_choices(c, STR("kind")));
	assert_string_equal(external_connector_credential(c), "none");
	external_connector_free(&c);
	c = testing_load("{'name':'d','version':1,'title':'T','schema':{},"
	    "'docIdField':'id','api':{'url':'https://a.example/x','label':'l',"
	    "'items':'/list','id':'/id'}}");
	assert_false(external_connector_is_module(c));
	assert_false(external_connector_has_check(c));
	external_connector_free(&c);
}

static void
what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "{" HEAD "}", "run: it is not a function" },
		{ "{" HEAD ",'run':1}", "run: it is not a function" },
		{ "{" HEAD ",'run':{'$function':false}}", "run: " },
		{ MODULE(",'api':{}"), "it has a member that is not known: "
		    "api" },
		{ MODULE(",'check':true"), "check: it is not a function" },
		{ MODULE(",'choices':" F), "choices: it is not an object" },
		{ MODULE(",'choices':{'kind':2}"), "choices.kind: it is not "
		    "a function" },
		{ MODULE(",'choices':{'no':" F "}"), "choices.no: there is "
		    "no such parameter" },
		{ MODULE(",'hosts':'a'"), "hosts: it is not a list" },
		{ MODULE(",'hosts':['a b']"), "hosts: element 1 " },
		{ MODULE(",'hosts':['a','']"), "hosts: element 2 " },
		{ MODULE(",'hosts':['{instance}']"), "hosts: element 1 " },
		{ MODULE(",'hosts':['a.example/x']"), "hosts: element 1 " },
		{ MODULE(",'hosts':['a.example:0']"), "hosts: element 1 " },
		{ MODULE(",'hosts':['a.example:65536']"), "hosts: element 1 " },
		{ MODULE(",'hosts':['*.example']"), "hosts: element 1 " },
		{ MODULE(",'hosts':[1]"), "hosts: element 1 " },
		{ MODULE(",'kind':'x'"), "kind: it is none of: batch "
		    "stream" },
		{ MODULE(",'serves':['harvest']"), "serves: it does not "
		    "contain" },
		{ MODULE(",'serves':'external'"), "serves: " },
		{ MODULE(",'analysis':[]"), "analysis: it is not an object" },
		{ MODULE(",'credential':'basic'"), "hosts: a credential is "
		    "wanted" },
		{ MODULE(",'credential':{'external':'x'}"),
		    "credential.external: it is none of" },
		{ MODULE(",'description':" F), "description: it is not a "
		    "text" },
	};
	struct external_connector *c;
	struct why w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(load_members(rows[i].text, &c, &w), ERR_INPUT);
		assert_null(c);
		assert_memory_equal(w.text, "m.js: ", 6);
		if (strstr(w.text + 6, rows[i].message) != w.text + 6)
			fail_msg("%s is not %s", w.text, rows[i].message);
	}
}

static void
hosts_have_a_limit(void **state)
{
	struct buf b = BUF_INIT;
	struct external_connector *c;
	struct why w;

	(void)state;
	for (unsigned n = EXTERNAL_HOSTS_MAX; n <= EXTERNAL_HOSTS_MAX + 1;
	    n++) {
		buf_clear(&b);
		buf_put_text(&b, "{" HEAD ",'run':" F ",'hosts':['a'");
		for (unsigned i = 1; i < n; i++)
			buf_put_text(&b, ",'a'");
		buf_put_text(&b, "]}");
		assert_int_equal(load_members(buf_text(&b), &c, &w), n ==
		    EXTERNAL_HOSTS_MAX ? OK : ERR_INPUT);
		external_connector_free(&c);
	}
	buf_free(&b);
}

static void
a_runs_input_has_no_password(void **state)
{
	struct external_connector *c = load_good(MODULE(""));
	struct buf input = BUF_INIT, secrets = BUF_INIT;
	static const struct {
		const char *params, *input, *secrets;
	} rows[] = {
		{ "{'kind':'x','tags':['a','b'],'pin':'12345678'}",
		    "{'params':{'kind':'x','tags':['a','b'],'pin':"
		    "'{{credential.pin}}'},'seeds':[{'token':'a'},{'token':"
		    "'b'}]", "{'pin':'12345678'" },
		{ "{}", "{'params':{'tags':['a']},'seeds':[{'token':'a'}]",
		    "{" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf params = testing_quoted(rows[i].params);
		struct buf want = testing_quoted(rows[i].input);
		struct buf hidden = testing_quoted(rows[i].secrets);
		buf_clear(&input);
		buf_clear(&secrets);
		buf_put_char(&input, '{');
		buf_put_char(&secrets, '{');
		external_module_input(c, buf_str(&params), &input, &secrets);
		assert_string_equal(buf_text(&input), buf_text(&want));
		assert_string_equal(buf_text(&secrets), buf_text(&hidden));
		buf_free(&params);
		buf_free(&want);
		buf_free(&hidden);
	}
	buf_free(&input);
	buf_free(&secrets);
	external_connector_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_has_what_it_says),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(hosts_have_a_limit),
		cmocka_unit_test(a_runs_input_has_no_password),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Addresses with parameters in them, and orders that the driver takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "engine/connector/order.h"
#include "engine/external/external_testing.h"
#include "engine/external/oauth_flow.h"

#define A "https://a.example"
#define TWO(url) DECLARED("'p':{},'q':{'type':'integer'}", "'p'", url, "")

/* ---- Addresses --------------------------------------------------------- */

static void
wrong_addresses_are_refused(void **state)
{
	static const struct { const char *text, *message; } rows[] = {
		{ TWO(A "/{r}"), "api.url: there is no parameter for {r}" },
		{ TWO(A "/{}"), "api.url: there is no parameter for {}" },
		{ TWO(A "/{seed}"), "api.url: there is no parameter for {se" },
		{ TWO(A "/{p"), "api.url: it has a brace without the other" },
		{ TWO(A "/p}"), "api.url: it has a brace without the other" },
		{ TWO(A "/{p}}"), "api.url: it has a brace without the other" },
		{ TWO(A "/{q}"), "api.url: {q} is in the path, so it must be" },
		/* No parameter chooses the host, in whatever way. */
		{ TWO("https://{p}/"), "api.url: it is not the address" },
		{ TWO("https://{p}.a.example/"), "api.url: it is not the" },
		{ TWO("https://a.example{p}/"), "api.url: it is not the" },
		{ TWO("https://a.example:{p}/"), "api.url: it is not the" },
		{ TWO("https://a.example\\\\{p}/"), "api.url: it is not the" },
		{ TWO("https://{p}@a.example/"), "api.url: it is not the" },
		{ TWO("{p}://a.example/"), "api.url: it is not the address" },
		{ DECLARED("'p':{'x-ui':'password'}", "'p'", A "/{p}", ""),
		    "api.url: {p} is of type password" },
		{ DECLARED("'p':{'x-ui':'location'}", "'p'", A "/{p}", ""),
		    "api.url: {p} is of type location" },
		{ DECLARED("'p':{'x-seed':'token'}", "'p'", A "/x", ""),
		    "api.url: there is no {p}, which has the seeds" },
		/* With q absent its pair would go, and the seed with it. */
		{ DECLARED("'p':{'x-seed':'token'},'q':{}", "'p'", A
		    "/?x={p},{q}", ""), "api.url: {q} is in the same pair of "
		    "the query as the seed, so it must be required" },
		{ "{'name':'n','version':1,'title':'T','schema':{},"
		    "'docIdField':'id','parameters':{'type':'object',"
		    "'properties':{'p':{}}},'api':{'url':'" A "/','label':'l',"
		    "'items':'/{p}','id':'/id'}}",
		    "api.items: a parameter can be a part of api.url alone" },
		{ "{'name':'n','version':1,'title':'T','schema':{},"
		    "'docIdField':'id','credential':'basic','parameters':"
		    "{'type':'object','properties':{'p':{}}},'api':{'url':'" A
		    "/','label':'l','items':'/i','id':'/id','auth':{'kind':"
		    "'client_credentials','token_url':'https://{p}/'}}}",
		    "api.auth.token_url: a parameter can be a part of" },
		{ "{'name':'n','version':1,'title':'T','schema':{},"
		    "'docIdField':'id','parameters':{'type':'object',"
		    "'properties':{'p':{}}},'api':{'url':'" A "/','label':'l',"
		    "'items':'/i','id':'/id','columns':[{'name':'{p}','at':"
		    "'/x'}]}}",
		    "api.columns.name: a parameter can be a part of" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		testing_refused(rows[i].text, rows[i].message);
}

static void
values_are_percent_encoded(void **state)
{
	(void)state;
	testing_url(TWO(A "/c/{p}.json?n=1"), "{'p':'a/../b?c#d e%{}'}",
	    A "/c/a%2F..%2Fb%3Fc%23d%20e%25%7B%7D.json?n=1");
	testing_url(TWO(A "/?x={p}"), "{'p':'a&b=c+d'}",
	    A "/?x=a%26b%3Dc%2Bd");
	testing_url(TWO(A "/{p}{p}"), "{'p':'é'}", A "/%C3%A9%C3%A9");
	testing_url(TWO(A "/{p}?q={q}"), "{'p':'x','q':'-5'}", A "/x?q=-5");
	testing_url(DECLARED("'p':{'x-ui':'bool'},'q':{'x-ui':'date'},'r':"
	    "{'x-ui':'multi_search'}", "", A "/?p={p}&q={q}&r={r}", ""),
	    "{'p':true,'q':1767225600000,'r':['a,b','c']}", A "/?p=true&"
	    "q=2026-01-01T00%3A00%3A00Z&r=a%2Cb,c");
}

static void
an_absent_parameter_takes_its_pair_along(void **state)
{
	static const char text[] = DECLARED("'p':{},'q':{},'r':{'default':"
	    "'d'}", "", A "/x?p={p}&n=1&q={q}.{p}&r={r}", "");

	(void)state;
	testing_url(text, "{'p':'1','q':'2'}", A "/x?p=1&n=1&q=2.1&r=d");
	testing_url(text, "{'p':'1'}", A "/x?p=1&n=1&r=d");
	testing_url(text, "{'q':'2','r':'3'}", A "/x?n=1&r=3");
	testing_url(DECLARED_P(""), "{}", A "/x");
	testing_url(DECLARED_P("'x-ui':'multi_search'"), "{'p':[]}", A "/x");
}

/* Neither a default that was replaced by nothing may take the seed along. */
static void
a_pair_with_the_seed_is_never_left_out(void **state)
{
	static const char text[] = DECLARED("'p':{'x-seed':'token'},'q':{"
	    "'x-ui':'multi_search','default':['a','b']},'r':{}", "'p'",
	    A "/x?s={p}.{q}&r={r}", "");

	(void)state;
	testing_url(text, "{'p':'1'}", A "/x?s={seed}.a,b");
	testing_params(text, "{'p':'1','q':[]}", "q: it is missing");
}

static void
a_part_of_the_path_is_no_dot_segment(void **state)
{
	(void)state;
	testing_params(TWO(A "/{p}/x"), "{'p':'..'}", "p: it is a part of an "
	    "address, and cannot be \".\" or \"..\"");
	testing_params(TWO(A "/{p}/x"), "{'p':'.'}", "p: it is a part of an "
	    "address, and cannot be \".\" or \"..\"");
	testing_params(TWO(A "/{p}/x"), "{'p':'...'}", "{'p':'...'}");
	testing_params(TWO(A "/x?p={p}"), "{'p':'..'}", "{'p':'..'}");
}

static void
an_address_has_at_most_2048_bytes(void **state)
{
	struct external_connector *c = testing_load(TWO(A "/{p}"));
	size_t room = 2048 - strlen(A "/");

	(void)state;
	for (size_t n = room; n <= room + 1; n++) {
		FREED(buf_free) struct buf params = BUF_INIT, out = BUF_INIT;
		struct why w = WHY_INIT;
		buf_put_text(&params, "{\"p\":\"");
		for (size_t i = 0; i < n; i++)
			buf_put_char(&params, 'v');
		buf_put_text(&params, "\"}");
		assert_int_equal(external_order_make(c, buf_str(&params), &out,
		    &w), n == room ? OK : ERR_INPUT);
		if (n > room) {
			assert_int_equal(out.n, 0);
			assert_string_equal(w.text, "params: the address that "
			    "they make is longer than 2048 bytes");
		}
	}
	external_connector_free(&c);
}

/* ---- Orders ------------------------------------------------------------ */

static void
expect_order(const char *declaration, const char *params,
    const char *expected)
{
	FREED(buf_free) struct buf text = testing_quoted(params);
	FREED(buf_free) struct buf want = testing_quoted(expected);
	FREED(buf_free) struct buf out = BUF_INIT;
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct external_connector *c = testing_load(declaration);
	struct connector_order order;
	struct connector_run *run;
	const char *code;
	struct why w = WHY_INIT;

	assert_int_equal(external_order_make(c, buf_str(&text), &out, &w), OK);
	assert_string_equal(buf_text(&out), buf_text(&want));
	/* The driver takes it. */
	const struct connector *runs = external_connector_runs(c);
	yyjson_doc *doc = yyjson_read(out.p, out.n, YYJSON_READ_NUMBER_AS_RAW);
	assert_int_equal(connector_order_read(runs, yyjson_doc_get_root(doc),
	    &a, &order, &code, &w), OK);
	assert_int_equal(runs->open(&order, &run, &w), OK);
	runs->close(&run);
	yyjson_doc_free(doc);
	external_connector_free(&c);
}

static void
an_order_is_a_start_message(void **state)
{
	(void)state;
	expect_order(TWO(A "/{p}?q={q}"), "{'p':'x'}",
	    "{'type':'json_api','seeds':[],'options':{'api':{'url':'" A "/x',"
	    "'label':'l','items':'/list','id':'/id'}}}");
}

static void
seeds_are_the_values_of_their_parameter(void **state)
{
	(void)state;
	expect_order(DECLARED("'p':{'x-ui':'multi_search','x-seed':'token'}",
	    "'p'", A "/{p}.json", ""), "{'p':['a b','{p}']}",
	    "{'type':'json_api','seeds':[{'token':'a b'},{'token':'{p}'}],"
	    "'options':{'api':{'url':'" A "/{seed}.json','label':'l','items':"
	    "'/list','id':'/id'}}}");
	expect_order(DECLARED("'p':{'type':'integer','x-seed':'token'}",
	    "'p'", A "/?x={p}", ""), "{'p':7}",
	    "{'type':'json_api','seeds':[{'token':7}],"
	    "'options':{'api':{'url':'" A "/?x={seed}','label':'l','items':"
	    "'/list','id':'/id'}}}");
}

static void
parameters_that_are_wrong_make_no_order(void **state)
{
	FREED(buf_free) struct buf out = BUF_INIT;
	struct external_connector *c = testing_load(TWO(A "/{p}"));
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(external_order_make(c, STR("{}"), &out, &w),
	    ERR_INPUT);
	assert_string_equal(w.text, "p: it is missing");
	w = WHY_INIT;
	assert_int_equal(external_order_make(c, STR("{"), &out, &w),
	    ERR_INPUT);
	assert_string_equal(w.text, "params: it is not JSON");
	assert_int_equal(out.n, 0);
	external_connector_free(&c);
}

/* ---- Where users sign in ----------------------------------------------- */

#define SIGNED_IN(url, params)                                               \
	"{'name':'n','version':1,'title':'T','schema':{},'docIdField':'id'," \
	"'credential':'oauth','oauth':{'kind':'oauth2','authorize':"         \
	"'https://{host}/auth','token':'https://{shop}.a.example/{tenant}',"  \
	"'parameters':{'host':null,'shop':'s','tenant':null}},"              \
	"'parameters':{'type':'object','properties':{" params "}},"          \
	"'api':{'url':'" url "','label':'l','items':'/list','id':'/id',"     \
	"'auth':{'kind':'bearer'}}}"

static void
a_host_is_one_where_users_sign_in(void **state)
{
	static const struct { const char *text, *message; } rows[] = {
		{ SIGNED_IN("https://{other}/", ""),
		    "api.url: its host has a placeholder" },
		{ SIGNED_IN("https://{tenant}/", ""),
		    "api.url: its host has a placeholder" },
		{ SIGNED_IN("https://{shop}.b.example/", ""),
		    "api.url: its host has a placeholder" },
		{ SIGNED_IN("https://{host}:8443/", ""),
		    "api.url: its host has a placeholder" },
		{ SIGNED_IN("https://u@{host}/", ""),
		    "api.url: its host has a placeholder" },
		{ SIGNED_IN("http://{host}/", ""), "api.url: it must begin" },
		{ SIGNED_IN("https://{p}/", "'p':{}"),
		    "api.url: its host has a placeholder" },
		{ SIGNED_IN("https://{host}/", "'host':{}"),
		    "oauth.parameters.host: there is a parameter with" },
		{ SIGNED_IN("https://{host}/{q}", ""),
		    "api.url: there is no parameter for {q}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		testing_refused(rows[i].text, rows[i].message);
}

/* `expected` NULL: it is refused, and names the host. */
static void
expect_url(const char *url, const struct str *granted, const char *expected)
{
	FREED(buf_free) struct buf text = BUF_INIT, out = BUF_INIT;
	struct why w = WHY_INIT;

	buf_printf(&text, SIGNED_IN("%s", "'p':{}"), url);
	struct external_connector *c = testing_load(buf_text(&text));
	enum err e = external_order_make_granted(c, STR("{\"p\":\"v\"}"),
	    granted, &out, &w);
	assert_int_equal(e, expected == NULL ? ERR_INPUT : OK);
	if (expected == NULL)
		assert_string_equal(w.field, "host");
	else
		assert_non_null(strstr(buf_text(&out), expected));
	external_connector_free(&c);
}

static void
what_was_granted_fills_the_address(void **state)
{
	const struct str granted[] = { STR("Social.Example"), STR("my-shop"),
		STR("a/b c") };
	const struct str without[] = { STR("social.example"), STR_NONE,
		STR("t") };
	const struct str bad[] = { STR("127.0.0.1"), STR("s"), STR("t") };

	(void)state;
	expect_url("https://{host}/x?p={p}", granted,
	    "\"url\":\"https://social.example/x?p=v\"");
	expect_url("https://{shop}.a.example/{tenant}?t={tenant}", granted,
	    "\"url\":\"https://my-shop.a.example/a%2Fb%20c?t=a%2Fb%20c\"");
	expect_url("https://{shop}.a.example/", without,
	    "\"url\":\"https://s.a.example/\"");
	expect_url("https://{host}/", bad, NULL);
	expect_url("https://{host}/", NULL, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_addresses_are_refused),
		cmocka_unit_test(values_are_percent_encoded),
		cmocka_unit_test(an_absent_parameter_takes_its_pair_along),
		cmocka_unit_test(a_pair_with_the_seed_is_never_left_out),
		cmocka_unit_test(a_part_of_the_path_is_no_dot_segment),
		cmocka_unit_test(an_address_has_at_most_2048_bytes),
		cmocka_unit_test(an_order_is_a_start_message),
		cmocka_unit_test(seeds_are_the_values_of_their_parameter),
		cmocka_unit_test(parameters_that_are_wrong_make_no_order),
		cmocka_unit_test(a_host_is_one_where_users_sign_in),
		cmocka_unit_test(what_was_granted_fills_the_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

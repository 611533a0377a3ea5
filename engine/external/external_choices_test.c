/* Choices: options of a parameter that the API has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/json.h"
#include "engine/external/external_testing.h"

#define A "https://a.example"
#define URL A "/boards?like={query}&kind={kind}"
#define CHOICES(url) "'x-choices':{'url':'" url "','items':'/boards',"       \
	"'value':'/id','label':'/name'}"
/* The parameter "board" has these members. */
#define BOARD(members)                                                       \
	DECLARED("'kind':{},'n':{'type':'integer','minimum':1},'safe':"      \
	"{'x-ui':'password'},'other':{'default':'o'},'board':{" members "}", \
	"'kind'", A "/x?k={kind}&b={board}", "")

/* The API is at an instance that the user has chosen. */
#define INSTANCE(url)                                                        \
	"{'name':'n','version':1,'title':'T','schema':{},'docIdField':'id'," \
	"'credential':'oauth','oauth':{'kind':'oauth2','authorize':"         \
	"'https://{at}/a','token':'https://{at}/t','parameters':{'at':"      \
	"'b.example'}},'parameters':{'type':'object','properties':{'board':" \
	"{" CHOICES(url) "}}},'api':{'url':'https://{at}/x?b={board}',"      \
	"'label':'l','items':'/i','id':'/id','auth':{'kind':'bearer'}}}"

static struct external_connector *
load_with_choices(const char *url)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	buf_printf(&b, BOARD("'x-ui':'list'," CHOICES("%s")), url);
	return testing_load(buf_text(&b));
}

static void
wrong_declarations_are_refused(void **state)
{
	static const struct { const char *text, *message; } rows[] = {
		{ BOARD("'type':'integer'," CHOICES(URL)), "parameters."
		    "properties.board.x-choices: a parameter of type integer "
		    "has no options" },
		{ BOARD("'enum':['a']," CHOICES(URL)), "parameters.properties."
		    "board.x-choices: the options are there already" },
		{ BOARD("'x-choices':1"), "parameters.properties.board."
		    "x-choices: it is not an object" },
		{ BOARD("'x-choices':{'url':'" URL "','items':'/a','value':"
		    "'/id','lable':'/n'}"), "parameters.properties.board."
		    "x-choices: it has a member that is not known: lable" },
		{ BOARD("'x-choices':{'items':'/a','value':'/id'}"),
		    "parameters.properties.board.x-choices.url: it is mis" },
		{ BOARD("'x-choices':{'url':'" URL "','value':'/id'}"),
		    "parameters.properties.board.x-choices.items: it is mi" },
		{ BOARD("'x-choices':{'url':'" URL "','items':'/a'}"),
		    "parameters.properties.board.x-choices.value: it is mi" },
		{ BOARD("'x-choices':{'url':'" URL "','items':'/a','value':"
		    "'/id','label':'n'}"), "parameters.properties.board."
		    "x-choices.label: it is not a JSON pointer" },
		{ BOARD(CHOICES(A "/{nothing}")), "parameters.properties.board"
		    ".x-choices.url: there is no parameter for {nothing}" },
		{ BOARD(CHOICES(A "/{safe}")), "parameters.properties.board."
		    "x-choices.url: {safe} is of type password" },
		{ BOARD(CHOICES(A "/kind}")), "parameters.properties.board."
		    "x-choices.url: it has a brace without the other" },
		{ BOARD(CHOICES(A "/{kind")), "parameters.properties.board."
		    "x-choices.url: it has a brace without the other" },
		/* The credential goes to one host. */
		{ BOARD(CHOICES("https://b.example/{query}")), "parameters."
		    "properties.board.x-choices: it is not at the scheme, host"
		    " and port of api.url" },
		{ BOARD(CHOICES("http://a.example/")), "parameters.properties."
		    "board.x-choices: it is not at the scheme" },
		{ BOARD(CHOICES(A ":444/")), "parameters.properties.board."
		    "x-choices: it is not at the scheme" },
		{ BOARD(CHOICES("https://{query}/")), "parameters.properties."
		    "board.x-choices: it is not the address of a list" },
		{ BOARD(CHOICES("https://{kind}@a.example/")), "parameters."
		    "properties.board.x-choices: it is not the address" },
		/* Where a user signs in at an instance. */
		{ INSTANCE("https://{at}/x"), "parameters.properties.board."
		    "x-choices.url: there is no parameter for {at}" },
		{ INSTANCE(A "/x"), "parameters.properties.board.x-choices: "
		    "the host of api.url has a placeholder" },
		{ BOARD(CHOICES("ftp://a.example/")), "parameters.properties."
		    "board.x-choices: it is not the address" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		testing_refused(rows[i].text, rows[i].message);
}

/* The address of the call, or "FIELD: message". */
static void
expect_order(const char *url, const char *params, const char *query,
    const char *expected)
{
	FREED(buf_free) struct buf text = testing_quoted(params), order =
		BUF_INIT;
	struct external_connector *c = load_with_choices(url);
	struct why w = WHY_INIT;
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0), *made = NULL;
	const char *found = w.text;

	assert_non_null(doc);
	enum err e = external_choices_order(c, STR("board"),
	    yyjson_doc_get_root(doc), str_of(query), &order, &w);
	assert_true(e == OK || (e == ERR_INPUT && order.n == 0));
	if (e == OK) {
		made = yyjson_read(order.p, order.n, 0);
		assert_non_null(made);
		yyjson_val *root = yyjson_doc_get_root(made);
		found = yyjson_get_str(yyjson_ptr_get(root,
		    "/options/api/url"));
		assert_false(yyjson_get_bool(yyjson_ptr_get(root,
		    "/options/incremental")));
		assert_string_equal(yyjson_get_str(yyjson_ptr_get(root,
		    "/options/api/id")), "/id");
	}
	assert_string_equal(found, expected);
	yyjson_doc_free(made);
	yyjson_doc_free(doc);
	external_connector_free(&c);
}

static void
an_order_has_the_query_and_parameters(void **state)
{
	(void)state;
	expect_order(URL, "{'kind':'b'}", "to do", A "/boards?like=to%20do&"
	    "kind=b");
	/* Parameters may be incomplete, and wrong where nothing asks them. */
	expect_order(URL, "{'n':'x'}", "", A "/boards");
	expect_order(URL, "{}", "&=#?/", A "/boards?like=%26%3D%23%3F%2F");
	expect_order(A "/{query}/x", "{}", "a..", A "/a../x");
	expect_order(A "/{query}/x", "{}", "..", "params: a value cannot be a "
	    "part of a path");
	expect_order(A "/b?o={other}", "{}", "", A "/b?o=o");
	expect_order(A "/{kind}/boards", "{}", "x",
	    "kind: these choices need it");
	expect_order(A "/{kind}/{n}", "{'kind':'a/b','n':3}", "",
	    A "/a%2Fb/3");
	expect_order(A "/b?n={n}", "{'n':0}", "", "n: it is less than 1");
	expect_order(URL, "{}", "a\nb", "query: it is not a text of one line, "
	    "of at most 1024 bytes");
}

static void
limits_are_at_their_edges(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	FREED(buf_free) struct buf order = BUF_INIT;
	struct external_connector *c = load_with_choices(URL);
	struct why w = WHY_INIT;

	(void)state;
	while (b.n < EXTERNAL_QUERY_BYTES_MAX)
		buf_put_char(&b, 'x');
	assert_int_equal(external_choices_order(c, STR("board"), NULL,
	    buf_str(&b), &order, &w), OK);
	buf_put_char(&b, 'x');
	assert_int_equal(external_choices_order(c, STR("board"), NULL,
	    buf_str(&b), &order, &w), ERR_INPUT);
	external_connector_free(&c);
}

static void
expect_option(const char *item, const char *expected)
{
	FREED(buf_free) struct buf text = testing_quoted(item), out =
		BUF_INIT, want = testing_quoted(expected);
	struct external_connector *c = load_with_choices(URL);

	assert_int_equal(external_choices_put_option(c, STR("board"),
	    buf_str(&text), &out), want.n > 0);
	assert_string_equal(buf_text(&out), buf_text(&want));
	external_connector_free(&c);
}

static void
an_option_has_value_and_label(void **state)
{
	(void)state;
	expect_option("{'id':'1','name':'One'}", "{'value':'1','label':'One'}");
	expect_option("{'id':12345678901234567890123,'name':7}",
	    "{'value':'12345678901234567890123','label':'7'}");
	expect_option("{'id':'1'}", "{'value':'1','label':'1'}");
	expect_option("{'id':'1','name':{}}", "{'value':'1','label':'1'}");
	expect_option("{'name':'One'}", "");
	expect_option("{'id':null,'name':'One'}", "");
	expect_option("[]", "");
	expect_option("{", "");
}

static void
a_form_says_that_there_are_choices(void **state)
{
	FREED(buf_free) struct buf out = BUF_INIT;
	struct external_connector *c = load_with_choices(URL);

	(void)state;
	assert_true(external_choices_are_declared(c, STR("board")));
	assert_false(external_choices_are_declared(c, STR("kind")));
	assert_false(external_choices_are_declared(c, STR("nothing")));
	external_form_write(c, &out);
	yyjson_doc *doc = yyjson_read(out.p, out.n, 0);
	assert_non_null(doc);
	yyjson_val *root = yyjson_doc_get_root(doc);
	assert_true(yyjson_get_bool(yyjson_ptr_get(root,
	    "/parameters/properties/board/x-choices")));
	assert_null(yyjson_ptr_get(root,
	    "/parameters/properties/kind/x-choices"));
	yyjson_doc_free(doc);
	external_connector_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_declarations_are_refused),
		cmocka_unit_test(an_order_has_the_query_and_parameters),
		cmocka_unit_test(limits_are_at_their_edges),
		cmocka_unit_test(an_option_has_value_and_label),
		cmocka_unit_test(a_form_says_that_there_are_choices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

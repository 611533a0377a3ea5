/* Declarations that load, and the message for each wrong one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "engine/connector/connector.h"
#include "engine/external/external_testing.h"

#define HEAD "'version':1,'title':'T'"
#define TAIL "'schema':{},'docIdField':'id'"
#define API "'api':{'url':'https://a.example/x','label':'l','items':'/list'," \
	"'id':'/id'}"
#define BEARER_API "'api':{'url':'https://a.example/x','label':'l','items':" \
	"'/list','id':'/id','auth':{'kind':'bearer'}}"
#define OAUTH "'oauth':{'kind':'oauth2','authorize':'https://a.example/a',"  \
	"'token':'https://a.example/t'"

static void
a_declaration_has_what_its_file_says(void **state)
{
	struct external_connector *c = testing_load("{'name':'b_1-x','version'"
	    ":'2.0','title':'Books','description':'All','image':"
	    "'https://a.example/i.png','schema':{'type':'object'},"
	    "'docIdField':'key','credential':'oauth'," OAUTH ",'revoke':"
	    "'https://a.example/r','scopes':['read'],'clientAuth':'post'},"
	    BEARER_API "}");

	(void)state;
	assert_true(str_eq(external_connector_name(c), STR("b_1-x")));
	assert_true(str_eq(external_connector_version(c), STR("2.0")));
	assert_true(str_eq(external_connector_title(c), STR("Books")));
	assert_true(str_eq(external_connector_description(c), STR("All")));
	assert_true(str_eq(external_connector_image(c),
	    STR("https://a.example/i.png")));
	assert_string_equal(external_connector_credential(c), "oauth");
	assert_true(str_eq(external_connector_doc_id_field(c), STR("key")));
	assert_true(yyjson_is_obj(external_connector_schema(c)));
	assert_true(str_eq(external_connector_schema_text(c),
	    STR("{\"type\":\"object\"}")));
	assert_int_equal(external_connector_params_n(c), 0);
	assert_string_equal(external_connector_runs(c)->type, "json_api");
	external_connector_free(&c);
	assert_null(c);
	external_connector_free(&c);
}

static void
what_may_be_left_out_has_a_default(void **state)
{
	struct external_connector *c = testing_load("{'name':'n'," HEAD ","
	    TAIL "," API "}");

	(void)state;
	assert_true(str_eq(external_connector_version(c), STR("1")));
	assert_int_equal(external_connector_description(c).n, 0);
	assert_int_equal(external_connector_image(c).n, 0);
	assert_string_equal(external_connector_credential(c), "none");
	external_connector_free(&c);
}

static void
wrong_members_are_named(void **state)
{
	static const struct { const char *text, *message; } rows[] = {
		{ "[]", "it is not an object" },
		{ "{\n'name' 1}", "it is not JSON: line 2, column 8: " },
		{ "{'name':'n','titel':'T'}",
		    "it has a member that is not known: titel" },
		{ "{'name':'n','name':'m'}", "name is there twice" },
		{ "{" HEAD "," TAIL "," API "}", "name: it is missing" },
		{ "{'name':'N'," HEAD "," TAIL "," API "}", "name: it is not 1"
		    " to 64 lower-case letters" },
		{ "{'name':'n','title':'T'," TAIL "," API "}",
		    "version: it is missing" },
		{ "{'name':'n','version':-1,'title':'T'," TAIL "," API "}",
		    "version: it is neither" },
		{ "{'name':'n','version':1.5,'title':'T'," TAIL "," API "}",
		    "version: it is neither" },
		{ "{'name':'n','version':1," TAIL "," API "}",
		    "title: it is missing" },
		{ "{'name':'n','version':1,'title':'a\\nb'," TAIL "," API "}",
		    "title: it is not a text of one line" },
		{ "{'name':'n'," HEAD ",'image':'i.png'," TAIL "," API "}",
		    "image: it is not an address" },
		{ "{'name':'n'," HEAD ",'schema':{}," API "}",
		    "docIdField: it is missing" },
		{ "{'name':'n'," HEAD ",'docIdField':'id'," API "}",
		    "schema: it is missing" },
		{ "{'name':'n'," HEAD "," TAIL "}",
		    "api: it is not an object" },
		{ "{'name':'n'," HEAD "," TAIL ",'api':{'url':"
		    "'https://a.example/','itmes':''}}",
		    "api: it has a field that is not known: itmes" },
		{ "{'name':'n'," HEAD "," TAIL ",'api':{'label':'l'}}",
		    "api.url: it is missing" },
		{ "{'name':'n'," HEAD "," TAIL ",'credential':'key'," API "}",
		    "credential: it is none of: none basic oauth" },
		{ "{'name':'n'," HEAD "," TAIL ",'credential':'basic'," API
		    "}", "credential: api.auth takes none" },
		{ "{'name':'n'," HEAD "," TAIL "," BEARER_API "}",
		    "credential: it is none, and api.auth takes one" },
		{ "{'name':'n'," HEAD "," TAIL ",'credential':'oauth',"
		    BEARER_API "}", "oauth: it is not an object" },
		{ "{'name':'n'," HEAD "," TAIL ",'credential':'basic'," OAUTH
		    "}," BEARER_API "}", "oauth: the credential is basic" },
		{ "{'name':'n'," HEAD "," TAIL ",'credential':'oauth',"
		    OAUTH ",'scope':[]}," BEARER_API "}",
		    "oauth: it has a member that is not known: scope" },
		{ "{'name':'n'," HEAD "," TAIL ",'credential':'oauth',"
		    OAUTH ",'scopes':[1]}," BEARER_API "}",
		    "oauth.scopes: it is not a list of texts" },
		{ "{'name':'n'," HEAD "," TAIL ",'credential':'oauth',"
		    OAUTH ",'revoke':'http://a.example/'}," BEARER_API "}",
		    "oauth.revoke: it is not an address" },
		{ "{'name':'n'," HEAD "," TAIL ",'credential':'oauth',"
		    "'oauth':{'kind':'oauth1','authorize':'https://a.example/'"
		    ",'token':'https://a.example/'}," BEARER_API "}",
		    "oauth.request: it is missing" },
		{ "{'name':'n'," HEAD "," TAIL "," API ",'parameters':{"
		    "'type':'object','properties':{'a\\u0000':{}}}}",
		    "parameters.properties: a parameter's name has 1 to 64" },
		{ "{'name':'n'," HEAD "," TAIL "," API ",'parameters':{"
		    "'type':'object','properties':{'a':{'x-ui':'sting'}}}}",
		    "parameters.properties.a.x-ui: it is none of: " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		testing_refused(rows[i].text, rows[i].message);
}

static void
a_wrong_schema_is_refused_by_place(void **state)
{
	(void)state;
	testing_refused("{'name':'n'," HEAD ",'schema':{'properties':{'a':"
	    "{'type':'strnig'}}},'docIdField':'id'," API "}",
	    "schema: /properties/a/type");
	testing_refused("{'name':'n'," HEAD "," TAIL ",'api':{'url':"
	    "'https://a.example/'}}", "api.label: it is missing");
	testing_refused("{'name':'n'," HEAD ",'schema':{'$schema':"
	    "'https://json-schema.org/draft/2020-12/schema'},'docIdField':"
	    "'id'," API "}", "schema: /$schema");
}

/* ---- Limits ------------------------------------------------------------ */

static void
a_name_has_at_most_64_bytes(void **state)
{
	char name[EXTERNAL_NAME_BYTES_MAX + 2];

	(void)state;
	memset(name, 'a', sizeof(name));
	assert_true(external_name_is_valid((struct str){ name,
	    EXTERNAL_NAME_BYTES_MAX }));
	assert_false(external_name_is_valid((struct str){ name,
	    EXTERNAL_NAME_BYTES_MAX + 1 }));
	assert_false(external_name_is_valid(STR("")));
	assert_true(external_name_is_valid(STR("a0_-")));
	assert_false(external_name_is_valid(STR("a/b")));
	assert_false(external_name_is_valid(STR("a.b")));
}

/* `n` times `text` between `before` and `after`. */
static struct buf
repeated(const char *before, const char *text, size_t n, const char *after)
{
	struct buf b = BUF_INIT;

	buf_put_text(&b, before);
	for (size_t i = 0; i < n; i++)
		buf_put_text(&b, text);
	buf_put_text(&b, after);
	return b;
}

static void
expect_edge(struct buf *fits, struct buf *exceeds, const char *message)
{
	struct external_connector *c = testing_load(buf_text(fits));

	external_connector_free(&c);
	testing_refused(buf_text(exceeds), message);
	buf_free(fits);
	buf_free(exceeds);
}

static void
a_file_has_limits(void **state)
{
	const char *before = "{'name':'n'," HEAD "," TAIL "," API;
	struct buf fits, exceeds;
	size_t rest = EXTERNAL_FILE_BYTES_MAX - strlen(before) - 1;

	(void)state;
	fits = repeated(before, " ", rest, "}");
	exceeds = repeated(before, " ", rest + 1, "}");
	expect_edge(&fits, &exceeds, "it is longer than 1048576 bytes");

	before = "{'name':'n'," HEAD "," TAIL "," API ",'description':'";
	fits = repeated(before, "d", EXTERNAL_TEXT_BYTES_MAX, "'}");
	exceeds = repeated(before, "d", EXTERNAL_TEXT_BYTES_MAX + 1, "'}");
	expect_edge(&fits, &exceeds, "description: it is longer than 4096");
}

static void
a_schema_that_is_too_large_is_full(void **state)
{
	FREED(buf_free) struct buf text = repeated("{\"name\":\"n\","
	    "\"version\":1,\"title\":\"T\",\"docIdField\":\"id\","
	    "\"schema\":{\"anyOf\":[{}", ",{}", 20000, "]}}");
	struct external_connector *c;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(external_connector_load(buf_str(&text), NULL, &c,
	    &w), ERR_FULL);
	assert_int_equal(w.err, ERR_FULL);
	assert_true(str_starts(str_of(w.text), STR("schema: ")));
	assert_null(c);
}

/* The root is a level, and so is the schema. */
static void
a_file_is_nested_at_most_32_levels_deep(void **state)
{
	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		FREED(buf_free) struct buf all = BUF_INIT;
		buf_put_text(&all, "{'name':'n'," HEAD ",'docIdField':'id',"
		    API ",'schema':");
		for (unsigned i = 0; i < EXTERNAL_DEPTH_MAX - 2 + more; i++)
			buf_put_text(&all, "{'not':");
		buf_put_text(&all, "{}");
		for (unsigned i = 0; i < EXTERNAL_DEPTH_MAX - 2 + more; i++)
			buf_put_char(&all, '}');
		buf_put_char(&all, '}');
		if (more == 0) {
			struct external_connector *c =
			    testing_load(buf_text(&all));
			external_connector_free(&c);
		} else {
			testing_refused(buf_text(&all), "it is nested more "
			    "than 32 levels deep");
		}
	}
}

/* ---- Documents --------------------------------------------------------- */

static void
note_fault(void *arg, struct str pointer, struct str message)
{
	struct buf *said = arg;

	buf_printf(said, "%s%.*s %.*s", said->n == 0 ? "" : "|",
	    STR_FMT(pointer), STR_FMT(message));
}

static void
check_document(const struct external_connector *c, const char *json,
    size_t most, const char *expected)
{
	FREED(buf_free) struct buf text = testing_quoted(json);
	FREED(buf_free) struct buf said = BUF_INIT;
	yyjson_doc *doc = yyjson_read(text.p, text.n,
	    YYJSON_READ_BIGNUM_AS_RAW);

	assert_non_null(doc);
	bool valid = external_document_check(c, yyjson_doc_get_root(doc), most,
	    note_fault, &said);
	assert_int_equal(valid, expected == NULL);
	if (expected == NULL || most == 0)
		assert_int_equal(said.n, 0);
	else if (!str_starts(buf_str(&said), str_of(expected)))
		fail_msg("%s: \"%s\"", json, buf_text(&said));
	yyjson_doc_free(doc);
}

static void
a_document_has_an_id(void **state)
{
	struct external_connector *c = testing_load("{'name':'n'," HEAD ","
	    "'docIdField':'a/b~c','schema':{'properties':{'n':{'type':"
	    "'integer'}}}," API "}");
	static const char id[] = "/a~1b~0c must be a text that is not empty, "
	    "or a number";

	(void)state;
	check_document(c, "{'a/b~c':'1'}", 9, NULL);
	check_document(c, "{'a/b~c':0}", 9, NULL);
	check_document(c, "{'a/b~c':123456789012345678901234567890}", 9, NULL);
	check_document(c, "{'a/b~c':''}", 9, id);
	check_document(c, "{'a/b~c':null}", 9, id);
	check_document(c, "{'a/b~c':true}", 9, id);
	check_document(c, "{'a/b~c':['1']}", 9, id);
	check_document(c, "{'a/b~c':{'x':1}}", 9, id);
	check_document(c, "{}", 9, id);
	check_document(c, "{}", 0, id);
	check_document(c, "[]", 9, " must be an object");
	check_document(c, "'1'", 0, "");
	check_document(c, "{'a/b~c':1,'n':'x'}", 9, "/n ");
	check_document(c, "{'a/b~c':1,'n':'x'}", 0, "");
	external_connector_free(&c);
}

static void
faults_of_a_document_have_a_limit(void **state)
{
	FREED(buf_free) struct buf text = testing_quoted("{'n':'x'}");
	FREED(buf_free) struct buf one = BUF_INIT, two = BUF_INIT;
	struct external_connector *c = testing_load("{'name':'n'," HEAD ","
	    "'docIdField':'id','schema':{'properties':{'n':{'type':"
	    "'integer'}}}," API "}");
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	yyjson_val *root = yyjson_doc_get_root(doc);

	(void)state;
	assert_false(external_document_check(c, root, 1, note_fault, &one));
	assert_int_equal(str_find_char(buf_str(&one), '|'), one.n);
	assert_false(external_document_check(c, root, 2, note_fault, &two));
	assert_true(str_find(buf_str(&two), STR("|/n ")) < two.n);
	yyjson_doc_free(doc);
	external_connector_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_declaration_has_what_its_file_says),
		cmocka_unit_test(what_may_be_left_out_has_a_default),
		cmocka_unit_test(wrong_members_are_named),
		cmocka_unit_test(a_wrong_schema_is_refused_by_place),
		cmocka_unit_test(a_name_has_at_most_64_bytes),
		cmocka_unit_test(a_file_has_limits),
		cmocka_unit_test(a_schema_that_is_too_large_is_full),
		cmocka_unit_test(a_file_is_nested_at_most_32_levels_deep),
		cmocka_unit_test(a_document_has_an_id),
		cmocka_unit_test(faults_of_a_document_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "engine/schema/schema.h"

static yyjson_doc *
read_json(const char *json)
{
	yyjson_doc *doc = yyjson_read(json, strlen(json),
	    YYJSON_READ_BIGNUM_AS_RAW);

	if (doc == NULL)
		fail_msg("no JSON: %s", json);
	return doc;
}

static struct schema *
compile_json(const char *json)
{
	yyjson_doc *doc = read_json(json);
	struct why w = WHY_INIT;
	struct schema *s;

	if (schema_compile(yyjson_doc_get_root(doc), &s, &w) != OK)
		fail_msg("%s: %s", json, w.text);
	/* The schema has its own copy. */
	yyjson_doc_free(doc);
	return s;
}

static void
expect_refusal(const char *json, enum err err, const char *text)
{
	yyjson_doc *doc = read_json(json);
	struct why w = WHY_INIT;
	struct schema *s;

	if (schema_compile(yyjson_doc_get_root(doc), &s, &w) != err ||
	    strcmp(w.text, text) != 0)
		fail_msg("%s: \"%s\", not \"%s\"", json, w.text, text);
	assert_null(s);
	yyjson_doc_free(doc);
}

/* A line for each fault: pointer, a blank, message. */
static void
put_fault(void *arg, struct str pointer, struct str message)
{
	buf_printf(arg, "%.*s %.*s\n", STR_FMT(pointer), STR_FMT(message));
}

static void
expect_at_most(const char *schema, const char *value, size_t most,
    const char *faults)
{
	struct schema *s = compile_json(schema);
	yyjson_doc *doc = read_json(value);
	struct buf found = BUF_INIT;

	bool valid = schema_check(s, yyjson_doc_get_root(doc), most, put_fault,
	    &found);
	if (strcmp(buf_text(&found), faults) != 0)
		fail_msg("%s of %s:\n%s, not\n%s", value, schema,
		    buf_text(&found), faults);
	assert_int_equal(valid, found.n == 0);
	/* Without a report it says the same. */
	assert_int_equal(schema_check(s, yyjson_doc_get_root(doc), 0, NULL,
	    NULL), valid);
	buf_free(&found);
	yyjson_doc_free(doc);
	schema_free(&s);
	assert_null(s);
}

static void
expect_faults(const char *schema, const char *value, const char *faults)
{
	expect_at_most(schema, value, 100, faults);
}

static void
expect_valid(const char *schema, const char *value)
{
	expect_faults(schema, value, "");
}

/* --- faults of values --------------------------------------------------- */

static void
messages_of_any_value_test(void **state)
{
	(void)state;
	expect_faults("{\"type\":[\"integer\",\"null\"]}", "\"a\"",
	    " must be null or integer, not string\n");
	expect_faults("{\"type\":\"string\"}", "1.0",
	    " must be string, not integer\n");
	expect_faults("{\"type\":\"integer\"}", "1.5",
	    " must be integer, not number\n");
	expect_faults("{\"enum\":[1,\"a\",null]}", "2",
	    " is none of the 3 values of \"enum\"\n");
	expect_faults("{\"const\":\"a\\n\"}", "2", " must be \"a\\u000a\"\n");
	expect_faults("{\"const\":{\"a\":[1]}}", "2", " must be {\"a\":[1]}\n");
	expect_faults("false", "2", " is not allowed\n");
	expect_valid("true", "2");
	expect_valid("{}", "2");
}

static void
messages_of_numbers_test(void **state)
{
	static const char schema[] = "{\"minimum\":2,\"maximum\":4e0,"
	    "\"multipleOf\":0.5}";

	(void)state;
	expect_valid(schema, "2");
	expect_valid(schema, "3.5");
	expect_valid(schema, "4.0");
	expect_valid(schema, "\"a\"");
	/* The number as yyjson wrote it into the copy. */
	expect_faults(schema, "1.9",
	    " must be at least 2\n must be a multiple of 0.5\n");
	expect_faults(schema, "4.5", " must be at most 4.0\n");
	expect_faults("{\"exclusiveMinimum\":2,\"exclusiveMaximum\":4}", "2",
	    " must be more than 2\n");
	expect_faults("{\"exclusiveMinimum\":2,\"exclusiveMaximum\":4}", "4",
	    " must be less than 4\n");
}

static void
messages_of_texts_test(void **state)
{
	static const char schema[] = "{\"minLength\":2,\"maxLength\":3,"
	    "\"pattern\":\"^[a-z]+$\",\"format\":\"date\"}";

	(void)state;
	expect_faults(schema, "\"\xc3\xa9\"",
	    " must have at least 2 characters, and has 1\n"
	    " must match the pattern \"^[a-z]+$\"\n"
	    " must be of the format \"date\"\n");
	/* Four characters of U+1F600: code points, not UTF-16. */
	expect_faults("{\"maxLength\":3}", "\"\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
	    "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\"",
	    " must have at most 3 characters, and has 4\n");
	expect_valid("{\"maxLength\":3}", "\"\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
	    "\xf0\x9f\x98\x80\"");
	expect_valid("{\"format\":\"no such one\"}", "\"a\"");
}

static void
messages_of_arrays_test(void **state)
{
	(void)state;
	expect_faults("{\"items\":{\"type\":\"string\"},\"minItems\":4,"
	    "\"uniqueItems\":true,\"contains\":{\"const\":1}}", "[\"a\",2,"
	    "\"a\"]", " must have at least 4 elements, and has 3\n"
	    "/1 must be string, not integer\n"
	    " has no element as \"contains\" wants it\n"
	    " has equal elements: 0 and 2\n");
	expect_faults("{\"items\":[true,{\"type\":\"null\"}],"
	    "\"additionalItems\":false}", "[1,2,3,4]",
	    "/1 must be null, not integer\n/2 is not allowed\n"
	    "/3 is not allowed\n");
	expect_faults("{\"maxItems\":0}", "[1]",
	    " must have at most 0 elements, and has 1\n");
	/* Without a list in front of them there are no others. */
	expect_valid("{\"additionalItems\":false}", "[1]");
	expect_valid("{\"items\":{},\"additionalItems\":false}", "[1]");
}

static void
messages_of_objects_test(void **state)
{
	(void)state;
	expect_faults("{\"properties\":{\"a\":{\"type\":\"null\"},\"b/c\":{"
	    "\"properties\":{\"~\":false}}},\"patternProperties\":{\"^x\":{"
	    "\"type\":\"string\"}},\"additionalProperties\":false,"
	    "\"required\":[\"z\",\"a\"]}", "{\"a\":1,\"b/c\":{\"~\":1},"
	    "\"x1\":2,\"y\":3}", "/a must be null, not integer\n"
	    "/b~1c/~0 is not allowed\n/x1 must be string, not integer\n"
	    "/y is not allowed\n lacks the member \"z\"\n");
	expect_faults("{\"dependencies\":{\"a\":[\"b\",\"c\"],\"d\":{"
	    "\"required\":[\"e\"]}}}", "{\"a\":1,\"b\":1,\"d\":1}",
	    " lacks the member \"c\", which \"a\" needs\n"
	    " lacks the member \"e\"\n");
	expect_faults("{\"minProperties\":1}", "{}",
	    " must have at least 1 members, and has 0\n");
	expect_faults("{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}",
	    "/ab has a name that \"propertyNames\" refuses\n");
}

static void
messages_of_logic_test(void **state)
{
	static const char branches[] = "[{\"type\":\"integer\"},"
	    "{\"minimum\":2}]";
	char schema[120];

	(void)state;
	snprintf(schema, sizeof(schema), "{\"anyOf\":%s}", branches);
	expect_faults(schema, "1.5",
	    " is valid under none of the 2 schemas of \"anyOf\"\n");
	snprintf(schema, sizeof(schema), "{\"oneOf\":%s}", branches);
	expect_faults(schema, "1.5", " must be valid under one of the 2 schemas"
	    " of \"oneOf\", and is under none\n");
	expect_faults(schema, "3", " must be valid under one of the 2 schemas"
	    " of \"oneOf\", and is under more\n");
	snprintf(schema, sizeof(schema), "{\"allOf\":%s}", branches);
	expect_faults(schema, "1.5",
	    " must be integer, not number\n must be at least 2\n");
	expect_faults("{\"not\":{\"type\":\"null\"}}", "null",
	    " is valid under the schema of \"not\"\n");
	expect_faults("{\"if\":{\"type\":\"integer\"},\"then\":{\"minimum\":2},"
	    "\"else\":{\"type\":\"null\"}}", "1", " must be at least 2\n");
	expect_faults("{\"if\":{\"type\":\"integer\"},\"then\":{\"minimum\":2},"
	    "\"else\":{\"type\":\"null\"}}", "\"a\"",
	    " must be null, not string\n");
	expect_valid("{\"then\":false,\"else\":false}", "1");
}

static void
number_of_faults_test(void **state)
{
	static const char schema[] = "{\"items\":{\"type\":\"null\","
	    "\"minimum\":9}}";

	(void)state;
	expect_at_most(schema, "[1,2]", 1, "/0 must be null, not integer\n");
	expect_at_most(schema, "[1,2]", 3, "/0 must be null, not integer\n"
	    "/0 must be at least 9\n/1 must be null, not integer\n");
	expect_at_most(schema, "[1,2]", 4, "/0 must be null, not integer\n"
	    "/0 must be at least 9\n/1 must be null, not integer\n"
	    "/1 must be at least 9\n");
}

static void
long_messages_test(void **state)
{
	struct buf schema = BUF_INIT, fault = BUF_INIT;

	(void)state;
	/* 60 bytes are shown, and no half characters. */
	expect_faults("{\"required\":[\"0123456789012345678901234567890123456"
	    "7890123456789012345678\xc3\xa9zzz\"]}", "{}", " lacks the member "
	    "\""
	    "01234567890123456789012345678901234567890123456789012345678\"..."
	    "\n");
	/* A message has 240 bytes: 37 of these, which take six each. */
	buf_put_text(&schema, "{\"required\":[\"");
	for (int i = 0; i < 60; i++)
		buf_put_text(&schema, "\\u0001");
	buf_put_text(&schema, "\"]}");
	buf_put_text(&fault, " lacks the member \"");
	for (int i = 0; i < 37; i++)
		buf_put_text(&fault, "\\u0001");
	assert_int_equal(fault.n - 1, SCHEMA_MESSAGE_BYTES_MAX);
	buf_put_char(&fault, '\n');
	expect_faults(buf_text(&schema), "{}", buf_text(&fault));
	buf_free(&schema);
	buf_free(&fault);
}

/* --- numbers ------------------------------------------------------------ */

static void
exact_numbers_test(void **state)
{
	(void)state;
	expect_valid("{\"const\":1}", "1.0");
	expect_valid("{\"const\":1.0}", "1");
	expect_valid("{\"const\":100}", "1e2");
	expect_valid("{\"const\":0}", "-0.0");
	expect_valid("{\"const\":[{\"a\":1,\"b\":2}]}",
	    "[{\"b\":2.0,\"a\":1}]");
	expect_valid("{\"type\":\"integer\"}",
	    "123456789012345678901234567890.0");
	expect_valid("{\"type\":\"integer\",\"minimum\":1e399}", "1e400");
	expect_faults("{\"maximum\":123456789012345678901234567890}",
	    "123456789012345678901234567891",
	    " must be at most 123456789012345678901234567890\n");
	/* As doubles, these two are equal. */
	expect_faults("{\"const\":9007199254740993}", "9007199254740992",
	    " must be 9007199254740993\n");
	expect_faults("{\"uniqueItems\":true}", "[1,\"1\",true,[1],{\"a\":1},"
	    "1.0]", " has equal elements: 0 and 5\n");
	expect_valid("{\"uniqueItems\":true}", "[18446744073709551616,"
	    "18446744073709551617,0,false,null,\"\",[],{}]");
	expect_valid("{\"minLength\":2.0}", "\"ab\"");
}

static void
multiples_test(void **state)
{
	(void)state;
	expect_valid("{\"multipleOf\":0.01}", "19.99");
	expect_valid("{\"multipleOf\":0.0001}", "0.0075");
	expect_faults("{\"multipleOf\":0.0001}", "0.00751",
	    " must be a multiple of 0.0001\n");
	expect_valid("{\"multipleOf\":7}", "7000000000000000000000000000007");
	expect_faults("{\"multipleOf\":7}", "7000000000000000000000000000008",
	    " must be a multiple of 7\n");
	expect_valid("{\"multipleOf\":1.5}", "30");
	expect_valid("{\"multipleOf\":1.5}", "-4.5");
	expect_valid("{\"multipleOf\":3}", "0");
	expect_valid("{\"multipleOf\":576460752303423488}", "1e200");
	expect_faults("{\"multipleOf\":30}", "1e200",
	    " must be a multiple of 30\n");
}

/* --- references --------------------------------------------------------- */

static void
references_test(void **state)
{
	(void)state;
	/* By pointer, by name, by URI, through a part that is no keyword. */
	expect_faults("{\"items\":[{\"$ref\":\"#/definitions/a\"},{\"$ref\":"
	    "\"#b\"},{\"$ref\":\"http://a.example/c.json\"},{\"$ref\":"
	    "\"#/x-more/0\"}],\"$id\":\"http://a.example/root.json\","
	    "\"definitions\":{\"a\":{\"type\":\"null\"},\"b\":{\"$id\":\"#b\","
	    "\"type\":\"null\"},\"c\":{\"$id\":\"c.json\",\"type\":\"null\"}},"
	    "\"x-more\":[{\"type\":\"null\"}]}", "[1,2,3,4]",
	    "/0 must be null, not integer\n/1 must be null, not integer\n"
	    "/2 must be null, not integer\n/3 must be null, not integer\n");
	/* Members beside a "$ref" are ignored; a pointer may pass it. */
	expect_faults("{\"$ref\":\"#/definitions/a\",\"type\":\"null\","
	    "\"$id\":\"http://b.example/\",\"definitions\":{\"a\":{\"minimum\":"
	    "2}}}", "1", " must be at least 2\n");
	/* A subschema that only a pointer leads to starts from its base. */
	expect_faults("{\"$ref\":\"#/x/y\",\"x\":{\"y\":{\"$id\":"
	    "\"http://a.example/y\",\"items\":{\"$ref\":\"#/z\"},\"z\":"
	    "false}}}",
	    "[1]", "/0 is not allowed\n");
	/* A tree. */
	expect_faults("{\"properties\":{\"next\":{\"$ref\":\"#\"},\"n\":{"
	    "\"type\":\"integer\"}}}", "{\"n\":1,\"next\":{\"n\":1,\"next\":{"
	    "\"n\":null}}}", "/next/next/n must be integer, not null\n");
}

static void
metaschemas_test(void **state)
{
	static const char draft_6[] =
	    "{\"$ref\":\"http://json-schema.org/draft-06/schema#\"}";
	static const char draft_7[] =
	    "{\"$ref\":\"http://json-schema.org/draft-07/schema#\"}";

	(void)state;
	expect_valid(draft_6, "{\"if\":1}");
	expect_faults(draft_7, "{\"if\":1}",
	    "/if must be boolean or object, not integer\n");
	expect_faults(draft_7, "{\"items\":[{\"minLength\":-1}],"
	    "\"properties\":{\"a\":{\"pattern\":\"(\"}}}",
	    "/items is valid under none of the 2 schemas of \"anyOf\"\n"
	    "/properties/a/pattern must be of the format \"regex\"\n");
	expect_valid("{\"$ref\":\"http://json-schema.org/draft-07/schema#"
	    "/definitions/nonNegativeInteger\"}", "3");
}

static void
refused_references_test(void **state)
{
	(void)state;
	expect_refusal("{\"items\":{\"$ref\":\"http://a.example/b.json#/c\"}}",
	    ERR_INPUT, "/items/$ref: \"http://a.example/b.json#/c\" is not in "
	    "this schema, and nothing is fetched");
	expect_refusal("{\"items\":{\"$ref\":\"#/definitions/a\"}}", ERR_INPUT,
	    "/items/$ref: \"#/definitions/a\" leads nowhere");
	expect_refusal("{\"items\":{\"$ref\":\"#a\"}}", ERR_INPUT,
	    "/items/$ref: \"#a\" leads nowhere");
	expect_refusal("{\"items\":{\"$ref\":\"#/x\"},\"x\":[1]}", ERR_INPUT,
	    "/x: must be a schema: an object, true or false");
	expect_refusal("{\"items\":{\"$ref\":\"#/x/01\"},\"x\":[{},{}]}",
	    ERR_INPUT, "/items/$ref: \"#/x/01\" leads nowhere");
	expect_refusal("{\"items\":{\"$ref\":1}}", ERR_INPUT,
	    "/items/$ref: must be a URI reference");
	expect_refusal("{\"definitions\":{\"a\":{\"$id\":\"b\"},\"c\":{\"$id\":"
	    "\"b\"}}}", ERR_INPUT, "/definitions/c/$id: another subschema has "
	    "this URI, too");
}

static void
loops_test(void **state)
{
	(void)state;
	expect_refusal("{\"$ref\":\"#\"}", ERR_INPUT, "the schema: applies "
	    "itself to the same value, without an end");
	expect_refusal("{\"definitions\":{\"a\":{\"$ref\":\"#/definitions/b\"},"
	    "\"b\":{\"allOf\":[{\"$ref\":\"#/definitions/a\"}]}}}", ERR_INPUT,
	    "/definitions/a: applies itself to the same value, without an end");
	expect_refusal("{\"not\":{\"$ref\":\"#\"}}", ERR_INPUT,
	    "the schema: applies itself to the same value, without an end");
	expect_refusal("{\"dependencies\":{\"a\":{\"$ref\":\"#\"}}}", ERR_INPUT,
	    "the schema: applies itself to the same value, without an end");
	expect_refusal("{\"if\":true,\"else\":{\"$ref\":\"#\"}}", ERR_INPUT,
	    "the schema: applies itself to the same value, without an end");
	/* The value gets smaller. */
	expect_valid("{\"items\":{\"$ref\":\"#\"},\"type\":\"array\","
	    "\"propertyNames\":{\"$ref\":\"#\"}}", "[[],[[]]]");
}

/* --- faults of schemas -------------------------------------------------- */

static void
drafts_test(void **state)
{
	(void)state;
	expect_valid("{\"$schema\":\"http://json-schema.org/draft-06/schema#\","
	    "\"if\":true,\"then\":false}", "1");
	expect_valid("{\"$schema\":\"http://json-schema.org/draft-06/schema\","
	    "\"if\":true,\"then\":false}", "1");
	expect_faults("{\"$schema\":\"http:"
	    "//json-schema.org/draft-07/schema#\","
	    "\"if\":true,\"then\":false}", "1", " is not allowed\n");
	expect_faults("{\"if\":true,\"then\":false}", "1",
	    " is not allowed\n");
	expect_refusal("{\"$schema\":\"http:"
	    "//json-schema.org/draft-04/schema#\""
	    "}", ERR_INPUT, "/$schema: must be "
	    "\"http://json-schema.org/draft-06/schema#\" or "
	    "\"http://json-schema.org/draft-07/schema#\"");
	expect_refusal("{\"$schema\":7}", ERR_INPUT, "/$schema: must be "
	    "\"http://json-schema.org/draft-06/schema#\" or "
	    "\"http://json-schema.org/draft-07/schema#\"");
}

static void
malformed_keywords_test(void **state)
{
	static const struct {
		const char *schema, *text;
	} cases[] = {
		{ "1", "the schema: must be a schema: an object, true or "
		    "false" },
		{ "{\"type\":\"text\"}", "/type: must be null, boolean, "
		    "object, "
		    "array, number, string or integer" },
		{ "{\"type\":[\"null\",1]}", "/type/1: must be null, boolean, "
		    "object, array, number, string or integer" },
		{ "{\"type\":[]}", "/type: must have at least one type" },
		{ "{\"enum\":1}", "/enum: must be an array" },
		{ "{\"multipleOf\":0}", "/multipleOf: must be greater than 0" },
		{ "{\"multipleOf\":-1}", "/multipleOf: must be greater than "
		    "0" },
		{ "{\"minimum\":\"1\"}", "/minimum: must be a number" },
		{ "{\"exclusiveMinimum\":true}",
		    "/exclusiveMinimum: must be a number" },
		{ "{\"minLength\":-1}", "/minLength: must be an integer "
		    "that is "
		    "not negative" },
		{ "{\"maxItems\":1.5}", "/maxItems: must be an integer that is "
		    "not negative" },
		{ "{\"pattern\":1}", "/pattern: must be a string" },
		{ "{\"pattern\":\"(\"}", "/pattern: missing closing "
		    "parenthesis" },
		{ "{\"format\":1}", "/format: must be a string" },
		{ "{\"uniqueItems\":1}", "/uniqueItems: must be true or "
		    "false" },
		{ "{\"items\":[1]}", "/items/0: must be a schema: an object, "
		    "true or false" },
		{ "{\"required\":\"a\"}", "/required: must be an array of "
		    "strings" },
		{ "{\"required\":[1]}", "/required: must be an array of "
		    "strings" },
		{ "{\"properties\":[]}", "/properties: must be an object" },
		{ "{\"properties\":{\"a/b\":{\"items\":1}}}",
		    "/properties/a~1b/items: must be a schema: an object, true "
		    "or false" },
		{ "{\"patternProperties\":{\"[\":"
		    "true}}", "/patternProperties/[:"
		    " missing terminating ] for character class" },
		{ "{\"patternProperties\":[]}",
		    "/patternProperties: must be an object" },
		{ "{\"dependencies\":{\"a\":1}}", "/dependencies/a: must be a "
		    "schema: an object, true or false" },
		{ "{\"dependencies\":{\"a\":[1]}}", "/dependencies/a: must "
		    "be an "
		    "array of strings" },
		{ "{\"definitions\":1}", "/definitions: must be an object" },
		{ "{\"allOf\":[]}", "/allOf: must have at least one schema" },
		{ "{\"anyOf\":{}}", "/anyOf: must be an array of schemas" },
		{ "{\"$id\":1}", "/$id: must be a URI reference" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect_refusal(cases[i].schema, ERR_INPUT, cases[i].text);
}

/* --- threads ------------------------------------------------------------ */

static void *
check_many(void *arg)
{
	yyjson_doc *good = read_json("{\"a\":\"xxxy\"}");
	yyjson_doc *bad = read_json("{\"a\":\"xxx\"}");
	size_t wrong = 0;

	for (int i = 0; i < 200; i++) {
		wrong += !schema_check(arg, yyjson_doc_get_root(good), 0, NULL,
		    NULL);
		wrong += schema_check(arg, yyjson_doc_get_root(bad), 0, NULL,
		    NULL);
	}
	yyjson_doc_free(good);
	yyjson_doc_free(bad);
	return wrong == 0 ? NULL : arg;
}

static void
threads_test(void **state)
{
	struct schema *s = compile_json("{\"properties\":{\"a\":{\"pattern\":"
	    "\"x+y\"}},\"uniqueItems\":true}");
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, check_many,
		    s), 0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		void *wrong;
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	schema_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_any_value_test),
		cmocka_unit_test(messages_of_numbers_test),
		cmocka_unit_test(messages_of_texts_test),
		cmocka_unit_test(messages_of_arrays_test),
		cmocka_unit_test(messages_of_objects_test),
		cmocka_unit_test(messages_of_logic_test),
		cmocka_unit_test(number_of_faults_test),
		cmocka_unit_test(long_messages_test),
		cmocka_unit_test(exact_numbers_test),
		cmocka_unit_test(multiples_test),
		cmocka_unit_test(references_test),
		cmocka_unit_test(metaschemas_test),
		cmocka_unit_test(refused_references_test),
		cmocka_unit_test(loops_test),
		cmocka_unit_test(drafts_test),
		cmocka_unit_test(malformed_keywords_test),
		cmocka_unit_test(threads_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

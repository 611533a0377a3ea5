/* Each limit at its edge, and schemas that are made to take forever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/schema/schema.h"
#include "engine/schema/schema_own.h"

static void
put_times(struct buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_put_text(b, text);
}

static enum err
compile_text(struct str json, struct schema **out, struct why *w)
{
	yyjson_doc *doc = yyjson_read(json.p, json.n,
	    YYJSON_READ_BIGNUM_AS_RAW);

	*w = WHY_INIT;
	assert_non_null(doc);
	enum err e = schema_compile(yyjson_doc_get_root(doc), out, w);
	yyjson_doc_free(doc);
	return e;
}

/* It compiles; or it does not, with this text. */
static void
expect_compiled(struct buf *json, const char *refusal)
{
	struct why w;
	struct schema *s;
	enum err e = compile_text(buf_str(json), &s, &w);

	if (refusal == NULL ? e != OK : e != ERR_FULL ||
	    strcmp(w.text, refusal) != 0)
		fail_msg("\"%s\"", w.text);
	schema_free(&s);
	buf_free(json);
}

static void
keep_fault(void *arg, struct str pointer, struct str message)
{
	struct buf *last = arg;

	buf_clear(last);
	buf_put_str(last, pointer);
	buf_put_char(last, ' ');
	buf_put_str(last, message);
}

/* It is valid; or the last fault is `fault`. */
static void
expect_checked(const char *schema, struct buf *value, const char *fault)
{
	struct buf last = BUF_INIT;
	struct why w;
	struct schema *s;

	if (compile_text(str_of(schema), &s, &w) != OK)
		fail_msg("%s: %s", schema, w.text);
	yyjson_doc *doc = yyjson_read(value->p, value->n,
	    YYJSON_READ_BIGNUM_AS_RAW);
	assert_non_null(doc);
	bool valid = schema_check(s, yyjson_doc_get_root(doc), 10, keep_fault,
	    &last);
	if (valid != (fault == NULL) || (!valid &&
	    strcmp(buf_text(&last), fault) != 0))
		fail_msg("\"%s\"", buf_text(&last));
	/* The answer is the same without faults; that of a long value takes as
	 * many steps again. */
	if (value->n < 10000)
		assert_int_equal(schema_check(s, yyjson_doc_get_root(doc), 0,
		    NULL, NULL), valid);
	buf_free(&last);
	yyjson_doc_free(doc);
	schema_free(&s);
	buf_free(value);
}

#define TOO_LONG "the check was given up: it takes more than 2000000 steps"
#define TOO_DEEP "the check was given up: it is more than 512 levels deep"

/* --- schemas ------------------------------------------------------------ */

static void
bytes_test(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		buf_put_text(&b, "{\"title\":\"");
		put_times(&b, "x", SCHEMA_BYTES_MAX - 12 + more);
		buf_put_text(&b, "\"}");
		expect_compiled(&b, more == 0 ? NULL :
		    "the schema has 1048577 bytes; 1048576 is the limit");
	}
}

static void
nested_schema_test(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		put_times(&b, "{\"not\":", SCHEMA_DEPTH_MAX - 1 + more);
		buf_put_text(&b, "{}");
		put_times(&b, "}", SCHEMA_DEPTH_MAX - 1 + more);
		struct why w;
		struct schema *s;
		enum err e = compile_text(buf_str(&b), &s, &w);
		assert_int_equal(e, more == 0 ? OK : ERR_FULL);
		/* The end of a pointer that is too long to be shown. */
		if (more > 0)
			assert_true(str_starts(str_of(w.text),
			    STR("...")) && str_ends(str_of(w.text),
			    STR("/not/not: subschemas are nested more than "
			    "128 deep")));
		schema_free(&s);
		buf_free(&b);
	}
}

static void
subschemas_test(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		buf_put_text(&b, "{\"anyOf\":[true");
		put_times(&b, ",true", SCHEMA_SUBSCHEMAS_MAX - 2 + more);
		buf_put_text(&b, "]}");
		expect_compiled(&b, more == 0 ? NULL :
		    "/anyOf/19999: there are more than 20000 subschemas");
	}
}

static void
multiple_digits_test(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		buf_put_text(&b, "{\"multipleOf\":");
		put_times(&b, "9", SCHEMA_MULTIPLE_DIGITS_MAX + more);
		buf_put_text(&b, "000}");
		expect_compiled(&b, more == 0 ? NULL :
		    "/multipleOf: has more than 18 digits");
	}
	buf_put_text(&b, "999999999999999999000");
	expect_checked("{\"multipleOf\":999999999999999999}", &b, NULL);
	buf_put_text(&b, "999999999999999999001");
	expect_checked("{\"multipleOf\":999999999999999999}", &b,
	    " must be a multiple of 999999999999999999");
}

static void
uri_bytes_test(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		buf_put_text(&b, "{\"$id\":\"http://a/\",\"items\":{\"$id\":"
		    "\"");
		put_times(&b, "x", SCHEMA_URI_BYTES_MAX - 9 + more);
		buf_put_text(&b, "\"}}");
		expect_compiled(&b, more == 0 ? NULL : "/items/$id: is longer,"
		    " seen from its base, than 1024 bytes");
	}
}

/* A chain of "$ref"s, and a pointer of as many steps as are followed. */
static void
long_references_test(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		unsigned last = SCHEMA_CHECK_DEPTH_MAX - 1 + more;
		buf_put_text(&b, "{\"definitions\":{");
		for (unsigned i = 0; i < last; i++)
			buf_printf(&b, "\"%u\":{\"$ref\":"
			    "\"#/definitions/%u\"},",
			    i, i + 1);
		buf_printf(&b, "\"%u\":{}}}", last);
		expect_compiled(&b, more == 0 ? NULL : "/definitions/512: more "
		    "than 512 subschemas apply one another to a value");
	}
	for (unsigned more = 0; more < 2; more++) {
		buf_put_text(&b, "{\"items\":{\"$ref\":\"#");
		put_times(&b, "/x", SCHEMA_DEPTH_MAX + more);
		buf_put_text(&b, "\"},\"x\":");
		put_times(&b, "{\"x\":", SCHEMA_DEPTH_MAX);
		buf_put_text(&b, "true");
		put_times(&b, "}", SCHEMA_DEPTH_MAX + 1);
		struct why w;
		struct schema *s;
		assert_int_equal(compile_text(buf_str(&b), &s, &w), more == 0 ?
		    OK : ERR_INPUT);
		assert_true(more == 0 || str_ends(str_of(w.text),
		    STR("is too deep")));
		schema_free(&s);
		buf_free(&b);
	}
}

/* 100 patterns fit, 300 do not. */
static void
many_patterns_test(void **state)
{
	struct buf b = BUF_INIT;
	struct why w;
	struct schema *s;

	(void)state;
	for (size_t n = 100; n <= 300; n += 200) {
		buf_put_text(&b, "{\"allOf\":[{}");
		put_times(&b, ",{\"pattern\":\"(a|b){700}\"}",
		    n);
		buf_put_text(&b, "]}");
		enum err e = compile_text(buf_str(&b), &s, &w);
		assert_int_equal(e, n == 100 ? OK : ERR_FULL);
		assert_true(n == 100 || str_ends(str_of(w.text),
		    STR("the patterns need more than 4194304 bytes of "
		    "memory")));
		schema_free(&s);
		buf_free(&b);
	}
}

/* --- checks ------------------------------------------------------------- */

static void
steps_test(void **state)
{
	struct buf b = BUF_INIT;
	/* One for the array, one for each element, and one for 64 of them. */
	size_t n = (size_t)(SCHEMA_CHECK_STEPS_MAX - 1) * 64 / 65;

	(void)state;
	while (1 + n + n / 64 < SCHEMA_CHECK_STEPS_MAX)
		n++;
	assert_int_equal(1 + n + n / 64, SCHEMA_CHECK_STEPS_MAX);
	for (size_t more = 0; more < 2; more++) {
		char fault[100];
		snprintf(fault, sizeof(fault), "/%zu " TOO_LONG, n);
		buf_put_text(&b, "[1");
		put_times(&b, ",1", n - 1 + more);
		buf_put_text(&b, "]");
		expect_checked("{\"items\":{\"type\":\"integer\"}}", &b,
		    more == 0 ? NULL : fault);
	}
}

static void
nested_value_test(void **state)
{
	struct buf b = BUF_INIT;
	struct buf fault = BUF_INIT;

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		put_times(&b, "[", SCHEMA_CHECK_DEPTH_MAX + more);
		put_times(&b, "]", SCHEMA_CHECK_DEPTH_MAX + more);
		put_times(&fault, "/0", SCHEMA_CHECK_DEPTH_MAX);
		buf_put_text(&fault, " " TOO_DEEP);
		expect_checked("{\"items\":{\"$ref\":\"#\"}}", &b,
		    more == 0 ? NULL : buf_text(&fault));
		buf_free(&fault);
	}
	/* Values that are compared: one level is the schema's. */
	for (size_t more = 0; more < 2; more++) {
		put_times(&b, "[", 1);
		for (int twice = 0; twice < 2; twice++) {
			buf_put_text(&b, twice == 0 ? "" : ",");
			put_times(&b, "[", SCHEMA_CHECK_DEPTH_MAX - 1 + more);
			put_times(&b, "]", SCHEMA_CHECK_DEPTH_MAX - 1 + more);
		}
		put_times(&b, "]", 1);
		expect_checked("{\"uniqueItems\":true}", &b, more == 0 ?
		    " has equal elements: 0 and 1" : " " TOO_DEEP);
	}
}

/* 2^40 subschemas apply to one value. */
static void
doubling_test(void **state)
{
	struct buf schema = BUF_INIT, value = BUF_INIT;

	(void)state;
	buf_put_text(&schema, "{\"$ref\":\"#/definitions/0\","
	    "\"definitions\":{");
	for (int i = 0; i < 40; i++)
		buf_printf(&schema, "\"%d\":{\"allOf\":[{\"$ref\":"
		    "\"#/definitions/%d\"},{\"$ref\":\"#/definitions/%d\"}]},",
		    i, i + 1, i + 1);
	buf_put_text(&schema, "\"40\":{}}}");
	buf_put_text(&value, "1");
	expect_checked(buf_text(&schema), &value, " " TOO_LONG);
	buf_free(&schema);
	/* A check that gives up inside "not" does not find it valid. */
	buf_put_text(&value, "[");
	put_times(&value, "1,", 2100000);
	buf_put_text(&value, "1]");
	expect_checked("{\"not\":{\"uniqueItems\":true}}", &value,
	    " " TOO_LONG);
}

/* Patterns that backtrack: without a limit the first takes 2^60 steps. */
static void
hostile_patterns_test(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	buf_put_char(&b, '"');
	put_times(&b, "a", 60);
	buf_put_text(&b, "b\"");
	expect_checked("{\"pattern\":\"^(a+)+$\"}", &b, " " TOO_LONG);
	/* References that compare half of the text, again and again. */
	buf_put_char(&b, '"');
	put_times(&b, "a", 100000);
	buf_put_text(&b, "b\"");
	expect_checked("{\"pattern\":\"^(a+)(a+)\\\\1\\\\2c\"}", &b,
	    " " TOO_LONG);
	/* A lookbehind that steps back to the start, again and again. */
	buf_put_char(&b, '"');
	put_times(&b, "a", 50000);
	buf_put_text(&b, "b\"");
	struct buf schema = BUF_INIT;
	buf_put_text(&schema, "{\"pattern\":\"(?:a(?<=");
	put_times(&schema, "[a]{1000}", 60);
	buf_put_text(&schema, "))b\"}");
	expect_checked(buf_text(&schema), &b, " " TOO_LONG);
	buf_free(&schema);
	buf_put_char(&b, '"');
	put_times(&b, "ab", 500000);
	buf_put_text(&b, "c\"");
	expect_checked("{\"pattern\":\"^(a|b)*d\"}", &b, " the check was given "
	    "up: the pattern \"^(a|b)*d\" needs too much memory");
	/* In a name, with a pattern for names. */
	buf_put_text(&b, "{\"");
	put_times(&b, "a", 60);
	buf_put_text(&b, "b\":1}");
	struct buf fault = BUF_INIT;
	buf_put_char(&fault, '/');
	put_times(&fault, "a", 60);
	buf_put_text(&fault, "b " TOO_LONG);
	expect_checked("{\"patternProperties\":{\"^(a+)+$\":true}}", &b,
	    buf_text(&fault));
	buf_free(&fault);
}

/* Long honest texts are no problem. */
static void
long_texts_test(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	buf_put_char(&b, '"');
	put_times(&b, "abc ", 250000);
	buf_put_text(&b, "z1\"");
	expect_checked("{\"pattern\":\"^[a-z ]+[0-9]$\",\"maxLength\":1000002}",
	    &b, NULL);
	buf_put_char(&b, '"');
	put_times(&b, "abc ", 250000);
	buf_put_text(&b, "z1\"");
	expect_checked("{\"pattern\":\"z\\\\d\"}", &b, NULL);
}

/* A number of a megabyte, and names of as many bytes, for many subschemas. */
static void
long_values_test(void **state)
{
	struct buf schema = BUF_INIT, value = BUF_INIT;

	(void)state;
	buf_put_text(&schema, "{\"allOf\":[{}");
	put_times(&schema, ",{\"type\":\"integer\"}", 1000);
	buf_put_text(&schema, "]}");
	put_times(&value, "7", 1000000);
	expect_checked(buf_text(&schema), &value, " " TOO_LONG);
	buf_free(&schema);
	buf_put_text(&schema, "{\"allOf\":[{}");
	put_times(&schema, ",{\"properties\":{}}", 1000);
	buf_put_text(&schema, "]}");
	buf_put_text(&value, "{\"");
	put_times(&value, "7", 1000000);
	buf_put_text(&value, "\":1}");
	expect_checked(buf_text(&schema), &value, " " TOO_LONG);
	buf_free(&schema);
}

/* Objects whose members have the opposite order. */
static void
compared_objects_test(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (int n = 1000; n <= 10000; n += 9000) {
		buf_put_text(&b, "[{\"\":0");
		for (int i = 0; i < n; i++)
			buf_printf(&b, ",\"%d\":1", i);
		buf_put_text(&b, "},{\"\":0");
		for (int i = n; i > 0; i--)
			buf_printf(&b, ",\"%d\":1", i - 1);
		buf_put_text(&b, "}]");
		expect_checked("{\"uniqueItems\":true}", &b, n == 1000 ?
		    " has equal elements: 0 and 1" : " " TOO_LONG);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_test),
		cmocka_unit_test(nested_schema_test),
		cmocka_unit_test(subschemas_test),
		cmocka_unit_test(multiple_digits_test),
		cmocka_unit_test(uri_bytes_test),
		cmocka_unit_test(long_references_test),
		cmocka_unit_test(many_patterns_test),
		cmocka_unit_test(steps_test),
		cmocka_unit_test(nested_value_test),
		cmocka_unit_test(doubling_test),
		cmocka_unit_test(hostile_patterns_test),
		cmocka_unit_test(long_texts_test),
		cmocka_unit_test(long_values_test),
		cmocka_unit_test(compared_objects_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

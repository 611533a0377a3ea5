/* The parts that a check is made of: numbers, URIs, patterns, formats. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "engine/schema/schema.h"
#include "engine/schema/schema_format.h"
#include "engine/schema/schema_number.h"
#include "engine/schema/schema_pattern.h"
#include "engine/schema/schema_uri.h"

/* --- numbers ------------------------------------------------------------ */

static struct schema_number
parse_number(const char *text)
{
	struct schema_number x;

	if (!schema_number_parse(str_of(text), &x))
		fail_msg("%s is no number", text);
	return x;
}

static void
numbers_in_order_test(void **state)
{
	static const char *const sorted[] = { "-1e1000000000000", "-1e30",
		"-100000000000000000000000000001", "-10", "-9.5", "-1", "-0.01",
		"-1e-1000000000", "0", "1e-30", "0.01", "0.0100001", "0.1", "1",
		"1.5", "9", "10", "10.00000000000000000000000001", "11", "100",
		"123456789012345678901234567890",
		"123456789012345678901234567891", "1e30", "1e1000" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sorted); i++) {
		struct schema_number a = parse_number(sorted[i]);
		for (size_t j = 0; j < ARRAY_LEN(sorted); j++) {
			struct schema_number b = parse_number(sorted[j]);
			int cmp = schema_number_cmp(&a, &b);
			if (cmp != (i > j) - (i < j))
				fail_msg("%s and %s: %d", sorted[i],
				    sorted[j], cmp);
		}
	}
}

static void
equal_numbers_test(void **state)
{
	static const char *const equal[][2] = { { "1", "1.0" },
		{ "100", "1e2" }, { "100", "0.01e4" }, { "-0", "0" },
		{ "0e5", "0.000" }, { "1.50", "15e-1" },
		{ "0.00012", "12E-5" }, { "1E+2", "100.0" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(equal); i++) {
		struct schema_number a = parse_number(equal[i][0]);
		struct schema_number b = parse_number(equal[i][1]);
		assert_int_equal(schema_number_cmp(&a, &b), 0);
		assert_true(schema_number_hash(&a) == schema_number_hash(&b));
		assert_int_equal(schema_number_is_integer(&a),
		    schema_number_is_integer(&b));
	}
}

static void
no_numbers_test(void **state)
{
	static const char *const wrong[] = { "", "-", ".5", "1.", "1e", "1e+",
		"+1", "1 ", "0x1", "inf", "nan", "1.2.3" };
	struct schema_number x;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (schema_number_parse(str_of(wrong[i]), &x))
			fail_msg("\"%s\" is a number", wrong[i]);
}

/* Small numbers, by their remainders as yyjson and C have them. */
static void
multiples_of_small_numbers_test(void **state)
{
	char a_text[24], b_text[24];

	(void)state;
	for (int a = -60; a <= 60; a++) {
		for (int b = 1; b <= 40; b++) {
			/* Both with one decimal. */
			snprintf(a_text, sizeof(a_text), "%de-1", a);
			snprintf(b_text, sizeof(b_text), "%d.%d", b / 10,
			    b % 10);
			struct schema_number x = parse_number(a_text);
			struct schema_number m = parse_number(b_text);
			if (schema_number_is_multiple(&x, &m) != (a % b == 0))
				fail_msg("%s, %s", a_text, b_text);
		}
	}
}

static void
counts_test(void **state)
{
	struct schema_number x = parse_number("18446744073709551615");

	(void)state;
	assert_true(schema_number_to_u64(&x) == UINT64_MAX);
	x = parse_number("18446744073709551614");
	assert_true(schema_number_to_u64(&x) == UINT64_MAX - 1);
	x = parse_number("1e1000000000000000");
	assert_true(schema_number_to_u64(&x) == UINT64_MAX);
	x = parse_number("120.0");
	assert_true(schema_number_to_u64(&x) == 120);
	x = parse_number("0");
	assert_true(schema_number_to_u64(&x) == 0);
}

/* A double of yyjson has the digits that were written. */
static void
doubles_test(void **state)
{
	static const char *const texts[] = { "0.1", "1.1", "19.99",
		"2.2250738585072014e-308", "1.7976931348623157e308",
		"123456.789", "1e22", "-0.3" };
	char text[SCHEMA_NUMBER_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct schema_number want = parse_number(texts[i]), x;
		yyjson_doc *doc = yyjson_read(texts[i], strlen(texts[i]), 0);
		assert_true(schema_number_read(yyjson_doc_get_root(doc), text,
		    &x));
		if (schema_number_cmp(&x, &want) != 0)
			fail_msg("%s, not %s", text, texts[i]);
		yyjson_doc_free(doc);
	}
}

/* --- URIs --------------------------------------------------------------- */

static void
expect_resolved(const char *base, const char *reference, const char *want)
{
	struct arena a = ARENA_INIT;
	struct str fragment;
	struct str got = schema_uri_resolve(str_of(base), str_of(reference),
	    &a, &fragment);

	if (!str_eq(got, str_of(want)))
		fail_msg("%s from %s: %s, not %s", reference, base, got.p,
		    want);
	arena_free(&a);
}

/* The examples of RFC 3986 §5.4, without their fragments. */
static void
resolved_uris_test(void **state)
{
	static const char base[] = "http://a/b/c/d;p?q";
	static const char *const cases[][2] = {
		{ "g:h", "g:h" }, { "g", "http://a/b/c/g" },
		{ "./g", "http://a/b/c/g" }, { "g/", "http://a/b/c/g/" },
		{ "/g", "http://a/g" }, { "//g", "http://g" },
		{ "?y", "http://a/b/c/d;p?y" },
		{ "g?y", "http://a/b/c/g?y" }, { "#s", "http://a/b/c/d;p?q" },
		{ "g#s", "http://a/b/c/g" }, { ";x", "http://a/b/c/;x" },
		{ "g;x", "http://a/b/c/g;x" }, { "", "http://a/b/c/d;p?q" },
		{ ".", "http://a/b/c/" }, { "./", "http://a/b/c/" },
		{ "..", "http://a/b/" }, { "../", "http://a/b/" },
		{ "../g", "http://a/b/g" }, { "../..", "http://a/" },
		{ "../../g", "http://a/g" }, { "../../../g", "http://a/g" },
		{ "/./g", "http://a/g" }, { "/../g", "http://a/g" },
		{ "g.", "http://a/b/c/g." }, { "..g", "http://a/b/c/..g" },
		{ "./g/.", "http://a/b/c/g/" },
		{ "g/../h", "http://a/b/c/h" },
		{ "g;x=1/../y", "http://a/b/c/y" },
		{ "g?y/../x", "http://a/b/c/g?y/../x" },
		{ "http:g", "http:g" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect_resolved(base, cases[i][0], cases[i][1]);
	expect_resolved("http://a", "g", "http://a/g");
	expect_resolved("", "g", "g");
	expect_resolved("", "#g", "");
	expect_resolved("urn:uuid:1-2", "#g", "urn:uuid:1-2");
}

static void
fragments_test(void **state)
{
	struct arena a = ARENA_INIT;
	struct str fragment;

	(void)state;
	schema_uri_resolve(STR("a"), STR("b#/c%20d"), &a, &fragment);
	assert_true(str_eq(fragment, STR("/c%20d")));
	schema_uri_resolve(STR("a"), STR("b#"), &a, &fragment);
	assert_true(fragment.p != NULL && fragment.n == 0);
	schema_uri_resolve(STR("a"), STR("b"), &a, &fragment);
	assert_null(fragment.p);
	arena_free(&a);
}

/* --- patterns ----------------------------------------------------------- */

static bool
match_text(const char *pattern, struct str subject)
{
	struct arena a = ARENA_INIT;
	size_t steps = SCHEMA_CHECK_STEPS_MAX;
	size_t memory = SCHEMA_PATTERN_MEMORY_MAX;
	struct schema_matcher m = { .steps = &steps };
	struct why w = WHY_INIT;
	struct schema_pattern *p;

	if (schema_pattern_compile(str_of(pattern), &memory, &a, &p, &w) != OK)
		fail_msg("%s: %s", pattern, w.text);
	enum schema_match match = schema_pattern_match(p, subject, &m);
	assert_int_not_equal(match, SCHEMA_GAVE_UP);
	assert_true(steps < SCHEMA_CHECK_STEPS_MAX);
	assert_true(memory < SCHEMA_PATTERN_MEMORY_MAX);
	schema_matcher_free(&m);
	arena_free(&a);
	return match == SCHEMA_MATCH;
}

/* Where ECMA-262 and PCRE2 differ. */
static void
translated_patterns_test(void **state)
{
	static const struct {
		const char *pattern, *match, *other;
	} cases[] = {
		{ "b", "abc", "ac" },
		{ "^a$", "a", "a\n" },
		{ "^.$", "\xe2\x82\xac", "\xe2\x80\xa8" },
		{ "^\\s$", "\xef\xbb\xbf", "x" },
		{ "^\\S$", "x", "\xc2\xa0" },
		{ "^[\\s-.]$", "-", "+" },
		{ "^[+-\\s]$", "-", "," },
		{ "^[\\w-]$", "-", "," },
		{ "^[a\\d-z]$", "-", "b" },
		{ "^[\\p{L}-_]$", "-", "^" },
		{ "^\\u00e9$", "\xc3\xa9", "e" },
		{ "^\\ud83d\\ude00$", "\xf0\x9f\x98\x80", "x" },
		{ "^\\u{1f600}$", "\xf0\x9f\x98\x80", "x" },
		{ "^[[:alpha:]]$", "a]", "b" },
		{ "^[^]$", "\n", "ab" },
		{ "^(a[])?$", "", "a" },
		{ "^\\v$", "\v", "\n" },
		{ "^\\d$", "1", "\xd9\xa1" },
		{ "^\\w$", "e", "\xc3\xa9" },
		{ "^\\-\\/$", "-/", "x" },
		{ "^(?:a|(b))\\1$", "a", "ab" },
		{ "^(?<n>a)\\k<n>$", "aa", "ab" },
		{ "(?<=a)b", "ab", "cb" },
		{ "^(?!a)", "b", "a" },
		{ "^\\p{Lu}$", "\xc3\x89", "\xc3\xa9" },
		{ "^a{2,3}$", "aaa", "a" },
		{ "^a{,3}x{$", "a{,3}x{", "ax" },
		{ "^\\cJ$", "\n", "J" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (!match_text(cases[i].pattern, str_of(cases[i].match)))
			fail_msg("%s, %s", cases[i].pattern, cases[i].match);
		if (match_text(cases[i].pattern, str_of(cases[i].other)))
			fail_msg("%s: %s", cases[i].pattern, cases[i].other);
	}
	assert_true(match_text("^\\0$", (struct str){ "\0", 1 }));
}

static void
refused_patterns_test(void **state)
{
	static const struct {
		const char *pattern;
		enum err err;
		const char *text;
	} cases[] = {
		{ "a\\", ERR_INPUT, "\\ at the end" },
		{ "\\Z", ERR_INPUT, "\\Z is not of ECMA-262" },
		{ "\\Qa\\E", ERR_INPUT, "\\Q is not of ECMA-262" },
		{ "\\u00e", ERR_INPUT, "\\u without 4 hex digits" },
		{ "\\u{}", ERR_INPUT, "\\u{...} is no code point" },
		{ "\\u{110000}", ERR_INPUT, "\\u110000 is no character" },
		{ "\\ud83d", ERR_INPUT, "\\ud83d is no character" },
		{ "(*UTF)a", ERR_INPUT, "nothing to repeat" },
		{ "(?R)", ERR_INPUT, "a group that is not of ECMA-262" },
		{ "(?C1)", ERR_INPUT, "a group that is not of ECMA-262" },
		{ "(?>a)", ERR_INPUT, "a group that is not of ECMA-262" },
		{ "(a", ERR_INPUT, "missing closing parenthesis" },
		{ "a{1001,}", ERR_FULL, "it repeats something at least 1001 "
		    "times; 1000 is the limit" },
		{ "((((a{1000}){1000}){1000}){1000})", ERR_FULL,
		    "regular expression is too large" },
		{ "\xff", ERR_INPUT, "it is not UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		size_t memory = SCHEMA_PATTERN_MEMORY_MAX;
		struct why w = WHY_INIT;
		struct schema_pattern *p;

		enum err e = schema_pattern_compile(str_of(cases[i].pattern),
		    &memory, &a, &p, &w);
		if (e != cases[i].err || strcmp(w.text, cases[i].text) != 0)
			fail_msg("%s: \"%s\"", cases[i].pattern, w.text);
		assert_null(p);
		assert_false(schema_pattern_is_valid(str_of(cases[i].pattern)));
		arena_free(&a);
	}
}

static void
repeat_limit_test(void **state)
{
	char pattern[40];

	(void)state;
	snprintf(pattern, sizeof(pattern), "a{%u}", SCHEMA_REPEAT_MAX);
	assert_true(schema_pattern_is_valid(str_of(pattern)));
	snprintf(pattern, sizeof(pattern), "a{%u}", SCHEMA_REPEAT_MAX + 1);
	assert_false(schema_pattern_is_valid(str_of(pattern)));
	/* No limit of what may be read in addition. */
	assert_true(schema_pattern_is_valid(STR("a{0,60000}")));
	assert_false(schema_pattern_is_valid(
	    STR("a{99999999999999999999999}")));
}

static void
pattern_memory_test(void **state)
{
	struct arena a = ARENA_INIT;
	size_t memory = 10000, left;
	struct why w = WHY_INIT;
	struct schema_pattern *p;

	(void)state;
	assert_int_equal(schema_pattern_compile(STR("a+b"), &memory, &a, &p,
	    &w), OK);
	left = 10000 - memory;
	assert_int_equal(schema_pattern_compile(STR("a+b"), &left, &a, &p,
	    &w), OK);
	assert_int_equal(left, 0);
	left = 10000 - memory - 1;
	assert_int_equal(schema_pattern_compile(STR("a+b"), &left, &a, &p,
	    &w), ERR_FULL);
	arena_free(&a);
}

/* --- formats ------------------------------------------------------------ */

static void
formats_test(void **state)
{
	static const struct {
		const char *format, *text;
		bool valid;
	} cases[] = {
		{ "date", "2024-02-29", true },
		{ "date", "2023-02-29", false },
		{ "date", "1900-02-29", false },
		{ "date", "2000-02-29", true },
		{ "date", "2023-04-31", false },
		{ "date", "2023-00-10", false },
		{ "date", "2023-10-00", false },
		{ "date", "2023-10-10 ", false },
		{ "time", "23:59:60Z", true },
		{ "time", "22:59:60Z", false },
		{ "time", "01:29:60+01:30", true },
		{ "time", "15:59:60.123-08:00", true },
		{ "time", "24:00:00Z", false },
		{ "time", "12:00:00", false },
		{ "time", "12:00:00.Z", false },
		{ "time", "12:00:00+24:00", false },
		{ "date-time", "2023-10-10 12:00:00Z", false },
		{ "date-time", "2023-10-10T12:00:00+05:30", true },
		{ "email", "a.b+c@example.org", true },
		{ "email", "a..b@example.org", false },
		{ "email", ".a@example.org", false },
		{ "email", "a@", false },
		{ "email", "@example.org", false },
		{ "email", "a b@example.org", false },
		{ "email", "\xc3\xa9@example.org", false },
		{ "idn-email", "\xc3\xa9@\xc3\xa9.org", true },
		{ "hostname", "a.example.", false },
		{ "hostname", "", false },
		{ "ipv4", "::1", false },
		{ "ipv4", "1.2.3.4 ", false },
		{ "ipv6", "1.2.3.4", false },
		{ "ipv6", "::ffff:1.2.3.4", true },
		{ "uri", "http://[::1]:80/", true },
		{ "uri", "http://[::1/", false },
		{ "uri", "http://[1.2.3.4]/", false },
		{ "uri", "http://[v1.a]/", true },
		{ "uri", "http://a:b/", false },
		{ "uri", "http://a/%4", false },
		{ "uri", "1http://a/", false },
		{ "uri", "http://\xc3\xa9/", false },
		{ "iri", "http://\xc3\xa9/", true },
		{ "uri-reference", "", true },
		{ "uri-reference", "a b", false },
		{ "json-pointer", "/a~2", false },
		{ "relative-json-pointer", "01", false },
		{ "relative-json-pointer", "1#/a", false },
		{ "regex", "a{1001}", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct schema_format *f = schema_format_find(
		    str_of(cases[i].format));
		assert_non_null(f);
		if (f->is_valid(str_of(cases[i].text)) != cases[i].valid)
			fail_msg("%s: %s", cases[i].format, cases[i].text);
	}
	assert_null(schema_format_find(STR("uri-template")));
	assert_null(schema_format_find(STR_NONE));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_in_order_test),
		cmocka_unit_test(equal_numbers_test),
		cmocka_unit_test(no_numbers_test),
		cmocka_unit_test(multiples_of_small_numbers_test),
		cmocka_unit_test(counts_test),
		cmocka_unit_test(doubles_test),
		cmocka_unit_test(resolved_uris_test),
		cmocka_unit_test(fragments_test),
		cmocka_unit_test(translated_patterns_test),
		cmocka_unit_test(refused_patterns_test),
		cmocka_unit_test(repeat_limit_test),
		cmocka_unit_test(pattern_memory_test),
		cmocka_unit_test(formats_test),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

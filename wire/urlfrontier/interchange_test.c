#include "wire/urlfrontier/interchange.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "wire/urlfrontier/schema.h"

static struct arena arena;

static int
teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static Urlfrontier__URLItem *
read_line(const char *line)
{
	Urlfrontier__URLItem *item = NULL;
	struct why w = WHY_INIT;

	if (interchange_read(str_of(line), STR("CRAWL"), &arena, &item, &w) !=
	    OK)
		fail_msg("%s: %s", line, w.text);
	return item;
}

static void
refuse(const char *line, const char *text)
{
	Urlfrontier__URLItem *item;
	struct why w = WHY_INIT;

	assert_int_equal(interchange_read(str_of(line), STR("CRAWL"), &arena,
	    &item, &w), ERR_INPUT);
	assert_string_equal(w.text, text);
}

/* `line` reads, and is written as `want`. */
static void
becomes(const char *line, const char *want)
{
	struct buf b = BUF_INIT;

	interchange_put(&b, read_line(line));
	assert_string_equal(buf_text(&b), want);
	buf_free(&b);
}

/* The example of the contract, byte for byte, in all its parts. */
static void
test_example(void **state)
{
	static const char line[] = "{\"known\":{\"info\":{\"url\":"
	    "\"http://a.b/\",\"key\":\"a.b\",\"metadata\":{\"src\":"
	    "{\"values\":[\"seed\"]}},\"crawlID\":\"DEFAULT\"},"
	    "\"refetchableFromDate\":\"1795163100\"},\"creationDate\":"
	    "\"1795159500\"}";
	Urlfrontier__URLItem *item = read_line(line);

	(void)state;
	assert_int_equal(item->item_case, URLFRONTIER__URLITEM__ITEM_KNOWN);
	assert_string_equal(item->id, "");
	assert_int_equal(item->creation_date, 1795159500);
	assert_int_equal(item->known->refetchable_from_date, 1795163100);
	Urlfrontier__URLInfo *info = item->known->info;
	assert_string_equal(info->url, "http://a.b/");
	assert_string_equal(info->key, "a.b");
	assert_string_equal(info->crawlid, "DEFAULT");
	assert_int_equal(info->n_metadata, 1);
	assert_string_equal(info->metadata[0]->key, "src");
	assert_int_equal(info->metadata[0]->value->n_values, 1);
	assert_string_equal(info->metadata[0]->value->values[0], "seed");
	becomes(line, line);
}

static void
test_plain(void **state)
{
	Urlfrontier__URLItem *item = read_line(" \thttp://a.b/?c={d}\r\n");

	(void)state;
	assert_int_equal(item->item_case,
	    URLFRONTIER__URLITEM__ITEM_DISCOVERED);
	assert_string_equal(item->id, "CRAWL_http://a.b/?c={d}");
	assert_string_equal(item->discovered->info->url, "http://a.b/?c={d}");
	assert_string_equal(item->discovered->info->crawlid, "CRAWL");
	assert_string_equal(item->discovered->info->key, "");
	refuse("", "the line is empty");
	refuse(" \t ", "the line is empty");
	refuse("http://a/\xff", "a URL that is no UTF-8");
	Urlfrontier__URLItem *none;
	struct why w = WHY_INIT;
	assert_int_equal(interchange_read(STR("a\0b"), STR("CRAWL"), &arena,
	    &none, &w), ERR_INPUT);
	assert_string_equal(w.text, "a URL that holds a NUL");
}

/* Either spelling, blanks, any order, and null for what is not there. */
static void
test_spellings(void **state)
{
	(void)state;
	becomes(" { \"creation_date\" : 7 , \"ID\" : \"i\", \"known\":\t"
	    "{\"refetchable_from_date\":8,\"info\":{\"crawlID\":\"c\","
	    "\"url\":\"u\"}}}",
	    "{\"known\":{\"info\":{\"url\":\"u\",\"crawlID\":\"c\"},"
	    "\"refetchableFromDate\":\"8\"},\"ID\":\"i\","
	    "\"creationDate\":\"7\"}");
	becomes("{\"known\":null,\"discovered\":{\"info\":{\"url\":\"u\","
	    "\"key\":null,\"metadata\":null}},\"ID\":null,"
	    "\"creationDate\":null}",
	    "{\"discovered\":{\"info\":{\"url\":\"u\"}}}");
	becomes("{\"known\":{}}", "{\"known\":{}}");
	becomes("{\"discovered\":{\"info\":{}}}",
	    "{\"discovered\":{\"info\":{}}}");
	becomes("{}", "{}");
	becomes("{\"known\":{\"info\":{\"metadata\":{\"a\":{},\"b\":"
	    "{\"values\":[]},\"c\":{\"values\":[\"1\",\"\",\"2\"]}}}}}",
	    "{\"known\":{\"info\":{\"metadata\":{\"a\":{},\"b\":{},"
	    "\"c\":{\"values\":[\"1\",\"\",\"2\"]}}}}}");
}

static void
test_numbers(void **state)
{
	static const char *const good[][2] = {
		{ "\"18446744073709551615\"", "18446744073709551615" },
		{ "18446744073709551615", "18446744073709551615" },
		{ "1e3", "1000" }, { "\"1e3\"", "1000" }, { "5.0", "5" },
	};
	static const char *const bad[] = { "-1", "\"-1\"", "1.5", "\"\"",
	    "\"x\"", "1e30", "\"18446744073709551616\"", "true", "[1]", "{}",
	    "\" 1\"", "0x10" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		char line[80], want[80];
		snprintf(line, sizeof(line), "{\"creationDate\":%s}",
		    good[i][0]);
		snprintf(want, sizeof(want), "{\"creationDate\":\"%s\"}",
		    good[i][1]);
		becomes(line, want);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char line[80];
		Urlfrontier__URLItem *item;
		struct why w = WHY_INIT;
		snprintf(line, sizeof(line), "{\"creationDate\":%s}", bad[i]);
		assert_int_equal(interchange_read(str_of(line), STR("c"),
		    &arena, &item, &w), ERR_INPUT);
	}
	becomes("{\"creationDate\":\"0\"}", "{}");
}

static void
test_refusals(void **state)
{
	(void)state;
	refuse("{\"known\":{\"info\":{\"colour\":1}}}",
	    "known.info.colour: there is no such field");
	refuse("{\"url\":\"http://a/\"}", "url: there is no such field");
	refuse("{\"known\":{},\"discovered\":{}}",
	    "discovered: a URL is discovered or known, not both");
	refuse("{\"known\":{\"info\":{\"url\":5}}}",
	    "known.info.url: must be a string");
	refuse("{\"known\":{\"info\":{\"url\":\"a\\u0000b\"}}}",
	    "known.info.url: holds a NUL");
	refuse("{\"known\":{\"info\":[]}}", "known.info: must be an object");
	refuse("{\"known\":{\"info\":{\"metadata\":{\"k\":null}}}}",
	    "known.info.metadata.k: must be an object");
	refuse("{\"known\":{\"info\":{\"metadata\":{\"k\":{\"values\":"
	    "[null]}}}}}",
	    "known.info.metadata.k.values: must be a string");
	refuse("{\"known\":{\"info\":{\"metadata\":{\"k\":{\"values\":"
	    "\"v\"}}}}}", "known.info.metadata.k.values: must be an array");
	refuse("{\"known\":{\"info\":{\"metadata\":[]}}}",
	    "known.info.metadata: must be an object");
	refuse("{\"creationDate\":1,\"creation_date\":2}",
	    "creation_date: is there twice");
	refuse("{\"creationDate\":\"soon\"}", "creationDate: must be a whole "
	    "number from 0 to 18446744073709551615");
}

static void
test_no_json(void **state)
{
	static const char *const lines[] = { "{", "{]", "{\"known\":}",
	    "{} x", "{\"ID\":\"\xff\"}", "{'ID':1}", "{\"ID\":\"\n\"}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		Urlfrontier__URLItem *item;
		struct why w = WHY_INIT;
		assert_int_equal(interchange_read(str_of(lines[i]), STR("c"),
		    &arena, &item, &w), ERR_INPUT);
		assert_true(str_starts(str_of(w.text), STR("no JSON: ")));
	}
}

/*
 * What JsonFormat of protobuf-java writes: gson's escapes for HTML, and all
 * other characters as they are.
 */
static void
test_escapes(void **state)
{
	static const char want[] = "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f"
	    "/\\u003c\\u003e\\u0026\\u003d\\u0027\x7f\xc3\xa4\xe2\x82\xac"
	    "\\u2028\\u2029\xe2\x80\xaa\xf0\x9f\x98\x88\"";
	struct buf b = BUF_INIT;

	(void)state;
	interchange_put_text(&b, "\"\\\b\f\n\r\t\x01\x1f/<>&='\x7f\xc3\xa4"
	    "\xe2\x82\xac\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"
	    "\xf0\x9f\x98\x88");
	assert_string_equal(buf_text(&b), want);
	buf_clear(&b);
	interchange_put_text(&b, "a\xff<\xc3");
	assert_string_equal(buf_text(&b),
	    "\"a\xef\xbf\xbd\\u003c\xef\xbf\xbd\"");
	buf_free(&b);
	becomes("{\"ID\":\"\\u003c&\\u00e4\\ud83d\\ude08\"}",
	    "{\"ID\":\"\\u003c\\u0026\xc3\xa4\xf0\x9f\x98\x88\"}");
}

static void
test_info(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	interchange_put_info(&b, read_line("http://a/?b=c")->discovered->info);
	assert_string_equal(buf_text(&b),
	    "{\"url\":\"http://a/?b\\u003dc\",\"crawlID\":\"CRAWL\"}");
	buf_free(&b);
}

/* Numbers and types of the fields, as the API has them. */
static void
test_wire(void **state)
{
	Urlfrontier__URLItem *item = read_line("{\"known\":{\"info\":{\"url\":"
	    "\"http://a.b/\",\"key\":\"k\",\"metadata\":{\"m\":{\"values\":"
	    "[\"v\"]}},\"crawlID\":\"c\"},\"refetchableFromDate\":\"300\"},"
	    "\"ID\":\"i\",\"creationDate\":\"5\"}");
	static const char want[] =
	    "\x12\x22"                    /* known = 2, 34 bytes */
	    "\x0a\x1d"                    /* info = 1 */
	    "\x0a\x0bhttp://a.b/"         /* url = 1 */
	    "\x12\x01k"                   /* key = 2 */
	    "\x1a\x08"                    /* metadata = 3: an entry */
	    "\x0a\x01m\x12\x03\x0a\x01v"
	    "\x22\x01" "c"                /* crawlID = 4 */
	    "\x10\xac\x02"                /* refetchable_from_date = 2 */
	    "\x1a\x01i"                   /* ID = 3 */
	    "\x20\x05";                   /* creation_date = 4 */
	uint8_t got[100];

	(void)state;
	assert_int_equal(urlfrontier__urlitem__get_packed_size(item),
	    sizeof(want) - 1);
	assert_int_equal(urlfrontier__urlitem__pack(item, got),
	    sizeof(want) - 1);
	assert_memory_equal(got, want, sizeof(want) - 1);
}

/* What is optional in the API can be told from what is absent. */
static void
test_optional(void **state)
{
	Urlfrontier__CountUrlParams p = URLFRONTIER__COUNT_URL_PARAMS__INIT;
	uint8_t got[16];

	(void)state;
	assert_int_equal(urlfrontier__count_url_params__pack(&p, got), 0);
	p.ignore_case_given_case =
	    URLFRONTIER__COUNT_URL_PARAMS__IGNORE_CASE_GIVEN_IGNORE_CASE;
	assert_int_equal(urlfrontier__count_url_params__pack(&p, got), 2);
	assert_memory_equal(got, "\x20\x00", 2);
}

static void
test_schema(void **state)
{
	struct str s = urlfrontier_schema();

	(void)state;
	/* A FileDescriptorSet of one file, whose name comes first. */
	assert_true(s.n > 1000 && s.p[0] == 0x0a);
	assert_true(str_find(s, STR("\x0a\x11urlfrontier.proto")) < 8);
	assert_true(str_find(s, STR("PutDiscovered")) < s.n);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_no_json),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_optional),
		cmocka_unit_test(test_schema),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}

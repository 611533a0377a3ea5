/* JSON objects from outside, their depth, and NDJSON line by line. */
#include "cli/simulator/json_body.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The texts of all lines, joined by "|", then the error if there is one. */
static void
expect_lines(struct str text, const char *want)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct ndjson n = { .rest = text };
	struct why w = WHY_INIT;
	struct str line;
	yyjson_doc *doc = NULL;
	enum err e;

	while ((e = ndjson_next(&n, &doc, &line, &w)) == OK && doc != NULL) {
		buf_put_str(&b, line);
		buf_put_char(&b, '|');
		yyjson_doc_free(doc);
	}
	assert_null(doc);
	if (e != OK)
		buf_put_text(&b, w.text);
	assert_string_equal(buf_text(&b), want);
}

static void
reads_lf_and_crlf(void **state)
{
	(void)state;
	expect_lines(STR("{\"a\":1}"), "{\"a\":1}|");
	expect_lines(STR("{\"a\":1}\n{}"), "{\"a\":1}|{}|");
	expect_lines(STR("{\"a\":1}\r\n{}\r\n{\"b\":\"\\n\"}"),
	    "{\"a\":1}|{}|{\"b\":\"\\n\"}|");
}

static void
names_the_line(void **state)
{
	static const char empty[] = "line 2: is empty; no line feed follows "
	    "the last document";
	char text[sizeof(empty) + 4];

	(void)state;
	snprintf(text, sizeof(text), "{}|%s", empty);
	expect_lines(STR("{}\n"), text);
	expect_lines(STR("{}\n\n{}"), text);
	expect_lines(STR(""), "line 1: is empty; no line feed follows the last "
	    "document");
	expect_lines(STR("{}\n[]"), "{}|line 2: must be a JSON object");
	/* A CR alone does not end a line. */
	expect_lines(STR("{}\r{}"), "line 1: no JSON: unexpected content after "
	    "document at byte 3");
}

/* `n` objects, each in the last. */
static void
put_nested(struct buf *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_put_text(b, i + 1 < n ? "{\"a\":" : "{\"a\":\"{{{{\\\"[\"");
	for (size_t i = 0; i < n; i++)
		buf_put_char(b, '}');
}

static void
limits_the_depth(void **state)
{
	FREED(buf_free) struct buf fine = BUF_INIT;
	FREED(buf_free) struct buf deep = BUF_INIT;
	yyjson_doc *doc;
	struct why w = WHY_INIT;

	(void)state;
	put_nested(&fine, JSON_BODY_DEPTH_MAX);
	assert_int_equal(json_body_read(buf_str(&fine), "the body", &doc, &w),
	    OK);
	yyjson_doc_free(doc);
	put_nested(&deep, JSON_BODY_DEPTH_MAX + 1);
	assert_int_equal(json_body_read(buf_str(&deep), "the body", &doc, &w),
	    ERR_INPUT);
	assert_null(doc);
	assert_string_equal(w.text, "the body: more than 32 levels deep");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lf_and_crlf),
		cmocka_unit_test(names_the_line),
		cmocka_unit_test(limits_the_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

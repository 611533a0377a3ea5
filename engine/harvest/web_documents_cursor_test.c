/* Cursors as text: written and read again, and malformed. */
#include "engine/harvest/web_documents_cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/harvest/web_documents.h"

static struct arena arena;

static int
teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static void
what_is_written_is_read_again(void **state)
{
	static const struct web_documents_cursor rows[] = {
		{ STR(""), WEB_DOCUMENTS_NO_CRAWL, WEB_DOCUMENTS_NO_CRAWL, 0,
		    false, 0, 0 },
		{ STR("5f"), 7, WEB_DOCUMENTS_NO_CRAWL, 120, false, 9, 0 },
		{ STR("5f"), 0, UINT32_MAX - 1, UINT64_MAX, true,
		    UINT64_MAX, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		FREED(buf_free) struct buf text = BUF_INIT;
		struct web_documents_cursor c;
		web_documents_cursor_put(&rows[i], &text);
		assert_int_equal(web_documents_cursor_read(buf_str(&text),
		    &arena, &c, NULL), OK);
		assert_true(str_eq(c.params, rows[i].params));
		assert_int_equal(c.crawl, rows[i].crawl);
		assert_int_equal(c.base, rows[i].base);
		assert_true(c.captures == rows[i].captures);
		assert_int_equal(c.ended, rows[i].ended);
		assert_true(c.crawl_created == rows[i].crawl_created);
		assert_true(c.base_created == rows[i].base_created);
	}
}

static void
an_empty_text_is_the_beginning(void **state)
{
	struct web_documents_cursor c;

	(void)state;
	assert_int_equal(web_documents_cursor_read(STR(""), &arena, &c, NULL),
	    OK);
	assert_int_equal(c.params.n, 0);
	assert_int_equal(c.crawl, WEB_DOCUMENTS_NO_CRAWL);
	assert_int_equal(c.base, WEB_DOCUMENTS_NO_CRAWL);
	assert_int_equal(c.captures, 0);
	assert_false(c.ended);
}

static void
what_is_wrong_is_named(void **state)
{
	static const struct { const char *json, *field; } rows[] = {
		{ "x", "cursor" }, { "[]", "cursor" },
		{ "{\"version\":2}", "cursor.version" },
		{ "{\"version\":1}", "cursor.params" },
		{ "{\"version\":1,\"params\":\"\",\"crawl\":-1}",
		    "cursor.crawl" },
		{ "{\"version\":1,\"params\":\"\",\"crawl\":4294967295}",
		    "cursor.crawl" },
		{ "{\"version\":1,\"params\":\"\",\"base\":\"5\"}",
		    "cursor.base" },
		{ "{\"version\":1,\"params\":\"\",\"captures\":1.5}",
		    "cursor.captures" },
		{ "{\"version\":1,\"params\":\"\",\"captures\":1}",
		    "cursor.ended" },
		{ "{\"version\":1,\"params\":\"\",\"captures\":1,\"ended\":"
		    "true}", "cursor.crawl" },
		{ "{\"version\":1,\"params\":\"\",\"captures\":1,\"ended\":"
		    "false,\"crawl_created\":-1}", "cursor.crawl_created" },
		{ "{\"version\":1,\"params\":\"\",\"captures\":1,\"ended\":"
		    "false,\"base_created\":\"1\"}", "cursor.base_created" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct web_documents_cursor c;
		struct why w = WHY_INIT;
		assert_int_equal(web_documents_cursor_read(str_of(
		    rows[i].json), &arena, &c, &w), ERR_INPUT);
		assert_string_equal(w.field, rows[i].field);
	}
}

static void
a_cursor_has_a_length(void **state)
{
	FREED(buf_free) struct buf text = BUF_INIT;
	struct web_documents_cursor c = { .captures = 1 };

	(void)state;
	web_documents_cursor_put(&c, &text);
	while (text.n < WEB_DOCUMENTS_CURSOR_BYTES_MAX)
		buf_put_char(&text, ' ');
	assert_int_equal(web_documents_cursor_read(buf_str(&text), &arena, &c,
	    NULL), OK);
	buf_put_char(&text, ' ');
	assert_int_equal(web_documents_cursor_read(buf_str(&text), &arena, &c,
	    NULL), ERR_FULL);
}

static void
a_digest_has_a_length(void **state)
{
	char text[WEB_DOCUMENTS_DIGEST_BYTES_MAX + 2];

	(void)state;
	memset(text, 'f', sizeof(text));
	for (size_t more = 0; more < 2; more++) {
		FREED(buf_free) struct buf json = BUF_INIT;
		struct web_documents_cursor c = { .params = { text,
		    WEB_DOCUMENTS_DIGEST_BYTES_MAX + more } };
		web_documents_cursor_put(&c, &json);
		assert_int_equal(web_documents_cursor_read(buf_str(&json),
		    &arena, &c, NULL), more ? ERR_INPUT : OK);
	}
}

static void
crawls_that_a_cursor_names(void **state)
{
	uint32_t crawls[WEB_DOCUMENTS_CURSOR_CRAWLS_MAX];

	(void)state;
#define CURSOR(crawl, base, ended) STR("{\"version\":1,\"params\":\"a\"," \
	    "\"crawl\":" crawl ",\"captures\":1,\"base\":" base ","           \
	    "\"ended\":" ended "}")
	assert_int_equal(web_documents_crawls(STR_NONE, crawls), 0);
	assert_int_equal(web_documents_crawls(STR("7"), crawls), 0);
	assert_int_equal(web_documents_crawls(CURSOR("7", "5", "false"),
	    crawls), 2);
	assert_int_equal(crawls[0], 7);
	assert_int_equal(crawls[1], 5);
	assert_int_equal(web_documents_crawls(CURSOR("null", "5", "false"),
	    crawls), 1);
	assert_int_equal(crawls[0], 5);
	/* The next run compares with its crawl alone. */
	assert_int_equal(web_documents_crawls(CURSOR("7", "5", "true"),
	    crawls), 1);
	assert_int_equal(crawls[0], 7);
#undef CURSOR
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(an_empty_text_is_the_beginning),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(a_cursor_has_a_length),
		cmocka_unit_test(a_digest_has_a_length),
		cmocka_unit_test(crawls_that_a_cursor_names),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/connector/url_text.h"

static void
parameters_are_encoded(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	buf_put_text(&b, "https://a.example/");
	url_text_encode(&b, STR("a/b?c d~e-f_g.h\xc3\xbc%"));
	url_text_param(&b, "x[]", STR("1&2=3+4"));
	url_text_param(&b, "y", STR(""));
	assert_string_equal(buf_text(&b), "https://a.example/"
	    "a%2Fb%3Fc%20d~e-f_g.h%C3%BC%25?x%5B%5D=1%262%3D3%2B4&y=");
	buf_free(&b);
}

static void
expect_param(const char *url, const char *name, const char *want)
{
	struct arena a = ARENA_INIT;
	struct str value;
	bool found = url_text_find(str_of(url), name, &a, &value);

	assert_int_equal(found, want != NULL);
	if (found)
		assert_true(str_eq(value, str_of(want)));
	arena_free(&a);
}

static void
parameters_are_found(void **state)
{
	(void)state;
	expect_param("https://a/?min_id=1", "min_id", "1");
	expect_param("https://a/?a=b&min_id=1&min_id=2", "min_id", "1");
	expect_param("https://a/?min_id=1#min_id=2", "min_id", "1");
	expect_param("https://a/?x%5B%5D=a%20b+c%zz", "x[]", "a b c%zz");
	expect_param("?min%5fid=7", "min_id", "7");
	expect_param("https://a/?min_id", "min_id", "");
	expect_param("https://a/?min_id=", "min_id", "");
	expect_param("https://a/?xmin_id=1&min_id2=1", "min_id", NULL);
	expect_param("https://a/min_id=1", "min_id", NULL);
	expect_param("https://a/#?min_id=1", "min_id", NULL);
	expect_param("", "min_id", NULL);
}

static void
expect_link(const char *fields, const char *rel, const char *want)
{
	struct arena a = ARENA_INIT;
	struct http_head head;
	struct buf text = BUF_INIT;

	buf_printf(&text, "HTTP/1.1 200 OK\r\n%s\r\n", fields);
	assert_int_equal(http_parse_head(buf_str(&text), false,
	    HTTP_LIMITS_DEFAULT, &a, &head, NULL), OK);
	struct str target = url_text_link(&head, rel);
	assert_int_equal(target.p != NULL, want != NULL);
	if (want != NULL)
		assert_true(str_eq(target, str_of(want)));
	buf_free(&text);
	arena_free(&a);
}

static void
links_are_found_by_relation(void **state)
{
	(void)state;
	expect_link("Link: <https://a/?x=1>; rel=\"next\", "
	    "<https://a/?y=2>; rel=\"prev\"\r\n", "prev", "https://a/?y=2");
	expect_link("Link: <a,b;c>; title=\"x, y; <z> \\\" rel=prev\" ; "
	    "rel=prev\r\n", "prev", "a,b;c");
	expect_link("link: <a>;rel=\"first PREV\"\r\n", "prev", "a");
	expect_link("Link: <a>; rel=next\r\nLink: <b>; rel=prev\r\n", "prev",
	    "b");
	expect_link("Link: , ,<a>; rel = prev ; x\r\n", "prev", "a");
	expect_link("Link: <>; rel=prev\r\n", "prev", "");
	expect_link("Link: <a>; rel=previous\r\n", "prev", NULL);
	expect_link("Link: <a>; x=prev\r\n", "prev", NULL);
	expect_link("Link: <a>; rel=\"prev\r\n", "prev", NULL);
	expect_link("Link: <a; rel=prev\r\n", "prev", NULL);
	expect_link("Link: a; rel=prev\r\n", "prev", NULL);
	expect_link("Link: <a> rel=prev\r\n", "prev", NULL);
	expect_link("Link: <a>; rel=\"\\\r\n", "prev", NULL);
	expect_link("Location: <a>; rel=prev\r\n", "prev", NULL);
	expect_link("", "prev", NULL);
}

static void
urls_of_the_web_are_told_from_others(void **state)
{
	(void)state;
	assert_true(url_text_is_web(STR("https://a")));
	assert_true(url_text_is_web(STR("HTTP://a/\xc3\xbc")));
	assert_false(url_text_is_web(STR("https://")));
	assert_false(url_text_is_web(STR("https:/a")));
	assert_false(url_text_is_web(STR("ftp://a")));
	assert_false(url_text_is_web(STR("https://a b")));
	assert_false(url_text_is_web(STR("https://a\n")));
	assert_false(url_text_is_web(STR("https://a\xff")));
	assert_false(url_text_is_web(STR("")));
	assert_false(url_text_is_web(STR_NONE));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_are_encoded),
		cmocka_unit_test(parameters_are_found),
		cmocka_unit_test(links_are_found_by_relation),
		cmocka_unit_test(urls_of_the_web_are_told_from_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "engine/parser/suite_test.h"

#include "engine/parser/parse.h"

static struct parser *parser;
static struct arena page_arena = ARENA_INIT;
static struct url page_url;

static int
setup(void **state)
{
	(void)state;
	parser = parser_new();
	return url_parse(STR("http://h.example/d/p"), NULL, &page_arena,
	    &page_url, NULL) == OK ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	parser_free(&parser);
	parser_free(&parser);
	arena_free(&page_arena);
	return 0;
}

static struct parse_output
run(const char *type, struct str body, struct arena *a)
{
	struct parse_input in = { .body = body, .url = &page_url,
		.content_type = str_of(type) };
	struct parse_output out;
	struct why w = WHY_INIT;

	if (parse_document(parser, &in, a, &out, &w) != OK)
		fail_msg("%s", w.text);
	return out;
}

/* What was asked for as one. */
static void
test_sitemap_text(void **state)
{
	struct parse_input in = { .url = &page_url, .sitemap = true,
		.content_type = STR("text/plain; charset=iso-8859-1"),
		.body = STR("http://h.example/1\r\n# no URL\n\n"
		    "http://h.example/\xe9\n") };
	struct arena a = ARENA_INIT;
	struct parse_output o;

	(void)state;
	assert_int_equal(parse_document(parser, &in, &a, &o, NULL), OK);
	assert_int_equal(o.kind, MIME_SITEMAP);
	assert_int_equal(o.links_n, 2);
	assert_int_equal(o.bad_urls, 1);
	assert_int_equal(o.links[0].kind, LINK_PAGE);
	assert_str(o.links[1].url.href, "http://h.example/%C3%A9");
	in.sitemap = false;
	assert_int_equal(parse_document(parser, &in, &a, &o, NULL), OK);
	assert_int_equal(o.kind, MIME_TEXT);
	assert_int_equal(o.links_n, 0);
	arena_free(&a);
}

static void
test_kinds(void **state)
{
	struct arena a = ARENA_INIT;
	struct parse_output o;

	(void)state;
	o = run("text/html; charset=latin1",
	    STR("<title>\xe9</title><a href='\xe9'>a b"), &a);
	assert_int_equal(o.kind, MIME_HTML);
	assert_string_equal(o.charset, "windows-1252");
	assert_str(o.title, "\xc3\xa9");
	assert_str(o.links[0].url.href, "http://h.example/d/%C3%A9");
	assert_int_equal(o.words, 2);

	o = run("text/css", STR("a{b:url(x)} @import 'y'; url(#z)"), &a);
	assert_int_equal(o.kind, MIME_CSS);
	assert_int_equal(o.links_n, 2);
	assert_int_equal(o.links[1].kind, LINK_EMBED);
	assert_str(o.links[1].url.href, "http://h.example/d/y");

	o = run(NULL, STR("<?xml version='1.0'?><urlset><url><loc>/x</loc>"
	    "</url></urlset>"), &a);
	assert_int_equal(o.kind, MIME_SITEMAP);
	assert_int_equal(o.links_n, 1);

	o = run("text/xml", STR("<rss><channel><title>T</title><item><link>/x"
	    "</link></item></channel></rss>"), &a);
	assert_int_equal(o.kind, MIME_FEED);
	assert_str(o.title, "T");
	assert_str(o.links[0].url.href, "http://h.example/x");

	/* In UTF-16 the first look at the bytes sees nothing. */
	o = run("text/xml", STR("\xff\xfe<\0r\0s\0s\0/\0>\0"), &a);
	assert_int_equal(o.kind, MIME_FEED);
	assert_string_equal(o.charset, "UTF-16LE");

	o = run("application/xml", STR("<other><a href='x'/></other>"), &a);
	assert_int_equal(o.kind, MIME_XML);
	assert_int_equal(o.links_n, 0);
	assert_null(o.cut_reason);

	o = run("text/plain", STR("one two http://h/ <a href=x>"), &a);
	assert_int_equal(o.kind, MIME_TEXT);
	assert_int_equal(o.words, 7);
	assert_int_equal(o.links_n, 0);

	o = run("image/png", STR("<a href=x>"), &a);
	assert_int_equal(o.kind, MIME_PNG);
	assert_int_equal(o.links_n, 0);
	assert_null(o.charset);
	o = run(NULL, STR_NONE, &a);
	assert_int_equal(o.links_n, 0);
	arena_free(&a);
}

/* The results must not point into the body. */
static void
test_body_may_go(void **state)
{
	struct arena a = ARENA_INIT;
	const char *types[] = { "text/html", "text/css", "text/xml" };
	const char *bodies[] = {
		"<html lang=xyz><title>xyz</title><a href=xyz>",
		"url(xyz)",
		"<rss><channel><title>xyz</title><link>xyz</link></channel>",
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		size_t n = strlen(bodies[i]);
		char *copy = mem_copy_text(bodies[i]);
		struct parse_output o = run(types[i],
		    (struct str){ copy, n }, &a);
		memset(copy, '!', n);
		mem_free(&copy);
		assert_str(o.links[0].url.href, "http://h.example/d/xyz");
		if (i != 1)
			assert_str(o.title, "xyz");
		if (i == 0)
			assert_str(o.lang, "xyz");
	}
	arena_free(&a);
}

static void
test_css_limit(void **state)
{
	struct arena a = ARENA_INIT;
	struct parse_input in = { .body = STR("url(a)url(b)url(c)"),
		.url = &page_url, .content_type = STR("text/css"),
		.links_max = 2 };
	struct parse_output o;

	(void)state;
	assert_int_equal(parse_document(parser, &in, &a, &o, NULL), OK);
	assert_int_equal(o.links_n, 2);
	assert_string_equal(o.cut_reason, "parse.links_max");
	in.links_max = 3;
	assert_int_equal(parse_document(parser, &in, &a, &o, NULL), OK);
	assert_int_equal(o.links_n, 3);
	assert_null(o.cut_reason);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_sitemap_text),
		cmocka_unit_test(test_body_may_go),
		cmocka_unit_test(test_css_limit),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

/* Pages as documents of web_crawl, and its declaration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/external/external_testing.h"
#include "engine/external/web_document.h"
#include "engine/parser/parse.h"

static struct parser *parser;
static struct external_connector *connector;

static int
setup(void **state)
{
	(void)state;
	parser = parser_new();
	connector = external_connector_builtin(0);
	return connector == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	parser_free(&parser);
	external_connector_free(&connector);
	return 0;
}

static void
show_fault(void *arg, struct str pointer, struct str message)
{
	(void)arg;
	print_error("%.*s %.*s\n", STR_FMT(pointer), STR_FMT(message));
}

/* A document that the schema accepts. */
static struct buf
put(const struct web_document_page *page)
{
	struct buf out = BUF_INIT;
	struct why w = WHY_INIT;

	if (web_document_put(parser, page, &out, &w) != OK)
		fail_msg("%s", w.text);
	yyjson_doc *doc = yyjson_read(out.p, out.n, 0);
	assert_non_null(doc);
	assert_true(external_document_check(connector,
	    yyjson_doc_get_root(doc), 9, show_fault, NULL));
	yyjson_doc_free(doc);
	return out;
}

static void
check(const struct web_document_page *page, const char *expected)
{
	FREED(buf_free) struct buf want = testing_quoted(expected);
	FREED(buf_free) struct buf out = put(page);

	assert_string_equal(buf_text(&out), buf_text(&want));
}

static void
a_page_of_html_has_all_members(void **state)
{
	const struct web_document_page page = {
		.id = STR("http://a.example/x"),
		.url = STR("http://a.example/y/z"), .status = 203,
		.fetched = { 1795766400 * US_PER_S + 999999 },
		.content_type = STR("text/html; charset=latin1"),
		.content_language = STR("en"),
		.body = STR("<html lang=de><title>\xc4 &amp; b</title><nav><a "
		    "href=/n>n</a></nav><p>c<p>\"d\"<a href=../e#f>e</a><a "
		    "href=mailto:x>f</a><img src=i><link rel=canonical "
		    "href=k><meta property=article:published_time "
		    "content=2026-11-20T09:18:16.5+01:00><time itemprop="
		    "dateModified datetime=2026-11-21>") };

	(void)state;
	check(&page, "{'id':'http://a.example/x','url':'http://a.example/y/z',"
	    "'title':'\xc3\x84 & b','text':'c\\u000a\\'d\\'ef','language':'de',"
	    "'links':['http://a.example/n','http://a.example/e'],"
	    "'published':'2026-11-20T08:18:16Z','modified':"
	    "'2026-11-21T00:00:00Z','fetched':'2026-11-27T08:00:00Z','status':"
	    "203}");
}

static void
what_is_not_said_is_null(void **state)
{
	struct web_document_page page = { .id = STR("http://a.example/"),
	    .status = 200, .fetched = { US_PER_S },
	    .content_type = STR("text/plain"), .body = STR("a\r\n<b>") };

	(void)state;
	check(&page, "{'id':'http://a.example/','url':'http://a.example/',"
	    "'title':null,'text':'a\\u000a<b>','language':null,'links':[],"
	    "'published':null,'modified':null,'fetched':"
	    "'1970-01-01T00:00:01Z','status':200}");
	page.content_type = STR("text/html");
	page.content_language = STR(" de-AT , en");
	page.body = STR("<html lang=''><title> </title>");
	check(&page, "{'id':'http://a.example/','url':'http://a.example/',"
	    "'title':null,'text':'','language':'de-AT','links':[],"
	    "'published':null,'modified':null,'fetched':"
	    "'1970-01-01T00:00:01Z','status':200}");
}

static void
other_media_types_have_no_document(void **state)
{
	static const struct { const char *type, *body; } rows[] = {
		{ "image/png", "<p>a" }, { "text/css", "a{}" },
		{ "application/pdf", "%PDF-1.4" },
		{ "application/json", "{}" }, { "", "%PDF-1.4" },
		{ "text/xml", "<a/>" }, { "application/rss+xml", "<rss/>" },
	};
	struct web_document_page page = { .id = STR("http://a.example/"),
	    .status = 200, .fetched = { US_PER_S } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf out = BUF_INIT;
		page.content_type = str_of(rows[i].type);
		page.body = str_of(rows[i].body);
		assert_int_equal(web_document_put(parser, &page, &out, NULL),
		    ERR_ABSENT);
		assert_int_equal(out.n, 0);
	}
	page.id = STR("http://[");
	assert_int_equal(web_document_put(parser, &page, &(struct buf){ NULL,
	    0, 0 }, NULL), ERR_INPUT);
}

/* How many links a page with so many of so many bytes has. */
static size_t
links_of(size_t n, size_t bytes)
{
	static const char host[] = "http://a.example/";
	FREED(buf_free) struct buf body = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		buf_printf(&body, "<a href='/%0*zu'>", (int)(bytes -
		    strlen(host)), i);
	const struct web_document_page page = { .id = STR("http://a.example/"),
	    .status = 200, .fetched = { US_PER_S },
	    .content_type = STR("text/html"), .body = buf_str(&body) };
	FREED(buf_free) struct buf out = put(&page);
	yyjson_doc *doc = yyjson_read(out.p, out.n, 0);
	size_t found = yyjson_arr_size(yyjson_obj_get(yyjson_doc_get_root(doc),
	    "links"));
	yyjson_doc_free(doc);
	return found;
}

static void
links_have_limits(void **state)
{
	size_t few = WEB_DOCUMENT_LINKS_BYTES_MAX / 1024;

	(void)state;
	assert_int_equal(links_of(WEB_DOCUMENT_LINKS_MAX, 24),
	    WEB_DOCUMENT_LINKS_MAX);
	assert_int_equal(links_of(WEB_DOCUMENT_LINKS_MAX + 1, 24),
	    WEB_DOCUMENT_LINKS_MAX);
	assert_int_equal(links_of(few, 1024), few);
	assert_int_equal(links_of(few + 1, 1024), few);
}

static void
a_long_language_of_the_header_is_none(void **state)
{
	char language[PARSE_LANG_BYTES_MAX + 2];
	struct web_document_page page = { .id = STR("http://a.example/"),
	    .status = 200, .fetched = { US_PER_S },
	    .content_type = STR("text/plain") };

	(void)state;
	memset(language, 'x', sizeof(language));
	for (size_t more = 0; more < 2; more++) {
		page.content_language = (struct str){ language,
		    PARSE_LANG_BYTES_MAX + more };
		FREED(buf_free) struct buf out = put(&page);
		assert_int_equal(str_find(buf_str(&out),
		    STR("\"language\":null")) == out.n, more == 0);
	}
}

static void
note_wrong(void *arg, struct str name, struct str message)
{
	(void)name;
	buf_printf(arg, "%.*s;", STR_FMT(message));
}

/* The normal form of parameters, or what is wrong with them. */
static void
check_params(const char *params, const char *expected)
{
	FREED(buf_free) struct buf text = testing_quoted(params);
	FREED(buf_free) struct buf want = testing_quoted(expected);
	FREED(buf_free) struct buf out = BUF_INIT;
	const struct external_params_faults faults = { &out, note_wrong,
		NULL };
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);

	(void)!external_params_check(connector, yyjson_doc_get_root(doc),
	    &faults, &out, NULL);
	yyjson_doc_free(doc);
	assert_string_equal(buf_text(&out), buf_text(&want));
}

static void
web_crawl_is_declared_like_others(void **state)
{
	FREED(buf_free) struct buf form = BUF_INIT, object = BUF_INIT;
	const struct external_object_options options = {
		.endpoint = STR("https://c.example/external/web_crawl") };
	struct why w = WHY_INIT;

	(void)state;
	assert_true(str_eq(external_connector_name(connector),
	    STR("web_crawl")));
	assert_true(str_eq(external_connector_doc_id_field(connector),
	    STR("id")));
	assert_string_equal(external_connector_credential(connector), "none");
	assert_null(external_connector_runs(connector));
	check_params("{'seeds':['http://a.example/'],'depth':'2','include':"
	    "['x$']}", "{'seeds':['http://a.example/'],'scope':'host','depth'"
	    ":2,'pages_max':10000,'include':['x$']}");
	check_params("{'depth':-1,'pages_max':0,'scope':'moon'}",
	    "seeds: it is missing;scope: it is none of the options;depth: it "
	    "is less than 0;pages_max: it is less than 1;");
	external_form_write(connector, &form);
	external_object_write(connector, &options, &object);
	for (size_t i = 0; i < 2; i++) {
		struct buf *b = i == 0 ? &form : &object;
		yyjson_doc *doc = yyjson_read(b->p, b->n, 0);
		assert_non_null(doc);
		yyjson_doc_free(doc);
	}
	assert_int_equal(external_order_make(connector, STR("{}"), &form, &w),
	    ERR_STATE);
}

/* A file that says it is `web_crawl` needs an `api` all the same. */
static void
a_file_is_not_built_in(void **state)
{
	(void)state;
	testing_refused("{'name':'web_crawl','version':1,'title':'T','schema':"
	    "{},'docIdField':'id'}", "api: it is not an object");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_of_html_has_all_members),
		cmocka_unit_test(what_is_not_said_is_null),
		cmocka_unit_test(other_media_types_have_no_document),
		cmocka_unit_test(links_have_limits),
		cmocka_unit_test(a_long_language_of_the_header_is_none),
		cmocka_unit_test(web_crawl_is_declared_like_others),
		cmocka_unit_test(a_file_is_not_built_in),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

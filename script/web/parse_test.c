/*
 * Bodies to documents and texts: encodings, HTML's tree, XML's entities.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "script/web/web_testing.h"

static struct web_testing *web;

static int
set_up(void **state)
{
	(void)state;
	web = web_testing_open(0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	web_testing_close(&web);
	return 0;
}

#define IS(expression, want) web_testing_check(web, expression, want)

static void
load(struct str body, const char *type, bool xml)
{
	assert_true(web_testing_load(web, "$", body, type, xml));
}

static void
check_decoded(struct str body, const char *type, const char *want)
{
	JSValue v = script_text_decode(web->ctx, body, str_of(type));
	const char *s = JS_ToCString(web->ctx, v);

	assert_non_null(s);
	assert_string_equal(s, want);
	JS_FreeCString(web->ctx, s);
	JS_FreeValue(web->ctx, v);
}

static void
test_text(void **state)
{
	(void)state;
	check_decoded(STR("\xef\xbb\xbf" "a\xc3\xa9"), "text/plain", "a\u00e9");
	check_decoded(STR("a\xe9"), "text/plain; charset=latin1", "a\u00e9");
	check_decoded(STR("a\xe9"), "text/plain", "a\u00e9");
	check_decoded(STR("a\xc3\xa9"), "", "a\u00e9");
	check_decoded(STR("\xff\xfe" "a\0b\0"), "text/plain; charset=utf-8",
	    "ab");
	check_decoded(STR("<meta charset=koi8-r>\xc1"), "text/html",
	    "<meta charset=koi8-r>\u0430");
	check_decoded(STR("<meta charset=koi8-r>\xc1"),
	    "text/html; charset=utf-8", "<meta charset=koi8-r>\ufffd");
	check_decoded(STR("<?xml version='1.0' encoding='koi8-r'?>\xc1"),
	    "application/rss+xml",
	    "<?xml version='1.0' encoding='koi8-r'?>\u0430");
	check_decoded(STR("{\"a\":\"\xed\xa0\x80\"}"),
	    "application/json; charset=UTF-8",
	    "{\"a\":\"\ufffd\ufffd\ufffd\"}");
	check_decoded(STR(""), "text/plain", "");
}

static void
test_encodings(void **state)
{
	(void)state;
	load(STR("<p>\x93\xfa\x96\x7b"), "text/html; charset=Shift_JIS",
	    false);
	IS("$('p').text()", "\u65e5\u672c");
	load(STR("<meta http-equiv=content-type content='text/html; "
	    "charset=windows-1251'><p>\xe0"), "text/html", false);
	IS("$('p').text()", "\u0430");
	load(STR("<p>\xff\xfe\xc3"), "text/html; charset=utf-8", false);
	IS("$('p').text()", "\ufffd\ufffd\ufffd");
	load(STR("<?xml version='1.0' encoding='windows-1251'?><a>\xe0</a>"),
	    "text/xml", true);
	IS("$('a').text()", "\u0430");
	load(STR("\xef\xbb\xbf<?xml version='1.0'?><a>x</a>"), "", true);
	IS("$('a').text()", "x");
}

static void
test_html(void **state)
{
	(void)state;
	load(STR(""), "", false);
	IS("$.root.html()", "<html><head></head><body></body></html>");
	load(STR("<!doctype html><title>a&amp;b&lt;</title><p>x&nbsp;y&copy;"
	    "<p title='\"&quot;<'>z<br/>"), "", false);
	IS("$.root.html()", "<!DOCTYPE html><html><head><title>a&amp;b&lt;"
	    "</title></head><body><p>x&nbsp;y\u00a9</p>"
	    "<p title=\"&quot;&quot;<\">z<br></p></body></html>");
	load(STR("<table><tr><td>1<td>2</table><script>if (a<b) '&amp;'"
	    "</script>"), "", false);
	IS("$('td').length + $('tbody').length + $('script').html()",
	    "3if (a<b) '&amp;'");
	IS("$('script').outerHtml()", "<script>if (a<b) '&amp;'</script>");
	load(STR("<b>1<p>2</b>3</p><a href=a>x<a href=b>y"), "", false);
	IS("$('body').html()", "<b>1</b><p><b>2</b>3</p>"
	    "<a href=\"a\">x</a><a href=\"b\">y</a>");
	load(STR("<p a=1 A=2 b>x"), "", false);
	IS("$('p').attr('a') + $('p').attr('b') + '|'", "1|");
	load(STR("<template><div>t<template><i>u</i></template></div>"
	    "</template><p>x"), "", false);
	IS("$('template').length + $('i').text() + $('p').text()", "2ux");
	load(STR("a\0b<p>c\0d"), "", false);
	IS("$('body').text()", "abcd");
}

static void
test_xml(void **state)
{
	(void)state;
	load(STR(" <?xml version='1.0'?><!DOCTYPE r [ <!ENTITY own 'EVIL'>"
	    "<!-- ]> ' --> <!ENTITY ext SYSTEM 'file:///etc/passwd'> ]>"
	    "<r a='&own;&amp;&#65;' b='x'><!-- c -->&own; &ext; &nbsp; &lt;"
	    "&#x42; a & b<![CDATA[&own;<i>]]><?pi data?><e/></r>"),
	    "text/xml", true);
	IS("$('r').attr('a')", "&own;&A");
	IS("$('r').text()", "&own; &ext; &nbsp; <B a & b&own;<i>");
	IS("$('r').html()", "<!-- c -->&amp;own; &amp;ext; &amp;nbsp; &lt;B a "
	    "&amp; b&amp;own;&lt;i&gt;<?pi data?><e/>");
	IS("$('e').outerHtml() + $.root.children().length", "<e/>1");
	/* A billion laughs. */
	load(STR("<!DOCTYPE l [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>"
	    "<!ENTITY % p SYSTEM 'http://h/x'> %p; ]><l>&b;</l>"), "", true);
	IS("$('l').text()", "&b;");
	IS("load('<a>' + '<b>'.repeat(1e5) + 'x' + '</b>'.repeat(1e5) +"
	    "'</a>', true)('b').length", "511");
	IS("load('<a>' + '<b>'.repeat(1e5) + 'x' + '</b>'.repeat(1e5) +"
	    "'<c/></a>', true)('a > c').length", "1");
	IS("load('<p ' + Array.from({ length: 1000 }, (_, i) => 'a' + i +"
	    "'=\"\"').join(' ') + '/>', true)('p').attr('a512')",
	    "undefined");
}

static void
test_malformed_xml(void **state)
{
	(void)state;
	IS("load('<a><b></a>', true)", "SyntaxError: XML, line 1, column 8: "
	    "mismatched tag");
	IS("load('<a>\\n x</b>', true)", "SyntaxError: XML, line 2, column 4: "
	    "mismatched tag");
	IS("load('', true)", "SyntaxError: XML, line 1, column 0: "
	    "no element found");
	IS("load('<a b=1/>', true)", "SyntaxError: XML, line 1, column 5: "
	    "not well-formed (invalid token)");
	IS("load('<!DOCTYPE a [', true)", "SyntaxError: XML, line 1, column "
	    "0: no element found");
	IS("load('<a/><b/>', true)", "SyntaxError: XML, line 1, column 4: "
	    "junk after document element");
}

static void
test_base(void **state)
{
	(void)state;
	load(STR("<a href=x>"), "", false);
	IS("$.base + ' ' + $('a').abs('href')",
	    "http://h.example/dir/page?q http://h.example/dir/x");
	load(STR("<base target=x><base href='//o.example/d/'><base href=/no>"
	    "<a href=x>"), "", false);
	IS("$('a').abs('href') + $.links()", "http://o.example/d/x"
	    "http://o.example/d/x");
	load(STR("<base href='http://['><a href=x>"), "", false);
	IS("$.base", "http://h.example/dir/page?q");
	JSValue v = script_document_new(web->ctx, STR("<a href=x>"), STR(""),
	    STR(""), false);
	JSValue global = JS_GetGlobalObject(web->ctx);
	JS_SetPropertyStr(web->ctx, global, "$", v);
	JS_FreeValue(web->ctx, global);
	IS("$.base + $('a').abs('href') + $.links().length", "undefined0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		CASE(test_text), CASE(test_encodings), CASE(test_html),
		CASE(test_xml), CASE(test_malformed_xml), CASE(test_base),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

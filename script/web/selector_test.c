/*
 * Selectors: what each matches, and what is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/text.h"
#include "script/web/web_testing.h"

static const char page[] =
    "<!DOCTYPE html><html lang=en><body>"
    "<div id=a class='c1 c2' title='Hello World' lang=en-GB>"
    "<p id=p1>one</p><span id=s1>x</span><p id=p2 class=c1>two <b id=b1>B</b>"
    "</p><span id=s2></span><p id=p3> </p><!-- c --></div>"
    "<ul id=u><li id=l1>1<li id=l2 class=k>2<li id=l3>3<li id=l4 class=k>4"
    "<li id=l5 class=k>5</ul>"
    "<form id=f><input id=i1 type=CHECKBOX checked><input id=i2 required>"
    "<input id=i3 disabled placeholder=x><select id=se><optgroup id=og"
    " disabled><option id=o1><option id=o2 selected></select>"
    "<textarea id=t readonly></textarea><fieldset id=fs disabled><legend>"
    "<button id=bt1></button></legend><button id=bt2></button></fieldset>"
    "</form><a id=a1 href=x>l</a><a id=a2>n</a><DIV id=E contenteditable>"
    "</DIV><i id='we:ird.id'></i></body></html>";

static struct web_testing *web;

static int
set_up(void **state)
{
	(void)state;
	web = web_testing_open(0);
	assert_true(web_testing_load(web, "$", str_of(page), "text/html",
	    false));
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	web_testing_close(&web);
	return 0;
}

/* The ids of what a selector finds, in order; "!" and the error's name. */
static char *
ids_of(const char *call, const char *selector)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "try { %s(", call);
	text_json(&b, str_of(selector));
	buf_put_text(&b, ").map((i, e) => e.getAttribute('id') ?? e.tagName)"
	    ".join(' ') } catch (e) { '!' + e.name }");
	char *ids = web_testing_eval(web, buf_text(&b));
	buf_free(&b);
	return ids;
}

struct row {
	const char *selector, *ids;
};

static void
check_rows(const char *call, const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *ids = ids_of(call, rows[i].selector);
		if (strcmp(ids, rows[i].ids) != 0)
			print_message("%s: %s, not %s\n", rows[i].selector,
			    ids, rows[i].ids);
		assert_string_equal(ids, rows[i].ids);
		mem_free(&ids);
	}
}
#define CHECK_ROWS(call, rows) check_rows(call, rows, ARRAY_LEN(rows))

static void
test_simple(void **state)
{
	static const struct row rows[] = {
		{ "#p1", "p1" }, { "P", "p1 p2 p3" }, { ".c1", "a p2" },
		{ "p.c1#p2", "p2" }, { "div.c2.c1", "a" }, { ".c", "" },
		{ "*#b1", "b1" }, { "nothing", "" }, { "p, b", "p1 p2 b1 p3" },
		{ "b , p", "p1 p2 b1 p3" }, { "#we\\:ird\\.id", "we:ird.id" },
		{ "[id='we:ird.id']", "we:ird.id" }, { "*|p", "p1 p2 p3" },
		{ "p/**/.c1", "p2" }, { "#\\70 1", "p1" },
	};

	(void)state;
	CHECK_ROWS("$", rows);
}

static void
test_attributes(void **state)
{
	static const struct row rows[] = {
		{ "[title]", "a" }, { "[TITLE='Hello World']", "a" },
		{ "[title='hello world']", "" },
		{ "[title='hello world' i]", "a" }, { "[title~=World]", "a" },
		{ "[title~='Hello World']", "" }, { "[title^=Hello]", "a" },
		{ "[title^='']", "" }, { "[title$=World]", "a" },
		{ "[title$='']", "" }, { "[title*='lo W']", "a" },
		{ "[title*='']", "" }, { "[lang|=en]", "html a" },
		{ "[lang|=e]", "" }, { "[type=checkbox]", "i1" },
		{ "[type=checkbox s]", "" }, { "p[class][id=p2]", "p2" },
		{ "[class~='']", "" }, { "[title = \"Hello World\"]", "a" },
	};

	(void)state;
	CHECK_ROWS("$", rows);
}

static void
test_combinators(void **state)
{
	static const struct row rows[] = {
		{ "div b", "b1" }, { "body b", "b1" }, { "div > b", "" },
		{ "p > b", "b1" }, { "p + span", "s1 s2" },
		{ "span + p", "p2 p3" }, { "p ~ p", "p2 p3" },
		{ "#p1 ~ span", "s1 s2" }, { "div>p>b", "b1" },
		{ "html body div p b", "b1" }, { "div div b", "" },
		{ "li + li + li", "l3 l4 l5" }, { "li ~ .k + .k", "l5" },
	};

	(void)state;
	CHECK_ROWS("$", rows);
}

static void
test_structure(void **state)
{
	static const struct row rows[] = {
		{ "li:first-child", "l1" }, { "li:last-child", "l5" },
		{ "b:only-child", "b1" }, { "div > :first-of-type", "p1 s1" },
		{ "div > :last-of-type", "s2 p3" }, { "b:only-of-type", "b1" },
		{ "li:nth-child(2)", "l2" },
		{ "li:nth-child(odd)", "l1 l3 l5" },
		{ "li:nth-child(even)", "l2 l4" },
		{ "li:nth-child(2n+3)", "l3 l5" }, { "li:nth-child(-n+2)",
		    "l1 l2" }, { "li:nth-last-child(2)", "l4" },
		{ "li:nth-last-child(-n + 2)", "l4 l5" },
		{ "li:nth-child(2 of .k)", "l4" },
		{ "li:nth-last-child(1 of .k)", "l5" },
		{ "li:nth-child(even of :nth-child(n+2))", "l3 l5" },
		{ "p:nth-of-type(2)", "p2" }, { "p:nth-last-of-type(1)", "p3" },
		{ "span:nth-of-type(n+2)", "s2" }, { ":root", "html" },
		{ "div > :empty", "s2" }, { "div > :blank", "s2 p3" },
		{ "li:nth-child(0)", "" }, { "li:nth-child(-2)", "" },
		{ "li:nth-child(n)", "l1 l2 l3 l4 l5" },
		{ "li:nth-child(4n-1)", "l3" },
	};

	(void)state;
	CHECK_ROWS("$", rows);
}

static void
test_functions(void **state)
{
	static const struct row rows[] = {
		{ "p:not(.c1)", "p1 p3" }, { "p:not(#p1, #p2)", "p3" },
		{ ":is(p, span).c1", "p2" }, { ":is(div, ul) > :is(p, li.k)",
		    "p1 p2 p3 l2 l4 l5" }, { ":where(b)", "b1" },
		{ "div:has(b)", "a" }, { "p:has(b)", "p2" },
		{ "div:has(> b)", "" }, { "p:has(+ span)", "p1 p2" },
		{ "p:has(~ span)", "p1 p2" }, { "ul:has(.k + .k)", "u" },
		{ "div:has(> p:has(> b))", "a" },
		{ "p:not(:has(b))", "p1 p3" }, { "div:has(nothing, b)", "a" },
		{ "span:has(~ p > b)", "s1" },
		{ "p:contains(\"two\")", "p2" },
		{ "p:contains('two B')", "p2" },
		{ "p:contains(two)", "p2" }, { "p:contains(Two)", "" },
		{ "p:contains(two B)", "p2" },
		{ "p:contains(\"two\" i)", "p2" },
		{ "p:contains('')", "p1 p2 p3" },
		{ "div:contains(onextwo)", "a" },
		{ "p:contains('\"')", "" }, { "p:not(:contains(o))", "p3" },
	};

	(void)state;
	CHECK_ROWS("$", rows);
}

static void
test_language(void **state)
{
	static const char body[] =
	    "<html lang=de-Latn-CH-1996><p id=a>x<p id=b lang=en-US>y"
	    "<b id=c>z</b><p id=d lang=''>n<p id=e lang=zh-x-de dir=RTL>"
	    "<i id=f>w</i><u id=g dir=ltr>v</u>";
	static const struct row rows[] = {
		{ ":lang(en) ", "b c" }, { "p:lang('de')", "a" },
		{ "p:lang(\"de-CH\")", "a" }, { "p:lang(\"*-CH\")", "a" },
		{ "p:lang(de-1996)", "a" }, { "p:lang(de-DE)", "" },
		{ "p:lang(en, de)", "a b" }, { "p:lang(\"\")", "d" },
		{ "p:lang(*)", "a b e" }, { "p:lang(zh-de)", "" },
		{ "p:lang(d)", "" }, { ":dir(rtl)", "e f" },
		{ "u:dir( LTR )", "g" }, { "p:not(:lang(de)):not(:dir(rtl))",
		    "b d" },
	};

	(void)state;
	assert_true(web_testing_load(web, "$l", str_of(body), "text/html",
	    false));
	CHECK_ROWS("$l", rows);
	web_testing_check(web, "load('<a xml:lang=\"fr\"><b/></a>', true)"
	    "('b:lang(fr)').length", "1");
}

static void
test_states(void **state)
{
	static const struct row rows[] = {
		{ ":checked", "i1 o2" }, { ":disabled",
		    "i3 og o1 o2 fs bt2" }, { "button:enabled", "bt1" },
		{ ":required", "i2" }, { "input:optional", "i1 i3" },
		{ ":link", "a1" }, { ":any-link", "a1" },
		{ "input:read-write", "i2" }, { "textarea:read-only", "t" },
		{ "div:read-write", "E" }, { ":placeholder-shown", "i3" },
	};

	(void)state;
	CHECK_ROWS("$", rows);
}

static void
test_relative(void **state)
{
	static const struct row rows[] = {
		{ "> p", "p1 p2 p3" }, { ":scope > p", "p1 p2 p3" },
		{ "+ ul", "u" }, { "~ form", "f" }, { "~ ul > li.k",
		    "l2 l4 l5" }, { "p b", "b1" }, { "div b", "" },
		{ "> p, > span", "p1 s1 p2 s2 p3" }, { ":scope b", "b1" },
		{ ":scope + ul > .k", "l2 l4 l5" }, { "body b", "" },
	};

	(void)state;
	CHECK_ROWS("$('#a').find", rows);
}

static void
test_refused(void **state)
{
	static const struct row rows[] = {
		{ "p[", "!SyntaxError" }, { "p(", "!SyntaxError" },
		{ "p >", "!SyntaxError" }, { "> p", "!SyntaxError" },
		{ "p,", "!SyntaxError" }, { ",p", "!SyntaxError" },
		{ "p::before", "!SyntaxError" }, { ":hover", "!SyntaxError" },
		{ "a:active", "!SyntaxError" }, { ":FOCUS", "!SyntaxError" },
		{ ":focus-within", "!SyntaxError" },
		{ ":lexbor-contains(x)", "!SyntaxError" },
		{ ":unknown", "!SyntaxError" }, { ":eq(1)", "!SyntaxError" },
		{ ":lang()", "!SyntaxError" }, { "a || b", "!SyntaxError" },
		{ ":dir(x)", "!SyntaxError" }, { ":lang", "!SyntaxError" },
		{ ":dir()", "!SyntaxError" }, { ":contains()", "!SyntaxError" },
		{ ":is(p, :unknown)", "!SyntaxError" },
		{ ":not()", "!SyntaxError" }, { ":has()", "!SyntaxError" },
		{ ":nth-child(x)", "!SyntaxError" },
		{ "p[a=b", "!SyntaxError" },
		{ ":is(p", "!SyntaxError" }, { "svg|p", "!SyntaxError" },
		{ "..x", "!SyntaxError" }, { "p!", "!SyntaxError" },
		{ "<p>", "!SyntaxError" }, { " ", "!SyntaxError" },
		{ "{}", "!SyntaxError" },
		{ "p:visited", "!SyntaxError" },
	};

	(void)state;
	CHECK_ROWS("$", rows);
}

/* Limits at their edges. */
static void
test_limits(void **state)
{
	(void)state;
	web_testing_check(web, "$('#' + 'x'.repeat(4095)).length", "0");
	web_testing_check(web, "try { $('#' + 'x'.repeat(4096)) }"
	    "catch (e) { e.name + ': ' + e.message }",
	    "SyntaxError: a selector has at most 4096 bytes");
	web_testing_check(web, "const nest = n => ':not('.repeat(n) + 'i' +"
	    "')'.repeat(n); $(nest(32)).length", "1");
	web_testing_check(web, "try { $(nest(33)) } catch (e) { e.name }",
	    "SyntaxError");
	web_testing_check(web, "try { $(nest(681)) } catch (e) { e.name }",
	    "SyntaxError");
	web_testing_check(web, "try { $('x'.repeat(1e6)) }"
	    "catch (e) { e.name }", "SyntaxError");
}

/* Compiled selectors are kept; removing changes what they match. */
static void
test_cache(void **state)
{
	(void)state;
	web_testing_check(web, "let n = 0; for (let i = 0; i < 200; i++)"
	    "n += $('li:nth-child(' + i % 50 + ')').length; n", "20");
	web_testing_check(web, "$('#l1').remove();"
	    "$('li:nth-child(1)').attr('id') + $('li:nth-last-child(4)')"
	    ".attr('id') + $('li:first-child').attr('id')", "l2l2l2");
	web_testing_check(web, "const gone = $('#l3').remove();"
	    "gone.is(':first-child') + ' ' + gone.is('ul > li') + ' ' +"
	    "gone.is(':nth-child(1)') + ' ' + gone.is(':root')",
	    "true false true false");
}

static void
test_xml(void **state)
{
	static const char feed[] =
	    "<?xml version='1.0'?><rss xmlns:dc='http://purl.org/dc/'>"
	    "<Item dc:Id='7' id='x'><dc:title>A</dc:title><Title>B</Title>"
	    "</Item></rss>";

	(void)state;
	assert_true(web_testing_load(web, "$x", str_of(feed), "text/xml",
	    true));
	web_testing_check(web, "$x('item').length + ' ' + $x('Item').length",
	    "0 1");
	web_testing_check(web, "$x('dc\\\\:title').text()", "A");
	web_testing_check(web, "$x('dc|title').text()", "A");
	web_testing_check(web, "$x('*|title').text() + $x('*|Title').text()",
	    "AB");
	web_testing_check(web, "$x('dc|*').length + $x('*|*').length", "5");
	web_testing_check(web, "$x('[dc|Id=\"7\"]').length + ' ' +"
	    "$x('[dc\\\\:Id]').length + $x('[Id]').length", "1 10");
	web_testing_check(web, "$x('#x').attr('dc:Id')", "7");
	web_testing_check(web, "$x('Item').get(0).tagName +"
	    "$x('Title').get(0).tagName", "ItemTitle");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		CASE(test_simple), CASE(test_attributes),
		CASE(test_combinators), CASE(test_structure),
		CASE(test_functions), CASE(test_language),
		CASE(test_states), CASE(test_relative),
		CASE(test_refused), CASE(test_limits), CASE(test_cache),
		CASE(test_xml),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

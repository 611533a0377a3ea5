/*
 * `$`, Sel and El: each method of the contract.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "script/web/api_types.h"
#include "script/web/web_testing.h"

static const char page[] =
    "<!DOCTYPE html><html lang=en><head><title>T</title>"
    "<meta name=Description content=\"A page\">"
    "<meta property=og:title content='OG &amp; T'>"
    "<meta name=description content=second>"
    "<base href=/base/x>"
    "<script type=application/ld+json>{\"@type\":\"A\",\"n\":[1]}</script>"
    "<script type='application/ld+json; charset=utf-8'>[{\"b\":1},2]</script>"
    "<script type=application/ld+json>{broken</script>"
    "</head><body class='a b'>"
    "<div id=one class='x y' data-foo-bar=7><p>first <b>bold</b></p>"
    "<p class=y>second</p><!-- c --><p>third</p></div>"
    "<ul id=list><li>1</li><li class=m>2<ul><li>2a</li></ul></li>"
    "<li>3</li></ul>"
    "<a href=q?x=1 rel=NoFollow>link</a><a href='http://o.example/'>o</a>"
    "<a href=q?x=1>again</a><a href=mailto:x@y>mail</a><a>none</a>"
    "<form><input name=i value=v><input type=checkbox checked name=c>"
    "<select><option>s1</option><option selected value=sv>s2</option></select>"
    "<textarea>area</textarea><button value=bv disabled>B</button>"
    "<fieldset disabled><legend><input id=free></legend><input id=dis>"
    "</fieldset></form>"
    "<noscript><i>no</i></noscript><template><em>tpl</em></template>"
    "<svg viewBox='0 0 1 1'><linearGradient id=lg /></svg>"
    "</body></html>";

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

#define IS(expression, want) web_testing_check(web, expression, want)

static void
test_find(void **state)
{
	(void)state;
	IS("$('p').length", "3");
	IS("$('#one').find('p').length", "3");
	IS("$('#one').find('> p > b').text()", "bold");
	IS("$('div').find('div p').length", "0");
	IS("$('ul').find('li').length", "4");
	IS("$('ul').find('li').map((i, e) => e.textContent).join()",
	    "1,22a,2a,3");
	IS("$('b').find('p').length", "0");
	IS("$('').length + $().length + $(null).length", "0");
	IS("$('p', $('#one')).length", "3");
	IS("$('li', $('#one')).length", "0");
	IS("$($('p').get(1)).text()", "second");
	IS("$($('p')).length", "3");
	IS("$('#one').find($('p')).length", "3");
	IS("$('#list').find($('p')).length", "0");
	IS("$('p').find('~ p').length", "2");
	IS("$('#one').find(':scope > p').length", "3");
	IS("$('html').length + ' ' + $('*').length", "1 44");
	IS("$.querySelector('b').textContent", "bold");
	IS("$.querySelector('nothing')", "null");
	IS("$.querySelectorAll('li').length", "4");
	IS("$.call(null, 'b').text()", "bold");
	IS("typeof $", "function");
}

static void
test_filters(void **state)
{
	(void)state;
	IS("$('p').not('.y').length", "2");
	IS("$('p').not().length", "3");
	IS("$('p').filter('.y').text()", "second");
	IS("$('p').filter((i, e) => i == 2 && e.tagName == 'p').text()",
	    "third");
	IS("$('p').filter(function (i, e) { return this === e }).length", "3");
	IS("$('p').filter($('.y')).length", "1");
	IS("$('p').not($('p.y').get(0)).length", "2");
	IS("$('div, ul').has('b').length", "1");
	IS("$('ul').has('> li > ul').attr('id')", "list");
	IS("$('p').is('.y') + ' ' + $('b').is('.y')", "true false");
	IS("$('b').add('p.y').length", "2");
	IS("$('.m').add('b').map((i, e) => e.tagName).join()", "b,li");
	IS("$('b').add($('b')).length", "1");
	IS("$('p').eq(1).text() + $('p').eq(-1).text() + $('p').eq(9).length",
	    "secondthird0");
	IS("$('p').slice(1).length + ' ' + $('p').slice(-1).text() + ' ' +"
	    "$('p').slice(0, -1).length", "2 third 2");
	IS("$('p').first().text() + $('p').last().text()", "first boldthird");
	IS("$('.none').first().length + $('.none').last().length", "0");
	IS("$('div').hasClass('y') + ' ' + $('div').hasClass('z')",
	    "true false");
	IS("$('.m').index() + ' ' + $('p').index() + ' ' + $('q').index()",
	    "1 0 -1");
}

static void
test_navigation(void **state)
{
	(void)state;
	IS("$('p').parent().attr('id')", "one");
	IS("$('p').parent().length", "1");
	IS("$('p').parent('.z').length", "0");
	IS("$('b').parents().map((i, e) => e.tagName).join()",
	    "p,div,body,html");
	IS("$('b, .m').parents('ul, div').map((i, e) => e.tagName).join()",
	    "ul,div");
	IS("$('b').closest('div').attr('id')", "one");
	IS("$('b').closest('b').length + ' ' + $('b').closest().length",
	    "1 0");
	IS("$('li').closest('ul').length", "2");
	IS("$('#one').children().length", "3");
	IS("$('#one').children('.y').length", "1");
	IS("$('#one').contents().length", "4");
	IS("$('p').first().contents().get(0).textContent", "first ");
	IS("$('.m').siblings().length + ' ' + $('.m').siblings('ul').length",
	    "2 0");
	IS("$('li').siblings().length + ' ' + $('li').eq(1).add($('b'))"
	    ".siblings().map((i, e) => e.textContent).join()", "3 1,3");
	IS("$('p, .m').siblings('p, li').map((i, e) => e.tagName).join()",
	    "p,p,p,li,li");
	IS("$('p').next().length + ' ' + $('p').prev().length", "2 2");
	IS("$('p').next('.y').text() + $('p').prev('.y').text()",
	    "secondsecond");
	IS("$('html').parent().length + ' ' + $('html').parents().length",
	    "0 0");
	IS("$.root.children().length + ' ' + $.root.contents().length", "1 2");
}

static void
test_texts(void **state)
{
	(void)state;
	IS("$('p').text()", "first boldsecondthird");
	IS("$('p').html()", "first <b>bold</b>");
	IS("$('b').outerHtml()", "<b>bold</b>");
	IS("$('.none').text() + $('.none').html() + $('.none').outerHtml() +"
	    "$('.none').val()", "");
	IS("$('#one').contents().get(2).outerHTML", "<!-- c -->");
	IS("$('noscript').text()", "<i>no</i>");
	IS("$('noscript').outerHtml()", "<noscript><i>no</i></noscript>");
	IS("$('template').html()", "<em>tpl</em>");
	IS("$('svg').outerHtml()", "<svg viewBox=\"0 0 1 1\">"
	    "<linearGradient id=\"lg\"></linearGradient></svg>");
	IS("$('lineargradient').length + $('linearGradient').length", "2");
	IS("$('[viewbox]').attr('viewBox')", "0 0 1 1");
	IS("$.root.html().slice(0, 31)", "<!DOCTYPE html><html lang=\"en\">");
	IS("$('input').val() + $('select').val() + $('textarea').val() +"
	    "$('button').val() + $('option').val()", "vsvareabvs1");
	IS("$('[type=checkbox]').val()", "on");
}

static void
test_attributes(void **state)
{
	(void)state;
	IS("$('div').attr('class') + ' ' + $('div').attr('nothing')",
	    "x y undefined");
	IS("$('[type=checkbox]').attr('checked')", "checked");
	IS("$('div').data('fooBar') + ' ' + $('div').data('foo-bar')", "7 7");
	IS("$('div').data('nothing')", "undefined");
	IS("$('a').abs('href')", "http://h.example/base/q?x=1");
	IS("$('a').last().abs('href')", "undefined");
	IS("$('.none').attr('x') + $('.none').abs('x')", "NaN");
	IS("$('a').attr('__proto__')", "undefined");
}

static void
test_iteration(void **state)
{
	(void)state;
	IS("let n = ''; $('p').each((i, e) => { n += i + e.tagName }); n",
	    "0p1p2p");
	IS("n = 0; $('p').each(i => { n++; return i < 1 }); n", "2");
	IS("$('p').each(() => {}).length", "3");
	IS("$('p').map((i, e) => i ? e.textContent : null).get().join('|')",
	    "second|third");
	IS("$('p').map(i => [i, -i]).length", "6");
	IS("Array.isArray($('p').map(i => i))", "true");
	IS("Object.keys($('b').map(i => i)).join()", "0");
	IS("[...$('p')].length", "3");
	IS("n = 0; for (const e of $('p')) { n += e.textContent.length;"
	    "if (n > 12) break } n", "16");
	IS("$('p').toArray().length + $('p').get().length", "6");
	IS("$('p').get(0) === $('p').get(0)", "true");
	IS("$('p').get(-1).textContent + $('p').get(7)", "thirdundefined");
	IS("try { $('p').each(() => { throw new Error('x') }) }"
	    "catch (e) { e.message }", "x");
	IS("try { $('p').each(5) } catch (e) { e.name }", "TypeError");
}

static void
test_remove(void **state)
{
	(void)state;
	IS("$('p').each((i, e) => { $(e).remove() }); $('p').length", "0");
	IS("$('#one').html()", "<!-- c -->");
	IS("$('#one').text()", "");
	IS("const kept = $('li').eq(1); $('#list').remove();"
	    "kept.text() + kept.parents().length", "22a1");
	IS("$('li').length + ' ' + kept.find('li').length", "0 1");
	IS("kept.closest('body').length + ' ' + kept.siblings().length",
	    "0 2");
	IS("$('body').find('li').length + ' ' + $('*').length", "0 34");
	IS("$('body').text().includes('bold')", "false");
	IS("$('form').children(':nth-child(2)').remove().length", "1");
	IS("$('form').children().first().next().get(0).tagName", "select");
	IS("$.root.remove().length", "1");
	IS("$('a').filter(':contains(again)').remove().length + ' ' +"
	    "$('a:contains(\"again\")').length", "1 0");
}

static void
test_elements(void **state)
{
	(void)state;
	IS("const e = $('#one').get(0); e.tagName + e.children.length", "div3");
	IS("e.parentElement.tagName", "body");
	IS("e.parentElement.parentElement.parentElement", "null");
	IS("e.getAttribute('ID') + e.getAttribute('x')", "oneundefined");
	IS("e.querySelector('b').outerHTML", "<b>bold</b>");
	IS("e.querySelectorAll('body p').length", "3");
	IS("e.querySelectorAll(':scope > p').length", "3");
	IS("e.querySelector('b').innerHTML + e.querySelector('i')",
	    "boldnull");
	IS("e.textContent", "first boldsecondthird");
	IS("e.mark = 1; $('#one').get(0).mark", "1");
	IS("try { Object.getPrototypeOf(e).querySelector.call({}, 'a') }"
	    "catch (x) { x.name }", "TypeError");
}

static void
test_facts(void **state)
{
	(void)state;
	IS("$.base", "http://h.example/base/x");
	IS("JSON.stringify($.meta())",
	    "{\"description\":\"A page\",\"og:title\":\"OG & T\"}");
	IS("JSON.stringify($.jsonld())",
	    "[{\"@type\":\"A\",\"n\":[1]},{\"b\":1},2]");
	IS("$.links().join(' ')",
	    "http://h.example/base/q?x=1 http://o.example/");
	IS("$.microdata().length", "0");
}

static void
test_microdata(void **state)
{
	static const char items[] =
	    "<div itemscope itemtype='http://s.example/P http://s.example/Q'"
	    " itemid=id1 itemref='far near'><h1 itemprop='name title'>N</h1>"
	    "<div itemprop=brand itemscope><span itemprop=name>B</span></div>"
	    "<img itemprop=image src=i.png><time itemprop=at datetime=2026>x"
	    "</time><meta itemprop=m content=c></div>"
	    "<p id=far itemprop=far>F</p>"
	    "<div itemscope id=self itemref=self></div>"
	    "<div itemscope><div id=loop itemprop=p itemscope itemref=loop>"
	    "</div></div>";

	(void)state;
	assert_true(web_testing_load(web, "$m", str_of(items), "text/html",
	    false));
	IS("JSON.stringify($m.microdata()[0])",
	    "{\"type\":[\"http://s.example/P\",\"http://s.example/Q\"],"
	    "\"id\":\"http://h.example/dir/id1\",\"properties\":{"
	    "\"name\":[\"N\"],\"title\":[\"N\"],\"brand\":[{\"properties\":"
	    "{\"name\":[\"B\"]}}],\"image\":[\"http://h.example/dir/i.png\"],"
	    "\"at\":[\"2026\"],\"m\":[\"c\"],\"far\":[\"F\"]}}");
	IS("$m.microdata().length", "3");
	IS("JSON.stringify($m.microdata()[2])",
	    "{\"properties\":{\"p\":[{\"properties\":{}}]}}");
}

/* ITEM_DEPTH_MAX is 32, ITEM_REFS_MAX 64. */
static void
test_microdata_limits(void **state)
{
	(void)state;
	IS("const items = n => { let v = load('<div itemscope>' + '<div"
	    " itemprop=p itemscope>'.repeat(n - 1)).microdata()[0], k = 1;"
	    "while (v.properties?.p) { v = v.properties.p[0]; k++ }"
	    "return k + ' ' + JSON.stringify(v) }; items(32)",
	    "32 {\"properties\":{}}");
	IS("items(33)", "33 \"ERROR\"");
	IS("const refs = n => load(Array.from({ length: n }, (_, i) =>"
	    "'<p id=r' + i + ' itemprop=p>x').join('') + '<div itemscope"
	    " itemref=\"' +"
	    "Array.from({ length: n }, (_, i) => 'r' + i).join(' ') + '\">')"
	    ".microdata()[0].properties.p.length; refs(64) + ' ' + refs(65)",
	    "64 64");
}

static void
test_types(void **state)
{
	struct str types = api_types(), want[] = { STR("/*\n * What Argiope"),
	    STR("interface TaskContext {"), STR("interface Dollar extends"),
	    STR("declare class URLSearchParams") };

	(void)state;
	assert_int_equal(str_find(types, want[0]), 0);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_true(str_find(types, want[i]) < types.n);
	assert_true(str_ends(types, STR("void>;\n")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		CASE(test_find), CASE(test_filters), CASE(test_navigation),
		CASE(test_texts), CASE(test_attributes), CASE(test_iteration),
		CASE(test_remove), CASE(test_elements), CASE(test_facts),
		CASE(test_microdata), CASE(test_microdata_limits),
		CASE(test_types),
#undef CASE
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

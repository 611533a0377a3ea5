/* Text and links of posts' HTML. */
#include "engine/connector/item_html.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
texts_without_markup(void **state)
{
	static const struct {
		const char *html, *want;
	} rows[] = {
		{ "", "" }, { "plain", "plain" },
		{ "<p>One<br>two<br />three</p><p>four</p>",
		    "One two three four" },
		{ "<p>  a \n\t b </p>", "a b" },
		{ "1 &lt; 2 &amp;&amp; &quot;x&quot; &#39;y&#x27; &apos;",
		    "1 < 2 && \"x\" 'y' '" },
		{ "&nbsp;a&#160;&#xA0;b\xc2\xa0", "\xc2\xa0" "a\xc2\xa0"
		    "\xc2\xa0" "b\xc2\xa0" },
		{ "&eacute;&hellip;&thetasym;&lang;&yuml;", "\xc3\xa9"
		    "\xe2\x80\xa6\xcf\x91\xe2\x9f\xa8\xc3\xbf" },
		/* Numbers of Windows-1252. */
		{ "&#146;&#x80;&#x81;", "\xe2\x80\x99\xe2\x82\xac\xc2\x81" },
		{ "&#233;&#x96EA;&#128512;", "\xc3\xa9\xe9\x9b\xaa"
		    "\xf0\x9f\x98\x80" },
		{ "a & b &x; &amp &#0; &#xd800; &#1114112; &;",
		    "a & b &x; &amp &#0; &#xd800; &#1114112; &;" },
		/* Parts of a link that are hidden belong to the text. */
		{ "<a href=\"https://e.org/long\"><span class=\"invisible\">"
		    "https://</span><span>e.org/lo</span><span class="
		    "\"invisible\">ng</span></a>", "https://e.org/long" },
		{ "a<span title=\"x > y\">b</span>c", "abc" },
		{ "cut <a href=\"x", "cut" }, { "<", "<" }, { "a<", "a<" },
		{ "<ul><li>x</li><li>y</li></ul>", "x y" },
		{ "a<ul><li>b<pre>c</pre>d<H2>e</H2>f<hr/>g<br/>h",
		    "a b c d e f g h" },
		/* A "<" that opens no tag is text. */
		{ "I <3 you, 1 < 2 <> <-", "I <3 you, 1 < 2 <> <-" },
		{ "a<!-- b > c -->d<!-->e<!doctype f>g<?h?>i</>j</ k>l</",
		    "adegijl</" },
		{ "<!-- a", "" }, { "a<!-", "a" },
		{ "<b title=don't>a</b><b x='>\"'>b</b><b x = \">\">c", "abc" },
		{ "<b x=a=\">b", "b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b = BUF_INIT;
		buf_put_char(&b, '|');
		item_html_put_text(str_of(rows[i].html), &b);
		assert_string_equal(buf_text(&b) + 1, rows[i].want);
		buf_free(&b);
	}
}

static void
links_with_their_classes(void **state)
{
	struct str html = STR("<p><a class=\"u-url mention\" href=\"https://a/"
	    "@x\">@x</a> <A HREF='https://b/?p=1&amp;q=2' rel=nofollow>b</A>"
	    "<a>no</a><abbr href=\"https://no/\">no</abbr><a rel=\"x\" "
	    "href=https://c/>c</a><a href=\"\">no</a><a =x href=\"https://d/\""
	    "><a title=don't\thref = 'https://e/'class=f><a/href=https://g/"
	    "\n> <3 <!-- <a href=no> --><a href=https://h/ href=no>");
	struct buf out = BUF_INIT, href = BUF_INIT;
	struct str classes;

	(void)state;
	while (item_html_take_link(&html, &href, &classes)) {
		buf_printf(&out, "%.*s(%.*s) ", (int)href.n, href.p,
		    STR_FMT(classes));
		buf_clear(&href);
	}
	assert_string_equal(buf_text(&out), "https://a/@x(u-url mention) "
	    "https://b/?p=1&q=2() https://c/() https://d/() https://e/(f) "
	    "https://g/() https://h/() ");
	buf_free(&out);
	buf_free(&href);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_without_markup),
		cmocka_unit_test(links_with_their_classes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

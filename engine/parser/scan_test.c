#include "engine/parser/suite_test.h"

#include "engine/parser/char_ref.h"
#include "engine/parser/scan_testing.h"

/* All forms that this processor runs; the last one is NULL. */
static scan_mask_fn *forms[3] = { scan_mask_portable };

static int
setup(void **state)
{
	(void)state;
	forms[1] = scan_mask_wide();
	if (forms[1] == NULL)
		print_message("no AVX2 here: the portable form alone runs\n");
	return 0;
}

static void
check(struct str page, const char *want)
{
	for (size_t i = 0; forms[i] != NULL; i++) {
		struct scan_log log = { BUF_INIT, 0 };
		struct scan_consumer to = scan_testing_log(&log);
		scan_testing_read(page, forms[i], &to);
		assert_str(buf_str(&log.text), want);
		buf_free(&log.text);
	}
}

/* The classes of each character, wherever it is in a block. */
static void
test_masks(void **state)
{
	const struct {
		const char *text;
		size_t n;
	} members[MASK_CLASSES] = {
		[MASK_TEXT] = { "<&\r", 3 },
		[MASK_NAME] = { "\t\n\f\r /=>", 8 },
		[MASK_VALUE] = { "\"'&\r\0", 5 },
	};
	char block[MASK_BLOCK];
	uint64_t mask[MASK_CLASSES];

	(void)state;
	for (size_t f = 0; forms[f] != NULL; f++)
		for (unsigned c = 0; c < 256; c++)
			for (unsigned at = 0; at < MASK_BLOCK; at++) {
				memset(block, 'x', sizeof(block));
				block[at] = (char)c;
				forms[f](block, mask);
				for (size_t k = 0; k < MASK_CLASSES; k++)
					assert_int_equal(mask[k], memchr(
					    members[k].text, (int)c,
					    members[k].n) == NULL ? 0 :
					    UINT64_C(1) << at);
			}
}

static void
test_texts(void **state)
{
	(void)state;
	check(STR_NONE, "");
	check(STR("a"), "\"a\"\n");
	check(STR("a < b<"), "\"a < b<\"\n");
	check(STR("a</"), "\"a</\"\n");
	check(STR("a</>b</></>"), "\"ab\"\n");
	check(STR("</><p>"), "<p #0\n");
	check(STR("a<!-- <p> -->b<!doctype x>c<?x <y>d</ x>e<![CDATA[f]]>"),
	    "\"a\"\n\"b\"\n\"c\"\n\"d\"\n\"e\"\n");
	check(STR("a\r\nb\rc\r"), "\"a\\x0ab\\x0ac\\x0a\"\n");
	check(STR("a\0b"), "\"a\\x00b\"\n");
	check(STR("1 &lt;2&gt 3&amp;amp;&#33;&#x21&nope;&"),
	    "\"1 <2> 3&amp;!!&nope;&\"\n");
	check(STR("&am</>p;"), "\"&amp;\"\n");
}

static void
test_comments(void **state)
{
	(void)state;
	check(STR("<!-->a"), "\"a\"\n");
	check(STR("<!--->a"), "\"a\"\n");
	check(STR("<!---->a"), "\"a\"\n");
	check(STR("<!---!>a-->b"), "\"b\"\n");
	check(STR("<!--x--!>a"), "\"a\"\n");
	check(STR("<!--x->-- >-->a"), "\"a\"\n");
	check(STR("<!--<!--><b>"), "<b #0\n");
	check(STR("<!-x->a<!>b<!"), "\"a\"\n\"b\"\n");
	check(STR("a<!-- <b>"), "\"a\"\n");
}

static void
test_tags(void **state)
{
	(void)state;
	check(STR("<A></A ><br/><br / ></p x=y/>"),
	    "<a #0\n</a\n<br #0/\n<br #0\n</p\n");
	check(STR("<a href=b HREF=c\tx>"), "<a href=\"b\" #3\n");
	check(STR("<a href = \"b>\"rel='c\r\n\"'/>"),
	    "<a href=\"b>\" rel=\"c\\x0a\"\" #2/\n");
	check(STR("<a href=b/c=\"d'>"), "<a href=\"b/c=\"d'\" #1\n");
	check(STR("<a =href=x href>"), "<a href=\"\" #2\n");
	check(STR("<a href= >"), "<a href=\"\" #1\n");
	check(STR("<a/href/=x>"), "<a href=\"\" #2\n");
	check(STR("<a href=\0x src='\0' lang=&amp&lt;&lt=>"),
	    "<a href=\"\xef\xbf\xbdx\" lang=\"&<&lt=\" "
	    "src=\"\xef\xbf\xbd\" #3\n");
	/* An unfinished tag is dropped, wherever it ends. */
	const char *tag = "<a b href = 'x' src=\"y\" rel=z />";
	for (size_t n = 1; n < strlen(tag); n++)
		check((struct str){ tag, n }, n == 1 ? "\"<\"\n" : "");
	check(str_of(tag),
	    "<a href=\"x\" rel=\"z\" src=\"y\" #4/\n");
}

/* A name with NUL or without lexbor's number is one name all the same. */
static void
test_names(void **state)
{
	struct html_names names;
	struct str x = STR("x\0Y"), y = STR("x\xef\xbf\xbdy");

	(void)state;
	html_names_init(&names);
	assert_int_equal(html_tag_of(&names, x, x.n),
	    html_tag_of(&names, y, y.n));
	assert_int_not_equal(html_tag_of(&names, x, x.n),
	    html_tag_of(&names, STR("xy"), 2));
	assert_int_equal(html_tag_of(&names, STR("UsE"), 3), HTML_TAG_USE);
	assert_int_equal(html_tag_of(&names, STR("blockQuote"), 10),
	    LXB_TAG_BLOCKQUOTE);
	assert_true(html_tag_of(&names, STR("blockquotf"), 10) >=
	    HTML_TAG_OTHER);
	assert_int_equal(html_attr_of(&names, STR("XLink:Href"), 10),
	    ATTR_XLINK_HREF);
	/* Characters that a careless conversion to lower case would change. */
	assert_int_equal(html_attr_of(&names, STR("xlink\x1ahref"), 10),
	    ATTR_COUNT);
	assert_int_equal(html_attr_of(&names, STR("hrefs"), 5), ATTR_COUNT);
	assert_int_equal(html_attr_of(&names, STR("hrefs"), 4), ATTR_COUNT);
	assert_int_equal(html_attr_of(&names, (struct str){ "href=x>y", 4 },
	    8), ATTR_HREF);
}

static void
test_raw_text(void **state)
{
	(void)state;
	check(STR("<title>a<b>&amp;\0</TITLE x=y>c"),
	    "<title #0\n\"a<b>&\xef\xbf\xbd\"\n</title\n\"c\"\n");
	check(STR("<style></styles></style/>a"),
	    "<style #0\n\"</styles>\"\n</style\n\"a\"\n");
	check(STR("<xmp>&amp;\r\n</xmp"), "<xmp #0\n\"&amp;\\x0a</xmp\"\n");
	check(STR("<plaintext>a</plaintext>"),
	    "<plaintext #0\n\"a</plaintext>\"\n");
	check(STR("<textarea></textarea>"), "<textarea #0\n</textarea\n");
	check(STR("<svg><title>a<b></title></svg><title><b>"),
	    "<svg #0\n<title #0\n\"a\"\n<b #0\n</title\n</svg\n"
	    "<title #0\n\"<b>\"\n");
	check(STR("<script></script x"), "<script #0\n");
}

static void
test_scripts(void **state)
{
	(void)state;
	check(STR("<script><!-- <script> </script> </script>a"),
	    "<script #0\n\"<!-- <script> </script> \"\n</script\n\"a\"\n");
	check(STR("<script><!-- <script> --></script>a"),
	    "<script #0\n\"<!-- <script> -->\"\n</script\n\"a\"\n");
	check(STR("<script><!-- <scripts> </script>a"),
	    "<script #0\n\"<!-- <scripts> \"\n</script\n\"a\"\n");
	check(STR("<script><!--><script></script>a"),
	    "<script #0\n\"<!--><script>\"\n</script\n\"a\"\n");
	check(STR("<script><!- <script></script>a"),
	    "<script #0\n\"<!- <script>\"\n</script\n\"a\"\n");
	check(STR("<script><!--<script></script><script/</script>a"),
	    "<script #0\n\"<!--<script></script><script/</script>a\"\n");
}

/* The same tokens wherever the blocks of a page begin. */
static void
test_blocks(void **state)
{
	const char *page = "<a href='x&amp;y' rel=\"a b\">t &lt; u</a>"
	    "<script>'</scr' <a></script><!-- c --><b class=c>two</b>";
	const char *want = "<a href=\"x&y\" rel=\"a b\" #2\n\"t < u\"\n</a\n"
	    "<script #0\n\"'</scr' <a>\"\n</script\n<b #1\n\"two\"\n</b\n";

	(void)state;
	for (size_t at = 0; at < 2 * MASK_BLOCK; at++) {
		struct buf b = BUF_INIT, all = BUF_INIT;
		for (size_t i = 0; i < at; i++)
			buf_put_char(&b, 'x');
		if (at > 0)
			buf_printf(&all, "\"%.*s\"\n", STR_FMT(buf_str(&b)));
		buf_put_text(&b, page);
		buf_put_text(&all, want);
		check(buf_str(&b), buf_text(&all));
		buf_free(&b);
		buf_free(&all);
	}
}

/* Values that grow most when they are decoded still fit into the buffer. */
static void
test_growth(void **state)
{
	struct buf page = BUF_INIT, want = BUF_INIT;

	(void)state;
	buf_put_text(&page, "<a href='");
	buf_put_text(&want, "<a href=\"");
	for (int i = 0; i < 1000; i++) {
		buf_put_text(&page, "&nLt;");
		buf_put_text(&want, "\xe2\x89\xaa\xe2\x83\x92");
	}
	buf_put_text(&page, "' src=");
	buf_put_text(&want, "\" src=\"");
	for (int i = 0; i < 1000; i++) {
		buf_put_char(&page, '\0');
		buf_put_text(&want, "\xef\xbf\xbd");
	}
	buf_put_text(&page, "><xmp>");
	buf_put_text(&want, "\" #2\n<xmp #0\n\"");
	for (int i = 0; i < 1000; i++) {
		buf_put(&page, "\0\r", 2);
		buf_put_text(&want, "\xef\xbf\xbd\\x0a");
	}
	buf_put_text(&want, "\"\n");
	check(buf_str(&page), buf_text(&want));
	buf_free(&page);
	buf_free(&want);
}

static void
test_attrs_limit(void **state)
{
	struct str page = STR("<a href=x b><i c d e><p>");
	struct html_names names;
	struct buf scratch = BUF_INIT;
	struct scan_token t = { .known = 0 };
	struct scan s;

	(void)state;
	html_names_init(&names);
	scan_begin(&s, page, &names, scan_mask_portable, 2, &scratch);
	assert_int_equal(scan_next(&s, &t), SCAN_OPEN);
	assert_int_equal(t.attrs_n, 2);
	assert_int_equal(scan_next(&s, &t), SCAN_CUT);
	t = (struct scan_token){ .known = 0 };
	scan_begin(&s, page, &names, scan_mask_portable, 3, &scratch);
	for (int i = 0; i < 3; i++)
		assert_int_equal(scan_next(&s, &t), SCAN_OPEN);
	assert_int_equal(scan_next(&s, &t), SCAN_END);
	assert_int_equal(scan_next(&s, &t), SCAN_END);
	buf_free(&scratch);
}

static void
check_ref(struct str ref, bool attr, size_t want_n, const char *want)
{
	char out[CHAR_REF_BYTES_MAX];
	size_t n = 0;

	assert_int_equal(char_ref_read(ref, attr, out, &n), want_n);
	if (want_n > 0)
		assert_str(((struct str){ out, n }), want);
}

static void
test_references(void **state)
{
	(void)state;
	check_ref(STR("&"), false, 0, "");
	check_ref(STR("& "), false, 0, "");
	check_ref(STR("&#"), false, 0, "");
	check_ref(STR("&#x"), false, 0, "");
	check_ref(STR("&#xg"), false, 0, "");
	check_ref(STR("&#;"), false, 0, "");
	check_ref(STR("&#65"), false, 4, "A");
	check_ref(STR("&#65;"), false, 5, "A");
	check_ref(STR("&#X1F600;"), false, 9, "\xf0\x9f\x98\x80");
	check_ref(STR("&#128;"), false, 6, "\xe2\x82\xac");
	check_ref(STR("&#0;"), false, 4, "\xef\xbf\xbd");
	check_ref(STR("&#xd800;"), false, 8, "\xef\xbf\xbd");
	check_ref(STR("&#x110000;"), false, 10, "\xef\xbf\xbd");
	check_ref(STR("&#99999999999999999999;"), false, 23, "\xef\xbf\xbd");
	check_ref(STR("&notit;"), false, 4, "\xc2\xac");
	check_ref(STR("&notin;"), false, 7, "\xe2\x88\x89");
	check_ref(STR("&notit;"), true, 0, "");
	check_ref(STR("&not;"), true, 5, "\xc2\xac");
	check_ref(STR("&not="), true, 0, "");
	check_ref(STR("&not "), true, 4, "\xc2\xac");
	check_ref(STR("&not"), true, 4, "\xc2\xac");
	check_ref(STR("&NotEqualTilde;"), false, 15,
	    "\xe2\x89\x82\xcc\xb8");
	check_ref(STR("&Amp;"), false, 0, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_comments),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_raw_text),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_attrs_limit),
		cmocka_unit_test(test_references),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}

/*
 * scan_diff_test -- the scanner against lexbor's tokenizer: the same tags with
 * the same values and the same texts, in the same order, by both forms.
 *
 * lexbor gets each page whole.  No difference is known.
 *
 * usage: scan_diff_test [FILE...]   pages of real sites in place of the tests
 */
#include "engine/parser/suite_test.h"

#include "base/json.h"
#include "engine/parser/html.h"
#include "engine/parser/html_page.h"
#include "engine/parser/scan_testing.h"
#include "tests/rounds.h"

static uint64_t compared;

static void
print_page(const char *what, struct str page)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < page.n; i++)
		buf_printf(&b, page.p[i] >= ' ' && page.p[i] != '\\' ? "%c" :
		    "\\x%02x", (unsigned char)page.p[i]);
	print_message("%s: %s\n", what, buf_text(&b));
	buf_free(&b);
}

/* ---- What a page makes of its tags and texts --------------------------- */

static bool
page_open(void *ctx, const struct scan_token *t)
{
	return html_page_open(ctx, t);
}

static void
page_close(void *ctx, uintptr_t tag)
{
	html_page_close(ctx, tag);
}

static void
page_text(void *ctx, struct str text)
{
	if (html_page_wants_text(ctx))
		html_page_text(ctx, text);
}

static void
log_output(const struct parse_output *o, struct buf *b)
{
	for (size_t i = 0; i < o->links_n; i++)
		buf_printf(b, "%d%d %s\n", (int)o->links[i].kind,
		    o->links[i].nofollow, o->links[i].url.href.p);
	buf_printf(b, "%u %u %d%d%d %u %u %llx %d %lld %lld\n",
	    o->schemes_dropped, o->bad_urls, o->noindex, o->nofollow,
	    o->noarchive, o->words, o->nesting,
	    (unsigned long long)o->simhash, o->text_cut,
	    (long long)o->published.us, (long long)o->modified.us);
	buf_printf(b, "%.*s\n%.*s\n%.*s\n", STR_FMT(o->title),
	    STR_FMT(o->lang), STR_FMT(o->text));
}

/* Links, text and facts, as the program finds them and by lexbor's tokens. */
static void
check_page(struct str page)
{
	static struct html *html;
	struct arena a = ARENA_INIT;
	struct url url;
	struct buf got = BUF_INIT, want = BUF_INIT;
	struct parse_output out = { 0 };
	struct html_page g;
	const struct scan_consumer to = { page_open, page_close, page_text,
		&g };

	if (html == NULL)
		html = html_new();
	assert_int_equal(url_parse(STR("http://h.example/d/p"), NULL, &a, &url,
	    NULL), OK);
	struct parse_input in = { .url = &url, .forms = true,
		.readable = true, .robots_token = STR("argiope"),
		.links_max = SIZE_MAX, .attrs_max = SIZE_MAX };
	html_parse(html, &in, page, &a, &out);
	assert_null(out.cut_reason);
	log_output(&out, &got);
	out = (struct parse_output){ 0 };
	html_page_begin(&g, &in, &out, &a);
	scan_testing_read_lexbor(page, &to);
	html_page_end(&g);
	log_output(&out, &want);
	if (!str_eq(buf_str(&got), buf_str(&want))) {
		print_page("page", page);
		fail_msg("got\n%.*swant\n%.*s", STR_FMT(buf_str(&got)),
		    STR_FMT(buf_str(&want)));
	}
	buf_free(&got);
	buf_free(&want);
	arena_free(&a);
}

static void
check_same(struct str page)
{
	scan_mask_fn *const forms[] = { scan_mask_portable, scan_mask_wide() };
	struct scan_log want = { BUF_INIT, 0 };
	struct scan_consumer to = scan_testing_log(&want);

	scan_testing_read_lexbor(page, &to);
	for (size_t i = 0; i < ARRAY_LEN(forms) && forms[i] != NULL; i++) {
		struct scan_log got = { BUF_INIT, 0 };
		to = scan_testing_log(&got);
		scan_testing_read(page, forms[i], &to);
		if (!str_eq(buf_str(&got.text), buf_str(&want.text))) {
			print_page("page", page);
			fail_msg("got\n%.*swant\n%.*s",
			    STR_FMT(buf_str(&got.text)),
			    STR_FMT(buf_str(&want.text)));
		}
		buf_free(&got.text);
	}
	buf_free(&want.text);
	check_page(page);
	compared++;
}

/* ---- html5lib ---------------------------------------------------------- */

/*
 * A case begins in the state that it names: inside of <title>, <xmp>, <script>
 * and the like.  What follows it shows the state that it ends in.
 */
static void
check_case(yyjson_val *test, struct str input)
{
	struct str last = json_text(yyjson_obj_get(test, "lastStartTag"));
	struct buf b = BUF_INIT;

	check_same(input);
	buf_put_str(&b, input);
	buf_put_text(&b, "<a href=x>t</a>");
	check_same(buf_str(&b));
	buf_clear(&b);
	if (last.n > 0)
		buf_printf(&b, "<%.*s>", STR_FMT(last));
	else
		buf_put_text(&b, "<title>");
	buf_put_str(&b, input);
	buf_put_text(&b, "</title></xmp></script></plaintext><a href=x>");
	check_same(buf_str(&b));
	buf_free(&b);
}

static size_t
check_file(const char *name)
{
	struct arena a = ARENA_INIT;
	struct str text = suite_need(name, &a);
	size_t i, n, cases = 0;
	yyjson_val *test, *tests;

	suite_mend_surrogates(text);
	yyjson_doc *doc = yyjson_read(text.p, text.n, 0);
	assert_non_null(doc);
	tests = yyjson_obj_get(yyjson_doc_get_root(doc), "tests");
	if (tests == NULL)
		tests = yyjson_obj_get(yyjson_doc_get_root(doc),
		    "xmlViolationTests");
	yyjson_arr_foreach(tests, i, n, test) {
		check_case(test, json_text(yyjson_obj_get(test, "input")));
		cases++;
	}
	yyjson_doc_free(doc);
	arena_free(&a);
	return cases;
}

static void
test_html5lib(void **state)
{
	static const char *const names[] = { "contentModelFlags", "domjs",
		"entities", "escapeFlag", "namedEntities", "numericEntities",
		"pendingSpecChanges", "test1", "test2", "test3", "test4",
		"unicodeChars", "unicodeCharsProblematic", "xmlViolation" };
	size_t cases = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[64];
		snprintf(path, sizeof(path), "html5lib/tokenizer/%s.test",
		    names[i]);
		cases += check_file(path);
	}
	print_message("  %zu cases of html5lib\n", cases);
	assert_true(cases > 6000);
}

/* ---- Generated --------------------------------------------------------- */

static uint64_t seed;

static unsigned
draw(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % n;
}

/* Whatever changes the state of a tokenizer, and what nearly does. */
static const struct str parts[] = {
#define PART(text) { text, sizeof(text) - 1 }
	PART("<a href=x>"), PART("</a>"), PART("<a href='"), PART("<p "),
	PART("<b class=\"c\" style="), PART("<img src="), PART("SRCSET = "),
	PART(">"), PART("/>"), PART("<"), PART("</"), PART("</>"), PART("</ "),
	PART("<<"), PART("'"), PART("\""), PART("="), PART(" = "), PART("/"),
	PART("&"), PART("&amp;"), PART("&amp"), PART("&ampx"), PART("&lt="),
	PART("&notit;"), PART("&notin;"), PART("&#"), PART("&#x"),
	PART("&#x80;"), PART("&#0"), PART("&#1114112;"), PART("&#xD800;"),
	PART("&#13;"), PART("&NewLine;"), PART("&CounterClockwiseContour"),
	PART("&NotEqualTilde;"), PART("&eacute"), PART("&nbsp;"), PART(";"),
	PART("\0"), PART("\r"), PART("\n"), PART("\r\n"), PART("\t"),
	PART("\f"), PART(" "), PART("\xff"), PART("\xc3\xa9"), PART("\xe2\x82"),
	PART("<!"), PART("<!-"), PART("<!--"), PART("-->"), PART("--!>"),
	PART("->"), PART("--"), PART("-"), PART("!"), PART("<!-->"),
	PART("<!DOCTYPE html"), PART("<!doctype a PUBLIC \"x"),
	PART("<!doctype a system 'y' z"), PART("<!d"), PART("<?xml"),
	PART("<?_a b?"), PART("<?"), PART("?>"), PART("<![CDATA["),
	PART("]]>"), PART("]"), PART("<script>"), PART("<script"),
	PART("<SCRIPT "), PART("</script>"), PART("</script"),
	PART("</scripts>"), PART("</ScRiPt "), PART("script"),
	PART("<title>"), PART("</title>"), PART("</titlE/"),
	PART("<textarea>"), PART("</textarea>"), PART("<style>"),
	PART("</style>"), PART("<xmp>"), PART("</xmp >"), PART("<iframe>"),
	PART("</iframe>"), PART("<noembed>"), PART("</noembed>"),
	PART("<noframes>"), PART("</noframes>"), PART("<plaintext>"),
	PART("<noscript>"), PART("<svg>"), PART("<svg/>"), PART("</svg>"),
	PART("<math>"), PART("</math>"), PART("<x-y z>"), PART("</x-Y>"),
	PART("<x\0y>"), PART("<use href=u xlink:href=v>"), PART("a"),
	PART("href"), PART("content=\""), PART("text of some words "),
	PART("0123456789012345678901234567890123456789012345678901234567890"),
#undef PART
};

static void
put_part(struct buf *b)
{
	if (draw(40) == 0) {
		buf_put_char(b, (char)draw(256));
		return;
	}
	buf_put_str(b, parts[draw(ARRAY_LEN(parts))]);
}

static void
test_generated(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < ROUNDS(ROUNDS(40000)); i++) {
		seed = i;
		buf_clear(&b);
		for (unsigned n = 1 + draw(24); n > 0; n--)
			put_part(&b);
		check_same(buf_str(&b));
	}
	buf_free(&b);
}

/* Inside of a script: each order of what opens, closes and hides. */
static void
test_scripts(void **state)
{
	static const char *const words[] = { "<!--", "-->", "<script>",
		"</script>", "<script", "</script", ">", "-", "<", "/", "x",
		"--!>" };
	struct buf b = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < ROUNDS(ROUNDS(30000)); i++) {
		seed = i;
		buf_clear(&b);
		buf_put_text(&b, "<script>");
		for (unsigned n = 1 + draw(10); n > 0; n--)
			buf_put_text(&b, words[draw(ARRAY_LEN(words))]);
		buf_put_text(&b, "<a href=x>t");
		check_same(buf_str(&b));
	}
	buf_free(&b);
}

/* All short texts of the characters that matter in and around a tag. */
static void
test_short(void **state)
{
	static const char alphabet[] = "<>/=\"' a!-&\r\0?";
	enum { KINDS = sizeof(alphabet) - 1, LENGTH_MAX = SANITIZED ? 3 : 4 };
	char page[2 + LENGTH_MAX + 1] = "<a";
	size_t total = 1;

	(void)state;
	for (size_t n = 1; n <= LENGTH_MAX; n++) {
		total *= KINDS;
		for (size_t i = 0; i < total; i++) {
			size_t rest = i;
			for (size_t k = 0; k < n; k++, rest /= KINDS)
				page[2 + k] = alphabet[rest % KINDS];
			/* As a text, and as what follows a tag's name. */
			if (n < LENGTH_MAX)
				check_same((struct str){ page + 2, n });
			check_same((struct str){ page, n + 2 });
		}
	}
}

/* A page cut at each byte, and with each byte changed. */
static void
test_damage(void **state)
{
	static const char page[] = "<!DOCTYPE html><html lang=\"de\"><title>a"
	    "&amp;b</title><base href='/b/'><a href=\"x?a=1&amp;b=2\" rel=n>t"
	    "</a><script><!-- <script> --></script><!-- c --><svg><use href=u"
	    " /></svg>\r\n<style>x{y:url(z)}</style>&eacute;<b \xc3\xa9=\0>";
	char text[sizeof(page)];

	(void)state;
	for (size_t at = 0; at < sizeof(page) - 1; at++) {
		check_same((struct str){ page, at });
		for (unsigned c = 0; c < 256;
		    c += ROUNDS_STEP * (1 + draw(9))) {
			memcpy(text, page, sizeof(page));
			text[at] = (char)c;
			check_same((struct str){ text, sizeof(page) - 1 });
		}
	}
}

/* Pages of real sites, by their files. */
static int
check_files(char **names)
{
	for (; *names != NULL; names++) {
		FILE *f = fopen(*names, "rb");
		struct buf b = BUF_INIT;
		if (f == NULL)
			fail_msg("%s cannot be read", *names);
		for (size_t got = 1; got > 0; b.n += got) {
			buf_reserve(&b, 65536);
			got = fread(b.p + b.n, 1, 65536, f);
		}
		fclose(f);
		check_same(buf_str(&b));
		buf_free(&b);
	}
	printf("%llu pages compared\n", (unsigned long long)compared);
	return 0;
}

static int
print_count(void **state)
{
	(void)state;
	print_message("  %llu pages compared\n", (unsigned long long)compared);
	return 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_html5lib),
		cmocka_unit_test(test_generated),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_short),
		cmocka_unit_test(test_damage),
	};

	if (argc > 1)
		return check_files(argv + 1);
	return cmocka_run_group_tests(tests, NULL, print_count);
}

#include "engine/parser/suite_test.h"

#include <time.h>

#include "engine/parser/html.h"
#include "engine/parser/scan_mask.h"

static struct url page_url;
static struct arena page_arena = ARENA_INIT;

static int
setup(void **state)
{
	(void)state;
	return url_parse(STR("http://h.example/d/p.html?q#f"), NULL,
	    &page_arena, &page_url, NULL) == OK ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	arena_free(&page_arena);
	return 0;
}

static struct parse_output
run(const struct parse_input *more, struct str text, struct arena *a)
{
	static struct html *h;
	struct parse_input in = *more;
	struct parse_output out = { 0 };

	/* One parser for all tests: nothing may leak from page to page. */
	if (text.p == NULL) {
		html_free(&h);
		return out;
	}
	if (h == NULL)
		h = html_new();
	in.url = &page_url;
	in.robots_token = STR("argiope");
	html_parse(h, &in, text, a, &out);
	return out;
}

static const char *
link_kind_text(enum link_kind k)
{
	static const char *const text[] = {
#define LINK_TEXT(name, t) t,
		LINK_KINDS(LINK_TEXT)
#undef LINK_TEXT
	};

	return text[k];
}

/* All links as "kind URL" lines, "!" before nofollow ones. */
static struct str
listed(const struct parse_output *o, struct arena *a)
{
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < o->links_n; i++)
		buf_printf(&b, "%s%s %s\n", o->links[i].nofollow ? "!" : "",
		    link_kind_text(o->links[i].kind),
		    o->links[i].url.href.p);
	struct str s = arena_copy(a, buf_str(&b));
	buf_free(&b);
	return s;
}

static void
check(const char *html, const char *want)
{
	struct arena a = ARENA_INIT;
	struct parse_output o = run(&(struct parse_input){ .links_max = 0 },
	    str_of(html), &a);

	assert_str(listed(&o, &a), want);
	assert_null(o.cut_reason);
	arena_free(&a);
}

static void
test_page_links(void **state)
{
	(void)state;
	check("<a href=x>", "page http://h.example/d/x\n");
	check("<A HREF='/x?a=1&amp;b=2'>y</A>",
	    "page http://h.example/x?a=1&b=2\n");
	check("<a href=\" \n../x \">", "page http://h.example/x\n");
	check("<a href=1 href=2>", "page http://h.example/d/1\n");
	check("<a rel='x NoFollow' href=x><a href=x rel=ugc>",
	    "!page http://h.example/d/x\n");
	check("<a rel=nofollow href=x><a href=x>",
	    "page http://h.example/d/x\n");
	check("<area href=/a><frame src=/b><iframe src=/c></iframe>",
	    "page http://h.example/a\npage http://h.example/b\n"
	    "page http://h.example/c\n");
	check("<a href=x#1><a href=x#2><a href=#top><a href=''><a>",
	    "page http://h.example/d/x#1\n");
	check("<a href=mailto:x><a href=javascript:x()><a href='tel:1'>"
	    "<a href='java\nscript:x'><a href='http://['><a href=ftp://h/>",
	    "");
	check("<form action=/f><a href=/x/..>", "page http://h.example/\n");
	check("<link rel=next href=n><link rel='alternate' hreflang=de href=de>"
	    "<link rel=alternate type=application/rss+xml href=f>"
	    "<link rel=canonical href=c><link rel=pingback href=no>",
	    "page http://h.example/d/n\npage http://h.example/d/de\n"
	    "feed http://h.example/d/f\ncanonical http://h.example/d/c\n");
}

static void
test_embeds(void **state)
{
	(void)state;
	check("<img src=a data-src=b srcset='c 1x, d,e 2x,f'>",
	    "embed http://h.example/d/a\nembed http://h.example/d/b\n"
	    "embed http://h.example/d/c\nembed http://h.example/d/d,e\n"
	    "embed http://h.example/d/f\n");
	check("<picture><source srcset=\"a.webp, b.webp 1.5x\"></picture>"
	    "<video src=v poster=p><track src=t></video><audio src=u></audio>",
	    "embed http://h.example/d/a.webp\nembed http://h.example/d/b.webp\n"
	    "embed http://h.example/d/v\nembed http://h.example/d/p\n"
	    "embed http://h.example/d/t\nembed http://h.example/d/u\n");
	check("<script src=a></script><embed src=b><object data=c></object>"
	    "<input type=IMAGE src=d><input src=no><body background=e>"
	    "<td background=f>",
	    "embed http://h.example/d/a\nembed http://h.example/d/b\n"
	    "embed http://h.example/d/c\nembed http://h.example/d/d\n"
	    "embed http://h.example/d/e\nembed http://h.example/d/f\n");
	check("<link rel='shortcut icon' href=a><link rel=stylesheet href=b>"
	    "<link rel=preload href=c><link rel=manifest href=d>"
	    "<link rel='alternate stylesheet' href=e>",
	    "embed http://h.example/d/a\nembed http://h.example/d/b\n"
	    "embed http://h.example/d/c\nembed http://h.example/d/d\n"
	    "embed http://h.example/d/e\n");
	check("<svg><image href=a /><image xlink:href=b /><use href=c#x />"
	    "<use xlink:href=#y /><script href=d></script></svg>"
	    "<img src=data:x,y>",
	    "embed http://h.example/d/a\nembed http://h.example/d/b\n"
	    "embed http://h.example/d/c#x\nembed http://h.example/d/d\n");
	check("<p style='background:url(a)'><style>@import 'b';"
	    "x{y:url( \"c\" )}/*url(no)*/</style>",
	    "embed http://h.example/d/a\nembed http://h.example/d/b\n"
	    "embed http://h.example/d/c\n");
}

static void
test_base_and_refresh(void **state)
{
	(void)state;
	check("<base href=//o.example/z/><base href=/no/><a href=x>",
	    "page http://o.example/z/x\n");
	check("<base href=data:x><a href=x>", "page http://h.example/d/x\n");
	check("<base href=/b/><a href='#x'>", "page http://h.example/b/#x\n");
	check("<meta http-equiv=Refresh content='5; URL = \"x\" y'>",
	    "redirect http://h.example/d/x\n");
	check("<meta http-equiv=refresh content='0;x'>",
	    "redirect http://h.example/d/x\n");
	check("<meta http-equiv=refresh content=5>"
	    "<meta http-equiv=refresh content='x;url=y'>", "");
}

/* What stands in raw text is no markup. */
static void
test_raw_text(void **state)
{
	static const char *const names[] = { "script", "style", "title",
		"textarea", "xmp", "iframe", "noembed", "noframes" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct arena a = ARENA_INIT;
		struct str t = arena_printf(&a, "<%s x=y><a href=no></b></%s>"
		    "<a href=yes>", names[i], names[i]);
		check(t.p, "page http://h.example/d/yes\n");
		arena_free(&a);
	}
	check("<plaintext><a href=no></plaintext><a href=no>", "");
	check("<noscript><a href=x></noscript>", "page http://h.example/d/x\n");
	check("<script><!-- <script> </script> <a href=no> --></script>"
	    "<a href=x>", "page http://h.example/d/x\n");
	check("<!-- <a href=no> --><a href=x>", "page http://h.example/d/x\n");
	/* In SVG these are plain elements, until HTML breaks out. */
	check("<svg><title><a href=x></a></title></svg>"
	    "<title><a href=no></title>", "page http://h.example/d/x\n");
	check("<svg><style><a href=x></svg>", "page http://h.example/d/x\n");
	check("<svg><p><script><a href=no></script>", "");
	check("<svg/><script><a href=no></script>", "");
	check("<svg><foreignObject><script><a href=no></script>"
	    "</foreignObject><title><a href=x></title></svg>",
	    "page http://h.example/d/x\n");
}

static void
test_facts(void **state)
{
	struct arena a = ARENA_INIT;
	struct parse_input in = { .forms = true };
	struct parse_output o;

	(void)state;
	o = run(&in, STR("<html lang=de><title> A &amp;\n <b> \xe4 </title>"
	    "<title>no</title><meta name=Robots content='NoIndex, x'>"
	    "<form action=/f></form><form method=post action=/g>"
	    "one two <b>three</b><script>not four</script>"), &a);
	assert_str(o.title, "A & <b> \xef\xbf\xbd");
	assert_str(o.lang, "de");
	assert_true(o.noindex && !o.nofollow && !o.noarchive);
	assert_int_equal(o.words, 3);
	assert_int_not_equal(o.simhash, 0);
	assert_str(listed(&o, &a), "page http://h.example/f\n");
	o = run(&in, STR("<svg><title>no</title></svg><title></title><title>"
	    "late</title><meta name=argiope content=none>"
	    "<meta name=other content=noarchive>"), &a);
	assert_str(o.title, "");
	assert_true(o.noindex && o.nofollow && !o.noarchive);
	o = run(&in, STR("<a href=mailto:x><a href=data:x><a href='http://['>"),
	    &a);
	assert_int_equal(o.schemes_dropped, 2);
	assert_int_equal(o.bad_urls, 1);
	arena_free(&a);
}

static void
test_title_limit(void **state)
{
	struct arena a = ARENA_INIT;
	struct parse_input in = { .forms = false };
	struct buf b = BUF_INIT;

	(void)state;
	buf_put_text(&b, "<title>a");
	for (int i = 0; i < 300; i++)
		buf_put_text(&b, "\xc3\xa9");
	buf_put_text(&b, "</title>");
	struct parse_output o = run(&in, buf_str(&b), &a);
	assert_int_equal(o.title.n, 499);  /* the next one would be 501 */
	assert_int_equal((unsigned char)o.title.p[498], 0xa9);
	buf_free(&b);
	arena_free(&a);
}

static void
test_links_limit(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < PARSE_LINKS_MAX + 1; i++)
		buf_printf(&b, "<a href=%u>", i);
	struct parse_output o = run(&(struct parse_input){ .forms = false },
	    buf_str(&b), &a);
	assert_int_equal(o.links_n, PARSE_LINKS_MAX);
	assert_string_equal(o.cut_reason, "parse.links_max");
	o = run(&(struct parse_input){ .links_max = PARSE_LINKS_MAX + 1 },
	    buf_str(&b), &a);
	assert_int_equal(o.links_n, PARSE_LINKS_MAX + 1);
	assert_null(o.cut_reason);
	buf_free(&b);
	arena_free(&a);
}

static int64_t
thread_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t fake_ns;

/* Each look at the clock costs 100 ms. */
static int64_t
fake_cpu(void)
{
	return fake_ns += 100 * INT64_C(1000000);
}

static struct parse_output
run_timed(const struct parse_input *in, struct buf *b, const char *what)
{
	struct arena a = ARENA_INIT;
	int64_t t = thread_cpu();
	struct parse_output o = run(in, buf_str(b), &a);

	t = thread_cpu() - t;
	print_message("  %s: %zu bytes in %.2f ms, %zu links, cut: %s\n",
	    what, b->n, (double)t / 1e6, o.links_n,
	    o.cut_reason == NULL ? "no" : o.cut_reason);
	/* Ten times what it takes with sanitizers. */
	assert_true(t < INT64_C(3000000000));
	buf_clear(b);
	arena_free(&a);
	return o;
}

static void
test_hostile(void **state)
{
	struct parse_input in = { .cpu_ns = thread_cpu };
	struct parse_input loose = { .attrs_max = 1u << 20 };
	struct buf b = BUF_INIT;
	struct parse_output o;

	(void)state;
	buf_put_text(&b, "<a ");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, "attr%06d=x ", i);
	buf_put_text(&b, "href=x><a href=y>");
	struct buf copy = BUF_INIT;
	buf_put_str(&copy, buf_str(&b));
	o = run_timed(&in, &b, "20,000 attributes");
	assert_string_equal(o.cut_reason, "parse.attrs_max");
	o = run_timed(&loose, &copy, "20,000 attributes, allowed");
	assert_int_equal(o.links_n, 2);
	buf_free(&copy);

	for (int i = 0; i < 50000; i++)
		buf_put_text(&b, "<div>");
	buf_put_text(&b, "<a href=x>");
	o = run_timed(&in, &b, "50,000 open <div>");
	assert_int_equal(o.nesting, 50001);
	assert_int_equal(o.links_n, 1);

	for (int i = 0; i < 30000; i++)
		buf_printf(&b, "<x%d y%d>", i, i);
	run_timed(&in, &b, "30,000 names");
	for (int i = 0; i < 300000; i++)
		buf_put_char(&b, i % 3 == 0 ? '<' : '\0');
	run_timed(&in, &b, "NUL and <");
	for (int i = 0; i < 300000; i++)
		buf_put_char(&b, '&');
	run_timed(&in, &b, "ampersands");
	buf_put_text(&b, "<a href='");
	for (int i = 0; i < 1000000; i++)
		buf_put_char(&b, 'x');
	run_timed(&in, &b, "a value of 1 MB");
	buf_put_text(&b, "<style>");
	for (int i = 0; i < 100000; i++)
		buf_put_text(&b, "url(/*'");
	buf_put_text(&b, "</style><img srcset='");
	for (int i = 0; i < 100000; i++)
		buf_put_text(&b, "(,(");
	buf_put_text(&b, "'>");
	run_timed(&in, &b, "style and srcset");
	buf_free(&b);
}

static void
test_budgets(void **state)
{
	struct buf b = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct parse_output o;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_put_text(&b, "<p>x");
	buf_put_text(&b, "<a href=x>");
	fake_ns = 0;
	o = run(&(struct parse_input){ .cpu_ns = fake_cpu }, buf_str(&b), &a);
	assert_string_equal(o.cut_reason, "parse.cpu_ms_max");
	assert_int_equal(o.links_n, 0);
	o = run(&(struct parse_input){ .cpu_ns = fake_cpu,
	    .cpu_ms_max = 3600000 }, buf_str(&b), &a);
	assert_null(o.cut_reason);
	assert_int_equal(o.links_n, 1);
	assert_int_equal(o.nesting, 1);

	struct parse_input deep = { .nesting_max = 3 };
	o = run(&deep, STR("<div><b><i></i><u><a href=x>"), &a);
	assert_string_equal(o.cut_reason, "parse.nesting_max");
	o = run(&deep, STR("<div><b><a href=x></a><br></b>"), &a);
	assert_null(o.cut_reason);
	assert_int_equal(o.nesting, 3);

	struct parse_input few = { .attrs_max = 1 };
	buf_clear(&b);
	buf_put_text(&b, "<a href=x><i");
	for (int i = 0; i < 4000; i++)
		buf_put_text(&b, " a");
	buf_put_text(&b, ">");
	o = run(&few, buf_str(&b), &a);
	assert_string_equal(o.cut_reason, "parse.attrs_max");
	assert_int_equal(o.links_n, 1);
	buf_free(&b);
	arena_free(&a);
}

/* Where the scanner's blocks begin must not show. */
static void
test_blocks(void **state)
{
	const char *page = "<a href='x&amp;y' rel=nofollow><!-- c --><script>"
	    "'</scr' <a></script><title>T &lt; U</title><style>a{b:url(c)}"
	    "</style><b>two \xc3\xa9 words";
	struct arena a = ARENA_INIT;
	struct parse_input in = { .forms = false };
	struct parse_output first = run(&in, str_of(page), &a), o;
	struct str links = listed(&first, &a);

	(void)state;
	assert_str(links, "!page http://h.example/d/x&y\n"
	    "embed http://h.example/d/c\n");
	for (size_t at = 0; at < strlen(page); at++) {
		struct buf b = BUF_INIT;
		for (size_t i = 0; i <= at % MASK_BLOCK; i++)
			buf_put_char(&b, ' ');
		buf_put_text(&b, page);
		o = run(&in, buf_str(&b), &a);
		assert_str(listed(&o, &a), links.p);
		assert_str(o.title, "T < U");
		assert_int_equal(o.words, first.words);
		assert_int_equal(o.simhash, first.simhash);
		buf_free(&b);
	}
	arena_free(&a);
}

/* Every byte of a page changed or missing: no crash, and the rest is found. */
static void
test_damage(void **state)
{
	static const char page[] = "<html><base href=/b/><a href=\"x\">t</a>"
	    "<svg><use href=u /></svg><img srcset=\"a 1x\"><title>t</title>";
	struct arena a = ARENA_INIT;
	struct parse_input in = { .forms = true };
	char text[sizeof(page)];

	(void)state;
	for (size_t at = 0; at < sizeof(page) - 1; at++) {
		for (unsigned c = 0; c < 256; c += 3) {
			memcpy(text, page, sizeof(page));
			text[at] = (char)c;
			run(&in, (struct str){ text, sizeof(page) - 1 }, &a);
		}
		run(&in, (struct str){ page, at }, &a);
		arena_reset(&a);
	}
	run(&in, STR_NONE, &a);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_page_links),
		cmocka_unit_test(test_embeds),
		cmocka_unit_test(test_base_and_refresh),
		cmocka_unit_test(test_raw_text),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_title_limit),
		cmocka_unit_test(test_links_limit),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_budgets),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

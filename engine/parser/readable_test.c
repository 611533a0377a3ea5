/* Small pages, and the text that people read on them. */
#include "engine/parser/suite_test.h"

#include "engine/parser/parse.h"
#include "engine/parser/readable.h"

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
	arena_free(&page_arena);
	return 0;
}

static struct parse_output
read_page(const char *type, struct str body, size_t bytes_max, struct arena *a)
{
	struct parse_input in = { .body = body, .url = &page_url,
		.content_type = str_of(type), .readable = true,
		.text_bytes_max = bytes_max };
	struct parse_output out;
	struct why w = WHY_INIT;

	if (parse_document(parser, &in, a, &out, &w) != OK)
		fail_msg("%s", w.text);
	return out;
}

static void
check(const char *html, const char *text)
{
	struct arena a = ARENA_INIT;
	struct parse_output o = read_page("text/html", str_of(html), 0, &a);

	if (!str_eq(o.text, str_of(text)))
		fail_msg("%s\nis \"%.*s\"\nnot \"%s\"", html, STR_FMT(o.text),
		    text);
	assert_false(o.text_cut);
	arena_free(&a);
}

static void
blocks_are_lines_and_white_space_collapses(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ " a \n\t b\f c ", "a b c" },
		{ "<p>a<p>b</p>c<div>d</div>e", "a\nb\nc\nd\ne" },
		{ "<h1>a</h1>\n\n<p> b <b> c</b>d </p>", "a\nb cd" },
		{ "a<b> b</b> <i>c </i>d", "a b c d" },
		{ "a<br>b<br/>c</br>d", "a\nb\nc\nd" },
		{ "<ul><li>a<li>b<ul><li>c</ul></ul>d", "a\nb\nc\nd" },
		{ "<dl><dt>a<dd>b<dt>c</dl>", "a\nb\nc" },
		{ "<table><caption>t<tr><th>a<td>b<tr><td>c</td><td>d</table>",
		    "t\na b\nc d" },
		{ "a<hr>b<img src=x alt=no>c<wbr>d", "a\nbcd" },
		{ "a&amp;b&nbsp;c&#x20ac;", "a&b\xc2\xa0" "c\xe2\x82\xac" },
		{ "a<!-- no -->b<?no?>c", "abc" },
		{ "x<pre>\n a\n\n  b\n</pre>c", "x\n a\n\n  b\nc" },
		{ "<pre>a<b>\n</b>b</pre>", "a\nb" },
		{ "<xmp>a <b></xmp>c", "a <b>\nc" },
		{ "a<custom-x> b</custom-x>c", "a bc" },
		{ "a\x01\x7f" "b", "ab" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i][0], rows[i][1]);
}

static void
what_surrounds_the_text_is_left_out(void **state)
{
	static const char *const rows[][2] = {
		{ "<title>no</title>a<script>no</script><style>no</style>b",
		    "ab" },
		{ "a<nav>no<ul><li>no</ul></nav>b", "a\nb" },
		{ "<header><h1>no</h1></header><main>a</main><footer>no"
		    "</footer>", "a" },
		{ "<article><header>a</header><aside>b</aside><footer>c"
		    "</footer></article><aside>no</aside>", "a\nb\nc" },
		{ "<section><header>a</header><nav>no</nav></section>", "a" },
		{ "<main><header role=banner>no</header>a</main>", "a" },
		{ "<div role=navigation>no</div><div role='Search form'>no"
		    "</div><div role=dialog>no</div>a", "a" },
		{ "<div role=main><header>a</header></div>", "a" },
		{ "<aside role=note>a</aside><nav role=list>b</nav>",
		    "a\nb" },
		{ "<script role=note>no</script>a", "a" },
		{ "<template><p>no</template>a<noscript><p>no</noscript>b",
		    "ab" },
		{ "<select><option>no<option>no</select>a<textarea>no"
		    "</textarea><button>b</button>", "ab" },
		{ "<svg><title>no</title><text>no</text></svg>a"
		    "<video>no</video><canvas>no</canvas><object>no</object>",
		    "a" },
		{ "<svg><text>no<p>a", "a" },
		{ "<svg/>a", "a" },
		{ "<ruby>a<rp>(<rt>b<rp>)</ruby>", "ab" },
		{ "<iframe>no</iframe><noframes>no</noframes><noembed>no"
		    "</noembed>a", "a" },
		{ "<dialog open>no</dialog><search>no</search>a", "a" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i][0], rows[i][1]);
}

static void
what_is_hidden_is_left_out(void **state)
{
	static const char *const rows[][2] = {
		{ "<p hidden>no<p>a", "a" },
		{ "<p hidden=until-found>a", "a" },
		{ "<div hidden>no<p>no</div>a", "a" },
		{ "<span aria-hidden=true>no</span>a<i aria-hidden=false>b</i>",
		    "ab" },
		{ "<i style='color:red; Display : NONE !important'>no</i>a",
		    "a" },
		{ "<i style='display:none;display:block'>a</i>", "a" },
		{ "<i style='visibility:hidden'>no</i><i style=display>a</i>",
		    "a" },
		{ "<i style='xdisplay:none'>a</i>", "a" },
		/* Scripts show these. */
		{ "<html hidden><body style='display:none'>a", "a" },
		/* End tags that are missing, and those of other elements. */
		{ "<div><nav>no</div>a", "a" },
		{ "<nav>no</b>no</i></nav>a", "a" },
		{ "<b><nav>no</b>no</nav>a", "a" },
		{ "<table><tr><td hidden>no<td>a<tr hidden><td>no<tr><td>b"
		    "</table>", "a\nb" },
		{ "<table><tr><td><nav>no</div>no</table>a", "a" },
		{ "<li hidden>no<li>a", "a" },
		{ "<dt hidden>no<dd>a", "a" },
		{ "<p hidden><button><div>no</div></button>no<p>a", "a" },
		{ "<nav>no", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i][0], rows[i][1]);
}

static void
plain_text_keeps_its_lines(void **state)
{
	struct arena a = ARENA_INIT;
	struct parse_output o;

	(void)state;
	o = read_page("text/plain; charset=latin1",
	    STR("\r\n a <b>\r\n\r\n\t\xe9\rb\x1b\f\n"), 0, &a);
	assert_int_equal(o.kind, MIME_TEXT);
	assert_str(o.text, "a <b>\n\n\t\xc3\xa9\nb");
	o = read_page("text/plain", STR("a\xc3"), 0, &a);
	assert_str(o.text, "a\xc3\x83");
	o = read_page("text/css", STR("a{b:c}"), 0, &a);
	assert_int_equal(o.text.n, 0);
	arena_free(&a);
}

static void
check_dates(const char *html, const char *published, const char *modified)
{
	struct arena a = ARENA_INIT;
	struct parse_output o = read_page("text/html", str_of(html), 0, &a);
	struct wall want[2] = { { 0 }, { 0 } };

	assert_true(*published == '\0' || wall_from_iso(str_of(published),
	    &want[0]));
	assert_true(*modified == '\0' || wall_from_iso(str_of(modified),
	    &want[1]));
	if (o.published.us != want[0].us || o.modified.us != want[1].us)
		fail_msg("%s: %lld %lld", html, (long long)o.published.us,
		    (long long)o.modified.us);
	arena_free(&a);
}

static void
dates_are_those_that_the_page_states(void **state)
{
	static const char *const rows[][3] = {
		{ "a", "", "" },
		{ "<meta property=article:published_time content='2026-01-02T"
		    "03:04:05+01:00'><meta name=article:modified_time "
		    "content=2026-02-03>", "2026-01-02T02:04:05Z",
		    "2026-02-03T00:00:00Z" },
		{ "<time itemprop='x datePublished' datetime=2026-01-02>",
		    "2026-01-02T00:00:00Z", "" },
		{ "<span itemprop='dateModified datePublished' content="
		    "2026-01-02>", "2026-01-02T00:00:00Z",
		    "2026-01-02T00:00:00Z" },
		{ "<time itemprop=datePublished datetime=yesterday><time "
		    "itemprop=datePublished datetime=2026-01-03><time "
		    "itemprop=datePublished datetime=2026-01-04>",
		    "2026-01-03T00:00:00Z", "" },
		{ "<time datetime=2026-01-02>2026</time>", "", "" },
		{ "<script type='application/ld+json'>{\"datePublished\":"
		    "\"2026-01-02\",\"dateModified\":\"2026-01-03\"}</script>",
		    "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z" },
		{ "<script type=application/ld+json>[1,{\"a\":1},{"
		    "\"datePublished\":\"2026-01-02\"}]</script>",
		    "2026-01-02T00:00:00Z", "" },
		{ "<script type=application/LD+JSON>{\"@graph\":[{},{"
		    "\"datePublished\":\"2026-01-02\"}]}</script>",
		    "2026-01-02T00:00:00Z", "" },
		{ "<script>{\"datePublished\":\"2026-01-02\"}</script>"
		    "<script type=application/ld+json>{\"datePublished\":"
		    "</script>", "", "" },
		/* <meta> before JSON-LD before microdata, wherever they are. */
		{ "<time itemprop=datePublished datetime=2026-01-01><script "
		    "type=application/ld+json>{\"datePublished\":"
		    "\"2026-01-02\",\"dateModified\":\"2026-01-05\"}</script>"
		    "<meta property=article:published_time content="
		    "2026-01-03><time itemprop=dateModified datetime="
		    "2026-01-04>", "2026-01-03T00:00:00Z",
		    "2026-01-05T00:00:00Z" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check_dates(rows[i][0], rows[i][1], rows[i][2]);
}

static void
a_long_text_is_cut_between_two_characters(void **state)
{
	struct arena a = ARENA_INIT;
	struct str page = STR("<p>a\xc3\xa9<p>b");
	struct parse_output o;

	(void)state;
	o = read_page("text/html; charset=utf-8", page, 5, &a);
	assert_str(o.text, "a\xc3\xa9\nb");
	assert_false(o.text_cut);
	o = read_page("text/html; charset=utf-8", page, 4, &a);
	assert_str(o.text, "a\xc3\xa9");
	assert_true(o.text_cut);
	o = read_page("text/html; charset=utf-8", page, 2, &a);
	assert_str(o.text, "a");
	assert_true(o.text_cut);
	o = read_page("text/plain", STR("abc"), 3, &a);
	assert_false(o.text_cut);
	o = read_page("text/plain", STR("abcd"), 3, &a);
	assert_str(o.text, "abc");
	assert_true(o.text_cut);
	arena_free(&a);
}

static void
a_page_has_at_most_the_default_bytes_of_text(void **state)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct parse_output o;

	(void)state;
	memset(buf_grow(&b, PARSE_TEXT_BYTES_MAX), 'x', PARSE_TEXT_BYTES_MAX);
	o = read_page("text/html", buf_str(&b), 0, &a);
	assert_int_equal(o.text.n, PARSE_TEXT_BYTES_MAX);
	assert_false(o.text_cut);
	buf_put_char(&b, 'x');
	o = read_page("text/html", buf_str(&b), 0, &a);
	assert_int_equal(o.text.n, PARSE_TEXT_BYTES_MAX);
	assert_true(o.text_cut);
	arena_free(&a);
}

/* The text of a page with so many <b> around a hidden element. */
static struct str
text_below(unsigned depth, struct arena *a)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	for (unsigned i = 0; i < depth; i++)
		buf_put_text(&b, "<b>");
	buf_put_text(&b, "<i hidden>no</i>a");
	for (unsigned i = 0; i < depth; i++)
		buf_put_text(&b, "</b>");
	buf_put_text(&b, "<p>b");
	return read_page("text/html", buf_str(&b), 0, a).text;
}

static void
elements_may_be_nested_deeply(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	assert_str(text_below(READABLE_DEPTH_MAX - 1, &a), "a\nb");
	assert_str(text_below(READABLE_DEPTH_MAX, &a), "a\nb");
	assert_str(text_below(3 * READABLE_DEPTH_MAX, &a), "a\nb");
	arena_free(&a);
}

/* So <i> ends, and <u> inside it is not hidden. */
static void
a_deeper_element_replaces_the_innermost(void **state)
{
	struct arena a = ARENA_INIT;

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		FREED(buf_free) struct buf b = BUF_INIT;
		for (unsigned i = 2; i < READABLE_DEPTH_MAX + more; i++)
			buf_put_text(&b, "<b>");
		buf_put_text(&b, "<i hidden><u>a</u>");
		assert_str(read_page("text/html", buf_str(&b), 0, &a).text,
		    more ? "a" : "");
	}
	arena_free(&a);
}

static void
json_beyond_its_limit_is_not_read(void **state)
{
	struct arena a = ARENA_INIT;
	struct str json = STR("{\"datePublished\":\"2026-01-02\"}");

	(void)state;
	for (unsigned more = 0; more < 2; more++) {
		FREED(buf_free) struct buf b = BUF_INIT;
		buf_put_text(&b, "<script type=application/ld+json>");
		for (size_t i = json.n; i < READABLE_JSON_BYTES_MAX + more;
		    i++)
			buf_put_char(&b, ' ');
		buf_put_str(&b, json);
		buf_put_text(&b, "</script>");
		assert_int_equal(read_page("text/html", buf_str(&b), 0,
		    &a).published.us == 0, more);
	}
	arena_free(&a);
}

static void
a_page_that_is_not_read_for_its_text_has_none(void **state)
{
	struct arena a = ARENA_INIT;
	struct parse_input in = { .body = STR("<p>a<time itemprop="
	    "datePublished datetime=2026-01-02>"), .url = &page_url };
	struct parse_output out;

	(void)state;
	assert_int_equal(parse_document(parser, &in, &a, &out, NULL), OK);
	assert_int_equal(out.kind, MIME_HTML);
	assert_int_equal(out.text.n, 0);
	assert_int_equal(out.published.us, 0);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_lines_and_white_space_collapses),
		cmocka_unit_test(what_surrounds_the_text_is_left_out),
		cmocka_unit_test(what_is_hidden_is_left_out),
		cmocka_unit_test(plain_text_keeps_its_lines),
		cmocka_unit_test(dates_are_those_that_the_page_states),
		cmocka_unit_test(a_long_text_is_cut_between_two_characters),
		cmocka_unit_test(a_page_has_at_most_the_default_bytes_of_text),
		cmocka_unit_test(elements_may_be_nested_deeply),
		cmocka_unit_test(a_deeper_element_replaces_the_innermost),
		cmocka_unit_test(json_beyond_its_limit_is_not_read),
		cmocka_unit_test(a_page_that_is_not_read_for_its_text_has_none),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

#include "engine/parser/suite_test.h"

#include <zlib.h>

#include "engine/parser/sitemap.h"

#define CC "crawler-commons/src/test/resources/"

static struct url
page(struct arena *a)
{
	struct url u;

	assert_int_equal(url_parse(STR("http://h.example/sitemap.xml"), NULL,
	    a, &u, NULL), OK);
	return u;
}

static size_t
count(const struct sitemap *s, enum link_kind k)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->links[i].kind == k;
	return n;
}

/* What each file of crawler-commons holds, by its own tests or by counting. */
static const struct row {
	const char *file;
	enum sitemap_kind kind;
	size_t pages, embeds, sitemaps;
} rows[] = {
	{ CC "sitemaps/atom.xml", SITEMAP_ATOM, 3, 0, 0 },
	{ CC "sitemaps/sitemap.badns.xml", SITEMAP_URLS, 2, 0, 0 },
	{ CC "sitemaps/sitemap.index.xml", SITEMAP_INDEX, 0, 0, 15 },
	{ CC "sitemaps/sitemap.ns.xml", SITEMAP_URLS, 2, 0, 0 },
	{ CC "sitemaps/extension/hebdenbridgetimes-articles-sitemap.xml",
	    SITEMAP_URLS, 74, 78, 0 },
	{ CC "sitemaps/extension/pagemaps-sitemap.xml", SITEMAP_URLS, 2, 0,
	    0 },
	{ CC "sitemaps/extension/shinpaideshou-news-sitemap.xml",
	    SITEMAP_URLS, 3, 0, 0 },
	{ CC "sitemaps/extension/sitemap-images.xml", SITEMAP_URLS, 1, 2, 0 },
	{ CC "sitemaps/extension/sitemap-links.xml", SITEMAP_URLS, 3, 0, 0 },
	{ CC "sitemaps/extension/sitemap-mobile.xml", SITEMAP_URLS, 3, 0, 0 },
	{ CC "sitemaps/extension/sitemap-news.xml", SITEMAP_URLS, 2, 0, 0 },
	{ CC "sitemaps/extension/sitemap-videos-tvshow.xml", SITEMAP_URLS, 1,
	    0, 0 },
	{ CC "sitemaps/extension/sitemap-videos.xml", SITEMAP_URLS, 3, 0, 0 },
	{ CC "rss/feed.rss", SITEMAP_RSS, 5, 0, 0 },
	{ CC "rss/xmlRss_pubDate.xml", SITEMAP_RSS, 8, 0, 0 },
};

static void
test_suite(void **state)
{
	struct arena a = ARENA_INIT;
	struct url u = page(&a);
	size_t good = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct sitemap s;
		const struct row *r = &rows[i];
		struct str body = suite_need(r->file, &a);
		sitemap_parse(body, STR_NONE, &u, 0, &a, &s);
		bool ok = s.kind == r->kind && s.cut_reason == NULL &&
		    count(&s, LINK_PAGE) == r->pages &&
		    count(&s, LINK_EMBED) == r->embeds &&
		    count(&s, LINK_SITEMAP) == r->sitemaps;
		good += ok;
		if (!ok)
			print_message("  %s: kind %d, %zu pages, %zu embeds, "
			    "%zu sitemaps, %s\n", r->file, (int)s.kind,
			    count(&s, LINK_PAGE), count(&s, LINK_EMBED),
			    count(&s, LINK_SITEMAP),
			    s.cut_reason != NULL ? s.cut_reason : "whole");
	}
	print_message("conformance: sitemaps and feeds of crawler-commons: "
	    "%zu of %zu\n", good, ARRAY_LEN(rows));
	arena_free(&a);
	assert_int_equal(good, ARRAY_LEN(rows));
}

static void
check_text(const char *file, bool gz, size_t pages)
{
	struct arena a = ARENA_INIT;
	struct url u = page(&a);
	struct str body = suite_need(file, &a);
	struct buf plain = BUF_INIT;
	struct sitemap s;

	if (gz) {
		assert_int_equal(sitemap_gunzip(body, SITEMAP_BYTES_MAX,
		    &plain, NULL), OK);
		body = buf_str(&plain);
	}
	sitemap_parse_text(body, &u, 0, &a, &s);
	assert_int_equal(s.n, pages);
	assert_int_equal(s.kind, SITEMAP_TEXT);
	assert_int_equal(s.bad_urls, 0);
	buf_free(&plain);
	arena_free(&a);
}

static void
test_text(void **state)
{
	(void)state;
	check_text(CC "sitemaps/sitemap.txt", false, 2);
	check_text(CC "sitemaps/sitemap-with-bom.txt", false, 2);
	check_text(CC "sitemaps/sitemap.txt.gz", true, 5);
}

static void
test_type(void **state)
{
	(void)state;
	assert_str(sitemap_type(STR(" \r\nHTTPS://h/")), "text/plain");
	assert_str(sitemap_type(STR("<urlset>")), "application/xml");
	assert_str(sitemap_type(STR("")), "application/xml");
}

static void
test_gz_suite(void **state)
{
	struct arena a = ARENA_INIT;
	struct url u = page(&a);
	struct str body = suite_need(CC "sitemaps/xmlSitemap.gz", &a);
	struct buf plain = BUF_INIT;
	struct sitemap s;

	(void)state;
	assert_int_equal(sitemap_gunzip(body, SITEMAP_BYTES_MAX, &plain,
	    NULL), OK);
	sitemap_parse(buf_str(&plain), STR_NONE, &u, 0, &a, &s);
	print_message("conformance: xmlSitemap.gz: %zu URLs\n", s.n);
	assert_int_equal(s.kind, SITEMAP_URLS);
	assert_true(s.n > 0);
	buf_free(&plain);
	arena_free(&a);
}

static void
test_details(void **state)
{
	struct arena a = ARENA_INIT;
	struct url u = page(&a);
	struct sitemap s;
	char iso[WALL_ISO_MAX];

	(void)state;
	sitemap_parse(STR(" <?xml version='1.0' encoding='iso-8859-1'?><urlset>"
	    "<url><loc><![CDATA[/a?b&c]]></loc><lastmod>2026-11-20T10:00:00"
	    "+01:00</lastmod><priority>0.8</priority></url>"
	    "<url><loc> /\xe9&nbsp; </loc></url><url><loc>ftp://h/</loc></url>"
	    "<url><loc>/a?b&amp;c</loc></url></urlset>"), STR_NONE, &u, 0, &a,
	    &s);
	assert_null(s.cut_reason);
	assert_int_equal(s.n, 2);
	assert_str(s.links[0].url.href, "http://h.example/a?b&c");
	assert_str(s.links[1].url.href, "http://h.example/%C3%A9");
	assert_int_equal(s.notes[0].priority, 80);
	assert_true(s.notes[0].dated);
	wall_to_iso(s.notes[0].changed, iso);
	assert_memory_equal(iso, "2026-11-20T09:00:00", 19);
	assert_int_equal(s.notes[1].priority, 50);
	assert_false(s.notes[1].dated);
	assert_int_equal(s.schemes_dropped, 1);

	/* What stands before a fault counts. */
	sitemap_parse(STR("<urlset><url><loc>/a</loc></url><url></urlset>"),
	    STR_NONE, &u, 0, &a, &s);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.cut_reason, "malformed");
	sitemap_parse(STR("<html><url><loc>/a</loc></url></html>"), STR_NONE,
	    &u, 0, &a, &s);
	assert_int_equal(s.kind, SITEMAP_NONE);
	assert_int_equal(s.n, 0);

	sitemap_parse(STR("<rss><channel><title>T</title><link>/</link><item>"
	    "<guid>http://g/</guid><enclosure url='/e.mp3'/></item><item>"
	    "<guid isPermaLink='false'>urn:no</guid></item><item>"
	    "<link>/i</link><guid>http://no/</guid></item></channel></rss>"),
	    STR_NONE, &u, 0, &a, &s);
	assert_int_equal(s.n, 4);
	assert_str(s.title, "T");
	assert_str(s.links[1].url.href, "http://h.example/e.mp3");
	assert_str(s.links[2].url.href, "http://g/");
	assert_str(s.links[3].url.href, "http://h.example/i");
	arena_free(&a);
}

static void
test_limits(void **state)
{
	struct arena a = ARENA_INIT;
	struct url u = page(&a);
	struct buf b = BUF_INIT;
	struct sitemap s;

	(void)state;
	buf_put_text(&b, "<urlset>");
	for (int i = 0; i < 50001; i++)
		buf_printf(&b, "<url><loc>http://h/%d</loc></url>", i);
	sitemap_parse(buf_str(&b), STR_NONE, &u, 0, &a, &s);
	assert_int_equal(s.n, SITEMAP_URLS_MAX);
	assert_string_equal(s.cut_reason, "sitemap.urls_max");
	arena_reset(&a);
	u = page(&a);

	buf_clear(&b);
	buf_put_text(&b, "<urlset><url><loc>/x</loc></url>");
	for (unsigned i = 0; i < SITEMAP_NESTING_MAX - 1; i++)
		buf_put_text(&b, "<a>");
	sitemap_parse(buf_str(&b), STR_NONE, &u, 0, &a, &s);
	assert_string_equal(s.cut_reason, "malformed");
	buf_put_text(&b, "<a>");
	sitemap_parse(buf_str(&b), STR_NONE, &u, 0, &a, &s);
	assert_string_equal(s.cut_reason, "sitemap.nesting_max");
	assert_int_equal(s.n, 1);

	/* A million laughs. */
	sitemap_parse(STR("<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaaaaaaaaaaa'>"
	    "<!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>"
	    "<!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'>"
	    "<!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;'>"
	    "<!ENTITY e '&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;'>]>"
	    "<urlset><url><loc>/x</loc></url>&e;&e;&e;&e;&e;</urlset>"),
	    STR_NONE, &u, 0, &a, &s);
	assert_string_equal(s.cut_reason, "malformed");
	/* Nothing is read from outside. */
	sitemap_parse(STR("<!DOCTYPE urlset [<!ENTITY x SYSTEM "
	    "'file:///etc/passwd'>]><urlset><url><loc>/a&x;b</loc></url>"
	    "</urlset>"), STR_NONE, &u, 0, &a, &s);
	assert_int_equal(s.n, 1);
	assert_str(s.links[0].url.path, "/ab");

	/* Every element another name: expat keeps them all, up to a limit. */
	buf_clear(&b);
	buf_put_text(&b, "<urlset>");
	for (int i = 0; i < 1500000; i++)
		buf_printf(&b, "<x%d/>", i);
	sitemap_parse(buf_str(&b), STR_NONE, &u, 0, &a, &s);
	assert_string_equal(s.cut_reason, "sitemap.parser_bytes_max");
	buf_free(&b);
	arena_free(&a);
}

static void
test_bytes_limit(void **state)
{
	struct arena a = ARENA_INIT;
	struct url u = page(&a);
	struct sitemap s;
	char *p = mem_new(SITEMAP_BYTES_MAX + 1);

	(void)state;
	memset(p, ' ', SITEMAP_BYTES_MAX + 1);
	memcpy(p, "<urlset>", 8);
	memcpy(p + SITEMAP_BYTES_MAX - 9, "</urlset>", 9);
	sitemap_parse((struct str){ p, SITEMAP_BYTES_MAX }, STR_NONE, &u, 0,
	    &a, &s);
	assert_null(s.cut_reason);
	sitemap_parse((struct str){ p, SITEMAP_BYTES_MAX + 1 }, STR_NONE, &u,
	    0, &a, &s);
	assert_string_equal(s.cut_reason, "sitemap.bytes_max");
	mem_free(&p);
	arena_free(&a);
}

static struct buf
gzipped(size_t n)
{
	struct buf b = BUF_INIT;
	z_stream z = { .zalloc = NULL };
	char *zeros = mem_new(n + 1);

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 8,
	    Z_DEFAULT_STRATEGY), Z_OK);
	buf_reserve(&b, deflateBound(&z, n));
	z.next_in = (Bytef *)zeros;
	z.avail_in = (uInt)n;
	z.next_out = (Bytef *)b.p;
	z.avail_out = (uInt)b.cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	b.n = z.total_out;
	deflateEnd(&z);
	mem_free(&zeros);
	return b;
}

static void
test_gunzip(void **state)
{
	struct buf gz = gzipped(1000), out = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(sitemap_gunzip(buf_str(&gz), 1000, &out, &w), OK);
	assert_int_equal(out.n, 1000);
	assert_int_equal(sitemap_gunzip(buf_str(&gz), 999, &out, &w), ERR_FULL);
	assert_int_equal(out.n, 999);
	for (size_t n = 0; n < gz.n; n++)
		assert_int_equal(sitemap_gunzip(str_cut(buf_str(&gz), 0, n),
		    1000, &out, NULL), ERR_INPUT);
	/* Two members; and rubbish behind. */
	struct buf two = BUF_INIT;
	buf_put_str(&two, buf_str(&gz));
	buf_put_str(&two, buf_str(&gz));
	assert_int_equal(sitemap_gunzip(buf_str(&two), 5000, &out, NULL), OK);
	assert_int_equal(out.n, 2000);
	buf_put_text(&two, "rubbish rubbish");
	assert_int_equal(sitemap_gunzip(buf_str(&two), 5000, &out, NULL), OK);
	assert_int_equal(out.n, 2000);
	assert_int_equal(sitemap_gunzip(STR("plain text"), 10, &out, NULL),
	    ERR_INPUT);
	buf_free(&two);
	buf_free(&gz);

	/* 60 MB in 60 KB: stopped at the limit. */
	gz = gzipped(60u << 20);
	assert_int_equal(sitemap_gunzip(buf_str(&gz), SITEMAP_BYTES_MAX, &out,
	    NULL), ERR_FULL);
	assert_true(out.cap < 3u * SITEMAP_BYTES_MAX);
	buf_free(&gz);
	buf_free(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_suite),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_type),
		cmocka_unit_test(test_gz_suite),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_bytes_limit),
		cmocka_unit_test(test_gunzip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

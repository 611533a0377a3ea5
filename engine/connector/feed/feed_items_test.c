/* Entries of feeds in all formats, and the cells of their table. */
#include "engine/connector/feed/feed_items.h"
#include "engine/connector/items_testing.h"

#define FEED "https://f.example/feed"

/* Items live during the call: what is to be compared is gathered there. */
struct gathering {
	struct buf out;
	const char *columns;         /* names, blanks between */
};

static enum err
gather(void *arg, const struct item *item, struct why *w)
{
	struct gathering *g = arg;
	struct testing_items t = { .list = { *item }, .n = 1 };
	struct str rest = str_of(g->columns), name;

	(void)w;
	if (item->kind == ITEM_BROKEN) {
		buf_put_text(&g->out, "(broken)\n");
		return OK;
	}
	while (str_split(&rest, ' ', &name)) {
		struct str copy = arena_copy(&t.arena, name);
		buf_printf(&g->out, "%s|", testing_cell(&t, 0, copy.p));
	}
	buf_put_char(&g->out, '\n');
	arena_free(&t.arena);
	return OK;
}

/* The cells of all entries, as lines. */
static void
check_feed(const char *text, const char *columns, enum err err,
    const char *want)
{
	struct arena a = ARENA_INIT;
	struct item_text t = { STR(FEED), str_of(text), { 0 } };
	struct gathering g = { .columns = columns };

	assert_int_equal(feed_items.each(&feed_items, &t, &a, gather, &g,
	    NULL), err);
	assert_string_equal(buf_text(&g.out), want);
	buf_free(&g.out);
	arena_free(&a);
}

static void
answers_are_recognised(void **state)
{
	struct str uri = STR(FEED);

	(void)state;
	assert_true(feed_items.recognises(uri, STR("application/rss+xml")));
	assert_true(feed_items.recognises(uri, STR("application/atom+xml")));
	assert_true(feed_items.recognises(uri, STR("application/feed+json")));
	assert_false(feed_items.recognises(uri, STR("text/xml")));
	assert_true(feed_items.recognises_named(uri, STR("text/xml")));
	assert_true(feed_items.recognises_named(uri,
	    STR("application/rss+xml")));
	assert_false(feed_items.recognises_named(uri, STR("text/html")));
}

static void
rss_2(void **state)
{
	(void)state;
	check_feed("<?xml version=\"1.0\"?><rss version=\"2.0\" xmlns:dc="
	    "\"http://purl.org/dc/elements/1.1/\" xmlns:content="
	    "\"http://purl.org/rss/1.0/modules/content/\"><channel><title>F"
	    "</title><link>https://f/</link><language>de</language><item>"
	    "<title>A\n&amp; B</title><link>https://f/1</link><guid>g1</guid>"
	    "<guid>again</guid><pubDate>Wed, 02 Oct 2002 13:00:00 GMT"
	    "</pubDate><dc:creator>Ann</dc:creator><description>&lt;b&gt;s"
	    "</description><content:encoded><![CDATA[<p>c</p>]]>"
	    "</content:encoded><category> x </category><category>y z"
	    "</category><category/><enclosure url=\"https://f/a.mp3\"/>"
	    "</item><item><guid>https://f/2</guid></item><item><guid "
	    "isPermaLink=\"false\">g3</guid></item><item><link>https://f/4"
	    "</link></item><item><title>none</title></item></channel></rss>",
	    "entry_id url title author published summary content categories "
	    "enclosures language feed_url", OK,
	    "g1|https://f/1|A & B|Ann|2002-10-02 13:00:00+00:00|<b>s|"
	    "<p>c</p>|x, y z|https://f/a.mp3|de|" FEED "|\n"
	    "https://f/2|https://f/2|(null)|(null)|(null)|(null)|(null)|||de|"
	    FEED "|\n"
	    "g3|(null)|(null)|(null)|(null)|(null)|(null)|||de|" FEED "|\n"
	    "https://f/4|https://f/4|(null)|(null)|(null)|(null)|(null)|||de|"
	    FEED "|\n(broken)\n");
}

static void
rss_1(void **state)
{
	(void)state;
	check_feed("<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-"
	    "syntax-ns#\" xmlns=\"http://purl.org/rss/1.0/\" xmlns:dc="
	    "\"http://purl.org/dc/elements/1.1/\"><channel/><item rdf:about="
	    "\"u\"><title>t</title><link>https://f/1</link><dc:date>"
	    "2003-01-02T03:04:05+01:00</dc:date><dc:subject>s</dc:subject>"
	    "</item></rdf:RDF>", "entry_id title published categories", OK,
	    "https://f/1|t|2003-01-02 03:04:05+01:00|s|\n");
}

static void
atom(void **state)
{
	(void)state;
	check_feed("<feed xmlns=\"http://www.w3.org/2005/Atom\" xml:lang="
	    "\"en\"><title>F</title><author><name>all</name></author><entry>"
	    "<id>i1</id><title type=\"html\">&lt;i&gt;t</title><link rel="
	    "\"self\" href=\"no\"/><link href=\"https://f/1\"/><link rel="
	    "\"enclosure\" href=\"https://f/e\"/><author><name>Bob</name>"
	    "<uri>u</uri></author><updated>2003-12-13T18:30:02Z</updated>"
	    "<category term=\"x\"/><content type=\"xhtml\"><div xmlns="
	    "\"http://www.w3.org/1999/xhtml\">a <b class=\"&quot;\">b &amp;"
	    "</b><br/></div></content></entry><entry xml:lang=\"fr\"><id>i2"
	    "</id><published>no date</published></entry></feed>",
	    "entry_id url title author published updated content categories "
	    "enclosures language", OK,
	    "i1|https://f/1|<i>t|Bob|(null)|2003-12-13 18:30:02+00:00|"
	    "a <b class=\"&quot;\">b &amp;</b><br />|x|https://f/e|en|\n"
	    "i2|(null)|(null)|(null)|no date|(null)|(null)|||fr|\n");
}

static void
json_feed(void **state)
{
	(void)state;
	check_feed("{\"version\":\"https://jsonfeed.org/version/1.1\","
	    "\"language\":\"en\",\"authors\":[{\"name\":\"all\"}],\"items\":["
	    "{\"id\":7,\"url\":\"https://f/1\",\"title\":\"t\",\"content_text"
	    "\":\"c\",\"date_published\":\"2020-01-02T03:04:05Z\",\"tags\":"
	    "[\"a\",\"b\"],\"attachments\":[{\"url\":\"https://f/e\"}]},"
	    "{\"url\":\"https://f/2\",\"author\":{\"name\":\"Eve\"}},{}]}",
	    "entry_id url title author published content categories "
	    "enclosures language", OK,
	    "7|https://f/1|t|all|2020-01-02 03:04:05+00:00|c|a, b|"
	    "https://f/e|en|\n"
	    "https://f/2|https://f/2|(null)|Eve|(null)|(null)|||en|\n"
	    "(broken)\n");
}

static void
what_is_malformed_is_read_up_to_there(void **state)
{
	(void)state;
	check_feed("<rss><channel><item><guid>1</guid></item><item><guid>2"
	    "</guid></item><item><guid>3</gu", "entry_id", ERR_INPUT,
	    "1|\n2|\n");
	check_feed("<html><body>not here</body></html>", "entry_id",
	    ERR_INPUT, "");
	check_feed("{\"items\":[{\"id\":1}]}", "entry_id", ERR_INPUT, "");
	check_feed("plain", "entry_id", ERR_INPUT, "");
}

/* A few hundred bytes that mean gigabytes. */
static void
entities_do_not_grow_without_end(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	buf_put_text(&b, "<!DOCTYPE rss [<!ENTITY a0 \"aaaaaaaaaa\">");
	for (int i = 1; i < 10; i++) {
		buf_printf(&b, "<!ENTITY a%d \"", i);
		for (int k = 0; k < 10; k++)
			buf_printf(&b, "&a%d;", i - 1);
		buf_put_text(&b, "\">");
	}
	buf_put_text(&b, "]><rss><channel><item><guid>1</guid></item><item>"
	    "<guid>&a9;</guid></item></channel></rss>");
	check_feed(buf_text(&b), "entry_id", ERR_INPUT, "1|\n");
	buf_free(&b);
}

static enum err
stop_there(void *arg, const struct item *item, struct why *w)
{
	(void)item;
	(*(int *)arg)++;
	return why(w, ERR_CLOSED, "enough");
}

static void
an_error_ends_a_feed(void **state)
{
	static const char *const texts[] = {
		"<rss><channel><item><guid>1</guid></item><item><guid>2"
		    "</guid></item></channel></rss>",
		"{\"version\":\"https://jsonfeed.org/version/1\",\"items\":"
		    "[{\"id\":\"1\"},{\"id\":\"2\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct arena a = ARENA_INIT;
		struct item_text t = { STR(FEED), str_of(texts[i]), { 0 } };
		int calls = 0;
		assert_int_equal(feed_items.each(&feed_items, &t, &a,
		    stop_there, &calls, NULL), ERR_CLOSED);
		assert_int_equal(calls, 1);
		arena_free(&a);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_recognised),
		cmocka_unit_test(rss_2),
		cmocka_unit_test(rss_1),
		cmocka_unit_test(atom),
		cmocka_unit_test(json_feed),
		cmocka_unit_test(what_is_malformed_is_read_up_to_there),
		cmocka_unit_test(entities_do_not_grow_without_end),
		cmocka_unit_test(an_error_ends_a_feed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

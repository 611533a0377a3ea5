/* Posts of Mastodon: answers, events, and the cells of their table. */
#include "engine/connector/items_testing.h"
#include "engine/connector/mastodon/mastodon_items.h"

#define STATUSES "https://m.example/api/v1/accounts/5/statuses?limit=40"
#define STREAM "https://m.example/api/v1/streaming/public"

static bool
knows(const struct connector_items *items, const char *uri)
{
	return items->recognises(str_of(uri), STR("application/json"));
}

static void
answers_are_recognised(void **state)
{
	(void)state;
	assert_true(knows(&mastodon_items, STATUSES));
	assert_true(knows(&mastodon_items,
	    "https://m.example/api/v1/timelines/tag/x?min_id=1"));
	assert_true(knows(&mastodon_stream_items, STREAM));
	assert_true(knows(&mastodon_stream_items,
	    "https://m.example/api/v1/streaming/hashtag?tag=x"));
	assert_false(knows(&mastodon_items, STREAM));
	assert_false(knows(&mastodon_stream_items, STATUSES));
	assert_false(knows(&mastodon_items,
	    "https://m.example/api/v1/accounts/lookup?acct=a"));
	assert_false(knows(&mastodon_items,
	    "https://m.example/?/api/v1/accounts/5/statuses"));
	assert_false(knows(&mastodon_items, "https:///api/v1/timelines/tag"));
}

static void
find_status(const char *members, struct testing_items *t)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "[{\"id\":\"9\",\"uri\":\"https://o/1\",\"account\":"
	    "{\"id\":\"5\",\"acct\":\"ann@o\",\"display_name\":\"A\\nn\","
	    "\"followers_count\":3},%s}]", members);
	assert_int_equal(testing_find(&mastodon_items, STATUSES,
	    buf_text(&b), t), OK);
	assert_int_equal(t->n, 1);
	buf_free(&b);
}

static void
a_status(void **state)
{
	struct testing_items t;

	(void)state;
	find_status("\"created_at\":\"2026-01-02T03:04:05.678Z\","
	    "\"edited_at\":null,\"content\":\"<p>Hi <a href=\\\"https://o/@b"
	    "\\\" class=\\\"u-url mention\\\">@b</a>, see <a href="
	    "\\\"https://e.org/?a=1&amp;b=2\\\">this</a> <a href="
	    "\\\"https://o/tags/x\\\" class=\\\"mention hashtag\\\">#x</a>"
	    "</p>\",\"sensitive\":false,\"tags\":[{\"name\":\"x\"},{\"name\":"
	    "\"y\"}],\"mentions\":[{\"acct\":\"b\"}],\"media_attachments\":["
	    "{\"url\":\"https://f/1.png\"},{\"url\":null}],"
	    "\"replies_count\":1,\"reblog\":null", &t);
	assert_str(t.list[0].id, "https://o/1");
	assert_str(t.list[0].owner, "5");
	assert_str(t.list[0].deletion, "m.example 9");
	assert_cell(&t, 0, "created_at", "2026-01-02 03:04:05.678000+00:00");
	assert_cell(&t, 0, "edited_at", "(null)");
	assert_cell(&t, 0, "account_acct", "ann@o");
	assert_cell(&t, 0, "account_display_name", "A n");
	assert_cell(&t, 0, "account_followers_count", "3");
	assert_cell(&t, 0, "text", "Hi @b, see this #x");
	assert_cell(&t, 0, "hashtags", "x y");
	assert_cell(&t, 0, "mentions", "b");
	assert_cell(&t, 0, "urls", "https://e.org/?a=1&b=2");
	assert_cell(&t, 0, "media_urls", "https://f/1.png");
	assert_cell(&t, 0, "sensitive", "false");
	assert_cell(&t, 0, "replies_count", "1");
	assert_cell(&t, 0, "reblog_uri", "(null)");
	arena_free(&t.arena);
	find_status("\"edited_at\":\"2026-01-02T03:04:06Z\"", &t);
	assert_cell(&t, 0, "edited_at", "2026-01-02 03:04:06+00:00");
	assert_cell(&t, 0, "text", "(lacks content)(null)");
	assert_cell(&t, 0, "created_at", "(lacks created_at)(null)");
	arena_free(&t.arena);
}

static void
a_reblog(void **state)
{
	struct testing_items t;

	(void)state;
	find_status("\"content\":\"\",\"visibility\":\"unlisted\","
	    "\"favourites_count\":0,\"tags\":[],\"reblog\":{\"uri\":"
	    "\"https://p/2\",\"account\":{\"acct\":\"bob@p\"},\"content\":"
	    "\"<p>said</p>\",\"tags\":[{\"name\":\"z\"}],\"visibility\":"
	    "\"public\",\"favourites_count\":8}", &t);
	assert_cell(&t, 0, "uri", "https://o/1");
	assert_cell(&t, 0, "text", "said");
	assert_cell(&t, 0, "content", "<p>said</p>");
	assert_cell(&t, 0, "hashtags", "z");
	assert_cell(&t, 0, "visibility", "unlisted");
	assert_cell(&t, 0, "favourites_count", "8");
	assert_cell(&t, 0, "reblog_uri", "https://p/2");
	assert_cell(&t, 0, "reblog_acct", "bob@p");
	arena_free(&t.arena);
}

static void
events(void **state)
{
	static const struct {
		const char *text;
		int n;
	} rows[] = {
		{ ":thump", 0 }, { "event: update", 0 },
		{ "event: filters_changed\ndata: x", 0 },
		{ "event: notification\ndata: {\"uri\":\"u\"}", 0 },
		{ "event: update\r\ndata: {\"uri\":\"u\"}", 1 },
		{ "event:status.update\ndata:{\"uri\":\ndata: \"u\"}\n:x", 1 },
		{ "event: update\ndata: {\"id\":\"1\"}", 1 },
	};
	struct testing_items t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum err e = testing_find(&mastodon_stream_items, STREAM,
		    rows[i].text, &t);
		assert_int_equal(e, i == 1 ? ERR_INPUT : OK);
		assert_int_equal(t.n, rows[i].n);
		arena_free(&t.arena);
	}
	assert_int_equal(testing_find(&mastodon_stream_items, STREAM,
	    "event: delete\ndata: 77", &t), OK);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.list[0].kind, ITEM_DELETED);
	assert_str(t.list[0].deletion, "m.example 77");
	arena_free(&t.arena);
}

static void
other_answers(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&mastodon_items, STATUSES,
	    "{\"error\":\"This API requires an authenticated user\"}", &t),
	    OK);
	assert_int_equal(t.n, 0);
	arena_free(&t.arena);
	assert_int_equal(testing_find(&mastodon_items, STATUSES,
	    "[{},5,{\"uri\":\"u\",\"account\":7,\"tags\":{},\"reblog\":[]}]",
	    &t), OK);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.list[0].kind, ITEM_BROKEN);
	for (size_t i = 0; i < t.list[2].of->table->columns_n; i++)
		assert_non_null(testing_cell(&t, 2,
		    t.list[2].of->table->columns[i].name));
	arena_free(&t.arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_recognised),
		cmocka_unit_test(a_status),
		cmocka_unit_test(a_reblog),
		cmocka_unit_test(events),
		cmocka_unit_test(other_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Posts of Bluesky: feeds, frames, and the cells of their table. */
#include "engine/connector/bluesky/bluesky_items.h"
#include "engine/connector/items_testing.h"

#define FEED "https://public.api.bsky.app/xrpc/app.bsky.feed.getAuthorFeed" \
	"?actor=did:plc:a"
#define JETSTREAM "https://jetstream2.us-east.bsky.network/subscribe?" \
	"wantedCollections=app.bsky.feed.post"
#define URI "at://did:plc:a/app.bsky.feed.post/3k"

static void
answers_are_recognised(void **state)
{
	struct str lines = STR("application/x-ndjson");

	(void)state;
	assert_true(bluesky_feed_items.recognises(STR(FEED), STR("")));
	assert_false(bluesky_feed_items.recognises(STR("https://public.api."
	    "bsky.app/xrpc/app.bsky.actor.getProfile?actor=x"), STR("")));
	assert_true(bluesky_jetstream_items.recognises(STR(JETSTREAM),
	    lines));
	assert_true(bluesky_jetstream_items.recognises(STR("https://j.example"
	    "/xrpc/network.bsky.jetstream.subscribeEvents?cursor=1"),
	    lines));
	assert_true(bluesky_jetstream_items.in_resources);
	/* The answer that opens the WebSocket has no frames. */
	assert_false(bluesky_jetstream_items.recognises(STR(JETSTREAM),
	    STR("")));
}

static void
find_entry(const char *record, const char *more, struct testing_items *t)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "{\"feed\":[{\"post\":{\"uri\":\"" URI "\",\"cid\":"
	    "\"c\",\"author\":{\"did\":\"did:plc:a\",\"handle\":\"ann.example"
	    "\"},\"indexedAt\":\"2026-01-02T03:04:06.5Z\",\"likeCount\":4,"
	    "\"record\":{%s}%s}}]}", record, more);
	assert_int_equal(testing_find(&bluesky_feed_items, FEED, buf_text(&b),
	    t), OK);
	assert_int_equal(t->n, 1);
	buf_free(&b);
}

#define FEATURE(type, member, text) "{\"$type\":\"app.bsky.richtext.facet#" \
	type "\",\"" member "\":\"" text "\"}"
#define QUOTED "at://did:plc:q/app.bsky.feed.post/1"

static void
an_entry_of_a_feed(void **state)
{
	struct testing_items t;

	(void)state;
	find_entry("\"createdAt\":\"2026-01-02T03:04:05Z\",\"text\":\"a\\nb\","
	    "\"langs\":[\"en\",\"de\"],\"tags\":[\"hidden\"],\"reply\":"
	    "{\"parent\":{\"uri\":\"at://p\"},\"root\":{\"uri\":\"at://r\"}},"
	    "\"facets\":[{\"features\":[" FEATURE("tag", "tag", "x") ","
	    FEATURE("link", "uri", "https://e/") ",{\"tag\":\"no\",\"uri\":"
	    "\"no\",\"did\":\"no\"}]},{\"features\":["
	    FEATURE("mention", "did", "did:plc:b") "]}],\"embed\":"
	    "{\"external\":{\"uri\":\"https://card/\"}}",
	    ",\"embed\":{\"images\":[{\"fullsize\":\"https://i/1\"},"
	    "{\"fullsize\":\"https://i/2\"}]}", &t);
	assert_str(t.list[0].id, URI);
	assert_str(t.list[0].owner, "did:plc:a");
	assert_cell(&t, 0, "cid", "c");
	assert_cell(&t, 0, "created_at", "2026-01-02 03:04:05+00:00");
	assert_cell(&t, 0, "indexed_at", "2026-01-02 03:04:06.500000+00:00");
	assert_cell(&t, 0, "post_url",
	    "https://bsky.app/profile/ann.example/post/3k");
	assert_cell(&t, 0, "author_handle", "ann.example");
	assert_cell(&t, 0, "author_display_name", "(null)");
	assert_cell(&t, 0, "text", "a b");
	assert_cell(&t, 0, "langs", "en de");
	assert_cell(&t, 0, "reply_parent_uri", "at://p");
	assert_cell(&t, 0, "reply_root_uri", "at://r");
	assert_cell(&t, 0, "quoted_uri", "(null)");
	assert_cell(&t, 0, "reposted_by_did", "(null)");
	assert_cell(&t, 0, "hashtags", "x hidden");
	assert_cell(&t, 0, "mentions", "did:plc:b");
	assert_cell(&t, 0, "urls", "https://e/ https://card/");
	assert_cell(&t, 0, "media_urls", "https://i/1 https://i/2");
	assert_cell(&t, 0, "like_count", "4");
	arena_free(&t.arena);
}

static void
reposts_and_quotes(void **state)
{
	struct testing_items t;

	(void)state;
	find_entry("\"text\":\"t\",\"embed\":{\"record\":{\"uri\":\""
	    QUOTED "\"}}",
	    "},\"reason\":{\"by\":{\"did\":\"did:plc:z\"},\"indexedAt\":"
	    "\"2026-02-03T00:00:00Z\"", &t);
	assert_cell(&t, 0, "quoted_uri", QUOTED);
	assert_cell(&t, 0, "reposted_by_did", "did:plc:z");
	assert_cell(&t, 0, "reposted_at", "2026-02-03 00:00:00+00:00");
	/* Without a date of its author's the server's counts. */
	assert_int_equal(t.list[0].date.at.us % US_PER_S, 500000);
	assert_cell(&t, 0, "created_at", "(lacks createdAt)(null)");
	arena_free(&t.arena);
	find_entry("\"embed\":{\"record\":{\"record\":{\"uri\":\"" QUOTED
	    "\"}},\"media\":{\"external\":{\"uri\":\"https://card/\"}}},"
	    "\"facets\":[{\"features\":["
	    FEATURE("link", "uri", "https://card/x") "]}]",
	    ",\"embed\":{\"media\":{\"playlist\":\"https://v/1.m3u8\"}}},"
	    "\"reason\":{\"$type\":\"app.bsky.feed.defs#reasonPin\"", &t);
	assert_cell(&t, 0, "quoted_uri", QUOTED);
	/* It is the beginning of another, and in the list all the same. */
	assert_cell(&t, 0, "urls", "https://card/x https://card/");
	assert_cell(&t, 0, "media_urls", "https://v/1.m3u8");
	assert_cell(&t, 0, "reposted_at", "(null)");
	assert_cell(&t, 0, "text", "(lacks text)(null)");
	arena_free(&t.arena);
}

static void
what_newer_programs_write(void **state)
{
	struct testing_items t;

	(void)state;
	find_entry("\"text\":\"t\",\"embed\":{\"record\":{\"uri\":"
	    "\"at://did:plc:q/app.bsky.feed.generator/1\"}},\"facets\":"
	    "[{\"features\":[" FEATURE("link", "uri", "https://e/1") ","
	    FEATURE("link", "uri", "https://e/") "]}]", ",\"embed\":{\"items\":"
	    "[{\"fullsize\":\"https://g/1\"},{\"fullsize\":\"https://g/2\"}]}",
	    &t);
	assert_cell(&t, 0, "quoted_uri", "(null)");
	assert_cell(&t, 0, "media_urls", "https://g/1 https://g/2");
	arena_free(&t.arena);
	/* The card's address is in the text already. */
	find_entry("\"text\":\"t\",\"embed\":{\"external\":{\"uri\":"
	    "\"https://e/\"}},\"facets\":[{\"features\":["
	    FEATURE("link", "uri", "https://e/1") ","
	    FEATURE("link", "uri", "https://e/") "]}]", "", &t);
	assert_cell(&t, 0, "urls", "https://e/1 https://e/");
	arena_free(&t.arena);
	assert_int_equal(testing_find(&bluesky_feed_items, FEED,
	    "{\"feed\":[{\"post\":{\"uri\":\"" URI "\",\"author\":{\"did\":"
	    "\"did:plc:a\",\"handle\":\"handle.invalid\"},\"record\":{}}}]}",
	    &t), OK);
	assert_cell(&t, 0, "author_handle", "handle.invalid");
	assert_cell(&t, 0, "post_url",
	    "https://bsky.app/profile/did:plc:a/post/3k");
	arena_free(&t.arena);
}

static void
frames_of_both_protocols(void **state)
{
	static const char *const frames[] = {
		"{\"did\":\"did:plc:a\",\"time_us\":1767323045000000,\"kind\":"
		"\"commit\",\"commit\":{\"operation\":\"create\","
		"\"collection\":\"app.bsky.feed.post\",\"rkey\":\"3k\","
		"\"cid\":\"c\",\"record\":{\"text\":\"t\",\"createdAt\":"
		"\"2026-01-02T03:04:05Z\"}}}",
		"{\"$type\":\"message\",\"payload\":{\"$type\":\"network.bsky."
		"jetstream.subscribeEvents#commit\",\"seq\":5,\"did\":"
		"\"did:plc:a\",\"operation\":\"create\",\"collection\":"
		"\"app.bsky.feed.post\",\"rkey\":\"3k\",\"cid\":\"c\","
		"\"record\":{\"text\":\"t\",\"createdAt\":"
		"\"2026-01-02T03:04:05Z\"}}}",
	};
	struct testing_items t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
		assert_int_equal(testing_find(&bluesky_jetstream_items,
		    JETSTREAM, frames[i], &t), OK);
		assert_int_equal(t.n, 1);
		assert_int_equal(t.list[0].kind, ITEM_FOUND);
		assert_str(t.list[0].id, URI);
		assert_cell(&t, 0, "cid", "c");
		assert_cell(&t, 0, "created_at", "2026-01-02 03:04:05+00:00");
		assert_cell(&t, 0, "indexed_at", "(null)");
		assert_cell(&t, 0, "author_did", "did:plc:a");
		assert_cell(&t, 0, "author_handle", "(null)");
		assert_cell(&t, 0, "post_url",
		    "https://bsky.app/profile/did:plc:a/post/3k");
		assert_cell(&t, 0, "text", "t");
		assert_cell(&t, 0, "media_urls", "(null)");
		assert_cell(&t, 0, "like_count", "(null)");
		arena_free(&t.arena);
	}
}

static void
deletions(void **state)
{
	static const struct {
		const char *frame;
		int n;
		enum item_kind kind;
	} rows[] = {
		{ "{\"did\":\"did:plc:a\",\"kind\":\"commit\",\"commit\":"
		    "{\"operation\":\"delete\",\"collection\":"
		    "\"app.bsky.feed.post\",\"rkey\":\"3k\"}}", 1,
		    ITEM_DELETED },
		{ "{\"did\":\"did:plc:a\",\"kind\":\"commit\",\"commit\":"
		    "{\"operation\":\"delete\",\"collection\":"
		    "\"app.bsky.feed.like\",\"rkey\":\"3k\"}}", 0,
		    ITEM_FOUND },
		{ "{\"did\":\"did:plc:a\",\"kind\":\"account\",\"account\":"
		    "{\"active\":false,\"status\":\"deleted\"}}", 1,
		    ITEM_OWNER_DELETED },
		{ "{\"did\":\"did:plc:a\",\"kind\":\"account\",\"account\":"
		    "{\"active\":false,\"status\":\"deactivated\"}}", 0,
		    ITEM_FOUND },
		{ "{\"did\":\"did:plc:a\",\"kind\":\"identity\"}", 0,
		    ITEM_FOUND },
		{ "{\"kind\":\"commit\",\"commit\":{\"collection\":"
		    "\"app.bsky.feed.post\"}}", 1, ITEM_BROKEN },
		{ "{\"$type\":\"error\",\"error\":\"ConsumerTooSlow\"}", 0,
		    ITEM_FOUND },
		{ "[]", 0, ITEM_FOUND },
	};
	struct testing_items t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(testing_find(&bluesky_jetstream_items,
		    JETSTREAM, rows[i].frame, &t), OK);
		assert_int_equal(t.n, rows[i].n);
		if (t.n > 0)
			assert_int_equal(t.list[0].kind, rows[i].kind);
		if (rows[i].kind == ITEM_DELETED)
			assert_str(t.list[0].deletion, URI);
		arena_free(&t.arena);
	}
}

static void
other_answers(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&bluesky_feed_items, FEED,
	    "{\"error\":\"InvalidRequest\",\"message\":\"x\"}", &t), OK);
	assert_int_equal(t.n, 0);
	arena_free(&t.arena);
	assert_int_equal(testing_find(&bluesky_feed_items, FEED,
	    "{\"feed\":[{},7,{\"post\":{\"uri\":\"at://x\",\"record\":5,"
	    "\"embed\":[]}}]}", &t), OK);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.list[0].kind, ITEM_BROKEN);
	for (size_t i = 0; i < bluesky_table.columns_n; i++)
		assert_non_null(testing_cell(&t, 2,
		    bluesky_table.columns[i].name));
	arena_free(&t.arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_recognised),
		cmocka_unit_test(an_entry_of_a_feed),
		cmocka_unit_test(reposts_and_quotes),
		cmocka_unit_test(what_newer_programs_write),
		cmocka_unit_test(frames_of_both_protocols),
		cmocka_unit_test(deletions),
		cmocka_unit_test(other_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

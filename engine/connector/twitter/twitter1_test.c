/* Tweets of API v1.1: which are found, and the cells of their table. */
#include "engine/connector/items_testing.h"
#include "engine/connector/twitter/twitter_items.h"

#define SEARCH "https://api.twitter.com/1.1/search/tweets.json?q=x"
#define TIMELINE "https://api.twitter.com/1.1/statuses/user_timeline.json?u=1"
#define FILTER "https://stream.twitter.com/1.1/statuses/filter.json"
#define USER "\"user\":{\"id_str\":\"5\",\"screen_name\":\"ann\"}"
#define ENTITIES "\"entities\":{\"hashtags\":[],\"urls\":[]}"

static bool
knows(const struct connector_items *items, const char *uri)
{
	return items->recognises(str_of(uri), STR("application/json"));
}

static void
answers_are_recognised(void **state)
{
	(void)state;
	assert_true(knows(&twitter_rest_items, SEARCH));
	assert_true(knows(&twitter_rest_items, TIMELINE));
	assert_true(knows(&twitter_rest_items,
	    "https://api.x.com/1.1/search/tweets.json"));
	assert_true(knows(&twitter_stream_items, FILTER));
	assert_true(knows(&twitter_stream_items,
	    "https://stream.twitter.com/1.1/statuses/sample.json"));
	assert_false(knows(&twitter_rest_items, FILTER));
	assert_false(knows(&twitter_stream_items, SEARCH));
	assert_false(knows(&twitter_rest_items,
	    "https://api.twitter.com/1.1/users/show.json"));
	assert_false(knows(&twitter_rest_items,
	    "http://api.twitter.com/1.1/search/tweets.json"));
	assert_false(knows(&twitter_rest_items,
	    "https://api.twitter.com.example.org/1.1/search/tweets.json"));
}

static void
items_are_found(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&twitter_rest_items, SEARCH,
	    "{\"statuses\":[{\"id_str\":\"1\",\"created_at\":"
	    "\"Thu Jan 01 00:00:02 +0000 1970\"," USER "},{\"id\":2},{},3]}",
	    &t), OK);
	assert_int_equal(t.n, 4);
	assert_str(t.list[0].id, "1");
	assert_str(t.list[0].owner, "5");
	assert_int_equal(t.list[0].date.at.us, 2000000);
	assert_int_equal(t.list[0].kind, ITEM_FOUND);
	/* A number stands for the text that is missing. */
	assert_str(t.list[1].id, "2");
	assert_false(t.list[1].date.known);
	assert_int_equal(t.list[2].kind, ITEM_BROKEN);
	assert_string_equal(t.list[2].lacks, "id_str");
	assert_int_equal(t.list[3].kind, ITEM_BROKEN);
	arena_free(&t.arena);
	/* A timeline is a bare list. */
	assert_int_equal(testing_find(&twitter_rest_items, TIMELINE,
	    "[{\"id_str\":\"1\"}]\n[{\"id_str\":\"2\"}]", &t), OK);
	assert_int_equal(t.n, 2);
	arena_free(&t.arena);
}

static void
other_answers_contain_none(void **state)
{
	static const struct {
		const char *uri, *text;
	} rows[] = {
		{ SEARCH, "{\"errors\":[{\"code\":88}],\"statuses\":[{}]}" },
		{ TIMELINE, "{\"error\":\"Not authorized.\"}" },
		{ TIMELINE, "{\"statuses\":[{\"id_str\":\"1\"}]}" },
		{ SEARCH, "{\"statuses\":null}" }, { SEARCH, "[]" },
		{ SEARCH, "1" }, { TIMELINE, "\"x\"" },
	};
	struct testing_items t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(testing_find(&twitter_rest_items,
		    rows[i].uri, rows[i].text, &t), OK);
		assert_int_equal(t.n, 0);
		arena_free(&t.arena);
	}
	assert_int_equal(testing_find(&twitter_rest_items, SEARCH,
	    "<html>over capacity</html>", &t), ERR_INPUT);
	arena_free(&t.arena);
}

static void
streams_have_notices(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&twitter_stream_items, FILTER,
	    "{\"id_str\":\"1\"," USER "}", &t), OK);
	assert_int_equal(t.n, 1);
	arena_free(&t.arena);
	assert_int_equal(testing_find(&twitter_stream_items, FILTER,
	    "{\"delete\":{\"status\":{\"id_str\":\"9\",\"user_id_str\":"
	    "\"3\"}}}", &t), OK);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.list[0].kind, ITEM_DELETED);
	assert_str(t.list[0].deletion, "9");
	arena_free(&t.arena);
	assert_int_equal(testing_find(&twitter_stream_items, FILTER,
	    "{\"limit\":{\"track\":1234}}", &t), OK);
	assert_int_equal(t.n, 0);
	arena_free(&t.arena);
}

static void
find_one(const char *members, struct testing_items *t)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "[{\"id_str\":\"7\"," USER ",%s}]", members);
	assert_int_equal(testing_find(&twitter_rest_items, TIMELINE,
	    buf_text(&b), t), OK);
	assert_int_equal(t->n, 1);
	buf_free(&b);
}

static void
texts_are_whole(void **state)
{
	struct testing_items t;

	(void)state;
	find_one("\"text\":\"a\\nb\\r\\nc\"," ENTITIES, &t);
	assert_cell(&t, 0, "text", "a b c");
	assert_cell(&t, 0, "tweet_type", "original");
	assert_cell(&t, 0, "tweet_url", "https://twitter.com/ann/status/7");
	assert_cell(&t, 0, "favorite_count", "(lacks favorite_count)(null)");
	assert_cell(&t, 0, "hashtags", "");
	assert_cell(&t, 0, "media", "(null)");
	arena_free(&t.arena);
	find_one("\"text\":\"cut\",\"full_text\":\"x\",\"extended_tweet\":"
	    "{\"full_text\":\"whole\"}", &t);
	assert_cell(&t, 0, "text", "whole");
	assert_cell(&t, 0, "urls", "(lacks entities.urls)(null)");
	arena_free(&t.arena);
}

static void
retweets_take_from_the_original(void **state)
{
	struct testing_items t;

	(void)state;
	find_one("\"text\":\"RT cut\",\"favorite_count\":1,"
	    "\"retweet_count\":2,\"entities\":{\"hashtags\":[{\"text\":"
	    "\"cut\"}],\"urls\":[{\"expanded_url\":\"http://a/\"},"
	    "{\"expanded_url\":null}]},\"retweeted_status\":{\"id_str\":\"6\","
	    "\"full_text\":\"whole\",\"favorite_count\":99,\"user\":"
	    "{\"id_str\":\"8\",\"screen_name\":\"bob\"},\"entities\":"
	    "{\"hashtags\":[{\"text\":\"x\"},{\"text\":\"y\"}]}}", &t);
	assert_cell(&t, 0, "text", "whole");
	assert_cell(&t, 0, "tweet_type", "retweet");
	assert_cell(&t, 0, "hashtags", "x y");
	assert_cell(&t, 0, "urls", "http://a/ ");
	assert_cell(&t, 0, "favorite_count", "99");
	assert_cell(&t, 0, "retweet_count", "2");
	assert_cell(&t, 0, "retweet_or_quote_id", "6");
	assert_cell(&t, 0, "retweet_or_quote_screen_name", "bob");
	assert_cell(&t, 0, "retweet_or_quote_user_id", "8");
	arena_free(&t.arena);
	/* The key counts, and null is no tweet to take from. */
	find_one("\"text\":\"t\",\"retweeted_status\":null," ENTITIES, &t);
	assert_cell(&t, 0, "tweet_type", "retweet");
	assert_cell(&t, 0, "hashtags", "");
	assert_cell(&t, 0, "retweet_or_quote_id", "(null)");
	arena_free(&t.arena);
	find_one("\"in_reply_to_status_id\":3,\"quoted_status\":{\"id_str\":"
	    "\"4\"}", &t);
	assert_cell(&t, 0, "tweet_type", "reply");
	assert_cell(&t, 0, "retweet_or_quote_id", "4");
	arena_free(&t.arena);
}

static void
places_and_media(void **state)
{
	struct testing_items t;

	(void)state;
	find_one("\"coordinates\":{\"coordinates\":[-77.04681,38.89983]},"
	    "\"place\":{\"full_name\":\"Washington, DC\"},"
	    "\"possibly_sensitive\":true,\"entities\":{\"media\":["
	    "{\"media_url_https\":\"https://p/1\"}]},\"extended_entities\":"
	    "{\"media\":[{\"media_url_https\":\"https://p/1\"},"
	    "{\"media_url_https\":\"https://p/2\"}]}", &t);
	assert_cell(&t, 0, "coordinates", "-77.046810 38.899830");
	assert_cell(&t, 0, "place", "Washington, DC");
	assert_cell(&t, 0, "media", "https://p/1 https://p/2");
	assert_cell(&t, 0, "possibly_sensitive", "true");
	arena_free(&t.arena);
	/* Of wrong types, too. */
	find_one("\"coordinates\":{\"coordinates\":\"x\"},\"place\":5,"
	    "\"entities\":[],\"text\":{\"a\":1}", &t);
	assert_cell(&t, 0, "coordinates", "(lacks coordinates)(null)");
	assert_cell(&t, 0, "place", "(lacks place.full_name)(null)");
	assert_cell(&t, 0, "media", "(null)");
	assert_cell(&t, 0, "text", "(null)");
	arena_free(&t.arena);
}

static void
an_account_may_be_missing(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&twitter_rest_items, TIMELINE,
	    "[{\"id_str\":\"7\",\"user\":null}]", &t), OK);
	for (size_t i = 0; i < twitter1_table.columns_n; i++)
		assert_non_null(testing_cell(&t, 0,
		    twitter1_table.columns[i].name));
	assert_cell(&t, 0, "user_name", "(lacks user)(null)");
	arena_free(&t.arena);
}

static void
types_are_known(void **state)
{
	size_t n;
	const struct item_type *types = item_types(&n);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(item_type_find(str_of(types[i].type)),
		    types[i].items);
		assert_non_null(types[i].items->table);
	}
	assert_null(item_type_find(STR("twitter")));
	assert_string_equal(item_type_name(&twitter_stream_items),
	    "twitter_filter");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_recognised),
		cmocka_unit_test(items_are_found),
		cmocka_unit_test(other_answers_contain_none),
		cmocka_unit_test(streams_have_notices),
		cmocka_unit_test(texts_are_whole),
		cmocka_unit_test(retweets_take_from_the_original),
		cmocka_unit_test(places_and_media),
		cmocka_unit_test(an_account_may_be_missing),
		cmocka_unit_test(types_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

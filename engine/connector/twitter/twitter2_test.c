/* Tweets of API v2: flattened, and the cells of their table. */
#include "engine/connector/items_testing.h"
#include "engine/connector/twitter/twitter2_flatten.h"
#include "engine/connector/twitter/twitter_items.h"

#define RECENT "https://api.twitter.com/2/tweets/search/recent?query=x"
#define STREAM "https://api.twitter.com/2/tweets/search/stream"

static bool
knows(const struct connector_items *items, bool named, const char *uri)
{
	return named ? items->recognises_named(str_of(uri), STR("")) :
	    items->recognises(str_of(uri), STR(""));
}

static void
answers_are_recognised(void **state)
{
	static const struct {
		const char *uri;
		bool rest, rest_named, stream, stream_named;
	} rows[] = {
		{ RECENT, true, true, false, true },
		{ "https://api.twitter.com/2/tweets/search/all?query=x", true,
		    true, false, true },
		{ "https://api.x.com/2/users/5/tweets?max_results=100", true,
		    true, false, true },
		{ "https://api.twitter.com/2/users/5/mentions", true, true,
		    false, true },
		{ "https://api.twitter.com/2/users//tweets", false, false,
		    false, true },
		{ "https://api.twitter.com/2/users/5/liked_tweets", false,
		    false, false, true },
		{ "https://api.twitter.com/2/tweets/sample/stream", false,
		    true, true, true },
		{ STREAM "?expansions=author_id", false, false, true, true },
		{ STREAM "/rules", false, false, false, true },
		{ "https://api.twitter.com/1.1/search/tweets.json", false,
		    false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(knows(&twitter2_rest_items, false,
		    rows[i].uri), rows[i].rest);
		assert_int_equal(knows(&twitter2_rest_items, true,
		    rows[i].uri), rows[i].rest_named);
		assert_int_equal(knows(&twitter2_stream_items, false,
		    rows[i].uri), rows[i].stream);
		assert_int_equal(knows(&twitter2_stream_items, true,
		    rows[i].uri), rows[i].stream_named);
	}
}

/* --- flattening --------------------------------------------------------- */

static void
check_flat(const char *response, const char *want)
{
	struct arena a = ARENA_INIT;
	struct buf out = BUF_INIT;
	struct item_json j;

	assert_int_equal(item_json_parse(str_of(response), &a, &j, NULL), OK);
	struct twitter2_page *p = twitter2_page_new(j.root, &a);
	item_json_put(&out, twitter2_flatten(p, yyjson_arr_get_first(
	    json_member(j.root, "data"))));
	twitter2_page_free(&p);
	assert_string_equal(buf_text(&out), want);
	buf_free(&out);
	arena_free(&a);
}

static void
references_are_put_in(void **state)
{
	(void)state;
	check_flat("{\"data\":[{\"id\":\"1\",\"author_id\":\"5\",\"geo\":"
	    "{\"place_id\":\"p\",\"x\":1},\"attachments\":{\"media_keys\":"
	    "[\"m\",\"n\"],\"poll_ids\":[\"8\"]},\"entities\":{\"mentions\":"
	    "[{\"username\":\"u\",\"start\":0}]},\"last\":true}],"
	    "\"includes\":{\"users\":[{\"id\":\"5\",\"username\":\"u\","
	    "\"entities\":{\"mentions\":[{\"username\":\"u\"}]}}],"
	    "\"media\":[{\"media_key\":\"m\"}],\"polls\":[{\"id\":\"8\"}],"
	    "\"places\":[{\"id\":\"p\",\"x\":2}]}}",
	    "{\"id\": \"1\", \"author_id\": \"5\", \"geo\": {\"place_id\": "
	    "\"p\", \"x\": 2, \"id\": \"p\"}, \"attachments\": "
	    "{\"media_keys\": [\"m\", \"n\"], \"poll_ids\": [\"8\"], "
	    "\"media\": [{\"media_key\": \"m\"}, {}], \"poll\": {\"id\": "
	    "\"8\"}}, \"entities\": {\"mentions\": [{\"username\": \"u\", "
	    "\"start\": 0, \"id\": \"5\", \"entities\": {\"mentions\": "
	    "[{\"username\": \"u\"}]}}]}, \"last\": true, \"author\": "
	    "{\"id\": \"5\", \"username\": \"u\", \"entities\": {\"mentions\": "
	    "[{\"username\": \"u\"}]}}}");
}

/* An included tweet is whole in those behind it alone. */
static void
order_decides_what_is_whole(void **state)
{
	(void)state;
	check_flat("{\"data\":[{\"id\":\"1\",\"referenced_tweets\":[{\"type\":"
	    "\"quoted\",\"id\":\"7\"},{\"type\":\"replied_to\",\"id\":\"8\"},"
	    "{\"type\":\"quoted\",\"id\":\"99\"}]}],\"includes\":{\"tweets\":["
	    "{\"id\":\"7\",\"referenced_tweets\":[{\"type\":\"quoted\","
	    "\"id\":\"8\"}]},{\"id\":\"8\",\"author_id\":\"5\","
	    "\"referenced_tweets\":[{\"type\":\"retweeted\",\"id\":\"7\"}]}]},"
	    "\"matching_rules\":[{\"id\":\"2\"}]}",
	    "{\"id\": \"1\", \"referenced_tweets\": [{\"type\": \"quoted\", "
	    "\"id\": \"7\", \"referenced_tweets\": [{\"type\": \"quoted\", "
	    "\"id\": \"8\", \"author_id\": \"5\", \"referenced_tweets\": "
	    "[{\"type\": \"retweeted\", \"id\": \"7\"}]}]}, {\"type\": "
	    "\"replied_to\", \"id\": \"8\", \"author_id\": \"5\", "
	    "\"referenced_tweets\": [{\"type\": \"retweeted\", \"id\": \"7\", "
	    "\"referenced_tweets\": [{\"type\": \"quoted\", \"id\": \"8\", "
	    "\"author_id\": \"5\", \"referenced_tweets\": [{\"type\": "
	    "\"retweeted\", \"id\": \"7\"}]}]}], \"author\": {}}, {\"type\": "
	    "\"quoted\", \"id\": \"99\"}], \"matching_rules\": [{\"id\": "
	    "\"2\"}]}");
}

static void
a_tweet_may_refer_to_itself(void **state)
{
	(void)state;
	check_flat("{\"data\":[{\"referenced_tweets\":[{\"id\":\"7\"}]}],"
	    "\"includes\":{\"tweets\":[{\"id\":\"7\",\"text\":\"t\","
	    "\"referenced_tweets\":[{\"id\":\"7\"}]}]}}",
	    "{\"referenced_tweets\": [{\"id\": \"7\", \"text\": \"t\", "
	    "\"referenced_tweets\": [{\"id\": \"7\", \"text\": \"t\", "
	    "\"referenced_tweets\": [{\"id\": \"7\"}]}]}]}");
}

/* Each tweet refers ten times to the one before: 10 to the 30th in all. */
static void
what_grows_without_end_is_cut(void **state)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT, out = BUF_INIT;
	struct item_json j;

	(void)state;
	buf_put_text(&b, "{\"data\":[{\"id\":\"x\",\"referenced_tweets\":"
	    "[{\"id\":\"30\"}]}],\"includes\":{\"tweets\":[{\"id\":\"0\"}");
	for (int i = 1; i <= 30; i++) {
		buf_printf(&b, ",{\"id\":\"%d\",\"referenced_tweets\":[", i);
		for (int k = 0; k < 10; k++)
			buf_printf(&b, "%s{\"id\":\"%d\"}", k > 0 ? "," : "",
			    i - 1);
		buf_put_text(&b, "]}");
	}
	buf_put_text(&b, "]}}");
	assert_int_equal(item_json_parse(buf_str(&b), &a, &j, NULL), OK);
	struct twitter2_page *p = twitter2_page_new(j.root, &a);
	yyjson_val *tweet = yyjson_arr_get_first(json_member(j.root, "data"));
	for (int i = 0; i < 3; i++) {
		buf_clear(&out);
		item_json_put(&out, twitter2_flatten(p, tweet));
		assert_in_range(out.n, TWITTER2_TWEET_BYTES_MAX / 4,
		    TWITTER2_TWEET_BYTES_MAX);
	}
	twitter2_page_free(&p);
	buf_free(&b);
	buf_free(&out);
	arena_free(&a);
}

/* --- items -------------------------------------------------------------- */

/* The cells of the first tweet in a page, which lives during the call. */
struct cells {
	const char *const *columns, *const *want;
	size_t n, items;
};

static enum err
check_cells(void *arg, const struct item *item, struct why *w)
{
	struct cells *c = arg;
	struct testing_items t = { .list = { *item }, .n = 1 };

	(void)w;
	for (size_t i = 0; i < c->n && c->items == 0; i++)
		assert_cell(&t, 0, c->columns[i], c->want[i]);
	c->items++;
	arena_free(&t.arena);
	return OK;
}

static size_t
check_page(const struct connector_items *of, const char *uri,
    const char *text, const char *const *columns, const char *const *want,
    size_t n)
{
	struct arena a = ARENA_INIT;
	struct item_text t = { str_of(uri), str_of(text), { 0 } };
	struct cells c = { columns, want, n, 0 };

	assert_int_equal(of->each(of, &t, &a, check_cells, &c, NULL), OK);
	arena_free(&a);
	return c.items;
}

static void
cells_of_a_tweet(void **state)
{
	static const char *const columns[] = { "id", "text", "created_at",
		"entities.hashtags", "entities.mentions", "entities.urls",
		"edit_history_tweet_ids", "author.url",
		"author.entities.url.urls", "author.entities.description.urls",
		"geo.coordinates.coordinates", "withheld.copyright",
		"author.name", "__twarc.url", "public_metrics.like_count" };
	static const char *const want[] = { "1", "a\\nb\\nc",
		"2023-03-02T12:00:01.000Z", "[\"#h\\u00e9\"]", "[\"@u\"]",
		"[\"https://e/a\", \"pic\", \"https://t/o\"]", "[\"1\"]",
		"https://e/me", "[\"https://e/me\"]", "[\"https://e/z\"]",
		"[-77.5, 38.25]", "false", "(null)", "(null)", "7" };

	(void)state;
	assert_int_equal(check_page(&twitter2_rest_items, RECENT,
	    "{\"data\":[{\"id\":\"1\",\"text\":\"a\\nb\\r\\nc\",\"created_at\":"
	    "\"2023-03-02T12:00:01.000Z\",\"author_id\":\"5\",\"entities\":"
	    "{\"hashtags\":[{\"tag\":\"h\xc3\xa9\"}],\"mentions\":"
	    "[{\"username\":\"u\"}],\"urls\":[{\"url\":\"https://t/a\","
	    "\"expanded_url\":\"https://e/a\"},{\"media_key\":\"3_1\","
	    "\"expanded_url\":\"https://e/m\",\"display_url\":\"pic\"},"
	    "{\"url\":\"https://t/o\"}]},\"edit_history_tweet_ids\":[\"1\"],"
	    "\"geo\":{\"coordinates\":{\"coordinates\":[-77.5,38.25]}},"
	    "\"withheld\":{\"copyright\":false},\"public_metrics\":"
	    "{\"like_count\":7}}],\"includes\":{\"users\":[{\"id\":\"5\","
	    "\"url\":\"https://t/u\",\"name\":{\"a\":1},\"entities\":{\"url\":"
	    "{\"urls\":[{\"url\":\"https://t/u\",\"expanded_url\":"
	    "\"https://e/me\"}]},\"description\":{\"urls\":[{\"url\":"
	    "\"https://t/z\",\"expanded_url\":\"https://e/z\"}]}}}]}}",
	    columns, want, ARRAY_LEN(columns)), 1);
}

static void
retweets_take_from_the_original(void **state)
{
	static const char *const columns[] = { "text", "entities.hashtags",
		"public_metrics.like_count", "context_annotations",
		"referenced_tweets.retweeted.id", "retweeted_user_id",
		"retweeted_username", "quoted_username", "author.username" };
	static const char *const want[] = { "whole", "[\"#o\"]", "9",
		"[{\"a\": 1}]", "7", "6", "six", "(null)", "(null)" };

	(void)state;
	assert_int_equal(check_page(&twitter2_rest_items, RECENT,
	    "{\"data\":[{\"id\":\"1\",\"text\":\"RT cut\",\"author_id\":\"5\","
	    "\"entities\":{\"hashtags\":[{\"tag\":\"own\"}]},"
	    "\"context_annotations\":[{\"a\":1}],\"public_metrics\":"
	    "{\"like_count\":0},\"created_at\":\"2023-03-02T12:00:01Z\","
	    "\"referenced_tweets\":[{\"type\":\"retweeted\",\"id\":\"7\"}]}],"
	    "\"includes\":{\"users\":[{\"id\":\"6\",\"username\":\"six\"}],"
	    "\"tweets\":[{\"id\":\"7\",\"text\":\"whole\",\"author_id\":"
	    "\"6\",\"entities\":{\"hashtags\":[{\"tag\":\"o\"}]},"
	    "\"public_metrics\":{\"like_count\":9}}]}}", columns, want,
	    ARRAY_LEN(columns)), 1);
}

static void
answers_without_tweets(void **state)
{
	static const struct {
		const char *text;
		size_t rest, stream;
	} rows[] = {
		{ "{\"meta\":{\"result_count\":0}}", 0, 0 },
		{ "{\"data\":[],\"meta\":{}}", 0, 0 },
		{ "{\"title\":\"Unauthorized\",\"status\":401}", 0, 0 },
		{ "{\"errors\":[{\"title\":\"x\"}],\"text\":\"y\"}", 0, 0 },
		{ "{\"data\":{\"id\":\"1\",\"username\":\"u\"}}", 1, 0 },
		{ "{\"data\":{\"id\":\"1\",\"text\":\"t\"}}", 1, 1 },
		/* Flattened before it was written. */
		{ "{\"id\":\"1\",\"text\":\"t\"}", 0, 1 },
		{ "[1]", 0, 0 }, { "{\"data\":5}", 0, 0 },
		{ "{\"data\":[{\"id\":\"1\",\"text\":\"t\"}]}"
		    "{\"data\":[{\"id\":\"2\",\"text\":\"t\"}]}", 2, 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(check_page(&twitter2_rest_items, RECENT,
		    rows[i].text, NULL, NULL, 0), rows[i].rest);
		assert_int_equal(check_page(&twitter2_stream_items, STREAM,
		    rows[i].text, NULL, NULL, 0), rows[i].stream);
	}
}

static enum err
stop_there(void *arg, const struct item *item, struct why *w)
{
	(void)item;
	(*(int *)arg)++;
	return why(w, ERR_CLOSED, "enough");
}

static void
an_error_ends_a_page(void **state)
{
	struct arena a = ARENA_INIT;
	struct item_text t = { STR(RECENT), STR("{\"data\":[{\"id\":\"1\"},"
	    "{\"id\":\"2\"}]}"), { 0 } };
	int calls = 0;

	(void)state;
	assert_int_equal(twitter2_rest_items.each(&twitter2_rest_items, &t,
	    &a, stop_there, &calls, NULL), ERR_CLOSED);
	assert_int_equal(calls, 1);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_recognised),
		cmocka_unit_test(references_are_put_in),
		cmocka_unit_test(order_decides_what_is_whole),
		cmocka_unit_test(a_tweet_may_refer_to_itself),
		cmocka_unit_test(what_grows_without_end_is_cut),
		cmocka_unit_test(cells_of_a_tweet),
		cmocka_unit_test(retweets_take_from_the_original),
		cmocka_unit_test(answers_without_tweets),
		cmocka_unit_test(an_error_ends_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

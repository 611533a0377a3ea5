/* Recorded harvests of searches and timelines by API v1.1. */
#include "engine/connector/connector_testing.h"

#define A "https://api.twitter.com/1.1/"
#define KEYS "\"credentials\":{\"consumer_key\":\"c\",\"consumer_secret\":"  \
	"\"s\",\"access_token\":\"a\",\"access_token_secret\":\"t\"}"
#define SIGNED " oauth1 consumer_key,consumer_secret,access_token,"          \
	"access_token_secret\n"
#define SEARCH_FIELDS "count=100&result_type=recent&tweet_mode=extended"     \
	"&include_entities=true"
#define SEARCH(more) "call " A "search/tweets.json?q=cats&" SEARCH_FIELDS    \
	more SIGNED
#define NAMED(name) "call " A "users/show.json?screen_name=" name SIGNED
#define USER(id) "call " A "users/show.json?user_id=" id SIGNED
#define TIMELINE(id, more) "call " A "statuses/user_timeline.json?user_id="  \
	id "&count=200&tweet_mode=extended" more SIGNED

#define TWEET(id) "{\"id\":" id ",\"id_str\":\"" id "\"}"
#define OF(user, id) "{\"id_str\":\"" id "\",\"user\":{\"id_str\":\"" user   \
	"\"}}"
#define FOUND(tweets) { 200, "", "{\"statuses\":[" tweets "],"               \
	"\"search_metadata\":{}}" }
#define LIST(tweets) { 200, "", "[" tweets "]" }
#define ACCOUNT_OF(id, name) { 200, "", "{\"id_str\":\"" id "\","            \
	"\"screen_name\":\"" name "\",\"protected\":false}" }
#define REFUSAL(status, code, message) { status, "", "{\"errors\":[{"        \
	"\"code\":" code ",\"message\":\"" message "\"}]}" }

#define CATS "\"seeds\":[{\"id\":\"s1\",\"token\":\"cats\"}]"
#define ADA "\"seeds\":[{\"id\":\"s1\",\"token\":\"ada\"}]"
#define COUNT(n) "count tweets " n "\n"
#define STATE(key, id) "state " key ".since_id=" id "\n"
#define FOUND_ADA "seed s1 uid=7 token=\n"

#define HARVEST(TYPE, MESSAGE, ...)                                          \
	const struct testing_answer answers[] = { __VA_ARGS__ };             \
	const struct testing_harvest h = { .type = TYPE,                     \
		.message = "{" MESSAGE "}", .answers = answers,              \
		.answers_n = ARRAY_LEN(answers) }
#define SEARCHES(MESSAGE, ...) HARVEST("twitter_search", MESSAGE, __VA_ARGS__)
#define ACCOUNTS(MESSAGE, ...)                                               \
	HARVEST("twitter_user_timeline", MESSAGE, __VA_ARGS__)

/* ---- Searches ---------------------------------------------------------- */

static void
a_search_is_read_backward(void **state)
{
	SEARCHES(CATS "," KEYS,
	    FOUND(TWEET("1600000000000000009") ","
	    TWEET("1600000000000000007")),
	    FOUND(TWEET("1600000000000000003")), FOUND(""));

	(void)state;
	testing_expect(&h, SEARCH("") COUNT("2")
	    SEARCH("&max_id=1600000000000000006") COUNT("1")
	    SEARCH("&max_id=1600000000000000002")
	    STATE("cats", "1600000000000000009") "done\n");
}

static void
places_have_a_state_of_their_own(void **state)
{
	SEARCHES("\"seeds\":[{\"token\":{\"query\":\"cats\",\"geocode\":"
	    "\"1,2,3mi\"}},{\"token\":{\"geocode\":\"1,2,3mi\"}}]," KEYS,
	    FOUND(TWEET("9")), FOUND(""), FOUND(TWEET("8")), FOUND(""));

	(void)state;
#define AT "&geocode=1%2C2%2C3mi"
	testing_expect(&h, SEARCH(AT) COUNT("1") SEARCH(AT "&max_id=8")
	    STATE("cats:1,2,3mi", "9")
	    "call " A "search/tweets.json?" SEARCH_FIELDS AT SIGNED COUNT("1")
	    "call " A "search/tweets.json?" SEARCH_FIELDS AT "&max_id=7" SIGNED
	    STATE("1,2,3mi", "8") "done\n");
}

static void
an_incremental_run_goes_on_from_its_state(void **state)
{
	static const char *const left[] = { "cats.since_id", "41", NULL };
	static const struct testing_answer answers[] = {
		FOUND(TWEET("90") "," TWEET("50")), FOUND("") };
	/* A server that does not mind the id is stopped at it. */
	static const struct testing_answer known[] = {
		FOUND(TWEET("90") "," TWEET("41")) };
	struct testing_harvest h = { .type = "twitter_search",
		.message = "{" CATS ",\"options\":{\"incremental\":true},"
		KEYS "}", .state = left, .answers = answers, .answers_n = 2 };

	(void)state;
	testing_expect(&h, SEARCH("&since_id=41") COUNT("2")
	    SEARCH("&since_id=41&max_id=49") STATE("cats", "90") "done\n");
	h.answers = known;
	h.answers_n = 1;
	testing_expect(&h, SEARCH("&since_id=41") COUNT("2")
	    STATE("cats", "90") "done\n");
}

static void
a_limit_ends_the_run_behind_its_page(void **state)
{
	SEARCHES(CATS ",\"options\":{\"limit\":3}," KEYS,
	    FOUND(TWEET("9") "," TWEET("8")), FOUND(TWEET("7")));

	(void)state;
	testing_expect(&h, SEARCH("") COUNT("2") SEARCH("&max_id=7")
	    COUNT("1") STATE("cats", "9")
	    "info limit_reached: 3 tweets were found, and the limit is 3\n"
	    "done\n");
}

/* ---- Timelines --------------------------------------------------------- */

/* SFM's own harvest of it:
 * suites/sfm/messages/harvest-twitter1-timeline-priority. */
static void
accounts_are_read_one_after_the_other(void **state)
{
	ACCOUNTS("\"seeds\":[{\"id\":\"t1\",\"token\":\"ok\"},{\"id\":\"t2\","
	    "\"token\":\"old\",\"uid\":\"22\"},{\"id\":\"t3\",\"token\":"
	    "\"protected\"},{\"id\":\"t4\",\"token\":\"suspended\"},"
	    "{\"id\":\"t5\",\"token\":\"gone\"},{\"id\":\"t6\",\"token\":"
	    "\"gone2\",\"uid\":\"66\"}]," KEYS,
	    ACCOUNT_OF("11", "ok"), LIST(OF("11", "1011") ","
	    OF("11", "1010")), LIST(""),
	    ACCOUNT_OF("22", "renamed"), LIST(OF("22", "1022")), LIST(""),
	    { 200, "", "{\"id_str\":\"33\",\"screen_name\":\"protected\","
	    "\"protected\":true}" },
	    REFUSAL(403, "63", "User has been suspended."),
	    REFUSAL(404, "50", "User not found."),
	    REFUSAL(404, "50", "User not found."));

	(void)state;
	testing_expect(&h, NAMED("ok") "seed t1 uid=11 token=\n"
	    TIMELINE("11", "") COUNT("2") TIMELINE("11", "&max_id=1009")
	    STATE("timeline.11", "1011")
	    USER("22") "seed t2 uid= token=renamed\n"
	    TIMELINE("22", "") COUNT("1") TIMELINE("22", "&max_id=1021")
	    STATE("timeline.22", "1022")
	    NAMED("protected") "warning token_unauthorized seed=t3: account "
	    "protected is protected\nskip t3\n"
	    NAMED("suspended") "warning token_suspended seed=t4: account "
	    "suspended is suspended\nskip t4\n"
	    NAMED("gone") "warning token_not_found seed=t5: account gone does "
	    "not exist\nskip t5\n"
	    USER("66") "warning uid_not_found seed=t6: account 66 does not "
	    "exist\nskip t6\ndone\n");
}

static void
tweets_of_others_are_passed_over(void **state)
{
	ACCOUNTS(ADA "," KEYS, ACCOUNT_OF("7", "ada"),
	    LIST(OF("7", "9") "," OF("8", "6")), LIST(OF("8", "5")), LIST(""));

	(void)state;
	testing_expect(&h, NAMED("ada") FOUND_ADA
	    TIMELINE("7", "") COUNT("1") TIMELINE("7", "&max_id=5")
	    TIMELINE("7", "&max_id=4") STATE("timeline.7", "9") "done\n");
}

static void
accounts_may_vanish_meanwhile(void **state)
{
	ACCOUNTS("\"seeds\":[{\"id\":\"s1\",\"token\":\"ada\"},{\"id\":\"s2\","
	    "\"uid\":\"7\",\"token\":\"ada\"},{\"id\":\"s3\",\"uid\":\"7\","
	    "\"token\":\"ada\"}]," KEYS,
	    ACCOUNT_OF("7", "ada"), { 401, "", "{\"request\":\"\\/1.1\","
	    "\"error\":\"Not authorized.\"}" },
	    ACCOUNT_OF("7", "ada"), LIST(OF("7", "9")),
	    REFUSAL(404, "34", "Sorry, that page does not exist."),
	    ACCOUNT_OF("7", "ada"),
	    REFUSAL(403, "63", "User has been suspended."));

	(void)state;
	testing_expect_findings(&h, FOUND_ADA
	    "warning token_unauthorized seed=s1: account ada is protected\n"
	    "skip s1\n" COUNT("1")
	    "warning uid_not_found seed=s2: account 7 does not exist\nskip s2\n"
	    "warning uid_suspended seed=s3: account 7 is suspended\nskip s3\n"
	    "done\n");
}

/* ---- Pages that are not as they should be ------------------------------ */

static void
pages_may_be_in_any_order_and_overlap(void **state)
{
	SEARCHES(CATS "," KEYS, FOUND(TWEET("7") "," TWEET("9")),
	    FOUND(TWEET("9") "," TWEET("7") "," TWEET("5")), FOUND(""));

	(void)state;
	testing_expect(&h, SEARCH("") COUNT("2") SEARCH("&max_id=6")
	    COUNT("3") SEARCH("&max_id=4") STATE("cats", "9") "done\n");
}

static void
a_page_that_comes_twice_is_asked_for_again(void **state)
{
	ACCOUNTS(ADA "," KEYS, ACCOUNT_OF("7", "ada"), LIST(OF("7", "9")),
	    LIST(OF("7", "9")), LIST(OF("7", "8")), LIST(""));

	(void)state;
	testing_expect(&h, NAMED("ada") FOUND_ADA TIMELINE("7", "") COUNT("1")
	    TIMELINE("7", "&max_id=8") COUNT("1") "again 1\n"
	    TIMELINE("7", "&max_id=8") COUNT("1") TIMELINE("7", "&max_id=7")
	    STATE("timeline.7", "9") "done\n");
}

static void
json_of_another_kind_is_asked_for_again(void **state)
{
	ACCOUNTS(ADA "," KEYS, LIST(""), { 200, "", "{\"id_str\":\"x\"}" },
	    ACCOUNT_OF("7", "ada"), { 200, "", "{\"statuses\":[]}" },
	    LIST("null,{\"id_str\":\"x\",\"id\":null}"),
	    LIST("{\"id\":9},7"), LIST(""));

	(void)state;
	testing_expect_findings(&h, "again 1\nagain 4\n" FOUND_ADA
	    "again 1\nagain 4\n" COUNT("1")
	    "warning token_unknown_error seed=s1: account ada: 1 of 2 tweets of"
	    " a page have no id and are not counted\n"
	    STATE("timeline.7", "9") "done\n");
}

static void
urls_are_found_where_they_are_wanted(void **state)
{
#define ENTITIES(n) "\"entities\":{\"urls\":[{\"expanded_url\":\"https://a/" \
	n "\"}],\"media\":[{\"media_url\":\"http://m/" n "\"}]},"            \
	"\"extended_entities\":{\"media\":[{\"media_url\":\"http://m/" n     \
	"\"},{\"media_url\":\"http://e/" n "\"}]}"
	SEARCHES(CATS ",\"options\":{\"media\":true,\"web_resources\":true,"
	    "\"user_images\":true}," KEYS, FOUND("{\"id_str\":\"2\","
	    ENTITIES("1") ",\"user\":{\"profile_image_url\":\"http://u/1\","
	    "\"profile_banner_url\":\"https://u/2\","
	    "\"profile_background_image_url\":null},\"retweeted_status\":{"
	    ENTITIES("2") ",\"extended_tweet\":{" ENTITIES("3") "}},"
	    "\"quoted_status\":{" ENTITIES("4") "}}"
	    ",{\"id_str\":\"1\",\"quoted_status\":{" ENTITIES("5") "}}"));

	(void)state;
#define BOTH(n) "url https://a/" n "\nurl http://m/" n "\nurl http://m/" n   \
	"\nurl http://e/" n "\n"
	testing_expect_findings(&h, BOTH("1") "url http://u/1\n"
	    "url https://u/2\n" BOTH("2") BOTH("3") BOTH("5") COUNT("2")
	    STATE("cats", "2") "done\n");
}

/* ---- Refusals and waits ------------------------------------------------ */

static void
credentials_may_be_refused(void **state)
{
	(void)state;
	{
		SEARCHES(CATS "," KEYS,
		    REFUSAL(401, "32", "Could not authenticate you."));
		testing_expect_findings(&h, "fail harvest_Unauthorized: Twitter"
		    " refuses the credential: 401, Could not authenticate "
		    "you.\n");
	}
	{
		ACCOUNTS(ADA "," KEYS, ACCOUNT_OF("7", "ada"),
		    REFUSAL(401, "89", "Invalid or expired token."));
		testing_expect_findings(&h, FOUND_ADA "fail "
		    "harvest_Unauthorized: Twitter refuses the credential: 401"
		    ", Invalid or expired token.\n");
	}
	{
		ACCOUNTS(ADA "," KEYS, { 403, "", "<html>" });
		testing_expect_findings(&h, "fail harvest_Unauthorized: Twitter"
		    " refuses the credential: 403\n");
	}
}

static void
searches_may_be_refused(void **state)
{
	SEARCHES("\"seeds\":[{\"id\":\"s1\",\"token\":\"cats\"},{\"id\":"
	    "\"s2\",\"token\":\"owls\"}]," KEYS,
	    REFUSAL(403, "195", "Missing or invalid url parameter."),
	    FOUND(""));

	(void)state;
	testing_expect_findings(&h, "warning token_unknown_error seed=s1: "
	    "search cats is refused: 403, Missing or invalid url parameter.\n"
	    "skip s1\ndone\n");
}

static void
too_many_calls_are_waited_for(void **state)
{
	SEARCHES(CATS "," KEYS, { 429, "x-rate-limit-remaining: 0\r\n"
	    "X-Rate-Limit-Reset: 100\r\n", "" }, FOUND(""));

	(void)state;
	testing_expect(&h, SEARCH("") "again 109\n" SEARCH("") "done\n");
}

static void
orders_are_checked(void **state)
{
	(void)state;
	testing_refuse("twitter_search", "{" CATS ",\"credentials\":{"
	    "\"bearer_token\":\"b\"}}", "credentials_missing",
	    "credentials.consumer_key: it is missing");
	testing_refuse("twitter_search", "{\"seeds\":[{\"token\":{}}]," KEYS
	    "}", "bad_request",
	    "seeds[0].token: it has no query and no geocode");
	testing_refuse("twitter_user_timeline", "{" CATS ",\"options\":{"
	    "\"limit\":0}," KEYS "}", "bad_request", "options.limit: it is not"
	    " a whole number from 1 to 9223372036854775807");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_search_is_read_backward),
		cmocka_unit_test(places_have_a_state_of_their_own),
		cmocka_unit_test(an_incremental_run_goes_on_from_its_state),
		cmocka_unit_test(a_limit_ends_the_run_behind_its_page),
		cmocka_unit_test(accounts_are_read_one_after_the_other),
		cmocka_unit_test(tweets_of_others_are_passed_over),
		cmocka_unit_test(accounts_may_vanish_meanwhile),
		cmocka_unit_test(pages_may_be_in_any_order_and_overlap),
		cmocka_unit_test(a_page_that_comes_twice_is_asked_for_again),
		cmocka_unit_test(json_of_another_kind_is_asked_for_again),
		cmocka_unit_test(urls_are_found_where_they_are_wanted),
		cmocka_unit_test(credentials_may_be_refused),
		cmocka_unit_test(searches_may_be_refused),
		cmocka_unit_test(too_many_calls_are_waited_for),
		cmocka_unit_test(orders_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

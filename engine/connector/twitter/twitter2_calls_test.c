/* Recorded harvests of searches and timelines by API v2. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define A "https://api.twitter.com/2/"
#define BEARER "\"credentials\":{\"bearer_token\":\"b\"}"
#define KEYS "\"credentials\":{\"consumer_key\":\"c\",\"consumer_secret\":"  \
	"\"s\",\"access_token\":\"a\",\"access_token_secret\":\"t\"}"
#define FIELDS                                                               \
	"&expansions=author_id%2Cin_reply_to_user_id%2Creferenced_tweets.id" \
	"%2Creferenced_tweets.id.author_id%2Centities.mentions.username%2C"  \
	"attachments.poll_ids%2Cattachments.media_keys%2Cgeo.place_id%2C"    \
	"edit_history_tweet_ids&tweet.fields=attachments%2Cauthor_id%2C"     \
	"context_annotations%2Cconversation_id%2Ccreated_at%2Centities%2C"   \
	"geo%2Cid%2Cin_reply_to_user_id%2Clang%2Cpublic_metrics%2Ctext%2C"   \
	"possibly_sensitive%2Creferenced_tweets%2Creply_settings%2Csource"   \
	"%2Cwithheld%2Cedit_controls%2Cedit_history_tweet_ids&user.fields="  \
	"created_at%2Cdescription%2Centities%2Cid%2Clocation%2Cname%2C"      \
	"pinned_tweet_id%2Cprofile_image_url%2Cprotected%2Cpublic_metrics"   \
	"%2Curl%2Cusername%2Cverified%2Cverified_type%2Cwithheld&"           \
	"media.fields=alt_text%2Cduration_ms%2Cheight%2Cmedia_key%2C"        \
	"preview_image_url%2Ctype%2Curl%2Cwidth%2Cvariants%2Cpublic_metrics" \
	"&poll.fields=duration_minutes%2Cend_datetime%2Cid%2Coptions%2C"     \
	"voting_status&place.fields=contained_within%2Ccountry%2C"           \
	"country_code%2Cfull_name%2Cgeo%2Cid%2Cname%2Cplace_type"
#define B " bearer bearer_token"
#define APP " app consumer_key,consumer_secret from https://api.twitter.com" \
	"/oauth2/token"
#define SIGNED " oauth1 consumer_key,consumer_secret,access_token,"          \
	"access_token_secret"
#define RECENT(more) "call " A "tweets/search/recent?query=cats&"            \
	"max_results=100" more FIELDS B "\n"
#define ALL(more) "call " A "tweets/search/all?query=cats&max_results=100"   \
	more FIELDS B
#define USER(name) "call " A "users/by/username/" name                       \
	"?user.fields=protected" B "\n"
#define TIMELINE(id, more) "call " A "users/" id "/tweets?max_results=100"   \
	more FIELDS B "\n"

#define TWEET(id) "{\"id\":\"" id "\",\"text\":\"t\"}"
#define PAGE(tweets) { 200, "", "{\"data\":[" tweets "],\"meta\":{"          \
	"\"result_count\":1}}" }
#define PAGE_ON(tweets, next) { 200, "", "{\"data\":[" tweets "],\"meta\":"  \
	"{\"result_count\":1,\"next_token\":\"" next "\"}}" }
#define EMPTY { 200, "", "{\"meta\":{\"result_count\":0}}" }
#define ADA { 200, "", "{\"data\":{\"id\":\"7\",\"username\":\"ada\","       \
	"\"protected\":false}}" }
#define TROUBLE(title, detail) { 200, "", "{\"errors\":[{\"title\":\"" title \
	"\",\"detail\":\"" detail "\"}]}" }
#define INVALID(parameter) { 400, "", "{\"errors\":[{\"parameters\":{\""     \
	parameter "\":[\"x\"]},\"message\":\"Invalid\"}],\"title\":"         \
	"\"Invalid Request\",\"detail\":\"One or more parameters to your "   \
	"request was invalid.\"}" }

#define CATS "\"seeds\":[{\"id\":\"s1\",\"token\":\"cats\"}]"
#define SEED_ADA "\"seeds\":[{\"id\":\"s1\",\"token\":\"ada\"}]"
#define INCREMENTAL ",\"options\":{\"incremental\":true}"
#define COUNT(n) "count tweets " n "\n"
#define STATE(key, id) "state " key ".since_id=" id "\n"
#define FOUND_ADA "seed s1 uid=7 token=\n"

#define HARVEST(TYPE, MESSAGE, ...)                                          \
	const struct testing_answer answers[] = { __VA_ARGS__ };             \
	const struct testing_harvest h = { .type = TYPE,                     \
		.message = "{" MESSAGE "}", .answers = answers,              \
		.answers_n = ARRAY_LEN(answers) }
#define SEARCH(MESSAGE, ...) HARVEST("twitter_search_2", MESSAGE, __VA_ARGS__)
#define ACADEMIC(MESSAGE, ...)                                               \
	HARVEST("twitter_academic_search", MESSAGE, __VA_ARGS__)
#define ACCOUNT(MESSAGE, ...)                                                \
	HARVEST("twitter_user_timeline_2", MESSAGE, __VA_ARGS__)

/* ---- Searches ---------------------------------------------------------- */

/* SFM's own harvest of it: suites/sfm/messages/harvest-twitter2-search. */
static void
a_search_is_read_backward(void **state)
{
	SEARCH(CATS "," BEARER, PAGE_ON(TWEET("1600000000000000009") ","
	    TWEET("1600000000000000008"), "n"),
	    PAGE(TWEET("1600000000000000007")));

	(void)state;
	testing_expect(&h, RECENT("") COUNT("2") RECENT("&next_token=n")
	    COUNT("1") STATE("cats", "1600000000000000009") "done\n");
}

static void
nothing_found_leaves_no_state(void **state)
{
	SEARCH(CATS "," BEARER, EMPTY);

	(void)state;
	testing_expect(&h, RECENT("") "done\n");
}

static void
searches_are_run_one_after_the_other(void **state)
{
	SEARCH("\"seeds\":[{\"id\":\"s1\",\"token\":{\"query\":\"cats\","
	    "\"start_time\":\"2023-03-01 08:00:00+02:00\",\"end_time\":"
	    "\"2023-03-02T12:00:00.5Z\"}},{\"id\":\"s2\",\"token\":"
	    "\"from:a OR b\"}]," BEARER, PAGE(TWEET("9")), PAGE(TWEET("3")));

	(void)state;
	testing_expect(&h,
	    RECENT("&start_time=2023-03-01T06%3A00%3A00Z"
	    "&end_time=2023-03-02T12%3A00%3A00Z") COUNT("1")
	    STATE("cats", "9")
	    "call " A "tweets/search/recent?query=from%3Aa%20OR%20b&"
	    "max_results=100" FIELDS B "\n" COUNT("1")
	    STATE("from:a OR b", "3") "done\n");
}

static const char *const left[] = { "cats.since_id", "41",
	"timeline.7.since_id", "6", NULL };

static void
expect_incremental(const char *type, const char *seeds, const char *outcome)
{
	static const struct testing_answer answers[] = { EMPTY };
	char message[400];
	const struct testing_harvest h = { .type = type, .message = message,
		.state = left, .answers = answers, .answers_n = 1 };

	snprintf(message, sizeof(message), "{\"seeds\":[{\"token\":%s}]"
	    INCREMENTAL "," BEARER "}", seeds);
	testing_expect(&h, outcome);
}

static void
an_incremental_run_goes_on_from_its_state(void **state)
{
	(void)state;
	expect_incremental("twitter_search_2", "\"cats\"",
	    RECENT("&since_id=41") "done\n");
	/* It excludes both dates. */
	expect_incremental("twitter_search_2", "{\"query\":\"cats\","
	    "\"start_time\":\"2023-03-01\",\"end_time\":\"2023-03-02\"}",
	    RECENT("&since_id=41") "done\n");
	expect_incremental("twitter_academic_search", "\"cats\"",
	    ALL("&since_id=41") "\ndone\n");
}

static void
state_that_is_too_old_is_left_out(void **state)
{
	static const struct testing_answer answers[] = { INVALID("since_id"),
		PAGE(TWEET("90")), EMPTY };
	const struct testing_harvest h = { .type = "twitter_search_2",
		.message = "{\"seeds\":[{\"id\":\"s1\",\"token\":\"cats\"},{"
		"\"token\":\"cats\"}]" INCREMENTAL "," BEARER "}",
		.state = left, .answers = answers, .answers_n = 3 };

	(void)state;
	testing_expect(&h, RECENT("&since_id=41")
	    "warning partial_posts seed=s1: search cats: tweets since the last "
	    "run may be missing, as it was too long ago\n"
	    RECENT("") COUNT("1") STATE("cats", "90")
	    RECENT("&since_id=41") "done\n");
}

static void
a_beginning_that_is_too_old_is_left_out(void **state)
{
	SEARCH("\"seeds\":[{\"id\":\"s1\",\"token\":{\"query\":\"cats\","
	    "\"start_time\":\"2023-03-01\"}}]," BEARER, INVALID("start_time"),
	    EMPTY);

	(void)state;
	testing_expect(&h, RECENT("&start_time=2023-03-01T00%3A00%3A00Z")
	    "warning partial_posts seed=s1: search cats: tweets are missing, "
	    "as its beginning is too long ago\n" RECENT("") "done\n");
}

static void
all_years_are_searched_once_a_second(void **state)
{
	ACADEMIC("\"seeds\":[{\"token\":\"cats\"},{\"token\":{\"query\":"
	    "\"cats\",\"geocode\":\"-77.04 38.89 10mi\",\"start_time\":"
	    "\"2010-01-01\"}}]," BEARER, PAGE_ON(TWEET("9"), "n"),
	    PAGE(TWEET("8")), PAGE(TWEET("7")));

	(void)state;
#define SINCE "&start_time=2006-03-21T00%3A00%3A00Z"
	testing_expect(&h, ALL(SINCE) "\n" COUNT("1")
	    ALL("&next_token=n" SINCE) " from=2\n" COUNT("1")
	    STATE("cats", "9")
	    "call " A "tweets/search/all?query=cats%20point_radius%3A%5B-77.04"
	    "%2038.89%2010mi%5D&max_results=100&start_time=2010-01-01T00%3A00"
	    "%3A00Z" FIELDS B " from=3\n" COUNT("1")
	    STATE("cats:-77.04 38.89 10mi", "7") "done\n");
}

static void
limits_end_lists_and_runs(void **state)
{
	(void)state;
	{
		/* suites/sfm/messages/harvest-twitter2-search-limit. */
		SEARCH("\"seeds\":[{\"id\":\"s1\",\"token\":{\"query\":"
		    "\"cats\",\"limit\":1}},{\"token\":\"cats\"}]," BEARER,
		    PAGE_ON(TWEET("9") "," TWEET("8"), "n"), EMPTY);
		testing_expect(&h, RECENT("") COUNT("2") STATE("cats", "9")
		    "info limit_reached seed=s1: 2 tweets were found, and the "
		    "limit is 1\n" RECENT("") "done\n");
	}
	{
		SEARCH("\"seeds\":[{\"token\":\"cats\"},{\"token\":\"owls\"}],"
		    "\"options\":{\"limit\":3}," BEARER,
		    PAGE_ON(TWEET("9") "," TWEET("8"), "n"),
		    PAGE_ON(TWEET("7"), "o"));
		testing_expect_findings(&h, COUNT("2") COUNT("1")
		    STATE("cats", "9") "info limit_reached: 3 tweets were found"
		    ", and the limit is 3\ndone\n");
	}
}

/* ---- Timelines --------------------------------------------------------- */

static void
an_account_is_found_and_read(void **state)
{
	ACCOUNT("\"seeds\":[{\"id\":\"s1\",\"token\":\"@ADA\"},{\"id\":\"s2\","
	    "\"token\":\"old\",\"uid\":\"22\"},{\"id\":\"s3\",\"uid\":\"33\"}],"
	    BEARER, ADA, PAGE_ON(TWEET("1011"), "n"), PAGE(TWEET("1010")),
	    { 200, "", "{\"data\":{\"id\":\"22\",\"username\":\"new\"}}" },
	    PAGE(TWEET("1022")),
	    { 200, "", "{\"data\":{\"id\":\"33\",\"username\":\"eve\"}}" },
	    EMPTY);

	(void)state;
	testing_expect(&h, USER("ADA") FOUND_ADA
	    TIMELINE("7", "") COUNT("1")
	    TIMELINE("7", "&pagination_token=n") COUNT("1")
	    STATE("timeline.7", "1011")
	    "call " A "users/22?user.fields=protected" B "\n"
	    "seed s2 uid= token=new\n"
	    TIMELINE("22", "") COUNT("1") STATE("timeline.22", "1022")
	    "call " A "users/33?user.fields=protected" B "\n"
	    "seed s3 uid= token=eve\n" TIMELINE("33", "") "done\n");
}

static void
a_timeline_goes_on_from_its_state(void **state)
{
	static const struct testing_answer answers[] = { ADA, PAGE("") };
	const struct testing_harvest h = { .type = "twitter_user_timeline_2",
		.message = "{" SEED_ADA INCREMENTAL "," BEARER "}",
		.state = left, .answers = answers, .answers_n = 2 };

	(void)state;
	testing_expect(&h, USER("ada") FOUND_ADA
	    TIMELINE("7", "&since_id=6") "done\n");
}

static void
accounts_that_cannot_be_read_are_passed_over(void **state)
{
	ACCOUNT("\"seeds\":[{\"id\":\"t3\",\"token\":\"protected\"},"
	    "{\"id\":\"t4\",\"token\":\"suspended\"},"
	    "{\"id\":\"t5\",\"token\":\"gone\"},"
	    "{\"id\":\"t6\",\"token\":\"gone2\",\"uid\":\"66\"},"
	    "{\"id\":\"t7\",\"token\":\"no name\"},"
	    "{\"id\":\"t8\",\"token\":\"odd\"},{\"id\":\"t9\",\"uid\":\"9\"}],"
	    BEARER, { 200, "", "{\"data\":{\"id\":\"33\",\"username\":"
	    "\"protected\",\"protected\":true}}" },
	    TROUBLE("Forbidden", "User has been suspended: [suspended]."),
	    TROUBLE("Not Found Error", "Could not find user with usernames: "
	    "[gone]."), { 404, "", "" }, INVALID("username"),
	    TROUBLE("Odd", "?"), { 200, "", "{\"errors\":[{\"detail\":"
	    "\"Could not find user with ids: [9].\"}]}" });

	(void)state;
	testing_expect_findings(&h,
	    "warning token_unauthorized seed=t3: account protected is protected"
	    "\nskip t3\n"
	    "warning token_suspended seed=t4: account suspended is suspended\n"
	    "skip t4\n"
	    "warning token_not_found seed=t5: account gone does not exist\n"
	    "skip t5\n"
	    "warning uid_not_found seed=t6: account 66 does not exist\nskip t6"
	    "\nwarning token_not_found seed=t7: account no name does not exist"
	    "\nskip t7\n"
	    "warning token_unknown_error seed=t8: account odd cannot be "
	    "harvested\nskip t8\n"
	    "warning uid_not_found seed=t9: account 9 does not exist\nskip t9\n"
	    "done\n");
}

static void
accounts_may_vanish_meanwhile(void **state)
{
	ACCOUNT("\"seeds\":[{\"id\":\"s1\",\"uid\":\"7\",\"token\":\"ada\"},"
	    "{\"id\":\"s2\",\"uid\":\"7\",\"token\":\"ada\"},{\"id\":\"s3\","
	    "\"uid\":\"7\",\"token\":\"ada\"}]," BEARER, ADA,
	    TROUBLE("Authorization Error", "Sorry, you are not authorized to "
	    "see the user with id: [7]."), ADA, PAGE_ON(TWEET("9"), "n"),
	    TROUBLE("Not Found Error", "Could not find user with id: [7]."),
	    ADA, { 404, "", "{}" });

	(void)state;
	testing_expect_findings(&h,
	    "warning uid_unauthorized seed=s1: account 7 is protected\n"
	    "skip s1\n" COUNT("1")
	    "warning uid_not_found seed=s2: account 7 does not exist\nskip s2\n"
	    "warning uid_not_found seed=s3: account 7 does not exist\nskip s3\n"
	    "done\n");
}

/* ---- Pages that are not as they should be ------------------------------ */

static void
a_page_that_comes_twice_may_lead_on(void **state)
{
	SEARCH(CATS "," BEARER, PAGE_ON(TWEET("9"), "n"),
	    PAGE_ON(TWEET("9"), "n"), PAGE_ON(TWEET("8"), "n"),
	    PAGE_ON(TWEET("9") "," TWEET("7"), "o"),
	    PAGE_ON(TWEET("7"), "p"), PAGE(TWEET("6")));

	(void)state;
	/* What leads to itself is asked for again. */
	testing_expect(&h, RECENT("") COUNT("1")
	    RECENT("&next_token=n") COUNT("1") "again 1\n"
	    RECENT("&next_token=n") COUNT("1") "again 4\n"
	    RECENT("&next_token=n") COUNT("2")
	    RECENT("&next_token=o") COUNT("1")
	    RECENT("&next_token=p") COUNT("1") STATE("cats", "9") "done\n");
}

static void
a_list_that_leads_back_is_an_error(void **state)
{
	SEARCH(CATS "," BEARER, PAGE_ON(TWEET("9"), "n"),
	    PAGE_ON(TWEET("8"), "o"), PAGE_ON(TWEET("9"), "n"),
	    PAGE_ON(TWEET("8"), "o"), PAGE_ON(TWEET("9"), "n"),
	    PAGE_ON(TWEET("8"), "o"), PAGE_ON(TWEET("9"), "n"),
	    PAGE_ON(TWEET("8"), "o"));

	(void)state;
	testing_expect(&h, RECENT("") COUNT("1")
	    RECENT("&next_token=n") COUNT("1")
	    RECENT("&next_token=o") COUNT("1")
	    RECENT("&next_token=n") COUNT("1")
	    RECENT("&next_token=o") COUNT("1")
	    RECENT("&next_token=n") COUNT("1")
	    RECENT("&next_token=o") COUNT("1")
	    RECENT("&next_token=n") COUNT("1")
	    "fail unknown_error: Twitter sent a page that leads "
	    "nowhere 6 times, search cats\n");
}

static void
an_empty_page_with_a_cursor_is_no_end(void **state)
{
	SEARCH(CATS "," BEARER, { 200, "", "{\"meta\":{\"result_count\":0,"
	    "\"next_token\":\"n\"}}" }, PAGE(TWEET("9")));

	(void)state;
	testing_expect(&h, RECENT("") RECENT("&next_token=n") COUNT("1")
	    STATE("cats", "9") "done\n");
}

static void
empty_pages_without_end_are_an_error(void **state)
{
	static struct testing_answer answers[100];
	static char bodies[100][60];
	const struct testing_harvest h = { .type = "twitter_search_2",
		.message = "{" CATS "," BEARER "}", .answers = answers,
		.answers_n = 100 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(bodies[i], sizeof(bodies[i]),
		    "{\"meta\":{\"next_token\":\"t%d\"}}", i);
		answers[i] = (struct testing_answer){ 200, "", bodies[i] };
	}
	testing_expect_findings(&h, "fail unknown_error: Twitter sent 100 pages"
	    " in a row without tweets, and each leads to another\n");
}

static void
tweets_without_an_id_are_told(void **state)
{
	SEARCH(CATS "," BEARER, PAGE(TWEET("9") ",{\"id\":8},null,{\"id\":"
	    "\"x\"},{\"id\":null},{\"id\":-1}"));

	(void)state;
	testing_expect(&h, RECENT("") COUNT("2")
	    "warning token_unknown_error seed=s1: search cats: 4 of 6 tweets of"
	    " a page have no id and are not counted\n"
	    STATE("cats", "9") "done\n");
}

static void
json_of_another_kind_is_asked_for_again(void **state)
{
	ACCOUNT(SEED_ADA "," BEARER, { 200, "", "[]" }, { 200, "",
	    "{\"data\":{\"id\":\"x\"}}" }, ADA, { 200, "", "7" },
	    { 200, "", "{\"data\":7,\"meta\":{}}" }, EMPTY);

	(void)state;
	testing_expect_findings(&h, "again 1\nagain 4\n" FOUND_ADA
	    "again 1\nagain 4\ndone\n");
}

static void
a_cursor_that_has_expired_begins_anew(void **state)
{
	SEARCH(CATS "," BEARER, PAGE_ON(TWEET("9"), "n"),
	    INVALID("next_token"), PAGE_ON(TWEET("10") "," TWEET("9"), "m"),
	    PAGE(TWEET("8")));

	(void)state;
	testing_expect(&h, RECENT("") COUNT("1") RECENT("&next_token=n")
	    RECENT("") COUNT("2") RECENT("&next_token=m") COUNT("1")
	    STATE("cats", "10") "done\n");
}

static void
urls_are_found_where_they_are_wanted(void **state)
{
#define WITH_URLS { 200, "", "{\"data\":[{\"id\":\"9\",\"entities\":{"       \
	"\"urls\":[{\"expanded_url\":\"https://a/1\"},{\"expanded_url\":"    \
	"\"https://twitter.com/x/status/1\"},{\"expanded_url\":"             \
	"\"https://twitter.com/x/status/1/photo/1\"},{\"expanded_url\":"     \
	"\"https://twitter.com/x/status/1/more\"},{\"expanded_url\":7},"     \
	"{\"expanded_url\":\"ftp://a\"}]}}],\"includes\":{\"tweets\":["      \
	"{\"entities\":{\"urls\":[{\"expanded_url\":\"http://b/2\"}]}}],"    \
	"\"media\":[{\"url\":\"https://m/1\"},{\"preview_image_url\":"       \
	"\"https://m/2\"}],\"users\":[{\"profile_image_url\":"               \
	"\"https://u/1\"}]},\"meta\":{}}" }
	(void)state;
	{
		SEARCH(CATS "," BEARER, WITH_URLS);
		testing_expect_findings(&h, COUNT("1") STATE("cats", "9")
		    "done\n");
	}
	{
		SEARCH(CATS ",\"options\":{\"media\":true,\"web_resources\":"
		    "true,\"user_images\":\"true\"}," BEARER, WITH_URLS);
		testing_expect_findings(&h, "url https://a/1\n"
		    "url https://twitter.com/x/status/1/more\n"
		    "url http://b/2\nurl https://m/1\nurl https://m/2\n"
		    "url https://u/1\n" COUNT("1") STATE("cats", "9")
		    "done\n");
	}
}

/* ---- Credentials and refusals ------------------------------------------ */

static void
tokens_of_applications_may_be_refused(void **state)
{
#define BY(auth) "call " A "tweets/search/recent?query=cats&max_results=100" \
	FIELDS auth "\n"
	(void)state;
	{
		SEARCH(CATS "," KEYS, PAGE(TWEET("9")));
		testing_expect(&h, BY(APP) COUNT("1") STATE("cats", "9")
		    "done\n");
	}
	{
		/* Then a user's is taken, for the rest of the run. */
		SEARCH("\"seeds\":[{\"token\":\"cats\"},{\"token\":\"cats\"}],"
		    KEYS, { 403, "", "" }, EMPTY, EMPTY);
		testing_expect(&h, BY(APP) BY(SIGNED) BY(SIGNED) "done\n");
	}
	{
		SEARCH(CATS "," KEYS, { 401, "", "" }, { 401, "", "{}" });
		testing_expect(&h, BY(APP) BY(SIGNED)
		    "fail harvest_Unauthorized: Twitter refuses: 401\n");
	}
	{
		SEARCH(CATS ",\"credentials\":{\"consumer_key\":\"c\","
		    "\"consumer_secret\":\"s\"}", { 403, "", "" });
		testing_expect(&h, BY(APP)
		    "fail harvest_Unauthorized: Twitter refuses: 403\n");
	}
}

static void
the_newer_host_has_its_own_token(void **state)
{
	SEARCH(CATS ",\"options\":{\"host\":\"api.x.com\"}," KEYS, EMPTY);

	(void)state;
	testing_expect(&h, "call https://api.x.com/2/tweets/search/recent?"
	    "query=cats&max_results=100" FIELDS " app consumer_key,"
	    "consumer_secret from https://api.x.com/oauth2/token\ndone\n");
}

#define REFUSED(ANSWER, outcome)                                             \
	do {                                                                 \
		SEARCH(CATS "," BEARER, ANSWER);                             \
		testing_expect_findings(&h, "fail " outcome "\n");           \
	} while (0)

static void
failures_have_the_title_of_the_answer(void **state)
{
	/* suites/sfm/messages/harvest-twitter2-search-unauthorized. */
	const struct testing_answer unauthorized = { 401, "", "{\"title\":"
	    "\"Unauthorized\",\"type\":\"about:blank\",\"status\":401,"
	    "\"detail\":\"Unauthorized\"}" },
	    forbidden = { 403, "", "{\"title\":\"Client Forbidden\","
	    "\"detail\":\"When authenticating\\nrequests\",\"reason\":"
	    "\"client-not-enrolled\"}" },
	    capped = { 429, "", "{\"title\":\"UsageCapExceeded\",\"detail\":"
	    "\"Usage cap exceeded: Monthly product cap\"}" },
	    odd = { 403, "", "{\"title\":\"a\\nb\"}" }, plain = { 404, "", "" },
	    invalid = INVALID("query");

	(void)state;
	REFUSED(unauthorized, "harvest_Unauthorized: Twitter refuses: 401, "
	    "Unauthorized, Unauthorized");
	REFUSED(forbidden, "harvest_Client_Forbidden: Twitter refuses: 403, "
	    "Client Forbidden, When authenticating requests");
	REFUSED(capped, "harvest_UsageCapExceeded: Twitter refuses: 429, "
	    "UsageCapExceeded, Usage cap exceeded: Monthly product cap");
	REFUSED(odd, "harvest_Unauthorized: Twitter refuses: 403, a b");
	REFUSED(plain, "unknown_error: Twitter refuses: 404");
	REFUSED(invalid, "harvest_Invalid_Request: Twitter refuses: 400, "
	    "Invalid Request, One or more parameters to your request was "
	    "invalid., Invalid");
}

static void
too_many_calls_are_waited_for(void **state)
{
#define LIMIT(left, reset) "x-rate-limit-remaining: " left "\r\n"            \
	"x-rate-limit-reset: " reset "\r\n"
#define TOO_MANY "{\"title\":\"Too Many Requests\",\"status\":429}"
	SEARCH(CATS "," BEARER, { 429, LIMIT("0", "301"), TOO_MANY },
	    { 429, LIMIT("2", "301"), TOO_MANY },
	    { 429, LIMIT("0", "99999999"), "" },
	    { 429, LIMIT("0", "1"), "" }, EMPTY);

	(void)state;
	testing_expect(&h, RECENT("") "again 310\n" RECENT("") "again 10\n"
	    RECENT("") "again 901\n" RECENT("") "again 10\n" RECENT("")
	    "done\n");
}

static void
a_server_may_say_when_to_try_again(void **state)
{
	SEARCH(CATS "," BEARER, { 429, "Retry-After: 1\r\n", "" },
	    /* The second answer comes a second later. */
	    { 429, "Retry-After: Thu, 01 Jan 1970 00:05:01 GMT\r\n", "" },
	    { 429, "Retry-After: soon\r\n", "" }, EMPTY);

	(void)state;
	testing_expect_findings(&h, "again 11\nagain 309\nagain 240\n"
	    "done\n");
}

static void
without_a_date_waits_grow(void **state)
{
#define BARE { 429, "", "" }
	SEARCH("\"seeds\":[{\"token\":\"cats\"},{\"token\":\"cats\"}]," BEARER,
	    BARE, BARE, BARE, BARE, BARE, BARE, EMPTY, BARE, EMPTY);

	(void)state;
	testing_expect_findings(&h, "again 60\nagain 120\nagain 240\n"
	    "again 480\nagain 900\nagain 900\nagain 60\ndone\n");
}

/* ---- Orders ------------------------------------------------------------ */

static void
orders_are_checked(void **state)
{
	(void)state;
	testing_refuse("twitter_search_2", "{" CATS "}", "credentials_missing",
	    "credentials.consumer_key: it is missing");
	testing_refuse("twitter_search_2", "{" CATS ",\"credentials\":{"
	    "\"consumer_key\":\"c\",\"bearer_token\":\"\"}}",
	    "credentials_missing", "credentials.consumer_secret: it is "
	    "missing");
	testing_refuse("twitter_search_2", "{\"seeds\":[{\"token\":{\"query\":"
	    "\"a\",\"geocode\":\"1 2 3mi\"}}]," BEARER "}", "bad_request",
	    "seeds[0].token: it has a field that twitter_search_2 does not know"
	    ": geocode");
	testing_refuse("twitter_academic_search", "{\"seeds\":[{\"token\":"
	    "\"a\"},{\"token\":{\"query\":\"a\",\"end_time\":\"soon\"}}],"
	    BEARER "}", "bad_request",
	    "seeds[1].token.end_time: it is no date");
	testing_refuse("twitter_user_timeline_2", "{\"seeds\":[{\"uid\":"
	    "\"../x\"}]," BEARER "}", "bad_request",
	    "seeds[0].uid: it is not an account's id");
	testing_refuse("twitter_user_timeline_2", "{\"seeds\":[{\"token\":"
	    "\"@\"}]," BEARER "}", "bad_request",
	    "seeds[0].token: it is empty");
	testing_refuse("twitter_user_timeline_2", "{" SEED_ADA ",\"options\":"
	    "{\"host\":\"evil.example\"}," BEARER "}", "bad_request",
	    "options.host: it is none of: api.twitter.com api.x.com");
}

static void
damaged_checkpoints_are_refused(void **state)
{
	static const struct connector_seed seed = { .token = { "ada", 3 } };
	const struct connector *c =
	    connector_find(STR("twitter_user_timeline_2"));
	const struct connector_order o = { .connector = c, .seeds = &seed,
		.seeds_n = 1 };
	struct connector_run *run;
	struct buf saved = BUF_INIT;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(c->open(&o, &run, NULL), OK);
	c->save(run, &saved);
	assert_int_equal(c->load(run, buf_str(&saved), NULL), OK);
	for (size_t n = 0; n < saved.n; n++)
		assert_int_equal(c->load(run, str_cut(buf_str(&saved), 0, n),
		    &w), ERR_CORRUPT);
	saved.p[1] = 1;                  /* a page of no account */
	assert_int_equal(c->load(run, buf_str(&saved), &w), ERR_CORRUPT);
	c->close(&run);
	buf_free(&saved);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_search_is_read_backward),
		cmocka_unit_test(nothing_found_leaves_no_state),
		cmocka_unit_test(searches_are_run_one_after_the_other),
		cmocka_unit_test(an_incremental_run_goes_on_from_its_state),
		cmocka_unit_test(state_that_is_too_old_is_left_out),
		cmocka_unit_test(a_beginning_that_is_too_old_is_left_out),
		cmocka_unit_test(all_years_are_searched_once_a_second),
		cmocka_unit_test(limits_end_lists_and_runs),
		cmocka_unit_test(an_account_is_found_and_read),
		cmocka_unit_test(a_timeline_goes_on_from_its_state),
		cmocka_unit_test(accounts_that_cannot_be_read_are_passed_over),
		cmocka_unit_test(accounts_may_vanish_meanwhile),
		cmocka_unit_test(a_page_that_comes_twice_may_lead_on),
		cmocka_unit_test(a_list_that_leads_back_is_an_error),
		cmocka_unit_test(an_empty_page_with_a_cursor_is_no_end),
		cmocka_unit_test(empty_pages_without_end_are_an_error),
		cmocka_unit_test(tweets_without_an_id_are_told),
		cmocka_unit_test(json_of_another_kind_is_asked_for_again),
		cmocka_unit_test(a_cursor_that_has_expired_begins_anew),
		cmocka_unit_test(urls_are_found_where_they_are_wanted),
		cmocka_unit_test(tokens_of_applications_may_be_refused),
		cmocka_unit_test(the_newer_host_has_its_own_token),
		cmocka_unit_test(failures_have_the_title_of_the_answer),
		cmocka_unit_test(too_many_calls_are_waited_for),
		cmocka_unit_test(a_server_may_say_when_to_try_again),
		cmocka_unit_test(without_a_date_waits_grow),
		cmocka_unit_test(orders_are_checked),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Streams of both APIs: lines, ends, failures, gaps, rules, restarts. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define KEYS "\"credentials\":{\"consumer_key\":\"c\",\"consumer_secret\":"  \
	"\"s\",\"access_token\":\"a\",\"access_token_secret\":\"t\"}"
#define SIGNED " oauth1 consumer_key,consumer_secret,access_token,"          \
	"access_token_secret silence=90"
#define SAMPLE "call https://stream.twitter.com/1.1/statuses/sample.json"    \
	SIGNED
#define FILTER(form) "call https://stream.twitter.com/1.1/statuses/"         \
	"filter.json form " form "&stall_warnings=true" SIGNED
#define COUNT "count tweets 1\n"
#define NO_TWEET "warning unknown_error: a line of the stream is no tweet, " \
	"and is not counted\n"

#define ANSWER(mark, status, text)                                           \
	{ TESTING_ANSWER, mark, status, NULL, text }
#define LINE_AT(mark, text) { TESTING_EVENT, mark, 0, NULL, text }
#define LINE(text) LINE_AT(0, text)
#define END ANSWER(0, 200, NULL)
#define LOST ANSWER(0, 0, NULL)
#define CUT { TESTING_CUT, 0, 200, NULL, NULL }
#define STATUS(status) ANSWER(0, status, "{}")
#define RESTART { TESTING_RESTART, 0, 0, NULL, NULL }
#define TWEET LINE("{\"id_str\":\"7\"}")

static void
expect(const char *type, const char *message, const struct testing_step *steps,
    size_t n, const char *outcome)
{
	char whole[3000];

	snprintf(whole, sizeof(whole), "{%s}", message);
	testing_expect_steps(type, whole, steps, n, outcome);
}
#define EXPECT(type, message, outcome, ...)                                  \
	do {                                                                 \
		const struct testing_step steps[] = { __VA_ARGS__ };         \
		expect(type, message, steps, ARRAY_LEN(steps), outcome);     \
	} while (0)
#define SAMPLED(outcome, ...)                                                \
	EXPECT("twitter_sample", KEYS, outcome, __VA_ARGS__)

/* ---- Version 1.1 ------------------------------------------------------- */

static void
tweets_come_as_lines(void **state)
{
	(void)state;
	SAMPLED(SAMPLE "\n" COUNT COUNT "deleted 5\n" NO_TWEET NO_TWEET,
	    TWEET, LINE("{\"id_str\":\"9007199254740993\",\"id\":"
	    "9007199254740993}\r"),
	    LINE("{\"delete\":{\"status\":{\"id_str\":\"5\",\"id\":5}}}"),
	    LINE("{\"limit\":{\"track\":1234}}"),
	    LINE("{\"delete\":{\"status\":{\"id_str\":\"../x\"}}}"),
	    LINE("{\"id_str\":"), LINE("[7]"), LINE("{\"id_str\":null}"));
}

static void
urls_are_found_where_they_are_wanted(void **state)
{
	(void)state;
	EXPECT("twitter_sample", "\"options\":{\"media\":true}," KEYS,
	    SAMPLE "\n" COUNT "url http://m/1\n",
	    LINE("{\"id_str\":\"7\",\"entities\":{\"media\":[{\"media_url\":"
	    "\"http://m/1\"}]}}"));
}

static void
filters_are_joined(void **state)
{
	(void)state;
	EXPECT("twitter_filter", "\"seeds\":[{\"token\":{\"track\":\"cats,owls"
	    "\",\"language\":\"en\"}}]," KEYS,
	    FILTER("track=cats%2Cowls&language=en") "\n" COUNT, TWEET);
#define JOINED FILTER("track=a%20b%2Cc&follow=7%2C8%2C9&locations=-1%2C2%2C" \
	"3%2C4") "\n"
	EXPECT("twitter_filter", "\"seeds\":[{\"token\":\"a b\"},{\"token\":{"
	    "\"follow\":\"7,8\",\"track\":\"c\"}},{\"token\":{\"follow\":\"9\","
	    "\"locations\":\"-1,2,3,4\"}}]," KEYS,
	    JOINED JOINED COUNT, RESTART, TWEET);
}

static void
a_stream_that_ends_is_opened_again(void **state)
{
	(void)state;
	SAMPLED(SAMPLE "\n" COUNT SAMPLE " from=3\n" COUNT SAMPLE " from=5\n",
	    TWEET, END, TWEET, LOST);
}

/* They say nothing of Twitter, and neither forgive what came before. */
static void
streams_that_we_cut_are_no_failures(void **state)
{
	(void)state;
	SAMPLED(SAMPLE "\n" SAMPLE " from=2\n" SAMPLE " from=3\n"
	    SAMPLE " from=4\n" SAMPLE " from=5\n" SAMPLE " from=6\n"
	    SAMPLE " from=7\n", CUT, CUT, CUT, CUT, CUT, CUT);
	SAMPLED(SAMPLE "\n" SAMPLE " from=2\n" SAMPLE " from=4\n"
	    SAMPLE " from=6\n" SAMPLE " from=8\n" SAMPLE " from=9\n"
	    "fail unknown_error: Twitter's stream was lost 5 times in a row\n",
	    LOST, LOST, LOST, LOST, CUT, LOST);
}

static void
failures_wait_longer_each_time(void **state)
{
	(void)state;
	SAMPLED(SAMPLE "\n" SAMPLE " from=2\n" SAMPLE " from=4\n"
	    SAMPLE " from=6\n" SAMPLE " from=8\n"
	    "fail unknown_error: Twitter's stream was lost 5 times in a row\n",
	    LOST, LOST, LOST, LOST, LOST);
	SAMPLED(SAMPLE "\n" SAMPLE " from=6\n" SAMPLE " from=12\n"
	    SAMPLE " from=18\n" SAMPLE " from=24\n"
	    "fail unknown_error: Twitter refuses the stream: 503\n",
	    STATUS(503), STATUS(503), STATUS(503), STATUS(503), STATUS(503));
	SAMPLED(SAMPLE "\n" SAMPLE " from=61\n" SAMPLE " from=122\n" COUNT
	    "warning stream_gap: tweets may be missing, as there was no stream "
	    "for 121 s\n" SAMPLE " from=5\n",
	    STATUS(420), STATUS(420), TWEET, END);
	SAMPLED(SAMPLE "\n" SAMPLE " from=2\n" SAMPLE " from=4\n"
	    SAMPLE " from=6\n" SAMPLE " from=8\n"
	    "fail unknown_error: Twitter's stream ended 5 times in a row "
	    "without a line\n", END, END, END, END, END);
}

static void
a_line_ends_a_row_of_failures(void **state)
{
	(void)state;
	SAMPLED(SAMPLE "\n" SAMPLE " from=2\n" SAMPLE " from=4\n"
	    SAMPLE " from=6\n" SAMPLE " from=8\n" COUNT SAMPLE " from=7\n"
	    SAMPLE " from=8\n",
	    LOST, LOST, LOST, LOST, TWEET, LOST, LOST);
}

static void
gaps_are_told_once(void **state)
{
	(void)state;
	SAMPLED(SAMPLE "\n" COUNT SAMPLE " from=3\n" SAMPLE " from=63\n" COUNT
	    "warning stream_gap: tweets may be missing, as there was no stream "
	    "for 61 s\n" SAMPLE " from=6\n" COUNT SAMPLE " from=8\n",
	    TWEET, END, STATUS(420), TWEET, END, TWEET, END);
}

static void
restarts_begin_at_once(void **state)
{
	(void)state;
	/* When the stream was lost with the process, nobody knows. */
	SAMPLED(SAMPLE "\n" COUNT SAMPLE "\n" COUNT SAMPLE " from=5\n"
	    SAMPLE " from=5\n" COUNT SAMPLE " from=8\n",
	    TWEET, RESTART, TWEET, END, RESTART, TWEET, END);
	SAMPLED(SAMPLE "\n" SAMPLE " from=61\n" SAMPLE " from=61\n"
	    SAMPLE " from=123\n", STATUS(420), RESTART, STATUS(420));
	SAMPLED(SAMPLE "\n" COUNT SAMPLE " from=3\n" SAMPLE " from=63\n" COUNT
	    SAMPLE " from=63\n" COUNT SAMPLE " from=8\n",
	    TWEET, END, STATUS(420), TWEET, RESTART, TWEET, END);
	/* Nor do failures count that were before its last line. */
	SAMPLED(SAMPLE "\n" SAMPLE " from=2\n" SAMPLE " from=4\n"
	    SAMPLE " from=6\n" SAMPLE " from=8\n" COUNT SAMPLE " from=8\n"
	    SAMPLE " from=8\n", LOST, LOST, LOST, LOST, TWEET, RESTART, LOST);
}

static void
refusals_end_the_run(void **state)
{
	(void)state;
	SAMPLED(SAMPLE "\nfail harvest_Unauthorized: Twitter refuses the stream"
	    ": 401\n", STATUS(401), RESTART);
	SAMPLED(SAMPLE "\nfail unknown_error: Twitter refuses the stream: 406, "
	    "Parameter track item too long\n", ANSWER(0, 406,
	    "{\"errors\":[{\"code\":1,\"message\":\"Parameter track item too "
	    "long\"}]}"));
}

static void
orders_are_checked(void **state)
{
	(void)state;
	testing_refuse("twitter_filter", "{\"seeds\":[{\"token\":\"a\"},"
	    "{\"token\":{\"language\":\"en\"}}]," KEYS "}", "bad_request",
	    "seeds[1].token: it has no track, no follow and no locations");
	testing_refuse("twitter_sample", "{\"seeds\":[{\"token\":\"a\"}],"
	    KEYS "}", "bad_request",
	    "seeds: twitter_sample takes at most 0, and there is 1");
	testing_refuse("twitter_filter_stream", "{\"seeds\":[{\"token\":{"
	    "\"tag\":\"x\"}}],\"credentials\":{\"bearer_token\":\"b\"}}",
	    "bad_request", "seeds[0].token.rule: it is missing");
}

/* ---- Version 2 --------------------------------------------------------- */

enum { RULES, DELETE, ADD, STREAM };
#define BEARER "\"credentials\":{\"bearer_token\":\"b\"}"
#define B " bearer bearer_token"
#define URL "https://api.twitter.com/2/tweets/search/stream"
#define ASK_RULES "call " URL "/rules" B "\n"
#define DELETES(ids) "call " URL "/rules json {\"delete\":{\"ids\":[" ids    \
	"]}}" B "\n"
#define ADDS(value, tag) "call " URL "/rules json {\"add\":[{\"value\":\""   \
	value "\",\"tag\":\"" tag "\"}]}" B "\n"
#define FIELDS                                                               \
	"?expansions=author_id%2Cin_reply_to_user_id%2Creferenced_tweets.id" \
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
#define ASK_STREAM "call " URL FIELDS B " silence=90"

#define NO_RULES ANSWER(RULES, 200, "{\"meta\":{\"sent\":\"x\"}}")
#define HAS_RULES(rules) ANSWER(RULES, 200, "{\"data\":[" rules "],"         \
	"\"meta\":{}}")
#define RULE(id, value, tag) "{\"id\":\"" id "\",\"value\":\"" value         \
	"\",\"tag\":\"" tag "\"}"
#define ADDED ANSWER(ADD, 201, "{\"data\":[{\"id\":\"9\"}],\"meta\":{}}")
#define TWEET_2 LINE_AT(STREAM, "{\"data\":{\"id\":\"7\",\"text\":\"t\"},"   \
	"\"matching_rules\":[{\"id\":\"9\"}]}")
/* suites/sfm/messages/stream-1-start-pause. */
#define TWO_RULES "\"seeds\":[{\"id\":\"r1\",\"token\":{\"rule\":\"cat\","   \
	"\"tag\":\"cats\"}},{\"id\":\"r2\",\"token\":{\"rule\":\"dog\","     \
	"\"tag\":\"dogs\"}}]"
#define FILTERED(message, outcome, ...)                                      \
	EXPECT("twitter_filter_stream", message, outcome, __VA_ARGS__)

static void
rules_are_set_and_the_stream_begins(void **state)
{
	(void)state;
	FILTERED(TWO_RULES "," BEARER, ASK_RULES ADDS("cat", "cats")
	    ADDS("dog", "dogs") ASK_STREAM "\n" COUNT COUNT NO_TWEET
	    ASK_STREAM " from=9\n",
	    NO_RULES, ADDED, ADDED, TWEET_2, TWEET_2,
	    LINE_AT(STREAM, "{\"errors\":[{\"title\":\"operational-disconnect"
	    "\",\"disconnect_type\":\"UpstreamOperationalDisconnect\"}]}"),
	    LINE_AT(STREAM, "{"), ANSWER(STREAM, 200, NULL));
}

static void
rules_that_are_not_wanted_go(void **state)
{
	(void)state;
	FILTERED(TWO_RULES "," BEARER, ASK_RULES DELETES("\"1\",\"3\"")
	    ASK_RULES ADDS("cat", "cats") ASK_STREAM "\n",
	    HAS_RULES(RULE("1", "cat", "other") ","
	    RULE("2", "dog", "dogs") ",7," RULE("3", "old", "")),
	    ANSWER(DELETE, 200, "{\"meta\":{\"summary\":{\"deleted\":2}}}"),
	    HAS_RULES(RULE("2", "dog", "dogs")), ADDED);
	/* All is as it was; a seed that comes twice is one rule. */
	FILTERED("\"seeds\":[{\"token\":\"cat\"},{\"token\":{\"rule\":\"cat\"}"
	    "}]," BEARER, ASK_RULES ASK_STREAM "\n",
	    HAS_RULES(RULE("1", "cat", "cat")));
	FILTERED("\"seeds\":[{\"token\":\"cat\"},{\"token\":{\"rule\":\"cat\"}"
	    "}]," BEARER, ASK_RULES ADDS("cat", "cat") ASK_STREAM "\n",
	    NO_RULES, ADDED);
}

static void
rules_may_be_too_many(void **state)
{
	(void)state;
#define CAPPED ANSWER(ADD, 422, "{\"title\":\"RulesCapExceeded\",\"detail\":" \
	"\"Rule limit exceeded\"}")
	FILTERED("\"seeds\":[{\"token\":\"a\"},{\"token\":\"b\"},{\"token\":"
	    "\"c\"}]," BEARER, ASK_RULES ADDS("a", "a") ADDS("b", "b")
	    "warning token_RulesCapExceeded: the credential takes no more rules"
	    "; these were not added: b; c\n" ASK_STREAM "\n" COUNT,
	    NO_RULES, ADDED, CAPPED, TWEET_2);
	FILTERED(TWO_RULES "," BEARER, ASK_RULES ADDS("cat", "cats")
	    "warning token_RulesCapExceeded: the credential takes no more rules"
	    "; these were not added: cat; dog\n"
	    "fail unknown_error: Twitter takes none of the rules\n",
	    NO_RULES, CAPPED);
}

static void
rules_may_be_wrong(void **state)
{
	(void)state;
	FILTERED(TWO_RULES "," BEARER, ASK_RULES ADDS("cat", "cats")
	    "warning token_unknown_error seed=r1: rule cat is refused: 400, "
	    "Invalid Rule\nskip r1\n" ADDS("dog", "dogs") ASK_STREAM "\n",
	    NO_RULES, ANSWER(ADD, 400, "{\"errors\":[{\"value\":\"cat\","
	    "\"title\":\"Invalid Rule\"}],\"title\":\"Invalid Rule\"}"),
	    ANSWER(ADD, 201, "{\"errors\":[{\"title\":\"DuplicateRule\"}],"
	    "\"meta\":{}}"));
	FILTERED("\"seeds\":[{\"token\":\"cat\"}]," BEARER, ASK_RULES
	    ADDS("cat", "cat") "warning token_unknown_error seed=: rule cat is "
	    "refused: 400\nskip \n"
	    "fail unknown_error: Twitter takes none of the rules\n",
	    NO_RULES, ANSWER(ADD, 400, "{}"));
}

static void
restarts_go_on_with_rules(void **state)
{
	(void)state;
	FILTERED(TWO_RULES "," BEARER, ASK_RULES DELETES("\"3\"")
	    DELETES("\"3\"") ASK_RULES ASK_RULES ADDS("cat", "cats")
	    ADDS("cat", "cats") ADDS("dog", "dogs") ADDS("dog", "dogs")
	    ASK_STREAM "\n" COUNT ASK_STREAM "\n",
	    HAS_RULES(RULE("3", "old", "")), RESTART,
	    ANSWER(DELETE, 200, "{}"), RESTART, NO_RULES, RESTART, ADDED,
	    RESTART, ADDED, TWEET_2, RESTART);
}

static void
lists_of_another_kind_are_asked_for_again(void **state)
{
	(void)state;
#define ODD ANSWER(RULES, 200, "[]")
	FILTERED(TWO_RULES "," BEARER, ASK_RULES "again 1\nagain 4\nagain 9\n"
	    "again 16\nagain 25\nfail unknown_error: Twitter sent no list of "
	    "rules 6 times\n", ODD, ANSWER(RULES, 200, "{\"data\":7}"), ODD,
	    ODD, ODD, ODD);
}

static void
waits_and_refusals(void **state)
{
	(void)state;
	FILTERED(TWO_RULES "," BEARER, ASK_RULES "again 60\n"
	    "fail harvest_Client_Forbidden: Twitter refuses: 403, Client "
	    "Forbidden\n", ANSWER(RULES, 429, ""), ANSWER(RULES, 403,
	    "{\"title\":\"Client Forbidden\"}"));
	/* A second stream of the credential, and the month's tweets. */
	FILTERED("\"seeds\":[{\"token\":\"cat\"}]," KEYS,
	    "call " URL "/rules app consumer_key,consumer_secret from "
	    "https://api.twitter.com/oauth2/token\n"
	    "call " URL FIELDS " app consumer_key,consumer_secret from "
	    "https://api.twitter.com/oauth2/token silence=90\n"
	    "call " URL FIELDS " app consumer_key,consumer_secret from "
	    "https://api.twitter.com/oauth2/token silence=90 from=7\n"
	    "fail harvest_UsageCapExceeded: Twitter refuses: 429, "
	    "UsageCapExceeded\n", HAS_RULES(RULE("1", "cat", "cat")),
	    ANSWER(STREAM, 429, "{\"title\":\"ConnectionException\"}"),
	    ANSWER(STREAM, 429, "{\"title\":\"UsageCapExceeded\"}"));
}

/* ---- Checkpoints ------------------------------------------------------- */

static void
refuse_damage(const char *type, size_t seeds_n)
{
	static const struct connector_seed seed = { .token = { "cats", 4 } };
	const struct connector *c = connector_find(str_of(type));
	const struct connector_order o = { .connector = c, .seeds = &seed,
		.seeds_n = seeds_n };
	struct connector_run *run;
	struct buf saved = BUF_INIT;
	struct why w = WHY_INIT;

	assert_int_equal(c->open(&o, &run, NULL), OK);
	c->save(run, &saved);
	assert_int_equal(c->load(run, buf_str(&saved), NULL), OK);
	for (size_t n = 0; n < saved.n; n++)
		assert_int_equal(c->load(run, str_cut(buf_str(&saved), 0, n),
		    &w), ERR_CORRUPT);
	buf_put_char(&saved, 0);
	assert_int_equal(c->load(run, buf_str(&saved), &w), ERR_CORRUPT);
	saved.n--;
	saved.p[1] = 9;                  /* a step that is none */
	assert_int_equal(c->load(run, buf_str(&saved), &w), ERR_CORRUPT);
	c->close(&run);
	assert_null(run);
	buf_free(&saved);
}

static void
damaged_checkpoints_are_refused(void **state)
{
	(void)state;
	refuse_damage("twitter_sample", 0);
	refuse_damage("twitter_filter", 1);
	refuse_damage("twitter_filter_stream", 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tweets_come_as_lines),
		cmocka_unit_test(urls_are_found_where_they_are_wanted),
		cmocka_unit_test(filters_are_joined),
		cmocka_unit_test(a_stream_that_ends_is_opened_again),
		cmocka_unit_test(streams_that_we_cut_are_no_failures),
		cmocka_unit_test(failures_wait_longer_each_time),
		cmocka_unit_test(a_line_ends_a_row_of_failures),
		cmocka_unit_test(gaps_are_told_once),
		cmocka_unit_test(restarts_begin_at_once),
		cmocka_unit_test(refusals_end_the_run),
		cmocka_unit_test(orders_are_checked),
		cmocka_unit_test(rules_are_set_and_the_stream_begins),
		cmocka_unit_test(rules_that_are_not_wanted_go),
		cmocka_unit_test(rules_may_be_too_many),
		cmocka_unit_test(rules_may_be_wrong),
		cmocka_unit_test(restarts_go_on_with_rules),
		cmocka_unit_test(lists_of_another_kind_are_asked_for_again),
		cmocka_unit_test(waits_and_refusals),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

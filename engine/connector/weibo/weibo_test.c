/* Recorded harvests of a timeline and topics, and what each fault leads to. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define TOKEN "\"credentials\":{\"access_token\":\"x\"}"
#define SET "\"collection_set\":{\"id\":\"set\"},"
#define SEED_CATS "\"seeds\":[{\"id\":\"s1\",\"token\":\"cats & owls\"}]"
#define INCREMENTAL "\"options\":{\"incremental\":true}"
#define AUTH " query access_token=access_token"
#define ASK_TIMELINE(more)                                                   \
	"call https://api.weibo.com/2/statuses/friends_timeline.json"        \
	"?count=100&page=1" more AUTH
#define ASK_SEARCH(page)                                                     \
	"call https://api.weibo.com/2/search/topics.json"                    \
	"?q=cats%20%26%20owls&count=50&page=" page AUTH
#define ASK_LIMIT                                                            \
	"call https://api.weibo.com/2/account/rate_limit_status.json" AUTH   \
	" metadata\n"
#define POST(mid) "{\"mid\":\"" mid "\"}"
#define PAGE(...) { 200, "", "{\"statuses\":[" __VA_ARGS__ "]}" }
#define END PAGE("")
#define ERROR(status, code)                                                  \
	{ status, "", "{\"error\":\"said\",\"error_code\":" code             \
	",\"request\":\"/2\"}" }

#define HARVEST(TYPE, MESSAGE, ...)                                          \
	static const char *const left[] = { "cats & owls.since_id", "8",     \
		"set.since_id", "8", NULL };                                 \
	const struct testing_answer answers[] = { __VA_ARGS__ };             \
	const struct testing_harvest h = { .type = TYPE,                     \
		.message = "{" MESSAGE "," TOKEN "}", .state = left,         \
		.answers = answers, .answers_n = ARRAY_LEN(answers) }
#define TIMELINE(MESSAGE, ...) HARVEST("weibo_timeline", MESSAGE, __VA_ARGS__)
#define SEARCH(MESSAGE, ...) HARVEST("weibo_search", MESSAGE, __VA_ARGS__)

/* ---- Whole harvests ---------------------------------------------------- */

static void
a_timeline_is_read_from_its_newest_post_on(void **state)
{
	TIMELINE(SET "\"seeds\":[]", PAGE(POST("19") "," POST("12")),
	    PAGE(POST("9007199254740993") "," POST("11")), END, END);

	(void)state;
	testing_expect(&h, ASK_TIMELINE("") "\ncount weibos 2\n"
	    ASK_TIMELINE("&max_id=11") "\ncount weibos 2\n"
	    ASK_TIMELINE("&max_id=10") "\nagain 1\n"
	    ASK_TIMELINE("&max_id=10") "\n"
	    "state set.since_id=9007199254740993\ndone\n");
}

static void
an_incremental_timeline_ends_where_the_last_one_began(void **state)
{
	TIMELINE(SET INCREMENTAL, PAGE(POST("19") "," POST("12")), END, END);

	(void)state;
	testing_expect(&h, ASK_TIMELINE("&since_id=8") "\ncount weibos 2\n"
	    ASK_TIMELINE("&since_id=8&max_id=11") "\nagain 1\n"
	    ASK_TIMELINE("&since_id=8&max_id=11") "\nstate set.since_id=19\n"
	    "done\n");
}

static void
a_timeline_without_a_collection_set_has_no_state(void **state)
{
	TIMELINE("\"seeds\":[]", PAGE(POST("19")), END, END);

	(void)state;
	testing_expect_findings(&h, "count weibos 1\nagain 1\ndone\n");
	testing_refuse("weibo_timeline", "{" INCREMENTAL "," TOKEN "}",
	    "bad_request", "collection_set.id: it is missing, and an "
	    "incremental timeline keeps its state by it");
}

static void
a_topic_has_four_pages(void **state)
{
	SEARCH(SEED_CATS, PAGE(POST("19") "," POST("12")),
	    PAGE(POST("12") "," POST("11")), PAGE(POST("10")),
	    PAGE(POST("9") ",{\"id\":5}"));

	(void)state;
	testing_expect(&h, ASK_SEARCH("1") "\ncount weibos 2\n"
	    ASK_SEARCH("2") "\ncount weibos 1\n"
	    ASK_SEARCH("3") "\ncount weibos 1\n"
	    ASK_SEARCH("4") "\ncount weibos 2\n"
	    "state cats & owls.since_id=19\ndone\n");
}

static void
a_topic_ends_with_a_page_of_known_posts(void **state)
{
	{
		SEARCH(SEED_CATS "," INCREMENTAL, PAGE(POST("19") ","
		    POST("7")), PAGE(POST("8") "," POST("19")));
		testing_expect_findings(&h, "count weibos 1\n"
		    "state cats & owls.since_id=19\ndone\n");
	}
	{
		SEARCH(SEED_CATS, PAGE(POST("19")), ERROR(400, "21411"));
		testing_expect_findings(&h, "count weibos 1\n"
		    "state cats & owls.since_id=19\ndone\n");
	}
	{
		SEARCH(SEED_CATS "," INCREMENTAL, PAGE(POST("8")));
		testing_expect_findings(&h, "done\n");
	}
	(void)state;
}

static void
a_limit_is_a_decision_and_sets_the_state(void **state)
{
	TIMELINE(SET "\"options\":{\"limit\":2}", PAGE(POST("19") ","
	    POST("12") "," POST("11")));

	(void)state;
	testing_expect_findings(&h, "count weibos 3\nstate set.since_id=19\n"
	    "info limit_reached: 3 posts were found, and the limit is 2\n"
	    "done\n");
}

/* ---- Limits of rates ---------------------------------------------------- */

#define LIMIT(ip, user, reset)                                               \
	{ 200, "", "{\"remaining_ip_hits\":" ip ",\"remaining_user_hits\":"  \
	user ",\"reset_time_in_seconds\":" reset "}" }

static void
a_limit_of_calls_is_asked_about_and_awaited(void **state)
{
	TIMELINE(SET "\"seeds\":[]", ERROR(403, "10023"),
	    LIMIT("9", "0", "1000"), PAGE(POST("19")), ERROR(429, "0"),
	    LIMIT("9", "9", "1000"), { 429, "", "" }, ERROR(429, "10022"),
	    ERROR(403, "10024"), LIMIT("0", "0", "99999"), END,
	    END);

	(void)state;
	testing_expect(&h, ASK_TIMELINE("") "\n" ASK_LIMIT
	    ASK_TIMELINE("") " from=1012\ncount weibos 1\n"
	    ASK_TIMELINE("&max_id=18") "\n" ASK_LIMIT
	    ASK_TIMELINE("&max_id=18") " from=65\n" ASK_LIMIT
	    ASK_TIMELINE("&max_id=18") " from=67\n" ASK_LIMIT
	    ASK_TIMELINE("&max_id=18") " from=3619\nagain 1\n"
	    ASK_TIMELINE("&max_id=18") " from=3619\nstate set.since_id=19\n"
	    "done\n");
}

/* ---- Refusals and faults ----------------------------------------------- */

static void
a_token_that_is_wrong_ends_the_run(void **state)
{
	{
		SEARCH(SEED_CATS, ERROR(403, "21327"));
		testing_expect_findings(&h, "fail harvest_Unauthorized: Weibo "
		    "refuses the access token: 403 21327, said\n");
	}
	{
		TIMELINE(SET "\"seeds\":[]", { 401, "", "" });
		testing_expect_findings(&h, "fail harvest_Unauthorized: Weibo "
		    "refuses the access token: 401 0, \n");
	}
	(void)state;
}

static void
other_refusals_are_about_the_list(void **state)
{
	{
		SEARCH("\"seeds\":[{\"id\":\"s1\",\"token\":\"a\"},"
		    "{\"id\":\"s2\",\"token\":\"b\"}]", ERROR(400, "20000"),
		    END);
		testing_expect_findings(&h, "warning token_unknown_error "
		    "seed=s1: topic a: 400 20000, said\nskip s1\ndone\n");
	}
	{
		TIMELINE(SET "\"seeds\":[]", ERROR(200, "20000"));
		testing_expect_findings(&h, "fail unknown_error: Weibo shows "
		    "no timeline: 200 20000, said\n");
	}
	(void)state;
}

static void
pages_that_cannot_be_are_asked_for_again(void **state)
{
	TIMELINE(SET "\"seeds\":[]", PAGE(POST("19") ",7"),
	    PAGE(POST("19")), PAGE("7"), { 200, "", "[]" },
	    { 200, "", "{}" }, PAGE(POST("19")), PAGE(POST("19")));

	(void)state;
	testing_expect_findings(&h, "count weibos 1\n"
	    "warning unknown_error: timeline: 1 of 2 posts of a page have no "
	    "number and are not counted\n"
	    "again 1\nagain 4\nagain 9\nagain 16\nagain 25\n"
	    "fail unknown_error: Weibo sent a page that leads nowhere 6 "
	    "times\n");
}

static void
damaged_checkpoints_are_refused(void **state)
{
	(void)state;
	testing_damage("weibo_timeline", "{" TOKEN "}");
	testing_damage("weibo_search", "{" SEED_CATS "," TOKEN "}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_timeline_is_read_from_its_newest_post_on),
		cmocka_unit_test(
		    an_incremental_timeline_ends_where_the_last_one_began),
		cmocka_unit_test(
		    a_timeline_without_a_collection_set_has_no_state),
		cmocka_unit_test(a_topic_has_four_pages),
		cmocka_unit_test(a_topic_ends_with_a_page_of_known_posts),
		cmocka_unit_test(a_limit_is_a_decision_and_sets_the_state),
		cmocka_unit_test(a_limit_of_calls_is_asked_about_and_awaited),
		cmocka_unit_test(a_token_that_is_wrong_ends_the_run),
		cmocka_unit_test(other_refusals_are_about_the_list),
		cmocka_unit_test(pages_that_cannot_be_are_asked_for_again),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

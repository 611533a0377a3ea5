/* Recorded harvests of blogs, and what each fault leads to. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define KEY "\"credentials\":{\"api_key\":\"x\"}"
#define SEED_ADA "\"seeds\":[{\"id\":\"s1\",\"uid\":\"ada\"}]"
#define INCREMENTAL ",\"options\":{\"incremental\":true}"
#define ASK(name, more)                                                      \
	"call https://api.tumblr.com/v2/blog/" name "/posts?limit=20"        \
	"&filter=html" more " query api_key=api_key\n"
#define ASK_ADA(more) ASK("ada.tumblr.com", more)
#define POST(id, second) "{\"id\":" id ",\"timestamp\":" second "}"
#define PAGE(total, ...)                                                     \
	{ 200, "", "{\"meta\":{\"status\":200},\"response\":{\"posts\":["    \
	__VA_ARGS__ "],\"total_posts\":" total "}}" }
#define END PAGE("0", "")
#define REFUSED(status)                                                      \
	{ status, "", "{\"meta\":{\"status\":" #status ",\"msg\":\"No\"},"   \
	"\"response\":[],\"errors\":[{\"detail\":\"not here\"}]}" }

#define BLOG(MESSAGE, ...)                                                   \
	static const char *const left[] = { "ada.since_post_id", "8", NULL }; \
	const struct testing_answer answers[] = { __VA_ARGS__ };             \
	const struct testing_harvest h = { .type = "tumblr_blog_posts",      \
		.message = "{" MESSAGE "," KEY "}", .state = left,           \
		.answers = answers, .answers_n = ARRAY_LEN(answers) }

/* ---- Whole harvests ---------------------------------------------------- */

static void
a_blog_is_read_from_its_newest_post_on(void **state)
{
	BLOG(SEED_ADA, PAGE("4", POST("9", "60") "," POST("7", "50") ","
	    POST("8", "40")), PAGE("4", POST("8", "40") "," POST("2", "30")),
	    PAGE("4", POST("2", "30")), END);

	(void)state;
	testing_expect(&h, ASK_ADA("") "count tumblr posts 3\n"
	    ASK_ADA("&before=41") "count tumblr posts 1\n"
	    ASK_ADA("&before=31") ASK_ADA("&before=30")
	    "state ada.since_post_id=9\ndone\n");
}

static void
posts_of_one_second_are_not_lost_between_pages(void **state)
{
	BLOG(SEED_ADA, PAGE("5", POST("9", "60") "," POST("8", "40") ","
	    POST("7", "40")), PAGE("5", POST("7", "40") "," POST("6", "40") ","
	    POST("5", "40")), END);

	(void)state;
	testing_expect(&h, ASK_ADA("") "count tumblr posts 3\n"
	    ASK_ADA("&before=41") "count tumblr posts 2\n"
	    ASK_ADA("&before=40") "state ada.since_post_id=9\ndone\n");
}

#define FIVE(d, second)                                                      \
	POST(d "1", second) "," POST(d "2", second) "," POST(d "3", second)  \
	"," POST(d "4", second) "," POST(d "5", second)

static void
too_many_posts_of_one_second_are_told(void **state)
{
	BLOG(SEED_ADA, PAGE("20", FIVE("1", "40") "," FIVE("2", "40") ","
	    FIVE("3", "40") "," FIVE("4", "40")),
	    PAGE("20", FIVE("1", "40") "," FIVE("2", "40") ","
	    FIVE("3", "40") "," FIVE("4", "40")), END);

	(void)state;
	testing_expect(&h, ASK_ADA("") "count tumblr posts 20\n"
	    ASK_ADA("&before=41") "warning partial_posts seed=s1: blog ada: "
	    "more posts were published in one second than a page has, and some"
	    " of them may be missing\n"
	    ASK_ADA("&before=40") "state ada.since_post_id=45\ndone\n");
}

static void
blogs_have_names_and_domains(void **state)
{
	BLOG("\"seeds\":[{\"uid\":\"ada\"},{\"uid\":\"b.example\"}]", END,
	    END);

	(void)state;
	testing_expect(&h, ASK_ADA("") ASK("b.example", "") "done\n");
}

static void
an_incremental_run_ends_behind_a_page_of_known_posts(void **state)
{
	BLOG(SEED_ADA INCREMENTAL, PAGE("9", POST("11", "60") ","
	    POST("7", "50") "," POST("10", "45")), PAGE("9", POST("10", "45")
	    "," POST("8", "40") "," POST("6", "35")));

	(void)state;
	/* Back-dated posts have greater ids than their neighbours. */
	testing_expect(&h, ASK_ADA("") "count tumblr posts 2\n"
	    ASK_ADA("&before=46") "state ada.since_post_id=11\ndone\n");
}

static void
nothing_new_leaves_the_state_alone(void **state)
{
	BLOG(SEED_ADA INCREMENTAL, PAGE("9", POST("8", "60")));

	(void)state;
	testing_expect_findings(&h, "done\n");
}

static void
a_limit_is_a_decision_and_sets_the_state(void **state)
{
	BLOG(SEED_ADA ",\"options\":{\"limit\":2}", PAGE("9", POST("9", "60")
	    "," POST("7", "50") "," POST("6", "45")));

	(void)state;
	testing_expect_findings(&h, "count tumblr posts 3\n"
	    "state ada.since_post_id=9\ninfo limit_reached: 3 posts were found"
	    ", and the limit is 2\ndone\n");
}

static void
ids_keep_their_digits(void **state)
{
	BLOG(SEED_ADA, PAGE("2", "{\"id_string\":\"18446744073709551615\","
	    "\"id\":1,\"timestamp\":60},{\"id\":9007199254740993,"
	    "\"timestamp\":50},{\"timestamp\":40}"), END);

	(void)state;
	testing_expect_findings(&h, "count tumblr posts 2\n"
	    "warning uid_unknown_error seed=s1: blog ada: 1 of 3 posts of a "
	    "page have no id and are not counted\n"
	    "state ada.since_post_id=18446744073709551615\ndone\n");
}

/* ---- Pages that are not as they should be ------------------------------ */

static void
an_empty_page_that_comes_early_is_asked_for_again(void **state)
{
	{
		BLOG(SEED_ADA, PAGE("2", POST("9", "60")), PAGE("2", ""),
		    PAGE("2", POST("7", "50")), END);
		testing_expect(&h, ASK_ADA("") "count tumblr posts 1\n"
		    ASK_ADA("&before=61") "again 1\n" ASK_ADA("&before=61")
		    "count tumblr posts 1\n" ASK_ADA("&before=51")
		    "state ada.since_post_id=9\ndone\n");
	}
	{
		BLOG(SEED_ADA, PAGE("2", POST("9", "60")), PAGE("2", ""),
		    PAGE("2", ""));
		testing_expect_findings(&h, "count tumblr posts 1\nagain 1\n"
		    "warning partial_posts seed=s1: blog ada: it has 2 posts, "
		    "of which 1 were shown\nstate ada.since_post_id=9\n"
		    "done\n");
	}
	(void)state;
}

static void
a_page_that_leads_nowhere_is_an_error(void **state)
{
#define SAME PAGE("9", POST("9", "60") "," POST("8", "61"))
	BLOG(SEED_ADA, PAGE("9", POST("9", "60")), SAME, SAME, SAME, SAME,
	    PAGE("9", "{\"id\":3}"), PAGE("9", POST("9", "61")), SAME);

	(void)state;
	/* Before second 61 there may be more of 60, and before 60 not. */
	testing_expect_findings(&h, "count tumblr posts 1\n"
	    "count tumblr posts 1\nagain 1\nagain 4\nagain 9\nagain 16\n"
	    "again 25\nfail unknown_error: Tumblr sent a page that leads "
	    "nowhere 6 times, blog ada\n");
}

static void
json_of_another_kind_is_asked_for_again(void **state)
{
	BLOG(SEED_ADA, { 200, "", "[]" }, { 200, "", "{\"response\":[]}" },
	    { 200, "", "7" }, { 200, "", "7" }, { 200, "", "7" },
	    { 200, "", "7" });

	(void)state;
	testing_expect_findings(&h, "again 1\nagain 4\nagain 9\nagain 16\n"
	    "again 25\nfail unknown_error: Tumblr sent no page of posts 6 "
	    "times, blog ada\n");
}

/* ---- Refusals ---------------------------------------------------------- */

static void
blogs_that_are_not_there_are_passed_over(void **state)
{
	BLOG("\"seeds\":[{\"id\":\"s1\",\"uid\":\"a\"},{\"id\":\"s2\","
	    "\"uid\":\"b\"}]", REFUSED(404), REFUSED(403));

	(void)state;
	testing_expect_findings(&h,
	    "warning token_not_found seed=s1: blog a: 404 No, not here\n"
	    "skip s1\n"
	    "warning token_unauthorized seed=s2: blog b: 403 No, not here\n"
	    "skip s2\ndone\n");
}

static void
a_key_that_is_wrong_ends_the_run(void **state)
{
	BLOG(SEED_ADA, REFUSED(401));

	(void)state;
	testing_expect_findings(&h, "fail harvest_Unauthorized: Tumblr refuses"
	    " the key: 401 No, not here\n");
}

static void
too_many_calls_pause_for_five_minutes(void **state)
{
	BLOG(SEED_ADA, REFUSED(429), { 429, "", "" }, REFUSED(429),
	    REFUSED(429), REFUSED(429), REFUSED(429), REFUSED(429), END);

	(void)state;
	testing_expect_findings(&h, "again 300\nagain 300\nagain 300\n"
	    "again 300\nagain 300\nagain 300\nagain 300\ndone\n");
}

/* ---- Orders and checkpoints -------------------------------------------- */

static void
seeds_that_are_none_are_refused(void **state)
{
	(void)state;
	testing_refuse("tumblr_blog_posts", "{\"seeds\":[{\"uid\":\"a/b\"}],"
	    KEY "}", "bad_request", "seeds[0].uid: it is not the name of a "
	    "blog");
	testing_refuse("tumblr_blog_posts", "{\"seeds\":[{\"uid\":\"..\"}],"
	    KEY "}", "bad_request", "seeds[0].uid: it is not the name of a "
	    "blog");
	testing_refuse("tumblr_blog_posts", "{\"seeds\":[{\"token\":\"a\"}],"
	    KEY "}", "bad_request", "seeds[0]: it has no uid");
	testing_refuse("tumblr_blog_posts", "{" SEED_ADA "}",
	    "credentials_missing", "credentials.api_key: it is missing");
}

static void
damaged_checkpoints_are_refused(void **state)
{
	(void)state;
	testing_damage("tumblr_blog_posts", "{" SEED_ADA "," KEY "}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blog_is_read_from_its_newest_post_on),
		cmocka_unit_test(
		    posts_of_one_second_are_not_lost_between_pages),
		cmocka_unit_test(too_many_posts_of_one_second_are_told),
		cmocka_unit_test(blogs_have_names_and_domains),
		cmocka_unit_test(
		    an_incremental_run_ends_behind_a_page_of_known_posts),
		cmocka_unit_test(nothing_new_leaves_the_state_alone),
		cmocka_unit_test(a_limit_is_a_decision_and_sets_the_state),
		cmocka_unit_test(ids_keep_their_digits),
		cmocka_unit_test(
		    an_empty_page_that_comes_early_is_asked_for_again),
		cmocka_unit_test(a_page_that_leads_nowhere_is_an_error),
		cmocka_unit_test(json_of_another_kind_is_asked_for_again),
		cmocka_unit_test(blogs_that_are_not_there_are_passed_over),
		cmocka_unit_test(a_key_that_is_wrong_ends_the_run),
		cmocka_unit_test(too_many_calls_pause_for_five_minutes),
		cmocka_unit_test(seeds_that_are_none_are_refused),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

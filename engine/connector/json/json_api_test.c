/* Recorded harvests of declared platforms, and what each fault leads to. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define A "https://a.example"
#define SEED_CATS "\"seeds\":[{\"id\":\"s1\",\"token\":\"cats & owls\"}],"
#define LIST_OF(url, more)                                                   \
	"\"options\":{\"api\":{\"url\":\"" url "\",\"label\":\"topics\","    \
	"\"items\":\"/list\",\"id\":\"/id\"" more "}}"
#define API(more) LIST_OF(A "/c/{seed}.json?n=2", more)
#define CURSOR ",\"next\":{\"cursor\":\"/more/next\",\"parameter\":\"after\"}"
#define ASK(more) "call " A "/c/cats%20%26%20owls.json?n=2" more "\n"
#define PAGE(next, ...)                                                      \
	{ 200, "", "{\"list\":[" __VA_ARGS__ "],\"more\":{\"next\":" next "}}" }
#define ITEM(id) "{\"id\":" id "}"
#define DATED(id, day) "{\"id\":" id ",\"at\":\"2026-01-" day "\"}"
#define STATE(url) url ".since"

#define HARVEST(MESSAGE, ...)                                                \
	static const char *const left[] = {                                  \
		A "/c/cats%20%26%20owls.json?n=2.since", "2026-01-05", NULL }; \
	static const struct testing_answer answers[] = { __VA_ARGS__ };      \
	const struct testing_harvest h = { .type = "json_api",               \
		.message = "{" MESSAGE "}", .state = left,                   \
		.answers = answers, .answers_n = ARRAY_LEN(answers) }

/* ---- How lists go on --------------------------------------------------- */

static void
a_list_goes_on_by_a_cursor(void **state)
{
	HARVEST(SEED_CATS API(CURSOR), PAGE("\"a/b\"", ITEM("1") ","
	    ITEM("\"2\"")), PAGE("17", ITEM("3")), PAGE("null", ITEM("4")));

	(void)state;
	testing_expect(&h, ASK("") "count topics 2\n" ASK("&after=a%2Fb")
	    "count topics 1\n" ASK("&after=17") "count topics 1\ndone\n");
}

static void
a_list_goes_on_by_addresses(void **state)
{
	HARVEST(LIST_OF(A "/x", ",\"next\":{\"url\":\"/more/next\"}"),
	    PAGE("\"" A "/x?p=2\"", ITEM("1")), PAGE("\"/y?p=3\"",
	    ITEM("2")), PAGE("\"\"", ITEM("3")));

	(void)state;
	testing_expect(&h, "call " A "/x\ncount topics 1\n"
	    "call " A "/x?p=2\ncount topics 1\n"
	    "call " A "/y?p=3\ncount topics 1\ndone\n");
}

static void
a_list_goes_on_by_links(void **state)
{
	HARVEST(LIST_OF(A "/x", ",\"next\":{\"link\":\"next\"}"),
	    { 200, "Link: <" A "/x?p=2>; rel=\"next\"\r\n",
	    "{\"list\":[{\"id\":1}]}" },
	    { 200, "", "{\"list\":[{\"id\":2}]}" });

	(void)state;
	testing_expect(&h, "call " A "/x\ncount topics 1\n"
	    "call " A "/x?p=2\ncount topics 1\ndone\n");
}

static void
pages_and_items_are_counted(void **state)
{
	{
		HARVEST(LIST_OF(A "/x", ",\"next\":{\"page\":\"p\"}"),
		    PAGE("0", ITEM("1")), PAGE("0", ITEM("2")), PAGE("0", ""));
		testing_expect(&h, "call " A "/x?p=1\ncount topics 1\n"
		    "call " A "/x?p=2\ncount topics 1\ncall " A "/x?p=3\n"
		    "done\n");
	}
	{
		/* The last page comes again behind itself. */
		HARVEST(LIST_OF(A "/x?n=2", ",\"next\":{\"offset\":\"o\","
		    "\"by\":2}"), PAGE("0", ITEM("1")), PAGE("0", ITEM("2")),
		    PAGE("0", ITEM("2")));
		testing_expect(&h, "call " A "/x?n=2&o=0\ncount topics 1\n"
		    "call " A "/x?n=2&o=2\ncount topics 1\ncall " A
		    "/x?n=2&o=4\ndone\n");
	}
	{
		HARVEST(LIST_OF(A "/x", ",\"next\":{\"page\":\"p\","
		    "\"first\":0,\"by\":10}"), PAGE("0", ITEM("1")),
		    PAGE("0", ""));
		testing_expect(&h, "call " A "/x?p=0\ncount topics 1\ncall " A
		    "/x?p=10\ndone\n");
	}
	(void)state;
}

static void
a_list_may_be_one_page(void **state)
{
	HARVEST(LIST_OF(A, ""), { 200, "", "{\"list\":[{\"id\":1},{},7,"
	    "{\"id\":\"\"}]}" });

	(void)state;
	testing_expect(&h, "call " A "\ncount topics 1\nwarning unknown_error:"
	    " list: 3 of 4 items of a page have no id and are not counted\n"
	    "done\n");
}

static void
a_cursor_that_was_there_before_ends_the_list(void **state)
{
	HARVEST(SEED_CATS API(CURSOR), PAGE("1", ITEM("1")),
	    PAGE("2", ITEM("2")), PAGE("1", ITEM("3")));

	(void)state;
	testing_expect_findings(&h, "count topics 1\ncount topics 1\n"
	    "count topics 1\ndone\n");
}

static void
a_page_of_nothing_new_that_leads_on_is_asked_for_again(void **state)
{
	{
		HARVEST(SEED_CATS API(CURSOR), PAGE("1", ITEM("1")),
		    PAGE("2", ITEM("1")), PAGE("2", ITEM("2")),
		    PAGE("3", ""), PAGE("null", ITEM("3")));
		testing_expect(&h, ASK("") "count topics 1\n" ASK("&after=1")
		    "again 1\n" ASK("&after=1") "count topics 1\n"
		    ASK("&after=2") "again 1\n" ASK("&after=2")
		    "count topics 1\ndone\n");
	}
	{
		HARVEST(SEED_CATS API(CURSOR), PAGE("1", ITEM("1")),
		    PAGE("1", ITEM("2")), PAGE("1", ITEM("2")));
		testing_expect_findings(&h, "count topics 1\nagain 1\n"
		    "count topics 1\ndone\n");
	}
	{
		HARVEST(SEED_CATS API(CURSOR), PAGE("1", ITEM("1")),
		    PAGE("2", ""), PAGE("2", ""));
		testing_expect_findings(&h, "count topics 1\nagain 1\n"
		    "done\n");
	}
	(void)state;
}

static void
lists_stay_on_their_host(void **state)
{
#define AWAY(url)                                                            \
	{                                                                    \
		HARVEST(LIST_OF(A "/x", ",\"next\":{\"url\":\"/more/next\"}"), \
		    PAGE("\"" url "\"", ITEM("1")));                         \
		testing_expect_findings(&h, "count topics 1\n"               \
		    "fail unknown_error: The platform sent a page that leads " \
		    "to another host, or to no address\n");                  \
	}
	AWAY("https://b.example/x");
	AWAY("https://a.example.b.example/x");
	AWAY("https://a.example@b.example/x");
	AWAY("http://a.example/x");
	AWAY("//b.example/x");
	AWAY("/a b");
	(void)state;
}

/* ---- What is new ------------------------------------------------------- */

#define SINCE CURSOR ",\"date\":\"/at\",\"since\":{\"parameter\":\"from\","  \
	"\"from\":\"date\"}"
#define INCREMENTAL(api) SEED_CATS "\"options\":{\"incremental\":true," api
#define API_OPTION                                                           \
	"\"api\":{\"url\":\"" A "/c/{seed}.json?n=2\",\"label\":\"topics\"," \
	"\"items\":\"/list\",\"id\":\"/id\"" SINCE "}}"

static void
an_incremental_run_asks_from_its_state_on(void **state)
{
	HARVEST(INCREMENTAL(API_OPTION), PAGE("2", DATED("1", "07") ","
	    DATED("2", "05")), PAGE("3", DATED("3", "05")));

	(void)state;
	testing_expect(&h, ASK("&from=2026-01-05") "count topics 1\n"
	    ASK("&from=2026-01-05&after=2")
	    "state " A "/c/cats%20%26%20owls.json?n=2.since=2026-01-07\n"
	    "done\n");
}

static void
a_run_that_is_not_incremental_sets_the_state_too(void **state)
{
	HARVEST(SEED_CATS API(SINCE), PAGE("2", DATED("1", "04") "," ITEM("9")),
	    PAGE("null", DATED("2", "05")));

	(void)state;
	testing_expect(&h, ASK("") "count topics 2\n" ASK("&after=2")
	    "count topics 1\n"
	    "state " A "/c/cats%20%26%20owls.json?n=2.since=2026-01-05\n"
	    "done\n");
}

static void
what_is_new_may_be_told_by_ids(void **state)
{
	static const char *const left[] = { A "/x.since", "99", NULL };
	static const struct testing_answer answers[] = { { 200, "",
		"{\"list\":[{\"id\":100},{\"id\":\"101\"},{\"id\":98}]}" } };
	const struct testing_harvest h = { "json_api", "{\"options\":"
		"{\"incremental\":true,\"api\":{\"url\":\"" A "/x\","
		"\"label\":\"topics\",\"items\":\"/list\",\"id\":\"/id\","
		"\"since\":{\"parameter\":\"min\",\"from\":\"id\"}}}}", left,
		answers, 1 };

	(void)state;
	testing_expect(&h, "call " A "/x?min=99\ncount topics 2\n"
	    "state " A "/x.since=101\ndone\n");
}

static void
a_limit_ends_the_run(void **state)
{
	HARVEST(SEED_CATS "\"options\":{\"limit\":2," API_OPTION,
	    PAGE("2", DATED("1", "07") "," DATED("2", "05")));

	(void)state;
	testing_expect_findings(&h, "count topics 2\n"
	    "state " A "/c/cats%20%26%20owls.json?n=2.since=2026-01-07\n"
	    "info limit_reached: 2 items were found, and the limit is 2\n"
	    "done\n");
}

/* ---- Credentials ------------------------------------------------------- */

static void
expect_auth(const char *auth, const char *credential, const char *outcome)
{
	char message[512], call[256];
	const struct testing_harvest h = { .type = "json_api",
		.message = message };

	snprintf(message, sizeof(message), "{" LIST_OF(A "/x", ",\"auth\":%s")
	    ",\"credentials\":{%s}}", auth, credential);
	snprintf(call, sizeof(call), "call " A "/x%s\ncut\n", outcome);
	testing_expect(&h, call);
}

static void
credentials_are_used_as_described(void **state)
{
	(void)state;
	expect_auth("{\"kind\":\"none\"}", "\"key\":\"x\"", "");
	expect_auth("{\"kind\":\"bearer\"}", "\"token\":\"x\"",
	    " bearer token");
	expect_auth("{\"kind\":\"header\",\"name\":\"Api-Key\"}",
	    "\"key\":\"x\"", " header Api-Key=key");
	expect_auth("{\"kind\":\"query\",\"name\":\"k\"}", "\"key\":\"x\"",
	    " query k=key");
	expect_auth("{\"kind\":\"basic\"}", "\"username\":\"x\","
	    "\"password\":\"y\"", " basic username,password");
	expect_auth("{\"kind\":\"oauth1\"}", "\"consumer_key\":\"x\","
	    "\"consumer_secret\":\"y\"",
	    " oauth1 consumer_key,consumer_secret");
	expect_auth("{\"kind\":\"oauth1\"}", "\"consumer_key\":\"x\","
	    "\"consumer_secret\":\"y\",\"access_token\":\"z\","
	    "\"access_token_secret\":\"w\"", " oauth1 consumer_key,"
	    "consumer_secret,access_token,access_token_secret");
	expect_auth("{\"kind\":\"client_credentials\",\"token_url\":\""
	    "https://b.example/t\"}", "\"client_id\":\"x\","
	    "\"client_secret\":\"y\"", " app client_id,client_secret from "
	    "https://b.example/t");
	testing_refuse("json_api", "{" LIST_OF(A "/x", ",\"auth\":{\"kind\":"
	    "\"basic\"}") ",\"credentials\":{\"username\":\"x\"}}",
	    "bad_request", "credentials.password: it is missing");
}

static void
refusals_are_about_lists_and_credentials(void **state)
{
	{
		HARVEST("\"seeds\":[{\"id\":\"s1\",\"token\":\"a\"},{\"id\":"
		    "\"s2\",\"token\":\"b\"},{\"id\":\"s3\",\"token\":\"c\"},"
		    "{\"id\":\"s4\",\"token\":\"d\"}]," API(""),
		    { 404, "", "" }, { 403, "", "{}" }, { 422, "", "" },
		    { 401, "", "" });
		testing_expect_findings(&h,
		    "warning token_not_found seed=s1: list a: 404\nskip s1\n"
		    "warning token_unauthorized seed=s2: list b: 403\n"
		    "skip s2\nwarning token_unknown_error seed=s3: list c: "
		    "422\nskip s3\nfail harvest_Unauthorized: The platform "
		    "wants a credential: 401\n");
	}
	{
		HARVEST(LIST_OF(A "/x", ""), { 404, "", "" });
		testing_expect_findings(&h, "fail unknown_error: The platform "
		    "has no such list: 404\n");
	}
	{
		HARVEST(LIST_OF(A "/x", ",\"auth\":{\"kind\":\"bearer\"}")
		    ",\"credentials\":{\"token\":\"x\"}", { 403, "", "" });
		testing_expect_findings(&h, "fail harvest_Unauthorized: The "
		    "platform refuses the credential: 403\n");
	}
	(void)state;
}

static void
what_is_no_list_is_asked_for_again(void **state)
{
	HARVEST(LIST_OF(A "/x", ""), { 200, "", "[]" }, { 200, "", "{}" },
	    { 200, "", "{\"list\":7}" }, { 200, "", "7" }, { 200, "", "7" },
	    { 200, "", "7" });

	(void)state;
	testing_expect_findings(&h, "again 1\nagain 4\nagain 9\nagain 16\n"
	    "again 25\nfail unknown_error: The platform sent no list of items "
	    "6 times\n");
}

/* ---- Orders and checkpoints -------------------------------------------- */

static void
seeds_have_a_place_in_the_address(void **state)
{
	(void)state;
	testing_refuse("json_api", "{" API("") "}", "bad_request",
	    "seeds: there is none, and the address of the list wants one");
	testing_refuse("json_api", "{" SEED_CATS LIST_OF(A "/x", "") "}",
	    "bad_request", "seeds: the address of the list has no place for "
	    "one, {seed}");
	testing_refuse("json_api", "{" SEED_CATS "\"options\":{}}",
	    "bad_request", "options.api: it is missing");
	testing_refuse("json_api", "{" SEED_CATS "\"options\":{\"api\":[]}}",
	    "bad_request", "options.api: it is not an object");
}

static void
damaged_checkpoints_are_refused(void **state)
{
	(void)state;
	testing_damage("json_api", "{" SEED_CATS API(CURSOR) "}");
	testing_damage("json_api", "{" LIST_OF(A, "") "}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_goes_on_by_a_cursor),
		cmocka_unit_test(a_list_goes_on_by_addresses),
		cmocka_unit_test(a_list_goes_on_by_links),
		cmocka_unit_test(pages_and_items_are_counted),
		cmocka_unit_test(a_list_may_be_one_page),
		cmocka_unit_test(a_cursor_that_was_there_before_ends_the_list),
		cmocka_unit_test(
		    a_page_of_nothing_new_that_leads_on_is_asked_for_again),
		cmocka_unit_test(lists_stay_on_their_host),
		cmocka_unit_test(an_incremental_run_asks_from_its_state_on),
		cmocka_unit_test(
		    a_run_that_is_not_incremental_sets_the_state_too),
		cmocka_unit_test(what_is_new_may_be_told_by_ids),
		cmocka_unit_test(a_limit_ends_the_run),
		cmocka_unit_test(credentials_are_used_as_described),
		cmocka_unit_test(refusals_are_about_lists_and_credentials),
		cmocka_unit_test(what_is_no_list_is_asked_for_again),
		cmocka_unit_test(seeds_have_a_place_in_the_address),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

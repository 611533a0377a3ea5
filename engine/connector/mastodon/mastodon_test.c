/* Recorded harvests of accounts and hashtags, and what each fault leads to. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define A "https://a.example"
#define INSTANCE "\"credentials\":{\"instance\":\"" A "\"}"
#define WITH_TOKEN "\"credentials\":{\"instance\":\"" A "\","              \
	"\"access_token\":\"x\"}"
#define PREV(id)                                                             \
	"Link: <" A "/api/v1/x?limit=40&max_id=1>; rel=\"next\", "           \
	"<" A "/api/v1/x?limit=40&min_id=" id ">; rel=\"prev\"\r\n"
#define POST(id) "{\"id\":\"" id "\"}"
#define EMPTY { 200, "", "[]" }
#define ADA { 200, "", "{\"id\":\"7\",\"acct\":\"ada\"}" }
/* The first call of every hashtag harvest, and its usual answer. */
#define ASK_ACCESS "call " A "/api/v2/instance\n"
#define OPEN { 200, "", "{\"configuration\":{\"timelines_access\":"          \
	"{\"hashtag_feeds\":{\"local\":\"public\",\"remote\":\"public\"}}}}" }
#define ASK_ADA "call " A "/api/v1/accounts/lookup?acct=ada\n"
#define ADA_IS_7 "seed s1 uid=7 token=\n"
#define ASK_7(id)                                                            \
	"call " A "/api/v1/accounts/7/statuses?limit=40&min_id=" id "\n"
#define ASK_CATS(id)                                                         \
	"call " A "/api/v1/timelines/tag/cats?limit=40&min_id=" id "\n"
#define SEED_ADA "\"seeds\":[{\"id\":\"s1\",\"token\":\"ada\"}]"
#define SEED_CATS "\"seeds\":[{\"id\":\"t1\",\"token\":\"cats\"}]"

#define HARVEST(TYPE, MESSAGE, ...)                                          \
	const struct testing_answer answers[] = { __VA_ARGS__ };             \
	const struct testing_harvest h = { .type = TYPE,                     \
		.message = "{" MESSAGE "}", .answers = answers,              \
		.answers_n = ARRAY_LEN(answers) }
#define ACCOUNT(MESSAGE, ...) HARVEST("mastodon_account", MESSAGE, __VA_ARGS__)
#define HASHTAG(MESSAGE, ...) HARVEST("mastodon_hashtag", MESSAGE, __VA_ARGS__)

/* ---- Whole harvests ---------------------------------------------------- */

static void
an_account_is_read_forward(void **state)
{
	ACCOUNT(SEED_ADA "," INSTANCE, ADA,
	    { 200, PREV("12"), "[" POST("12") "," POST("9") "]" },
	    { 200, PREV("13"), "[" POST("13") "]" }, EMPTY);

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_7
	    ASK_7("1") "count mastodon posts 2\n"
	    "state " A ".7.min_id=12\n"
	    ASK_7("12") "count mastodon posts 1\n"
	    "state " A ".7.min_id=13\n"
	    ASK_7("13") "done\n");
}

static void
seeds_are_read_one_after_the_other(void **state)
{
	ACCOUNT("\"seeds\":[{\"id\":\"s1\",\"token\":\"@Ada\"},"
	    "{\"id\":\"s2\",\"token\":\"bob@b.example\",\"uid\":\"8\"},"
	    "{\"id\":\"s3\",\"token\":\"cy@c.example\"},"
	    "{\"uid\":9}],\"options\":{\"exclude_replies\":true,"
	    "\"exclude_reblogs\":\"true\"}," WITH_TOKEN,
	    ADA, EMPTY,
	    { 200, "", "{\"id\":\"8\",\"acct\":\"robert@b.example\"}" }, EMPTY,
	    { 200, "", "{\"id\":\"10\",\"acct\":\"cy@c.example\"}" }, EMPTY,
	    { 200, "", "{\"id\":9,\"acct\":\"dee\"}" },
	    { 200, "", "[{\"id\":9007199254740993}]" }, EMPTY);

	(void)state;
#define BEARER " bearer access_token\n"
#define PAGE(account, id)                                                    \
	"call " A "/api/v1/accounts/" account "/statuses?limit=40&min_id="   \
	id "&exclude_replies=true&exclude_reblogs=true" BEARER
	testing_expect(&h,
	    "call " A "/api/v1/accounts/lookup?acct=Ada" BEARER
	    ADA_IS_7 PAGE("7", "1")
	    "call " A "/api/v1/accounts/8" BEARER
	    "seed s2 uid= token=robert@b.example\n"
	    "info partial_posts: " A " may have only part of the posts of "
	    "accounts of other instances, such as robert@b.example\n"
	    PAGE("8", "1")
	    "call " A "/api/v1/accounts/lookup?acct=cy%40c.example" BEARER
	    "seed s3 uid=10 token=\n" PAGE("10", "1")
	    "call " A "/api/v1/accounts/9" BEARER
	    PAGE("9", "1") "count mastodon posts 1\n"
	    "state " A ".9.min_id=9007199254740993\n"
	    PAGE("9", "9007199254740993") "done\n");
}

static void
hashtags_are_restricted_by_their_fields(void **state)
{
	HASHTAG("\"seeds\":[{\"id\":\"t1\",\"token\":{\"tag\":\"#K\\u00e4tze\","
	    "\"any\":[\"a b\",\"c\"],\"all\":[\"d\"],\"none\":[\"e\"],"
	    "\"local\":true,\"only_media\":true}},{\"id\":\"t2\","
	    "\"token\":\"cats\"}]," INSTANCE, OPEN,
	    { 200, PREV("5"), "[" POST("5") "]" }, EMPTY, EMPTY);

	(void)state;
#define FILTERS "any%5B%5D=a%20b&any%5B%5D=c&all%5B%5D=d&none%5B%5D=e"       \
	"&local=true&only_media=true"
#define ASK_KATZE(id) "call " A "/api/v1/timelines/tag/K%C3%A4tze?limit=40"  \
	"&min_id=" id "&" FILTERS "\n"
	testing_expect(&h, ASK_ACCESS
	    ASK_KATZE("1") "count mastodon posts 1\n"
	    "state " A ".K\xc3\xa4tze?" FILTERS ".min_id=5\n"
	    ASK_KATZE("5") ASK_CATS("1") "done\n");
}

static void
an_incremental_run_goes_on_from_its_state(void **state)
{
	static const char *const left[] = { A ".7.min_id", "41", A ".8.min_id",
		"../x", A ".cats.min_id", "6", NULL };
	static const struct testing_answer answers[] = { ADA, EMPTY,
		{ 200, "", "{\"id\":\"8\",\"acct\":\"bob\"}" }, EMPTY };
	static const struct testing_answer of_tag[] = { OPEN, EMPTY };
	struct testing_harvest h = { .type = "mastodon_account",
		.message = "{\"seeds\":[{\"id\":\"s1\",\"token\":\"ada\"},"
		"{\"uid\":8}],\"options\":{\"incremental\":true}," INSTANCE
		"}", .state = left, .answers = answers,
		.answers_n = ARRAY_LEN(answers) };

	(void)state;
	/* A state that somebody has spoilt is as none. */
	testing_expect(&h, ASK_ADA ADA_IS_7 ASK_7("41")
	    "call " A "/api/v1/accounts/8\n"
	    "call " A "/api/v1/accounts/8/statuses?limit=40&min_id=1\n"
	    "done\n");
	h.message = "{\"seeds\":[{\"id\":\"s1\",\"token\":\"ada\"},"
	    "{\"uid\":8}]," INSTANCE "}";
	testing_expect(&h, ASK_ADA ADA_IS_7 ASK_7("1")
	    "call " A "/api/v1/accounts/8\n"
	    "call " A "/api/v1/accounts/8/statuses?limit=40&min_id=1\n"
	    "done\n");
	h = (struct testing_harvest){ .type = "mastodon_hashtag",
		.message = "{" SEED_CATS ",\"options\":{\"incremental\":true},"
		INSTANCE "}", .state = left, .answers = of_tag,
		.answers_n = ARRAY_LEN(of_tag) };
	testing_expect(&h, ASK_ACCESS ASK_CATS("6") "done\n");
}

static void
a_limit_ends_the_run_behind_its_page(void **state)
{
	ACCOUNT("\"seeds\":[{\"id\":\"s1\",\"token\":\"ada\"},"
	    "{\"id\":\"s2\",\"token\":\"bob\"}],\"options\":{\"limit\":3},"
	    INSTANCE, ADA,
	    { 200, PREV("12"), "[" POST("12") "," POST("9") "]" },
	    { 200, PREV("15"), "[" POST("15") "," POST("14") "]" });

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_7 ASK_7("1")
	    "count mastodon posts 2\nstate " A ".7.min_id=12\n" ASK_7("12")
	    "count mastodon posts 2\nstate " A ".7.min_id=15\n"
	    "info limit_reached: 4 posts were found, and the limit is 3\n"
	    "done\n");
}

static void
urls_are_found_the_oldest_first(void **state)
{
	ACCOUNT(SEED_ADA "," INSTANCE, ADA, { 200, PREV("3"), "["
	    "{\"id\":\"3\",\"media_attachments\":[],\"card\":null,\"reblog\":"
	    "{\"id\":\"2\",\"media_attachments\":[{\"url\":\"https://m/3\"}]}}"
	    ",{\"id\":\"2\",\"card\":{\"url\":\"http://c/2\"},"
	    "\"media_attachments\":[{\"url\":\"https://m/1\"},"
	    "{\"url\":null},{\"url\":\"javascript:x\"},7,"
	    "{\"url\":\"https://m/2\"}]}]" }, EMPTY);

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_7 ASK_7("1")
	    "count mastodon posts 2\n"
	    "url https://m/1\nurl https://m/2\nurl http://c/2\n"
	    "url https://m/3\n"
	    "state " A ".7.min_id=3\n" ASK_7("3") "done\n");
}

/* ---- Pages that are not as they should be ------------------------------ */

static void
without_a_link_the_greatest_id_leads_on(void **state)
{
	ACCOUNT(SEED_ADA "," INSTANCE, ADA,
	    { 200, "", "[" POST("9") "," POST("100") "," POST("20") "]" },
	    { 200, "Link: <" A "/?min_id=..%2f>; rel=\"prev\"\r\n",
	    "[" POST("101") "]" },
	    { 200, "Link: <" A "/?min_id=103>; rel=\"next\"\r\n",
	    "[" POST("102") "]" }, EMPTY);

	(void)state;
	testing_expect_findings(&h, ADA_IS_7
	    "count mastodon posts 3\nstate " A ".7.min_id=100\n"
	    "count mastodon posts 1\nstate " A ".7.min_id=101\n"
	    "count mastodon posts 1\nstate " A ".7.min_id=102\ndone\n");
}

static void
pages_may_overlap(void **state)
{
	ACCOUNT(SEED_ADA "," INSTANCE, ADA,
	    { 200, PREV("12"), "[" POST("12") "," POST("9") "]" },
	    { 200, PREV("13"), "[" POST("13") "," POST("12") "]" }, EMPTY);

	(void)state;
	testing_expect_findings(&h, ADA_IS_7
	    "count mastodon posts 2\nstate " A ".7.min_id=12\n"
	    "count mastodon posts 2\nstate " A ".7.min_id=13\ndone\n");
}

static void
a_page_that_comes_twice_is_asked_for_again(void **state)
{
	ACCOUNT(SEED_ADA "," INSTANCE, ADA,
	    { 200, PREV("12"), "[" POST("12") "]" },
	    { 200, PREV("12"), "[" POST("12") "]" },
	    { 200, PREV("11"), "[" POST("11") "]" },
	    { 200, PREV("13"), "[" POST("13") "]" }, { 200, "", "7" }, EMPTY);

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_7 ASK_7("1")
	    "count mastodon posts 1\nstate " A ".7.min_id=12\n" ASK_7("12")
	    "count mastodon posts 1\nagain 1\n" ASK_7("12")
	    "count mastodon posts 1\nagain 4\n" ASK_7("12")
	    "count mastodon posts 1\nstate " A ".7.min_id=13\n" ASK_7("13")
	    "again 1\n" ASK_7("13") "done\n");
}

static void
a_cursor_that_loops_ends_with_an_error(void **state)
{
#define LOOP { 200, PREV("12"), "[" POST("12") "]" }
	ACCOUNT(SEED_ADA "," INSTANCE, ADA, LOOP, LOOP, LOOP, LOOP, LOOP, LOOP,
	    LOOP);

	(void)state;
#define AGAIN(s) "count mastodon posts 1\nagain " s "\n"
	testing_expect_findings(&h, ADA_IS_7
	    "count mastodon posts 1\nstate " A ".7.min_id=12\n"
	    AGAIN("1") AGAIN("4") AGAIN("9") AGAIN("16") AGAIN("25")
	    "count mastodon posts 1\n"
	    "fail unknown_error: " A " sent a page that leads nowhere 6 "
	    "times, account ada\n");
}

static void
an_empty_page_with_a_cursor_is_no_end(void **state)
{
	ACCOUNT(SEED_ADA "," INSTANCE, ADA,
	    { 200, PREV("50"), "[]" },
	    { 200, PREV("51"), "[" POST("51") "]" },
	    { 200, PREV("51"), "[]" });

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_7 ASK_7("1")
	    "state " A ".7.min_id=50\n" ASK_7("50")
	    "count mastodon posts 1\nstate " A ".7.min_id=51\n" ASK_7("51")
	    "done\n");
}

static void
empty_pages_without_end_are_an_error(void **state)
{
	static struct testing_answer answers[102] = { ADA };
	static char fields[102][120];
	struct buf want = BUF_INIT;
	const struct testing_harvest h = { .type = "mastodon_account",
		.message = "{" SEED_ADA "," INSTANCE "}", .answers = answers,
		.answers_n = 101 };

	(void)state;
	buf_put_text(&want, ADA_IS_7);
	for (int i = 1; i <= 100; i++) {
		snprintf(fields[i], sizeof(fields[i]),
		    "Link: <" A "/?min_id=%d>; rel=\"prev\"\r\n", 1000 + i);
		answers[i] = (struct testing_answer){ 200, fields[i], "[]" };
		buf_printf(&want, "state " A ".7.min_id=%d\n", 1000 + i);
	}
	buf_put_text(&want, "fail unknown_error: account ada: 100 pages in a "
	    "row have no posts, and each leads to another\n");
	testing_expect_findings(&h, buf_text(&want));
	buf_free(&want);
}

static void
posts_without_an_id_are_told(void **state)
{
	ACCOUNT(SEED_ADA "," INSTANCE, ADA,
	    { 200, PREV("3"), "[" POST("3") ",null,{\"id\":null},"
	    "{\"id\":\"a b\"},7]" }, EMPTY);

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_7 ASK_7("1")
	    "count mastodon posts 1\n"
	    "warning uid_unknown_error seed=s1: account ada: 4 of 5 posts of a"
	    " page have no id and are not counted\n"
	    "state " A ".7.min_id=3\n" ASK_7("3") "done\n");
}

static void
json_of_another_kind_is_asked_for_again(void **state)
{
	ACCOUNT(SEED_ADA "," INSTANCE, { 200, "", "[]" },
	    { 200, "", "{\"id\":\"a/b\"}" }, ADA, { 200, "", "{}" },
	    { 200, "", "null" }, EMPTY);

	(void)state;
	testing_expect(&h, ASK_ADA "again 1\n" ASK_ADA "again 4\n" ASK_ADA
	    ADA_IS_7 ASK_7("1") "again 1\n" ASK_7("1") "again 4\n" ASK_7("1")
	    "done\n");
}

static void
json_of_another_kind_is_an_error_in_the_end(void **state)
{
#define WRONG { 200, "", "7" }
	HASHTAG(SEED_CATS "," INSTANCE, WRONG, WRONG, WRONG, WRONG, WRONG,
	    WRONG);

	(void)state;
	testing_expect_findings(&h, "again 1\nagain 4\nagain 9\nagain 16\n"
	    "again 25\nfail unknown_error: " A " sent no description of itself "
	    "6 times\n");
}

/* ---- Errors of seeds --------------------------------------------------- */

static void
accounts_that_are_not_there_are_passed_over(void **state)
{
	ACCOUNT("\"seeds\":[{\"id\":\"s1\",\"token\":\"none\"},"
	    "{\"id\":\"s2\",\"uid\":\"404\"},{\"id\":\"s3\",\"token\":\"gone\"}"
	    ",{\"id\":\"s4\",\"token\":\"sue\"},{\"id\":\"s5\",\"token\":"
	    "\"left\"}]," INSTANCE,
	    { 404, "", "{\"error\":\"Record not found\"}" }, { 404, "", "<" },
	    { 410, "", "{}" },
	    { 200, "", "{\"id\":\"11\",\"acct\":\"sue\",\"suspended\":true}" },
	    { 200, "", "{\"id\":\"12\",\"acct\":\"left\",\"suspended\":false}"
	    }, { 404, "", "" });

	(void)state;
	testing_expect_findings(&h,
	    "warning token_not_found seed=s1: account none does not exist\n"
	    "skip s1\n"
	    "warning uid_not_found seed=s2: account 404 does not exist\n"
	    "skip s2\n"
	    "warning token_not_found seed=s3: account gone does not exist\n"
	    "skip s3\n"
	    "seed s4 uid=11 token=\n"
	    "warning uid_suspended seed=s4: account sue is suspended\n"
	    "skip s4\n"
	    "seed s5 uid=12 token=\n"
	    "warning uid_not_found seed=s5: account left does not exist\n"
	    "skip s5\ndone\n");
}

static void
hashtags_that_are_not_there_are_passed_over(void **state)
{
	HASHTAG("\"seeds\":[{\"id\":\"t1\",\"token\":\"none\"},{\"id\":\"t2\","
	    "\"token\":\"cats\"}]," INSTANCE, OPEN, { 404, "", "{}" }, EMPTY);

	(void)state;
	testing_expect_findings(&h,
	    "warning token_not_found seed=t1: hashtag none does not exist\n"
	    "skip t1\ndone\n");
}

static void
names_are_compared_as_accounts_are(void **state)
{
	ACCOUNT("\"seeds\":[{\"id\":\"s1\",\"uid\":\"7\",\"token\":"
	    "\"@ADA@a.example\"},{\"id\":\"s2\",\"uid\":\"7\",\"token\":"
	    "\"eda@a.example\"},{\"id\":\"s3\",\"uid\":\"7\"},{\"id\":\"s4\","
	    "\"uid\":\"7\",\"token\":\"eda\"}]," INSTANCE,
	    ADA, EMPTY, ADA, EMPTY, ADA, EMPTY,
	    { 200, "", "{\"id\":\"7\",\"acct\":\"a\\nb\"}" }, EMPTY);

	(void)state;
	testing_expect_findings(&h, "seed s2 uid= token=ada\ndone\n");
}

/* ---- Errors of the credential and the instance ------------------------- */

#define REFUSED(MESSAGE, ANSWER, TEXT)                                       \
	do {                                                                 \
		ACCOUNT(MESSAGE, ANSWER);                                    \
		testing_expect_findings(&h,                                  \
		    "fail harvest_Unauthorized: " A " " TEXT "\n");          \
	} while (0)

static void
an_instance_may_want_a_token(void **state)
{
	const struct testing_answer plain = { 401, "", "<html>" },
	    in_words = { 422, "", "{\"error\":\"This method requires an "
	    "authenticated\\nuser\"}" }, forbidden = { 403, "",
	    "{\"error\":7}" };

	(void)state;
	REFUSED(SEED_ADA "," INSTANCE, plain, "wants an access token: 401");
	REFUSED(SEED_ADA "," INSTANCE, in_words, "wants an access token: 422,"
	    " This method requires an authenticated user");
	REFUSED(SEED_ADA "," INSTANCE, forbidden,
	    "wants an access token: 403");
	REFUSED(SEED_ADA "," WITH_TOKEN, plain,
	    "refuses the access token: 401");
}

static void
a_token_may_be_wanted_for_pages_alone(void **state)
{
	ACCOUNT(SEED_ADA "," INSTANCE, ADA, { 401, "", "{}" });

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_7 ASK_7("1")
	    "fail harvest_Unauthorized: " A " wants an access token: 401\n");
}

#define ACCESS(local, remote)                                                \
	{ 200, "", "{\"configuration\":{\"timelines_access\":{"              \
	    "\"hashtag_feeds\":{\"local\":\"" local "\",\"remote\":\""       \
	    remote "\"}}}}" }

static void
closed_timelines_are_no_empty_ones(void **state)
{
	(void)state;
	{
		HASHTAG(SEED_CATS "," INSTANCE,
		    ACCESS("authenticated", "authenticated"));
		testing_expect(&h, ASK_ACCESS "fail harvest_Unauthorized: " A
		    " shows posts of hashtags only to those with an access "
		    "token\n");
	}
	{
		HASHTAG(SEED_CATS "," WITH_TOKEN, ACCESS("disabled",
		    "disabled"));
		testing_expect_findings(&h, "fail harvest_Unauthorized: " A
		    " shows posts of hashtags to no application\n");
	}
	{
		HASHTAG(SEED_CATS "," WITH_TOKEN, ACCESS("authenticated",
		    "authenticated"), EMPTY);
		testing_expect_findings(&h, "done\n");
	}
}

static void
half_closed_timelines_are_told(void **state)
{
	(void)state;
	{
		HASHTAG(SEED_CATS "," INSTANCE, ACCESS("public", "disabled"),
		    EMPTY);
		testing_expect_findings(&h, "warning partial_posts: " A
		    " shows only the posts of its own accounts for hashtags\n"
		    "done\n");
	}
	{
		/* The first seeds can be read, the last one cannot. */
		HASHTAG("\"seeds\":[{\"id\":\"t1\",\"token\":\"cats\"},"
		    "{\"token\":\"owls\"},"
		    "{\"id\":\"t2\",\"token\":{\"tag\":\"cats\",\"local\":true}"
		    "}]," INSTANCE, ACCESS("disabled", "public"), EMPTY,
		    EMPTY);
		testing_expect_findings(&h, "warning partial_posts: " A
		    " shows only the posts of other instances for hashtags\n"
		    "fail harvest_Unauthorized: " A " shows posts of hashtags "
		    "only to those with an access token\n");
	}
}

static void
older_instances_say_nothing_of_timelines(void **state)
{
	(void)state;
	{
		HASHTAG(SEED_CATS "," INSTANCE, { 404, "", "{}" }, EMPTY);
		testing_expect(&h, ASK_ACCESS ASK_CATS("1") "done\n");
	}
	{
		HASHTAG(SEED_CATS "," INSTANCE, { 200, "",
		    "{\"configuration\":{\"timelines_access\":7}}" }, EMPTY);
		testing_expect(&h, ASK_ACCESS ASK_CATS("1") "done\n");
	}
}

/* ---- Orders ------------------------------------------------------------ */

#define WRONG_INSTANCE(address)                                              \
	testing_refuse("mastodon_account", "{" SEED_ADA ",\"credentials\":"  \
	    "{\"instance\":\"" address "\"}}", "bad_request",                \
	    "credentials.instance: it is not the address of an instance, "   \
	    "such as https://mastodon.example")

static void
addresses_that_are_none_are_refused(void **state)
{
	(void)state;
	WRONG_INSTANCE("https://");
	WRONG_INSTANCE("/");
	WRONG_INSTANCE("ftp://a.example");
	WRONG_INSTANCE("https://a.example/path");
	WRONG_INSTANCE("https://a.example?x");
	WRONG_INSTANCE("https://u@a.example");
	WRONG_INSTANCE("https://a.example:0");
	WRONG_INSTANCE("https://a.example:65536");
	WRONG_INSTANCE("https://a.example:8x");
	WRONG_INSTANCE("https://a b");
	WRONG_INSTANCE("https://.example");
	WRONG_INSTANCE("https://m\xc3\xbcnchen.example");
}

static void
expect_address(const char *instance, const char *base)
{
	char message[300], calls[300];
	const struct testing_harvest h = { .type = "mastodon_account",
		.message = message };

	snprintf(message, sizeof(message), "{" SEED_ADA ",\"credentials\":"
	    "{\"instance\":\"%s\"}}", instance);
	snprintf(calls, sizeof(calls), "call %s/api/v1/accounts/lookup?"
	    "acct=ada\ncut\n", base);
	testing_expect(&h, calls);
}

static void
addresses_are_read_as_people_write_them(void **state)
{
	(void)state;
	expect_address("HTTPS://A.Example/", A);
	expect_address("a.example", A);
	expect_address("https://a.example:443", A);
	expect_address("https://a.example:8443/", A ":8443");
	expect_address("http://127.0.0.1:80", "http://127.0.0.1");
	testing_refuse("mastodon_account", "{" SEED_ADA ",\"credentials\":"
	    "{\"instance\":\"http://a.example\",\"access_token\":\"x\"}}",
	    "bad_request", "credentials.instance: it must begin with https, as"
	    " an access token is sent to it");
}

static void
seeds_that_are_none_are_refused(void **state)
{
	(void)state;
	testing_refuse("mastodon_account", "{\"seeds\":[{\"token\":\"a\"},"
	    "{\"uid\":\"../x\"}]," INSTANCE "}", "bad_request",
	    "seeds[1].uid: it is not an account's id");
	testing_refuse("mastodon_account", "{\"seeds\":[{\"token\":\"@\"}],"
	    INSTANCE "}", "bad_request", "seeds[0].token: it is empty");
	testing_refuse("mastodon_hashtag", "{\"seeds\":[{\"token\":{\"tag\":"
	    "\"#\"}}]," INSTANCE "}", "bad_request",
	    "seeds[0].token: it is empty");
}

/* ---- Checkpoints ------------------------------------------------------- */

static void
refuse_checkpoint(const struct connector_order *o, struct str saved)
{
	struct connector_run *run;
	struct why w = WHY_INIT;

	assert_int_equal(o->connector->open(o, &run, NULL), OK);
	assert_int_equal(o->connector->load(run, saved, &w), ERR_CORRUPT);
	assert_true(w.text[0] != '\0');
	o->connector->close(&run);
	assert_null(run);
}

static void
damaged_checkpoints_are_refused(void **state)
{
	static const struct connector_seed seed = { .token = { "ada", 3 } };
	static const struct connector_credential key = { { "instance", 8 },
		{ "a.example", 9 } };
	struct connector_order o = {
		.connector = connector_find(STR("mastodon_account")),
		.seeds = &seed, .seeds_n = 1, .credentials = &key,
		.credentials_n = 1 };
	struct connector_run *run;
	struct buf saved = BUF_INIT;

	(void)state;
	assert_int_equal(o.connector->open(&o, &run, NULL), OK);
	o.connector->save(run, &saved);
	assert_int_equal(o.connector->load(run, buf_str(&saved), NULL), OK);
	o.connector->close(&run);
	for (size_t n = 0; n < saved.n; n++)
		refuse_checkpoint(&o, str_cut(buf_str(&saved), 0, n));
	buf_put_char(&saved, 0);
	refuse_checkpoint(&o, buf_str(&saved));
	saved.n--;
	saved.p[3] = 1;                  /* a seed that is not there */
	refuse_checkpoint(&o, buf_str(&saved));
	saved.p[3] = 0;
	saved.p[1] = 2;                  /* a page of no account */
	refuse_checkpoint(&o, buf_str(&saved));
	saved.p[1] = 0;                  /* a step of hashtags */
	refuse_checkpoint(&o, buf_str(&saved));
	buf_free(&saved);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_is_read_forward),
		cmocka_unit_test(seeds_are_read_one_after_the_other),
		cmocka_unit_test(hashtags_are_restricted_by_their_fields),
		cmocka_unit_test(an_incremental_run_goes_on_from_its_state),
		cmocka_unit_test(a_limit_ends_the_run_behind_its_page),
		cmocka_unit_test(urls_are_found_the_oldest_first),
		cmocka_unit_test(without_a_link_the_greatest_id_leads_on),
		cmocka_unit_test(pages_may_overlap),
		cmocka_unit_test(a_page_that_comes_twice_is_asked_for_again),
		cmocka_unit_test(a_cursor_that_loops_ends_with_an_error),
		cmocka_unit_test(an_empty_page_with_a_cursor_is_no_end),
		cmocka_unit_test(empty_pages_without_end_are_an_error),
		cmocka_unit_test(posts_without_an_id_are_told),
		cmocka_unit_test(json_of_another_kind_is_asked_for_again),
		cmocka_unit_test(json_of_another_kind_is_an_error_in_the_end),
		cmocka_unit_test(accounts_that_are_not_there_are_passed_over),
		cmocka_unit_test(hashtags_that_are_not_there_are_passed_over),
		cmocka_unit_test(names_are_compared_as_accounts_are),
		cmocka_unit_test(an_instance_may_want_a_token),
		cmocka_unit_test(a_token_may_be_wanted_for_pages_alone),
		cmocka_unit_test(closed_timelines_are_no_empty_ones),
		cmocka_unit_test(half_closed_timelines_are_told),
		cmocka_unit_test(older_instances_say_nothing_of_timelines),
		cmocka_unit_test(addresses_that_are_none_are_refused),
		cmocka_unit_test(addresses_are_read_as_people_write_them),
		cmocka_unit_test(seeds_that_are_none_are_refused),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

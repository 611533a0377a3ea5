/* Recorded harvests of authors' feeds, and what each fault leads to. */
#include "engine/connector/connector_testing.h"

#define B "https://public.api.bsky.app"
#define DID "did:plc:ada"
#define SEED_ADA "\"seeds\":[{\"id\":\"s1\",\"token\":\"ada.example\"}]"
#define ADA { 200, "", "{\"did\":\"" DID "\",\"handle\":\"ada.example\"}" }
#define ADA_IS "seed s1 uid=" DID " token=\n"
#define ASK_ADA "call " B "/xrpc/app.bsky.actor.getProfile?actor="           \
	"ada.example\n"
#define ASK(did, cursor, filter) "call " B "/xrpc/app.bsky.feed."            \
	"getAuthorFeed?actor=did%3Aplc%3A" did "&limit=100" cursor           \
	"&filter=" filter "\n"
#define ASK_PAGE(cursor) ASK("ada", cursor, "posts_with_replies")
/* At second `s` of a minute. */
#define DATE(s) "2026-11-20T09:00:" s ".000Z"
#define AT(s) "\"indexedAt\":\"" DATE(s) "\""
#define POST(key, s) "{\"post\":{\"uri\":\"at://" DID "/p/" key "\"," AT(s) "}}"
#define REPOST(s) "{\"post\":{\"uri\":\"at://o/p/1\"," AT("00") "},"         \
	"\"reason\":{\"by\":{\"did\":\"" DID "\"}," AT(s) "}}"
#define PINNED(s) "{\"post\":{\"uri\":\"at://" DID "/p/0\"," AT(s) "},"      \
	"\"reason\":{\"$type\":\"app.bsky.feed.defs#reasonPin\"}}"
#define PAGE(cursor, ...) { 200, "", "{\"cursor\":\"" cursor "\",\"feed\":["  \
	__VA_ARGS__ "]}" }
#define LAST(...) { 200, "", "{\"feed\":[" __VA_ARGS__ "]}" }
#define COUNT(n) "count bluesky posts " n "\n"
#define STATE(s) "state " DID ".since=2026-11-20T09:00:" s ".000000Z\n"
#define ERROR(status, error, message) { status, "", "{\"error\":\"" error    \
	"\",\"message\":\"" message "\"}" }

#define HARVEST(MESSAGE, ...)                                                \
	const struct testing_answer answers[] = { __VA_ARGS__ };             \
	struct testing_harvest h = { .type = "bluesky_author_feed",          \
		.message = "{" MESSAGE "}", .answers = answers,              \
		.answers_n = ARRAY_LEN(answers) }

/* ---- Whole harvests ---------------------------------------------------- */

static void
a_feed_is_read_from_its_newest_entry_on(void **state)
{
	HARVEST(SEED_ADA, ADA,
	    PAGE("c 1", POST("3", "30") "," REPOST("20")),
	    LAST(POST("1", "10")));

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS
	    ASK_PAGE("") COUNT("2") ASK_PAGE("&cursor=c%201") COUNT("1")
	    STATE("30") "done\n");
}

static void
seeds_are_read_one_after_the_other(void **state)
{
	HARVEST("\"seeds\":[{\"id\":\"s1\",\"token\":\"@Ada.example\"},"
	    "{\"id\":\"s2\",\"token\":\"bob.example\",\"uid\":\"did:plc:bob\"}"
	    ",{\"id\":\"s3\",\"token\":\"did:web:cy.example\"},{\"id\":\"s4\","
	    "\"uid\":\"did:plc:dee\",\"token\":\"dee.example\"}],\"options\":"
	    "{\"filter\":\"posts_no_replies\"}",
	    ADA, LAST(POST("1", "10")),
	    { 200, "", "{\"did\":\"did:plc:bob\",\"handle\":\"rob.example\"}" },
	    LAST(),
	    { 200, "", "{\"did\":\"did:web:cy.example\",\"handle\":"
	    "\"cy.example\"}" }, LAST(),
	    { 200, "", "{\"did\":\"did:plc:dee\",\"handle\":"
	    "\"handle.invalid\"}" }, LAST());

	(void)state;
#define PROFILE(actor) "call " B "/xrpc/app.bsky.actor.getProfile?actor="    \
	actor "\n"
	/* A feed that leaves something out has a state of its own. */
	testing_expect(&h, PROFILE("Ada.example") ADA_IS
	    ASK("ada", "", "posts_no_replies") COUNT("1")
	    "state " DID ".posts_no_replies.since=2026-11-20T09:00:10.000000Z\n"
	    PROFILE("did%3Aplc%3Abob") "seed s2 uid= token=rob.example\n"
	    ASK("bob", "", "posts_no_replies")
	    PROFILE("did%3Aweb%3Acy.example")
	    "seed s3 uid=did:web:cy.example token=\n"
	    "call " B "/xrpc/app.bsky.feed.getAuthorFeed?actor=did%3Aweb%3A"
	    "cy.example&limit=100&filter=posts_no_replies\n"
	    PROFILE("did%3Aplc%3Adee") ASK("dee", "", "posts_no_replies")
	    "done\n");
}

static void
an_incremental_run_ends_where_the_last_one_began(void **state)
{
	static const char *const left[] = { DID ".since",
		"2026-11-20T09:00:20.000000Z", NULL };
	static const char *const spoilt[] = { DID ".since", "yesterday", NULL };
	/* A pinned post does not end it, a repost does by its own date. */
	HARVEST(SEED_ADA ",\"options\":{\"incremental\":true}", ADA,
	    PAGE("c1", PINNED("05") "," POST("4", "40") "," REPOST("30")),
	    PAGE("c2", POST("3", "25") "," REPOST("20") "," POST("2", "15")));

	(void)state;
	h.state = left;
	testing_expect(&h, ASK_ADA ADA_IS ASK_PAGE("") COUNT("3")
	    ASK_PAGE("&cursor=c1") COUNT("3") STATE("40") "done\n");
	h.state = spoilt;
	testing_expect(&h, ASK_ADA ADA_IS ASK_PAGE("") COUNT("3")
	    ASK_PAGE("&cursor=c1") COUNT("3") ASK_PAGE("&cursor=c2") "cut\n");
	h.state = left;
	h.message = "{" SEED_ADA "}";
	testing_expect(&h, ASK_ADA ADA_IS ASK_PAGE("") COUNT("3")
	    ASK_PAGE("&cursor=c1") COUNT("3") ASK_PAGE("&cursor=c2") "cut\n");
}

static void
a_state_never_moves_back(void **state)
{
	static const char *const left[] = { DID ".since",
		"2026-11-20T09:00:20.000000Z", NULL };
	HARVEST(SEED_ADA ",\"options\":{\"incremental\":\"true\"}", ADA,
	    PAGE("c1", POST("1", "20")));

	(void)state;
	h.state = left;
	testing_expect(&h, ASK_ADA ADA_IS ASK_PAGE("") COUNT("1") "done\n");
}

static void
a_limit_ends_the_run_and_sets_the_state(void **state)
{
	HARVEST("\"seeds\":[{\"id\":\"s1\",\"token\":\"ada.example\"},"
	    "{\"token\":\"bob.example\"}],\"options\":{\"limit\":2}", ADA,
	    PAGE("c1", POST("3", "30") "," POST("2", "20") "," POST("1",
	    "10")));

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS ASK_PAGE("") COUNT("3") STATE("30")
	    "info limit_reached: 3 posts were found, and the limit is 2\n"
	    "done\n");
}

static void
urls_of_embeds_are_found(void **state)
{
#define EMBED(what) "{\"post\":{\"uri\":\"at://a\",\"embed\":" what "}}"
	HARVEST(SEED_ADA, ADA, LAST(
	    EMBED("{\"images\":[{\"fullsize\":\"https://i/1\"},7,"
	    "{\"fullsize\":\"data:x\"},{\"fullsize\":\"https://i/2\"}]}") ","
	    EMBED("{\"external\":{\"uri\":\"https://e/1\"}}") ","
	    EMBED("{\"items\":[{\"fullsize\":\"https://g/1\"}]}") ","
	    EMBED("{\"record\":{},\"media\":{\"images\":[{\"fullsize\":"
	    "\"https://i/3\"}]}}") ","
	    EMBED("{\"record\":{},\"media\":{\"external\":{\"uri\":"
	    "\"https://e/2\"}}}") "," EMBED("{\"playlist\":\"https://v/1\"}")));

	(void)state;
	testing_expect_findings(&h, ADA_IS "url https://i/1\nurl https://i/2\n"
	    "url https://e/1\nurl https://g/1\nurl https://i/3\n"
	    "url https://e/2\n" COUNT("6")
	    "done\n");
}

/* ---- Pages that are not as they should be ------------------------------ */

static void
an_empty_page_with_a_cursor_is_no_end(void **state)
{
	HARVEST(SEED_ADA, ADA, PAGE("c1"), PAGE("c2", POST("1", "10")),
	    PAGE("", POST("1", "05")));

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS ASK_PAGE("") ASK_PAGE("&cursor=c1")
	    COUNT("1") ASK_PAGE("&cursor=c2") COUNT("1") STATE("10") "done\n");
}

static void
empty_pages_without_end_are_an_error(void **state)
{
	static struct testing_answer answers[101] = { ADA };
	static char bodies[101][60];
	const struct testing_harvest h = { .type = "bluesky_author_feed",
		.message = "{" SEED_ADA "}", .answers = answers,
		.answers_n = 101 };

	(void)state;
	for (int i = 1; i <= 100; i++) {
		snprintf(bodies[i], sizeof(bodies[i]),
		    "{\"cursor\":\"c%d\",\"feed\":[]}", i);
		answers[i] = (struct testing_answer){ 200, "", bodies[i] };
	}
	testing_expect_findings(&h, ADA_IS "fail unknown_error: Bluesky sent "
	    "100 pages in a row without posts, account " DID "\n");
}

static void
cursors_that_loop_are_an_error(void **state)
{
	HARVEST(SEED_ADA, ADA, PAGE("c1", POST("3", "30")),
	    PAGE("c2", POST("2", "20")), PAGE("c1", POST("3", "30")));

	(void)state;
	testing_expect_findings(&h, ADA_IS COUNT("1") COUNT("1") COUNT("1")
	    "fail unknown_error: Bluesky sent pages that lead in a circle, "
	    "account " DID "\n");
}

static void
a_page_that_comes_twice_is_asked_for_again(void **state)
{
#define TWICE PAGE("c1", POST("3", "30"))
	HARVEST(SEED_ADA, ADA, TWICE, TWICE, { 200, "", "7" },
	    LAST(POST("2", "20")));
	const struct testing_answer endless[] = { ADA, TWICE, TWICE, TWICE,
		TWICE, TWICE, TWICE, TWICE };

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS ASK_PAGE("") COUNT("1")
	    ASK_PAGE("&cursor=c1") COUNT("1") "again 1\n"
	    ASK_PAGE("&cursor=c1") "again 4\n" ASK_PAGE("&cursor=c1")
	    COUNT("1") STATE("30") "done\n");
	h.answers = endless;
	h.answers_n = ARRAY_LEN(endless);
	testing_expect_findings(&h, ADA_IS COUNT("1") COUNT("1") "again 1\n"
	    COUNT("1") "again 4\n" COUNT("1") "again 9\n" COUNT("1")
	    "again 16\n" COUNT("1") "again 25\n" COUNT("1")
	    "fail unknown_error: Bluesky sent a page that leads nowhere 6 "
	    "times, account ada.example\n");
}

static void
entries_without_a_post_are_told(void **state)
{
	HARVEST(SEED_ADA, ADA, LAST(POST("1", "10") ",null,{\"post\":7},"
	    "{\"post\":{\"uri\":\"\"}},{\"post\":{\"uri\":\"at://x\","
	    "\"indexedAt\":\"soon\"}}"));

	(void)state;
	testing_expect_findings(&h, ADA_IS COUNT("2")
	    "warning token_unknown_error seed=s1: account ada.example: 3 of 5 "
	    "entries of a page have no post and are not counted\n"
	    STATE("10") "done\n");
}

static void
json_of_another_kind_is_asked_for_again(void **state)
{
	HARVEST(SEED_ADA, { 200, "", "[]" }, { 200, "", "{\"did\":\"x\"}" },
	    ADA, { 200, "", "{\"feed\":{}}" }, { 400, "", "<html>" }, LAST());

	(void)state;
	testing_expect(&h, ASK_ADA "again 1\n" ASK_ADA "again 4\n" ASK_ADA
	    ADA_IS ASK_PAGE("") "again 1\n" ASK_PAGE("") "again 4\n"
	    ASK_PAGE("") "done\n");
}

static void
json_of_another_kind_is_an_error_in_the_end(void **state)
{
#define WRONG { 200, "", "7" }
	HARVEST(SEED_ADA, WRONG, WRONG, WRONG, WRONG, WRONG, WRONG);

	(void)state;
	testing_expect_findings(&h, "again 1\nagain 4\nagain 9\nagain 16\n"
	    "again 25\nfail unknown_error: Bluesky sent a profile without a "
	    "DID 6 times, account ada.example\n");
}

static void
a_cursor_has_a_limit(void **state)
{
	static char body[8300];
	struct testing_answer answers[] = { ADA, { 200, "", body }, LAST() };
	const struct testing_harvest h = { .type = "bluesky_author_feed",
		.message = "{" SEED_ADA "}", .answers = answers,
		.answers_n = ARRAY_LEN(answers) };

	(void)state;
	snprintf(body, sizeof(body),
	    "{\"feed\":[],\"cursor\":\"%08193d\"}", 7);
	testing_expect(&h, ASK_ADA ADA_IS ASK_PAGE("") "again 1\n" ASK_PAGE("")
	    "done\n");
}

/* ---- Errors of seeds and of the platform ------------------------------- */

static void
accounts_that_cannot_be_shown_are_passed_over(void **state)
{
	HARVEST("\"seeds\":[{\"id\":\"s1\",\"token\":\"none.example\"},"
	    "{\"id\":\"s2\",\"uid\":\"did:plc:none\"},{\"id\":\"s3\","
	    "\"token\":\"down.example\"},{\"id\":\"s4\",\"uid\":\"did:plc:off\""
	    "},{\"id\":\"s5\",\"token\":\"ada.example\"},{\"id\":\"s6\","
	    "\"token\":\"odd.example\"}]",
	    ERROR(400, "InvalidRequest", "Profile not found"),
	    ERROR(400, "InvalidRequest", "Error: actor must be a valid did or "
	    "a handle"),
	    ERROR(400, "AccountTakedown", "Account has been suspended"),
	    ERROR(400, "AccountDeactivated", "Account is deactivated"), ADA,
	    ERROR(400, "BlockedActor", "Requester has blocked actor"),
	    ERROR(400, "InvalidRequest", "Malformed\\ncursor"));

	(void)state;
	testing_expect_findings(&h,
	    "warning token_not_found seed=s1: account none.example does not "
	    "exist\nskip s1\n"
	    "warning uid_not_found seed=s2: account did:plc:none does not "
	    "exist\nskip s2\n"
	    "warning token_suspended seed=s3: account down.example was taken "
	    "down\nskip s3\n"
	    "warning uid_suspended seed=s4: account did:plc:off is deactivated"
	    "\nskip s4\n"
	    "seed s5 uid=" DID " token=\n"
	    "warning token_unauthorized seed=s5: account ada.example may not "
	    "be shown: it is blocked\nskip s5\n"
	    "warning token_unknown_error seed=s6: account odd.example cannot "
	    "be harvested: Malformed cursor\nskip s6\ndone\n");
}

static void
a_platform_that_refuses_everybody_is_a_failure(void **state)
{
	const struct testing_answer refusals[] = { { 403, "", "<html>" },
		ERROR(401, "AuthMissing", "Authentication Required") };
	static const char *const texts[] = { "403",
		"401, Authentication Required" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		char outcome[200];
		HARVEST(SEED_ADA, refusals[i]);
		snprintf(outcome, sizeof(outcome), "fail harvest_Unauthorized: "
		    "Bluesky refuses requests: %s\n", texts[i]);
		testing_expect_findings(&h, outcome);
	}
}

/* ---- Orders and checkpoints -------------------------------------------- */

static void
seeds_that_are_none_are_refused(void **state)
{
	static const char *const dids[] = { "did:plc:", "did::x", "plc:x",
		"did:plc:a b", "did:plc" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(dids); i++) {
		char message[100];
		snprintf(message, sizeof(message),
		    "{\"seeds\":[{\"token\":\"a\"},{\"uid\":\"%s\"}]}",
		    dids[i]);
		testing_refuse("bluesky_author_feed", message, "bad_request",
		    "seeds[1].uid: it is no DID, such as "
		    "did:plc:z72i7hdynmk6r22z27h6tvur");
	}
	testing_refuse("bluesky_author_feed", "{\"seeds\":[{\"token\":\"@\"}]}",
	    "bad_request", "seeds[0].token: it is empty");
	testing_refuse("bluesky_author_feed", "{" SEED_ADA ",\"options\":"
	    "{\"filter\":\"likes\"}}", "bad_request", "options.filter: it is "
	    "none of: posts_with_replies posts_no_replies posts_with_media "
	    "posts_and_author_threads posts_with_video");
}

static void
damaged_checkpoints_are_refused(void **state)
{
	(void)state;
	testing_damage("bluesky_author_feed", "{" SEED_ADA "}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_feed_is_read_from_its_newest_entry_on),
		cmocka_unit_test(seeds_are_read_one_after_the_other),
		cmocka_unit_test(
		    an_incremental_run_ends_where_the_last_one_began),
		cmocka_unit_test(a_state_never_moves_back),
		cmocka_unit_test(a_limit_ends_the_run_and_sets_the_state),
		cmocka_unit_test(urls_of_embeds_are_found),
		cmocka_unit_test(an_empty_page_with_a_cursor_is_no_end),
		cmocka_unit_test(empty_pages_without_end_are_an_error),
		cmocka_unit_test(cursors_that_loop_are_an_error),
		cmocka_unit_test(a_page_that_comes_twice_is_asked_for_again),
		cmocka_unit_test(entries_without_a_post_are_told),
		cmocka_unit_test(json_of_another_kind_is_asked_for_again),
		cmocka_unit_test(json_of_another_kind_is_an_error_in_the_end),
		cmocka_unit_test(a_cursor_has_a_limit),
		cmocka_unit_test(accounts_that_cannot_be_shown_are_passed_over),
		cmocka_unit_test(
		    a_platform_that_refuses_everybody_is_a_failure),
		cmocka_unit_test(seeds_that_are_none_are_refused),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Recorded harvests of feeds, and what each fault leads to. */
#include "base/hash.h"
#include "engine/connector/connector_testing.h"

#define F "https://f.example/feed"
#define SEED "\"seeds\":[{\"id\":\"s1\",\"token\":\"" F "\"}]"
#define XML "Content-Type: application/rss+xml\r\n"
#define TO(url) "Location: " url "\r\n"
#define ITEM(id) "<item><guid isPermaLink=\"false\">" id "</guid></item>"
#define RSS(...) "<rss><channel>" __VA_ARGS__ "</channel></rss>"
#define ATOM "xmlns:a=\"http://www.w3.org/2005/Atom\""
#define LINK(rel, href) "<a:link " ATOM " rel=\"" rel "\" href=\"" href "\"/>"
#define ASK(url) "call " url " as a crawl\n"
#define COUNT(n) "count feed entries " n "\n"
/* XXH3 of "1", "2" and "3". */
#define D1 "65cd25028f98f158"
#define D2 "fb95a7322f5da314"
#define D3 "7324dc1e7e9474f0"
#define SEEN(url, digests) "state " url ".seen=" digests "\n"

#define HARVEST(MESSAGE, ...)                                                \
	const struct testing_answer answers[] = { __VA_ARGS__ };             \
	struct testing_harvest h = { .type = "feed_entries",                 \
		.message = "{" MESSAGE "}", .answers = answers,              \
		.answers_n = ARRAY_LEN(answers) }
#define OPTIONS(text) ",\"options\":{" text "}"

/* ---- Whole harvests ---------------------------------------------------- */

static void
a_feed_is_read_once(void **state)
{
	HARVEST("\"seeds\":[{\"id\":\"s1\",\"token\":\"HTTPS://F.example/feed#x"
	    "\"},{\"token\":\"http://g.example\"}]",
	    { 200, XML "ETag: W/\"1\"\r\nLast-Modified: Fri, 20 Nov 2026 "
	    "09:00:00 GMT\r\n", RSS(ITEM("1") ITEM("2") ITEM("1")) },
	    { 200, "Content-Type: application/feed+json\r\n", "\xef\xbb\xbf\n"
	    "{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":["
	    "{\"id\":3}]}" });

	(void)state;
	testing_expect(&h, ASK(F) COUNT("2") "state " F ".etag=W/\"1\"\n"
	    "state " F ".last_modified=Fri, 20 Nov 2026 09:00:00 GMT\n"
	    SEEN(F, D1 D2) ASK("http://g.example/") COUNT("1")
	    SEEN("http://g.example/", D3) "done\n");
}

static void
an_incremental_run_asks_under_a_condition(void **state)
{
	static const char *const left[] = { F ".etag", "\"1\"",
		F ".last_modified", "Fri, 20 Nov 2026 09:00:00 GMT", F ".seen",
		D2 "0000000000000007", NULL };
	HARVEST(SEED OPTIONS("\"incremental\":true"),
	    { 200, XML "ETag: \"2\"\r\n", RSS(ITEM("1") ITEM("2")) });
	const struct testing_answer unchanged = { 304, "", "" };

	(void)state;
#define CONDITION "call " F " as a crawl [If-None-Match: \"1\"] "            \
	"[If-Modified-Since: Fri, 20 Nov 2026 09:00:00 GMT]\n"
	h.state = left;
	testing_expect(&h, CONDITION COUNT("1") "state " F ".etag=\"2\"\n"
	    SEEN(F, D1 D2 "0000000000000007") "done\n");
	h.answers = &unchanged;
	testing_expect(&h, CONDITION "done\n");
	/* Who does not ask for it gets everything. */
	h.answers = answers;
	h.message = "{" SEED "}";
	testing_expect(&h, ASK(F) COUNT("2") "state " F ".etag=\"2\"\n"
	    SEEN(F, D1 D2) "done\n");
}

static void
a_spoilt_state_does_no_harm(void **state)
{
	static const char *const left[] = { F ".etag", "\"1\nX: y\"", F ".seen",
		D1 "what this may be", NULL };
	HARVEST(SEED OPTIONS("\"incremental\":true"),
	    { 200, XML, RSS(ITEM("1") ITEM("2")) });

	(void)state;
	h.state = left;
	testing_expect(&h, ASK(F) COUNT("1") SEEN(F, D1 D2) "done\n");
}

static void
urls_of_new_entries_are_found(void **state)
{
	static const char *const left[] = { F ".seen", D1, NULL };
#define ENTRY(id, link) "<item><guid>" id "</guid><link>" link "</link>"     \
	"<enclosure url=\"" id ".mp3\"/></item>"
	HARVEST(SEED OPTIONS("\"incremental\":true,\"media\":true,"
	    "\"web_resources\":true"), { 200, XML, RSS(ENTRY("1", "/1")
	    ENTRY("2", "/2#c") ENTRY("3", "mailto:x")) });

	(void)state;
	h.state = left;
	testing_expect_findings(&h, "url https://f.example/2\n"
	    "url https://f.example/2.mp3\nurl https://f.example/3.mp3\n"
	    COUNT("2") SEEN(F, D1 D2 D3) "done\n");
	h.message = "{" SEED OPTIONS("\"incremental\":true") "}";
	testing_expect_findings(&h, COUNT("2") SEEN(F, D1 D2 D3) "done\n");
}

static void
older_documents_are_read_on_demand(void **state)
{
	static const char *const left[] = { F ".etag", "\"0\"", F ".seen", D2,
		NULL };
	HARVEST(SEED OPTIONS("\"history\":true"),
	    { 200, XML "ETag: \"1\"\r\n", RSS(LINK("next", "?n")
	    LINK("prev-archive", "/old/2") LINK("next", "?m") ITEM("1")) },
	    { 200, XML "ETag: \"9\"\r\n", RSS(ITEM("2")
	    LINK("prev-archive", "1")) },
	    { 301, TO("/older"), "" }, { 200, XML, RSS(ITEM("3")) });

	(void)state;
	testing_expect(&h, ASK(F) COUNT("1") ASK("https://f.example/old/2")
	    COUNT("1") ASK("https://f.example/old/1")
	    ASK("https://f.example/older") COUNT("1")
	    "state " F ".etag=\"1\"\n" SEEN(F, D1 D2 D3) "done\n");
	/* A document without anything new ends it. */
	h.state = left;
	h.answers_n = 2;
	h.message = "{" SEED OPTIONS("\"history\":true,\"incremental\":true")
	    "}";
	testing_expect(&h, "call " F " as a crawl [If-None-Match: \"0\"]\n"
	    COUNT("1") ASK("https://f.example/old/2")
	    "state " F ".etag=\"1\"\n" SEEN(F, D1 D2) "done\n");
	h.answers_n = 1;
	h.message = "{" SEED "}";
	testing_expect(&h, ASK(F) COUNT("1") "state " F ".etag=\"1\"\n"
	    SEEN(F, D1) "done\n");
}

static void
a_limit_ends_the_run(void **state)
{
	HARVEST("\"seeds\":[{\"token\":\"" F "\"},{\"token\":\"http://g\"}]"
	    OPTIONS("\"history\":true,\"limit\":2"),
	    { 200, XML, RSS(LINK("next", "?n") ITEM("1") ITEM("2")
	    ITEM("3")) });

	(void)state;
	testing_expect(&h, ASK(F) COUNT("3") SEEN(F, D1 D2 D3)
	    "info limit_reached: 3 entries were found, and the limit is 2\n"
	    "done\n");
}

static void
a_window_has_a_limit(void **state)
{
	struct buf body = BUF_INIT, want = BUF_INIT;
	static const char *const left[] = { F ".seen", D1, NULL };
	struct testing_answer answer = { 200, XML, NULL };
	const struct testing_harvest h = { .type = "feed_entries",
		.message = "{" SEED OPTIONS("\"incremental\":true") "}",
		.state = left, .answers = &answer, .answers_n = 1 };

	(void)state;
	/* What was known leaves it, and so does what comes last. */
	buf_put_text(&body, "<rss><channel>");
	buf_put_text(&want, "count feed entries 1001\nstate " F ".seen=");
	for (int i = 0; i < 1001; i++) {
		char id[16];
		snprintf(id, sizeof(id), "i%d", i);
		buf_printf(&body, "<item><guid>%s</guid></item>", id);
		if (i < 1000)
			buf_printf(&want, "%016llx", (unsigned long long)
			    hash_bytes(str_of(id), 0));
	}
	buf_put_text(&body, "</channel></rss>");
	buf_put_text(&want, "\ndone\n");
	answer.body = buf_text(&body);
	testing_expect_findings(&h, buf_text(&want));
	buf_free(&body);
	buf_free(&want);
}

/* ---- Redirects --------------------------------------------------------- */

static void
a_feed_that_has_moved_for_good_has_a_new_name(void **state)
{
#define G "https://g.example/new"
	static const char *const left[] = { F ".etag", "\"1\"", F ".seen", D1,
		NULL };
	static const char *const both[] = { F ".seen", D1, G ".etag", "\"2\"",
		G ".seen", D2, NULL };
	HARVEST(SEED OPTIONS("\"incremental\":true"),
	    { 301, TO(G), "" }, { 308, TO("/last"), "" },
	    { 200, XML, RSS(ITEM("1") ITEM("2")) });
	const struct testing_answer unchanged[] = { { 301, TO(G), "" },
		{ 304, "", "" } };

	(void)state;
	h.state = left;
	testing_expect(&h, "call " F " as a crawl [If-None-Match: \"1\"]\n"
	    ASK(G) ASK("https://g.example/last")
	    "seed s1 uid= token=https://g.example/last\n" COUNT("1")
	    SEEN("https://g.example/last", D1 D2) "done\n");
	h.state = both;
	h.answers = unchanged;
	h.answers_n = 2;
	testing_expect(&h, ASK(F) "call " G " as a crawl [If-None-Match: \"2\"]"
	    "\nseed s1 uid= token=" G "\ndone\n");
}

static void
what_has_moved_for_now_keeps_its_name(void **state)
{
	HARVEST(SEED, { 301, TO(G), "" }, { 302, TO("/a"), "" },
	    { 301, TO("/b"), "" }, { 200, XML, RSS(ITEM("1")) });

	(void)state;
	testing_expect(&h, ASK(F) ASK(G) ASK("https://g.example/a")
	    ASK("https://g.example/b") "seed s1 uid= token=" G "\n" COUNT("1")
	    SEEN(G, D1) "done\n");
}

static void
redirects_that_lead_nowhere_cost_a_seed(void **state)
{
#define LOOP { 302, TO("/feed"), "" }
	HARVEST("\"seeds\":[{\"id\":\"s1\",\"token\":\"" F "\"},"
	    "{\"id\":\"s2\",\"token\":\"" F "\"},"
	    "{\"id\":\"s3\",\"token\":\"" F "\"}]",
	    { 302, TO("ftp://x/"), "" }, { 307, "", "" }, LOOP, LOOP, LOOP,
	    LOOP, LOOP, LOOP);

	(void)state;
	testing_expect_findings(&h,
	    "warning token_unknown_error seed=s1: feed " F " leads to no http "
	    "or https URL\nskip s1\n"
	    "warning token_unknown_error seed=s2: feed " F " leads to no http "
	    "or https URL\nskip s2\n"
	    "warning token_unknown_error seed=s3: feed " F " leads from one "
	    "address to another too often\nskip s3\ndone\n");
}

/* ---- What is not as it should be --------------------------------------- */

static void
feeds_that_are_not_there_are_passed_over(void **state)
{
#define SEEDS(n) "{\"id\":\"s" n "\",\"token\":\"" F "\"}"
	HARVEST("\"seeds\":[" SEEDS("1") "," SEEDS("2") "," SEEDS("3") ","
	    SEEDS("4") "," SEEDS("5") "]", { 404, "", "" }, { 410, "", "" },
	    { 403, "", "" }, { 500, "", "" },
	    { 0, "", "robots.txt forbids it" });

	(void)state;
	testing_expect_findings(&h,
	    "warning token_not_found seed=s1: feed " F " does not exist\n"
	    "skip s1\n"
	    "warning token_not_found seed=s2: feed " F " does not exist\n"
	    "skip s2\n"
	    "warning token_unauthorized seed=s3: feed " F " cannot be read: "
	    "its server answered 403\nskip s3\n"
	    "warning token_unknown_error seed=s4: feed " F " cannot be read: "
	    "its server answered 500\nskip s4\n"
	    "warning token_unknown_error seed=s5: feed " F " cannot be read: "
	    "robots.txt forbids it\nskip s5\ndone\n");
}

static void
what_is_malformed_is_read_up_to_there(void **state)
{
	HARVEST("\"seeds\":[" SEEDS("1") "," SEEDS("2") "]",
	    { 200, XML "ETag: \"1\"\r\n", "<rss><channel>" ITEM("1")
	    "\n<item><guid>2</gu" },
	    { 200, "Content-Type: text/html\r\n", "<html></html>" });

	(void)state;
	/* Its ETag is not kept: it may be whole when it is asked for again. */
	testing_expect_findings(&h, COUNT("1")
	    "warning feed_malformed seed=s1: feed " F " is malformed: line 2: "
	    "unclosed token\n" SEEN(F, D1)
	    "warning feed_malformed seed=s2: feed " F " is malformed: no feed\n"
	    "done\n");
}

static void
entries_and_types_that_exports_miss_are_told(void **state)
{
	HARVEST(SEED, { 200, "Content-Type: text/html\r\n",
	    RSS(ITEM("1") "<item/>") });

	(void)state;
	testing_expect_findings(&h, COUNT("1")
	    "warning feed_malformed seed=s1: feed " F " is sent as "
	    "\"text/html\", and exports do not take that for a feed\n"
	    "warning token_unknown_error seed=s1: feed " F ": 1 of 2 entries "
	    "have neither an id nor an address, and are not counted\n"
	    SEEN(F, D1) "done\n");
}

static void
older_documents_may_be_missing(void **state)
{
	HARVEST("\"seeds\":[" SEEDS("1") "," SEEDS("2") "," SEEDS("3") "]"
	    OPTIONS("\"history\":true"),
	    { 200, XML, RSS(LINK("next", "?n") ITEM("1")) }, { 404, "", "" },
	    { 200, XML, RSS(LINK("next", "?n")) },
	    { 200, XML, RSS(LINK("next", "?n")) },
	    { 200, XML, RSS(LINK("next", "data:x")) });

	(void)state;
	testing_expect_findings(&h, COUNT("1")
	    "warning token_not_found seed=s1: feed " F ", a document with "
	    "older entries, does not exist\n" SEEN(F, D1)
	    "warning token_unknown_error seed=s2: feed " F " has older entries "
	    "in documents that lead in a circle\n"
	    "warning token_unknown_error seed=s3: feed " F " leads to older "
	    "entries at no http or https URL\ndone\n");
}

/* ---- Orders and checkpoints -------------------------------------------- */

static void
seeds_that_are_none_are_refused(void **state)
{
	static const char *const tokens[] = { "feed", "ftp://f.example/",
		"https://", "file:///etc/passwd" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		char message[100];
		snprintf(message, sizeof(message),
		    "{\"seeds\":[{\"token\":\"%s\"}]}", tokens[i]);
		testing_refuse("feed_entries", message, "bad_request",
		    "seeds[0].token: it is no http or https URL");
	}
}

static void
damaged_checkpoints_are_refused(void **state)
{
	(void)state;
	testing_damage("feed_entries", "{" SEED "}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_feed_is_read_once),
		cmocka_unit_test(an_incremental_run_asks_under_a_condition),
		cmocka_unit_test(a_spoilt_state_does_no_harm),
		cmocka_unit_test(urls_of_new_entries_are_found),
		cmocka_unit_test(older_documents_are_read_on_demand),
		cmocka_unit_test(a_limit_ends_the_run),
		cmocka_unit_test(a_window_has_a_limit),
		cmocka_unit_test(
		    a_feed_that_has_moved_for_good_has_a_new_name),
		cmocka_unit_test(what_has_moved_for_now_keeps_its_name),
		cmocka_unit_test(redirects_that_lead_nowhere_cost_a_seed),
		cmocka_unit_test(feeds_that_are_not_there_are_passed_over),
		cmocka_unit_test(what_is_malformed_is_read_up_to_there),
		cmocka_unit_test(entries_and_types_that_exports_miss_are_told),
		cmocka_unit_test(older_documents_may_be_missing),
		cmocka_unit_test(seeds_that_are_none_are_refused),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

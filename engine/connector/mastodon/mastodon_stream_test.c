/* Streams: events, ends, gaps, restarts. */
#include "engine/connector/connector_testing.h"

#define A "https://a.example"
#define CREDENTIAL "\"credentials\":{\"instance\":\"" A "\","              \
	"\"access_token\":\"x\"}"
#define BEARER " bearer access_token"
#define POST(id) "{\"id\":\"" id "\"}"
#define UPDATE(id) "event: update\ndata: " POST(id) "\n"
#define PREV(id) "Link: <" A "/?min_id=" id ">; rel=\"prev\"\r\n"

enum { ACCESS, STREAM, PAGE };
#define ANSWER(mark, status, fields, text)                                   \
	{ TESTING_ANSWER, mark, status, fields, text }
#define OPEN ANSWER(ACCESS, 200, NULL, "{}")
#define EVENT(text) { TESTING_EVENT, STREAM, 0, NULL, text }
#define END ANSWER(STREAM, 200, NULL, NULL)
#define RESTART { TESTING_RESTART, 0, 0, NULL, NULL }
#define EMPTY ANSWER(PAGE, 200, NULL, "[]")

#define ASK_ACCESS "call " A "/api/v2/instance" BEARER "\n"
#define ASK_STREAM "call " A "/api/v1/streaming/public" BEARER " silence=90"
#define ASK_PAGE(id) "call " A "/api/v1/timelines/public?limit=40&min_id="   \
	id BEARER "\n"
#define COUNT(n) "count mastodon posts " n "\n"

static void
expect(const char *seeds, const struct testing_step *steps, size_t n,
    const char *outcome)
{
	char message[600];

	snprintf(message, sizeof(message), "{\"seeds\":[%s]," CREDENTIAL "}",
	    seeds);
	testing_expect_steps("mastodon_stream", message, steps, n, outcome);
}
#define EXPECT(seeds, outcome, ...)                                          \
	do {                                                                 \
		const struct testing_step steps[] = { __VA_ARGS__ };         \
		expect(seeds, steps, ARRAY_LEN(steps), outcome);             \
	} while (0)

static void
posts_come_as_events(void **state)
{
	(void)state;
	EXPECT("", ASK_ACCESS ASK_STREAM "\n"
	    COUNT("1") "url https://m/1\n" COUNT("1") "deleted 5\n"
	    COUNT("1"),
	    OPEN, EVENT("event: update\ndata: {\"id\":\"7\",\n"
	    "data: \"media_attachments\":[{\"url\":\"https://m/1\"}]}\n"),
	    EVENT("event: update\r\ndata: " POST("9") "\r\n"),
	    EVENT("event: delete\ndata: 5\n"),
	    EVENT("event: status.update\ndata: " POST("9") "\n"),
	    EVENT("event: filters_changed\ndata: undefined\n"),
	    EVENT("event: delete\ndata: ../x\n"), EVENT("event: update\n"));
}

/* As two streams that overlap give it. */
static void
a_change_counts_once(void **state)
{
#define CHANGE(when)                                                         \
	EVENT("event: status.update\ndata: {\"id\":\"9\",\"edited_at\":" when  \
	    "}\n")
	(void)state;
	EXPECT("", ASK_ACCESS ASK_STREAM "\n" COUNT("1") COUNT("1") COUNT("1")
	    COUNT("1"),
	    OPEN, CHANGE("\"2026-01-02T03:04:05Z\""),
	    CHANGE("\"2026-01-02T03:04:05Z\""),
	    CHANGE("\"2026-01-02T03:04:06Z\""),
	    EVENT("event: update\ndata: " POST("9") "\n"),
	    CHANGE("\"2026-01-02T03:04:05Z\""), CHANGE("null"));
}

static void
events_that_are_none_are_told(void **state)
{
	(void)state;
#define NONE "warning unknown_error: an event of the stream has no post, "   \
	"and is not counted\n"
	EXPECT("", ASK_ACCESS ASK_STREAM "\n" NONE NONE NONE COUNT("1"),
	    OPEN, EVENT("event: update\ndata: {\"id\":\n"),
	    EVENT("event: update\ndata: [7]\n"),
	    EVENT("event: status.update\ndata: {\"id\":null}\n"),
	    EVENT("event: update\ndata: {\"id\":9007199254740993}\n"));
}

static void
streams_have_their_paths(void **state)
{
	(void)state;
#define PATH(path) "call " A "/api/v1/streaming/" path BEARER " silence=90\n"
	EXPECT("{\"token\":\"public/local\"}", ASK_ACCESS PATH("public/local"),
	    OPEN);
	EXPECT("{\"token\":{\"stream\":\"public/remote\"}}",
	    ASK_ACCESS PATH("public/remote"), OPEN);
	EXPECT("{\"token\":{\"stream\":\"hashtag\",\"tag\":\"#a b\"}}",
	    ASK_ACCESS PATH("hashtag?tag=a%20b"), OPEN);
	EXPECT("{\"token\":{\"stream\":\"hashtag/local\",\"tag\":\"cats\"}}",
	    ASK_ACCESS PATH("hashtag/local?tag=cats")
	    COUNT("1") "call " A "/api/v1/streaming/hashtag/local?tag=cats"
	    BEARER " silence=90 from=4\n"
	    "call " A "/api/v1/timelines/tag/cats?limit=40&min_id=7&local=true"
	    BEARER "\n", OPEN, EVENT(UPDATE("7")), END);
}

static void
a_gap_is_read_before_and_after_the_first_event(void **state)
{
	(void)state;
	EXPECT("", ASK_ACCESS ASK_STREAM "\n" COUNT("1")
	    /* It ends, and begins anew a second later. */
	    ASK_STREAM " from=4\n" ASK_PAGE("7")
	    COUNT("2") ASK_PAGE("9")
	    /* The timeline has no more; posts may still have been missed. */
	    COUNT("1") ASK_PAGE("9")
	    /* 10 has come already, by the stream. */
	    COUNT("1") ASK_PAGE("11")
	    COUNT("1") "deleted 8\n",
	    OPEN, EVENT(UPDATE("7")), END,
	    ANSWER(PAGE, 200, PREV("9"), "[" POST("9") "," POST("8") "]"),
	    EMPTY, EVENT(UPDATE("10")),
	    ANSWER(PAGE, 200, PREV("11"), "[" POST("11") "," POST("10") "]"),
	    /* 11 comes by the stream, after the page had it. */
	    EVENT(UPDATE("11")), EMPTY, EVENT(UPDATE("12")),
	    EVENT("event: delete\ndata: 8\n"));
}

static void
a_first_event_in_between_makes_one_more_page(void **state)
{
	(void)state;
	EXPECT("", ASK_ACCESS ASK_STREAM "\n" COUNT("1")
	    ASK_STREAM " from=4\n" ASK_PAGE("7")
	    COUNT("1") ASK_PAGE("7"),
	    OPEN, EVENT(UPDATE("7")), END, EVENT(UPDATE("8")), EMPTY, EMPTY,
	    EVENT(UPDATE("8")));
}

static void
two_ends_make_one_gap(void **state)
{
	(void)state;
	EXPECT("", ASK_ACCESS ASK_STREAM "\n" COUNT("1")
	    ASK_STREAM " from=4\n" ASK_PAGE("7") COUNT("1")
	    ASK_STREAM " from=6\n" COUNT("1") ASK_PAGE("8"),
	    OPEN, EVENT(UPDATE("7")), END, EVENT(UPDATE("10")), END,
	    ANSWER(PAGE, 200, PREV("8"), "[" POST("8") "]"));
}

static void
without_a_post_there_is_no_gap(void **state)
{
	(void)state;
	EXPECT("", ASK_ACCESS ASK_STREAM "\n" ASK_STREAM " from=3\n"
	    "deleted 5\n", OPEN, END, EVENT("event: delete\ndata: 5\n"));
}

static void
silent_streams_are_opened_ever_more_slowly(void **state)
{
	(void)state;
	EXPECT("", ASK_ACCESS ASK_STREAM "\n"
	    ASK_STREAM " from=3\n" ASK_STREAM " from=5\n"
	    ASK_STREAM " from=8\n" ASK_STREAM " from=13\n"
	    ASK_STREAM " from=22\n" ASK_STREAM " from=39\n"
	    ASK_STREAM " from=68\n" ASK_STREAM " from=69\n"
	    COUNT("1") ASK_STREAM " from=12\n" ASK_PAGE("7"),
	    OPEN, END, END, END, END, END, END, END, END, EVENT(UPDATE("7")),
	    END);
}

static void
a_restart_reads_the_gap(void **state)
{
	(void)state;
	EXPECT("", ASK_ACCESS ASK_ACCESS ASK_STREAM "\n" COUNT("1")
	    ASK_STREAM "\n" ASK_PAGE("7")
	    COUNT("1") ASK_PAGE("8")
	    ASK_STREAM "\n" ASK_PAGE("8")
	    COUNT("1") ASK_PAGE("8"),
	    RESTART, OPEN, EVENT(UPDATE("7")), RESTART,
	    ANSWER(PAGE, 200, PREV("8"), "[" POST("8") "]"), RESTART,
	    EVENT(UPDATE("8")), EVENT(UPDATE("9")), EMPTY, EMPTY);
}

static void
a_gap_that_cannot_be_read_is_told(void **state)
{
	(void)state;
#define GAP "warning stream_gap: posts may be missing, as the timeline "     \
	"could not be read while there was no stream\n"
#define BEFORE ASK_ACCESS ASK_STREAM "\n" COUNT("1") ASK_STREAM " from=4\n"  \
	ASK_PAGE("7")
#define WRONG ANSWER(PAGE, 200, NULL, "{}")
	EXPECT("", BEFORE GAP COUNT("1"), OPEN, EVENT(UPDATE("7")), END,
	    ANSWER(PAGE, 404, NULL, "{}"), EVENT(UPDATE("8")));
	EXPECT("", BEFORE "again 1\nagain 4\nagain 9\nagain 16\nagain 25\n" GAP
	    COUNT("1"), OPEN, EVENT(UPDATE("7")), END, WRONG, WRONG, WRONG,
	    WRONG, WRONG, WRONG, EVENT(UPDATE("8")));
	EXPECT("", BEFORE "again 1\n", OPEN, EVENT(UPDATE("7")), END,
	    ANSWER(PAGE, 200, PREV("7"), "[" POST("7") "]"), EMPTY);
}

static void
old_posts_are_forgotten(void **state)
{
	static struct testing_step steps[1004];
	static char texts[1004][40];
	struct buf want = BUF_INIT;

	(void)state;
	buf_put_text(&want, ASK_ACCESS ASK_STREAM "\n");
	steps[0] = (struct testing_step)OPEN;
	for (int i = 1; i <= 1001; i++) {
		snprintf(texts[i], sizeof(texts[i]), "event: update\ndata: "
		    "{\"id\":%d}\n", i);
		steps[i] = (struct testing_step)EVENT(texts[i]);
		buf_put_text(&want, COUNT("1"));
	}
	/* The second is remembered, the first one is not. */
	steps[1002] = (struct testing_step)EVENT(texts[2]);
	steps[1003] = (struct testing_step)EVENT(texts[1]);
	buf_put_text(&want, COUNT("1"));
	expect("", steps, 1004, buf_text(&want));
	buf_free(&want);
}

/* ---- The instance ------------------------------------------------------ */

#define STREAMING(url) ANSWER(ACCESS, 200, NULL,                             \
	"{\"configuration\":{\"urls\":{\"streaming\":\"" url "\"}}}")
#define FEEDS(feeds, local, remote) ANSWER(ACCESS, 200, NULL,                \
	"{\"configuration\":{\"timelines_access\":{\"" feeds "\":"           \
	"{\"local\":\"" local "\",\"remote\":\"" remote "\"}}}}")

static void
streams_may_be_at_another_host(void **state)
{
	(void)state;
#define FROM(host) ASK_ACCESS "call https://" host "/api/v1/streaming/"      \
	"public" BEARER " silence=90\n"
	EXPECT("", FROM("s.a.example"), STREAMING("wss://s.a.example"));
	EXPECT("", FROM("s.a.example:4000"),
	    STREAMING("wss://S.a.example:4000/"));
	EXPECT("", FROM("a.example:4000"), STREAMING("https://a.example:4000"));
	EXPECT("", FROM("a.example"), ANSWER(ACCESS, 404, NULL, ""));
#define ELSEWHERE(url) EXPECT("", ASK_ACCESS "fail unknown_error: " A        \
	" streams from another host, to which its token is not sent: " url   \
	"\n", STREAMING(url))
	ELSEWHERE("wss://b.example");
	ELSEWHERE("wss://ba.example");
	ELSEWHERE("ws://a.example");
	ELSEWHERE("http://a.example");
	ELSEWHERE("http://xa.example");
	ELSEWHERE("wss://a.example/x");
}

static void
closed_feeds_are_no_silent_ones(void **state)
{
	(void)state;
#define CLOSED ASK_ACCESS "fail harvest_Unauthorized: " A " shows these "    \
	"posts to no application\n"
	EXPECT("", CLOSED, FEEDS("live_feeds", "disabled", "disabled"));
	EXPECT("{\"token\":\"public/local\"}", CLOSED,
	    FEEDS("live_feeds", "disabled", "public"));
	EXPECT("{\"token\":\"public/remote\"}", CLOSED,
	    FEEDS("live_feeds", "public", "disabled"));
	EXPECT("{\"token\":{\"stream\":\"hashtag\",\"tag\":\"a\"}}", CLOSED,
	    FEEDS("hashtag_feeds", "disabled", "disabled"));
	EXPECT("", ASK_ACCESS ASK_STREAM "\n",
	    FEEDS("live_feeds", "authenticated", "authenticated"));
	EXPECT("", ASK_ACCESS "warning partial_posts: " A " shows only the "
	    "posts of other instances\n" ASK_STREAM "\n",
	    FEEDS("live_feeds", "disabled", "public"));
	EXPECT("", ASK_ACCESS "warning partial_posts: " A " shows only the "
	    "posts of its own accounts\n" ASK_STREAM "\n",
	    FEEDS("live_feeds", "public", "disabled"));
}

static void
a_token_may_be_refused(void **state)
{
	(void)state;
#define REFUSED(status) "fail harvest_Unauthorized: " A                      \
	" refuses the access token: " status "\n"
	EXPECT("", ASK_ACCESS REFUSED("401"), ANSWER(ACCESS, 401, NULL, ""));
	EXPECT("", ASK_ACCESS ASK_STREAM "\n" REFUSED("422"), OPEN,
	    ANSWER(STREAM, 422, NULL, ""));
	EXPECT("", BEFORE REFUSED("403"), OPEN, EVENT(UPDATE("7")), END,
	    ANSWER(PAGE, 403, NULL, ""), EVENT(UPDATE("8")), END);
}

static void
other_errors_end_the_run(void **state)
{
	(void)state;
#define NO_JSON ANSWER(ACCESS, 200, NULL, "[]")
	EXPECT("", ASK_ACCESS ASK_STREAM "\n" "fail unknown_error: " A
	    " has no such stream: 404\n", OPEN, ANSWER(STREAM, 404, NULL, ""));
	EXPECT("", ASK_ACCESS "again 1\nagain 4\nagain 9\nagain 16\nagain 25\n"
	    "fail unknown_error: " A " sent no description of itself 6 times\n",
	    NO_JSON, NO_JSON, NO_JSON, NO_JSON, NO_JSON, NO_JSON);
}

static void
orders_are_checked(void **state)
{
	(void)state;
#define ORDER(seeds) "{\"seeds\":[" seeds "]," CREDENTIAL "}"
	testing_refuse("mastodon_stream", "{\"credentials\":{\"instance\":\""
	    A "\"}}", "credentials_missing",
	    "credentials.access_token: it is missing");
	testing_refuse("mastodon_stream", ORDER("{\"token\":\"public\"},"
	    "{\"token\":\"public\"}"), "bad_request",
	    "seeds: mastodon_stream takes at most 1, and there are 2");
	testing_refuse("mastodon_stream", ORDER("{\"token\":\"user\"}"),
	    "bad_request", "seeds[0].token: it is none of: public public/local"
	    " public/remote hashtag hashtag/local");
	testing_refuse("mastodon_stream", ORDER("{\"token\":{\"stream\":"
	    "\"local\"}}"), "bad_request", "seeds[0].token.stream: it is none "
	    "of: public public/local public/remote hashtag hashtag/local");
	testing_refuse("mastodon_stream", ORDER("{\"token\":{\"stream\":"
	    "\"hashtag\"}}"), "bad_request",
	    "seeds[0].token.tag: it is missing");
	testing_refuse("mastodon_stream", ORDER("{\"token\":\"hashtag\"}"),
	    "bad_request", "seeds[0].token.tag: it is missing");
	testing_refuse("mastodon_stream", ORDER("{\"token\":{\"tag\":\"a\"}}"),
	    "bad_request", "seeds[0].token.stream: it is missing");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posts_come_as_events),
		cmocka_unit_test(a_change_counts_once),
		cmocka_unit_test(events_that_are_none_are_told),
		cmocka_unit_test(streams_have_their_paths),
		cmocka_unit_test(
		    a_gap_is_read_before_and_after_the_first_event),
		cmocka_unit_test(a_first_event_in_between_makes_one_more_page),
		cmocka_unit_test(two_ends_make_one_gap),
		cmocka_unit_test(without_a_post_there_is_no_gap),
		cmocka_unit_test(silent_streams_are_opened_ever_more_slowly),
		cmocka_unit_test(a_restart_reads_the_gap),
		cmocka_unit_test(a_gap_that_cannot_be_read_is_told),
		cmocka_unit_test(old_posts_are_forgotten),
		cmocka_unit_test(streams_may_be_at_another_host),
		cmocka_unit_test(closed_feeds_are_no_silent_ones),
		cmocka_unit_test(a_token_may_be_refused),
		cmocka_unit_test(other_errors_end_the_run),
		cmocka_unit_test(orders_are_checked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

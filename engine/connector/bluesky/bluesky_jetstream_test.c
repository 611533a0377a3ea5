/* Streams of Jetstream: frames, ends, repeats, restarts. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define V1 "https://jetstream2.us-east.bsky.network/subscribe?"              \
	"wantedCollections=app.bsky.feed.post"
#define V2 "https://jetstream.us-east.bsky.network/xrpc/network.bsky."       \
	"jetstream.subscribeEvents?collections=app.bsky.feed.post"
#define ASK(cursor) "call " V1 cursor " silence=60"
#define ASK2(cursor) "call " V2 cursor " protocol=xrpc.v1.json silence=60"
#define COUNT "count bluesky posts 1\n"
/* Second `s` of 2025-11-22T08:00 and after, in microseconds. */
#define T(s) "17637984" s "000000"
#define STATE(value) "state jetstream.jetstream2.us-east.bsky.network."      \
	"cursor=" value "\n"
#define STATE2(value) "state jetstream.jetstream.us-east.bsky.network."      \
	"cursor=" value "\n"
#define COMMIT(us, what) "{\"did\":\"did:plc:a\",\"time_us\":" us ",\"kind\":" \
	"\"commit\",\"commit\":{" what "}}"
#define OP(operation, key, rev) "\"operation\":\"" operation "\",\"rev\":\""   \
	rev "\",\"collection\":\"app.bsky.feed.post\",\"rkey\":\"" key "\""
#define POST(us, key) COMMIT(us, OP("create", key, "r" key))
/* In the second protocol; seconds of a minute. */
#define FRAME2(kind, seq, s, what) "{\"$type\":\"message\",\"payload\":{"     \
	"\"$type\":\"network.bsky.jetstream.subscribeEvents#" kind "\","     \
	"\"seq\":" seq ",\"did\":\"did:plc:a\",\"time\":"                    \
	"\"2025-11-22T08:00:" s "Z\"" what "}}"
#define POST2(seq, s, key) FRAME2("commit", seq, s, "," OP("create", key,    \
	"r" key))
#define INFO(name) "{\"$type\":\"message\",\"payload\":{\"$type\":"           \
	"\"network.bsky.jetstream.subscribeEvents#info\",\"name\":\"" name    \
	"\"}}"

#define FRAME(text) { TESTING_EVENT, 0, 0, NULL, text }
#define END { TESTING_ANSWER, 0, 101, NULL, NULL }
#define LOST { TESTING_ANSWER, 0, 0, NULL, NULL }
#define REFUSED(status, text) { TESTING_ANSWER, 0, status, NULL, text }
#define RESTART { TESTING_RESTART, 0, 0, NULL, NULL }

#define EXPECT(message, outcome, ...)                                        \
	do {                                                                 \
		const struct testing_step steps[] = { __VA_ARGS__ };         \
		testing_expect_steps("bluesky_jetstream", message, steps,    \
		    ARRAY_LEN(steps), outcome);                              \
	} while (0)
#define TWO "{\"options\":{\"protocol\":\"v2\"}}"

/* ---- The first protocol ------------------------------------------------ */

static void
posts_come_as_frames(void **state)
{
	(void)state;
	EXPECT("{}", ASK("") "\n" COUNT STATE(T("10"))
	    /* The same second: the state is set once. */
	    COUNT "url https://e/1\n" COUNT "url https://e/2\n"
	    "deleted at://did:plc:a/app.bsky.feed.post/1\n" STATE(T("20")),
	    FRAME(POST(T("10"), "1")),
	    FRAME(COMMIT(T("10"), OP("update", "2", "x") ",\"record\":{"
	    "\"embed\":{\"external\":{\"uri\":\"https://e/1\"}}}")),
	    FRAME(COMMIT(T("10"), OP("create", "3", "x") ",\"record\":{"
	    "\"embed\":{\"record\":{},\"media\":{\"external\":{\"uri\":"
	    "\"https://e/2\"}}}}")),
	    FRAME(COMMIT(T("20"), OP("delete", "1", "y"))),
	    FRAME(COMMIT(T("20"), "\"operation\":\"create\",\"rev\":\"x\","
	    "\"collection\":\"app.bsky.feed.like\",\"rkey\":\"9\"")),
	    FRAME("{\"did\":\"did:plc:a\",\"time_us\":" T("20")
	    ",\"kind\":\"account\",\"account\":{\"status\":\"deleted\"}}"),
	    FRAME("{\"did\":\"did:plc:a\",\"time_us\":" T("20")
	    ",\"kind\":\"identity\",\"identity\":{}}"));
}

static void
frames_that_are_none_are_told_once(void **state)
{
	(void)state;
	EXPECT("{}", ASK("") "\n" "warning unknown_error: a message of the "
	    "stream makes no sense, and is not counted; others are not told\n"
	    STATE(T("10")) COUNT ASK("&cursor=" T("05")) "\n",
	    FRAME("{\"did\":"), FRAME("[7]"), FRAME("{\"kind\":\"commit\"}"),
	    FRAME(COMMIT("\"7\"", OP("create", "1", "x"))),
	    FRAME(COMMIT(T("10"), OP("create", "", "x"))),
	    FRAME(COMMIT("253402300800000000", OP("create", "1", "x"))),
	    FRAME(POST(T("10"), "1")), RESTART, FRAME("7"));
}

static void
a_stream_that_ends_goes_on_a_little_earlier(void **state)
{
	(void)state;
	EXPECT("{}", ASK("") "\n" COUNT STATE(T("10")) COUNT STATE(T("20"))
	    /* When it ends, the state is set in any case. */
	    STATE(T("20")) ASK("&cursor=" T("15")) " from=4\n"
	    /* What is repeated counts once; but not what has another rev. */
	    COUNT COUNT STATE(T("30")),
	    FRAME(POST(T("10"), "1")), FRAME(POST(T("20"), "2")), END,
	    FRAME(POST(T("10"), "1")), FRAME(POST(T("20"), "2")),
	    FRAME(COMMIT(T("20"), OP("update", "2", "r3"))),
	    FRAME(POST(T("30"), "4")));
}

/* A server that repeats itself, within one stream. */
static void
what_comes_twice_counts_once(void **state)
{
	(void)state;
	EXPECT("{}", ASK("") "\n" COUNT STATE(T("10")) COUNT STATE(T("20"))
	    COUNT STATE(T("30")),
	    FRAME(POST(T("10"), "1")), FRAME(POST(T("10"), "1")),
	    FRAME(POST(T("20"), "2")), FRAME(POST(T("10"), "1")),
	    FRAME(POST(T("20"), "2")), FRAME(POST(T("30"), "3")));
}

/* A server that was ended reads from its source again, and gives new dates. */
static void
what_comes_twice_with_another_date_counts_once(void **state)
{
	(void)state;
	EXPECT("{}", ASK("") "\n" COUNT STATE(T("10")) STATE(T("20"))
	    COUNT STATE(T("30")),
	    FRAME(POST(T("10"), "1")), FRAME(POST(T("20"), "1")),
	    FRAME(POST(T("30"), "2")));
}

static void
what_comes_before_the_cursor_is_left_out(void **state)
{
	(void)state;
	EXPECT("{}", ASK("") "\n" COUNT STATE(T("20")) STATE(T("20"))
	    ASK("&cursor=" T("15")) " from=3\n" COUNT COUNT STATE(T("21"))
	    COUNT,
	    FRAME(POST(T("20"), "1")), END, FRAME(POST(T("10"), "2")),
	    FRAME(POST(T("14"), "3")), FRAME(POST(T("15"), "4")),
	    FRAME(POST(T("21"), "5")),
	    /* Behind it they may be in any order. */
	    FRAME(POST(T("14"), "6")));
}

static void
a_clock_that_is_set_back_is_told(void **state)
{
	(void)state;
	EXPECT("{}", ASK("") "\n" COUNT STATE(T("50")) STATE(T("50"))
	    ASK("&cursor=" T("45")) " from=3\n"
	    "warning stream_gap: posts may be missing: the server's clock is "
	    "behind that of the last stream\n" STATE(T("30"))
	    ASK("&cursor=" T("25")) " from=6\n" COUNT STATE(T("31")),
	    FRAME(POST(T("50"), "1")), END, FRAME(POST(T("20"), "2")),
	    FRAME(POST(T("30"), "3")), END, FRAME(POST(T("31"), "4")));
}

static void
a_restart_is_the_end_of_a_stream(void **state)
{
	(void)state;
	EXPECT("{}", ASK("") "\n" COUNT STATE(T("20"))
	    ASK("&cursor=" T("15")) "\n" COUNT STATE(T("30")),
	    FRAME(POST(T("20"), "1")), RESTART, FRAME(POST(T("20"), "1")),
	    FRAME(POST(T("30"), "2")));
}

static void
streams_without_a_frame_are_asked_for_less_often(void **state)
{
	(void)state;
	/* The first has begun at second 0, the second at 2. */
	EXPECT("{}", ASK("") "\n"
	    ASK("") " from=2\n" STATE("2000000") ASK("") " from=4\n"
	    STATE("2000000") ASK("") " from=7\n",
	    LOST, END, END);
	EXPECT("{}", ASK("") "\n" ASK("") " from=2\n" ASK("") " from=4\n"
	    ASK("") " from=7\n" ASK("") " from=12\n" ASK("") " from=21\n"
	    ASK("") " from=38\n" ASK("") " from=67\n" ASK("") " from=68\n",
	    LOST, LOST, LOST, LOST, LOST, LOST, LOST, LOST);
}

static unsigned gaps;

static void
on_note(void *arg, enum connector_level level, const char *code,
    struct str text, const struct connector_seed *seed)
{
	(void)arg;
	(void)seed;
	assert_int_equal(level, CONNECTOR_WARNING);
	assert_string_equal(code, "stream_gap");
	assert_true(str_starts(text, STR("posts are missing: the last stream "
	    "ended more than 36 hours before this one")));
	gaps++;
}

static void
on_count(void *arg, const char *label, uint64_t n)
{
	(void)arg;
	(void)label;
	assert_int_equal(n, 1);
}

static void
on_state(void *arg, struct str key, struct str value)
{
	(void)arg;
	assert_true(key.n > 0 && value.n > 0);
}

/* A stream that begins so long after the last frame. */
static void
check_lookback(int64_t us, unsigned want)
{
	static const struct connector_findings f = { .count = on_count,
		.note = on_note, .state = on_state };
	struct connector_order o = {
		.connector = connector_find(STR("bluesky_jetstream")) };
	struct connector_run *run;
	struct connector_call call;
	struct connector_answer answer = { .status = 101 };

	gaps = 0;
	assert_int_equal(o.connector->open(&o, &run, NULL), OK);
	assert_int_equal(o.connector->next(run, &call), CONNECTOR_CALL);
	o.connector->line(run, &call, STR(POST(T("10"), "1")), &f);
	o.connector->answer(run, &call, &answer, &f);
	assert_int_equal(o.connector->next(run, &call), CONNECTOR_CALL);
	answer.began.us = INT64_C(1763798410000000) + us;
	o.connector->answer(run, &call, &answer, &f);
	o.connector->close(&run);
	assert_int_equal(gaps, want);
}

static void
what_a_server_no_longer_has_is_told(void **state)
{
	const int64_t lookback_us = 36 * 3600 * US_PER_S;

	(void)state;
	check_lookback(lookback_us, 0);
	check_lookback(lookback_us + 1, 1);
}

/* ---- The second protocol ----------------------------------------------- */

static void
the_second_protocol_has_numbers(void **state)
{
	(void)state;
	EXPECT(TWO, ASK2("") "\n" COUNT STATE2("7") COUNT
	    "deleted at://did:plc:a/app.bsky.feed.post/1\n" STATE2("9")
	    STATE2("10") ASK2("&cursor=10") " from=8\n"
	    /* The last one comes again. */
	    COUNT STATE2("11"),
	    FRAME(POST2("7", "01", "1")), FRAME(POST2("8", "01", "2")),
	    FRAME(POST2("8", "01", "9")), FRAME(POST2("6", "01", "8")),
	    FRAME(FRAME2("commit", "9", "02", "," OP("delete", "1", "x"))),
	    FRAME(FRAME2("sync", "10", "02", "")), END,
	    FRAME(FRAME2("sync", "10", "02", "")),
	    FRAME(POST2("11", "03", "3")));
}

static void
errors_and_infos_of_the_second_protocol(void **state)
{
	(void)state;
	EXPECT(TWO, ASK2("") "\n" COUNT STATE2("7") STATE2("7")
	    ASK2("&cursor=7") " from=4\n"
	    "warning stream_gap: posts may be missing: the server's numbers are"
	    " below those of the last stream\n" COUNT STATE2("3")
	    "warning stream_gap: posts are missing: the server no longer has "
	    "what came after the last stream\n"
	    "warning unknown_error: a message of the stream makes no sense, and"
	    " is not counted; others are not told\n",
	    FRAME(POST2("7", "01", "1")),
	    FRAME("{\"$type\":\"error\",\"error\":\"ConsumerTooSlow\"}"), END,
	    /* Its numbers have begun anew. */
	    FRAME(POST2("3", "02", "2")),
	    FRAME(INFO("OutdatedCursor")), FRAME(INFO("Other")),
	    FRAME(FRAME2("commit", "\"8\"", "03", "")));
}

static void
a_number_that_is_too_old_is_exchanged_for_a_date(void **state)
{
	(void)state;
#define TOO_OLD REFUSED(400, "{\"error\":\"CursorTooOld\",\"message\":\"x\"}")
	EXPECT(TWO, ASK2("") "\n" COUNT STATE2("7") STATE2("7")
	    ASK2("&cursor=7") " from=3\n"
	    ASK2("&cursor=1763798401000000") " from=5\n"
	    "fail unknown_error: jetstream.us-east.bsky.network refuses the "
	    "stream: 400, x\n",
	    FRAME(POST2("7", "01", "1")), END, TOO_OLD, TOO_OLD);
}

/* ---- Orders ------------------------------------------------------------ */

static void
a_stream_may_be_restricted(void **state)
{
	(void)state;
	EXPECT("{\"seeds\":[{\"token\":{\"collections\":["
	    "\"app.bsky.feed.like\","
	    "\"app.bsky.*\"],\"dids\":[\"did:plc:a\",\"did:web:b.example\"]}}],"
	    "\"options\":{\"endpoint\":\"J.Example:8443\"}}",
	    "call https://j.example:8443/subscribe?wantedCollections="
	    "app.bsky.feed.like&wantedCollections=app.bsky.%2A&wantedDids="
	    "did%3Aplc%3Aa&wantedDids=did%3Aweb%3Ab.example silence=60\n"
	    "state jetstream.j.example:8443.cursor=" T("10") "\n",
	    FRAME("{\"time_us\":" T("10") "}"));
	EXPECT("{\"seeds\":[{\"token\":{\"collections\":[],\"dids\":"
	    "[\"did:plc:a\"]}}],\"options\":{\"protocol\":\"v2\"}}",
	    "call " V2 "&dids=did%3Aplc%3Aa protocol=xrpc.v1.json silence=60\n",
	    FRAME("{\"$type\":\"error\"}"));
}

static void
many_accounts_are_named_in_a_message(void **state)
{
	struct buf message = BUF_INIT, want = BUF_INIT;

	(void)state;
	buf_put_text(&message, "{\"seeds\":[{\"token\":{\"dids\":[");
	buf_put_text(&want, "call " V1 "&requireHello=true hello="
	    "{\"type\":\"options_update\",\"payload\":{\"wantedCollections\":["
	    "\"app.bsky.feed.post\"],\"wantedDids\":[");
	for (int i = 0; i < 501; i++) {
		buf_printf(&message, "%s\"did:plc:a%d\"", i == 0 ? "" : ",", i);
		buf_printf(&want, "%s\"did:plc:a%d\"", i == 0 ? "" : ",", i);
	}
	buf_put_text(&message, "]}}]}");
	buf_put_text(&want, "]}} silence=60\n");
	EXPECT(buf_text(&message), buf_text(&want), FRAME("{"
	    "\"$type\":\"error\"}"));
	buf_free(&message);
	buf_free(&want);
}

static void
an_incremental_run_begins_where_the_last_one_ended(void **state)
{
	static const struct {
		const char *protocol, *value, *call;
	} rows[] = {
		{ "v1", T("20"), "call https://j.example/subscribe?"
		    "wantedCollections=app.bsky.feed.post&cursor="
		    T("15") " silence=60\ncut\n" },
		{ "v1", "77", "call https://j.example/subscribe?"
		    "wantedCollections=app.bsky.feed.post silence=60\ncut\n" },
#define OTHER "call https://j.example/xrpc/network.bsky.jetstream."          \
	"subscribeEvents?collections=app.bsky.feed.post"
		{ "v2", "77", OTHER "&cursor=77 protocol=xrpc.v1.json "
		    "silence=60\ncut\n" },
		{ "v2", T("20"), OTHER "&cursor=" T("20")
		    " protocol=xrpc.v1.json silence=60\ncut\n" },
		{ "v2", "x", OTHER " protocol=xrpc.v1.json silence=60\ncut\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *const left[] = { "jetstream.j.example.cursor",
			rows[i].value, NULL };
		char message[200];
		const struct testing_harvest h = { "bluesky_jetstream",
			message, left, NULL, 0 };
		snprintf(message, sizeof(message), "{\"options\":{"
		    "\"incremental\":true,\"endpoint\":\"j.example\","
		    "\"protocol\":\"%s\"}}", rows[i].protocol);
		testing_expect(&h, rows[i].call);
	}
}

static void
a_server_that_refuses_is_a_failure(void **state)
{
	(void)state;
	EXPECT("{}", ASK("") "\n" "fail unknown_error: jetstream2.us-east.bsky."
	    "network refuses the stream: 400\n", REFUSED(400, "bad"));
	EXPECT("{}", ASK("") "\n" "fail harvest_Unauthorized: jetstream2."
	    "us-east.bsky.network refuses the stream: 403\n",
	    REFUSED(403, NULL));
	EXPECT(TWO, ASK2("") "\n" "fail unknown_error: jetstream.us-east.bsky."
	    "network refuses the stream: 404, InvalidRequest\n",
	    REFUSED(404, "{\"error\":\"InvalidRequest\"}"));
}

static void
refuse(const char *seeds, const char *options, const char *text)
{
	char message[200];

	snprintf(message, sizeof(message), "{\"seeds\":[%s],\"options\":{%s}}",
	    seeds, options);
	testing_refuse("bluesky_jetstream", message, "bad_request", text);
}

static void
orders_that_are_none_are_refused(void **state)
{
	(void)state;
	refuse("{\"token\":\"x\"}", "", "seeds[0].token: it is no object");
	refuse("{\"token\":{\"collections\":[\"app.bsky.feed.post\",\"app\"]}}",
	    "", "seeds[0].token.collections[1]: it is no collection, such as "
	    "app.bsky.feed.post");
	refuse("{\"token\":{\"dids\":[\"ada.example\"]}}", "",
	    "seeds[0].token.dids[0]: it is no DID, such as "
	    "did:plc:z72i7hdynmk6r22z27h6tvur");
	refuse("", "\"endpoint\":\"https://x\"", "options.endpoint: it is no "
	    "host, such as jetstream2.us-east.bsky.network");
	refuse("", "\"endpoint\":\"x:0\",\"protocol\":\"v2\"",
	    "options.endpoint: it is no host, such as "
	    "jetstream.us-east.bsky.network");
	refuse("", "\"protocol\":\"v3\"",
	    "options.protocol: it is none of: v1 v2");
}

static void
lists_have_limits(void **state)
{
	struct buf message = BUF_INIT;

	(void)state;
	buf_put_text(&message, "{\"seeds\":[{\"token\":{\"dids\":[");
	for (int i = 0; i < 3000; i++)
		buf_printf(&message, "%s\"did:plc:abcdefgh%d\"",
		    i == 0 ? "" : ",", i);
	buf_put_text(&message, "]}}],\"options\":{\"protocol\":\"v2\"}}");
	testing_refuse("bluesky_jetstream", buf_text(&message), "bad_request",
	    "seeds[0].token.dids: they do not fit into the address of a "
	    "stream");
	buf_clear(&message);
	buf_put_text(&message, "{\"seeds\":[{\"token\":{\"collections\":[");
	for (int i = 0; i < 101; i++)
		buf_printf(&message, "%s\"a.b%d\"", i == 0 ? "" : ",", i);
	buf_put_text(&message, "]}}]}");
	testing_refuse("bluesky_jetstream", buf_text(&message), "bad_request",
	    "seeds[0].token.collections: it has more than 100");
	buf_free(&message);
}

static void
try_checkpoint(struct str saved, enum err want)
{
	struct connector_order o = {
		.connector = connector_find(STR("bluesky_jetstream")) };
	struct connector_run *run;
	struct why w = WHY_INIT;

	assert_int_equal(o.connector->open(&o, &run, NULL), OK);
	assert_int_equal(o.connector->load(run, saved, &w), want);
	assert_int_equal(w.text[0] != '\0', want != OK);
	o.connector->close(&run);
	assert_null(run);
}

static void
damaged_checkpoints_are_refused(void **state)
{
	/* Version, flags, us, seq, state_s, stopped, pause_s, known_at, known_n
	 * and one hash. */
	struct str fine = STR("\x01\x00\x05\x06\x07\0\0\0\0\0\0\0\x08\x3c\x01"
	    "\x01" "12345678");
	struct buf full = BUF_INIT;
	char bad[24];

	(void)state;
	try_checkpoint(fine, OK);
	/* As many hashes as there may be, and one more. */
	for (unsigned n = 6000; n <= 6001; n++) {
		buf_clear(&full);
		buf_put_str(&full, str_cut(fine, 0, 15));
		buf_put_varint(&full, n);
		memset(buf_grow(&full, 8 * (size_t)n), 'x', 8 * (size_t)n);
		assert_in_range(full.n, 1, CONNECTOR_SAVED_BYTES_MAX);
		try_checkpoint(buf_str(&full), n == 6000 ? OK : ERR_CORRUPT);
	}
	buf_free(&full);
	for (size_t n = 0; n < fine.n; n++)
		try_checkpoint(str_cut(fine, 0, n), ERR_CORRUPT);
	/* Another version, flags that are none, a date before 1970, a pause
	 * that is too long, a hash that is missing. */
	static const size_t places[] = { 0, 1, 5, 13, 15 };
	static const char values[] = { 2, 4, (char)0x80, 61, 2 };
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		memcpy(bad, fine.p, fine.n);
		bad[places[i]] = values[i];
		try_checkpoint((struct str){ bad, fine.n }, ERR_CORRUPT);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(posts_come_as_frames),
		cmocka_unit_test(frames_that_are_none_are_told_once),
		cmocka_unit_test(a_stream_that_ends_goes_on_a_little_earlier),
		cmocka_unit_test(what_comes_twice_counts_once),
		cmocka_unit_test(
		    what_comes_twice_with_another_date_counts_once),
		cmocka_unit_test(what_comes_before_the_cursor_is_left_out),
		cmocka_unit_test(a_clock_that_is_set_back_is_told),
		cmocka_unit_test(a_restart_is_the_end_of_a_stream),
		cmocka_unit_test(
		    streams_without_a_frame_are_asked_for_less_often),
		cmocka_unit_test(what_a_server_no_longer_has_is_told),
		cmocka_unit_test(the_second_protocol_has_numbers),
		cmocka_unit_test(errors_and_infos_of_the_second_protocol),
		cmocka_unit_test(
		    a_number_that_is_too_old_is_exchanged_for_a_date),
		cmocka_unit_test(a_stream_may_be_restricted),
		cmocka_unit_test(many_accounts_are_named_in_a_message),
		cmocka_unit_test(
		    an_incremental_run_begins_where_the_last_one_ended),
		cmocka_unit_test(a_server_that_refuses_is_a_failure),
		cmocka_unit_test(orders_that_are_none_are_refused),
		cmocka_unit_test(lists_have_limits),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

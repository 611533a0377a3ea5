/* Recorded harvests of channels and comments, and what each fault leads to. */
#include "engine/connector/connector_testing.h"
#include "engine/connector/connectors.h"

#define API "call https://www.googleapis.com/youtube/v3/"
#define KEY "\"credentials\":{\"key\":\"x\"}"
#define QUERY " query key=key\n"
#define SEED_ADA "\"seeds\":[{\"id\":\"s1\",\"token\":\"@ada\"}]"
#define SEED_V "\"seeds\":[{\"id\":\"v1\",\"uid\":\"abc\"}]"

#define ASK_CHANNEL(which)                                                   \
	API "channels?part=snippet,contentDetails,statistics&" which QUERY
#define ASK_ADA ASK_CHANNEL("forHandle=%40ada")
#define ASK_UPLOADS(more)                                                    \
	API "playlistItems?part=snippet,contentDetails,status&playlistId=UUa" \
	"&maxResults=50" more QUERY
#define ASK_VIDEOS(ids)                                                      \
	API "videos?part=snippet,contentDetails,statistics,status,"          \
	"topicDetails&id=" ids QUERY
#define ASK_THREADS(video, more)                                             \
	API "commentThreads?part=snippet,replies&videoId=" video             \
	"&order=time&textFormat=plainText&maxResults=100" more QUERY
#define ASK_REPLIES(comment, more)                                           \
	API "comments?part=snippet&parentId=" comment                        \
	"&textFormat=plainText&maxResults=100" more QUERY

#define CHANNEL(id, handle)                                                  \
	{ 200, "", "{\"items\":[{\"id\":\"" id "\",\"snippet\":"             \
	"{\"customUrl\":\"" handle "\"},\"contentDetails\":"                 \
	"{\"relatedPlaylists\":{\"uploads\":\"UUa\"}}}]}" }
#define ADA CHANNEL("UCa", "@Ada")
#define ADA_IS_UCA "seed s1 uid=UCa token=\n"
#define DAY(d) "2026-01-" d "T10:00:00Z"
#define UPLOAD(id, day)                                                      \
	"{\"contentDetails\":{\"videoId\":\"" id "\",\"videoPublishedAt\":\"" \
	DAY(day) "\"}}"
/* Not asked for, nor newer than anything. */
#define PRIVATE(id)                                                          \
	"{\"contentDetails\":{\"videoId\":\"" id "\"},\"status\":"           \
	"{\"privacyStatus\":\"private\"}}"
#define NEXT(token) "\"nextPageToken\":\"" token "\","
#define PAGE(next, ...) { 200, "", "{" next "\"items\":[" __VA_ARGS__ "]}" }
#define VIDEO(id, comments)                                                  \
	"{\"id\":\"" id "\",\"statistics\":{" comments "}}"
#define THREAD(id, day, all, shown)                                          \
	"{\"snippet\":{\"totalReplyCount\":" all ",\"topLevelComment\":"     \
	"{\"id\":\"" id "\",\"snippet\":{\"publishedAt\":\"" DAY(day) "\"}}}" \
	",\"replies\":{\"comments\":[" shown "]}}"
#define REPLY(id) "{\"id\":\"" id "\"}"
#define ERROR(status, reason)                                                \
	{ status, "", "{\"error\":{\"code\":" #status ",\"message\":\"said\"," \
	"\"errors\":[{\"domain\":\"x\",\"reason\":\"" reason "\"}]}}" }

#define HARVEST(TYPE, MESSAGE, ...)                                          \
	const struct testing_answer answers[] = { __VA_ARGS__ };             \
	const struct testing_harvest h = { .type = TYPE,                     \
		.message = "{" MESSAGE "," KEY "}", .state = state_left,     \
		.answers = answers, .answers_n = ARRAY_LEN(answers) }
#define CHANNELS(MESSAGE, ...) HARVEST("youtube_channel", MESSAGE, __VA_ARGS__)
#define COMMENTS(MESSAGE, ...) HARVEST("youtube_comments", MESSAGE, __VA_ARGS__)

static const char *const state_left[] = { "UCa.since", DAY("05"),
	"abc.since", DAY("05"), NULL };
#define INCREMENTAL ",\"options\":{\"incremental\":true}"

/* ---- Channels ---------------------------------------------------------- */

static void
a_channel_is_read_from_its_newest_video_on(void **state)
{
	CHANNELS(SEED_ADA, ADA,
	    PAGE(NEXT("p2"), UPLOAD("v4", "08") "," UPLOAD("v3", "09")),
	    PAGE("", VIDEO("v4", "") "," VIDEO("v3", "")),
	    PAGE("", UPLOAD("v2", "03")), PAGE("", VIDEO("v2", "")));

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_UCA
	    ASK_UPLOADS("") ASK_VIDEOS("v4,v3") "count youtube videos 2\n"
	    ASK_UPLOADS("&pageToken=p2") ASK_VIDEOS("v2")
	    "count youtube videos 1\nstate UCa.since=" DAY("09") "\ndone\n");
}

static void
seeds_are_handles_and_ids(void **state)
{
	CHANNELS("\"seeds\":[{\"id\":\"s1\",\"token\":\"Ada\"},{\"id\":\"s2\","
	    "\"uid\":\"UCb\",\"token\":\"@bob\"}]", ADA,
	    PAGE("", ""), CHANNEL("UCb", "@robert"), PAGE("", ""));

	(void)state;
	testing_expect(&h, ASK_CHANNEL("forHandle=Ada") ADA_IS_UCA
	    ASK_UPLOADS("") ASK_CHANNEL("id=UCb")
	    "seed s2 uid= token=@robert\n" ASK_UPLOADS("") "done\n");
}

static void
an_incremental_run_ends_behind_a_page_of_known_videos(void **state)
{
	CHANNELS(SEED_ADA INCREMENTAL, ADA,
	    PAGE(NEXT("p2"), UPLOAD("v4", "06") "," UPLOAD("v1", "05")),
	    PAGE("", VIDEO("v4", "")),
	    PAGE(NEXT("p3"), UPLOAD("v0", "04")));

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_UCA
	    ASK_UPLOADS("") ASK_VIDEOS("v4") "count youtube videos 1\n"
	    ASK_UPLOADS("&pageToken=p2") "state UCa.since=" DAY("06")
	    "\ndone\n");
}

static void
nothing_new_leaves_the_state_alone(void **state)
{
	CHANNELS(SEED_ADA INCREMENTAL, ADA,
	    PAGE(NEXT("p2"), UPLOAD("v1", "05")));

	(void)state;
	testing_expect_findings(&h, ADA_IS_UCA "done\n");
}

static void
a_limit_is_a_decision_and_sets_the_state(void **state)
{
	CHANNELS(SEED_ADA ",\"options\":{\"limit\":2}", ADA,
	    PAGE(NEXT("p2"), UPLOAD("v4", "08") "," UPLOAD("v3", "09")),
	    PAGE("", VIDEO("v4", "") "," VIDEO("v3", "")));

	(void)state;
	testing_expect_findings(&h, ADA_IS_UCA "count youtube videos 2\n"
	    "state UCa.since=" DAY("09") "\ninfo limit_reached: 2 videos were "
	    "found, and the limit is 2\ndone\n");
}

static void
private_videos_are_not_asked_for(void **state)
{
	CHANNELS(SEED_ADA INCREMENTAL, ADA,
	    PAGE(NEXT("p2"), "{\"contentDetails\":{\"videoId\":\"v9\"},"
	    "\"snippet\":{\"publishedAt\":\"" DAY("07") "\"},\"status\":"
	    "{\"privacyStatus\":\"private\"}},{\"contentDetails\":"
	    "{\"videoId\":7}}"), PAGE("", UPLOAD("v4", "06")),
	    PAGE("", ""));

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_UCA ASK_UPLOADS("")
	    "warning uid_unknown_error seed=s1: channel @ada: 1 of 2 videos of"
	    " a page have no id and are not asked for\n"
	    ASK_UPLOADS("&pageToken=p2") ASK_VIDEOS("v4")
	    "state UCa.since=" DAY("07") "\ndone\n");
}

static void
comments_of_new_videos_are_asked_for(void **state)
{
	CHANNELS(SEED_ADA ",\"options\":{\"comments\":true}", ADA,
	    PAGE(NEXT("p2"), UPLOAD("v4", "08") "," UPLOAD("v3", "07") ","
	    UPLOAD("v2", "06") "," UPLOAD("v1", "05")),
	    PAGE("", VIDEO("v4", "\"commentCount\":\"3\"") ","
	    VIDEO("v3", "\"commentCount\":\"0\"") "," VIDEO("v2", "") ","
	    VIDEO("v1", "\"commentCount\":\"1\"")),
	    PAGE(NEXT("t2"), THREAD("c1", "09", "0", "")),
	    PAGE("", THREAD("c2", "08", "2", REPLY("c2.1"))),
	    PAGE("", REPLY("c2.1") "," REPLY("c2.2")),
	    ERROR(403, "commentsDisabled"), ERROR(404, "videoNotFound"),
	    PAGE("", ""));

	(void)state;
	testing_expect(&h, ASK_ADA ADA_IS_UCA ASK_UPLOADS("")
	    ASK_VIDEOS("v4,v3,v2,v1") "count youtube videos 4\n"
	    ASK_THREADS("v4", "") "count youtube comments 1\n"
	    ASK_THREADS("v4", "&pageToken=t2") "count youtube comments 1\n"
	    ASK_REPLIES("c2", "") "count youtube comments 2\n"
	    ASK_THREADS("v2", "") "warning commentsDisabled seed=s1: video v2 "
	    "has no comments, since they are disabled\n"
	    ASK_THREADS("v1", "") ASK_UPLOADS("&pageToken=p2")
	    "state UCa.since=" DAY("08") "\ndone\n");
}

static void
channels_that_are_not_there_are_passed_over(void **state)
{
#define NO_CHANNEL { 200, "", "{\"kind\":\"youtube#channelListResponse\"}" }
	CHANNELS("\"seeds\":[{\"id\":\"s1\",\"token\":\"@ada\"},{\"id\":\"s2\","
	    "\"uid\":\"UCb\"},{\"id\":\"s3\",\"uid\":\"UCa\"}]", NO_CHANNEL,
	    NO_CHANNEL, ADA, ERROR(404, "playlistNotFound"));

	(void)state;
	/* A channel without a video has no list of them. */
	testing_expect_findings(&h,
	    "warning token_not_found seed=s1: channel @ada does not exist\n"
	    "skip s1\n"
	    "warning uid_not_found seed=s2: channel UCb does not exist\n"
	    "skip s2\ndone\n");
}

static void
a_page_that_leads_back_is_an_error(void **state)
{
	CHANNELS(SEED_ADA, ADA, PAGE(NEXT("p2"), PRIVATE("a")),
	    PAGE(NEXT("p3"), PRIVATE("b")), PAGE(NEXT("p2"), PRIVATE("c")));

	(void)state;
	testing_expect_findings(&h, ADA_IS_UCA "fail unknown_error: YouTube "
	    "sent a page that leads back to an earlier one\n");
}

static void
pages_without_another_entry_are_asked_for_again(void **state)
{
	{
		CHANNELS(SEED_ADA, ADA, PAGE(NEXT("p2"), PRIVATE("a")),
		    PAGE(NEXT("p3"), PRIVATE("a")),
		    PAGE(NEXT("p3"), PRIVATE("b")), PAGE(NEXT("p4"), ""),
		    PAGE(NEXT("p4"), PRIVATE("c")), PAGE(NEXT("p5"), ""),
		    PAGE(NEXT("p5"), ""), PAGE(NEXT("p5"), ""),
		    PAGE("", ""));
		testing_expect(&h, ASK_ADA ADA_IS_UCA ASK_UPLOADS("")
		    ASK_UPLOADS("&pageToken=p2") "again 1\n"
		    ASK_UPLOADS("&pageToken=p2")
		    ASK_UPLOADS("&pageToken=p3") "again 1\n"
		    ASK_UPLOADS("&pageToken=p3")
		    ASK_UPLOADS("&pageToken=p4") "again 1\n"
		    ASK_UPLOADS("&pageToken=p4") "again 4\n"
		    ASK_UPLOADS("&pageToken=p4")
		    ASK_UPLOADS("&pageToken=p5") "done\n");
	}
	(void)state;
}

static void
a_cursor_that_is_too_old_begins_the_list_anew(void **state)
{
	{
		CHANNELS(SEED_ADA, ADA, PAGE(NEXT("p2"), PRIVATE("a")),
		    ERROR(400, "invalidPageToken"), PAGE("", ""));
		testing_expect(&h, ASK_ADA ADA_IS_UCA ASK_UPLOADS("")
		    ASK_UPLOADS("&pageToken=p2") ASK_UPLOADS("") "done\n");
	}
	{
		CHANNELS(SEED_ADA, ADA, PAGE(NEXT("p2"), PRIVATE("a")),
		    ERROR(400, "invalidPageToken"),
		    PAGE(NEXT("p2"), PRIVATE("a")),
		    ERROR(400, "invalidPageToken"));
		testing_expect_findings(&h, ADA_IS_UCA "fail unknown_error: "
		    "YouTube does not know a page that it has named itself\n");
	}
	(void)state;
}

static void
json_of_another_kind_is_asked_for_again(void **state)
{
	CHANNELS(SEED_ADA, { 200, "", "[]" }, ADA, { 200, "", "{}" },
	    PAGE("", UPLOAD("v1", "01")), { 200, "", "7" }, { 200, "", "7" },
	    { 200, "", "7" }, { 200, "", "7" }, { 200, "", "7" },
	    { 200, "", "7" });

	(void)state;
	testing_expect_findings(&h, "again 1\n" ADA_IS_UCA "again 1\n"
	    "again 1\nagain 4\nagain 9\nagain 16\nagain 25\n"
	    "fail unknown_error: YouTube sent no list of videos 6 times, "
	    "channel @ada\n");
}

/* ---- The key and its quota --------------------------------------------- */

static void
a_key_that_is_wrong_ends_the_run(void **state)
{
	{
		CHANNELS(SEED_ADA, ERROR(400, "keyInvalid"));
		testing_expect_findings(&h, "fail harvest_Unauthorized: "
		    "YouTube refuses the key: 400 keyInvalid, said\n");
	}
	{
		CHANNELS(SEED_ADA, { 400, "", "{\"error\":{\"message\":\"API "
		    "key not valid.\",\"errors\":[{\"reason\":\"badRequest\"}],"
		    "\"details\":[{\"reason\":\"API_KEY_INVALID\"}]}}" });
		testing_expect_findings(&h, "fail harvest_Unauthorized: "
		    "YouTube refuses the key: 400 badRequest, API key not "
		    "valid.\n");
	}
	{
		CHANNELS(SEED_ADA, { 401, "", "" });
		testing_expect_findings(&h, "fail harvest_Unauthorized: "
		    "YouTube refuses the key: 401 \n");
	}
	(void)state;
}

static void
a_quota_is_awaited_until_midnight(void **state)
{
	CHANNELS(SEED_ADA, ERROR(403, "quotaExceeded"), ADA,
	    ERROR(403, "dailyLimitExceeded"), PAGE("", ""));

	(void)state;
	/* Second 1 of 1970 is 16:00:01 of the day before, there. */
	testing_expect(&h, ASK_ADA "warning quota_exhausted: YouTube answers "
	    "no more calls with this key until midnight in Los Angeles\n"
	    "again 28809\n" ASK_ADA ADA_IS_UCA ASK_UPLOADS("")
	    "warning quota_exhausted: YouTube answers no more calls with this "
	    "key until midnight in Los Angeles\nagain 28807\n" ASK_UPLOADS("")
	    "done\n");
}

static void
calls_that_come_too_fast_are_made_again(void **state)
{
#define FAST ERROR(403, "rateLimitExceeded")
	CHANNELS(SEED_ADA, FAST, FAST, FAST, FAST, FAST, FAST, FAST, ADA,
	    ERROR(400, "processingFailure"), PAGE("", ""));

	(void)state;
	testing_expect_findings(&h, "again 60\nagain 120\nagain 240\nagain 480"
	    "\nagain 900\nagain 900\nagain 900\n" ADA_IS_UCA "again 1\n"
	    "done\n");
}

/* ---- Comments ---------------------------------------------------------- */

static void
comments_come_with_their_replies(void **state)
{
	COMMENTS(SEED_V, PAGE(NEXT("t2"), THREAD("c3", "09", "1", REPLY("c3.1"))
	    "," THREAD("c2", "08", "3", REPLY("c2.1")) ","
	    THREAD("c1", "07", "2", "")),
	    PAGE(NEXT("r2"), REPLY("c2.1") "," REPLY("c2.2")),
	    PAGE("", REPLY("c2.3")), ERROR(404, "commentNotFound"),
	    PAGE("", THREAD("c0", "10", "0", "")));

	(void)state;
	testing_expect(&h, ASK_THREADS("abc", "") "count youtube comments 4\n"
	    ASK_REPLIES("c2", "") "count youtube comments 2\n"
	    ASK_REPLIES("c2", "&pageToken=r2") "count youtube comments 1\n"
	    ASK_REPLIES("c1", "") ASK_THREADS("abc", "&pageToken=t2")
	    "count youtube comments 1\nstate abc.since=" DAY("10") "\ndone\n");
}

static void
an_incremental_run_wants_new_comments_alone(void **state)
{
	COMMENTS(SEED_V INCREMENTAL,
	    PAGE(NEXT("t2"), THREAD("c3", "09", "0", "") ","
	    THREAD("c2", "05", "3", "")),
	    PAGE(NEXT("t3"), THREAD("c1", "04", "1", REPLY("c1.1"))));

	(void)state;
	testing_expect(&h, ASK_THREADS("abc", "") "count youtube comments 1\n"
	    ASK_THREADS("abc", "&pageToken=t2") "state abc.since=" DAY("09")
	    "\ndone\n");
}

static void
videos_are_given_by_their_addresses(void **state)
{
	COMMENTS("\"seeds\":[{\"id\":\"v1\",\"token\":"
	    "\"https://www.youtube.com/watch?t=1&v=a-1&x\"},{\"id\":\"v2\","
	    "\"token\":\"https://youtu.be/b_2?t=1\"},{\"id\":\"v3\",\"token\":"
	    "\"m.youtube.com/shorts/c3/\"},{\"id\":\"v4\",\"token\":\"d4\"},"
	    "{\"id\":\"v5\",\"uid\":\"e5\",\"token\":\"no\"}]",
	    PAGE("", ""), PAGE("", ""), PAGE("", ""), PAGE("", ""),
	    PAGE("", ""));

	(void)state;
	testing_expect(&h, ASK_THREADS("a-1", "") "seed v1 uid=a-1 token=\n"
	    ASK_THREADS("b_2", "") "seed v2 uid=b_2 token=\n"
	    ASK_THREADS("c3", "") "seed v3 uid=c3 token=\n"
	    ASK_THREADS("d4", "") ASK_THREADS("e5", "") "done\n");
}

static void
videos_without_comments_are_told(void **state)
{
	COMMENTS("\"seeds\":[{\"id\":\"v1\",\"uid\":\"a\"},{\"id\":\"v2\","
	    "\"uid\":\"b\"},{\"id\":\"v3\",\"uid\":\"c\"},{\"id\":\"v4\","
	    "\"uid\":\"d\"}]", ERROR(403, "commentsDisabled"),
	    ERROR(404, "videoNotFound"), ERROR(403, "forbidden"),
	    ERROR(400, "odd"));

	(void)state;
	testing_expect_findings(&h, "warning commentsDisabled seed=v1: video a"
	    " has no comments, since they are disabled\nskip v1\n"
	    "warning uid_not_found seed=v2: video b does not exist\nskip v2\n"
	    "warning uid_unauthorized seed=v3: video c: 403 forbidden, said\n"
	    "skip v3\nwarning uid_unknown_error seed=v4: video d: 400 odd, "
	    "said\nskip v4\ndone\n");
}

static void
replies_that_lead_back_are_an_error(void **state)
{
	COMMENTS(SEED_V, PAGE("", THREAD("c2", "08", "3", "")),
	    PAGE(NEXT("r"), ""), PAGE(NEXT("r"), ""));

	(void)state;
	testing_expect_findings(&h, "count youtube comments 1\n"
	    "fail unknown_error: YouTube sent a page of replies that leads "
	    "back to an earlier one\n");
}

/* ---- Orders and checkpoints -------------------------------------------- */

#define NO_VIDEO(given)                                                      \
	testing_refuse("youtube_comments", "{\"seeds\":[{\"token\":\"" given \
	    "\"}]," KEY "}", "bad_request", "seeds[0].token: it is no id and " \
	    "no address of a video")

static void
seeds_that_are_none_are_refused(void **state)
{
	(void)state;
	NO_VIDEO("a/b");
	NO_VIDEO("https://www.example.com/watch?v=abc");
	NO_VIDEO("https://www.youtube.com/watch?w=abc");
	NO_VIDEO("https://www.youtube.com/@ada");
	NO_VIDEO("https://youtu.be/");
	NO_VIDEO("https://youtu.be/a%20b");
	testing_refuse("youtube_channel", "{\"seeds\":[{\"uid\":\"U C\"}],"
	    KEY "}", "bad_request", "seeds[0].uid: it is not a channel's id");
	testing_refuse("youtube_channel", "{" SEED_ADA "}",
	    "credentials_missing", "credentials.key: it is missing");
}

static void
damaged_checkpoints_are_refused(void **state)
{
	(void)state;
	testing_damage("youtube_channel", "{" SEED_ADA "," KEY "}");
	testing_damage("youtube_comments", "{" SEED_V "," KEY "}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_channel_is_read_from_its_newest_video_on),
		cmocka_unit_test(seeds_are_handles_and_ids),
		cmocka_unit_test(
		    an_incremental_run_ends_behind_a_page_of_known_videos),
		cmocka_unit_test(nothing_new_leaves_the_state_alone),
		cmocka_unit_test(a_limit_is_a_decision_and_sets_the_state),
		cmocka_unit_test(private_videos_are_not_asked_for),
		cmocka_unit_test(comments_of_new_videos_are_asked_for),
		cmocka_unit_test(channels_that_are_not_there_are_passed_over),
		cmocka_unit_test(a_page_that_leads_back_is_an_error),
		cmocka_unit_test(
		    pages_without_another_entry_are_asked_for_again),
		cmocka_unit_test(a_cursor_that_is_too_old_begins_the_list_anew),
		cmocka_unit_test(json_of_another_kind_is_asked_for_again),
		cmocka_unit_test(a_key_that_is_wrong_ends_the_run),
		cmocka_unit_test(a_quota_is_awaited_until_midnight),
		cmocka_unit_test(calls_that_come_too_fast_are_made_again),
		cmocka_unit_test(comments_come_with_their_replies),
		cmocka_unit_test(an_incremental_run_wants_new_comments_alone),
		cmocka_unit_test(videos_are_given_by_their_addresses),
		cmocka_unit_test(videos_without_comments_are_told),
		cmocka_unit_test(replies_that_lead_back_are_an_error),
		cmocka_unit_test(seeds_that_are_none_are_refused),
		cmocka_unit_test(damaged_checkpoints_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

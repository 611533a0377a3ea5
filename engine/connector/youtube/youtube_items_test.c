/* Videos and comments of YouTube. */
#include "engine/connector/items_testing.h"
#include "engine/connector/youtube/youtube_items.h"

#define API "https://www.googleapis.com/youtube/v3/"

static bool
knows(const struct connector_items *items, const char *uri)
{
	return items->recognises(str_of(uri), STR(""));
}

static void
answers_are_recognised(void **state)
{
	(void)state;
	assert_true(knows(&youtube_video_items, API "videos?part=snippet"));
	assert_false(knows(&youtube_video_items, API "channels?part=x"));
	assert_false(knows(&youtube_video_items, API "playlistItems?videos"));
	assert_true(knows(&youtube_comment_items, API "commentThreads?p"));
	assert_true(knows(&youtube_comment_items, API "comments?parentId=1"));
	assert_false(knows(&youtube_comment_items, API "videos?part=x"));
}

static void
a_video(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&youtube_video_items, API "videos?",
	    "{\"items\":[{\"id\":\"abc\",\"snippet\":{\"channelId\":\"UC1\","
	    "\"title\":\"T\",\"description\":\"a\\r\\nb\",\"publishedAt\":"
	    "\"2026-01-02T03:04:05Z\",\"tags\":[\"x\",\"y z\"]},"
	    "\"contentDetails\":{\"duration\":\"PT1M\"},\"statistics\":"
	    "{\"viewCount\":\"12\"},\"status\":{\"madeForKids\":false}}]}",
	    &t), OK);
	assert_int_equal(t.n, 1);
	assert_str(t.list[0].id, "abc");
	assert_str(t.list[0].owner, "UC1");
	assert_cell(&t, 0, "url", "https://www.youtube.com/watch?v=abc");
	assert_cell(&t, 0, "description", "a b");
	assert_cell(&t, 0, "published_at", "2026-01-02 03:04:05+00:00");
	assert_cell(&t, 0, "duration", "PT1M");
	assert_cell(&t, 0, "tags", "x, y z");
	assert_cell(&t, 0, "view_count", "12");
	assert_cell(&t, 0, "like_count", "(null)");
	assert_cell(&t, 0, "made_for_kids", "false");
	assert_cell(&t, 0, "topic_categories", "");
	arena_free(&t.arena);
}

static void
a_thread_with_replies(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&youtube_comment_items,
	    API "commentThreads?", "{\"items\":[{\"id\":\"t\",\"snippet\":"
	    "{\"videoId\":\"v\",\"totalReplyCount\":2,\"topLevelComment\":"
	    "{\"id\":\"c\",\"snippet\":{\"textDisplay\":"
	    "\"<b>\",\"textOriginal\":\"a\\nb\",\"authorChannelId\":"
	    "{\"value\":\"UC2\"},\"likeCount\":3,\"publishedAt\":"
	    "\"2026-01-02T03:04:05Z\"}}},\"replies\":{\"comments\":[{\"id\":"
	    "\"c.r\",\"snippet\":{\"parentId\":\"c\",\"textDisplay\":\"r\"}}]}"
	    "}]}", &t), OK);
	assert_int_equal(t.n, 2);
	assert_str(t.list[0].id, "c");
	assert_str(t.list[0].owner, "UC2");
	assert_cell(&t, 0, "comment_id", "c");
	assert_cell(&t, 0, "url", "https://www.youtube.com/watch?v=v&lc=c");
	assert_cell(&t, 0, "text", "a b");
	assert_cell(&t, 0, "like_count", "3");
	assert_cell(&t, 0, "reply_count", "2");
	assert_cell(&t, 0, "parent_id", "(null)");
	assert_str(t.list[1].id, "c.r");
	assert_cell(&t, 1, "parent_id", "c");
	assert_cell(&t, 1, "text", "r");
	assert_cell(&t, 1, "video_id", "v");
	assert_cell(&t, 1, "url", "https://www.youtube.com/watch?v=v&lc=c.r");
	assert_cell(&t, 1, "reply_count", "(null)");
	assert_cell(&t, 1, "published_at",
	    "(lacks snippet.publishedAt)(null)");
	arena_free(&t.arena);
	assert_int_equal(testing_find(&youtube_comment_items, API "comments?",
	    "{\"items\":[{\"id\":\"c.r\",\"snippet\":{\"textDisplay\":\"r\","
	    "\"textOriginal\":null,\"videoId\":null}}]}", &t), OK);
	assert_cell(&t, 0, "text", "r");
	assert_cell(&t, 0, "video_id", "(null)");
	assert_cell(&t, 0, "url", "(null)");
	arena_free(&t.arena);
}

static void
other_answers(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&youtube_video_items, API "videos?",
	    "{\"error\":{\"code\":403}}", &t), OK);
	assert_int_equal(t.n, 0);
	arena_free(&t.arena);
	assert_int_equal(testing_find(&youtube_video_items, API "videos?",
	    "{\"items\":[{},3]}", &t), OK);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.list[0].kind, ITEM_BROKEN);
	arena_free(&t.arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_recognised),
		cmocka_unit_test(a_video),
		cmocka_unit_test(a_thread_with_replies),
		cmocka_unit_test(other_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

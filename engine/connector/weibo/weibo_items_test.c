/* Posts of Weibo: topics and links as Python's patterns find them, rows. */
#include "engine/connector/items_testing.h"
#include "engine/connector/weibo/weibo_items.h"

#define TIMELINE "https://api.weibo.com/2/statuses/friends_timeline.json"

static void
topics_are_found(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" }, { "#", "" }, { "##", "" }, { "#a", "" },
		{ "#a#", "a" }, { "#a#b#c# #d#", "a, c, d" },
		{ "#two words# x #_#", "two words, _" },
		/* A full stop is no word: the blank between is a topic. */
		{ "#a.b# #c.d#", " " },
		{ "#back\\slash#", "back\\slash" },
		{ "#\xe8\xaf\x9d\xe9\xa2\x98#", "\xe8\xaf\x9d\xe9\xa2\x98" },
		{ "#e\xf0\x9f\x98\x80#x#", "x" },
		{ "#\xef\xbc\x8cp#", "" },      /* a wide comma */
		{ "#a\n\tb\xe3\x80\x80\x1c#", "a\n\tb\xe3\x80\x80\x1c" },
		/* Half a surrogate, as it is kept. */
		{ "#\xed\xa0\xbd#y#", "y" },
		{ "#\xc3\xa9\xd9\xa3#", "\xc3\xa9\xd9\xa3" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a = ARENA_INIT;
		struct buf b = BUF_INIT;
		weibo_put_topics(str_of(rows[i].text), &a, &b);
		assert_string_equal(buf_text(&b), rows[i].want);
		buf_free(&b);
		arena_free(&a);
	}
}

static void
links_are_found(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "http://t.cn/RqAbc12 and http://t.cn/Zz9\xe4\xb8\xad",
		    "http://t.cn/RqAbc12|http://t.cn/Zz9|" },
		{ "http://t.cn/a_b^c`d[e]f\\g", "http://t.cn/a_b^c`d[e]f\\g|" },
		{ "http://txcn/dot http://t\xe4\xb8\xad" "cn/x",
		    "http://txcn/dot|http://t\xe4\xb8\xad" "cn/x|" },
		{ "https://t.cn/a http://t.cn/ http://t\ncn/a http://t", "" },
		{ "http://thttp://t.cn/b", "http://t.cn/b|" },
		{ "http://t\xed\xa0\xbd" "cn/c",
		    "http://t\xed\xa0\xbd" "cn/c|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct str text = str_of(rows[i].text), link;
		struct buf b = BUF_INIT;
		while (weibo_take_link(&text, &link))
			buf_printf(&b, "%.*s|", STR_FMT(link));
		assert_string_equal(buf_text(&b), rows[i].want);
		buf_free(&b);
	}
}

static void
find_post(const char *members, struct testing_items *t)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "{\"statuses\":[{\"mid\":\"39\",\"user\":{\"idstr\":"
	    "\"4\",\"screen_name\":\"w\"},%s}]}", members);
	assert_int_equal(testing_find(&weibo_items, TIMELINE, buf_text(&b),
	    t), OK);
	assert_int_equal(t->n, 1);
	buf_free(&b);
}

static void
rows_may_be_short(void **state)
{
	struct testing_items t;

	(void)state;
	find_post("\"text\":\"#x# http://t.cn/1\",\"created_at\":\"Thu Jun 02 "
	    "12:00:00 +0800 2016\",\"in_reply_to_screen_name\":null", &t);
	assert_str(t.list[0].id, "39");
	assert_str(t.list[0].owner, "4");
	assert_cell(&t, 0, "created_at", "2016-06-02 12:00:00+08:00");
	assert_cell(&t, 0, "topics", "x");
	assert_cell(&t, 0, "in_reply_to_screen_name", "");
	assert_cell(&t, 0, "weibo_url", "http://m.weibo.cn/4/39");
	assert_cell(&t, 0, "url1", "http://t.cn/1");
	assert_cell(&t, 0, "url2", "");
	assert_cell(&t, 0, "retweeted_text", "(end)");
	assert_cell(&t, 0, "retweeted_url1", "(end)");
	arena_free(&t.arena);
	find_post("\"text\":\"t\",\"retweeted_status\":{\"text\":\"r "
	    "http://t.cn/1\"}", &t);
	assert_cell(&t, 0, "retweeted_text", "r http://t.cn/1");
	assert_cell(&t, 0, "retweeted_url1", "http://t.cn/1");
	assert_cell(&t, 0, "retweeted_url2", "(end)");
	arena_free(&t.arena);
}

static void
other_answers(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&weibo_items, TIMELINE,
	    "{\"error\":\"x\",\"statuses\":[{\"mid\":\"1\"}]}", &t), OK);
	assert_int_equal(t.n, 0);
	arena_free(&t.arena);
	assert_int_equal(testing_find(&weibo_items, TIMELINE,
	    "{\"remaining_ip_hits\":1}", &t), OK);
	assert_int_equal(t.n, 0);
	arena_free(&t.arena);
	/* A post that was deleted keeps its number, and has no author. */
	assert_int_equal(testing_find(&weibo_items, TIMELINE,
	    "{\"statuses\":[{\"mid\":\"90\",\"text\":\"gone\"},{}]}", &t),
	    OK);
	assert_int_equal(t.n, 2);
	assert_cell(&t, 0, "screen_name", "(lacks user.screen_name)(null)");
	assert_cell(&t, 0, "weibo_url", "(lacks user.idstr)(null)");
	assert_int_equal(t.list[1].kind, ITEM_BROKEN);
	arena_free(&t.arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(topics_are_found),
		cmocka_unit_test(links_are_found),
		cmocka_unit_test(rows_may_be_short),
		cmocka_unit_test(other_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Posts of Tumblr: which are found, and the cells of their table. */
#include "engine/connector/items_testing.h"
#include "engine/connector/tumblr/tumblr_items.h"

#define POSTS "https://api.tumblr.com/v2/blog/b/posts?limit=20"

static void
find_post(const char *members, struct testing_items *t)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "{\"meta\":{},\"response\":{\"posts\":[{%s}]}}",
	    members);
	assert_int_equal(testing_find(&tumblr_items, POSTS, buf_text(&b), t),
	    OK);
	assert_int_equal(t->n, 1);
	buf_free(&b);
}

static void
answers_are_recognised(void **state)
{
	(void)state;
	assert_true(tumblr_items.recognises(STR(POSTS), STR("")));
	assert_false(tumblr_items.recognises(STR("https://api.tumblr.com/v2/"
	    "blog/b/info?"), STR("")));
}

static void
texts_by_type(void **state)
{
	static const struct {
		const char *type, *want;
	} rows[] = {
		{ "text", "body" }, { "chat", "body" }, { "photo", "caption" },
		{ "audio", "caption" }, { "video", "caption" },
		{ "link", "excerpt" }, { "quote", "(null)" },
		{ "answer", "(null)" },
	};
	struct testing_items t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct arena a = ARENA_INIT;
		find_post(arena_printf(&a, "\"id\":1,\"type\":\"%s\",\"body\":"
		    "\"body\",\"caption\":\"caption\",\"excerpt\":\"excerpt\"",
		    rows[i].type).p, &t);
		assert_cell(&t, 0, "post_text", rows[i].want);
		arena_free(&t.arena);
		arena_free(&a);
	}
	find_post("\"id\":1,\"type\":\"link\"", &t);
	assert_cell(&t, 0, "post_text", "(lacks excerpt)(null)");
	arena_free(&t.arena);
}

static void
a_post(void **state)
{
	struct testing_items t;

	(void)state;
	find_post("\"id\":145000000001,\"id_string\":\"145000000001\","
	    "\"blog_name\":\"b\",\"date\":\"2016-06-02 12:00:00 GMT\","
	    "\"tags\":[\"a\",\"b c\",\"x,y\"],\"summary\":null", &t);
	assert_str(t.list[0].id, "145000000001");
	assert_str(t.list[0].owner, "b");
	assert_cell(&t, 0, "tumblr_id", "145000000001");
	assert_cell(&t, 0, "created_at", "2016-06-02 12:00:00+00:00");
	assert_cell(&t, 0, "tags", "a, b c, x,y");
	assert_cell(&t, 0, "post_summary", "(null)");
	assert_cell(&t, 0, "post_slug", "(lacks slug)(null)");
	arena_free(&t.arena);
	find_post("\"id_string\":\"7\",\"tags\":5", &t);
	assert_str(t.list[0].id, "7");
	assert_cell(&t, 0, "tags", "(lacks tags)(null)");
	assert_cell(&t, 0, "created_at", "(lacks date)(null)");
	arena_free(&t.arena);
}

static void
other_answers(void **state)
{
	static const char *const texts[] = {
		"{\"meta\":{\"status\":404},\"response\":[]}",
		"{\"errors\":[{\"title\":\"Limit Exceeded\"}]}", "[]", "5",
		"{\"response\":{\"posts\":{}}}",
	};
	struct testing_items t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(testing_find(&tumblr_items, POSTS, texts[i],
		    &t), OK);
		assert_int_equal(t.n, 0);
		arena_free(&t.arena);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_recognised),
		cmocka_unit_test(texts_by_type),
		cmocka_unit_test(a_post),
		cmocka_unit_test(other_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

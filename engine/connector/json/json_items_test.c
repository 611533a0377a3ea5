/* Items of declared platforms, and the columns that they get. */
#include "engine/connector/items_testing.h"
#include "engine/connector/json/json_items.h"

#define DESCRIPTION(more)                                                    \
	"{\"url\":\"https://a.example/c/{seed}?n=1\",\"label\":\"topics\","  \
	"\"items\":\"/list\",\"id\":\"/id\",\"date\":\"/at\","               \
	"\"owner\":\"/by/id\"" more "}"
#define HOW json_items.declared
#define URI "https://a.example/c/cats?n=1"

static struct connector_items *
make_items(const char *description, const char *first)
{
	struct connector_items *items;
	struct why w = WHY_INIT;
	yyjson_doc *doc = first == NULL ? NULL : yyjson_read(first,
	    strlen(first), 0);

	if (HOW->make(str_of(description), yyjson_doc_get_root(doc), &items,
	    &w) != OK)
		fail_msg("%s", w.text);
	yyjson_doc_free(doc);
	return items;
}

static void
items_are_where_the_description_says(void **state)
{
	struct connector_items *items = make_items(DESCRIPTION(
	    ",\"columns\":[{\"name\":\"title\",\"at\":\"/title\"},"
	    "{\"name\":\"tag\",\"at\":\"/tags/0\",\"meaning\":\"a word\"}]"),
	    NULL);
	struct testing_items t;

	(void)state;
	assert_string_equal(items->label, "topics");
	assert_string_equal(item_type_name(items), "json_api");
	assert_false(HOW->wants_first(items));
	assert_int_equal(testing_find(items, URI, "{\"list\":[{\"id\":"
	    "9007199254740993,\"at\":\"2026-01-05T10:00:00Z\",\"by\":{\"id\":"
	    "7},\"title\":\"a\\nb\",\"tags\":[\"x\",2]},{\"id\":\"b\","
	    "\"at\":1700000000,\"title\":null},{\"at\":\"no\"}]}", &t), OK);
	assert_int_equal(t.n, 3);
	assert_true(str_eq(t.list[0].id, STR("9007199254740993")));
	assert_true(str_eq(t.list[0].owner, STR("7")));
	assert_int_equal(wall_s(t.list[0].date.at), 1767607200);
	assert_int_equal(wall_s(t.list[1].date.at), 1700000000);
	assert_int_equal(t.list[1].kind, ITEM_FOUND);
	assert_int_equal(t.list[2].kind, ITEM_BROKEN);
	assert_string_equal(t.list[2].lacks, "/id");
	assert_int_equal(items->table->columns_n, 2);
	assert_string_equal(items->table->columns[0].meaning,
	    "what it has at /title");
	assert_string_equal(items->table->columns[1].meaning, "a word");
	assert_string_equal(testing_cell(&t, 0, "title"), "a\nb");
	assert_string_equal(testing_cell(&t, 0, "tag"), "x");
	assert_string_equal(testing_cell(&t, 1, "title"), "(null)");
	assert_string_equal(testing_cell(&t, 1, "tag"), "(null)");
	arena_free(&t.arena);
	HOW->free(&items);
	assert_null(items);
}

static void
without_columns_they_are_those_of_the_first_item(void **state)
{
	struct connector_items *items = make_items(DESCRIPTION(""),
	    "{\"id\":1,\"a/~b\":2,\"by\":{},\"tags\":[],\"ok\":true,"
	    "\"date\":3,\"none\":null}");
	static const char *const names[] = { "id", "date", "owner", "a/~b",
		"ok", "none" };
	struct testing_items t;

	(void)state;
	assert_true(HOW->wants_first(items));
	assert_int_equal(items->table->columns_n, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_string_equal(items->table->columns[i].name, names[i]);
	assert_int_equal(testing_find(items, URI, "{\"list\":[{\"id\":1,"
	    "\"a/~b\":2,\"by\":{\"id\":\"x\"},\"at\":\"2026-01-05\"},"
	    "{\"id\":2}]}", &t), OK);
	assert_string_equal(testing_cell(&t, 0, "id"), "1");
	assert_string_equal(testing_cell(&t, 0, "date"),
	    "2026-01-05 00:00:00");
	assert_string_equal(testing_cell(&t, 0, "owner"), "x");
	assert_string_equal(testing_cell(&t, 0, "a/~b"), "2");
	assert_string_equal(testing_cell(&t, 0, "ok"), "(null)");
	assert_string_equal(testing_cell(&t, 1, "date"), "(null)");
	assert_string_equal(testing_cell(&t, 1, "owner"), "(null)");
	arena_free(&t.arena);
	HOW->free(&items);
}

static void
answers_of_the_host_are_recognised(void **state)
{
	struct connector_items *items = make_items(DESCRIPTION(""), NULL);
	struct testing_items t;

	(void)state;
	assert_true(HOW->recognises(items, STR(URI)));
	assert_true(HOW->recognises(items, STR("https://a.example")));
	assert_true(HOW->recognises(items, STR("https://a.example?x")));
	assert_false(HOW->recognises(items,
	    STR("https://a.example.b.example/")));
	assert_false(HOW->recognises(items, STR("http://a.example/")));
	assert_int_equal(testing_find(items, URI, "{\"error\":1}", &t), OK);
	assert_int_equal(t.n, 0);
	arena_free(&t.arena);
	assert_int_equal(testing_find(items, URI, "<html>", &t), ERR_INPUT);
	arena_free(&t.arena);
	HOW->free(&items);
}

static void
without_a_description_there_is_nothing(void **state)
{
	struct connector_items *items;
	struct testing_items t;

	(void)state;
	assert_ptr_equal(item_type_find(STR("json_api")), &json_items);
	assert_false(json_items.recognises(STR(URI), STR("")));
	assert_int_equal(testing_find(&json_items, URI, "{\"list\":[{\"id\":1}"
	    "]}", &t), OK);
	assert_int_equal(t.n, 0);
	assert_int_equal(HOW->make(STR("{\"url\":7}"), NULL, &items,
	    NULL), ERR_INPUT);
	assert_null(items);
	assert_int_equal(HOW->make(STR("no"), NULL, &items, NULL),
	    ERR_INPUT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_where_the_description_says),
		cmocka_unit_test(
		    without_columns_they_are_those_of_the_first_item),
		cmocka_unit_test(answers_of_the_host_are_recognised),
		cmocka_unit_test(without_a_description_there_is_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

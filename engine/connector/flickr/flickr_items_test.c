/* Photos of Flickr: which answers have one, and the cells of their table. */
#include "engine/connector/flickr/flickr_items.h"
#include "engine/connector/items_testing.h"

#define INFO "https://api.flickr.com/services/rest/?nojsoncallback=1&" \
	"format=json&method=flickr.photos.getInfo&photo_id=5"

static void
answers_are_recognised(void **state)
{
	(void)state;
	assert_true(flickr_items.recognises(STR(INFO), STR("")));
	assert_false(flickr_items.recognises(STR("https://api.flickr.com/"
	    "services/rest/?method=flickr.photos.getSizes"), STR("")));
	assert_false(flickr_items.recognises(STR("https://example.org/?"
	    "method=flickr.photos.getInfo"), STR("")));
}

static void
a_photo(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&flickr_items, INFO,
	    "{\"stat\":\"ok\",\"photo\":{\"id\":\"5\",\"dates\":{\"posted\":"
	    "\"1464868800\",\"taken\":\"2016-06-02 08:09\"},\"license\":\"0\","
	    "\"owner\":{\"nsid\":\"3@N01\",\"username\":\"f\"},\"title\":"
	    "{\"_content\":\"a\\nb\\r\\nc\"},\"description\":{\"_content\":"
	    "\"\"},\"urls\":{\"url\":[{\"type\":\"photopage\",\"_content\":"
	    "\"first\"},{\"type\":\"guest\",\"_content\":\"no\"},{\"type\":"
	    "\"photopage\",\"_content\":\"last\"}]}}}", &t), OK);
	assert_int_equal(t.n, 1);
	assert_str(t.list[0].id, "5");
	assert_str(t.list[0].owner, "3@N01");
	assert_cell(&t, 0, "date_posted", "2016-06-02 12:00:00+00:00");
	assert_cell(&t, 0, "date_taken", "2016-06-02 08:09:00");
	assert_cell(&t, 0, "title", "a b\r c");
	assert_cell(&t, 0, "description", "");
	assert_cell(&t, 0, "photopage", "last");
	assert_cell(&t, 0, "original_format", "(null)");
	assert_cell(&t, 0, "media", "(lacks media)(null)");
	arena_free(&t.arena);
}

static void
other_answers(void **state)
{
	struct testing_items t;

	(void)state;
	assert_int_equal(testing_find(&flickr_items, INFO,
	    "{\"stat\":\"fail\",\"code\":1,\"message\":\"Photo not found\"}",
	    &t), OK);
	assert_int_equal(t.n, 0);
	arena_free(&t.arena);
	assert_int_equal(testing_find(&flickr_items, INFO, "[1]", &t), OK);
	assert_int_equal(t.n, 0);
	arena_free(&t.arena);
	assert_int_equal(testing_find(&flickr_items, INFO,
	    "{\"stat\":\"ok\",\"photo\":7}", &t), OK);
	assert_int_equal(t.list[0].kind, ITEM_BROKEN);
	arena_free(&t.arena);
	/* Dates that are none; a month that is not known. */
	assert_int_equal(testing_find(&flickr_items, INFO,
	    "{\"stat\":\"ok\",\"photo\":{\"id\":5,\"dates\":{\"posted\":\"x\","
	    "\"taken\":\"2016-00-01 00:00:00\"}}}", &t), OK);
	assert_str(t.list[0].id, "5");
	assert_false(t.list[0].date.known);
	assert_cell(&t, 0, "date_posted", "(lacks dates.posted)(null)");
	assert_cell(&t, 0, "date_taken", "(lacks dates.taken)(null)");
	arena_free(&t.arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_recognised),
		cmocka_unit_test(a_photo),
		cmocka_unit_test(other_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Totals, and what they are as JSON. */
#include "engine/harvest/totals.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct wall noon = { INT64_C(1795176000000000) };

/* Both are the same JSON. */
static void
is_kept(const struct totals *t)
{
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct totals other = { .items = 0 };

	totals_put(t, &once);
	assert_int_equal(totals_read(&other, buf_str(&once), NULL), OK);
	totals_put(&other, &twice);
	assert_string_equal(buf_text(&once), buf_text(&twice));
	assert_int_equal(other.items, t->items);
	totals_free(&other);
	buf_free(&once);
	buf_free(&twice);
}

static void
they_add_up(void **state)
{
	struct wall next = { noon.us + INT64_C(86400) * US_PER_S };
	struct totals t = { .items = 0 };

	(void)state;
	is_kept(&t);
	totals_count(&t, noon, STR("posts"), 40);
	totals_count(&t, noon, STR("posts"), 2);
	totals_count(&t, next, STR("posts"), 1);
	totals_count(&t, noon, STR("other"), 1);
	assert_int_equal(t.items, 44);
	assert_int_equal(t.counts_n, 3);
	assert_true(str_eq(t.counts[0].day, STR("2026-11-20")));
	assert_int_equal(t.counts[0].n, 42);
	totals_state(&t, STR("a"), STR("9"));
	totals_state(&t, STR("b \"x\""), STR("1"));
	totals_state(&t, STR("a"), STR("10000000000000000000000"));
	totals_state(&t, STR("a"), STR("11"));
	assert_int_equal(t.state.n, 2);
	assert_true(str_eq(t.state.list[0].value, STR("11")));
	totals_seed(&t, STR("s1"), STR("5"), STR_NONE);
	totals_seed(&t, STR("s1"), STR("5"), STR("name"));
	totals_seed(&t, STR(""), STR("6"), STR("nobody"));
	assert_int_equal(t.uids.n, 1);
	assert_int_equal(t.tokens.n, 1);
	t.urls = 3;
	t.deleted = 4;
	is_kept(&t);
	totals_free(&t);
}

static void
notes_are_bounded(void **state)
{
	struct totals t = { .items = 0 };
	struct buf text = BUF_INIT;

	(void)state;
	for (int i = 0; i < 1001; i++)
		buf_put_text(&text, "\303\244");
	for (unsigned i = 0; i < HARVEST_NOTES_MAX + 7; i++)
		totals_note(&t, TOTALS_WARNING, STR("uid_not_found"),
		    buf_str(&text), STR("s"));
	totals_note(&t, TOTALS_ERROR, STR("unknown_error"), STR("x"),
	    STR_NONE);
	assert_int_equal(t.notes_n, HARVEST_NOTES_MAX + 1);
	assert_int_equal(t.dropped, 7);
	assert_int_equal(t.notes[0].text.n, 2 * HARVEST_TEXT_MAX);
	is_kept(&t);
	totals_free(&t);
	buf_free(&text);
}

static void
assert_urls(const struct totals *t, const char *json)
{
	FREED(buf_free) struct buf b = BUF_INIT;

	totals_put_urls(t, &b);
	assert_string_equal(buf_text(&b), json);
}

static void
urls_are_kept_once(void **state)
{
	struct totals_found found = { .n = 0 };
	struct totals t = { .found = &found }, none = { .items = 0 };
	FREED(buf_free) struct buf long_one = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < 4097; i++)
		buf_put_char(&long_one, 'a');
	totals_url(&t, STR("http://a/\"1\""));
	totals_url(&t, STR("http://b/"));
	totals_url(&t, STR("http://b/"));
	totals_url(&t, buf_str(&long_one));
	assert_int_equal(t.urls, 4);
	assert_int_equal(found.bytes, 12 + 9);
	assert_urls(&t, "[\"http://a/\\\"1\\\"\",\"http://b/\"]");
	/* They are with their file, and no part of what is kept. */
	struct totals back = { .found = &found };
	FREED(buf_free) struct buf json = BUF_INIT;
	totals_put(&t, &json);
	totals_clear_urls(&t);
	assert_int_equal(totals_read(&back, buf_str(&json), NULL), OK);
	assert_int_equal(back.urls, 4);
	assert_urls(&back, "[]");
	totals_url(&back, STR("http://b/"));
	assert_urls(&back, "[\"http://b/\"]");
	totals_url(&none, STR("http://b/"));
	assert_int_equal(none.urls, 1);
	assert_urls(&none, "[]");
	totals_free(&t);
	totals_free(&back);
}

static void
damage_is_refused(void **state)
{
	static const char *const texts[] = { "", "[]", "{\"state\":[\"a\"]}",
		"{\"state\":[1,2]}", "{\"notes\":[{\"level\":\"x\"}]}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct totals t = { .items = 0 };
		assert_int_equal(totals_read(&t, str_of(texts[i]), NULL),
		    ERR_CORRUPT);
		totals_free(&t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_add_up),
		cmocka_unit_test(notes_are_bounded),
		cmocka_unit_test(urls_are_kept_once),
		cmocka_unit_test(damage_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "engine/parser/suite_test.h"

#include "engine/parser/link.h"

static struct url
page_of(const char *text, struct arena *a)
{
	struct url u;

	assert_int_equal(url_parse(str_of(text), NULL, a, &u, NULL), OK);
	return u;
}

static void
test_once(void **state)
{
	struct arena a = ARENA_INIT;
	struct url page = page_of("http://h/p?q#f", &a);
	struct link_set s;

	(void)state;
	link_set_init(&s, &page, 100, &a);
	for (int turn = 0; turn < 2; turn++) {
		assert_true(link_add(&s, STR("a"), LINK_PAGE, true));
		assert_true(link_add(&s, STR("/a#x"), LINK_PAGE, true));
		assert_true(link_add(&s, STR("http://h/a"), LINK_EMBED,
		    false));
		assert_true(link_add(&s, STR("?"), LINK_PAGE, false));
	}
	assert_int_equal(s.n, 3);
	assert_str(s.at[0].url.href, "http://h/a");
	assert_true(s.at[0].nofollow);
	assert_str(s.at[2].url.href, "http://h/p?");
	/* Followed once is followed. */
	assert_true(link_add(&s, STR("a"), LINK_PAGE, false));
	assert_false(s.at[0].nofollow);
	arena_free(&a);
}

/* Links that are written alike are one, unless a base came between. */
static void
test_written_again(void **state)
{
	struct arena a = ARENA_INIT;
	struct url page = page_of("http://h/p/", &a);
	struct link_set s;

	(void)state;
	link_set_init(&s, &page, 3, &a);
	for (int i = 0; i < 3; i++) {
		link_add(&s, STR(" a#1 "), LINK_PAGE, true);
		link_add(&s, STR("a"), LINK_PAGE, true);
		link_add(&s, STR("a#2"), LINK_EMBED, false);
		link_add(&s, STR("http://[/"), LINK_PAGE, false);
	}
	assert_int_equal(s.n, 2);
	assert_int_equal(s.bad, 3);
	assert_true(s.at[0].nofollow);
	link_set_base(&s, STR("/base/"));
	assert_true(link_add(&s, STR("a"), LINK_PAGE, false));
	assert_int_equal(s.n, 3);
	assert_str(s.at[2].url.href, "http://h/base/a");
	assert_true(s.at[0].nofollow);
	/* In a full set, too. */
	assert_true(link_add(&s, STR("a#3"), LINK_PAGE, false));
	assert_false(link_add(&s, STR("b"), LINK_PAGE, false));
	assert_false(link_add(&s, STR("b"), LINK_PAGE, false));
	arena_free(&a);
}

static void
test_not_added(void **state)
{
	struct arena a = ARENA_INIT;
	struct url page = page_of("http://h/p", &a);
	struct link_set s;

	(void)state;
	link_set_init(&s, &page, 100, &a);
	link_add(&s, STR("MailTo:x"), LINK_PAGE, false);
	link_add(&s, STR("data:,x"), LINK_EMBED, false);
	link_add(&s, STR(" java\tscript:x"), LINK_PAGE, false);
	assert_int_equal(s.schemes_dropped, 3);
	link_add(&s, STR("http://"), LINK_PAGE, false);
	link_add(&s, STR("https://a b/"), LINK_PAGE, false);
	assert_int_equal(s.bad, 2);
	link_add(&s, STR("#f"), LINK_PAGE, false);
	link_add(&s, STR(" "), LINK_PAGE, false);
	assert_int_equal(s.n, 0);
	/* "1:x" has no scheme, "http:x" is relative to an http page. */
	link_add(&s, STR("1:x"), LINK_PAGE, false);
	link_add(&s, STR("http:y"), LINK_PAGE, false);
	assert_int_equal(s.n, 2);
	assert_str(s.at[0].url.href, "http://h/1:x");
	assert_str(s.at[1].url.href, "http://h/y");
	link_set_init(&s, NULL, 100, &a);
	link_add(&s, STR("x"), LINK_PAGE, false);
	link_add(&s, STR("http://h/"), LINK_PAGE, false);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.bad, 1);
	arena_free(&a);
}

static void
test_limits(void **state)
{
	struct arena a = ARENA_INIT;
	struct url page = page_of("http://h/", &a);
	struct link_set s;
	char text[32];

	(void)state;
	link_set_init(&s, &page, 1000, &a);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_true(link_add(&s, str_of(text), LINK_PAGE, false));
	}
	assert_false(s.full);
	/* One that is there already does no harm; a new one is refused. */
	assert_true(link_add(&s, STR("999"), LINK_PAGE, false));
	assert_false(link_add(&s, STR("1000"), LINK_PAGE, false));
	assert_true(s.full);
	assert_int_equal(s.n, 1000);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "http://h/%d", i);
		assert_str(s.at[i].url.href, text);
	}
	char *long_url = arena_bytes(&a, URL_BYTES_MAX + 1);
	memset(long_url, 'x', URL_BYTES_MAX + 1);
	link_set_init(&s, &page, 10, &a);
	link_add(&s, (struct str){ long_url, URL_BYTES_MAX }, LINK_PAGE,
	    false);
	link_add(&s, (struct str){ long_url, URL_BYTES_MAX + 1 }, LINK_PAGE,
	    false);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.bad, 1);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_written_again),
		cmocka_unit_test(test_not_added),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * A jar that is written as lines and loaded again sends the same cookies.
 */
#include "engine/fetcher/cookie.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NOW_S INT64_C(1800000000)

static struct arena a = ARENA_INIT;
static struct wall now = { NOW_S * US_PER_S };

static struct url
url_of(const char *text)
{
	struct url u;

	assert_int_equal(url_parse(str_of(text), NULL, &a, &u, NULL), OK);
	return u;
}

static void
set(struct cookie_jar *jar, const char *from, const char *value)
{
	struct url u = url_of(from);

	if (!cookie_store(jar, &u, str_of(value), now))
		fail_msg("%s: %s is refused", from, value);
}

static struct cookie_jar *
loaded(struct cookie_jar *from, struct wall when)
{
	FREED(buf_free) struct buf b = BUF_INIT;
	struct cookie_jar *jar = cookie_jar_new();
	struct why w = WHY_INIT;

	cookie_put_lines(from, when, &b);
	if (cookie_load(jar, buf_str(&b), when, &w) != OK)
		fail_msg("%s in\n%.*s", w.text, STR_FMT(buf_str(&b)));
	return jar;
}

static void
a_jar_survives_its_lines(void **state)
{
	static const char *const asked[] = {
		"http://shop.example/", "https://shop.example/",
		"https://www.shop.example/cart/x", "http://127.0.0.1:8080/",
		"http://[::1]/", "http://localhost/a", "http://other.example/",
	};
	struct cookie_jar *jar = cookie_jar_new(), *again;

	(void)state;
	set(jar, "https://shop.example/", "id=1; Domain=shop.example");
	set(jar, "https://shop.example/", "own=2");
	set(jar, "https://shop.example/", "safe=3; Secure");
	set(jar, "https://shop.example/", "__Host-t=4; Secure; Path=/");
	set(jar, "https://www.shop.example/cart/a", "cart=5; Max-Age=60");
	set(jar, "http://127.0.0.1:8080/", "ip=6");
	set(jar, "http://[::1]/", "six=7");
	set(jar, "http://localhost/a", "name=");
	set(jar, "http://localhost/a", "tab=a b");
	again = loaded(jar, now);
	assert_int_equal(cookie_count(again), cookie_count(jar));
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		struct url u = url_of(asked[i]);
		struct str before = cookie_header(jar, &u, now, &a);
		struct str after = cookie_header(again, &u, now, &a);
		if (!str_eq(before, after))
			fail_msg("%s: \"%.*s\" and \"%.*s\"", asked[i],
			    STR_FMT(before), STR_FMT(after));
	}
	/* Its end is kept, too. */
	struct url cart = url_of("https://www.shop.example/cart/x");
	struct wall later = { now.us + 61 * US_PER_S };
	assert_int_equal(str_find(cookie_header(again, &cart, later, &a),
	    STR("cart=5")), cookie_header(again, &cart, later, &a).n);
	cookie_jar_free(&jar);
	cookie_jar_free(&again);
}

static void
what_has_ended_is_left_out(void **state)
{
	struct cookie_jar *jar = cookie_jar_new(), *again;
	struct wall later = { now.us + 61 * US_PER_S };

	(void)state;
	set(jar, "http://a.example/", "short=1; Max-Age=60");
	set(jar, "http://a.example/", "session=2");
	again = loaded(jar, later);
	assert_int_equal(cookie_count(again), 1);
	cookie_jar_free(&jar);
	cookie_jar_free(&again);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_jar_survives_its_lines),
		cmocka_unit_test(what_has_ended_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "engine/tasks/session_jar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/fetcher/cookie.h"
#include "os/clock.h"

static struct arena a = ARENA_INIT;

static void
set(struct cookie_jar *jar, const char *value)
{
	struct url u;

	assert_int_equal(url_parse(STR("http://shop.example/"), NULL, &a, &u,
	    NULL), OK);
	assert_true(cookie_store(jar, &u, str_of(value), clock_wall()));
}

static bool
sends(struct cookie_jar *jar, const char *cookies)
{
	struct url u;

	assert_int_equal(url_parse(STR("http://shop.example/"), NULL, &a, &u,
	    NULL), OK);
	struct str got = cookie_header(jar, &u, clock_wall(), &a);
	return str_eq(got, str_of(cookies)) ||
	    (got.n == 0 && cookies[0] == '\0');
}

/* Two calls at once: both changes are taken over, in the order of answers. */
static void
changes_of_calls_are_taken_over(void **state)
{
	FREED(buf_free) struct buf before = BUF_INIT;
	struct cookie_jar *jar = session_jar_new(STR(""));

	(void)state;
	set(jar, "id=1");
	set(jar, "basket=a");
	session_jar_put(jar, &before);
	struct cookie_jar *one = session_jar_new(buf_str(&before));
	struct cookie_jar *two = session_jar_new(buf_str(&before));
	struct cookie_jar *none = session_jar_new(buf_str(&before));
	assert_true(sends(one, "id=1; basket=a"));
	set(one, "id=2");
	set(two, "seen=yes");
	set(two, "basket=; Max-Age=0");
	assert_true(session_jar_take(jar, buf_str(&before), one));
	assert_true(sends(jar, "id=2; basket=a"));
	assert_true(session_jar_take(jar, buf_str(&before), two));
	assert_true(sends(jar, "id=2; seen=yes"));
	assert_false(session_jar_take(jar, buf_str(&before), none));
	session_jar_free(&one);
	session_jar_free(&two);
	session_jar_free(&none);
	session_jar_free(&jar);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_of_calls_are_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

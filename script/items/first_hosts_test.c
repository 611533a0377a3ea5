/* Which host the run of a pair asks first, learned from others of its task. */
#include "script/items/first_hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TASK 7u

static bool
learn_host(struct first_hosts *f, const char *id, const char *data,
    const char *host)
{
	return first_hosts_learn(f, TASK, &(struct first_fetch){ str_of(id),
	    str_of(data), str_of(host) });
}

static void
assert_guess(const struct first_hosts *f, const char *id, const char *data,
    const char *host)
{
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str guess = first_hosts_guess(f, TASK, str_of(id),
	    str_of(data), &a);

	assert_true(str_eq(guess, str_of(host)));
}

static void
by_the_id(void **state)
{
	struct first_hosts *f = first_hosts_new();

	(void)state;
	for (unsigned i = 1; i < FIRST_HOSTS_SURE; i++) {
		learn_host(f, "http://a.example/1", "{}", "a.example");
		assert_guess(f, "http://a.example/2", "{}", "");
	}
	learn_host(f, "http://b.example:8080/1", "{}", "b.example");
	assert_guess(f, "https://c.example/?q", "{}", "c.example");
	assert_guess(f, "part 17", "{}", "");
	assert_guess(f, "http://", "{}", "");
	first_hosts_free(&f);
	assert_null(f);
}

static void
by_a_member(void **state)
{
	struct first_hosts *f = first_hosts_new();
	const char *data = "{\"n\":1,\"shop\":\"http://shop.example/\","
	    "\"api\":\"http://api.example/1\"}";

	(void)state;
	for (unsigned i = 0; i < FIRST_HOSTS_SURE; i++)
		assert_true(learn_host(f, "1", data, "api.example"));
	assert_guess(f, "2", data, "api.example");
	assert_guess(f, "2", "{\"api\":\"http://z.example/\"}", "z.example");
	assert_guess(f, "2", "{\"api\":12}", "");
	assert_guess(f, "2", "{\"shop\":\"http://shop.example/\"}", "");
	assert_guess(f, "2", "[]", "");
	assert_guess(f, "2", "{", "");
	first_hosts_free(&f);
}

static void
by_the_task(void **state)
{
	struct first_hosts *f = first_hosts_new();

	(void)state;
	for (unsigned i = 0; i < FIRST_HOSTS_SURE; i++)
		learn_host(f, "1", "{}", "a.example");
	assert_guess(f, "9", "{\"n\":2}", "a.example");
	first_hosts_free(&f);
}

/* One run that does otherwise is enough. */
static void
a_wrong_guess_is_noticed(void **state)
{
	struct first_hosts *f = first_hosts_new();

	(void)state;
	for (unsigned i = 0; i < 9; i++)
		assert_true(learn_host(f, "http://a.example/", "{}",
		    "a.example"));
	assert_false(learn_host(f, "http://a.example/", "{}", "b.example"));
	assert_guess(f, "http://a.example/", "{}", "");
	assert_true(learn_host(f, "http://a.example/", "{}", "b.example"));
	first_hosts_free(&f);
}

/* Hosts that nothing says in advance are not guessed. */
static void
changing_hosts_are_not_guessed(void **state)
{
	struct first_hosts *f = first_hosts_new();

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		assert_true(learn_host(f, "1", "{}", i % 2 > 0 ? "a.example" :
		    "b.example"));
		assert_guess(f, "1", "{}", "");
	}
	first_hosts_free(&f);
}

static void
long_data_is_not_read(void **state)
{
	struct first_hosts *f = first_hosts_new();
	FREED(buf_free) struct buf b = BUF_INIT;

	(void)state;
	for (unsigned i = 0; i < FIRST_HOSTS_SURE; i++)
		learn_host(f, "1", "{\"u\":\"http://a.example/\"}",
		    "a.example");
	buf_put_text(&b, "{\"u\":\"http://b.example/\",\"n\":\"");
	while (b.n < FIRST_HOSTS_DATA_BYTES_MAX - 2)
		buf_put_char(&b, 'x');
	buf_put_text(&b, "\"}");
	buf_put_char(&b, '\0');
	assert_guess(f, "1", b.p, "b.example");
	b.n -= 3;
	buf_put_text(&b, "x\"}");
	buf_put_char(&b, '\0');
	assert_guess(f, "1", b.p, "");
	first_hosts_free(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_the_id),
		cmocka_unit_test(by_a_member),
		cmocka_unit_test(by_the_task),
		cmocka_unit_test(a_wrong_guess_is_noticed),
		cmocka_unit_test(changing_hosts_are_not_guessed),
		cmocka_unit_test(long_data_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rate limits, as platforms tell them. */
#include "engine/harvest/budget.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct wall now = { INT64_C(1795176000000000) };
#define KEY STR("mastodon rest 1")

static unsigned counted;

static void
count(void *arg)
{
	(void)arg;
	counted++;
}

static struct wall
after(int64_t s)
{
	return (struct wall){ now.us + s * US_PER_S };
}

/* "Name: value" lines as a head. */
static struct http_head
head_of(const char *lines, struct arena *a)
{
	struct http_head h;

	assert_int_equal(http_parse_head(arena_printf(a, "HTTP/1.1 200 OK\r\n"
	    "%s\r\n", lines), false, HTTP_LIMITS_DEFAULT, a, &h, NULL), OK);
	return h;
}

static void
calls_wait_for_the_reset(void **state)
{
	static const char *const forms[] = {
		"X-RateLimit-Remaining: 2\r\n"
		    "X-RateLimit-Reset: 2026-11-20T12:01:00.000000Z\r\n",
		"x-rate-limit-remaining: 2\r\nx-rate-limit-reset: 1795176060"
		    "\r\n",
		"RateLimit-Remaining: 2\r\nRateLimit-Reset: 60\r\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct arena a = ARENA_INIT;
		struct budgets *b = budgets_new(count, NULL);
		struct http_head h = head_of(forms[i], &a);
		/* Nothing is known: any number may leave. */
		for (int n = 0; n < 3; n++)
			assert_int_equal(budget_take(b, KEY, now), 0);
		budget_learn(b, KEY, &h, now);
		/* Two are left, and two are out. */
		assert_in_range(budget_take(b, KEY, now), 59000, 60001);
		assert_int_equal(budget_take(b, STR("other"), now), 0);
		budget_learn(b, KEY, NULL, now);
		assert_int_equal(budget_take(b, KEY, now), 0);
		assert_in_range(budget_take(b, KEY, after(30)), 29000, 30001);
		assert_int_equal(budget_take(b, KEY, after(60)), 0);
		budgets_free(&b);
		arena_free(&a);
	}
}

static void
late_heads_give_nothing_back(void **state)
{
	struct arena a = ARENA_INIT;
	struct budgets *b = budgets_new(count, NULL);
	struct http_head one = head_of("X-RateLimit-Remaining: 1\r\n"
	    "X-RateLimit-Reset: 1795176060\r\n", &a);
	struct http_head none = head_of("X-RateLimit-Remaining: 0\r\n"
	    "X-RateLimit-Reset: 1795176060\r\n", &a);

	(void)state;
	assert_int_equal(budget_take(b, KEY, now), 0);
	assert_int_equal(budget_take(b, KEY, now), 0);
	budget_learn(b, KEY, &none, now);
	budget_learn(b, KEY, &one, now);
	assert_true(budget_take(b, KEY, now) > 0);
	budgets_free(&b);
	arena_free(&a);
}

static int64_t
retry(const char *lines, unsigned tries)
{
	struct arena a = ARENA_INIT;
	struct http_head h = head_of(lines, &a);
	int64_t ms = budget_retry_ms(&h, tries, now);

	arena_free(&a);
	return ms;
}

static void
status_429_waits(void **state)
{
	(void)state;
	assert_int_equal(retry("Retry-After: 30\r\n", 1), 40000);
	assert_int_equal(retry("Retry-After: Fri, 20 Nov 2026 12:00:30 GMT"
	    "\r\n", 1), 40000);
	assert_int_equal(retry("X-RateLimit-Reset: 2026-11-20T12:00:05Z\r\n",
	    1), 15000);
	/* Past or absurd. */
	assert_int_equal(retry("X-RateLimit-Reset: 1000000000\r\n", 1), 10000);
	assert_int_equal(retry("Retry-After: 99999999\r\n", 1), 901000);
	assert_int_equal(retry("Retry-After: 9223372036854775807\r\n", 1),
	    60000);
	assert_int_equal(retry("Retry-After: soon\r\n", 1), 60000);
	assert_int_equal(retry("", 2), 120000);
	assert_int_equal(retry("", 5), 900000);
	assert_int_equal(retry("", 4000000000), 900000);
}

#define SHARED STR("mastodon rest *")

static void
rates_are_counted(void **state)
{
	static const struct connector_rate rates[] = { { 3, 60, true },
		{ 5, 3600, false }, { 0, 0, false } };
	struct budgets *b = budgets_new(count, NULL);

	(void)state;
	counted = 0;
	for (int i = 0; i < 3; i++)
		assert_int_equal(budget_take_units(b, KEY, SHARED, rates, 0,
		    after(i)), 0);
	assert_int_equal(counted, 3);
	/* The minute is of all credentials, and nothing is taken. */
	assert_in_range(budget_take_units(b, STR("b"), SHARED, rates, 1,
	    after(3)), 57000, 57001);
	assert_int_equal(budget_take_units(b, STR("b"), STR("other"), rates, 1,
	    after(3)), 0);
	assert_int_equal(budget_take_units(b, KEY, SHARED, rates, 2,
	    after(61)), 0);
	assert_in_range(budget_take_units(b, KEY, SHARED, rates, 1,
	    after(62)), 901000, 3538001);
	assert_int_equal(budget_take_units(b, KEY, SHARED, rates, 1,
	    after(3600)), 0);
	/* One call may cost more than there is: it leaves alone. */
	assert_int_equal(budget_take_units(b, STR("c"), STR("d"), rates, 9,
	    now), 0);
	budgets_free(&b);
}

static void
counts_are_kept(void **state)
{
	static const struct connector_rate rates[] = { { 2, 0, false },
		{ 0, 0, false } };
	struct budgets *b = budgets_new(count, NULL);
	struct arena a = ARENA_INIT;
	struct store_budget *list;

	(void)state;
	assert_int_equal(budgets_changes(b, &a, &list), 0);
	assert_int_equal(budget_take_units(b, KEY, SHARED, rates, 2, now), 0);
	assert_int_equal(budgets_changes(b, &a, &list), 1);
	assert_int_equal(list[0].used, 2);
	/* Midnight in Los Angeles is 8:00 UTC. */
	assert_int_equal(list[0].ends.us / US_PER_S % 86400, 8 * 3600);
	budgets_free(&b);
	b = budgets_new(count, NULL);
	budgets_put(b, list, 1);
	assert_int_equal(budgets_changes(b, &a, &list), 0);
	assert_true(budget_take_units(b, KEY, SHARED, rates, 1, now) > 0);
	assert_int_equal(budget_take_units(b, KEY, SHARED, rates, 1,
	    after(86400)), 0);
	/* A clock that was set back by days leaves no period in the future. */
	assert_int_equal(budget_take_units(b, KEY, SHARED, rates, 2,
	    after(-86400)), 0);
	budgets_free(&b);
	arena_free(&a);
}

static void
they_are_looked_at(void **state)
{
	static const struct connector_rate rates[] = { { 10, 60, false },
		{ 100, 3600, true }, { 0, 0, false } };
	struct budgets *b = budgets_new(count, NULL);
	struct budget_view *list;
	struct arena a = ARENA_INIT;
	struct http_head h = head_of("X-RateLimit-Limit: 300\r\n"
	    "X-RateLimit-Remaining: 2\r\nX-RateLimit-Reset: 60\r\n", &a);

	(void)state;
	assert_int_equal(budget_take(b, KEY, now), 0);
	/* No response has reported this budget's limit yet. */
	assert_int_equal(budgets_look(b, "mastodon", STR("1"), now, &a,
	    &list), 0);
	budget_learn(b, KEY, &h, now);
	budget_learn(b, STR("mastodon rest 2"), &h, now);
	budget_learn(b, STR("mastodonrest rest 1"), &h, now);
	assert_int_equal(budget_take_units(b, STR("mastodon media 1"),
	    STR("mastodon media *"), rates, 3, now), 0);
	assert_int_equal(budget_take(b, KEY, now), 0);
	assert_int_equal(budgets_look(b, "mastodon", STR("1"), now, &a,
	    &list), 3);
	assert_true(str_eq(list[0].family, STR("media")));
	assert_int_equal(list[0].units, 10);
	assert_int_equal(list[0].left, 7);
	assert_true(list[0].until.us == after(60).us);
	assert_int_equal(list[1].units, 100);
	assert_int_equal(list[1].left, 97);
	assert_true(str_eq(list[2].family, STR("rest")));
	assert_int_equal(list[2].units, 300);
	/* One of two is out. */
	assert_int_equal(list[2].left, 1);
	assert_true(list[2].until.us == after(60).us);
	/* Periods that are over are left out. */
	assert_int_equal(budgets_look(b, "mastodon", STR("1"), after(61), &a,
	    &list), 1);
	assert_int_equal(list[0].units, 100);
	budgets_free(&b);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_wait_for_the_reset),
		cmocka_unit_test(late_heads_give_nothing_back),
		cmocka_unit_test(status_429_waits),
		cmocka_unit_test(rates_are_counted),
		cmocka_unit_test(counts_are_kept),
		cmocka_unit_test(they_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

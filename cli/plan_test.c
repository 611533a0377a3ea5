#include "cli/plan.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "cli/verbs.h"

static struct why w;

/* The policy of `argiope crawl WORDS`, or NULL with `w` set. */
static struct policy *
plan(const char *words)
{
	static const char *const nothing[] = { NULL };
	char text[400];
	const char *argv[20];
	int argc = 0;
	struct policy *p = NULL;
	const struct str *seeds;
	size_t n;
	struct cli c;

	snprintf(text, sizeof(text), "%s", words);
	for (char *at = text; *at != '\0'; argc++) {
		argv[argc] = at;
		at += strcspn(at, " ");
		if (*at != '\0')
			*at++ = '\0';
	}
	w = WHY_INIT;
	if (cli_open(&c, &crawl_verb, argc, argv, nothing, &w) != OK)
		return NULL;
	enum err e = plan_seeds(&c, &seeds, &n, &w);
	if (e == OK)
		e = plan_policy(&c, seeds, n, &p, &w);
	assert_int_equal(e == OK, p != NULL);
	cli_close(&c);
	return p;
}

static void
test_defaults(void **state)
{
	struct policy *p = plan("http://example.org/");

	(void)state;
	assert_non_null(p);
	assert_true(p->limits.max_depth == POLICY_NONE);
	assert_true(p->limits.max_items == POLICY_NONE);
	assert_true(p->embeds);
	assert_false(p->sitemaps);
	assert_false(p->allow_private);
	assert_int_equal(p->robots, POLICY_OBEY);
	assert_int_equal(p->downloads, 64);
	assert_true(p->rate_limit == 1);
	assert_true(str_eq(p->url_rules[0].pattern, STR(POLICY_RULE_HOST)));
	policy_free(&p);
}

static double
delay_of(const char *words)
{
	struct policy *p = plan(words);

	assert_non_null(p);
	double s = p->rate_limit;
	policy_free(&p);
	return s;
}

/* 0 only when every seed is a loopback address. */
static void
test_delay(void **state)
{
	(void)state;
	assert_true(delay_of("http://127.0.0.1:8000/") == 0);
	assert_true(delay_of("localhost:8000") == 0);
	assert_true(delay_of("http://[::1]/ http://a.localhost/") == 0);
	assert_true(delay_of("http://127.9.9.9/ not%url") == 0);
	assert_true(delay_of("http://127.0.0.1/ http://example.org/") == 1);
	assert_true(delay_of("http://127.0.0.1.example.org/") == 1);
	assert_true(delay_of("http://10.0.0.1/") == 1);
	assert_true(delay_of("u --delay 0") == 0);
	assert_true(delay_of("u --delay 250ms") == 0.25);
	assert_true(delay_of("u --delay 2") == 2);
	assert_true(fabs(delay_of("u --rate 20") - 0.05) < 1e-9);
	assert_true(delay_of("u --rate 20 --delay 1") == 1);
	assert_true(delay_of("u --rate 0.5 --delay 1") == 2);
	assert_true(delay_of("127.0.0.1 --rate 4") == 0.25);
}

static void
test_fields(void **state)
{
	struct policy *p = plan("u --depth 2 --max-pages 10 --max-time 2min "
	    "--concurrency 3 --user-agent me/1 --no-robots --no-embeds "
	    "--sitemaps --allow-private --proxy socks5h://127.0.0.1:1080");

	(void)state;
	assert_non_null(p);
	assert_int_equal(p->limits.max_depth, 2);
	assert_int_equal(p->limits.max_items, 10);
	assert_true(p->limits.max_duration == 120);
	assert_int_equal(p->downloads, 3);
	assert_true(str_eq(p->user_agent, STR("me/1")));
	assert_int_equal(p->robots, POLICY_IGNORE);
	assert_false(p->embeds);
	assert_true(p->sitemaps);
	assert_true(p->allow_private);
	assert_true(str_eq(p->proxy, STR("socks5h://127.0.0.1:1080")));
	policy_free(&p);
	/* An "@" behind the host is no user. */
	p = plan("http://example.org/@me http://e.org?a=b@c --depth any");
	assert_true(p->limits.max_depth == POLICY_NONE);
	policy_free(&p);
}

static void
test_rules_and_headers(void **state)
{
	struct policy *p = plan("u --scope domain --include ^a --include ^b "
	    "--exclude ^c --header X-A:1 --header X-B:2");

	(void)state;
	assert_non_null(p);
	assert_true(str_eq(p->url_rules[0].pattern, STR("^c")));
	assert_int_equal(p->url_rules_n, 5);
	assert_true(str_eq(p->url_rules[3].pattern, STR(POLICY_RULE_DOMAIN)));
	assert_int_equal(p->headers_n, 2);
	assert_true(str_eq(p->headers[0].name, STR("X-A")));
	assert_true(str_eq(p->headers[1].value, STR("2")));
	policy_free(&p);
}

static void
test_mistakes(void **state)
{
	static const struct {
		const char *words, *says;
	} cases[] = {
		{ "u --depth -1", "--depth -1: " },
		{ "u --depth 1.5", "--depth 1.5: " },
		{ "u --max-pages 0", "--max-pages 0: " },
		{ "u --max-time soon", "--max-time soon: must be a time" },
		{ "u --max-time 0", "--max-time 0: " },
		{ "u --delay -1", "--delay -1: must be a time" },
		{ "u --rate 0", "--rate 0: must be a number above 0" },
		{ "u --rate fast", "--rate fast: " },
		{ "u --concurrency 0", "--concurrency 0: " },
		{ "u --scope all", "--scope all" },
		{ "u --include (", "--include (: " },
		{ "u --exclude [", "--exclude [: " },
		{ "u --header nothing", "--header nothing: must be" },
		{ "u --header :x", "--header :x: must be" },
		{ "u --header cookie:x", "--cookie-file" },
		{ "u --header authorization:x", "--auth-file" },
		{ "u --header Host:x", "--header: " },
		{ "u --proxy ftp://x/", "--proxy ftp://x/: " },
		{ "u --proxy http://a:b@c/", "--proxy-file" },
		{ "u --policy /nowhere/p.json", "/nowhere/p.json" },
		{ "u --seeds /nowhere/s", "/nowhere/s" },
		{ "v http://me:secret@example.org/", "seed 2 holds" },
		{ "me:secret@example.org", "seed 1 holds" },
		{ "http://me@example.org", "seed 1 holds" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy *p = plan(cases[i].words);
		if (p != NULL || strstr(w.text, cases[i].says) == NULL)
			fail_msg("%s: \"%s\"", cases[i].words, w.text);
	}
}

static void
test_seconds(void **state)
{
	double s;

	(void)state;
	assert_true(plan_seconds(STR("90"), &s) && s == 90);
	assert_true(plan_seconds(STR("1.5s"), &s) && s == 1.5);
	assert_true(plan_seconds(STR("2 min"), &s) && s == 120);
	assert_true(plan_seconds(STR("2m"), &s) && s == 120);
	assert_true(plan_seconds(STR("1d"), &s) && s == 86400);
	assert_true(plan_seconds(STR("10ms"), &s) && s == 0.01);
	assert_false(plan_seconds(STR(""), &s));
	assert_false(plan_seconds(STR("s"), &s));
	assert_false(plan_seconds(STR("-1"), &s));
	assert_false(plan_seconds(STR("1 year"), &s));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_rules_and_headers),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

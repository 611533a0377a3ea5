/* Parameters as seeds and policies of a crawl. */
#include "engine/harvest/web_documents_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SEEDS "\"seeds\":[\"http://a.example/d/p\"]"

static struct arena arena;

static int
teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

static struct web_documents_plan
read_plan(const char *params)
{
	struct web_documents_plan p;
	struct why w = WHY_INIT;

	if (web_documents_plan_read(str_of(params), &arena, &p, &w) != OK)
		fail_msg("%s", w.text);
	return p;
}

/* The policy over a base; to be freed. */
static struct policy *
policy_of_plan(const char *params, const char *base)
{
	struct web_documents_plan plan = read_plan(params);
	FREED(buf_free) struct buf json = BUF_INIT;
	struct policy *p = NULL;
	struct why w = WHY_INIT;

	if (web_documents_plan_policy(&plan, str_of(base), &json, &w) != OK ||
	    policy_parse(buf_str(&json), &p, &w) != OK)
		fail_msg("%s", w.text);
	return p;
}

/* Whether a link of the seed is taken. */
static bool
takes(const char *params, const char *link)
{
	FREED(policy_free) struct policy *p = policy_of_plan(params, "{}");
	struct policy_compiled *c = NULL;
	struct policy_verdict v;
	struct url seed, u;

	assert_int_equal(url_parse(STR("http://a.example/d/p"), NULL, &arena,
	    &seed, NULL), OK);
	assert_int_equal(url_parse(str_of(link), NULL, &arena, &u, NULL), OK);
	assert_int_equal(policy_compile(p, &seed, 1, &c, NULL), OK);
	policy_judge_url(c, &u, 1, 1, false, &v);
	policy_compiled_free(&c);
	return v.take;
}

static void
seeds_are_those_of_the_parameters(void **state)
{
	struct web_documents_plan p = read_plan("{\"seeds\":"
	    "[\"http://a.example/\",\"b.example\"]}");

	(void)state;
	assert_int_equal(p.seeds_n, 2);
	assert_true(str_eq(p.seeds[0].url, STR("http://a.example/")));
	assert_true(str_eq(p.seeds[1].url, STR("b.example")));
	assert_true(p.seeds[0].rate_limit < 0);
}

static void
the_scope_decides_which_links_are_followed(void **state)
{
	static const struct {
		const char *params;
		bool folder, host, domain, other;
	} rows[] = {
		{ "{" SEEDS "}", true, true, false, false },
		{ "{" SEEDS ",\"scope\":\"host\"}", true, true, false,
		    false },
		{ "{" SEEDS ",\"scope\":\"prefix\"}", true, false, false,
		    false },
		{ "{" SEEDS ",\"scope\":\"domain\"}", true, true, true,
		    false },
		{ "{" SEEDS ",\"scope\":\"page\",\"depth\":3}", false, false,
		    false, false },
		{ "{" SEEDS ",\"depth\":0}", false, false, false, false },
		{ "{" SEEDS ",\"include\":[\"^http://b[.]\"],\"exclude\":"
		    "[\"/d/\"]}", false, true, false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *params = rows[i].params;
		assert_int_equal(takes(params, "http://a.example/d/q"),
		    rows[i].folder);
		assert_int_equal(takes(params, "http://a.example/q"),
		    rows[i].host);
		assert_int_equal(takes(params, "http://x.a.example/q"),
		    rows[i].domain);
		assert_int_equal(takes(params, "http://b.example/q"),
		    rows[i].other);
	}
}

static void
limits_are_set_and_the_rest_is_the_base(void **state)
{
	FREED(policy_free) struct policy *p = policy_of_plan("{" SEEDS
	    ",\"depth\":2,\"pages_max\":7}", "{\"rate_limit\":3,\"limits\":"
	    "{\"max_items\":9},\"embeds\":true,\"allow_private\":true}");
	FREED(policy_free) struct policy *q = policy_of_plan("{" SEEDS "}",
	    "{\"limits\":{\"max_items\":9,\"max_depth\":5}}");

	(void)state;
	assert_int_equal(p->limits.max_depth, 2);
	assert_int_equal(p->limits.max_items, 7);
	assert_true(p->rate_limit == 3);
	assert_false(p->embeds || p->sitemaps || p->allow_private);
	assert_int_equal(q->limits.max_depth, 5);
	assert_int_equal(q->limits.max_items, 9);
}

static void
what_is_wrong_is_named(void **state)
{
	static const struct { const char *params, *field; } rows[] = {
		{ "x", "params" }, { "[]", "params" }, { "{}", "params" },
		{ "{\"seeds\":\"http://a.example/\"}", "params.seeds" },
		{ "{\"seeds\":[1]}", "params.seeds[0]" },
		{ "{\"seeds\":[\"http://[\"]}", "params" },
		{ "{" SEEDS ",\"scope\":\"moon\"}", "params.scope" },
		{ "{" SEEDS ",\"depth\":-1}", "params.depth" },
		{ "{" SEEDS ",\"pages_max\":\"1\"}", "params.pages_max" },
		{ "{" SEEDS ",\"include\":[\"a\",\"(\"]}",
		    "params.include[1]" },
		{ "{" SEEDS ",\"exclude\":[\"(\"]}", "params.exclude[0]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct web_documents_plan p;
		struct why w = WHY_INIT;
		assert_int_equal(web_documents_plan_read(str_of(
		    rows[i].params), &arena, &p, &w), ERR_INPUT);
		assert_string_equal(w.field, rows[i].field);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_are_those_of_the_parameters),
		cmocka_unit_test(the_scope_decides_which_links_are_followed),
		cmocka_unit_test(limits_are_set_and_the_rest_is_the_base),
		cmocka_unit_test(what_is_wrong_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}

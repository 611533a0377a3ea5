/*
 * Fuzz policies: the first line is a URL, the rest the JSON.  What parses must
 * print to what parses to the same; judging must end; the tables must say what
 * PCRE2 says.
 */
#include "engine/policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void
judge_both(const struct policy *p, struct str text)
{
	struct arena a = ARENA_INIT;
	struct why w = WHY_INIT;
	struct url u, seed;
	struct policy_compiled *fast, *plain;
	struct policy_verdict x, y;

	CHECK(url_parse(STR("http://www.a.co.uk/d/x"), NULL, &a, &seed, &w) ==
	    OK);
	if (url_parse(text, NULL, &a, &u, &w) == OK &&
	    policy_compile(p, &seed, 1, &fast, &w) == OK) {
		CHECK(policy_compile_plain(p, &seed, 1, &plain, &w) == OK);
		policy_judge_url(fast, &u, 1, 1, false, &x);
		policy_judge_url(plain, &u, 1, 1, false, &y);
		CHECK(x.take == y.take && x.reason == y.reason &&
		    x.rule == y.rule);
		policy_judge_url(fast, &u, 1, 1, true, &x);
		policy_judge_mime(fast, text, &x);
		policy_compiled_free(&fast);
		policy_compiled_free(&plain);
	}
	arena_free(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str rest = { (const char *)data, n }, url;
	struct buf one = BUF_INIT, two = BUF_INIT;
	struct policy *p, *q;
	struct why w = WHY_INIT;

	if (n == 0 || !str_split(&rest, '\n', &url))
		return 0;
	if (policy_parse(rest, &p, &w) != OK) {
		CHECK(p == NULL && w.text[0] != '\0');
		return 0;
	}
	q = policy_copy(p);              /* prints and parses */
	policy_to_json(p, &one);
	policy_to_json(q, &two);
	CHECK(str_eq(buf_str(&one), buf_str(&two)));
	buf_free(&one);
	buf_free(&two);
	for (int scope = -1; scope <= SCOPE_PREFIX; scope++) {
		if (scope >= 0)
			policy_set_scope(q, (enum policy_scope)scope);
		judge_both(q, url);
	}
	policy_free(&p);
	policy_free(&q);
	return 0;
}

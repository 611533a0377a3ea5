#include "engine/policy/suite_test.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "engine/policy/policy.h"
#include "tests/rounds.h"

static struct url
url_of(const char *text, struct arena *a)
{
	struct url u;
	struct why w = WHY_INIT;

	if (url_parse(str_of(text), NULL, a, &u, &w) != OK)
		fail_msg("%s: %s", text, w.text);
	return u;
}

static struct policy_compiled *
compiled(const struct policy *p, const char *seed)
{
	struct arena a = ARENA_INIT;
	struct url u = url_of(seed, &a);
	struct policy_compiled *c;
	struct why w = WHY_INIT;

	if (policy_compile(p, &u, 1, &c, &w) != OK)
		fail_msg("%s", w.text);
	arena_free(&a);
	return c;
}

static struct policy_compiled *
compiled_json(const char *json, const char *seed)
{
	struct policy *p;
	struct why w = WHY_INIT;

	if (policy_parse(str_of(json), &p, &w) != OK)
		fail_msg("%s: %s", json, w.text);
	struct policy_compiled *c = compiled(p, seed);
	policy_free(&p);
	return c;
}

static enum skip_reason
reason_of(const struct policy_compiled *c, const char *url, unsigned depth)
{
	struct arena a = ARENA_INIT;
	struct url u = url_of(url, &a);
	struct policy_verdict v;

	policy_judge_url(c, &u, 1, depth, false, &v);
	arena_free(&a);
	assert_int_equal(v.take, v.reason == SKIP_NONE);
	assert_non_null(v.text);
	return v.reason;
}

static void
default_policy(void **state)
{
	struct policy_compiled *c = compiled_json("{}",
	    "http://user:pw@Example.org:8080/a/b?c");
	static const struct {
		const char *url;
		enum skip_reason want;
	} cases[] = {
		{ "http://example.org/", SKIP_NONE },
		{ "https://example.org:9090/x.gif?y", SKIP_NONE },
		{ "http://www.example.org/", SKIP_SCOPE },
		{ "http://example.org.evil.net/", SKIP_SCOPE },
		{ "http://examplexorg/", SKIP_SCOPE },
		{ "http://evil.net/http://example.org/", SKIP_SCOPE },
		{ "http://example.org@evil.net/", SKIP_SCOPE },
		{ "ftp://example.org/", SKIP_URL },
		{ "mailto:a@example.org", SKIP_URL },
		{ "data:text/html,x", SKIP_URL },
		{ "javascript:alert(1)", SKIP_URL },
		{ "http://example.org:22/", SKIP_URL },
		{ "http://127.0.0.1/", SKIP_SCOPE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (reason_of(c, cases[i].url, 1) != cases[i].want)
			fail_msg("%s", cases[i].url);
	assert_int_equal(reason_of(c, "http://example.org/", 3), SKIP_NONE);
	assert_int_equal(reason_of(c, "http://example.org/", 4), SKIP_DEPTH);
	assert_int_equal(reason_of(c, "http://example.org/", UINT32_MAX),
	    SKIP_DEPTH);
	policy_compiled_free(&c);
	assert_null(c);
}

static struct policy_verdict
judge(const struct policy_compiled *c, const char *url, double parent,
    unsigned depth, bool embed)
{
	struct arena a = ARENA_INIT;
	struct url u = url_of(url, &a);
	struct policy_verdict v;

	policy_judge_url(c, &u, parent, depth, embed, &v);
	arena_free(&a);
	return v;
}

static void
costs(void **state)
{
	struct policy_compiled *c = compiled_json("{\"url_rules\":["
	    "{\"pattern\":\"/twice\",\"action\":\"multiply\",\"amount\":2},"
	    "{\"pattern\":\"/free\",\"action\":\"add\",\"amount\":0},"
	    "{\"pattern\":\"/never\",\"action\":\"multiply\",\"amount\":0},"
	    "{\"action\":\"add\",\"amount\":1.5}],"
	    "\"limits\":{\"max_cost\":4,\"max_depth\":null}}", "http://a.org/");
	struct policy_verdict v;

	(void)state;
	v = judge(c, "http://b.org/twice", 2, 1, false);
	assert_true(v.take && v.cost == 4 && v.rule == 0);
	v = judge(c, "http://b.org/twice", 2.0001, 1, false);
	assert_true(!v.take && v.reason == SKIP_COST && v.rule == 0);
	v = judge(c, "http://b.org/free", 1, UINT32_MAX, false);
	assert_true(v.take && v.cost == 1 && v.rule == 1);
	v = judge(c, "http://b.org/never", 1, 1, false);
	assert_true(!v.take && v.reason == SKIP_SCOPE && v.rule == 2);
	v = judge(c, "http://b.org/x", 2.5, 1, false);
	assert_true(v.take && v.cost == 4 && v.rule == 3);
	/* The first match decides. */
	v = judge(c, "http://b.org/never/twice", 1, 1, false);
	assert_int_equal(v.rule, 0);
	/* Nonsense from a caller does not become a URL that is taken. */
	v = judge(c, "http://b.org/x", (double)NAN, 1, false);
	assert_true(!v.take && v.reason == SKIP_SCOPE);
	v = judge(c, "http://b.org/twice", DBL_MAX, 1, false);
	assert_true(!v.take && v.reason == SKIP_COST);
	policy_compiled_free(&c);
}

static void
embeds(void **state)
{
	struct policy_compiled *off = compiled_json("{}", "http://a.org/");
	struct policy_compiled *on = compiled_json("{\"embeds\":true,"
	    "\"url_rules\":[{\"pattern\":\"/ads/\",\"action\":\"multiply\","
	    "\"amount\":0},{\"pattern\":\"^http://a\\\\.org/\",\"action\":"
	    "\"add\",\"amount\":1},{\"action\":\"multiply\",\"amount\":0}]}",
	    "http://a.org/");
	struct policy_verdict v;

	(void)state;
	assert_int_equal(judge(off, "http://a.org/x.png", 1, 0, true).reason,
	    SKIP_SCOPE);
	v = judge(on, "http://a.org/x.png", 1, 3, true);
	assert_true(v.take && !v.embed && v.cost == 2);
	v = judge(on, "http://cdn.net/x.png", 7, 3, true);
	assert_true(v.take && v.embed && v.cost == 7 && v.rule == 2);
	/* A link is no embed; an excluded embed is excluded. */
	v = judge(on, "http://cdn.net/x.png", 7, 1, false);
	assert_true(!v.take && v.reason == SKIP_SCOPE);
	v = judge(on, "http://cdn.net/ads/x.png", 7, 1, true);
	assert_true(!v.take && !v.embed && v.reason == SKIP_SCOPE);
	v = judge(on, "http://cdn.net/x.png", 7, 4, true);
	assert_true(!v.take && !v.embed && v.reason == SKIP_DEPTH);
	v = judge(on, "http://127.0.0.1/x.png", 7, 1, true);
	assert_true(!v.take && !v.embed && v.reason == SKIP_BLOCKED);
	policy_compiled_free(&off);
	policy_compiled_free(&on);
}

static void
private_addresses(void **state)
{
	static const char *const seeds[] = { "http://127.0.0.1:8000/",
		"http://[::1]/", "http://localhost/", "http://10.0.0.1/" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
		struct policy_compiled *c = compiled_json("{}", seeds[i]);
		assert_int_equal(reason_of(c, seeds[i], 1), SKIP_BLOCKED);
		policy_compiled_free(&c);
		c = compiled_json("{\"allow_private\":true}", seeds[i]);
		assert_int_equal(reason_of(c, seeds[i], 1), SKIP_NONE);
		policy_compiled_free(&c);
	}
}

static void
mime_rules(void **state)
{
	struct policy_compiled *c = compiled_json("{\"mime_rules\":["
	    "{\"pattern\":\"^text/html$\",\"keep\":true},"
	    "{\"pattern\":\"^(text|image)/\",\"keep\":false},"
	    "{\"pattern\":\"octet\",\"keep\":false},"
	    "{\"keep\":true}]}", "http://a.org/");
	static const struct {
		const char *type;
		bool take;
		int rule;
	} cases[] = {
		{ "text/html", true, 0 },
		{ "TEXT/HTML; charset=utf-8", true, 0 },
		{ " text/html ;x", true, 0 }, { "text/plain", false, 1 },
		{ "image/png", false, 1 }, { "", false, 2 }, { ";", false, 2 },
		{ "application/octet-stream", false, 2 },
		{ "application/pdf", true, 3 },
		{ "application/x; text/html", true, 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy_verdict v;
		policy_judge_mime(c, str_of(cases[i].type), &v);
		if (v.take != cases[i].take || v.rule != cases[i].rule ||
		    v.reason != (v.take ? SKIP_NONE : SKIP_MIME))
			fail_msg("\"%s\": rule %d", cases[i].type, v.rule);
		assert_non_null(v.text);
	}
	policy_compiled_free(&c);
}

static void
normalised(void **state)
{
	struct policy_compiled *c = compiled_json("{}", "http://a.org/");
	struct arena a = ARENA_INIT;
	struct url u = url_of("http://u:p@a.org/x;jsessionid=1?SID=2&b=3#f",
	    &a);
	struct url out;
	struct why w = WHY_INIT;

	(void)state;
	assert_int_equal(policy_canonical(c, &u, &a, &out, &w), OK);
	assert_true(str_eq(out.href, STR("http://a.org/x?b=3")));
	arena_free(&a);
	policy_compiled_free(&c);
}

static void
traps_apply(void **state)
{
	struct policy_compiled *c = compiled_json("{}", "http://a.org/");

	(void)state;
	assert_int_equal(reason_of(c, "http://a.org/a/a/a/", 1), SKIP_NONE);
	assert_int_equal(reason_of(c, "http://a.org/a/a/a/a/", 1), SKIP_URL);
	policy_compiled_free(&c);
	c = compiled_json("{\"traps\":{\"repeats_max\":null}}",
	    "http://a.org/");
	assert_int_equal(reason_of(c, "http://a.org/a/a/a/a/", 1), SKIP_NONE);
	policy_compiled_free(&c);
}

static void
explained(void **state)
{
	struct policy *p = policy_new();
	struct why w = WHY_INIT;
	struct arena a = ARENA_INIT;
	struct policy_explanation x;
	struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(policy_add_exclude(p, STR("\\.zip$"), &w), OK);
	struct policy_compiled *c = compiled(p, "http://a.org/");
	struct url u = url_of("http://a.org/x.html", &a);
	policy_explain(c, &u, 1, 1, false, &a, &x);
	assert_int_equal(x.rules_n, 3);
	assert_int_equal(x.matches[0], POLICY_NO_MATCH);
	assert_int_equal(x.matches[1], POLICY_MATCH);
	assert_int_equal(x.matches[2], POLICY_MATCH);
	assert_int_equal(x.verdict.rule, 1);
	policy_explanation_print(&x, &out);
	assert_string_equal(buf_text(&out),
	    "URL rule 1  multiply 0  no match  \\.zip$\n"
	    "URL rule 2  add 1  match, decides  "
	    "^https?://{SEED_DOMAINS}(:\\d+)?/\n"
	    "URL rule 3  multiply 0  match  (everything)\n"
	    "taken at cost 2: URL rule 2 takes it\n");
	buf_clear(&out);
	u = url_of("http://a.org/x.zip", &a);
	policy_explain(c, &u, 1, 1, false, &a, &x);
	policy_explanation_print(&x, &out);
	assert_non_null(strstr(buf_text(&out),
	    "skipped (scope): URL rule 1 leaves it out\n"));
	buf_free(&out);
	arena_free(&a);
	policy_compiled_free(&c);
	policy_free(&p);
}

/* Patterns that backtrack without end must give up, and soon. */
static void
hostile_patterns(void **state)
{
	/* None needs a byte that PCRE2 could look for beforehand. */
	static const char *const patterns[] = { "^.*/(a+)+$", "(a+)+[bc]",
		"(a|aa)+$", "(.*)*[xy]", "((a*)*)*[bc]", "(?:(a|b|ab)*)*[cd]",
		"^(?:.*?a){50}[bc]", "(a?){40}a{400}[bc]", "((?1)?a)+[bc]",
		"(*LIMIT_MATCH=4000000000)(a+)+[bc]", "(\\w+)+\\1[bc]",
		"(?=(a+))\\1+[bc]", "(*NO_JIT)(a+)+[bc]",
		"(*NO_JIT)(?:a|(?:a)*)*[bc]" };
	struct arena a = ARENA_INIT;
	struct buf text = BUF_INIT;
	double worst = 0;
	unsigned gave_up = 0;

	(void)state;
	buf_put_text(&text, "http://a.org/");
	for (int i = 0; i < 2000; i++)
		buf_put_char(&text, 'a');
	buf_put_char(&text, '!');
	struct url u = url_of(buf_text(&text), &a);
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		struct policy *p = policy_new();
		struct why w = WHY_INIT;
		struct policy_verdict v;
		if (policy_add_exclude(p, str_of(patterns[i]), &w) != OK)
			fail_msg("%s: %s", patterns[i], w.text);
		struct policy_compiled *c = compiled(p, "http://a.org/");
		double before = test_now_ns();
		policy_judge_url(c, &u, 1, 1, false, &v);
		double ms = (test_now_ns() - before) / 1e6;
		worst = MAX(worst, ms);
		if (!v.take) {
			assert_int_equal(v.reason, SKIP_URL);
			assert_string_equal(v.text,
			    "the pattern of URL rule 1 takes too long");
			gave_up++;
		}
		policy_compiled_free(&c);
		policy_free(&p);
	}
	print_message("policy: %zu hostile patterns on 2,000 bytes, %u gave up,"
	    " worst %.1f ms\n", ARRAY_LEN(patterns), gave_up, worst);
	assert_true(gave_up >= 5);
	assert_true(worst < 1000);
	buf_free(&text);
	arena_free(&a);
}

/* Patterns that PCRE2 could be hurt with are refused at the door. */
static void
refused_patterns(void **state)
{
	static const char *const patterns[] = { "(*UTF)a", "(*UCP)a", "\\C",
		"((((a{1,1000}){1,1000}){1,1000}){1,1000})", "a{65536}",
		"(?<=a*)b", "\\" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		struct policy *p = policy_new();
		struct why w = WHY_INIT;
		if (policy_add_include(p, str_of(patterns[i]), &w) == OK)
			fail_msg("%s is taken", patterns[i]);
		assert_true(str_starts(str_of(w.text), STR("pattern: ")));
		policy_free(&p);
	}
}

/* Patterns that are large one by one are bounded together. */
static void
regex_bytes_limit(void **state)
{
	struct policy *p = policy_new();
	struct why w = WHY_INIT;
	struct policy_compiled *c = NULL;
	enum err e = OK;
	size_t n = 0;

	(void)state;
	for (; e == OK && n < POLICY_RULES_MAX - 2; n++) {
		assert_int_equal(policy_add_exclude(p,
		    STR("((((a){1,9}){1,9}){1,9}){1,4}"), &w), OK);
		if (n < 310)
			continue;
		policy_compiled_free(&c);
		e = policy_compile(p, NULL, 0, &c, &w);
	}
	print_message("policy: %zu large patterns are too many\n", n);
	assert_int_equal(e, ERR_FULL);
	assert_null(c);
	assert_non_null(strstr(w.text, "need more than 16 MiB"));
	assert_true(n > 311 && n < 400);
	policy_free(&p);
}

static void
random_label(struct buf *b, uint64_t *r)
{
	static const char *const labels[] = { "a", "b", "www", "x-y", "co" };

	buf_put_text(b, labels[test_random(r) % ARRAY_LEN(labels)]);
}

static void
random_url(struct buf *b, uint64_t *r)
{
	static const char *const tops[] = { ".org", ".uk", ".co.uk", ".org.",
		".com" };
	static const char *const hosts[] = { "127.0.0.1", "[::1]", "8.8.8.8",
		"[2606::1]", "localhost" };
	static const char *const users[] = { "u@", "u:p@", "a.org@",
		"a.org:80@", ":p@" };

	buf_clear(b);
	buf_put_text(b, test_random(r) % 2 ? "http://" : "https://");
	if (test_random(r) % 10 == 0)
		buf_put_text(b, users[test_random(r) % 5]);
	if (test_random(r) % 10 == 0) {
		buf_put_text(b, hosts[test_random(r) % 5]);
	} else {
		for (uint64_t n = test_random(r) % 3; n > 0; n--) {
			random_label(b, r);
			buf_put_char(b, '.');
		}
		random_label(b, r);
		buf_put_text(b, tops[test_random(r) % 5]);
	}
	if (test_random(r) % 4 == 0)
		buf_put_text(b, test_random(r) % 2 ? ":8080" : ":80");
	for (uint64_t n = test_random(r) % 4; n > 0; n--) {
		buf_put_char(b, '/');
		random_label(b, r);
	}
	if (test_random(r) % 2)
		buf_put_char(b, '/');
	if (test_random(r) % 4 == 0)
		buf_put_text(b, "?q=http://a.org/");
}

/* The tables must say what PCRE2 says, for every scope and any URL. */
static void
fast_equals_plain(void **state)
{
	uint64_t r = 7;
	unsigned taken = 0, asked = 0;
	struct buf b = BUF_INIT;

	(void)state;
	for (unsigned round = 0; round < ROUNDS(60); round++) {
		struct arena a = ARENA_INIT;
		struct url seeds[8];
		size_t seeds_n = round % 9;
		struct policy *p = policy_new();
		struct policy_compiled *fast, *plain;
		struct why w = WHY_INIT;
		p->allow_private = round % 2;
		policy_set_scope(p, (enum policy_scope)(round % 3));
		for (size_t i = 0; i < seeds_n; i++) {
			random_url(&b, &r);
			seeds[i] = url_of(buf_text(&b), &a);
		}
		assert_int_equal(policy_compile(p, seeds, seeds_n, &fast, &w),
		    OK);
		assert_int_equal(policy_compile_plain(p, seeds, seeds_n, &plain,
		    &w), OK);
		for (unsigned i = 0; i < 1000; i++) {
			struct policy_verdict x, y;
			random_url(&b, &r);
			struct url u = url_of(buf_text(&b), &a);
			policy_judge_url(fast, &u, 1, 1, false, &x);
			policy_judge_url(plain, &u, 1, 1, false, &y);
			if (x.take != y.take || x.reason != y.reason ||
			    x.rule != y.rule || x.cost != y.cost ||
			    strcmp(x.text, y.text) != 0)
				fail_msg("scope %u: %s: rule %d, not %d",
				    round % 3, buf_text(&b), x.rule, y.rule);
			taken += x.take;
			asked++;
		}
		policy_compiled_free(&fast);
		policy_compiled_free(&plain);
		policy_free(&p);
		arena_free(&a);
	}
	print_message("policy: tables and PCRE2 agree on %u random URLs, "
	    "%u taken\n", asked, taken);
	assert_true(taken > asked / 50 && taken < asked);
	buf_free(&b);
}

static void
scopes(void **state)
{
	static const struct {
		enum policy_scope scope;
		const char *seed, *url;
		bool take;
	} cases[] = {
		{ SCOPE_DOMAIN, "http://www.a.co.uk", "http://a.co.uk", true },
		{ SCOPE_DOMAIN, "http://a.co.uk/x", "https://b.c.a.co.uk:1234/",
		    true },
		{ SCOPE_DOMAIN, "http://a.co.uk/x", "http://b.co.uk/", false },
		{ SCOPE_DOMAIN, "http://www.a.co.uk/x", "http://aa.co.uk/",
		    false },
		{ SCOPE_DOMAIN, "http://a.org./", "http://b.a.org./", true },
		{ SCOPE_DOMAIN, "http://a.org./", "http://a.org/", false },
		{ SCOPE_DOMAIN, "http://8.8.8.8/", "http://8.8.8.8/x", true },
		{ SCOPE_DOMAIN, "http://8.8.8.8/", "http://9.8.8.8/x", false },
		{ SCOPE_PREFIX, "http://a.org/docs/index.html",
		    "http://a.org/docs/x", true },
		{ SCOPE_PREFIX, "http://a.org/docs/index.html",
		    "https://a.org/docs/x/y?z", true },
		{ SCOPE_PREFIX, "http://a.org/docs/index.html",
		    "http://a.org/docs", false },
		{ SCOPE_PREFIX, "http://a.org/docs/index.html",
		    "http://a.org:81/docs/x", false },
		{ SCOPE_PREFIX, "http://a.org/d?x/y", "http://a.org/z", true },
		{ SCOPE_PREFIX, "http://a.org", "http://a.org.uk/", false },
		{ SCOPE_ANY, "http://a.org", "http://b.net/", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy *p = policy_new();
		policy_set_scope(p, cases[i].scope);
		struct policy_compiled *c = compiled(p, cases[i].seed);
		bool take = reason_of(c, cases[i].url, 1) == SKIP_NONE;
		if (take != cases[i].take)
			fail_msg("%s and %s", cases[i].seed, cases[i].url);
		policy_compiled_free(&c);
		policy_free(&p);
	}
}

/* 10,000 seeds: the tables do not mind, PCRE2 says that it is too much. */
static void
many_seeds(void **state)
{
	enum { SEEDS = 10000 };
	struct arena a = ARENA_INIT;
	struct url *seeds = mem_array(SEEDS, sizeof(*seeds));
	struct policy *p = policy_new();
	struct policy_compiled *c;
	struct why w = WHY_INIT;

	(void)state;
	for (size_t i = 0; i < SEEDS; i++) {
		struct str s = arena_printf(&a, "http://host%zu.example/d%zu/x",
		    i, i % 7);
		seeds[i] = url_of(s.p, &a);
	}
	for (int scope = SCOPE_HOST; scope <= SCOPE_PREFIX; scope++) {
		policy_set_scope(p, (enum policy_scope)scope);
		assert_int_equal(policy_compile(p, seeds, SEEDS, &c, &w), OK);
		assert_int_equal(reason_of(c, "http://host9999.example/d3/y",
		    1), SKIP_NONE);
		assert_int_equal(reason_of(c, "http://host10000.example/d3/y",
		    1), SKIP_SCOPE);
		policy_compiled_free(&c);
	}
	policy_set_scope(p, SCOPE_HOST);
	assert_int_equal(policy_add_exclude(p, STR("{SEED_DOMAINS}/x"), &w),
	    OK);
	assert_int_equal(policy_compile(p, seeds, SEEDS, &c, &w), ERR_FULL);
	assert_null(c);
	assert_true(str_starts(str_of(w.text), STR("url_rules[0].pattern: ")));
	policy_free(&p);
	free(seeds);
	arena_free(&a);
}

static void *
judge_often(void *arg)
{
	const struct policy_compiled *c = arg;
	struct arena a = ARENA_INIT;
	struct url in = url_of("http://a.org/x", &a);
	struct url out = url_of("http://a.org/x.zip", &a);
	uintptr_t right = 0;

	for (int i = 0; i < 2000; i++) {
		struct policy_verdict v;
		policy_judge_url(c, &in, 1, 1, false, &v);
		right += v.take;
		policy_judge_url(c, &out, 1, 1, false, &v);
		right += !v.take;
	}
	arena_free(&a);
	return (void *)right;
}

static void
threads_share(void **state)
{
	struct policy *p = policy_new();
	struct why w = WHY_INIT;
	pthread_t threads[3];
	void *right;

	(void)state;
	assert_int_equal(policy_add_exclude(p, STR("\\.zip$"), &w), OK);
	struct policy_compiled *c = compiled(p, "http://a.org/");
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, judge_often,
		    c), 0);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		pthread_join(threads[i], &right);
		assert_int_equal((uintptr_t)right, 4000);
	}
	policy_compiled_free(&c);
	policy_free(&p);
}

static void
measure(const char *what, const struct policy_compiled *c, const char *url)
{
	enum { TIMES = ROUNDS(200000) };
	struct arena a = ARENA_INIT;
	struct url u = url_of(url, &a);
	struct policy_verdict v = { 0 };
	unsigned taken = 0;

	double before = test_now_ns();
	for (int i = 0; i < TIMES; i++) {
		policy_judge_url(c, &u, 1, 1, false, &v);
		taken += v.take;
	}
	print_message("policy: %s: %.0f ns per judge (%s)\n", what,
	    (test_now_ns() - before) / TIMES, skip_name(v.reason));
	assert_true(taken == 0 || taken == TIMES);
	arena_free(&a);
}

static void
speed(void **state)
{
	static const char in[] =
	    "https://example.org/articles/2026/11/one.html";
	static const char out[] =
	    "https://www.elsewhere.net/articles/one.html";
	struct policy *p = policy_new();
	struct policy_compiled *c = compiled(p, "http://example.org/");
	struct policy_compiled *plain;
	struct arena a = ARENA_INIT;
	struct url seed = url_of("http://example.org/", &a);
	struct why w = WHY_INIT;

	(void)state;
	measure("scope host, inside", c, in);
	measure("scope host, outside", c, out);
	policy_compiled_free(&c);
	assert_int_equal(policy_compile_plain(p, &seed, 1, &plain, &w), OK);
	measure("the same in PCRE2, inside", plain, in);
	measure("the same in PCRE2, outside", plain, out);
	policy_compiled_free(&plain);
	policy_set_scope(p, SCOPE_DOMAIN);
	c = compiled(p, "http://example.org/");
	measure("scope domain, inside", c, in);
	measure("scope domain, outside", c, out);
	policy_compiled_free(&c);
	policy_set_scope(p, SCOPE_PREFIX);
	c = compiled(p, "http://example.org/");
	measure("scope prefix, inside", c, in);
	policy_compiled_free(&c);
	policy_set_scope(p, SCOPE_HOST);
	assert_int_equal(policy_add_exclude(p, STR("\\.(zip|exe|iso)$"), &w),
	    OK);
	c = compiled(p, "http://example.org/");
	measure("scope host and one exclusion", c, in);
	policy_compiled_free(&c);
	policy_free(&p);
	arena_free(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(default_policy),
		cmocka_unit_test(costs),
		cmocka_unit_test(embeds),
		cmocka_unit_test(private_addresses),
		cmocka_unit_test(mime_rules),
		cmocka_unit_test(normalised),
		cmocka_unit_test(traps_apply),
		cmocka_unit_test(explained),
		cmocka_unit_test(hostile_patterns),
		cmocka_unit_test(refused_patterns),
		cmocka_unit_test(regex_bytes_limit),
		cmocka_unit_test(fast_equals_plain),
		cmocka_unit_test(scopes),
		cmocka_unit_test(many_seeds),
		cmocka_unit_test(threads_share),
		cmocka_unit_test(speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

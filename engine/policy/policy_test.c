#include "engine/policy/suite_test.h"

#include <math.h>

#include "engine/policy/policy.h"

/* docs/protocols/realtime.md section 8, to the byte. */
/* One has the JSON of the other. */
static bool
policy_equal(const struct policy *a, const struct policy *b)
{
	struct buf x = BUF_INIT, y = BUF_INIT;

	policy_to_json(a, &x);
	policy_to_json(b, &y);
	bool equal = str_eq(buf_str(&x), buf_str(&y));
	buf_free(&x);
	buf_free(&y);
	return equal;
}

static const char contract_default[] =
    "{\"url_rules\":[{\"pattern\":\"^https?://{SEED_DOMAINS}(:\\\\d+)?/\","
    "\"action\":\"add\",\"amount\":1},{\"action\":\"multiply\",\"amount\":0}],"
    "\"limits\":{\"max_cost\":null,\"max_depth\":3,\"max_items\":null,"
    "\"max_duration\":null,\"max_body_bytes\":10485760,\"timeout\":30},"
    "\"mime_rules\":[{\"keep\":true}],\"robots\":\"obey\","
    "\"normalize\":{\"strip\":[\"JSESSIONID\",\"PHPSESSID\",\"sid\"]},"
    "\"user_agent\":null,\"rate_limit\":5,\"headers\":{},\"downloads\":10,"
    "\"embeds\":false,\"sitemaps\":false,\"proxy\":null,\"cookies\":true}";

static void
expect_json(const struct policy *p, const char *json)
{
	struct buf out = BUF_INIT;

	policy_to_json(p, &out);
	assert_string_equal(buf_text(&out), json);
	buf_free(&out);
}

static struct policy *
parsed(const char *json)
{
	struct policy *p;
	struct why w = WHY_INIT;

	if (policy_parse(str_of(json), &p, &w) != OK)
		fail_msg("%s: %s", json, w.text);
	return p;
}

static void
expect_fault(struct str json, enum err err, const char *text)
{
	struct policy *p;
	struct why w = WHY_INIT;

	if (policy_parse(json, &p, &w) != err || strcmp(w.text, text) != 0)
		fail_msg("%.*s: \"%s\", not \"%s\"",
		    STR_FMT(str_cut(json, 0, 200)), w.text, text);
	assert_null(p);
}

static void
the_default(void **state)
{
	struct policy *p = policy_new();
	struct policy *q = parsed("{}"), *r = parsed(contract_default);

	(void)state;
	expect_json(p, contract_default);
	assert_true(policy_equal(p, q) && policy_equal(p, r));
	assert_int_equal(p->limits.max_depth, 3);
	assert_int_equal(p->limits.max_items, POLICY_NONE);
	assert_true(isinf(p->limits.max_cost));
	assert_int_equal(p->traps.path_bytes_max, 2048);
	assert_int_equal(p->traps.host_urls_max, TRAP_NONE);
	assert_false(p->allow_private);
	policy_free(&p);
	policy_free(&q);
	policy_free(&r);
	assert_null(p);
}

/* parse(print(p)) == p, and printing is canonical. */
static void
round_trips(void **state)
{
	static const char *const policies[] = {
		contract_default,
		"{\"limits\":{\"max_depth\":null,\"max_cost\":\"2.5\"}}",
		"{\"url_rules\":[{\"pattern\":\"^a\\\"\\\\x{e4}\\u00e4\","
		    "\"action\":\"multiply\",\"amount\":0.1},"
		    "{\"pattern\":\"b{2}\",\"action\":\"add\",\"amount\":1e17},"
		    "{\"action\":\"add\",\"amount\":3}]}",
		"{\"mime_rules\":[{\"pattern\":\"^text/\",\"keep\":true},"
		    "{\"keep\":false}],\"headers\":{\"X-A\":\"b\",\"From\":"
		    "\"\\u00e4\"},\"user_agent\":\"x/1\",\"proxy\":"
		    "\"socks5://h:1080\",\"normalize\":{\"strip\":[]}}",
		"{\"traps\":{\"path_bytes_max\":null,\"stale_max\":7,"
		    "\"repeats_max\":4},\"allow_private\":true,\"robots\":"
		    "\"ignore\",\"embeds\":true,\"cookies\":false}",
		"{\"rate_limit\":0.125,\"downloads\":1,\"limits\":"
		    "{\"max_duration\":0.3,\"max_items\":1}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		struct policy *p = parsed(policies[i]);
		struct buf first = BUF_INIT, second = BUF_INIT;
		policy_to_json(p, &first);
		struct policy *q = parsed(buf_text(&first));
		policy_to_json(q, &second);
		assert_string_equal(buf_text(&first), buf_text(&second));
		struct policy *copy = policy_copy(p);
		assert_true(policy_equal(p, copy));
		policy_free(&copy);
		policy_free(&p);
		policy_free(&q);
		buf_free(&first);
		buf_free(&second);
	}
}

static void
extra_fields_are_printed_when_changed(void **state)
{
	struct policy *p = parsed("{\"traps\":{\"stale_max\":9},"
	    "\"allow_private\":true}");
	struct buf out = BUF_INIT;

	(void)state;
	policy_to_json(p, &out);
	assert_true(str_ends(buf_str(&out), STR("\"cookies\":true,"
	    "\"allow_private\":true,\"traps\":{\"stale_max\":9}}")));
	buf_free(&out);
	policy_free(&p);
}

static void
numbers(void **state)
{
	struct policy *p = parsed("{\"limits\":{\"max_depth\":\"7\","
	    "\"max_time\":\"1.5\",\"max_items\":\"\",\"timeout\":\"\","
	    "\"max_body_bytes\":null},\"delay\":\"2e-1\",\"concurrency\":4,"
	    "\"embeds\":null,\"url_rules\":null,\"mime_rules\":null,"
	    "\"headers\":null,\"normalize\":null,\"robots\":\"\","
	    "\"proxy\":\"\",\"user_agent\":\"\"}");

	(void)state;
	assert_int_equal(p->limits.max_depth, 7);
	assert_true(p->limits.max_duration == 1.5);
	assert_int_equal(p->limits.max_items, POLICY_NONE);
	assert_true(p->limits.timeout == 30);
	assert_int_equal(p->limits.max_body_bytes, 10485760);
	assert_true(p->rate_limit == 0.2);
	assert_int_equal(p->downloads, 4);
	assert_int_equal(p->url_rules_n, 2);
	assert_null(p->proxy.p);
	policy_free(&p);
	/* "" is the built-in value, null is "no limit". */
	p = parsed("{\"limits\":{\"max_depth\":\"\"}}");
	assert_int_equal(p->limits.max_depth, 3);
	policy_free(&p);
	p = parsed("{\"limits\":{\"max_depth\":null}}");
	assert_int_equal(p->limits.max_depth, POLICY_NONE);
	policy_free(&p);
}

static void
faults(void **state)
{
	static const struct {
		const char *json, *text;
	} cases[] = {
		{ "[]", "policy: expected an object" },
		{ "1", "policy: expected an object" },
		{ "{\"url_rulez\":[]}", "url_rulez: unknown field" },
		{ "{\"limits\":{\"max_dept\":1}}",
		    "limits.max_dept: unknown field" },
		{ "{\"traps\":{\"x\":1}}", "traps.x: unknown field" },
		{ "{\"normalize\":{\"drop\":[]}}",
		    "normalize.drop: unknown field" },
		/* A crawl's policy sets nothing of the operator's. */
		{ "{\"hook.warc_finished\":\"x\"}",
		    "hook.warc_finished: unknown field" },
		{ "{\"hook\":{\"crawl_ended\":\"x\"}}",
		    "hook: unknown field" },
		{ "{\"limits\":{\"hook.timeout_s\":1}}",
		    "limits.hook.timeout_s: unknown field" },
		{ "{\"limits.max_depth\":1}",
		    "limits.max_depth: unknown field" },
		{ "{\"\":1}", ": unknown field" },
		{ "{\"max_depth\":1}", "max_depth: unknown field" },
		{ "{\"limits\":1}", "limits: expected an object" },
		{ "{\"limits\":{},\"limits\":{}}", "limits: stands twice" },
		{ "{\"robots\":\"obey\",\"robots\":\"obey\"}",
		    "robots: stands twice" },
		{ "{\"delay\":1,\"rate_limit\":1}",
		    "rate_limit: stands twice" },
		{ "{\"limits\":{\"max_depth\":-1}}",
		    "limits.max_depth: negative" },
		{ "{\"limits\":{\"max_depth\":\"-1\"}}",
		    "limits.max_depth: negative" },
		{ "{\"limits\":{\"max_depth\":true}}",
		    "limits.max_depth: expected a number" },
		{ "{\"limits\":{\"max_depth\":\"x\"}}",
		    "limits.max_depth: expected a number" },
		{ "{\"limits\":{\"max_depth\":\"0x1\"}}",
		    "limits.max_depth: expected a number" },
		{ "{\"limits\":{\"max_depth\":\"1e999\"}}",
		    "limits.max_depth: expected a number" },
		{ "{\"limits\":{\"max_depth\":\"nan\"}}",
		    "limits.max_depth: expected a number" },
		{ "{\"limits\":{\"max_depth\":1.5}}",
		    "limits.max_depth: not a whole number" },
		{ "{\"limits\":{\"timeout\":0}}",
		    "limits.timeout: less than 0.001" },
		{ "{\"downloads\":0}", "downloads: less than 1" },
		{ "{\"rate_limit\":[]}", "rate_limit: expected a number" },
		{ "{\"robots\":\"invert\"}",
		    "robots: must be \"obey\" or \"ignore\"" },
		{ "{\"robots\":1}", "robots: expected a string" },
		{ "{\"embeds\":1}", "embeds: expected true or false" },
		{ "{\"embeds\":\"true\"}", "embeds: expected true or false" },
		{ "{\"user_agent\":1}", "user_agent: expected a string" },
		{ "{\"user_agent\":\"a\\r\\nb\"}",
		    "user_agent: holds a control character" },
		{ "{\"proxy\":\"ftp://h\"}", "proxy: not the URL of a proxy: "
		    "http, socks4, socks4a, socks5 or socks5h" },
		{ "{\"proxy\":\"https://h\"}", "proxy: not the URL of a proxy: "
		    "http, socks4, socks4a, socks5 or socks5h" },
		{ "{\"proxy\":\"http://h:99999\"}", "proxy: not the URL of "
		    "a proxy: http, socks4, socks4a, socks5 or socks5h" },
		{ "{\"proxy\":\"http://\"}", "proxy: not the URL of a proxy: "
		    "http, socks4, socks4a, socks5 or socks5h" },
		{ "{\"proxy\":\"http://u:p@h\"}",
		    "proxy: credentials do not belong in a policy" },
		{ "{\"normalize\":{\"strip\":\"sid\"}}",
		    "normalize.strip: expected a list" },
		{ "{\"normalize\":{\"strip\":[\"a\",1]}}",
		    "normalize.strip[1]: expected a name" },
		{ "{\"normalize\":{\"strip\":[\"\"]}}",
		    "normalize.strip[0]: expected a name" },
		{ "{\"headers\":[]}", "headers: expected an object" },
		{ "{\"headers\":{\"a b\":\"c\"}}",
		    "headers.a b: not a field name" },
		{ "{\"headers\":{\"a\":1}}",
		    "headers.a: expected a string of one line" },
		{ "{\"headers\":{\"a\":\"b\\nc\"}}",
		    "headers.a: expected a string of one line" },
		{ "{\"headers\":{\"a\":\"b\",\"A\":\"c\"}}",
		    "headers.A: stands twice" },
		{ "{\"headers\":{\"authorization\":\"x\"}}",
		    "headers.authorization: cannot be set in a policy: it "
		    "would be archived with the policy" },
		{ "{\"headers\":{\"Cookie\":\"x\"}}",
		    "headers.Cookie: cannot be set in a policy: it would be "
		    "archived with the policy" },
		{ "{\"headers\":{\"x-api-key\":\"x\"}}",
		    "headers.x-api-key: cannot be set in a policy: it would "
		    "be archived with the policy" },
		{ "{\"headers\":{\"Host\":\"x\"}}",
		    "headers.Host: cannot be set in a policy: the fetcher "
		    "writes it" },
		{ "{\"url_rules\":{}}", "url_rules: expected a list" },
		{ "{\"url_rules\":[]}", "url_rules: at least one rule is "
		    "needed" },
		{ "{\"url_rules\":[1]}", "url_rules[0]: expected an object" },
		{ "{\"url_rules\":[{\"action\":\"add\"}]}",
		    "url_rules[0].amount: missing" },
		{ "{\"url_rules\":[{\"amount\":1}]}", "url_rules[0].action: "
		    "must be \"add\" or \"multiply\"" },
		{ "{\"url_rules\":[{\"action\":\"add\",\"amount\":-1}]}",
		    "url_rules[0].amount: negative" },
		{ "{\"url_rules\":[{\"action\":\"add\",\"amount\":false}]}",
		    "url_rules[0].amount: expected a number" },
		{ "{\"url_rules\":[{\"action\":\"add\",\"amount\":1,"
		    "\"match\":1}]}", "url_rules[0].match: unknown field" },
		{ "{\"url_rules\":[{\"action\":\"add\",\"action\":\"add\"}]}",
		    "url_rules[0].action: stands twice" },
		{ "{\"url_rules\":[{\"action\":\"add\",\"amount\":1},"
		    "{\"action\":\"add\",\"amount\":1}]}", "url_rules[0]."
		    "pattern: only the last rule has no pattern" },
		{ "{\"url_rules\":[{\"pattern\":\"a\",\"action\":\"add\","
		    "\"amount\":1}]}",
		    "url_rules[0].pattern: the last rule has no pattern" },
		{ "{\"url_rules\":[{\"pattern\":\"a\",\"action\":\"add\","
		    "\"amount\":1},{\"pattern\":\"(b\",\"action\":\"add\","
		    "\"amount\":1},{\"action\":\"add\",\"amount\":1}]}",
		    "url_rules[1].pattern: missing closing parenthesis "
		    "(at byte 2)" },
		{ "{\"url_rules\":[{\"pattern\":\"{SEED_SITES}(\",\"action\":"
		    "\"add\",\"amount\":1},{\"action\":\"add\",\"amount\":1}]}",
		    "url_rules[0].pattern: missing closing parenthesis" },
		{ "{\"url_rules\":[{\"pattern\":1,\"action\":\"add\","
		    "\"amount\":1},{\"action\":\"add\",\"amount\":1}]}",
		    "url_rules[0].pattern: expected a string" },
		{ "{\"mime_rules\":[]}",
		    "mime_rules: at least one rule is needed" },
		{ "{\"mime_rules\":[{}]}",
		    "mime_rules[0].keep: expected true or false" },
		{ "{\"mime_rules\":[{\"keep\":1}]}",
		    "mime_rules[0].keep: expected true or false" },
		{ "{\"mime_rules\":[{\"keep\":true,\"amount\":1}]}",
		    "mime_rules[0].amount: unknown field" },
		{ "{\"mime_rules\":[{\"pattern\":\"[\",\"keep\":true},"
		    "{\"keep\":true}]}", "mime_rules[0].pattern: missing "
		    "terminating ] for character class (at byte 1)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		expect_fault(str_of(cases[i].json), ERR_INPUT, cases[i].text);
	/* The words behind it are yyjson's. */
	struct policy *p;
	struct why w = WHY_INIT;
	assert_int_equal(policy_parse(STR("{"), &p, &w), ERR_INPUT);
	assert_true(str_starts(str_of(w.text), STR("policy: not JSON: ")));
	assert_int_equal(policy_parse(STR_NONE, &p, &w), ERR_INPUT);
	print_message("policy: %zu faults\n", ARRAY_LEN(cases));
}

/* Every number of the table at both edges, and just behind them. */
static void
number_limits(void **state)
{
	size_t edges = 0;

	(void)state;
	for (size_t i = 0; i < policy_fields_n; i++) {
		const struct policy_field *f = &policy_fields[i];
		struct policy *p = policy_new();
		struct why w = WHY_INIT;
		char text[64];
		if (f->kind != POLICY_NUMBER && f->kind != POLICY_INTEGER) {
			policy_free(&p);
			continue;
		}
		const double good[] = { f->min, f->max };
		const double bad[] = { f->kind == POLICY_INTEGER ? f->min - 1 :
		    f->min - 0.0005, f->max * 1.001 + 1 };
		for (int k = 0; k < 2; k++) {
			snprintf(text, sizeof(text), "%.17g", good[k]);
			assert_int_equal(policy_set(p, str_of(f->name),
			    str_of(text), &w), OK);
			w = WHY_INIT;
			snprintf(text, sizeof(text), "%.0f", bad[k]);
			if (f->kind == POLICY_NUMBER)
				snprintf(text, sizeof(text), "%.17g", bad[k]);
			assert_int_equal(policy_set(p, str_of(f->name),
			    str_of(text), &w), ERR_INPUT);
			assert_true(str_starts(str_of(w.text),
			    str_of(f->name)));
			w = WHY_INIT;
			edges++;
		}
		assert_int_equal(policy_set(p, str_of(f->name), STR("null"),
		    &w), f->nullable ? OK : ERR_INPUT);
		policy_free(&p);
	}
	print_message("policy: %zu edges of numbers\n", edges);
}

static void
put_rules(struct buf *b, const char *list, const char *effect, size_t n,
    size_t pattern_n)
{
	buf_printf(b, "{\"%s\":[", list);
	for (size_t i = 0; i < n; i++) {
		buf_put_text(b, i == 0 ? "{" : ",{");
		if (i + 1 < n) {
			buf_put_text(b, "\"pattern\":\"");
			for (size_t k = 0; k < pattern_n; k++)
				buf_put_char(b, 'a');
			buf_put_text(b, "\",");
		}
		buf_printf(b, "%s}", effect);
	}
	buf_put_text(b, "]}");
}

static void
expect_rules(const char *list, const char *effect, size_t n, size_t pattern_n,
    enum err want, const char *text)
{
	struct buf b = BUF_INIT;

	put_rules(&b, list, effect, n, pattern_n);
	if (want == OK) {
		struct policy *p = parsed(buf_text(&b));
		policy_free(&p);
	} else {
		expect_fault(buf_str(&b), want, text);
	}
	buf_free(&b);
}

static void
rule_limits(void **state)
{
	static const char url[] = "\"action\":\"add\",\"amount\":1";
	static const char mime[] = "\"keep\":true";

	(void)state;
	expect_rules("url_rules", url, POLICY_RULES_MAX, 3, OK, NULL);
	expect_rules("url_rules", url, POLICY_RULES_MAX + 1, 3, ERR_FULL,
	    "url_rules: more than 1000 rules");
	expect_rules("mime_rules", mime, POLICY_RULES_MAX, 3, OK, NULL);
	expect_rules("mime_rules", mime, POLICY_RULES_MAX + 1, 3, ERR_FULL,
	    "mime_rules: more than 1000 rules");
	expect_rules("url_rules", url, 2, POLICY_PATTERN_BYTES_MAX, OK, NULL);
	expect_rules("url_rules", url, 2, POLICY_PATTERN_BYTES_MAX + 1,
	    ERR_INPUT, "url_rules[0].pattern: longer than 4096 bytes");
}

/* `open`, n times `one`, `close`: taken, and with one more not. */
static void
expect_edge(const char *open, const char *one, const char *close, size_t max,
    enum err want, const char *text)
{
	for (size_t n = max; n <= max + 1; n++) {
		struct buf b = BUF_INIT;
		buf_put_text(&b, open);
		for (size_t i = 0; i < n; i++) {
			const char *mark = strchr(one, '#');
			if (mark == NULL) {
				buf_put_text(&b, one);
				continue;
			}
			buf_put(&b, one, (size_t)(mark - one));
			buf_printf(&b, "%zu%s%s", i, mark + 1,
			    i + 1 < n ? "," : "");
		}
		buf_put_text(&b, close);
		if (n == max) {
			struct policy *p = parsed(buf_text(&b));
			policy_free(&p);
		} else {
			expect_fault(buf_str(&b), want, text);
		}
		buf_free(&b);
	}
}

static void
text_limits(void **state)
{
	char name[POLICY_NAME_BYTES_MAX + 2], text[512], open[512];

	(void)state;
	expect_edge("{\"user_agent\":\"", "a", "\"}", POLICY_TEXT_BYTES_MAX,
	    ERR_INPUT, "user_agent: longer than 1024 bytes");
	expect_edge("{\"headers\":{\"a\":\"", "a", "\"}}",
	    POLICY_HEADER_BYTES_MAX, ERR_INPUT,
	    "headers.a: longer than 8192 bytes");
	expect_edge("{\"headers\":{", "\"a#\":\"b\"", "}}",
	    POLICY_HEADERS_MAX, ERR_FULL, "headers: more than 64 fields");
	expect_edge("{\"normalize\":{\"strip\":[", "\"a#\"", "]}}",
	    POLICY_STRIP_MAX, ERR_FULL, "normalize.strip: more than 256 names");
	expect_edge("{\"normalize\":{\"strip\":[\"", "a", "\"]}}",
	    POLICY_NAME_BYTES_MAX, ERR_INPUT,
	    "normalize.strip[0]: longer than 200 bytes");
	memset(name, 'a', sizeof(name));
	snprintf(text, sizeof(text), "headers.%.100s: not a field name", name);
	snprintf(open, sizeof(open), "{\"headers\":{\"");
	expect_edge(open, "a", "\":\"x\"}}", POLICY_NAME_BYTES_MAX, ERR_INPUT,
	    text);
}

static void
set_from_text(void **state)
{
	struct policy *p = policy_new();
	struct why w = WHY_INIT;

	(void)state;
#define SET(name, value) policy_set(p, STR(name), STR(value), &w)
	assert_int_equal(SET("limits.max_depth", "9"), OK);
	assert_int_equal(SET("limits.max_time", "60"), OK);
	assert_int_equal(SET("limits.max_items", "none"), OK);
	assert_int_equal(SET("delay", "0.5"), OK);
	assert_int_equal(SET("embeds", "true"), OK);
	assert_int_equal(SET("robots", "ignore"), OK);
	assert_int_equal(SET("user_agent", "x"), OK);
	assert_int_equal(SET("user_agent", "null"), OK);
	assert_int_equal(SET("traps.stale_max", "5"), OK);
	assert_int_equal(p->limits.max_depth, 9);
	assert_true(p->limits.max_duration == 60 && p->rate_limit == 0.5);
	assert_true(p->embeds && p->robots == POLICY_IGNORE);
	assert_null(p->user_agent.p);
	assert_int_equal(p->traps.stale_max, 5);
	assert_int_equal(SET("nope", "1"), ERR_ABSENT);
	assert_int_equal(SET("embeds", "yes"), ERR_INPUT);
	assert_int_equal(SET("robots", "x"), ERR_INPUT);
	assert_int_equal(SET("delay", "x"), ERR_INPUT);
	assert_int_equal(SET("delay", ""), ERR_INPUT);
	assert_int_equal(SET("headers", "x"), ERR_USAGE);
#undef SET
	policy_free(&p);
}

static void
expect_pattern(const struct policy *p, size_t i, const char *pattern)
{
	assert_true(i < p->url_rules_n);
	assert_true(str_eq(p->url_rules[i].pattern, str_of(pattern)));
}

static void
builders(void **state)
{
	struct policy *p = policy_new();
	struct why w = WHY_INIT;

	(void)state;
	policy_set_scope(p, SCOPE_DOMAIN);
	expect_pattern(p, 0, POLICY_RULE_DOMAIN);
	policy_set_scope(p, SCOPE_PREFIX);
	expect_pattern(p, 0, POLICY_RULE_PREFIX);
	policy_set_scope(p, SCOPE_ANY);
	assert_int_equal(p->url_rules_n, 1);
	policy_set_scope(p, SCOPE_HOST);
	assert_int_equal(policy_add_exclude(p, STR("x1"), &w), OK);
	assert_int_equal(policy_add_include(p, STR("i1"), &w), OK);
	assert_int_equal(policy_add_exclude(p, STR("x2"), &w), OK);
	assert_int_equal(policy_add_include(p, STR("i2"), &w), OK);
	expect_pattern(p, 0, "x2");
	expect_pattern(p, 1, "x1");
	expect_pattern(p, 2, "i2");
	expect_pattern(p, 3, "i1");
	expect_pattern(p, 4, POLICY_RULE_HOST);
	assert_null(p->url_rules[5].pattern.p);
	assert_int_equal(policy_add_exclude(p, STR("("), &w), ERR_INPUT);
	assert_int_equal(policy_add_exclude(p, STR(""), &w), ERR_INPUT);
	assert_int_equal(p->url_rules_n, 6);
	while (p->url_rules_n < POLICY_RULES_MAX)
		assert_int_equal(policy_add_exclude(p, STR("x"), &w), OK);
	w = WHY_INIT;
	assert_int_equal(policy_add_exclude(p, STR("x"), &w), ERR_FULL);
	struct policy *q = policy_copy(p);
	assert_true(policy_equal(p, q));
	policy_free(&p);
	policy_free(&q);
}

/* 63 rules with the longest pattern, and one that makes up the rest. */
static enum err
fits(size_t rest, size_t *n, struct why *w)
{
	struct buf b = BUF_INIT, json = BUF_INIT;

	buf_put_text(&b, "{\"url_rules\":[");
	for (int i = 0; i < 64; i++) {
		buf_put_text(&b, "{\"pattern\":\"");
		for (size_t k = i < 63 ? POLICY_PATTERN_BYTES_MAX : rest; k > 0;
		    k--)
			buf_put_char(&b, 'a');
		buf_put_text(&b, "\",\"action\":\"add\",\"amount\":1},");
	}
	buf_put_text(&b, "{\"action\":\"add\",\"amount\":1}]}");
	struct policy *p = parsed(buf_text(&b));
	policy_to_json(p, &json);
	*n = json.n;
	enum err e = policy_fits(p, w);
	policy_free(&p);
	buf_free(&b);
	buf_free(&json);
	return e;
}

static void
json_limit(void **state)
{
	struct why w = WHY_INIT;
	size_t n;

	(void)state;
	assert_int_equal(fits(1, &n, &w), OK);
	size_t rest = POLICY_JSON_BYTES_MAX - n + 1;
	assert_int_equal(fits(rest, &n, &w), OK);
	assert_int_equal(n, POLICY_JSON_BYTES_MAX);
	assert_int_equal(fits(rest + 1, &n, &w), ERR_FULL);
	assert_string_equal(w.text,
	    "the policy is longer than 262144 bytes as JSON");
}

static void
the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < policy_fields_n; i++) {
		const struct policy_field *f = &policy_fields[i];
		assert_true(strlen(f->help) > 10 && strlen(f->help) < 72);
		assert_true(strcmp(f->unit, "") == 0 ||
		    strcmp(f->unit, "s") == 0 || strcmp(f->unit, "bytes") == 0);
		if (f->kind == POLICY_NUMBER || f->kind == POLICY_INTEGER)
			assert_true(f->min < f->max && (isinf(f->preset) ?
			    f->nullable : f->preset >= f->min &&
			    f->preset <= f->max));
	}
	assert_int_equal(policy_fields_n, 27);
}

static void
test_sentence(void **state)
{
	struct policy *p = policy_new();
	struct buf b = BUF_INIT;

	(void)state;
	policy_to_sentence(p, &b);
	assert_string_equal(buf_text(&b), "depth at most 3, embedded resources "
	    "off, 5 s between requests to one host, robots.txt obeyed");
	buf_clear(&b);
	p->limits.max_depth = POLICY_NONE;
	p->embeds = true;
	p->rate_limit = 0;
	p->robots = POLICY_IGNORE;
	p->limits.max_items = 7;
	p->limits.max_duration = 90;
	policy_to_sentence(p, &b);
	assert_string_equal(buf_text(&b), "any depth, embedded resources on, "
	    "no delay between requests to one host, robots.txt ignored, at "
	    "most 7 pages, at most 90 s");
	buf_clear(&b);
	/* At its longest it fits where doors keep it. */
	p->limits.max_depth = p->limits.max_items = POLICY_NONE - 1;
	p->rate_limit = p->limits.max_duration = 0.000123456789;
	policy_to_sentence(p, &b);
	assert_true(b.n <= POLICY_SENTENCE_BYTES_MAX);
	buf_free(&b);
	policy_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sentence),
		cmocka_unit_test(the_default),
		cmocka_unit_test(round_trips),
		cmocka_unit_test(extra_fields_are_printed_when_changed),
		cmocka_unit_test(numbers),
		cmocka_unit_test(faults),
		cmocka_unit_test(number_limits),
		cmocka_unit_test(rule_limits),
		cmocka_unit_test(text_limits),
		cmocka_unit_test(json_limit),
		cmocka_unit_test(set_from_text),
		cmocka_unit_test(builders),
		cmocka_unit_test(the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

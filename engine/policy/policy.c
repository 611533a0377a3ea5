#include "engine/policy/policy.h"

#include <math.h>

#include "base/text.h"
#include "engine/policy/policy_field.h"

#define NONE INFINITY
#define AT(member) offsetof(struct policy, member)

/* The order is the printed one; the fields of a group stand together. */
const struct policy_field policy_fields[] = {
	{ "url_rules", NULL, POLICY_URL_RULES, false, false, 0, 0, 0, "",
	    "which URLs to take and what they cost; the first match decides",
	    AT(url_rules) },
	{ "limits.max_cost", NULL, POLICY_NUMBER, true, false, 0, 1e300, NONE,
	    "", "skip a URL that costs more", AT(limits.max_cost) },
	{ "limits.max_depth", NULL, POLICY_INTEGER, true, false, 0, 1e6, 3, "",
	    "skip a URL that is more links away from its seed",
	    AT(limits.max_depth) },
	{ "limits.max_items", NULL, POLICY_INTEGER, true, false, 1, 1e15, NONE,
	    "", "complete the crawl after this many items",
	    AT(limits.max_items) },
	{ "limits.max_duration", "limits.max_time", POLICY_NUMBER, true, false,
	    0.001, 1e9, NONE, "s", "complete the crawl after this time",
	    AT(limits.max_duration) },
	{ "limits.max_bytes", NULL, POLICY_INTEGER, true, true, 1, 1e15, NONE,
	    "bytes", "complete the crawl after this much in WARC files",
	    AT(limits.max_bytes) },
	{ "limits.max_body_bytes", NULL, POLICY_INTEGER, false, false, 1, 1e12,
	    10485760, "bytes", "cut a body behind this length",
	    AT(limits.max_body_bytes) },
	{ "limits.timeout", NULL, POLICY_NUMBER, false, false, 0.001, 86400, 30,
	    "s", "give up a fetch after this time", AT(limits.timeout) },
	{ "mime_rules", NULL, POLICY_MIME_RULES, false, false, 0, 0, 0, "",
	    "which content types to keep; the first match decides",
	    AT(mime_rules) },
	{ "robots", NULL, POLICY_CHOICE, false, false, 0, 0, POLICY_OBEY, "",
	    "obey or ignore robots.txt", AT(robots) },
	{ "normalize.strip", NULL, POLICY_STRINGS, false, false, 0, 0, 0, "",
	    "URL parameters that do not tell pages apart", AT(strip) },
	{ "user_agent", NULL, POLICY_TEXT, true, false, 0, 0, NONE, "",
	    "the User-Agent to send; null is the crawler's own",
	    AT(user_agent) },
	{ "rate_limit", "delay", POLICY_NUMBER, false, false, 0, 86400, 5, "s",
	    "pause between two fetches from one host", AT(rate_limit) },
	{ "headers", NULL, POLICY_HEADERS, false, false, 0, 0, 0, "",
	    "header fields to send with every request", AT(headers) },
	{ "downloads", "concurrency", POLICY_INTEGER, false, false, 1, 10000,
	    10, "", "fetches of this crawl at once", AT(downloads) },
	{ "embeds", NULL, POLICY_BOOL, false, false, 0, 1, false, "",
	    "fetch what a page is made of, also from other hosts",
	    AT(embeds) },
	{ "sitemaps", NULL, POLICY_BOOL, false, false, 0, 1, false, "",
	    "follow the sitemaps that robots.txt names", AT(sitemaps) },
	{ "proxy", NULL, POLICY_TEXT, true, false, 0, 0, NONE, "",
	    "URL of an HTTP or SOCKS proxy, without credentials", AT(proxy) },
	{ "cookies", NULL, POLICY_BOOL, false, false, 0, 1, true, "",
	    "keep cookies while the crawl runs", AT(cookies) },
	{ "allow_private", NULL, POLICY_BOOL, false, true, 0, 1, false, "",
	    "allow private and local addresses", AT(allow_private) },
	{ "traps.path_bytes_max", NULL, POLICY_INTEGER, true, true, 1, 1e6,
	    2048, "bytes", "skip a URL with a longer path",
	    AT(traps.path_bytes_max) },
	{ "traps.segments_max", NULL, POLICY_INTEGER, true, true, 1, 1e6, 64,
	    "", "skip a URL with more path segments", AT(traps.segments_max) },
	{ "traps.repeats_max", NULL, POLICY_INTEGER, true, true, 1, 1e6, 3, "",
	    "skip a URL whose path says the same more often in a row",
	    AT(traps.repeats_max) },
	{ "traps.params_max", NULL, POLICY_INTEGER, true, true, 0, 1e6, 64, "",
	    "skip a URL with more query parameters", AT(traps.params_max) },
	{ "traps.param_repeats_max", NULL, POLICY_INTEGER, true, true, 1, 1e6,
	    NONE, "", "skip a URL that names a query parameter more often",
	    AT(traps.param_repeats_max) },
	{ "traps.host_urls_max", NULL, POLICY_INTEGER, true, true, 1, 1e15,
	    NONE, "", "take at most this many URLs of one host",
	    AT(traps.host_urls_max) },
	{ "traps.stale_max", NULL, POLICY_INTEGER, true, true, 1, 1e9, NONE, "",
	    "leave a directory after this many captures without news",
	    AT(traps.stale_max) },
};
const size_t policy_fields_n = ARRAY_LEN(policy_fields);

static const char *const robots_words[] = { "obey", "ignore", NULL };

const char *const *
policy_field_words(const struct policy_field *f)
{
	static const char *const none[] = { NULL };

	return f->kind == POLICY_CHOICE ? robots_words : none;
}

const struct policy_field *
policy_field_find(struct str name)
{
	for (size_t i = 0; i < policy_fields_n; i++) {
		const struct policy_field *f = &policy_fields[i];
		if (str_eq(name, str_of(f->name)) ||
		    (f->alias != NULL && str_eq(name, str_of(f->alias))))
			return f;
	}
	return NULL;
}

bool
policy_number(struct str s, double *out)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]) &&
		    !str_has_char(STR(".eE+-"), s.p[i]))
			return false;
	return str_to_double(s, out);
}

static void *
place_of(struct policy *p, const struct policy_field *f)
{
	return (char *)p + f->offset;
}

enum err
policy_field_number(struct policy *p, const struct policy_field *f, double v,
    struct why *w)
{
	if (isinf(v) && v > 0 && f->nullable)
		goto store;
	if (!isfinite(v))
		return why(w, ERR_INPUT, "%s: not a finite number", f->name);
	if (v < 0)
		return why(w, ERR_INPUT, "%s: negative", f->name);
	if (v < f->min)
		return why(w, ERR_INPUT, "%s: less than %.15g", f->name,
		    f->min);
	if (v > f->max)
		return why(w, ERR_INPUT, "%s: more than %.15g", f->name,
		    f->max);
	if (f->kind == POLICY_INTEGER && v != floor(v))
		return why(w, ERR_INPUT, "%s: not a whole number", f->name);
store:
	if (f->kind == POLICY_BOOL)
		*(bool *)place_of(p, f) = v != 0;
	else if (f->kind == POLICY_NUMBER)
		*(double *)place_of(p, f) = v + 0.0;   /* -0 becomes 0 */
	else
		*(int64_t *)place_of(p, f) =
		    isinf(v) ? POLICY_NONE : (int64_t)v;
	return OK;
}

static bool
is_proxy(struct str s)
{
	static const struct str schemes[] = { { "http://", 7 },
		{ "socks4://", 9 }, { "socks4a://", 10 }, { "socks5://", 9 },
		{ "socks5h://", 10 } };
	FREED(arena_free) struct arena a = ARENA_INIT;
	bool is = false;
	struct url u;

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		is |= str_starts(s, schemes[i]);
	is = is && url_parse(s, NULL, &a, &u, NULL) == OK && u.host.n > 0;
	return is;
}

enum err
policy_field_text(struct policy *p, const struct policy_field *f,
    struct str v, struct why *w)
{
	if (v.n > POLICY_TEXT_BYTES_MAX)
		return why(w, ERR_INPUT, "%s: longer than %d bytes", f->name,
		    POLICY_TEXT_BYTES_MAX);
	if (text_has_control(v))
		return why(w, ERR_INPUT, "%s: holds a control character",
		    f->name);
	if (f->offset == AT(proxy) && v.n > 0) {
		if (!is_proxy(v))
			return why(w, ERR_INPUT, "%s: not the URL of a proxy: "
			    "http, socks4, socks4a, socks5 or socks5h",
			    f->name);
		if (str_find_char(v, '@') < v.n)
			return why(w, ERR_INPUT,
			    "%s: credentials do not belong in a policy",
			    f->name);
	}
	*(struct str *)place_of(p, f) =
	    v.n == 0 ? STR_NONE : arena_copy(&p->memory, v);
	return OK;
}

enum err
policy_field_choice(struct policy *p, const struct policy_field *f,
    struct str v, struct why *w)
{
	size_t i = STR_ROW(v, robots_words);

	if (i == ARRAY_LEN(robots_words))
		return why(w, ERR_INPUT, "%s: must be \"obey\" or \"ignore\"",
		    f->name);
	*(int64_t *)place_of(p, f) = (int64_t)i;
	return OK;
}

static void
set_preset(struct policy *p, const struct policy_field *f)
{
	struct why w = WHY_INIT;

	switch (f->kind) {
	case POLICY_NUMBER:
	case POLICY_INTEGER:
	case POLICY_BOOL:
		CHECK(policy_field_number(p, f, f->preset, &w) == OK);
		break;
	case POLICY_CHOICE:
		*(int64_t *)place_of(p, f) = (int64_t)f->preset;
		break;
	default:                      /* texts and headers: none */
		break;
	}
}

struct policy *
policy_new(void)
{
	static const struct str strip[] = { { "JSESSIONID", 10 },
		{ "PHPSESSID", 9 }, { "sid", 3 } };
	struct policy *p = mem_new(sizeof(*p));

	p->memory = ARENA_INIT;
	for (size_t i = 0; i < policy_fields_n; i++)
		set_preset(p, &policy_fields[i]);
	policy_set_scope(p, SCOPE_HOST);
	p->mime_rules = ARENA_NEW(&p->memory, struct policy_mime_rule);
	p->mime_rules_n = 1;
	p->mime_rules[0].keep = true;
	p->strip_n = ARRAY_LEN(strip);
	p->strip = ARENA_ARRAY(&p->memory, struct str, p->strip_n);
	memcpy(p->strip, strip, sizeof(strip));
	return p;
}

void
policy_free(struct policy **p)
{
	if (*p == NULL)
		return;
	arena_free(&(*p)->memory);
	mem_free(p);
}

struct policy *
policy_copy(const struct policy *p)
{
	FREED(buf_free) struct buf json = BUF_INIT;
	struct why w = WHY_INIT;
	struct policy *copy = NULL;

	policy_to_json(p, &json);
	if (policy_parse(buf_str(&json), &copy, &w) != OK)
		check_failed(__FILE__, __LINE__, w.text);
	return copy;
}

static enum err
set_bool(struct policy *p, const struct policy_field *f, struct str v,
    struct why *w)
{
	bool yes = str_eq(v, STR("true"));

	if (!yes && !str_eq(v, STR("false")))
		return why(w, ERR_INPUT, "%s: must be true or false", f->name);
	return policy_field_number(p, f, yes, w);
}

enum err
policy_set(struct policy *p, struct str name, struct str v, struct why *w)
{
	const struct policy_field *f = policy_field_find(name);
	double number;

	if (f == NULL)
		return why(w, ERR_ABSENT, "%.*s: a policy has no such field",
		    STR_FMT(str_cut(name, 0, 100)));
	bool none = f->nullable &&
	    (str_eq(v, STR("null")) || str_eq(v, STR("none")));
	switch (f->kind) {
	case POLICY_NUMBER:
	case POLICY_INTEGER:
		if (none)
			return policy_field_number(p, f, INFINITY, w);
		if (!policy_number(v, &number))
			return why(w, ERR_INPUT, "%s: not a number", f->name);
		return policy_field_number(p, f, number, w);
	case POLICY_BOOL:
		return set_bool(p, f, v, w);
	case POLICY_TEXT:
		return policy_field_text(p, f, none ? STR_NONE : v, w);
	case POLICY_CHOICE:
		return policy_field_choice(p, f, v, w);
	default:
		return why(w, ERR_USAGE, "%s: a list cannot be set this way",
		    f->name);
	}
}

void
policy_set_scope(struct policy *p, enum policy_scope scope)
{
	static const struct str patterns[] = {
		[SCOPE_HOST] = STR(POLICY_RULE_HOST),
		[SCOPE_DOMAIN] = STR(POLICY_RULE_DOMAIN),
		[SCOPE_PREFIX] = STR(POLICY_RULE_PREFIX),
		[SCOPE_ANY] = STR_NONE,
	};

	CHECK(scope < ARRAY_LEN(patterns));
	p->url_rules = ARENA_ARRAY(&p->memory, struct policy_url_rule, 2);
	p->url_rules_n = scope == SCOPE_ANY ? 1 : 2;
	p->url_rules[0] = (struct policy_url_rule){ patterns[scope],
		POLICY_ADD, 1 };
	p->url_rules[1] = (struct policy_url_rule){ STR_NONE,
		POLICY_MULTIPLY, 0 };
}

/* The exclusions that policy_add_exclude() put in front. */
static size_t
exclusions(const struct policy *p)
{
	size_t n = 0;

	while (n < p->url_rules_n && p->url_rules[n].pattern.p != NULL &&
	    p->url_rules[n].action == POLICY_MULTIPLY &&
	    p->url_rules[n].amount == 0)
		n++;
	return n;
}

static enum err
add_rule(struct policy *p, size_t at, struct policy_url_rule rule,
    struct why *w)
{
	enum err e = policy_pattern_check("pattern", rule.pattern, w);

	if (e != OK)
		return e;
	if (p->url_rules_n == POLICY_RULES_MAX)
		return why(w, ERR_FULL, "url_rules: more than %d rules",
		    POLICY_RULES_MAX);
	struct policy_url_rule *rules = ARENA_ARRAY(&p->memory,
	    struct policy_url_rule, p->url_rules_n + 1);
	memcpy(rules, p->url_rules, at * sizeof(*rules));
	memcpy(rules + at + 1, p->url_rules + at,
	    (p->url_rules_n - at) * sizeof(*rules));
	rules[at] = rule;
	rules[at].pattern = arena_copy(&p->memory, rule.pattern);
	p->url_rules = rules;
	p->url_rules_n++;
	return OK;
}

enum err
policy_add_include(struct policy *p, struct str regex, struct why *w)
{
	return add_rule(p, exclusions(p), (struct policy_url_rule){ regex,
		POLICY_ADD, 1 }, w);
}

enum err
policy_add_exclude(struct policy *p, struct str regex, struct why *w)
{
	return add_rule(p, 0, (struct policy_url_rule){ regex,
		POLICY_MULTIPLY, 0 }, w);
}

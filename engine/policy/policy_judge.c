/* A compiled policy, and the judgements it gives: policy.h, "Judging". */
#include "engine/policy/policy.h"

#include <float.h>

#include "engine/policy/address.h"
#include "engine/policy/policy_field.h"
#include "engine/policy/policy_regex.h"
#include "engine/policy/policy_seeds.h"

/*
 * How a rule is tried.  The three texts that policy_set_scope() writes are
 * recognised and looked up in tables; everything else runs in PCRE2.
 */
enum way { WAY_ALWAYS, WAY_HOST, WAY_SITE, WAY_PREFIX, WAY_REGEX };

struct rule {
	enum way way;
	struct regex *regex;      /* WAY_REGEX */
	/* The text of this rule's verdict. */
	const char *takes, *drops, *gave_up;
};

struct policy_compiled {
	struct policy *policy;
	struct policy_seeds seeds;
	struct rule *url_rules, *mime_rules;
	size_t regex_bytes;
	struct arena memory;
};

/* With no seeds the placeholders match nothing, but their syntax stands. */
enum err
policy_pattern_check(const char *place, struct str pattern, struct why *w)
{
	struct policy_seeds none = { .memory = ARENA_INIT };
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct regex *r;

	if (pattern.n == 0)
		return why(w, ERR_INPUT, "%s: empty", place);
	if (pattern.n > POLICY_PATTERN_BYTES_MAX)
		return why(w, ERR_INPUT, "%s: longer than %d bytes", place,
		    POLICY_PATTERN_BYTES_MAX);
	struct str filled = policy_seeds_fill(&none, pattern, &a);
	enum err e = regex_new(place, filled,
	    policy_seeds_named(pattern) ? 0 : REGEX_OFFSET, &r, w);
	regex_free(&r);
	return e;
}

static enum way
way_of(struct str pattern, bool fast)
{
	if (pattern.p == NULL)
		return WAY_ALWAYS;
	if (fast && str_eq(pattern, STR(POLICY_RULE_HOST)))
		return WAY_HOST;
	if (fast && str_eq(pattern, STR(POLICY_RULE_DOMAIN)))
		return WAY_SITE;
	if (fast && str_eq(pattern, STR(POLICY_RULE_PREFIX)))
		return WAY_PREFIX;
	return WAY_REGEX;
}

static enum err
compile_rule(struct policy_compiled *c, const char *list, size_t at,
    struct str pattern, bool fast, struct rule *r, struct why *w)
{
	bool mime = list[0] == 'm';
	char place[64];

	r->way = way_of(pattern, fast && !mime);
	/* People count from 1, as the console's list does. */
	const char *word = mime ? "MIME rule" : "URL rule";
	r->takes = arena_printf(&c->memory, "%s %zu takes it", word, at + 1).p;
	r->drops = arena_printf(&c->memory, pattern.p == NULL && at > 0 ?
	    "%s %zu, for everything else, leaves it out" :
	    "%s %zu leaves it out", word, at + 1).p;
	r->gave_up = arena_printf(&c->memory, "the pattern of %s %zu takes too "
	    "long", word, at + 1).p;
	if (r->way != WAY_REGEX)
		return OK;
	snprintf(place, sizeof(place), "%s[%zu].pattern", list, at);
	FREED(arena_free) struct arena a = ARENA_INIT;
	struct str filled = policy_seeds_fill(&c->seeds, pattern, &a);
	enum err e = regex_new(place, filled, REGEX_FAST |
	    (mime ? REGEX_NOCASE : 0) |
	    (policy_seeds_named(pattern) ? 0 : REGEX_OFFSET), &r->regex, w);
	if (e != OK)
		return e;
	c->regex_bytes += regex_bytes(r->regex);
	if (c->regex_bytes > POLICY_REGEX_BYTES_MAX)
		return why(w, ERR_FULL, "%s: the patterns so far need more "
		    "than %d MiB", place, POLICY_REGEX_BYTES_MAX >> 20);
	return OK;
}

static enum err
compile_rules(struct policy_compiled *c, bool fast, struct why *w)
{
	const struct policy *p = c->policy;
	enum err e = OK;

	c->url_rules = ARENA_ARRAY(&c->memory, struct rule, p->url_rules_n);
	c->mime_rules = ARENA_ARRAY(&c->memory, struct rule, p->mime_rules_n);
	for (size_t i = 0; i < p->url_rules_n && e == OK; i++)
		e = compile_rule(c, "url_rules", i, p->url_rules[i].pattern,
		    fast, &c->url_rules[i], w);
	for (size_t i = 0; i < p->mime_rules_n && e == OK; i++)
		e = compile_rule(c, "mime_rules", i, p->mime_rules[i].pattern,
		    fast, &c->mime_rules[i], w);
	return e;
}

static enum err
compile(const struct policy *p, const struct url *seeds, size_t seeds_n,
    bool fast, struct policy_compiled **out, struct why *w)
{
	struct policy_compiled *c = mem_new(sizeof(*c));

	c->memory = ARENA_INIT;
	c->policy = policy_copy(p);
	enum err e = policy_seeds_make(c->policy, seeds, seeds_n, &c->seeds, w);
	if (e == OK)
		e = compile_rules(c, fast, w);
	if (e != OK)
		policy_compiled_free(&c);
	*out = c;
	return e;
}

enum err
policy_compile(const struct policy *p, const struct url *seeds,
    size_t seeds_n, struct policy_compiled **out, struct why *w)
{
	return compile(p, seeds, seeds_n, true, out, w);
}

enum err
policy_compile_plain(const struct policy *p, const struct url *seeds,
    size_t seeds_n, struct policy_compiled **out, struct why *w)
{
	return compile(p, seeds, seeds_n, false, out, w);
}

void
policy_compiled_free(struct policy_compiled **cp)
{
	struct policy_compiled *c = *cp;

	if (c == NULL)
		return;
	for (size_t i = 0; c->url_rules != NULL && i < c->policy->url_rules_n;
	    i++)
		regex_free(&c->url_rules[i].regex);
	for (size_t i = 0; c->mime_rules != NULL && i < c->policy->mime_rules_n;
	    i++)
		regex_free(&c->mime_rules[i].regex);
	policy_seeds_free(&c->seeds);
	policy_free(&c->policy);
	arena_free(&c->memory);
	mem_free(cp);
}

const struct policy *
policy_of(const struct policy_compiled *c)
{
	return c->policy;
}

enum err
policy_canonical(const struct policy_compiled *c, const struct url *u,
    struct arena *a, struct url *out, struct why *w)
{
	return url_canonical(u, c->policy->strip, c->policy->strip_n, a, out,
	    w);
}

static enum policy_match
rule_match(const struct policy_compiled *c, const struct rule *r,
    const struct url *u, struct str subject, struct regex_scratch *s)
{
	bool match = false;

	switch (r->way) {
	case WAY_ALWAYS:
		match = true;
		break;
	case WAY_HOST:
		match = policy_seeds_host(&c->seeds, u);
		break;
	case WAY_SITE:
		match = policy_seeds_site(&c->seeds, u);
		break;
	case WAY_PREFIX:
		match = policy_seeds_prefix(&c->seeds, u);
		break;
	case WAY_REGEX:
		return regex_match(r->regex, subject, s);
	}
	return match ? POLICY_MATCH : POLICY_NO_MATCH;
}

static void
skip(struct policy_verdict *v, enum skip_reason reason, const char *text)
{
	v->take = v->embed = false;
	v->reason = reason;
	v->text = text;
}

/*
 * Find the rule that decides about `subject`, the text of the URL `u` or a
 * media type: false when its pattern took too long.
 */
static bool
find_rule(const struct policy_compiled *c, const struct rule *rules,
    const struct url *u, struct str subject, struct policy_verdict *v)
{
	struct regex_scratch s = { NULL };
	enum policy_match m = POLICY_NO_MATCH;
	size_t i = 0;

	/* The last rule always matches. */
	while ((m = rule_match(c, &rules[i], u, subject, &s)) ==
	    POLICY_NO_MATCH)
		i++;
	regex_scratch_free(&s);
	v->rule = (int)i;
	v->text = m == POLICY_MATCH ? rules[i].takes : rules[i].gave_up;
	return m == POLICY_MATCH;
}

static double
cost_of(const struct policy_url_rule *r, double parent_cost)
{
	double cost = r->action == POLICY_ADD ? parent_cost + r->amount :
	    parent_cost * r->amount;

	return cost > DBL_MAX ? DBL_MAX : cost;
}

/* Rules, cost and depth. */
static void
judge_scope(const struct policy_compiled *c, const struct url *u,
    double parent_cost, unsigned depth, bool embed, struct policy_verdict *v)
{
	const struct policy *p = c->policy;

	if (embed && !p->embeds) {
		skip(v, SKIP_SCOPE, "the policy takes no embeds");
		return;
	}
	if (!find_rule(c, c->url_rules, u, u->href, v)) {
		skip(v, SKIP_URL, v->text);
		return;
	}
	size_t i = (size_t)v->rule;
	v->cost = cost_of(&p->url_rules[i], parent_cost);
	if (!(v->cost > 0)) {
		/* A rule with a pattern is a will; the last one is the rest. */
		if (!embed || c->url_rules[i].way != WAY_ALWAYS) {
			skip(v, SKIP_SCOPE, c->url_rules[i].drops);
			return;
		}
		v->cost = parent_cost;
		v->embed = true;
		v->text = "out of scope, but a part of its page";
	}
	if (v->cost > p->limits.max_cost)
		skip(v, SKIP_COST, skip_text(SKIP_COST));
	else if ((int64_t)depth > p->limits.max_depth)
		skip(v, SKIP_DEPTH, skip_text(SKIP_DEPTH));
}

void
policy_judge_url(const struct policy_compiled *c, const struct url *u,
    double parent_cost, unsigned depth, bool embed, struct policy_verdict *v)
{
	struct trap_verdict trap;

	*v = (struct policy_verdict){ .take = true, .rule = -1 };
	if (u->scheme != URL_HTTP && u->scheme != URL_HTTPS) {
		skip(v, SKIP_URL, "not an http or https URL");
		return;
	}
	judge_scope(c, u, parent_cost, depth, embed, v);
	if (!v->take)
		return;
	if (address_port_is_bad(u->port))
		skip(v, SKIP_URL, "the port belongs to another protocol");
	else if (!trap_judge_url(&c->policy->traps, u, &trap))
		skip(v, trap.reason, trap.text);
	/* The last: who may reach his own hosts all the same overrides it. */
	else if (!c->policy->allow_private && address_host_is_local(u->host))
		skip(v, SKIP_BLOCKED, skip_text(SKIP_BLOCKED));
}

void
policy_judge_mime(const struct policy_compiled *c, struct str content_type,
    struct policy_verdict *v)
{
	struct str type = str_trim(str_cut(content_type, 0,
	    str_find_char(content_type, ';')));

	if (type.n == 0)
		type = STR("application/octet-stream");
	*v = (struct policy_verdict){ .take = true };
	if (!find_rule(c, c->mime_rules, NULL, type, v))
		skip(v, SKIP_MIME, v->text);
	else if (!c->policy->mime_rules[v->rule].keep)
		skip(v, SKIP_MIME, c->mime_rules[v->rule].drops);
}

void
policy_explain(const struct policy_compiled *c, const struct url *u,
    double parent_cost, unsigned depth, bool embed, struct arena *a,
    struct policy_explanation *out)
{
	struct regex_scratch s = { NULL };

	out->rules = c->policy->url_rules;
	out->rules_n = c->policy->url_rules_n;
	out->matches = ARENA_ARRAY(a, enum policy_match, out->rules_n);
	for (size_t i = 0; i < out->rules_n; i++)
		out->matches[i] = rule_match(c, &c->url_rules[i], u,
		    u->href, &s);
	regex_scratch_free(&s);
	policy_judge_url(c, u, parent_cost, depth, embed, &out->verdict);
}

void
policy_explanation_print(const struct policy_explanation *x, struct buf *out)
{
	static const char *const words[] = { "no match", "match", "gave up" };

	for (size_t i = 0; i < x->rules_n; i++) {
		const struct policy_url_rule *r = &x->rules[i];
		struct str pattern = r->pattern.p != NULL ? r->pattern :
		    STR("(everything)");
		buf_printf(out, "URL rule %zu  %s %.15g  %s%s  %.*s\n", i + 1,
		    r->action == POLICY_ADD ? "add" : "multiply", r->amount,
		    words[x->matches[i]],
		    (int)i == x->verdict.rule ? ", decides" : "",
		    STR_FMT(pattern));
	}
	if (x->verdict.take)
		buf_printf(out, "taken at cost %.15g: %s\n", x->verdict.cost,
		    x->verdict.text);
	else
		buf_printf(out, "skipped (%s): %s\n",
		    skip_name(x->verdict.reason), x->verdict.text);
}

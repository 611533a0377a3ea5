/* The verdict of a policy on a URL, with the rules that led to it. */
#include "engine/catalog/catalog.h"
#include "engine/policy/seed_list.h"
#include "engine/policy/trap.h"

static enum err
read_seeds(struct str url, const struct str *texts, size_t n,
    struct arena *a, struct url **seeds, size_t *seeds_n, struct why *w)
{
	*seeds = seeds_parse(texts, n, a, seeds_n);
	if (*seeds_n == 0 && n > 0)
		return why(w, ERR_INPUT, "seeds: none is an http or https "
		    "URL");
	if (*seeds_n > 0)
		return OK;
	*seeds_n = 1;
	return seed_parse(url, a, &(*seeds)[0], NULL);
}

/* Copy what the compiled policy owns, since it is freed. */
static void
keep(struct policy_explanation *x, struct arena *a)
{
	struct policy_url_rule *rules = ARENA_ARRAY(a, struct policy_url_rule,
	    x->rules_n + 1);

	for (size_t i = 0; i < x->rules_n; i++) {
		rules[i] = x->rules[i];
		if (rules[i].pattern.p != NULL)
			rules[i].pattern = arena_copy(a, rules[i].pattern);
	}
	x->rules = rules;
	x->verdict.text = arena_copy(a, str_of(x->verdict.text)).p;
}

static void
mind_traps(const struct policy *p, const struct url *u,
    struct policy_verdict *v)
{
	struct trap_verdict t;

	if (!v->take || trap_judge_url(&p->traps, u, &t))
		return;
	v->take = false;
	v->reason = t.reason;
	v->rule = -1;
	v->text = t.text;
}

enum err
catalog_explain(struct str text, const struct policy *policy,
    const struct str *seeds, size_t seeds_n, double parent_cost,
    unsigned depth, struct arena *a, struct policy_explanation *out,
    struct str *canonical, struct why *w)
{
	FREED(policy_compiled_free) struct policy_compiled *compiled = NULL;
	struct why inner = WHY_INIT;
	struct url u, plain, *list;
	size_t n;

	enum err e = seed_parse(text, a, &plain, &inner);
	if (e != OK)
		return why(w, ERR_INPUT, "url: %s", inner.text);
	e = read_seeds(text, seeds, seeds_n, a, &list, &n, w);
	if (e == OK)
		e = policy_compile(policy, list, n, &compiled, &inner);
	if (inner.err != OK)
		why_field(w, e, "policy", "%s", inner.text);
	if (e == OK)
		e = policy_canonical(compiled, &plain, a, &u, w);
	if (e == OK) {
		policy_explain(compiled, &u, parent_cost, depth, false, a,
		    out);
		mind_traps(policy, &u, &out->verdict);
		keep(out, a);
		*canonical = u.href;
	}
	return e;
}

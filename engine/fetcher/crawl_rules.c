#include "engine/fetcher/crawl_rules.h"

enum err
rules_new(const struct policy *p, const struct url *seeds, size_t seeds_n,
    unsigned excluded, struct rules **out, struct why *w)
{
	struct rules *r = mem_new(sizeof(*r));
	FREED(buf_free) struct buf json = BUF_INIT;

	list_init(&r->node);
	r->seeds = seeds;
	r->seeds_n = seeds_n;
	enum err e = policy_compile(p, seeds, seeds_n, &r->compiled, w);
	if (e != OK) {
		rules_free(&r);
		return e;
	}
	policy_to_json(p, &json);
	r->is = (struct crawl_rules){ .policy = r->compiled,
	    .json = arena_copy(&r->arena, buf_str(&json)),
	    .excluded = excluded };
	*out = r;
	return OK;
}

static bool
excludes_already(const struct rules *r, struct str pattern)
{
	const struct policy *p = policy_of(r->compiled);

	for (unsigned i = 0; i < r->is.excluded; i++)
		if (str_eq(p->url_rules[i].pattern, pattern))
			return true;
	return false;
}

enum err
rules_excluding(const struct rules *old, struct str pattern, bool alone,
    struct rules **out, struct why *w)
{
	FREED(policy_free) struct policy *p =
	    policy_copy(policy_of(old->compiled));
	unsigned excluded = old->is.excluded;
	enum err e = OK;

	/* Said once more, it is there already. */
	if (alone || !excludes_already(old, pattern)) {
		e = policy_add_exclude(p, pattern, w);
		excluded = alone ? 1 : excluded + 1;
	}
	if (e == OK)
		e = policy_fits(p, w);
	return e == OK ? rules_new(p, old->seeds, old->seeds_n, excluded, out,
	    w) : e;
}

void
rules_free(struct rules **rp)
{
	struct rules *r = *rp;

	if (r == NULL)
		return;
	list_take(&r->node);
	policy_compiled_free(&r->compiled);
	arena_free(&r->arena);
	mem_free(rp);
}

/*
 * policy_seeds -- what the placeholders of a URL rule stand for, in two forms
 * that say the same: the text of an alternation, and a table for the fast path.
 *
 * Built once by policy_compile(), read-only afterwards.
 */
#ifndef ENGINE_POLICY_POLICY_SEEDS_H
#define ENGINE_POLICY_POLICY_SEEDS_H

#include "base/map.h"
#include "engine/policy/policy.h"

/*
 * Each list is sorted and without repeats; of `prefixes` none begins with
 * another, so that the one before a URL in order is the only candidate.
 */
struct policy_seeds {
	struct str *hosts, *sites, *prefixes;
	size_t hosts_n, sites_n, prefixes_n;
	struct map host_set, site_set;   /* keys borrow from the lists */
	struct arena memory;
};

/*
 * The lists of these seeds, brought into canonical form first.  Errors: INPUT
 * with "seeds[i]: ..."; nothing is left to free then.
 */
MUST_USE enum err policy_seeds_make(const struct policy *,
    const struct url *seeds, size_t seeds_n, struct policy_seeds *,
    struct why *);
void policy_seeds_free(struct policy_seeds *);

/* Whether the text has any placeholder. */
bool policy_seeds_named(struct str pattern);
/* The pattern with its placeholders filled.  Memory: `a`. */
struct str policy_seeds_fill(const struct policy_seeds *, struct str pattern,
    struct arena *a);

/* The fast forms of POLICY_RULE_HOST, _DOMAIN and _PREFIX. */
bool policy_seeds_host(const struct policy_seeds *, const struct url *);
bool policy_seeds_site(const struct policy_seeds *, const struct url *);
bool policy_seeds_prefix(const struct policy_seeds *, const struct url *);

#endif

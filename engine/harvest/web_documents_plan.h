/*
 * web_documents_plan -- the crawl of a run of `web_crawl`: seeds and policy,
 * from the parameters.
 *
 * Thread: any; pure.
 * Source: contracts/external.md §11.
 */
#ifndef ENGINE_HARVEST_WEB_DOCUMENTS_PLAN_H
#define ENGINE_HARVEST_WEB_DOCUMENTS_PLAN_H

#include "engine/policy/policy.h"
#include "engine/policy/seed_list.h"

struct web_documents_plan {
	struct launch_seed *seeds;
	size_t seeds_n;
	enum policy_scope scope;
	int64_t depth;               /* -1: as the policy has it */
	int64_t pages_max;           /* -1: likewise */
	struct str *include, *exclude;       /* regular expressions */
	size_t include_n, exclude_n;
};

/*
 * Read parameters as external_params_check() has written them.  Memory: `a`.
 * Errors: INPUT, with the field "params..."; FULL: too many seeds or rules.
 */
MUST_USE enum err web_documents_plan_read(struct str params, struct arena *a,
    struct web_documents_plan *, struct why *);

/*
 * Append the crawl's policy: `base`, the JSON of the policy `default`, with the
 * scope and the limits of the plan.  Errors: those of policy_parse(); INPUT and
 * FULL, with the field "params.include[0]".
 */
MUST_USE enum err web_documents_plan_policy(const struct web_documents_plan *,
    struct str base, struct buf *out, struct why *);

#endif

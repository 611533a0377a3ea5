/*
 * crawl_rules -- a crawl's policy, compiled with its seeds.  They never change:
 * a crawl whose policy is changed gets others, and the older ones stay, for
 * loops that look at them still.
 *
 * Thread: any; one at a time.
 */
#ifndef ENGINE_FETCHER_CRAWL_RULES_H
#define ENGINE_FETCHER_CRAWL_RULES_H

#include "base/list.h"
#include "engine/fetcher/fetcher.h"

struct rules {
	struct list node;                /* in what holds them */
	struct crawl_rules is;
	struct policy_compiled *compiled;
	const struct url *seeds;         /* the maker's; they outlive it */
	size_t seeds_n;
	struct arena arena;
};

/* `excluded`: as in struct crawl_rules.  Errors: as policy_compile(). */
MUST_USE enum err rules_new(const struct policy *, const struct url *seeds,
    size_t seeds_n, unsigned excluded, struct rules **, struct why *);
/*
 * These rules, and before them one that leaves out what matches `pattern`.
 * `alone`: only that one counts as excluded.  Errors: INPUT, "pattern: ...";
 * FULL.
 */
MUST_USE enum err rules_excluding(const struct rules *, struct str pattern,
    bool alone, struct rules **, struct why *);
void rules_free(struct rules **);

#endif

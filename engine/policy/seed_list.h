/*
 * seed_list -- seeds as people and programs write them.
 *
 * Thread: any.
 */
#ifndef ENGINE_POLICY_SEED_LIST_H
#define ENGINE_POLICY_SEED_LIST_H

#include "engine/parser/url.h"

/*
 * A crawl's seeds are one record of the log, and the registry keeps them in
 * memory; crawl.retry_max cannot be larger.
 */
#define SEED_LIST_MAX 10000u

/* A seed with the delay of its host; rate_limit < 0: the policy's. */
struct launch_seed {
	struct str url;
	double rate_limit;           /* s */
};

/*
 * A seed as somebody typed it: blanks around it go, "http://" comes before it
 * where no scheme stands.  Memory: `a`.  Errors: INPUT with the reason.
 */
MUST_USE enum err seed_parse(struct str typed, struct arena *a,
    struct url *out, struct why *);
/*
 * Those of the `n` seeds that are URLs, in their order; `*urls_n` says how many
 * they are.  Memory: `a`.
 */
struct url *seeds_parse(const struct str *typed, size_t n, struct arena *a,
    size_t *urls_n);
/* "http://user:pass@host/": it would be written into the crawl's record. */
bool seed_has_password(struct str typed);

/*
 * Seeds as JSON: a list of texts and of objects {"url", "rate_limit"}, where
 * the latter is a number, a numeric text, or absent as "" and null.  Memory:
 * `a`.  Errors: INPUT and FULL, naming the seed.
 */
MUST_USE enum err seed_list_read(struct str json, struct arena *a,
    struct launch_seed **, size_t *n, struct why *);
/* Whether each can be a seed; one that holds a password cannot. */
MUST_USE enum err seed_list_check(const struct launch_seed *, size_t n,
    struct why *);

#endif

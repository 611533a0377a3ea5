/*
 * web_plan -- what the crawl of a web harvest begins with: its seeds, policy
 * and collection.
 *
 * Thread: any; pure.
 * Source: contracts/platforms.md §2, Web; contracts/warc.md §4.
 */
#ifndef ENGINE_HARVEST_WEB_PLAN_H
#define ENGINE_HARVEST_WEB_PLAN_H

#include "engine/connector/connector.h"
#include "engine/policy/seed_list.h"

/* URLs that are named of a cause. */
#define WEB_PLAN_SHOWN 5u

/* Seeds that are not fetched, for one cause. */
struct web_refused {
	const char *cause;           /* half a sentence */
	uint64_t n;
	struct str first[WEB_PLAN_SHOWN];
	size_t first_n;
};
enum web_refusal { WEB_NO_URL, WEB_AMBIGUOUS, WEB_PASSWORD, WEB_REFUSALS };

struct web_plan {
	struct launch_seed *seeds;
	size_t seeds_n;
	struct web_refused refused[WEB_REFUSALS];
	struct str collection;
};

/* The collection that the start message `root` names; else it is that of
 * `path`. */
struct str web_plan_collection(yyjson_val *root, struct str path);

/*
 * Seeds in the order of the message; they refer to the order.  `root` is the
 * start message, `path` as above.  Memory: `a`.
 */
void web_plan_make(struct web_plan *, const struct connector_order *,
    yyjson_val *root, struct str path, struct arena *a);

/*
 * The policy of its crawl: `base`, the JSON of the policy `default`, with the
 * harvest's scope and the order's options.  Errors: those of policy_parse().
 */
MUST_USE enum err web_plan_policy(const struct connector_order *,
    struct str base, struct buf *out, struct why *);

/*
 * The text of a `web_failures` warning: "3 URLs were not fetched, CAUSE:
 * URL URL URL".
 */
void web_plan_put_failures(uint64_t n, const char *cause,
    const struct str *urls, size_t urls_n, struct buf *out);

#endif

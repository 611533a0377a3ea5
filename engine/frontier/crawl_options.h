/*
 * crawl_options -- what the engine itself notes of a crawl when it begins: the
 * `options` of its spec, a JSON object.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_CRAWL_OPTIONS_H
#define ENGINE_FRONTIER_CRAWL_OPTIONS_H

#include "base/arena.h"

/* A host of some seeds, and the pause between two fetches from it. */
struct seed_delay {
	struct str host;
	double s;
};

struct crawl_options {
	bool operator_seeds;         /* they may be private addresses */
	bool secret_proxy;           /* without it nothing is fetched */
	struct str policy;           /* its name; empty: one of its own */
	struct str key;              /* of that key there is one crawl only */
	uint64_t schedule;           /* that started it; 0: none */
	struct seed_delay *delays;   /* each host once; parsed: by host */
	size_t delays_n;
};

void crawl_options_put(const struct crawl_options *, struct buf *);
/*
 * An empty text is a crawl of the command line.  Memory: `a`.  False when it is
 * damaged; then nothing is allowed and nothing known.
 */
bool crawl_options_parse(struct str, struct arena *a, struct crawl_options *);
/* The delay of each seed, s, by its host; < 0: the policy's.  Memory: `a`. */
const double *crawl_options_delays(const struct crawl_options *,
    const struct str *seeds, size_t n, struct arena *a);

#endif

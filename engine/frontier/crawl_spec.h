/*
 * crawl_spec -- what is written once about a crawl, and its record.
 *
 *     kind1 name tags seeds policy options warc_dir max_items host_urls_max
 *     duration_ms_max warc_bytes_max           (numbers: varints; old records
 *                                               end behind host_urls_max)
 *
 * `options` is a JSON object.  It is empty in records of the command line's
 * first versions, whose seeds were the operator's.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_CRAWL_SPEC_H
#define ENGINE_FRONTIER_CRAWL_SPEC_H

#include "base/arena.h"
#include "engine/frontier/crawl_view.h"

/* A host of some seeds, and the pause between two fetches from it. */
struct seed_delay {
	struct str host;
	double s;
};

/* What is written once about a crawl. */
struct crawl_spec {
	enum crawl_kind kind;
	struct str name;                    /* empty: none */
	const struct str *tags;
	size_t tags_n;
	const struct str *seeds;            /* as typed, "http://" or not */
	size_t seeds_n;
	struct str policy;                  /* JSON */
	struct str warc_dir;
	uint64_t max_items;                 /* 0: no limit */
	uint64_t host_urls_max;             /* traps.host_urls_max; 0: none */
	int64_t duration_ms_max;            /* from its start; 0: no limit */
	uint64_t warc_bytes_max;            /* 0: no limit */
	/* Its options. */
	bool operator_seeds;                /* they may be private addresses */
	/* Nothing of it goes to WARC files; warc_dir is empty. */
	bool unarchived;
	bool secret_proxy;                  /* without it nothing is fetched */
	struct str policy_name;             /* empty: a policy of its own */
	struct str key;                     /* no two crawls have the same */
	uint64_t schedule;                  /* that started it; 0: none */
	/* Crawls that name the same collection share payloads and validators,
	 * wherever they write.  Empty: its WARC directory is the collection. */
	struct str collection;
	/* JSON that each WARC file begins with, as a metadata record of that
	 * URI; empty: none. */
	struct str about, about_uri;
	struct seed_delay *delays;          /* of each host; parsed: sorted */
	size_t delays_n;
};
void crawl_spec_put(const struct crawl_spec *, struct buf *);
/* Borrows from `value`; the rest is the arena's. */
bool crawl_spec_parse(struct str value, struct arena *, struct crawl_spec *);
/* Take the limits of the policy, but not its duration. */
struct policy;
void crawl_spec_limit(struct crawl_spec *, const struct policy *);
/* The delay of each URL, s, by its host; < 0: the policy's.  Memory: `a`.  The
 * spec was parsed. */
const double *crawl_spec_delays(const struct crawl_spec *,
    const struct str *urls, size_t n, struct arena *a);

#endif

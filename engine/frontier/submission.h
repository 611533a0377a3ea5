/*
 * submission -- what a loop hands over when a page is finished: what became of
 * the URL, and the URLs that were found.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_SUBMISSION_H
#define ENGINE_FRONTIER_SUBMISSION_H

#include "base/arena.h"
#include "engine/frontier/crawl_log.h"
#include "engine/frontier/url_state.h"
#include "engine/ledger/ledger.h"
#include "engine/policy/skip_reason.h"

struct frontier;

enum found_flag {
	FOUND_SEED = 1, FOUND_EMBED = 2, FOUND_SITEMAP = 4,
	FOUND_HOP = 8,     /* a redirect's target, fetched within its page */
	/* The upper half of a sitemap's flags: indexes that lead to it. */
	FOUND_LEVEL = 16,
};
#define FOUND_LEVEL_MAX 15

struct found {
	struct str url;           /* canonical */
	struct str key;           /* of its queue: the host */
	uint64_t hash;            /* frontier_hash() */
	double cost;
	uint16_t depth;
	uint8_t flags;
	uint8_t skip;             /* enum skip_reason; SKIP_NONE: queue it */
};
/* Thread: any. */
uint64_t frontier_hash(uint32_t crawl, struct str url);

/* A URL handed out to a fetching loop; it lives in that loop's memory. */
struct lease {
	struct str url;
	uint64_t hash;
	uint32_t rank;            /* its place in the queue; part of its key */
	double cost;
	uint16_t depth;
	uint8_t flags;
	uint32_t queue;
	uint64_t via_seq;         /* the capture that found it; 0: none */
	struct str via;           /* that capture's URL */
};

/* Puts that ride with a submission: the robots cache, cookies. */
struct extra_put {
	enum index_family family;
	struct str key, value;
};

/*
 * What a loop hands over when a page is finished.  All memory is the
 * submission's arena and buffers; it is the frontier's until durable().
 */
struct submission {
	struct mail mail;
	struct promise promise;
	struct frontier *frontier;
	struct loop *home;
	/* On the home loop: the group is durable (OK), or BROKEN. */
	void (*durable)(struct submission *, enum err);
	struct arena arena;
	uint32_t crawl;

	enum outcome outcome;
	uint8_t reason;                     /* exception or skip_reason */
	struct lease lease;
	uint16_t status;
	uint64_t body_bytes;                /* of AUX: unpacked */
	uint64_t simhash;
	bool duplicate;

	struct buf members;                 /* gzip members, all hops */
	struct archive_member *parts;
	size_t parts_n;
	size_t final_part;                  /* whose offset the journal keeps */
	struct archive_place place;         /* an item's; restored: given */
	struct buf journal_rest;            /* an item's; a failed URL's when
	                                     * something of it is archived */
	struct str digest_key, digest_rest; /* an original: collection.h */
	/* Empty: no later crawl asks with a validator, and no later call is
	 * served by it (maxAge).  Seq 0: this item's. */
	struct str validator_key;
	uint32_t validator_crawl;
	uint64_t validator_seq;

	struct found *found;
	size_t found_n;
	const void *rules;                  /* by which they were judged */
	struct extra_put *puts;
	size_t puts_n;
	const struct crawl_line *lines;     /* for the crawl's log */
	size_t lines_n;
	struct handoff *fresh;                /* of an item: see options.kept */

	/* Answers. */
	enum err result;
	uint64_t seq;                       /* of an item; restored: given */
	uint64_t group;
	bool near_duplicate;

	/* The frontier's own: links that its table has forgotten. */
	struct list held_node;
	struct ledger_query lookup;
	struct url_entry *missing;
	size_t missing_n;
	bool answered;
};
/* Thread: any. */
void frontier_submit(struct frontier *, struct submission *);

/* A read of the index that waits until it may begin; the frontier's. */
struct eviction_wait {
	struct list node;
	void (*open)(struct frontier *, struct eviction_wait *);
};

#endif

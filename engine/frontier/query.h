/*
 * query -- read-only questions about a crawl: which of its queues are the
 * longest, and which URLs are next in them.  For one URL, see url_query.h.
 *
 * The steps are QUEUES_QUERY_STEPS.  The caller zeroes the query, fills in what
 * it asks, and leaves it to the frontier until that calls done() on the
 * ledger's loop.  `arena` has the answer; the caller frees it.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_QUERY_H
#define ENGINE_FRONTIER_QUERY_H

#include "base/arena.h"
#include "base/heap.h"
#include "engine/frontier/crawl_view.h"
#include "engine/frontier/url_scan.h"
#include "os/request.h"

struct frontier;
struct index_iter;

struct queried_queue {
	struct str host;
	uint32_t id;
	uint64_t queued;             /* waiting or leased */
	bool waits;                  /* some are not leased */
	struct str from;             /* the cursor: a key of the index */
	struct heap_node node;       /* the frontier's */
};
struct queried_url {
	struct str url;
	size_t queue;                /* in `queues` */
	uint32_t rank;               /* its place in its queue */
	double cost;
	uint16_t depth;
};
struct frontier_queues_query {
	uint32_t crawl;
	size_t max;                  /* queues; and URLs, which are not */
	size_t urls_max;             /* asked for with 0 */
	struct arena arena;
	struct queried_queue *queues;   /* the longest first */
	size_t n;
	/* Of the first QUERY_URL_QUEUES of these: what waits and is not
	 * leased, some of each, by queue and rank. */
	struct queried_url *urls;
	size_t urls_n;
	uint64_t left;               /* queues with URLs; */
	/* Of these, without a place in their loop (host_slots.c). */
	uint64_t waiting_for_slot;
	struct crawl_view view;
	bool loaded;                 /* it runs, or will, in this process */
	uint64_t tickets;            /* URLs that max_items leaves */
	int health;                  /* enum ledger_health */
	struct why why;              /* ABSENT, CORRUPT, IO */
	void (*done)(struct frontier_queues_query *);
	/* the frontier's */
	struct request request;
	struct frontier *frontier;
	struct heap heap;            /* of `queues`, the shortest first */
	uint32_t next;
	struct index_iter *iter;
	size_t each;                 /* at most so many URLs of a queue */
};
#define QUERY_URL_QUEUES 64u
void frontier_queues_query(struct frontier *, struct frontier_queues_query *);

/*
 * Is there such a crawl?  Thread: the index thread's, in a query.
 * Errors: ABSENT, IO.
 */
MUST_USE enum err look_is_there(struct index *, uint32_t crawl, struct why *);

/* --- URLs that ended in an exception -------------------------------------- */

/* Records that one piece looks at. */
#define FAILURES_LOOKS_MAX 4096u

struct failures {
	struct url_scan scan;        /* .crawl; its memory goes at the end */
	uint64_t start;              /* the first ones, which are not kept */
	size_t urls_max;             /* at most so many are kept */
	struct arena *arena;         /* of the URLs */
	/* Out. */
	struct str *urls;            /* room for urls_max; the caller's */
	size_t urls_n;
	uint64_t all;                /* counted, kept or not */
};
/* Read the next piece; nothing, once it has ended.  Thread: any that may read
 * the index. */
void failures_read(struct failures *, struct index *);

#endif

/*
 * query -- read-only questions about a crawl: which of its queues are the
 * longest, and which URLs are next in them.  For one URL, see url_query.h.
 *
 *     queues:  ledger's loop, some thousand at a time ─► home
 *     URLs:    index thread: a snapshot ─► beside the groups: a few of each
 *              queue ─► ledger's loop: those that wait still ─► home
 *
 * Every question is a struct of the caller's: it is the frontier's until done()
 * is called on `home`.  `arena` holds the answer and is freed by the caller.
 *
 * Thread: any.
 */
#ifndef ENGINE_FRONTIER_QUERY_H
#define ENGINE_FRONTIER_QUERY_H

#include "base/heap.h"
#include "engine/frontier/frontier.h"

/* --- queues ------------------------------------------------------------- */

struct queried_queue {
	struct str host;
	uint32_t id;
	uint64_t queued;             /* waiting or leased */
	bool waits;                  /* some are not leased */
	struct str from;             /* the cursor: a key of the index */
	struct heap_node node;       /* the frontier's */
};
struct frontier_queues_query {
	uint32_t crawl;
	size_t max;
	struct arena arena;
	struct queried_queue *queues;   /* the longest first */
	size_t n;
	uint64_t left;               /* queues with URLs; */
	/* Of these, without a place in their loop (host_slots.c). */
	uint64_t waiting_for_slot;
	struct crawl_view view;
	bool loaded;                 /* it runs, or will, in this process */
	uint64_t tickets;            /* URLs that max_items leaves */
	enum ledger_health health;
	struct why why;              /* ABSENT */
	struct loop *home;
	void (*done)(struct frontier_queues_query *);
	/* the frontier's */
	struct mail mail;
	struct ledger_query query;
	struct frontier *frontier;
	struct heap heap;            /* of `queues`, the shortest first */
	uint32_t next;
};
void frontier_queues_query(struct frontier *, struct frontier_queues_query *);

/* --- what is next in them ----------------------------------------------- */

struct queried_url {
	struct str url;
	size_t queue;                /* in `queues` */
	uint32_t rank;               /* its place in its queue */
	double cost;
	uint16_t depth;
};
/* URLs that wait and are not leased, by queue and rank. */
struct frontier_next_query {
	uint32_t crawl;
	const struct queried_queue *queues;
	size_t queues_n;
	size_t each;                 /* at most so many of a queue */
	struct arena arena;
	struct queried_url *urls;
	size_t n;
	struct why why;
	struct loop *home;
	void (*done)(struct frontier_next_query *);
	/* the frontier's */
	struct ledger_query query;
	struct mail mail;
	struct frontier *frontier;
	struct index_iter *iter;
};
void frontier_next_query(struct frontier *, struct frontier_next_query *);

/*
 * Is there such a crawl?  Thread: the index thread's, in a query.
 * Errors: ABSENT, IO.
 */
MUST_USE enum err look_is_there(struct index *, uint32_t crawl, struct why *);

#endif

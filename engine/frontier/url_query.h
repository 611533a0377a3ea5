/*
 * url_query -- what became of one URL of a crawl.
 *
 *     ledger's loop: where the known table has it
 *     ─► index thread: the records at the places where it may be
 *     ─► beside the groups: a walk over its queue, a piece at a time, when the
 *        table does not say and it may wait under any rank
 *     ─► ledger's loop: again, when its record is still being gathered ─► home
 *
 * All questions about a URL are answered by these steps: those of the catalog,
 * of the lease service's clients (lease_view.c) and of commands at rest.
 *
 * Thread: any, but for what says otherwise.
 */
#ifndef ENGINE_FRONTIER_URL_QUERY_H
#define ENGINE_FRONTIER_URL_QUERY_H

#include "engine/frontier/frontier.h"
#include "engine/frontier/url_state.h"

/*
 * The question is the caller's; it is the frontier's until done() is called on
 * `home`.  `arena` has the answer's texts and is freed by the caller.
 */
struct frontier_url_query {
	uint32_t crawl;
	struct str url, host;        /* canonical; the caller keeps them */
	struct arena arena;
	enum url_state state;
	struct url_fact fact;        /* all 0 for UNKNOWN */
	uint64_t number;             /* of its item; 0: none */
	struct url_answer answer;    /* of a URL that failed */
	uint64_t queued;             /* in its host's queue */
	bool host_known;
	struct why why;              /* ABSENT: no such crawl; CORRUPT, IO */
	struct loop *home;
	void (*done)(struct frontier_url_query *);
	/* the frontier's */
	struct ledger_query query;
	struct promise promise;
	struct mail mail;
	struct frontier *frontier;
	uint32_t queue, rank;
	uint8_t mark;
	bool retired, waited, found;
	bool all;                    /* the known table has all its URLs */
	struct index_iter *iter;
};
void frontier_url_query(struct frontier *, struct frontier_url_query *);
/* The same, answered when this returns.  Before the loops start. */
enum url_state frontier_find_url(struct frontier *, uint32_t crawl,
    struct str url, struct str host, struct url_fact *);

/*
 * The capture of a URL by an ended crawl, from the index alone; ABSENT when
 * there is none.  Memory: `a`.  Thread: the index thread's, in a query.
 */
struct journal_entry;
MUST_USE enum err frontier_old_capture(struct index *, uint32_t crawl,
    struct str host, struct str url, struct arena *a, struct journal_entry *);

/*
 * For the frontier alone: the URL's record under that queue and date.
 * Errors: ABSENT, CORRUPT, IO.  Thread: as above.
 */
struct url_value;
MUST_USE enum err url_record_get(struct index *, uint32_t crawl,
    uint32_t queue, uint32_t date, struct str url, struct url_value *);

#endif

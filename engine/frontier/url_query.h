/*
 * url_query -- what became of one URL of a crawl.
 *
 * The steps are URL_QUERY_STEPS.  They read the queue, a piece at a time, when
 * the known table does not say where the URL is and it may wait under any rank.
 * They begin again once, when its record is still being gathered.
 *
 * These steps answer all questions about a URL: those of the catalog, of the
 * lease service's clients (lease_view.c) and of commands at rest.
 *
 * Thread: any, unless a function says otherwise.
 */
#ifndef ENGINE_FRONTIER_URL_QUERY_H
#define ENGINE_FRONTIER_URL_QUERY_H

#include "base/arena.h"
#include "engine/frontier/url_state.h"
#include "os/request.h"

struct frontier;
struct index;
struct index_iter;

/*
 * The query belongs to the caller, and to the frontier until it calls done() on
 * the ledger's loop.  `arena` has the answer's texts; the caller frees it.
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
	void (*done)(struct frontier_url_query *);
	/* the frontier's */
	struct request request;
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

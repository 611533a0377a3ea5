/*
 * change -- what people change in a crawl that has URLs already: rules that
 * leave some of them out, another try for what failed, its deletion.
 *
 *     RULES    the crawl's record with its new policy; from that group on
 *              nothing is queued or leased that the rules exclude
 *     SKIP     a walk over what waits: what they exclude is skipped (scope)
 *     COUNT    the same walk; nothing changes
 *     RETRY    a walk over what is done, or named URLs: they wait again
 *     DELETE   the crawl loses its records; a sweep takes its URLs behind that
 *
 * A walk runs beside the crawl, a piece at a time.  SKIP that a crash cuts off
 * begins anew, and one that met URLs being fetched is due again at the next
 * start: see change_interrupted().
 *
 * Thread: the ledger's loop.
 * Story:  engine/frontier/DESIGN.md
 */
#ifndef ENGINE_FRONTIER_CHANGE_H
#define ENGINE_FRONTIER_CHANGE_H

#include <stdatomic.h>

#include "engine/frontier/frontier.h"
#include "engine/frontier/url_scan.h"

#define CHANGE_SAMPLE_MAX 100u

enum change_verb { CHANGE_RULES, CHANGE_SKIP, CHANGE_COUNT, CHANGE_RETRY,
    CHANGE_DELETE };

/* RETRY: what ended so; or those that are named. */
enum change_which { CHANGE_NAMED, CHANGE_EXCEPTION, CHANGE_SKIPPED };
struct change_name {
	struct str url, key;         /* canonical; of its queue */
	uint32_t queue;              /* change's own */
};

struct change_match;
struct crawl_change {
	enum change_verb verb;
	uint32_t crawl;
	void (*done)(struct crawl_change *);
	const bool *stop;            /* becomes true: CLOSED, soon; or NULL */
	/* COUNT: after so long, or when nobody waits (or NULL), it is answered
	 * as far as it came; 0: when it is whole. */
	unsigned wait_ms;
	const atomic_bool *left;
	/*
	 * RULES, COUNT, RETRY: live as long as the frontier.  Both functions
	 * are called on any thread.  again() says whether a URL that the rules
	 * left out when it was found may wait now, and for what cost.
	 */
	const void *rules;
	bool (*excludes)(const void *rules, struct str url);
	bool (*again)(const void *rules, struct str url, unsigned depth,
	    double *cost);
	struct str policy;           /* RULES: what the record says, JSON */
	unsigned excluded;           /* RULES: what change_interrupted() says */
	enum change_which which;
	uint8_t reason;              /* enum exception, enum skip_reason */
	struct change_name *names;
	size_t names_n;

	/* Answers.  ABSENT; STATE: it has ended (DELETE: it has not), or does
	 * not run here; BROKEN; CORRUPT; CLOSED. */
	struct why why;
	bool taken;                  /* RULES: the crawl has them */
	uint64_t n;                  /* skipped, counted, waiting again */
	bool so_far;                 /* COUNT: there are more than those */
	uint64_t looked;             /* COUNT: that wait; RETRY: done */
	struct str sample[CHANGE_SAMPLE_MAX];
	size_t sample_n;
	struct arena arena;          /* of the sample; the asker frees it */

	/* The frontier's own. */
	struct frontier *frontier;
	struct list node;
	struct promise promise;
	struct ledger_query query;
	struct eviction_wait gate;
	struct url_scan scan;
	struct mono until;
	uint64_t seen;               /* RETRY: exceptions of its reason */
	size_t at;                   /* RETRY: in `names` */
	bool leased;
	struct arena piece;
	struct str spec;             /* RULES: the crawl's record */
	struct change_match *matches;
	size_t matches_n;
};
/* done() is called later, when what it says is durable, or at once. */
void change_run(struct frontier *, struct crawl_change *);
void change_forget(struct frontier *);      /* what is under way: free */

/*
 * A SKIP that an earlier process did not end: so many rules, the first ones,
 * exclude; 0: none.  The crawl has gone on; before the loops start.
 */
unsigned change_interrupted(struct frontier *, uint32_t crawl);
/* Then these are its rules, and SKIP is due. */
void change_resume(struct frontier *, uint32_t crawl, const void *rules,
    bool (*excludes)(const void *rules, struct str url));

/* --- for the frontier alone ----------------------------------------------- */

/* One piece of a walk: so many records looked at, URLs that match. */
#define CHANGE_LOOKS_MAX 1024u
#define CHANGE_MATCHES_MAX 512u

/* In the piece's arena. */
struct change_match {
	struct lease lease;          /* .rank 0: done, or never queued */
	struct str key;              /* of the queue that it is to go to */
	uint8_t reason;
	bool exception;
};

void change_answer(struct crawl_change *);
void change_answer_durable(struct crawl_change *);  /* what it put, at last */
void change_kept(struct promise *, enum err);   /* its promise: an answer */
/* Its crawl, if it is not over and runs here; else `why` is set. */
struct crawl *change_crawl(struct crawl_change *);
/* Begin a walk over the crawl's URLs, once what is gathered now is durable. */
void change_walk(struct crawl_change *);
struct url_value;
struct change_match *change_add_match(struct crawl_change *,
    const struct url_row *, const struct url_value *);

#endif

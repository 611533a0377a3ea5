/*
 * change -- what people change of a crawl that is under way or has ended:
 * exclusions that apply at once, another try for what failed, deletion.
 *
 * Every verb is a struct of the caller's: fill it, say it, and find the answer
 * in it when done() is called on home, after the commit of what it says.
 *
 * Thread: home's.  The struct is the engine's until done().
 * Story:  engine/DESIGN.md
 */
#ifndef ENGINE_CONTROL_CHANGE_H
#define ENGINE_CONTROL_CHANGE_H

#include <stdatomic.h>

#include "engine/engine.h"

#define CHANGES_SAMPLE_MAX 100u

/*
 * A rule that leaves out what matches `pattern`, before all others, from now on
 * and after a restart; what waits and matches leaves the queue and is counted
 * as skipped (scope).  With `preview` nothing changes.  What is being fetched
 * is fetched to its end.
 * Errors: ABSENT, STATE (ended; its preview is empty), INPUT: pattern: ...,
 * FULL: 1,000 rules, POLICY_JSON_BYTES_MAX.  Those of all verbs: DISK_FULL,
 * BROKEN, and CLOSED when the program ends first; the next start goes on with
 * an exclusion.
 */
struct exclude_request {
	uint32_t crawl;
	struct str pattern;          /* copied */
	bool preview;
	unsigned wait_ms;            /* of a preview: then it is answered so
	                              * far; 0: when it is whole */
	const atomic_bool *left;     /* nobody waits for it any more; or NULL */
	struct arena arena;          /* the caller frees it after done() */
	uint64_t removed;
	bool so_far;                 /* it is about the first `looked` URLs */
	uint64_t looked;             /* that wait */
	const struct str *sample;    /* at most CHANGES_SAMPLE_MAX URLs */
	size_t sample_n;
	struct why why;
	void (*done)(struct exclude_request *);
	void *arg;
	void *own;
};
void crawl_exclude(struct engine *, struct exclude_request *);

/*
 * URLs that ended in an exception, or were skipped, wait again: those of a
 * reason ("dns", "robots"), or those that are named.  Items are not fetched
 * again.  Their counts of exceptions and skips fall.  A URL that is not among
 * them is no error.  What the crawl excludes stays; so does, unless it is
 * named, what its rules leave out still (scope, depth, cost, url) or a host's
 * budget (limit).  robots.txt is asked anew.
 * Errors: ABSENT; STATE (the crawl has ended); INPUT: reason: ..., urls[3]: ...
 * FULL: too many URLs.
 */
struct retry_request {
	uint32_t crawl;
	struct str reason;           /* empty: `urls` */
	const struct str *urls;      /* copied */
	size_t urls_n;               /* at most 10,000 */
	uint64_t requeued;
	struct why why;
	void (*done)(struct retry_request *);
	void *arg;
	void *own;
};
void crawl_retry(struct engine *, struct retry_request *);

/*
 * Its record, journal, log, URLs and counters go; WARC files stay; its number
 * is not used again.  The registry's row becomes a tombstone.
 * Errors: ABSENT; STATE (it has not ended).
 */
struct delete_request {
	uint32_t crawl;
	struct why why;
	void (*done)(struct delete_request *);
	void *arg;
	void *own;
};
void crawl_delete(struct engine *, struct delete_request *);

#endif

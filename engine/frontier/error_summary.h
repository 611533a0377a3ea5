/*
 * error_summary -- what went wrong in a crawl, by reason: when first, when
 * last, and the newest URLs as samples.
 *
 *     key    crawl4 'P' kind1 code2           (family crawl)
 *     value  count first8 last8 sample...     (newest first)
 *
 * A sample is a URL, and 0x01 and the cause behind it where there is one.
 *
 * Exceptions and skips are counted in the crawl's counters, to the unit; their
 * record is renewed with a new sample only, at most each ERROR_SUMMARY_MS.
 * Answers of 400 and more are counted here, by their status.
 */
#ifndef ENGINE_FRONTIER_ERROR_SUMMARY_H
#define ENGINE_FRONTIER_ERROR_SUMMARY_H

#include "base/arena.h"
#include "base/time.h"
#include "os/index.h"

#define ERROR_SUMMARY_SAMPLES 5u
#define ERROR_SUMMARY_MS 100
#define ERROR_SUMMARY_URL_MAX 2000u    /* longer ones are no samples */
#define ERROR_SUMMARY_CAUSE_MAX 200u   /* cut behind it */

/* code: enum exception, enum skip_reason, an HTTP status. */
enum error_summary_kind {
	ERROR_SUMMARY_EXCEPTION = 1,
	ERROR_SUMMARY_SKIPPED = 2,
	ERROR_SUMMARY_STATUS = 3
};

struct error_summary_record {
	enum error_summary_kind kind;
	uint16_t code;
	uint64_t count;              /* of STATUS */
	struct wall first, last;
	struct str samples[ERROR_SUMMARY_SAMPLES];
	struct str causes[ERROR_SUMMARY_SAMPLES];   /* of each; may be empty */
	size_t samples_n;
};
/*
 * All records of a crawl.  Memory: `a`.  Thread: the index thread's, in a
 * query.  Errors: CORRUPT, IO.
 */
MUST_USE enum err error_summary_read(struct index *, uint32_t crawl,
    struct arena *a, struct error_summary_record **out, size_t *n,
    struct why *);

/* For the frontier alone, on the ledger's loop: one more of its kind. */
struct crawl;
struct problems;
void error_summary_note(struct crawl *, enum error_summary_kind, unsigned code,
    struct str url, struct str cause);
void error_summary_put(struct crawl *);         /* into the gathering group */
MUST_USE enum err error_summary_load(
    struct crawl *, struct index *, struct why *);
void error_summary_free(struct problems **);

#endif

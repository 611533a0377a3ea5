/*
 * sfm_api -- asks SFM whether it has a WARC file already.
 *
 *     GET <harvest.sfm_api>/api/v1/warcs/<warc id>/ ─► 200: it has
 *
 * sfm-ui ends on a second warc_created of one id.  When a confirm was lost the
 * message may have arrived; so it is asked before the message is repeated.
 *
 * Thread: the main loop's.
 * Source: contracts/harvest.md §7, Delivery.
 */
#ifndef DOORS_HARVEST_SFM_API_H
#define DOORS_HARVEST_SFM_API_H

#include "base/arena.h"
#include "base/err.h"
#include "os/resolve.h"

#define SFM_API_MS 5000              /* for an answer */

struct sfm_api;

/*
 * `url`: "http://sfm.example:8080"; `ca_file`: as transport_options, or "".
 * Both are kept.  Errors: CONFIG when it is no URL of HTTP.
 */
MUST_USE enum err sfm_api_open(struct loop *, struct str url,
    const char *ca_file, struct sfm_api **, struct why *);
/* No question is under way.  NULL is allowed. */
void sfm_api_free(struct sfm_api **);

/* Lies in an object of the caller's, which keeps it until done(). */
struct sfm_api_question {
	struct str warc_id;          /* hexadecimal; it lives until done() */
	void (*done)(struct sfm_api_question *);
	bool has_it;                 /* it was answered by 200 */
	char answer[120];            /* what came else, for the log */
	/* The rest is ours. */
	struct sfm_api *api;
	struct resolve_query query;
	struct exchange exchange;
	struct transport_header headers[2];
	struct arena arena;
	int status;
};
/* done() comes later, within a few times SFM_API_MS. */
void sfm_api_ask(struct sfm_api *, struct sfm_api_question *);

#endif

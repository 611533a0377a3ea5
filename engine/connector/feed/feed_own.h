/*
 * feed_own -- a run over feeds, and its steps.
 *
 *     current ─► older ─► older ... ─► current document of the next seed ─► end
 *      │  ▲ redirects, each a call
 *      └──┘
 *
 * Older documents are asked for with the option `history` alone.
 *
 * Thread: one at a time.
 */
#ifndef ENGINE_CONNECTOR_FEED_FEED_OWN_H
#define ENGINE_CONNECTOR_FEED_FEED_OWN_H

#include "engine/connector/cursor.h"
#include "engine/connector/seed_run.h"

#define FEED_URL_BYTES_MAX 8192u
#define FEED_VALIDATOR_BYTES_MAX 1024u
#define FEED_REDIRECTS_MAX 5u
/* Entries that are remembered of each feed. */
#define FEED_WINDOW_MAX 1000u

enum feed_step {
	FEED_CURRENT,                /* the document at the seed's address */
	FEED_OLDER,                  /* one that it leads to */
	FEED_STEPS_N
};

struct feed_run {
	struct seed_run run;
	struct connector_field fields[2];    /* of the call that is out */

	/* Part of the checkpoint. */
	struct buf at;               /* the address that is asked for */
	/* Where permanent redirects have led, at first the seed's address: the
	 * feed's state is kept under it. */
	struct buf home;
	bool was_temporary;          /* a redirect of the current document */
	unsigned redirects;          /* of the document at hand */
	struct cursor older;         /* its address */
	struct buf etag, last_modified;      /* for the state; or empty */
	/* Digests of this run's entries, in their order. */
	uint64_t window[FEED_WINDOW_MAX];
	size_t window_n;
};

/* An http or https address without its fragment, relative to `base` unless that
 * is empty.  False: it is none, or too long. */
bool feed_resolve(struct str base, struct str href, struct buf *out);
/* A value of the feed's state, such as ".etag"; STR_NONE: nothing, or the run
 * is not incremental. */
struct str feed_state(const struct feed_run *, const char *name);
/* Its known digests, in hexadecimal digits; the seed's, as long as there are
 * none for `home`. */
struct str feed_known(const struct feed_run *);
/* What an answer says; see struct seed_run_kind. */
void feed_answer(struct seed_run *, const struct connector_answer *,
    const struct connector_findings *);

#endif

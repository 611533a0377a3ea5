/*
 * bluesky_own -- a run over authors, and its steps.
 *
 *     profile ─► page ─► page ... ─► profile of the next seed ─► end
 *
 * A feed is read from its newest entry on.  Its state is set with its last
 * page: set earlier, it would hide the older pages from the next run.
 *
 * Thread: one at a time.
 */
#ifndef ENGINE_CONNECTOR_BLUESKY_BLUESKY_OWN_H
#define ENGINE_CONNECTOR_BLUESKY_BLUESKY_OWN_H

#include "engine/connector/cursor.h"
#include "engine/connector/seed_run.h"

/* Pages in a row without an entry, until a run fails. */
#define BLUESKY_EMPTY_PAGES_MAX 100u

enum bluesky_step {
	BLUESKY_PROFILE,             /* of the seed's author */
	BLUESKY_PAGE,                /* of the author's feed */
	BLUESKY_STEPS_N
};

struct bluesky_run {
	struct seed_run run;
	struct str filter;           /* which entries the feed has */

	/* Part of the checkpoint. */
	struct buf did;              /* the author's, from BLUESKY_PAGE on */
	struct cursor cursor;        /* the next page */
	struct wall newest;          /* of this feed; us 0: nothing so far */
	unsigned empty;              /* pages in a row */
};

/* "did:" and what may follow it (https://atproto.com/specs/did). */
bool bluesky_is_did(struct str);
/* The seed's handle without "@" in front; empty: it has none. */
struct str bluesky_handle(const struct connector_seed *);
/* The key of the state of the feed at hand. */
void bluesky_state_key(const struct bluesky_run *, struct buf *);
/* Where the last run of this feed has ended; us 0: nowhere, or the run is not
 * incremental. */
struct wall bluesky_since(const struct bluesky_run *);
/* What an answer says; see struct seed_run_kind. */
void bluesky_answer(struct seed_run *, const struct connector_answer *,
    const struct connector_findings *);

#endif

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

#include "base/arena.h"
#include "engine/connector/connector.h"
#include "engine/connector/cursor_loop.h"

#define BLUESKY_LABEL "bluesky posts"
#define BLUESKY_BASE "https://public.api.bsky.app"
#define BLUESKY_CURSOR_BYTES_MAX 2048u
/* Answers in a row that make no sense, until a run fails. */
#define BLUESKY_TRIES_MAX 5u
/* Pages in a row without an entry, until a run fails. */
#define BLUESKY_EMPTY_PAGES_MAX 100u

enum bluesky_step {
	BLUESKY_PROFILE,             /* of the seed's author */
	BLUESKY_PAGE,                /* of the author's feed */
	BLUESKY_ENDED
};

struct bluesky_run {
	struct connector_run run;
	int64_t limit;               /* of items */
	struct str filter;           /* which entries the feed has */
	struct buf url;              /* of the call that is out */
	bool is_out;

	/* What is saved. */
	enum bluesky_step step;
	size_t seed;                 /* the one at hand */
	struct buf did;              /* its author's, from BLUESKY_PAGE on */
	struct buf cursor;           /* of the next page; empty: the first */
	struct wall newest;          /* of this feed; us 0: nothing so far */
	uint64_t items;              /* of all seeds, so far */
	unsigned empty, tries;       /* in a row */
	struct cursor_loop loop;     /* of this feed's cursors */
};

const struct connector_seed *bluesky_seed(const struct bluesky_run *);
/* "did:" and what may follow it (https://atproto.com/specs/did). */
bool bluesky_is_did(struct str);
/* The seed's handle without "@" in front; empty: it has none. */
struct str bluesky_handle(const struct connector_seed *);
/* The key of the state of the feed at hand. */
void bluesky_state_key(const struct bluesky_run *, struct buf *);
/* Where the last run of this feed has ended; us 0: nowhere, or the run is not
 * incremental. */
struct wall bluesky_since(const struct bluesky_run *);
void bluesky_begin_feed(struct bluesky_run *);
/* Go on with the next seed; false: there is none, and the run has ended. */
bool bluesky_next_seed(struct bluesky_run *);

/* What an answer says; see struct connector. */
void bluesky_answer(struct connector_run *, const struct connector_call *,
    const struct connector_answer *, const struct connector_findings *);

#endif

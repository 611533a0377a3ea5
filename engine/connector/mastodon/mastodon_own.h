/*
 * mastodon_own -- a run over accounts or hashtags, and its steps.
 *
 *     account:  lookup ─► page ─► page ... ─► lookup of the next seed ─► end
 *     hashtag:  access ─► page ─► page ... ─► page of the next seed ─► end
 *
 * Lists are read forward: each page holds the posts right after `min_id`.
 *
 * Thread: one at a time.
 */
#ifndef ENGINE_CONNECTOR_MASTODON_MASTODON_OWN_H
#define ENGINE_CONNECTOR_MASTODON_MASTODON_OWN_H

#include "engine/connector/mastodon/mastodon_read.h"

/* Pages in a row without a post, until the run fails. */
#define MASTODON_EMPTY_PAGES_MAX 100u

enum mastodon_step {
	MASTODON_ACCESS,             /* which timelines are open */
	MASTODON_LOOKUP,             /* the seed's account */
	MASTODON_PAGE,               /* the posts after min_id */
	MASTODON_ENDED
};

struct mastodon_run {
	struct connector_run run;
	struct arena arena;
	struct str base;             /* of the instance: "https://a.example" */
	bool has_token;
	int64_t limit;               /* of items */
	struct buf url;              /* of the call that is out */
	bool is_out;

	/* Part of the checkpoint. */
	enum mastodon_step step;
	size_t seed;                 /* the one at hand */
	struct buf account;          /* its account's id, from MASTODON_PAGE on;
	                              * empty for a hashtag */
	struct buf min_id;
	uint64_t items;              /* of all seeds, so far */
	unsigned empty, tries;       /* in a row */
	bool partial_told;           /* that posts may be missing */
	bool local_closed, remote_closed;    /* timelines of hashtags */
};

/* The key of the state of the seed at hand. */
void mastodon_state_key(const struct mastodon_run *, struct buf *);
/* What restricts a hashtag's timeline, as parameters: "" or "?any%5B%5D=..." */
void mastodon_filters(const struct connector_seed *, struct buf *url);

/* The seed at hand, and whether the run is about hashtags. */
const struct connector_seed *mastodon_seed(const struct mastodon_run *);
bool mastodon_is_hashtag(const struct mastodon_run *);
/* The list of the seed at hand begins, where the last run has ended if this one
 * is incremental. */
void mastodon_begin_pages(struct mastodon_run *);
/* Go on with the next seed; false: there is none, and the run has ended. */
bool mastodon_next_seed(struct mastodon_run *);

/* What an answer says; see struct connector. */
void mastodon_answer(struct connector_run *, const struct connector_call *,
    const struct connector_answer *, const struct connector_findings *);

#endif

/*
 * twitter_own -- a run over searches or timelines, of either API, and its
 * steps.
 *
 *     search:    page ─► page ... ─► page of the next seed ─► end
 *     timeline:  user ─► page ─► page ... ─► user of the next seed ─► end
 *
 * Lists have the newest tweet first.  So the state, the greatest id, is set
 * with the last page of a list: set earlier, a crash would leave a hole that no
 * later run fills.
 *
 * Thread: one at a time.
 */
#ifndef ENGINE_CONNECTOR_TWITTER_TWITTER_OWN_H
#define ENGINE_CONNECTOR_TWITTER_TWITTER_OWN_H

#include "engine/connector/seed_run.h"
#include "engine/connector/twitter/twitter_read.h"

/* Pages in a row without a tweet, until the run fails. */
#define TWITTER_EMPTY_PAGES_MAX 100u

enum twitter_step {
	TWITTER_USER,                /* the seed's account */
	TWITTER_PAGE,                /* tweets that are older than those of the
	                              * page before */
	TWITTER_STEPS_N
};

struct twitter_run {
	struct seed_run run;

	/* What is saved, beside that. */
	struct buf account;          /* the seed's account's id, from
	                              * TWITTER_PAGE on; empty for a search */
	struct buf cursor;           /* of the next page; empty: the first */
	uint64_t newest, oldest;     /* ids of the list so far; 0: none */
	uint64_t seed_items;         /* of the seed at hand */
	unsigned empty;              /* pages in a row */
	unsigned waits;              /* answers of status 429 in a row */
	bool is_signed;              /* by a user's token, since that of the
	                              * application was refused */
	bool no_since, no_start;     /* Twitter finds it too old */
	struct wall answered;        /* when the last page came */
};

/* What a page contains. */
struct twitter_page {
	size_t n, with_id;           /* tweets */
	uint64_t newest, oldest;     /* of their ids; 0: none */
	/* Of the page behind it; empty: it is the last one. */
	struct str cursor;
};

/* The id from which the last run has read on; empty: none, or not wanted. */
struct str twitter_since(const struct twitter_run *);
/* The list of the seed at hand begins, or begins once more. */
void twitter_begin_pages(struct twitter_run *);
void twitter_begin_again(struct twitter_run *);
/* The account of the seed at hand has been found; its name may be another. */
void twitter_found_user(struct twitter_run *,
    const struct connector_findings *, struct str id, struct str name);
/* It cannot be harvested: "not_found" and the like, with the warning that its
 * name or its id gives. */
void twitter_skip_user(struct twitter_run *, const struct connector_findings *,
    const char *what);
/* Add a tweet to a page; or one that the page has, and that is not wanted. */
void twitter_add_tweet(struct twitter_page *, uint64_t id);
void twitter_pass_tweet(struct twitter_page *, uint64_t id);
/* A page has been read: count it, and go on behind it. */
void twitter_leave_page(struct twitter_run *, const struct twitter_page *,
    const struct connector_findings *);
/* Too many calls: wait as long as the answer says. */
void twitter_wait(struct twitter_run *, const struct connector_answer *,
    const struct connector_findings *);

/* For struct seed_run_kind. */
enum err twitter_check(struct seed_run *, struct why *);
void twitter_begin_search(struct seed_run *);
void twitter_begin_timeline(struct seed_run *);
void twitter_save(const struct seed_run *, struct buf *);
bool twitter_load(struct seed_run *, struct reader *);
void twitter_free(struct seed_run *);

#endif

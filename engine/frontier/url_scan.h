/*
 * url_scan -- for the files of amend alone.  Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_URL_SCAN_H
#define ENGINE_FRONTIER_URL_SCAN_H

#include "engine/frontier/change.h"
#include "engine/frontier/state.h"

/* One piece of a walk: so many records looked at, URLs that match. */
#define AMEND_LOOKS_MAX 1024u
#define AMEND_MATCHES_MAX 512u

/* In the piece's arena. */
struct amend_match {
	struct lease lease;          /* .rank 0: done, or never queued */
	struct str key;              /* of the queue that it is to go to */
	uint8_t reason;
	bool exception;
};

/* amend.c */
void amend_answer(struct amend *);
void amend_answer_durable(struct amend *);  /* what it put, at last */
/* Its crawl, if it is not over and runs here; else `why` is set. */
struct crawl *amend_crawl(struct amend *);
/* Begin a walk from amend.from, which holds at least the crawl. */
void amend_walk(struct amend *);
/*
 * One piece of the crawl's URLs, on the index thread.  Whoever is called may
 * put into amend.from, which is empty, where to go on.
 */
typedef void amend_visit_fn(struct amend *, uint32_t queue, uint32_t rank,
    struct str url, struct str value);
void amend_look(struct amend *, struct index_iter *, amend_visit_fn *);
struct amend_match *amend_add(struct amend *, struct str url,
    const struct url_value *);

/* amend_retry.c */
void amend_retry(struct amend *);
void amend_find_done(struct amend *, struct index_iter *);
/* A piece of those that are named: each is asked for by its key. */
void amend_find_named(struct amend *, struct index *);
void amend_wait_again(struct amend *, struct crawl *);

/* amend_delete.c */
void amend_delete(struct amend *);

#endif

/*
 * url_scan -- for the files of change alone.  Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_URL_SCAN_H
#define ENGINE_FRONTIER_URL_SCAN_H

#include "engine/frontier/change.h"
#include "engine/frontier/core.h"

/* One piece of a walk: so many records looked at, URLs that match. */
#define URL_SCAN_PIECE_MAX 1024u
#define URL_SCAN_MATCHES_MAX 512u

/* In the piece's arena. */
struct change_match {
	struct lease lease;          /* .rank 0: done, or never queued */
	struct str key;              /* of the queue that it is to go to */
	uint8_t reason;
	bool exception;
};

/* exclude.c */
void change_answer(struct crawl_change *);
void change_answer_durable(struct crawl_change *);  /* what it put, at last */
/* Its crawl, if it is not over and runs here; else `why` is set. */
struct crawl *change_crawl(struct crawl_change *);
/* Begin a walk from change.from, which holds at least the crawl. */
void url_scan_start(struct crawl_change *);
/*
 * One piece of the crawl's URLs, on the index thread.  Whoever is called may
 * put into change.from, which is empty, where to go on.
 */
typedef void url_scan_visit_fn(struct crawl_change *, uint32_t queue,
    uint32_t rank, struct str url, struct str value);
void url_scan_piece(
    struct crawl_change *, struct index_iter *, url_scan_visit_fn *);
struct change_match *url_scan_add(struct crawl_change *, struct str url,
    const struct url_value *);

/* retry.c */
void change_retry(struct crawl_change *);
void change_find_done(struct crawl_change *, struct index_iter *);
/* A piece of those that are named: each is asked for by its key. */
void change_find_named(struct crawl_change *, struct index *);
void change_wait_again(struct crawl_change *, struct crawl *);

/* delete.c */
void change_delete(struct crawl_change *);

#endif

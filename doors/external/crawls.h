/*
 * crawls -- deletes crawls of `web_crawl` that no task needs any more.
 *
 *     registry ─► ended, with a key of this door ─► the store's rows ─► deleted
 *
 * A crawl stays as long as the store has its task, which is external.keep_s
 * after the task was closed.  It stays longer while a cursor names it that a
 * task may go on from: the cursor of a task in the store, or that of a crawler
 * that has a task there.  A crawl of a check or of a run by hand stays keep_s
 * after its own end.  With external.archive the crawls of tasks stay.
 *
 * Each round reads all of it from the registry and the store, so that the next
 * round makes up for one that a crash has cut off.  A daemon deletes its own
 * crawls, whichever daemon has had the task since.  A cursor with the number of
 * another daemon's crawl may keep a crawl longer; it never deletes one.
 *
 * Thread: the main loop's, but for crawls_find_unused(): a job of the store's.
 * Limits: CRAWLS_ROUND_MAX.
 * Source: contracts/external.md section 11.
 */
#ifndef DOORS_EXTERNAL_CRAWLS_H
#define DOORS_EXTERNAL_CRAWLS_H

#include "doors/external/external_door.h"

/* Crawls that one round looks at. */
#define CRAWLS_ROUND_MAX 1000u

struct crawls {
	struct crawl_look {
		uint32_t id;
		uint64_t task;       /* 0: it has none */
		bool is_unused;
	} list[CRAWLS_ROUND_MAX];
	size_t n;
};

/* List some ended crawls; the next round goes on after them. */
void crawls_list_ended(struct crawls *, struct external_door *,
    struct wall now);
/* Find those that can go.  Memory: `a`.  Errors: the store's. */
MUST_USE enum err crawls_find_unused(struct crawls *, struct store *,
    struct arena *a, struct why *);
/* Delete them.  The door waits for that before it ends; a crawl that could not
 * be deleted is logged, and found again in a later round. */
void crawls_delete_unused(const struct crawls *, struct external_door *);

#endif

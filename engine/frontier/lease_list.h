/*
 * lease_list -- listings, counts and purges, a piece at a time.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_LIST_H
#define ENGINE_FRONTIER_LEASE_LIST_H

#include "engine/frontier/lease_core.h"

struct crawl;

/* A queue of a crawl of ours. */
struct lease_view_queue {
	struct str key;
	uint32_t id;
};

struct lease_walk {
	struct list node;                    /* in leases.walks */
	uint64_t *open;                      /* where it counts, or NULL */
	uint64_t looks;                      /* of this piece */
	struct buf lower, filter;            /* ignoring case: in lower case */
	struct index_iter *queues, *urls;
	uint32_t crawl, queue;               /* queue 0: all of them */
	struct buf prefix;                   /* of the queue's URLs */
	struct buf key;                      /* its key */
	struct buf from;                     /* queues: behind the last one */
	bool in_queue, ended;
	uint64_t seen;                       /* matches, skipped ones too */
	uint32_t *ids;                       /* purge: the entries' queues */
	/* For crawls of this engine, which use these instead of `queues` and
	 * `from`. */
	struct crawl *held;                  /* or NULL; it may be deleted */
	struct lease_view_queue *list;       /* in the end by key */
	size_t list_n, list_cap, list_at;    /* list_at: the next one */
	struct arena keys;                   /* of a retired crawl's */
	bool retired;                        /* they are to be read */
	bool sorted;
};

/* Free the walks that are open. */
void lease_free_walks(struct frontier *);
/* Begin to read a piece; false: there is none, and that was answered. */
bool lease_list_piece(struct lease_list *);
/* Its caller has left: end the walk and answer. */
void lease_list_end(struct lease_list *);
/* For a walk that has begun: read a piece, and answer. */
void lease_list_read(struct lease_list *);
void lease_list_answer(struct lease_list *);
/* A match: true when it is neither before the first nor behind the last. */
bool lease_list_wants(struct lease_list *);
/* All that matter are listed. */
bool lease_list_complete(const struct lease_list *);
/* Entries of one piece. */
#define LIST_PIECE_ENTRIES 1024u
/* Delete a record at its present place, if it is known; false: it is not. */
bool lease_purge(struct lease_queue *, uint64_t hash, struct str url,
    uint32_t before_s);

/* --- lease_scan.c: which listing reads its next piece --------------------- */

/* The listing wants a piece: lease_list_piece() when it is its turn. */
void lease_scan(struct lease_list *);
/* Its piece was read and answered, or it has ended: another may begin. */
void lease_scan_next(struct lease_service *);

/* --- lease_view.c: listings of crawls of ours ----------------------------- */

void lease_view_add_crawls(struct lease_list *);
/* Begin the walk, and read its first piece. */
void lease_view_begin(struct lease_list *);
/* Beside the groups: the walk's queues are all there, by key. */
MUST_USE enum err lease_view_sort(struct lease_list *, struct index *);
/* Beside the groups: a piece of a listing of queues. */
void lease_view_queues(struct ledger_query *, struct index *);
void lease_view_dates(struct lease_entry *, bool done, uint32_t created_s);

#endif

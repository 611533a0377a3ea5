/*
 * lease_crawl -- crawls and queues of the lease service, by name and by number.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_CRAWL_H
#define ENGINE_FRONTIER_LEASE_CRAWL_H

#include "engine/frontier/lease_core.h"

struct lease_level {
	struct lease_turns queues;         /* by ticket */
	struct heap_node node;               /* in leases.ready */
	struct lease_crawl *crawl;
};

struct lease_crawl {
	struct frontier *frontier;
	struct str name;                     /* its own memory */
	uint32_t id, next_queue;
	bool dead;                           /* deleted; being freed */
	struct lease_set keys, ids;        /* of queues */
	struct arena names;                  /* of queues, some of them gone */
	size_t names_gone;
	struct lease_level *levels;        /* LEVELS, once it has a queue */
	struct lease_stats stats;
	struct list changed_node;
	struct list dying_node;
	size_t dying_at;
};

/* NULL when there is none. */
struct lease_crawl *lease_find_crawl(struct frontier *, struct str name);
struct lease_crawl *lease_crawl_of(struct frontier *, uint32_t id);
struct lease_queue *lease_queue_of(struct frontier *, uint32_t crawl,
    uint32_t id);
/* NULL also when there is no such crawl. */
struct lease_queue *lease_find_queue(const struct lease_crawl *,
    struct str key);
/* Found, or new. */
struct lease_crawl *lease_make_crawl(struct frontier *, struct str name);
/* In memory only. */
struct lease_crawl *lease_new_crawl(struct frontier *, uint32_t id,
    struct str name);
struct lease_queue *lease_new_queue(struct lease_crawl *, uint32_t id,
    struct str key);
/* A queue that nobody has seen; its record comes with the group's notes. */
struct lease_queue *lease_make_queue(struct lease_crawl *, struct str);
void lease_see(struct lease_queue *);
void lease_drop_queue(struct lease_queue **);   /* from memory */
void lease_free_crawl(struct lease_crawl **);
/* lease_control.c: nobody finds it any more, and totals are without it. */
void lease_forget_crawl(struct lease_crawl *);
void lease_bury_crawl(struct lease_crawl *);    /* free it whole */
void lease_free_sweeps(struct frontier *);
void lease_keep_crawl(struct lease_crawl *);    /* its record is due */
void lease_touch(struct lease_queue *);         /* its note is due */
void lease_keep(struct lease_queue *);          /* only its record */
/* `active` and `completed` of the queue changed by so much. */
void lease_count(struct lease_queue *, int64_t active, int64_t completed);

#endif

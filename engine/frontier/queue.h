/*
 * queue -- the URLs of one host in one crawl: how many wait, are leased and
 * done, and where the next walk begins.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_QUEUE_H
#define ENGINE_FRONTIER_QUEUE_H

#include "engine/frontier/crawl.h"

struct queue {
	struct queue_note note;      /* to the loop that owns the host */
	struct crawl *crawl;
	struct list fresh_node;      /* in a fresh_batch */
	uint64_t fresh_group;        /* the last group that brought URLs */
	struct str key;              /* in crawl.keys */
	uint32_t id;
	uint32_t ordered;            /* URLs queued ever: the age in a rank */
	uint64_t waiting, leased, done;
	/* The last key handed out: what sorts before it needs no look. */
	uint32_t cursor_rank;
	struct buf cursor_url;
	uint32_t fresh_rank;         /* least of the gathering group's URLs */
	uint32_t walk_rewind;        /* least rank that came during a walk */
	unsigned walks;              /* that are out */
	bool limit_told;             /* host_urls_max, in the log */
	bool noted;                  /* the loop was told and has not served */
	bool dirty;
	struct list dirty_node;      /* changed in the gathering group */
	struct list changed_node;    /* since the last checkpoint */
	struct list starved_node;    /* max_items left no ticket for it */
	size_t port;                 /* the loop of its host */
	bool active; /* it has a place in that loop; host_slots.c */
	struct list slot_node;    /* it waits for one */
};

/* NULL when there is none and `make` is false. */
struct queue *queue_get(struct crawl *, struct str key, bool make);
void queue_touch(struct queue *);         /* its state goes into this group */
void queue_note_bytes(const struct queue *, struct buf *);   /* sets it */
void queue_put_record(const struct queue *); /* into the gathering group */
bool queue_from_note(struct frontier *, struct str note);
/* It got a URL of that rank: tell its loop when that is durable. */
void queue_fresh(struct queue *, uint32_t rank);
void queue_tell(struct queue *);          /* tell it now */
void queue_free(struct queue **);
void queue_forget_fresh(struct frontier *);  /* promises not kept: free */
void queue_rewind(struct queue *, uint32_t rank);

/* --- its record ----------------------------------------------------------- */

/*
 * A queue's record in the index, as it is now for a crawl whose queues are not
 * in memory.  Texts are the arena's, or valid while the visitor is called.
 * Thread: a ledger_query's, or before the loops start.
 * Errors: ABSENT, CORRUPT, IO.
 */
struct queue_record {
	uint32_t crawl, id, ordered;
	uint64_t waiting, done;
	struct str key;
};
/* False: the record is damaged. */
bool queue_record_parse(struct str value, struct queue_record *);
MUST_USE enum err queue_record_get(struct index *, uint32_t crawl,
    struct str key, struct arena *, struct queue_record *);
MUST_USE enum err queue_record_each(struct index *, uint32_t crawl,
    void (*visit)(void *arg, const struct queue_record *), void *arg);

/* --- host_slots.c: how many queues a loop holds at once ------------------- */

/* Of one loop. */
struct host_slots {
	unsigned active;
	struct list waiting_for_slot;        /* queues, the longest first */
};

void host_slots_open(struct frontier *);
void host_slots_close(struct frontier *);
/* False: there is no place; it is told of again when there is one. */
bool queue_activate(struct queue *);
/* Something of it came back: does it keep its place? */
void queue_settle(struct queue *);
/* The same for all queues of a crawl. */
void crawl_settle(struct crawl *);

/* --- submit.c: what a page changes, into the gathering group -------------- */

/* Put or delete the record of a URL. */
void url_put(struct crawl *, uint32_t queue, uint32_t date, struct str url,
    const struct url_value *);
void url_drop(struct crawl *, uint32_t queue, uint32_t date, struct str url);
/* All that it needs is in the known table. */
void submission_admit(struct frontier *, struct submission *);
/* What became of the leased URL goes into the gathering group. */
void submission_settle(struct crawl *, struct submission *);
/* `via`: the number of the capture that it was found on; 0: none. */
void frontier_discover(struct crawl *, const struct found *, uint64_t via);

#endif

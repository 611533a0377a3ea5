/*
 * queue -- the URLs of one host in one crawl: how many wait, are leased and are
 * done, and where the next scan begins.
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
	/* The last key leased; scans skip what sorts before it. */
	uint32_t cursor_rank;
	struct buf cursor_url;
	uint32_t fresh_rank;         /* least of the gathering group's URLs */
	uint32_t walk_rewind;        /* least rank that came during a scan */
	unsigned walks;              /* scans under way */
	bool limit_told;             /* host_urls_max was logged */
	bool noted;                  /* its loop was notified, nothing leased */
	bool dirty;
	struct list dirty_node;      /* changed in the gathering group */
	struct list changed_node;    /* since the last checkpoint */
	struct list starved_node;    /* waits for a ticket of max_items */
	size_t port;                 /* the loop of its host */
	bool active;                 /* has a slot of that loop */
	struct list slot_node;       /* waits for a slot */
};

/* The queue with that key; NULL when there is none and `make` is false. */
struct queue *queue_get(struct crawl *, struct str key, bool make);
/* Note the queue's state in the gathering group. */
void queue_touch(struct queue *);
/* Set the buffer to the queue's note. */
void queue_note_bytes(const struct queue *, struct buf *);
/* Put the queue's record into the gathering group. */
void queue_put_record(const struct queue *);
bool queue_from_note(struct frontier *, struct str note);
/* A URL of that rank was added: notify the queue's loop once it is durable. */
void queue_fresh(struct queue *, uint32_t rank);
void queue_tell(struct queue *);          /* notify the loop now */
void queue_free(struct queue **);
/* Free what waits for promises that will not be kept. */
void queue_forget_fresh(struct frontier *);
/* The next scan begins at this rank at the latest. */
void queue_rewind(struct queue *, uint32_t rank);

/* --- its record ----------------------------------------------------------- */

/*
 * A queue's record in the index.  It is up to date for a crawl whose queues are
 * not in memory.  Texts are in the arena, or valid during the visitor's call.
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

/* The slots of one loop. */
struct host_slots {
	unsigned active;
	struct list waiting_for_slot;        /* queues, the longest first */
};

void host_slots_open(struct frontier *);
void host_slots_close(struct frontier *);
/* Give the queue a slot.  False: none is free; its loop is notified again when
 * there is one. */
bool queue_activate(struct queue *);
/* A lease was returned: decide whether the queue keeps its slot. */
void queue_settle(struct queue *);
/* The same for all queues of a crawl. */
void crawl_settle(struct crawl *);

/* --- submit.c: what a page changes, into the gathering group -------------- */

/* Put or delete the record of a URL. */
void url_put(struct crawl *, uint32_t queue, uint32_t date, struct str url,
    const struct url_value *);
void url_drop(struct crawl *, uint32_t queue, uint32_t date, struct str url);
/* Process a submission; all that it needs is in the known table. */
void submission_admit(struct frontier *, struct submission *);
/* Put the outcome of the leased URL into the gathering group. */
void submission_settle(struct crawl *, struct submission *);
/* Process a URL that was found.  `via` is the number of the capture that links
 * to it; 0: none. */
void frontier_discover(struct crawl *, const struct found *, uint64_t via);

#endif

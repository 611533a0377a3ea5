/*
 * lease_crawl -- crawls and queues of the lease service, by name and by number:
 * the order in which queues are served, their leases, and the records of both.
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
	struct arena names;                  /* of queues, also removed ones */
	size_t names_gone;                   /* how many are removed */
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
/* The crawl of that name; made, with its record, when there is none. */
struct lease_crawl *lease_make_crawl(struct frontier *, struct str name);
/* Make a crawl, or a queue, in memory only. */
struct lease_crawl *lease_new_crawl(struct frontier *, uint32_t id,
    struct str name);
struct lease_queue *lease_new_queue(struct lease_crawl *, uint32_t id,
    struct str key);
/* Make a queue that no client has seen; its record follows with the group's
 * notes. */
struct lease_queue *lease_make_queue(struct lease_crawl *, struct str);
void lease_see(struct lease_queue *);
void lease_drop_queue(struct lease_queue **);   /* from memory */
void lease_free_crawl(struct lease_crawl **);
/* lease_control.c: remove the crawl from lookups and from the totals. */
void lease_forget_crawl(struct lease_crawl *);
/* Free the crawl with all its queues. */
void lease_bury_crawl(struct lease_crawl *);
void lease_free_sweeps(struct frontier *);
/* Write the crawl's record, the queue's note, the queue's record, with this
 * group. */
void lease_keep_crawl(struct lease_crawl *);
void lease_touch(struct lease_queue *);
void lease_keep(struct lease_queue *);
/* Add to the counters `active` and `completed` of the queue. */
void lease_count(struct lease_queue *, int64_t active, int64_t completed);

/* --- lease_turn.c: which queue is next, and what the others wait for ------ */

/* A queue with fewer URLs begins its scans at a date, not at a URL. */
#define CURSOR_URLS_MIN 64u

/* Put the queue into the list of what it waits for; take it out of its list. */
void turn_place(struct lease_queue *);
void turn_take(struct lease_queue *);
/* The queue has an unleased URL of that date. */
void turn_available(struct lease_queue *, uint32_t date, struct str url);
void turn_cursor(struct lease_queue *, uint32_t date, struct str url);
/*
 * Take the next queue in turn that has a ticket below `end` and fewer than
 * `urls_max` URLs leased (0: any number) out of its list.  NULL: none.
 */
struct lease_queue *turn_pick(struct frontier *, struct lease_crawl *,
    uint32_t urls_max, uint64_t end);
bool turn_may(struct lease_queue *, uint32_t urls_max);
/* For how long, in seconds, the next queue in turn has been due. */
uint64_t turn_lag_s(struct lease_service *);
/* Whether a queue that is being served, and was served at `served` before, may
 * be served still. */
bool turn_still(const struct lease_queue *, int64_t served);
/* The last group that put URLs into the queue; 0 when it is long ago. */
uint64_t turn_put_group(const struct lease_queue *);
/* Whether URLs were put into the queue that a scan may not see. */
bool turn_put_lately(const struct lease_queue *);
struct str turn_cursor_url(const struct lease_queue *);
void turn_forget_levels(struct lease_crawl *);

/* --- lease_batch.c: leases, and when they end ------------------------------
 * */

struct lease_out {
	struct lease_batch *batch;           /* NULL: it has ended */
	uint64_t hash;
	uint32_t date, created;
};

/* Leases of one queue that end together, in one piece of memory. */
struct lease_batch {
	struct heap_node node;               /* in leases.ends, by ns */
	struct lease_batch *next, **link;  /* of its queue */
	struct lease_queue *queue;
	int64_t start_us;                    /* steady */
	uint32_t lease_s;
	uint32_t n;                          /* that have not ended */
	uint32_t all_n, all_cap;             /* with those that have */
	struct lease_out all[];
};

/* A batch of at most `most` leases of the queue. */
struct lease_batch *lease_batch_new(struct lease_queue *, int64_t start_us,
    uint32_t lease_s, size_t most);
void lease_batch_add(struct lease_batch *, uint64_t hash, uint32_t date,
    uint32_t created);
/* Start with `*at` = 0; NULL at the end.  The lease may be dropped, unless it
 * is the last of its batch, which goes with it. */
struct lease_out *lease_batch_next(struct lease_batch *, size_t *at);
struct lease_out *lease_out_find(const struct lease_service *, uint64_t hash);
/* Begin to load the memory that the next call for this hash looks at. */
void lease_out_prefetch(const struct lease_service *, uint64_t hash);
/* Free a lease; the caller updates the known table and the log. */
void lease_out_drop(struct frontier *, struct lease_out *);
void lease_out_drop_all(struct lease_queue *);
/* End a lease early, and log that. */
void lease_out_end(struct frontier *, struct lease_out *);
void lease_batch_note(struct lease_batch *);
void lease_out_expire(struct frontier *);
/* Set its end, by the monotonic clock. */
void lease_batch_set_end(struct lease_batch *);

/* --- lease_record.c: notes, records, a start, checkpoints ----------------- */

enum lease_note {
	NOTE_OUTSIDE_CRAWL = 10, NOTE_OUTSIDE_QUEUE, NOTE_OUTSIDE_LEASES,
	NOTE_OUTSIDE_END, NOTE_OUTSIDE_GONE, NOTE_OUTSIDE_CONTROL,
};

/* Set the buffer to a record's or a note's bytes. */
void lease_crawl_bytes(const struct lease_crawl *, struct buf *);
void lease_queue_bytes(const struct lease_queue *, struct buf *);
void lease_control_bytes(const struct frontier *, struct buf *);

/* Called by the frontier at its opening, at checkpoints and at its close. */
void lease_open(struct frontier *);
void lease_tick(struct frontier *);    /* start the timer of one second */
bool lease_record(struct frontier *, enum index_family, struct str key,
    struct str value, bool *fine);
bool lease_replay(struct frontier *, uint8_t kind, struct str note);
MUST_USE enum err lease_load_control(struct frontier *, struct why *);
void lease_close(struct frontier *);
void lease_put_notes(struct frontier *);
void lease_begin_checkpoint(struct frontier *);
bool lease_put_checkpoint(struct frontier *, size_t *n);

/* --- lease_list.c: listings, counts and purges, a piece at a time --------- */

/* A queue of one of Argiope's own crawls. */
struct lease_view_queue {
	struct str key;
	uint32_t id;
};

struct lease_walk {
	struct list node;                    /* in leases.walks */
	uint64_t *open;                      /* where it counts, or NULL */
	uint64_t looks;                      /* entries read for this piece */
	struct buf lower, filter;            /* ignoring case: in lower case */
	struct index_iter *queues, *urls;
	uint32_t crawl, queue;               /* queue 0: all of them */
	struct buf prefix;                   /* of the queue's URLs */
	struct buf key;                      /* its key */
	struct buf from;                     /* queues: after the last one */
	bool in_queue, ended;
	uint64_t seen;                       /* matches, skipped ones too */
	uint32_t *ids;                       /* purge: the entries' queues */
	struct url_entry *evicted;           /* ... and states outside memory */
	bool partial;                        /* some are outside memory */
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
/* Begin to read a piece.  False: there is none; the call is answered. */
bool lease_list_piece(struct lease_list *);
/* The client has left: end the listing and answer. */
void lease_list_end(struct lease_list *);
/* Read a piece of a listing that has begun, and answer. */
void lease_list_read(struct lease_list *);
void lease_list_answer(struct lease_list *);
/* Count a match.  True when it is between the first and the last wanted. */
bool lease_list_wants(struct lease_list *);
/* Whether the listing has all that its caller wants. */
bool lease_list_complete(const struct lease_list *);
/* Entries of one piece. */
#define LIST_PIECE_ENTRIES 1024u
/* Delete a URL's record; `evicted` has its hash, and its state where the known
 * table does not have it.  False: the URL is not known. */
bool lease_purge(struct lease_queue *, const struct url_entry *evicted,
    struct str url, uint32_t before_s);

/* --- lease_scan.c: which listing reads its next piece --------------------- */

/* Queue the listing; lease_list_piece() is called when it is its turn. */
void lease_scan(struct lease_list *);
/* A listing's piece is answered, or it has ended: let the next one begin. */
void lease_scan_next(struct lease_service *);

/* --- lease_view.c: listings of Argiope's own crawls ------------------------
 * */

void lease_view_add_crawls(struct lease_list *);
/* Begin the listing, and read its first piece. */
void lease_view_begin(struct lease_list *);
/* On the thread beside the groups: get all queues of the listing, by key. */
MUST_USE enum err lease_view_sort(struct lease_list *, struct index *);
/* On the thread beside the groups: read a piece of a listing of queues. */
void lease_view_queues(struct ledger_query *, struct index *);
void lease_view_dates(struct lease_entry *, bool done, uint32_t created_s);

#endif

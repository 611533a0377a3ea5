/*
 * outside_own -- the memory behind outside.h.  Private to engine/frontier.
 * Thread: the ledger's loop.
 *
 *     url    crawl4 queue4 date4 URL -> created4 flags1 metadata
 *     queue  crawl4 key              -> the queue's note, then its leases
 *     crawl  crawl4 'O'              -> next queue4, name
 *     control "outside"              -> active, default delay, clock
 *
 * Dates, blocks and creation are wall time in seconds.  Leases and delays are
 * measured by the monotonic clock; records have them by the *steady* clock,
 * which is wall time without the jumps that were seen.
 */
#ifndef ENGINE_FRONTIER_OUTSIDE_OWN_H
#define ENGINE_FRONTIER_OUTSIDE_OWN_H

#include "engine/frontier/outside.h"
#include "engine/frontier/state.h"

/* In the known table: neither loaded nor forgotten with crawls of ours. */
enum { MARK_OUTSIDE = 5, MARK_OUTSIDE_LEASED = 6 };  /* date 0: completed */

#define DATE_NEVER UINT32_MAX
/* Ready queues stand apart by the number of leased URLs: 0 to 31, more. */
#define LEVELS 33
#define NEVER_SERVED INT64_MIN

enum place {
	PLACE_NONE,          /* nothing to serve, or being served */
	PLACE_READY,         /* in its crawl's level, by turn */
	PLACE_WALL,          /* due, or no longer blocked, at a date */
	PLACE_OWN_DELAY,     /* at an end of its own delay */
	PLACE_DELAY,         /* by the last serve: the default may change */
};

struct outside_queue {
	struct heap_node node;               /* in the heap of `place` */
	struct outside_crawl *crawl;
	struct list dirty_node, changed_node;   /* as in struct queue */
	struct list batches;                 /* of leases */
	struct str key;
	uint32_t id;
	uint32_t delay_s;
	uint64_t block_s, limit;
	uint64_t active, completed, leased;  /* leased ones are active */
	uint64_t ticket;                     /* its turn */
	int64_t served_us;                   /* steady; NEVER_SERVED */
	int64_t served_ns;                   /* monotonic */
	/* No unleased URL is due before it; DATE_NEVER: there is none. */
	uint32_t next_due;
	/* What sorts before it is leased or gone. */
	uint32_t cursor_date;
	uint32_t walk_rewind;                /* least date come meanwhile */
	/* Puts that a walk may not see: their least date and last group. */
	uint32_t put_due;
	uint64_t put_group;
	struct buf cursor_url;
	uint8_t place, level;
	bool has_delay, unseen, serving, dirty;
	bool stale;                          /* next_due may be too early */
	char key_bytes[];
};

struct outside_level {
	struct heap queues;                  /* by ticket */
	struct heap_node node;               /* in outside.ready */
	struct outside_crawl *crawl;
};

struct outside_crawl {
	struct frontier *frontier;
	struct str name;                     /* its own memory */
	uint32_t id, next_queue;
	bool dead;                           /* deleted; being freed */
	struct map keys, ids;                /* -> struct outside_queue */
	struct outside_level *levels;        /* LEVELS, once it has a queue */
	struct outside_stats stats;
	struct list changed_node;
	struct list dying_node;
	size_t dying_at;
};

struct outside_lease {
	struct list node;
	struct outside_batch *batch;
	uint64_t hash;
	uint32_t date, created;
};

/* Leases of one queue that end together. */
struct outside_batch {
	struct heap_node node;               /* in outside.ends, by ns */
	struct list queue_node, leases;
	struct outside_queue *queue;
	int64_t start_us;                    /* steady */
	uint32_t lease_s;
	uint32_t n;
};

/* A group that changes something here; its end is told by a promise. */
struct outside_group {
	struct promise promise;
	struct list node;
	struct frontier *frontier;
	uint64_t number;
	uint64_t *fresh;                     /* hashes put in it */
	size_t fresh_n, fresh_cap;
};

struct outside {
	struct frontier *frontier;
	struct map crawls, ids;              /* by name; by id */
	struct map leases;                   /* by hash */
	struct heap ends;                    /* struct outside_batch */
	struct heap ready[LEVELS];           /* crawls' levels, by first turn */
	struct heap by_date, own_delays, delays;
	uint64_t ready_n;
	uint64_t next_ticket;
	struct outside_stats stats;          /* of all crawls */
	uint64_t unseen;                     /* queues remembered only */
	bool inactive;
	uint32_t delay_s;
	/* Creation dates of records that an index read may not see yet; the
	 * state is the group's, so that an older group leaves them alone. */
	struct known *fresh;
	struct outside_group *group;         /* the gathering one, or NULL */
	struct list groups;
	uint64_t changed_group, durable;     /* the last ones */
	struct list dirty_queues;
	struct list changed_queues, changed_crawls;
	struct list leaving_queues, leaving_crawls;
	bool control_changed, control_leaving;
	struct list dying, sweeps, walks;
	struct mail bury;
	bool burying;
	struct timer tick;                   /* each second, with crawls */
	/* Steady time is base_us at base_ns; the wall is jump_us ahead. */
	int64_t base_us, base_ns, jump_us;
	int64_t recorded_us;                 /* at a start: the last serve */
	/* The present, read when a verb arrives. */
	int64_t now_ns, now_us;
	uint32_t now_s;
	uint64_t recounted;                  /* queues that were miscounted */
	struct buf key, value;               /* scratch */
};

enum outside_note {
	NOTE_OUTSIDE_CRAWL = 10, NOTE_OUTSIDE_QUEUE, NOTE_OUTSIDE_LEASES,
	NOTE_OUTSIDE_END, NOTE_OUTSIDE_GONE, NOTE_OUTSIDE_CONTROL,
};

/* outside.c */
/* Post the call to the ledger's loop. */
void outside_post(struct frontier *, struct outside_call *,
    void (*run)(struct outside_call *));
void outside_answer(struct outside_call *);
/* ... when what it depends on is durable. */
void outside_answer_durable(struct outside_call *);
/* Something of the gathering group is ours. */
struct outside_group *outside_changes(struct frontier *);
/* This record was put now, and what its creation date is. */
void outside_fresh(struct frontier *, uint64_t hash, uint32_t created);
void outside_free_groups(struct frontier *);
void outside_now(struct frontier *);
int64_t outside_steady_us(const struct outside *);
uint64_t outside_hash(uint32_t crawl, uint32_t queue, struct str url);
struct outside_crawl *outside_find_crawl(struct frontier *, struct str name);
struct outside_crawl *outside_make_crawl(struct frontier *, struct str name);
struct outside_crawl *outside_crawl_of(struct frontier *, uint32_t id);
struct outside_queue *outside_queue_of(struct frontier *, uint32_t crawl,
    uint32_t id);
/* In memory only. */
struct outside_crawl *outside_new_crawl(struct frontier *, uint32_t id,
    struct str name);
struct outside_queue *outside_new_queue(struct outside_crawl *, uint32_t id,
    struct str key);
/* A queue that nobody has seen; its record goes into the index. */
struct outside_queue *outside_make_queue(struct outside_crawl *, struct str);
void outside_see(struct outside_queue *);
void outside_drop_queue(struct outside_queue **);   /* from memory */
void outside_free_crawl(struct outside_crawl **);
void outside_keep_crawl(struct outside_crawl *);    /* its record is due */
void outside_touch(struct outside_queue *);         /* its note is due */
void outside_keep(struct outside_queue *);          /* only its record */
void outside_control_touch(struct frontier *);
/* `active` and `completed` of the queue changed by so much. */
void outside_count(struct outside_queue *, int64_t active, int64_t completed);

/* outside_record.c */
void outside_crawl_bytes(const struct outside_crawl *, struct buf *);
void outside_queue_bytes(const struct outside_queue *, struct buf *);
void outside_leases_bytes(const struct outside_queue *, struct buf *);
void outside_control_bytes(const struct frontier *, struct buf *);

/* outside_turn.c: where a queue waits for what */
void turn_place(struct outside_queue *);
void turn_take(struct outside_queue *);
/* An unleased URL of that date is there. */
void turn_available(struct outside_queue *, uint32_t date, struct str url);
void turn_cursor(struct outside_queue *, uint32_t date, struct str url);
/*
 * The next queue whose turn it is, with a ticket below `end` and less than
 * `urls_max` leased (0: any number); it leaves its place.  NULL: none.
 */
struct outside_queue *turn_pick(struct frontier *, struct outside_crawl *,
    uint32_t urls_max, uint64_t end);
bool turn_may(struct outside_queue *, uint32_t urls_max);
/* Being served: it might still be. */
bool turn_still(const struct outside_queue *);
void turn_forget_levels(struct outside_crawl *);

/* outside_lease.c */
struct outside_batch *lease_batch(struct outside_queue *, int64_t start_us,
    uint32_t lease_s);
void lease_add(struct outside_batch *, uint64_t hash, uint32_t date,
    uint32_t created);
struct outside_lease *lease_find(const struct outside *, uint64_t hash);
/* Out of memory; the known table and the log are the caller's. */
void lease_drop(struct frontier *, struct outside_lease *);
void lease_drop_all(struct outside_queue *);
/* A verb ended it: the log hears of it. */
void lease_end(struct frontier *, struct outside_lease *);
void lease_note(struct outside_batch *);
void lease_expire(struct frontier *);
/* Its end by the monotonic clock. */
void lease_set_end(struct outside_batch *);

/* outside_control.c */
/* Nobody finds it any more, and totals are without it. */
void outside_forget_crawl(struct outside_crawl *);
void outside_bury_crawl(struct outside_crawl *);    /* free it whole */
void outside_free_sweeps(struct frontier *);

/* outside_list.c */
void outside_free_walks(struct frontier *);
/* Delete a record at its present place, if it is known; false: it is not. */
bool outside_purge(struct outside_queue *, uint64_t hash, struct str url,
    uint32_t before_s);

/* The frontier's life; outside_record.c. */
void outside_open(struct frontier *);
void outside_tick(struct frontier *);    /* from now on, each second */
bool outside_record(struct frontier *, enum index_family, struct str key,
    struct str value, bool *fine);
bool outside_replay(struct frontier *, uint8_t kind, struct str note);
MUST_USE enum err outside_load_control(struct frontier *, struct why *);
/* All is replayed: the known table, what waits, what is leased. */
MUST_USE enum err outside_load(struct frontier *, struct why *);
void outside_close(struct frontier *);
void outside_put_notes(struct frontier *);
void outside_begin_checkpoint(struct frontier *);
bool outside_put_checkpoint(struct frontier *, size_t *n);

#endif

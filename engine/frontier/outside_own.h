/*
 * outside_own -- the memory behind lease_service.h.  Private to
 * engine/frontier. Thread: the ledger's loop.
 *
 *     url    crawl4 queue4 date4 URL -> created4 flags1 metadata
 *     queue  crawl4 key              -> the queue's note, then its leases
 *     crawl  crawl4 'O'              -> next queue4, name
 *     control "outside"              -> active, default delay, clock, seed
 *
 * Dates, blocks and creation are wall time in seconds.  Leases and delays are
 * measured by the monotonic clock; records have them by the *steady* clock,
 * which is wall time without the jumps that were seen.
 */
#ifndef ENGINE_FRONTIER_OUTSIDE_OWN_H
#define ENGINE_FRONTIER_OUTSIDE_OWN_H

#include "engine/frontier/lease_service.h"
#include "engine/frontier/state.h"

/* In the known table: neither loaded nor forgotten with crawls of ours. */
enum { MARK_OUTSIDE = 5, MARK_OUTSIDE_LEASED = 6 };  /* date 0: completed */

#define DATE_NEVER UINT32_MAX
/* Ready queues stand apart by the number of leased URLs: 0 to 31, more. */
#define LEVELS 33
#define NEVER_SERVED INT64_MIN
#define OUTSIDE_CHUNK 1024u
/* A queue with fewer URLs begins its walks at a date, not at a URL. */
#define CURSOR_URLS_MIN 64u

enum place {
	PLACE_NONE,          /* nothing to serve, or being served */
	PLACE_READY,         /* in its crawl's level, by turn */
	PLACE_WALL,          /* due, or no longer blocked, at a date */
	PLACE_OWN_DELAY,     /* at an end of its own delay */
	PLACE_DELAY,         /* by the last serve: the default may change */
};

/*
 * 96 bytes of a slot; names, sets and heaps take some 40 more and the key's
 * length.  What few queues have stands beside it (struct outside_rare).
 */
struct outside_queue {
	struct outside_crawl *crawl;         /* NULL: nobody's slot */
	const char *name;                    /* the key: outside_queue_key() */
	struct outside_batch *batches;       /* of leases, by `next` */
	char *cursor;                        /* NULL: from the date's start */
	uint64_t ticket;                     /* its turn */
	/* Monotonic; NEVER_SERVED.  While records are loaded: steady us. */
	int64_t served;
	uint32_t slot, id;
	uint32_t at;                         /* in the heap of `place`, + 1 */
	/* 2^32 URLs of one queue would not fit into memory. */
	uint32_t active, completed, leased;  /* leased ones are active */
	/* No unleased URL is due before it; DATE_NEVER: there is none. */
	uint32_t next_due;
	/* What sorts before it is leased or gone. */
	uint32_t cursor_date;
	uint32_t walk_rewind;                /* least date come meanwhile */
	/* Puts that a walk may not see: their least date and last group (40
	 * bits of it). */
	uint32_t put_due, put_group;
	uint8_t put_group_high;
	uint8_t place, level;
	bool unseen : 1, serving : 1, dirty : 1, changed : 1, rare : 1;
	bool stale : 1;                      /* next_due may be too early */
	bool fresh : 1;                      /* the index has no record */
};

/* What a verb set for one queue. */
struct outside_rare {
	uint64_t block_s, limit;             /* 0: none */
	uint32_t delay_s;
	bool has_delay;
};

/* A heap of slots by key; keys stand beside one another. */
struct outside_turn {
	int64_t key;
	uint32_t slot;
};
struct outside_turns {
	struct outside_turn *turns;
	size_t n, cap;
};

/*
 * From a number of 32 bits to slots; several may have the same.  Hashes stand
 * in their order, so that growth is one pass; ids, which are dense, one behind
 * the other.  Slot 0 is nobody's: a free place.
 */
struct outside_place {
	uint32_t tag, slot;
};
struct outside_set {
	struct outside_place *places;
	size_t n, cap;
	bool ids;
};

struct outside_slots {
	uint32_t *slots;
	size_t n, cap;
};

/* A record that was put so lately that a read may not see it. */
struct outside_new {
	uint64_t hash;
	uint32_t created;
	uint32_t group;                      /* 31 bits of it; 0: free */
};
struct outside_news {
	struct outside_new *news;
	size_t n, cap;                       /* a power of two, or 0 */
};

struct outside_level {
	struct outside_turns queues;         /* by ticket */
	struct heap_node node;               /* in outside.ready */
	struct outside_crawl *crawl;
};

struct outside_crawl {
	struct frontier *frontier;
	struct str name;                     /* its own memory */
	uint32_t id, next_queue;
	bool dead;                           /* deleted; being freed */
	struct outside_set keys, ids;        /* of queues */
	struct arena names;                  /* of queues, some of them gone */
	size_t names_gone;
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
	struct outside_batch *next, **link;  /* of its queue */
	struct list leases;
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

/* Listings that wait for a piece, by what they wait for. */
enum scan_wait {
	SCAN_NEXT,           /* another piece */
	SCAN_LISTING,        /* the first one */
	SCAN_COUNT,          /* the same, of a count or a purge */
	SCAN_WAITS,
};

struct outside {
	struct frontier *frontier;
	struct map crawls, ids;              /* by name; by id */
	struct map leases;                   /* by hash */
	struct heap ends;                    /* struct outside_batch */
	struct heap ready[LEVELS];           /* crawls' levels, by first turn */
	struct outside_turns by_date, own_delays, delays;
	/* Queues by slot; free ones by `id`.  A queue stays where it is. */
	struct outside_queue **chunks;
	uint32_t slots_n, slot_free;
	struct map rares;                    /* slot -> struct outside_rare */
	/* Blocked queues are counted in rounds, a part of `rares` at a time. */
	size_t blocked_at;
	uint64_t blocking, blocked;
	uint64_t ready_n;
	uint64_t next_ticket;
	struct outside_stats stats;          /* of all crawls */
	uint64_t unseen;                     /* queues remembered only */
	bool inactive;
	uint32_t delay_s;
	/* Creation dates of records that an index read may not see yet, by
	 * the last group that put them: an older one leaves them alone. */
	struct outside_news fresh;
	struct outside_group *group;         /* the gathering one, or NULL */
	struct list groups;
	uint64_t changed_group, durable;     /* the last ones */
	/* Slots; those whose queue has not the mark any more are passed by. */
	struct outside_slots dirty, changed, leaving;
	size_t leaving_at;
	struct list changed_crawls, leaving_crawls;
	bool control_changed, control_leaving;
	struct list dying, sweeps, walks;
	struct list scans[SCAN_WAITS];       /* struct outside_list */
	unsigned scan_turn;                  /* whose turn it is among them */
	bool scanning;                       /* a piece is being read */
	uint64_t scans_new;                  /* that wait for a first piece */
	uint64_t listings, counts;           /* walks that are open */
	uint64_t scanned;                    /* records read by all */
	struct mail bury;
	bool burying;
	struct timer tick;                   /* each second, with crawls */
	/* Steady time is base_us at base_ns; the wall is jump_us ahead. */
	int64_t base_us, base_ns, jump_us;
	int64_t recorded_us;                 /* at a start: the last serve */
	/* Of outside_hash(): recorded with the first crawl, then for good. */
	uint64_t seed;
	bool recorded;                       /* at a start: control is */
	/*
	 * At a start: the log deleted a record by its key; it may have been
	 * that of a later queue, which the index had already.
	 */
	bool deleted;
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

/* lease_service.c */
/* Post the call to the ledger's loop. */
void outside_post(struct frontier *, struct outside_call *,
    void (*run)(struct outside_call *));
void outside_answer(struct outside_call *);
/* ... when what it depends on is durable. */
void outside_answer_durable(struct outside_call *);
void outside_promise(struct frontier *, struct promise *);
/* Something of the gathering group is ours. */
struct outside_group *outside_changes(struct frontier *);
/* This record was put now, and what its creation date is. */
void outside_fresh(struct frontier *, uint64_t hash, uint32_t created);
void outside_free_groups(struct frontier *);
void outside_now(struct frontier *);
int64_t outside_steady_us(const struct outside *);
/* By the store's seed, which stands from outside_load() on.  Any thread. */
uint64_t outside_hash(const struct frontier *, uint32_t crawl, uint32_t queue,
    struct str url);
struct outside_crawl *outside_find_crawl(struct frontier *, struct str name);
struct outside_crawl *outside_make_crawl(struct frontier *, struct str name);
struct outside_crawl *outside_crawl_of(struct frontier *, uint32_t id);
struct outside_queue *outside_queue_of(struct frontier *, uint32_t crawl,
    uint32_t id);
/* NULL also when there is no such crawl. */
struct outside_queue *outside_find_queue(const struct outside_crawl *,
    struct str key);
/* In memory only. */
struct outside_crawl *outside_new_crawl(struct frontier *, uint32_t id,
    struct str name);
struct outside_queue *outside_new_queue(struct outside_crawl *, uint32_t id,
    struct str key);
/* A queue that nobody has seen; its record comes with the group's notes. */
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

/* lease_memory.c: slots, names, sets, heaps */
static inline struct outside_queue *
outside_at(const struct outside *o, uint32_t slot)
{
	return &o->chunks[slot / OUTSIDE_CHUNK][slot % OUTSIDE_CHUNK];
}
/* A zeroed queue of a slot of its own, with a name, in both sets. */
struct outside_queue *outside_take_slot(struct outside_crawl *, uint32_t id,
    struct str key);
/* Out of the sets, too, unless the crawl is dead. */
void outside_give_slot(struct outside_queue *);
void outside_free_slots(struct outside *);
struct str outside_queue_key(const struct outside_queue *);
/* All zeros when nothing was set. */
const struct outside_rare *outside_rare(const struct outside_queue *);
struct outside_rare *outside_make_rare(struct outside_queue *);
void outside_set_free(struct outside_set *);
/* Start with `*at` = 0; false at the end.  Nothing is added meanwhile. */
bool outside_set_next(const struct outside_set *, size_t *at, uint32_t *slot);
/* False: it is not there. */
bool outside_news_get(const struct outside_news *, uint64_t hash,
    uint32_t *created);
void outside_news_put(struct outside_news *, uint64_t hash,
    uint32_t created, uint64_t group);
/* What that group put last, or with 0 whoever put it. */
void outside_news_take(struct outside_news *, uint64_t hash,
    uint64_t group);
void outside_news_free(struct outside_news *);
void outside_slots_put(struct outside_slots *, uint32_t slot);
void outside_slots_free(struct outside_slots *);
void outside_turns_put(struct outside *, struct outside_turns *,
    struct outside_queue *, int64_t key);
void outside_turns_take(struct outside *, struct outside_turns *,
    struct outside_queue *);
void outside_turns_free(struct outside_turns *);

/* lease_record.c */
void outside_crawl_bytes(const struct outside_crawl *, struct buf *);
void outside_queue_bytes(const struct outside_queue *, struct buf *);
void outside_leases_bytes(const struct outside_queue *, struct buf *);
void outside_control_bytes(const struct frontier *, struct buf *);

/* lease_turn.c: where a queue waits for what */
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
/* How late the queues are whose turn is next, in seconds. */
uint64_t turn_lag_s(struct outside *);
/* Being served, and last served at `served` before that: it might still be. */
bool turn_still(const struct outside_queue *, int64_t served);
/* Something was put to it behind that group. */
bool turn_put_since(const struct outside_queue *, uint64_t group);
/* Something was put to it that a walk may not see. */
bool turn_put_lately(const struct outside_queue *);
struct str turn_cursor_url(const struct outside_queue *);
void turn_forget_levels(struct outside_crawl *);

/* lease_batch.c */
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

/* lease_control.c */
/* Nobody finds it any more, and totals are without it. */
void outside_forget_crawl(struct outside_crawl *);
void outside_bury_crawl(struct outside_crawl *);    /* free it whole */
void outside_free_sweeps(struct frontier *);

/* Whether nobody waits for the answer.  Any thread. */
bool outside_is_cancelled(const struct outside_call *);

/* lease_scan.c */
void outside_scan_open(struct outside *);
/* The listing wants a piece: outside_list_piece() when it is its turn. */
void outside_scan(struct outside_list *);
/* Its piece was read and answered. */
void outside_scan_done(struct outside *);
/* A walk has ended between two pieces: another may begin. */
void outside_scan_next(struct outside *);

/* lease_list.c */
void outside_free_walks(struct frontier *);
/* Begin to read a piece; false: there is none, and that was answered. */
bool outside_list_piece(struct outside_list *);
/* Its caller has left: end the walk and answer. */
void outside_list_end(struct outside_list *);
/* Delete a record at its present place, if it is known; false: it is not. */
bool outside_purge(struct outside_queue *, uint64_t hash, struct str url,
    uint32_t before_s);

/* The frontier's life; lease_record.c. */
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

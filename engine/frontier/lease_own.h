/*
 * lease_own -- the memory behind lease_service.h.  Private to
 * engine/frontier.  Thread: the ledger's loop.
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
#ifndef ENGINE_FRONTIER_LEASE_OWN_H
#define ENGINE_FRONTIER_LEASE_OWN_H

#include "engine/frontier/lease_service.h"
#include "engine/frontier/state.h"

/* In the known table: neither loaded nor forgotten with crawls of ours. */
enum { MARK_OUTSIDE = 5, MARK_OUTSIDE_LEASED = 6 };  /* date 0: completed */

#define DATE_NEVER UINT32_MAX
/* Ready queues stand apart by the number of leased URLs: 0 to 31, more. */
#define LEVELS 33
#define NEVER_SERVED INT64_MIN
#define LEASE_CHUNK 1024u
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
 * length.  What few queues have stands beside it (struct lease_rare).
 */
struct lease_queue {
	struct lease_crawl *crawl;         /* NULL: nobody's slot */
	const char *name;                    /* the key: lease_queue_key() */
	struct lease_batch *batches;       /* of leases, by `next` */
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
struct lease_rare {
	uint64_t block_s, limit;             /* 0: none */
	uint32_t delay_s;
	bool has_delay;
};

/* A heap of slots by key; keys stand beside one another. */
struct lease_turn {
	int64_t key;
	uint32_t slot;
};
struct lease_turns {
	struct lease_turn *turns;
	size_t n, cap;
};

/*
 * From a number of 32 bits to slots; several may have the same.  Hashes stand
 * in their order, so that growth is one pass; ids, which are dense, one behind
 * the other.  Slot 0 is nobody's: a free place.
 */
struct lease_place {
	uint32_t tag, slot;
};
struct lease_set {
	struct lease_place *places;
	size_t n, cap;
	bool ids;
};

struct lease_slots {
	uint32_t *slots;
	size_t n, cap;
};

/* A record that was put so lately that a read may not see it. */
struct lease_new {
	uint64_t hash;
	uint32_t created;
	uint32_t group;                      /* 31 bits of it; 0: free */
};
struct lease_news {
	struct lease_new *news;
	size_t n, cap;                       /* a power of two, or 0 */
};

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

struct lease_out {
	struct list node;
	struct lease_batch *batch;
	uint64_t hash;
	uint32_t date, created;
};

/* Leases of one queue that end together. */
struct lease_batch {
	struct heap_node node;               /* in leases.ends, by ns */
	struct lease_batch *next, **link;  /* of its queue */
	struct list leases;
	struct lease_queue *queue;
	int64_t start_us;                    /* steady */
	uint32_t lease_s;
	uint32_t n;
};

/* A group that changes something here; its end is told by a promise. */
struct lease_group {
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

struct lease_service {
	struct frontier *frontier;
	struct map crawls, ids;              /* by name; by id */
	struct map leases;                   /* by hash */
	struct heap ends;                    /* struct lease_batch */
	struct heap ready[LEVELS];           /* crawls' levels, by first turn */
	struct lease_turns by_date, own_delays, delays;
	/* Queues by slot; free ones by `id`.  A queue stays where it is. */
	struct lease_queue **chunks;
	uint32_t slots_n, slot_free;
	struct map rares;                    /* slot -> struct lease_rare */
	/* Blocked queues are counted in rounds, a part of `rares` at a time. */
	size_t blocked_at;
	uint64_t blocking, blocked;
	uint64_t ready_n;
	uint64_t next_ticket;
	struct lease_stats stats;          /* of all crawls */
	uint64_t unseen;                     /* queues remembered only */
	bool inactive;
	uint32_t delay_s;
	/* Creation dates of records that an index read may not see yet, by
	 * the last group that put them: an older one leaves them alone. */
	struct lease_news fresh;
	struct lease_group *group;         /* the gathering one, or NULL */
	struct list groups;
	uint64_t changed_group, durable;     /* the last ones */
	/* Slots; those whose queue has not the mark any more are passed by. */
	struct lease_slots dirty, changed, leaving;
	size_t leaving_at;
	struct list changed_crawls, leaving_crawls;
	bool control_changed, control_leaving;
	struct list dying, sweeps, walks;
	struct list scans[SCAN_WAITS];       /* struct lease_list */
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
	/* Of lease_hash(): recorded with the first crawl, then for good. */
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

enum lease_note {
	NOTE_OUTSIDE_CRAWL = 10, NOTE_OUTSIDE_QUEUE, NOTE_OUTSIDE_LEASES,
	NOTE_OUTSIDE_END, NOTE_OUTSIDE_GONE, NOTE_OUTSIDE_CONTROL,
};

/* lease_service.c */
/* Post the call to the ledger's loop. */
void lease_post(struct frontier *, struct lease_call *,
    void (*run)(struct lease_call *));
void lease_answer(struct lease_call *);
/* ... when what it depends on is durable. */
void lease_answer_durable(struct lease_call *);
void lease_promise(struct frontier *, struct promise *);
/* Something of the gathering group is ours. */
struct lease_group *lease_changes(struct frontier *);
/* This record was put now, and what its creation date is. */
void lease_fresh(struct frontier *, uint64_t hash, uint32_t created);
void lease_free_groups(struct frontier *);
void lease_now(struct frontier *);
int64_t lease_steady_us(const struct lease_service *);
/* By the store's seed, which stands from lease_load() on.  Any thread. */
uint64_t lease_hash(const struct frontier *, uint32_t crawl, uint32_t queue,
    struct str url);
struct lease_crawl *lease_find_crawl(struct frontier *, struct str name);
struct lease_crawl *lease_make_crawl(struct frontier *, struct str name);
struct lease_crawl *lease_crawl_of(struct frontier *, uint32_t id);
struct lease_queue *lease_queue_of(struct frontier *, uint32_t crawl,
    uint32_t id);
/* NULL also when there is no such crawl. */
struct lease_queue *lease_find_queue(const struct lease_crawl *,
    struct str key);
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
void lease_keep_crawl(struct lease_crawl *);    /* its record is due */
void lease_touch(struct lease_queue *);         /* its note is due */
void lease_keep(struct lease_queue *);          /* only its record */
void lease_control_touch(struct frontier *);
/* `active` and `completed` of the queue changed by so much. */
void lease_count(struct lease_queue *, int64_t active, int64_t completed);

/* lease_memory.c: slots, names, sets, heaps */
static inline struct lease_queue *
lease_at(const struct lease_service *o, uint32_t slot)
{
	return &o->chunks[slot / LEASE_CHUNK][slot % LEASE_CHUNK];
}
/* A zeroed queue of a slot of its own, with a name, in both sets. */
struct lease_queue *lease_take_slot(struct lease_crawl *, uint32_t id,
    struct str key);
/* Out of the sets, too, unless the crawl is dead. */
void lease_give_slot(struct lease_queue *);
void lease_free_slots(struct lease_service *);
struct str lease_queue_key(const struct lease_queue *);
/* All zeros when nothing was set. */
const struct lease_rare *lease_rare(const struct lease_queue *);
struct lease_rare *lease_make_rare(struct lease_queue *);
void lease_set_free(struct lease_set *);
/* Start with `*at` = 0; false at the end.  Nothing is added meanwhile. */
bool lease_set_next(const struct lease_set *, size_t *at, uint32_t *slot);
/* False: it is not there. */
bool lease_news_get(const struct lease_news *, uint64_t hash,
    uint32_t *created);
void lease_news_put(struct lease_news *, uint64_t hash,
    uint32_t created, uint64_t group);
/* What that group put last, or with 0 whoever put it. */
void lease_news_take(struct lease_news *, uint64_t hash,
    uint64_t group);
void lease_news_free(struct lease_news *);
void lease_slots_put(struct lease_slots *, uint32_t slot);
void lease_slots_free(struct lease_slots *);
void lease_turns_put(struct lease_service *, struct lease_turns *,
    struct lease_queue *, int64_t key);
void lease_turns_take(struct lease_service *, struct lease_turns *,
    struct lease_queue *);
void lease_turns_free(struct lease_turns *);

/* lease_record.c */
void lease_crawl_bytes(const struct lease_crawl *, struct buf *);
void lease_queue_bytes(const struct lease_queue *, struct buf *);
void lease_leases_bytes(const struct lease_queue *, struct buf *);
void lease_control_bytes(const struct frontier *, struct buf *);

/* lease_turn.c: where a queue waits for what */
void turn_place(struct lease_queue *);
void turn_take(struct lease_queue *);
/* An unleased URL of that date is there. */
void turn_available(struct lease_queue *, uint32_t date, struct str url);
void turn_cursor(struct lease_queue *, uint32_t date, struct str url);
/*
 * The next queue whose turn it is, with a ticket below `end` and less than
 * `urls_max` leased (0: any number); it leaves its place.  NULL: none.
 */
struct lease_queue *turn_pick(struct frontier *, struct lease_crawl *,
    uint32_t urls_max, uint64_t end);
bool turn_may(struct lease_queue *, uint32_t urls_max);
/* How late the queues are whose turn is next, in seconds. */
uint64_t turn_lag_s(struct lease_service *);
/* Being served, and last served at `served` before that: it might still be. */
bool turn_still(const struct lease_queue *, int64_t served);
/* Something was put to it behind that group. */
bool turn_put_since(const struct lease_queue *, uint64_t group);
/* Something was put to it that a walk may not see. */
bool turn_put_lately(const struct lease_queue *);
struct str turn_cursor_url(const struct lease_queue *);
void turn_forget_levels(struct lease_crawl *);

/* lease_batch_get.c */
struct lease_batch *lease_batch_get(struct lease_queue *, int64_t start_us,
    uint32_t lease_s);
void lease_batch_add(struct lease_batch *, uint64_t hash, uint32_t date,
    uint32_t created);
struct lease_out *lease_out_find(const struct lease_service *, uint64_t hash);
/* Out of memory; the known table and the log are the caller's. */
void lease_out_drop(struct frontier *, struct lease_out *);
void lease_out_drop_all(struct lease_queue *);
/* A verb ended it: the log hears of it. */
void lease_out_end(struct frontier *, struct lease_out *);
void lease_batch_note(struct lease_batch *);
void lease_out_expire(struct frontier *);
/* Its end by the monotonic clock. */
void lease_batch_set_end(struct lease_batch *);

/* lease_control.c */
/* Nobody finds it any more, and totals are without it. */
void lease_forget_crawl(struct lease_crawl *);
void lease_bury_crawl(struct lease_crawl *);    /* free it whole */
void lease_free_sweeps(struct frontier *);

/* Whether nobody waits for the answer.  Any thread. */
bool lease_is_cancelled(const struct lease_call *);

/* lease_scan.c */
void lease_scan_open(struct lease_service *);
/* The listing wants a piece: lease_list_piece() when it is its turn. */
void lease_scan(struct lease_list *);
/* Its piece was read and answered. */
void lease_scan_done(struct lease_service *);
/* A walk has ended between two pieces: another may begin. */
void lease_scan_next(struct lease_service *);

/* lease_list.c */
void lease_free_walks(struct frontier *);
/* Begin to read a piece; false: there is none, and that was answered. */
bool lease_list_piece(struct lease_list *);
/* Its caller has left: end the walk and answer. */
void lease_list_end(struct lease_list *);
/* Delete a record at its present place, if it is known; false: it is not. */
bool lease_purge(struct lease_queue *, uint64_t hash, struct str url,
    uint32_t before_s);

/* The frontier's life; lease_record.c. */
void lease_open(struct frontier *);
void lease_tick(struct frontier *);    /* from now on, each second */
bool lease_record(struct frontier *, enum index_family, struct str key,
    struct str value, bool *fine);
bool lease_replay(struct frontier *, uint8_t kind, struct str note);
MUST_USE enum err lease_load_control(struct frontier *, struct why *);
/* All is replayed: the known table, what waits, what is leased. */
MUST_USE enum err lease_load(struct frontier *, struct why *);
void lease_close(struct frontier *);
void lease_put_notes(struct frontier *);
void lease_begin_checkpoint(struct frontier *);
bool lease_put_checkpoint(struct frontier *, size_t *n);

#endif

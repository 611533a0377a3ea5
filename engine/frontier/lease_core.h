/*
 * lease_core -- what all files of the lease service share.
 *
 *     url    crawl4 queue4 date4 URL -> created4 flags1 metadata
 *     queue  crawl4 key              -> the queue's note, then its leases
 *     crawl  crawl4 'O'              -> next queue4, name
 *     control "outside"              -> active, default delay, clock, seed
 *
 * Dates, blocks and creation are wall time in seconds.  Leases and delays are
 * measured by the monotonic clock; records have them by the *steady* clock,
 * which is wall time without the jumps that were seen.
 *
 * Thread: the ledger's loop.
 */
#ifndef ENGINE_FRONTIER_LEASE_CORE_H
#define ENGINE_FRONTIER_LEASE_CORE_H

#include "base/heap.h"
#include "engine/frontier/core.h"
#include "engine/frontier/lease_service.h"

/* --- what stands in memory ------------------------------------------------ */

struct lease_crawl;
struct lease_batch;
struct lease_out;
struct lease_service;

#define LEASE_CHUNK 1024u            /* queues that are allocated at once */
#define NEVER_SERVED INT64_MIN

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
	/* All URLs that sort before it are leased or removed. */
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

/* Settings that a client made for one queue. */
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

/* Leases by their hashes, which are mixed already. */
struct lease_outs {
	struct lease_outs_slot {
		uint64_t hash;
		struct lease_out *lease;     /* NULL: a free slot */
	} *slots;
	size_t n, cap;
};

/* --- the service ---------------------------------------------------------- */

/* States in the known table, beside those of crawls of ours. */
enum {
	MARK_OUTSIDE = 5,            /* date 0: completed */
	MARK_OUTSIDE_LEASED = 6,
	MARK_OUTSIDE_GONE = 7,       /* purged; what `known` says is older */
};

#define DATE_NEVER UINT32_MAX
/* Ready queues stand apart by the number of leased URLs: 0 to 31, more. */
#define LEVELS 33

/* Listings that wait for a piece, by what they wait for. */
enum scan_wait {
	SCAN_NEXT,           /* another piece */
	SCAN_LISTING,        /* the first one */
	SCAN_COUNT,          /* the same, of a count or a purge */
	SCAN_WAITS,
};

/* A record that was put so lately that a read may not see it. */
struct lease_new {
	struct lease_new *next;              /* of the same group */
	uint64_t hash;
	uint32_t created;
	bool out;                            /* put again, or purged */
};

/* An iterator over `url`; the thread's that reads with it. */
struct lease_reader {
	struct index_iter *iter;             /* NULL: none */
	uint64_t group;                      /* it shows all up to this one */
	uint64_t evictions;                  /* from the known table, by then */
	int64_t end_ns;                      /* monotonic: of its use */
	/* The iterator's position: in this queue (crawl in the upper 32 bits),
	 * or at the first record behind it. */
	uint64_t queue;
	bool placed;
	bool far;                            /* the next queue is not near */
};

struct lease_service {
	struct frontier *frontier;
	struct map crawls, ids;              /* by name; by id */
	struct lease_outs leases;
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
	/* By hash, struct lease_new: records that an index read may not see
	 * yet, each as it was put last. */
	struct map fresh;
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
	/* Walks of gets beside the groups: lease_get.c. */
	struct lease_reader reader;
	struct ledger_query reader_query;
	int64_t reader_asked_ns;             /* 0: it is not there */
	bool reader_dropping;
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

/* The queue of a slot. */
static inline struct lease_queue *
lease_at(const struct lease_service *o, uint32_t slot)
{
	return &o->chunks[slot / LEASE_CHUNK][slot % LEASE_CHUNK];
}

/* Post the call to the ledger's loop. */
void lease_post(struct frontier *, struct lease_call *,
    void (*run)(struct lease_call *));
void lease_answer(struct lease_call *);
/* Read the index, in the order of the groups or beside them; then done() is
 * called on the ledger's loop. */
void lease_read(struct lease_call *, bool beside,
    ledger_query_run *run, ledger_query_done *done);
/*
 * A read that is compared with the known table, or asks what was evicted from
 * it: nothing is evicted from its beginning until done() returns.  First ask
 * whether it may begin; when it may not, again() is called once it may be asked
 * for again.
 */
bool lease_may_read(struct lease_call *, void (*again)(struct lease_call *));
void lease_read_known(struct lease_call *, bool beside,
    ledger_query_run *run, ledger_query_done *done);
/*
 * The state and the date of a URL in the known table.  KNOWN_NONE: it is
 * unknown, or it is known to the index alone; see known_evict_is_partial().
 */
uint8_t lease_state(const struct frontier *, uint64_t hash, uint32_t *date);
/* done() of a read that is answered at once. */
void lease_answer_read(struct ledger_query *);
/* ... when what it depends on is durable. */
void lease_answer_durable(struct lease_call *);
void lease_promise(struct frontier *, struct promise *,
    void (*kept)(struct promise *, enum err));
/* Answer the call when the gathering group is durable; broken() when it never
 * will be. */
void lease_answer_with_group(struct lease_call *,
    void (*broken)(struct promise *, enum err));
/* Something of the gathering group is ours. */
void lease_changes(struct frontier *);
/* This record was put now, and what its creation date is. */
void lease_fresh(struct frontier *, uint64_t hash, uint32_t created);
/* It was purged. */
void lease_fresh_drop(struct lease_service *, uint64_t hash);
void lease_free_groups(struct frontier *);
void lease_now(struct frontier *);
void lease_control_touch(struct frontier *);   /* its record is due */
int64_t lease_steady_us(const struct lease_service *);
/* By the store's seed, which stands from frontier_load() on.  Any thread. */
uint64_t lease_hash(const struct frontier *, uint32_t crawl, uint32_t queue,
    struct str url);
/* The walks' iterator goes when no get has used it for a while; and for good,
 * when no query runs any more. */
void lease_drop_idle_reader(struct frontier *);
void lease_free_reader(struct frontier *);
void lease_outs_free(struct lease_outs *);
/* Whether nobody waits for the answer.  Any thread. */
bool lease_is_cancelled(const struct lease_call *);

/* --- lease_memory.c: queues by slot, names, sets, heaps ------------------- */

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
void lease_slots_put(struct lease_slots *, uint32_t slot);
void lease_slots_free(struct lease_slots *);
void lease_turns_put(struct lease_service *, struct lease_turns *,
    struct lease_queue *, int64_t key);
void lease_turns_take(struct lease_service *, struct lease_turns *,
    struct lease_queue *);
void lease_turns_free(struct lease_turns *);

#endif
